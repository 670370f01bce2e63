"""The examples of section 2.1: what do the voters, and the listener of the joke, believe?"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish import expfam, surprise
from astonish.beliefs import Grid, finite
from astonish.expfam import Belief, Family

RARE = 0.05  # epsilon: what a model leaves to everything but its favourite
COLLEAGUES = {"A": (0.75, 0.25, 0.0, 0.0), "B": (0.0, 0.25, 0.75, 0.0), "C": (0.25, 0.25, 0.25, 0.25)}
WORDS = {"goldfish": (0.19, 0.01), "guns": (0.01, 0.19), "Tuesday": (0.001, 0.001)}  # in talk of containers, vehicles


@jax.jit
def measures(family: Family, belief: Belief, x: Any) -> dict[str, Array]:
    """All that section 2.1 says about a sample and a belief, in nats; `scale` is ln||p_x||, that of the likelihood."""
    return {
        "surprise": surprise.confidence_corrected(family, belief, x),
        "raw": surprise.raw(family, belief, x),
        "shannon": surprise.shannon(family, belief, x),
        "bayesian": surprise.bayesian(family, belief, x),
        "commitment": surprise.commitment(family, belief),
        "scale": family.log_base(x) + family.log_partition(family.likelihood(x)),
    }


def measured(family: Family, belief: Belief, x: Any) -> dict[str, float]:
    """The same, as a part of a row of a table."""
    return {name: float(value) for name, value in measures(family, belief, x).items()}


bayes = jax.jit(expfam.bayes)
density = jax.jit(Grid.density)


def voting() -> DataFrame:
    """What each model of the election says of each candidate."""
    rows = [(k + 1, x + 1, 1 - RARE if k == x else RARE / 3) for k in range(4) for x in range(4)]
    return DataFrame(rows, columns=["model", "candidate", "probability"])


def elected(weights: Any, candidate: int) -> dict[str, float]:
    """What section 2.1 says about the victory of a candidate, counted from 1, to someone who weighs the models so."""
    models: Any = voting().probability.to_numpy().reshape(4, 4)
    family = finite(models)
    return measured(family, family.prior(jnp.array(weights)), candidate - 1)


def listener(first: str = "goldfish") -> tuple[Grid, dict[str, Belief]]:
    """What tank may mean, to someone before and after he has heard the first word."""
    words = np.array(list(WORDS.values())).T
    models: Any = np.column_stack([words, 1 - words.sum(axis=1)])  # with all other words in the last column
    family = finite(models)
    before = family.prior()
    return family, {"before": before, "after": bayes(family, before, list(WORDS).index(first))}


class Heard(NamedTuple):
    """A word that was heard: how surprising it was, what was believed, and what it led to.

    entropy: of the belief before it. scaled: what the word alone suggests. posterior: the belief by Bayes' rule.
    """

    surprise: Any
    entropy: Any
    scaled: Belief
    posterior: Belief


def heard(family: Grid, belief: Belief, word: str) -> Heard:
    """A word, to a listener with this belief."""
    found = jax.device_get(_heard(family, belief, list(WORDS).index(word)))
    return found._replace(surprise=float(found.surprise), entropy=float(found.entropy))


@jax.jit
def _heard(family: Grid, belief: Belief, k: Any) -> Heard:
    felt, entropy = surprise.confidence_corrected(family, belief, k), expfam.entropy(family, belief)
    return Heard(felt, entropy, expfam.target(family, k), expfam.bayes(family, belief, k))
