"""TrainingRecord: what training said, kept through files, refused where it is odd."""

import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from sorct.tree.training import TrainingRecord

WHOLE = TrainingRecord(
    alpha_local=0.125,
    alpha_global=1 / 3,
    min_recall=(0.9, 0.0),
    recall=(0.95, 2 / 3),
    objective=0.1,
    cost=0.05,
    residual=1e-9,
    n_iterations=321,
    status="converged",
    n_samples=150,
    n_told=120,
    call="SORCTClassifier(alpha_local=0.125)",
    versions={"sorct": "0.1.0", "numpy": "2.0"},
    search="best of 20 starts",
    cv_score=0.9,
    cv_standard_error=0.01,
    cv_scoring="accuracy",
    cv_folds=5,
    cv_rule="best",
    cv_accuracy=0.85,
    target="class",
    monotonic={"debt": 1, "income": -1},
    positive_class="bad",
    feature_cost={"mri": 400.0},
    rounded=3,
    loss="log",
    followed=0.99,
    relaxed=0.125,
    precision=(0.5, 1.0),
    class_weight=(1.0, 2.5),
    confidence=0.95,
    found=(0.75, 0.25),
    cv_recall=(0.7, 0.2),
    cv_precision=(0.4, 0.9),
    quantile=0.9,
    r2=0.8,
    cv_r2=0.7,
    others={"note": ["of", {"a": "later"}, None, 1.5]},
)
EMPTY = TrainingRecord()
PART = TrainingRecord(objective=0.25, others={"later": True})
records = pytest.mark.parametrize("record", [WHOLE, PART, EMPTY], ids=repr)
NUMBERS = [
    "alpha_local", "alpha_global", "objective", "cost", "residual", "cv_score",
    "cv_standard_error", "cv_accuracy", "followed", "relaxed", "confidence",
    "quantile", "r2", "cv_r2",
]  # fmt: skip
TEXTS = ["status", "search", "call", "target", "cv_scoring", "cv_rule", "loss"]
COUNTS = ["n_iterations", "n_samples", "n_told", "cv_folds", "rounded"]
RATES = [
    "min_recall", "recall", "precision", "found", "cv_recall", "cv_precision",
    "class_weight",
]  # fmt: skip
OBJECTS = ["versions", "monotonic", "feature_cost"]


def test_these_tests_name_every_field():
    """A new field must be added above."""
    named = {*NUMBERS, *TEXTS, *COUNTS, *RATES, *OBJECTS, "positive_class", "others"}
    assert {field.name for field in fields(TrainingRecord)} == named
    assert all(getattr(WHOLE, name) is not None for name in named)


# -- files -----------------------------------------------------------------------------


@records
def test_a_record_survives_json(record):
    """To the last bit; what is not known is not written."""
    plain = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert TrainingRecord.from_dict(plain, 2) == record
    assert None not in plain.values()
    assert "others" not in plain


def test_keys_of_another_version_survive():
    """A file of a later version loses nothing by being read and written again."""
    plain = {"objective": 0.5, "colour": "red", "nested": {"a": [1, 2]}}
    record = TrainingRecord.from_dict(plain, 2)
    assert record.others == {"colour": "red", "nested": {"a": [1, 2]}}
    assert record.to_dict() == plain
    assert record["colour"] == "red"


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("odd", [None, True, "1", [1.0], float("nan"), float("inf")])
def test_numbers_must_be_finite_numbers(key, odd):
    """The message names the field."""
    with pytest.raises(ValueError, match=f"'{key}'"):
        TrainingRecord.from_dict({key: odd}, 2)


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("odd", [None, 3, True, ["a"]])
def test_texts_must_be_text(key, odd):
    """The message names the field."""
    with pytest.raises(ValueError, match=f"'{key}' must be text"):
        TrainingRecord.from_dict({key: odd}, 2)


@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize("odd", [None, 1.5, "3", True, [3]])
def test_counts_must_be_whole_numbers(key, odd):
    """The message names the field."""
    with pytest.raises(ValueError, match=f"'{key}' must be a whole number"):
        TrainingRecord.from_dict({key: odd}, 2)


@pytest.mark.parametrize("key", RATES)
@pytest.mark.parametrize(
    "odd", [None, 0.5, [], [1.0], [1.0] * 3, [[1.0, 1.0]], ["a", "b"], [None, 1.0]]
)
def test_rates_must_be_one_number_per_class(key, odd):
    """The message names the field."""
    with pytest.raises(ValueError, match=f"'{key}'"):
        TrainingRecord.from_dict({key: odd}, 2)


@pytest.mark.parametrize("odd", [None, "0.1.0", ["numpy"], 3])
def test_versions_must_be_an_object(odd):
    """Names and versions of packages."""
    with pytest.raises(ValueError, match="'versions' must be an object"):
        TrainingRecord.from_dict({"versions": odd}, 2)


def test_what_is_nested_without_end_is_refused():
    """A file may not ask for more than can be read back."""
    deep = []
    for _ in range(50):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deep"):
        TrainingRecord.from_dict({"others": 1, "note": deep}, 2)


# -- like a dictionary -----------------------------------------------------------------


@records
def test_a_record_reads_like_its_dictionary(record):
    """Keys, values, length, membership, get."""
    plain = record.to_dict()
    assert isinstance(record, Mapping)
    assert dict(record) == plain
    assert {**record} == plain
    assert len(record) == len(plain)
    assert list(record) == list(plain)
    for key, value in plain.items():
        assert key in record
        assert record[key] == record.get(key) == value


def test_what_is_not_known_is_not_there():
    """As in a dictionary: a KeyError, or the default."""
    assert len(EMPTY) == 0
    assert "objective" not in EMPTY
    assert EMPTY.get("objective", 7) == 7
    with pytest.raises(KeyError, match="objective"):
        EMPTY["objective"]
    assert EMPTY.objective is None


def test_rates_read_as_lists_and_are_kept_as_tuples():
    """Plain data have lists; a frozen record has none that can be changed."""
    assert WHOLE["recall"] == [0.95, 2 / 3]
    assert WHOLE.recall == (0.95, 2 / 3)


def test_a_record_cannot_be_changed():
    """Neither by name nor by key."""
    with pytest.raises(FrozenInstanceError):
        WHOLE.objective = 0.0
    with pytest.raises(TypeError, match="item assignment"):
        WHOLE["objective"] = 0.0


# -- what becomes of it ----------------------------------------------------------------


def test_without_its_origin_a_record_has_all_else():
    """Two trees are the same however they were asked for and chosen."""
    gone = ("call", "versions")
    plain = {
        key: value
        for key, value in WHOLE.to_dict().items()
        if key not in gone and not key.startswith("cv_")
    }
    assert WHOLE.without_origin().to_dict() == plain
    assert EMPTY.without_origin() == EMPTY


def test_a_tree_in_place_of_another_was_chosen_as_that_was():
    """All that cross-validation said of it, and the share it is relaxed to."""
    again = replace(EMPTY, call="fit", objective=0.5).with_choice_of(WHOLE)
    taken = {key for key in WHOLE if key.startswith("cv_")} | {"relaxed"}
    assert set(again) == taken | {"call", "objective"}
    assert all(again[key] == WHOLE[key] for key in taken)
    assert WHOLE.with_choice_of(WHOLE) == WHOLE


def test_rounding_keeps_what_is_still_true():
    """How the tree was asked for, not what training reached."""
    kept = {
        "alpha_local", "alpha_global", "n_samples", "n_told", "call", "versions",
        "rounded", "monotonic", "positive_class", "feature_cost", "class_weight",
        "loss",
    }  # fmt: skip
    told = WHOLE.after_rounding(5)
    assert set(told) == kept
    assert told.rounded == 5
    assert all(told[key] == WHOLE[key] for key in kept - {"rounded"})
