"""Streaming: from a table that comes in batches to a problem.

Two passes make the problem: a survey, from which encoder and classes are learned, and
the draw of the rows that a search looks at. Training then asks for sums over all rows,
a pass each.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from sorct._typing import FloatArray
from sorct.data import samples
from sorct.data.dask_source import DaskSource, is_dask
from sorct.data.encoder import TableEncoder
from sorct.data.fingerprint import fingerprint
from sorct.data.in_order import sum_of
from sorct.data.kinds import variable_from_dict
from sorct.data.level_rows import Cells, held_arrays, written_out
from sorct.data.parts import Sums
from sorct.data.quantiles import SketchBetween, exact_quantile
from sorct.data.quantity import Quantity
from sorct.data.samples import TrainingSet, quotas
from sorct.data.sketch import NumberSketch
from sorct.data.sources import FileSource, Source, names_files
from sorct.data.survey import Draw, Drawer, Encoding, Survey, Surveyor, training_set
from sorct.data.table_parts import TableParts
from sorct.data.target import Classes
from sorct.estimators.checkpoint import Checkpoint
from sorct.estimators.class_weights import class_factors
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.limiting import within_limits
from sorct.estimators.promises import Promise, hold_out_of_source
from sorct.estimators.quantities import centred_at
from sorct.tree.path import Limits
from sorct.tree.tree import Tree

Found = TypeVar("Found")

# Passes before training: survey and draw, and what it takes to hold rows out.
_FIRST_PASSES, _HOLDING_OUT = 2, 2


def source_of(X: Any, y: Any, sample_weight: Any) -> Source | None:
    """The source that X and y name, None if they are a table in memory."""
    if is_dask(X):
        return DaskSource(X, y, sample_weight)
    if names_files(X):
        return FileSource(X, y, sample_weight)
    return None


def comes_in_batches(X: Any) -> bool:
    """Whether X names files or is of Dask, so that its rows come in batches."""
    return is_dask(X) or names_files(X)


def refuse_checkpoint() -> NoReturn:
    """Refuse a checkpoint for a table in memory."""
    raise ValueError(
        "checkpoint is for tables that come in batches: paths of files, a pyarrow "
        "Dataset or objects of Dask; a table in memory needs none."
    )


def refuse_source(X: Any, who: str) -> None:
    """Refuse a table that comes in batches, where that is not known how to train on."""
    if comes_in_batches(X):
        raise ValueError(
            f"{who} takes a table in memory, got {type(X).__name__}; single trees are "
            "trained on files and on Dask. Read it first, as by sorct.read_table, or "
            "take a sample of its rows."
        )


@dataclass(frozen=True)
class Streamed:
    """A table in batches as a training problem.

    Attributes
    ----------
    prepared : Prepared
    parts : TableParts
    draw : Draw
        Rows that the search looks at.
    n_before : int
        Passes that made the problem.
    """

    prepared: Prepared
    parts: TableParts
    draw: Draw
    n_before: int = _FIRST_PASSES

    @classmethod
    def of(
        cls,
        source: Source,
        model: Model,
        call: str = "",
        checkpoint: Checkpoint | None = None,
    ) -> Streamed:
        """Survey, check and draw."""
        begun = time.perf_counter()
        known = _Known.of(source, model, checkpoint)
        target, weight, factor = known.target, known.label_weight, None
        if isinstance(target, Classes):
            codes = np.arange(len(target))
            factor = class_factors(model.class_weight, target, codes, weight)
        own = np.ones(weight.size) if factor is None else factor
        whole = float((weight * own).sum())
        encoding = Encoding(known.encoder, target, own / whole)
        share = weight * own / whole
        parts = TableParts(source, encoding, known.n_rows, checkpoint)
        drawer = Drawer(encoding, share, samples.MANY_ROWS)
        made, spent = list[Draw](), list[float]()

        def data() -> TrainingSet:
            before = time.perf_counter()
            made.append(_drawn(source, drawer, checkpoint))
            spent.append(time.perf_counter() - before)
            return training_set(made[0], share, parts)

        more = data, known.n_rows, call, begun
        if isinstance(target, Quantity):
            prepared = Prepared.built_of_quantity(known.encoder, target, model, *more)
        else:
            prepared = Prepared.built(known.encoder, target, model, factor, *more)
        # One more pass tells of the tree, unless all rows are in memory.
        telling = 0.0 if made[0].whole else spent[0]
        n_before = _FIRST_PASSES + known.n_more
        prepared = replace(prepared, telling=telling, n_stood=known.n_stood)
        return cls(prepared, parts, made[0], n_before)

    @property
    def n_passes(self) -> int:
        """Passes over the table so far."""
        return self.n_before + self.parts.n_passes


class Begun(NamedTuple):
    """A problem to train on, and what belongs to it.

    The seed is that of the first call where a checkpoint goes on. The source is without
    the rows that are held out for a promise.
    """

    streamed: Streamed
    source: Source
    seed: int
    memory: Checkpoint | None
    promise: Promise | None


def begin(
    source: Source,
    model: Model,
    seed: int,
    call: str,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Begun:
    """Begin to train on a source, or go on where a checkpoint was left."""
    memory: Checkpoint | None = None
    if checkpoint is not None:
        if model.calibration is not None:
            raise ValueError(
                "calibration needs rows as they are in the table, which a checkpoint "
                "does not keep; set one of the two to None."
            )
        # The text of a call shortens long options.
        told = {"call": call, "options": fingerprint(model)}
        memory = Checkpoint(checkpoint, {**told, **source.identity}, seed)
        seed = memory.seed
    promise: Promise | None = None
    if model.confidence is not None:
        source, promise = hold_out_of_source(source, model, seed)
    streamed = Streamed.of(source, model, call, memory)
    if promise is not None:
        streamed = replace(streamed, n_before=streamed.n_before + _HOLDING_OUT)
    return Begun(streamed, source, seed, memory, promise)


def choice_on_all(
    tree: Tree,
    source: Source,
    model: Model,
    effort: Effort,
    limits: Limits,
    promise: Promise | None,
) -> Tree:
    """The settings that a tree of the search's rows was chosen with, on all rows.

    The tree keeps its score on held-out rows and its calibration, which are of the
    search's rows. If a cut would have too many variables, the tree stays as it is.
    """
    prepared = Streamed.of(source, model, tree.training.call or "").prepared
    from sorct.problem.evaluation import never
    from sorct.problem.penalty import Strengths
    from sorct.problem.restriction import Restriction
    from sorct.search.chains import IteratedSearch
    from sorct.search.relax import relaxed
    from sorct.search.workers import deadline

    told, solver = tree.training, effort.solver()
    alphas = float(told.alpha_local or 0.0), float(told.alpha_global or 0.0)
    problem = prepared.problem.at(Strengths(*alphas))
    part, small = problem, None
    own = np.flatnonzero(np.isin(prepared.group_variable, tree.variables_at()))
    if model.preselect == "greedy" and own.size:
        # A path that keeps to some variables was looked at on these alone.
        small = Restriction.of(problem, own)
        part = small.part
    seconds = prepared.seconds_left(effort)
    result = IteratedSearch(solver, effort.n_jobs, seconds).run(part, effort.seed())
    if not result.best.feasible:
        prepared.refuse(result.best.recall, "the search", "n_solutions")
    best = prepared.finished(part, result.best, effort)
    if small is not None:
        best = replace(best, params=small.up(best.params))
    if limits.on_variables:
        stop = never()
        with deadline(prepared.seconds_left(effort), stop):
            best = within_limits(prepared, limits, problem, best, effort, stop)
    elif told.relaxed is not None:
        best = relaxed(problem, best, solver, told.relaxed)
    status, search = str(best.status), str(result.summary)
    found = prepared.tree(best, alphas, status, search, tree.calibration, promise)
    most = limits.max_features_per_cut
    if most is not None and found.most_variables_per_cut > most:
        warnings.warn(
            f"On all rows a cut would use {found.most_variables_per_cut} variables, "
            f"more than max_features_per_cut={most}: tree_ is the one of the search's "
            "rows. Limit max_features instead.",
            UserWarning,
            stacklevel=6,
        )
        return tree
    training = found.training.with_choice_of(told)
    return replace(found, training=replace(training, target=source.target))


def warn_if_late(prepared: Prepared, effort: Effort) -> None:
    """Warn, for whoever called ``fit``, of a table that took all the time to read."""
    if prepared.seconds_left(effort) != 0.0:
        return
    warnings.warn(
        f"Reading the table took {prepared.seconds:.1f} s of time_limit="
        f"{effort.time_limit:g}: no time is left for a search. Allow some ten times "
        "as long as reading takes, or train on a sample of its rows.",
        UserWarning,
        stacklevel=6,
    )


@dataclass(frozen=True)
class _Known:
    """What the survey tells."""

    encoder: TableEncoder
    target: Classes | Quantity
    label_weight: FloatArray
    n_rows: int
    n_stood: float
    n_more: int = 0

    @classmethod
    def of(cls, source: Source, model: Model, checkpoint: Checkpoint | None) -> _Known:
        kept = None if checkpoint is None else checkpoint.find_plain("survey")
        if kept is not None:
            variables = tuple(variable_from_dict(one) for one in kept["variables"])
            table = model.table
            encoder = TableEncoder(
                variables, kept["named"], table.handle_unknown, table.handle_missing
            )
            kind = Quantity if model.of_quantity else Classes
            target = kind.from_dict(kept["target"])
            weight, n_rows = np.array(kept["weight"]), kept["n_rows"]
            return cls(encoder, target, weight, n_rows, kept.get("n_stood", n_rows))
        level = centred_at(model) if model.of_quantity else None
        asked = model.of_quantity, level is not None, model.link == "log"
        surveyor = Surveyor(model.table, *asked)
        survey: Survey = _all_of(source, surveyor)
        target, n_more = survey.target(), 0
        if level is not None and survey.responses is not None:
            target, n_more = _centred(target, survey.responses, level, source)
        encoder = survey.encoder(model.table)
        counts = survey.label_weight, survey.n_rows, survey.n_stood
        known = cls(encoder, target, *counts, n_more)
        if checkpoint is not None:
            data = {
                "variables": [v.to_dict() for v in known.encoder.variables],
                "named": known.encoder.named,
                "target": known.target.to_dict(),
                "weight": known.label_weight.tolist(),
                "n_rows": known.n_rows,
                "n_stood": known.n_stood,
            }
            checkpoint.keep_plain("survey", data)
        return known


def _centred(
    target: Classes | Quantity, responses: NumberSketch, level: float, source: Source
) -> tuple[Quantity, int]:
    """A quantity with its quantile as centre, and the passes that took."""
    asked = list[SketchBetween]()

    def sketch_between(question: SketchBetween) -> NumberSketch:
        asked.append(question)
        return _all_of(source, question)

    assert isinstance(target, Quantity)
    centre = exact_quantile(responses, level, sketch_between)
    found = replace(target, centre=centre)
    if target.is_log:
        found = replace(found, log_centre=math.log(centre))
    return found, len(asked)


def _all_of(source: Source, task: Callable[..., Found]) -> Found:
    found: Found | None = sum_of(source.gather(task))
    if found is None:
        raise ValueError("Expected at least one row, got none.")
    return found


def _drawn(source: Source, drawer: Drawer, checkpoint: Checkpoint | None) -> Draw:
    """Rows of the search; a checkpoint keeps them as they are encoded."""
    kept = None if checkpoint is None else checkpoint.find_arrays("draw")
    if kept is not None:
        whole = bool(kept.pop("whole")[0])
        sums = Sums({name: kept.pop(name) for name in ("centre", "square")})
        quota = quotas(drawer.share, drawer.most)
        encoded: Cells = kept.pop("encoded")
        if "level" in kept:
            rows = drawer.encoding.encoder.level_rows
            encoded = rows(written_out(encoded), kept.pop("level"))
        return Draw(
            X=None, y=np.zeros(0), **kept, encoded=encoded,
            quota=quota, most=drawer.most, whole=whole, sums=sums,
        )  # fmt: skip
    draw: Draw = _all_of(source, drawer)
    if checkpoint is not None:
        names = ["codes", "keys", "weight"]
        names += [] if draw.response is None else ["response"]
        arrays = {name: getattr(draw, name) for name in names}
        arrays |= held_arrays(draw.encoded)
        checkpoint.keep_arrays(
            "draw", {**arrays, **draw.sums, "whole": np.array([draw.whole])}
        )
    return draw
