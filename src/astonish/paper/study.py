"""What has been computed already, and what is still to do?

A figure is made of named tables of numbers. A study keeps each in a file as soon as it is complete, so that a run that
was interrupted goes on where it stopped, and the same seed gives the same files.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame

from astonish.files import whole
from astonish.sweep.made import code as _code

Numbers = dict[str, DataFrame]


def _silent(done: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class Study:
    """The settings of a run, and the folder in which its numbers are kept (nowhere when there is none).

    quick: small versions of everything, to see that it works. told: is called with the name of every finished table.
    """

    seed: int = 1
    quick: bool = False
    folder: Path | None = None
    told: Callable[[str], Any] = field(default=_silent, compare=False)

    def table(self, name: str, compute: Callable[[], DataFrame]) -> DataFrame:
        """The table of this name: from its file where there is one, else computed, kept and read back.

        Without a folder it is read back all the same, so that whoever draws it never sees another kind of table.
        """
        if self.folder is None:
            found = _read(StringIO(compute().to_csv(index=False)))
        else:
            path = self.folder / f"{name}.csv"
            if not self.has(name):
                _keep(path, compute().to_csv(index=False))
            found = _read(path)
        self.told(name)
        return found

    def tables(self, names: Sequence[str], compute: Callable[[], Numbers]) -> Numbers:
        """Tables that are computed together, once any of them is missing."""
        made: Numbers = {}

        def make(name: str) -> DataFrame:
            if not made:
                made.update(compute())
            return made[name]

        return {name: self.table(name, partial(make, name)) for name in names}

    def has(self, name: str) -> bool:
        """Whether the table of this name is kept already."""
        return self.folder is not None and (self.folder / f"{name}.csv").is_file()

    def open(self) -> bool:
        """Make the folder ready: numbers of other settings, or of another version of the code, are removed from it.

        True when there were such. Tables that no study wrote are somebody's work, and the folder is refused.
        """
        if self.folder is None:
            return False
        settings = json.dumps({"astonish": _code(), "seed": self.seed, "quick": self.quick}, indent=1)
        about = self.folder / "settings.json"
        tables = list(self.folder.glob("*.csv"))
        before = about.read_text(errors="replace") if about.exists() else ""
        if tables and '"astonish"' not in before:
            raise FileExistsError(f"{self.folder} holds tables of others, such as {tables[0].name}; give a new folder")
        stale = before != settings
        for file in (*self.folder.glob(".*.csv.*"), *(tables if stale else ())):  # what a killed run left, too
            file.unlink()
        _keep(about, settings)
        return stale and bool(tables)


def _read(source: Path | StringIO) -> DataFrame:
    """Every digit as it was written, and only an empty cell is NaN: a learner may be called "None"."""
    return pd.read_csv(source, keep_default_na=False, na_values=[""])


def _keep(path: Path, text: str) -> None:
    with whole(path) as file:
        file.write(text.encode())
