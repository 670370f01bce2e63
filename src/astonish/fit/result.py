"""What has a fit found, and how far is it to be trusted?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.blocks import with_parameters
from astonish.domain import Numbers
from astonish.fit.likelihood import Account, Model, Task, explain
from astonish.fit.space import Space
from astonish.precision import as_double, double
from astonish.run import OPTIONS
from astonish.table import Trials

if TYPE_CHECKING:
    from pandas import DataFrame

SURE = 1.959963984540054  # standard errors to either side of 95 % of a normal distribution


@dataclass(frozen=True)
class Fit:
    """Parameters of each participant, a row each, and what the model makes of their trials.

    places: where the search ended, on its own scale. curvature: the second derivatives of the loss there.
    shared: full names of parameters that have one value for all participants; it is repeated in each row.
    agreed: how many of the `starts` searches came to the same end. excluded: who could not be fitted, and why.
    expected: means and precisions of the priors on the scale of the search, a row each; a precision of 0 is no prior.
    """

    model: Model
    trials: Trials
    space: Space
    shared: tuple[str, ...]
    task: Task
    places: Numbers
    curvature: Numbers
    converged: NDArray[np.bool_]
    agreed: NDArray[np.intp]
    starts: int
    excluded: Mapping[str, str]
    expected: Numbers

    @cached_property
    def values(self) -> Numbers:
        """The parameters as people know them, a column each."""
        return self._known(self.places)

    @cached_property
    def spread(self) -> Numbers:
        """Standard errors on the scale of the search; NaN where the responses do not tell."""
        return _spread(self.curvature)

    @property
    def error(self) -> Numbers:
        """Standard errors of the values."""
        with double():
            return np.asarray(self.space.slopes(jnp.asarray(self.places))) * self.spread

    @property
    def low(self) -> Numbers:
        """The lower end of a 95 % interval, which is symmetric on the scale of the search."""
        return self._known(self.places - SURE * self.spread)

    @property
    def high(self) -> Numbers:
        """The upper end of it."""
        return self._known(self.places + SURE * self.spread)

    @cached_property
    def account(self) -> Account:
        """What the model makes of each trial, at these values."""
        with double():
            model, task, places = jax.tree.map(jnp.asarray, as_double((self.model, self.task, self.places)))
            return Account(*jax.device_get(_accounts(model, task, places, self.space, self.trials.before)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about each participant's fit; empty where all is well."""
        return tuple(_note(self.space, *each) for each in zip(self.places, self.spread, self.converged, strict=True))

    def _known(self, places: Numbers) -> Numbers:
        with double():
            return np.asarray(self.space.values(jnp.asarray(np.clip(places, -500.0, 500.0))))

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return short_names(self.space.names)

    @property
    def log_likelihood(self) -> Numbers:
        """Of all of a participant's responses."""
        return np.asarray(self.account.log_likelihood.sum(1))

    @property
    def responses(self) -> Numbers:
        """How many responses of each participant were explained."""
        return np.asarray(self.task.scored.sum(1), np.float64)

    @property
    def parameters(self) -> float:
        """How many were found for each participant; those that are shared are divided among them."""
        return len(self.space) - len(self.shared) * (1 - 1 / len(self.places))

    @property
    def aic(self) -> Numbers:
        """Akaike's (1974) criterion; less is better."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> Numbers:
        """Schwarz's (1978) criterion; less is better."""
        return self.parameters * np.log(self.responses) - 2 * self.log_likelihood

    @property
    def log_evidence(self) -> Numbers:
        """Of the responses, whatever the parameters, as far as the posterior is normal (Laplace's approximation).

        NaN without a prior for each free parameter, and where the posterior has no peak.
        """
        mean, precision = self.expected
        if not precision.all():
            return np.full(len(self.places), np.nan)
        prior = 0.5 * (np.log(precision) - precision * (self.places - mean) ** 2).sum(1)
        return self.log_likelihood + prior - 0.5 * _log_volume(self.curvature)

    def model_of(self, subject: str) -> Model:
        """The model with a participant's values."""
        row = self.trials.subjects.index(subject)
        model: Model = with_parameters(self.model, dict(zip(self.space.names, self.values[row], strict=True)))
        return model

    def table(self) -> "DataFrame":
        """A row for each participant and parameter."""
        from pandas import DataFrame

        people, count = self.values.shape
        return DataFrame({
            "participant": np.repeat(np.array(self.trials.subjects, object), count),
            "parameter": np.tile(np.array(self.names, object), people),
            "value": self.values.ravel(),
            "standard_error": self.error.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "note": np.repeat(np.array(self.notes, object), count),
        })  # fmt: skip

    def people(self) -> "DataFrame":
        """A row for each participant: how well the model explains the responses."""
        from pandas import DataFrame

        return DataFrame({
            "participant": list(self.trials.subjects),
            **{name: self.values[:, k] for k, name in enumerate(self.names)},
            "responses": self.responses.astype(int),
            "log_likelihood": self.log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
            "agreed": [f"{agreed} of {self.starts}" for agreed in self.agreed],
            "note": list(self.notes),
        })  # fmt: skip

    def __repr__(self) -> str:
        return str(self.people().to_string(index=False, float_format="{:.4g}".format))


@partial(jax.jit, static_argnums=(3, 4), compiler_options=OPTIONS)
def _accounts(model: Model, task: Task, places: Array, space: Space, before: bool) -> Account:
    return jax.vmap(lambda place, own: explain(space.put(model, place), own, before))(places, task)


def short_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without what they do not need to be told apart.

    >>> short_names(("learner.m", "learner.family.noise", "response.noise"))
    ('m', 'family.noise', 'response.noise')
    """

    def shortest(name: str) -> str:
        parts = name.split(".")
        endings = [".".join(parts[k:]) for k in range(len(parts) - 1, -1, -1)]
        return next(end for end in endings if sum(f".{other}".endswith(f".{end}") for other in names) == 1)

    return tuple(map(shortest, names))


def _spread(curvature: Numbers) -> Numbers:
    """Standard errors on the scale of the search; NaN where the loss does not rise in all directions."""
    spread = np.full(curvature.shape[:2], np.nan)
    for row, matrix in enumerate(curvature):
        if np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > 1e-8:
            spread[row] = np.sqrt(np.diagonal(np.linalg.inv(matrix)))
    return spread


def _log_volume(curvature: Numbers) -> Numbers:
    """The logarithm of the determinant; NaN where the loss does not rise in all directions."""
    risen = ~np.isnan(_spread(curvature)[:, 0])
    return np.where(risen, np.linalg.slogdet(np.where(risen[:, None, None], curvature, 1.0))[1], np.nan)


def _note(space: Space, place: Numbers, spread: Numbers, converged: bool) -> str:
    names = short_names(space.names)
    edges = space.at_bound(place)
    found = [
        f"{name} is at its {'lower' if edge < 0 else 'upper'} bound"
        for name, edge in zip(names, edges, strict=True)
        if edge
    ]
    if not converged:
        found.append("the search did not come to an end")
    elif not found and np.isnan(spread).any():
        found.append("the responses do not tell all parameters")
    elif not found and (spread > 5).any():
        found.append(f"the responses hardly tell {', '.join(np.array(names)[spread > 5])}")
    return "; ".join(found)
