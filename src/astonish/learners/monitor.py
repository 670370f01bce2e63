"""What is a stream of numbers like now, is its newest number unusual, and has it changed?

A robust regression on the phase of a period and on past errors says what to expect (`robust.regression`), the surprises
so far how unusual an error is (`robust.tail`), and hypotheses about recent changes of the level whether it has changed
(`robust.shift`).
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import robust_regression as regression, robust_shift as shift, robust_tail as tail
from astonish.beliefs.robust_regression import Weights
from astonish.beliefs.robust_shift import Shifts
from astonish.beliefs.robust_tail import Tail
from astonish.core.numbers import FINITE, NOT_NEGATIVE, POSITIVE, WHOLE, Domain, Number
from astonish.core.parameters import parameter
from astonish.learners.base import LastChange, Learner, StepInfo

STRETCHES = (1, 10, 50)  # over about how many samples surprises are averaged; the longest are those by the long run
_INDEPENDENT = 1.5  # as how many independent ones these three averages are: what simulated streams give
_FEWEST = 20  # samples before surprises are compared with each other
_SETTLED = 0.2  # leverage below which what is expected depends on the noise rather than on weights not known yet
_LARGEST = 1e12  # standard deviations from what was expected
_SHARES = tuple(2 / (length + 1) for length in STRETCHES)  # of the newest in a running mean as old as that of so many


class MonitorState(NamedTuple):
    """What is known about the stream, and about its newest sample.

    errors: the last ones, in standard deviations. offset: how far the level has moved from that of the long run.
    averages: of surprises, over several stretches up to now. past: all such averages so far. expected, std: of the
    newest sample, before it came. tails: logarithms of the tail probabilities of the averages.
    """

    weights: Weights
    errors: Annotated[Array, FINITE]
    time: Annotated[Array, FINITE]
    seen: Annotated[Array, NOT_NEGATIVE]
    averages: Annotated[Array, NOT_NEGATIVE]
    past: Tail
    shifts: Shifts
    offset: Annotated[Array, FINITE]
    estimate: Annotated[Array, FINITE]
    uncertainty: Annotated[Array, NOT_NEGATIVE]
    expected: Annotated[Array, FINITE]
    std: Annotated[Array, NOT_NEGATIVE]
    tails: Annotated[Array, Domain(high=0.0)]


class Monitor(Learner):
    """A stream of numbers in any units, which may repeat after a period, have outliers and heavy tails, and change.

    Its surprise is minus the logarithm of a calibrated tail probability: how often, judging by the stream so far, a
    sample is at least as unusual as this one, by itself or together with the samples just before it. Its change
    probability is that of a change of the level within the last 16 samples: by the first sample alone, a change cannot
    be told from an outlier. The estimate follows a probable change at once, and what is expected 16 samples later.

    harmonics: how many sine waves describe what repeats; 0 if nothing does. lags: how many past errors predict the next
    one. timed: 1 if samples are (time, value), with the period in units of time; 0 if they are values, and the period
    is a number of samples. Nothing is unusual before 20 samples have been seen, and enough of a period.
    """

    period: Number = parameter(1.0, POSITIVE, (4.0, 10_000.0), "samples, or time, after which things repeat")
    forgetting: Number = parameter(
        0.001, Domain(0.0, 0.5), (0.0001, 0.05), "share of the past that fades at each sample"
    )
    hazard: Number = parameter(0.001, Domain(0.0, 0.5), (0.0001, 0.05), "probability of a change before each sample")
    harmonics: int = parameter(0, WHOLE, (0, 4), "sine waves that describe what repeats", static=True)
    lags: int = parameter(0, WHOLE, (0, 3), "past errors that predict the next one", static=True)
    timed: int = parameter(0, Domain(0, 1, whole=True), (0, 1), "whether samples are (time, value)", static=True)
    meanings: ClassVar[Mapping[str, str]] = {
        "expected": "value that was expected of the newest sample",
        "low": "lower end of the interval in which 95 % of such samples lie",
        "high": "upper end of that interval",
        **{f"tail_{length}": f"calibrated tail probability of about the last {length} samples" for length in STRETCHES},
    }

    @property
    def samples(self) -> Any:
        value = Domain(-1e100, 1e100)
        return (Domain(-1e15, 1e15), value) if self.timed else value

    def init(self) -> MonitorState:
        kind = jnp.result_type(float, self.period, self.forgetting, self.hazard)
        zero = jnp.zeros((), kind)
        weights = regression.start(1 + 2 * self.harmonics + self.lags, kind)
        kinds = len(STRETCHES)
        past = (jnp.zeros(kinds, kind), tail.empty(kinds, kind), shift.none(kind))
        errors = jnp.zeros(max(self.lags, 1), kind)
        return MonitorState(weights, errors, zero, zero, *past, zero, zero, zero, zero, zero, jnp.zeros(kinds, kind))

    def step(self, state: MonitorState, x: Any) -> tuple[MonitorState, StepInfo]:
        time, value = (jnp.asarray(part, state.time.dtype) for part in (x if self.timed else (state.time + 1, x)))
        features = self._features(state, time)
        weights = _raised(state.weights, jnp.where(state.seen == 0, value, 0.0))
        expected = regression.predict(weights, features)
        z = jnp.clip((value - expected.mean) / expected.std, -_LARGEST, _LARGEST)
        settled = (state.seen >= _FEWEST) & (expected.leverage < _SETTLED)

        level = state.shifts.level * (state.std / expected.std)  # in units of this noise
        shifted = shift.update(state.shifts._replace(level=level), z, self.hazard)
        if_settled = partial(jnp.where, settled)
        shifts, moved = jax.tree.map(if_settled, shifted, (state.shifts, jnp.zeros_like(z)))
        trust = jnp.where(settled, regression.trust(z - moved), 1.0)
        rate = 1 - 1 / (1 + trust * expected.leverage)
        weights = regression.update(weights, expected, (z - moved) * expected.std, trust, self.forgetting)
        weights = _raised(weights, moved * expected.std)
        offset = (1 - self.forgetting) * (state.offset + moved * expected.std)

        # Of Student's distribution, so that no single one outweighs all others; by the level now and by the long run.
        near, far = (jnp.log1p(jnp.square(each) / 4) for each in (z, z + state.offset / expected.std))
        averages = state.averages + jnp.asarray(_SHARES, z.dtype) * (jnp.stack([near, near, far]) - state.averages)
        compared = tail.log_probability(state.past, averages), tail.add(state.past, averages)
        tails, past = jax.tree.map(if_settled, compared, (jnp.zeros_like(averages), state.past))
        # The probability that one of several is as small as the smallest of these: as for independent ones (Sidak
        # 1967), but fewer, since they share samples.
        least = jnp.minimum(tails.min(), -1e-12)
        surprise = -jnp.log(-jnp.expm1(_INDEPENDENT * jnp.log1p(-jnp.exp(least))))

        estimate = (features * weights.mean).sum() + shifts.mean * expected.std
        still_unsure = expected.leverage / (1 + expected.leverage) / (1 + trust * expected.leverage)
        clipped = jnp.ravel(jnp.clip(z, -regression.TRUSTED, regression.TRUSTED))
        errors = jnp.concatenate([clipped, state.errors[:-1]]) if self.lags > 1 else clipped
        newest = (estimate, expected.std * jnp.sqrt(still_unsure), expected.mean, expected.std, tails)
        new = MonitorState(weights, errors, time, state.seen + 1, averages, past, shifts, offset, *newest)
        return new, StepInfo(surprise, rate, shifts.probability)

    def estimate(self, state: MonitorState) -> Array:
        return state.estimate

    def uncertainty(self, state: MonitorState) -> Array:
        return state.uncertainty

    def interval(self, state: MonitorState, outside: Number = 0.05) -> tuple[Array, Array]:
        """Where the newest sample was expected: all but a share `outside` of such samples lie there."""
        surprise = jnp.where(state.past.seen < _FEWEST, math.log(2), tail.quantiles(state.past, outside)[0])
        half = 2 * jnp.sqrt(jnp.expm1(surprise)) * state.std
        return state.expected - half, state.expected + half

    def last_change(self, state: MonitorState) -> LastChange:
        weights = state.shifts.weights
        earlier = jnp.maximum(1 - weights.sum(), 0.0)
        return LastChange(jnp.arange(1, shift.LONGEST + 2), jnp.concatenate([weights, jnp.ravel(earlier)]))

    def quantities(self, state: MonitorState, new: MonitorState, x: Any) -> dict[str, Array]:
        low, high = self.interval(new)
        tails = {f"tail_{length}": jnp.exp(new.tails[k]) for k, length in enumerate(STRETCHES)}
        return {"expected": new.expected, "low": low, "high": high, **tails}

    def _features(self, state: MonitorState, time: Array) -> Array:
        """1, sine and cosine of the phase and of its multiples, and past errors."""
        turns = time / self.period
        angle = 2 * math.pi * (turns - jnp.floor(turns))
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        waves = [jnp.ones_like(time), sine, cosine][: 1 + 2 * min(self.harmonics, 1)]
        for _ in range(self.harmonics - 1):  # sine and cosine of the sum of two angles
            waves += [waves[-2] * cosine + waves[-1] * sine, waves[-1] * cosine - waves[-2] * sine]
        return jnp.concatenate([jnp.stack(waves), state.errors[: self.lags]]) if self.lags else jnp.stack(waves)


def _raised(weights: Weights, by: Array) -> Weights:
    """The weights with another level: the first one is that of the feature 1."""
    first = np.arange(weights.mean.shape[-1]) == 0
    return weights._replace(mean=weights.mean + by * first)
