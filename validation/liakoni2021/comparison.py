"""Are the published errors and ours the same, but for chance?

On the authors' own series, chance plays no part, except in a learner that draws numbers itself. On others, both errors
are means over ten series, independent of each other. How much such a mean varies is estimated from how much the errors
in parts of our series differ, for there are many more parts than series; theirs is taken to vary as much.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pandas import DataFrame, concat

from astonish.paper.figure import FAILS, HOLDS, IN_PART, Claim, Tables
from validation.liakoni2021.published import WORLD
from validation.liakoni2021.series import SERIES, STEPS

FAR = 3.0  # standard errors
TARGET = 0.98
PLACE = "Liakoni et al. 2021, Fig. 3"


def compare(theirs: DataFrame, ours: Mapping[str, tuple[DataFrame, DataFrame]], steps: int) -> DataFrame:
    """A row per learner and world: the published error, ours, and the difference in standard errors (z).

    ours: for each learner, the errors in parts, of so many `steps`, of other series, and those in the authors' series.
    """
    return concat([_compare(theirs[theirs.learner == name], *tables, steps) for name, tables in ours.items()])


def _compare(theirs: DataFrame, ours: DataFrame, same: DataFrame, steps: int) -> DataFrame:
    parts = ours.groupby(WORLD).error.agg(["mean", "std", "size"]).reset_index()
    both = theirs.merge(parts).merge(same.groupby(WORLD).error.mean().rename("same").reset_index())
    standard_error = both["std"] * np.sqrt(1 / both["size"] + steps / (SERIES * STEPS))
    return both[["learner", *WORLD]].assign(
        theirs=both.error,
        standard_error=standard_error,
        ours=both["mean"],
        z=(both["mean"] - both.error) / standard_error,
        same=both.same,
        z_same=(both.same - both.error) / standard_error,
    )


def claims(tables: Tables) -> list[Claim]:
    """One for each learner on the authors' series, and one for all of them on others."""
    table = tables["comparison"]
    return [*(_same(rows) for rows in _by_learner(table)), _others(table)]


def _same(rows: DataFrame) -> Claim:
    held = near(rows.z_same) / len(rows)
    relative = (rows.same / rows.theirs - 1).abs().max()
    return Claim(
        f"liakoni2021.{rows.learner.iloc[0]}",
        PLACE,
        f"{rows.learner.iloc[0]} has the published errors on the authors' series, in all {len(rows)} worlds.",
        f"mean squared errors from {rows.theirs.min():.3g} to {rows.theirs.max():.3g}",
        f"{near(rows.z_same)} of {len(rows)} within {FAR:g} standard errors, the farthest {_farthest(rows, 'z_same')}; "
        f"relative difference at most {relative:.2g}",
        HOLDS if held == 1 else IN_PART if held >= 0.5 else FAILS,
        "Only a learner's first steps, rounding, hypotheses left out and chance of its own make a difference.",
    )


def _others(table: DataFrame) -> Claim:
    held = near(table.z) / len(table)
    return Claim(
        "liakoni2021.other-series",
        PLACE,
        "On other series, too, the errors are those published.",
        f"{len(table)} mean squared errors",
        f"{near(table.z)} of {len(table)} ({held:.1%}) within {FAR:g} standard errors, the farthest "
        f"{_farthest(table, 'z')}",
        HOLDS if held >= TARGET else IN_PART if held >= 0.9 else FAILS,
        f"Counted as the same from {TARGET:.0%} on; exceptions come in groups, as all learners see the same series.",
    )


def _by_learner(table: DataFrame) -> list[DataFrame]:
    return [table[table.learner == learner] for learner in table.learner.unique()]


def near(z: Any) -> int:
    """How many differences can be put down to chance."""
    return int((np.abs(z) < FAR).sum())


def _farthest(rows: DataFrame, z: str) -> str:
    row = rows.iloc[int(rows[z].abs().argmax())]
    return f"{row[z]:+.2f} ({row.learner} at sigma = {row.sigma:g}, hazard = {row.hazard:g})"


def as_text(tables: Tables) -> str:
    """The whole comparison, for people: every number, then how many agree, then what does not."""
    table = tables["comparison"]
    far = table[~((table.z.abs() < FAR) & (table.z_same.abs() < FAR))]
    return "\n".join([
        _lines(table),
        "",
        f"Within {FAR:g} standard errors of the published error, on other series and on the authors':",
        *(_share(rows.learner.iloc[0], rows) for rows in _by_learner(table)),
        f"{_share('all', table)}   (aimed at: {TARGET:.0%})",
        *(["Outside:", _lines(far), WHY] if len(far) else []),
    ])  # fmt: skip


WHY = (
    "What is far off on other series, but not on the authors', is so by chance: their series happen to differ from "
    "ours. As all learners see the same series, several of them may be off together."
)


def _share(name: str, rows: DataFrame) -> str:
    z, same = near(rows.z), near(rows.z_same)
    return f"{name:12}{z:4} of {len(rows)}{z / len(rows):9.1%}{same:8} of {len(rows)}{same / len(rows):9.1%}"


def _lines(table: DataFrame) -> str:
    head = f"{'learner':12}{'sigma':>6}{'hazard':>8}{'published':>11}{'ours':>11}{'z':>7}{'same series':>13}{'z':>7}"
    z, z_same = (table[name].round(2) + 0.0 for name in ("z", "z_same"))  # without the sign of zero
    return "\n".join([
        head,
        *(
            f"{r.learner:12}{r.sigma:6g}{r.hazard:8g}{r.theirs:11.4g}{r.ours:11.4g}{r.z:7.2f}{r.same:13.4g}{r.z_same:7.2f}"
            for r in table.assign(z=z, z_same=z_same).itertuples()
        ),
    ])  # fmt: skip
