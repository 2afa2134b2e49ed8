"""Print all timings, or those named: ``python -m benchmarks.run kernels starts``."""

from __future__ import annotations

import os
import sys
from importlib import import_module

PARTS = (
    "kernels", "starts", "predict", "memory", "startup", "accuracy", "search",
    "planted", "noise", "limits", "promise", "path", "quantity", "logistic", "report",
    "scale", "forest",
)  # fmt: skip


def main(names: list[str]) -> None:
    """Run the parts named, or all."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"Unknown part {unknown[0]!r}; expected some of {PARTS}.")
    from benchmarks.timing import machine

    print(machine())
    for name in names or PARTS:
        import_module(f"benchmarks.bench_{name}").run()


if __name__ == "__main__":
    # BLAS reads the number of threads when NumPy is imported, so it is set before.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    main(sys.argv[1:])
