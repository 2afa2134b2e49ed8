"""Recall promised with confidence: how often new rows break the promise.

Five hundred tables of two classes that overlap, 80 and 400 rows, each with a tree of
its own: recall of the rare class is to be at least 0.9 with probability 0.95. Training,
holding out and deciding are included; recall is taken on 20 000 new rows.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import print_table
from sorct import SORCTClassifier

N_TABLES, N_NEW = 500, 20_000
N_FRAUD, N_GOOD = 80, 400
FLOOR, CONFIDENCE = 0.9, 0.95


def run() -> None:
    """Print failures and mean recall, by loss."""
    rows = []
    for loss in ("cost", "log"):
        recall = np.array([_recall(loss, seed) for seed in range(N_TABLES)])
        broken = int(np.count_nonzero(recall < FLOOR))
        spread = np.sqrt(N_TABLES * CONFIDENCE * (1.0 - CONFIDENCE))
        most = (1.0 - CONFIDENCE) * N_TABLES + 2.0 * spread
        rows.append(
            [loss, f"{broken} of {N_TABLES}", f"{most:.0f}", f"{recall.mean():.3f}"]
        )
    print_table(
        f"A recall of {FLOOR} promised with confidence {CONFIDENCE}",
        ("loss", "broken", "5 % and two standard errors", "mean recall on new rows"),
        rows,
    )


def _recall(loss: str, seed: int) -> float:
    """Recall on new rows of a tree trained on a table of its own."""
    rng = np.random.default_rng(seed)
    clf = SORCTClassifier(
        depth=1,
        loss=loss,
        gamma=32.0,
        class_weight="balanced",
        n_starts=1,
        min_recall={"fraud": FLOOR},
        confidence=CONFIDENCE,
        random_state=seed,
    ).fit(*_draw(rng, N_FRAUD, N_GOOD))
    new, _ = _draw(rng, N_NEW, 0)
    return float(np.mean(clf.predict(new) == "fraud"))


def _draw(
    rng: np.random.Generator, n_fraud: int, n_good: int
) -> tuple[np.ndarray, np.ndarray]:
    y = np.repeat(["fraud", "good"], [n_fraud, n_good])
    shift = np.where(y == "fraud", 1.5, 0.0)[:, np.newaxis]
    return rng.normal(0.0, 1.0, (len(y), 2)) + shift, y
