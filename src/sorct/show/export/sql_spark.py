"""Spark SQL: the SELECT of other databases in Spark's words.

Spark quotes names by backticks, reads a backslash in a text as the beginning of an
escape, has other names for two types, and materializes nothing by itself.
"""

from __future__ import annotations

import re

# A comment, a text in quotes, a name in quotes: what stands in them are no words.
_PIECE = re.compile(r"""(--[^\n]*)|('(?:[^']|'')*')|("(?:[^"]|"")*")""")
_WORDS = {
    "DOUBLE PRECISION": "DOUBLE",
    "AS VARCHAR": "AS STRING",
    "AS MATERIALIZED (": "AS (",
}


def spark_text(query: str) -> str:
    """A query that ``to_sql`` has written, as Spark reads it."""
    parts, end = [], 0
    for found in _PIECE.finditer(query):
        parts.append(_reworded(query[end : found.start()]))
        comment, text, name = found.groups()
        parts.append(comment or (_quoted(text) if text else _named(name)))
        end = found.end()
    return "".join([*parts, _reworded(query[end:])])


def _reworded(words: str) -> str:
    for word, own in _WORDS.items():
        words = words.replace(word, own)
    return words


def _quoted(text: str) -> str:
    inside = text[1:-1].replace("''", "'")
    return "'" + inside.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _named(name: str) -> str:
    return "`" + name[1:-1].replace('""', '"').replace("`", "``") + "`"
