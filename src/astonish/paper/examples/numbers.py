"""What do voters, a listener and drivers believe, and how surprised are they? Nothing here is random."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish import expfam, surprise
from astonish.beliefs import Grid, finite
from astonish.expfam import Belief, Family
from astonish.paper.study import Numbers, Study
from astonish.precision import double

RARE = 0.05  # epsilon: what a model leaves to everything but its favourite
COLLEAGUES = {"A": (0.75, 0.25, 0.0, 0.0), "B": (0.0, 0.25, 0.75, 0.0), "C": (0.25, 0.25, 0.25, 0.25)}
WORDS = {"goldfish": (0.19, 0.01), "guns": (0.01, 0.19), "Tuesday": (0.001, 0.001)}  # in talk of containers, vehicles
CARS = ("red", "green BMW")
DRIVERS = ("slot", "undecided", "used to red")
KINDS, MANY, MORNINGS = (10, 1000, 1_000_000), 1000, 5


def compute(study: Study) -> Numbers:
    """The election, the joke and the parking lot."""
    with double():
        return {name: study.table(name, make) for name, make in TABLES.items()}


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


@jax.jit
def density(family: Grid, belief: Belief) -> Array:
    """That of the parameter; for separate models, their weights."""
    return jnp.exp(belief.log_density - family.log_partition(belief))


def wide(table: DataFrame, rows: str, columns: str, values: str) -> Any:
    """One column of a table, laid out by two others."""
    return table.pivot(index=rows, columns=columns, values=values)


_bayes = jax.jit(expfam.bayes)


def voting() -> DataFrame:
    """What each model of the election says of each candidate."""
    rows = [(k + 1, x + 1, 1 - RARE if k == x else RARE / 3) for k in range(4) for x in range(4)]
    return DataFrame(rows, columns=["model", "candidate", "probability"])


def _election() -> DataFrame:
    """How likely and how surprising each candidate is to each colleague; `weight` is that of the candidate's model."""
    models: Any = voting().probability.to_numpy().reshape(4, 4)
    family = finite(models)
    beliefs = {name: family.prior(jnp.array(weights)) for name, weights in COLLEAGUES.items()}
    return DataFrame(
        {"colleague": name, "candidate": k + 1, "weight": COLLEAGUES[name][k], **measured(family, belief, k)}
        for name, belief in beliefs.items()
        for k in range(4)
    )


def listener() -> tuple[Grid, dict[str, Belief]]:
    """What tank may mean, to someone before and after he has heard of goldfish."""
    models: Any = np.array(list(WORDS.values())).T
    family = finite(models)
    before = family.prior()
    return family, {"before": before, "after": _bayes(family, before, list(WORDS).index("goldfish"))}


def _meanings() -> DataFrame:
    family, beliefs = listener()
    shown = beliefs | {"guns": expfam.target(family, list(WORDS).index("guns"))}
    rows = [(name, *np.asarray(density(family, belief))) for name, belief in shown.items()]
    return DataFrame(rows, columns=["belief", "container", "vehicle"])


def _joke() -> DataFrame:
    family, beliefs = listener()
    return DataFrame(
        {"belief": name, "word": word, **measured(family, belief, k)}
        for name, belief in beliefs.items()
        for k, word in enumerate(WORDS)
    )


def _parking() -> DataFrame:
    return DataFrame(
        {"kinds": kinds, "driver": driver, "car": car, **measured(family, belief, k)}
        for kinds in KINDS
        for driver, (family, belief) in zip(DRIVERS, drivers(kinds), strict=True)
        for k, car in enumerate(CARS)
    )


def drivers(kinds: int) -> list[tuple[Grid, Belief]]:
    """One who has models of slots only, one who has models of cars, and one who has seen the red car every morning."""
    slots, cars = Grid(jnp.full((3, len(CARS)), 1 / kinds), _log_chance, width=jnp.ones(3)), _cars(kinds)
    used = cars.prior()
    for _ in range(MORNINGS):
        used = _bayes(cars, used, CARS.index("red"))
    return [(slots, slots.prior()), (cars, cars.prior()), (cars, used)]


def _cars(kinds: int) -> Grid:
    """One model per kind of car; those that favour neither of our two cars predict alike, and share a point."""
    other = RARE / (kinds - 1)
    models = jnp.array([[1 - RARE, other], [other, 1 - RARE], [other, other]])
    return Grid(models, _log_chance, width=jnp.array([1.0, 1.0, kinds - 2.0]))


def _log_chance(x: Any, models: Array) -> Array:
    return jnp.log(models[:, x])


TABLES = {
    "figure1_models": voting,
    "figure1_election": _election,
    "figure1_meanings": _meanings,
    "figure1_joke": _joke,
    "figure1_parking": _parking,
}
