"""Other formulas and other choices than the paper's, and what they do to its claims: three figures.

"readings": could the paper's two statements about speed hold if its formulas are read in another way? Section 2.4 says
that SMiLe brings the error in A below 0.002 within 1000 steps, and that online EM takes ten times longer. Neither is so
at the stated m if the formulas are taken as written. Here are the readings that a careful author might have meant: of
the norm in the caption of Fig. 5C, of the way from surprise to gamma, of the logarithm, of the estimate, and of the
start. "links": how much does the function that takes surprise to the bound matter (section 2.2)? "choices": each choice
that the paper leaves open is replaced by others, the figure that it concerns is computed again, and its verdicts are
compared with those that our choice leads to, at the same size and seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from textwrap import shorten
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial
from pandas import DataFrame, concat

from astonish.beliefs import Dirichlet, Gaussian
from astonish.core.numbers import BoolArray, FloatArray, Number, as_double, pytree_dataclass
from astonish.learners import Modulated, Nassar2010, PerContext, Smile
from astonish.learners.base import FamilyLearner, StepInfo, scan
from astonish.learners.nassar import RunLength
from astonish.paper import figure3, figure5, figure6, figure7, figure8, maze_learners as agents
from astonish.paper.figure import (
    FAILS,
    HOLDS,
    IN_PART,
    Claim,
    Drawing,
    Figure,
    Interval,
    RunSettings,
    Tables,
    by_episode,
    interval,
    listed,
    missed,
    panels,
    verdict,
    wide,
)
from astonish.paper.maze_learners import ACCURATE, FIRST_PROBABILITIES, OURS, ROOMS, SOON, TIMES, M, MazeWalks
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from astonish.sweep.run import run_study
from astonish.theory.expfam import Belief, Family, blend, divergence, scaled_likelihood
from astonish.theory.rule import granted
from astonish.theory.solver import powers_at
from astonish.worlds.maze import A, B, distance, maze, most_probable, others, rearranged, spread

# Readings of the formulas

LONG, LONG_EM = 2000, 6000  # steps that are looked at
READINGS = {"gamma": ("bound", "direct"), "logarithm": ("natural", "base 2"), "estimate": ("mode", "mean")}
AS_WRITTEN = {name: values[0] for name, values in READINGS.items()}
SQUARES, SPECTRAL = "sum of squares / 256", "(spectral norm)² / 256"
NORMS = (SQUARES, SPECTRAL, "spectral norm / 256", "Frobenius norm / 256")
READINGS_CAPTION = (
    "Readings of the paper's formulas, and its two statements about speed. Each dot is a walk: the first step at which "
    "the error in A is below 0.002 while the walk is in A, for SMiLe (m = 0.1, left; within 2000 steps) and for online "
    "EM (right; within 6000 steps), with the norm read in four ways. Bars: medians over walks. Numbers: the share of "
    "walks in which it happens. Dotted: 1000 steps. gamma, logarithm and estimate are as the paper writes them; the "
    "table of this figure in the folder numbers has all combinations."
)


def smile_as_read(gamma: str, logarithm: str) -> PerContext:
    """Make SMiLe for the maze. Surprise in bits is surprise in nats over ln 2, so it is m that is divided.

    gamma: whether surprise goes straight to it, by the paper's function for the bound (Note 2 of Algorithm 1).
    """
    m, family = M / np.log(2) if logarithm == "base 2" else M, Dirichlet(ROOMS - 1)
    return PerContext(Smile(family, m) if gamma == "bound" else Modulated(family, Partial(granted, m=m)), ROOMS)


@agents.per_walk(None, 0)
def _modes_and_means(learner: PerContext, choices: Any) -> Any:
    beliefs = scan(learner, choices, read=learner.belief).estimate
    return {"mode": beliefs.mode, "mean": beliefs.mean}


def _readings(run: RunSettings) -> DataFrame:
    """One row per learner, reading and walk: the first step at which the error in A is small, if it ever is."""
    where = agents.walks_of(run)
    here, there = (part[:, :LONG] for part in where.walk.choices)
    in_a = where.walk.environment == 0
    tables = []
    for gamma, logarithm in product(READINGS["gamma"], READINGS["logarithm"]):
        believed = jax.device_get(_modes_and_means(smile_as_read(gamma, logarithm), (here, there)))
        for estimate, probabilities in believed.items():
            table = first_steps(spread(probabilities) - where.truth[:, None, 0], in_a[:, :LONG])
            tables.append(table.assign(learner="SMiLe", gamma=gamma, logarithm=logarithm, estimate=estimate))
    for k, truth in enumerate(where.truth):  # online EM has an estimate, and neither belief nor gamma
        off = agents.matrices_of_em(where, k, run.seed + k)[:LONG_EM] - truth[0]
        tables.append(first_steps(off[None], in_a[k : k + 1, :LONG_EM]).assign(episode=k, learner="online EM"))
    return concat(tables)


def norms(off: FloatArray) -> dict[str, FloatArray]:
    """Compute the norms of matrices of differences, by name."""
    products = off @ np.swapaxes(off, -2, -1)
    squares, largest = np.trace(products, axis1=-2, axis2=-1), np.linalg.eigvalsh(products)[..., -1]
    values = squares, largest, np.sqrt(largest), np.sqrt(squares)
    return {name: norm / ROOMS**2 for name, norm in zip(NORMS, values, strict=True)}


def first_steps(off: FloatArray, in_a: BoolArray) -> DataFrame:
    """Find the first step in A at which each norm of the differences from the probabilities in A is small, per walk."""
    start = np.where(in_a[:, 0], "A", "B")
    tables = []
    for name, norm in norms(off[in_a]).items():  # elsewhere it does not matter
        good = np.zeros_like(in_a)
        good[in_a] = norm < ACCURATE
        first = agents.first_step(good)
        tables.append(DataFrame({"norm": name, "episode": range(len(first)), "start": start, "first": first}))
    return concat(tables)


class Speed(NamedTuple):
    """What a reading makes of both statements: the share of walks that are soon accurate, and how much slower EM is."""

    soon: float
    ratio: Interval

    @property
    def both(self) -> tuple[bool, bool]:
        """Whether most walks are accurate soon enough, and whether online EM takes five to twenty times as long."""
        return self.soon > 0.5, agents.about_ten(self.ratio)

    def __str__(self) -> str:
        long = f", online EM {self.ratio} times as long" if self.soon > 0.5 else ""
        return f"{self.soon:.0%} of the walks within {SOON} steps{long}"


def speeds(table: DataFrame) -> dict[tuple[str, ...], Speed]:
    """Tell the speed by norm, gamma, logarithm, estimate and start."""
    by_reading: dict[tuple[str, ...], Speed] = {}
    for start, walks in (("either", table), ("A", table[table.start == "A"])):
        em: dict[Any, Any] = {
            n: part.set_index("episode")["first"] for n, part in walks[walks.learner == "online EM"].groupby("norm")
        }
        for key, part in walks[walks.learner == "SMiLe"].groupby(["norm", *READINGS], sort=False):
            first = part.set_index("episode")["first"]
            soon = float((first <= SOON).mean())
            ratio = agents.times_as_long(em[key[0]], first) if soon > 0.5 else Interval(np.nan, np.nan, np.nan)
            by_reading[*map(str, key), start] = Speed(soon, ratio)
    return by_reading


def readings_claims(tables: Tables) -> list[Claim]:
    """Judge which readings rescue both statements."""
    by_reading = speeds(tables["readings"])
    written = tuple(AS_WRITTEN.values())
    rescued = [key for key, speed in by_reading.items() if all(speed.both)]
    nearest = (SQUARES, "direct", "natural", "mode", "either")
    single = {
        "gamma straight from surprise": nearest,
        "base-2 logarithms": (SQUARES, "bound", "base 2", "mode", "either"),
        "the mean as the estimate": (SQUARES, "bound", "natural", "mean", "either"),
        "walks that start in A": (SQUARES, *written, "A"),
    }
    far = [by_reading[key].soon < 0.1 for key in single.values() if key != nearest]
    return [
        Claim(
            "variants.spectral-norm",
            "caption of Fig. 5C; section 2.4, maze",
            "A conjecture: the paper's errors are squares of the spectral norm over 256, not sums of squares; then "
            "both of its statements about speed hold at m = 0.1.",
            f"below {ACCURATE} within {SOON} steps, and {TIMES} times as long",
            "; ".join(f"{norm}: {by_reading[norm, *written, 'either']}" for norm in NORMS),
            verdict(by_reading[SPECTRAL, *written, "either"].both),
            "The caption writes a norm with index 2, which numerical environments take to be the largest singular "
            "value of a matrix, and equates it with a sum of squares over 256. Counted as ten times: five to twenty.",
            ours=True,
        ),
        Claim(
            "variants.sum-of-squares",
            "section 2.4, maze",
            "With the sum of squares that the caption writes out, only one other reading alone comes near both "
            "statements: gamma straight from surprise (Note 2 of Algorithm 1).",
            "-",
            "; ".join(f"{name}: {by_reading[key]}" for name, key in single.items()),
            verdict([by_reading[nearest].soon > 0.1, all(far)]),
            f"Of {len(by_reading)} combinations of norm, gamma, logarithm, estimate and start, {len(rescued)} make "
            f"both hold, {sum(key[0] == SQUARES for key in rescued)} of them with the sum of squares. Counted as near "
            "if it does in a tenth of the walks.",
            ours=True,
        ),
    ]


def draw_readings(tables: Tables) -> Drawing:
    """Draw SMiLe on the left, online EM on the right, a column for each norm."""
    table = tables["readings"]
    as_written = (table[list(AS_WRITTEN)] == list(AS_WRITTEN.values())).all(axis=1)
    parts = {"SMiLe": (table[as_written], VERMILLION), "online EM": (table[table.learner == "online EM"], BLUE)}
    figure, axes = panels(1, 2, (7.2, 3.2), "AB", sharey=True)
    for axis, (name, (part, colour)) in zip(axes, parts.items(), strict=True):
        for k, norm in enumerate(NORMS):
            middle = agents.draw_first_steps(axis, k, part[part.norm == norm]["first"], 0.2, 8, 7)
            if np.isfinite(middle):
                axis.plot([k - 0.3, k + 0.3], [middle] * 2, color=colour, lw=2)
        axis.axhline(SOON, color="0.5", ls=":", lw=1)
        axis.set_xticks(range(len(NORMS)), [norm.replace(" / ", "\n/ ") for norm in NORMS], fontsize=6)
        axis.set(title=name, yscale="log", xlabel="norm", xlim=(-0.6, len(NORMS) - 0.4))
    axes[0].set_ylabel("first step with an\nerror in A below 0.002")
    return figure


FIGURE_READINGS = Figure(
    "readings",
    "Readings of the paper's formulas",
    READINGS_CAPTION,
    {"readings": _readings},
    draw_readings,
    readings_claims,
)

# Links between surprise and bound

LINKS = ("paper", "exponential", "linear", "logarithm", "step")
PAPER, EXPONENTIAL, LINEAR, LOGARITHM, STEP = LINKS
SMOOTH = (EXPONENTIAL, LINEAR, LOGARITHM)
SLOW = 1e-4  # a readiness that makes the paper's link increase extremely slowly
READINESS = (SLOW, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, M, 0.2, 0.5, 1.0)  # of smooth links, which begin as m S
THRESHOLDS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 2.0, 4.0, 8.0)  # of the step, in nats
LINKS_AND_VALUES = [(link, value) for link in LINKS for value in (THRESHOLDS if link == STEP else READINESS)]
MEASURES = {"squared": "jumps, squared error", "absolute": "jumps, absolute error", "maze": "maze"}
LITTLE, STUCK = 1.1, 0.05  # errors that differ by no more than this factor, a mean gamma that is no larger
LOOKS = {PAPER: (BLUE, "o-"), EXPONENTIAL: (ORANGE, "s-"), LINEAR: (GREEN, "^-"), LOGARITHM: (PURPLE, "v-")}
LINKS_CAPTION = (
    "Links between surprise S and the bound: m S / (1 + m S) (paper), 1 - exp(-m S) (exponential), m S up to 1 "
    "(linear), L / (1 + L) with L = ln(1 + m S) (logarithm), each in units of the largest bound. Mean error against m; "
    f"dotted: the paper's m; the leftmost m, {SLOW:g}, makes an extremely slow increase. Black: a step from none to "
    "all of the largest bound, at its best threshold. A and B: squared and absolute error in the Gaussian task with a "
    f"hazard of {figure3.HAZARD:g} (50 episodes of 1000 steps). C: error in the current environment of the maze, in "
    "the last three quarters of 3000 steps (8 walks)."
)


@pytree_dataclass
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
    """Compute what part of the largest bound a link (by its place in `LINKS`) grants; value: m, or the threshold."""
    product = value * surprise
    slower = jnp.log1p(product)
    steps = jnp.where(surprise > value, 1.0, 0.0)
    shares = (product / (1 + product), -jnp.expm1(-product), jnp.minimum(product, 1.0), slower / (1 + slower), steps)
    return jnp.stack(shares)[link]


def linked(link: str, value: float) -> Partial:
    """Make the same a function of surprise alone."""
    return Partial(share, np.int32(LINKS.index(link)), np.float64(value))


def _link_jumps(run: RunSettings) -> Tables:
    """The Gaussian task, as in Figure 3."""
    task, family = figure3.episodes(run, figure3.HAZARD), Gaussian(figure3.NOISE)

    def scored(share: Partial) -> tuple[FloatArray, dict[str, Any]]:
        trace = figure3.follow(Linked(family, share, family.prior(figure3.START, figure3.NOISE)), task)
        scores = figure3.scores_of(trace.estimate, task)
        return trace.learning_rate, {name: scores[name] for name in figure3.ERRORS}

    return _over_links("jumps", scored)


def _link_maze(run: RunSettings) -> Tables:
    """Walks as in the other figures, but short ones, and the error in the current environment."""
    number, steps = (2, 600) if run.quick else (8, 3000)
    walks, truth = agents.walks_in(maze(A, B), steps, [[run.seed, 78, k] for k in range(number)])

    def scored(share: Partial) -> tuple[FloatArray, dict[str, Any]]:
        learner = PerContext(Linked(Dirichlet(ROOMS - 1), share), ROOMS)
        error, gamma = jax.device_get(_errors_and_gammas(as_double(learner), walks.choices, others(truth)))
        return gamma, {"maze": agents.current(walks.environment, error)[:, steps // 4 :].mean(axis=1)}

    return _over_links("maze", scored)


@agents.per_walk(None, 0, 0)
def _errors_and_gammas(learner: PerContext, choices: Any, truth: Array) -> tuple[Array, Array]:
    """The error in each environment after each step of a walk, and gamma."""
    trace = scan(learner, choices, read=lambda state: distance(most_probable(learner, state), truth))
    return trace.estimate, trace.learning_rate


def _over_links(task: str, scored: Callable[[Partial], tuple[FloatArray, dict[str, Any]]]) -> Tables:
    """The errors of each link in each episode, and gamma. partial: the share of steps in which it is neither 0 nor 1.

    scored: gives gamma of all steps, and errors of all episodes by measure.
    """
    errors, gammas = [], []
    for link, value in LINKS_AND_VALUES:
        gamma, scores = scored(linked(link, value))
        errors += [by_episode(link=link, value=value, measure=name, error=error) for name, error in scores.items()]
        inside = ((gamma > 1e-9) & (gamma < 1 - 1e-9)).mean()
        gammas.append({"link": link, "value": value, "task": task, "gamma": gamma.mean(), "partial": inside})
    return {task: concat(errors, ignore_index=True), f"gamma_{task}": DataFrame(gammas)}


def links_claims(tables: Tables) -> list[Claim]:
    """Judge what section 2.2 says of links."""
    errors = concat([tables["jumps"], tables["maze"]], ignore_index=True)
    gammas = concat([tables["gamma_jumps"], tables["gamma_maze"]], ignore_index=True)
    ratios: dict[str, list[float]] = {link: [] for link in SMOOTH}  # at the paper's m, and at the best, by measure
    worse: dict[str, Interval] = {}
    relative = []
    for measure, name in MEASURES.items():
        mean: Any = errors[errors.measure == measure].groupby(["link", "value"]).error.mean()
        for link in SMOOTH:
            ratios[link] += [mean[link, M] / mean[PAPER, M], mean[link].min() / mean[PAPER].min()]
        by_walk = wide(errors[errors.measure == measure], "episode", ["link", "value"], "error")
        for label, key in {"step": (STEP, mean[STEP].idxmin()), f"m = {SLOW:g}": (PAPER, SLOW)}.items():
            worse[f"{label}, {name}"] = interval(by_walk[key] - by_walk[PAPER, M])
            relative.append(f"{label}, {name} {mean[key] / mean[PAPER, M]:.2f}")
    by_link = (
        f"{link} {listed(of[::2], '.3f')} (at the best m {listed(of[1::2], '.3f')})" for link, of in ratios.items()
    )
    steps, exceptions = gammas[gammas.link == STEP], missed(worse)
    slow, usual = (gammas[(gammas.link == PAPER) & (gammas.value == m)].set_index("task").gamma for m in (SLOW, M))
    return [
        Claim(
            "modulation.not-crucial",
            "section 2.2",
            "The exact link between surprise and bound is not crucial, as long as the bound grows with surprise in a "
            "reasonable way.",
            "not crucial",
            f"error over that of the paper's link ({', '.join(MEASURES.values())}), both at m = {M:g}: "
            f"{'; '.join(by_link)}",
            verdict(1 / LITTLE <= ratio <= LITTLE for of in ratios.values() for ratio in of),
            "Three other links that begin as m S, and end at the largest bound: 1 - exp(-m S), m S up to 1, and "
            "L / (1 + L) with L = ln(1 + m S). Not crucial means that no error differs by more than a factor of "
            f"{LITTLE:g} (our criterion), at the paper's m and at each link's own best. In the maze that says little, "
            "for surprise hardly varies there.",
        ),
        Claim(
            "modulation.limits",
            "section 2.2",
            "A step function would make a binary choice between the old belief and the newest sample, and an extremely "
            "slow increase would amount to sticking to the old belief.",
            "binary choice; the same old belief",
            f"step: gamma is neither 0 nor 1 in at most {steps['partial'].max():.0%} of the steps, at "
            f"{len(THRESHOLDS)} thresholds; m = {SLOW:g}: mean gamma {slow.jumps:.3f} in the jumps, {slow.maze:.3f} in "
            f"the maze (at m = {M:g} {usual.jumps:.3f} and {usual.maze:.3f})",
            verdict([(steps["partial"] == 0).all(), (slow <= STUCK).all()]),
            f"Sticking to the old belief means a mean gamma of at most {STUCK:g} (our criterion).",
        ),
        Claim(
            "modulation.sharpness",
            "section 2.2",
            "The sharpness of the transition from small to large bounds matters: a step function and an extremely slow "
            "increase are worse than the paper's link.",
            "matters",
            f"error over that of the paper's link at m = {M:g}: {'; '.join(relative)}",
            verdict(i.low > 0 for i in worse.values()),
            f"The step is at its best threshold. 95 % intervals of paired differences lie above zero in "
            f"{len(worse) - len(exceptions)} of {len(worse)} cases"
            f"{'; not for ' + ', '.join(exceptions) if exceptions else ''}. In the maze the paper's m is above the "
            "best one, which is why learning very slowly can be better than it there.",
        ),
    ]


def draw_links(tables: Tables) -> Drawing:
    """Draw a panel per error."""
    figure, axes = panels(1, 3, (7.2, 2.9), "ABC")
    errors = concat([tables["jumps"], tables["maze"]], ignore_index=True)
    units = ("units²", "units", "mean square")
    for axis, (measure, name), unit in zip(axes, MEASURES.items(), units, strict=True):
        mean: Any = errors[errors.measure == measure].groupby(["link", "value"]).error.mean()
        for link, (colour, look) in LOOKS.items():
            axis.plot(mean[link].index, mean[link], look, ms=3, lw=1, color=colour, label=link)
        axis.axhline(mean[STEP].min(), color=BLACK, ls="--", lw=1, label=STEP)
        axis.axvline(M, color="0.5", ls=":", lw=1)
        axis.set(xscale="log", yscale="log", xlabel="m", ylabel=f"error ({unit})")
        axis.set_title(name, fontsize=8)
    axes[0].legend(fontsize=7)
    return figure


FIGURE_LINKS = Figure(
    "links",
    "Other links between surprise and bound",
    LINKS_CAPTION,
    {"jumps": _link_jumps, "maze": _link_maze},
    draw_links,
    links_claims,
)

# Choices that the paper leaves open

PSIS, WALKS = figure8.PSIS[::2], 6  # of Figure 8, in small
CHOICES_CAPTION = (
    "What the paper leaves open. Each row replaces one of our choices by another and computes a figure again; each "
    "square is one claim of that figure, in the order of the report, coloured by the verdict that the other choice "
    "leads to. Crosses mark the verdicts that differ from those of our own choice."
)


@pytree_dataclass
class NoJumpOutside(Nassar2010):
    """Gives a jump no probability where a sample lies outside the range of the mean."""

    def step(self, state: RunLength, x: Number) -> tuple[RunLength, StepInfo]:
        inside = (self.low <= jnp.asarray(x)) & (jnp.asarray(x) <= self.high)
        hazard = jnp.where(inside, self.hazard, 1e-12)
        return Nassar2010.step(replace(self, hazard=hazard), state, x)


@pytree_dataclass
class FirstSampleCounts(Nassar2010):
    """Starts from a run length of nearly zero, so that the first sample is its first estimate."""

    def init(self) -> RunLength:
        start = super().init()
        return start._replace(length=jnp.full_like(start.length, 1e-3))


class Choice(NamedTuple):
    """One thing that the paper does not state.

    id: of the claim about it, after "unstated.". about: what. ours: what we chose. figure: whose verdicts may depend
    on it. others: what is changed in its simulation (`SIMULATIONS`) by each other choice, by the name of the choice.
    """

    id: str
    about: str
    ours: str
    figure: Figure
    others: Mapping[str, Mapping[str, Any]]


def _small(run: RunSettings) -> MazeWalks:
    return agents.walks_of(run, 20, 20)


def _other_b(run: RunSettings) -> MazeWalks:
    """The same number of walks in a maze with another arrangement B."""
    seeds = [[run.seed, episode] for episode in range(3 if run.quick else 20)]
    return agents.walks_in(rearranged([run.seed, 6]), 5000 if run.quick else 20000, seeds)


def _figure8(run: RunSettings, seldom: bool = False, **changed: Any) -> Tables:
    """Figure 8 in small. seldom: without the cells in which a switch has a probability above the paper's limit."""
    steps, walks = (2500, 1) if run.quick else (20000, WALKS)
    cells = [[tau, psi, episode] for tau in figure8.TAUS for psi in PSIS for episode in range(walks)]
    study = figure8.of_cells({"small": {"seed": run.seed, "steps": steps, "cells": cells} | changed})
    table = study.table(run_study(study).results)
    return figure8.by_stay(table[figure8.seldom(table)] if seldom else table)


SIMULATIONS: dict[str, Callable[..., Tables]] = {  # of each figure, as we chose, and with changes
    "3": figure3.simulate,
    "5": lambda run, where=_small: figure5.simulate(run, where(run)),
    "6": lambda run, later=100: figure6.simulate(run, later, _small(run)),
    "7": lambda run, where=_small, **changed: figure7.simulate(run, OURS._replace(**changed), where(run)),
    "8": _figure8,
}
FIRST = {name: {"first": name} for name in FIRST_PROBABILITIES if name != OURS.first}
RATES = {f"{rate:g}": {"rate": rate} for rate in (0.0005, 0.002)}
CHOICES: Sequence[Choice] = (
    Choice(
        "hazards",
        "The two hazards in Figs. 3C and 3D besides 0.01 and 0.066", "0.033 and 0.1", figure3.FIGURE_3,
        {"0.03 and 0.2": {"hazards": (0.01, 0.03, 0.066, 0.2)}},
    ),
    Choice(
        "nassar-outside",
        "What Nassar 2010 makes of samples outside the range of the mean", "a jump as probable as inside it",
        figure3.FIGURE_3, {"no jump": {"nassar": NoJumpOutside}},
    ),
    Choice(
        "nassar-start",
        "The run length that Nassar 2010 starts from", "1, with the middle of the range as its estimate",
        figure3.FIGURE_3, {"0, so that the first sample is its estimate": {"nassar": FirstSampleCounts}},
    ),
    Choice(
        "error-before",
        "When the error of the Gaussian task is measured", "after the sample has been seen", figure3.FIGURE_3,
        {"before it is seen": {"before": True}},
    ),
    Choice(
        "rooms-figure5",
        "The arrangement of environment B, but for the neighbours of room 6 (Fig. 5)", "an arbitrary one",
        figure5.FIGURE_5, {"a random one": {"where": _other_b}},
    ),
    Choice(
        "rooms-figure7",
        "The arrangement of environment B, but for the neighbours of room 6 (Fig. 7)", "an arbitrary one",
        figure7.FIGURE_7, {"a random one": {"where": _other_b}},
    ),
    Choice(
        "first-step-figure6",
        "Which step is the first after a switch (Fig. 6)", "the one in which the environment is new; read 100 later",
        figure6.FIGURE_6, {"the one before; read one step earlier": {"later": 99}},
    ),
    Choice(
        "first-step-figure8",
        "Which step is the first after a switch (Fig. 8)", "the one in which the environment is new; read 64 later",
        figure8.FIGURE_8, {"the one before; read one step earlier": {"later": 63}},
    ),
    Choice(
        "frequent-switches",
        "Whether Fig. 8 has cells in which a switch has a probability above 0.1, the limit in the caption of Fig. 4",
        "it has, so that the grid is complete", figure8.FIGURE_8, {"it has not": {"seldom": True}},
    ),
    Choice(
        "first-moves-figure7",
        "The probabilities of moves that online EM starts from, T0 (Fig. 7)", OURS.first, figure7.FIGURE_7, FIRST,
    ),
    Choice(
        "first-moves-figure8",
        "The probabilities of moves that online EM starts from, T0 (Fig. 8)", OURS.first, figure8.FIGURE_8,
        {name: {"em": changed} for name, changed in FIRST.items()},
    ),
    Choice(
        "em-rate-figure7",
        "The learning rate of online EM, eta (Fig. 7)", f"{OURS.rate:g}", figure7.FIGURE_7, RATES,
    ),
    Choice(
        "em-rate-figure8",
        "The learning rate of online EM, eta (Fig. 8)", f"{OURS.rate:g}", figure8.FIGURE_8,
        {name: {"em": changed} for name, changed in RATES.items()},
    ),
)  # fmt: skip


COLUMNS = ["choice", "about", "ours", "other", "figure", "where", "says", "verdict", "other_verdict"]


def _choices(run: RunSettings) -> DataFrame:
    """One row per other choice and claim: its verdict with our choice, and with the other one."""
    usual: dict[str, list[Claim]] = {}
    rows = []
    for choice in CHOICES:
        figure = choice.figure
        if figure.name not in usual:
            usual[figure.name] = figure.claims(SIMULATIONS[figure.name](run))
        for name, changed in choice.others.items():
            tables = SIMULATIONS[figure.name](run, **changed)
            about = choice.id, choice.about, choice.ours, name, figure.name
            rows += [
                (*about, ours.where, ours.says, ours.verdict, other.verdict)
                for ours, other in zip(usual[figure.name], figure.claims(tables), strict=True)
                if not ours.ours
            ]
    return DataFrame(rows, columns=COLUMNS)


def choices_claims(tables: Tables) -> list[Claim]:
    """Judge, for each thing that the paper leaves open, whether a verdict depends on it."""
    claims = []
    for choice, table in tables["verdicts"].groupby("choice", sort=False):
        differences = []
        for name, part in table.groupby("other", sort=False):
            changed = part[part.verdict != part.other_verdict]
            rows = (f"“{row.says}” ({row.verdict}, then {row.other_verdict})" for row in changed.itertuples())
            differences.append(
                f"{name!s}: none of {len(part)} verdicts changes"
                if changed.empty
                else f"{name!s}: {len(changed)} of {len(part)} verdicts change: {' '.join(rows)}"
            )
        claims.append(
            Claim(
                f"unstated.{choice}",
                f"figure {', '.join(sorted(set(table.figure.astype(str))))}",
                f"{table.about.iloc[0].rstrip('.')}: another choice changes no verdict.",
                "not stated",
                "; ".join(differences),
                verdict((table.verdict == table.other_verdict).groupby(table.other).all()),
                f"Ours: {table.ours.iloc[0]}.",
                ours=True,
            )
        )
    return claims


def draw_choices(tables: Tables) -> Drawing:
    """Draw a row of squares for each other choice."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    groups = list(tables["verdicts"].groupby(["about", "other"], sort=False))
    figure, axis = plt.subplots(figsize=(7.2, 0.34 * len(groups) + 0.9), layout="constrained")
    colours = {HOLDS: BLUE, IN_PART: ORANGE, FAILS: VERMILLION}
    for row, (_, part) in enumerate(groups):
        for column, (ours, other) in enumerate(zip(part.verdict, part.other_verdict, strict=True)):
            axis.add_patch(Rectangle((column + 0.1, row + 0.1), 0.8, 0.8, color=colours[other]))
            if ours != other:
                axis.plot(column + 0.5, row + 0.5, "x", color="white", ms=6, mew=2)
    labels = [f"{shorten(str(about), 70, placeholder=' …')}\n{other}" for (about, other), _ in groups]
    axis.set_yticks(np.arange(len(groups)) + 0.5, labels, fontsize=6)
    axis.set(
        xlim=(0, max(len(part) for _, part in groups)), ylim=(len(groups), 0), xticks=[], xlabel="claims of the figure"
    )
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    axis.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=7)
    return figure


FIGURE_CHOICES = Figure(
    "choices",
    "What the paper leaves open",
    CHOICES_CAPTION,
    {"verdicts": _choices},
    draw_choices,
    choices_claims,
    thorough=True,
)
