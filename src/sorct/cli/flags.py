"""Flags: groups of them that several verbs share."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, _ArgumentGroup
from typing import Any

from sorct.cli import options
from sorct.data.options import CATEGORICAL, MISSING_POLICIES
from sorct.data.sheet import DOUBTFUL, MISSING
from sorct.data.variables import UNKNOWN_POLICIES
from sorct.data.written_dates import ORDERS
from sorct.estimators.candidates import RULES
from sorct.estimators.forest_raced import FEWEST

SEED = 0
LOSSES = ("cost", "log", "choose", "square", "absolute", "huber", "quantile")
#: Rows that --drop-missing leaves out; the first if it has no value.
DROPPED = ("any", "target")
TASKS = ("classes", "quantity")
LEAVES = ("choose", "constant", "linear")
MEASURES = ("residual", "error")
LINKS = ("choose", "identity", "log")
_DEFAULT_RULE = "one-standard-error"
# Flags that name columns to train on.
_COLUMN_LISTS = {
    "--drop": "column to leave out",
    "--columns": "columns to train on, all others left out",
    "--keep": "column not to leave out, though it looks like an id or never changes",
    "--categorical-features": "column of numbers or dates that are names, such as "
    "codes",
}


def add_reading(parser: ArgumentParser) -> None:
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


def add_training_table(parser: ArgumentParser, *, weights: bool = True) -> None:
    parser.add_argument(
        "data", metavar="DATA", help="CSV or Parquet file; - for standard input"
    )
    group = parser.add_argument_group("columns")
    group.add_argument(
        "--target", required=True, metavar="COLUMN", help="what to predict"
    )
    for flag, text in _COLUMN_LISTS.items():
        told = f"{text}; may be repeated, or a list with commas"
        group.add_argument(
            flag, action="append", default=[], metavar="COLUMN", help=told
        )
    group.add_argument(
        "--ordered",
        type=options.order,
        action="append",
        default=[],
        metavar="COLUMN=LEVEL,LEVEL,...",
        help="category whose levels have an order, and these from low to high; "
        "repeatable",
    )
    if weights:
        group.add_argument(
            "--sample-weight", metavar="COLUMN", help="column with weights of the rows"
        )
    add_drop_missing(
        group,
        "leave out rows with any missing cell, or with target those alone whose target "
        "or weight is missing (default: a missing cell has a weight of its own; in the "
        "target and the weights it is an error)",
    )
    add_reading(parser)


def add_drop_missing(group: _ArgumentGroup | ArgumentParser, text: str) -> None:
    group.add_argument(
        "--drop-missing", nargs="?", choices=DROPPED, const=DROPPED[0], help=text
    )


def add_model(parser: ArgumentParser, chosen: str | None) -> None:
    """Flags of the tree; ``chosen`` says how what was not given is chosen, if it is."""
    group = parser.add_argument_group("the tree")
    group.add_argument(
        "--depth",
        type=options.several(options.whole(0)),
        metavar="N",
        help="depth, or with commas several to choose from (default: "
        + (f"chosen {chosen} up to 4, or " if chosen else "")
        + "the smallest with a leaf for every class; of a quantity 2)",
    )
    group.add_argument(
        "--loss",
        choices=LOSSES,
        help="what is minimised: the expected cost of predictions, as in the paper, or "
        "the log-loss, whose probabilities mean what they say"
        + (f"; chosen {chosen} unless penalties are fixed" if chosen else "")
        + "; of a quantity square (default), absolute, huber or quantile",
    )
    add_task(group)
    group.add_argument(
        "--quantile",
        type=options.confidence,
        metavar="P",
        help="level of the quantile, with --loss quantile (default: 0.5)",
    )
    group.add_argument(
        "--leaf",
        choices=LEAVES if chosen else LEAVES[1:],
        help="what leaves of a quantity say: a number, or a sparse linear model"
        + (f" (default: chosen {chosen})" if chosen else " (default: constant)"),
    )
    group.add_argument(
        "--link",
        choices=LINKS if chosen else LINKS[1:],
        help="whether trees of a quantity are of the number or of its logarithm"
        + (f" (default: chosen {chosen})" if chosen else " (default: identity)"),
    )
    group.add_argument(
        "--gamma",
        type=options.several(options.steepness),
        metavar="X",
        help="steepness of the cuts: a number, several to choose from, or auto, the "
        "same for every variable however many there are (default: auto"
        + (
            f", gentler or steeper if that is better when chosen {chosen})"
            if chosen
            else ")"
        ),
    )
    group.add_argument(
        "--followable",
        action=BooleanOptionalAction,
        default=None,
        help="collapse cuts that people who follow the rules by hand have no use for "
        "(default: yes)",
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


def add_task(group: Any) -> None:
    """What the target is."""
    group.add_argument(
        "--task",
        choices=TASKS,
        help="what the target is (default: a quantity if it is more than 20 numbers "
        "with fractions, or far too many for classes)",
    )


def add_promises(parser: ArgumentParser) -> None:
    """Flags about rare classes, and about what holds on new rows."""
    group = parser.add_argument_group(
        "rare classes and new rows",
        "Besides --min-recall and --scoring balanced_accuracy.",
    )
    group.add_argument(
        "--class-weight",
        type=options.class_weight,
        action="append",
        default=[],
        metavar="CLASS=X",
        help="balanced: every class counts the same however rare; or what the rows of "
        "a class count, repeatable",
    )
    group.add_argument(
        "--calibration",
        choices=("isotonic", "sigmoid"),
        help="fit the probabilities to held-out rows, by steps or by a curve",
    )
    group.add_argument(
        "--confidence",
        type=options.confidence,
        metavar="P",
        help="probability with which --min-recall is to hold on new rows, such as 0.95",
    )


def add_group_bounds(parser: ArgumentParser) -> None:
    """Flags about what is missed on average, group by group."""
    group = parser.add_argument_group(
        "bounds on groups of rows, of a quantity", "On the rows of training."
    )
    group.add_argument(
        "--groups", metavar="COLUMN", help="the variable that names the group of a row"
    )
    group.add_argument(
        "--group-bound",
        type=options.group_bound,
        action="append",
        default=[],
        metavar="[GROUP=]X",
        help="by how much predictions for every group, or for one, may miss on "
        "average, in units of the target; repeatable",
    )
    group.add_argument(
        "--group-measure",
        choices=MEASURES,
        help="what is bound: the mean of observed minus predicted, or the root mean "
        "square of it (default: residual)",
    )


def add_column_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("how columns become variables")
    group.add_argument(
        "--paper",
        action="store_true",
        help="read the table as the paper does: every level chosen by itself, none "
        "pooled, new ones an error, numbers scaled by their range; and train as it "
        "does: loss cost, gamma 512, penalties 0 and 2^-12 to 2^3",
    )
    group.add_argument(
        "--categorical",
        choices=CATEGORICAL,
        help="levels of a category are chosen together, or each by itself as in the "
        "paper (default: whole; sorct fit of a quantity tries both)",
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
        help="auto, minmax, standard, quantile or bent, of all columns of numbers or "
        "of one; repeatable (default: auto, or another where a search finds it better)",
    )
    add_policies(group, "other", "error")
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


def add_policies(group: Any, unknown: str, missing: str) -> None:
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


def add_effort(parser: ArgumentParser, *, time_limit: bool = True) -> None:
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
            help="end after so many seconds, with the best tree found so far",
        )
    add_seed(group)


def add_seed(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--jobs",
        type=options.jobs,
        metavar="N",
        help="cores to use, -1 for all; changes no result, unless a time limit ends "
        "the search (default: 1)",
    )
    group.add_argument(
        "--seed",
        type=options.whole(0),
        default=SEED,
        metavar="N",
        help=f"the same seed gives the same result (default: {SEED})",
    )


def add_grid(group: _ArgumentGroup, n_solutions: int, *, relax: bool = True) -> None:
    for axis, default in (("local", "17 that suit the table"), ("global", "0")):
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
        help=f"trees carried along a path (default: {n_solutions})",
    )
    if relax:
        group.add_argument(
            "--relax",
            action=BooleanOptionalAction,
            default=None,
            help="also offer every tree refitted on its own variables under a weaker "
            "penalty (default: yes)",
        )


def add_choice(group: _ArgumentGroup, scoring: str) -> None:
    group.add_argument(
        "--cv",
        type=options.whole(2),
        metavar="N",
        help="stratified folds to choose by, shuffled by the seed (default: 5, which "
        "fit draws twice below 1000 rows)",
    )
    group.add_argument(
        "--scoring",
        type=options.scoring,
        metavar="NAME",
        help=f"any scorer of scikit-learn (default: {scoring})",
    )
    group.add_argument(
        "--rule",
        choices=(*RULES, FEWEST),
        help="the best mean score, the sparsest tree within one standard error of it, "
        "or (paired) within one of the difference, fold by fold; compare knows the "
        "first two; fewest, with --trees, leaves out what a forest does not miss "
        f"(default: {_DEFAULT_RULE}; paired for a quantity; for a forest best, if a "
        "race chooses its first tree)",
    )


def add_output(parser: ArgumentParser, what: str, *, required: bool = False) -> None:
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=required,
        help=f"{what}; what sorct wrote is replaced, another file is not",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace whatever file --out names"
    )


def add_point(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--point",
        type=options.whole(0),
        metavar="N",
        help="of a path: the tree to take, by its number in the table of sorct show",
    )
    parser.add_argument(
        "--relaxed",
        action="store_true",
        help="with --point: the tree that was refitted on the variables of that one",
    )
