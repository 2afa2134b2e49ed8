"""``python -m tests.attacks``: all attacks at full size, or some, or one case again."""

import argparse
import signal
import sys
import time
from importlib import import_module

import numpy as np

#: Cases of a full run.
SIZES = {
    "bad_calls": 3000,
    "bad_lines": 1500,
    "mutations": 50_000,
    "exports": 5000,
    "injection": 300,
    "signals": 60,
    "interrupts": 240,
    "writers": 20,
}
_SHOWN = 20


def attack_named(name):
    """The function of an attack."""
    return import_module(f"tests.attacks.{name}").attack


def run(name, seed, n_cases, first=0):
    """Outcome of some cases of an attack; those before the first are passed by."""
    rng = np.random.default_rng(seed)
    rng.bit_generator.seed_seq.spawn(first)
    return attack_named(name)(rng, n_cases)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SIZES))
    parser.add_argument("--cases", type=int, help="of every attack")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat one case")
    return parser


def main(words=None):
    """Run attacks, print a line each and the first failures, return an exit code."""
    args = _parser().parse_args(words)
    for name in args.names:
        if name not in SIZES:
            _parser().error(f"there is no attack {name!r}; expected {', '.join(SIZES)}")
    print(f"{'attack':12} {'tried':>7} {'held':>7} {'seconds':>8}  ended")
    found = {}
    for name in args.names or SIZES:
        first, n_cases = args.case or 0, args.cases or SIZES[name]
        begin = time.perf_counter()
        one = run(name, args.seed, 1 if args.case is not None else n_cases, first)
        seconds = time.perf_counter() - begin
        ends = ", ".join(f"{end} {n}" for end, n in one.ends.most_common())
        print(
            f"{name:12} {one.tried:7} {one.held:7} {seconds:8.0f}  {ends}", flush=True
        )
        found[name] = [(first + failure.case, failure.told) for failure in one.failures]
    _print_failures(found, args.seed)
    return 1 if any(found.values()) else 0


def _print_failures(found, seed):
    """The first case of every kind of failure, by where it came from."""
    for name, failures in found.items():
        kinds = {}
        for case, told in failures:
            kinds.setdefault(told.rpartition("\n")[2], []).append((case, told))
        for (case, told), *others in list(kinds.values())[:_SHOWN]:
            again = f"python -m tests.attacks {name} --seed {seed} --case {case}"
            print(f"\n{again}  (and {len(others)} more)\n  {told}")
        if len(kinds) > _SHOWN:
            print(f"\n{name}: {len(kinds) - _SHOWN} other kinds of failures")


if __name__ == "__main__":
    # Leave in order, so that servers and children end, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())
