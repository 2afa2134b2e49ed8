"""The experiments' splits of the data: the same for all methods, and honest."""

import numpy as np
import pandas as pd
import pytest

from experiments.protocol import TEST_SHARE, Split
from sorct import datasets
from sorct.data.encoder import TableEncoder

bundled = pytest.mark.parametrize("name", ["iris", "wine", "wisconsin", "balance"])


@bundled
@pytest.mark.parametrize("number", [0, 7])
def test_splits_part_the_rows(name, number):
    """A quarter is for testing, and no row is on both sides."""
    split = Split.of(name, number)
    train, test = set(split.X_train.index), set(split.X_test.index)
    n = datasets.info(name).n_samples
    assert not train & test
    assert train | test == set(range(n))
    assert len(test) == int(np.ceil(TEST_SHARE * n))
    X, y = datasets.load(name)
    pd.testing.assert_series_equal(split.y_test, y.loc[split.y_test.index])
    for rows in (split.X_train, split.X_test):
        same = X.loc[rows.index].astype(object)
        pd.testing.assert_frame_equal(rows.astype(object), same)


@bundled
def test_splits_do_not_depend_on_what_came_before(name):
    """Nor on the reference level."""
    found = [
        {k: Split.of(name, k).X_test.index.tolist() for k in order}
        for order in ([0, 1, 2], [2, 0, 1])
    ]
    assert found[0] == found[1]
    assert len({tuple(rows) for rows in found[0].values()}) == 3
    other = Split.of(name, 0, "first").X_test.index.tolist()
    assert other == found[0][0]


@bundled
def test_scaling_knows_the_training_rows_alone(name):
    """Test rows may lie outside [0, 1]; changing them changes no training value."""
    split = Split.of(name, 1)
    part = split.encoded
    assert part.X_train.min() >= 0.0
    assert part.X_train.max() <= 1.0
    encoder = TableEncoder.learn(split.X_train)
    np.testing.assert_array_equal(part.X_train, encoder.encode(split.X_train))
    changed = split.X_test.copy()
    for column in changed.select_dtypes("number"):
        changed[column] = 10.0 * changed[column].max() + 1.0
    other = Split(split.X_train, split.y_train, changed, split.y_test).encoded
    np.testing.assert_array_equal(other.X_train, part.X_train)
    if len(changed.select_dtypes("number").columns):
        assert other.X_test.max() > 1.0
    labels = np.unique(split.y_train)
    np.testing.assert_array_equal(labels[part.y_test], split.y_test)


@pytest.mark.parametrize(("level", "dropped"), [("first", "1"), ("last", "5")])
def test_the_reference_level_has_no_column(level, dropped):
    """Balance has four variables of five levels each."""
    split = Split.of("balance", 0, level)
    encoder = TableEncoder.learn(split.X_train)
    kept = {name.split(" = ")[1] for name in encoder.column_names}
    assert kept == set("12345") - {dropped}
    assert encoder.n_columns == 16
    encoded, position = split.encoded.X_train, encoder.column_names
    for name in ("left_weight", "right_distance"):
        columns = [k for k, c in enumerate(position) if c.startswith(f"{name} = ")]
        none = ~encoded[:, columns].any(axis=1)
        np.testing.assert_array_equal(none, split.X_train[name] == dropped)
