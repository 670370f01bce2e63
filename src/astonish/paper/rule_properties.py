"""What sections 2.2, 2.3 and 4.7 to 4.9 prove of the SMiLe rule: does it hold for random beliefs? A part of Figure 2.

Everything is computed twice: by the library, and from the definitions alone, as plain sums over the values of theta.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.random import Generator
from pandas import DataFrame

from astonish.beliefs import Dirichlet, Gaussian, finite
from astonish.core.numbers import FloatArray
from astonish.learners import Smile
from astonish.paper.claims import Claim, verdict
from astonish.paper.figure import RunSettings
from astonish.theory import expfam, rule
from astonish.theory.expfam import Belief, Family
from astonish.theory.surprise import confidence_corrected

CASES, STEPS, STEP = 3, 4, 1e-5  # beliefs per family, samples in a row, step of finite differences
GAMMAS = np.linspace(0, 1, 11)
M, READY = 0.1, 10.0  # of a learner as in the paper, and of one that changes its mind at once
EXACT, DERIVED = 1e-7, 1e-6  # how far values and finite differences may be off, relative to one plus their size
SUMMED = ("before", "after", "change", "forth")  # by sums too
ENDS = ("", "_by_sums")  # of the names of these columns


class Case(NamedTuple):
    """A belief and a sample, and how to write both out at values of theta, each with a width.

    log_belief, log_likelihood: the logarithms at these values, but for a constant.
    """

    family: Family
    belief: Belief
    x: Any
    widths: Any
    log_belief: Callable[[Any], FloatArray]
    log_likelihood: Callable[[Any], FloatArray]


def gaussian(rng: Generator) -> Case:
    """A normal belief, and a sample within a few standard deviations of it."""
    (noise, std), mean = rng.uniform(0.5, 2.0, 2), rng.normal()
    theta = np.linspace(-40, 40, 4001)
    return Case(
        Gaussian(noise),
        Gaussian(noise).prior(mean, std),
        mean + 2 * noise * rng.normal(),
        np.full(theta.shape, theta[1] - theta[0]),
        lambda belief: -0.5 * float(belief.precision) * (theta - float(belief.mean)) ** 2,
        lambda x: -0.5 * ((x - theta) / noise) ** 2,
    )


def dirichlet(rng: Generator) -> Case:
    """A belief about the probabilities of three outcomes, at values that are dense where one is close to 0."""
    side = np.linspace(-25, 25, 141)
    log_s, log_rest = -np.logaddexp(0, -side), -np.logaddexp(0, side)
    first, rest = (np.repeat(values, len(side)) for values in (log_s, log_rest))
    log_theta = np.stack([first, rest + np.tile(log_s, len(side)), rest + np.tile(log_rest, len(side))])
    seen: Any = rng.gamma(1.0, 2.0, 3)
    widths = np.exp(log_theta.sum(axis=0)) * (side[1] - side[0]) ** 2
    return Case(
        Dirichlet(3),
        Dirichlet(3).prior(alpha=1 + seen),
        int(rng.integers(3)),
        widths,
        lambda belief: (np.asarray(belief.alpha) - 1) @ log_theta,
        lambda x: log_theta[x],
    )


def grid(rng: Generator) -> Case:
    """Random weights of eight random models of five outcomes."""
    models: Any = rng.dirichlet(np.ones(5), 8)
    weights: Any = rng.dirichlet(np.ones(8))
    family = finite(models)
    return Case(
        family,
        family.prior(weights),
        int(rng.integers(5)),
        np.ones(8),
        lambda belief: np.log(np.asarray(belief.weights)),
        lambda x: np.log(models[:, x]),
    )


FAMILIES = {"Gaussian": gaussian, "Dirichlet": dirichlet, "grid": grid}


def by_sums(case: Case, gamma: float) -> dict[str, float]:
    """From the definitions: S_cc before and after a step (eq. 6), D[new || old], D[old || new], and a variance.

    The variance is that of ln p(X | theta) / belief under the new belief (eqs. 26 and 27).
    """
    log_p, log_old = case.log_likelihood(case.x), case.log_belief(case.belief)
    scaled, old, new = (_normalised(case, log) for log in (log_p, log_old, gamma * log_p + (1 - gamma) * log_old))
    ratio = scaled - old
    mean = _average(case, new, ratio)
    return {
        "before": _average(case, old, old - scaled),
        "after": _average(case, new, new - scaled),
        "change": _average(case, new, new - old),
        "forth": _average(case, old, old - new),
        "variance": _average(case, new, (ratio - mean) ** 2),
    }


def _normalised(case: Case, log_density: FloatArray) -> FloatArray:
    top = log_density.max()
    return log_density - top - np.log(case.widths @ np.exp(log_density - top))


def _average(case: Case, log_density: FloatArray, values: FloatArray) -> float:
    return float(case.widths @ (np.exp(log_density) * values))


@jax.jit
@partial(jax.vmap, in_axes=(None, None, None, 0))
def _moved(family: Family, belief: Belief, x: Any, gamma: Array) -> dict[str, Array]:
    """What a step of the SMiLe rule does; gamma may lie a little outside of 0 to 1."""
    new = expfam.blend(family, belief, 1 - gamma, expfam.scaled_likelihood(family, x), gamma)
    return {
        "after": confidence_corrected(family, new, x),
        "change": expfam.divergence(family, new, belief),
        "forth": expfam.divergence(family, belief, new),
    }


_gammas = jax.jit(jax.vmap(rule.gamma_from_bound, in_axes=(None, None, None, 0)))


def _by_library(case: Case) -> dict[str, FloatArray]:
    """The same for each gamma, and what the library makes of bounds.

    slope_change, slope_impact: finite differences of D[new || old] and of the impact. returned: the gamma that the
    bound D[new || old] leads back to. bounded: the gamma for a bound of so large a share of B_max.
    """
    where, number = (case.family, case.belief, case.x), len(GAMMAS)
    low, new, high = (slice(k * number, (k + 1) * number) for k in range(3))
    found = jax.device_get(_moved(*where, np.concatenate([GAMMAS - STEP, GAMMAS, GAMMAS + STEP])))
    after, change = found["after"], found["change"]
    most = change[new][-1]  # at gamma = 1
    gammas = np.asarray(_gammas(*where, np.concatenate([change[new], GAMMAS * most])))
    return {
        "before": np.full(number, after[new][0]),  # at gamma = 0
        **{name: values[new] for name, values in found.items()},
        "slope_change": (change[high] - change[low]) / (2 * STEP),
        "slope_impact": (after[low] - after[high]) / (2 * STEP),
        "returned": gammas[:number],
        "bounded": gammas[number:],
    }


def simulate(run: RunSettings) -> dict[str, DataFrame]:
    """rule: a row per belief and gamma. order: a row per belief and sample of a learner."""
    steps, orders = [], []
    for name, make in FAMILIES.items():
        rng = np.random.default_rng([run.seed, 2, len(name)])
        for number in range(CASES):
            case = make(rng)
            found = _by_library(case)
            sums = DataFrame([by_sums(case, gamma) for gamma in GAMMAS])
            sums = sums.rename(columns={column: f"{column}_by_sums" for column in SUMMED})
            steps += DataFrame({"family": name, "belief": number, "gamma": GAMMAS, **found, **sums}).to_dict("records")
            orders += [{"family": name, "belief": number, **row} for row in _order(case, make, rng)]
    return {"rule": DataFrame(steps), "order": DataFrame(orders)}


_step = jax.jit(lambda family, m, belief, x: Smile(family, m).step(belief, x))


def _order(case: Case, make: Callable[[Generator], Case], rng: Generator) -> list[dict[str, float]]:
    """A learner goes through some samples.

    reported: the surprise that it reports. ready: the one reported by another learner with the same belief, whose step
    is much larger. before, after: S_cc of the belief before and after the step, by sums.
    """
    rows = []
    for x in [case.x, *(make(rng).x for _ in range(STEPS - 1))]:
        (new, info), (_, other) = (_step(case.family, m, case.belief, x) for m in (M, READY))
        before, after = (by_sums(case._replace(belief=belief, x=x), 0.0)["before"] for belief in (case.belief, new))
        rows.append({
            "reported": float(info.surprise), "ready": float(other.surprise), "before": before, "after": after,
            "gamma": float(info.learning_rate), "ready_gamma": float(other.learning_rate),
        })  # fmt: skip
        case = case._replace(belief=new)
    return rows


def off(a: Any, b: Any) -> float:
    """The largest difference, relative to one plus the size of what is to be met."""
    return float((np.abs(a - b) / (1 + np.abs(b))).max())


def claims(steps: DataFrame, order: DataFrame) -> list[Claim]:
    """One per statement; each has one part per family, in which the library and the sums must both obey it."""
    return [_class(steps), _monotonic(steps), _impact(steps), _derivatives(steps), _impact_grows(steps), _fast(order)]


def _families(table: DataFrame) -> dict[Any, DataFrame]:
    return dict(list(table.groupby("family", sort=False)))


def _told(numbers: dict[Any, float], form: str) -> str:
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())


def _impact_of(table: DataFrame, end: str = "") -> Any:
    return table[f"before{end}"] - table[f"after{end}"]


def _least_growth(table: DataFrame, values: Any) -> float:
    """The least by which values of one belief grow from each gamma to the next."""
    return float(values.groupby(table.belief).diff().min())


def _class(table: DataFrame) -> Claim:
    families = _families(table)
    least = {name: min(_impact_of(part, end).min() for end in ENDS) for name, part in families.items()}
    disagree = {
        name: max(off(part[column], part[f"{column}_by_sums"]) for column in SUMMED) for name, part in families.items()
    }
    inside = table[table.gamma > 0]
    return Claim(
        "rule.plausible",
        "section 2.2, eq. 3",
        "The SMiLe rule is plausible: after a step of any gamma from 0 to 1 the same sample is no more surprising than "
        "before.",
        "S_cc(X; new) <= S_cc(X; old), for all samples",
        f"surprise falls by at least {_impact_of(inside).min():.2g} nats in {len(inside)} steps of gamma = "
        f"{inside.gamma.min():g} to 1, and at gamma = 0 it rises by at most {max(0.0, -min(least.values())):.0e}; "
        f"library and sums differ by at most {max(disagree.values()):.0e}",
        verdict(least[name] > -EXACT and disagree[name] < EXACT for name in families),
        f"{_beliefs(table)} A part of the claim holds if the library and plain sums obey it, and agree, to {EXACT:g}.",
    )


def _monotonic(table: DataFrame) -> Claim:
    growth = {name: _least_growth(part, part.bounded) for name, part in _families(table).items()}
    back = {name: off(part.returned, part.gamma) for name, part in _families(table).items()}
    return Claim(
        "rule.unique-gamma",
        "sections 2.2 and 4.7",
        "The bound B determines gamma, and gamma grows with it.",
        "unique; increases monotonously",
        f"least growth of gamma while B grows by a tenth of B_max: {_told(growth, '.3f')}; from gamma to its bound "
        f"D[new || old] and back, gamma is off by at most {max(back.values()):.0e}",
        verdict(growth[name] > 0 and back[name] < DERIVED for name in growth),
        f"{_beliefs(table)} That gamma is found again from its bound, to {DERIVED:g}, shows that there is no other.",
    )


def _impact(table: DataFrame) -> Claim:
    families = _families(table[table.gamma > 0])
    errors = {n: max(off(_formula(part, end), _impact_of(part, end)) for end in ENDS) for n, part in families.items()}
    least = {name: _impact_of(part).min() for name, part in families.items()}
    return Claim(
        "rule.impact",
        "eq. 8",
        "The impact of a sample is D[old || new] / gamma + (1 / gamma - 1) D[new || old], and so not negative.",
        "equal; at least 0",
        f"largest difference, relative to one plus the impact: {_told(errors, '.0e')}; least impact "
        f"{min(least.values()):.2g} nats",
        verdict(errors[name] < EXACT and least[name] >= 0 for name in families),
        f"{_beliefs(table)} Both sides were computed by the library and by plain sums; equal means to {EXACT:g}.",
    )


def _formula(table: DataFrame, end: str) -> Any:
    return table[f"forth{end}"] / table.gamma + (1 / table.gamma - 1) * table[f"change{end}"]


def _derivatives(table: DataFrame) -> Claim:
    parts = _families(table)
    changes = {name: off(part.slope_change, part.gamma * part.variance) for name, part in parts.items()}
    impacts = {name: off(part.slope_impact, (1 - part.gamma) * part.variance) for name, part in parts.items()}
    return Claim(
        "rule.derivatives",
        "eqs. 26 and 27",
        "As gamma grows, D[new || old] grows by gamma times the variance of ln p(X | theta) / old belief, and the "
        "impact by 1 - gamma times it.",
        "equal",
        f"largest difference, relative to one plus the slope: D[new || old] {_told(changes, '.0e')}; impact "
        f"{_told(impacts, '.0e')}",
        verdict(max(changes[name], impacts[name]) < DERIVED for name in parts),
        f"{_beliefs(table)} Slopes are finite differences of what the library gives, variances are plain sums over "
        f"theta; equal means to {DERIVED:g}.",
    )


def _impact_grows(table: DataFrame) -> Claim:
    growth = {
        name: min(_least_growth(part, _impact_of(part, end)) for end in ENDS) for name, part in _families(table).items()
    }
    return Claim(
        "rule.larger-gamma",
        "section 2.3",
        "A larger gamma gives a sample a larger impact.",
        "increasing",
        f"least growth of the impact while gamma grows by 0.1, in nats: {_told(growth, '.2g')}",
        verdict(value > 0 for value in growth.values()),
        f"{_beliefs(table)} The impact, S_cc before minus S_cc after, was computed by the library and by plain sums.",
    )


def _fast(order: DataFrame) -> Claim:
    parts = _families(order)
    before, ready = ({n: off(part.reported, part[c]) for n, part in parts.items()} for c in ("before", "ready"))
    apart = {name: (part.reported - part.after).abs().median() for name, part in parts.items()}
    moved = (order.ready_gamma - order.gamma).abs().median()
    return Claim(
        "surprise.before-update",
        "section 2.1 (3), and note 1 of Algorithm 1",
        "Surprise is known before the belief changes: it needs no posterior.",
        "evaluated in step (i), before the update in step (iv)",
        f"reported surprise minus S_cc of the belief before the step: at most {max(before.values()):.0e}; minus that "
        f"after it: {_told(apart, '.2g')} nats (median); a learner whose gamma is larger by {moved:.2f} (median) "
        f"reports the same, to {max(ready.values()):.0e}",
        verdict(before[name] < EXACT and ready[name] < EXACT and apart[name] > EXACT for name in parts),
        f"SMiLe at m = {M:g} goes through {STEPS} samples from each of {CASES} random beliefs per family; another, at "
        f"m = {READY:g}, gets the same beliefs and samples. S_cc before and after comes from plain sums.",
    )


def _beliefs(table: DataFrame) -> str:
    number = table.groupby("family").belief.nunique().min()
    return f"{number} random beliefs of each family: {', '.join(_families(table))}."
