"""Parser: the verbs of the command line and their flags, and nothing that they do."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from functools import cache
from typing import NoReturn, TypeAlias

from sorct.cli import options
from sorct.cli.flags import (
    DROPPED,
    add_choice,
    add_column_options,
    add_drop_missing,
    add_effort,
    add_grid,
    add_group_bounds,
    add_model,
    add_output,
    add_point,
    add_policies,
    add_promises,
    add_reading,
    add_seed,
    add_task,
    add_training_table,
)
from sorct.cli.messages import UsageError
from sorct.estimators.call import versions

TARGETS = ("sql", "onnx", "json", "python", "javascript", "js")
SHELLS = ("bash", "zsh", "fish")


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what ``main`` prints."""
        raise UsageError(f"{message} (see {self.prog} --help)")


@cache
def build_parser() -> Parser:
    """Parser of ``sorct`` with all its verbs; built once in a process."""
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


def check_flags(parser: Parser, words: Sequence[str]) -> None:
    """Refuse a flag that a verb does not know, before a flag that it needs is missed.

    What argparse itself would take for a flag is one here.
    """
    verb_at = next((k for k, word in enumerate(words) if word[:1] != "-"), len(words))
    verb = verbs_in(parser).get(words[verb_at]) if verb_at < len(words) else None
    if verb is None or {"-h", "--help"} & set(words):
        return
    known = [flag for flag in verb._option_string_actions if flag.startswith("--")]
    for word in words[verb_at + 1 :]:
        if word == "--":
            return
        flag = word.partition("=")[0]
        if word.startswith("--") and flag not in known and " " not in word:
            verb.error(_no_flag(parser, verb, flag, known))


def _no_flag(
    parser: argparse.ArgumentParser, verb: Parser, flag: str, known: list[str]
) -> str:
    """That a verb has no such flag, and which have it or what was meant."""
    verbs = verbs_in(parser)
    others = [k for k, other in verbs.items() if flag in other._option_string_actions]
    if others:
        return f"{verb.prog} has no flag {flag}, but {', '.join(others)} have"
    close = difflib.get_close_matches(flag, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"there is no flag {flag}{hint}"


def with_values(words: Sequence[str]) -> list[str]:
    """The words, with a value for --drop-missing where what follows is none of its.

    Else it would take the name of a file that stands behind it.
    """
    following = [*words, ""][1:]
    return [
        f"{word}={DROPPED[0]}"
        if word == "--drop-missing" and after not in DROPPED
        else word
        for word, after in zip(words, following, strict=True)
    ]


def verbs_in(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """Parsers of all verbs by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


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


# -- verbs ---------------------------------------------------------------------------


def _add_limits(group: argparse._ArgumentGroup, what: str) -> None:
    """Limits on the variables of a tree."""
    group.add_argument(
        "--max-features",
        type=options.whole(0),
        metavar="N",
        help=f"most variables that {what} may use",
    )
    group.add_argument(
        "--max-cost",
        type=options.real(positive=False),
        metavar="X",
        help=f"most that the variables of {what} may cost together, by --feature-cost",
    )


def _add_fit(verbs: Verbs) -> None:
    parser = _verb(verbs, "fit", "Train a tree or forest on a table and print it")
    add_training_table(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only show how each column would be read; nothing is trained or written",
    )
    add_output(parser, "file for the model (JSON)")
    group = parser.add_argument_group(
        "chosen by cross-validation",
        "Unless --alpha-local or --alpha-global is given.",
    )
    add_grid(group, 6)
    add_choice(
        group,
        "log-loss; accuracy with --loss cost, the mean cost where --cost-matrix makes "
        "some errors dearer",
    )
    _add_limits(group, "the tree")
    group.add_argument(
        "--max-features-per-cut",
        type=options.whole(0),
        metavar="N",
        help="most variables that a cut may use",
    )
    group.add_argument(
        "--min-followed",
        type=options.real(positive=False),
        metavar="X",
        help="least share of the rows for which following the rules by hand gives the "
        "class predicted (default: 0.99, less where that is better by far)",
    )
    group.add_argument(
        "--preselect",
        choices=("choose", "none", "greedy"),
        help="variables to begin with: all, those of a greedy tree, or whichever is "
        "better (default: choose)",
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
    group = parser.add_argument_group("a forest")
    group.add_argument(
        "--trees",
        type=options.several(options.whole(1)),
        metavar="N",
        help="train so many trees that answer together, with one budget of variables "
        "(--max-features) for all of them; with commas several numbers to choose from "
        "(default: a single tree)",
    )
    add_model(parser, "with the penalties")
    add_promises(parser)
    add_group_bounds(parser)
    add_column_options(parser)
    add_effort(parser)


def _add_show(verbs: Verbs) -> None:
    parser = _verb(verbs, "show", "Print a model, or the table of a path")
    parser.add_argument("model", metavar="FILE", help="model or path (JSON)")
    add_point(parser)
    parser.add_argument(
        "--decimals",
        type=options.whole(0),
        metavar="N",
        help="decimals of the numbers in the rules (default: as many as are needed)",
    )
    parser.add_argument(
        "--levels",
        choices=["few", "all"],
        help="levels of categories that cuts name: a few, or all (default: few)",
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
    add_point(parser)
    add_policies(parser, "as the model says", "as the model says")


def _add_predict(verbs: Verbs) -> None:
    parser = _verb(verbs, "predict", "Predict every row of a table")
    _add_rows(parser)
    add_output(parser, "CSV file, or Parquet by its name (default: standard output)")
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
    add_reading(parser)


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
    parser.add_argument(
        "--reach",
        type=options.any_number,
        metavar="X",
        help="of a quantity: tell the smallest changes with which X is reached",
    )
    add_reading(parser)


def _add_path(verbs: Verbs) -> None:
    parser = _verb(verbs, "path", "Train trees for a grid of penalties, print the best")
    add_training_table(parser)
    add_output(parser, "file for the path (JSON)")
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
    add_grid(group, 20)
    group.add_argument(
        "--preselect",
        choices=("none", "greedy"),
        help="variables to begin with: all, or those of a greedy tree (default: none)",
    )
    _add_limits(group, "a relaxed tree")
    add_model(parser, None)
    add_column_options(parser)
    add_effort(parser)


def _add_report(verbs: Verbs) -> None:
    parser = _verb(verbs, "report", "Write an interactive page about a model or a path")
    parser.add_argument("model", metavar="FILE", help="model or path (JSON)")
    add_output(parser, "file for the page (HTML)", required=True)
    parser.add_argument(
        "--data", metavar="DATA", help="CSV or Parquet file to show the tree on"
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the classes, or numbers, in DATA (default: the target of training)",
    )
    add_drop_missing(
        parser,
        "leave out rows of DATA with any missing cell, or with target those alone "
        "whose target is missing (default: the latter are an error)",
    )
    add_point(parser)
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument(
        "--rows",
        type=options.whole(0),
        default=100,
        metavar="N",
        help="rows of DATA to list, readable by whoever gets the page (default: 100)",
    )
    add_reading(parser)


def _add_export(verbs: Verbs) -> None:
    parser = _verb(verbs, "export", "Write a model as SQL, ONNX, Python or JavaScript")
    parser.add_argument("model", metavar="MODEL", help="model (JSON), or a path")
    parser.add_argument(
        "--to",
        required=True,
        choices=TARGETS,
        help="what to write; js is short for javascript",
    )
    add_output(parser, "file to write (default: standard output; onnx needs a file)")
    add_point(parser)
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
    parser = _verb(verbs, "compare", "Compare CART, linear models and a tree")
    add_training_table(parser, weights=False)
    group = parser.add_argument_group("folds")
    group.add_argument(
        "--folds",
        type=options.whole(2),
        default=10,
        metavar="N",
        help="folds to score on, of classes stratified (default: 10)",
    )
    group.add_argument(
        "--repeats",
        type=options.whole(1),
        default=1,
        metavar="N",
        help="how often to draw them (default: 1)",
    )
    add_choice(group, "accuracy; R² of a quantity")
    add_task(group)
    group = parser.add_argument_group("our tree")
    group.add_argument(
        "--depth",
        type=options.several(options.whole(0)),
        metavar="N",
        help="depth, or with commas several to choose from (default: 1,2 for two "
        "classes, else the smallest with a leaf for each; of a quantity chosen)",
    )
    add_grid(group, 20, relax=False)
    add_column_options(parser)
    add_seed(parser.add_argument_group("effort"))


def _add_datasets(verbs: Verbs) -> None:
    parser = _verb(verbs, "datasets", "List the paper's data sets, or write one as CSV")
    parser.add_argument("name", nargs="?", metavar="NAME", help="data set to write")
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="where files of data sets are (default: what SORCT_DATA says)",
    )
    add_output(parser, "CSV file, or Parquet by its name (default: standard output)")


def _add_completion(verbs: Verbs) -> None:
    parser = _verb(
        verbs, "completion", "Print the completion script of a shell", json=False
    )
    parser.add_argument("shell", choices=SHELLS)
