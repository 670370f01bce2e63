"""The contract of a learner, the record of a step, and the loop through a series of samples."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.names import NUMBERS, Contexts, OutcomeKind, rows
from astonish.core.numbers import Domain, Number, PytreeDataclass, as_double, as_float, double, floats
from astonish.core.parameters import check_like, check_parameters
from astonish.core.programs import interpreted, is_ours, loop
from astonish.core.refusal import cannot_continue, cannot_simulate, did_you_mean
from astonish.core.special import difference
from astonish.theory.expfam import Belief, Family

__all__ = ["Step", "StepInfo", "Steps", "scan"]

State = Any  # what a learner needs to know at the next step: arrays in some nesting


class StepInfo(NamedTuple):
    """What a learner's step says of its sample, besides the new state.

    surprise: how surprising the sample was, in the learner's own measure.
    learning_rate: the weight of the new sample in the new estimate (gamma, or a learning rate), from 0 to 1.
    change_probability: how probable it is, given the sample, that the world changed just before it; None for learners
    that do not estimate it.
    """

    surprise: Array
    learning_rate: Array
    change_probability: Array | None = None


class Step(NamedTuple):
    """What a step gave, in plain numbers; an estimate of several numbers is an array.

    estimate: the estimate after the sample. surprise, learning_rate, change_probability: as in `StepInfo`; NaN if the
    learner does not give it. At a missing sample, the learning rate is 0 and the other two are NaN.
    """

    estimate: Any
    surprise: float
    learning_rate: float
    change_probability: float = math.nan


class Steps(NamedTuple):
    """What many steps gave, in arrays: along a series, the rows of a batch, or participants, first of all.

    Its fields are those of `Step`, None where the learner does not give it.
    state: the state after the last sample, where that is asked for, as of `scan`; else None.
    """

    estimate: Any
    surprise: Any
    learning_rate: Any
    change_probability: Any = None
    state: State = None

    def __repr__(self) -> str:
        shown = []
        for name, answer in zip(ANSWERS, self, strict=False):
            if answer is not None:  # of an array, its type and shape
                shape = getattr(answer, "shape", ())
                shown.append(f"{name}={answer.dtype}{list(shape)}" if shape else f"{name}={answer!r}")
        return f"Steps({', '.join(shown)})"

    def columns(self) -> dict[str, Any]:
        """Return the answers as columns of a table: one each, or one for each of several numbers.

        >>> list(Steps(np.zeros((5, 2)), np.zeros(5), np.zeros(5)).columns())
        ['estimate_0', 'estimate_1', 'surprise', 'learning_rate']
        """
        columns: dict[str, Any] = {}
        for name, answer in zip(ANSWERS, self, strict=False):
            columns |= {} if answer is None else wide(name, answer)
        return columns


ANSWERS = Step._fields  # the estimate, and the fields of `StepInfo`
MISSED = tuple(0.0 if name == "learning_rate" else math.nan for name in StepInfo._fields)  # at a missing sample


def wide(name: str, values: Any) -> dict[str, Any]:
    """A column, or one for each of several numbers.

    >>> list(wide("estimate", np.zeros((5, 2))))
    ['estimate_0', 'estimate_1']
    """
    if values.ndim == 1:
        return {name: values}
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return {f"{name}_{k}": flat[:, k] for k in range(flat.shape[1])}


class LastChange(NamedTuple):
    """Hypotheses about when the world changed last.

    ages: how many samples there were since the change, the one just after it included (the run length of Adams &
    MacKay 2007). weights: how probable each hypothesis is. log_weights: the logarithms, if they distinguish all
    histories of changes, else None.
    """

    ages: Array
    weights: Array
    log_weights: Array | None = None

    def run_lengths(self, longest: int) -> Array:
        """The probability that 1, 2, ... `longest` samples have come since the last change."""
        return (jnp.arange(1, longest + 1)[:, None] == self.ages) @ self.weights


class HoldsBelief(Protocol):
    """A capability: to hold a belief about what is estimated, with an uncertainty. By default, a learner holds none.

    reference: a proper belief in place of flatness (see `surprise.confidence_corrected`).
    A learner that holds a belief also has a `family`.
    """

    reference: Belief | None = None

    def belief(self, state: State) -> Belief | None:
        """The belief that the learner holds; None if it does not hold exactly one."""
        return None

    def uncertainty(self, state: State) -> Array | None:
        """The standard deviation of what is believed; None for learners that estimate without a belief."""
        belief = self.belief(state)
        return None if belief is None else belief.std

    def step_variance(self, state: State) -> Array | None:
        """The variance of the step that what is estimated is expected to take before the next sample (its volatility).

        On the scale of the estimate; None for learners that expect no such steps.
        """
        return None


class LearnsInContexts(Protocol):
    """A capability: to learn apart in each context, or of each option. By default, there is but one."""

    def in_context(self, state: State, x: Any) -> tuple[Any, State, Any]:
        """The learner, its state and the sample, as far as they concern each other: those of the sample's context."""
        return self, state, x

    def estimate_at(self, state: State, x: Any) -> Any:
        """The estimate on which a response in the trial of this sample rests: that of the sample's context."""
        inner, held, _ = self.in_context(state, x)
        return inner.estimate(held)

    def context_of(self, x: Any) -> str:
        """Where a sample belongs, such as "in context 3" or "for option 1"; empty where samples have no such part."""
        return ""


class DatesChanges(Protocol):
    """A capability: to keep hypotheses about when the world changed last. By default, a learner has none."""

    def last_change(self, state: State) -> LastChange | None:
        """When the world changed last; None for learners that keep no hypotheses about it."""
        return None

    def with_change_times(self, hypotheses: int | None = None) -> Any:
        """The learner to ask when exactly changes were: itself, unless it merges hypotheses about different times.

        hypotheses: how many times of the last change it is to keep in mind; as many as before, if left out.
        """
        return self


class ContinuesFrom(Protocol):
    """A capability: to go on from another estimate than its own, such as a person's answer. By default, it cannot."""

    def with_estimate(self, state: State, value: Any) -> State:
        """The state of the same learner with this estimate, as certain as before."""
        raise cannot_continue(type(self).__name__)


class Simulates(Protocol):
    """A capability: to draw samples from its own model of the world. By default, it cannot."""

    def simulate(self, rng: Generator, steps: int) -> Any:
        """A series of samples from the learner's own model of the world, in which nothing changes."""
        raise cannot_simulate(type(self).__name__)


class Explains(Protocol):
    """A capability: to say more of its steps than surprise and learning rate. By default, it does not.

    surprise_measure: the measure of surprise in its `StepInfo`, by its name in `measures.COLUMNS`; empty if it is one
    of its own. meanings: what each of its `quantities` means, by name.
    """

    meanings: ClassVar[Mapping[str, str]] = {}

    @property
    def surprise_measure(self) -> str:
        return ""

    def quantities(self, state: State, new: State, x: Any) -> dict[str, Array]:
        """What people regress on besides surprise and learning rate, by name: single numbers for this sample.

        state, new: before and after the sample, as `step` takes and gives it. Measures of surprise that `measures`
        cannot take of a learner without a belief, such as "shannon", may be among them. The default: none.
        """
        return {}

    def failures(self, state: State) -> Array | None:
        """At how many samples an approximation that the learner rests on failed; None where it cannot fail."""
        return None

    def caution(self) -> str:
        """What to beware of when it is used for outcomes as it is now, in a sentence; empty if there is nothing."""
        return ""


class Learner(
    HoldsBelief, LearnsInContexts, DatesChanges, ContinuesFrom, Simulates, Explains, PytreeDataclass, Protocol
):
    """Anything that learns from samples one at a time: a frozen dataclass whose parameters are its leaves.

    Derive a learner from this class, and it need only have the core: `samples`, `init`, `step` and `estimate`.
    Whatever else it can do is one of the capabilities above, which answer for those that cannot.

    takes: the kinds of outcomes that it learns from. free: the parameters that are usually fitted.
    learns: False of a baseline that never does. own_defaults: parameters whose own default is better than what the
    outcomes suggest. usual_contexts: whether, for transitions, it forgets or suspects changes in all contexts together
    (see `beliefs.Rows`), or learns in each of them apart (see `PerContext`), if nobody says it.
    period: after how much samples and estimates repeat, if they are angles; else None.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[tuple[str, ...]] = ()
    learns: ClassVar[bool] = True
    own_defaults: ClassVar[tuple[str, ...]] = ()
    usual_contexts: ClassVar[Contexts] = "apart"

    @property
    def samples(self) -> Any:
        """Which samples it takes: a `Domain`, or a tuple of them for samples of several parts."""

    @property
    def period(self) -> Number | None:
        return None

    def init(self) -> State:
        """The state before the first sample."""

    def step(self, state: State, x: Any) -> tuple[State, StepInfo]:
        """The state after a sample."""

    def estimate(self, state: State) -> Any:
        """The present estimate."""

    def masked_step(self, state: State, x: Any, seen: Array) -> tuple[State, StepInfo]:
        """The state after a sample, or the same state where the sample was not seen."""
        filled = jax.tree.map(lambda d, leaf: jnp.where(seen, leaf, d.stand_in).astype(leaf.dtype), self.samples, x)
        new, info = self.step(state, filled)
        chosen = jax.tree.map(lambda new, old: jnp.where(seen, new, old), new, state)
        given: Any = zip(info, MISSED, strict=True)
        masked: Any = (None if number is None else jnp.where(seen, number, missed) for number, missed in given)
        return chosen, StepInfo(*masked)

    def error(self, state: State, x: Any) -> Any:
        """The sample minus the expected one; None where samples are labels, or no number is expected.

        The default is for learners whose estimate is the sample to expect.
        """
        estimate, samples = self.estimate(state), self.samples
        is_expected = isinstance(samples, Domain) and samples.shape == jnp.shape(estimate)
        return difference(x, estimate, self.period) if is_expected else None

    def check_parts(self) -> None:
        """Refuse parts that do not go together, such as a prior of another family; parameters are checked already."""
        for part in vars(self).values():
            if Learner in type(part).__mro__:
                check(part)


class NumberLearner(Learner, Protocol):
    """A learner that follows numbers, and whose estimate is the `mean` of its state."""

    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    samples: ClassVar[Domain] = Domain()

    def estimate(self, state: State) -> Array:
        return state.mean

    def with_estimate(self, state: State, value: Any) -> State:
        return state._replace(mean=value)


class _Starts(Protocol):
    """The field of a `ValueLearner`, which each declares in an order of its own."""

    start: Number


class ValueLearner(_Starts, Learner, Protocol):
    """A learner whose state is its estimate of numbers, from `start`, and whose surprise is the size of its error."""

    takes: ClassVar[tuple[str, ...]] = NUMBERS
    samples: ClassVar[Domain] = Domain()
    surprise_measure: ClassVar[str] = "absolute_error"

    def init(self) -> Array:
        return floats(self.start)[0]

    def estimate(self, state: Array) -> Array:
        return state

    def with_estimate(self, state: Array, value: Any) -> Any:
        return value


class BinaryLearner(Learner, Protocol):
    """A learner that follows the probability of a 1 among outcomes 0 and 1, and reports Shannon's surprise."""

    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.BINARY,)
    samples: ClassVar[Domain] = Domain(0, 1, whole=True)
    surprise_measure: ClassVar[str] = "shannon"


class CircularLearner(Learner, Protocol):
    """A learner that follows angles."""

    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CIRCULAR,)
    samples: ClassVar[Domain] = Domain()


class _RestsOnFamily(Protocol):
    """The fields of a `FamilyLearner`, which each declares in an order of its own."""

    family: Family
    prior: Belief | None


class FamilyLearner(_RestsOnFamily, Learner, Protocol):
    """A learner that runs on any family of beliefs. Its state is a belief, unless it says otherwise."""

    takes: ClassVar[tuple[str, ...]] = tuple(OutcomeKind)

    def __post_init__(self) -> None:
        if Family not in type(self.family).__mro__:
            raise ValueError(f"{self.family!r} is no family of beliefs; give one, such as Gaussian()")
        for name in ("prior", "reference"):
            if (belief := getattr(self, name)) is not None:
                floats = jax.tree.map(partial(as_float, name), belief, is_leaf=lambda part: isinstance(part, list))
                object.__setattr__(self, name, floats)

    def check_parts(self) -> None:
        self.family.check_parts()
        with double(), np.errstate(all="ignore"):  # what is too large, or too small, is refused below
            first = _first_belief(self) if self.prior is None else self.prior
            form = first if self.prior is None else _flat(self.family)
        for name, belief in (("prior", first), ("reference", self.reference)):
            if belief is not None:
                check_like(f"{type(self).__name__}'s {name}", belief, form, f"{self.family!r}.prior()")

    @property
    def samples(self) -> Any:
        return self.family.samples

    @property
    def period(self) -> Number | None:
        return self.family.period

    @property
    def first_belief(self) -> Belief:
        """The belief before the first sample: the prior, or the family's own when it was left out."""
        return self.family.prior() if self.prior is None else self.prior

    def init(self) -> State:
        return self.first_belief

    def estimate(self, state: State) -> Array:
        return state.mean

    def in_context(self, state: State, x: Any) -> tuple[Learner, State, Any]:
        kind = type(self.first_belief)

        def at_x(part: Any) -> Any:
            return self.family.in_context(part, x) if type(part) is kind else part

        return self, jax.tree.map(at_x, state, is_leaf=lambda part: type(part) is kind), x

    def context_of(self, x: Any) -> str:
        return self.family.context_of(x)

    def error(self, state: State, x: Any) -> Any:
        belief = self.belief(state)
        return None if belief is None else self.family.error(belief, x)

    def belief(self, state: State) -> Belief | None:
        return state

    def with_belief(self, state: State, belief: Belief) -> State:
        """The state with another belief in it."""
        return belief

    def with_estimate(self, state: State, value: Any) -> State:
        belief = self.belief(state)
        if belief is None:
            return super().with_estimate(state, value)
        return self.with_belief(state, self.family.with_mean(belief, value))

    def simulate(self, rng: Generator, steps: int) -> Any:
        return self.family.sample_outcome(self.family.sample(self.first_belief, rng), rng, steps)


def _evaluated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function without compiling it; but as it is for other people's classes, which may check their own numbers."""
    by_numpy = interpreted(function)
    return lambda part: (by_numpy if is_ours(jax.tree.structure(part)) else function)(part)


_first_belief = _evaluated(lambda learner: learner.first_belief)
_flat = _evaluated(lambda family: family.flat())
_init = _evaluated(lambda learner: learner.init())


def first_state(learner: Learner) -> State:
    """A learner's state before its first sample, in NumPy's float64; nothing is compiled for ours."""
    with double():
        return as_double(_init(learner))


def check(learner: Any) -> None:
    """Refuse what is not a learner, and a learner any of whose parameters lies outside its domain."""
    if Learner not in type(learner).__mro__:
        raise ValueError(f"{learner!r} is no learner; {_how_to_get(learner)}")
    check_parameters(learner)
    learner.check_parts()


def _how_to_get(word: Any) -> str:
    """Say what to write in place of a learner's name or class, or of what is neither."""
    kind, room = word, ""
    if isinstance(word, str):
        places = {name: row for row in rows("astonish.learners") for name in row.names}
        if word not in places:
            meant = did_you_mean(word, places)
            return f"{meant}{'Give' if meant else 'give'} one such as learners.Delta()"
        kind, room = getattr(import_module(places[word].module), places[word].name), "learners."
    if not isinstance(kind, type) or Learner not in kind.__mro__:
        return "give one that is derived from astonish.learners.base.Learner"
    family = f"{room and 'beliefs.'}{Family.example}" if FamilyLearner in kind.__mro__ else ""
    return f"give {room}{kind.__name__}({family})"


def given_by(learner: Learner) -> Steps:
    """What a step of this learner gives, in shapes; None for what it does not give. Nothing is computed."""

    def step(x: Any) -> Steps:
        state, info = learner.step(learner.init(), x)
        return Steps(learner.estimate(state), *info)

    with double():
        return jax.eval_shape(step, jax.tree.map(Domain.any_sample, learner.samples))


def newly_failed(learner: Learner, state: State, new: State) -> Array | None:
    """Whether (1 or 0) the learner's approximation failed between two states; None where it cannot."""
    before, after = learner.failures(state), learner.failures(new)
    return None if before is None or after is None else after - before


def failed(learner: Learner, count: float) -> str:
    """The sentence about a learner whose approximation failed at so many samples."""
    samples = f"{count:g} sample{'s' * (count != 1)}"
    return f"the update of {type(learner).__name__} left its domain at {samples}; do not rely on what follows the first"


def scan(
    learner: Learner,
    xs: Any,
    state: State | None = None,
    observed: Number | None = None,
    read: Callable[[State], Any] | None = None,
    length: Number | None = None,
) -> Steps:
    """Run a learner over a series: one loop for all learners, which can be jitted, vmapped and differentiated.

    xs: samples along the first axis (of every part, where samples have several parts).
    state: where to go on from; the learner's own start when left out.
    observed: False where a sample is missing; it then changes nothing and gives surprise NaN and learning rate 0.
    read: what to record of the state after each sample, in place of the learner's estimate.
    length: how many samples to learn from, if not from all; see `programs.loop`.
    """
    start = learner.init() if state is None else state
    last, steps = loop(_recorded(learner, read or learner.estimate), start, (xs, observed), length)
    return steps._replace(state=last)


def scan_many(learner: Learner, xs: Any, observed: Number | None, length: Number) -> Steps:
    """The same for many series side by side, each from the learner's own start: along the second axis of everything."""
    start = repeated(learner.init(), jax.tree.leaves(xs)[0].shape[1])
    last, steps = loop(jax.vmap(_recorded(learner, learner.estimate)), start, (xs, observed), length)
    return steps._replace(state=last)


def _recorded(learner: Learner, read: Callable[[State], Any]) -> Callable[..., tuple[State, Steps]]:
    """A step, and what is recorded of it."""

    def step(state: State, at: tuple[Any, Any]) -> tuple[State, Steps]:
        new, info = advance(learner, state, *at)
        return new, Steps(read(new), *info)

    return step


def advance(learner: Learner, state: State, x: Any, seen: Array | None = None) -> tuple[State, StepInfo]:
    """One step of any learner; none where the sample was not seen."""
    return learner.step(state, x) if seen is None else learner.masked_step(state, x, seen)


def rows_where(condition: Array, new: State, old: State) -> State:
    """Put another state into those rows of a table of states for which the condition holds."""

    def put(new: Array, old: Array) -> Array:
        return jnp.where(condition.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    return jax.tree.map(put, new, old)


def repeated(state: State, times: int) -> State:
    """The same state, stacked so many times."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (times, *jnp.shape(leaf))), state)
