"""Does any learner, fed with anything that it allows for long enough, return something that is not a number?"""

from typing import Any

import jax
import numpy as np
from numpy.random import Generator

from astonish.core.numbers import Domain, as_double, double
from astonish.learners.base import scan_many
from attack import Report
from families import LEARNERS

SERIES = 1000  # side by side
_scan = jax.jit(scan_many)
_HUGE = 1e100


def attack(steps: int) -> Report:
    """So many steps in all, of every learner that the tests know, or of no more learners than steps."""
    rng, failures, done = np.random.default_rng(14), [], 0
    cases = LEARNERS[:steps]
    length = -(-steps // (SERIES * len(cases)))
    with double():
        for case in cases:
            xs = jax.tree.map(lambda domain: _samples(domain, rng, (length, SERIES)), case.learner.samples)
            trace = jax.device_get(_scan(as_double(case.learner), xs, None, length))
            failures += [f"{case.name}: {each}" for each in _wrong(trace)]
            done += length * SERIES
    tried = (
        f"steps of {len(cases)} learners, half of the samples as extreme as they are allowed to be (up to {_HUGE:g})"
    )
    return Report("Long series", tried, done, "no NaN, every learning rate and probability from 0 to 1", failures)


def _wrong(trace: Any) -> list[str]:
    """What is not as it should be."""
    rates = trace.learning_rate if trace.change_probability is None else (trace.learning_rate, trace.change_probability)
    found = {
        "an estimate is not finite": not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(trace.estimate)),
        "a surprise is NaN": np.isnan(trace.surprise).any(),
        "a rate is not from 0 to 1": not all(((leaf >= 0) & (leaf <= 1)).all() for leaf in jax.tree.leaves(rates)),
        "a state is NaN": any(np.isnan(leaf).any() for leaf in jax.tree.leaves(trace.state) if leaf.dtype.kind == "f"),
    }
    return [sentence for sentence, is_so in found.items() if is_so]


def _samples(domain: Domain, rng: Generator, shape: tuple[int, ...]) -> Any:
    """Samples of which every second is ordinary, and the others are zero, tiny, huge, or at an end of the domain."""
    size = (*shape, *domain.shape)
    if domain.is_index:
        return rng.integers(int(domain.low), int(domain.high), size, np.int32, endpoint=True)
    low, high = max(domain.low, -_HUGE), min(domain.high, _HUGE)
    if domain.whole:
        high = min(high, 1e15)
    ordinary = rng.normal(size=size) * 3
    extreme = rng.choice([0.0, 1e-300, 1.0, low, high], size) * 10.0 ** -rng.integers(0, 300, size)
    drawn = np.clip(np.where(rng.random(size) < 0.5, ordinary, extreme), low, high)
    drawn = np.round(np.abs(drawn)) if domain.whole else drawn
    return np.where(domain.allows(drawn), drawn, domain.stand_in)
