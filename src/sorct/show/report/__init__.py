"""Report: one self-contained page about a tree, a path or a forest.

``summarize.py`` turns trees and data into a plain dict of all that is shown, and
``forests.py`` a forest; ``render.py`` puts it into the page, which computes predictions
itself.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.target import data_given
from sorct.data.wording import shown
from sorct.show.report.forests import summarize_forest
from sorct.show.report.render import page
from sorct.show.report.rows import Shown
from sorct.show.report.summarize import summarize, told_of
from sorct.tree.files import write_text

if TYPE_CHECKING:
    from sorct.tree.forest import Forest
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

__all__ = ["Report"]


@dataclass(frozen=True, repr=False)
class Report:
    """A report, ready to be written.

    Attributes
    ----------
    summary : dict
        Everything shown, as plain data.
    """

    summary: dict[str, Any]

    @classmethod
    def of_tree(
        cls,
        tree: Tree,
        X: Any,
        y: Any,
        *,
        title: str | None,
        rows: int,
        call: str | None,
    ) -> Report:
        """See ``Tree.report``."""
        _check_rows(rows)
        shown = _rows(tree, X, y)
        title, call = _text(title) or "A sparse tree", _text(call)
        return cls(
            summarize([tree], 0, shown, title=title, n_rows=int(rows), call=call)
        )

    @classmethod
    def of_path(
        cls,
        path: Path,
        X: Any,
        y: Any,
        *,
        chosen: Tree | None,
        title: str | None,
        rows: int,
        call: str | None,
    ) -> Report:
        """See ``Path.report``."""
        _check_rows(rows)
        shown = _rows(path.trees[0], X, y)
        place, trees = None, list(path.trees)
        if chosen is not None:
            place = _place(path, chosen)
            trees[place] = chosen
        summary = summarize(
            trees,
            place,
            shown,
            title=_text(title) or "A path of sparse trees",
            n_rows=int(rows),
            path=path,
            call=_text(call),
        )
        return cls(summary)

    @classmethod
    def of_forest(
        cls,
        forest: Forest,
        X: Any,
        y: Any,
        *,
        title: str | None,
        rows: int,
        call: str | None,
    ) -> Report:
        """See ``Forest.report``."""
        _check_rows(rows)
        shown = _rows(forest.trees[0], X, y)
        title, call = _text(title) or "A forest of sparse trees", _text(call)
        return cls(
            summarize_forest(forest, shown, title=title, n_rows=int(rows), call=call)
        )

    def html(self) -> str:
        """The page."""
        return page(self.summary)

    def json(self) -> str:
        """Everything shown, for machines."""
        return json.dumps(self.summary, allow_nan=False)

    def write_html(self, file: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        write_text(self.html(), file)

    def __repr__(self) -> str:
        n_trees = len(self.summary.get("points", self.summary["trees"]))
        trees = "one tree" if n_trees == 1 else f"{n_trees} trees"
        return f"<Report: {self.summary['title']}, {trees}; use write_html>"


def _text(given: Any) -> str | None:
    """A title or a call as text; whatever it is can be written."""
    return None if given is None else str(given)


def _rows(tree: Tree, X: Any, y: Any) -> Shown | None:
    """Data to show trees on, checked; None if none were given."""
    return told_of(tree).rows(tree, X, y) if data_given(X, y) else None


def _check_rows(rows: Any) -> None:
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, bool)
    if not whole or rows < 0:
        raise ValueError(f"rows must be a whole number >= 0, got {shown(rows)}.")


def _place(path: Path, chosen: Tree) -> int:
    """Point of a tree of the path: the object itself, or one equal to it."""
    for same in (lambda tree: tree is chosen, lambda tree: tree == chosen):
        for place, tree in enumerate(path.offered):
            if same(tree):
                return place % len(path)
    raise ValueError("chosen must be a tree of the path, such as path.select(...).")
