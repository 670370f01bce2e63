"""What has been computed already, and what is still to do?

A figure is made of named tables of numbers. A study keeps each in a file as soon as it is complete, so that a run that
was interrupted goes on where it stopped, and the same seed gives the same files.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame

import astonish
from astonish.files import whole

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
        """The table of this name: from its file where there is one, else computed, kept and read back."""
        if self.folder is None:
            found = compute()
        else:
            path = self.folder / f"{name}.csv"
            if not path.exists():
                _keep(path, compute().to_csv(index=False))
            found = pd.read_csv(path, float_precision="round_trip")
        self.told(name)
        return found

    def open(self) -> bool:
        """Make the folder ready: numbers of other settings, or of another version of the code, are removed from it.

        True when there were such.
        """
        if self.folder is None:
            return False
        settings = json.dumps({"seed": self.seed, "quick": self.quick, "code": _code()}, indent=1)
        about = self.folder / "settings.json"
        stale = self.folder.exists() and (not about.exists() or about.read_text() != settings)
        if stale:
            for table in self.folder.glob("*.csv"):
                table.unlink()
        _keep(about, settings)
        return stale


def _keep(path: Path, text: str) -> None:
    with whole(path) as file:
        file.write(text.encode())


def _code() -> str:
    """A fingerprint of the library: numbers are trusted only if this code computed them."""
    root = Path(astonish.__file__).parent
    return sha256(b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))).hexdigest()[:16]
