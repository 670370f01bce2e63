"""How novel is a state, that is, how seldom has it been met? (Xu, Modirshanechi, Lehmann, Gerstner & Herzog 2021).

Novelty is not a kind of surprise. Surprise is about what was expected just then: a rare state that was announced is no
surprise, and a familiar one at the wrong moment is. Novelty asks for no expectation: it only counts how often a state
has been met, whatever came before it. So it needs no learner, and stands beside any of them.
"""

from typing import Any

import numpy as np

from astonish.core.numbers import COUNT, PROBABILITY, Domain, FloatArray
from astonish.core.samples import read_series


def novelty(states: Any, size: int, keep: float = 1.0) -> FloatArray:
    """Minus the logarithm of how often each state of a series has been met until then, in nats.

    That is -ln((C + 1) / (T + size)), where C counts how often the state has been met before, T how often any has, and
    1 is added for each of them so that the first time is not infinitely novel.
    states: indices from 0 to `size - 1`; where one is missing, novelty is NaN, and nothing is counted.
    keep: what every count is multiplied by as a further state is met. 1 counts for ever; with less, states that have
    not been met for long become novel again.

    >>> novelty([0, 0, 0, 1, None, 0], size=2).round(2).tolist()
    [0.69, 0.41, 0.29, 1.61, nan, 0.41]
    """
    COUNT.check("size", size)
    PROBABILITY.check("keep", keep)
    indices, observed = read_series(Domain(0, size - 1, whole=True), states)
    counts, found = np.zeros(size), np.full(len(observed), np.nan)
    for trial in np.flatnonzero(observed):
        state = indices[trial]
        found[trial] = np.log((counts.sum() + size) / (counts[state] + 1))
        counts *= keep
        counts[state] += 1
    return found
