"""Likelihood of each participant's responses, trial by trial, given a learner and a response model."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import Literal

from astonish.core.names import MEASURED, OutcomeKind, ResponseKind
from astonish.core.numbers import BoolArray, FloatArray, as_double, double, pytree_dataclass
from astonish.core.programs import compiled, loop
from astonish.learners.base import Learner, State, advance, newly_failed
from astonish.models.parameters import find_parameter, matching, parameters, with_parameters
from astonish.models.registry import RESPONSES
from astonish.online.series import OPTIONS
from astonish.people.fit.space import Space
from astonish.people.tables import Trials
from astonish.people.tables.cells import choice_beside_numbers
from astonish.responses.base import Distribution, Prediction, Response, ResponseInput

BATCH = 64  # rows of parameters in one call

Respond = Callable[[Distribution, Array, bool], Array]


@pytree_dataclass
class Model:
    """A model of a participant: a learner, and a way to respond.

    Args:
        learner: Learns from the outcomes.
        response: How responses follow from what was learned.
        second: How a second response in the same trial, such as a reaction time, comes about, if there is one.
        differs: Names of parameters that differ between the conditions of trials; in a model with such values, each is
            an array of them.
    """

    learner: Learner
    response: Response
    second: Response | None = None
    differs: Any = field(default=(), kw_only=True, metadata={"static": True})

    def __post_init__(self) -> None:
        if isinstance(self.differs, str):
            raise ValueError(f"differs = {self.differs!r} is one word; give a list of names, as in [{self.differs!r}]")
        paths = tuple(dict.fromkeys(find_parameter(parameters(self), name).path for name in self.differs))
        object.__setattr__(self, "differs", paths)

    def in_trial(self, at: "ParticipantData") -> "Model":
        """Set the values that parameters have in the condition of this trial, or that are given for it."""
        by_condition = {path: attrgetter(path)(self) for path in self.differs if at.condition is not None}
        values = {path: value[at.condition] for path, value in by_condition.items() if jnp.ndim(value)}
        return with_parameters(self, {**values, **at.given})


class ParticipantData(NamedTuple):
    """What a participant saw and did, trial by trial; in a stack of participants, padded with trials that do not count.

    observed: whether the outcome was seen. starts: whether a block begins, so that the learner starts anew.
    responses: NaN where there is none. scored: whether the response is to be explained. given: values that a parameter
    of the model, by its full name, has in this trial. payoffs: what each option pays in this trial, if outcomes are to
    follow from simulated choices. second, second_scored: the same of a second response, if it is to be explained.
    condition: the number of the trial's condition, if there are any.
    """

    outcomes: Any
    observed: Any
    starts: Any
    responses: Any
    scored: Any
    given: dict[str, Any]
    payoffs: Any = None
    second: Any = None
    second_scored: Any = None
    condition: Any = None


class TrialOutputs(NamedTuple):
    """What a model computes for each trial.

    log_likelihood: of the response, 0 where none is to be explained; of both, if there are two. responses: those given,
    or simulated. expected: the response to expect. failed: 1 where an approximation that the learner rests on failed;
    None where it cannot (see `Learner.failures`). second, expected_second: the second response, if there is one.
    probabilities: of each choice, if it is one.
    """

    log_likelihood: Any
    responses: Any
    expected: Any
    learning_rate: Any
    surprise: Any
    failed: Any = None
    second: Any = None
    expected_second: Any = None
    probabilities: Any = None


class TrialCarry(NamedTuple):
    """What is carried from trial to trial."""

    state: State
    last: ResponseInput


# Participants' data


def participant_data(model: Model, trials: Trials) -> ParticipantData:
    """Stack the trials of all participants as this model is to explain them; refuse what it cannot explain."""
    responses = _explicable_responses(model.learner, model.response, trials)
    known = parameters(model.learner, "learner.")
    given = {find_parameter(known, name).path: column for name, column in trials.given.items() if matching(known, name)}
    data = ParticipantData(
        trials.outcomes, trials.observed, trials.starts, responses, explained(model, trials), given,
        condition=trials.condition if model.differs else None,
    )  # fmt: skip
    if model.second is None:
        return data
    if trials.second is None:
        raise ValueError("there is no second response; name its column, as in Columns(..., second_response='rt')")
    if model.second.kind != "readout":
        able = " or ".join(other.__name__ for other in RESPONSES.classes().values() if other.kind == "readout")
        raise ValueError(f"{type(model.second).__name__} is no model of a second response; give {able}")
    _check_numbers(model.learner, model.second, trials, trials.second, str(trials.columns.second_response))
    scored = np.isfinite(trials.second) & (trials.observed | trials.responds_before)
    return data._replace(second=trials.second, second_scored=scored)


def explained(model: Model, trials: Trials) -> BoolArray:
    """Mark the responses that the model is to explain.

    Where the learner goes on from each response, the first of a block is where it starts from, and is not explained.
    """
    if not trials.responds_before:
        return np.asarray(trials.scored & trials.observed)
    if not model.response.anchored:
        return np.asarray(trials.scored)
    return np.asarray(trials.scored & ~np.isnan(last_of_block(trials.responses, trials.starts)))


def last_of_block(values: Any, starts: BoolArray) -> FloatArray:
    """Return the value before each that is there, in the same block; NaN where there is none."""
    numbers, steps = np.asarray(values, np.float64), np.arange(starts.shape[1])
    block = np.maximum.accumulate(np.where(starts, steps, 0), axis=1)
    last = np.maximum.accumulate(np.where(np.isnan(numbers), -1, steps), axis=1)
    before = np.concatenate([np.full((len(last), 1), -1), last[:, :-1]], axis=1)
    return np.where(before >= block, np.take_along_axis(numbers, before, 1), np.nan)


def _explicable_responses(learner: Learner, response: Response, trials: Trials) -> FloatArray:
    """Return the responses, unless this learner and this response model cannot have given them."""
    if trials.responses is None:
        raise ValueError("there are no responses to explain; name their column, as in Columns(..., response='b')")
    trials.check_angles(learner)
    name = type(learner).__name__
    with double():
        shape = jax.eval_shape(lambda: learner.estimate(learner.init())).shape
    if trials.response_kind not in response.takes:
        kind = {"choice": "choices", "circular": "angles"}.get(str(trials.response_kind), "numbers")
        takers = (other for other in RESPONSES.classes().values() if trials.response_kind in other.takes)
        able = " or ".join(other.__name__ for other in takers)
        raise ValueError(f"these responses are {kind}, which {type(response).__name__} does not give; give {able}")
    if response.kind == "choice":
        _check_choice(name, response, shape, trials, trials.responses)
    if response.kind == "estimate":
        if shape:
            raise ValueError(f"{name} estimates {shape[0]} numbers, but a response is one; give Readout")
        if learner.period is not None and trials.response_kind != ResponseKind.CIRCULAR:
            problem = f"{name} estimates an angle, but these responses were read as other numbers"
            advice = "give kind='circular' to read_trials, and CircularEstimate() for the responses"
            raise ValueError(f"{problem}; {advice}")
        if trials.another_scale:
            raise ValueError(trials.another_scale)
    if response.anchored:
        with double():
            learner.with_estimate(learner.init(), np.zeros(()))
    _check_numbers(learner, response, trials, trials.responses, str(trials.columns.response))
    return trials.responses


def _check_choice(name: str, response: Response, shape: tuple[int, ...], trials: Trials, responses: FloatArray) -> None:
    """Refuse a learner, by its name, that does not say how good, or how probable, each of the options is."""
    if trials.options is None and trials.kind in MEASURED:
        raise ValueError(choice_beside_numbers(trials.columns.outcome, trials.columns.response, trials.labels or ()))
    if trials.options is not None and shape != (len(trials.options),):
        learns = f"{name} does not estimate each of {len(trials.options)} options"
        raise ValueError(f"{learns}; give PerOption({name}(...), {len(trials.options)})")
    if response.of_probabilities and trials.kind in MEASURED:
        rewards = "rewards go from {:g} to {:g}".format(*trials.outcome_range)
        raise ValueError(f"{type(response).__name__} reads probabilities, but {rewards}; give Softmax")
    options, choices = shape[0] if shape else 2, int(np.nanmax(responses)) + 1
    if choices > options:
        raise ValueError(f"there are {choices} choices, but {options} outcomes to choose from; name all that can occur")


def _check_numbers(learner: Learner, response: Response, trials: Trials, responses: FloatArray, column: str) -> None:
    """Refuse numbers that cannot be such responses, and a learner that does not know what they follow from."""
    name = type(response).__name__
    response.check_responses(column, responses[np.isfinite(responses)])
    if response.only_after and trials.responds_before:
        raise ValueError(f"{name} follows the surprise at an outcome, so it comes after it; give responds_before=False")
    with double():
        state = jax.eval_shape(learner.init)
        known = {
            "variance": trials.kind == OutcomeKind.BINARY or None,
            "uncertainty": jax.eval_shape(learner.uncertainty, state),
            "volatility": jax.eval_shape(learner.step_variance, state),
        }
    for need in response.needs():
        if known[need] is None or trials.options is not None:
            who = "a learner of several options" if trials.options is not None else type(learner).__name__
            raise ValueError(f"{name} follows the {need} of what is predicted, which {who} does not know; give another")


# One participant, trial by trial


def evaluate(model: Model, data: ParticipantData, responds_before: bool) -> TrialOutputs:
    """Run the model over one participant's trials, each response given before (or after) its outcome."""
    return loop(partial(trial, model, responds_before), begin(model, data), data)[1]


def simulate(model: Model, data: ParticipantData, responds_before: bool, key: Array) -> TrialOutputs:
    """Run the model with simulated responses, wherever the participant gave one."""

    def step(carry: TrialCarry, at: tuple[ParticipantData, Array]) -> tuple[TrialCarry, TrialOutputs]:
        def respond(distribution: Distribution, given: Array, second: bool) -> Array:
            key = jax.random.fold_in(at[1], 1) if second else at[1]
            return jnp.where(jnp.isnan(given), jnp.nan, distribution.sample(key))

        return trial(model, responds_before, carry, at[0], respond)

    keys = jax.random.split(key, len(data.starts))
    return loop(step, begin(model, data), (data, keys))[1]


def begin(model: Model, data: ParticipantData) -> TrialCarry:
    """Return what is there before the first trial."""
    first = jax.tree.map(lambda part: part[0], data)
    return _fresh(model.in_trial(first), first)


def trial(
    model: Model,
    responds_before: bool,
    carry: TrialCarry,
    at: ParticipantData,
    respond: Respond = lambda _, given, second: given,  # noqa: ARG005
) -> tuple[TrialCarry, TrialOutputs]:
    """Go through one trial, responding before its outcome or after it.

    respond: makes a response of its distribution, the one given (NaN if none was), and whether it is the second. If
    left out, it is the one given.
    """
    here = model.in_trial(at)
    carry = jax.tree.map(lambda new, old: jnp.where(at.starts, new, old), _fresh(here, at), carry)
    prediction = _predict(here.learner, carry.state, at)
    if not responds_before:
        carry, learned = _learn(here, carry, at)
    carry, responded = _respond(here, carry, at, prediction, respond)
    if responds_before and at.payoffs is not None:
        at = at._replace(outcomes=consequences(at.outcomes, at.payoffs, responded["responses"]))
    if responds_before:
        carry, learned = _learn(here, carry, at)
    return carry, TrialOutputs(**responded, **learned)


def consequences(outcomes: Any, payoffs: Array, response: Array) -> Any:
    """Return the outcome of a choice in the form of these outcomes (see `Trials.outcomes`). payoffs: of all options."""
    first, second, *shown = outcomes
    if isinstance(second, tuple):  # the first is a context
        return first, consequences(second, payoffs, response)
    option = jnp.where(jnp.isnan(response), 0, response).astype(first.dtype)
    paid = payoffs.astype(second.dtype)
    return (option, paid, *shown) if shown else (option, paid[option])


def _fresh(model: Model, at: ParticipantData) -> TrialCarry:
    state = jax.tree.map(jnp.asarray, model.learner.init())
    estimate = jnp.asarray(model.learner.estimate_at(state, at.outcomes))
    zero = jnp.zeros((), estimate.dtype)
    return TrialCarry(state, ResponseInput(estimate, estimate, zero, zero, jnp.full((), jnp.nan, estimate.dtype)))


def _predict(learner: Learner, state: State, at: ParticipantData) -> Prediction:
    """Predict the outcome of this trial; of several options, by the estimates alone."""
    estimate = jnp.asarray(learner.estimate_at(state, at.outcomes))
    if estimate.ndim:
        return Prediction(estimate, None, None)
    inner, held, _ = learner.in_context(state, at.outcomes)
    return Prediction(estimate, inner.uncertainty(held), inner.step_variance(held))


def _learn(model: Model, carry: TrialCarry, at: ParticipantData) -> tuple[TrialCarry, dict[str, Any]]:
    before = carry.last.estimate  # unless something other than the last outcome has changed it, or the context
    if model.response.anchored or at.given or len(jax.tree.leaves(at.outcomes)) > 1:
        before = jnp.asarray(model.learner.estimate_at(carry.state, at.outcomes))
    state, info = advance(model.learner, carry.state, at.outcomes, at.observed)
    surprise = jnp.where(at.observed, info.surprise, 0.0)
    after = jnp.asarray(model.learner.estimate_at(state, at.outcomes))
    last = ResponseInput(after, before, surprise, info.learning_rate, carry.last.last_response)
    failed = newly_failed(model.learner, carry.state, state)
    return TrialCarry(state, last), {"learning_rate": info.learning_rate, "surprise": info.surprise, "failed": failed}


def _respond(
    model: Model, carry: TrialCarry, at: ParticipantData, prediction: Prediction, respond: Respond
) -> tuple[TrialCarry, dict[str, Any]]:
    now = _predict(model.learner, carry.state, at)
    last = carry.last._replace(estimate=now.estimate)
    are_labels = jnp.issubdtype(jax.tree.leaves(at.outcomes)[-1].dtype, jnp.integer)
    given = last._replace(
        period=model.learner.period,
        prediction=prediction,
        uncertainty=now.uncertainty,
        of_probability=not now.estimate.ndim and bool(are_labels),  # one number for labels: those are 0 and 1
    )

    def scored(distribution: Distribution, response: Array, is_scored: Array) -> Array:
        log_prob = distribution.log_prob(jnp.where(is_scored, response, 0.0))
        return jnp.where(is_scored, log_prob, 0.0)

    distribution = model.response.distribution(given)
    response = respond(distribution, at.responses, False)
    log_likelihood = scored(distribution, response, at.scored)
    outputs = {"log_likelihood": log_likelihood, "responses": response, "expected": distribution.mean}
    if model.response.kind == "choice":
        options = jnp.arange(now.estimate.shape[0] if now.estimate.ndim else 2)
        outputs["probabilities"] = jnp.exp(jax.vmap(distribution.log_prob)(options))
    if model.second is not None:
        distribution = model.second.distribution(given)
        second = respond(distribution, at.second, True)
        log_likelihood = log_likelihood + scored(distribution, second, at.second_scored)
        outputs |= {"log_likelihood": log_likelihood, "second": second, "expected_second": distribution.mean}
    state, there = carry.state, ~jnp.isnan(at.responses)
    if model.response.anchored:  # the learner goes on from the response, which then is its estimate
        state = model.learner.with_estimate(state, jnp.where(there, response, last.estimate))
    return TrialCarry(state, last._replace(last_response=jnp.where(there, response, last.last_response))), outputs


# The loss, and its derivatives, on all cores


class Losses:
    """Losses of participants at given parameters (minus the log-posterior density), and their gradients.

    Args:
        prior: Means and precisions of normal priors on the unconstrained scale, for all participants (a row each) or
            for each of them; a precision of 0 is no prior.
        batch: Rows in one call; always the same, so that nothing is compiled twice.
    """

    def __init__(
        self,
        model: Model,
        data: ParticipantData,
        space: Space,
        responds_before: bool,
        prior: FloatArray,
        batch: int = BATCH,
    ) -> None:
        with double():
            self._model, self._data = jax.tree.map(jnp.asarray, as_double((model, data)))
        self._space, self._responds_before, self._batch = space, responds_before, batch
        by_participant = prior[:, None] if prior.ndim == 2 else prior
        self._prior = np.broadcast_to(by_participant, (2, len(data.responses), len(space)))
        self._pool = ThreadPoolExecutor(os.cpu_count())

    def __call__(self, xs: FloatArray, who: Any) -> tuple[FloatArray, FloatArray]:
        """Compute the loss of participant `who` at each row of unconstrained parameters, and its gradient."""
        count, size = len(xs), self._batch
        if not count:
            return np.zeros(0), np.zeros(xs.shape)

        def of_batch(xs: FloatArray, who: Any) -> Any:
            given = self._model, self._data, self._prior[:, who], xs, who, self._space, self._responds_before
            with double():
                return jax.device_get(_losses_and_gradients(*given))

        short = -count % size
        filled = np.concatenate([xs, np.repeat(xs[-1:], short, 0)]).reshape(-1, size, xs.shape[1])
        whose = np.concatenate([who, np.repeat(who[-1:], short)]).reshape(-1, size)
        batches = list(self._pool.map(of_batch, filled, whose))
        losses, gradients = (np.concatenate(parts)[:count] for parts in zip(*batches, strict=True))
        return losses, gradients


@partial(compiled, static_argnums=(5, 6), compiler_options=OPTIONS)
def _losses_and_gradients(
    model: Model, data: ParticipantData, prior: Any, xs: Any, who: Any, space: Space, responds_before: bool
) -> tuple[Array, Array]:
    own = jax.tree.map(lambda part: part[who], data)
    log_likelihood, gradient = log_likelihoods_and_gradients(model, own, space, responds_before, xs)
    off = xs - prior[0]
    return 0.5 * (prior[1] * off * off).sum(1) - log_likelihood, prior[1] * off - gradient


def log_likelihoods_and_gradients(
    model: Model, data: ParticipantData, space: Space, responds_before: bool, xs: Array
) -> tuple[Array, Array]:
    """Compute the log-likelihood of each participant's responses at unconstrained parameters, and its gradient.

    Parameters are few and trials many, so derivatives go forward with the trials: what is carried from one to the next
    has its derivatives beside it. That this is one loop, and not the derivative of a loop as `jax.jacfwd` makes it,
    halves the time to compile it; with directions outermost, participants are next to each other in memory.
    What no parameter changes, such as what message passing believes under each hypothesis, has no derivatives.
    """
    people, count = xs.shape
    directions = jnp.broadcast_to(jnp.eye(count, dtype=xs.dtype)[:, None], (count, people, count))
    constrain = _along(lambda xs: (jax.vmap(space.constrain)(xs), None), xs)
    values, steepness, _ = constrain(directions)  # once, not per trial

    def first(value: Array, own: ParticipantData) -> TrialCarry:
        return begin(space.put(model, value), own)

    def one(value: Array, carry: TrialCarry, at: ParticipantData) -> Any:
        return trial(space.put(model, value), responds_before, carry, at)

    moves = _moving(first, one, values[0], jax.tree.map(lambda part: part[0], data))

    def split(carry: TrialCarry) -> tuple[Any, Any]:
        """Separate the numbers that have derivatives from those that have none, such as counts."""
        moving = jax.tree.map(lambda leaf, does: leaf if does else None, carry, moves)
        return moving, jax.tree.map(lambda leaf, does: None if does else leaf, carry, moves)

    def step(carry: Any, at: ParticipantData) -> tuple[Any, None]:
        (moving, total), (tangents, gradient), still = carry

        def split_trial(values: Array, moving: Any) -> tuple[Any, Any]:
            whole = jax.tree.map(lambda a, b: b if a is None else a, moving, still, is_leaf=lambda leaf: leaf is None)
            memory, outputs = jax.vmap(one)(values, whole, at)
            moved, others = split(memory)
            return (moved, outputs.log_likelihood), others

        (moving, more), (tangents, steeper), still = _along(split_trial, values, moving)(steepness, tangents)
        return ((moving, total + more), (tangents, gradient + steeper), still), None

    moving, tangents, still = _along(lambda values: split(jax.vmap(first)(values, data)), values)(steepness)
    zeros = jnp.zeros(people, xs.dtype), jnp.zeros((count, people), xs.dtype)
    by_trial = jax.tree.map(lambda part: jnp.swapaxes(part, 0, 1), data)
    end = loop(step, ((moving, zeros[0]), (tangents, zeros[1]), still), by_trial)[0]
    return end[0][1], end[1][1].T


def _along(function: Callable[..., Any], *at: Any) -> Callable[..., Any]:
    """Differentiate along several directions: the values of a function, its derivatives, and what has none."""
    return jax.vmap(lambda *along: jax.jvp(function, at, along, has_aux=True), out_axes=(None, 0, None))


def _moving(
    first: Callable[..., TrialCarry], trial: Callable[..., Any], values: Array, data: ParticipantData
) -> TrialCarry:
    """Mark the numbers carried from trial to trial that change with the parameters."""
    at = jax.tree.map(lambda part: part[0], data)
    memory, structure = jax.tree.flatten(jax.eval_shape(first, values, data))
    carry = jax.tree.unflatten(structure, memory)
    moves = _changing(first, [True], values, data)
    while True:
        more = _changing(lambda *given: trial(*given)[0], [True, *moves], values, carry, at)
        if all(before or not now for before, now in zip(moves, more, strict=True)):
            return jax.tree.unflatten(structure, moves)
        moves = [before or now for before, now in zip(moves, more, strict=True)]


def _changing(function: Callable[..., Any], inputs: list[bool], *given: Any) -> list[bool]:
    """Mark the returned numbers that change smoothly with the first inputs, of which some are said to change."""
    program = jax.make_jaxpr(function)(*given).jaxpr
    changing = {variable for variable, does in zip(program.invars, inputs, strict=False) if does}
    for line in program.eqns:
        if any(not isinstance(variable, Literal) and variable in changing for variable in line.invars):
            changing |= {output for output in line.outvars if jnp.issubdtype(output.aval.dtype, jnp.floating)}
    return [not isinstance(output, Literal) and output in changing for output in program.outvars]
