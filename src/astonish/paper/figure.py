"""What is a figure of the paper? A study whose results are tables, a drawing of them, and claims that they decide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from pandas import DataFrame

from astonish.core.numbers import double
from astonish.io.files import write_text
from astonish.paper.claims import Claim
from astonish.sweep.run import run_study
from astonish.sweep.study import Result, Setting, Study

if TYPE_CHECKING:
    import matplotlib.figure

Drawing: TypeAlias = "matplotlib.figure.Figure"  # imported when it is drawn: those who want tables do without
Tables = dict[str, DataFrame]


class RunSettings(NamedTuple):
    """The settings of a reproduction.

    seed: of all random numbers. quick: simulations are small, to see that they work. thorough: there are more walks.
    """

    seed: int = 1
    quick: bool = False
    thorough: bool = False

    @property
    def size(self) -> str:
        return "quick" if self.quick else "thorough" if self.thorough else ""


Simulation = Callable[[RunSettings], DataFrame | Tables]


def _simulated_tables(_: Study, results: Mapping[str, Result]) -> Tables:
    return {name: read_csv(np.asarray(text).tobytes()) for found in results.values() for name, text in found.items()}


@dataclass(frozen=True)
class Figure:
    """One figure.

    name: as people type it. caption: what it shows, in our words. study: what is to be computed. draw, claims: from the
    tables alone. tables: those in the results of the study, by name. thorough: whether it takes so long that it is made
    only if asked for, or in a thorough run.
    """

    name: str
    title: str
    caption: str
    study: Callable[[RunSettings], Study]
    draw: Callable[[Tables], Drawing]
    claims: Callable[[Tables], list[Claim]]
    tables: Callable[[Study, Mapping[str, Result]], Tables] = _simulated_tables
    thorough: bool = False

    @property
    def stem(self) -> str:
        """The name of its files, without their ending."""
        return f"figure{self.name}" if self.name.isdecimal() else self.name

    @property
    def label(self) -> str:
        """Its name as a heading."""
        return f"Figure {self.name}" if self.name.isdecimal() else self.name.capitalize()

    def compute(
        self,
        settings: RunSettings,
        folder: Path | None = None,
        progress: Callable[[float], Any] = lambda _: None,
        say: Callable[[str], Any] = lambda _: None,
    ) -> Tables:
        """The tables of the figure.

        folder: where results are stored, in a folder of the figure's own, and each table is written as CSV. Tables are
        read from their CSV, so that they are the same whether or not they were computed before.
        """
        study = self.study(settings)
        found = run_study(study, folder and folder / self.stem, recompute=True, progress=progress, say=say)
        for name, why in found.failed.items():
            raise RuntimeError(f"{self.label}: {name} failed:\n{why}")
        tables = {}
        for name, table in self.tables(study, found.results).items():
            text = table.to_csv(index=False)
            if folder is not None:
                write_text(folder / f"{self.stem}_{name}.csv", text)
            tables[name] = read_csv(text.encode())
        return tables


def simulated(simulations: Mapping[str, Simulation]) -> Callable[[RunSettings], Study]:
    """The study of a figure whose tables come from these simulations, in double precision; each is a setting of it.

    simulations: by name, which is also that of the table of a simulation that gives a single one.
    """

    def study(run: RunSettings) -> Study:
        settings = {name: {"simulation": name, **run._asdict()} for name in simulations}
        return Study(settings, partial(_simulate, simulations))

    return study


def _simulate(simulations: Mapping[str, Simulation], setting: Setting) -> Result:
    """The tables of a simulation, each as the bytes of its CSV."""
    name = setting["simulation"]
    with double():
        found = simulations[name](RunSettings(setting["seed"], setting["quick"], setting["thorough"]))
    tables = {name: found} if isinstance(found, DataFrame) else found
    return {each: np.frombuffer(table.to_csv(index=False).encode(), np.uint8) for each, table in tables.items()}


def read_csv(text: bytes) -> DataFrame:
    """A table with every digit as it was written; only an empty cell is NaN: a learner may be called "None"."""
    return pd.read_csv(BytesIO(text), keep_default_na=False, na_values=[""])


def wide(table: DataFrame, rows: str, columns: str | list[str], values: str) -> Any:
    """One column of a table, laid out by others."""
    return table.pivot(index=rows, columns=columns, values=values)
