"""The descents of a search as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from sorct.search.log import SearchResult


def starts_frame(result: SearchResult) -> pd.DataFrame:
    """One row per descent."""
    import pandas as pd

    rows = [
        {
            "kind": start.kind,
            "run": start.run,
            "objective_before": start.first,
            "objective": start.objective,
            "feasible": start.feasible,
            "residual": start.residual,
            "status": str(start.status),
            "evaluations": start.n_evaluations,
            "seconds": start.seconds,
        }
        for start in result.starts
    ]
    return pd.DataFrame(rows).rename_axis("start")
