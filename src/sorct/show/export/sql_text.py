"""SQL text: literals and names that SQLite, DuckDB and PostgreSQL read as one thing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ulp
from typing import Any

from sorct.show.export.formula import Formula, shifted_text

INDENT = "    "
# SQLite divides twice to read numbers below 1e-291, and rounds each time. Those below
# this are written as a product, exact because one factor is a power of two.
_TINY, _POWER = 1e-280, 2.0**200


class Names:
    """Names of our own, apart from those of the user's columns and table.

    ``steps`` has the names of the common table expressions.
    """

    def __init__(
        self,
        columns: Sequence[str],
        formula: Formula,
        keep: list[str],
        table: list[str],
    ) -> None:
        given, codes = [*columns, *keep], range(len(formula.labels))
        label = "predicted_value" if formula.of_quantity else "predicted_class"
        ours = {label} | {f"proba_{k}" for k in codes}
        ours |= {f"says_{leaf.number}" for leaf in formula.leaves if leaf.terms}
        for score in formula.scores:
            ours |= {f"score_{score.number}", f"left_{score.number}"}
        ours |= {"mixed"} if formula.is_log else set()
        if formula.maps:
            ours |= {f"{own}_{k}" for own in ("raw", "map") for k in codes}
        if formula.decision is not None:
            ours |= {f"cost_{k}" for k in codes}
        days = {name: f"days_{k}" for k, name in enumerate(formula.dates, 1)}
        prefix = _free_prefix(ours | set(days.values()), given)
        self.days = {name: f"{prefix}{own}" for name, own in days.items()}
        self.score, self.left = f"{prefix}score_", f"{prefix}left_"
        self.raw, self.map = f"{prefix}raw_", f"{prefix}map_"
        self.proba, self.cost = f"{prefix}proba_", f"{prefix}cost_"
        self.mixed = f"{prefix}mixed"
        self.says, self.label = f"{prefix}says_", f"{prefix}{label}"
        used = {
            "dates": bool(days), "scores": True, "chances": True,
            "raws": bool(formula.maps), "maps": bool(formula.maps), "probas": True,
            "costs": formula.decision is not None, "sums": formula.is_log,
        }  # fmt: skip
        steps = [step for step, is_used in used.items() if is_used]
        prefix = _free_prefix(set(steps), table)
        self.steps = {step: prefix + step for step in steps}


def _free_prefix(ours: set[str], given: list[str]) -> str:
    """What to put before our names so that none is taken, whatever its case."""
    taken, prefix = {name.casefold() for name in given}, ""
    while any(prefix + name in taken for name in ours):
        prefix = f"{prefix}_" if prefix else "sorct_"
    return prefix


def named(text: str, name: str) -> str:
    """An expression as a column."""
    return f"{text}\n{INDENT}AS {name}" if "\n" in text else f"{text} AS {name}"


def line_text(value: str, a: float, b: float, low: float, high: float) -> str:
    """The straight line from low at a to high at b."""
    share = f"{shifted_text(value, a, double)} / {double(b - a)}"
    return f"{double(low)} + {share} * {double(high - low)}"


def label_text(label: Any) -> str:
    """A label of a class."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    text = number_or_text(label)
    return f"CAST({text} AS DOUBLE PRECISION)" if isinstance(label, float) else text


def number_or_text(value: Any) -> str:
    """A level or a label that is no truth value."""
    if isinstance(value, str):
        return quoted_text(value)
    if isinstance(value, float):
        return double(value)
    if not -(2**63) <= value < 2**63:
        raise ValueError(
            f"Expected whole numbers of 64 bits in labels and levels, got {value}: SQL "
            "has no type for it. Use strings."
        )
    return str(value)


def double(number: float) -> str:
    """Text that every database reads as exactly this double.

    SQLite reads digits in extended precision and rounds again, so that the shortest
    digits are not enough where they lie next to the middle between two doubles.
    """
    if 0.0 < abs(number) < _TINY:
        factors = (double(number * _POWER), double(1.0 / _POWER))
        # PostgreSQL would multiply literals as decimal numbers.
        return "({} * {})".format(*(f"CAST({f} AS DOUBLE PRECISION)" for f in factors))
    text = repr(number)
    if abs(Fraction(text) - Fraction(number)) > Fraction(2, 5) * Fraction(ulp(number)):
        text = f"{number:.17g}"
    return text.upper() if "e" in text else text.removesuffix(".0") + "E0"


def quoted_text(value: str) -> str:
    """A text in quotes."""
    _check_characters(value)
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name in quotes."""
    if name == "":
        raise ValueError("Expected names of at least one character for SQL, got ''.")
    _check_characters(name)
    return '"' + name.replace('"', '""') + '"'


def _check_characters(text: str) -> None:
    """Refuse what no database can hold: NUL, and halves of surrogate pairs."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(
            f"Expected text without NUL and surrogate characters for SQL, got {text!r}."
        )
