"""Write docs/api.md: every public name, its signature and what it is for.

``python docs/api.py`` renews the page; a test compares it with what this would write.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import sorct
from sorct.estimators.compare.comparison import Comparison
from sorct.estimators.interval import Interval
from sorct.show.counterfactual import Flip
from sorct.show.explanation import Explanation, Part, Step
from sorct.show.forests import ForestExplanation, Influence
from sorct.show.report import Report
from sorct.show.value_explanation import Move, ValueExplanation
from sorct.tree.forest import ForestRecord
from sorct.tree.rounding import Rounded
from sorct.tree.training import TrainingRecord

PAGE = Path(__file__).parent / "api.md"
_HEAD = """\
# API

Every public name. `python docs/api.py` writes this page from the docstrings, which say
more: `help(sorct.SORCTClassifier)`. Names that are not here are our own business and
may change without notice; [extending](extending.md) says which of them are made to be
built on.
"""
#: What public functions and attributes give, without being called by name.
_GIVEN = (
    TrainingRecord, ForestRecord, Interval, Report, Rounded, Explanation, Step, Part,
    Flip, Comparison, ValueExplanation, Move, ForestExplanation, Influence,
)  # fmt: skip
_PARTS = {
    "sorct.plotting": "Plots",
    "sorct.export": "Exports",
    "sorct.datasets": "Data sets",
}


def page() -> str:
    """Text of the whole page."""
    own = [name for name in sorct.__all__ if not name.startswith("_")]
    things = {name: getattr(sorct, name) for name in own}
    blocks = [_HEAD, "## sorct\n"]
    blocks += [
        _entry(name, thing)
        for name, thing in things.items()
        if not inspect.ismodule(thing)
    ]
    blocks.append("## What they give\n")
    blocks += [_entry(thing.__name__, thing) for thing in _GIVEN]
    for module, title in _PARTS.items():
        part = things[module.rpartition(".")[2]]
        blocks.append(f"## {title}: {module}\n")
        blocks += [_entry(name, getattr(part, name)) for name in sorted(dir(part))]
    return "\n".join(blocks)


# What is no class or function has no docstring.
_NOTES = {
    "PAPER": "Options with which an estimator reads a table and trains as the paper "
    "does: `SORCTClassifier(**PAPER)`.",
    "PAPER_ALPHAS": "The paper's strengths, for `alphas_local` and `alphas_global`.",
}


def _entry(name: str, thing: Any) -> str:
    if isinstance(thing, (dict, tuple)):
        return f"### {name}\n\n```python\n{name} = {thing!r}\n```\n\n{_NOTES[name]}\n"
    lines = [f"### {name}\n", f"```python\n{name}{_signature(thing)}\n```\n"]
    lines.append(f"{_first_paragraph(thing)}\n")
    if inspect.isclass(thing):
        lines += _members(thing)
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    """Parameters with their defaults; types are left to the docstrings."""
    signature = inspect.signature(thing)
    plain = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
    ]
    text = str(signature.replace(parameters=plain, return_annotation=inspect._empty))
    return text.replace("<factory>", "...")


def _first_paragraph(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def _members(kind: type) -> list[str]:
    """Public methods and properties of a class of ours, a line each."""
    found = [
        (name, member)
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and _is_ours(kind, name)
        if callable(member) or _is_property(member)
    ]
    lines = [
        f"- `{name}{'' if _is_property(member) else _call(member)}`: "
        f"{_first_paragraph(member)}"
        for name, member in found
    ]
    return [*lines, ""] if lines else []


def _call(member: Any) -> str:
    given = [name for name in inspect.signature(member).parameters if name != "self"]
    return f"({', '.join(given)})"


def _is_property(member: Any) -> bool:
    return isinstance(member, property) or hasattr(member, "attrname")


def _is_ours(kind: type, name: str) -> bool:
    """Whether a member is written here, not inherited from scikit-learn or Python."""
    owner = next(base for base in kind.__mro__ if name in base.__dict__)
    return owner.__module__.startswith("sorct.")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
