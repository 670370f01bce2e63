"""Which model predicts best what it was not fitted to?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.domain import Domain, Numbers
from astonish.fit.compare import baseline_of, differences, shares_of, winners
from astonish.fit.held_out import HeldOut
from astonish.fit.selection import select

if TYPE_CHECKING:
    from pandas import DataFrame

DOUBTFUL = 0.7  # Pareto's k beyond which importance weights are not to be trusted (Vehtari et al. 2024)


def compare_elpd(elpd: Mapping[str, HeldOut | Any], baseline: str | None = None) -> "DataFrame":
    """Compare models by how well they predict what they were not fitted to.

    elpd: by the names of models, what `held_out` or `psis_loo` gives; or numbers from elsewhere: a row for each
    participant and a column for each trial (NaN where there is none), or one number for each participant. More is
    better.

    The columns: `elpd`, the sum of all; `difference`, to that of the baseline (the first model if left out), with its
    standard error over participants; the others as in `compare_fits`, with these predictions as evidence. A few
    responses of which a model was all too sure may outweigh all others in a sum: look at `better` as well. Of
    `psis_loo`, `doubtful` is the share of predictions that are not to be trusted.

    >>> compare_elpd({"one": [-3.0, -4.0, -6.0], "other": [-4.0, -6.0, -6.5]})[["elpd", "difference", "best"]]
           elpd  difference  best
    one   -13.0         0.0     3
    other -16.5        -3.5     0
    """
    from pandas import DataFrame

    names, baseline = list(elpd), baseline_of(elpd, baseline)
    each = _each(elpd)
    place, shares = names.index(baseline), select(each)
    columns = {
        "elpd": each.sum(0),
        **differences(each, place, np.sum),
        **winners(each, place),
        **shares_of(shares),
    }
    if any(_trust(part) is not None for part in elpd.values()):
        columns["doubtful"] = np.array([_doubtful(_trust(part)) for part in elpd.values()])
    return DataFrame(columns, names)


def _each(elpd: Mapping[str, Any]) -> Numbers:
    """A row for each participant, a column for each model."""
    _check_same_people({name: part.subjects for name, part in elpd.items() if isinstance(part, HeldOut)})
    read = {name: _numbers(name, part) for name, part in elpd.items()}
    first, *others = read
    there = {name: [np.flatnonzero(~np.isnan(row)).tolist() for row in part] for name, part in read.items()}
    for name in others:
        if there[name] != there[first]:
            counts = [sum(map(len, there[which])) for which in (first, name)]
            raise ValueError(
                f"{first} predicts {counts[0]} responses, and {name} {counts[1]} or others; "
                "give predictions of the same ones"
            )
    return np.stack([np.nansum(part, axis=1) for part in read.values()], 1)


def _trust(part: Any) -> Numbers | None:
    return part.pareto_k if isinstance(part, HeldOut) else None


def _doubtful(trust: Numbers | None) -> float:
    return float("nan") if trust is None else float((trust[~np.isnan(trust)] > DOUBTFUL).mean())


def _check_same_people(subjects: Mapping[str, tuple[str, ...]]) -> None:
    for name, who in subjects.items():
        first, known = next(iter(subjects.items()))
        if who != known:
            odd = sorted({*who} ^ {*known}) or who
            raise ValueError(
                f"{first} and {name} differ in participant {odd[0]}; give both the same participants, by only(...)"
            )


def _numbers(name: str, part: Any) -> Numbers:
    values = np.asarray(part.log_likelihood if isinstance(part, HeldOut) else part, np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; give a row for each participant, a column for each trial")
    Domain().check(name, values[~np.isnan(values)])
    return values[:, None] if values.ndim == 1 else values
