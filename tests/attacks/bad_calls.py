"""Bad calls: any value at any public door works, or is refused in a paragraph."""

import contextlib
import io
import signal
import threading
import time
import warnings

from sklearn.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    UndefinedMetricWarning,
)

from tests.attacks import zoo
from tests.attacks.doors import doors
from tests.attacks.outcome import each_case, refusal
from tests.attacks.zoo import UnwillingError

_SECONDS = 20
_FAIR_WORDS = (
    "X (has|does not have) .*feature names", "The number of unique classes",
    "(?s).*/table.csv:\n.* is left out: ",
)  # fmt: skip
# What works may say these.
_FAIR = (ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning)


def attack(rng, n_cases):
    """Call public functions with one or two arguments from the zoo."""
    import matplotlib as mpl

    mpl.use("Agg")
    known = doors()
    return each_case(rng, n_cases, lambda case: _check(case, known))


def _check(rng, known):
    name = list(known)[rng.integers(len(known))]
    call, options = known[name]
    changed = rng.permutation(list(options))[: 1 + int(rng.random() < 0.2)]
    odd = {str(key): zoo.draw(rng) for key in changed}
    begin = time.perf_counter()
    try:
        end = _called(call, {**options, **odd})
    except Exception as error:
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in odd.items())
        error.args = (f"{name}({shown}): {error}",)
        raise
    seconds = time.perf_counter() - begin
    assert seconds < _SECONDS, f"{name} took {seconds:.0f} s"
    return end


def _called(call, options):
    silence = io.StringIO()
    with warnings.catch_warnings(), _alarm(), contextlib.redirect_stderr(silence):
        for kind in _FAIR:
            warnings.simplefilter("ignore", kind)
        for words in _FAIR_WORDS:
            warnings.filterwarnings("ignore", words)
        try:
            call(**options)
        except (ValueError, TypeError, ImportError, UnwillingError) as error:
            return refusal(error)
        except FileNotFoundError as error:
            # Only where a file is asked for.
            if error.filename != str(options.get("path")):
                raise
            return "refused"
        except IndexError as error:
            # Only where a position is asked for.
            if "there is no number" not in str(error):
                raise
            return refusal(error)
    return "worked"


def _shown(value):
    try:
        return f"{type(value).__name__} {value!r:.80}".replace("\n", " ")
    except Exception:
        return type(value).__name__


@contextlib.contextmanager
def _alarm():
    """Raise an error where something takes too long; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_):
        raise TimeoutError(f"not done after {_SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
