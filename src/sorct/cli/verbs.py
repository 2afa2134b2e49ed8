"""Verbs: what is done with trained models: show, predict, explain, report, export.

And two that need none: datasets and completion.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable
from pathlib import Path as FilePath
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from sorct.cli.files import (
    Output,
    read_model,
    read_model_file,
    refuse_point,
    tree_at,
)
from sorct.cli.forests import with_policies
from sorct.cli.given_tables import reading_of
from sorct.cli.messages import UsageError, WorkError, hints_in_flags, note
from sorct.cli.model_rows import rows_for, shown_rows
from sorct.cli.printing import print_result, score_line, text_table
from sorct.cli.streaming import ParquetRows, predict_streaming, streams
from sorct.cli.tables import has_header, read_source, table_bytes
from sorct.cli.training import (
    path_document,
    path_text,
    refuse_two_documents,
)
from sorct.data.sheet import Sheet, check_parquet
from sorct.data.wording import listed
from sorct.tree.forest import Forest
from sorct.tree.path import Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

# Data sets that come with scikit-learn or are computed.
_AT_HAND = ("iris", "wine", "wisconsin", "balance")
PREDICTION, PROBABILITY = "prediction", "probability_"
_KINDS = {
    "json": "model",
    "sql": "model in SQL",
    "python": "model in Python",
    "javascript": "model in JavaScript",
    "js": "model in JavaScript",
    "onnx": "model in ONNX",
}


def show(args: Namespace) -> None:
    """Print the rules of a tree, the points of a path, or a summary of a forest."""
    from sorct.show.text import export_text

    found = read_model_file(args.model)
    if isinstance(found, Path) and args.point is None and not args.relaxed:
        document = {"verb": "show", **path_document(found)}
        text = path_text(found, args.model, everything=args.all)
        print_result(args.json, document, text)
        return
    tree = read_model(args)
    if isinstance(tree, Forest):
        _show_forest(args, tree)
        return
    rules = hints_in_flags(
        export_text(tree, args.decimals, levels=args.levels or "few")
    )
    line = score_line(tree.training)
    document = {
        "verb": "show",
        "variables_used": tree.variables_used,
        "rules": rules,
        "tree": tree.to_dict(),
    }
    print_result(args.json, document, f"{rules}\n\n{line}." if line else rules)


def _show_forest(args: Namespace, forest: Forest) -> None:
    for flag in ("decimals", "levels"):
        if getattr(args, flag) is not None:
            raise UsageError(f"--{flag} is for rules of trees; this model is a forest")
    document = {
        "verb": "show",
        "variables_used": forest.variables_used,
        "summary": str(forest),
        "forest": forest.to_dict(),
    }
    print_result(args.json, document, str(forest))


# -- rows ------------------------------------------------------------------------------


def _model_of(args: Namespace) -> Tree | Forest:
    """The model of a file, with what the command line says of new cells."""
    given = {"unknown": args.handle_unknown, "missing": args.handle_missing}
    told = {name: value for name, value in given.items() if value is not None}
    return with_policies(read_model(args), told)


def _tell_ignored(args: Namespace, source: Sheet, tree: Tree | Forest) -> None:
    """Name columns that play no part: the target, and those training never saw."""
    extra = [name for name in source.columns if name not in tree.encoder.names]
    if extra:
        target = tree.training.target
        others = [name for name in extra if name != target]
        said = [f"the target {target!r}"] if target in extra else []
        said += [listed(others, 5)] if others else []
        note(args.quiet, f"ignored in {source.name}: {', '.join(said)}.")


def predict(args: Namespace) -> None:
    """Predict every row."""
    out = Output.at(args.out, [args.model, args.rows])
    tree, stream = _model_of(args), None
    if args.proba and tree.of_quantity:
        raise UsageError("--proba is for classes; this model predicts a quantity")
    if streams(args, out):
        check_parquet("Reading")
        stream = ParquetRows(args.rows, reading_of(args))
        source = stream.head
    else:
        source = read_source(args.rows, reading_of(args), quiet=args.quiet)
    header = _header(args, tree, source)
    if not args.force:
        kind = "table of the same columns"
        out.check_replaceable(
            args.out, kind, lambda path: has_header(path, header, args.out)
        )
    if not args.keep:
        _tell_ignored(args, source, tree)
    if stream is not None:
        _predict_stream(args, tree, stream, out)
        return
    rows = rows_for(source, tree)
    _tell_new_levels(args, [_new_levels(rows, tree)])
    if args.json and out.path is None:
        print_result(True, _predictions_document(tree, rows), "")
        return
    table = _predictions(tree, rows, proba=args.proba)
    if args.keep:
        table = _beside(source, table)
    out.write(table_bytes(table, args.out, raw=args.raw, quiet=args.quiet))
    if args.json:
        print_result(True, {"verb": "predict", "out": args.out, "rows": len(rows)}, "")
    elif out.path is not None:
        note(args.quiet, f"{len(rows)} predictions are in {args.out}.")


def _predict_stream(
    args: Namespace, tree: Tree | Forest, rows: ParquetRows, out: Output
) -> None:
    """Predict from file to file."""
    if args.keep:
        _refuse_double(rows.head, _header(args, tree, rows.head))

    levels: list[dict[str, Counter[Any]]] = []

    def predict(frame: pd.DataFrame) -> pd.DataFrame:
        levels.append(_new_levels(frame, tree))
        return _predictions(tree, frame, proba=args.proba)

    predict_streaming(rows, tree, predict, out, keep=args.keep)
    _tell_new_levels(args, levels)
    if args.json:
        document = {"verb": "predict", "out": args.out, "rows": rows.n_rows}
        print_result(True, document, "")
    else:
        note(args.quiet, f"{rows.n_rows} predictions are in {args.out}.")


def _new_levels(rows: pd.DataFrame, tree: Tree | Forest) -> dict[str, Counter[Any]]:
    """Levels without a weight of their own, by column, and how many rows have them."""
    found: dict[str, Counter[Any]] = {}
    if tree.encoder.unknown != "other":
        return found
    for variable in tree.encoder.variables:
        choices = variable.choices
        if choices is not None and variable.name in tree.variables_used:
            counts = rows[variable.name].dropna().value_counts().to_dict()
            new = {level: n for level, n in counts.items() if level not in choices}
            found[variable.name] = Counter(new)
    return found


def _tell_new_levels(args: Namespace, parts: Iterable[dict[str, Counter[Any]]]) -> None:
    """Say which levels have no weight of their own: they count as all others do."""
    found: dict[str, Counter[Any]] = {}
    for part in parts:
        for name, counts in part.items():
            found.setdefault(name, Counter()).update(counts)
    for name, counts in found.items():
        if counts:
            note(
                args.quiet,
                f"column {name!r} has levels without a weight of their own "
                f"({listed(sorted(counts, key=str), 3)}) in {counts.total()} row(s): "
                "they count as others, as levels do that training did not have.",
            )


def _header(args: Namespace, tree: Tree | Forest, source: Sheet) -> list[str]:
    """Names of the columns to write."""
    labels = tree.classes.tolist() if args.proba else []
    ours = [PREDICTION, *(f"{PROBABILITY}{label}" for label in labels)]
    return [*(source.columns if args.keep else ()), *ours]


def _predictions(
    tree: Tree | Forest, rows: pd.DataFrame, *, proba: bool
) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame({PREDICTION: tree.predict(rows)})
    if proba:
        for label, column in zip(
            tree.classes.tolist(), tree.predict_proba(rows).T, strict=True
        ):
            table[f"{PROBABILITY}{label}"] = column
    return table


def _predictions_document(tree: Tree | Forest, rows: pd.DataFrame) -> dict[str, Any]:
    if tree.of_quantity:
        return {"verb": "predict", "predictions": tree.predict(rows)}
    return {
        "verb": "predict",
        "classes": tree.classes,
        "predictions": tree.predict(rows),
        "probabilities": tree.predict_proba(rows),
    }


def _beside(source: Sheet, table: pd.DataFrame) -> pd.DataFrame:
    """The columns given, as they are written, and the predictions."""
    import pandas as pd

    _refuse_double(source, [*source.columns, *table.columns])
    return pd.concat([source.as_written(), table], axis=1)


def _refuse_double(source: Sheet, header: list[str]) -> None:
    """Refuse a column that has the name of one of ours."""
    ours = header[len(source.columns) :]
    double = [name for name in ours if name in source.columns]
    if double:
        raise WorkError(
            f"{source.name} has a column {double[0]!r} already; rename it, or leave "
            "out --keep."
        )


def explain(args: Namespace) -> None:
    """Explain the prediction for one row."""
    from sorct.show.explanation import explain as run

    tree = _model_of(args)
    if args.reach is not None and isinstance(tree, Forest):
        raise UsageError("--reach is for single trees; this model is a forest")
    source = read_source(args.rows, reading_of(args), quiet=args.quiet)
    if args.row > len(source.frame):
        raise WorkError(
            f"{source.name} has {len(source.frame)} rows, counted from 1; there is no "
            f"row {args.row}."
        )
    if args.reach is not None and not tree.of_quantity:
        raise UsageError("--reach is for quantities; this model predicts classes")
    found = run(tree, rows_for(source, tree, only=[args.row - 1]), reach=args.reach)
    place = f"Row {args.row} of {source.name}, counted from 1 without the header"
    document = {"verb": "explain", "row": args.row, **found.to_dict()}
    print_result(args.json, document, f"{place}\n\n{found}")


# -- pages and exports -----------------------------------------------------------------


def report(args: Namespace) -> None:
    """Write the page of a model or a path."""
    for name in ("target", "drop_missing"):
        if getattr(args, name) is not None and args.data is None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} needs --data (see sorct report --help)")
    refuse_two_documents(args)
    inputs = [args.model, args.data]
    out = Output.checked(args.out, "report", force=args.force, inputs=inputs)
    found = read_model_file(args.model)
    tree = found.trees[0] if isinstance(found, Path) else found
    X, y = _shown_data(args, tree)
    options: dict[str, Any] = {"title": args.title, "rows": args.rows}
    if not isinstance(found, Path):
        refuse_point(args)
    elif args.point is not None or args.relaxed:
        options["chosen"] = tree_at(found, args)
    page = found.report(X, y, **options)
    out.write(page.html())
    if args.json:
        print_result(True, {"verb": "report", "out": args.out}, "")
    elif out.path is not None:
        note(args.quiet, f"the page is in {args.out}; open it in a browser.")


def _shown_data(args: Namespace, tree: Tree | Forest) -> tuple[Any, Any]:
    """Rows and their target to show a tree on, if there are any."""
    if args.data is None:
        return None, None
    target = args.target or tree.training.target
    if target is None:
        raise UsageError(
            f"{args.model} does not say what its target was; name it with --target"
        )
    source = read_source(args.data, reading_of(args), quiet=args.quiet)
    given = source, str(target), tree, args.drop_missing
    return shown_rows(*given, quiet=args.quiet)


def export(args: Namespace) -> None:
    """Write a tree or forest in another language."""
    for name, language in (("table", "sql"), ("dtype", "onnx")):
        if getattr(args, name) is not None and args.to != language:
            raise UsageError(f"--{name} is for --to {language} only")
    if args.to == "onnx" and args.out in (None, "-"):
        raise UsageError("--to onnx needs --out FILE (see sorct export --help)")
    kind = _KINDS[args.to]
    out = Output.checked(args.out, kind, force=args.force, inputs=[args.model])
    tree = read_model(args)
    result = _exported(args, tree)
    document = {"verb": "export", "to": args.to, "out": args.out}
    if out.path is None:
        if args.json:
            print_result(True, {**document, "text": result}, "")
        else:
            out.write(result)
        return
    out.write(result)
    if args.json:
        print_result(True, document, "")
    else:
        note(args.quiet, f"the model is in {args.out}.")


def _exported(args: Namespace, tree: Tree | Forest) -> str | bytes:
    from sorct import export as languages

    if args.to == "sql":
        text: str = languages.to_sql(tree, table=args.table or "data")
        return text
    if args.to == "onnx":
        model = languages.to_onnx(tree, dtype=args.dtype or "float32")
        data: bytes = model.SerializeToString()
        return data
    if args.to == "json":
        return json.dumps(tree.to_dict(), indent=1, allow_nan=False)
    if args.to == "python":
        return str(languages.to_python(tree))
    return str(languages.to_javascript(tree))


# -- without a tree --------------------------------------------------------------------


def datasets(args: Namespace) -> None:
    """List the data sets of the paper, or write one."""
    from sorct.data.datasets import names

    if args.name is None:
        if args.out is not None:
            raise UsageError("--out needs the name of a data set (sorct datasets NAME)")
        found = [_dataset(name, args.folder) for name in names()]
        keys = ["name", "rows", "variables", "classes", "loads", "source"]
        rows = [[shorten(str(one[key]), 60) for key in keys] for one in found]
        print_result(args.json, {"datasets": found}, text_table(keys, rows))
        return
    if args.name not in names():
        raise UsageError(
            f"there is no data set {args.name!r}; expected {listed(names(), 18)}"
        )
    out = Output.checked(args.out, "table", force=args.force)
    table = _dataset_table(args.name, args.folder)
    if args.json and out.path is None:
        cells = {"columns": list(table.columns), "rows": table.to_numpy().tolist()}
        print_result(True, {"verb": "datasets", "name": args.name, **cells}, "")
        return
    out.write(table_bytes(table, args.out))
    if args.json:
        document = {"verb": "datasets", "name": args.name, "out": args.out}
        print_result(True, document, "")
    elif out.path is not None:
        note(args.quiet, f"{args.name} is in {args.out}; its target is 'class'.")


def _dataset_table(name: str, folder: str | None) -> pd.DataFrame:
    from sorct.data.datasets import load

    X, y = load(name, folder=folder)
    return X.assign(**{"class": y})


def _dataset(name: str, folder: str | None) -> dict[str, Any]:
    from sorct.data.datasets import info

    known = info(name)
    return {
        "name": name,
        "rows": known.n_samples,
        "variables": len(known.levels),
        "classes": known.n_classes,
        "loads": _availability(name, folder, known.openml_id),
        "source": known.source,
    }


def _availability(name: str, folder: str | None, openml_id: int | None) -> str:
    """Whether a set can be loaded now; a file is looked into, OpenML is not asked."""
    from sorct.data.datasets import load

    place = folder or os.environ.get("SORCT_DATA")
    has_file = place is not None and (FilePath(place) / f"{name}.csv").is_file()
    if name not in _AT_HAND and not has_file:
        return "no: needs a file" if openml_id is None else "when online (OpenML)"
    try:
        load(name, folder=folder)
    except ValueError:
        return "no: its file holds other rows"
    return "yes" if name in _AT_HAND else "yes: from its file"


def completion(args: Namespace) -> None:
    """Print the completion script of a shell."""
    from sorct.cli.completion import script
    from sorct.cli.parser import build_parser

    sys.stdout.write(script(build_parser(), args.shell))
