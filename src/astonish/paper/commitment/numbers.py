"""Who is more surprised of two who predict the same, and how surprised is one still after a step?

Nothing here is random.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame, concat

from astonish import expfam, rule, surprise
from astonish.beliefs import Gaussian, Grid
from astonish.expfam import Belief, Family
from astonish.paper.examples.numbers import density, measured, measures
from astonish.paper.study import Numbers, Study
from astonish.precision import double

NOISE, MEAN, STD, SHOWN = 0.7, 2.0, 0.5, 3.2  # of the pair of models with equal predictions, and the sample shown
NORMALS = {"committed": 0.05, "open": 0.5}  # variance of the belief; with that of the noise it makes 1
WIDTHS, FAR = {"equal": 1.0, "narrow": 0.4}, 2.0  # Fig. 2B: belief and sample, in units of the noise
SHARES = np.array([0.0, 0.5, 1.0, 1.5, 10.0])  # bounds in units of the largest that matters


def compute(study: Study) -> Numbers:
    """Two models with equal predictions, two normal ones, and the surprise along the way to a sample."""
    tables = TABLES | {"figure2_joint": partial(_joint, 31)} if study.quick else TABLES
    with double():
        return {name: study.table(name, make) for name, make in tables.items()}


def _folded(x: Any, theta: Array) -> Array:
    """Log-likelihood of a sample that is the size of theta, and normal noise."""
    return -0.5 * jnp.square((x - jnp.abs(theta)) / NOISE) - np.log(NOISE * np.sqrt(2 * np.pi))


def _fold() -> tuple[Grid, dict[str, Belief]]:
    """Two beliefs that predict the same: one knows the sign of theta, the other does not."""
    theta: Any = np.linspace(-6, 6, 601)
    family = Grid(theta, _folded)
    right, left = (np.exp(-0.5 * ((theta - mean) / STD) ** 2) for mean in (MEAN, -MEAN))
    return family, {"committed": family.prior(right), "open": family.prior(right + left)}


def _beliefs() -> DataFrame:
    family, beliefs = _fold()
    shown = beliefs | {"scaled": expfam.target(family, SHOWN)}
    return DataFrame({"theta": family.points} | {name: np.asarray(density(family, b)) for name, b in shown.items()})


def _joint(fine: int = 61) -> DataFrame:
    """The density of x and theta together, at `fine` values of x and about twice as many of theta."""
    family, beliefs = _fold()
    x, at = np.linspace(-1, 5.5, fine), slice(0, None, 300 // (fine - 1))
    theta = np.asarray(family.points)[at]
    likely = np.asarray(jnp.exp(_folded(x[:, None], jnp.asarray(theta))))
    found = {name: np.ravel(likely * np.asarray(density(family, b))[at]) for name, b in beliefs.items()}
    return DataFrame({"x": np.repeat(x, len(theta)), "theta": np.tile(theta, len(x))} | found)


def _predictions() -> DataFrame:
    """How likely samples are to either."""
    family, beliefs = _fold()
    x = np.linspace(-1, 5.5, 131)
    log_evidence = jax.jit(jax.vmap(expfam.log_evidence, (None, None, 0)))
    return DataFrame({"x": x} | {name: np.exp(log_evidence(family, belief, x)) for name, belief in beliefs.items()})


def _pair() -> DataFrame:
    """How surprising some samples are to either."""
    family, beliefs = _fold()
    return DataFrame(
        {"model": name, "sample": x, **measured(family, belief, x)}
        for name, belief in beliefs.items()
        for x in (0.5, MEAN, SHOWN)
    )


def _normal() -> DataFrame:
    """Surprise of two normal models with equal predictions, at samples in units of their standard deviation."""
    x = np.linspace(0, 3, 61)
    all_measures = jax.vmap(measures, (None, None, 0))
    found: dict[str, Any] = {}
    for name, variance in NORMALS.items():
        noise, std = np.sqrt(1 - variance), np.sqrt(variance)
        values = all_measures(Gaussian(noise), Gaussian(noise).prior(std=std), x)
        found |= {f"{kind}_{name}": np.asarray(values[kind]) for kind in ("raw", "surprise", "shannon")}
    return DataFrame({"sample": x} | found)


def _landscape() -> DataFrame:
    """Surprise at the same sample after a step of every size."""
    gamma = np.linspace(0, 1, 101)
    again = jax.jit(jax.vmap(_again, (None, None, None, 0)))
    found = {name: again(Gaussian(), Gaussian().prior(std=width), FAR, gamma) for name, width in WIDTHS.items()}
    return DataFrame({"gamma": gamma} | jax.device_get(found))


def _again(family: Family, belief: Belief, x: Any, gamma: Any) -> Array:
    return surprise.confidence_corrected(family, rule.step(family, belief, x, gamma), x)


def _bounds() -> DataFrame:
    """The step that each bound leads to, what it changes, and what surprise is left; `share` is in units of B_max."""
    bounded = jax.jit(jax.vmap(_bounded, (None, None, None, 0)))
    found = {name: bounded(Gaussian(), Gaussian().prior(std=width), FAR, SHARES) for name, width in WIDTHS.items()}
    return concat(DataFrame(jax.device_get(f)).assign(belief=name, share=SHARES) for name, f in found.items())


def _bounded(family: Family, belief: Belief, x: Any, share: Any) -> dict[str, Array]:
    bound = share * rule.bound_max(family, belief, x)
    gamma = rule.gamma_from_bound(family, belief, x, bound)
    change = expfam.divergence(family, rule.step(family, belief, x, gamma), belief)
    return {"bound": bound, "gamma": gamma, "change": change, "surprise": _again(family, belief, x, gamma)}


TABLES = {
    "figure2_beliefs": _beliefs,
    "figure2_joint": _joint,
    "figure2_predictions": _predictions,
    "figure2_pair": _pair,
    "figure2_normal": _normal,
    "figure2_landscape": _landscape,
    "figure2_bounds": _bounds,
}
