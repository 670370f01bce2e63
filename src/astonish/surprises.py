"""How surprising is each sample of a series, by every measure that applies?

Modirshanechi, Brea & Gerstner (2022) compare the measures; docs/surprises.md says in plain words what each means.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax import Array

from astonish import surprise
from astonish.domain import Domain, check_parameters
from astonish.expfam import Belief, Family
from astonish.learner import Learner, PerContext, State, advance
from astonish.learners import Bayes, Evidence, Leaky, Modulated, Smile, VarSmile
from astonish.precision import Number, as_double, double
from astonish.samples import read_series

if TYPE_CHECKING:
    from pandas import DataFrame

_BELIEVERS = (Smile, Modulated, VarSmile, Bayes, Leaky)
COLUMNS = (  # functions of these names in `surprise`; JAX returns them in the order of the alphabet
    "shannon",
    "shannon_with_change",
    "state_prediction_error",
    "state_prediction_error_with_change",
    "absolute_error",
    "absolute_error_with_change",
    "squared_error",
    "squared_error_with_change",
    "bayes_factor",
    "confidence_corrected",
    "confidence_corrected_reference",
    "raw",
    "bayesian",
    "bayesian_reverse",
    "postdictive",
    "free_energy",
)


class Moment(NamedTuple):
    """A sample, the belief that it met, and what a learner made of it."""

    family: Family
    prior: Belief
    reference: Belief
    before: Belief
    after: Belief
    x: Any


def surprises(learner: Learner, xs: Any, hazard: float | None = None) -> "DataFrame":
    """Run a learner over a series and measure each sample's surprise: a row per sample, a column per measure.

    learner: one that holds a belief. Its first belief is the prior of measures that need one.
    xs: a series as `run` takes it; where a sample is missing, all measures are NaN.
    hazard: the chance of a change before each sample; given, measures that heed it get columns of their own.

    >>> from astonish import Beta, Smile
    >>> table = surprises(Smile(Beta(), m=1.0), [1, 1, 0, None], hazard=0.1)
    >>> table[["shannon", "shannon_with_change", "bayesian"]].round(2).values.tolist()
    [[0.69, 0.69, 0.31], [0.55, 0.56, 0.18], [0.92, 0.9, 0.37], [nan, nan, nan]]
    """
    from pandas import DataFrame

    check_parameters(learner)
    check_holds_a_belief(learner)
    if hazard is not None:
        Domain(0.0, 1.0).check("hazard", hazard)
    samples, observed = read_series(learner.samples, xs)
    with double():
        mask = None if observed.all() else observed
        table = jax.device_get(_through(as_double(learner), samples, mask, hazard))
    return DataFrame({name: np.where(observed, table[name], np.nan) for name in COLUMNS if name in table})


@jax.jit
def _through(learner: Learner, xs: Any, observed: Array | None, hazard: Number | None) -> dict[str, Array]:
    def step(state: State, at: tuple[Any, Any]) -> tuple[State, dict[str, Array]]:
        x, seen = at
        new, _ = advance(learner, state, x, seen)
        return new, all_measures(moment(learner, state, new, x), hazard)

    return jax.lax.scan(step, learner.init(), (xs, observed))[1]


def moment(learner: Any, state: State, new: State, x: Any) -> Moment:
    """What is needed to measure surprise, of a learner that holds a belief before and after a sample."""
    if isinstance(learner, PerContext):
        before, after = (jax.tree.map(lambda leaf: leaf[x[0]], table) for table in (state.table, new.table))
        return moment(learner.learner, before, after, x[1])
    prior, before, after = map(_belief, (learner.init(), state, new))
    given = learner.reference if isinstance(learner, Smile | Modulated) else None
    return Moment(learner.family, prior, prior if given is None else given, before, after, x)


def _belief(state: State) -> Belief:
    return state.belief if isinstance(state, Evidence) else state


def all_measures(at: Moment, hazard: Number | None) -> dict[str, Array]:
    """All measures that apply, by name."""
    now = at.family, at.before, at.x
    table = {
        "bayes_factor": surprise.bayes_factor(*now, at.prior),
        "confidence_corrected_reference": surprise.confidence_corrected(*now, at.reference),
        "raw": surprise.raw(*now),
        "bayesian": surprise.bayesian(*now),
        "bayesian_reverse": surprise.bayesian_reverse(*now),
        "free_energy": surprise.free_energy(at.family, at.before, at.after, at.x),
    }
    if at.family.one_sample_is_enough:
        table["confidence_corrected"] = surprise.confidence_corrected(*now)
    if at.family.predictive_divergence(at.before, at.before, at.x) is not None:
        table["postdictive"] = surprise.postdictive(*now)
    for name, measure in _of_the_prediction(at).items():
        table[name] = measure(*now)
        if hazard is not None:
            table[f"{name}_with_change"] = measure(*now, hazard, at.prior)
    return table


def _of_the_prediction(at: Moment) -> dict[str, Callable[..., Array]]:
    """The measures that depend on whether a change is reckoned with."""
    measures = {"shannon": surprise.shannon}
    if surprise.predicts_probabilities(at.family):
        measures["state_prediction_error"] = surprise.state_prediction_error
    if at.family.error(at.before, at.x) is not None:
        measures |= {"absolute_error": surprise.absolute_error, "squared_error": surprise.squared_error}
    return measures


def holds_a_belief(learner: Learner) -> bool:
    """Whether there is a single belief of which all measures can be taken."""
    return isinstance(learner.learner if isinstance(learner, PerContext) else learner, _BELIEVERS)


def check_holds_a_belief(learner: Learner) -> None:
    """Refuse a learner that does not."""
    if not holds_a_belief(learner):
        inner = learner.learner if isinstance(learner, PerContext) else learner
        names = ", ".join(kind.__name__ for kind in _BELIEVERS)
        raise ValueError(
            f"{type(inner).__name__} does not hold a single belief, which these measures are taken of; use one of "
            f"{names}, or PerContext with one of them"
        )
