"""Files: outputs are checked before any work and written whole or not at all.

A file that exists is replaced only if it is one that the same command wrote, or if
``--force`` is given; an input of the command never is.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from sorct.cli.messages import WorkError

if TYPE_CHECKING:
    from sorct.path import Path as TreePath
    from sorct.tree import Tree

_EDGE = 65_536


def _ends_with_predictions(head: bytes) -> bool:
    header = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    return re.search(r"(^|,)\"?prediction\"?(,\"?probability_.*)?$", header) is not None


# How a file of each kind is known, by its first and last bytes. A table that is not one
# of predictions may be anybody's.
_KNOWN: dict[str, Callable[[bytes, bytes], bool]] = {
    "model": lambda head, tail: b'"format": "sorct-tree"' in head,
    "path": lambda head, tail: b'"format": "sorct-path"' in head,
    "report": lambda head, tail: b"<html" in head and b"sorct" in tail,
    "table of predictions": lambda head, tail: _ends_with_predictions(head),
    "Parquet table of predictions": lambda head, tail: b"prediction" in tail,
    "export": lambda head, tail: b"sorct" in head,
    "table": lambda head, tail: False,
}


@dataclass(frozen=True)
class Output:
    """Where a result goes: a file of a kind, or standard output if there is none."""

    path: Path | None

    @classmethod
    def checked(
        cls,
        name: str | None,
        kind: str,
        *,
        force: bool = False,
        inputs: Sequence[str | None] = (),
    ) -> Output:
        """Refuse a place that cannot be written to, or a file not to be replaced."""
        if name is None or name == "-":
            return cls(None)
        path = Path(name)
        if path.is_dir():
            raise WorkError(
                f"{name} is a folder; expected the name of a file to write."
            )
        # A link stays, what it points to is replaced.
        path = Path(os.path.realpath(path))
        _check_writable(path, name)
        for given in inputs:
            if given and _is_same(path, Path(given)):
                raise WorkError(f"{name} is read here; write to another file.")
        if path.is_file() and not force and not _is_of_kind(path, kind):
            raise WorkError(
                f"{name} exists and is not a {kind} of sorct; name another file, or "
                "add --force to replace it."
            )
        return cls(path)

    def write_json(self, data: dict[str, Any]) -> None:
        """Write a model or a path, whole or not at all."""
        self.write(json.dumps(data, indent=1, allow_nan=False))

    def write(self, data: str | bytes) -> None:
        """Write whole or not at all; text is written as UTF-8."""
        if self.path is None:
            if isinstance(data, str):
                sys.stdout.write(data if data.endswith("\n") else data + "\n")
            else:
                sys.stdout.buffer.write(data)
            return
        content = data.encode("utf-8") if isinstance(data, str) else data
        if self.path.exists() and not self.path.is_file():
            # A device or a pipe must not be replaced by a file.
            self.path.write_bytes(content)
            return
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(content)
            partial.replace(self.path)
        finally:
            partial.unlink(missing_ok=True)


def _is_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def _check_writable(path: Path, name: str) -> None:
    """Refuse a folder in which no file can be made, and a device that takes nothing."""
    if path.exists() and not path.is_file():
        if not os.access(path, os.W_OK):
            raise WorkError(f"{name} cannot be written to; choose another.")
        return
    folder = path.parent
    if not folder.is_dir():
        raise WorkError(f"There is no folder {folder} for {name}; make it first.")
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WorkError(
            f"The folder {folder} cannot be written to ({error.strerror}); choose "
            "another."
        ) from error


def _is_of_kind(path: Path, kind: str) -> bool:
    content = path.read_bytes()
    return not content or _KNOWN[kind](content[:_EDGE], content[-_EDGE:])


def read_model_file(name: str) -> Tree | TreePath:
    """Tree or path of a file, told by its "format"."""
    from sorct.path import FORMAT as PATH_FORMAT
    from sorct.path import Path as TreePath
    from sorct.tree import Tree
    from sorct.tree_json import FORMAT as TREE_FORMAT

    data = _read_json(name)
    given = data.get("format") if isinstance(data, dict) else None
    readers: dict[Any, Callable[[Any], Tree | TreePath]] = {
        TREE_FORMAT: Tree.from_dict,
        PATH_FORMAT: TreePath.from_dict,
    }
    if given not in readers:
        raise WorkError(
            f"{name} is not a file of sorct: expected JSON with the format "
            f"{' or '.join(map(repr, readers))}, got {given!r}. Make one with "
            "sorct fit or sorct path."
        )
    try:
        return readers[given](data)
    except ValueError as error:
        raise WorkError(f"{name}: {error}") from error


def _read_json(name: str) -> Any:
    try:
        return json.loads(Path(name).read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WorkError(
            f"{name} is not a file of sorct: expected JSON ({error}). It may be "
            "another file, or truncated."
        ) from error


def read_tree(name: str, point: int | None) -> Tree:
    """Tree of a model, or of a point of a path."""
    from sorct.tree import Tree

    found = read_model_file(name)
    if isinstance(found, Tree):
        if point is not None:
            raise WorkError(f"{name} is a model, not a path; leave out --point.")
        return found
    return tree_at(found, point, name)


def tree_at(path: TreePath, point: int | None, name: str) -> Tree:
    """Tree of a point of a path, points being numbered from 0 as in its table."""
    if point is None:
        raise WorkError(
            f"{name} is a path of {len(path)} trees; choose one with --point N "
            f"(sorct show {name} lists them)."
        )
    if not point < len(path):
        raise WorkError(
            f"{name} has {len(path)} trees, numbered from 0; there is no point {point}."
        )
    return path.trees[point]
