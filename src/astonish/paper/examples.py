"""The examples of section 2.1: what do the voters, and the listener of the joke, believe?"""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.beliefs import Grid, finite
from astonish.core.programs import interpreted
from astonish.theory import expfam, surprise
from astonish.theory.expfam import Belief, Family

RARE = 0.05  # epsilon: what a model leaves to everything but its favourite
COLLEAGUES = {"A": (0.75, 0.25, 0.0, 0.0), "B": (0.0, 0.25, 0.75, 0.0), "C": (0.25, 0.25, 0.25, 0.25)}
WORDS = {"goldfish": (0.19, 0.01), "guns": (0.01, 0.19), "Tuesday": (0.001, 0.001)}  # in talk of containers, vehicles


@interpreted
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


bayes = interpreted(expfam.bayes)
density = interpreted(Grid.density)


def voting() -> DataFrame:
    """What each model of the election says of each candidate."""
    rows = [(k + 1, x + 1, 1 - RARE if k == x else RARE / 3) for k in range(4) for x in range(4)]
    return DataFrame(rows, columns=["model", "candidate", "probability"])


def elected(weights: Any, candidate: int) -> dict[str, float]:
    """What section 2.1 says about the victory of a candidate, counted from 1, to someone who weighs the models so."""
    models: Any = voting().probability.to_numpy().reshape(4, 4)
    family = finite(models)
    return measured(family, family.prior(weights), candidate - 1)


def listener_models() -> Grid:
    """What each meaning of tank says of each word."""
    words = np.array(list(WORDS.values())).T
    models: Any = np.column_stack([words, 1 - words.sum(axis=1)])  # with all other words in the last column
    return finite(models)


def listener() -> tuple[Grid, dict[str, Belief]]:
    """What tank may mean, to someone before and after he has heard of goldfish."""
    family = listener_models()
    before = family.prior()
    return family, {"before": before, "after": bayes(family, before, list(WORDS).index("goldfish"))}


class Told(NamedTuple):
    """A joke that begins with one word and ends with guns, as a listener hears it.

    believed: the weights of what tank may mean, before the first word, after it, and after guns (Bayes' rule).
    suggested: those that guns alone suggests. entropy: of the belief before and after the first word. first, guns: how
    surprising the two words are. alone: how surprising guns is without the first word. again: the first word, repeated.
    """

    believed: Any
    suggested: Any
    entropy: Any
    first: Any
    guns: Any
    alone: Any
    again: Any


def told(first: str) -> Told:
    """The joke with this first word, one of `WORDS`."""
    found: Told = _told(listener_models(), list(WORDS).index(first))
    return found


@interpreted
def _told(family: Grid, first: Any) -> Told:
    guns, before = list(WORDS).index("guns"), family.prior()
    after = expfam.bayes(family, before, first)
    beliefs = before, after, expfam.bayes(family, after, guns)
    felt = partial(surprise.confidence_corrected, family)
    return Told(
        jnp.stack([belief.weights for belief in beliefs]),
        expfam.scaled_likelihood(family, guns).weights,
        jnp.stack([expfam.entropy(family, belief) for belief in beliefs[:2]]),
        felt(before, first),
        felt(after, guns),
        felt(before, guns),
        felt(after, first),
    )
