"""Checkpoint: a folder from which a fit that was ended goes on.

Passes over a large table give sums of kilobytes, and all that follows from them is
computed the same way every time. So the folder holds what was drawn, what the search
has found and the sums of every pass: the next call takes them as they are and makes the
first pass that is missing. Files are JSON and npz, each written to another name first;
nothing in them is run.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray
from sorct.data.parts import Sums
from sorct.data.wording import shown
from sorct.solvers.solution import Solution, Status
from sorct.tree.files import write_bytes, write_text
from sorct.tree.params import Params

if TYPE_CHECKING:
    from sorct.search.log import Searched

_FORMAT = "sorct-checkpoint"
_BEGUN, _SEARCH = "begun.json", "search.json"


class Checkpoint:
    """A folder that belongs to one fit: one table, one call.

    Parameters
    ----------
    path : path of a folder, made where there is none
    identity : dict
        Plain data that tell this fit from others.
    seed : int
        Of the search; one that was begun before keeps its own.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: dict[str, Any], seed: int
    ) -> None:
        self._folder = Path(path)
        # As JSON has it: tuples are lists there.
        identity = json.loads(json.dumps(identity))
        begun = self._read(_BEGUN)
        if begun is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            begun = {"format": _FORMAT, "identity": identity, "seed": seed}
            write_text(json.dumps(begun), self._folder / _BEGUN)
        if begun.get("format") != _FORMAT:
            raise ValueError(f"{shown(str(path))} is no checkpoint of a fit.")
        if begun["identity"] != identity:
            changed = [
                key for key in identity if begun["identity"].get(key) != identity[key]
            ]
            raise ValueError(
                f"The checkpoint {shown(str(path))} belongs to another fit: "
                f"{', '.join(changed)} changed since it was begun. Delete the folder, "
                "or name another."
            )
        self.seed = int(begun["seed"])

    def _read(self, name: str) -> Any:
        file = self._folder / name
        if not file.exists():
            return None
        return json.loads(file.read_text(encoding="utf-8"))

    # -- arrays ----------------------------------------------------------------------

    def find_arrays(self, name: str) -> dict[str, AnyArray] | None:
        """Arrays that were kept under a name."""
        file = self._folder / f"{name}.npz"
        if not file.exists():
            return None
        with np.load(file, allow_pickle=False) as kept:
            return {key: kept[key] for key in kept.files}

    def keep_arrays(self, name: str, arrays: dict[str, AnyArray]) -> None:
        """Keep arrays under a name."""
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        write_bytes(file.getvalue(), self._folder / f"{name}.npz")

    def find_plain(self, name: str) -> Any:
        """Plain data that were kept under a name, or None."""
        return self._read(f"{name}.json")

    def keep_plain(self, name: str, data: Any) -> None:
        """Keep plain data under a name."""
        write_text(json.dumps(data), self._folder / f"{name}.json")

    # -- passes ----------------------------------------------------------------------

    def find(self, key: str) -> Sums | None:
        """Sums of a pass, if it was made before."""
        found = self.find_arrays(f"pass-{key}")
        return None if found is None else Sums(found)

    def keep(self, key: str, sums: Sums) -> None:
        """Keep the sums of a pass."""
        self.keep_arrays(f"pass-{key}", sums)

    # -- the search --------------------------------------------------------------------

    def find_search(self) -> Searched | None:
        """The search, if it was made before."""
        from sorct.search.log import Searched, StartResult

        kept = self._read(_SEARCH)
        if kept is None:
            return None
        starts = tuple(
            StartResult(**{**one, "status": Status(one["status"])})
            for one in kept["starts"]
        )
        return Searched(_solution(kept["best"]), starts, kept["ended"])

    def keep_search(self, searched: Searched) -> None:
        """Keep a search that has ended."""
        starts = [{**asdict(one), "status": str(one.status)} for one in searched.starts]
        data = {
            "best": _plain(searched.best),
            "starts": starts,
            "ended": searched.ended,
        }
        write_text(json.dumps(data), self._folder / _SEARCH)


def _plain(solution: Solution) -> dict[str, Any]:
    """A solution as plain data; numbers come back to the last bit."""
    data = {one.name: getattr(solution, one.name) for one in fields(solution)}
    params = {one.name: getattr(solution.params, one.name) for one in fields(Params)}
    data |= {"params": {name: _listed(value) for name, value in params.items()}}
    return {name: _listed(value) for name, value in data.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"shape": value.shape, "values": value.ravel().tolist()}
    return str(value) if isinstance(value, Status) else value


def _solution(data: dict[str, Any]) -> Solution:
    plain = {name: _array(value) for name, value in data.items()}
    params = {name: _array(value) for name, value in data["params"].items()}
    plain["params"] = replace(
        Params(**params), leaf_class=params["leaf_class"].astype(np.int64)
    )
    plain["status"] = Status(data["status"])
    plain["norms"] = tuple(data["norms"])
    return Solution(**plain)


def _array(value: Any) -> Any:
    if isinstance(value, dict) and "shape" in value:
        return np.array(value["values"]).reshape(value["shape"])
    return value
