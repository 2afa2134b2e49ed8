"""Draw a fitted tree: coefficient bars at every cut, samples flowing to the leaves.

    python examples/plot_tree.py docs/images/tree.png

makes the picture of the README: iris at depth 2 with sparse cuts.
"""

import sys

from sklearn.datasets import load_iris
from sorct.plotting import TreeDisplay

from sorct import SORCTClassifier


def main(path: str) -> None:
    """Fit iris, draw, save."""
    data = load_iris(as_frame=True)
    names = data.target.map(dict(enumerate(data.target_names)))
    clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(data.data, names)
    print(clf.tree_)
    display = TreeDisplay.from_estimator(clf).plot()
    display.figure_.savefig(path, dpi=160)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tree.png")
