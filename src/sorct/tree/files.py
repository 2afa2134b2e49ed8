"""Files: written whole or not at all, by any number of writers at once.

Text goes to a file of another name first, which then takes the place of the one asked
for. Such a file is named after its writer, so that two never share one, and so that
what a killed process left behind is known and taken away by the next writer.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sorct.data.wording import shown

_PARTIAL = ".partial"
# As much is looked at of a file that is not ours, and so much of its first line told.
_HEAD, _TOLD = 1024, 40


def write_json(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain data to a file, whole or not at all."""
    write_text(json.dumps(data, indent=1, allow_nan=False), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file as UTF-8, whole or not at all."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write bytes to a file, whole or not at all."""
    with replacing(Path(path)) as partial, partial.open("xb") as file:
        file.write(content)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of another once all is written."""
    if target.is_dir():
        raise IsADirectoryError(f"Expected the name of a file, got a folder: {target}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write to.")
    _clean(target)
    writer = f"{os.getpid()}-{secrets.token_hex(8)}"
    partial = target.with_name(f"{_stem(target)}{writer}{_PARTIAL}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _stem(target: Path) -> str:
    """How names of writers on this machine begin: a folder may be shared by several.

    Names of files are at most 255 bytes long.
    """
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:40]
    name = target.name.encode()[:120].decode(errors="ignore")
    return f".{name}.{host}-"


def _clean(target: Path) -> None:
    """Take away what writers of this file left behind that are no more."""
    begins, ends = re.escape(_stem(target)), re.escape(_PARTIAL)
    pattern = re.compile(rf"{begins}(\d+)-[0-9a-f]+{ends}")
    with suppress(OSError):
        for place in target.parent.iterdir():
            left = pattern.fullmatch(place.name)
            if left and not _is_alive(int(left.group(1))):
                place.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    """Whether a process runs; where that cannot be asked, it does."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def read_json(path: str | os.PathLike[str], kind: str) -> Any:
    """Plain data of a file that should hold a model or a path."""
    content = Path(path).read_bytes()
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a {kind}: expected JSON, got {_got(content, error)}."
        ) from error


def _got(content: bytes, error: Exception) -> str:
    """What a file holds that could not be read as JSON."""
    head = content[:_HEAD].decode("utf-8-sig", errors="replace").strip()
    if not head:
        return "an empty file; it may be truncated"
    if head[0] in "{[":
        return f"some that is damaged or truncated ({error})"
    return f"a file that begins with {shown(head.splitlines()[0], _TOLD)}"
