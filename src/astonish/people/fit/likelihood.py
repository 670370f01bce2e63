"""How probable are someone's responses, trial by trial, given a learner and a response model?"""

from collections.abc import Callable
from dataclasses import field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import BoolArray, pytree_dataclass
from astonish.core.programs import loop
from astonish.learners.base import Learner, State, advance, newly_failed
from astonish.models.parameters import find_parameter, matching, parameters, with_parameters
from astonish.people.fit.requirements import explicable_responses, explicable_second
from astonish.people.tables import Trials
from astonish.responses.base import Distribution, Prediction, Response, ResponseInput

Respond = Callable[..., Any]


@pytree_dataclass
class Model:
    """A model of a participant: a learner, and a way to respond.

    second: how a second response in the same trial, such as a reaction time, comes about, if there is one.
    differs: names of parameters that differ between the conditions of trials; in a model with such values, each is an
    array of them.
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
        """The model with the values that its parameters have in the condition of this trial, and that are given."""
        own = {path: attrgetter(path)(self) for path in self.differs if at.condition is not None}
        found = {path: value[at.condition] for path, value in own.items() if jnp.ndim(value)}
        return with_parameters(self, {**found, **at.given})


class ParticipantData(NamedTuple):
    """What a participant saw and did, trial by trial; in a stack of participants, padded with trials that do not count.

    observed: whether the outcome was seen. starts: whether a block begins, so that the learner starts anew.
    responses: NaN where there is none. scored: whether the response is to be explained. given: values that a parameter
    of the model, by its full name, has in this trial. payoffs: what each option pays in this trial, if outcomes are to
    follow from simulated choices; else None. second, second_scored: the same of a second response, if it is to be
    explained. condition: the number of the trial's condition, if there are any.
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
    or simulated. expected: the response to expect. learning_rate, surprise: the learner's. failed: 1 where an
    approximation that the learner rests on failed; None where it cannot (see `Learner.failures`). second,
    expected_second: the second response, if there is one. probabilities: of each choice, if it is one.
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


def participant_data(model: Model, trials: Trials) -> ParticipantData:
    """The trials of all participants, stacked, as this model is to explain them."""
    responses = explicable_responses(model.learner, model.response, trials)
    known = parameters(model.learner, "learner.")
    given = {find_parameter(known, name).path: column for name, column in trials.given.items() if matching(known, name)}
    scored = explained(model, trials)
    data = ParticipantData(trials.outcomes, trials.observed, trials.starts, responses, scored, given)
    if model.differs:
        data = data._replace(condition=trials.condition)
    if model.second is None:
        return data
    second = explicable_second(model.learner, model.second, trials)
    there = np.isfinite(second) & (trials.observed | trials.responds_before)
    return data._replace(second=second, second_scored=there)


def evaluate(model: Model, data: ParticipantData, responds_before: bool) -> TrialOutputs:
    """What the model computes for one participant's trials, each response given before (or after) its outcome."""
    return loop(partial(given_trial, model, responds_before), begin(model, data), data)[1]


def simulate(model: Model, data: ParticipantData, responds_before: bool, key: Array) -> TrialOutputs:
    """The same with simulated responses, wherever the participant gave one."""

    def step(memory: TrialCarry, at: tuple[ParticipantData, Array]) -> tuple[TrialCarry, TrialOutputs]:
        def respond(distribution: Distribution, given: Array, second: bool) -> Array:
            key = jax.random.fold_in(at[1], 1) if second else at[1]
            return jnp.where(jnp.isnan(given), jnp.nan, distribution.sample(key))

        return trial(model, responds_before, memory, at[0], respond)

    keys = jax.random.split(key, len(data.starts))
    return loop(step, begin(model, data), (data, keys))[1]


def begin(model: Model, data: ParticipantData) -> TrialCarry:
    """What is there before the first trial."""
    first = jax.tree.map(lambda part: part[0], data)
    return _fresh(model.in_trial(first), first)


def given_trial(
    model: Model, responds_before: bool, memory: TrialCarry, at: ParticipantData
) -> tuple[TrialCarry, TrialOutputs]:
    """Go through a trial with the response that was given."""
    return trial(model, responds_before, memory, at, lambda _, given, second: given)  # noqa: ARG005


def trial(
    model: Model, responds_before: bool, memory: TrialCarry, at: ParticipantData, respond: Respond
) -> tuple[TrialCarry, TrialOutputs]:
    """Go through one trial, responding before its outcome or after it.

    respond: a response, from its distribution, the one given (NaN if none was), and whether it is the `second`.
    """
    here = model.in_trial(at)
    memory = jax.tree.map(lambda new, old: jnp.where(at.starts, new, old), _fresh(here, at), memory)
    prediction = _predict(here.learner, memory.state, at)
    if responds_before:
        memory, responded = _respond(here, memory, at, prediction, respond)
        if at.payoffs is not None:
            at = at._replace(outcomes=consequences(at.outcomes, at.payoffs, responded["responses"]))
        memory, learned = _learn(here, memory, at)
    else:
        memory, learned = _learn(here, memory, at)
        memory, responded = _respond(here, memory, at, prediction, respond)
    return memory, TrialOutputs(**responded, **learned)


def consequences(outcomes: Any, payoffs: Array, response: Array) -> Any:
    """The outcome of a choice, in the form of these outcomes (see `Trials.outcomes`). payoffs: of all options."""
    first, second, *shown = outcomes
    if isinstance(second, tuple):  # the first is a context
        return first, consequences(second, payoffs, response)
    option = jnp.where(jnp.isnan(response), 0, response).astype(first.dtype)
    paid = payoffs.astype(second.dtype)
    return (option, paid, *shown) if shown else (option, paid[option])


def _fresh(model: Model, at: ParticipantData) -> TrialCarry:
    state = jax.tree.map(jnp.asarray, model.learner.init())
    estimate = _estimate(model.learner, state, at)
    zero = jnp.zeros((), estimate.dtype)
    return TrialCarry(state, ResponseInput(estimate, estimate, zero, zero, jnp.full((), jnp.nan, estimate.dtype)))


def _learn(model: Model, memory: TrialCarry, at: ParticipantData) -> tuple[TrialCarry, dict[str, Any]]:
    before = memory.last.estimate  # unless something other than the last outcome has changed it, or the context
    if model.response.anchored or at.given or len(jax.tree.leaves(at.outcomes)) > 1:
        before = _estimate(model.learner, memory.state, at)
    state, info = advance(model.learner, memory.state, at.outcomes, at.observed)
    surprise = jnp.where(at.observed, info.surprise, 0.0)
    after = _estimate(model.learner, state, at)
    last = ResponseInput(after, before, surprise, info.learning_rate, memory.last.last_response)
    failed = newly_failed(model.learner, memory.state, state)
    return TrialCarry(state, last), {"learning_rate": info.learning_rate, "surprise": info.surprise, "failed": failed}


def _predict(learner: Learner, state: State, at: ParticipantData) -> Prediction:
    """What the learner thinks before the outcome of this trial; of several options, it is the estimates alone."""
    estimate = _estimate(learner, state, at)
    if estimate.ndim:
        return Prediction(estimate, None, None)
    inner, held, _ = learner.in_context(state, at.outcomes)
    return Prediction(estimate, inner.uncertainty(held), inner.step_variance(held))


def _respond(
    model: Model, memory: TrialCarry, at: ParticipantData, prediction: Prediction, respond: Respond
) -> tuple[TrialCarry, dict[str, Any]]:
    now = _predict(model.learner, memory.state, at)
    last = memory.last._replace(estimate=now.estimate)
    given = last._replace(
        period=model.learner.period,
        prediction=prediction,
        uncertainty=now.uncertainty,
        of_probability=not now.estimate.ndim and _are_labels(at.outcomes),
    )
    distribution = model.response.distribution(given)
    response, log_likelihood = _explained(distribution, at.responses, at.scored, partial(respond, second=False))
    outputs = {"log_likelihood": log_likelihood, "responses": response, "expected": distribution.mean}
    if model.response.kind == "choice":
        options = jnp.arange(now.estimate.shape[0] if now.estimate.ndim else 2)
        outputs["probabilities"] = jnp.exp(jax.vmap(distribution.log_prob)(options))
    if model.second is not None:
        second = model.second.distribution(given)
        also, more = _explained(second, at.second, at.second_scored, partial(respond, second=True))
        outputs |= {"log_likelihood": log_likelihood + more, "second": also, "expected_second": second.mean}
    state, there = memory.state, ~jnp.isnan(at.responses)
    if model.response.anchored:  # the learner goes on from the response, which then is its estimate
        state = model.learner.with_estimate(state, jnp.where(there, response, last.estimate))
    return TrialCarry(state, last._replace(last_response=jnp.where(there, response, last.last_response))), outputs


def _explained(distribution: Distribution, given: Array, scored: Array, respond: Any) -> tuple[Array, Array]:
    """A response, and the logarithm of its probability, which is 0 where it is not to be explained."""
    response = respond(distribution, given)
    log_prob = distribution.log_prob(jnp.where(scored, response, 0.0))
    return response, jnp.where(scored, log_prob, 0.0)


def _are_labels(outcomes: Any) -> bool:
    """Whether outcomes are indices of labels; those whose estimate is one number then are 0 and 1."""
    return bool(jnp.issubdtype(jax.tree.leaves(outcomes)[-1].dtype, jnp.integer))


def _estimate(learner: Learner, state: State, at: ParticipantData) -> Array:
    """The estimate on which a response in this trial rests."""
    return jnp.asarray(learner.estimate_at(state, at.outcomes))


def explained(model: Model, trials: Trials) -> BoolArray:
    """Which responses the model is to explain; not the first of a block, if that is where the learner starts from."""
    if not trials.responds_before:
        return np.asarray(trials.scored & trials.observed)
    return np.asarray(trials.scored & responded_before(trials) if model.response.anchored else trials.scored)


def responded_before(trials: Trials) -> BoolArray:
    """Where there was a response earlier in the block."""
    starts, responded = trials.starts, ~np.isnan(np.asarray(trials.responses))
    at = np.arange(starts.shape[1])
    begin = np.maximum.accumulate(np.where(starts, at, 0), axis=1)
    last = np.maximum.accumulate(np.where(responded, at, -1), axis=1)
    before = np.concatenate([np.full((len(last), 1), -1), last[:, :-1]], axis=1)
    return np.asarray(before >= begin)
