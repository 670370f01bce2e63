"""Does SMiLe follow a mean that drifts? The abstract speaks of gradual changes; the paper shows sudden ones only."""

from itertools import pairwise, product
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame, concat

from astonish.beliefs import Gaussian
from astonish.learners import Bayes, Nassar2010
from astonish.paper.claims import Claim, interval, listed, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated, wide
from astonish.paper.figure3 import ERRORS, HAZARD, HIGH, LOW, NOISE, START, follow, scores_of, scores_of_fixed, smile
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE
from astonish.worlds.gaussian_jumps import Episode

WALK, STEADY = "random walk", "steady drift"
DRIFTS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the mean in one step, in units of the noise
RATES = np.geomspace(0.005, 1, 54)  # the last one takes the last sample as the estimate
LEARNERS = ("best fixed rate", "last sample", "SMiLe", "naive Bayes", "Nassar 2010")
BEST, LAST, SMILE, NAIVE, NASSAR = LEARNERS
LOOKS = {BEST: (ORANGE, "s-"), LAST: (BLACK, "d:"), SMILE: (BLUE, "o-"), NAIVE: (PURPLE, "v--"), NASSAR: (GREEN, "^-")}
NEAR = 1.1  # times the error of the best fixed rate, or less
CAPTION = (
    "Following a mean that drifts, from samples with standard deviation 4; left: a random walk from 0, right: a steady "
    "drift. Abscissa: the (mean) size of a step, in units of the noise. A and B: squared error after each sample for "
    "SMiLe (m = 0.1), Bayes' rule for a mean that does not change, the last sample as the estimate, the rule of Nassar "
    f"et al. (2010), which expects jumps with a hazard of {HAZARD:g}, and the fixed rate that is best in hindsight. C "
    "and D: that rate, and the mean gamma of SMiLe. Bars: 95 % confidence intervals over 50 episodes of 1000 steps."
)


def drifting(steps: int, seed: Any, kind: str, drift: float, noise: float = NOISE) -> Episode:
    """Samples about a mean that starts at 0, and moves before each sample by `drift` noises: always, or on average.

    The same seed gives the same noise whatever the drift.
    """
    rng = np.random.default_rng(seed)
    moves, errors = rng.standard_normal((2, steps))
    truth = np.cumsum(drift * noise * (moves if kind == WALK else np.ones(steps)))
    return Episode(truth + noise * errors, truth, np.ones(steps, bool))


def episodes(run: RunSettings, kind: str, drift: float) -> Episode:
    """All of them, one per row."""
    number, steps = (8, 250) if run.quick else (50, 1000)
    made = [drifting(steps, (run.seed, 9, k), kind, drift) for k in range(number)]
    return Episode(*map(np.stack, zip(*made, strict=True)))


def _errors(run: RunSettings) -> Tables:
    """errors: of every learner in every episode, and the mean gamma of SMiLe. fixed: means for every rate."""
    errors, curves = [], []
    for kind, drift in product((WALK, STEADY), DRIFTS):
        task = episodes(run, kind, drift)
        fixed = jax.device_get(scores_of_fixed(RATES, task))
        trace = follow(smile(), task)
        naive = Bayes(Gaussian(NOISE), Gaussian(NOISE).prior(START, NOISE))
        estimates = {NAIVE: naive, NASSAR: Nassar2010(NOISE, HAZARD, LOW, HIGH)}
        scores = {name: scores_of(follow(learner, task).estimate, task) for name, learner in estimates.items()}
        scores[SMILE] = scores_of(trace.estimate, task)
        best = {error: fixed[error].mean(axis=1).argmin() for error in ERRORS}
        scores[BEST] = {error: fixed[error][best[error]] for error in ERRORS}
        scores[LAST] = {error: fixed[error][-1] for error in ERRORS}
        where = {"kind": kind, "drift": drift}
        for learner, of in scores.items():
            gamma = trace.learning_rate.mean(axis=1) if learner == SMILE else np.nan
            columns = {error: of[error] for error in ERRORS} | {"gamma": gamma}
            errors.append(DataFrame({**where, "learner": learner, **columns}).rename_axis("episode").reset_index())
        curves.append(DataFrame({**where, "rate": RATES} | {error: fixed[error].mean(axis=1) for error in ERRORS}))
    return {"errors": concat(errors, ignore_index=True), "fixed": concat(curves, ignore_index=True)}


def claims(tables: Tables) -> list[Claim]:
    """Whether gradual changes are followed, and how well."""
    errors, fixed = tables["errors"], tables["fixed"]
    return [_suitable(errors), _gamma_adjusts(errors, fixed), _near_the_best(errors)]


def _by_episode(errors: DataFrame, kind: str, error: str) -> Any:
    return wide(errors[errors.kind == kind], "episode", ["learner", "drift"], error)


def _suitable(errors: DataFrame) -> Claim:
    parts, found = [], []
    for kind, error in product((WALK, STEADY), ERRORS):
        table = _by_episode(errors, kind, error)
        for other in (NAIVE, LAST):
            saved = {drift: interval(table[other][drift] - table[SMILE][drift]) for drift in DRIFTS}
            parts += [each.low > 0 for each in saved.values()]
            missed = [
                f"{drift:g}{' (worse)' if each.high < 0 else ''}" for drift, each in saved.items() if each.low <= 0
            ]
            found.append(
                f"{kind}, {error}, than {other}: {'except at ' + ', '.join(missed) if missed else 'everywhere'}"
            )
    return Claim(
        "drift.suitable",
        "abstract and section 3",
        "SMiLe is suitable for learning in environments that undergo gradual changes.",
        "suitable; not simulated",
        f"error of SMiLe smaller, at drifts of {listed(DRIFTS)} noises per step; {'; '.join(found)}",
        verdict(parts),
        "Suitable means here: at every drift, better than a learner that does not expect change (naive Bayes), and "
        f"better than one that keeps nothing but the last sample. 95 % intervals of paired differences lie above zero "
        f"in {sum(parts)} of {len(parts)} cases.",
    )


def _gamma_adjusts(errors: DataFrame, fixed: DataFrame) -> Claim:
    parts, found = [], []
    for kind in (WALK, STEADY):
        gamma = _by_episode(errors, kind, "gamma")[SMILE]
        parts += [interval(gamma[b] - gamma[a]).low > 0 for a, b in pairwise(DRIFTS)]
        found.append(f"{kind} {listed(gamma.mean(), '.3f')} (best fixed rate {listed(best_rates(fixed, kind), '.3f')})")
    return Claim(
        "drift.gamma",
        "abstract",
        "SMiLe adjusts the balance between new and old information to the environment: gamma is larger where the mean "
        "drifts faster.",
        "dynamically adjusts it, without knowledge about the temporal statistics",
        f"mean gamma at drifts of {listed(DRIFTS)} noises per step: {'; '.join(found)}",
        verdict(parts),
        "95 % intervals of paired differences from one drift to the next lie above zero in "
        f"{sum(parts)} of {len(parts)} cases. But gamma changes far less than the best rate, and stays far above it "
        "where the drift is slow.",
    )


def best_rates(fixed: DataFrame, kind: str, error: str = "squared") -> Any:
    """The rate with the smallest mean error at each drift."""
    some = fixed[fixed.kind == kind]
    return some.rate[some.groupby("drift")[error].idxmin()]


def _near_the_best(errors: DataFrame) -> Claim:
    parts, found = [], []
    for kind, error in product((WALK, STEADY), ERRORS):
        table = _by_episode(errors, kind, error)
        parts += [interval(table[SMILE][drift] - NEAR * table[BEST][drift]).high < 0 for drift in DRIFTS]
        mean = table.mean()
        found.append(f"{kind}, {error} {listed(mean[SMILE] / mean[BEST], '.2f')}")
    return Claim(
        "drift.best-rate",
        "abstract",
        "Where the mean drifts, SMiLe is nearly as good as the best fixed rate, which for a random walk is nearly the "
        "optimum.",
        "-",
        f"error of SMiLe over that of the best fixed rate at drifts of {listed(DRIFTS)} noises per step: "
        f"{'; '.join(found)}",
        verdict(parts),
        f"Nearly means at most {NEAR:g} times its error, by the 95 % interval of the paired difference (our "
        "criterion). The optimum for a random walk is a Kalman filter, whose rate is fixed after the first samples.",
        ours=True,
    )


def draw(tables: Tables) -> Drawing:
    """Errors above, rates below; random walk left, steady drift right."""
    figure, axes = plt.subplots(2, 2, figsize=(7, 5), sharex=True, sharey="row", layout="constrained")
    for (row, column), letter in zip(np.ndindex(2, 2), "ABCD", strict=True):
        axis, kind = axes[row, column], (WALK, STEADY)[column]
        (_draw_rates if row else _draw_errors)(axis, tables, kind)
        axis.set_title(letter, loc="left", fontweight="bold")
        axis.set(xscale="log", yscale="log")
    for axis, kind in zip(axes[0], (WALK, STEADY), strict=True):
        axis.set_title(kind)
    for axis in axes[1]:
        axis.set_xlabel("drift per step (noises)")
    axes[0, 0].set_ylabel("mean squared error (units²)")
    axes[1, 0].set_ylabel("rate")
    axes[0, 1].legend(loc="lower right", ncols=2, fontsize=8)
    axes[1, 0].legend(fontsize=8)
    return figure


def _draw_errors(axis: Any, tables: Tables, kind: str) -> None:
    table = _by_episode(tables["errors"], kind, "squared")
    for learner, (colour, look) in LOOKS.items():
        _draw_intervals(axis, table[learner], colour, look, learner)
    axis.set_ylim(0.05, 300)


def _draw_rates(axis: Any, tables: Tables, kind: str) -> None:
    axis.plot(DRIFTS, best_rates(tables["fixed"], kind), "s-", ms=4, color=ORANGE, label=BEST)
    _draw_intervals(axis, _by_episode(tables["errors"], kind, "gamma")[SMILE], BLUE, "o-", r"SMiLe, mean $\gamma$")


def _draw_intervals(axis: Any, table: Any, colour: str, look: str, label: str) -> None:
    mean, low, high = np.array([interval(table[drift]) for drift in DRIFTS]).T
    axis.errorbar(DRIFTS, mean, (mean - low, high - mean), fmt=look, ms=4, color=colour, elinewidth=0.8, label=label)


DRIFT = Figure("drift", "Following a mean that drifts", CAPTION, simulated({"errors": _errors}), draw, claims)
