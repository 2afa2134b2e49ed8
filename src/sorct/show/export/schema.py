"""Schema: the published description of the files that ``to_json`` writes."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from sorct.data.wording import shown

_KINDS = ("tree", "path", "forest")


def json_schema(kind: str = "tree") -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the file of a tree, a path or a forest.

    Parameters
    ----------
    kind : {"tree", "path", "forest"}, default="tree"

    Returns
    -------
    dict
        For any validator, such as the package ``jsonschema``. A file that is valid may
        still be refused by ``Tree.from_json``, which also compares sizes.
    """
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"kind must be one of {_KINDS}, got {shown(kind)}.")
    # The parts of a tree are written once, and stand in every schema.
    return {**_read(kind), "$defs": _read("tree")["$defs"]}


def _read(kind: str) -> dict[str, Any]:
    file = resources.files("sorct.show.export") / f"{kind}.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema
