"""Comparing: the verb compare, several methods on the same folds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sorct.cli import bars
from sorct.cli.column_options import check_column_options
from sorct.cli.folding import folds_of
from sorct.cli.given_tables import training_of
from sorct.cli.model_options import compared_model, grid
from sorct.cli.printing import number, print_result, score_text, text_table
from sorct.cli.quantities import check_task
from sorct.cli.training import given_options, of_columns, threads

if TYPE_CHECKING:
    from sorct.estimators.compare.comparison import Comparison

# Said below the table, once.
_MEASURES = (
    "Log-loss and AUC are of the probabilities as each method gives them; for the "
    "log-loss they are clipped at 1e-6."
)


def compare(args: Namespace) -> None:
    """Compare several methods on the same folds."""
    from sorct.estimators.compare.comparison import compare as run

    check_column_options(args)
    data = training_of(args)
    check_task(args, data)
    folds_of(args.folds, data, args.seed)
    shown = bars.are_shown(args.quiet)
    with threads():
        found = run(
            data.X,
            data.y,
            task=data.task,
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
            _signed(row["difference"]),
            score_text(row["standard_error"]),
            _p_text(row["p_holm"]),
        ]
        for row in found.tests.to_dict("records")
    ]
    n_folds = found.folds["fold"].nunique()
    said = [_MEASURES] if "log_loss" in found.frame else []
    notes = [" ".join([*said, *found.notes]), ""] if said or found.notes else []
    return "\n".join(
        [
            f"Means over {n_folds} folds",
            "",
            text_table(header, methods),
            "",
            *notes,
            "Paired tests on the folds (corrected resampled t test, p by Holm)",
            "",
            text_table(["pair", "difference", "std. error", "p"], tests),
            "",
            found.sentence,
        ]
    )


def _methods(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of methods."""
    columns = {
        "score": ("R²" if found.scoring == "r2" else found.scoring, score_text),
        "standard_error": ("std. error", score_text),
        "accuracy": ("accuracy", score_text),
        "log_loss": ("log-loss", score_text),
        "auc": ("AUC", score_text),
        "r2": ("R²", score_text),
        "rmse": ("RMSE", number),
        "mae": ("MAE", number),
        "variables": ("variables", _count),
        "cuts": ("cuts", _count),
    }
    # What is scored stands there once.
    dropped = found.scoring if found.scoring in ("accuracy", "r2") else ""
    columns = {
        key: told
        for key, told in columns.items()
        if key in found.frame and key != dropped
    }
    rows = [
        [str(name), *(_cell(row[key], columns[key][1]) for key in columns)]
        for name, row in zip(
            found.frame.index, found.frame.to_dict("records"), strict=True
        )
    ]
    return ["method", *(name for name, _ in columns.values())], rows


def _cell(value: Any, write: Callable[[float], str]) -> str:
    """A number, or a dash where there is none."""
    return "-" if value != value else write(value)


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{score_text(abs(value))}"


def _count(value: float) -> str:
    return f"{value:.1f}"


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
