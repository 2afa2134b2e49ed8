"""Tables that the command line names: how to read them, what for, and what they are."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from sorct.cli.data import Columns, Training, looked_at, training_data
from sorct.cli.messages import in_flags
from sorct.cli.printing import print_result, text_table
from sorct.cli.tables import read_source
from sorct.data.columns import ColumnReading
from sorct.data.sheet import ReadingError, ReadOptions
from sorct.data.wording import printable


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
        args.categorical,
        args.drop_missing,
    )


def show_reading(args: Namespace) -> None:
    """Print how each column would be read, and refuse what training would refuse."""
    sheet = read_source(args.data, reading_of(args), quiet=args.quiet)
    reading, problems = looked_at(sheet, _columns(args))
    document = {
        "verb": "fit",
        "dry_run": True,
        "n_samples": len(sheet.frame),
        "columns": [asdict(one) for one in reading.columns],
        "problems": problems,
    }
    rows = [
        [
            printable(one.name),
            _read_as(one, args),
            one.values,
            str(one.n_missing),
            in_flags("; ".join(_said(one))),
        ]
        for one in reading.columns
    ]
    table = text_table(["column", "read as", "values", "missing", "note"], rows)
    print_result(args.json, document, f"{table}\n\n{len(sheet.frame)} rows.")
    if problems:
        raise ReadingError.of(sheet.name, problems)


def _said(one: ColumnReading) -> list[str]:
    """All there is to say of a column."""
    return [one.left_out] if one.left_out else [*one.notes, *one.warnings]


def _read_as(one: ColumnReading, args: Namespace) -> str:
    if one.left_out:
        return "left out"
    roles = {args.target: "target", args.sample_weight: "weight"}
    return roles.get(one.name, one.kind)
