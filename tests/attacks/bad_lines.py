"""Bad lines: whatever is typed, the command line ends in order.

The exit code is 0, 1 or 2, standard error has no traceback and only lines that begin
with "sorct:", and no file is there but what was asked for.
"""

import contextlib
import io
import json
import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sorct.cli import main
from tests.attacks.outcome import each_case
from tests.cli.tables import QUICK, small_table, write_table

_TABLES = {
    "empty.csv": b"", "blank.csv": b"\n \n", "header.csv": b"a,b,c,y\n",
    "ragged.csv": b"a,b,y\n1,2,u\n3,v\n", "quote.csv": b'a,b,y\n1,"2,u\n3,4,v\n',
    "double.csv": b"a,a,y\n1,2,u\n3,4,v\n", "nul.csv": b"a,y\n1,\0\n2,v\n",
    "latin.csv": b"a,y\n1,caf\xe9\n2,th\xe9\n", "utf16.csv": b"\xff\xfea\0,\0y\0\n\0",
    "sheet.csv": b"PK\x03\x04 and so on", "fake.parquet": b"PAR1 and so on PAR1",
    "binary.csv": bytes(range(256)) * 20, "cr.csv": b"a,y\r1,u\r2,v\r",
    "semi.csv": b"a;b;c;y\n1,5;2;u;no\n2,5;3;v;yes\n",
    "missing.csv": b"a,b,y\n1,,u\n,2,v\n",
    "wide.csv": b"y" + b",a" * 3000 + b"\n", "formula.csv": b"a,b,c,y\n1,2,=1+1,no\n",
    "rows.csv": b"a,b,c\n1,2,u\n2,3,v\n", "rows-new.csv": b"a,b,c\n1,2,u\n2,3,new\n",
    "costs.csv": b",no,yes\nno,0,1\nyes,2,0\n", "notes.txt": b"do not lose me",
    "list.json": b"[1, 2]", "other.json": b'{"name": "left-pad"}', "text.json": b"yes",
    "future.json": b'{"format": "sorct-tree", "version": 99}',
}  # fmt: skip
_PLACES = [
    "nowhere.csv", "folder", "nowhere/x.csv", "", "-", "/dev/null", "a\0b", "é\n",
]  # fmt: skip
_OUT = [
    "out", "out.json", "out.csv", "out.parquet", "folder/out.json", "folder", "-", "",
    "nowhere/x.csv", "notes.txt", "model.json", "data.csv", "x" * 300, "/dev/full",
    "/dev/null", "link.json", "a\0b",
]  # fmt: skip
_WORDS = [
    "", "0", "1", "2", "-1", "1.5", "0.1", "1e400", "nan", "inf", "y", "a", "b,c", "=",
    "no=0.5", "yes=2", "x" * 2000, "é\ud800", ",", "auto", "accuracy", "luck", "tab",
    "9" * 500, "-", "--", "\n", "sql", "python", "js", "onnx", "json", "iris",
    "first_level", "utf-16", "costs.csv", "best",
]  # fmt: skip
_FLAGS = [
    "--target", "--drop", "--columns", "--categorical", "--sample-weight", "--out",
    "--encoding", "--delimiter", "--decimal", "--dates", "--missing", "--depth",
    "--gamma",
    "--min-recall", "--cost-matrix", "--handle-unknown", "--tol", "--max-iter",
    "--time-limit", "--jobs", "--seed", "--alphas-local", "--alphas-global",
    "--n-solutions", "--cv", "--scoring", "--rule", "--max-features", "--point",
    "--max-features-per-cut", "--alpha-local", "--alpha-global", "--n-starts",
    "--decimals", "--row", "--data", "--title", "--rows", "--to", "--table", "--dtype",
    "--folds", "--repeats", "--folder", "--colour", "--task", "--loss", "--leaf",
    "--quantile", "--monotonic", "--positive-class", "--feature-cost", "--max-cost",
    "--scaling", "--min-frequency", "--handle-missing", "--ordered", "--class-weight",
    "--calibration", "--confidence", "--reach", "--name", "--trees",
]  # fmt: skip
_SWITCHES = ["-q", "--json", "--all", "--proba", "--keep", "--raw", "--force"]
_SWITCHES += ["--drop-missing", "--dry-run", "--help", "--version", "-x"]
_SMALL = ["--alphas-local", "1", "--n-solutions", "2", "--max-iter", "20"]
_FOREST = ["--trees", "2", "--depth", "1", "--alpha-global", "0.1", "--gamma", "100"]
_FOREST += ["--n-starts", "1"]
#: Lines that work, to be spoiled; they must be quick.
_LINES = [
    ["fit", "data.csv", "--target", "y", *QUICK],
    ["fit", "data.csv", "--target", "y", *_SMALL, "--cv", "2"],
    ["path", "data.csv", "--target", "y", *_SMALL, "--alphas-global", "0", "--cv", "0"],
    ["fit", "data.csv", "--target", "b", "--task", "quantity", "--depth", "1", *QUICK],
    ["show", "model.json"],
    ["show", "value.json"],
    ["predict", "value.json", "rows.csv", "--keep"],
    ["explain", "value.json", "rows.csv", "--row", "1"],
    ["export", "value.json", "--to", "sql"],
    ["report", "value.json", "--data", "data.csv", "--out", "page.html"],
    ["fit", "data.csv", "--target", "y", *_FOREST],
    ["fit", "data.csv", "--target", "b", "--task", "quantity", *_FOREST],
    ["show", "forest.json"],
    ["predict", "forest.json", "rows.csv", "--proba", "--keep"],
    ["explain", "forest.json", "rows.csv", "--row", "1"],
    ["export", "forest.json", "--to", "sql"],
    ["export", "forest.json", "--to", "onnx", "--out", "forest.onnx"],
    ["report", "forest.json", "--data", "data.csv", "--out", "page.html"],
    ["show", "path.json", "--all"],
    ["show", "path.json", "--point", "0"],
    ["predict", "model.json", "rows.csv"],
    ["predict", "model.json", "data.csv", "--proba", "--keep"],
    ["predict", "path.json", "rows.csv", "--point", "1"],
    ["explain", "model.json", "rows.csv", "--row", "2"],
    ["report", "model.json", "--data", "data.csv", "--out", "page.html"],
    ["report", "path.json", "--out", "page.html"],
    ["export", "model.json", "--to", "sql"],
    ["export", "model.json", "--to", "onnx", "--out", "tree.onnx"],
    ["export", "path.json", "--point", "0", "--to", "js"],
    ["datasets"],
    ["datasets", "iris", "--out", "iris.csv"],
    ["completion", "bash"],
]
# What would be long work for a good reason.
_LONG = {"--folds", "--repeats", "--n-starts", "--n-solutions", "--cv", "--max-iter"}
_LONG |= {"--depth", "--alphas-local", "--alphas-global", "--jobs", "--gamma"}
_LONG |= {"--trees"}


def attack(rng, n_cases):
    """Spoil good lines at random places, and run them in a folder full of files."""
    with TemporaryDirectory(prefix="sorct-lines-") as name:
        place = Path(name)
        _furnish(place)
        kept = {
            name: (place / name).read_bytes() for name in _files(place, links=False)
        }
        with contextlib.chdir(place):
            return each_case(rng, n_cases, lambda case: _check(case, place, kept))


def _furnish(place):
    """Fill a folder with good files and all kinds of bad ones."""
    write_table(place / "data.csv")
    small_table().to_parquet(place / "data.parquet")
    for name, content in _TABLES.items():
        (place / name).write_bytes(content)
    fit = ["fit", f"{place}/data.csv", "--target", "y", "-q", *QUICK]
    path = ["path", f"{place}/data.csv", "--target", "y", "-q", *_SMALL, "--cv", "0"]
    assert main([*fit, "--out", f"{place}/model.json"]) == 0
    value = ["fit", f"{place}/data.csv", "--target", "b", "-q", *QUICK]
    assert main([*value, "--depth", "1", "--out", f"{place}/value.json"]) == 0
    forest = ["fit", f"{place}/data.csv", "--target", "y", "-q", *_FOREST]
    assert main([*forest, "--out", f"{place}/forest.json"]) == 0
    path += ["--alphas-local", "0.1,1", "--alphas-global", "0"]
    assert main([*path, "--out", f"{place}/path.json"]) == 0
    for name in ("model.json", "forest.json", "path.json"):
        whole = (place / name).read_bytes()
        (place / f"cut-{name}").write_bytes(whole[: len(whole) // 2])
    (place / "folder").mkdir()
    (place / "link.json").symlink_to(place / "folder" / "linked.json")


def _check(rng, place, kept):
    before = _files(place)
    words = _spoiled(rng, before)
    line = shlex.join(words)
    try:
        code, out, err = run(words)
        _check_streams(words, code, out, err)
        _check_files(words, code, before, _files(place))
    except BaseException as error:
        raise AssertionError(f"sorct {line:.300}: {error!r:.400}") from error
    finally:
        _restore(place, before, kept)
    return f"exit {code}"


def _spoiled(rng, files):
    """A good line with up to three things changed."""
    words = list(_LINES[rng.integers(len(_LINES))])
    for _ in range(int(rng.integers(0, 4))):
        kind = rng.random()
        at = int(rng.integers(len(words) + 1))
        if kind < 0.35:
            names = [str(name) for name in files] + _PLACES
            nouns = [k for k, w in enumerate(words) if "." in w or w in _PLACES]
            if nouns:
                words[nouns[rng.integers(len(nouns))]] = _drawn(rng, names)
        elif kind < 0.5:
            words += ["--out", _drawn(rng, _OUT)]
        elif kind < 0.75:
            flag = _drawn(rng, _FLAGS)
            words[at:at] = [] if flag in _LONG else [flag, _drawn(rng, _WORDS)]
        elif kind < 0.9:
            words.insert(at, _drawn(rng, _SWITCHES))
        elif words:
            del words[min(at, len(words) - 1)]
    return words


def _drawn(rng, things):
    return things[rng.integers(len(things))]


class _Terminal(io.TextIOWrapper):
    """A stream that keeps what is written to it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        return self.buffer.getvalue().decode("utf-8")


def run(words):
    """Exit code and both streams of a line; standard input is a small table."""
    out, err, before = _Terminal(), _Terminal(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"a,b,c,y\n1,2,u,no\n2,3,v,yes\n"))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    finally:
        sys.stdin = before
    return code, out.buffer.getvalue(), err.text()


def _check_streams(words, code, out, err):
    assert code in (0, 1, 2), f"exit code {code}"
    lines = err.splitlines()
    assert all(line.startswith("sorct:") for line in lines), err[:300]
    assert (code == 0) != any(line.startswith("sorct: error:") for line in lines), err
    if code != 0:
        assert out == b"", f"exit code {code}, but {out[:60]!r} was printed"
    assert "(SORCT_TRACEBACK" not in err, err[:300]
    if code == 0 and "--json" in words and not {"--help", "--version"} & set(words):
        json.loads(out)


def _files(place, links=True):
    """Name and time of every file in the folder."""
    return {
        path.relative_to(place): path.lstat().st_mtime_ns
        for path in place.rglob("*")
        if not path.is_dir() and (links or not path.is_symlink())
    }


def _check_files(words, code, before, after):
    new = {str(name) for name in after if after[name] != before.get(name)}
    lost = set(before) - set(after)
    assert not lost, f"{lost} is gone"
    if code != 0:
        assert not new, f"exit code {code}, but {new} was written"
    asked = {os.path.normpath(word) for word in words}
    asked |= {os.path.normpath(word.partition("=")[2]) for word in words}
    asked |= {"folder/linked.json"} if "link.json" in words else set()
    assert new <= asked, f"{new - asked} was written"
    assert len(new) <= 1, f"{new} were written"


def _restore(place, before, kept):
    """Undo what a line did, so that every case begins with the same files."""
    after = _files(place)
    for name in set(after) - set(before):
        (place / name).unlink()
    for name in kept:
        if after.get(name) != before[name]:
            (place / name).write_bytes(kept[name])
