"""Probabilities: what they are worth on the data that a report shows."""

from __future__ import annotations

from typing import Any

from sorct._typing import FloatArray
from sorct.show.measures import (
    Bins,
    base_rates,
    brier_score,
    log_loss,
)
from sorct.show.report.rows import Shown, short


def probabilities(proba: FloatArray, shown: Shown) -> dict[str, Any]:
    """Log-loss and Brier score, beside those of shares alone, and reliability curves.

    With two classes the curve is that of the second. Rows whose class is not known
    are left out.
    """
    known = shown.code >= 0
    codes, proba = shown.code[known], proba[known]
    base, n_classes = base_rates(codes, proba.shape[1]), proba.shape[1]
    return {
        "log_loss": log_loss(proba, codes),
        "brier": brier_score(proba, codes),
        "base_log_loss": log_loss(base, codes),
        "base_brier": brier_score(base, codes),
        "bins": [
            _bins(k, Bins.of(proba[:, k], codes == k))
            for k in range(1 if n_classes == 2 else 0, n_classes)
        ],
    }


def _bins(code: int, bins: Bins) -> dict[str, Any]:
    shares = {
        name: short(getattr(bins, name)) for name in ("said", "seen", "low", "high")
    }
    return {"code": code, **shares, "counts": bins.counts.tolist()}
