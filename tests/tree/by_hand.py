"""What a tree says, worked out from its numbers alone; views and texts are held to it.

Nodes are numbered as a heap, branches first. Nothing here asks a view.
"""

from dataclasses import replace

import numpy as np


def span_of(tree, j):
    """Width of the range of column j in training; 1 for the 0/1 column of a level."""
    return _range(tree, j)[1]


def cut_in_units(tree, t):
    """Weights on raw columns and threshold: w . raw - limit = a . x - p mu."""
    lower, span = np.array([_range(tree, j) for j in range(tree.n_columns)]).T
    weight = np.divide(
        tree.coef[:, t], span, out=np.zeros(len(span)), where=span != 0.0
    )
    return weight, tree.n_columns * tree.threshold[t] + weight @ lower


def printed_terms(tree, t):
    """Weights by column, the largest in scaled units first and 1, and the limit."""
    weight, limit = cut_in_units(tree, t)
    coef = _counting(tree, t)
    by_size = np.argsort(-np.abs(coef), kind="stable")
    used = [int(j) for j in by_size if coef[j] != 0.0]
    lead = weight[used[0]] if used else 1.0
    return {j: float(weight[j] / lead) for j in used}, float(limit / lead)


def reads_left(tree, t):
    """Whether "yes" is left: the largest weight is positive, or there is none."""
    coef = _counting(tree, t)
    return bool(coef[np.argmax(np.abs(coef))] >= 0.0)


def leaves_below(tree, node):
    """Positions of the leaves below a node."""
    if node >= tree.n_branches:
        return [node - tree.n_branches]
    return leaves_below(tree, 2 * node + 1) + leaves_below(tree, 2 * node + 2)


def leaf_text(tree, node):
    """What a leaf says that stands for all leaves below a node."""
    below = leaves_below(tree, node)
    code = int(tree.leaf_class[below[0]])
    return tree.target.leaf_text(code, tree.mass[:, below].sum(axis=1))


def visible_nodes(tree, node=0):
    """Cuts between several classes, and the nodes below them with one each."""
    if len({tree.leaf_class[leaf] for leaf in leaves_below(tree, node)}) == 1:
        return [], [node]
    (cuts, leaves), (more, others) = (
        visible_nodes(tree, 2 * node + side) for side in (1, 2)
    )
    return [node, *cuts, *more], leaves + others


def only_cut(tree, t):
    """Cut t as the view shows it where it stands alone, between two classes."""
    alone = replace(
        tree,
        coef=tree.coef[:, [t]],
        threshold=tree.threshold[[t]],
        leaf_class=np.array([0, 1]),
        mass=tree.mass[:, :2],
    )
    return alone.view.root


def _counting(tree, t):
    """Coefficients of a cut; a column that was constant in training does not count."""
    spans = [span_of(tree, j) for j in range(tree.n_columns)]
    return np.where(np.array(spans) == 0.0, 0.0, tree.coef[:, t])


def _range(tree, j):
    affine = tree.encoder.variables[tree.encoder.column_variable[j]].affine
    return (0.0, 1.0) if affine is None else affine
