"""Which detector for which kind of change, if one does not want to choose a learner oneself?"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import Beta, Grid, NormalGamma, Poisson
from astonish.changes.detector import Detector
from astonish.core.numbers import POSITIVE, FloatArray, as_numbers
from astonish.core.refusal import unknown
from astonish.learners import MessagePassing

HYPOTHESES, WITHIN, COOLDOWN, BURN_IN = 50, 80, 20, 80
OUTCOME_HYPOTHESES = 100  # outcomes 0 and 1 tell so little each that no sample within sight may be left out
DEGREES = 3.0  # of freedom of Student's t-distribution, where tails are heavy
_QUARTILE = 0.7649  # half of the samples of such a distribution are nearer to its middle than this
_MEANS, _SPREADS = np.linspace(-6.0, 6.0, 61), 2.0 ** np.linspace(-2.0, 2.0, 9)  # in units of the noise


def usual_detector(
    kind: str, quiet: Any = None, false_alarm_rate: float = 0.001, *, hazard: float = 0.001, heavy_tails: bool = False
) -> Detector:
    """A detector with message passing for changes of a "mean", a "variance", a "proportion" or a "rate".

    quiet: samples in which nothing changes, in a table one series per row: from them come the threshold, and for
    numbers the size of the noise. Left out: numbers are expected about 0 with a standard deviation of 1, a rate about
    1, and the threshold comes from the learner's own model. hazard: how probable a change is before each sample.
    heavy_tails: whether there are outliers, for a mean or a variance; needs `quiet`, and takes longer.
    A change is noticed within 80 samples or not at all, and within these the alarm for it may come again every 21
    samples. A detector for a mean gives alarms for large changes of the variance, too, and the other way round.

    >>> detector = usual_detector("proportion")
    >>> [t for t in range(300) if detector.update(t % 5 == 0 if t < 200 else t % 5 != 0)]
    [208, 229, 250, 271]
    """
    if kind not in KINDS:
        raise unknown("usual detector", kind, KINDS)
    series = None if quiet is None else _table(quiet)
    if heavy_tails and (kind not in HEAVY or series is None):
        raise ValueError("heavy_tails is for a mean or a variance with quiet samples; give these, or leave it out")
    learner = (HEAVY if heavy_tails else KINDS)[kind](series, hazard)
    how: Any = {"within": WITHIN, "cooldown": COOLDOWN, "burn_in": BURN_IN, "repeat": True}
    if series is None:
        return Detector.simulated(learner, false_alarm_rate, **how)
    return Detector.calibrated(learner, series, false_alarm_rate, changed=np.zeros(series.shape, bool), **how)


def _table(quiet: Any) -> FloatArray:
    """Series in rows."""
    numbers = as_numbers("quiet", quiet)
    if numbers.ndim not in (1, 2) or not np.isfinite(numbers).any():
        raise ValueError(f"quiet has shape {numbers.shape}; give a series with samples in it, or a table of series")
    return np.atleast_2d(numbers)


def _level_and_noise(series: FloatArray | None) -> tuple[float, float, float]:
    """The mean level of the series, how much levels may differ, and the standard deviation about each level."""
    if series is None:
        return 0.0, 3.0, 1.0
    noise = float(np.sqrt(np.nanvar(series, axis=1).mean()))
    levels = np.nanmean(series, axis=1)
    return float(levels.mean()), float(np.hypot(3 * noise, levels.std())), _positive(noise)


def _positive(noise: float) -> float:
    POSITIVE.check("the standard deviation of the quiet samples", noise)
    return noise


def _numbers(shape: float) -> Callable[[FloatArray | None, float], MessagePassing]:
    """For numbers; shape: half of how many samples of the noise the prior is worth, the more the less it may change."""

    def learner(series: FloatArray | None, hazard: float) -> MessagePassing:
        level, spread, noise = _level_and_noise(series)
        family = NormalGamma()
        prior = family.prior(level, noise, weight=(noise / spread) ** 2, shape=shape)
        return MessagePassing(family, hazard, prior, HYPOTHESES)

    return learner


def _proportion(_: FloatArray | None, hazard: float) -> MessagePassing:
    """For outcomes 0 and 1, whose proportion is seldom next to 0 or 1."""
    family = Beta()
    return MessagePassing(family, hazard, family.prior(ones=2.0, zeros=2.0), OUTCOME_HYPOTHESES)


def _rate(series: FloatArray | None, hazard: float) -> MessagePassing:
    mean = 1.0 if series is None else _positive(float(np.nanmean(series)))
    return MessagePassing(Poisson(), hazard, Poisson().prior(mean, 1 / mean), HYPOTHESES)


def _student(x: Array, points: Array) -> Array:
    """The log-likelihood, but for a constant, of pairs of a mean and a scale, for samples with heavy tails."""
    mean, scale = points[:, 0], points[:, 1]
    return -0.5 * (DEGREES + 1) * jnp.log1p(jnp.square((x - mean) / scale) / DEGREES) - jnp.log(scale)


def _outliers(spreads: FloatArray, means: FloatArray) -> Callable[[FloatArray | None, float], MessagePassing]:
    """For numbers with outliers. spreads, means: that are possible, in units of what is found in quiet samples."""

    def learner(series: FloatArray | None, hazard: float) -> MessagePassing:
        assert series is not None  # as `usual_detector` has made sure
        levels = np.nanmedian(series, axis=1, keepdims=True)
        scale = _positive(float(np.nanmedian(np.abs(series - levels))) / _QUARTILE)
        level, spread = float(levels.mean()), float(np.hypot(scale, levels.std() / 2))
        pairs: Any = np.array([(level + spread * mean, scale * each) for each in spreads for mean in means])
        family = Grid(pairs, _student, width=1.0)
        return MessagePassing(family, hazard, family.prior(), HYPOTHESES)

    return learner


KINDS = {"mean": _numbers(10.0), "variance": _numbers(1.0), "proportion": _proportion, "rate": _rate}
HEAVY = {"mean": _outliers(np.ones(1), _MEANS), "variance": _outliers(_SPREADS, _MEANS[::3])}
