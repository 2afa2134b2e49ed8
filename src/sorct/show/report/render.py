"""Render: the plain dict of a report into one HTML page.

Text from a user's table reaches the page in two ways only: escaped into the static part
here, and as JSON that the script writes into text nodes. Nothing is ever parsed as
HTML.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from importlib.resources import files
from string import Template
from typing import Any

# In the order in which they are joined to one script.
_SCRIPTS = (
    "model.js", "draw.js", "tree.js", "detail.js", "tradeoff.js", "frontier.js",
    "heatmap.js", "whatif.js", "reliability.js", "training.js", "figures.js",
    "classes.js", "values.js", "reach.js", "parts.js", "page.js",
)  # fmt: skip
_FOREST_SCRIPTS = (
    "model.js", "draw.js", "whatif.js", "reliability.js", "training.js", "figures.js",
    "classes.js", "values.js", "reach.js", "parts.js", "forest_curves.js", "forest.js",
)  # fmt: skip


def page(summary: dict[str, Any]) -> str:
    """The whole page as text."""
    if summary.get("kind") == "forest":
        return _forest_page(summary)
    chosen = summary["points"][summary["chosen"]]
    trees = [dict(tree) for tree in summary["trees"]]
    sql = [tree.pop("sql") for tree in trees]
    # As text: a script would read labels such as 1.0 and 2**60 as other numbers.
    common = json.dumps(summary["common"], allow_nan=False)
    return Template(_part("page.html")).substitute(
        title=html.escape(summary["title"]),
        style=_part("style.css"),
        rules=html.escape(summary["trees"][chosen["tree"]]["rules"]),
        data=safe_json({**summary, "trees": trees, "common": common}),
        sql=packed(sql),
        script="\n".join(_part(name) for name in _SCRIPTS),
    )


def _forest_page(summary: dict[str, Any]) -> str:
    """The page of a forest."""
    told = {key: value for key, value in summary.items() if key != "sql"}
    return Template(_part("forest.html")).substitute(
        title=html.escape(summary["title"]),
        style=_part("style.css"),
        rules=html.escape(summary["rules"]),
        data=safe_json(told),
        sql=packed([summary["sql"]]),
        script="\n".join(_part(name) for name in _FOREST_SCRIPTS),
    )


def safe_json(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element.

    Characters that HTML gives a meaning are written as JSON escapes.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(texts: list[str]) -> str:
    """Compress texts that are seldom read and alike, to a tenth of their size."""
    plain = json.dumps(texts).encode("ascii")
    return base64.b64encode(zlib.compress(plain, 9)).decode("ascii")


def _part(name: str) -> str:
    return (files("sorct.show.report") / "templates" / name).read_text(encoding="utf-8")
