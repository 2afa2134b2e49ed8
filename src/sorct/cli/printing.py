"""Printing: results on standard output, as text for people or JSON for machines."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.wording import printable
from sorct.estimators.scorers import in_words
from sorct.show.numbers import write_out

if TYPE_CHECKING:
    import pandas as pd

    from sorct.tree.training import TrainingRecord
    from sorct.tree.tree import Tree


# Cells have so many characters in a line, however narrow the screen.
_NARROWEST = 24
#: Losses of a quantity whose trees say a level of it, which R² does not judge.
OF_LEVELS = ("absolute", "quantile")
# Scores of this size are no shares.
_LARGE = 10.0


def print_result(as_json: bool, document: dict[str, Any], text: str) -> None:
    """Print one or the other."""
    if as_json:
        text = _escaped(
            json.dumps(plain(document), allow_nan=False, ensure_ascii=False)
        )
    sys.stdout.write(text + "\n")


def _escaped(text: str) -> str:
    """JSON in which all that cannot be seen is escaped: a terminal would obey it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def plain(value: Any) -> Any:
    """Data as JSON has them; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side: numbers to the right, words to the left."""
    columns = list(zip(header, *rows, strict=True))
    lines = []
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_numeric(cell) for cell in column[1:]) for column in columns]
    for line in zip(*columns, strict=True):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def wrapped_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as wide as the screen.

    Cells of its last column go over several lines, those of the last but one are cut.
    """
    lines = text_table(header[:-2], [row[:-2] for row in rows]).split("\n")
    first = max(map(len, lines)) + 2
    room = shutil.get_terminal_size().columns - first - 2
    longest = max((len(row[-1]) for row in rows), default=0)
    widest = max(len(row[-2]) for row in rows)
    own = min(widest, max(room // 2 if longest else room, _NARROWEST))
    told = []
    for line, row in zip(lines, [header, *rows], strict=True):
        begin = f"{line:<{first}}{_cut(row[-2], own):<{own}}  "
        note, *more = textwrap.wrap(row[-1], max(room - own, _NARROWEST)) or [""]
        told.append(f"{begin}{note}".rstrip())
        told += [" " * len(begin) + part for part in more]
    if not longest:
        told[0] = told[0].removesuffix(header[-1]).rstrip()
    return "\n".join(told)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 4].rstrip(', .')} ..."


def _is_numeric(cell: str) -> bool:
    """Whether a cell is a number, or the dash for none."""
    return (
        cell == "-"
        or cell.strip("+-<").replace(".", "", 1).replace("e-", "", 1).isdigit()
    )


def number(value: float, digits: int = 4) -> str:
    """A number with so many digits that count."""
    return write_out(f"{value:.{digits}g}")


def score_text(value: float, decimals: int = 3) -> str:
    """A score to some decimals; a large one, which has units, to four digits."""
    return f"{value:.{decimals}f}" if abs(value) < _LARGE else number(value)


def cell(value: Any) -> str:
    """A number, or a word, of which nobody knows which it is; a dash for none."""
    if value is None or value != value:
        return "-"
    is_number = isinstance(value, (int, float, np.number))
    if is_number and not isinstance(value, bool):
        return number(float(value), 6)
    return printable(value)


# Settings that a race may also choose.
_MORE_SETTINGS = ("class_weight", "leaf", "mixed", "link", "categorical", "preselect")
_NO_SCORE = "- no tree of it is feasible, or followed by hand as asked"


def race_table(race: pd.DataFrame, scoring: str) -> str:
    """All that a search tried: what has most folds first, and the best of these."""
    name, _ = in_words(scoring, 0.0)
    names = ["loss", "depth", "gamma", "scaling"]
    names += [key for key in _MORE_SETTINGS if key in race]
    header = [*names, printable(name), "folds", "on all folds"]
    # Scores on other folds cannot be compared.
    order = ["finalist", "first_folds", "first_score"]
    race = race.sort_values(order, ascending=False, kind="stable")
    rows = []
    for row in race.to_dict("records"):
        settings = [cell(row[key]) for key in names]
        first = _told_score(scoring, row["first_score"])
        on_all = "" if math.isnan(row["score"]) else _told_score(scoring, row["score"])
        rows.append([*settings, first, str(row["first_folds"]), on_all])
    lines = [text_table(header, rows)]
    lines += [_NO_SCORE] if any(row[-3] == "-" for row in rows) else []
    return "\n".join(lines)


def _told_score(scoring: str, score: float) -> str:
    told = in_words(scoring, score)[1]
    return score_text(told, 4) if math.isfinite(told) else "-"


def fit_name(tree: Tree) -> str:
    """What the cost of a tree is, by the loss that it was trained with."""
    if tree.of_quantity:
        return "loss"
    return "log-loss" if tree.training.by_log else "cost"


def agreement_name(tree: Tree) -> str:
    """What trees of the kind are shown by: accuracy, or R²."""
    return next(iter(tree.target.measure_names.values()))


def held_out_score(training: TrainingRecord) -> tuple[str, float]:
    """Name and value of what a tree of a path has on folds: of a quantity R²."""
    if training.cv_r2 is not None:
        return "R²", training.cv_r2
    return in_words(training.cv_scoring or "score", training.cv_score or 0.0)


def path_table(frame: pd.DataFrame, trees: Sequence[Tree]) -> str:
    """Points of a path: penalties, variables, expected cost, accuracy if known."""
    header = ["point", "alpha_local", "alpha_global", "variables", "per cut"]
    header.append(fit_name(trees[0]))
    rows = []
    for point, row in zip(frame.index.tolist(), frame.to_dict("records"), strict=True):
        cells = [
            str(point),
            number(row["alpha_local"]),
            number(row["alpha_global"]),
            str(int(row["n_variables"])),
            str(trees[point].most_variables_per_cut),
            f"{row['cost']:.4f}",
        ]
        if "agreement" in row:
            cells.append(f"{row['agreement']:.3f}")
        told = trees[point].training
        if told.cv_score is not None:
            cells.append(f"{held_out_score(told)[1]:.3f}")
            if told.cv_r2 is None:
                cells.append(f"{told.cv_standard_error or 0.0:.3f}")
        rows.append(cells)
    header += [agreement_name(trees[0])] if "agreement" in frame else []
    header += ["held out", "std. error"]
    return text_table(header[: len(rows[0])], rows)


def score_line(training: TrainingRecord) -> str | None:
    """What cross-validation said of a tree, if it was chosen by it."""
    if training.cv_score is None:
        return None
    name, score = in_words(training.cv_scoring or "score", training.cv_score)
    name, error = printable(name), training.cv_standard_error
    write = score_text if training.cv_r2 is None else number
    line = (
        f"{name[:1].upper()}{name[1:]} in cross-validation ({training.cv_folds} "
        f"fold{'' if training.cv_folds == 1 else 's'}): {write(score)}"
    )
    if error is not None and training.cv_folds != 1:
        line += f" (standard error {write(error)})"
    if training.cv_accuracy is not None and name != "accuracy":
        line += f"; accuracy {training.cv_accuracy:.3f}"
    if training.cv_r2 is not None and name != "r2" and training.loss not in OF_LEVELS:
        line += f"; R² {training.cv_r2:.3f}"
    return line
