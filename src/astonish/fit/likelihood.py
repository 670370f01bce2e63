"""How probable are someone's responses, trial by trial, given a learner and a response model?"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.catalogue import RESPONSES
from astonish.config import config
from astonish.domain import Mask, Numbers, matches, resolve, with_parameters
from astonish.kinds import MEASURED, ResponseKind
from astonish.learner import Learner, State, advance, newly_failed
from astonish.loops import loop
from astonish.precision import double
from astonish.responses.response import Distribution, Response, ResponseInput
from astonish.trials import Trials

Respond = Callable[[Distribution, Array], Any]


@config
class Model:
    """A model of a participant: a learner, and a way to respond."""

    learner: Learner
    response: Response


class ParticipantData(NamedTuple):
    """What a participant saw and did, trial by trial; in a stack of participants, padded with trials that do not count.

    observed: whether the outcome was seen. starts: whether a block begins, so that the learner starts anew.
    responses: NaN where there is none. scored: whether the response is to be explained. given: values that a parameter
    of the model, by its full name, has in this trial.
    """

    outcomes: Any
    observed: Any
    starts: Any
    responses: Any
    scored: Any
    given: dict[str, Any]


class TrialOutputs(NamedTuple):
    """What a model computes for each trial.

    log_likelihood: of the response, 0 where none is to be explained. responses: those given, or simulated. expected:
    the response to expect. learning_rate, surprise: the learner's. failed: 1 where an approximation that the learner
    rests on failed; None where it cannot (see `Learner.failures`).
    """

    log_likelihood: Any
    responses: Any
    expected: Any
    learning_rate: Any
    surprise: Any
    failed: Any = None


class Memory(NamedTuple):
    """What is carried from trial to trial."""

    state: State
    last: ResponseInput


def participant_data(model: Model, trials: Trials) -> ParticipantData:
    """The trials of all participants, stacked, as this model is to explain them."""
    responses = _explicable_responses(model, trials)
    known = [name for name in trials.given if matches(model.learner, name)]
    given = {f"learner.{resolve(model.learner, name).path}": trials.given[name] for name in known}
    scored = trials.scored if trials.responds_before else trials.scored & trials.observed
    if model.response.anchored and trials.responds_before:  # the first response of a block is where one starts from
        scored = scored & _responded_before(trials.starts, ~np.isnan(responses))
    return ParticipantData(trials.outcomes, trials.observed, trials.starts, responses, scored, given)


def evaluate(model: Model, data: ParticipantData, responds_before: bool) -> TrialOutputs:
    """What the model computes for one participant's trials, each response given before (or after) its outcome."""
    return loop(partial(given_trial, model, responds_before), begin(model, data), data)[1]


def simulate(model: Model, data: ParticipantData, responds_before: bool, key: Array) -> TrialOutputs:
    """The same with simulated responses, wherever the participant gave one."""

    def step(memory: Memory, at: tuple[ParticipantData, Array]) -> tuple[Memory, TrialOutputs]:
        def respond(distribution: Distribution, there: Array) -> Array:
            return jnp.where(there, distribution.sample(at[1]), jnp.nan)

        return trial(model, responds_before, memory, at[0], respond)

    keys = jax.random.split(key, len(data.starts))
    return loop(step, begin(model, data), (data, keys))[1]


def begin(model: Model, data: ParticipantData) -> Memory:
    """What is there before the first trial."""
    first = jax.tree.map(lambda part: part[0], data)
    return _fresh(with_parameters(model, first.given), first)


def given_trial(
    model: Model, responds_before: bool, memory: Memory, at: ParticipantData
) -> tuple[Memory, TrialOutputs]:
    """Go through a trial with the response that was given."""
    return trial(model, responds_before, memory, at, lambda *_: at.responses)


def trial(
    model: Model, responds_before: bool, memory: Memory, at: ParticipantData, respond: Respond
) -> tuple[Memory, TrialOutputs]:
    """Go through one trial, responding before its outcome or after it.

    respond: the response, from its distribution and whether there is one.
    """
    here: Model = with_parameters(model, at.given)
    memory = jax.tree.map(lambda new, old: jnp.where(at.starts, new, old), _fresh(here, at), memory)
    if responds_before:
        memory, responded = _respond(here, memory, at, respond)
        memory, learned = _learn(here, memory, at)
    else:
        memory, learned = _learn(here, memory, at)
        memory, responded = _respond(here, memory, at, respond)
    return memory, TrialOutputs(**responded, **learned)


def _fresh(model: Model, at: ParticipantData) -> Memory:
    state = jax.tree.map(jnp.asarray, model.learner.init())
    estimate = _local_estimate(model.learner, state, at.outcomes)
    zero = jnp.zeros((), estimate.dtype)
    return Memory(state, ResponseInput(estimate, estimate, zero, zero, jnp.full((), jnp.nan, estimate.dtype)))


def _learn(model: Model, memory: Memory, at: ParticipantData) -> tuple[Memory, dict[str, Any]]:
    before = memory.last.estimate  # unless something other than the last outcome has changed it, or the context
    if model.response.anchored or at.given or len(jax.tree.leaves(at.outcomes)) > 1:
        before = _local_estimate(model.learner, memory.state, at.outcomes)
    state, info = advance(model.learner, memory.state, at.outcomes, at.observed)
    surprise = jnp.where(at.observed, info.surprise, 0.0)
    after = _local_estimate(model.learner, state, at.outcomes)
    last = ResponseInput(after, before, surprise, info.learning_rate, memory.last.last_response)
    failed = newly_failed(model.learner, memory.state, state)
    return Memory(state, last), {"learning_rate": info.learning_rate, "surprise": info.surprise, "failed": failed}


def _respond(model: Model, memory: Memory, at: ParticipantData, respond: Respond) -> tuple[Memory, dict[str, Any]]:
    last = memory.last._replace(estimate=_local_estimate(model.learner, memory.state, at.outcomes))
    distribution = model.response.distribution(last._replace(period=model.learner.period))
    there = ~jnp.isnan(at.responses)
    response = respond(distribution, there)
    log_prob = distribution.log_prob(jnp.where(at.scored, response, 0.0))
    state = memory.state
    if model.response.anchored:  # the learner goes on from the response, which then is its estimate
        state = model.learner.with_estimate(state, jnp.where(there, response, last.estimate))
    log_likelihood = jnp.where(at.scored, log_prob, 0.0)
    outputs = {"log_likelihood": log_likelihood, "responses": response, "expected": distribution.mean}
    return Memory(state, last._replace(last_response=jnp.where(there, response, last.last_response))), outputs


def _local_estimate(learner: Learner, state: State, x: Any) -> Array:
    """The estimate in the context of this trial."""
    inner, held, _ = learner.local(state, x)
    return jnp.asarray(inner.estimate(held))


def _responded_before(starts: Mask, responded: Mask) -> Mask:
    """Where there was a response earlier in the block."""
    at = np.arange(starts.shape[1])
    begin = np.maximum.accumulate(np.where(starts, at, 0), axis=1)
    last = np.maximum.accumulate(np.where(responded, at, -1), axis=1)
    before = np.concatenate([np.full((len(last), 1), -1), last[:, :-1]], axis=1)
    return np.asarray(before >= begin)


def _explicable_responses(model: Model, trials: Trials) -> Numbers:
    """The responses, unless this model cannot have given them."""
    if trials.responses is None:
        raise ValueError("there are no responses to explain; name their column, as in Columns(..., response='b')")
    learner, response = model.learner, model.response
    trials.check_angles(learner)
    with double():
        shape = jax.eval_shape(lambda: learner.estimate(learner.init())).shape
    name = type(response).__name__
    if trials.response_kind not in response.takes:
        what = {"choice": "choices", "circular": "angles"}.get(str(trials.response_kind), "numbers")
        able = " or ".join(each.__name__ for each in RESPONSES.classes().values() if trials.response_kind in each.takes)
        raise ValueError(f"these responses are {what}, which {name} does not give; give {able}")
    options = shape[0] if shape else 2
    if response.kind == "choice" and trials.kind in MEASURED:
        raise ValueError("a choice is among outcomes, but these are numbers; give binary or categorical ones")
    if response.kind == "choice" and np.nanmax(trials.responses) >= options:
        many = int(np.nanmax(trials.responses)) + 1
        raise ValueError(f"there are {many} choices, but {options} outcomes to choose from; name all that can occur")
    if response.kind == "estimate":
        _check_estimate(learner, shape, trials)
    if response.kind == "readout" and trials.responds_before:
        raise ValueError(f"{name} follows the surprise at an outcome, so it comes after it; give responds_before=False")
    if response.anchored:
        with double():
            learner.with_estimate(learner.init(), np.zeros(()))
    return trials.responses


def _check_estimate(learner: Learner, shape: tuple[int, ...], trials: Trials) -> None:
    """Refuse a learner whose estimate these responses cannot report."""
    name = type(learner).__name__
    if shape:
        raise ValueError(f"{name} estimates {shape[0]} numbers, but a response is one; give Readout")
    if learner.period is not None and trials.response_kind != ResponseKind.CIRCULAR:
        problem = f"{name} estimates an angle, but these responses were read as other numbers"
        raise ValueError(f"{problem}; give kind='circular' to read_trials, and CircularEstimate() for the responses")
