"""Compile all kernels that tests use, once, before workers start: they share the cache.

``make test`` runs ``python -m tests.warm_up``. With a warm cache it takes a second: not
even what fits trees is loaded.
"""

from sorct.problem.compilation import nothing_cached


def main():
    """Fit small trees in all ways that have kernels of their own."""
    import numpy as np

    from sorct import SORCTClassifier, sorct_path

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(0.0, 1.0, (60, 3)) + y[:, np.newaxis]
    for options in (
        {},
        {"n_starts": 2},
        {"alpha_local": 0.1, "alpha_global": 0.1, "min_recall": 0.5},
        {"depth": 3, "alpha_local": 0.1, "sample_weight": rng.random(60)},
    ):
        weight = options.pop("sample_weight", None)
        SORCTClassifier(random_state=0, **options).fit(X, y, weight)
    sorct_path(X, y, alphas_local=[0.0, 0.1], alphas_global=[0.0, 0.1], random_state=0)


if __name__ == "__main__" and nothing_cached():
    main()
