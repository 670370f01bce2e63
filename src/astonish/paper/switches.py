"""Figure 5: what happens in the learner when the environment switches?"""

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from pandas import DataFrame, concat

from astonish.paper.agents import Signals, current, errors, naive, setting, smile, watch
from astonish.paper.claims import Claim, interval, verdict
from astonish.paper.figure import Figure
from astonish.paper.study import Numbers, Study
from astonish.plot import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, STYLE, VERMILLION
from astonish.tasks.maze import Walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SHOWN, BEFORE, AFTER = 1100, 50, 150
SIGNALS = ("surprise", "gamma", "error", "uncertainty")
CAPTION = (
    "Signals of SMiLe (m = 0.1) in the maze. Left: the last 1100 of 20000 steps of one walk, each curve smoothed by an "
    "exponential moving average that forgets a tenth per step; bars at the top: environment A; diamonds: 100 steps "
    "after a switch to A. A: confidence-corrected surprise. B: gamma, the weight of the newest step. C: error in each "
    "environment, of SMiLe (solid) and of naive Bayes (dashed). D: uncertainty, the entropy of the beliefs about all "
    "rooms. Right: the same signals, not smoothed, averaged over all switches with at least 150 steps on either side, "
    "in 20 walks (band: 95 % confidence interval over walks); the error is that in the current environment."
)


def compute(study: Study) -> Numbers:
    """The end of one walk, and averages around the switches of all."""
    return study.tables(FIGURE_5.tables, lambda: _simulate(study))


def _simulate(study: Study) -> Numbers:
    where = setting(study)
    signals, control = watch(smile(), where), errors(naive(), where)
    series, aligned = _series(where.walk, signals, control), _aligned(where.walk, signals, control)
    return {"figure5_series": series, "figure5_aligned": aligned}


def _series(walk: Walk, signals: Signals, control: Any) -> DataFrame:
    """The last steps of the first walk, and some before them for the averages to start from."""
    table = DataFrame({"step": np.arange(1, walk.environment.shape[1] + 1), "environment": walk.environment[0]})
    table = table.assign(switched=walk.switched[0], surprise=signals.surprise[0], gamma=signals.rate[0])
    for k, name in enumerate("AB"):
        table[f"error_{name}"], table[f"naive_{name}"] = signals.errors[0, :, k], control[0, :, k]
    return table.assign(uncertainty=signals.uncertainty[0]).tail(SHOWN + 400)


def _aligned(walk: Walk, signals: Signals, control: Any) -> DataFrame:
    """The average of each signal around the switches of each walk; offset 0 is the first step after the switch."""
    found = {
        "surprise": signals.surprise,
        "gamma": signals.rate,
        "error": current(walk.environment, signals.errors),
        "uncertainty": signals.uncertainty,
    }
    settled = current(walk.environment, control)
    offsets = np.arange(-BEFORE, AFTER)
    tables = []
    for episode, switched in enumerate(walk.switched):
        times = lonely(switched)[:, None] + offsets
        averages = {name: signal[episode][times].mean(0) for name, signal in found.items()} if len(times) else {}
        late = times[times[:, 0] > len(switched) / 2]
        averages["naive"] = settled[episode][late].mean(0) if len(late) else np.nan
        start = signals.surprise[episode, :BEFORE].mean()
        tables.append(DataFrame({"episode": episode, "offset": offsets, **averages, "first_surprise": start}))
    return concat(tables)


def lonely(switched: Any, apart: int = AFTER) -> Any:
    """The times of the switches that have no other within so many steps, on either side."""
    times = np.flatnonzero(switched)
    edges = np.concatenate([[0], times, [len(switched)]])
    return times[(np.diff(edges)[:-1] >= apart) & (np.diff(edges)[1:] >= apart)]


def smoothed(values: Any, weight: float = 0.1) -> Any:
    """An exponential moving average."""
    return DataFrame(values).ewm(alpha=weight, adjust=False).mean().to_numpy()[:, 0]


def claims(numbers: Numbers) -> list[Claim]:
    """What changes at a switch, and what returns."""
    table = numbers["figure5_aligned"]

    def window(signal: str, first: int, last: int) -> Any:
        return table[table.offset.between(first, last - 1)].groupby("episode")[signal].mean().to_numpy()

    return [
        _rises_and_settles("Fig. 5A", "Surprise", "surprise", window, (0, 20)),
        _rises_and_settles("Fig. 5B", "Gamma", "gamma", window, (0, 20)),
        _rises_and_settles("Fig. 5D", "Uncertainty", "uncertainty", window, (40, 70)),
        _starts_high(table, window),
        _falls_fast(window),
        _naive_stays(window),
    ]


def _rises_and_settles(where: str, what: str, signal: str, window: Any, peak: tuple[int, int]) -> Claim:
    rise = interval(window(signal, *peak) - window(signal, -BEFORE, 0))
    fall = interval(window(signal, *peak) - window(signal, 100, AFTER))
    level = window(signal, -BEFORE, 0).mean()
    return Claim(
        where,
        f"{what} rises when the environment switches, and settles again.",
        "rises, then decreases",
        f"{level:.4g} before; higher by {rise} in steps {peak[0]} to {peak[1]} after the switch, which is higher by "
        f"{fall} than in steps 100 to 150",
        verdict([rise.low > 0, fall.low > 0]),
        "The change is mild, because the effective sample size of a SMiLe belief never exceeds one (figure ceiling).",
    )


def _starts_high(table: DataFrame, window: Any) -> Claim:
    start = table.groupby("episode").first_surprise.first().to_numpy()
    gap = interval(start - window("surprise", 100, AFTER))
    return Claim(
        "section 2.4, maze",
        "Surprise is high at first and decreases as the environment is learned.",
        "initially high, slowly decreases",
        f"first {BEFORE} steps {interval(start)}; higher than in steps 100 to 150 after a switch by {gap}",
        verdict([gap.low > 0]),
        "A flat belief over 15 rooms is not unsurprised: its surprise is 0.5435, whichever room comes next.",
    )


def _falls_fast(window: Any) -> Claim:
    first, later, last = (window("error", *at) for at in ((0, 10), (60, 70), (100, AFTER)))
    drop = interval(later / first)
    return Claim(
        "Fig. 5C",
        "The error in the new environment falls quickly after a switch.",
        "rapid adaptation",
        f"in steps 0 to 10 {interval(first)}, 60 to 70 {interval(later)}, 100 to 150 {interval(last)}",
        verdict([drop.high < 0.5]),
        f"After 64 steps, one for each passage between rooms, {drop.mean:.0%} of the error at the switch is left.",
    )


def _naive_stays(window: Any) -> Claim:
    change = interval(window("naive", 100, AFTER) - window("naive", 0, 10))
    ours = window("error", 0, 10).mean() - window("error", 100, AFTER).mean()
    return Claim(
        "Fig. 5C, dashed",
        "Naive Bayes hardly changes its mind at a switch.",
        "no significant change",
        f"in the second half of the walks its error changes by {change} from steps 0 to 10 after a switch to steps 100 "
        f"to 150; SMiLe's falls by {ours:.3g}",
        verdict([abs(change.mean) < 0.05 * ours]),
        "Every sample counts alike, so the newest ones among thousands weigh next to nothing; counted as holding if "
        "the change is below 5 % of SMiLe's.",
    )


def draw(numbers: Numbers) -> "Drawing":
    """One walk on the left, averages around switches on the right."""
    import matplotlib.pyplot as plt

    series, aligned = numbers["figure5_series"], numbers["figure5_aligned"]
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(
            4, 2, figsize=(7.4, 7.2), sharex="col", sharey="row", width_ratios=(3, 1.3), layout="constrained"
        )
        labels = ("surprise $S_{cc}$ (nats)", r"weight $\gamma$", "error (mean square)", "uncertainty (nats)")
        for row, (name, label) in enumerate(zip(SIGNALS, labels, strict=True)):
            axes[row, 0].set_ylabel(label)
            axes[row, 0].set_title("ABCD"[row], loc="left", fontweight="bold")
            _draw_series(axes[row, 0], series, name)
            _draw_aligned(axes[row, 1], aligned, name)
        _mark(axes[:, 0], series)
        axes[2, 0].legend(loc="upper left", ncols=4, fontsize=7, bbox_to_anchor=(0.04, 1.2), columnspacing=1)
        axes[3, 0].set_xlabel("time step")
        axes[3, 1].set_xlabel("steps since the switch")
        axes[0, 1].set_title("average over switches", fontsize=9)
    return figure


COLOURS = {"surprise": GREEN, "gamma": PURPLE, "uncertainty": SKY}
ERRORS = (("error_A", BLACK, "-", "SMiLe in A"), ("error_B", ORANGE, "-", "SMiLe in B"),
          ("naive_A", BLACK, "--", "naive in A"), ("naive_B", ORANGE, "--", "naive in B"))  # fmt: skip


def _draw_series(axis: Any, series: DataFrame, name: str) -> None:
    curves = ERRORS if name == "error" else ((name, COLOURS[name], "-", None),)
    for column, colour, line, label in curves:
        shown = smoothed(series[column])[-SHOWN:]
        axis.plot(series.step[-SHOWN:], shown, line, color=colour, label=label, lw=1)


def _draw_aligned(axis: Any, aligned: DataFrame, name: str) -> None:
    bands = [interval(values) for _, values in aligned.groupby("offset")[name]]
    offsets = np.sort(aligned.offset.unique())
    mean, low, high = np.array(bands).T
    colour = COLOURS.get(name, BLUE)
    axis.fill_between(offsets, low, high, color=colour, alpha=0.3, lw=0)
    axis.plot(offsets, mean, color=colour, lw=1)
    axis.axvline(0, color="0.5", lw=0.8, ls=":")


def _mark(axes: Any, series: DataFrame) -> None:
    """Bars while in A, and diamonds 100 steps after a switch to it (if it lasts as long)."""
    shown = series.tail(SHOWN)
    for axis in axes:
        heights = axis.get_xaxis_transform()
        axis.fill_between(
            shown.step, 0.97, 1.0, where=shown.environment == 0, color=VERMILLION, lw=0, step="mid", transform=heights
        )
        at = [t for t in shown.step[shown.switched & (shown.environment == 0)] if _lasts(shown, t, 100)]
        axis.plot(np.array(at) + 100, np.zeros(len(at)), "D", color=BLUE, ms=4, transform=heights, clip_on=False)


def _lasts(shown: DataFrame, start: int, steps: int) -> bool:
    stay = shown[shown.step.between(start, start + steps)]
    return len(stay) > steps and bool((stay.environment == 0).all())


FIGURE_5 = Figure(
    "5", "Signals at a switch", CAPTION, ("figure5_series", "figure5_aligned"), compute, draw, claims
)  # fmt: skip
