"""TreeDisplay: a tree drawn as its samples flow through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from sorct.estimators.checks import check_whole
from sorct.show.plotting._inputs import leaf_mass, tree_of
from sorct.show.plotting._style import check_axes, drawn_names, need_matplotlib
from sorct.show.plotting._tree_layout import Layout, lay_out
from sorct.show.plotting._tree_parts import (
    DrawnCut,
    DrawnLeaf,
    class_leaf,
    tree_parts,
)
from sorct.show.plotting._tree_pen import TreePen
from sorct.show.plotting._value_leaves import ValueLeaves
from sorct.show.text import (
    by_hand_text,
    check_tree,
    has_hard_shares,
    hidden_text,
    people_view,
)
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import PathPatch, Rectangle


@dataclass(eq=False)
class TreeDisplay:
    """A fitted tree: bars for the coefficients of every cut, samples flowing to leaves.

    Samples come in on the left, coloured by class. At a cut those for whom the sum is
    above the threshold go up, to "yes"; the wider a band, the more samples. Bars are
    coefficients of columns scaled to [0, 1], on one scale in the whole tree; numbers
    beside names are in original units, as in the printed rules. Cuts that decide
    nothing are left out, and so are those of which one side gets next to nobody; a line
    at the foot then says so. Every row flows to one leaf, as people send it who follow
    the rules; what a leaf itself says of its class is told where it is something else.

    A tree of a quantity has one band, the darker the larger the mean of its rows. A
    leaf tells that mean and what the rows miss it by, also as a bar between the least
    and the largest number of training; a linear leaf tells its sum.

    Make one with ``from_estimator`` or ``from_tree``, then call ``plot``.

    Parameters
    ----------
    parts : dict from node to DrawnCut or DrawnLeaf
        Nodes that are drawn, the root first.
    classes : list of str
    note : str
        What is said at the foot.
    tones : dict from node to float
        Of a quantity: where the mean of a node is between those of the leaves, from 0
        to 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : dict from cut to list of Rectangle
        Bars of the terms shown, largest first.
    bands_ : dict from (node, class) to PathPatch
        What flows into a node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier
    >>> from sorct.show.plotting import TreeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(X, y)
    >>> display = TreeDisplay.from_estimator(clf).plot()
    """

    parts: dict[int, DrawnCut | DrawnLeaf]
    classes: list[str]
    note: str = ""
    tones: dict[int, float] = field(default_factory=dict)
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    bars_: dict[int, list[Rectangle]] = field(init=False, repr=False)
    bands_: dict[tuple[int, int], PathPatch] = field(init=False, repr=False)

    @classmethod
    def from_tree(
        cls, tree: Tree, X: Any = None, y: Any = None, *, soft: bool = False
    ) -> Self:
        """Display of a tree.

        Parameters
        ----------
        tree : Tree
        X, y : table and labels, or None
            Samples that flow; None means the training sample.
        soft : bool, default=False
            Let a row near a cut flow both ways in part, by the probabilities of the
            routes; trees of files that know no others have such flows in any case.
        """
        check_tree(tree)
        hard = has_hard_shares(tree, soft)
        view = people_view(tree, leaf_mass(tree, X, y, hard), hard)
        moved = [] if soft else by_hand_text(tree, view, hard)
        note = " ".join([*moved, *hidden_text(tree, view, hard)])
        if tree.of_quantity:
            values = ValueLeaves.of(tree, X, y, hard)
            return cls(
                tree_parts(view, values.write), ["rows"], note, values.tones(view)
            )
        classes = drawn_names(tree.classes)
        write = partial(class_leaf, classes=classes, hard=hard)
        return cls(tree_parts(view, write), classes, note)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, soft: bool = False
    ) -> Self:
        """Display of the tree of a fitted estimator; see ``from_tree``."""
        return cls.from_tree(tree_of(estimator), X, y, soft=soft)

    def plot(self, ax: Axes | None = None, *, max_terms: int = 6) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; letters shrink and grow with it. None makes a figure in which
            letters have their natural size.
        max_terms : int, default=6
            Most terms of a cut that get a bar, but for a single one more; of others
            the number is told.
        """
        need_matplotlib("TreeDisplay.plot")
        from sorct.show.plotting._scaled_text import text_width

        check_whole("max_terms", max_terms)
        layout = lay_out(self.parts, self.classes, max_terms, text_width, self.note)
        self.ax_ = _axes(ax, layout)
        self.figure_ = self.ax_.figure
        pen = TreePen(self.ax_, layout, self.parts, self.classes, max_terms, self.tones)
        self.bands_ = pen.draw_bands()
        pen.draw_sources()
        self.bars_ = pen.draw_cuts()
        pen.draw_leaves()
        pen.draw_note()
        return self


def _axes(ax: Axes | None, layout: Layout) -> Axes:
    """Axes in which a unit of the layout is as long to the right as down."""
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(layout.width / 72.0, layout.height / 72.0))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    check_axes(ax)
    ax.set(xlim=(0.0, layout.width), ylim=(layout.height, 0.0), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.set_facecolor("white")
    ax.spines[:].set_visible(False)
    return ax
