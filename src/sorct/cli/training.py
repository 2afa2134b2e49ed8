"""Training: the verbs that train, fit and path.

Each checks where its output goes, reads the table, calls one public function of the
library, writes one file and prints the result.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from joblib import parallel_config

from sorct.cli import bars
from sorct.cli.column_options import (
    check_column_options,
    column_rules,
    price_files,
    table_options,
)
from sorct.cli.data import Training
from sorct.cli.files import Output
from sorct.cli.folding import CV, folds_of, most_folds
from sorct.cli.forests import check_forest, fit_forest
from sorct.cli.given_tables import reading_of, show_reading, training_of
from sorct.cli.messages import UsageError, hints_in_flags, in_flags, note, say
from sorct.cli.model_options import (
    check_limits,
    check_promises,
    check_single,
    demands,
    grid,
    promises,
    refits,
    searched_model,
    single_model,
)
from sorct.cli.printing import (
    agreement_name,
    fit_name,
    held_out_score,
    path_table,
    print_result,
    race_table,
    score_line,
)
from sorct.cli.quantities import (
    baseline_line,
    check_task,
    fit_fixed,
    group_line,
    groups_of,
    loss_line,
    search_for,
    single_tree,
)
from sorct.cli.waiting import tell_of_long_wait
from sorct.data.sheet import ReadOptions
from sorct.data.target import Classes
from sorct.data.wording import printable
from sorct.estimators.why import OUT_OF_TIME
from sorct.show.notes import wrapped
from sorct.tree.params import MIXED

if TYPE_CHECKING:
    from sorct.estimators.cross_validated import SORCTClassifierCV
    from sorct.estimators.regressor_cv import SORCTRegressorCV
    from sorct.tree.forest import Forest
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

# How the table of settings is to be read.
_LEADS = (
    "Every setting has a first look on some folds, fewer where it is behind at once; "
    "the best, deeper ones only if ahead by more than chance, are then scored on all "
    "folds, and the tree is one of theirs."
)
# Options of a path beside its penalties.
_OF_PATHS = ("n_solutions", "preselect", "max_features", "max_cost")
_PATH_CV, _RULE = 3, "one-standard-error"
# Flags of fit that only one of its two ways knows.
_CHOOSING = {
    "alphas_local", "alphas_global", "cv", "scoring", "rule", "max_features",
    "max_features_per_cut", "max_cost", "min_followed", "n_solutions", "relax",
    "preselect",
}  # fmt: skip
_FIXED = {"n_starts"}


def _inputs(args: Namespace) -> list[str | None]:
    return [args.data, args.cost_matrix, *price_files(args)]


def _small_files(args: Namespace) -> ReadOptions:
    """How small files beside the table are read."""
    return replace(reading_of(args), delimiter=None)


# -- fit -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fitted:
    """A model, what is said of it below its rules, and what machines get to know."""

    tree: Tree | Forest
    lines: list[str]
    more: dict[str, Any] = field(default_factory=dict)


def fit(args: Namespace) -> None:
    """Train a tree or forest, with penalties as given or chosen on held-out rows."""
    fixed = args.alpha_local is not None or args.alpha_global is not None
    if args.trees is None:
        _check_way(args, fixed)
    else:
        check_forest(args)
    check_column_options(args)
    check_promises(args)
    refuse_two_documents(args)
    if args.dry_run:
        show_reading(args)
        return
    out = Output.checked(args.out, "model", force=args.force, inputs=_inputs(args))
    data = training_of(args)
    check_task(args, data)
    if not fixed and args.trees is None:
        tell_of_long_wait(args, data)
    if args.trees is not None:
        columns = of_columns(args, data)
        found = _Fitted(*fit_forest(args, data, columns, _small_files(args)))
    elif data.of_quantity:
        found = _fit_quantity(args, data, fixed)
    else:
        found = (_fit_fixed if fixed else _fit_chosen)(args, data)
    told: Any = replace(found.tree.training, call=args.call, target=args.target)
    tree, noun = replace(found.tree, training=told), "tree"
    if args.trees is not None:
        noun = "forest"
    if args.out is not None:
        out.write_json(tree.to_dict())
    if not tree.variables_used:
        say(
            "warning",
            f"the {noun} uses no variable and gives every row the same "
            f"{'number' if data.of_quantity else 'class'}. Allow more "
            "(--max-features), or weaker or finer penalties (--alphas-local).",
        )
    told = hints_in_flags(str(tree))
    size = f"{len(data.y)} rows, {data.X.shape[1]} variables, seed {args.seed}"
    document = {
        "verb": "fit",
        "out": args.out,
        "seed": args.seed,
        "n_samples": len(data.y),
        "variables_used": tree.variables_used,
        "rules" if noun == "tree" else "summary": told,
        noun: tree.to_dict(),
        **found.more,
    }
    text = "\n".join([told, "", *found.lines, f"{size}."])
    _print_unless_quiet(args, document, text)
    if out.path is not None:
        note(args.quiet, f"the model is in {args.out}; sorct show prints it again.")


def _check_way(args: Namespace, fixed: bool) -> None:
    """Refuse flags that would have no effect."""
    for name in sorted(_CHOOSING if fixed else _FIXED):
        if getattr(args, name) not in (None, []):
            flag = f"--{name.replace('_', '-')}"
            if fixed:
                raise UsageError(
                    f"{flag} cannot be combined with --alpha-local or --alpha-global, "
                    f"which fix the penalties; leave out {flag}, or both of these to "
                    "have the penalties chosen"
                )
            raise UsageError(
                f"{flag} needs --alpha-local or --alpha-global (see sorct fit --help)"
            )
    if fixed:
        check_single(args, "with fixed penalties")


def of_columns(args: Namespace, data: Training) -> dict[str, Any]:
    """How columns become variables, and what is known of them."""
    rules = column_rules(args, data, _small_files(args))
    return table_options(args, data.X) | rules


def _shared(args: Namespace, data: Training) -> dict[str, Any]:
    """Options that all ways of training have."""
    own = {} if data.of_quantity else demands(args, data.y, _small_files(args))
    return {
        **own,
        **of_columns(args, data),
        "tol": args.tol,
        "max_iter": args.max_iter,
        "n_jobs": args.jobs,
        "random_state": args.seed,
    }


def given_options(args: Namespace, *names: str) -> dict[str, Any]:
    """Options that were given; the library knows the defaults of the others."""
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _fit_quantity(args: Namespace, data: Training, fixed: bool) -> _Fitted:
    columns = of_columns(args, data)
    if fixed:
        model, lines = fit_fixed(args, data, columns)
        return _Fitted(model.tree_, lines)
    search, groups = search_for(args, data, columns), groups_of(args, data)
    with threads():
        search.fit(data.X, data.y, data.weight, groups=groups)
    more = {"why": _why(search), "race": search.race_.to_dict("records")}
    tree = search.tree_
    told = [*loss_line(data, search, tree), *baseline_line(tree)]
    told += group_line(args, data, search)
    lines = [*_choice_lines(search), *wrapped(" ".join(told))]
    return _Fitted(tree, lines, more)


def _fit_fixed(args: Namespace, data: Training) -> _Fitted:
    from sorct.estimators.classifier import SORCTClassifier

    model = SORCTClassifier(
        **given_options(args, "alpha_local", "alpha_global", "n_starts", "time_limit"),
        **single_model(args),
        **promises(args, data.y),
        **_shared(args, data),
    )
    with bars.bar("search", shown=bars.are_shown(args.quiet)) as update:
        model.fit(
            data.X,
            data.y,
            data.weight,
            callback=lambda now: update(now.n_done, now.n_starts),
        )
    accuracy = Classes.agreement(data.y, model.predict(data.X), data.weight)
    alphas = f"alpha_local {model.alpha_local:g}, alpha_global {model.alpha_global:g}"
    lines = [
        f"Accuracy on the rows of training: {accuracy:.3f}, which says little of new "
        "rows.",
        f"Penalties as given: {alphas}.",
    ]
    return _Fitted(model.tree_, lines)


def _fit_chosen(args: Namespace, data: Training) -> _Fitted:
    from sorct.estimators.contest import n_drawings
    from sorct.estimators.cross_validated import SORCTClassifierCV

    n_folds, rule = args.cv or CV, args.rule or _RULE
    shown = bars.are_shown(args.quiet)
    # As in Python, folds are drawn twice where rows are few and the number is ours.
    ours = args.cv is None and not args.paper
    splitter = folds_of(
        n_folds, data, args.seed, n_drawings(len(data.y)) if ours else None
    )
    _check_scoring(args.scoring, splitter, data)
    search = SORCTClassifierCV(
        cv=splitter,
        rule=rule,
        progress=shown,
        **searched_model(args),
        **promises(args, data.y),
        **grid(args),
        **given_options(
            args, "scoring", "max_features", "max_features_per_cut", "max_cost",
            "min_followed", "preselect", "time_limit",
        ),
        **_shared(args, data),
    )  # fmt: skip
    with threads():
        search.fit(data.X, data.y, data.weight)
    more = {"why": _why(search), "race": search.race_.to_dict("records")}
    return _Fitted(search.tree_, _choice_lines(search), more)


def _why(search: Any) -> str:
    """Why the tree was chosen; a time limit is called by its flag."""
    return str(search.why_).replace(OUT_OF_TIME, in_flags(OUT_OF_TIME))


def _choice_lines(search: SORCTClassifierCV | SORCTRegressorCV) -> list[str]:
    """What was tried, what was chosen and why, and how it did."""
    told, lines = search.tree_.training, []
    if len(search.race_):
        lines = [
            "What was tried; what was behind at once has fewer folds and stands last:",
            "",
            race_table(search.race_, told.cv_scoring or "score"),
            "",
            *wrapped(_LEADS),
            "",
        ]
    why = [_why(search), *_other_rule(search)]
    return [*lines, *wrapped(" ".join(why)), *wrapped(f"{score_line(told)}.")]


def _other_rule(search: SORCTClassifierCV | SORCTRegressorCV) -> list[str]:
    """What the best score would have taken, where a sparser tree was."""
    best = search.select(
        "best",
        max_features=search.max_features,
        max_features_per_cut=search.max_features_per_cut,
        max_cost=search.max_cost,
    )
    if best.training.cv_score == search.best_score_:
        return []
    used = len(best.variables_used)
    return [f"--rule best would take {used} variable{'' if used == 1 else 's'}."]


def _check_scoring(scoring: Any, splitter: Any, data: Training) -> None:
    """Refuse a scorer that does not suit the classes, or those of a fold."""
    from sorct.estimators.rows import Data
    from sorct.estimators.scorers import check_scorer

    check_scorer(scoring, data.y, data.y)
    for train, test in Data(data.X, data.y, data.weight).folds(splitter):
        check_scorer(scoring, train.y, test.y)


def threads() -> Any:
    """Folds in threads: compiled code holds no lock, and an interrupt ends them all."""
    return parallel_config(backend="threading")


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
    check_single(args, "for a path")
    if args.time_limit is not None and args.cv:
        raise UsageError("--cv and --time-limit cannot be had together")
    check_column_options(args)
    check_limits(args)
    refuse_two_documents(args)
    out = Output.checked(args.out, "path", force=args.force, inputs=_inputs(args))
    data = training_of(args)
    check_task(args, data)
    n_folds = _path_folds(args, data)
    found = _scored_path(args, data, n_folds) if n_folds else _plain_path(args, data)
    told = {"call": args.call, "target": args.target}
    if args.max_features is not None or args.max_cost is not None:
        # The relaxed trees alone keep the limits: they are what was asked for.
        found = replace(found, trees=found.relaxed, relaxed=())
    trees = [replace(t, training=replace(t.training, **told)) for t in found.trees]
    found = replace(found, trees=tuple(trees))
    if args.out is not None:
        out.write_json(found.to_dict())
    document = {"verb": "path", "out": args.out, "seed": args.seed}
    document |= path_document(found)
    size = f"{len(data.y)} rows, {data.X.shape[1]} variables, seed {args.seed}."
    agreement = _agreements(found, data)
    name = args.out or "PATH"
    text = f"{path_text(found, name, agreement, everything=args.all)}\n{size}"
    _print_unless_quiet(args, document, text)
    if out.path is not None:
        note(args.quiet, f"the path is in {args.out}; sorct show lists it again.")


def _path_folds(args: Namespace, data: Training) -> int:
    """Folds to score the trees of a path on; none where there are too few rows."""
    if args.cv is not None or args.time_limit is not None:
        return args.cv or 0
    most = most_folds(data)
    return min(_PATH_CV, most) if most > 1 else 0


def _plain_path(args: Namespace, data: Training) -> Path:
    from sorct.estimators.path import sorct_path

    with bars.bar("path", shown=bars.are_shown(args.quiet)) as update:
        return sorct_path(
            data.X,
            data.y,
            sample_weight=data.weight,
            callback=lambda now: update(now.n_done, now.n_points),
            **_path_model(args, data),
            **grid(args, data.y),
            **refits(args),
            **given_options(args, *_OF_PATHS, "time_limit"),
            **_shared(args, data),
        )


def _path_model(args: Namespace, data: Training) -> dict[str, Any]:
    """What is chosen by default in a search is fixed for a path."""
    usual = {"depth": None, "gamma": "auto"}
    if data.of_quantity:
        fixed = {"loss": "square", "leaf": "constant", "mixed": MIXED}
        return {**usual, **fixed, "link": "identity", **single_tree(args)}
    return {**usual, "loss": "cost", **single_model(args)}


def _scored_path(args: Namespace, data: Training, n_folds: int) -> Path:
    """The same path, every tree with its score on rows that were held out."""
    from sorct.estimators.cross_validated import SORCTClassifierCV
    from sorct.estimators.regressor_cv import SORCTRegressorCV

    model = _path_model(args, data)
    depth = model.pop("depth")
    options = {
        "scaling": "auto",
        "categorical": "whole",
        "n_solutions": 20,
        **grid(args, data.y),
        **model,
        **refits(args),
        **given_options(args, *_OF_PATHS),
        **_shared(args, data),
    }
    kind = SORCTRegressorCV if data.of_quantity else SORCTClassifierCV
    search: Any = kind(
        depth,
        cv=folds_of(n_folds, data, args.seed),
        progress=bars.are_shown(args.quiet),
        **options,
    )
    with threads():
        search.fit(data.X, data.y, data.weight)
    found: Path = search.path_
    return found


def _agreements(found: Path, data: Training) -> list[float]:
    """Accuracy, or R², of every tree on the rows of training, by their weights."""
    first = found.trees[0]
    table = first.encoder.read(data.X)
    return [
        first.target.agreement(data.y, tree.predict_table(table), data.weight)
        for tree in found.trees
    ]


def path_text(
    found: Path, name: str, agreement: list[float] | None = None, *, everything: bool
) -> str:
    """Table of a path for people; costs and accuracies are on the rows of training."""
    frame = found.to_frame() if everything else found.frontier()
    if agreement is not None:
        frame = frame.assign(agreement=[agreement[point] for point in frame.index])
    best = "The best" if len(frame) == 1 else f"The {len(frame)} best"
    which = "All" if everything else f"{best} of"
    first = found.trees[0]
    told = first.training
    measured = f"{fit_name(first)} is that"
    if agreement is not None:
        measured = f"{fit_name(first)} and {agreement_name(first)} are those"
    held_out = (
        f"; held out is {printable(held_out_score(told)[0])} in cross-validation "
        f"({told.cv_folds} folds)"
        if told.cv_score is not None
        else ""
    )
    return "\n".join(
        [
            f"{which} {len(found)} trees on the path; {measured} of training{held_out}",
            "",
            path_table(frame, found.trees),
            "",
            f"sorct show {name} --point N prints the rules of a tree"
            + (
                ", and with --relaxed those of one refitted on its variables."
                if found.relaxed
                else "."
            ),
        ]
    )


def path_document(found: Path) -> dict[str, Any]:
    """Table of a path for machines, without times: the same seed gives the same."""
    frame = found.to_frame().drop(columns="seconds")
    return {
        "points": frame.reset_index().to_dict("records"),
        "frontier": found.frontier().index.tolist(),
    }
