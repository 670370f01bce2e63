"""How probable are someone's responses, trial by trial, if they learn and respond in a certain way?"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import BetaBelief
from astonish.blocks import with_parameters
from astonish.config import config
from astonish.domain import Numbers, parameters
from astonish.fit.responses import Answer, Response, Seen
from astonish.fit.space import full_name
from astonish.learner import Learner, PerContext, State, advance
from astonish.samples import Mask
from astonish.table import Trials

_CERTAIN = 1e-3  # an answer closer to 0 or 1 than this is no mean of a belief about a probability


@config
class Model:
    """How we imagine a participant: a learner, and a way to respond."""

    learner: Learner
    response: Response


class Task(NamedTuple):
    """What a participant saw and did, trial by trial; in a stack of participants, padded with trials that do not count.

    observed: whether the outcome was seen. starts: whether a block begins, and with it belief and answers anew.
    responses: NaN where there is none. scored: whether the response is to be explained. given: values that a
    parameter of the model, by its full name, has in this trial.
    """

    outcomes: Any
    observed: Any
    starts: Any
    responses: Any
    scored: Any
    given: dict[str, Any]


class Account(NamedTuple):
    """What a model makes of each trial.

    log_likelihood: of the response, 0 where none is to be explained. responses: those given, or drawn. expected: the
    response to expect. rate, surprise: the learner's.
    """

    log_likelihood: Any
    responses: Any
    expected: Any
    rate: Any
    surprise: Any


def tasks(model: Model, trials: Trials) -> Task:
    """The trials of all participants, stacked, as this model is to explain them."""
    responses = _answers(model, trials)
    given = {f"learner.{name}": trials.given[short] for short, name in _known(model.learner, trials.given).items()}
    scored = trials.scored if trials.before else trials.scored & trials.observed
    if model.response.anchored and trials.before:  # a first answer is where one starts from
        scored = scored & _answered_before(trials.starts, ~np.isnan(responses))
    return Task(trials.outcomes, trials.observed, trials.starts, responses, scored, given)


def _answered_before(starts: Mask, answered: Mask) -> Mask:
    """Where there was an answer earlier in the block."""
    at = np.arange(starts.shape[1])
    begin = np.maximum.accumulate(np.where(starts, at, 0), axis=1)
    last = np.maximum.accumulate(np.where(answered, at, -1), axis=1)
    before = np.concatenate([np.full((len(last), 1), -1), last[:, :-1]], axis=1)
    return np.asarray(before >= begin)


def _known(learner: Learner, given: Iterable[str]) -> dict[str, str]:
    """The full names of those parameters that the learner has; what others need to be told does not concern it."""
    names = [name for name, _, _ in parameters(learner)]
    return {short: full_name(learner, short) for short in given if any(f".{n}".endswith(f".{short}") for n in names)}


def explain(model: Model, task: Task, before: bool) -> Account:
    """What the model makes of one participant's responses, each given before (or after) the outcome of its trial."""
    return jax.lax.scan(partial(given, model, before), begin(model, task), task)[1]


def simulate(model: Model, task: Task, before: bool, key: Array) -> Account:
    """What a participant who is as the model says might answer, wherever the real one did."""

    def through(memory: Memory, at: tuple[Task, Array]) -> tuple[Memory, Account]:
        return trial(model, before, memory, at[0], lambda answer, given: jnp.where(given, answer.draw(at[1]), jnp.nan))

    keys = jax.random.split(key, len(task.starts))
    return jax.lax.scan(through, begin(model, task), (task, keys))[1]


def given(model: Model, before: bool, memory: "Memory", at: Task) -> tuple["Memory", Account]:
    """Go through a trial with the response that was given."""
    return trial(model, before, memory, at, lambda *_: at.responses)


class Memory(NamedTuple):
    """What is carried from trial to trial."""

    state: State
    seen: Seen


def begin(model: Model, task: Task) -> Memory:
    """What is there before the first trial."""
    first = jax.tree.map(lambda part: part[0], task)
    return _fresh(_here(model, first), first)


def trial(
    model: Model, before: bool, memory: Memory, at: Task, respond: Callable[[Answer, Array], Any]
) -> tuple[Memory, Account]:
    """Go through one trial, answering before its outcome or after it.

    respond: what the answer is, given how answers are distributed and whether there is one.
    """
    here = _here(model, at)
    memory = jax.tree.map(lambda new, old: jnp.where(at.starts, new, old), _fresh(here, at), memory)
    if before:
        memory, told = _answer(here, memory, at, respond)
        memory, learned = _learn(here, memory, at)
    else:
        memory, learned = _learn(here, memory, at)
        memory, told = _answer(here, memory, at, respond)
    return memory, Account(**told, **learned)


def _here(model: Model, at: Task) -> Model:
    """The model with the values that are given in this trial."""
    here: Model = with_parameters(model, at.given)
    return here


def _fresh(model: Model, at: Task) -> Memory:
    state = jax.tree.map(jnp.asarray, model.learner.init())
    estimate = _asked(model.learner, state, at.outcomes)
    zero = jnp.zeros((), estimate.dtype)
    return Memory(state, Seen(estimate, estimate, zero, zero, jnp.full((), jnp.nan, estimate.dtype)))


def _learn(model: Model, memory: Memory, at: Task) -> tuple[Memory, dict[str, Any]]:
    origin = _asked(model.learner, memory.state, at.outcomes)
    state, info = advance(model.learner, memory.state, at.outcomes, at.observed)
    surprise = jnp.where(at.observed, info.surprise, 0.0)
    seen = Seen(_asked(model.learner, state, at.outcomes), origin, surprise, info.rate, memory.seen.last)
    return Memory(state, seen), {"rate": info.rate, "surprise": info.surprise}


def _answer(
    model: Model, memory: Memory, at: Task, respond: Callable[[Answer, Array], Any]
) -> tuple[Memory, dict[str, Any]]:
    seen = memory.seen._replace(estimate=_asked(model.learner, memory.state, at.outcomes))
    answer = model.response.answer(seen)
    there = ~jnp.isnan(at.responses)
    response = respond(answer, there)
    log_prob = answer.log_prob(jnp.where(at.scored, response, 0.0))
    state = memory.state
    if model.response.anchored:  # the learner goes on from the answer, which then is all that it thinks
        state = moved(state, jnp.where(there, response, seen.estimate))
    told = {
        "log_likelihood": jnp.where(at.scored, log_prob, 0.0),
        "responses": response,
        "expected": answer.mean,
    }
    return Memory(state, seen._replace(last=jnp.where(there, response, seen.last))), told


def _asked(learner: Any, state: State, x: Any) -> Array:
    """The estimate, in the context of this trial."""
    if isinstance(learner, PerContext):
        return learner.learner.estimate(jax.tree.map(lambda leaf: leaf[x[0]], state.table))
    return jnp.asarray(learner.estimate(state))


def moved(state: State, estimate: Any) -> State:
    """The state of a learner that thinks so, and is as sure of it as before.

    >>> from astonish import Gaussian
    >>> moved(Gaussian(noise=2.0).prior(), 5.0)
    GaussianBelief(mean=5.0, std=2.0)
    """
    fields = getattr(state, "_fields", ())
    if not fields:
        return estimate
    if "mean" in fields:
        return state._replace(mean=estimate)
    if "belief" in fields:
        return state._replace(belief=moved(state.belief, estimate))
    if isinstance(state, BetaBelief):
        mean, total = jnp.clip(estimate, _CERTAIN, 1 - _CERTAIN), state.ones + state.zeros
        return BetaBelief(mean * total, (1 - mean) * total)
    raise ValueError(
        f"a learner whose state is {type(state).__name__} cannot go on from someone's answers; "
        "give a response that is not anchored, or another learner"
    )


def _answers(model: Model, trials: Trials) -> Numbers:
    """The responses, unless this model cannot have given them."""
    if trials.responses is None:
        raise ValueError("there are no responses to explain; name their column, as in Columns(..., response='b')")
    learner = model.learner.learner if isinstance(model.learner, PerContext) else model.learner
    wide = jax.eval_shape(lambda: learner.estimate(learner.init())).shape
    name, kind = type(model.response).__name__, model.response.kind
    if (kind == "choice") != (trials.response_kind == "choice"):
        are, give = ("choices", "Softmax") if trials.response_kind == "choice" else ("numbers", "Estimate or Readout")
        raise ValueError(f"these responses are {are}, which {name} does not give; give {give}")
    options = wide[0] if wide else 2
    if kind == "choice" and trials.kind == "continuous":
        raise ValueError("a choice is among outcomes, but these are numbers; give binary or categorical ones")
    if kind == "choice" and np.nanmax(trials.responses) >= options:
        many = int(np.nanmax(trials.responses)) + 1
        raise ValueError(f"there are {many} choices, but {options} outcomes to choose from; name all that can occur")
    if kind == "estimate" and wide:
        raise ValueError(f"{type(learner).__name__} estimates {wide[0]} numbers, but a response is one; give Readout")
    if kind == "readout" and trials.before:
        raise ValueError(f"{name} follows the surprise at an outcome, and so comes after it; give before=False")
    if model.response.anchored:
        moved(model.learner.init(), np.zeros(()))
    return trials.responses
