"""Tables come in as they are meant and go out as they came in."""

import csv
import datetime as dt
import io
import json
import shlex
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, Tree
from sorct.cli import main
from sorct.cli.messages import hints_in_flags, in_flags
from sorct.cli.tables import read_source, table_bytes
from sorct.data.columns import read_columns
from sorct.data.sheet import ReadingError, ReadOptions
from tests.cli.tables import QUICK, small_table

TEXT = "a,b,y\n1.5,u,yes\n2.25,v,no\n"


def frame_of(path, **options):
    sheet = read_source(str(path), ReadOptions(**options))
    return read_columns(sheet, sheet.columns).frame


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (TEXT.encode(), {}),
        (TEXT.encode("utf-8-sig"), {}),
        (TEXT.encode("utf-16"), {"encoding": "utf-16"}),
        (TEXT.replace("\n", "\r\n").encode(), {}),
        (TEXT.replace("\n", "\n\n").encode(), {}),
        (TEXT.replace(",", ";").encode(), {}),
        (TEXT.replace(",", "\t").encode(), {}),
        (TEXT.replace(",", "|").encode(), {"delimiter": "|"}),
        (TEXT.replace(",", ";").replace(".", ",").encode(), {"decimal": ","}),
        (TEXT.replace(",", ";").replace(".", ",").encode(), {}),
        (b"sep=;\n" + TEXT.replace(",", ";").encode(), {}),
        (TEXT.rstrip("\n").encode(), {}),
        (TEXT.replace("u", '"u"').encode(), {}),
    ],
)
def test_csv_comes_in_many_ways(tmp_path, content, options):
    """Marks, line ends, delimiters, decimal marks: all give the same table."""
    (tmp_path / "table.csv").write_bytes(content)
    frame = frame_of(tmp_path / "table.csv", **options)
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(TEXT)))


def test_numbers_are_read_to_the_last_bit(tmp_path, rng):
    """As Python reads them."""
    values = rng.normal(size=500) * 10.0 ** rng.integers(-20, 20, 500)
    text = "\n".join(["x,y", *(f"{value!r},1" for value in values.tolist())])
    (tmp_path / "table.csv").write_text(text)
    read = frame_of(tmp_path / "table.csv")["x"].to_numpy()
    np.testing.assert_array_equal(read, values)


def test_cells_may_hold_delimiters_quotes_and_lines(tmp_path):
    """If they are quoted."""
    frame = pd.DataFrame({'na"me': ["a,b", 'c"d', "e\nf"], "ü;x": [1, 2, 3]})
    (tmp_path / "table.csv").write_bytes(table_bytes(frame, None))
    pd.testing.assert_frame_equal(frame_of(tmp_path / "table.csv"), frame)


def test_columns_without_a_name_are_left_out(tmp_path, capsys):
    """An index that another program wrote, for instance."""
    (tmp_path / "table.csv").write_text(",a,y,\n0,5,u,\n1,6,v,\n")
    frame = frame_of(tmp_path / "table.csv")
    assert frame.to_dict("list") == {"a": [5, 6], "y": ["u", "v"]}
    assert "2 column(s) without a name; left out" in capsys.readouterr().err


def test_parquet_keeps_types(tmp_path):
    """Told by content, whatever the file is called."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"a": [1.5, 2.0], "b": [True, False], "c": pd.Categorical(["u", "v"])}
    )
    (tmp_path / "table.data").write_bytes(table_bytes(frame, "table.parquet"))
    pd.testing.assert_frame_equal(frame_of(tmp_path / "table.data"), frame)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    """Reading and writing."""
    monkeypatch.setattr("sorct.data.sheet.find_spec", lambda name: None)
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    for call in (
        lambda: frame_of(tmp_path / "table.parquet"),
        lambda: table_bytes(pd.DataFrame({"a": [1]}), "out.parquet"),
    ):
        with pytest.raises(ReadingError, match=r'pip install "sorct\[parquet\]"'):
            call()


def test_a_damaged_parquet_file_is_said_to_be_one(tmp_path):
    """In one line."""
    pytest.importorskip("pyarrow")
    (tmp_path / "table.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ReadingError, match="is not a Parquet table"):
        frame_of(tmp_path / "table.parquet")


# -- classes go out as they came in ----------------------------------------------------


@pytest.mark.a_few(2)
@pytest.mark.parametrize(
    ("yes", "no", "kind"),
    [
        ("1", "0", int),
        ("-7", "12", int),
        ("True", "False", bool),
        ("TRUE", "FALSE", str),
        ("01", "02", str),
        ("1.0", "2.5", str),
        ("a,b", 'say "c"', str),
        ("é</script>", "${x}`", str),
    ],
)
def test_classes_of_csv_come_out_as_they_went_in(tmp_path, monkeypatch, yes, no, kind):
    """The same characters, and whole numbers and booleans as such in the model."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame["y"] = frame["y"].map({"yes": yes, "no": no})
    frame.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--out", "model.json", "-q", *QUICK]
    assert main(line) == 0
    assert {type(c) for c in Tree.from_json("model.json").classes.tolist()} == {kind}
    assert main(["predict", "model.json", "data.csv", "-q", "--out", "out.csv"]) == 0
    out = pd.read_csv("out.csv", dtype=str)["prediction"]
    assert set(out) == {yes, no}
    assert (out == frame["y"]).mean() > 0.7


def test_parquet_goes_the_whole_way(tmp_path, monkeypatch, capsys):
    """Classes keep their type from table to model to predictions."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame["y"] = np.where(frame["y"] == "yes", 3, 4).astype(np.int32)
    frame["c"] = frame["c"].astype("category")
    frame.to_parquet("data.parquet")
    line = ["fit", "data.parquet", "--target", "y", "--out", "model.json", *QUICK]
    assert main(line) == 0
    line = ["predict", "model.json", "data.parquet", "--keep", "--out", "out.parquet"]
    assert main(line) == 0
    out = pd.read_parquet("out.parquet")
    assert out["prediction"].dtype.kind == "i"
    pd.testing.assert_frame_equal(out.drop(columns="prediction"), frame)
    assert main(line) == 0, capsys.readouterr().err


# -- columns of Parquet that are no numbers and no text --------------------------------


def days(n):
    """Seven days, again and again."""
    return [dt.date(2020, 1, 1 + k % 7) for k in range(n)]


def write_parquet(name, values):
    """The small table with another column."""
    small_table(len(values)).assign(z=values).to_parquet(name)


def never(*_, **__):
    """Stand for training that must not begin."""
    raise AssertionError("training has begun")


def test_decimals_are_numbers(tmp_path, monkeypatch):
    """In training and in rows for the tree, not categories."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame["a"] = [Decimal(str(value)) for value in frame["a"]]
    frame.to_parquet("data.parquet")
    fit = ["--target", "y", "-q", *QUICK, "--out"]
    assert main(["fit", "data.parquet", *fit, "decimal.json"]) == 0
    frame.assign(a=frame["a"].astype(float)).to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", *fit, "float.json"]) == 0
    one, two = (Tree.from_json(f"{n}.json") for n in ("decimal", "float"))
    assert one.encoder.variables == two.encoder.variables
    np.testing.assert_array_equal(one.coef, two.coef)
    assert main(["predict", "decimal.json", "data.parquet", "--out", "d.csv"]) == 0
    assert main(["predict", "float.json", "data.csv", "--out", "f.csv"]) == 0
    assert (tmp_path / "d.csv").read_text() == (tmp_path / "f.csv").read_text()


DATES = {
    "dates": days(60),
    "moments": pd.to_datetime(days(60)),
    "categories of dates": pd.Categorical(days(60)),
}
NO_COLUMNS = {
    "spans": (pd.to_timedelta(range(60), "s"), "holds times without a date"),
    "bytes": ([b"u", b"\xff"] * 30, "holds bytes, such as b'u'"),
    "lists": ([[1, 2], [3]] * 30, "holds lists or records"),
    "records": ([{"u": 1}] * 60, "holds lists or records"),
}


@pytest.mark.parametrize("case", NO_COLUMNS)
def test_columns_that_cannot_be_used_are_named_before_training(
    case, tmp_path, monkeypatch, capsys
):
    """With the cure; without the column all goes well."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    values, message = NO_COLUMNS[case]
    write_parquet("data.parquet", values)
    line = ["fit", "data.parquet", "--target", "y", *QUICK]
    with monkeypatch.context() as patch:
        patch.setattr(SORCTClassifier, "fit", never)
        assert main(line) == 1
        out, err = capsys.readouterr()
        assert main(["fit", "data.parquet", "--target", "z", *QUICK, "-q"]) == 1
        target = capsys.readouterr().err
    assert out == ""
    assert err.startswith(f"sorct: error: data.parquet: column 'z' {message}")
    assert "(--drop z)" in err
    assert err.count("\n") == 1
    assert "--drop" not in target
    assert main([*line, "--drop", "z"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_trained_on_and_predicted_for(kind, tmp_path, monkeypatch, capsys):
    """As days since the earliest."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    write_parquet("data.parquet", DATES[kind])
    line = ["fit", "data.parquet", "--target", "y", "--columns", "z", *QUICK]
    assert main([*line, "--alpha-local", "0", "--out", "m.json", "-q"]) == 0
    tree = Tree.from_json("m.json")
    assert tree.encoder.variables[0].origin == "2020-01-01"
    assert tree.variables_used == ("z",)
    assert main(["predict", "m.json", "data.parquet", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["probabilities"]
    X = pd.DataFrame({"z": pd.to_datetime(days(60))})
    assert told == tree.predict_proba(X).tolist()


@pytest.mark.a_few(1)
@pytest.mark.parametrize("kind", DATES)
def test_dates_can_be_levels_if_asked_for(kind, tmp_path, monkeypatch, capsys):
    """As text, the same in training and in rows for the tree."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    write_parquet("data.parquet", DATES[kind])
    line = ["fit", "data.parquet", "--target", "y", *QUICK]
    line += ["--categorical-features", "z"]
    assert main([*line, "--columns", "z", "--out", "m.json"]) == 0
    levels = Tree.from_json("m.json").encoder.variables[0].levels
    assert [level[:10] for level in levels] == [str(day) for day in days(7)]
    code = main(["report", "m.json", "--data", "data.parquet", "--out", "p.html"])
    assert code == 0, capsys.readouterr().err


def test_dates_are_no_numbers_for_a_tree(tmp_path, monkeypatch, capsys):
    """They used to be taken for nanoseconds."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame.to_parquet("data.parquet")
    line = ["fit", "data.parquet", "--target", "y", "--out", "m.json", "-q", *QUICK]
    assert main(line) == 0
    frame.assign(a=pd.to_datetime(days(60))).to_parquet("rows.parquet")
    assert main(["predict", "m.json", "rows.parquet", "-q"]) == 1
    assert "column 'a' must hold numbers, got Timestamp" in capsys.readouterr().err


def test_levels_keep_their_meaning_whatever_they_look_like(tmp_path, monkeypatch):
    """Levels that look like numbers or truth are told by how they are written."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    level = np.where(frame["y"] == "yes", "7", "x")
    X = frame[["a"]].assign(mixed=level, flag=level == "7", code=(level == "7") * 1)
    X.assign(y=frame["y"]).to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--out", "model.json", "-q"]
    line += ["--categorical-features", "code", "--drop", "a", "--alpha-local", "0.01"]
    assert main([*line, "--n-starts", "4"]) == 0
    tree = Tree.from_json("model.json")
    levels = {v.name: v.levels for v in tree.encoder.variables}
    assert levels["mixed"] == ("7", "x")
    assert levels["flag"] == (False, True)
    assert levels["code"] == ("0", "1")
    rows = X[X["mixed"] == "7"].assign(flag="true")
    rows.to_csv("rows.csv", index=False)
    assert main(["predict", "model.json", "rows.csv", "-q", "--out", "out.csv"]) == 0
    assert set(pd.read_csv("out.csv")["prediction"]) == {"yes"}


def test_a_model_made_in_python_serves_rows_of_a_file(tmp_path, monkeypatch, capsys):
    """Names with quotes, commas and line breaks, levels that are numbers."""
    monkeypatch.chdir(tmp_path)
    names = ['say "a"', "b,\n</script>", "ünï ${c}`"]
    frame = small_table()
    X = frame[["a", "b"]].assign(c=frame["y"].map({"yes": 1, "no": 2}))
    X["c"] = X["c"].astype("category")
    X.columns = names
    model = SORCTClassifier(alpha_local=0.01, n_starts=4, random_state=0)
    model.fit(X, frame["y"]).tree_.to_json("model.json")
    X.to_csv("rows.csv", index=False)
    assert main(["predict", "model.json", "rows.csv", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["predictions"] == model.predict(X).tolist()
    for verb in ("show model.json", "explain model.json rows.csv --row 2"):
        assert main(shlex.split(verb)) == 0
        assert names[2] in capsys.readouterr().out


def test_standard_input_is_a_table(tmp_path, monkeypatch, capsys):
    """Named by a dash."""
    content = small_table().to_csv(index=False).encode()
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["fit", "-", "--target", "y", *QUICK]) == 0
    assert "60 rows" in capsys.readouterr().out


def test_names_in_quotes_are_no_flags():
    """Options in messages become flags, columns of the same name do not."""
    message = (
        "Column 'min_recall' is bad; lower min_recall, n_jobs, max_features_per_cut."
    )
    assert in_flags(message) == (
        "Column 'min_recall' is bad; lower --min-recall, --jobs, "
        "--max-features-per-cut."
    )


def test_options_with_a_value_are_flags_with_one():
    """Quoted only where a shell wants it."""
    message = "say decimal=',' or encoding='cp1252' or drop='my id', not 'x=1'."
    assert in_flags(message) == (
        "say --decimal , or --encoding cp1252 or --drop 'my id', not 'x=1'."
    )


@pytest.mark.parametrize(
    "cell", ["=HYPERLINK(1)", "+49 1", "-x", "@SUM(1)", "\tx", "\uff1d1"]
)
def test_what_a_spreadsheet_would_compute_is_written_as_text(cell):
    """In cells and names of columns, unless it is to be raw; numbers stay numbers."""
    table = pd.DataFrame({cell: [cell, "-5,2", "plain"], "n": [-1, 2, 3]})
    text = table_bytes(table, "out.csv").decode()
    names, *rows = csv.reader(io.StringIO(text, newline=""))
    assert (names, rows[0]) == ([f"'{cell}", "n"], [f"'{cell}", "-1"])
    assert [row[0] for row in rows[1:]] == ["-5,2", "plain"]
    raw = table_bytes(table, "out.csv", raw=True).decode()
    assert next(csv.reader(io.StringIO(raw, newline="")))[0] == cell


def test_apostrophes_before_formulas_are_told(tmp_path, monkeypatch, capsys):
    """With --raw what is written is read as what it was, so that classes stay."""
    monkeypatch.chdir(tmp_path)
    frame = small_table().rename(columns={"b": "@b"})
    frame["c"] = np.where(frame["y"] == "yes", "-more", "less")
    frame.loc[3, "@b"] = None
    frame.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--out", "model.json", "-q", *QUICK]
    assert main(line) == 0
    n_cells = int((frame["c"] == "-more").sum())
    predict = ["predict", "model.json", "data.csv", "--keep", "--out", "out.csv"]
    assert main(predict) == 0
    assert (
        f"note: {n_cells} cells and 1 header begin like a formula of a spreadsheet and "
        "got an apostrophe in front; --raw writes them as they are"
    ) in capsys.readouterr().err
    assert main([*predict, "-q"]) == 0
    assert main([*predict, "--raw"]) == 0
    assert "apostrophe" not in capsys.readouterr().err
    again = pd.read_csv("out.csv")
    pd.testing.assert_frame_equal(again[frame.columns], frame)
    assert main(["predict", "model.json", "out.csv", "--out", "again.csv", "-q"]) == 0
    assert pd.read_csv("again.csv")["prediction"].equals(again["prediction"])


def test_a_carriage_return_ends_no_row():
    """Names and cells that hold one are quoted, whatever stands behind it."""
    frame = pd.DataFrame({"a\r=1": ["b\r=2", "c"]})
    text = table_bytes(frame, None).decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [["a\r=1"], ["b\r=2"], ["c"]]


def test_the_hint_on_rare_classes_names_flags():
    """In its own sentence alone: elsewhere such words are names of a table."""
    rules = (
        "cut 1: min_recall > 3\n"
        'To find more of them: class_weight="balanced", min_recall or\n'
        '  SORCTClassifierCV(scoring="balanced_accuracy").\n'
        "Variables: min_recall."
    )
    assert hints_in_flags(rules) == (
        "cut 1: min_recall > 3\n"
        "To find more of them: --class-weight balanced, --min-recall or\n"
        "  --scoring balanced_accuracy.\n"
        "Variables: min_recall."
    )
