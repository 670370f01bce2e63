"""How does the mean of a parameter depend on groups and covariates? The design matrix of a linear model.

Its first column is 1, so that the first coefficient is the mean over groups at the mean of all covariates. Covariates
are standardised. Groups have one column less than there are groups, made such that effects of groups add up to zero and
none of them is special: all have the same prior (Rouder, Morey, Speckman & Province 2012).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from astonish.core.domain import FloatArray
from astonish.people.fit.space import effects
from astonish.people.tables import Trials
from astonish.people.tables.cells import in_order


@dataclass(frozen=True)
class Design:
    """What is known of participants, as a matrix with a row for each.

    groups: their labels, in order. covariates: their names, with mean and standard deviation of each.
    """

    matrix: FloatArray
    groups: tuple[Any, ...]
    covariates: dict[str, tuple[float, float]]

    @property
    def columns(self) -> int:
        """How many coefficients each mean has."""
        return int(self.matrix.shape[1])

    @property
    def means(self) -> dict[str, FloatArray]:
        """By group, the weights of the coefficients whose sum is the group's mean; of all, without groups."""
        if not self.groups:
            return {"": np.eye(self.columns)[0]}
        codes = np.pad(effects(len(self.groups)), ((0, 0), (0, len(self.covariates))))
        return {str(label): np.append(1.0, own) for label, own in zip(self.groups, codes, strict=True)}

    @property
    def contrasts(self) -> dict[str, FloatArray]:
        """By name, weights of coefficients: differences between groups, and what one unit of a covariate does."""
        pairs = combinations(self.means.items(), 2) if self.groups else ()
        found = {f"{one} - {other}": own - others for (one, own), (other, others) in pairs}
        first = self.columns - len(self.covariates)
        for k, (name, (_, std)) in enumerate(self.covariates.items()):
            found[f"per unit of {name}"] = np.eye(self.columns)[first + k] / std
        return found


def design_of(trials: Trials) -> Design:
    """The design of these participants, with their groups and covariates, as far as any are known."""
    parts = [np.ones((len(trials), 1))]
    groups: tuple[Any, ...] = ()
    if trials.group is not None:
        groups = in_order(set(trials.group))
        parts.append(effects(len(groups))[[groups.index(label) for label in trials.group]])
    scales = {name: (float(values.mean()), float(values.std())) for name, values in trials.covariates.items()}
    for name, (mean, std) in scales.items():
        if std == 0:
            raise ValueError(f"{name} is {mean:g} for everybody who can be fitted; leave it out")
        parts.append((trials.covariates[name] - mean)[:, None] / std)
    matrix = np.concatenate(parts, axis=1)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise ValueError("groups and covariates cannot be told apart, for some of them determine others; leave one out")
    return Design(matrix, groups, scales)
