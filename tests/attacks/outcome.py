"""Outcome: what became of the cases of one attack, and how to repeat one.

An attack is a function of a random generator and a number of cases. Case k draws from
the k-th child of the generator, so that it can be repeated without the others.
"""

import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

_CHUNK = 256
_LONGEST = 2500


@dataclass(frozen=True)
class Failure:
    """A case that did not hold, by its number, and what was seen."""

    case: int
    told: str


@dataclass
class Outcome:
    """How many cases were tried, how many held, and how they ended."""

    tried: int = 0
    held: int = 0
    failures: list[Failure] = field(default_factory=list)
    ends: Counter = field(default_factory=Counter)

    def add(self, end):
        """Count a case that held."""
        self.tried += 1
        self.held += 1
        self.ends[end] += 1

    def fail(self, told):
        """Count a case that did not hold; its number is its place."""
        self.failures.append(Failure(self.tried, told))
        self.tried += 1
        self.ends["failed"] += 1

    def tell(self, result):
        """Count a case: the error that it ended with, or how it ended well."""
        if isinstance(result, BaseException):
            self.fail(told(result))
        else:
            self.add(result)


def chunks(rng, n_cases, size=_CHUNK):
    """Generators of all cases, some at a time."""
    while n_cases > 0:
        yield rng.spawn(min(size, n_cases))
        n_cases -= size


def each_case(rng, n_cases, check):
    """Try cases one by one: a check says how a case ended, or raises."""
    outcome = Outcome()
    for own in chunks(rng, n_cases):
        for case in own:
            outcome.tell(attempt(check, case))
    return outcome


def attempt(check, *arguments):
    """What a check says, or the error that it raises; warnings are errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return check(*arguments)
    except Exception as error:
        return error


def refusal(error):
    """The word for a refusal, whose message must be one short paragraph."""
    text = str(error)
    assert text.strip(), f"{type(error).__name__} without a message"
    assert "\n\n" not in text, f"a message of several paragraphs: {text:.300}"
    assert "ufunc '" not in text, f"a message of NumPy's: {text:.300}"
    assert len(text) < _LONGEST, f"a message of {len(text)} letters: {text:.300}"
    return "refused"


def told(error):
    """An error in a few lines: what, and the places of ours that it came from."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-4:]
    ]
    return f"{type(error).__name__}: {error!s:.600}\n    at {' < '.join(places[::-1])}"
