"""Schema of many files: the columns that all of them have, of types that fit all.

pyarrow takes the columns of the first file for all, fills in what a file lacks, and
leaves out what the first one lacks. A tree would then depend on the order of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sorct.data.wording import listed


def schema_of_all(dataset: Any) -> Any:
    """Schema that fits all files of a Dataset; an error if their columns differ."""
    import pyarrow as pa

    fragments = list(dataset.get_fragments())
    schemas = [fragment.physical_schema for fragment in fragments]
    paths = [fragment.path for fragment in fragments]
    for path, schema in zip(paths, schemas, strict=True):
        _refuse_other_columns(schemas[0], paths[0], schema, path)
    for name in own_columns(schemas[0]):
        _refuse_other_kinds(name, schemas, paths)
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Kinds are the same, such as texts and categories: pyarrow makes them alike.
        return dataset.schema
    return schema.with_metadata(dataset.schema.metadata)


def own_columns(schema: Any) -> list[str]:
    """Columns of a schema, without those that only number the rows of a frame."""
    told = schema.pandas_metadata or {}
    index = [name for name in told.get("index_columns", []) if isinstance(name, str)]
    return [name for name in schema.names if name not in index]


def _refuse_other_columns(first: Any, first_path: str, other: Any, path: str) -> None:
    names, others = own_columns(first), own_columns(other)
    only = {first_path: set(names) - set(others), path: set(others) - set(names)}
    for place, missing in only.items():
        if missing:
            lacks = path if place == first_path else first_path
            raise ValueError(
                f"The files have different columns: {place!r} has "
                f"{listed(sorted(missing))}, which {lacks!r} has not. Pass files of "
                "the same columns, or a pyarrow Dataset with the schema you want."
            )


def _refuse_other_kinds(name: str, schemas: Sequence[Any], paths: list[str]) -> None:
    known: dict[str, str] = {}
    for schema, path in zip(schemas, paths, strict=True):
        kind = _kind(schema.field(name).type)
        if kind:
            known.setdefault(kind, path)
    if len(known) > 1:
        (one, place), (other, elsewhere), *_ = known.items()
        raise ValueError(
            f"Column {name!r} has {one} in {place!r} and {other} in {elsewhere!r}. "
            "Write it alike in all files, or pass a pyarrow Dataset with the schema "
            "you want."
        )


def _kind(kind: Any) -> str:
    """What cells are, in a word; nothing where all are missing."""
    from pyarrow import types

    if types.is_null(kind):
        return ""
    if types.is_temporal(kind):
        return "dates"
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if types.is_boolean(kind):
        return "truth values"
    numbers = types.is_integer(kind) or types.is_floating(kind)
    return "numbers" if numbers or types.is_decimal(kind) else "texts"
