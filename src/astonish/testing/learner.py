"""What does every learner promise?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import as_double
from astonish.core.samples import read_series
from astonish.learners.base import Learner, check, scan
from astonish.models.parameters import parameters, with_parameters
from astonish.online.series import History, Stream, run, run_many
from astonish.testing.common import Check, agree, allowed, answer, described, holds, listed, pickled, takes_any_leaves

_CHECKS: list[Check] = []


class CheckedLearner:
    """A learner and samples to check it with."""

    def __init__(self, learner: Learner, samples: Sequence[Any]) -> None:
        self.learner, self.samples, self.half = learner, list(samples), len(samples) // 2
        self.name = type(learner).__name__

    @property
    def history(self) -> History:
        """What the learner does with the samples."""
        return run(self.learner, self.samples)


_check = listed(_CHECKS, CheckedLearner)


def check_learner(learner: Learner, samples: Sequence[Any]) -> None:
    """Check a learner, with a series of samples that it takes; about a dozen, some of them surprising.

    >>> from astonish import Delta
    >>> check_learner(Delta(0.3), [0.1, -0.4, 0.2, 0.3, 6.1, 5.8])
    """
    for each in learner_checks():
        each(learner, samples)


def learner_checks() -> list[Check]:
    """All checks of learners: functions of a learner and a series of samples, each of one promise.

    >>> [each.__name__ for each in learner_checks()][:2]
    ['parameters_are_described', 'a_step_keeps_the_form_of_the_state']
    """
    return list(_CHECKS)


def total(learner: Learner, xs: Any, observed: Any) -> Array:
    """A number that depends on all that a learner answers."""
    trace = scan(learner, xs, None, observed)
    weights = jnp.cos(jnp.arange(trace.estimate.size)).reshape(trace.estimate.shape)
    return (weights * trace.estimate).sum() + trace.learning_rate.sum()


@partial(jax.jit, static_argnums=3)
def _derivative(learner: Learner, xs: Any, observed: Any, names: tuple[str, ...], direction: Any) -> Array:
    """The derivative of the `total` as these parameters change in this direction."""
    now = {path: each.value for path, each in parameters(learner).items()}

    def moved(values: Any) -> Array:
        return total(with_parameters(learner, dict(zip(names, values, strict=True))), xs, observed)

    return jax.jvp(moved, (jnp.stack([now[name] for name in names]),), (direction,))[1]


def _answers(history: Any) -> tuple[Any, ...]:
    return history.estimate, history.surprise, history.learning_rate, history.state, history.change_probability


@_check
def parameters_are_described(case: CheckedLearner) -> None:
    """Every parameter has a domain with its value in it, a usual range inside the domain, and a sentence."""
    check(case.learner)
    described(case.name, type(case.learner))
    for name in case.learner.free:
        holds(name in parameters(type(case.learner)), f"{case.name} has no parameter {name!r}, which it lists as free")


@_check
def a_step_keeps_the_form_of_the_state(case: CheckedLearner) -> None:
    """A state after a step has the arrays of the state before; surprise and learning rate are single numbers."""
    x = jax.tree.map(lambda part: part[0], read_series(case.learner.samples, case.samples)[0])
    before = as_double(case.learner.init())
    after, info = jax.eval_shape(as_double(case.learner).step, before, x)
    old, new = _form(before), _form(after)
    holds(old == new, f"a step of {case.name} makes {new} of a state {old}; keep its form")
    for name, number in info._asdict().items():
        holds(number is None or number.shape == (), f"{case.name} gives a {name} of several numbers; give one")


def _form(state: Any) -> dict[str, str]:
    """The arrays of a state by their paths in it: type and shape of each."""
    leaves = jax.tree.leaves_with_path(state)
    return {jax.tree_util.keystr(where): f"{leaf.dtype}{list(leaf.shape)}" for where, leaf in leaves}


@_check
def learning_rates_are_shares(case: CheckedLearner) -> None:
    """The learning rate, and the probability of a change where there is one, are numbers from 0 to 1."""
    for name in ("learning_rate", "change_probability"):
        shares = getattr(case.history, name)
        inside = shares is None or ((shares >= 0) & (shares <= 1)).all()
        holds(inside, f"{case.name} gives a {name} of {shares}, which is not from 0 to 1")


@_check
def surprise_and_estimate_are_finite(case: CheckedLearner) -> None:
    """Surprise and estimate are numbers, after every sample."""
    for name in ("surprise", "estimate"):
        found = getattr(case.history, name)
        holds(np.isfinite(found), f"{case.name} gives a {name} of {found}")


@_check
def a_stream_equals_a_series(case: CheckedLearner) -> None:
    """One sample at a time gives the same answers as all at once."""
    history, stream = case.history, Stream(case.learner)
    steps = [stream.update(x) for x in case.samples]
    sentence = f"{case.name} gives another {{}} in a Stream than in run"
    for name in ("estimate", "surprise", "learning_rate"):
        agree(np.array([getattr(step, name) for step in steps]), getattr(history, name), sentence.format(name))
    agree(stream.state, history.state, sentence.format("state"))
    agree(stream.estimate, history.estimate[-1], sentence.format("last estimate"))


@_check
def many_series_equal_one_by_one(case: CheckedLearner) -> None:
    """Under `jax.vmap`, every series gives the answers that it gives by itself."""
    many = [case.samples, case.samples[::-1]]
    for together, xs in zip(run_many(case.learner, many), many, strict=True):
        sentence = f"{case.name} gives other answers for many series at once (jax.vmap) than for one"
        agree(_answers(together), _answers(run(case.learner, xs)), sentence)


@_check
def a_saved_state_continues_exactly(case: CheckedLearner) -> None:
    """A state that was saved to a file and loaded goes on as if nothing had happened."""
    stream = Stream(case.learner)
    for x in case.samples[: case.half]:
        stream.update(x)
    with TemporaryDirectory() as folder:
        stream.save(Path(folder) / "state")
        again = Stream.load(Path(folder) / "state", case.learner)
    sentence = f"{case.name} goes on differently from a state that was saved and loaded"
    agree(again.state, stream.state, sentence, rtol=0, atol=0)
    for x in case.samples[case.half :]:
        agree(again.update(x), stream.update(x), sentence, rtol=0, atol=0)


@_check
def missing_samples_change_nothing(case: CheckedLearner) -> None:
    """Where a sample is missing, the state stays, surprise is NaN and the learning rate 0."""
    half, name, whole = case.half, case.name, case.history
    gapped = run(case.learner, [x for sample in case.samples[:half] for x in (None, sample)])
    agree(gapped.estimate[1::2], whole.estimate[:half], f"{name} learns from samples that are missing")
    agree(gapped.learning_rate[1::2], whole.learning_rate[:half], f"{name} learns from samples that are missing")
    agree(gapped.estimate[2::2], gapped.estimate[1:-1:2], f"{name} changes its estimate at a gap", rtol=0, atol=0)
    holds(np.isnan(gapped.surprise[::2]), f"{name} is surprised at missing samples")
    holds(gapped.learning_rate[::2] == 0, f"{name} has a learning rate above 0 at missing samples")


@_check
def a_stream_stays_at_missing_samples(case: CheckedLearner) -> None:
    """A stream to which a missing sample comes stays where it is."""
    stream, name = Stream(case.learner), case.name
    before, estimate = stream.state, stream.estimate
    step = stream.update(None)
    agree(stream.state, before, f"the state of {name} changes at a missing sample", rtol=0, atol=0)
    agree(step.estimate, estimate, f"the estimate of {name} changes at a missing sample", rtol=0, atol=0)
    holds(np.isnan(step.surprise) and step.learning_rate == 0, f"{name} gives {step} at a missing sample")


@_check
def leaves_may_be_anything(case: CheckedLearner) -> None:
    """JAX's functions of trees work, whatever they put in place of the numbers of a learner."""
    takes_any_leaves(case.learner)


@_check
def pickling_and_printing(case: CheckedLearner) -> None:
    """A learner prints itself with the name of its class, and is the same after pickling."""
    again, whole = run(pickled(case.learner), case.samples), case.history
    agree(_answers(again), _answers(whole), f"{case.name} gives other answers after pickling", rtol=0, atol=0)


@_check
def gradients_are_finite(case: CheckedLearner) -> None:
    """Derivatives by every parameter that is not whole are numbers, whatever stands where a sample is missing."""
    xs, observed = read_series(case.learner.samples, case.samples)
    observed[len(observed) // 3] = False

    def with_nan(part: Any) -> Any:
        missing = ~observed.reshape(-1, *[1] * (part.ndim - 1))
        return part if part.dtype.kind == "i" else np.where(missing, np.nan, part)

    learner, gapped = as_double(case.learner), jax.tree.map(with_nan, xs)
    names = tuple(path for path, each in parameters(learner).items() if not each.known.domain.whole)
    for name, direction in zip(names, np.eye(len(names)), strict=True):
        clean, other = (float(_derivative(learner, part, observed, names, direction)) for part in (xs, gapped))
        holds(np.isfinite(clean), f"the derivative of {case.name} by {name} is {clean}")
        agree(other, clean, f"a NaN where a sample is missing changes the derivative of {case.name} by {name}")


@_check
def uncertainty_is_not_negative(case: CheckedLearner) -> None:
    """The uncertainty of the estimate is 0 or more, or None."""
    found = case.learner.uncertainty(case.history.state)
    holds(found is None or (np.asarray(found) >= 0).all(), f"{case.name} gives an uncertainty of {found}")


@_check
def last_change_is_a_distribution(case: CheckedLearner) -> None:
    """The hypotheses about the last change, where there are any, have probabilities that sum to 1."""
    found = case.learner.last_change(case.history.state)
    whole = found is None or np.isclose(np.sum(found.weights), 1.0)
    holds(whole, f"the hypotheses of {case.name} about the last change have probabilities that do not sum to 1")


@_check
def with_estimate_gives_the_estimate(case: CheckedLearner) -> None:
    """A state can be given another estimate, or that is refused in a sentence."""
    history = case.history
    wanted = jnp.asarray(history.estimate[0])
    state = answer(lambda: case.learner.with_estimate(history.state, wanted), f"{case.name}.with_estimate")
    if state is not None:
        agree(case.learner.estimate(state), wanted, f"{case.name}.with_estimate gives a state with another estimate")


@_check
def simulated_samples_are_allowed(case: CheckedLearner) -> None:
    """Samples from the learner's own model are samples that it takes, or drawing them is refused in a sentence."""
    xs = answer(lambda: case.learner.simulate(np.random.default_rng(0), 20), f"{case.name}.simulate")
    if xs is not None:
        allowed(case.learner.samples, xs, f"{case.name}.simulate")
        lengths = {len(part) for part in (xs if isinstance(xs, tuple) else (xs,))}
        holds(lengths == {20}, f"{case.name}.simulate draws {lengths} samples where 20 were asked for")
