"""Tables of ``results/scale.csv`` for people: written into ``docs/scale.md``."""

from __future__ import annotations

import re
from pathlib import Path

Lines = list[dict[str, str]]

_TITLES = {
    "memory": "In memory (copies are of X, at the peak, beside X itself):",
    "stream": "Files, `depth=2, alpha_local=0.02` (megabytes of the whole process):",
    "predict": "Prediction, trees trained on 50 000 rows (columns used beside them):",
    "limits": "`time_limit=5`:",
    "wide": "Many columns, classes, levels, default fits without a time limit:",
    "sparse": "Text, 100 words in a row:",
    "workers": "Dask, two workers of one thread each:",
    "killed": "Killed on the way (objectives as of an undisturbed fit, to 1e-9):",
}  # fmt: skip
_TIMED = ("seconds", "processor_seconds")
_SHOWN = {
    "memory": ("method", "rows", *_TIMED, "accuracy", "copies"),
    "stream": ("rows", "passes", *_TIMED, "megabytes", "accuracy"),
    "predict": ("method", "rows", *_TIMED, "accuracy", "used"),
    "limits": ("method", "rows", "columns", "seconds", "megabytes"),
    "wide": ("method", "rows", "columns", *_TIMED, "megabytes"),
    "sparse": ("method", "rows", "columns", "seconds", "megabytes", "used", "accuracy"),
    "workers": ("method", "rows", "passes", "seconds", "objective"),
    "killed": ("method", "rows", "passes", "objective"),
}  # fmt: skip
_BEGIN, _END = "<!-- measured -->", "<!-- /measured -->"
# What the cost model tells of: rows, columns, workers.
_CLUSTER = 1e9, 100, 100


def table(part: str, lines: Lines) -> str:
    """Lines of a part as a table, with the load of the machine meanwhile."""
    own = [line for line in lines if line["part"] == part]
    if not own:
        return f"{_TITLES[part]} not measured yet."
    header = (*_SHOWN[part], "load")
    rows = [[_text(name, line[name]) for name in header] for line in own]
    names = [name.replace("_", " ") for name in header]
    drawn = [names, ["--:" if k else ":--" for k in range(len(names))], *rows]
    return "\n".join([_TITLES[part], "", *(f"| {' | '.join(r)} |" for r in drawn)])


def _text(name: str, cell: str) -> str:
    if name in ("rows", "columns") and cell:
        return f"{int(cell):,}".replace(",", " ")
    if name == "objective" and cell:
        return f"{float(cell):.12f}"
    return cell or " "


def cost_model(lines: Lines) -> str:
    """What a pass takes by the two largest tables, and what a cluster would need."""
    known = [line for line in lines if line["part"] == "stream"]
    if len(known) < 2:
        return ""
    small, large = known[-2:]
    spent = [float(line["processor_seconds"]) for line in (small, large)]
    millions = [int(line["rows"]) / 1e6 for line in (small, large)]
    passes, columns = int(large["passes"]), int(large["columns"])
    pace = (spent[1] - spent[0]) / (millions[1] - millions[0]) / passes
    n_rows, n_columns, n_workers = _CLUSTER
    each = pace * n_rows / 1e6 / n_workers * n_columns / columns
    return (
        f"Cost model: from {_text('rows', small['rows'])} to "
        f"{_text('rows', large['rows'])} rows a pass took {pace:.2f} s of a core per "
        f"million rows x {columns} columns (the survey, the draw and what is told of "
        f"the tree counted as passes). So 10^9 rows x {n_columns} columns on "
        f"{n_workers} workers of one core need {each:.0f} s a pass, and "
        f"{passes * each / 60:.0f} minutes for {passes} passes."
    )


def write(lines: Lines, page: Path) -> None:
    """Put the tables between their marks in a page."""
    told = [table(part, lines) for part in _TITLES] + [cost_model(lines)]
    commits = sorted({line["commit"] for line in lines} - {""})
    told.append(f"Code: {', '.join(commits) or 'older than this page'}.")
    whole = "\n\n".join(part for part in told if part)
    text = page.read_text(encoding="utf-8")
    marked = re.compile(f"{_BEGIN}.*{_END}", re.DOTALL)
    assert marked.search(text), f"expected {_BEGIN} in {page}"
    new = marked.sub(lambda _: f"{_BEGIN}\n\n{whole}\n\n{_END}", text)
    page.write_text(new, encoding="utf-8")
