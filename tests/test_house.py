"""House rules: rooms, one class per name, one place per thing, a light front door."""

import ast
import importlib
import inspect
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import sorct
from tests.golden.record import mixed_table

ROOT = Path(sorct.__file__).parent
HOME = Path(__file__).parents[1]
#: From the doors down.
ROOMS = [
    "cli", "show", "estimators", "search", "solvers", "problem", "tree", "data",
]  # fmt: skip
PUBLIC = ["sorct", "sorct.datasets", "sorct.export", "sorct.plotting"]


@cache
def sources():
    """Syntax tree of every file, by its path inside the package."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }


@cache
def nodes():
    """All nodes of every syntax tree."""
    return {file: list(ast.walk(tree)) for file, tree in sources().items()}


def files_where(rule, *allowed):
    """Files outside the allowed places in which some node breaks a rule."""
    return {
        file
        for file, found in nodes().items()
        if not any(fnmatch(file, pattern) for pattern in allowed)
        and any(rule(node) for node in found)
    }


# -- rooms -----------------------------------------------------------------------------


def test_rooms_import_downwards_only(monkeypatch):
    """The contract of pyproject.toml, as ``make lint`` checks it."""
    # It would silence all loggers there are, for all tests to come.
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    settings = HOME / "pyproject.toml"
    assert lint_imports(config_filename=str(settings), no_cache=True) == 0
    told = tomllib.loads(settings.read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = told["contracts"]
    assert contract["type"] == "layers"
    assert contract["layers"] == [f"sorct.{room}" for room in ROOMS]


def test_ways_through_the_house_name_what_is_there():
    """A reader who follows the record finds every name in the file that it gives."""
    text = (HOME / "docs/design/0008-house.md").read_text("utf-8")
    told = re.findall(r"`([\w.]+)` \(`([a-z_/]+\.py)`", text)
    told += re.findall(r"`(\w+)` and `\w+` \(`([a-z_/]+\.py)`\)", text)
    assert len(told) > 15
    for name, file in told:
        kinds = ast.ClassDef | ast.FunctionDef | ast.Name
        found = {
            getattr(node, "name", getattr(node, "id", ""))
            for node in nodes()[file]
            if isinstance(node, kinds)
        }
        assert set(name.split(".")) <= found, f"{name} is not in {file}"


def test_the_hall_is_empty():
    """Directly in the package there are only its doors and its rooms."""
    found = {path.name for path in ROOT.iterdir()} - {"__pycache__"}
    assert found == {"__init__.py", "__main__.py", "py.typed", "_typing.py", *ROOMS}


def test_there_is_no_drawer_for_everything():
    """A function lives beside its caller or in the room it speaks about."""
    parts = {part for file in sources() for part in Path(file).with_suffix("").parts}
    assert not parts & {"utils", "util", "helpers", "common", "misc"}


def code_lines(function):
    """Lines of a function without its docstring."""
    said = function.body[0] if ast.get_docstring(function) else None
    n_said = 0 if said is None else said.end_lineno - said.lineno + 1
    return function.end_lineno - function.lineno + 1 - n_said


def test_files_and_functions_are_short_enough_to_read():
    """At most 500 lines, and 80 lines of code."""
    long = [
        file
        for file in sources()
        if len((ROOT / file).read_text("utf-8").splitlines()) > 500
    ]
    long += [
        f"{file}: {node.name}"
        for file, found in nodes().items()
        for node in found
        if isinstance(node, ast.FunctionDef) and code_lines(node) > 80
    ]
    assert long == []


# -- one thing, one place --------------------------------------------------------------


def test_a_class_name_exists_once():
    """A leading underscore makes no other name."""
    names = Counter(
        node.name.lstrip("_")
        for found in nodes().values()
        for node in found
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()


def kinds_of_variables():
    """Classes that encode and make terms: Numeric, Categorical, and what will come."""
    from sorct.data import kinds

    return {
        name
        for name, thing in vars(kinds).items()
        if inspect.isclass(thing)
        and hasattr(thing, "encode")
        and hasattr(thing, "term")
    } - {"Variable"}


def mentions(names):
    """Rule: a node names one of these, or imports it."""

    def rule(node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return any(alias.name.split(".")[-1] in names for alias in node.names)
        said = getattr(node, "id", None) or getattr(node, "attr", None)
        return said in names

    return rule


def looks_inside(node):
    """Rule: a kind is guessed by what only variables of that kind have."""
    return bool(
        called(node) == "getattr"
        and re.search(r", '(known|at|levels|lower|span)'[,)]", ast.unparse(node))
    )


def asks_plain_data(node):
    """Rule: a kind is guessed by the keys of what is written to a file."""
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
    elif isinstance(node, ast.Compare):
        holder, key = node.comparators[0], node.left
    elif called(node) in ("get", "pop") and node.args:
        holder, key = getattr(node.func, "value", None), node.args[0]
    else:
        return False
    named = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return named and called(holder) == "to_dict"


def test_only_data_knows_the_kinds_of_variables():
    """Everyone else asks a variable, so that a new kind is one class."""
    kinds = kinds_of_variables()
    assert {"Numeric", "Categorical"} <= kinds
    assert files_where(mentions(kinds), "data/*") == set()
    assert files_where(looks_inside, "data/*") == set()
    assert files_where(asks_plain_data, "data/*") == set()


def called(node):
    """Name of the function that a node calls, without what it belongs to."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", None) or getattr(function, "attr", None)


def makes_a_prox(node):
    """Rule: a function that shrinks or caps rows, by its name or by what it does."""
    if isinstance(node, ast.FunctionDef):
        words = r"soft_?threshold|shrink|(^|_)prox(_row|_rows)?$|after_prox|simplex"
        # A method that hands over to the one place is no second spelling.
        return bool(re.search(words, node.name)) and len(node.body) > 2
    # max(abs(x) - amount, 0), in any of its spellings
    text = ast.unparse(node) if called(node) in ("max", "maximum") else ""
    return text != "" and bool(
        re.match(r"(np\.|math\.)?(maximum|max)\((np\.|math\.)?f?abs\(.* - ", text)
    )


def knows_the_box(node):
    """Rule: something is put between -1 and 1, or a threshold compared with these."""
    if isinstance(node, ast.Compare):
        text = ast.unparse(node) if called(node.left) == "abs" else ""
        return text != "" and bool(
            re.match(r"(np\.)?abs\(\w*threshold\w*\) [<>]=? ", text)
        )
    text = ast.unparse(node) if called(node) in ("clip", "min", "max") else ""
    box = r"(np\.)?clip\(.*, -(1(\.0)?|n_groups), (1(\.0)?|n_groups)(, out=.*)?\)$"
    return text != "" and bool(
        re.match(box, text)
        or re.search(r"\.clip\(-1(\.0)?, 1(\.0)?\)$", text)
        or re.match(r"min\(max\(.*, -1(\.0)?\b.*\), 1(\.0)?\b.*\)$", text)
        or re.match(r"max\(min\(.*, 1(\.0)?\b.*\), -1(\.0)?\b.*\)$", text)
    )


def opens_a_penalty(node):
    """Rule: what a penalty is made of is read, written or named."""
    own = {"linf", "linf_strength", "local_strength", "boxed", "barred"}
    if isinstance(node, ast.keyword):
        return node.arg in own
    if isinstance(node, ast.Constant):
        return node.value in own
    return (getattr(node, "id", None) or getattr(node, "attr", None)) in own


def reads_a_training_key(node):
    """Rule: what cross-validation said is told by the names of its fields."""
    return called(node) == "startswith" and "'cv_'" in ast.unparse(node)


def test_only_the_penalty_knows_what_it_is_made_of():
    """Its strengths, groups, box and signs: others ask it for what follows."""
    assert files_where(opens_a_penalty, "problem/penalty*") == set()


def test_only_the_training_record_knows_its_fields():
    """Which of them belong to a choice by cross-validation."""
    assert files_where(reads_a_training_key, "tree/training.py") == set()


def test_only_the_penalty_knows_its_prox():
    """Shrinking and capping of coefficients is spelled out in one file."""
    assert files_where(makes_a_prox, "problem/penalty*") == set()


def test_only_penalty_and_thresholds_know_the_box():
    """The bounds of coefficients are numbers in one file, those of thresholds too."""
    allowed = "problem/penalty*", "problem/thresholds.py"
    assert files_where(knows_the_box, *allowed) == set()


def is_a_child(node):
    """Rule: 2 * t + 1 or 2 * t + 2, the children of a node in a heap."""
    return isinstance(node, ast.BinOp) and bool(
        re.fullmatch(r"2 \* [a-z_]+ \+ [12]", ast.unparse(node))
    )


def test_only_the_topology_knows_the_numbers_of_children():
    """Others ask it; compiled kernels, which cannot, are let off."""
    assert files_where(is_a_child, "tree/topology.py", "problem/kernels.py") == set()


@pytest.mark.parametrize(
    ("rule", "lines", "fine"),
    [
        (
            mentions({"Numeric"}),
            ["isinstance(v, Numeric)", "from a.b import Numeric", "encode.Numeric"],
            ["'Numeric'", "numeric", "v.affine"],
        ),
        (
            looks_inside,
            ["getattr(variable, 'known', variable)", "getattr(x, 'at', ())"],
            ["getattr(term, 'origin', '')", "variable.choices"],
        ),
        (
            asks_plain_data,
            [
                "variable.to_dict().get('origin')",
                "np.array(variable.to_dict().get('bends', [0.0, 1.0]))",
                "tree.encoder.variables[i].to_dict()['levels']",
                "'at' in variable.to_dict()",
            ],
            ["self.to_dict()[key]", "{**variable.to_dict()}", "told.get('missing')"],
        ),
        (
            makes_a_prox,
            [
                "def soft_threshold(x, a):\n y = x\n y -= a\n return y",
                "np.maximum(np.abs(x) - a, 0.0)",
                "max(abs(row[j]) - amount, 0.0)",
            ],
            ["np.maximum(x, 0.0)", "def prox(self, x): return self.rows.prox(x)"],
        ),
        (
            opens_a_penalty,
            ["penalty.linf.size", "p._replace(boxed=3)", "arrays['linf']"],
            ["penalty.n_groups", "penalty.with_free(free)", "alphas_local"],
        ),
        (
            reads_a_training_key,
            ["key.startswith('cv_')"],
            ["key.startswith('alpha')", "told.cv_score"],
        ),
        (
            knows_the_box,
            [
                "np.clip(a + b, -1.0, 1.0)",
                "a.clip(-1, 1)",
                "np.clip(a, -n_groups, n_groups)",
                "min(max(a, -1.0), 1.0)",
                "abs(threshold) > p",
            ],
            ["np.clip(a, 0.0, 1.0)", "min(max(a, 0.0), 1.0)", "np.clip(a, -b, b)"],
        ),
        (
            is_a_child,
            ["value[2 * t + 1]", "2 * parent + 2"],
            ["2 * t", "2 * len(x) + 1", "3 * t + 1"],
        ),
    ],
)
def test_the_rules_see_what_they_should(rule, lines, fine):
    """Each finds what it forbids, and lets the rest pass."""
    for line in lines:
        assert any(rule(node) for node in ast.walk(ast.parse(line))), line
    for line in fine:
        assert not any(rule(node) for node in ast.walk(ast.parse(line))), line


# -- the front door --------------------------------------------------------------------

LIGHT = """
import sys
for name in ("numba", "llvmlite", "pandas", "matplotlib"):
    sys.modules[name] = None  # importing it now fails
import sorct
from sorct import Path, Tree
path, tree = Path.from_json("path.json"), Tree.from_json("tree.json")
print(path.trees[0].predict([[0.0] * 4]).tolist(), str(tree)[:4])
del sys.modules["pandas"]
import pandas
print(tree.predict(pandas.read_pickle("rows.pickle")).tolist())
print([tree is path.select() for tree in path.trees].index(True))
heavy = ("sorct.search", "sorct.solvers", "sorct.problem", "sorct.cli")
assert not [name for name in sys.modules if name.startswith(heavy)]
sorct.penalty_bounds([[0.0], [1.0]], [0, 1])
for name in sorct.__all__:
    getattr(sorct, name)
for name in dir(sorct.plotting):
    getattr(sorct.plotting, name)
for module in ("numba", "matplotlib"):
    assert sys.modules[module] is None
"""


def test_the_front_door_needs_no_compiler_and_no_tables(tmp_path):
    """Files are read and trees predict with numba and pandas gone; public names load.

    Neither bounds nor displays need a compiler or a plotting library.

    scikit-learn imports pandas where it can, so that its absence is what tells. A table
    with categories, and the choice from a path, need pandas and nothing more.
    """
    kept = HOME / "tests" / "files" / "v0.1.0"
    for file in ("tree.json", "path.json"):
        shutil.copy(kept / file, tmp_path / file)
    rows, path = mixed_table()[0], sorct.Path.from_json(kept / "path.json")
    rows.to_pickle(tmp_path / "rows.pickle")
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tree, chosen = sorct.Tree.from_json(kept / "tree.json"), path.select()
    assert done.stdout.splitlines() == [
        f"{path.trees[0].predict([[0.0] * 4]).tolist()} Tree",
        f"{tree.predict(rows).tolist()}",
        f"{[one is chosen for one in path.trees].index(True)}",
    ]


# -- public names ----------------------------------------------------------------------


def public_names():
    """Every name that is public, with the module that has it."""
    for place in PUBLIC:
        module = importlib.import_module(place)
        listed = getattr(module, "__all__", None) or dir(module)
        for name in listed:
            yield pytest.param(module, name, id=f"{place}.{name}")


@pytest.mark.parametrize(("module", "name"), list(public_names()))
def test_every_public_name_is_described(module, name):
    """It has a docstring of its own, and a heading in its part of docs/api.md."""
    thing = getattr(module, name)
    page = (HOME / "docs" / "api.md").read_text("utf-8")
    if name == "__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", thing)
    elif inspect.ismodule(thing):
        assert f"sorct.{name}\n" in page
    else:
        assert inspect.getdoc(thing)
        head = re.escape(module.__name__)
        part = re.search(rf"(?ms)^## (?:[^\n]*: )?{head}\n(.*?)(?=^## |\Z)", page)[1]
        assert f"### {name}\n" in part


def test_the_page_of_public_names_is_what_the_docstrings_say():
    """``python docs/api.py`` renews it; the formatter may change lines and quotes."""
    scope = runpy.run_path(str(HOME / "docs" / "api.py"), run_name="api")
    kept, told = (
        re.sub(r",(?=[)}])", "", re.sub(r"\s+", "", text)).replace("'", '"')
        for text in (scope["PAGE"].read_text("utf-8"), scope["page"]())
    )
    assert kept == told


@pytest.mark.slow
def test_the_descent_is_compiled_without_tables():
    """The second process of a first compilation has no time for other libraries."""
    code = "import sys, sorct.solvers.descent; print('numba' in sys.modules, "
    code += "sorted({'pandas', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True []\n"


#: Packages of this repository.
OWN = ("sorct", "benchmarks", "experiments")
SCRIPTS = sorted(
    f"{folder}.{file.stem}"
    for folder in OWN[1:]
    for file in (HOME / folder).glob("*.py")
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_find_what_they_import(name):
    """Of this repository; packages that only they need may be missing."""
    missing = "none"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name)
    assert missing.partition(".")[0] not in OWN
