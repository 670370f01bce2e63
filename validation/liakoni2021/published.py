"""Which errors were published, and with which parameters?

In Figure 3 of Liakoni, Modirshanechi, Gerstner & Brea (2021). One table holds the errors of exact Bayes, each of the
others those of a learner minus these; all are means over ten series of 100000 steps. Parameters are those that the
authors found best for each noise and hazard.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pandas import DataFrame, concat, read_csv

SOURCE = "https://github.com/vassiaL/pub-liakonimodirshanechi2021-NC"
PARAMETERS = "optimal_parameters.json"
NEEDED = (
    f"liakoni2021 needs a folder with gaussian/gaussian_heatmap_*.csv and {PARAMETERS}, given with --data; the numbers "
    f"are in the authors' repository, {SOURCE} (MIT licence), and docs/liakoni2021.md says where"
)
EXACT = "exact Bayes"
WORLD = ["sigma", "hazard"]
LEAST_HAZARD = 0.005  # below it the authors' series are ten times as long


class Source(NamedTuple):
    """What the authors call a learner: in the names of tables, and in the list of parameters, if it has one."""

    table: str
    parameters: str | None = None


SOURCES: Mapping[str, Source] = {
    EXACT: Source("bayesfilter"),
    "MP10": Source("diff_gsor10"),
    "pf20": Source("diff_pf20"),
    "Nas12*": Source("diff_gnassarNatN", "gaussian_gnassar12"),
    "Nas10*": Source("diff_gnassarJN", "gaussian_gnassar10"),
    "VarSMiLe": Source("diff_smileextended", "gaussian_varsmile"),
    "SMiLe": Source("diff_smileOriginal", "gaussian_smileOriginal"),
    "leaky": Source("diff_leaky", "gaussian_leaky"),
}


def read(folder: Path) -> DataFrame:
    """A row per learner, noise (sigma) and hazard: its parameter, NaN where it has none to choose, and its error."""
    chosen = _parameters(folder / PARAMETERS)
    exact = _table(folder, SOURCES[EXACT].table).rename(columns={"error": "exact"})
    rows = []
    for learner, source in SOURCES.items():
        more = exact[WORLD].assign(error=0.0) if learner == EXACT else _table(folder, source.table)
        parameters = chosen[source.parameters] if source.parameters else exact[WORLD].assign(parameter=float("nan"))
        both = exact.merge(more, how="left").merge(parameters, how="left")
        if both.error.isna().any() or (source.parameters and both.parameter.isna().any()):
            raise ValueError(f"{folder} does not tell {learner}'s error for every sigma and hazard. {NEEDED}")
        rows.append(both[[*WORLD, "parameter"]].assign(learner=learner, error=both.exact + both.error))
    return concat(rows, ignore_index=True)


def _table(folder: Path, name: str) -> DataFrame:
    path = folder / "gaussian" / f"gaussian_heatmap_{name}.csv"
    try:
        table = read_csv(path, sep=" ", names=[*WORLD, "error"], skiprows=1, dtype=float)
    except (OSError, ValueError) as problem:
        raise ValueError(_unreadable(path, problem)) from None
    table = table[table.hazard >= LEAST_HAZARD]
    if table.empty:
        raise ValueError(f"{path} holds no error at a hazard of {LEAST_HAZARD} or more. {NEEDED}")
    return table


def _parameters(path: Path) -> dict[str, DataFrame]:
    try:
        lists = json.loads(path.read_text())
        names = [source.parameters for source in SOURCES.values() if source.parameters]
        return {name: DataFrame(lists[name], columns=[*WORLD, "parameter"], dtype=float) for name in names}
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise ValueError(_unreadable(path, problem)) from None


def _unreadable(path: Path, problem: Exception) -> str:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return f"there is no file {path}. {NEEDED}"
    return f"{path} cannot be read ({' '.join(str(problem).split())}). {NEEDED}"
