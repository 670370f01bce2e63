"""Figure 2, and sections 2.1, 2.2, 4.4 and 4.5: commitment, and how far a surprise may move a belief.

What sections 2.2, 2.3 and 4.7 to 4.9 prove of the SMiLe rule is checked for random beliefs, where everything is
computed twice: by the library, and from the definitions alone, as plain sums over the values of theta.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator
from pandas import DataFrame, concat

from astonish.beliefs import Dirichlet, Gaussian, Grid, finite
from astonish.core.numbers import FloatArray
from astonish.core.programs import interpreted
from astonish.learners import Smile
from astonish.paper.figure import (
    Claim,
    Drawing,
    Figure,
    RunSettings,
    Tables,
    letter_panels,
    listed,
    same,
    verdict,
    wide,
)
from astonish.paper.figure1 import density, measured, measures
from astonish.report.style import BLUE, GREEN, PURPLE, VERMILLION
from astonish.theory import expfam, rule, surprise
from astonish.theory.expfam import Belief, Family

COLOURS = {"committed": BLUE, "open": VERMILLION}
NOISE, MEAN, STD, SHOWN = 0.7, 2.0, 0.5, 3.2  # of the pair of models with equal predictions, and the sample shown
NORMALS = {"committed": 0.05, "open": 0.5}  # variance of the belief; with that of the noise it makes 1
WIDTHS, FAR = {"equal": 1.0, "narrow": 0.4}, 2.0  # Fig. 2B: belief and sample, in units of the noise
SHARES = np.array([0.0, 0.5, 1.0, 1.5, 10.0])  # bounds in units of the largest that matters
CAPTION = (
    "Commitment, and the way to the sample. A: two internal models that predict the same. A sample x is the size of "
    "theta plus normal noise; one person knows the sign of theta (committed, blue), the other does not (open, red). "
    "Contours: joint density of x and theta. Top: the two predictive densities, which coincide. Right: the beliefs, "
    "and the scaled likelihood of the sample X (purple), the same for both. B: surprise at a sample two noise widths "
    "away, if it came again after a step of size gamma, for a normal belief as wide as the noise (black, a parabola) "
    f"and for one of {WIDTHS['narrow']:g} times its width (grey, rescaled to the same start). Lines: the gamma that "
    "three bounds on the change lead to. C (not in the paper): two normal models with equal predictions of variance 1, "
    f"beliefs of variance {NORMALS['committed']:g} and {NORMALS['open']:g}: by how much the more committed one is more "
    "surprised."
)


def _folded(x: Any, theta: Array) -> Array:
    """Log-likelihood of a sample that is the size of theta, and normal noise."""
    return -0.5 * jnp.square((x - jnp.abs(theta)) / NOISE) - np.log(NOISE * np.sqrt(2 * np.pi))


def folded_pair() -> tuple[Grid, dict[str, Belief]]:
    """Two beliefs that predict the same: one knows the sign of theta, the other does not."""
    theta: Any = np.linspace(-6, 6, 601)
    family = Grid(theta, _folded)
    right, left = (np.exp(-0.5 * ((theta - mean) / STD) ** 2) for mean in (MEAN, -MEAN))
    return family, {"committed": family.prior(right), "open": family.prior(right + left)}


def normal_pair() -> dict[str, tuple[Gaussian, Belief]]:
    """Two normal models whose predictions have the variance 1, one of which is more committed."""
    families = {name: Gaussian(np.sqrt(1 - variance)) for name, variance in NORMALS.items()}
    return {name: (family, family.prior(std=np.sqrt(NORMALS[name]))) for name, family in families.items()}


def _fold(run: RunSettings) -> Tables:
    """Panel A: two beliefs that predict the same, of which one knows the sign of theta, and the other does not.

    beliefs, joint, predictions: the densities of theta, of x and theta together, and of x. pair: how surprising some
    samples are to either.
    """
    family, beliefs = folded_pair()
    theta = np.asarray(family.points)
    functions = beliefs | {"scaled": expfam.scaled_likelihood(family, SHOWN)}
    densities = {name: np.asarray(density(family, belief)) for name, belief in functions.items()}
    fine = 31 if run.quick else 61
    x, at, many = np.linspace(-1, 5.5, fine), slice(0, None, 300 // (fine - 1)), np.linspace(-1, 5.5, 131)
    likely = np.asarray(jnp.exp(_folded(x[:, None], jnp.asarray(theta[at]))))
    joint = {"x": np.repeat(x, len(theta[at])), "theta": np.tile(theta[at], len(x))}
    joint |= {name: np.ravel(likely * densities[name][at]) for name in beliefs}
    return {
        "beliefs": DataFrame({"theta": theta} | densities),
        "joint": DataFrame(joint),
        "predictions": DataFrame({"x": many} | {n: np.exp(log_evidence(family, b, many)) for n, b in beliefs.items()}),
        "pair": DataFrame(
            {"model": name, "sample": sample, **measured(family, belief, sample)}
            for name, belief in beliefs.items()
            for sample in (0.5, MEAN, SHOWN)
        ),
    }


def _normal(_: RunSettings) -> DataFrame:
    """Surprise of two normal models with equal predictions, at samples in units of their standard deviation."""
    x = np.linspace(0, 3, 61)
    columns: dict[str, Any] = {"sample": x}
    for name, (family, belief) in normal_pair().items():
        values = jax.vmap(measures, (None, None, 0))(family, belief, x)
        columns |= {f"{kind}_{name}": np.asarray(values[kind]) for kind in ("raw", "surprise", "shannon")}
    return DataFrame(columns)


def _steps(_: RunSettings) -> Tables:
    """Panel B.

    landscape: surprise at the same sample after a step of every size. bounds: the step that each bound leads to, what
    it changes, and what surprise is left; `share` is in units of B_max.
    """
    gamma = np.linspace(0, 1, 101)
    landscape, bounds = {"gamma": gamma}, []
    for name, width in WIDTHS.items():
        family, belief = Gaussian(), Gaussian().prior(std=width)
        landscape[name] = np.asarray(surprise_again(family, belief, FAR, gamma))
        steps = jax.device_get(_bounded(family, belief, FAR, SHARES))
        bounds.append(DataFrame(steps).assign(belief=name, share=SHARES))
    return {"landscape": DataFrame(landscape), "bounds": concat(bounds)}


def _surprise_after(family: Family, belief: Belief, x: Any, gamma: Any) -> Array:
    return surprise.confidence_corrected(family, rule.step(family, belief, x, gamma), x)


@interpreted
@partial(jax.vmap, in_axes=(None, None, None, 0))
def _bounded(family: Family, belief: Belief, x: Any, share: Any) -> dict[str, Array]:
    bound = share * rule.bound_max(family, belief, x)
    gamma = rule.gamma_from_bound(family, belief, x, bound)
    change = expfam.divergence(family, rule.step(family, belief, x, gamma), belief)
    return {"bound": bound, "gamma": gamma, "change": change, "surprise": _surprise_after(family, belief, x, gamma)}


surprise_again = interpreted(jax.vmap(_surprise_after, (None, None, None, 0)))
log_evidence = interpreted(jax.vmap(expfam.log_evidence, (None, None, 0)))


# What the paper proves of the SMiLe rule

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

    def normalised(log_density: FloatArray) -> FloatArray:
        top = log_density.max()
        return log_density - top - np.log(case.widths @ np.exp(log_density - top))

    def average(log_density: FloatArray, values: FloatArray) -> float:
        return float(case.widths @ (np.exp(log_density) * values))

    log_p, log_old = case.log_likelihood(case.x), case.log_belief(case.belief)
    scaled, old, new = (normalised(log) for log in (log_p, log_old, gamma * log_p + (1 - gamma) * log_old))
    ratio = scaled - old
    return {
        "before": average(old, old - scaled),
        "after": average(new, new - scaled),
        "change": average(new, new - old),
        "forth": average(old, old - new),
        "variance": average(new, (ratio - average(new, ratio)) ** 2),
    }


@jax.jit
@partial(jax.vmap, in_axes=(None, None, None, 0))
def _moved(family: Family, belief: Belief, x: Any, gamma: Array) -> dict[str, Array]:
    """What a step of the SMiLe rule does; gamma may lie a little outside of 0 to 1."""
    new = expfam.blend(family, belief, 1 - gamma, expfam.scaled_likelihood(family, x), gamma)
    return {
        "after": surprise.confidence_corrected(family, new, x),
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
    moved = jax.device_get(_moved(*where, np.concatenate([GAMMAS - STEP, GAMMAS, GAMMAS + STEP])))
    after, change = moved["after"], moved["change"]
    most = change[new][-1]  # at gamma = 1
    gammas = np.asarray(_gammas(*where, np.concatenate([change[new], GAMMAS * most])))
    return {
        "before": np.full(number, after[new][0]),  # at gamma = 0
        **{name: values[new] for name, values in moved.items()},
        "slope_change": (change[high] - change[low]) / (2 * STEP),
        "slope_impact": (after[low] - after[high]) / (2 * STEP),
        "returned": gammas[:number],
        "bounded": gammas[number:],
    }


def _rule(run: RunSettings) -> Tables:
    """rule: a row per belief and gamma. order: a row per belief and sample of a learner that goes through some samples.

    reported: the surprise that it reports. ready: the one reported by another learner with the same belief, whose step
    is much larger. before, after: S_cc of the belief before and after the step, by sums.
    """
    steps, orders = [], []
    for name, make in FAMILIES.items():
        rng = np.random.default_rng([run.seed, 2, len(name)])
        for number in range(CASES):
            case = make(rng)
            ours = _by_library(case)
            sums = DataFrame([by_sums(case, gamma) for gamma in GAMMAS])
            sums = sums.rename(columns={column: f"{column}_by_sums" for column in SUMMED})
            steps += DataFrame({"family": name, "belief": number, "gamma": GAMMAS, **ours, **sums}).to_dict("records")
            for x in [case.x, *(make(rng).x for _ in range(STEPS - 1))]:
                (new, info), (_, other) = (_step(case.family, m, case.belief, x) for m in (M, READY))
                before, after = (by_sums(case._replace(belief=b, x=x), 0.0)["before"] for b in (case.belief, new))
                orders.append({
                    "family": name, "belief": number,
                    "reported": float(info.surprise), "ready": float(other.surprise), "before": before, "after": after,
                    "gamma": float(info.learning_rate), "ready_gamma": float(other.learning_rate),
                })  # fmt: skip
                case = case._replace(belief=new)
    return {"rule": DataFrame(steps), "order": DataFrame(orders)}


_step = jax.jit(lambda family, m, belief, x: Smile(family, m).step(belief, x))

# Claims


def claims(tables: Tables) -> list[Claim]:
    """Judge what sections 2.1 and 2.2 say about commitment, and about the way to the sample, and what is proved."""
    pair = _commitment(tables["pair"], tables["predictions"], tables["normal"])
    steps = _way_to_the_sample(tables["landscape"], tables["bounds"])
    return [*pair, *steps, *rule_claims(tables["rule"], tables["order"])]


def _commitment(pair: DataFrame, predictions: DataFrame, normal: DataFrame) -> list[Claim]:
    raw, surprise, sure = (wide(pair, "sample", "model", value) for value in ("raw", "surprise", "commitment"))
    gap, surer = surprise.committed - surprise.open, sure.committed - sure.open
    equal = [same(predictions.committed, predictions.open), same(raw.committed, raw.open)]
    normal_raw, normal_gap, likely = (
        normal[f"{measure}_committed"] - normal[f"{measure}_open"] for measure in ("raw", "surprise", "shannon")
    )
    equal_at = np.interp(0, -normal_gap, normal["sample"])  # it falls
    total, row = pair.shannon + pair.bayesian + pair.scale + pair.commitment, pair.iloc[-1]
    return [
        Claim(
            "commitment.raw",
            "Fig. 2A",
            "A sample can have the same raw surprise under two models with the same predictive density, and yet a "
            "larger S_cc under the one that is more committed.",
            "equal raw surprise, larger S_cc for the narrower belief",
            f"X = {SHOWN}: raw {raw.committed[SHOWN]:.4f} (committed) and {raw.open[SHOWN]:.4f} nats (open), S_cc "
            f"{surprise.committed[SHOWN]:.4f} and {surprise.open[SHOWN]:.4f}; more commitment by {surer[SHOWN]:.4f}",
            verdict([*equal, (gap > 0).all() and same(gap, surer)]),
            "Both predict the same, whether or not they know the sign of theta, so this holds at every X; knowing it "
            "is worth ln 2 of commitment. No two normal models would do: see the next claim.",
        ),
        Claim(
            "commitment.predictions",
            "section 4.4 and Fig. 2A",
            "Of two people to whom a sample is equally likely, the more committed one is more surprised.",
            "generally",
            f"the pair of Fig. 2A: S_cc larger by {gap.min():.3f} nats; two normal models with equal predictions (to "
            f"{np.abs(likely).max():.0e}): larger by {normal_gap.iloc[0]:.2f} in the middle, equal at {equal_at:.2f} "
            f"standard deviations, smaller by {-normal_gap.iloc[-1]:.2f} at {normal['sample'].iloc[-1]:g}; raw "
            f"surprise smaller by {-normal_raw.max():.2f} or more at every X",
            verdict([(gap > 0).all(), (normal_gap > 0).all()]),
            "The argument takes raw surprise to be equal. Normal models with equal predictions are never equal in it: "
            "more commitment leaves a larger noise variance v, and raw surprise, (ln v + (1 + X^2) / v) / 2 and a "
            "constant if predictions have variance 1, falls as v grows to 1.",
        ),
        Claim(
            "surprise.terms",
            "section 2.1 (1), eq. 12 and 15",
            "S_cc is the sum of Shannon surprise, Bayesian surprise and two further terms: the log of the likelihood's "
            "integral over theta, and commitment.",
            "equal",
            f"{row.shannon:.4f} + {row.bayesian:.4f} + {row.scale:.4f} + ({row.commitment:.4f}) = "
            f"{total.iloc[-1]:.4f}, S_cc {row.surprise:.4f}; largest difference in {len(pair)} cases "
            f"{np.abs(total - pair.surprise).max():.0e}",
            verdict([same(total, pair.surprise), same(pair.shannon + pair.bayesian, pair.raw)]),
            "An identity; every term was computed by itself.",
        ),
    ]


def _way_to_the_sample(landscape: DataFrame, bounds: DataFrame) -> list[Claim]:
    curves = {f"belief {width:g} times as wide as the noise": landscape[name] for name, width in WIDTHS.items()}
    off = {name: np.abs(curve / curve[0] - (1 - landscape.gamma) ** 2).max() for name, curve in curves.items()}
    least, most = bounds[bounds.share == 0], bounds[bounds.share >= 1]
    inside = bounds[bounds.share.between(0, 1, inclusive="neither")]
    meets = inside.gamma.between(0, 1, inclusive="neither").all() and same(inside.change, inside.bound)
    equal = bounds[bounds.belief == "equal"]
    return [
        Claim(
            "step.minimum",
            "Fig. 2B",
            "Surprise at the same sample falls all the way from gamma = 0 to gamma = 1, where it is smallest.",
            "global minimum at gamma = 1",
            "; ".join(f"{name}: {c.iloc[0]:.3f} to {abs(c.iloc[-1]):.3f} nats" for name, c in curves.items()),
            verdict((np.diff(c) < 0).all() and same(c.iloc[-1], 0) for c in curves.values()),
            "At gamma = 1 the belief is the scaled likelihood itself, and nothing diverges from itself.",
        ),
        Claim(
            "step.parabola",
            "Fig. 2B",
            "Surprise over gamma is a parabola.",
            "parabolic",
            "largest distance from the parabola with the same start and minimum, in units of the start: "
            + "; ".join(f"{distance:.2f} for a {name}" for name, distance in off.items()),
            verdict(same(distance, 0) for distance in off.values()),
            "Exact for normal beliefs as wide as the noise, as in the paper's first task; otherwise the width of the "
            "belief changes on the way as well.",
        ),
        Claim(
            "bound.gamma",
            "section 2.2 and Fig. 2B",
            "A bound of zero leaves the belief as it is; from B_max on nothing of it is left; in between the change "
            "just meets the bound.",
            "gamma = 0; gamma = 1; 0 < gamma < 1",
            f"B / B_max = {listed(equal.share)}: gamma = {listed(equal.gamma, '.3f')}",
            verdict([same(least.gamma, 0), same(most.gamma, 1), meets]),
            "B_max is the distance of the scaled likelihood from the belief, so a larger bound allows nothing that is "
            "less surprising.",
        ),
    ]


def off(a: Any, b: Any) -> float:
    """Compute the largest difference, relative to one plus the size of what is to be met."""
    return float((np.abs(a - b) / (1 + np.abs(b))).max())


def rule_claims(steps: DataFrame, order: DataFrame) -> list[Claim]:
    """Judge each statement; it has one part per family, in which the library and the sums must both obey it."""
    parts = {str(name): part for name, part in steps.groupby("family", sort=False)}
    beliefs = f"{steps.groupby('family').belief.nunique().min()} random beliefs of each family: {', '.join(parts)}."
    inside = {name: part[part.gamma > 0] for name, part in parts.items()}

    def by_family(numbers: dict[str, float], form: str) -> str:
        return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())

    def impact(table: DataFrame, end: str = "") -> Any:
        return table[f"before{end}"] - table[f"after{end}"]

    def formula(table: DataFrame, end: str) -> Any:
        return table[f"forth{end}"] / table.gamma + (1 / table.gamma - 1) * table[f"change{end}"]

    def least_growth(table: DataFrame, values: Any) -> float:
        """The least by which values of one belief grow from each gamma to the next."""
        return float(values.groupby(table.belief).diff().min())

    least = {name: min(impact(part, end).min() for end in ENDS) for name, part in parts.items()}
    least_inside = {name: impact(part).min() for name, part in inside.items()}
    disagree = {name: max(off(p[column], p[f"{column}_by_sums"]) for column in SUMMED) for name, p in parts.items()}
    gamma_grows = {name: least_growth(part, part.bounded) for name, part in parts.items()}
    back = {name: off(part.returned, part.gamma) for name, part in parts.items()}
    unequal = {name: max(off(formula(p, end), impact(p, end)) for end in ENDS) for name, p in inside.items()}
    changes = {name: off(part.slope_change, part.gamma * part.variance) for name, part in parts.items()}
    impacts = {name: off(part.slope_impact, (1 - part.gamma) * part.variance) for name, part in parts.items()}
    impact_grows = {name: min(least_growth(p, impact(p, end)) for end in ENDS) for name, p in parts.items()}
    orders = {str(name): part for name, part in order.groupby("family", sort=False)}
    before, ready = ({n: off(part.reported, part[c]) for n, part in orders.items()} for c in ("before", "ready"))
    apart = {name: (part.reported - part.after).abs().median() for name, part in orders.items()}
    moved = (order.ready_gamma - order.gamma).abs().median()
    first_gamma = steps.gamma[steps.gamma > 0].min()
    return [
        Claim(
            "rule.plausible",
            "section 2.2, eq. 3",
            "The SMiLe rule is plausible: after a step of any gamma from 0 to 1 the same sample is no more surprising "
            "than before.",
            "S_cc(X; new) <= S_cc(X; old), for all samples",
            f"surprise falls by at least {min(least_inside.values()):.2g} nats in {(steps.gamma > 0).sum()} steps of "
            f"gamma = {first_gamma:g} to 1, and at gamma = 0 it rises by at most {max(0.0, -min(least.values())):.0e}; "
            f"library and sums differ by at most {max(disagree.values()):.0e}",
            verdict(least[name] > -EXACT and disagree[name] < EXACT for name in parts),
            f"{beliefs} A part of the claim holds if the library and plain sums obey it, and agree, to {EXACT:g}.",
        ),
        Claim(
            "rule.unique-gamma",
            "sections 2.2 and 4.7",
            "The bound B determines gamma, and gamma grows with it.",
            "unique; increases monotonously",
            f"least growth of gamma while B grows by a tenth of B_max: {by_family(gamma_grows, '.3f')}; from gamma to "
            f"its bound D[new || old] and back, gamma is off by at most {max(back.values()):.0e}",
            verdict(gamma_grows[name] > 0 and back[name] < DERIVED for name in parts),
            f"{beliefs} That gamma is found again from its bound, to {DERIVED:g}, shows that there is no other.",
        ),
        Claim(
            "rule.impact",
            "eq. 8",
            "The impact of a sample is D[old || new] / gamma + (1 / gamma - 1) D[new || old], and so not negative.",
            "equal; at least 0",
            f"largest difference, relative to one plus the impact: {by_family(unequal, '.0e')}; least impact "
            f"{min(least_inside.values()):.2g} nats",
            verdict(unequal[name] < EXACT and least_inside[name] >= 0 for name in parts),
            f"{beliefs} Both sides were computed by the library and by plain sums; equal means to {EXACT:g}.",
        ),
        Claim(
            "rule.derivatives",
            "eqs. 26 and 27",
            "As gamma grows, D[new || old] grows by gamma times the variance of ln p(X | theta) / old belief, and the "
            "impact by 1 - gamma times it.",
            "equal",
            f"largest difference, relative to one plus the slope: D[new || old] {by_family(changes, '.0e')}; impact "
            f"{by_family(impacts, '.0e')}",
            verdict(max(changes[name], impacts[name]) < DERIVED for name in parts),
            f"{beliefs} Slopes are finite differences of what the library gives, variances are plain sums over theta; "
            f"equal means to {DERIVED:g}.",
        ),
        Claim(
            "rule.larger-gamma",
            "section 2.3",
            "A larger gamma gives a sample a larger impact.",
            "increasing",
            f"least growth of the impact while gamma grows by 0.1, in nats: {by_family(impact_grows, '.2g')}",
            verdict(growth > 0 for growth in impact_grows.values()),
            f"{beliefs} The impact, S_cc before minus S_cc after, was computed by the library and by plain sums.",
        ),
        Claim(
            "surprise.before-update",
            "section 2.1 (3), and note 1 of Algorithm 1",
            "Surprise is known before the belief changes: it needs no posterior.",
            "evaluated in step (i), before the update in step (iv)",
            f"reported surprise minus S_cc of the belief before the step: at most {max(before.values()):.0e}; minus "
            f"that after it: {by_family(apart, '.2g')} nats (median); a learner whose gamma is larger by {moved:.2f} "
            f"(median) reports the same, to {max(ready.values()):.0e}",
            verdict(before[name] < EXACT and ready[name] < EXACT and apart[name] > EXACT for name in orders),
            f"SMiLe at m = {M:g} goes through {STEPS} samples from each of {CASES} random beliefs per family; another, "
            f"at m = {READY:g}, gets the same beliefs and samples. S_cc before and after comes from plain sums.",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """Draw the pair of models on the left; the way to the sample, and a pair of normal models, on the right."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.2, 4.8), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    _draw_pair(parts[0], tables)
    upper, lower = parts[1].subplots(2, 1)
    landscape, bounds, normal = tables["landscape"], tables["bounds"], tables["normal"]
    curve, rescaled = landscape["equal"], landscape["narrow"] / landscape["narrow"][0]
    upper.plot(landscape.gamma, rescaled * curve[0], color="0.65")
    upper.plot(landscape.gamma, curve, color="black")
    upper.text(0.27, 0.92 * curve[0], "narrower belief", color="0.45")
    upper.text(0.03, 0.06 * curve[0], "belief as wide\nas the noise")
    equal: Any = bounds[bounds.belief == "equal"].set_index("share")
    labels = {0.0: "$B = 0$", 0.5: "$B = B_{max}/2$", 1.0: r"$B \geq B_{max}$"}
    for (share, label), colour in zip(labels.items(), (GREEN, BLUE, VERMILLION), strict=True):
        row = equal.loc[share]
        upper.axvline(row.gamma, color=colour, ls="--", lw=1)
        upper.plot([row.gamma], [row.surprise], "o", color=colour, label=label, clip_on=False, zorder=3)
    upper.set(xlabel=r"step $\gamma$", ylabel=r"$S_{cc}(X; q_\gamma)$ (nats)", xlim=(0, 1), ylim=(0, None))
    upper.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize=8, handletextpad=0, columnspacing=0.8)
    for kind, colour, label in (("raw", "0.5", "$S_{raw}$"), ("surprise", BLUE, "$S_{cc}$")):
        lower.plot(normal["sample"], normal[f"{kind}_committed"] - normal[f"{kind}_open"], color=colour, label=label)
    lower.axhline(0, color="black", lw=0.8)
    lower.set(xlabel="sample $X$ (standard deviations of $Z$)", ylabel="committed minus open\n(nats)", xlim=(0, 3))
    lower.legend(loc="lower left")
    letter_panels((upper, lower), "BC", x=-0.2)
    return figure


def _draw_pair(part: Any, tables: Tables) -> None:
    beliefs, predictions = tables["beliefs"], tables["predictions"]
    grid = part.add_gridspec(2, 2, width_ratios=(2.2, 1), height_ratios=(1, 2.6))
    main = part.add_subplot(grid[1, 0])
    top, side = part.add_subplot(grid[0, 0], sharex=main), part.add_subplot(grid[1, 1], sharey=main)
    for name, line in (("open", "-"), ("committed", "--")):
        plane = wide(tables["joint"], "theta", "x", name)
        levels = plane.to_numpy().max() * np.array([0.1, 0.3, 0.6, 0.9])
        main.contour(plane.columns, plane.index, plane, levels, colors=COLOURS[name], linewidths=1, linestyles=line)
        top.plot(predictions.x, predictions[name], line, color=COLOURS[name])
        side.plot(beliefs[name], beliefs.theta, line, color=COLOURS[name])
    side.plot(beliefs.scaled, beliefs.theta, color=PURPLE)
    side.text(0.95, 0.97, r"$\hat{p}_X(\theta)$", color=PURPLE, transform=side.transAxes, ha="right", va="top")
    for axis in (main, top):
        axis.axvline(SHOWN, color=GREEN, ls=":")
    main.annotate("X", (SHOWN, -4.3), (4, 0), textcoords="offset points", color=GREEN, fontweight="bold")
    main.set(xlabel="data $x$", ylabel=r"parameter $\theta$", ylim=(-4.5, 4.5))
    top.set(ylabel="$Z(x)$", ylim=(0, None))
    side.set(xlabel=r"belief $\pi_n(\theta)$", xlim=(0, None))
    top.tick_params(labelbottom=False)
    side.tick_params(labelleft=False)
    letter_panels([top], "A", x=-0.25)
    corner = part.add_subplot(grid[0, 1])
    corner.text(0, 1, "at X, in nats:", va="top")
    rows: Any = tables["pair"].set_index(["sample", "model"]).loc[SHOWN]
    for height, (name, colour) in zip((0.76, 0.34), COLOURS.items(), strict=True):
        text = f"{name}\n$S_{{raw}}$ {rows.raw[name]:.2f}, $S_{{cc}}$ {rows.surprise[name]:.2f}"
        corner.text(0, height, text, color=colour, va="top")
    corner.axis("off")


FIGURE_2 = Figure(
    "2",
    "Commitment, and surprise minimisation within a bound",
    CAPTION,
    {"fold": _fold, "normal": _normal, "steps": _steps, "rule": _rule},
    draw,
    claims,
)
