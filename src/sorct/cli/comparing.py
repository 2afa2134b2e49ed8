"""Comparing: the verb compare, three methods on the same folds."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sorct.cli import bars
from sorct.cli.column_options import check_column_options
from sorct.cli.given_tables import training_of
from sorct.cli.model_options import compared_model, grid
from sorct.cli.printing import print_result, text_table
from sorct.cli.training import folds, given_options, of_columns, threads

if TYPE_CHECKING:
    from sorct.estimators.compare.comparison import Comparison

# Said below the table, once.
_MEASURES = (
    "Log-loss and AUC are of the probabilities as each method gives them; for the "
    "log-loss they are clipped at 1e-6."
)


def compare(args: Namespace) -> None:
    """Compare three methods on the same folds."""
    from sorct.estimators.compare.comparison import compare as run

    check_column_options(args)
    data = training_of(args)
    folds(args.folds, data.y, args.seed)
    shown = bars.are_shown(args.quiet)
    with threads():
        found = run(
            data.X,
            data.y,
            folds=args.folds,
            repeats=args.repeats,
            depths=args.depth,
            n_jobs=args.jobs,
            random_state=args.seed,
            progress=shown,
            options=of_columns(args, data) | compared_model(args),
            **grid(args),
            **given_options(args, "cv", "rule", "scoring", "n_solutions"),
        )
    document = {"verb": "compare", "seed": args.seed, **found.to_dict()}
    size = f"{len(data.y)} rows, {found.n_variables} variables, seed {args.seed}."
    print_result(args.json, document, f"{_comparison_text(found)}\n\n{size}")


def _comparison_text(found: Comparison) -> str:
    header, methods = _methods(found)
    tests = [
        [
            f"{row['one']} - {row['other']}",
            f"{row['difference']:+.3f}",
            f"{row['standard_error']:.3f}",
            _p_text(row["p_holm"]),
        ]
        for row in found.tests.to_dict("records")
    ]
    n_folds = found.folds["fold"].nunique()
    return "\n".join(
        [
            f"Means over {n_folds} folds",
            "",
            text_table(header, methods),
            "",
            " ".join([_MEASURES, *found.notes]),
            "",
            "Paired tests on the folds (corrected resampled t test, p by Holm)",
            "",
            text_table(["pair", "difference", "std. error", "p"], tests),
            "",
            found.sentence,
        ]
    )


def _methods(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of methods; accuracy stands there once."""
    columns = {
        "score": (found.scoring, 3),
        "standard_error": ("std. error", 3),
        "accuracy": ("accuracy", 3),
        "log_loss": ("log-loss", 3),
        "auc": ("AUC", 3),
        "variables": ("variables", 1),
        "cuts": ("cuts", 1),
    }
    if found.scoring == "accuracy":
        del columns["accuracy"]
    rows = [
        [str(name), *(_cell(row[key], columns[key][1]) for key in columns)]
        for name, row in zip(
            found.frame.index, found.frame.to_dict("records"), strict=True
        )
    ]
    return ["method", *(name for name, _ in columns.values())], rows


def _cell(value: Any, digits: int) -> str:
    """A number, or a dash where there is none."""
    return "-" if value != value else f"{value:.{digits}f}"


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
