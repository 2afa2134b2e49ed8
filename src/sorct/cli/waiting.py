"""Waiting: a word before a search that will take minutes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from sorct.cli.data import Training
from sorct.cli.messages import note
from sorct.tree.topology import Topology, smallest_depth

# Cells times classes times cuts of the smallest tree. On a core, searches with more
# took from 50 seconds to some minutes, and those with less no more than 40 seconds.
_LONG = 600_000


def tell_of_long_wait(args: Namespace, data: Training) -> None:
    """Say that a search may take minutes, and what would end it.

    Folds of a quantity are of few rows, so that no search among the ones timed did.
    """
    if data.of_quantity or args.time_limit is not None:
        return
    n_classes = np.unique(data.y).size
    depth = max(args.depth or [smallest_depth(n_classes)])
    if data.X.size * n_classes * Topology(depth).n_branches >= _LONG:
        note(
            args.quiet,
            f"{len(data.y)} rows x {data.X.shape[1]} variables x {n_classes} classes "
            "may take some minutes; --time-limit 60 ends it earlier with the best so "
            "far.",
        )
