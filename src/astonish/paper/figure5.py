"""Figure 5: what happens in the learner when the environment of the maze switches."""

from typing import Any

import numpy as np
from pandas import DataFrame, concat

from astonish.beliefs import Gaussian
from astonish.core.programs import compiled
from astonish.learners import Bayes
from astonish.learners.base import scan
from astonish.paper.figure import Claim, Drawing, Figure, RunSettings, Tables, interval, letter_panels, verdict
from astonish.paper.maze_learners import MazeWalks, Signals, current, naive, signals_of, smile, walks_of
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from astonish.worlds.maze import Walk

SHOWN, BEFORE, AFTER = 1100, 50, 150
SIGNALS = {  # what they are called, and their colours
    "surprise": ("surprise $S_{cc}$ (nats)", GREEN),
    "gamma": (r"weight $\gamma$", PURPLE),
    "error": ("error (mean square)", BLUE),
    "uncertainty": ("uncertainty (nats)", SKY),
}
ERRORS = (
    ("error_A", BLACK, "-", "SMiLe in A"),
    ("error_B", ORANGE, "-", "SMiLe in B"),
    ("naive_A", BLACK, "--", "naive in A"),
    ("naive_B", ORANGE, "--", "naive in B"),
)
CAPTION = (
    "Signals of SMiLe (m = 0.1) in the maze. Left: the last 1100 of 20000 steps of one walk, each curve smoothed by an "
    "exponential moving average that forgets a tenth per step; bars at the top: environment A; diamonds: 100 steps "
    "after a switch to A. A: confidence-corrected surprise. B: gamma, the weight of the newest step. C: error in each "
    "environment while the walk is in it, of SMiLe (solid) and of naive Bayes (dashed); faint: in the environment that "
    "it is not in. D: uncertainty, the entropy of the beliefs about all rooms. Right: the same signals, not smoothed, "
    "averaged over all switches with at least 150 steps on either side, in 20 walks (band: 95 % confidence interval "
    "over walks); the error is that in the current environment."
)


def simulate(run: RunSettings, where: MazeWalks | None = None) -> Tables:
    """Record the end of one walk, and averages around the switches of all."""
    where = where or walks_of(run)
    walk, signals, bayes = where.walk, signals_of(smile(), where), signals_of(naive(), where)
    control = bayes.errors
    series: dict[str, Any] = {"environment": walk.environment, "switched": walk.switched}
    series |= {"surprise": signals.surprise, "gamma": signals.learning_rate}
    for k, name in enumerate("AB"):
        series |= {f"error_{name}": signals.errors[..., k], f"naive_{name}": control[..., k]}
    table = DataFrame({name: column[0] for name, column in (series | {"uncertainty": signals.uncertainty}).items()})
    table.insert(0, "step", table.index + 1)
    return {
        "series": table.tail(SHOWN + 400),  # some more, for the averages to start from
        "aligned": around_switches(walk, signals, current(walk.environment, control)),
        "uncertainty": _uncertainty(signals, bayes, run.seed),
    }


def _uncertainty(signals: Signals, bayes: Signals, seed: int) -> DataFrame:
    """How the uncertainty changes from step to step, in each walk.

    surprising, expected: its mean change in the most surprising tenth of the steps of SMiLe, and in the others. falls:
    the share of steps in which that of naive Bayes falls; falls_in_100: the share of stretches of 100 steps. gaussian:
    the share of samples at which that of a Gaussian belief falls by Bayes' rule, every tenth sample being far away.
    """
    rows = []
    for episode, (surprise, entropy, naives) in enumerate(
        zip(signals.surprise, signals.uncertainty, bayes.uncertainty, strict=True)
    ):
        change, tenth = np.diff(entropy), surprise[1:] >= np.quantile(surprise[1:], 0.9)
        numbers = np.random.default_rng([seed, episode, 5]).normal(size=200) + 50.0 * (np.arange(200) % 10 == 9)
        falls = [(np.diff(series) < 0).mean() for series in (naives, naives[::100], _std(numbers))]
        rows.append((episode, change[tenth].mean(), change[~tenth].mean(), *falls))
    return DataFrame(rows, columns=["episode", "surprising", "expected", "falls", "falls_in_100", "gaussian"])


@compiled
def _std(samples: Any) -> Any:
    learner = Bayes(Gaussian())
    return scan(learner, samples, read=learner.uncertainty).estimate


def around_switches(walk: Walk, signals: Signals, control: Any) -> DataFrame:
    """Average each signal around the switches of each walk, and the control around those in its second half."""
    error = current(walk.environment, signals.errors)
    values = signals.surprise, signals.learning_rate, error, signals.uncertainty
    table = at_switches(walk.switched, dict(zip(SIGNALS, values, strict=True)), BEFORE)
    naive = at_switches(walk.switched, {"naive": control}, BEFORE, late=True).naive.to_numpy()
    return table.assign(naive=naive, first_surprise=signals.surprise[:, :BEFORE].mean(1)[table.episode])


def at_switches(switched: Any, signals: dict[str, Any], before: int = 0, late: bool = False) -> DataFrame:
    """Average signals from so many steps before each isolated switch; offset 0 is the first step after the switch.

    late: only those that begin in the second half of a walk.
    """
    tables, offsets = [], np.arange(-before, AFTER)
    for episode, switches in enumerate(switched):
        times = isolated(switches)[:, None] + offsets
        times = times[times[:, 0] > len(switches) / 2] if late else times
        means = {name: signal[episode][times].mean(0) if len(times) else np.nan for name, signal in signals.items()}
        tables.append(DataFrame({"episode": episode, "offset": offsets, **means}))
    return concat(tables)


def isolated(switched: Any, apart: int = AFTER) -> Any:
    """Find the times of the switches that have no other within so many steps, on either side."""
    times = np.flatnonzero(switched)
    edges = np.concatenate([[0], times, [len(switched)]])
    return times[(np.diff(edges)[:-1] >= apart) & (np.diff(edges)[1:] >= apart)]


def claims(tables: Tables) -> list[Claim]:
    """Judge what changes at a switch, and what returns."""
    table = tables["aligned"]

    def window(signal: str, first: int, last: int) -> Any:
        return table[table.offset.between(first, last - 1)].groupby("episode")[signal].mean().to_numpy()

    start = table.groupby("episode").first_surprise.first().to_numpy()
    gap = interval(start - window("surprise", 100, AFTER))
    first, later, last = (window("error", *at) for at in ((0, 10), (60, 70), (100, AFTER)))
    drop, fall = interval(later / first), first.mean() - last.mean()
    change = interval(window("naive", 100, AFTER) - window("naive", 0, 10))
    uncertainty = tables["uncertainty"]
    surprising, expected = interval(uncertainty.surprising), interval(uncertainty.expected)
    falls, later_falls = interval(uncertainty.falls), interval(uncertainty.falls_in_100)
    return [
        _rises_and_settles("switch.surprise", "Fig. 5A", "surprise", window, (0, 20)),
        _rises_and_settles("switch.gamma", "Fig. 5B", "gamma", window, (0, 20)),
        _rises_and_settles("switch.uncertainty", "Fig. 5D", "uncertainty", window, (40, 70)),
        Claim(
            "switch.first-surprise",
            "section 2.4, maze",
            "Surprise is high at first and decreases as the environment is learned.",
            "initially high, slowly decreases",
            f"first {BEFORE} steps {interval(start)}; higher than in steps 100 to 150 after a switch by {gap}",
            verdict([gap.low > 0]),
            "A flat belief over 15 rooms is not unsurprised: its surprise is 0.5435, whichever room comes next.",
        ),
        Claim(
            "switch.error",
            "Fig. 5C",
            "The error in the new environment falls quickly after a switch.",
            "rapid adaptation",
            f"in steps 0 to 10 {interval(first)}, 60 to 70 {interval(later)}, 100 to 150 {interval(last)}",
            verdict([drop.high < 0.5]),
            f"After 64 steps, one for each passage between rooms, {drop.mean:.0%} of the error at the switch is left.",
        ),
        Claim(
            "switch.naive",
            "Fig. 5C, dashed",
            "Naive Bayes hardly changes its mind at a switch.",
            "no significant change",
            f"in the second half of the walks its error changes by {change} from steps 0 to 10 after a switch to steps "
            f"100 to 150; SMiLe's falls by {fall:.3g}",
            verdict([abs(change.mean) < 0.05 * fall]),
            "Every sample counts alike, so the newest ones among thousands weigh next to nothing; counted as holding "
            "if the change is below 5 % of SMiLe's. Over many walks it can be told from zero.",
        ),
        Claim(
            "uncertainty.surprising",
            "section 3, new versus old information (ii)",
            "In the maze, surprising data increase SMiLe's uncertainty.",
            "increases model uncertainty in the face of surprising data",
            f"change of the entropy per step: {surprising} nats in the most surprising tenth of the steps, {expected} "
            "in the others",
            verdict([surprising.low > 0 and surprising.low > expected.high]),
            "A surprising move takes the belief about a room towards another one; in the Gaussian task it does not "
            "hold (figure 3).",
        ),
        Claim(
            "uncertainty.bayes",
            "section 3, model uncertainty",
            "Bayes' rule reduces uncertainty in each step, no matter how surprising the sample is.",
            "in each step",
            f"Gaussian beliefs: in {100 * uncertainty.gaussian.mean():.1f} % of the steps, every tenth of which brings "
            f"an outlier; the maze: in {100 * falls.mean:.1f} % of the steps",
            verdict([uncertainty.gaussian.min() == 1, uncertainty.falls.min() == 1]),
            "The variance of a Gaussian belief does not depend on the samples; a move that was held to be improbable "
            "makes a Dirichlet belief less certain.",
        ),
        Claim(
            "uncertainty.naive",
            "section 2.4, maze",
            "Naive Bayes becomes steadily more certain, however surprising the samples are.",
            "a steady increase in certainty",
            f"its entropy falls in {100 * later_falls.mean:.1f} % of all stretches of 100 steps",
            verdict([later_falls.low > 0.9]),
            "Steadily: in at least nine of ten such stretches.",
        ),
    ]


def _rises_and_settles(id: str, where: str, signal: str, window: Any, peak: tuple[int, int]) -> Claim:
    rise = interval(window(signal, *peak) - window(signal, -BEFORE, 0))
    fall = interval(window(signal, *peak) - window(signal, 100, AFTER))
    level = window(signal, -BEFORE, 0).mean()
    return Claim(
        id,
        where,
        f"{signal.capitalize()} rises when the environment switches, and settles again.",
        "rises, then decreases",
        f"{level:.4g} before; higher by {rise} in steps {peak[0]} to {peak[1]} after the switch, which is higher by "
        f"{fall} than in steps 100 to 150",
        verdict([rise.low > 0, fall.low > 0]),
        "The change is mild, because the effective sample size of a SMiLe belief never exceeds one (figure ceiling).",
    )


def draw(tables: Tables) -> Drawing:
    """Draw one walk on the left, averages around switches on the right."""
    import matplotlib.pyplot as plt

    series, aligned = tables["series"], tables["aligned"]
    shown = series.tail(SHOWN)
    figure, axes = plt.subplots(
        4, 2, figsize=(7.4, 7.2), sharex="col", sharey="row", width_ratios=(3, 1.3), layout="constrained"
    )
    letter_panels(axes[:, 0], "ABCD")
    for (left, right), (name, (label, colour)) in zip(axes, SIGNALS.items(), strict=True):
        left.set_ylabel(label)
        for column, line_colour, line, learner in ERRORS if name == "error" else ((name, colour, "-", None),):
            smooth = series[column].ewm(alpha=0.1, adjust=False).mean()
            if name == "error":
                left.plot(shown.step, smooth[-SHOWN:], line, color=line_colour, lw=0.8, alpha=0.25)
                smooth = smooth.where((series.environment == 0) == column.endswith("A"))
            left.plot(shown.step, smooth[-SHOWN:], line, color=line_colour, label=learner, lw=1)
        bands = {offset: interval(values) for offset, values in aligned.groupby("offset")[name]}
        offsets, (mean, low, high) = list(bands), np.array(list(bands.values())).T
        right.fill_between(offsets, low, high, color=colour, alpha=0.3, lw=0)
        right.plot(offsets, mean, color=colour, lw=1)
        right.axvline(0, color="0.5", lw=0.8, ls=":")

    # Bars while in A, and diamonds 100 steps after a switch to it (if it lasts as long)
    into_a = shown.step[shown.switched & (shown.environment == 0)] + 100
    in_a = (shown.environment == 0).rolling(101).sum() == 101  # for the last 101 steps
    at = into_a[into_a.isin(shown.step[in_a])]
    for axis in axes[:, 0]:
        mark_environment(axis, shown)
        axis.plot(at, np.zeros(len(at)), "D", color=BLUE, ms=4, transform=axis.get_xaxis_transform(), clip_on=False)
    axes[2, 0].legend(loc="upper left", ncols=4, fontsize=7, bbox_to_anchor=(0.04, 1.2), columnspacing=1)
    axes[3, 0].set_xlabel("time step")
    axes[3, 1].set_xlabel("steps since the switch")
    axes[0, 1].set_title("average over switches", fontsize=9)
    return figure


def mark_environment(axis: Any, series: DataFrame) -> None:
    """Draw bars at the top while the walk is in A."""
    heights, in_a = axis.get_xaxis_transform(), series.environment == 0
    axis.fill_between(series.step, 0.97, 1.0, where=in_a, color=VERMILLION, lw=0, step="mid", transform=heights)


FIGURE_5 = Figure("5", "Signals at a switch", CAPTION, {"walks": simulate}, draw, claims)
