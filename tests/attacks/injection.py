"""Injection: hostile texts stay texts in everything that we write.

Names, levels, labels, targets, titles and calls go into rules, explanations, exports,
pages, tables and the terminal; a page is opened in a browser, which must do nothing.
"""

import ast
import contextlib
import csv
import io
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sorct.export import to_javascript, to_python, to_sql

from sorct import Forest, Tree, explain, export_text
from tests.attacks.bad_lines import run
from tests.attacks.browser import watched_browser
from tests.attacks.mutations import EXPORTS, some_y
from tests.attacks.outcome import each_case
from tests.attacks.random_forests import random_forest
from tests.attacks.random_trees import random_model, random_tree
from tests.attacks.texts import random_text
from tests.show.report.cases import Elements

# One page in so many is opened in a browser.
_OPENED = 5
_SURROGATE = re.compile("[\ud800-\udfff]")
_PARTS = {ast.Expr, ast.Import, ast.ImportFrom, ast.FunctionDef}
_CALLED = {"_number", "_weight", "_chance", "max", "float", "ValueError"}
_CALLED |= {"_math.exp", "_math.isfinite", "_missing", "_days", "_curve", "_date"}
_CALLED |= {"_date.fromisoformat", "str", "zip", "isinstance", "len", "bool"}
# Calibration: numbers in, a number out.
_CALLED |= {"_logistic", "_math.log", "min", "sum"}


def _known_tags():
    """Elements of plain pages, of a tree and of a forest."""
    rng = np.random.default_rng(0)
    tree, rows = random_tree(rng)
    models = [tree, random_forest(rng, tree, rows)]
    pages = [
        page
        for model in models
        for page in (
            model.report(title="x").html(),
            model.report(rows, some_y(model, rows)).html(),
        )
    ]
    return {tag for page in pages for tag in Elements(page).tags}


_KNOWN_TAGS = _known_tags()


def attack(rng, n_cases):
    """Put hostile texts everywhere, and look at all that comes out."""
    with (
        TemporaryDirectory(prefix="sorct-injection-") as folder,
        contextlib.chdir(folder),
        watched_browser() as visit,
    ):
        return each_case(rng, n_cases, lambda case: _check(case, visit))


def _check(rng, visit):
    tree, rows = _hostile(rng)
    _check_texts(tree, rows)
    _check_sources(tree)
    forest = _check_forest(rng, tree, rows)
    _check_terminal(rng, tree, rows)
    model = forest if rng.random() < 0.3 else tree
    page = _page(rng, model, rows)
    if rng.random() * _OPENED < 1.0 and visit is not None:
        file = Path("page.html").absolute()
        file.write_text(page, "utf-8")
        visit(file)
        return "opened"
    return "read"


def _hostile(rng):
    """Draw a tree whose record is hostile as well."""
    tree, rows = random_model(rng, max_depth=3, n_variables=int(rng.integers(1, 6)))
    told = replace(
        tree.training, call=random_text(rng), target=random_text(rng),
        search=random_text(rng), status=random_text(rng), cv_scoring=random_text(rng),
        cv_rule=random_text(rng), cv_score=0.5, cv_folds=3,
        versions={random_text(rng): random_text(rng)},
        others={random_text(rng): [random_text(rng)]},
    )  # fmt: skip
    return replace(tree, training=told), rows


def _plain_lines(text, what):
    """Refuse anything in a text that is no letter, sign or end of a line."""
    for line in text.split("\n"):
        odd = [c for c in line if not c.isprintable()]
        assert not odd, f"{what} has {odd[0]!r} in {line!r:.200}"


def _check_texts(tree, rows):
    row = rows.iloc[[0]] if tree.encoder.named else rows[:1]
    rules = export_text(tree) if isinstance(tree, Tree) else str(tree)
    _plain_lines(rules, "the rules")
    _plain_lines(repr(tree), "the name of the tree")
    _plain_lines(str(explain(tree, row)), "the explanation")


def _check_sources(model):
    for write in EXPORTS:
        try:
            source = write(model)
        except ValueError:
            continue
        _CHECKS[write](source)


def _check_forest(rng, tree, rows):
    """Write a forest with the same names, levels and labels, told as hostile."""
    forest = random_forest(rng, tree, rows)
    told = replace(
        forest.training, call=random_text(rng), status=random_text(rng),
        loss=random_text(rng), target=random_text(rng), oob_scoring=random_text(rng),
        versions={random_text(rng): random_text(rng)},
    )  # fmt: skip
    forest = replace(forest, training=told)
    _check_texts(forest, rows)
    _check_sources(forest)
    distinct = Forest.from_dict(forest.to_dict())
    assert distinct == forest
    assert distinct.training == told
    _check_terminal(rng, forest, rows)
    return forest


def _check_sql(source):
    head = re.split("\n(?:WITH|SELECT)\\s", source, maxsplit=1)[0]
    lines = re.split("[\n\r\x0b\x0c\x85\u2028\u2029]", head)
    assert all(line.startswith("-- ") for line in lines), (
        f"a comment ends: {head!r:.300}"
    )
    assert sqlite3.complete_statement(source + ";"), "an open quote"
    assert not sqlite3.complete_statement(source), "more than one statement"


def _check_python(source):
    module = ast.parse(source.encode("utf-8"))
    assert {type(node) for node in module.body} <= _PARTS, "more than functions"
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            assert name in _CALLED or name.endswith(".get"), f"{name} is called"


def _check_javascript(source):
    assert not re.search("</|<!--|<script", source, re.I), "a tag in a script"
    lines = re.split("[\n\r\u2028\u2029]", source.partition("\nfunction ")[0])
    assert all(line.startswith("// ") for line in lines), "a comment ends"


_CHECKS = {
    to_sql: _check_sql,
    to_python: _check_python,
    to_javascript: _check_javascript,
}


def _page(rng, tree, rows):
    """The report, in which no element is there because of a text."""
    y = some_y(tree, rows)
    page = tree.report(rows, y, title=random_text(rng), call=random_text(rng)).html()
    found = set(Elements(page).tags)
    assert found <= _KNOWN_TAGS, f"new elements: {found - _KNOWN_TAGS}"
    return page


# -- the command line ------------------------------------------------------------------


def _check_terminal(rng, tree, rows):
    tree.to_json("model.json")
    for words in (["show", "model.json"], ["show", "model.json", "--json"]):
        code, out, err = run(words)
        assert code == 0, err
        _plain_lines(out.decode("utf-8"), "sorct show")
        _plain_lines(err, "standard error")
    frame = rows if tree.encoder.named else tree_frame(tree, rows)
    if _SURROGATE.search(
        "".join(map(str, [*frame.columns, *frame.to_numpy().ravel()]))
    ):
        return
    frame.to_parquet("rows.parquet")
    code, out, err = run(["explain", "model.json", "rows.parquet"])
    _plain_lines(out.decode("utf-8") + err, "sorct explain")
    words = ["predict", "model.json", "rows.parquet"]
    words += [] if tree.of_quantity else ["--proba"]
    code, out, err = run(words if rng.random() < 0.5 else [*words, "--keep"])
    _plain_lines(err, "standard error")
    if code == 0:
        _check_cells(out.decode("utf-8"))


def tree_frame(tree, rows):
    """Rows of an array as a frame."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(tree.encoder.names))


def _check_cells(text):
    """No cell that a spreadsheet would compute."""
    for line in csv.reader(io.StringIO(text, newline="")):
        for cell in line:
            formula = cell[:1] in tuple("=+-@\t\r＝＋－＠") and not _is_number(cell)
            assert not (cell and formula), f"a formula: {cell!r:.100}"


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
