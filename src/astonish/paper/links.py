"""How much does the link between surprise and bound matter (section 2.2)? Other links than the paper's are tried."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax import Array
from jax.tree_util import Partial
from pandas import DataFrame, concat

from astonish.beliefs import Dirichlet, Gaussian
from astonish.core.numbers import FloatArray, as_double
from astonish.core.programs import compiled
from astonish.learners import PerContext
from astonish.learners.base import FamilyLearner, StepInfo, scan
from astonish.online.series import OPTIONS
from astonish.paper import figure3
from astonish.paper.agents import ROOMS, current
from astonish.paper.claims import Claim, Interval, interval, listed, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated, wide
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE
from astonish.theory.expfam import Belief, Family, blend, divergence, scaled_likelihood
from astonish.theory.solver import powers_at
from astonish.worlds.maze import A, B, distance, maze, most_probable, others, walk

LINKS = ("paper", "exponential", "linear", "logarithm", "step")
PAPER, EXPONENTIAL, LINEAR, LOGARITHM, STEP = LINKS
SMOOTH = (EXPONENTIAL, LINEAR, LOGARITHM)
M, SLOW = 0.1, 1e-4  # the paper's, and one that makes its link increase extremely slowly
READINESS = (SLOW, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, M, 0.2, 0.5, 1.0)  # of smooth links, which begin as m S
THRESHOLDS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 2.0, 4.0, 8.0)  # of the step, in nats
MEASURES = {"squared": "jumps, squared error", "absolute": "jumps, absolute error", "maze": "maze"}
LITTLE, STUCK = 1.1, 0.05  # errors that differ by no more than this factor, a mean gamma that is no larger
LOOKS = {PAPER: (BLUE, "o-"), EXPONENTIAL: (ORANGE, "s-"), LINEAR: (GREEN, "^-"), LOGARITHM: (PURPLE, "v-")}
CAPTION = (
    "Links between surprise S and the bound: m S / (1 + m S) (paper), 1 - exp(-m S) (exponential), m S up to 1 "
    "(linear), L / (1 + L) with L = ln(1 + m S) (logarithm), each in units of the largest bound. Mean error against m; "
    f"dotted: the paper's m; the leftmost m, {SLOW:g}, makes an extremely slow increase. Black: a step from none to "
    "all of the largest bound, at its best threshold. A and B: squared and absolute error in the Gaussian task with a "
    f"hazard of {figure3.HAZARD:g} (50 episodes of 1000 steps). C: error in the current environment of the maze, in "
    "the last three quarters of 3000 steps (8 walks)."
)


class Linked(FamilyLearner):
    """SMiLe with another link: `share` takes surprise to a part of the largest bound, from 0 to 1."""

    family: Family
    share: Callable[[Array], Array]
    prior: Belief | None = None

    def step(self, state: Belief, x: Any) -> tuple[Belief, StepInfo]:
        naive = scaled_likelihood(self.family, x)
        surprise = divergence(self.family, state, naive)  # S_cc (eq. 2)
        gamma, rest = powers_at(self.family, state, naive, self.share(surprise))
        return blend(self.family, state, rest, naive, gamma), StepInfo(surprise, gamma)


def share(link: Any, value: Any, surprise: Array) -> Array:
    """The part of the largest bound that a link (by its place in `LINKS`) grants; value: m, or the step's threshold."""
    product = value * surprise
    slower = jnp.log1p(product)
    steps = jnp.where(surprise > value, 1.0, 0.0)
    shares = (product / (1 + product), -jnp.expm1(-product), jnp.minimum(product, 1.0), slower / (1 + slower), steps)
    return jnp.stack(shares)[link]


def linked(link: str, value: float) -> Partial:
    """The same as a function of surprise alone."""
    return Partial(share, np.int32(LINKS.index(link)), np.float64(value))


def _settings() -> list[tuple[str, float]]:
    return [(link, value) for link in LINKS for value in (THRESHOLDS if link == STEP else READINESS)]


def _jumps(run: RunSettings) -> Tables:
    """The Gaussian task, as in Figure 3."""
    task, family = figure3.episodes(run, figure3.HAZARD), Gaussian(figure3.NOISE)
    errors, gammas = [], []
    for link, value in _settings():
        learner = Linked(family, linked(link, value), family.prior(figure3.START, figure3.NOISE))
        trace = figure3.follow(learner, task)
        scores = figure3.scores_of(trace.estimate, task)
        errors += [_rows(link, value, name, scores[name]) for name in figure3.ERRORS]
        gammas.append(_gammas(link, value, "jumps", np.asarray(trace.learning_rate)))
    return {"jumps": concat(errors, ignore_index=True), "gamma_jumps": DataFrame(gammas)}


def _maze(run: RunSettings) -> Tables:
    """Walks as in the other figures, but short ones, and the error in the current environment."""
    number, steps = (2, 600) if run.quick else (8, 3000)
    world = maze(A, B)
    walks = walk(world, steps, [[run.seed, 78, k] for k in range(number)])
    truth = others(np.stack([world.transitions] * number))
    errors, gammas = [], []
    for link, value in _settings():
        learner = PerContext(Linked(Dirichlet(ROOMS - 1), linked(link, value)), ROOMS)
        found, gamma = jax.device_get(_walked(as_double(learner), walks.choices, truth))
        late = current(walks.environment, found)[:, steps // 4 :].mean(axis=1)
        errors.append(_rows(link, value, "maze", late))
        gammas.append(_gammas(link, value, "maze", gamma))
    return {"maze": concat(errors, ignore_index=True), "gamma_maze": DataFrame(gammas)}


@partial(compiled, compiler_options=OPTIONS)
@partial(jax.vmap, in_axes=(None, 0, 0))
def _walked(learner: PerContext, choices: Any, truth: Array) -> tuple[Array, Array]:
    """The error in each environment after each step of a walk, and gamma."""
    trace = scan(learner, choices, read=lambda state: distance(most_probable(learner, state), truth))
    return trace.estimate, trace.learning_rate


def _rows(link: str, value: float, measure: str, errors: FloatArray) -> DataFrame:
    table = DataFrame({"link": link, "value": value, "measure": measure, "error": errors})
    return table.rename_axis("episode").reset_index()


def _gammas(link: str, value: float, task: str, gamma: FloatArray) -> dict[str, Any]:
    """partial: the share of steps in which gamma is neither 0 nor 1."""
    inside = (gamma > 1e-9) & (gamma < 1 - 1e-9)
    return {"link": link, "value": value, "task": task, "gamma": gamma.mean(), "partial": inside.mean()}


def claims(tables: Tables) -> list[Claim]:
    """What section 2.2 says of links."""
    errors = concat([tables["jumps"], tables["maze"]], ignore_index=True)
    gammas = concat([tables["gamma_jumps"], tables["gamma_maze"]], ignore_index=True)
    return [_not_crucial(errors), _limits(gammas), _sharpness(errors)]


def means(errors: DataFrame, measure: str) -> Any:
    """The mean error of each link (first index) at each value (second)."""
    return errors[errors.measure == measure].groupby(["link", "value"]).error.mean()


def _not_crucial(errors: DataFrame) -> Claim:
    ratios: dict[str, list[float]] = {}
    for measure in MEASURES:
        mean = means(errors, measure)
        for link in SMOOTH:
            as_in_paper, best = mean[link, M] / mean[PAPER, M], mean[link].min() / mean[PAPER].min()
            ratios.setdefault(link, []).extend([as_in_paper, best])
    found = (
        f"{link} {listed(of[::2], '.3f')} (at the best m {listed(of[1::2], '.3f')})" for link, of in ratios.items()
    )
    parts = [1 / LITTLE <= ratio <= LITTLE for of in ratios.values() for ratio in of]
    return Claim(
        "modulation.not-crucial",
        "section 2.2",
        "The exact link between surprise and bound is not crucial, as long as the bound grows with surprise in a "
        "reasonable way.",
        "not crucial",
        f"error over that of the paper's link ({', '.join(MEASURES.values())}), both at m = {M:g}: {'; '.join(found)}",
        verdict(parts),
        "Three other links that begin as m S, and end at the largest bound: 1 - exp(-m S), m S up to 1, and "
        "L / (1 + L) with L = ln(1 + m S). Not crucial means that no error differs by more than a factor of "
        f"{LITTLE:g} (our criterion), at the paper's m and at each link's own best. In the maze that says little, for "
        "surprise hardly varies there.",
    )


def _limits(gammas: DataFrame) -> Claim:
    steps = gammas[gammas.link == STEP]
    slow = gammas[(gammas.link == PAPER) & (gammas.value == SLOW)].set_index("task").gamma
    usual = gammas[(gammas.link == PAPER) & (gammas.value == M)].set_index("task").gamma
    return Claim(
        "modulation.limits",
        "section 2.2",
        "A step function would make a binary choice between the old belief and the newest sample, and an extremely "
        "slow increase would amount to sticking to the old belief.",
        "binary choice; the same old belief",
        f"step: gamma is neither 0 nor 1 in at most {steps['partial'].max():.0%} of the steps, at {len(THRESHOLDS)} "
        f"thresholds; m = {SLOW:g}: mean gamma {slow.jumps:.3f} in the jumps, {slow.maze:.3f} in the maze (at m = "
        f"{M:g} {usual.jumps:.3f} and {usual.maze:.3f})",
        verdict([(steps["partial"] == 0).all(), (slow <= STUCK).all()]),
        f"Sticking to the old belief means a mean gamma of at most {STUCK:g} (our criterion).",
    )


def _sharpness(errors: DataFrame) -> Claim:
    cases: dict[str, Interval] = {}
    ratios = []
    for measure, name in MEASURES.items():
        mean, by = (
            means(errors, measure),
            wide(errors[errors.measure == measure], "episode", ["link", "value"], "error"),
        )
        for label, key in {"step": (STEP, mean[STEP].idxmin()), f"m = {SLOW:g}": (PAPER, SLOW)}.items():
            cases[f"{label}, {name}"] = interval(by[key] - by[PAPER, M])
            ratios.append(f"{label}, {name} {mean[key] / mean[PAPER, M]:.2f}")
    missed = [f"{n} ({'reversed' if i.high < 0 else 'undecided'})" for n, i in cases.items() if not i.low > 0]
    return Claim(
        "modulation.sharpness",
        "section 2.2",
        "The sharpness of the transition from small to large bounds matters: a step function and an extremely slow "
        "increase are worse than the paper's link.",
        "matters",
        f"error over that of the paper's link at m = {M:g}: {'; '.join(ratios)}",
        verdict(i.low > 0 for i in cases.values()),
        f"The step is at its best threshold. 95 % intervals of paired differences lie above zero in "
        f"{len(cases) - len(missed)} of {len(cases)} cases{'; not for ' + ', '.join(missed) if missed else ''}. In the "
        "maze the paper's m is above the best one, which is why learning very slowly can be better than it there.",
    )


def draw(tables: Tables) -> Drawing:
    """A panel per error."""
    figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.9), layout="constrained")
    errors = concat([tables["jumps"], tables["maze"]], ignore_index=True)
    units = ("units²", "units", "mean square")
    for axis, letter, (measure, name), unit in zip(axes, "ABC", MEASURES.items(), units, strict=True):
        mean = means(errors, measure)
        for link, (colour, look) in LOOKS.items():
            axis.plot(mean[link].index, mean[link], look, ms=3, lw=1, color=colour, label=link)
        axis.axhline(mean[STEP].min(), color=BLACK, ls="--", lw=1, label=STEP)
        axis.axvline(M, color="0.5", ls=":", lw=1)
        axis.set(xscale="log", yscale="log", xlabel="m", ylabel=f"error ({unit})")
        axis.set_title(letter, loc="left", fontweight="bold")
        axis.set_title(name, fontsize=8)
    axes[0].legend(fontsize=7)
    return figure


STUDY = simulated({"jumps": _jumps, "maze": _maze})
LINK_CHOICE = Figure("links", "Other links between surprise and bound", CAPTION, STUDY, draw, claims)
