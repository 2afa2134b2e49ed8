"""Training: the verbs that train, fit, path and compare.

Each checks where its output goes, reads the table, calls one public function of the
library, writes one file and prints the result.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import parallel_config
from sklearn.metrics import accuracy_score

from sorct._typing import AnyArray
from sorct.cli import bars
from sorct.cli.column_options import (
    check_column_options,
    column_rules,
    price_files,
    table_options,
)
from sorct.cli.costs import read_costs
from sorct.cli.data import Training, label_named
from sorct.cli.files import Output
from sorct.cli.given_tables import reading_of, show_reading, training_of
from sorct.cli.messages import UsageError, WorkError, note, say
from sorct.cli.printing import path_table, print_result, score_line, text_table
from sorct.data.sheet import ReadOptions
from sorct.data.target import Classes

if TYPE_CHECKING:
    from sorct.estimators.compare.comparison import Comparison
    from sorct.estimators.cross_validated import SORCTClassifierCV
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

_CV, _PATH_CV, _RULE, _GAMMA = 5, 3, "one-standard-error", 512.0
# Flags of fit that only one of its two ways knows.
_CHOOSING = {
    "alphas_local", "alphas_global", "cv", "scoring", "rule", "max_features",
    "max_features_per_cut", "max_cost", "n_solutions",
}  # fmt: skip
_FIXED = {"n_starts", "time_limit"}


def _inputs(args: Namespace) -> list[str | None]:
    return [args.data, args.cost_matrix, *price_files(args)]


# -- what trees have to meet -----------------------------------------------------------


def _small_files(args: Namespace) -> ReadOptions:
    """How small files beside the table are read."""
    return replace(reading_of(args), delimiter=None)


def _demands(args: Namespace, y: AnyArray) -> dict[str, Any]:
    """Floors and costs, which need to know the classes."""
    classes = Classes(np.unique(y))
    costs, reading = args.cost_matrix, _small_files(args)
    return {
        "min_recall": _floors(args.min_recall, classes),
        "cost_matrix": None if costs is None else read_costs(costs, classes, reading),
    }


def _floors(given: list[tuple[str | None, float]], classes: Classes) -> Any:
    """Floors as the library takes them; one for a class goes before one for all."""
    everywhere = [rate for name, rate in given if name is None][-1:]
    named = {
        label_named(name, classes, "--min-recall"): rate
        for name, rate in given
        if name is not None
    }
    if not named:
        return everywhere[0] if everywhere else None
    return {
        label: rate for rate in everywhere for label in classes.labels.tolist()
    } | named


# -- fit -------------------------------------------------------------------------------


def fit(args: Namespace) -> None:
    """Train a tree, with penalties as given or chosen by cross-validation."""
    fixed = args.alpha_local is not None or args.alpha_global is not None
    _check_way(args, fixed)
    check_column_options(args)
    refuse_two_documents(args)
    if args.dry_run:
        show_reading(args)
        return
    out = Output.checked(args.out, "model", force=args.force, inputs=_inputs(args))
    data = training_of(args)
    tree, lines = (_fit_fixed if fixed else _fit_chosen)(args, data)
    told = replace(tree.training, call=args.call, target=args.target)
    tree = replace(tree, training=told)
    if args.out is not None:
        out.write_json(tree.to_dict())
    if not tree.variables_used:
        say(
            "warning",
            "the tree uses no variable and gives every row the same class. Allow more "
            "(--max-features), or weaker or finer penalties (--alphas-local).",
        )
    size = f"{len(data.y)} rows, {data.X.shape[1]} variables, seed {args.seed}"
    document = {
        "verb": "fit",
        "out": args.out,
        "seed": args.seed,
        "n_samples": len(data.y),
        "variables_used": tree.variables_used,
        "rules": str(tree),
        "tree": tree.to_dict(),
    }
    _print_unless_quiet(args, document, "\n".join([str(tree), "", *lines, f"{size}."]))
    if out.path is not None:
        note(args.quiet, f"the model is in {args.out}; sorct show prints it again.")


def _check_way(args: Namespace, fixed: bool) -> None:
    """Refuse flags that would have no effect."""
    for name in sorted(_CHOOSING if fixed else _FIXED):
        if getattr(args, name) is not None:
            needed = "no --alpha-local and" if fixed else "--alpha-local or"
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag} needs {needed} --alpha-global (see sorct fit --help)"
            )
    for name in ("depth", "gamma"):
        given = getattr(args, name)
        if fixed and given is not None and len(given) > 1:
            raise UsageError(
                f"--{name} takes one value with fixed penalties, got {given}"
            )


def _of_columns(args: Namespace, data: Training) -> dict[str, Any]:
    """How columns become variables, and what is known of them."""
    rules = column_rules(args, data, _small_files(args))
    return table_options(args, data.X) | rules


def _shared(args: Namespace, data: Training) -> dict[str, Any]:
    """Options that all ways of training have."""
    return {
        **_demands(args, data.y),
        **_of_columns(args, data),
        "tol": args.tol,
        "max_iter": args.max_iter,
        "n_jobs": args.jobs,
        "random_state": args.seed,
    }


def _given(args: Namespace, *names: str) -> dict[str, Any]:
    """Options that were given; the library knows the defaults of the others."""
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _fit_fixed(args: Namespace, data: Training) -> tuple[Tree, list[str]]:
    from sorct.estimators.classifier import SORCTClassifier

    model = SORCTClassifier(
        depth=_one(args.depth, None),
        gamma=_one(args.gamma, _GAMMA),
        **_given(args, "alpha_local", "alpha_global", "n_starts", "time_limit"),
        **_shared(args, data),
    )
    with bars.bar("search", shown=bars.are_shown(args.quiet)) as update:
        model.fit(
            data.X,
            data.y,
            data.weight,
            callback=lambda now: update(now.n_done, now.n_starts),
        )
    accuracy = accuracy_score(data.y, model.predict(data.X), sample_weight=data.weight)
    alphas = f"alpha_local {model.alpha_local:g}, alpha_global {model.alpha_global:g}"
    return model.tree_, [
        f"Accuracy on the rows of training: {accuracy:.3f}, which says little of new "
        "rows.",
        f"Penalties as given: {alphas}.",
    ]


def _one(values: list[Any] | None, default: Any) -> Any:
    return default if values is None else values[0]


def _fit_chosen(args: Namespace, data: Training) -> tuple[Tree, list[str]]:
    from sorct.estimators.cross_validated import SORCTClassifierCV

    n_folds, rule = args.cv or _CV, args.rule or _RULE
    shown = bars.are_shown(args.quiet)
    splitter = folds(n_folds, data.y, args.seed)
    _check_scoring(args.scoring, splitter, data)
    search = SORCTClassifierCV(
        args.depth,
        gammas=args.gamma or _GAMMA,
        cv=splitter,
        rule=rule,
        progress=shown,
        **_given(
            args, "alphas_local", "alphas_global", "scoring", "max_features",
            "max_features_per_cut", "max_cost", "n_solutions",
        ),
        **_shared(args, data),
    )  # fmt: skip
    with _threads():
        search.fit(data.X, data.y, data.weight)
    told = search.tree_.training
    return search.tree_, [f"{score_line(told)}.", _choice_line(search, rule)]


def _check_scoring(scoring: Any, splitter: Any, data: Training) -> None:
    """Refuse a scorer that does not suit the classes, or those of a fold."""
    from sorct.estimators.folds import Data
    from sorct.estimators.scorers import check_scorer

    check_scorer(scoring, data.y, data.y)
    for train, test in Data(data.X, data.y, data.weight).folds(splitter):
        check_scorer(scoring, train.y, test.y)


def _threads() -> Any:
    """Folds in threads: compiled code holds no lock, and an interrupt ends them all."""
    return parallel_config(backend="threading")


def _choice_line(search: SORCTClassifierCV, rule: str) -> str:
    """What was chosen, and what the other rule would have taken without limits."""
    chosen = ", ".join(
        f"{name} {value:g}" for name, value in search.best_params_.items()
    )
    line = f"Chosen by the rule {rule}: {chosen}."
    limits = search.max_features, search.max_features_per_cut, search.max_cost
    if rule == "best" or limits != (None, None, None):
        return line
    results = search.cv_results_
    best = results.iloc[int(np.nanargmax(results["mean_score"].to_numpy()))]
    if best["mean_score"] > search.best_score_:
        line += (
            f" The best score is {best['mean_score']:.3f}, with "
            f"{int(best['n_variables'])} variables (--rule best)."
        )
    return line


def folds(n_folds: int, y: AnyArray, seed: int) -> Any:
    """Stratified folds, drawn by the seed: tables are often sorted."""
    most = int(np.unique(y, return_counts=True)[1].max())
    if most < n_folds:
        raise WorkError(
            f"{n_folds} folds need a class with at least as many rows, the largest has "
            f"{most}; give a smaller --cv, or fixed penalties (--alpha-local)."
        )
    return Classes.splitter(n_folds, seed)


def refuse_two_documents(args: Namespace) -> None:
    """Refuse to write the file and the document of --json to standard output both."""
    if args.json and args.out == "-":
        raise UsageError(
            "--json and --out - both write to standard output; leave one of them out"
        )


def _print_unless_quiet(args: Namespace, document: dict[str, Any], text: str) -> None:
    """Print rules or a table, unless standard output has the file itself."""
    if args.json or args.out is None or not (args.quiet or args.out == "-"):
        print_result(args.json, document, text)


# -- path ------------------------------------------------------------------------------


def path(args: Namespace) -> None:
    """Train the trees of a grid of penalties, and score them on folds."""
    for name in ("depth", "gamma"):
        given = getattr(args, name)
        if given is not None and len(given) > 1:
            raise UsageError(f"--{name} of a path takes one value, got {given}")
    if args.time_limit is not None and args.cv:
        raise UsageError("--cv and --time-limit cannot be had together")
    check_column_options(args)
    refuse_two_documents(args)
    out = Output.checked(args.out, "path", force=args.force, inputs=_inputs(args))
    data = training_of(args)
    n_folds = _path_folds(args, data.y)
    found = _scored_path(args, data, n_folds) if n_folds else _plain_path(args, data)
    told = {"call": args.call, "target": args.target}
    trees = [replace(t, training=replace(t.training, **told)) for t in found.trees]
    found = replace(found, trees=tuple(trees))
    if args.out is not None:
        out.write_json(found.to_dict())
    document = {"verb": "path", "out": args.out, "seed": args.seed}
    document |= path_document(found)
    size = f"{len(data.y)} rows, {data.X.shape[1]} variables, seed {args.seed}."
    accuracy = _accuracies(found, data)
    name = args.out or "PATH"
    text = f"{path_text(found, name, accuracy, everything=args.all)}\n{size}"
    _print_unless_quiet(args, document, text)
    if out.path is not None:
        note(args.quiet, f"the path is in {args.out}; sorct show lists it again.")


def _path_folds(args: Namespace, y: AnyArray) -> int:
    """Folds to score the trees of a path on; none where there are too few rows."""
    if args.cv is not None or args.time_limit is not None:
        return args.cv or 0
    most = int(np.unique(y, return_counts=True)[1].max())
    return min(_PATH_CV, most) if most > 1 else 0


def _plain_path(args: Namespace, data: Training) -> Path:
    from sorct.estimators.path import sorct_path

    with bars.bar("path", shown=bars.are_shown(args.quiet)) as update:
        return sorct_path(
            data.X,
            data.y,
            depth=_one(args.depth, None),
            gamma=_one(args.gamma, _GAMMA),
            sample_weight=data.weight,
            callback=lambda now: update(now.n_done, now.n_points),
            **_given(
                args, "alphas_local", "alphas_global", "n_solutions", "time_limit"
            ),
            **_shared(args, data),
        )


def _scored_path(args: Namespace, data: Training, n_folds: int) -> Path:
    """The same path, every tree with its score on rows that were held out."""
    from sorct.estimators.cross_validated import SORCTClassifierCV
    from sorct.estimators.path import path_alphas

    options = _given(args, "n_solutions")
    local, linf = path_alphas(
        args.alphas_local, args.alphas_global, _one(args.depth, None), data.y
    )
    search = SORCTClassifierCV(
        _one(args.depth, None),
        local,
        linf,
        gammas=_one(args.gamma, _GAMMA),
        cv=folds(n_folds, data.y, args.seed),
        progress=bars.are_shown(args.quiet),
        **options,
        **_shared(args, data),
    )
    with _threads():
        search.fit(data.X, data.y, data.weight)
    return search.path_


def _accuracies(found: Path, data: Training) -> list[float]:
    """Accuracy of every tree on the rows of training, by their weights."""
    table = found.trees[0].encoder.read(data.X)
    return [
        float(accuracy_score(data.y, labels, sample_weight=data.weight))
        for labels in (tree.predict_table(table) for tree in found.trees)
    ]


def path_text(
    found: Path, name: str, accuracy: list[float] | None = None, *, everything: bool
) -> str:
    """Table of a path for people; costs and accuracies are on the rows of training."""
    frame = found.to_frame() if everything else found.frontier()
    if accuracy is not None:
        frame = frame.assign(accuracy=[accuracy[point] for point in frame.index])
    which = "All" if everything else f"The {len(frame)} best of"
    told = found.trees[0].training
    held_out = (
        f"; held out is {told.cv_scoring} in {told.cv_folds}-fold cross-validation"
        if told.cv_score is not None
        else ""
    )
    return "\n".join(
        [
            f"{which} {len(found)} trees on the path; cost and accuracy are those of "
            f"training{held_out}",
            "",
            path_table(frame, found.trees),
            "",
            f"sorct show {name} --point N prints the rules of a tree.",
        ]
    )


def path_document(found: Path) -> dict[str, Any]:
    """Table of a path for machines, without times: the same seed gives the same."""
    frame = found.to_frame().drop(columns="seconds")
    return {
        "points": frame.reset_index().to_dict("records"),
        "frontier": found.frontier().index.tolist(),
    }


# -- compare ---------------------------------------------------------------------------


def compare(args: Namespace) -> None:
    """Compare three methods on the same folds."""
    from sorct.estimators.compare.comparison import compare as run

    check_column_options(args)
    data = training_of(args)
    folds(args.folds, data.y, args.seed)
    shown = bars.are_shown(args.quiet)
    with _threads():
        found = run(
            data.X,
            data.y,
            folds=args.folds,
            repeats=args.repeats,
            depths=args.depth,
            n_jobs=args.jobs,
            random_state=args.seed,
            progress=shown,
            options=_of_columns(args, data),
            **_given(
                args, "cv", "rule", "scoring", "alphas_local", "alphas_global",
                "n_solutions",
            ),
        )  # fmt: skip
    document = {"verb": "compare", "seed": args.seed, **found.to_dict()}
    size = f"{len(data.y)} rows, {found.n_variables} variables, seed {args.seed}."
    print_result(args.json, document, f"{_comparison_text(found)}\n\n{size}")


def _comparison_text(found: Comparison) -> str:
    methods = [
        [
            str(name),
            f"{row['score']:.3f}",
            f"{row['standard_error']:.3f}",
            f"{row['variables']:.1f}",
            f"{row['cuts']:.1f}",
        ]
        for name, row in zip(
            found.frame.index, found.frame.to_dict("records"), strict=True
        )
    ]
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
    header = ["method", found.scoring, "std. error", "variables", "cuts"]
    return "\n".join(
        [
            f"Means over {n_folds} folds",
            "",
            text_table(header, methods),
            "",
            "Paired tests on the folds (corrected resampled t test, p by Holm)",
            "",
            text_table(["pair", "difference", "std. error", "p"], tests),
            "",
            found.sentence,
        ]
    )


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
