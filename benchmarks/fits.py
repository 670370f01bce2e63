"""How long does it take to fit everybody? 100 participants of 500 trials, 10 searches each, SMiLe with two parameters.

Against SciPy's L-BFGS-B with finite differences on the same likelihood in plain Python, the way such fits are often
written: two searches of it are timed, from where ours start first, and all are taken to last as long. Once gamma is
found as Algorithm 1 says, by a search for the bound (`brentq`); and once by the closed form of eqs. 9 and 10, a
shortcut for beliefs that are as precise as one sample, which ours does not take.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq, minimize

from astonish import Gaussian, Smile
from astonish.core.numbers import as_double, double
from astonish.people.fit import Estimate, Model, fit, plan_trials, simulate_responses
from astonish.people.fit.estimate import prepare
from astonish.people.fit.likelihood import Losses, evaluate
from astonish.worlds.gaussian_jumps import many_gaussian_jumps
from environment import apart
from timing import Target, at_least, at_most, best, show, size

PEOPLE, TRIALS, STARTS, SOME = size((100, 500, 10, 2), (2, 40, 2, 1))
FREE = ["m", "response.noise"]
MODEL = Model(Smile(Gaussian(noise=4.0), m=0.1), Estimate(noise=2.0))


def report() -> list[Target]:
    """In a process of its own, on all cores, while this one stays on one."""
    return tell(apart(measure))


def measure() -> dict[str, float]:
    trials = _people()
    start = time.perf_counter()
    found = fit(MODEL, trials, FREE, starts=STARTS)
    first = time.perf_counter() - start
    start = time.perf_counter()
    fit(MODEL, trials, FREE, starts=STARTS)
    again = time.perf_counter() - start
    searched, ends = _plain(trials, _searched)
    closed, _ = _plain(trials, _closed)
    apart = float(np.abs(np.log(ends) - found.unconstrained[:SOME]).max())
    plain, short = (seconds * PEOPLE * STARTS for seconds in (searched, closed))
    return {"first": first, "again": again, "plain": plain, "short": short, "apart": apart, **_slopes(trials)}


def _people() -> Any:
    rng = np.random.default_rng(0)
    trials = plan_trials(many_gaussian_jumps(steps=TRIALS, seeds=range(PEOPLE)), responds_before=False)
    values = {"m": 0.1 * np.exp(0.7 * rng.standard_normal(PEOPLE)), "response.noise": 2.0}
    return simulate_responses(MODEL, trials, values)


def _plain(trials: Any, gamma: Callable[[float, float], float]) -> tuple[float, Any]:
    """Seconds per search, and where each of them ended."""
    start = time.perf_counter()
    ends = [
        np.exp(minimize(_loss, np.log([0.1, 2.0]), args=(x, r, gamma), method="L-BFGS-B").x)
        for x, r in zip(trials.outcomes[:SOME].tolist(), trials.responses[:SOME].tolist(), strict=True)
    ]
    return (time.perf_counter() - start) / SOME, ends


def _loss(place: Any, outcomes: list[float], responses: list[float], gamma: Callable[[float, float], float]) -> float:
    m, noise = math.exp(place[0]), math.exp(place[1])
    mean = total = 0.0
    for x, response in zip(outcomes, responses, strict=True):
        mean += gamma(m, (x - mean) / 4.0) * (x - mean)
        total += 0.5 * ((response - mean) / noise) ** 2 + math.log(noise)
        mean = response  # from where the participant goes on
    return total


def _searched(m: float, gap: float) -> float:
    """Gamma at which the divergence from the old belief meets the bound (eq. 7); a belief as precise as one sample."""
    surprise = most = 0.5 * gap * gap
    bound = m * surprise / (1 + m * surprise) * most
    return float(brentq(lambda g: 0.5 * (g * gap) ** 2 - bound, 0.0, 1.0)) if bound > 0 else 0.0


def _closed(m: float, gap: float) -> float:
    product = m * 0.5 * gap * gap
    return math.sqrt(product / (1 + product))


def _slopes(trials: Any) -> dict[str, float]:
    """Seconds for the loss of all participants at one row of parameters each, with derivatives and without."""
    space, data, none, *_ = prepare(MODEL, trials, FREE, None)
    everyone, xs = np.arange(PEOPLE), np.tile(space.start(MODEL), (PEOPLE, 1))
    losses = Losses(MODEL, data, space, False, none, PEOPLE)
    with double():
        model, stacked = jax.tree.map(jnp.asarray, as_double((MODEL, data)))
        alone = jax.jit(jax.vmap(lambda x, own: evaluate(space.bind(model, x), own, False).log_likelihood.sum()))
        return {
            "slopes": best(lambda: losses(xs, everyone)),
            "value": best(lambda: alone(xs, stacked).block_until_ready()),
        }


def tell(found: dict[str, float]) -> list[Target]:
    """Tables, and how they compare with what was hoped for."""
    each = 1e9 / (PEOPLE * TRIALS)
    show(
        f"Best parameters of {PEOPLE} participants x {TRIALS} trials x {STARTS} starts; all cores; seconds",
        ["", "s", "ratio"],
        [
            ["astonish, compilation included", f"{found['first']:.1f}", ""],
            ["astonish, once more", f"{found['again']:.1f}", ""],
            [f"SciPy on a plain loop, from {SOME} searches", f"{found['plain']:.0f}",
             f"{found['plain'] / found['first']:.0f} x"],
            ["the same with gamma in closed form", f"{found['short']:.0f}",
             f"{found['short'] / found['first']:.1f} x"],
        ],
    )  # fmt: skip
    show(
        "What a participant's trial costs a search; nanoseconds",
        ["", "ns"],
        [
            ["likelihood and two exact derivatives", f"{each * found['slopes']:.0f}"],
            ["likelihood alone", f"{each * found['value']:.0f}"],
            ["with central differences, 5 times that", f"{5 * each * found['value']:.0f}"],
        ],
    )
    return [
        at_most("fit: compilation included", 5, found["first"], "s"),
        at_least("fit: against SciPy on a plain loop", 50, found["plain"] / found["first"], "x faster"),
        at_most("fit: how far from SciPy's values, as logarithms", 0.01, found["apart"], "apart", is_check=True),
        at_least("fit: derivatives against central differences", 1, 5 * found["value"] / found["slopes"], "x faster"),
    ]


if __name__ == "__main__":
    for target in tell(measure()):
        print(target)
