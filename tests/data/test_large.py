"""Large sets: rows laid out part by part are those that are laid out as one."""

import numpy as np
import pytest

from sorct.data import large, parts, samples
from sorct.data.parts import SampleParts
from sorct.data.samples import HeldColumns, TrainingSet


@pytest.fixture
def case(rng, monkeypatch):
    """A set of some hundred rows that count as very many, and the same in memory."""
    monkeypatch.setattr(samples, "MANY_ROWS", 500)
    monkeypatch.setattr(parts, "PART_BLOCKS", 1)
    monkeypatch.setattr(large, "_SMALL", 0)
    columns = HeldColumns(rng.uniform(size=(3, 1500)).round(2))
    codes, weight = rng.integers(0, 4, 1500), rng.uniform(1, 2, 1500)
    given = columns, codes, weight, 4, rng.normal(size=1500)
    return large.training_set(*given), TrainingSet.from_columns(*given)


def test_parts_are_those_of_samples_laid_out_as_one(case):
    """To the last bit, in whatever pass."""
    found, whole = case
    assert isinstance(found, large.LargeSet)
    for _ in range(2):
        for b in range(whole.samples.n_blocks):
            one, other = (data.blocks.part(b, b + 1) for data in case)
            for name in ("x", "weight", "start", "response"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            np.testing.assert_array_equal(one.codes, other.codes)
    for one, other in zip(found.samples, whole.samples, strict=True):
        np.testing.assert_array_equal(one, other)


def test_most_parts_are_held_and_not_all(case):
    """With all else that is known of the rows there is less than a copy."""
    found, whole = case
    n_blocks = whole.samples.n_blocks
    kept = [found.blocks.part(b, b + 1) for b in range(n_blocks)]
    same = [found.blocks.part(b, b + 1) is kept[b] for b in range(n_blocks)]
    assert 0.5 * n_blocks <= sum(same) < 0.8 * n_blocks


def test_what_is_known_of_the_rows_is_the_same(case):
    """Measures, the rows of a search, some columns."""
    found, whole = case
    for name in ("share", "centre", "variance"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(whole, name), rtol=1e-12, atol=1e-15
        )
    for one, other in zip(found.rows, whole.rows, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    columns = np.array([2, 0])
    fewer, expected = found.some_columns(columns), whole.some_columns(columns)
    np.testing.assert_array_equal(fewer.samples.x, expected.samples.x)
    np.testing.assert_array_equal(fewer.blocks.codes, expected.samples.codes)
    np.testing.assert_allclose(fewer.rows.X, expected.rows.X)

    def count(part):
        return parts.Sums(x=part.x.sum(keepdims=True))

    sums = SampleParts(fewer.blocks).total(count)["x"]
    np.testing.assert_allclose(sums, expected.samples.x.sum())


def test_equal_rows_are_merged_before_they_count_as_many(case):
    """A table of few distinct rows is laid out at once."""
    x = np.repeat([0.0, 1.0], 800)
    made = large.training_set(HeldColumns([x]), np.zeros(1600, int), np.ones(1600), 1)
    assert type(made) is TrainingSet
    assert made.samples.n_rows == 2
