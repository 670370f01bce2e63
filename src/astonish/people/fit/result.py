"""The result of a fit: parameters of each participant, standard errors, criteria, notes, and tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from pandas import DataFrame

from astonish.core.numbers import BoolArray, FloatArray, as_double, double
from astonish.core.programs import compiled
from astonish.learners.base import failed
from astonish.models.parameters import short_names
from astonish.online.series import OPTIONS
from astonish.people.fit.likelihood import Model, ParticipantData, TrialOutputs, evaluate
from astonish.people.fit.search import SAME
from astonish.people.fit.space import Space, in_words
from astonish.people.tables import Trials

TRIAL_COLUMNS = ("expected_response", "log_likelihood", "fitted_learning_rate", "fitted_surprise")
SURE = 1.959963984540054  # standard errors to either side of 95 % of a normal distribution


@dataclass(frozen=True)
class Fit:
    """Parameters of each participant, a row each, and what the model computes for their trials.

    Attributes:
        unconstrained: The parameters on the unconstrained scale.
        hessian: The second derivatives of the loss there.
        shared: Full names of parameters that have one value for all participants; it is repeated in each row.
        converged: Whether, at last, nothing better was seen: neither by the search nor along the profile of any
            parameter.
        starts_at_optimum: How many of the `starts` searches came to this end, or within 0.01 of its log-likelihood (if
            parameters are shared, how many of the searches for these).
        second_optimum: Another optimum that is as good, NaN where none is known.
        excluded: Who could not be fitted, and why.
        prior: Means and precisions of the priors on the unconstrained scale, by participant and parameter; a precision
            of 0 is no prior.
    """

    model: Model
    trials: Trials
    space: Space
    shared: tuple[str, ...]
    data: ParticipantData
    unconstrained: FloatArray
    hessian: FloatArray
    converged: BoolArray
    starts_at_optimum: NDArray[np.intp]
    second_optimum: FloatArray
    starts: int
    excluded: Mapping[str, str]
    prior: FloatArray

    @cached_property
    def values(self) -> FloatArray:
        """The values of the parameters, a column each."""
        return self.space.constrained(self.unconstrained)

    @cached_property
    def unconstrained_error(self) -> FloatArray:
        """Standard errors on the unconstrained scale; NaN where the loss does not rise in all directions."""
        errors = np.full(self.hessian.shape[:2], np.nan)
        for row, matrix in enumerate(self.hessian):
            if np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > 1e-8:
                errors[row] = np.sqrt(np.diagonal(np.linalg.inv(matrix)))
        return errors

    @property
    def error(self) -> FloatArray:
        """Standard errors of the values."""
        with double():
            slopes = np.asarray(self.space.derivatives(jnp.asarray(self.unconstrained)))
        return np.abs(slopes) * self.unconstrained_error

    @property
    def low(self) -> FloatArray:
        """The lower end of a 95 % interval, which is symmetric on the unconstrained scale."""
        return np.minimum(*self._ends())

    @property
    def high(self) -> FloatArray:
        """The upper end of it."""
        return np.maximum(*self._ends())

    def _ends(self) -> tuple[FloatArray, FloatArray]:
        half = SURE * self.unconstrained_error  # below an upper bound, the ends change places
        return self.space.constrained(self.unconstrained - half), self.space.constrained(self.unconstrained + half)

    @cached_property
    def outputs(self) -> TrialOutputs:
        """What the model computes for each trial, at these values."""
        with double():
            given = as_double((self.model, self.data, self.unconstrained))
            return TrialOutputs(*jax.device_get(_outputs(*given, self.space, self.trials.responds_before)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about each participant's fit; empty where all is well."""
        names, notes = self.names, []
        others, errors = self.space.constrained(self.second_optimum), self.unconstrained_error
        edges, endless = self.space.at_bound(self.unconstrained), self.space.endless(self.unconstrained)
        for row, error in enumerate(errors):
            note = []
            for name, edge, has_no_end in zip(names, edges[row], endless[row], strict=True):
                if edge and has_no_end:
                    note.append(f"{name} {'grows' if edge > 0 else 'falls'} without end")
                elif edge:
                    note.append(f"{name} is at its {'lower' if edge < 0 else 'upper'} bound")
            if not self.converged[row]:
                note.append("the search did not end")
            elif not note and np.isnan(error).any():
                note.append("the responses do not tell all parameters")
            elif not note and (error > 5).any():
                note.append(f"the responses hardly tell {', '.join(np.array(names)[error > 5])}")
            if np.isfinite(others[row]).all():
                values = ", ".join(f"{name} = {x:.3g}" for name, x in zip(names, others[row], strict=True))
                note.append(f"another optimum is as good ({values}; difference < {SAME:g})")
            if self.outputs.failed is not None and (count := int(np.sum(self.outputs.failed[row]))):
                note.append(failed(self.model.learner, count))
            notes.append("; ".join(note))
        return tuple(notes)

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return short_names(self.space.names)

    @property
    def log_likelihood(self) -> FloatArray:
        """Of all of a participant's responses."""
        return np.asarray(self.outputs.log_likelihood.sum(1))

    @property
    def responses(self) -> FloatArray:
        """How many responses of each participant were explained; of two in a trial, both."""
        seconds = 0 if self.data.second is None else self.data.second_scored.sum(1)
        return np.asarray(self.data.scored.sum(1) + seconds, np.float64)

    @property
    def parameters(self) -> float:
        """How many were found for each participant; those that are shared are divided among them."""
        return len(self.space) - len(self.shared) * (1 - 1 / len(self.unconstrained))

    @property
    def aic(self) -> FloatArray:
        """Akaike's (1974) criterion; less is better."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> FloatArray:
        """Schwarz's (1978) criterion; less is better."""
        return self.parameters * np.log(self.responses) - 2 * self.log_likelihood

    @property
    def log_evidence(self) -> FloatArray:
        """Of the responses, whatever the parameters, as far as the posterior is normal (Laplace's approximation).

        NaN without a prior for each free parameter, where parameters are shared, and where the posterior has no peak.
        """
        mean, precision = self.prior
        if not precision.all() or self.shared:
            return np.full(len(self.unconstrained), np.nan)
        prior = 0.5 * (np.log(precision) - precision * (self.unconstrained - mean) ** 2).sum(1)
        peaked = ~np.isnan(self.unconstrained_error[:, 0])
        log_determinant = np.linalg.slogdet(np.where(peaked[:, None, None], self.hessian, 1.0))[1]
        return np.where(peaked, self.log_likelihood + prior - 0.5 * log_determinant, np.nan)

    @property
    def priors(self) -> tuple[str, ...]:
        """What was expected of each parameter, in words; empty if these are the values of the greatest likelihood."""
        return in_words(self.space, self.prior, self.shared)

    @property
    def method(self) -> tuple[str, ...]:
        """What kind of estimates these are, or better would be, in sentences; none if there is nothing to say."""
        if self.priors:
            method = "values are maximum a posteriori: the most probable ones, given responses and priors"
            return (f"{method}; AIC and BIC take the likelihood at these values", *self.priors)
        enough = 100 if self.model.response.kind == "choice" else 10  # below, priors help: see docs/searches.md
        few = int((self.responses < enough * len(self.space)).sum())
        who = f"{few} of {len(self.responses)} participants gave fewer than {enough} responses for each free parameter"
        advice = "--weak-priors (priors='usual') is recommended"
        return (f"{who}: their values of the greatest likelihood may be far off; {advice}",) if few else ()

    def model_of(self, subject: str) -> Model:
        """Return the model with a participant's values."""
        return self.space.put(self.model, self.values[self.trials.subjects.index(subject)])

    def table(self) -> DataFrame:
        """Return a row for each participant and parameter.

        If there are priors, also their mean and standard deviation on the unconstrained scale; NaN for none.
        """
        people, count = self.values.shape
        columns = {"value": self.values, "standard_error": self.error, "low": self.low, "high": self.high}
        if self.priors:
            mean, precision = np.where(self.prior[1] > 0, self.prior, np.nan)
            columns |= {"prior_mean": mean, "prior_sd": precision**-0.5}
        return DataFrame({
            "participant": np.repeat(np.array(self.trials.subjects, object), count),
            "parameter": np.tile(np.array(self.names, object), people),
            **{name: values.ravel() for name, values in columns.items()},
            "note": np.repeat(np.array(self.notes, object), count),
        })  # fmt: skip

    def trial_table(self) -> DataFrame:
        """Return the table of trials, row for row, and what the fitted model computes for each.

        Empty where a participant was excluded, or nothing was to be explained. Expected responses are written as those
        of the table are. Columns of the table stay as they are: a new one of the same name has a number behind it.
        """
        outputs, to_rows = self.outputs, self.trials.to_rows
        columns = (
            self.trials.as_written(to_rows(outputs.expected, self.data.scored)),
            to_rows(outputs.log_likelihood, self.data.scored),
            to_rows(outputs.learning_rate, self.trials.observed),
            to_rows(outputs.surprise, self.trials.observed),
        )
        return self.trials.with_columns(dict(zip(TRIAL_COLUMNS, columns, strict=True)))

    def people(self) -> DataFrame:
        """Return a row for each participant: the best parameters, and how well the model explains the responses."""
        return DataFrame({
            "participant": list(self.trials.subjects),
            **({} if self.trials.group is None else {"group": list(self.trials.group)}),
            **{name: list(values) for name, values in self.trials.covariates.items()},
            **{name: self.values[:, k] for k, name in enumerate(self.names)},
            "responses": self.responses.astype(int), "log_likelihood": self.log_likelihood,
            "aic": self.aic, "bic": self.bic,
            **({"log_evidence": self.log_evidence} if self.priors else {}),
            "starts_at_optimum": [f"{count} of {self.starts}" for count in self.starts_at_optimum],
            "note": list(self.notes),
        })  # fmt: skip

    def __repr__(self) -> str:
        from astonish.people.fit.description import describe

        table = describe(self).to_string(index=False, float_format="{:.4g}".format, na_rep="-")
        return f"a fit to {len(self.values)} participants (people() has a row for each)\n{table}"


@partial(compiled, static_argnums=(3, 4), compiler_options=OPTIONS)
def _outputs(model: Model, data: ParticipantData, xs: Array, space: Space, responds_before: bool) -> TrialOutputs:
    return jax.vmap(lambda x, own: evaluate(space.bind(model, x), own, responds_before))(xs, data)
