"""How surprising is each sample of a series, by every measure that applies?

Modirshanechi, Brea & Gerstner (2022) compare the measures; docs/measures.md says in plain words what each means.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax import Array

from astonish.core.numbers import PROBABILITY, Number, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_series
from astonish.learners.base import Learner, State, advance, check
from astonish.online.series import to_common_length
from astonish.theory import surprise
from astonish.theory.expfam import Belief, Family

__all__ = ["measure"]

if TYPE_CHECKING:
    from pandas import DataFrame

_OF_A_PREDICTION = ("shannon", "state_prediction_error", "absolute_error", "squared_error")
_OTHERS = (
    "bayes_factor", "confidence_corrected", "confidence_corrected_reference", "raw", "bayesian", "bayesian_reverse",
    "postdictive", "free_energy",
)  # fmt: skip
COLUMNS = (*(column for name in _OF_A_PREDICTION for column in (name, f"{name}_with_change")), *_OTHERS)


class Moment(NamedTuple):
    """A sample, and the beliefs of a learner before and after it."""

    family: Family
    prior: Belief
    reference: Belief
    before: Belief
    after: Belief
    x: Any


@naming_extra("measures need")
def measure(learner: Learner, xs: Any, hazard: float | None = None, names: Sequence[str] | None = None) -> "DataFrame":
    """Run a learner over a series and measure each sample's surprise: a row per sample, a column per measure.

    After the measures come the learner's own quantities, such as precisions (see `Learner.quantities`).
    learner: one that holds a belief, which gives all measures, or has quantities. Its first belief is the prior of
    measures that need one.
    xs: a series as `run` takes it; where a sample is missing, all measures are NaN.
    hazard: the probability of a change before each sample; given, measures that heed it get columns of their own.
    names: of the measures and quantities that are wanted, which is faster; all that apply when left out.

    >>> from astonish import Beta, Smile
    >>> table = measure(Smile(Beta(), m=1.0), [1, 1, 0, None], hazard=0.1)
    >>> table[["shannon", "shannon_with_change", "bayesian"]].round(2).values.tolist()
    [[0.69, 0.69, 0.31], [0.55, 0.56, 0.18], [0.92, 0.9, 0.37], [nan, nan, nan]]
    """
    from pandas import DataFrame

    check(learner)
    if names is None and not applicable(learner):
        check_holds_a_belief(learner)
    if hazard is not None:
        PROBABILITY.check("hazard", hazard)
    samples, observed = read_series(learner.samples, xs)
    with double():
        xs, seen = to_common_length(samples), None if observed.all() else to_common_length(observed)
        wanted = None if names is None else tuple(names)
        table = jax.device_get(_measured_series(as_double(learner), xs, seen, len(observed), hazard, wanted))
    cut = {name: table[name][: len(observed)] for name in in_order(table)}
    return DataFrame({name: np.where(observed, values, np.nan) for name, values in cut.items()})


@partial(compiled, static_argnames="names")
def _measured_series(
    learner: Learner,
    xs: Any,
    observed: Array | None,
    length: Number,
    hazard: Number | None,
    names: tuple[str, ...] | None,
) -> dict[str, Array]:
    def step(state: State, at: tuple[Any, Any]) -> tuple[State, dict[str, Array]]:
        x, seen = at
        new, _ = advance(learner, state, x, seen)
        found = measures_and_quantities(learner, state, new, x, hazard)
        return new, found if names is None else {name: _found(learner, found, name) for name in names}

    return loop(step, learner.init(), (xs, observed), length)[1]


def _found(learner: Learner, found: dict[str, Array], name: str) -> Array:
    if name not in found:
        known = ", ".join(in_order(found)) or "none"
        raise ValueError(f"{type(learner).__name__} has no measure {name!r} here; those that apply: {known}")
    return found[name]


def measures_and_quantities(
    learner: Learner, state: State, new: State, x: Any, hazard: Number | None
) -> dict[str, Array]:
    """All measures that apply, if there is a belief to take them of, and the learner's own quantities, by name."""
    (inner, before, sample), (_, after, _) = learner.in_context(state, x), learner.in_context(new, x)
    quantities = inner.quantities(before, after, sample)
    if inner.belief(before) is None:
        return quantities
    return all_measures(moment(learner, state, new, x), hazard) | quantities


def applicable(learner: Learner, hazard: Number | None = None) -> tuple[str, ...]:
    """The names of the measures and quantities that there are for a learner."""

    def found(x: Any) -> dict[str, Array]:
        start = learner.init()
        return measures_and_quantities(learner, start, start, x, hazard)

    with double():
        sample = jax.tree.map(lambda domain: domain.any_sample(), learner.samples)
        return in_order(jax.eval_shape(found, sample))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Measures in their usual order, and then quantities."""
    known = set(names)
    return (*(name for name in COLUMNS if name in known), *sorted(known - set(COLUMNS)))


def moment(learner: Any, state: State, new: State, x: Any) -> Moment:
    """What is needed to measure surprise, of a learner that holds a belief before and after a sample."""
    (inner, before, sample), (_, after, _) = learner.in_context(state, x), learner.in_context(new, x)
    prior = inner.belief(inner.init())
    beliefs = inner.belief(before), inner.belief(after)
    return Moment(inner.family, prior, prior if inner.reference is None else inner.reference, *beliefs, sample)


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
    if at.family.proper_likelihood:
        table["confidence_corrected"] = surprise.confidence_corrected(*now)
    if at.family.predictive_divergence(at.before, at.before, at.x) is not None:
        table["postdictive"] = surprise.postdictive(*now)
    of_the_prediction = {"shannon": surprise.shannon}
    if surprise.predicts_probabilities(at.family):
        of_the_prediction["state_prediction_error"] = surprise.state_prediction_error
    if at.family.error(at.before, at.x) is not None:
        of_the_prediction |= {"absolute_error": surprise.absolute_error, "squared_error": surprise.squared_error}
    for name, measure in of_the_prediction.items():
        table[name] = measure(*now)
        if hazard is not None:
            table[f"{name}_with_change"] = measure(*now, hazard, at.prior)
    return table


def holds_a_belief(learner: Learner) -> bool:
    """Whether there is a single belief of which all measures can be taken."""
    with double():
        return jax.eval_shape(lambda: learner.belief(learner.init())) is not None


def check_holds_a_belief(learner: Learner) -> None:
    """Refuse a learner that does not."""
    if not holds_a_belief(learner):
        advice = "give a learner that does, such as Smile, VarSmile, Bayes or Leaky"
        raise ValueError(f"{learner} does not hold a single belief, which these measures are taken of; {advice}")
