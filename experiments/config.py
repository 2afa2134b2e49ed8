"""Config files of the experiments: read, and refused before anything is fitted."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.protocol import KINDS
from sorct import __version__, datasets
from sorct.estimators.alphas import checked_alphas
from sorct.estimators.checks import check_real, check_whole

FOLDER = Path(__file__).with_name("config")
PARTS = ("local", "global", "grid", "rivals", "selection")
_KEYS = {"kind": str, "datasets": list, "n_splits": int, "options": dict}


def _check_alphas(name: str, value: Any) -> None:
    checked_alphas(name, value)


def _check_positive(name: str, value: Any) -> None:
    check_real(name, value, "a finite number > 0", positive=True)


def _check_several_positive(name: str, value: Any) -> None:
    for one in value if isinstance(value, list) and value else [value]:
        check_real(name, one, "one or several finite numbers > 0", positive=True)


def _check_rate(name: str, value: Any) -> None:
    check_real(name, value, "a rate from 0 to 1")
    if value > 1:
        raise ValueError(f"{name} must be a rate from 0 to 1, got {value!r}.")


def _check_level(name: str, value: Any) -> None:
    if value not in ("first", "last"):
        raise ValueError(f'{name} must be "first" or "last", got {value!r}.')


_SWEEP = {
    "alphas_local": _check_alphas,
    "alphas_global": _check_alphas,
    "n_solutions": check_whole,
    "min_recall": _check_rate,
    "tol": _check_positive,
    "max_iter": check_whole,
    "reference_level": _check_level,
}
_OPTIONS = {
    "path": {**_SWEEP, "gamma": _check_positive},
    "rivals": {"reference_level": _check_level, "n_folds": check_whole},
    "selection": {**_SWEEP, "gamma": _check_several_positive, "n_folds": check_whole},
}
_OPTIONAL = {"tol", "max_iter", "min_recall"}


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
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} is not TOML: {error}.") from error
        missing, unknown = _KEYS.keys() - data.keys(), data.keys() - _KEYS.keys()
        if missing or unknown:
            raise ValueError(
                f"{file}: missing keys {sorted(missing)}, unknown {sorted(unknown)}."
            )
        for key, kind in _KEYS.items():
            if not isinstance(data[key], kind):
                raise ValueError(
                    f"{file}: {key} must be of type {kind.__name__}, as in the other "
                    f"configs, got {data[key]!r}."
                )
        config = cls(part, **{**data, "datasets": tuple(data["datasets"])})
        config.check()
        return config

    def limited(self, names: list[str] | None, n_splits: int | None) -> Config:
        """The same on fewer data sets or splits."""
        unknown = [name for name in names or () if name not in datasets.names()]
        if unknown:
            raise ValueError(f"Unknown data sets {unknown}.")
        kept = tuple(n for n in self.datasets if names is None or n in names)
        if not kept:
            raise ValueError(f"{self.part} has none of the data sets {names}.")
        n_splits = self.n_splits if n_splits is None else n_splits
        config = replace(self, datasets=kept, n_splits=n_splits)
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
        if not self.datasets or len(set(self.datasets)) < len(self.datasets):
            raise ValueError(
                f"{self.part}: expected data sets, each once, got {self.datasets}."
            )
        check_whole(f"{self.part}: n_splits", self.n_splits)
        self._check_options()

    def _check_options(self) -> None:
        known, given = _OPTIONS[self.kind], self.options
        odd = sorted(given.keys() - known.keys())
        if odd:
            raise ValueError(
                f"{self.part}: unknown options {odd}; expected some of {sorted(known)}."
            )
        missing = sorted(known.keys() - given.keys() - _OPTIONAL)
        if missing:
            raise ValueError(f"{self.part}: missing options {missing}.")
        for name, check in known.items():
            if name in given:
                check(f"{self.part}: {name}", given[name])

    @property
    def units(self) -> list[tuple[str, int]]:
        """Data sets and numbers of splits: what is fitted in one go."""
        return [(name, k) for name in self.datasets for k in range(self.n_splits)]

    @property
    def key(self) -> str:
        """Changes with the config and with the version of the library.

        Who changes the library's code between versions removes the units.
        """
        plain = {**asdict(self), "version": __version__}
        plain.pop("datasets")
        plain.pop("n_splits")
        text = json.dumps(plain, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
