"""Draw a fitted tree: coefficient bars at every cut, class mix in every leaf.

    python examples/plot_tree.py docs/images/tree.png

makes the picture of the README: iris at depth 2 with sparse cuts.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from sorct import SORCTClassifier, Tree

# Okabe and Ito's colours: distinct for colour-blind readers and in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def draw_tree(tree: Tree) -> Figure:
    """Cuts above, leaves below, samples flowing from left to right."""
    figure = plt.figure(figsize=(11, 6.2), dpi=130)
    back = figure.add_axes((0, 0, 1, 1))
    back.set(xlim=(0, 1), ylim=(0, 1))
    back.axis("off")
    _draw_node(figure, back, tree, 0)
    return figure


def _draw_node(figure: Figure, back: Axes, tree: Tree, node: int) -> None:
    """Draw a subtree; one whose leaves all have one label is drawn as a leaf."""
    x, y = _place(tree, node)
    leaves = _leaves_below(tree, node)
    if len(set(tree.leaf_class[leaves])) == 1:
        _draw_leaf(figure.add_axes((x - 0.085, y - 0.03, 0.17, 0.055)), tree, leaves)
        return
    _draw_cut(figure.add_axes((x - 0.06, y - 0.075, 0.13, 0.15)), tree, node)
    for child, word in ((2 * node + 1, "yes"), (2 * node + 2, "no")):
        _draw_edge(back, (x, y), _place(tree, child), word)
        _draw_node(figure, back, tree, child)


def _leaves_below(tree: Tree, node: int) -> list[int]:
    if node >= tree.n_branches:
        return [node - tree.n_branches]
    left, right = 2 * node + 1, 2 * node + 2
    return _leaves_below(tree, left) + _leaves_below(tree, right)


def _place(tree: Tree, node: int) -> tuple[float, float]:
    level = (node + 1).bit_length() - 1
    position = node + 1 - 2**level
    return (position + 0.5) / 2**level, 0.86 - 0.74 * level / tree.depth


def _draw_edge(back: Axes, start: tuple, end: tuple, word: str) -> None:
    (x0, y0), (x1, y1) = start, end
    back.plot([x0, x1], [y0 - 0.1, y1 + 0.13], color="0.7", lw=1.5, zorder=0)
    middle = (0.5 * (x0 + x1), 0.5 * (y0 + y1) + 0.015)
    back.text(
        *middle, word, ha="center", va="center", color="0.35",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
    )  # fmt: skip


def _draw_cut(axes: Axes, tree: Tree, t: int) -> None:
    used = np.flatnonzero(tree.coef[:, t])
    used = used[np.argsort(np.abs(tree.coef[used, t]))]
    weight, limit = tree.cut_in_units(t)
    axes.barh(range(len(used)), tree.coef[used, t], color="0.35", height=0.6)
    names = [f"{weight[j]:+.3g} × {tree.encoder.column_names[j]}" for j in used]
    axes.set_yticks(range(len(used)), names, fontsize=9)
    axes.axvline(0, color="0.6", lw=0.8)
    axes.set_title(f"sum > {limit:.3g} ?", fontsize=10, fontweight="bold")
    width = 1.05 * np.abs(tree.coef).max()
    axes.set(xlim=(-width, width), xticks=[], ylim=(-0.7, max(len(used), 3) - 0.3))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _draw_leaf(axes: Axes, tree: Tree, leaves: list[int]) -> None:
    mass = tree.mass[:, leaves].sum(axis=1)
    share, left = mass.sum(), 0.0
    for k, part in enumerate(mass / share):
        axes.barh(
            0, part, left=left, color=COLOURS[k % len(COLOURS)], edgecolor="white"
        )
        left += part
    label = tree.classes[tree.leaf_class[leaves[0]]]
    axes.set_title(f"{label}", fontsize=10, fontweight="bold", pad=4)
    axes.set_xlabel(f"{100 * share:.0f} % of samples", fontsize=9)
    axes.set(xlim=(0, 1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def main(path: str) -> None:
    """Fit iris, draw, save."""
    data = load_iris(as_frame=True)
    names = data.target.map(dict(enumerate(data.target_names)))
    tree = SORCTClassifier(alpha_local=1.0, random_state=0).fit(data.data, names)
    print(tree.tree_)
    draw_tree(tree.tree_).savefig(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tree.png")
