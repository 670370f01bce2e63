"""Measures of surprise, taken of each sample of a series.

Modirshanechi, Brea & Gerstner (2022) compare the measures; docs/measures.md says in plain words what each means. A
measure is a function of beliefs, such as those in `theory.surprise`, and a line of `MEASURES`.
"""

from collections.abc import Callable, Iterable, Sequence
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

_WITH_CHANGE = "_with_change"


class Moment(NamedTuple):
    """A sample, and the beliefs of a learner before and after it."""

    family: Family
    prior: Belief
    reference: Belief
    before: Belief
    after: Belief
    x: Any

    @property
    def now(self) -> tuple[Family, Belief, Any]:
        return self.family, self.before, self.x


class Measure(NamedTuple):
    """A measure of surprise.

    function: what computes it; the first line of its docstring says what it means. takes: its arguments. applies:
    whether it is defined. heeds_change: whether it takes a hazard and a prior, too, so that there is another measure,
    whose name ends in "_with_change". note: what is to be added to the meaning.
    """

    function: Callable[..., Array]
    takes: Callable[[Moment], tuple[Any, ...]] = lambda at: at.now
    applies: Callable[[Moment], bool] = lambda _: True
    heeds_change: bool = False
    note: str = ""


def _expects_a_number(at: Moment) -> bool:
    return at.family.error(at.before, at.x) is not None


MEASURES: dict[str, Measure] = {
    "shannon": Measure(surprise.shannon, heeds_change=True),
    "state_prediction_error": Measure(
        surprise.state_prediction_error,
        applies=lambda at: surprise.predicts_probabilities(at.family),
        heeds_change=True,
    ),
    "absolute_error": Measure(surprise.absolute_error, applies=_expects_a_number, heeds_change=True),
    "squared_error": Measure(surprise.squared_error, applies=_expects_a_number, heeds_change=True),
    "bayes_factor": Measure(surprise.bayes_factor, lambda at: (*at.now, at.prior)),
    "confidence_corrected": Measure(surprise.confidence_corrected, applies=lambda at: at.family.proper_likelihood),
    "confidence_corrected_reference": Measure(
        surprise.confidence_corrected,
        lambda at: (*at.now, at.reference),
        note=" With the learner's reference, or its prior, in place of flatness.",
    ),
    "raw": Measure(surprise.raw),
    "bayesian": Measure(surprise.bayesian),
    "bayesian_reverse": Measure(surprise.bayesian_reverse),
    "postdictive": Measure(
        surprise.postdictive, applies=lambda at: at.family.predictive_divergence(at.before, at.before, at.x) is not None
    ),
    "free_energy": Measure(surprise.free_energy, lambda at: (at.family, at.before, at.after, at.x)),
}
COLUMNS = tuple(
    column
    for name, measure in MEASURES.items()
    for column in ((name, name + _WITH_CHANGE) if measure.heeds_change else (name,))
)


def meaning(column: str) -> str:
    """What a measure means, in a sentence.

    >>> meaning("bayesian_reverse")
    'D[posterior || belief], the direction of Itti & Baldi (2009).'
    """
    base = column.removesuffix(_WITH_CHANGE)
    sentence = (MEASURES[base].function.__doc__ or "").partition("\n")[0] + MEASURES[base].note
    return sentence if column == base else f"{sentence} Reckoning with a change."


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
        values = measures_and_quantities(learner, state, new, x, hazard)
        for name in names or ():
            if name not in values:
                those = ", ".join(in_order(values)) or "none"
                raise ValueError(f"{type(learner).__name__} has no measure {name!r} here; those that apply: {those}")
        return new, values if names is None else {name: values[name] for name in names}

    return loop(step, learner.init(), (xs, observed), length)[1]


def measures_and_quantities(
    learner: Learner, state: State, new: State, x: Any, hazard: Number | None
) -> dict[str, Array]:
    """All measures that apply, if there is a belief to take them of, and the learner's own quantities, by name."""
    (inner, before, sample), (_, after, _) = learner.in_context(state, x), learner.in_context(new, x)
    quantities: dict[str, Array] = inner.quantities(before, after, sample)
    belief = inner.belief(before)
    if belief is None:
        return quantities
    prior = inner.belief(inner.init())
    reference = prior if inner.reference is None else inner.reference
    moment = Moment(inner.family, prior, reference, belief, inner.belief(after), sample)
    return all_measures(moment, hazard) | quantities


def applicable(learner: Learner, hazard: Number | None = None) -> tuple[str, ...]:
    """The names of the measures and quantities that there are for a learner."""

    def values(x: Any) -> dict[str, Array]:
        start = learner.init()
        return measures_and_quantities(learner, start, start, x, hazard)

    with double():
        sample = jax.tree.map(lambda domain: domain.any_sample(), learner.samples)
        return in_order(jax.eval_shape(values, sample))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Measures in their usual order, and then quantities."""
    present = set(names)
    return (*(name for name in COLUMNS if name in present), *sorted(present - set(COLUMNS)))


def all_measures(at: Moment, hazard: Number | None) -> dict[str, Array]:
    """All measures that apply, by name."""
    table = {}
    for name, measure in MEASURES.items():
        if measure.applies(at):
            table[name] = measure.function(*measure.takes(at))
            if measure.heeds_change and hazard is not None:
                table[name + _WITH_CHANGE] = measure.function(*measure.takes(at), hazard, at.prior)
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
