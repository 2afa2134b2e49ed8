"""Config files of the experiments: read, and refused before anything is fitted."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.protocol import KINDS
from sorct import datasets

FOLDER = Path(__file__).with_name("config")
PARTS = ("local", "global", "grid", "rivals", "selection")
_PATH_OPTIONS = frozenset(
    {
        "alphas_local", "alphas_global", "n_solutions", "min_recall", "gamma", "tol",
        "max_iter", "reference_level",
    }
)  # fmt: skip
_OPTIONS = {
    "path": _PATH_OPTIONS,
    "rivals": frozenset({"reference_level", "n_folds"}),
    "selection": (_PATH_OPTIONS - {"gamma"}) | {"n_folds", "gammas"},
}


@dataclass(frozen=True)
class Config:
    """One experiment: what is fitted on which splits of which data sets."""

    part: str
    kind: str
    datasets: tuple[str, ...]
    n_splits: int
    options: dict[str, Any]

    @classmethod
    def read(cls, part: str, folder: Path = FOLDER) -> Config:
        """Read and check the config file of a part."""
        file = folder / f"{part}.toml"
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ValueError(f"There is no config file {file}.") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{file} is not TOML: {error}.") from error
        missing = {"kind", "datasets", "n_splits", "options"} - set(data)
        unknown = set(data) - {"kind", "datasets", "n_splits", "options"}
        if missing or unknown:
            raise ValueError(
                f"{file}: missing keys {sorted(missing)}, unknown {sorted(unknown)}."
            )
        config = cls(
            part,
            data["kind"],
            tuple(data["datasets"]),
            data["n_splits"],
            data["options"],
        )
        config.check()
        return config

    def limited(self, names: list[str] | None, n_splits: int | None) -> Config:
        """The same on fewer data sets or splits."""
        kept = tuple(n for n in self.datasets if names is None or n in names)
        config = replace(self, datasets=kept, n_splits=n_splits or self.n_splits)
        config.check()
        return config

    def check(self) -> None:
        """Refuse what could not run, naming it."""
        if self.kind not in KINDS:
            raise ValueError(
                f"{self.part}: kind must be one of {sorted(KINDS)}, got {self.kind!r}."
            )
        unknown = [name for name in self.datasets if name not in datasets.names()]
        if unknown:
            raise ValueError(f"{self.part}: unknown data sets {unknown}.")
        if not isinstance(self.n_splits, int) or self.n_splits < 1:
            raise ValueError(
                f"{self.part}: n_splits must be a whole number >= 1, "
                f"got {self.n_splits!r}."
            )
        odd = sorted(set(self.options) - _OPTIONS[self.kind])
        if odd:
            raise ValueError(
                f"{self.part}: unknown options {odd}; expected some of "
                f"{sorted(_OPTIONS[self.kind])}."
            )
        if self.options.get("reference_level") not in ("first", "last"):
            raise ValueError(
                f'{self.part}: reference_level must be "first" or "last", '
                f"got {self.options.get('reference_level')!r}."
            )

    @property
    def units(self) -> list[tuple[str, int]]:
        """Data sets and numbers of splits: what is fitted in one go."""
        return [(name, k) for name in self.datasets for k in range(self.n_splits)]

    @property
    def key(self) -> str:
        """Changes with anything that changes a unit's rows."""
        plain = asdict(self)
        plain.pop("datasets")
        plain.pop("n_splits")
        text = json.dumps(plain, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
