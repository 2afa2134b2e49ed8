"""Parser: the verbs of the command line and their flags, and nothing that they do."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn, TypeAlias

from sorct.cli import options
from sorct.cli.messages import UsageError
from sorct.data.options import CATEGORICAL, MISSING_POLICIES
from sorct.data.sheet import DOUBTFUL, MISSING
from sorct.data.variables import UNKNOWN_POLICIES
from sorct.data.written_dates import ORDERS
from sorct.estimators.call import versions
from sorct.estimators.cross_validated import RULES

TARGETS = ("sql", "onnx", "json", "python", "js")
SHELLS = ("bash", "zsh", "fish")
SEED = 0
_DEFAULT_RULE = "one-standard-error"
# Flags that name columns to train on.
_COLUMN_LISTS = {
    "--drop": "column to leave out",
    "--columns": "columns to train on, all others left out",
    "--keep": "column not to leave out, though it looks like an id or never changes",
    "--categorical-features": "column of numbers or dates that are names, such as "
    "codes",
}


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what ``main`` prints."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def build_parser() -> Parser:
    """Parser of ``sorct`` with all its verbs."""
    parser = Parser(
        prog="sorct",
        description="Small, sparse, trustworthy decision trees from tables.",
        epilog="Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=versions()["sorct"])
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for add in (
        _add_fit, _add_show, _add_predict, _add_explain, _add_path, _add_report,
        _add_export, _add_compare, _add_datasets, _add_completion,
    ):  # fmt: skip
        add(verbs)
    return parser


Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"


def _verb(verbs: Verbs, name: str, text: str, *, json: bool = True) -> Parser:
    parser: Parser = verbs.add_parser(
        name, help=text, description=f"{text}.", allow_abbrev=False
    )
    common = parser.add_argument_group("what is said")
    common.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="nothing on standard error but errors, and what --out has is not printed",
    )
    if json:
        common.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )
    return parser


# -- groups of flags -----------------------------------------------------------------


def _add_reading(parser: Parser) -> None:
    group = parser.add_argument_group("reading tables")
    group.add_argument(
        "--encoding",
        type=options.encoding,
        metavar="NAME",
        help="of CSV files (default: UTF-8, with or without a byte order mark)",
    )
    group.add_argument(
        "--delimiter",
        type=options.delimiter,
        metavar="CHAR",
        help="of CSV files: a character, or comma, semicolon, tab (default: guessed)",
    )
    group.add_argument(
        "--decimal",
        choices=(".", ","),
        help="decimal mark of CSV files (default: the one that the cells show)",
    )
    group.add_argument(
        "--dates",
        choices=tuple(ORDERS),
        help="order of 01/02/2024 (default: the one that the cells show)",
    )
    group.add_argument(
        "--missing",
        action="append",
        metavar="TEXT",
        help="further cells that count as missing, may be repeated (always: empty, "
        f"{', '.join(MISSING[1:])}; not in the target: {', '.join(DOUBTFUL)})",
    )


def _add_training_table(parser: Parser, *, weights: bool = True) -> None:
    parser.add_argument(
        "data", metavar="DATA", help="CSV or Parquet file; - for standard input"
    )
    group = parser.add_argument_group("columns")
    group.add_argument("--target", required=True, metavar="COLUMN", help="the classes")
    for flag, text in _COLUMN_LISTS.items():
        told = f"{text}; may be repeated, or a list with commas"
        group.add_argument(
            flag, action="append", default=[], metavar="COLUMN", help=told
        )
    if weights:
        group.add_argument(
            "--sample-weight", metavar="COLUMN", help="column with weights of the rows"
        )
    group.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out rows with missing cells (default: a missing cell has a weight "
        "of its own; in the target and the weights it is an error)",
    )
    _add_reading(parser)


def _add_model(parser: Parser) -> None:
    group = parser.add_argument_group("the tree")
    group.add_argument(
        "--depth",
        type=options.several(options.whole(1)),
        metavar="N",
        help="depth, or with commas several to choose from "
        "(default: the smallest with a leaf for every class)",
    )
    group.add_argument(
        "--gamma",
        type=options.several(options.real(positive=True)),
        metavar="X",
        help="steepness of the cuts, or several to choose from (default: 512)",
    )
    group.add_argument(
        "--min-recall",
        type=options.recall,
        action="append",
        default=[],
        metavar="[CLASS=]RATE",
        help="floor under the expected recall, of every class or of one; repeatable",
    )
    group.add_argument(
        "--cost-matrix",
        metavar="FILE",
        help="CSV: a row per true class, a column per predicted one, names in front",
    )


def _add_column_options(parser: Parser) -> None:
    group = parser.add_argument_group("how columns become variables")
    group.add_argument(
        "--paper",
        action="store_true",
        help="read the table as the paper does: every level chosen by itself, none "
        "pooled, new ones an error, numbers scaled by their range",
    )
    group.add_argument(
        "--categorical",
        choices=CATEGORICAL,
        help="levels of a category are chosen together, or each by itself as in the "
        "paper (default: whole)",
    )
    group.add_argument(
        "--min-frequency",
        type=options.frequency,
        metavar="N",
        help="levels with fewer rows, or a smaller share of them, are pooled as other "
        "(default: 5)",
    )
    group.add_argument(
        "--scaling",
        type=options.scaling,
        action="append",
        default=[],
        metavar="[COLUMN=]KIND",
        help="auto, minmax or quantile, of all columns of numbers or of one; "
        "repeatable (default: auto)",
    )
    _add_policies(group, "other", "error")
    group = parser.add_argument_group("what is known of columns")
    group.add_argument(
        "--monotonic",
        type=options.direction,
        action="append",
        default=[],
        metavar="COLUMN=SIGN",
        help="+1: the probability of the positive class never falls when the column "
        "rises, -1: it never rises; repeatable",
    )
    group.add_argument(
        "--positive-class",
        metavar="CLASS",
        help="class that --monotonic is about (default: the second of two)",
    )
    group.add_argument(
        "--feature-cost",
        type=options.price,
        action="append",
        default=[],
        metavar="COLUMN=PRICE",
        help="what a column costs to collect, 1 if not said; repeatable, or a CSV "
        "file with a name and a price in each line",
    )


def _add_policies(group: Any, unknown: str, missing: str) -> None:
    """What is done at prediction with cells that training had none of."""
    group.add_argument(
        "--handle-unknown",
        choices=UNKNOWN_POLICIES,
        help=f"levels at prediction that training never saw (default: {unknown})",
    )
    group.add_argument(
        "--handle-missing",
        choices=MISSING_POLICIES,
        help="missing cells at prediction of a column that had none in training: an "
        "error, or its median or most frequent level there "
        f"(default: {missing})",
    )


def _add_effort(parser: Parser, *, time_limit: bool = True) -> None:
    group = parser.add_argument_group("effort")
    group.add_argument(
        "--tol",
        type=options.real(positive=True),
        default=1e-6,
        metavar="X",
        help="bound on the stationarity residual (default: 1e-6)",
    )
    group.add_argument(
        "--max-iter",
        type=options.whole(1),
        default=2000,
        metavar="N",
        help="bound on the iterations of a start (default: 2000)",
    )
    if time_limit:
        group.add_argument(
            "--time-limit",
            type=options.real(positive=True),
            metavar="SECONDS",
            help="then the best so far is taken; fit: with fixed penalties only",
        )
    _add_seed(group)


def _add_seed(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs",
        type=options.jobs,
        metavar="N",
        help="cores to use, -1 for all; changes no result (default: 1)",
    )
    group.add_argument(
        "--seed",
        type=options.whole(0),
        default=SEED,
        metavar="N",
        help=f"the same seed gives the same result (default: {SEED})",
    )


def _add_grid(group: argparse._ArgumentGroup, default_global: str) -> None:
    for axis, default in (("local", "0 and 2^-12 to 2^3"), ("global", default_global)):
        group.add_argument(
            f"--alphas-{axis}",
            type=options.several(options.real(positive=False)),
            metavar="X,X,...",
            help=f"strengths of {axis} sparsity to try (default: {default})",
        )
    group.add_argument(
        "--n-solutions",
        type=options.whole(1),
        metavar="N",
        help="trees carried along a path (default: 20)",
    )


def _add_choice(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cv",
        type=options.whole(2),
        metavar="N",
        help="stratified folds to choose by, shuffled by the seed (default: 5)",
    )
    group.add_argument(
        "--scoring",
        type=options.scoring,
        metavar="NAME",
        help="any scorer of scikit-learn (default: accuracy)",
    )
    group.add_argument(
        "--rule",
        choices=RULES,
        help="the best mean score, or the sparsest tree within one standard error of "
        f"it (default: {_DEFAULT_RULE})",
    )


def _add_output(parser: Parser, what: str, *, required: bool = False) -> None:
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=required,
        help=f"{what}; what sorct wrote is replaced, another file is not",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace whatever file --out names"
    )


def _add_point(parser: Parser) -> None:
    parser.add_argument(
        "--point",
        type=options.whole(0),
        metavar="N",
        help="of a path: the tree to take, by its number in the table of sorct show",
    )


# -- verbs ---------------------------------------------------------------------------


def _add_fit(verbs: Verbs) -> None:
    parser = _verb(verbs, "fit", "Train a tree on a table and print its rules")
    _add_training_table(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only show how each column would be read; nothing is trained or written",
    )
    _add_output(parser, "file for the model (JSON)")
    group = parser.add_argument_group(
        "penalties, chosen by cross-validation",
        "Unless --alpha-local or --alpha-global is given.",
    )
    _add_grid(group, "0")
    _add_choice(group)
    group.add_argument(
        "--max-features",
        type=options.whole(0),
        metavar="N",
        help="most variables that the tree may use",
    )
    group.add_argument(
        "--max-features-per-cut",
        type=options.whole(0),
        metavar="N",
        help="most variables that a cut may use",
    )
    group.add_argument(
        "--max-cost",
        type=options.real(positive=False),
        metavar="X",
        help="most that the variables of the tree may cost together, by --feature-cost",
    )
    group = parser.add_argument_group("penalties, fixed")
    for axis, what in (("local", "a cut"), ("global", "the tree")):
        group.add_argument(
            f"--alpha-{axis}",
            type=options.real(positive=False),
            metavar="X",
            help=f"strength of {axis} sparsity: fewer variables in {what}",
        )
    group.add_argument(
        "--n-starts",
        type=options.n_starts,
        metavar="N",
        help="independent starts, or auto for a search (default: auto)",
    )
    _add_model(parser)
    _add_column_options(parser)
    _add_effort(parser)


def _add_show(verbs: Verbs) -> None:
    parser = _verb(verbs, "show", "Print the rules of a model, or the table of a path")
    parser.add_argument("model", metavar="FILE", help="model or path (JSON)")
    _add_point(parser)
    parser.add_argument(
        "--decimals",
        type=options.whole(0),
        metavar="N",
        help="decimals of the numbers in the rules (default: as many as are needed)",
    )
    parser.add_argument(
        "--all", action="store_true", help="of a path: all points, not the frontier"
    )


def _add_rows(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model (JSON), or a path")
    parser.add_argument(
        "rows",
        metavar="ROWS",
        help="CSV or Parquet file with the variables that the tree uses, others are "
        "ignored; - for standard input",
    )
    _add_point(parser)
    _add_policies(parser, "as the model says", "as the model says")


def _add_predict(verbs: Verbs) -> None:
    parser = _verb(verbs, "predict", "Predict the class of every row of a table")
    _add_rows(parser)
    _add_output(parser, "CSV file, or Parquet by its name (default: standard output)")
    parser.add_argument(
        "--proba", action="store_true", help="add the probability of every class"
    )
    parser.add_argument(
        "--keep", action="store_true", help="put the columns of ROWS in front"
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="write text as it is, also what a spreadsheet would take for a formula",
    )
    _add_reading(parser)


def _add_explain(verbs: Verbs) -> None:
    parser = _verb(verbs, "explain", "Explain the prediction for one row of a table")
    _add_rows(parser)
    parser.add_argument(
        "--row",
        type=options.whole(1),
        default=1,
        metavar="N",
        help="which row, counted from 1 and without the header (default: 1)",
    )
    _add_reading(parser)


def _add_path(verbs: Verbs) -> None:
    parser = _verb(verbs, "path", "Train trees for a grid of penalties, print the best")
    _add_training_table(parser)
    _add_output(parser, "file for the path (JSON)")
    parser.add_argument(
        "--all", action="store_true", help="print all points, not the frontier"
    )
    parser.add_argument(
        "--cv",
        type=options.whole(0),
        metavar="N",
        help="folds for the held-out score of every tree, 0 for none (default: 3, or "
        "none with --time-limit)",
    )
    group = parser.add_argument_group("penalties")
    _add_grid(group, "as local; 0 at depth 1")
    _add_model(parser)
    _add_column_options(parser)
    _add_effort(parser)


def _add_report(verbs: Verbs) -> None:
    parser = _verb(verbs, "report", "Write an interactive page about a model or a path")
    parser.add_argument("model", metavar="FILE", help="model or path (JSON)")
    _add_output(parser, "file for the page (HTML)", required=True)
    parser.add_argument(
        "--data", metavar="DATA", help="CSV or Parquet file to show the tree on"
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the classes in DATA (default: the target of training)",
    )
    _add_point(parser)
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument(
        "--rows",
        type=options.whole(0),
        default=100,
        metavar="N",
        help="rows of DATA to list, readable by whoever gets the page (default: 100)",
    )
    _add_reading(parser)


def _add_export(verbs: Verbs) -> None:
    parser = _verb(verbs, "export", "Write a model as SQL, ONNX, Python or JavaScript")
    parser.add_argument("model", metavar="MODEL", help="model (JSON), or a path")
    parser.add_argument("--to", required=True, choices=TARGETS, help="what to write")
    _add_output(parser, "file to write (default: standard output; onnx needs a file)")
    _add_point(parser)
    parser.add_argument(
        "--table",
        metavar="NAME",
        help="sql: table to select from (default: data)",
    )
    parser.add_argument(
        "--dtype",
        choices=("float32", "float64"),
        help="onnx: type of the numbers (default: float32)",
    )


def _add_compare(verbs: Verbs) -> None:
    parser = _verb(verbs, "compare", "Compare CART, L1 logistic regression and a tree")
    _add_training_table(parser, weights=False)
    group = parser.add_argument_group("folds")
    group.add_argument(
        "--folds",
        type=options.whole(2),
        default=10,
        metavar="N",
        help="stratified folds to score on (default: 10)",
    )
    group.add_argument(
        "--repeats",
        type=options.whole(1),
        default=1,
        metavar="N",
        help="how often to draw them (default: 1)",
    )
    _add_choice(group)
    group = parser.add_argument_group("our tree")
    group.add_argument(
        "--depth",
        type=options.several(options.whole(1)),
        metavar="N",
        help="depth, or with commas several to choose from (default: 1,2 for two "
        "classes, else the smallest with a leaf for each)",
    )
    _add_grid(group, "0")
    _add_column_options(parser)
    _add_seed(parser.add_argument_group("effort"))


def _add_datasets(verbs: Verbs) -> None:
    parser = _verb(verbs, "datasets", "List the paper's data sets, or write one as CSV")
    parser.add_argument("name", nargs="?", metavar="NAME", help="data set to write")
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="where files of data sets are (default: what SORCT_DATA says)",
    )
    _add_output(parser, "CSV file, or Parquet by its name (default: standard output)")


def _add_completion(verbs: Verbs) -> None:
    parser = _verb(
        verbs, "completion", "Print the completion script of a shell", json=False
    )
    parser.add_argument("shell", choices=SHELLS)
