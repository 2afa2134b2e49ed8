"""Runners: labels and probabilities of exported trees, from whoever can run them.

A runner returns both (of a quantity values and no labels), or a ValueError if the
export refuses the tree, or the word "skipped".
"""

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from sorct.export import to_javascript, to_onnx, to_python, to_sql

from tests.attacks.outcome import attempt
from tests.show.export.databases import create_table, plain, postgresql, quoted
from tests.show.export.exported_trees import as_frame, json_rows, rows_of


@dataclass(frozen=True)
class Case:
    """A tree and rows, and what everybody needs of them, worked out once."""

    tree: Any
    rows: Any

    @cached_property
    def proba(self):
        """Probabilities that the tree gives."""
        return self.tree.predict_proba(self.rows)

    @cached_property
    def labels(self):
        """Labels that the tree gives."""
        return self.tree.predict(self.rows)

    @cached_property
    def values(self):
        """Quantities that the tree gives."""
        return self.tree.predict(self.rows)

    @cached_property
    def plain_rows(self):
        """Rows as dicts of plain values."""
        return rows_of(self.rows)

    @cached_property
    def columns(self):
        """Columns of a table of a database, with a key."""
        frame = as_frame(self.rows)
        return plain(frame.assign(**{_KEY: range(len(frame))}))

    @cached_property
    def query(self):
        """The query, or the error that it is refused with."""
        return attempt(lambda tree: to_sql(tree, keep=[_KEY]), self.tree)

    @cached_property
    def is_table(self):
        """Whether there can be such a table: no name is empty, all is valid text."""
        cells = [cell for values in self.columns.values() for cell in values]
        texts = [*self.columns, *(cell for cell in cells if isinstance(cell, str))]
        return "" not in self.columns and not _UNWRITABLE.search("".join(texts))

    @cached_property
    def is_short(self):
        """Whether names differ in the bytes of them that PostgreSQL sees."""
        seen = {name.encode(errors="replace")[:63] for name in self.columns}
        return len(seen) == len(self.columns)

    @cached_property
    def in_tensors(self):
        """The case with empty text as a missing cell, which is all that tensors have.

        Not where it is a level of training: such a tree has to be refused.
        """
        columns = [v.name for v in self.tree.encoder.variables if self._drops_empty(v)]
        if not columns:
            return self
        rows = self.rows.copy()
        for name in columns:
            rows[name] = rows[name].mask([_is_empty(cell) for cell in rows[name]], None)
        return Case(self.tree, rows)

    def _drops_empty(self, variable):
        """Whether empty text of a category is no level, and missing cells are taken."""
        if variable.choices is None:
            return False
        known = getattr(variable, "known", variable)
        may_miss = variable.takes_missing or self.tree.encoder.missing == "typical"
        return may_miss and "" not in (*known.levels, *known.rare)

    @cached_property
    def is_odd(self):
        """Whether SQLite loses a column: one called true or false, beside a date."""
        return "does not find a column called true" in str(self.query)

    @cached_property
    def is_distinct(self):
        """Whether names differ in more than case, which most databases do not see."""
        return len({name.casefold() for name in self.columns}) == len(self.columns)

    @cached_property
    def is_distinct_when_cut(self):
        """Whether names differ in the 63 bytes that PostgreSQL keeps of them."""
        kept = {name.encode()[:63].decode(errors="ignore") for name in self.columns}
        return len(kept) == len(self.columns)


_SKIPPED = "skipped"
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_KEY = "number of the row"
_HARNESS = """
const fs = require("node:fs");
const cases = JSON.parse(fs.readFileSync("cases.json", "utf-8"));
const results = cases.map(({ source, rows, classes }) => {
  if (source === null) return null;
  try {
    const predict = new Function(`${source}; return predict;`)();
    return rows.map((row) => {
      if (classes === null) return predict(row);
      const { label, proba } = predict(row);
      return [label, classes.map((name) => proba[name])];
    });
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
});
fs.writeFileSync("results.json", JSON.stringify(results));
"""


def _is_empty(cell):
    return isinstance(cell, str) and cell == ""


def _split(tree, pairs):
    """Labels in the tree's own type, and probabilities, of pairs of both; or values."""
    if tree.of_quantity:
        return None, [float(value) for value in pairs]
    kind = type(tree.classes.tolist()[0])
    words = {0: False, 1: True, "f": False, "t": True}
    labels = [words[label] if kind is bool else kind(label) for label, _ in pairs]
    return labels, [[float(p) for p in proba] for _, proba in pairs]


def run_python(case):
    """Run the function in a namespace of its own."""
    space = {}
    exec(compile(to_python(case.tree).encode("utf-8"), "tree.py", "exec"), space)
    results = [space["predict"](row) for row in case.plain_rows]
    if not case.tree.of_quantity:
        results = [(label, proba.values()) for label, proba in results]
    return _split(case.tree, results)


# -- JavaScript ------------------------------------------------------------------------


def run_javascript(cases):
    """Run all functions in one process of Node."""
    node = shutil.which("node")
    if node is None:
        return [_SKIPPED] * len(cases)
    sources = [attempt(_script_of, case.tree) for case in cases]
    told = [
        {
            "source": source if isinstance(source, str) else None,
            "rows": json_rows(case.rows),
            "classes": None if case.tree.of_quantity else case.tree.classes.tolist(),
        }
        for source, case in zip(sources, cases, strict=True)
    ]
    with TemporaryDirectory(prefix="sorct-node-") as folder:
        (Path(folder) / "cases.json").write_text(json.dumps(told), "utf-8")
        subprocess.run(
            [node, "-e", _HARNESS], cwd=folder, check=True, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        results = json.loads((Path(folder) / "results.json").read_text("utf-8"))
    return [
        _from_node(case.tree, source, result)
        for case, source, result in zip(cases, sources, results, strict=True)
    ]


def _script_of(tree):
    return to_javascript(tree, module="script")


def _from_node(tree, source, result):
    if not isinstance(source, str):
        return source
    if isinstance(result, str):
        return RuntimeError(result)
    return _split(tree, result)


# -- SQL -------------------------------------------------------------------------------


def _scored(tree, names, rows):
    """Labels and probabilities of a query's result."""
    if any(value is None for row in rows for value in row):
        raise AssertionError("NULL for a row that the tree predicts")
    rows = sorted(rows, key=lambda row: int(row[0]))
    if tree.of_quantity:
        assert len(names) == 2
        return _split(tree, [row[1] for row in rows])
    assert len(names) == 2 + len(tree.classes)
    return _split(tree, [(row[-1], row[1:-1]) for row in rows])


def _run_in(connection, case):
    if not isinstance(case.query, str):
        return case.query
    if not (case.is_table and case.is_distinct):
        return _SKIPPED
    columns, cursor = case.columns, connection.cursor()
    cursor.execute('DROP TABLE IF EXISTS "data"')
    cursor.execute(create_table(columns, "data"))
    values = [list(row) for row in zip(*columns.values(), strict=True)]
    marks = ", ".join("?" * len(columns))
    cursor.executemany(f'INSERT INTO "data" VALUES ({marks})', values)
    cursor.execute(case.query)
    names = [item[0] for item in cursor.description]
    return _scored(case.tree, names, cursor.fetchall())


def run_sqlite(case):
    """Run the query in SQLite."""
    if sqlite3.sqlite_version_info < (3, 35) or case.is_odd:
        return _SKIPPED
    with closing(sqlite3.connect(":memory:")) as connection:
        return _run_in(connection, case)


@cache
def _duckdb():
    try:
        import duckdb
    except ImportError:
        return None
    return duckdb.connect(":memory:", config={"threads": 1})


def run_duckdb(case):
    """Run the query in DuckDB."""
    connection = _duckdb()
    return _SKIPPED if connection is None else _run_in(connection, case)


@contextmanager
def server():
    """Start a PostgreSQL server, or give None where there is none."""
    manager = postgresql()
    try:
        running = manager.__enter__()
    except pytest.skip.Exception:
        yield None
        return
    try:
        yield running
    finally:
        manager.__exit__(None, None, None)


def run_postgresql(cases, database):
    """Run all queries in one session of a server."""
    from tests.attacks.sessions import session

    runnable = [
        isinstance(c.query, str) and c.is_table and c.is_distinct_when_cut
        for c in cases
    ]
    scripts = [
        _script(case) if good else ""
        for case, good in zip(cases, runnable, strict=True)
    ]
    results = session(database, scripts)
    return [
        _from_session(case, result) if good else _not_run(case)
        for case, good, result in zip(cases, runnable, results, strict=True)
    ]


def _not_run(case):
    return _SKIPPED if isinstance(case.query, str) else case.query


def _script(case):
    """Statements that make the table, fill it and run the query."""
    columns = case.columns
    rows = zip(*columns.values(), strict=True)
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    return (
        'DROP TABLE IF EXISTS "data";\n'
        f"{create_table(columns, 'data')};\n"
        f"INSERT INTO {quoted('data')} VALUES {values};\n{case.query};\n"
    )


def _literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _from_session(case, result):
    if isinstance(result, str):
        return RuntimeError(result)
    names, *rows = result
    return attempt(_scored, case.tree, names, rows)


# -- ONNX ------------------------------------------------------------------------------


def run_onnx(case, dtype):
    """Run the graph in onnxruntime."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return _SKIPPED
    from tests.show.export.test_onnx import outputs

    model = to_onnx(case.tree, dtype=dtype)
    # What a tree does not read may be beyond single precision.
    with np.errstate(over="ignore"):
        first, *more = outputs(model, case.rows)
    pairs = zip(first, *more, strict=True) if more else first.ravel()
    return _split(case.tree, list(pairs))
