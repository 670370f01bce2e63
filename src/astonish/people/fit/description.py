"""What are the parameters of these people like, taken together?"""

from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.result import Fit
from astonish.people.tables.cells import in_order


def describe(fit: Fit) -> DataFrame:
    """A row for each parameter, of participants who have one of their own.

    n: participants. mean, sd, median, q25, q75: of their values; mean and sd without those that grow without end.
    at_bound: how many are at a bound; unfinished: how many searches did not end.
    """
    edges, endless, rows = *_edges(fit), []
    for k, name in enumerate(fit.names):
        shared = fit.space.names[k] in fit.shared
        those = slice(1) if shared else slice(None)
        about = {"parameter": f"{name} (shared)" if shared else name}
        rows.append(about | _summary(fit.values[those, k], edges[those, k], endless[those, k], fit.converged))
    return DataFrame(rows)


def describe_groups(fit: Fit) -> DataFrame:
    """The same for each group of participants; empty if no groups are known."""
    if fit.trials.group is None:
        return DataFrame()
    edges, endless, rows = *_edges(fit), []
    for k, name in enumerate(fit.names):
        for label in in_order(set(fit.trials.group)) if fit.space.names[k] not in fit.shared else ():
            here = np.array([own == label for own in fit.trials.group])
            about = {"parameter": name, "group": str(label)}
            rows.append(about | _summary(fit.values[here, k], edges[here, k], endless[here, k], fit.converged[here]))
    return DataFrame(rows)


def _edges(fit: Fit) -> tuple[FloatArray, BoolArray]:
    return fit.space.at_bound(fit.unconstrained), fit.space.endless(fit.unconstrained)


def _summary(values: FloatArray, edges: FloatArray, endless: BoolArray, converged: BoolArray) -> dict[str, Any]:
    q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75])
    finite = values[~endless]
    return {
        "n": len(values),
        "mean": finite.mean() if len(finite) else np.nan,
        "sd": finite.std(ddof=1) if len(finite) > 1 else np.nan,
        "median": median,
        "q25": q25,
        "q75": q75,
        "at_bound": int((edges != 0).sum()),
        "unfinished": int((~converged).sum()),
    }


def correlations(fit: Fit) -> DataFrame:
    """Of parameters over participants, by ranks (Spearman 1904), so that values at a bound do not outweigh all others.

    Strong ones may be people's, or a fault of the model: see what `recover_parameters` finds.
    """
    own = [k for k, name in enumerate(fit.space.names) if name not in fit.shared]
    names = [fit.names[k] for k in own]
    return DataFrame(fit.values[:, own], columns=names).corr(method="spearman")
