"""SQL: a model as one SELECT that runs unchanged in SQLite, DuckDB and PostgreSQL.

Three things shape the text. PostgreSQL raises an error where exp() overflows or a
product underflows, so scores of more than 40 count as certain (F(40) is 1 to the last
bit, F(-40) is 4e-18). Without an exponent a literal would be a decimal number, to
standard SQL and to DuckDB. And the chances are materialized: SQLite and PostgreSQL
would otherwise put whole expressions into each other, and take time exponential in the
depth.

Functions of dates have other names in every database, so that days are counted by
arithmetic on the digits of a date. NaN is larger than all numbers to DuckDB and
PostgreSQL, and so is minus NaN; SQLite has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from sorct.data.terms import (
    BentTerm,
    CurveTerm,
    LevelTerm,
    LinearTerm,
    MissingTerm,
    Term,
)
from sorct.data.wording import printable, shown
from sorct.show.export.formula import (
    Formula,
    Score,
    filled,
    header,
    linear_text,
    read_formula,
    row_for,
)
from sorct.show.export.sql_classes import Layer, choice, class_steps
from sorct.show.export.sql_spark import spark_text
from sorct.show.export.sql_text import (
    INDENT,
    Names,
    double,
    identifier,
    line_text,
    named,
    number_or_text,
)

if TYPE_CHECKING:
    from sorct.tree.forest import Forest
    from sorct.tree.tree import Tree

#: Kinds of SQL, and the databases that read them.
DIALECTS = {
    "standard": "SQLite (3.35 or later), DuckDB and PostgreSQL (12 or later)",
    "spark": "Spark (4.0 or later)",
}
_TITLE = (
    "A {what} as SQL for {databases}, written by sorct. {score}t is the "
    "score of cut t, {left}t the chance to go left there, {proba}k the probability of "
    "class k. A row gets NULL where a column read is NULL{unless}{unknown}."
)
_VALUE_TITLE = (
    "A {what} as SQL for {databases}, written by sorct. {score}t is the score "
    "of cut t, {left}t the chance to go left there, {says}n what linear leaf n says, "
    "{label} the prediction. A row gets NULL where a column read is "
    "NULL{unless}{unknown}."
)
_LARGEST = "1.7976931348623157E308"
# Days of a year before its months.
_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
# Days from 0000-01-00, where the formula begins, to the day before 0001-01-01.
_YEAR_ZERO = 365
_MOST_CUTS = 700
# The scores of more cuts are materialized too: a chance names its score seven times,
# and PostgreSQL would take a minute to compile what it puts there.
_MANY_CUTS = 50


def to_sql(
    tree: Tree | Forest,
    table: str | Sequence[str] = "data",
    *,
    keep: Iterable[str] | None = None,
    dialect: str = "standard",
) -> str:
    """A SELECT that scores every row of a table, from its raw columns.

    It gives the columns of the table, then for every cut t that decides something
    ``score_t`` and ``left_t`` (the chance to go left), for every class k ``proba_k``,
    and ``predicted_class``; of a quantity, for every linear leaf n ``says_n``, and
    ``predicted_value``. Of a calibrated tree, ``raw_k`` (its own probability) and
    ``map_k`` (what the map of the class makes of it) come before ``proba_k``; of one
    that decides by costs, ``cost_k`` (expected if k is predicted) after it. Where a
    training column already has such a name, all of these begin with ``sorct_``. For
    every date that the tree reads, ``days_j`` comes before the cuts: a column of type
    DATE or TIMESTAMP, or text that begins with YYYY-MM-DD. The text ends without a
    semicolon, so that it can be the body of a view or stand in brackets after FROM.

    Of a forest, the cuts of all trees are numbered one after the other.

    NULL and NaN are missing cells. Rows with infinity, a missing cell where the tree
    takes none, or a level never seen in training where that is an error get NULL, if it
    is in a column that the tree reads.

    Parameters
    ----------
    tree : Tree or Forest
    table : str or sequence of str, default="data"
        Name of the table; a sequence such as ``("schema", "table")`` for its parts.
    keep : iterable of str or None, default=None
        Columns of the table to give beside the probabilities and the class, such as a
        key; then nothing else is given. None gives all, and the cuts.
    dialect : {"standard", "spark"}, default="standard"
        For which databases: those below, or Spark SQL.

    Returns
    -------
    str
        SQL for SQLite (3.35 or later), DuckDB and PostgreSQL (12 or later), or for
        Spark (4.0 or later).
    """
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        known = tuple(DIALECTS)
        raise ValueError(f"dialect must be one of {known}, got {shown(dialect)}.")
    formula = read_formula(tree)
    if len(formula.scores) > _MOST_CUTS:
        raise ValueError(
            f"Expected at most {_MOST_CUTS} cuts for SQL, got {len(formula.scores)}: "
            "databases take no more columns in a query (PostgreSQL 1664, SQLite 2000), "
            "and every cut needs two. Train with a smaller depth or fewer trees, or "
            "export to another language."
        )
    parts = _texts("table", table)
    kept = None if keep is None else _texts("keep", keep)
    if not parts:
        raise ValueError(f"table must be a name or parts of one, got {shown(table)}.")
    names = Names(tree.encoder.names, formula, kept or [], parts)
    query = _query(formula, names, ".".join(map(identifier, parts)), kept)
    head = _head(tree.encoder.names, formula, names, DIALECTS[dialect])
    text = "\n".join([*head, *query]) + "\n"
    return spark_text(text) if dialect == "spark" else text


def _texts(option: str, given: Any) -> list[str]:
    """Names given one by one or alone."""
    listed = [given] if isinstance(given, str) else given
    good = isinstance(listed, Iterable) and not isinstance(listed, (bytes, dict))
    listed = list(listed) if good else [None]
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(
            f"{option} must be a text, or several, such as ('schema', 'table'); got "
            f"{shown(given)}."
        )
    return listed


def _head(
    columns: Sequence[str], formula: Formula, names: Names, databases: str
) -> list[str]:
    refuses = formula.refuses_new_levels
    unknown = " or has a level unknown to the tree" if refuses else ""
    title = (_VALUE_TITLE if formula.of_quantity else _TITLE).format(
        what=formula.what, databases=databases, says=names.says, label=names.label,
        score=names.score, left=names.left, proba=names.proba, unknown=unknown,
        unless=" and may not be missing" if formula.has(MissingTerm) else "",
    )  # fmt: skip
    lines = header(formula, title)
    for name, own in names.days.items():
        lines.append(f"{own}: the days of {printable(name)}")
    if formula.maps:
        lines.append(
            f"{names.raw}k is not calibrated, {names.map}k is by its map alone."
        )
    if formula.decision is not None:
        lines.append(f"{names.cost}k is the expected cost of predicting class k.")
    folded = [name.casefold() for name in columns]
    if len(set(folded)) < len(folded):
        lines.append(
            "Names of columns differ in case only: SQLite, DuckDB mix them up."
        )
    if names.days and {"true", "false"} & set(folded):
        lines.append("SQLite does not find a column called true or false in a step.")
    return [f"-- {line}" for line in lines]


def _query(
    formula: Formula, names: Names, table: str, kept: list[str] | None
) -> list[str]:
    """The common table expressions and the SELECT on top of them."""
    first = ["t.*"]
    if kept is not None:
        quoted = [identifier(name) for name in dict.fromkeys(kept)]
        first = [f"t.{name} AS {name}" for name in quoted]
    steps: list[Layer] = []
    source = f"{table} AS t"
    if formula.scores or formula.has_slopes:
        steps = _cut_steps(formula, names, table, first)
        source, first = f"{names.steps['chances']} AS c", ["c.*"]
    if formula.of_quantity:
        return _value_query(formula, names, steps, (source, first), kept)
    steps += class_steps(formula, names, source, first)
    top = [f"{steps[-1].alias}.*"]
    if kept is not None:
        top = quoted + [f"{names.proba}{k}" for k in range(len(formula.labels))]
    ends = f"{names.steps[steps[-1].name]} AS {steps[-1].alias}"
    chosen = [choice(formula, names)]
    return [_with(steps, names), *_select(top + chosen, ends)]


def _value_query(
    formula: Formula,
    names: Names,
    steps: list[Layer],
    below: tuple[str, list[str]],
    kept: list[str] | None,
) -> list[str]:
    """The SELECT of a quantity: the sum over routes of chance times what a leaf says.

    A row gets NULL as soon as any chance, or what any leaf says, is.
    """
    source, top = below
    if kept is not None:
        top = [identifier(name) for name in dict.fromkeys(kept)]
        top = top if steps else [f"t.{name} AS {name}" for name in top]
    parts = formula.parts_of_value(names.left, names.says, double)
    if not formula.scores and not formula.has_slopes:
        # A forest has a summand for every tree.
        parts = [f"CAST({' + '.join(parts)} AS DOUBLE PRECISION)"]
    text = f"\n{INDENT}+ ".join(parts)
    said = [f"{names.says}{leaf.number}" for leaf in formula.leaves if leaf.terms]
    if said:
        # What is infinite or NaN is NULL here as well.
        tests = [f"{one} BETWEEN -1E308 AND 1E308" for one in said]
        tests = [f"WHEN {tests[0]}", *(f"AND {test}" for test in tests[1:])]
        whole = filled(["CASE", *tests, "THEN"], INDENT)
        text = f"{whole}\n{INDENT}{text} END"
    if formula.ends is not None:
        mixed = named(text, names.mixed)
        steps = [*steps, Layer("sums", "m", source, [*top, mixed], True)]
        source, text = f"{names.steps['sums']} AS m", _power(names.mixed, formula.ends)
        top = ["m.*"]
        if kept is not None:
            top = [identifier(name) for name in dict.fromkeys(kept)]
    chosen = [named(text, names.label)]
    return [*([_with(steps, names)] if steps else []), *_select(top + chosen, source)]


def _power(mixed: str, ends: tuple[float, float]) -> str:
    """The number whose logarithm a sum is, within its ends."""
    low, high = map(double, ends)
    return (
        f"CASE WHEN {mixed} <= {low} THEN EXP({low}) WHEN {mixed} >= {high} "
        f"THEN EXP({high}) ELSE EXP({mixed}) END"
    )


def _cut_steps(
    formula: Formula, names: Names, table: str, first: list[str]
) -> list[Layer]:
    """Steps up to the chances of the cuts."""
    steps = []
    if names.days:
        days = [_days(name, formula.dates[name], names) for name in names.days]
        steps.append(Layer("dates", "t", f"{table} AS t", ["t.*", *days], True))
        table = names.steps["dates"]
    score = [_score(one, names) for one in formula.scores]
    said = [_score(one, names, names.says) for one in formula.leaves if one.terms]
    kept = len(score) > _MANY_CUTS
    steps.append(Layer("scores", "s", f"{table} AS t", [*first, *score, *said], kept))
    chance = [_chance(names, one.number) for one in formula.scores]
    source = f"{names.steps['scores']} AS s"
    steps.append(Layer("chances", "c", source, ["s.*", *chance], True))
    return steps


def _with(steps: list[Layer], names: Names) -> str:
    """All steps as common table expressions."""
    texts = []
    for step in steps:
        kept = "MATERIALIZED " if step.kept else ""
        lines = _select(step.columns, step.source)
        texts.append("\n".join([f"{names.steps[step.name]} AS {kept}(", *lines]))
    return "WITH " + "\n), ".join(texts) + "\n)"


def _select(columns: list[str], source: str) -> list[str]:
    return ["SELECT", ",\n".join(f"  {item}" for item in columns), f"FROM {source}"]


def _score(score: Score, names: Names, name: str | None = None) -> str:
    """Sum of the terms of a cut, in double precision whatever the columns are."""
    start = double(score.constant)
    if not any(_row(term).is_double for term in score.terms):
        start = f"CAST({start} AS DOUBLE PRECISION)"
    terms = [_term(term, names) for term in score.terms]
    text = f"\n{INDENT}".join([start, *terms])
    return named(text, f"{names.score if name is None else name}{score.number}")


def _row(term: Term) -> _SqlRow:
    return row_for(term, _TERMS, "SQL")


def _term(term: Term, names: Names) -> str:
    return _row(term).write(term, names)


def _known_parts(term: Term, names: Names) -> list[str]:
    """What is added where no cell is missing, in parts that may be broken."""
    in_parts = _row(term).known_parts
    if in_parts is None:
        return [_term(term, names).removeprefix("+ ")]
    return in_parts(term, names)


def _number(term: LinearTerm | CurveTerm | BentTerm, names: Names) -> str:
    """A number in double precision, of a date in days."""
    if term.origin is not None:
        return f"t.{names.days[term.name]}"
    return _in_double(_column(term.name))


def _in_double(column: str) -> str:
    return f"CAST({column} AS DOUBLE PRECISION)"


def _linear(term: LinearTerm, names: Names) -> str:
    return linear_text(term, _number(term, names), double)


def _curve(term: CurveTerm | BentTerm, names: Names) -> str:
    """Straight lines from point to point; NULL for infinity, as for all numbers."""
    value, at, added = _number(term, names), term.at, term.values
    first, last = double(at[0]), double(at[-1])
    parts = [f"WHEN {value} BETWEEN -{_LARGEST} AND {first} THEN {double(added[0])}"]
    for a, b, low, high in zip(at, at[1:], added, added[1:], strict=False):
        line = line_text(value, a, b, low, high)
        parts.append(f"WHEN {value} <= {double(b)} THEN {line}")
    parts.append(f"WHEN {value} BETWEEN {last} AND {_LARGEST}")
    parts.append(f"THEN {double(added[-1])} END")
    return "+ " + filled(["CASE", *parts], INDENT * 2)


def _level(term: LevelTerm, names: Names) -> str:
    """Weight of a level; NULL for one that is missing or, if that is an error, new."""
    parts, column = _levels(term, names), _column(term.name)
    if term.others is not None:
        present = f"{column} IS NOT NULL"
        if term.of_numbers:
            value = _in_double(column)
            present = f"{value} <= {_LARGEST} OR -{value} <= {_LARGEST}"
        parts = [f"CASE WHEN {present} THEN", *parts, "END"]
    return "+ " + filled(parts, INDENT * 2)


def _levels(term: LevelTerm, names: Names) -> list[str]:
    """Weight of a level that is not missing, in parts that may be broken."""
    whens = [
        f"WHEN {literal} THEN {double(weight)}"
        for level, weight in term.weights.items()
        if weight != term.others
        for literal in _level_literals(level)
    ]
    others = "NULL" if term.others is None else double(term.others)
    if not whens:
        return [f"CAST({others} AS DOUBLE PRECISION)"]
    case = f"CASE {_level_of(_column(term.name), next(iter(term.weights)))}"
    return [case, *whens, *([] if term.others is None else [f"ELSE {others}"]), "END"]


def _missing(term: MissingTerm, names: Names) -> str:
    """Weight of NULL, and of NaN where a database has it, or of what is there."""
    column, known = _column(term.name), _known_parts(term.known, names)
    test = f"{column} IS NULL"
    if term.of_numbers:
        value = _in_double(column)
        test += f" OR ({value} > {_LARGEST} AND -{value} > {_LARGEST})"
    first = f"CASE WHEN {test} THEN {double(term.weight)} ELSE"
    return "+ " + filled([first, *known, "END"], INDENT * 2)


class _SqlRow(NamedTuple):
    """How a kind of term is written.

    ``write`` gives it with its sign; ``known_parts`` where no cell is missing, if that
    is something else. ``is_double`` says that it makes a sum one of double precision.
    """

    write: Callable[[Any, Names], str]
    known_parts: Callable[[Any, Names], list[str]] | None = None
    is_double: bool = False


#: How each kind of term is written.
_TERMS: dict[type, _SqlRow] = {
    LinearTerm: _SqlRow(_linear, is_double=True),
    CurveTerm: _SqlRow(_curve),
    BentTerm: _SqlRow(_curve),
    LevelTerm: _SqlRow(_level, _levels),
    MissingTerm: _SqlRow(_missing),
}


def _days(name: str, origin: str, names: Names) -> str:
    """Days of a date since the origin; NULL for what is not written YYYY-MM-DD."""
    whole = f"CAST({_column(name)} AS VARCHAR)"
    text = f"SUBSTR({whole}, 1, 10)"
    digits = f"CAST(REPLACE({text}, '-', '') AS INTEGER)"
    months = [
        f"WHEN '{month:02}' THEN {days}" for month, days in enumerate(_BEFORE_MONTH, 1)
    ]
    start = date.fromisoformat(origin).toordinal() + _YEAR_ZERO
    # The digits are those of YYYYMMDD; 300 less is in the year before up to February.
    parts = [
        f"CASE WHEN {text} LIKE '____-__-__' THEN CAST(",
        f"365 * FLOOR({digits} / 10000E0)",
        f"+ FLOOR(({digits} - 300) / 40000E0)",
        f"- FLOOR(({digits} - 300) / 1000000E0)",
        f"+ FLOOR(({digits} - 300) / 4000000E0)",
        f"+ CASE SUBSTR({whole}, 6, 2)", *months, "END",
        f"+ CAST(SUBSTR({whole}, 9, 2) AS INTEGER)", f"- {start} AS DOUBLE PRECISION)",
        "END",
    ]  # fmt: skip
    return named(filled(parts, INDENT * 2), names.days[name])


def _column(name: str) -> str:
    return f"t.{identifier(name)}"


def _level_of(column: str, level: Any) -> str:
    """A column in the form in which its levels are compared."""
    if isinstance(level, bool):
        # A boolean is a type in DuckDB and PostgreSQL, 0 or 1 in SQLite.
        return f"LOWER(CAST({column} AS VARCHAR))"
    # A column of an enumeration would refuse a level that it lacks.
    return f"CAST({column} AS VARCHAR)" if isinstance(level, str) else column


def _level_literals(level: Any) -> tuple[str, ...]:
    if isinstance(level, bool):
        return ("'true'", "'1'") if level else ("'false'", "'0'")
    return (number_or_text(level),)


def _chance(names: Names, number: int) -> str:
    """The logistic function; NULL for a score that is NULL, NaN or infinite."""
    score = f"{names.score}{number}"
    text = (
        f"CASE WHEN {score} BETWEEN -40 AND 40 THEN 1 / (1 + EXP(-{score}))\n"
        f"{INDENT}WHEN {score} BETWEEN 40 AND 1E308 THEN 1E0\n"
        f"{INDENT}WHEN {score} BETWEEN -1E308 AND -40 THEN 0E0 END"
    )
    return named(text, f"{names.left}{number}")
