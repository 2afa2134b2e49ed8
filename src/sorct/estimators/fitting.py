"""Prepare: from a user's table to a problem, and from a solution back to a tree.

The estimators and the path share it: what is checked, and how names and units come
back, is the same for all. The compiler is loaded here, after the checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import TableEncoder, rows_stood_for
from sorct.data.large import LargeSet, training_set
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.quantity import Quantity, number_column
from sorct.data.samples import MANY_ROWS, TrainingSet
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.call import versions
from sorct.estimators.centring import centred
from sorct.estimators.checks import (
    check_confidence,
    check_memory,
    check_one_of,
    check_real,
    check_table_memory,
    checked_cost_matrix,
    checked_floor,
    checked_samples,
    checked_topology,
    label_samples,
    refuse_no_columns,
)
from sorct.estimators.class_weights import check_class_weight, class_factors
from sorct.estimators.column_rules import ColumnRules, paid_if_standard
from sorct.estimators.deciding import Decider
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.quantities import (
    check_directions,
    check_quantity_model,
    checked_depth,
    problem_of_quantity,
    target_of,
    tree_of_quantity,
)
from sorct.solvers.solution import Status
from sorct.tree.calibration import Calibration
from sorct.tree.params import MIXED
from sorct.tree.training import TrainingRecord
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.estimators.promises import Promise
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution

LOSSES = ("cost", "log")
#: What a variable's range changes the score of a cut by at most, by the name of gamma.
STEEPNESS = {"gentle": 16.0, "auto": 64.0, "steep": 512.0}
# Time that it takes to measure a finished tree on very many rows, as a share of the
# time that preparing these rows took.
_TELLING = 0.35
CALIBRATIONS = ("isotonic", "sigmoid")
#: How the variables are found that a path is traced on: it finds them itself, or a
#: greedy tree does.
PRESELECTIONS = ("none", "greedy")


@dataclass(frozen=True)
class Model:
    """What defines a tree, apart from data and penalties, as the user gave it."""

    depth: Any = None
    cost_matrix: Any = None
    min_recall: float | Mapping[Any, float] | None = None
    gamma: Any = "auto"
    table: TableOptions = PAPER_TABLE
    monotonic_cst: Any = None
    positive_class: Any = None
    feature_cost: Any = None
    loss: Any = "cost"
    followable: bool = True
    class_weight: Any = None
    calibration: Any = None
    confidence: Any = None
    of_quantity: bool = False
    leaf: Any = "constant"
    quantile: Any = 0.5
    mixed: Any = MIXED
    link: Any = "identity"
    preselect: Any = "none"

    def check(self) -> None:
        """Check what can be checked without data."""
        if not (isinstance(self.gamma, str) and self.gamma in STEEPNESS):
            expected = 'a finite number > 0, "auto", "gentle" or "steep"'
            check_real("gamma", self.gamma, expected, positive=True)
        if self.of_quantity:
            check_quantity_model(self)
            self.table.check()
            return
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {LOSSES}, got {shown(self.loss)}.")
        known = isinstance(self.calibration, str) and self.calibration in CALIBRATIONS
        if self.calibration is not None and not known:
            raise ValueError(
                f"calibration must be None or one of {CALIBRATIONS}, got "
                f"{shown(self.calibration)}."
            )
        check_one_of("preselect", self.preselect, PRESELECTIONS)
        if self.preselect != "none" and self.monotonic_cst is not None:
            raise ValueError(
                f"preselect={self.preselect!r} knows nothing of directions; leave it "
                "or monotonic_cst out."
            )
        check_class_weight(self.class_weight)
        check_confidence(self.confidence, self.min_recall)
        self.table.check()

    def steepness(self, n_groups: int) -> float:
        """Steepness of the cuts, by default the same per variable on every table."""
        if isinstance(self.gamma, str):
            return STEEPNESS[self.gamma] * n_groups
        return float(self.gamma)

    def gentler(self, n_groups: int) -> float | None:
        """Steepness of the path that one of steep cuts begins with, if any."""
        if self.of_quantity or not isinstance(self.gamma, str):
            return None
        return STEEPNESS["auto"] * n_groups if self.gamma == "steep" else None

    @property
    def by_log(self) -> bool:
        """Whether the likelihood is maximised."""
        return bool(self.loss == "log")

    def read(self, y: Any) -> AnyArray:
        """Check the target: numbers, or labels of classes."""
        return number_column(y) if self.of_quantity else label_samples(y)


@dataclass(frozen=True)
class Prepared:
    """A checked table as a training problem, without penalties yet.

    Attributes
    ----------
    encoder : TableEncoder
    target : Classes or Quantity
    problem : Problem
    n_samples : int
        Rows of positive weight.
    call : str
        How the user asked for a tree.
    seconds : float
        Time that preparing took, without loading the compiled code.
    rules : ColumnRules
        Directions and prices of columns.
    floor : array of shape (n_classes,)
        Floors under the recall of the classes.
    followable : bool
        Whether cuts are collapsed that people who follow the rules have no use for.
    factor : array of shape (n_classes,) or None
        What the users' weights were multiplied by in training, class by class.
    loss : str or None
        What is minimised, where the target is a quantity.
    quantile : float or None
        Level of the quantile, if one is predicted.
    telling : float
        About how many seconds it takes to measure a finished tree on all rows.
    begun : float
        When preparing began, by the clock that tells seconds.
    gentler : float or None
        Steepness of the path that one of steep cuts begins with.
    preselect : str
        One of PRESELECTIONS.
    n_stood : float or None
        Rows that the training rows stand for by their weights; None: as many as there
        are.
    """

    encoder: TableEncoder
    target: Classes | Quantity
    problem: Problem
    n_samples: int
    call: str
    seconds: float
    rules: ColumnRules
    floor: FloatArray
    followable: bool = True
    factor: FloatArray | None = None
    loss: str | None = None
    quantile: float | None = None
    telling: float = 0.0
    begun: float = 0.0
    gentler: float | None = None
    preselect: str = "none"
    n_stood: float | None = None

    @property
    def n_counted(self) -> float:
        """Rows that count: weight 2 is the row twice."""
        return float(self.n_samples if self.n_stood is None else self.n_stood)

    def finished(
        self, problem: Problem, solution: Solution, effort: Effort
    ) -> Solution:
        """The solution as people get it: without cuts that they have no use for."""
        from sorct.problem.evaluation import never
        from sorct.search.collapse import collapsed
        from sorct.search.polish import without_idle_cuts
        from sorct.search.workers import deadline

        if isinstance(problem.data, LargeSet):
            problem = replace(problem, data=problem.data.parted())
        solution = without_idle_cuts(problem, solution)
        ended = solution.status in (Status.CONVERGED, Status.MAX_ITER)
        if not self.followable or not ended:
            return solution
        stop = never()
        with deadline(self.seconds_left(effort), stop):
            return collapsed(problem, solution, effort.solver(), stop)

    def seconds_left(self, effort: Effort) -> float | None:
        """Rest of the time limit but for what is told of the tree; None: no limit."""
        return effort.seconds_left(time.perf_counter() - self.begun + self.telling)

    @property
    def classes(self) -> Classes:
        """The target, where it is classes."""
        assert isinstance(self.target, Classes)
        return self.target

    @property
    def group_variable(self) -> IntArray:
        """Position of the variable that every group of columns belongs to."""
        return self.encoder.column_variable[self.encoder.group_start[:-1]]

    @property
    def by_log(self) -> bool:
        """Whether the likelihood is maximised."""
        from sorct.problem.datafit import Likelihood

        return isinstance(self.problem.datafit, Likelihood)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        model: Model,
        call: str = "",
        *,
        quiet: bool = False,
    ) -> Prepared:
        """Check the data, encode them, lay them out for the kernels."""
        if model.of_quantity:
            return cls._of_quantity(X, y, sample_weight, model, call, quiet)
        begun = time.perf_counter()
        X, y, weight = checked_samples(X, y, sample_weight)
        encoder = TableEncoder.learn(X, model.table, weight, quiet=quiet)
        check_table_memory(len(y), encoder.width)
        target = Classes.learn(y, weight)
        codes, stood = target.codes(y), rows_stood_for(weight)
        factor = class_factors(model.class_weight, target, codes, weight)
        if factor is not None:
            weight = weight * factor[codes]

        def data() -> TrainingSet:
            columns, n_classes = encoder.columns(X), len(target)
            return training_set(columns, codes, weight, n_classes)

        prepared = cls.built(
            encoder, target, model, factor, data, len(codes), call, begun
        )
        n_stood = None if stood is None else float(stood.sum())
        return replace(prepared, n_stood=n_stood)

    @classmethod
    def built(
        cls,
        encoder: TableEncoder,
        target: Classes,
        model: Model,
        factor: FloatArray | None,
        data: Callable[[], TrainingSet],
        n_samples: int,
        call: str,
        begun: float,
    ) -> Prepared:
        """Check the model against a table that is known; make the data after that."""
        topology = checked_topology(model.depth, len(target))
        cost_matrix = checked_cost_matrix(model.cost_matrix, target)
        floor = checked_floor(model.min_recall, target)
        rules = ColumnRules.of(
            model.monotonic_cst,
            model.positive_class,
            model.feature_cost,
            encoder,
            target,
        )
        refuse_no_columns(encoder)
        check_memory(encoder.n_columns, len(target), topology)
        if model.calibration is not None and rules.signs and len(target) > 2:
            raise ValueError(
                "calibration with monotonic_cst needs two classes: with more, maps of "
                f"single classes can break directions; got {len(target)} classes."
            )
        begun += _load_compiled_code()
        from sorct.problem.constraints import Constraint
        from sorct.problem.datafit import ExpectedCost, Likelihood
        from sorct.problem.penalty import Penalty
        from sorct.problem.problem import Problem

        n_classes = len(target)
        datafit = ExpectedCost(cost_matrix, rules.positive)
        constraint = Constraint.min_recall(floor)
        if model.by_log:
            # Two leaves for two classes: logistic regression, which is convex.
            learned = topology.n_leaves > 2
            if learned and rules.positive >= 0:
                raise ValueError(
                    'monotonic_cst with loss="log" needs one cut and two classes, got '
                    f'depth {topology.depth} and {n_classes} classes; take loss="cost".'
                )
            datafit = Likelihood(cost_matrix, rules.positive, learned)
        if model.by_log or model.confidence is not None:
            # The decision meets the floors, or keeps the promise.
            constraint = Constraint.none(n_classes)
        rows = data()
        paid = paid_if_standard(encoder, model.table, rows.variance)
        price = rules.price(encoder) * paid
        problem = Problem(
            rows,
            datafit,
            Penalty.priced(encoder.group_start, price, rules.sign(encoder)),
            constraint,
            topology,
            model.steepness(encoder.group_start.size - 1),
        )
        gentler = model.gentler(problem.n_groups)
        spent = time.perf_counter() - begun
        telling = _TELLING * spent if n_samples > MANY_ROWS else 0.0
        parts = encoder, target, problem, n_samples, call, spent, rules, floor
        followable = bool(model.followable)
        return cls(
            *parts, followable, factor, telling=telling, begun=begun, gentler=gentler,
            preselect=model.preselect,
        )  # fmt: skip

    @classmethod
    def _of_quantity(
        cls, X: Any, y: Any, sample_weight: Any, model: Model, call: str, quiet: bool
    ) -> Prepared:
        """The same where a quantity is predicted."""
        begun = time.perf_counter()
        X, y, weight = checked_samples(X, y, sample_weight, number_column)
        encoder = TableEncoder.learn(X, model.table, weight, quiet=quiet)
        check_table_memory(len(y), encoder.width)
        target, stood = target_of(y, weight, model), rows_stood_for(weight)

        def data() -> TrainingSet:
            codes, columns = np.zeros(len(y), dtype=np.int64), encoder.columns(X)
            response = target.scaled(y)
            return training_set(columns, codes, weight, 1, response)

        given = encoder, target, model, data, len(y), call, begun
        n_stood = None if stood is None else float(stood.sum())
        return replace(cls.built_of_quantity(*given), n_stood=n_stood)

    @classmethod
    def built_of_quantity(
        cls,
        encoder: TableEncoder,
        target: Quantity,
        model: Model,
        data: Callable[[], TrainingSet],
        n_samples: int,
        call: str,
        begun: float,
    ) -> Prepared:
        """Check the model against a table that is known; make the data after that."""
        topology = checked_depth(model.depth, model.leaf)
        given = model.monotonic_cst, model.feature_cost
        rules = ColumnRules.of_quantity(*given, encoder)
        check_directions(rules.signs, topology)
        refuse_no_columns(encoder)
        begun += _load_compiled_code()
        problem = problem_of_quantity(encoder, target, model, rules, topology, data())
        seconds = time.perf_counter() - begun
        level = float(model.quantile) if model.loss == "quantile" else None
        parts = encoder, target, problem, n_samples, call, seconds, rules, np.zeros(0)
        return cls(*parts, loss=str(model.loss), quantile=level, begun=begun)

    def tree(
        self,
        solution: Solution,
        alphas: tuple[float, float],
        status: str | None = None,
        search: str | None = None,
        calibration: Calibration | None = None,
        promise: Promise | None = None,
    ) -> Tree:
        """Bring a solution back to names and units.

        Under the likelihood, and where probabilities are calibrated, the floors on
        recall are met here, by the decision, or an ``InfeasibleError`` says by how much
        they are missed. A promise is kept here, too.
        """
        price = max(alphas) * self.rules.price(self.encoder)
        free = np.bincount(self.group_variable, price > 0.0) == 0.0
        if self.loss is not None:
            found = tree_of_quantity(self, solution, alphas, status, search)
            return centred(found, free) if free.any() else found
        params, problem = solution.params, self.problem
        tree = Tree(
            encoder=self.encoder,
            coef=params.coef,
            threshold=params.threshold,
            leaf_class=params.leaf_class,
            target=self.target,
            gamma=problem.gamma,
            cost_matrix=problem.costs.cost_matrix,
            mass=self._own_shares(solution.mass),
            leaf_proba=params.leaf_proba,
            calibration=calibration,
            training=TrainingRecord(
                alpha_local=alphas[0],
                alpha_global=alphas[1],
                min_recall=tuple(self.floor.tolist()),
                recall=tuple(solution.recall.tolist()),
                objective=solution.objective,
                cost=solution.cost,
                residual=solution.residual,
                n_iterations=solution.n_iterations,
                status=status or str(solution.status),
                n_samples=self.n_samples,
                call=self.call,
                versions=versions(),
                search=search,
                loss="log" if self.by_log else "cost",
                class_weight=self._told_factor,
                **self.rules.record(self.target),
            ),
        )
        return self.decided(centred(tree, free) if free.any() else tree, promise)

    @property
    def _told_factor(self) -> tuple[float, ...] | None:
        return None if self.factor is None else tuple(self.factor.tolist())

    def _own_shares(self, mass: FloatArray) -> FloatArray:
        """Masses by class and leaf as the users' own weights count the rows."""
        if self.factor is None:
            return mass
        own = mass / self.factor[:, np.newaxis]
        return np.asarray(own / own.sum())

    def decided(self, tree: Tree, promise: Promise | None) -> Tree:
        """The tree with its decision, and what that means for the training rows."""
        return Decider(self).decided(tree, promise)

    def refuse(self, recall: FloatArray, tried: str, effort: str = "") -> NoReturn:
        """Raise the error of floors that could not be met, naming what could help."""
        floor = self.floor
        rates = {
            label: float(rate)
            for label, rate in zip(self.classes.labels.tolist(), recall, strict=True)
        }
        shown = ", ".join(
            f"{label!r}: {rate:.4f} (asked {asked:g})"
            for (label, rate), asked in zip(rates.items(), floor, strict=True)
        )
        raise InfeasibleError(
            f"min_recall could not be met by {tried}. Best rates attained on the "
            f"training sample: {shown}. Lower min_recall, lower the alphas, or raise "
            + (f"depth, {effort} or time_limit." if effort else "depth."),
            rates,
        )


def _load_compiled_code() -> float:
    """Seconds that compiling or loading took: no time limit counts them."""
    begun = time.perf_counter()
    from sorct.search.warm_up import warm_up

    warm_up()
    return time.perf_counter() - begun
