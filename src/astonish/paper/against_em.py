"""Figure 7: is a learner that knows how the world is built better than one that is only surprised?"""

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from pandas import DataFrame, concat

from astonish.paper.agents import EM_RATE, Setting, Signals, current, errors, setting, smile, watch, watch_em
from astonish.paper.claims import Claim, interval, median, verdict
from astonish.paper.figure import Figure
from astonish.paper.study import Numbers, Study
from astonish.paper.sweeps import FROZEN, summary
from astonish.plot import BLACK, BLUE, STYLE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SMALL_M = 0.01  # at which SMiLe's error is smallest, see the figure "sweeps"
CAPTION = (
    "SMiLe (m = 0.1, black), which has one model of the world, and online EM (blue), which knows that there are two "
    f"environments (learning rate {EM_RATE:g}). A: error in environment A over one walk of 20000 steps, and the same "
    "for early and late steps; bars: the walk is in A. Online EM does not change its estimate in the first 2000 steps. "
    "B: surprise of SMiLe (smoothed by an exponential moving average that forgets a tenth per step) and the "
    "probability of being in A that online EM infers, in the late steps."
)


def compute(study: Study) -> Numbers:
    """One walk in full, and what became of all."""
    return study.tables(FIGURE_7.tables, lambda: _simulate(study))


def _simulate(study: Study) -> Numbers:
    where = setting(study)
    ours, em = watch(smile(), where), watch_em(where, seed=study.seed)
    return {"figure7_series": _series(where, ours, em), "figure7_walks": _walks(where, ours, em)}


def _series(where: Setting, ours: Signals, em: Signals) -> DataFrame:
    columns = {"step": np.arange(1, ours.surprise.shape[1] + 1), "environment": where.walk.environment[0]}
    errors_in_a = {"smile": ours.errors[0, :, 0], "em": em.errors[0, :, 0]}
    return DataFrame({**columns, **errors_in_a, "surprise": ours.surprise[0], "p_a": em.uncertainty[0]})


def _walks(where: Setting, ours: Signals, em: Signals) -> DataFrame:
    """Per learner and walk: how soon it was accurate, and how accurate it became."""
    rival = summary(where, em.errors).assign(learner="online EM", found=_found_out(where, em), frozen=_unchanged(em))
    careful = summary(where, errors(smile(SMALL_M), where)).assign(learner="SMiLe, m = 0.01")
    early = {
        "SMiLe": current(where.walk.environment, ours.errors),
        "online EM": current(where.walk.environment, em.errors),
    }
    tables = [summary(where, ours.errors).assign(learner="SMiLe"), rival, careful]
    return concat([t.assign(early=early[n][:, :FROZEN].mean(1)) if (n := t.learner[0]) in early else t for t in tables])


def _found_out(where: Setting, em: Signals) -> Any:
    """The probability that online EM gives to the true environment, in the last quarter."""
    right = np.where(where.walk.environment == 0, em.uncertainty, 1 - em.uncertainty)
    return right[:, -right.shape[1] // 4 :].mean(1)


def _unchanged(em: Signals) -> Any:
    """Whether its errors were the same in all steps before it starts to learn."""
    return np.ptp(em.errors[:, : FROZEN - 1], axis=1).max(1) == 0


def claims(numbers: Numbers) -> list[Claim]:
    """Who is faster, and who is better in the end."""
    table = numbers["figure7_walks"]
    ours, careful, em = (
        table[table.learner == name].set_index("episode") for name in ("SMiLe", "SMiLe, m = 0.01", "online EM")
    )
    return [_ten_times(ours, careful, em), _early(ours, em), _late(ours, em), _where(em)]


def _ten_times(ours: DataFrame, careful: DataFrame, em: DataFrame) -> Claim:
    ratio, in_a = (median(em[name] / careful[name]) for name in ("first", "first_in_a"))
    learning = median((em["first"] - FROZEN) / careful["first"])
    reached = ours["first"].notna().mean()
    return Claim(
        "section 2.4, maze",
        "Online EM takes ten times longer than SMiLe to bring the error below 0.002.",
        "10 times (SMiLe: below 1000 steps)",
        f"SMiLe at m = 0.1 ever does in {reached:.0%} of the walks. At m = 0.01 it does after "
        f"{median(careful['first'])} "
        f"steps, online EM after {median(em['first'])}, {ratio} times as long; for environment A alone {in_a} times "
        "(medians over walks)",
        verdict([reached > 0.5, ratio.low <= 10 <= ratio.high]),
        f"Most of it is the 2000 steps in which online EM does not learn (without them {learning} times); the factor "
        "depends on m and on the learning rate (figure sweeps).",
    )


def _early(ours: DataFrame, em: DataFrame) -> Claim:
    gap = interval(em.early - ours.early)
    return Claim(
        "Fig. 7A, early",
        "In the early phase SMiLe learns faster; online EM's error stays fixed for 2000 steps.",
        "SMiLe quickly learns after a switch",
        f"error in the current environment in the first 2000 steps: SMiLe {interval(ours.early)}, online EM "
        f"{interval(em.early)}; unchanged for 2000 steps in {em.frozen.mean():.0%} of the walks",
        verdict([gap.low > 0, bool(em.frozen.astype(bool).all())]),
        "Online EM starts from random chances and only collects statistics at first.",
    )


def _late(ours: DataFrame, em: DataFrame) -> Claim:
    gap = interval(ours.late - em.late)
    return Claim(
        "Fig. 7A, late",
        "In the long run online EM is the better of the two.",
        "better, faster after a switch",
        f"error in the current environment in the last quarter: online EM {interval(em.late)}, SMiLe "
        f"{interval(ours.late)}, difference {gap}",
        verdict([gap.low > 0]),
        "It keeps what it knows of an environment while it is in the other; SMiLe has to learn it anew.",
    )


def _where(em: DataFrame) -> Claim:
    return Claim(
        "Fig. 7B",
        "Online EM infers which environment it is in.",
        "P(A) follows the environment",
        f"probability given to the true environment in the last quarter: {interval(em.found)}",
        verdict([interval(em.found).low > 0.9]),
        "Most moves are possible in one environment only, so a few suffice.",
    )


def draw(numbers: Numbers) -> "Drawing":
    """The whole walk, its early and late steps, and what the learners make of the latter."""
    import matplotlib.pyplot as plt

    series = numbers["figure7_series"]
    early, late = series[(series.step > 500) & (series.step <= 2500)], series.tail(1500)
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplot_mosaic("aa;bc;dd", figsize=(7.2, 6.6), layout="constrained")
        for name, part in (("a", series), ("b", early), ("c", late)):
            axes[name].plot(part.step, part.smile, color=BLACK, lw=0.6 if name == "a" else 1, label="SMiLe")
            axes[name].plot(part.step, part.em, color=BLUE, lw=1.2, label="online EM")
            axes[name].set(ylabel=r"error in A, $E_A$", ylim=(0, None))
            _mark(axes[name], part)
        axes["a"].legend(loc="upper right", ncols=2, bbox_to_anchor=(1, 1.16))
        for name, letter in (("a", "A"), ("d", "B")):
            axes[name].set_title(letter, loc="left", fontweight="bold")
        _draw_inference(axes["d"], late)
        for axis in axes.values():
            axis.set_xlabel("time step")
    return figure


def _draw_inference(axis: Any, late: DataFrame) -> None:
    axis.plot(late.step, late.surprise.ewm(alpha=0.1, adjust=False).mean(), color=BLACK, lw=1)
    axis.set_ylabel("surprise $S_{cc}$ (nats)")
    other = axis.twinx()
    other.plot(late.step, late.p_a, color=BLUE, lw=1)
    other.set_ylabel("probability of A\n(online EM)", color=BLUE)
    other.set_ylim(-0.02, 1.1)
    _mark(axis, late)


def _mark(axis: Any, part: DataFrame) -> None:
    heights = axis.get_xaxis_transform()
    axis.fill_between(
        part.step, 0.97, 1, where=part.environment == 0, color=VERMILLION, lw=0, step="mid", transform=heights
    )


FIGURE_7 = Figure(
    "7", "SMiLe against online EM", CAPTION, ("figure7_series", "figure7_walks"), compute, draw, claims
)  # fmt: skip
