"""Wording: names that come from users, and numbers, made fit to be shown."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

_ANSWERS = ("yes", "no")
# Rules part levels, names and what is told of them by these.
_MARKS = re.compile(r'[,;"()]')
# Behind a word, with nothing in it that rules say in parentheses.
_UNIT = re.compile(r"(?<=\S) ?\((?!missing)[^,;:\"()]*\)")
# What rules make of names: places on curves, parts of numbers, questions and sums.
_RULES = re.compile(
    r"^(?:curve|score|exp)\(|\bfrom [-+]?\d\S* to [-+]?\d|\bsince \d|[\[\]]"
    r"| (?:is|[-+<=>]) "
)
# Numbers beyond these are not written out.
_SMALLEST, _LARGEST = Decimal("1e-6"), Decimal("1e12")


#: Words for levels and cells that have no name of their own.
NAMELESS = ("missing", "other", "others")


class Unnamed(str):
    """One of these words where it means what it says, and is nobody's name."""

    __slots__ = ()


def printable(name: Any) -> str:
    """A name on one line, control characters escaped."""
    text = str(name)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def readable(name: Any) -> str:
    """A name of a variable that stands apart from the numbers and words around it.

    Names that are numbers, blank, or words that rules use are quoted, and those with
    marks that part names or with what rules themselves make of a name, such as
    "curve(x)". A unit in parentheses, as in "width (cm)", misleads nobody.
    """
    text = printable(name)
    odd = _is_odd(text) or text in NAMELESS or _RULES.search(text)
    return _in_quotes(text) if odd or _MARKS.search(_UNIT.sub("", text)) else text


def readable_level(level: Any) -> str:
    """A level beside a number: quoted if it could be one, or has marks of its own."""
    text = printable(level)
    return _in_quotes(text) if _is_odd(text) else apart(level)


def apart(level: Any) -> str:
    """A level among words: quoted if it has marks that part levels, or is such a word.

    Such words are those for levels and cells that have no name.
    """
    text = printable(level)
    odd = _MARKS.search(text) and not isinstance(level, Unnamed)
    return _in_quotes(text) if odd else by_itself(level)


def by_itself(choice: Any) -> str:
    """A choice where nothing else stands: quoted if it is called as nameless ones are.

    None is a missing cell.
    """
    if choice is None:
        return "missing"
    if isinstance(choice, Unnamed):
        return choice.strip("()")
    text = printable(choice)
    return _in_quotes(text) if isinstance(choice, str) and text in NAMELESS else text


def readable_label(label: Any) -> str:
    """A class as an answer of the tree: text that is "yes" or "no" is quoted."""
    text = printable(label)
    odd = isinstance(label, str) and text.strip().lower() in ("", *_ANSWERS)
    return _in_quotes(text) if odd or _MARKS.search(text) else text


def _in_quotes(text: str) -> str:
    """Text in quotes; those inside are doubled."""
    return '"{}"'.format(text.replace('"', '""'))


def class_name(label: Any) -> str:
    """A class inside a sentence, where a number alone would be taken for another."""
    text = printable(label)
    return f"class {text}" if _is_number(text) else readable_label(label)


def _is_odd(text: str) -> bool:
    if text.strip() != text or text.lower() in ("", *_ANSWERS):
        return True
    return _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def plain_number(text: str) -> str:
    """A rounded number written out where people can read it so, thousands apart."""
    number = Decimal(text)
    if number and not _SMALLEST <= abs(number) < _LARGEST:
        return text
    # Four digits stay together, as in a year.
    mark = "," if abs(number) >= 10_000 else ""
    return f"{number:{mark}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def write_out(text: str) -> str:
    """The same with all digits together."""
    return plain_number(text).replace("\N{NARROW NO-BREAK SPACE}", "")


def told_within(number: float, span: float) -> str:
    """A number written out, to a thousandth of a span or finer."""
    # Adding 0 makes -0 a plain 0.
    rounded = round(number, 3 - math.floor(math.log10(span))) + 0.0
    return write_out(f"{rounded:.15g}")


def shown(value: Any, most: int = 99) -> str:
    """What somebody handed in, on one line and not too long."""
    return " ".join(f"{value!r:.{10 * most}}".split())[:most]


def shortened(text: str, longest: int) -> str:
    """Text of so many letters, cut in the middle."""
    if len(text) <= longest:
        return text
    head = longest // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def listed(values: Iterable[Any], most: int = 10) -> str:
    """Values in quotes, and how many more there are."""
    values = list(values)
    shown = ", ".join(repr(value) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def not_there(
    kind: str, name: str, known: Iterable[Any], place: str, why: str = ""
) -> str:
    """Message of a name that is not there, with the closest that is."""
    names = [str(one) for one in known]
    lower = {one.strip().lower(): one for one in reversed(names)}
    close = difflib.get_close_matches(name.strip().lower(), lower, n=1, cutoff=0.7)
    hint = f"; did you mean {lower[close[0]]!r}?" if close else "."
    return (
        f"There is no {kind} {name!r} in {place}{hint}{why} Expected one of "
        f"{listed(names)}."
    )
