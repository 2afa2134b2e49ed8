"""Node numbers of a complete binary tree."""

import numpy as np
import pytest

from sorct.tree.topology import Topology, smallest_depth
from tests.reference import ancestors

depths = pytest.mark.parametrize("depth", range(1, 7))


def route(topology, leaf):
    """Branches passed from the root to a leaf, each with whether it turns left."""
    node, turns = topology.n_branches + leaf, []
    while node > 0:
        parent = topology.parent(node)
        turns.append((parent, node == topology.children(parent)[0]))
        node = parent
    return turns[::-1]


@depths
def test_every_level_doubles(depth):
    """Leaves are one more than branches, and twice those of the tree above."""
    topology = Topology(depth)
    assert topology.n_leaves == topology.n_branches + 1
    assert topology.n_leaves == 2 * Topology(depth - 1).n_leaves


@depths
def test_route_walks_from_the_root_to_its_leaf(depth):
    """Each turn leads to the next node of the route, the last one to the leaf."""
    topology = Topology(depth)
    for leaf in range(topology.n_leaves):
        node = 0
        for branch, turns_left in route(topology, leaf):
            assert branch == node
            node = 2 * branch + (1 if turns_left else 2)
        assert node == topology.n_branches + leaf


@depths
def test_route_is_the_papers_ancestor_sets(depth):
    """Left turns are N_L, right turns N_R."""
    for leaf in range(2**depth):
        turns = route(Topology(depth), leaf)
        sets = tuple({t for t, left in turns if left is side} for side in (True, False))
        assert sets == ancestors(depth, leaf)


@depths
def test_leaves_are_numbered_from_left_to_right(depth):
    """Turns, left before right, order the leaves as their numbers do."""
    topology = Topology(depth)
    turns = [
        tuple(not left for _, left in route(topology, leaf))
        for leaf in range(topology.n_leaves)
    ]
    assert turns == sorted(set(turns))


@pytest.mark.parametrize("n_classes", range(2, 70))
def test_smallest_depth_has_a_leaf_for_every_class_and_no_level_to_spare(n_classes):
    """2^(D - 1) < K <= 2^D."""
    depth = smallest_depth(n_classes)
    assert 2 ** (depth - 1) < n_classes <= 2**depth


def test_a_single_class_still_gets_a_cut():
    """A tree has one cut at least."""
    assert smallest_depth(1) == 1


@depths
def test_children_and_parents_undo_each_other(depth):
    """Every node but the root is one child of one cut, a level further down."""
    topology = Topology(depth)
    found = []
    for t in range(topology.n_branches):
        for child in topology.children(t):
            found.append(child)
            assert topology.parent(child) == t
            assert topology.level(child) == topology.level(t) + 1
            assert (child >= topology.n_branches) == (topology.height(child) == 0)
    assert found == list(range(1, topology.n_nodes))


@depths
def test_leaves_below_are_those_whose_route_passes(depth):
    """By brute force over all routes; a leaf is below itself."""
    topology = Topology(depth)
    for node in range(topology.n_nodes):
        below = range(topology.n_leaves)[topology.leaves_below(node)]
        passing = [
            leaf
            for leaf in range(topology.n_leaves)
            if node in [t for t, _ in route(topology, leaf)]
            or node == topology.n_branches + leaf
        ]
        assert list(below) == passing


@depths
def test_nodes_below_are_a_smaller_tree(depth):
    """Children of its nodes are where the smaller tree's own numbers say."""
    topology = Topology(depth)
    for t in range(topology.n_branches):
        for height in range(1, topology.height(t) + 1):
            part, nodes = Topology(height), topology.nodes_below(t, height)
            assert len(set(nodes)) == part.n_branches
            for k in range(Topology(height - 1).n_branches):
                left, right = part.children(k)
                assert topology.children(nodes[k]) == (nodes[left], nodes[right])


@depths
def test_levels_are_numbered_in_turn(depth):
    """All nodes, level by level."""
    topology = Topology(depth)
    levels = [list(topology.level_nodes(level)) for level in range(depth + 1)]
    assert sum(levels, []) == list(range(topology.n_nodes))
    assert Topology.of_branches(topology.n_branches) == topology


@depths
def test_reach_is_the_product_of_the_sides_taken(rng, depth):
    """Of a leaf by the turns of its route; of every level it sums to 1."""
    topology = Topology(depth)
    left = rng.random((topology.n_branches, 5))
    reach = topology.reach(left)
    for leaf in range(topology.n_leaves):
        sides = [
            left[branch] if is_left else 1.0 - left[branch]
            for branch, is_left in route(topology, leaf)
        ]
        told = reach[topology.n_branches + leaf]
        np.testing.assert_allclose(told, np.prod(sides, axis=0), rtol=1e-12)
    for level in range(depth + 1):
        np.testing.assert_allclose(reach[topology.level_nodes(level)].sum(axis=0), 1.0)
