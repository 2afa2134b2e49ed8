"""Reading: a file as people have it, as a table to train on.

Columns are read by ``columns.py``; here those that are no variables are left out, and
whatever is to be said of a file is said at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sorct.data.cells import TEXT, UNUSABLE
from sorct.data.columns import ColumnReading, ReadColumns, read_columns
from sorct.data.sheet import DELIMITERS, ReadingError, ReadOptions, Sheet, open_sheet
from sorct.data.suspects import leak, why_left_out
from sorct.data.wording import listed, not_there, shown
from sorct.data.written_dates import ORDERS

if TYPE_CHECKING:
    import pandas as pd

# Levels of a column that are warned of if they are as many as half the rows.
_MANY_LEVELS = 50
# Columns that are named where the same was done to more.
_NAMED = 5


@dataclass(frozen=True)
class Roles:
    """What columns are for.

    Attributes
    ----------
    target : str or None
        The classes, or a quantity.
    weight : str or None
        Weights of the rows.
    keep : sequence of str
        Columns not to leave out, whatever they look like.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns that are categories, also if they hold numbers or dates.
    ordered : mapping from str to sequence of str
        Columns that are categories with an order, and their levels from low to high.
    quantity : bool
        Whether the target is known to hold numbers, and is read as such.
    """

    target: str | None = None
    weight: str | None = None
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quantity: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Columns that are categories, with or without an order."""
        return (*self.categorical, *self.ordered)


@dataclass(frozen=True, eq=False)
class TableReading:
    """A table that was read, and how.

    Attributes
    ----------
    name : str
        What messages call the file.
    frame : pandas.DataFrame
        The columns that are not left out, the target included.
    columns : tuple of ColumnReading
        All columns of the file but those that were dropped by name.
    problems : tuple of str
        What nobody but the user can decide; a table with problems is of no use.
    """

    name: str
    frame: pd.DataFrame
    columns: tuple[ColumnReading, ...]
    problems: tuple[str, ...]

    def notes(self) -> list[str]:
        """What was done to read columns, a line for all with which it was the same."""
        alike: dict[str, list[str]] = {}
        for one in self.columns:
            if one.notes and one.left_out is None:
                alike.setdefault("; ".join(one.notes), []).append(one.name)
        return [
            f"column {names[0]!r}: {told}."
            if len(names) == 1
            else f"{len(names)} columns, {listed(names, _NAMED)}: {told}."
            for told, names in alike.items()
        ]

    def left_out(self) -> list[str]:
        """What was left out and why, a line for each column."""
        return [
            f"column {one.name!r} is left out: {one.left_out} (keep={one.name!r} keeps "
            "it)."
            for one in self.columns
            if one.left_out
        ]

    def warnings(self) -> list[str]:
        """What is hardly meant as it is, a line for each."""
        return [
            f"column {one.name!r} {told}."
            for one in self.columns
            if one.left_out is None
            for told in one.warnings
        ]


def read_training(
    sheet: Sheet, roles: Roles, only: Collection[str] | None = None
) -> TableReading:
    """Read columns to train on; those that are no variables are left out."""
    names = [
        name
        for name in sheet.columns
        if name in (roles.target, roles.weight)
        or (name not in roles.drop and (only is None or name in only))
    ]
    labels = None if roles.quantity else roles.target
    read = read_columns(sheet, names, text=roles.words, target=labels)
    frame, judged = _with_categories(read, roles), []
    target = None
    for reading in read.readings:
        if reading.name == roles.target and reading.kind != UNUSABLE:
            target = frame[reading.name]
    for reading in read.readings:
        special = reading.name in (roles.target, roles.weight)
        if not special and reading.kind != UNUSABLE:
            reading = _judged(reading, frame[reading.name], roles, target)
        judged.append(reading)
    kept = [one.name for one in judged if one.left_out is None]
    problems = (*read.problems, *_out_of_order(read, roles))
    return TableReading(sheet.name, frame[kept], tuple(judged), problems)


def _with_categories(read: ReadColumns, roles: Roles) -> pd.DataFrame:
    """The columns read; those named as categories are pandas categories."""
    named = [
        one.name
        for one in read.readings
        if one.name in roles.words and one.name != roles.target and one.kind == TEXT
    ]
    if not named:
        return read.frame
    import pandas as pd

    kinds: dict[str, Any] = dict.fromkeys(named, "category")
    for name in named:
        order = roles.ordered.get(name, ())
        if order and not _strange_levels(read.frame[name], order):
            kinds[name] = pd.CategoricalDtype(list(order), ordered=True)
    return read.frame.astype(kinds)


def _out_of_order(read: ReadColumns, roles: Roles) -> list[str]:
    """Problems of columns with levels that their order does not name."""
    told = []
    for name, levels in roles.ordered.items():
        strange = []
        if name in read.frame:
            strange = _strange_levels(read.frame[name], levels)
        if strange:
            told.append(
                f"column {name!r} has levels that its order lacks: {listed(strange)}; "
                f"expected {listed(levels)}."
            )
    return told


def _strange_levels(column: pd.Series[Any], order: Sequence[str]) -> list[Any]:
    """Levels that an order does not name."""
    return [level for level in column.dropna().unique() if level not in order]


def _judged(
    reading: ColumnReading,
    column: pd.Series[Any],
    roles: Roles,
    target: pd.Series[Any] | None,
) -> ColumnReading:
    """How a column was read, with what there is to say against training on it."""
    if reading.name not in (*roles.keep, *roles.words):
        reason = None if reading.warnings else why_left_out(column)
        if reason is not None:
            return replace(reading, left_out=reason)
    told = list(reading.warnings)
    if target is not None and (found := leak(column, target)):
        told.append(found)
    if reading.kind == TEXT and not told:
        n_levels = column.nunique()
        if n_levels > max(_MANY_LEVELS, len(column) / 2):
            told.append(
                f"has {n_levels} distinct values in {len(column)} rows; it may be "
                f"better left out (drop={reading.name!r})"
            )
    return replace(reading, warnings=tuple(told))


# -- from Python -----------------------------------------------------------------------


def read_table(
    path: str | PathLike[str],
    *,
    target: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    categorical_features: Sequence[str] = (),
    ordered: Mapping[str, Sequence[str]] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Read a CSV or Parquet file as people have it, ready to train on.

    The command line reads its tables in the same way; ``docs/tables.md`` has the rules.
    Numbers may have thousands separators, percent and currency signs, decimal commas;
    dates become ``datetime64``; missing cells are missing, however they are written.
    Ids, row numbers and constant columns are left out. One warning names the columns
    left out and what looks wrong.

    Parameters
    ----------
    path : str or path
    target : str, optional
        Column of the classes: spellings such as "Yes" and "yes " become one, and
        columns that decide it by themselves are warned of.
    keep : list of str, default=()
        Columns not to leave out, whatever they look like.
    drop : list of str, default=()
        Columns to leave out.
    categorical_features : list of str, default=()
        Columns of numbers or dates that are names, such as codes: they become pandas
        categories.
    ordered : mapping from str to list of str, optional
        Columns whose levels have an order, and these levels from low to high, such as
        ``{"grade": ["low", "mid", "high"]}``: they become ordered pandas categories.
    encoding : str, optional
        UTF-8 unless another is named.
    delimiter : str, optional
        Comma, semicolon or tab, whichever fits, unless another is named.
    decimal : {".", ","}, optional
        Decimal mark; by default the one that the cells show.
    dates : {"day-first", "month-first"}, optional
        Order of 01/02/2024; by default the one that the cells show.
    missing : list of str, default=()
        Further cells that count as missing.

    Returns
    -------
    frame : pandas.DataFrame
        ``pandas.DataFrame(frame.attrs["sorct"])`` shows how each column was read.

    Raises
    ------
    ValueError
        With all that is wrong with the file in one message.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import sorct
    >>> text = 'income,share,since\n"$8,113.06",62%,31/01/2024\n$950,5%,01/02/2024'
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text(text)
    ...     frame = sorct.read_table(path)
    >>> frame
        income  share      since
    0  8113.06   0.62 2024-01-31
    1   950.00   0.05 2024-02-01
    """
    options = ReadOptions(
        encoding, delimiter, decimal, dates, _texts("missing", missing)
    )
    _check_options(options)
    _check_text("target", target)
    name = str(path)
    sheet = open_sheet(name, Path(path).read_bytes(), options)
    if ordered is not None and not isinstance(ordered, Mapping):
        raise TypeError(
            "ordered must be a mapping from columns to their levels from low to high, "
            f"got {shown(ordered)}."
        )
    roles = Roles(
        target,
        None,
        _texts("keep", keep),
        _texts("drop", drop),
        _texts("categorical_features", categorical_features),
        {column: checked_order(column, own) for column, own in (ordered or {}).items()},
    )
    targets = [] if target is None else [target]
    for column in (*targets, *roles.keep, *roles.drop, *roles.words):
        if column not in sheet.columns:
            raise ReadingError(not_there("column", column, sheet.columns, name))
    reading = read_training(sheet, roles)
    if reading.problems:
        raise ReadingError.of(name, reading.problems)
    told = [*_unnamed(sheet), *reading.left_out(), *reading.warnings()]
    if told:
        warnings.warn("\n".join([f"{name}:", *told]), UserWarning, stacklevel=2)
    reading.frame.attrs["sorct"] = [asdict(one) for one in reading.columns]
    return reading.frame


def _check_text(option: str, given: Any) -> None:
    if given is not None and not isinstance(given, str):
        raise TypeError(f"{option} must be str or None, got {shown(given)}.")


def _texts(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; one alone may come without a list."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} must be a list of str, got {shown(names)}.")
    return names


def checked_order(name: str, levels: Iterable[str]) -> tuple[str, ...]:
    """Levels of an ordered column: two or more, each once."""
    order = _texts(f"ordered[{name!r}]", levels)
    if len(order) < 2 or len(set(order)) < len(order):
        raise ReadingError(
            f"The order of column {name!r} must have two levels or more, each once, "
            f"from low to high; got {listed(order)}."
        )
    return order


def _check_options(options: ReadOptions) -> None:
    for name in ("encoding", "delimiter", "decimal", "dates"):
        _check_text(name, getattr(options, name))
    if options.decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {options.decimal!r}.")
    if options.dates is not None and options.dates not in ORDERS:
        raise ValueError(
            f"dates must be one of {listed(ORDERS)}, got {options.dates!r}."
        )
    one = options.delimiter
    if one is not None and (len(one) != 1 or one in '"\r\n'):
        raise ValueError(
            f"delimiter must be one character, such as {listed(DELIMITERS.values())}; "
            f"got {one!r}."
        )


def _unnamed(sheet: Sheet) -> list[str]:
    """A note of columns without a name."""
    if sheet.n_unnamed == 0:
        return []
    return [f"{sheet.n_unnamed} column(s) without a name; left out."]
