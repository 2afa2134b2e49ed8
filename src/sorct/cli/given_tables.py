"""Tables that the command line names: how to read them, what for, and what they are."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from sorct.cli.column_options import column_rules, table_options
from sorct.cli.data import Columns, Training, looked_at, trained_on, training_data
from sorct.cli.messages import in_flags
from sorct.cli.printing import print_result, wrapped_table
from sorct.cli.tables import read_source
from sorct.data.columns import ColumnReading
from sorct.data.encoder import TableEncoder
from sorct.data.kinds import treatment
from sorct.data.options import TableOptions
from sorct.data.quantity import number_column
from sorct.data.sheet import ReadingError, ReadOptions
from sorct.data.target import Classes
from sorct.data.wording import printable
from sorct.estimators.checks import checked_samples, label_samples
from sorct.estimators.column_rules import ColumnRules


def reading_of(args: Namespace) -> ReadOptions:
    """How the command line says that tables are to be read."""
    return ReadOptions(
        args.encoding,
        args.delimiter,
        args.decimal,
        args.dates,
        tuple(args.missing or ()),
    )


def training_of(args: Namespace) -> Training:
    """The table to train on."""
    sheet = read_source(args.data, reading_of(args), quiet=args.quiet)
    return training_data(sheet, _columns(args), quiet=args.quiet)


def _columns(args: Namespace) -> Columns:
    return Columns(
        args.target,
        getattr(args, "sample_weight", None),
        args.drop,
        args.columns,
        args.keep,
        args.categorical_features,
        args.drop_missing,
        args.ordered,
        getattr(args, "task", "classes"),
    )


def show_reading(args: Namespace) -> None:
    """Print how each column would be read, and refuse what training would refuse."""
    sheet = read_source(args.data, reading_of(args), quiet=args.quiet)
    columns = _columns(args)
    reading, problems = looked_at(sheet, columns)
    treated = {}
    if not problems:
        treated = _treatments(args, trained_on(sheet, reading, columns, quiet=True))
    document = {
        "verb": "fit",
        "dry_run": True,
        "n_samples": len(sheet.frame),
        "columns": [
            {**asdict(one), "treated_as": treated.get(one.name)}
            for one in reading.columns
        ],
        "problems": problems,
    }
    rows = [
        [
            printable(one.name),
            treated.get(one.name) or _read_as(one, args),
            str(one.n_missing),
            one.values.split(" levels: ")[-1],
            in_flags("; ".join(_said(one))),
        ]
        for one in reading.columns
    ]
    table = wrapped_table(["column", "read as", "missing", "values", "note"], rows)
    print_result(args.json, document, f"{table}\n\n{len(sheet.frame)} rows.")
    if problems:
        raise ReadingError.of(sheet.name, problems)


def _treatments(args: Namespace, data: Training) -> dict[str, str]:
    """How training would treat each variable; what it would refuse is refused."""
    read = number_column if data.of_quantity else label_samples
    X, y, weight = checked_samples(data.X, data.y, data.weight, read)
    options = TableOptions(**table_options(args, data.X))
    encoder = TableEncoder.learn(X, options, weight)
    rules = column_rules(args, data, reading_of(args))
    if data.of_quantity:
        given = rules.get("monotonic_cst"), rules.get("feature_cost")
        ColumnRules.of_quantity(*given, encoder)
        return {variable.name: treatment(variable) for variable in encoder.variables}
    ColumnRules.of(
        rules.get("monotonic_cst"),
        rules.get("positive_class"),
        rules.get("feature_cost"),
        encoder,
        Classes.learn(y, weight),
    )
    return {variable.name: treatment(variable) for variable in encoder.variables}


def _said(one: ColumnReading) -> list[str]:
    """All there is to say of a column."""
    return [one.left_out] if one.left_out else [*one.notes, *one.warnings]


def _read_as(one: ColumnReading, args: Namespace) -> str:
    if one.left_out:
        return "left out"
    roles = {args.target: "target", args.sample_weight: "weight"}
    return roles.get(one.name, one.kind)
