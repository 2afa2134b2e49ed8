"""Rows in parts lead to the tree that rows in memory do, in few passes."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.data import parts as parts_module
from sorct.data import samples as samples_module
from sorct.data.parts import OutOfTimeError, PartedSet, SampleParts
from sorct.problem.datafit import Likelihood
from sorct.problem.evaluation import never
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import leaf_masses
from sorct.solvers.in_parts import MOST_PASSES, Evaluation, all_masses, descend_in_parts

SOLVER = AugmentedLagrangian(tol=1e-8)


@pytest.fixture
def small(monkeypatch):
    """Let a few hundred rows be many, and a part be one block."""
    monkeypatch.setattr(samples_module, "MANY_ROWS", 600)
    monkeypatch.setattr(parts_module, "PART_BLOCKS", 1)


def in_parts(problem, n_threads=2):
    return replace(problem, data=PartedSet.of_samples(problem.data, n_threads))


CASES = {
    "cost": {},
    "sparse": {"alpha_local": 0.05, "alpha_global": 0.02},
    "floor": {"floor": np.array([0.0, 0.9, 0.0]), "alpha_local": 0.02},
    "log": {"alpha_local": 0.02},
}


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n == "cost")) for n in CASES],
)
def test_parts_lead_where_memory_does(draw_case, small, name):
    """Same objective to 1e-9 and same zeros, at the same stationarity."""
    problem, _, tree = draw_case(
        n=3000, n_features=6, n_classes=3, gamma=200.0, **CASES[name]
    )
    if name == "log":
        problem = replace(problem, datafit=Likelihood(problem.datafit.cost_matrix))
    some = SOLVER.solve(problem.subsampled, tree)
    start = {"multiplier": some.multiplier}
    whole = SOLVER.solve(problem, some.params, **start)
    found = SOLVER.solve(in_parts(problem), some.params, **start)
    assert found.status == whole.status == "converged"
    assert found.residual <= SOLVER.tol
    assert found.objective == pytest.approx(whole.objective, abs=1e-9)
    np.testing.assert_array_equal(found.params.coef == 0, whole.params.coef == 0)
    assert found.n_evaluations <= MOST_PASSES


def test_sums_are_those_of_all_rows(draw_case, small):
    """Masses and gradients over parts are those of one evaluation in memory."""
    problem, _, tree = draw_case(n=2000, n_classes=3)
    parted = in_parts(problem)
    question = Evaluation.of(problem.subproblem(), problem.point(tree))
    sums = parted.data.samples.total(question)
    assert parted.data.samples.n_passes == 1
    expected = leaf_masses(problem, tree)
    np.testing.assert_allclose(sums["mass"], expected, atol=1e-15)
    np.testing.assert_array_equal(all_masses(parted, tree), sums["mass"])
    whole = question(problem.data.samples)
    np.testing.assert_allclose(sums["gradient"], whole["gradient"], atol=1e-13)


def test_any_number_of_threads_gives_the_same_bits(draw_case, small):
    """Parts are added in their order, whoever worked on them."""
    problem, _, tree = draw_case(n=2500, n_classes=3, alpha_local=0.05)
    found = [SOLVER.solve(in_parts(problem, n), tree) for n in (1, 2, 5)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.params.coef, found[0].params.coef)
        np.testing.assert_array_equal(other.mass, found[0].mass)
        assert other.objective == found[0].objective


def test_a_part_of_samples_is_a_view_of_its_blocks(draw_case, small):
    """Parts hold every row once, with its code."""
    samples = draw_case(n=1000, n_classes=3).problem.data.samples
    pieces = [samples.part(b, b + 1) for b in range(samples.n_blocks)]
    assert all(np.shares_memory(piece.x, samples.x) for piece in pieces)
    codes = np.concatenate([piece.codes for piece in pieces])
    np.testing.assert_array_equal(codes, samples.codes)
    assert sum(piece.n_rows for piece in pieces) == samples.n_rows == 1000


def test_a_pass_ends_soon_after_it_is_stopped(draw_case, small):
    """Time that is up before the first pass has ended is told; later, the best is."""
    problem, _, tree = draw_case(n=2000)
    parted, stop = in_parts(problem), never()
    stop[0] = 1
    point = problem.point(tree)
    with pytest.raises(OutOfTimeError):
        descend_in_parts(parted, parted.subproblem(), point, 1e-8, 100, stop)

    class Clock(SampleParts):
        def total(self, task, stop=None):
            if self.n_passes == 3:
                stop[0] = 1
            return super().total(task, stop)

    stop = never()
    clocked = replace(parted.data, samples=Clock(problem.data.samples))
    ended = descend_in_parts(
        replace(parted, data=clocked), parted.subproblem(), point, 1e-12, 100, stop
    )
    assert ended.progress.n_iterations == 3
    assert ended.progress.objective < ended.progress.first
