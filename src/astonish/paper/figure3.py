"""Figure 3: SMiLe follows a mean that jumps, against fixed learning rates and learners that know more of the world.

Section 2.4 of the paper does not say which error it shows: here are the squared and the absolute one, which disagree.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from pandas import DataFrame, concat

from astonish.beliefs import Gaussian
from astonish.core.numbers import as_double
from astonish.core.programs import compiled
from astonish.learners import Delta, MessagePassing, Nassar2010, Smile
from astonish.learners.base import Learner, Steps, scan
from astonish.paper.figure import (
    Claim,
    Drawing,
    Figure,
    Interval,
    RunSettings,
    Tables,
    by_episode,
    interval,
    letter_panels,
    listed,
    missed,
    verdict,
    wide,
)
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from astonish.worlds.gaussian_jumps import Episode, many_gaussian_jumps

HAZARD, HAZARDS = 0.066, (0.01, 0.033, 0.066, 0.1)
NOISE, LOW, HIGH, M = 4.0, -20.0, 20.0, 0.1
START = 0.5 * (LOW + HIGH)
RATES = np.arange(51) / 50
SHOWN = 200  # steps of the episode in panels A and B
LEARNERS = ("best fixed rate", "fixed rate 0.5", "SMiLe", "SMiLe, wide prior", "Nassar 2010", "exact")
BEST, HALF, SMILE, WIDE, NASSAR, EXACT = LEARNERS
LOOKS = {BEST: (ORANGE, "s-"), HALF: (BLACK, "d:"), SMILE: (BLUE, "o-"), WIDE: (SKY, "x--"), NASSAR: (GREEN, "^-")}
LOOKS |= {EXACT: (PURPLE, "v-")}
HYPOTHESES = 200  # of the exact learner; with more of them its errors change by less than 1 %
SPREAD = (HIGH - LOW) / np.sqrt(12)  # of the uniform prior
PRIORS = {"paper": NOISE, "wide": 3 * NOISE, "narrow": NOISE / 3}  # standard deviations of first beliefs
NEARLY = 1.1  # times the optimal error, or less
ERRORS = {"squared": "units²", "absolute": "units"}  # and what each is measured in
Cases = dict[str, Interval]
CAPTION = (
    "Following a mean that jumps within [-20, 20], from samples with standard deviation 4. A: samples, true mean and "
    "the estimate of SMiLe (m = 0.1, prior as uncertain as one sample); triangles mark the jumps, of which there are "
    "0.066 per step. B: gamma, the weight that SMiLe gives to each sample. C: error after each sample against the rate "
    "of a delta rule, at four hazards; dots on the axis mark the rates that are best in hindsight. D: error against "
    "hazard for SMiLe, SMiLe with a prior three times as wide (its uncertainty then changes, until it is that of one "
    "sample), the best fixed rate, a rate of 0.5, the rule of Nassar et al. (2010), which is told noise, range and "
    "hazard, and exact inference about the last change, for a normal prior with the mean and the standard deviation of "
    "the uniform one. C and D: means over 50 episodes of 1000 steps; bars are standard deviations over episodes, "
    "whereas the paper's are over all trials and episodes. All hazards share the seeds of the episodes."
)


def episodes(run: RunSettings, hazard: float) -> Episode:
    """Make all of them, one per row; they share their seeds with those at other hazards."""
    number, steps = (8, 250) if run.quick else (50, 1000)
    return many_gaussian_jumps(steps, [(run.seed, 3, k) for k in range(number)], hazard, NOISE, LOW, HIGH)


def smile(std: float = NOISE) -> Smile:
    """Make SMiLe as in the paper, but for the standard deviation of its first belief."""
    return Smile(Gaussian(NOISE), M, Gaussian(NOISE).prior(START, std))


_scan = compiled(jax.vmap(scan, (None, 0)))


def follow(learner: Learner, task: Episode) -> Steps:
    """Take a learner through all episodes."""
    return jax.device_get(_scan(as_double(learner), task.samples))


@compiled
@partial(jax.vmap, in_axes=(0, None))
def scores_of_fixed(rate: Any, task: Episode) -> dict[str, Any]:
    """Score the delta rule at all rates (rows) in all episodes (columns)."""
    return scores_of(jax.vmap(lambda samples: scan(Delta(rate, START), samples).estimate)(task.samples), task)


def scores_of(estimate: Any, task: Episode) -> dict[str, Any]:
    """Compute mean errors per step of each episode, and their standard deviations over its steps."""
    off = estimate - task.truth
    errors = {"squared": off * off, "absolute": abs(off)}
    spreads = {f"{name}_std": error.std(-1) for name, error in errors.items()}
    return {name: error.mean(-1) for name, error in errors.items()} | spreads


def _signals(run: RunSettings) -> Tables:
    """Panels A and B.

    series: the beginning of the first episode. gamma: mean gamma and surprise in each episode, at jumps and otherwise.
    """
    task = episodes(run, HAZARD)
    trace = follow(smile(), task)
    signals = {"estimate": trace.estimate, "surprise": trace.surprise, "gamma": trace.learning_rate}
    series = DataFrame({name: column[0, :SHOWN] for name, column in (task._asdict() | signals).items()})
    return {
        "series": series.rename(columns={"samples": "sample"}).assign(step=series.index + 1),
        "gamma": _at_jumps(task, gamma=trace.learning_rate[:, 1:], surprise=trace.surprise[:, 1:]).mean().reset_index(),
    }


def _at_jumps(task: Episode, **signals: Any) -> Any:
    """Group signals of all steps but the first, which follows no jump, by episode and by whether there was a jump."""
    columns = {"episode": np.indices(task.changed.shape)[0][:, 1:], "jump": task.changed[:, 1:]} | signals
    return DataFrame({name: column.ravel() for name, column in columns.items()}).groupby(["episode", "jump"])


def _uncertainty(run: RunSettings) -> DataFrame:
    """How much the standard deviation of SMiLe's belief changes, in each episode, at jumps and otherwise.

    change: the mean change in a step. rise, fall: the largest in either direction.
    """
    task, tables = episodes(run, HAZARD), []
    for name, std in PRIORS.items():
        stds = np.asarray(_stds(as_double(smile(std)), task.samples))
        changes = _at_jumps(task, change=np.diff(stds, axis=1)).change.agg(change="mean", rise="max", fall="min")
        tables.append(changes.reset_index().assign(prior=name))
    return concat(tables, ignore_index=True)


_stds = compiled(jax.vmap(lambda learner, xs: scan(learner, xs, read=lambda belief: belief.std).estimate, (None, 0)))


def simulate(run: RunSettings, **chosen: Any) -> Tables:
    """Compute all tables, with other choices than ours where the paper leaves them open: see `errors_at_hazards`."""
    return {**_signals(run), "uncertainty": _uncertainty(run), **errors_at_hazards(run, **chosen)}


def errors_at_hazards(
    run: RunSettings,
    hazards: Sequence[float] = HAZARDS,
    nassar: type[Nassar2010] = Nassar2010,
    before: bool = False,
) -> Tables:
    """Compute panels C and D. before: whether errors are those of the estimate before a sample is seen.

    fixed: mean over episodes and standard deviation between them, for every rate. best: the rate that is best in
    hindsight in each single episode. errors: of every learner in every episode.
    """
    curves, best, errors = [], [], []
    for hazard in hazards:
        task = episodes(run, hazard)
        if before:  # all samples but the last, each with the mean of the next
            task = Episode(task.samples[:, :-1], task.truth[:, 1:], task.changed[:, 1:])
        fixed = jax.device_get(scores_of_fixed(RATES, task))
        columns: dict[str, Any] = {"hazard": hazard, "rate": RATES}
        for name in ERRORS:
            columns |= {name: fixed[name].mean(axis=1), f"{name}_std": fixed[name].std(axis=1, ddof=1)}
        curves.append(DataFrame(columns))
        best.append(by_episode(hazard=hazard, **{name: RATES[fixed[name].argmin(axis=0)] for name in ERRORS}))
        learners = {SMILE: smile(), WIDE: smile(3 * NOISE), NASSAR: nassar(NOISE, hazard, LOW, HIGH)}
        prior = Gaussian(NOISE).prior(START, SPREAD)
        learners |= {EXACT: MessagePassing(Gaussian(NOISE), hazard, prior, HYPOTHESES, merge=False)}
        scores = {name: scores_of(follow(learner, task).estimate, task) for name, learner in learners.items()}
        winners = {name: fixed[name].mean(axis=1).argmin() for name in ERRORS}  # of each kind of error its own
        scores[BEST] = {column: of_all[winners[column.removesuffix("_std")]] for column, of_all in fixed.items()}
        scores[HALF] = {column: of_all[RATES == 0.5][0] for column, of_all in fixed.items()}
        errors += [by_episode(hazard=hazard, learner=name, **score) for name, score in scores.items()]
    tables = {"fixed": curves, "best": best, "errors": errors}
    return {name: concat(parts, ignore_index=True) for name, parts in tables.items()}


def claims(tables: Tables) -> list[Claim]:
    """Judge what section 2.4 and the caption of Fig. 3 say of this task."""
    errors, spreads = (
        {name: wide(tables["errors"], "episode", ["learner", "hazard"], name + end) for name in ERRORS}
        for end in ("", "_std")
    )
    best_beaten = "SMiLe makes smaller errors than the best fixed rate, at every hazard."
    half_beaten = "SMiLe makes smaller errors than a fixed rate of 0.5, at every hazard."
    beaten = "SMiLe makes larger errors than Nassar 2010, which is told the hazard."
    shrinking: Cases = {}
    for error, table in errors.items():
        shrinking |= _growth(table[NASSAR] - table[SMILE], error)
    return [
        _weighted_average(tables["series"]),
        _gamma_rises(tables["gamma"]),
        _best_rate_grows(tables["best"], tables["fixed"]),
        _errors_grow(errors),
        _saves("jumps.best-rate", best_beaten, errors, BEST, SMILE),
        _saves("jumps.half", half_beaten, errors, HALF, SMILE),
        _saves("jumps.nassar", beaten, errors, SMILE, NASSAR),
        *_significance(errors, spreads),
        _compared(
            "jumps.stable-world",
            "section 2.4",
            "The smaller the hazard, the further SMiLe falls behind Nassar 2010: it stays restless in a stable world.",
            f"by how much less the error of {SMILE} exceeds that of {NASSAR} from one hazard to the next",
            shrinking,
        ),
        _nearly_optimal(errors),
        _uncertainty_rises(tables["uncertainty"]),
    ]


def _compared(
    id: str, where: str, says: str, what: str, cases: Cases, paper: str = "no number", note: str = ""
) -> Claim:
    """A claim that differences are positive: each must have an interval above zero."""
    exceptions = missed(cases)
    measured = f"{what}: " + "; ".join(f"{name}: {case}" for name, case in cases.items())
    why = f"95 % intervals of paired differences lie above zero in {len(cases) - len(exceptions)} of {len(cases)} cases"
    why += f"; not for {', '.join(exceptions)}." if exceptions else "."
    return Claim(id, where, says, paper, measured, verdict(i.low > 0 for i in cases.values()), f"{why} {note}".strip())


def _growth(table: Any, name: str) -> Cases:
    """By how much the numbers in the columns, one per hazard, grow from each hazard to the next."""
    return {f"{name}, H = {a:g} to {b:g}": interval(table[b] - table[a]) for a, b in pairwise(sorted(table.columns))}


def closed_form(mean: Any, x: Any) -> tuple[Any, Any]:
    """Compute gamma and the next estimate by the paper's eqs. 9 and 10, for a prior as uncertain as one sample."""
    product = M * (x - mean) ** 2 / (2 * NOISE**2)
    gamma = (product / (1 + product)) ** 0.5
    return gamma, mean + gamma * (x - mean)


def _weighted_average(series: DataFrame) -> Claim:
    gamma, estimate = closed_form(series.estimate.shift(fill_value=START), series["sample"])
    off, off_gamma = abs(estimate - series.estimate).max(), abs(gamma - series.gamma).max()
    return Claim(
        "jumps.average",
        "eqs. 9 and 10",
        "If the prior is as uncertain as one sample, the new estimate is the average of the old one and the sample, "
        "with weights 1 - gamma and gamma = sqrt(m S / (1 + m S)), where S = (x - old)^2 / (2 noise^2).",
        "exact",
        f"largest difference in {len(series)} steps: {off:.1g} in the estimate, {off_gamma:.1g} in gamma",
        verdict([off < 1e-9, off_gamma < 1e-9]),
        "The general search for gamma, which works for any belief, is compared with the closed form, to 1e-9.",
    )


def _gamma_rises(gamma: DataFrame) -> Claim:
    tables = {name: wide(gamma, "episode", "jump", name) for name in ("gamma", "surprise")}
    means = (f"{name} {interval(t[True])} at jumps, {interval(t[False])} otherwise" for name, t in tables.items())
    cases = {name: interval(table[True] - table[False]) for name, table in tables.items()}
    says = "Surprise rises at the first sample after a jump, and gamma with it."
    return _compared("jumps.gamma", "Fig. 3B", says, f"{'; '.join(means)}; differences", cases)


def _best_rate_grows(best: DataFrame, fixed: DataFrame) -> Claim:
    cases: Cases = {}
    overall = []
    for error in ERRORS:
        cases |= _growth(wide(best, "episode", "hazard", error), error)
        overall.append(f"{error} {listed(fixed.rate[fixed.groupby('hazard')[error].idxmin()], '.2f')}")
    return _compared(
        "jumps.growing-rate",
        "Fig. 3C",
        "The best fixed rate is larger where the mean jumps more often.",
        f"best rates over all episodes at H = {listed(sorted(set(best.hazard)))}: {'; '.join(overall)}; growth of the "
        "best rate of single episodes",
        cases,
        "the caption says that the best rate decreases with the hazard, and from this infers that volatile "
        "environments call for a bigger one",
        "Of the caption's two statements, which exclude each other, the second is tested.",
    )


def _errors_grow(errors: Tables) -> Claim:
    cases: Cases = {}
    for error, table in errors.items():
        for learner in LEARNERS:
            growth = _growth(table[learner], f"{learner}, {error}")
            least = min(growth, key=lambda name: growth[name].low)
            cases[least] = growth[least]
    says = "For every learner the error grows with the hazard."
    what = "least growth of the error from one hazard to the next"
    return _compared("jumps.errors", "Fig. 3D", says, what, cases, "no number; it increases for all models")


def _saves(id: str, says: str, errors: Tables, worse: str, better: str) -> Claim:
    saved = {error: table[worse] - table[better] for error, table in errors.items()}
    cases = {f"{error}, H = {h:g}": interval(table[h]) for error, table in saved.items() for h in table}
    return _compared(id, "Fig. 3D", says, f"error of {worse} minus that of {better}", cases)


def _significance(errors: Tables, spreads: Tables) -> list[Claim]:
    """Whether SMiLe differs from Nassar 2010 at the smallest hazard only: by bars, and by paired tests."""
    from scipy import stats

    hazards = sorted(errors["squared"][SMILE].columns)
    by_bars, by_tests, probabilities = [], [], []
    overlaps: dict[str, list[str]] = {"trials": [], "episodes": []}
    for error, table in errors.items():
        apart = abs(table.mean()[SMILE] - table.mean()[NASSAR])
        trials, episodes = (spreads[error] ** 2).mean() + table.var(ddof=0), table.var()
        for over, variance in (("trials", trials), ("episodes", episodes)):
            reach = np.sqrt(variance[SMILE]) + np.sqrt(variance[NASSAR])
            overlapping = [hazard for hazard in apart.index if apart[hazard] < reach[hazard]]
            overlaps[over].append(f"{error} {'at H = ' + listed(overlapping) if overlapping else 'nowhere'}")
            if over == "trials":
                by_bars += [(hazard in overlapping) == (hazard > hazards[0]) for hazard in hazards]
        p = [stats.ttest_rel(table[SMILE][hazard], table[NASSAR][hazard]).pvalue for hazard in table[SMILE]]
        by_tests += [p[0] < 0.05, *(value >= 0.05 for value in p[1:])]
        probabilities.append(f"{error} {listed(p, '.1g')}")
    return [
        Claim(
            "jumps.bars",
            "Fig. 3D",
            "The difference between SMiLe and Nassar 2010 is significant at the smallest hazard only: bars of one "
            "standard deviation, over all trials and episodes, overlap at the others.",
            "significant at H = 0.01 only, by a test that is not named",
            "bars overlap " + "; ".join(f"over {over}: {', '.join(places)}" for over, places in overlaps.items()),
            verdict(by_bars),
            "Judged by bars as the caption describes them, over all trials and episodes; those over episodes alone are "
            "shorter. Whether bars overlap does not decide whether means differ: see the next claim.",
        ),
        Claim(
            "jumps.significance",
            "Fig. 3D",
            "The difference between SMiLe and Nassar 2010 is significant at the smallest hazard only: paired tests "
            "over episodes find none at the others.",
            "significant at H = 0.01 only, by a test that is not named",
            f"p of paired t-tests over {len(errors['squared'])} episodes at H = {listed(hazards)}: "
            f"{'; '.join(probabilities)}",
            verdict(by_tests),
            "Pairing the same episodes shows differences that are small beside the spread between episodes; a p below "
            "0.05 counts as significant.",
        ),
    ]


def _nearly_optimal(errors: Tables) -> Claim:
    parts, ratios, others, saved = [], [], [], []
    for error, table in errors.items():
        mean = table.mean()
        parts += [interval(table[SMILE][h] - NEARLY * table[EXACT][h]).high < 0 for h in table[SMILE]]
        ratios.append(f"{error} {listed(mean[SMILE] / mean[EXACT], '.2f')}")
        others.append(f"{error} {listed(mean[NASSAR] / mean[EXACT], '.2f')}")
        saved.append(f"{error} {listed((mean[BEST] - mean[SMILE]) / (mean[BEST] - mean[EXACT]), '.2f')}")
    return Claim(
        "jumps.optimum",
        "section 2.4",
        "SMiLe, without knowing the hazard, nearly reaches the quality of the optimal Bayesian solution.",
        "nearly reaches it",
        f"error of SMiLe over that of exact inference at H = {listed(sorted(errors['squared'][SMILE].columns))}: "
        f"{'; '.join(ratios)} (Nassar 2010 over exact: {'; '.join(others)}); share of the way from the best fixed rate "
        f"to exact: {'; '.join(saved)}",
        verdict(parts),
        f"Nearly means an error of at most {NEARLY:g} times the optimal one, by the 95 % interval of the paired "
        "difference (our criterion). The exact learner knows the hazard and weighs all times of the last change; its "
        "normal prior in place of the uniform one makes it slightly worse than the optimum. The paper compares SMiLe "
        "with Nassar 2010, an approximation.",
    )


def _uncertainty_rises(uncertainty: DataFrame) -> Claim:
    changes = wide(uncertainty, "episode", ["prior", "jump"], "change")
    at_jumps = {name: interval(changes[name, True]) for name in PRIORS}
    ends = uncertainty.groupby("prior")[["rise", "fall"]].agg({"rise": "max", "fall": "min"})
    return Claim(
        "jumps.uncertainty",
        "section 3, New versus old information (ii)",
        "A surprising sample makes the belief of the Gaussian task less certain.",
        "increases model uncertainty",
        "mean change of the belief's standard deviation at the first sample after a jump: "
        f"{at_jumps['paper'].mean:.0e} (at most {ends.loc['paper'].abs().max():.0e} in any step) with a prior as wide "
        f"as the noise, as in the paper; {at_jumps['wide']} from a prior 3 times as wide, where no step adds more than "
        f"{max(0.0, ends.rise['wide']):.0e}; "
        f"{at_jumps['narrow']} from one a third as wide",
        verdict([at_jumps["paper"].low > 1e-9]),
        "A step blends the precision of the belief with that of one sample; in the paper's task they are equal, so the "
        "uncertainty stays what it is for ever. From a wide prior it only falls, to that of one sample. Only a belief "
        "that is narrower than the noise gets less certain, and until it has the width of the noise. In the maze it is "
        "otherwise: see Figure 5.",
    )


def draw(tables: Tables) -> Drawing:
    """Draw A and B: one episode; C: fixed rates; D: all learners."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7, 9), layout="constrained")
    panels = figure.subplot_mosaic(
        [["A", "A"], ["B", "B"], ["C squared", "C absolute"], ["D squared", "D absolute"]],
        height_ratios=(1.5, 0.8, 1.5, 1.5),
    )
    _draw_episode(panels["A"], panels["B"], tables["series"])
    for error in ERRORS:
        _draw_fixed(panels[f"C {error}"], tables["fixed"], error)
        panel = panels[f"D {error}"]
        for k, (learner, (colour, look)) in enumerate(LOOKS.items()):
            by_hazard = tables["errors"][tables["errors"].learner == learner].groupby("hazard")[error]
            mean, std = by_hazard.mean(), by_hazard.std()
            shifted = mean.index + 0.001 * (k - 2)
            panel.errorbar(shifted, mean, std, fmt=look, ms=4, color=colour, elinewidth=0.8, label=learner)
        panel.set(xlabel="hazard $H$ (jumps per step)", xticks=HAZARDS, ylim=(0, None))
        for row in "CD":
            panels[f"{row} {error}"].set_ylabel(f"mean {error} error ({ERRORS[error]})")
    panels["C absolute"].legend(title="hazard $H$", loc="upper right", ncols=2)
    panels["D absolute"].legend(loc="lower right", ncols=2, fontsize=7, columnspacing=1)
    letter_panels((panels[name] for name in ("A", "B", "C squared", "D squared")), "ABCD")
    return figure


def _draw_episode(top: Any, bottom: Any, series: DataFrame) -> None:
    jumps = series.step[series.changed & (series.step > 1)]
    bottom.sharex(top)
    top.plot(series.step, series["sample"], "o", ms=2.5, color="0.65", label="samples")
    top.step(series.step, series.truth, "--", where="mid", color=VERMILLION, label="true mean")
    top.plot(series.step, series.estimate, color=BLUE, label="SMiLe's estimate")
    top.plot(jumps, np.full(len(jumps), 33.0), "v", ms=4, color=GREEN, label="jump")
    top.set(ylabel="position (units)", ylim=(-36, 36), xlim=(0, len(series) + 1))
    top.tick_params(labelbottom=False)
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    bottom.plot(series.step, series.gamma, color=PURPLE)
    bottom.plot(jumps, np.full(len(jumps), 1.0), "v", ms=4, color=GREEN)
    bottom.set(ylabel=r"weight $\gamma$", ylim=(0, 1.05), xlabel="time step")


def _draw_fixed(panel: Any, fixed: DataFrame, error: str) -> None:
    from matplotlib import colormaps, ticker

    shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(HAZARDS)))
    for k, (shade, hazard) in enumerate(zip(shades, HAZARDS, strict=True)):
        curve = fixed[fixed.hazard == hazard]
        barred = curve.iloc[1 + k :: 5]  # not all at the same rates, so that bars can be told apart
        panel.plot(curve.rate, curve[error], color=shade, label=f"{hazard:g}")
        panel.errorbar(barred.rate, barred[error], barred[f"{error}_std"], fmt="none", ecolor=shade, elinewidth=0.8)
        best = curve.rate.iloc[curve[error].argmin()]
        panel.plot(best, 0.0, "o", ms=5, color=shade, transform=panel.get_xaxis_transform(), clip_on=False, zorder=5)
    panel.set(xlabel=r"fixed rate $\gamma$", xlim=(0, 1), yscale="log")
    panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.minorticks_off()


FIGURE_3 = Figure(
    "3",
    "Following a mean that jumps",
    CAPTION,
    {"signals": _signals, "hazards": errors_at_hazards, "uncertainty": _uncertainty},
    draw,
    claims,
)
