"""Messages: what the command line says on standard error, a line each.

Mistakes of users are raised as ``WorkError`` (the work cannot be done) or
``UsageError`` (it was asked for wrongly); ``main`` prints them and chooses the exit
code.
"""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sorct.data.wording import not_there

# Options of the library under the names that they have on the command line.
_FLAGS = {
    "alpha_global", "alpha_local", "alphas_global", "alphas_local",
    "categorical_features", "class_weight", "cost_matrix", "feature_cost",
    "group_bounds", "group_measure", "handle_missing", "handle_unknown", "max_cost",
    "max_features", "max_features_per_cut", "max_iter", "min_followed",
    "min_frequency", "min_recall", "monotonic_cst", "n_jobs", "n_solutions",
    "n_starts", "positive_class", "sample_weight", "time_limit", "tol",
}  # fmt: skip
_OTHER_NAMES = {
    "n-jobs": "jobs", "monotonic-cst": "monotonic", "group-bounds": "group-bound",
}  # fmt: skip
_OPTION = re.compile(
    rf"(?<![\w'\"-])({'|'.join(sorted(_FLAGS, key=len)[::-1])})(?![\w'\"])"
)

# An option with its value, as in encoding='cp1252'.
_WITH_VALUE = re.compile(r"""(?<![\w'"-])([a-z_]+)=('[^']*'|"[^"]*")""")

# The one sentence among the rules of a tree that names options.
_HINT = re.compile(r"^To find more of (it|them):.*(\n  .*)*", re.MULTILINE)
# A call that one of its options is written in.
_CALL = re.compile(r"SORCTClassifierCV\(([^()]*)\)")
# A call that they name, and what does the same.
_EVERY_LEVEL = 'export_text(tree, levels="all")', "sorct show --levels all"


class WorkError(Exception):
    """The work cannot be done: exit code 1."""


class UsageError(Exception):
    """The command line does not make sense: exit code 2."""


def one_line(text: object) -> str:
    """Text on a line of its own; control characters are made visible."""
    words = " ".join(str(text).split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def in_flags(message: str) -> str:
    """A message of the library with options as they are on the command line.

    Names of columns and classes are quoted, and left alone.
    """
    message = _WITH_VALUE.sub(
        lambda found: f"--{found[1].replace('_', '-')} {shlex.quote(found[2][1:-1])}",
        message,
    )

    def flag(match: re.Match[str]) -> str:
        name = match.group(1).replace("_", "-")
        return f"--{_OTHER_NAMES.get(name, name)}"

    return _OPTION.sub(flag, message)


def hints_in_flags(text: str) -> str:
    """Rules of a tree whose hints name flags of the command line."""
    told = _HINT.sub(lambda found: in_flags(_CALL.sub(r"\1", found[0])), text)
    return told.replace(*_EVERY_LEVEL)


def say(kind: str, text: object) -> None:
    """Print a line such as ``sorct: note: ...`` on standard error."""
    print(f"sorct: {kind}: {one_line(text)}", file=sys.stderr)


def note(quiet: bool, text: str) -> None:
    """Say something that is good to know."""
    if not quiet:
        say("note", text)


@contextmanager
def warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Print the library's warnings as lines, each once, and no others."""
    said: set[str] = set()

    def show(
        message: Warning | str, category: type[Warning], *_: Any, **__: Any
    ) -> None:
        text = in_flags(str(message))
        if not quiet and issubclass(category, UserWarning) and text not in said:
            said.add(text)
            say("warning", text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def no_such(
    kind: str, name: str, known: Iterable[Any], place: str, why: str = ""
) -> WorkError:
    """Error of a name that is not there, with the closest that is."""
    return WorkError(not_there(kind, name, known, place, why))
