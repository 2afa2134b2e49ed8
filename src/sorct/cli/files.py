"""Files: outputs are checked before any work and written whole or not at all.

A file that exists is replaced only if it is one that the same command wrote, or if
``--force`` is given; an input of the command never is.
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from sorct.cli.messages import WorkError
from sorct.tree.files import read_json, write_bytes

if TYPE_CHECKING:
    from sorct.tree.forest import Forest
    from sorct.tree.path import Path as TreePath
    from sorct.tree.tree import Tree

# As much of a file as tells who wrote it.
_HEAD = 4096
_GENERATOR = b'\n<meta name="generator" content="sorct">\n'
# The first lines of what the exporters write.
_KIND = rb"A (classification|regression) (tree|forest) as "
_SQL = re.compile(b"-- " + _KIND + rb"SQL for SQLite \(3\.35 or later\), DuckDB and ")
_PYTHON = re.compile(rb'"""' + _KIND + rb'a function, written by sorct\."""\r?\n')
_JAVASCRIPT = re.compile(b"// " + _KIND + rb"a function, written by sorct\. cut_t is ")
# A model of ONNX begins with the version of its format and the name of its producer.
_ONNX = re.compile(rb"\x08.\x12\x05sorct", re.DOTALL)


def _is_json(head: bytes, kind: str) -> bool:
    start = rb'(\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"%s"' % kind.encode()
    return re.match(start, head) is not None


# How a file of each kind is known by its beginning. A table may be anybody's.
_KNOWN: dict[str, Callable[[bytes], bool]] = {
    "model": lambda head: _is_json(head, "sorct-(tree|forest)"),
    "path": lambda head: _is_json(head, "sorct-path"),
    "report": lambda head: _GENERATOR in head.partition(b"<title>")[0],
    "model in SQL": lambda head: _SQL.match(head) is not None,
    "model in Python": lambda head: _PYTHON.match(head) is not None,
    "model in JavaScript": lambda head: _JAVASCRIPT.match(head) is not None,
    "model in ONNX": lambda head: _ONNX.match(head) is not None,
    "table": lambda head: False,
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
        out = cls.at(name, inputs)
        if not force:
            out.check_replaceable(name, kind, lambda path: _KNOWN[kind](_head_of(path)))
        return out

    @classmethod
    def at(cls, name: str | None, inputs: Sequence[str | None] = ()) -> Output:
        """Refuse a place that cannot be written to, and a file that is read."""
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
        return cls(path)

    def check_replaceable(
        self, name: str | None, kind: str, is_ours: Callable[[Path], bool]
    ) -> None:
        """Refuse to replace a file that is neither empty nor known as ours."""
        path = self.path
        if path is None or not path.is_file() or path.stat().st_size == 0:
            return
        if not is_ours(path):
            raise WorkError(
                f"{name} exists and is not a {kind} that sorct wrote; name another "
                "file, or add --force to replace it."
            )

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
        write_bytes(content, self.path)


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


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def read_model_file(name: str) -> Tree | TreePath | Forest:
    """Tree, path or forest of a file, told by its "format"."""
    from sorct.tree.forest import FORMAT as FOREST_FORMAT
    from sorct.tree.forest import Forest
    from sorct.tree.path import FORMAT as PATH_FORMAT
    from sorct.tree.path import Path as TreePath
    from sorct.tree.storage import FORMAT as TREE_FORMAT
    from sorct.tree.tree import Tree

    data = _read_json(name)
    given = data.get("format") if isinstance(data, dict) else None
    given = given if isinstance(given, str) else None
    readers: dict[Any, Callable[[Any], Tree | TreePath | Forest]] = {
        TREE_FORMAT: Tree.from_dict,
        PATH_FORMAT: TreePath.from_dict,
        FOREST_FORMAT: Forest.from_dict,
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
        return read_json(name, "file of sorct")
    except ValueError as error:
        raise WorkError(
            f"{error} Name a model or a path that sorct fit or sorct path wrote."
        ) from error


def read_model(args: Namespace) -> Tree | Forest:
    """Tree or forest of a model, or tree of a point of a path."""
    from sorct.tree.path import Path as TreePath

    found = read_model_file(args.model)
    if isinstance(found, TreePath):
        return tree_at(found, args)
    refuse_point(args)
    return found


def refuse_point(args: Namespace) -> None:
    """Refuse to choose a tree of a file that is no path."""
    for flag, given in (("--point", args.point), ("--relaxed", args.relaxed or None)):
        if given is not None:
            raise WorkError(f"{args.model} is a model, not a path; leave out {flag}.")


def tree_at(path: TreePath, args: Namespace) -> Tree:
    """Tree of a point of a path, points being numbered from 0 as in its table."""
    name: str = args.model
    point: int | None = args.point
    if point is None:
        raise WorkError(
            f"{name} is a path of {len(path)} trees; choose one with --point N "
            f"(sorct show {name} lists them)."
        )
    if not point < len(path):
        raise WorkError(
            f"{name} has {len(path)} trees, numbered from 0; there is no point {point}."
        )
    if args.relaxed and not path.relaxed:
        raise WorkError(
            f"{name} has no refitted trees; leave out --relaxed, or make the path "
            "without --no-relax."
        )
    trees = path.relaxed if args.relaxed else path.trees
    return trees[point]
