"""Figure 7: is a learner that knows how the world is built better than one that is only surprised?"""

import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame, concat

from astonish.paper.agents import EM_RATE, current, errors, signals_of, signals_of_em, smile, walks_of
from astonish.paper.claims import Claim, interval, median, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.paper.figure5 import mark_environment
from astonish.paper.sweeps import FROZEN, summary
from astonish.report.style import BLACK, BLUE

SMALL_M = 0.01  # at which SMiLe's error is smallest, see the figure "sweeps"
CAPTION = (
    "SMiLe (m = 0.1, black), which has one model of the world, and online EM (blue), which knows that there are two "
    f"environments (learning rate {EM_RATE:g}). A: error in environment A over one walk of 20000 steps, and the same "
    "for early and late steps; bars: the walk is in A. Online EM does not change its estimate in the first 2000 steps. "
    "B: surprise of SMiLe (smoothed by an exponential moving average that forgets a tenth per step) and the "
    "probability of being in A that online EM infers, in the late steps."
)


def _simulate(run: RunSettings) -> Tables:
    """One walk in full, and per learner and walk how soon it was accurate, and how accurate it became.

    found: the probability that online EM gives to the true environment, in the last quarter. frozen: whether its errors
    were the same in all steps before it starts to learn. early: the mean error before that.
    """
    where = walks_of(run)
    ours, em = signals_of(smile(), where), signals_of_em(where, seed=run.seed)
    columns = {"step": np.arange(1, ours.surprise.shape[1] + 1), "environment": where.walk.environment[0]}
    columns |= {"smile": ours.errors[0, :, 0], "em": em.errors[0, :, 0]}  # in A
    series = DataFrame({**columns, "surprise": ours.surprise[0], "p_a": em.uncertainty[0]})
    environment = where.walk.environment
    right = np.where(environment == 0, em.uncertainty, 1 - em.uncertainty)
    found = right[:, -right.shape[1] // 4 :].mean(1)
    frozen = np.ptp(em.errors[:, : FROZEN - 1], axis=1).max(1) == 0
    early, em_early = (current(environment, each.errors)[:, :FROZEN].mean(1) for each in (ours, em))
    walks = [
        summary(where, ours.errors).assign(learner="SMiLe", early=early),
        summary(where, em.errors).assign(learner="online EM", found=found, frozen=frozen, early=em_early),
        summary(where, errors(smile(SMALL_M), where)).assign(learner="SMiLe, m = 0.01"),
    ]
    return {"series": series, "walks": concat(walks)}


def claims(tables: Tables) -> list[Claim]:
    """Who is faster, and who is better in the end."""
    table = tables["walks"]
    ours, careful, em = (
        table[table.learner == name].set_index("episode") for name in ("SMiLe", "SMiLe, m = 0.01", "online EM")
    )
    ratio, in_a = (median(em[name] / careful[name]) for name in ("first", "first_in_a"))
    learning = median((em["first"] - FROZEN) / careful["first"])
    reached = ours["first"].notna().mean()
    slower, better = interval(em.early - ours.early), interval(ours.late - em.late)
    return [
        Claim(
            "section 2.4, maze",
            "Online EM takes ten times longer than SMiLe to bring the error below 0.002.",
            "10 times (SMiLe: below 1000 steps)",
            f"SMiLe at m = 0.1 ever does in {reached:.0%} of the walks. At m = 0.01 it does after "
            f"{median(careful['first'])} steps, online EM after {median(em['first'])}, {ratio} times as long; for "
            f"environment A alone {in_a} times (medians over walks)",
            verdict([reached > 0.5, ratio.low <= 10 <= ratio.high]),
            f"Most of it is the 2000 steps in which online EM does not learn (without them {learning} times); the "
            "factor depends on m and on the learning rate (figure sweeps).",
        ),
        Claim(
            "Fig. 7A, early",
            "In the early phase SMiLe learns faster; online EM's error stays fixed for 2000 steps.",
            "SMiLe quickly learns after a switch",
            f"error in the current environment in the first 2000 steps: SMiLe {interval(ours.early)}, online EM "
            f"{interval(em.early)}; unchanged for 2000 steps in {em.frozen.mean():.0%} of the walks",
            verdict([slower.low > 0, bool(em.frozen.astype(bool).all())]),
            "Online EM starts from random chances and only collects statistics at first.",
        ),
        Claim(
            "Fig. 7A, late",
            "In the long run online EM is the better of the two.",
            "better, faster after a switch",
            f"error in the current environment in the last quarter: online EM {interval(em.late)}, SMiLe "
            f"{interval(ours.late)}, difference {better}",
            verdict([better.low > 0]),
            "It keeps what it knows of an environment while it is in the other; SMiLe has to learn it anew.",
        ),
        Claim(
            "Fig. 7B",
            "Online EM infers which environment it is in.",
            "P(A) follows the environment",
            f"probability given to the true environment in the last quarter: {interval(em.found)}",
            verdict([interval(em.found).low > 0.9]),
            "Most moves are possible in one environment only, so a few suffice.",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """The whole walk, its early and late steps, and what the learners make of the latter."""
    series = tables["series"]
    early, late = series[(series.step > 500) & (series.step <= 2500)], series.tail(1500)
    figure, axes = plt.subplot_mosaic("aa;bc;dd", figsize=(7.2, 6.6), layout="constrained")
    for name, part in (("a", series), ("b", early), ("c", late)):
        axes[name].plot(part.step, part.smile, color=BLACK, lw=0.6 if name == "a" else 1, label="SMiLe")
        axes[name].plot(part.step, part.em, color=BLUE, lw=1.2, label="online EM")
        axes[name].set(ylabel=r"error in A, $E_A$", ylim=(0, None))
        mark_environment(axes[name], part)
    axes["a"].legend(loc="upper right", ncols=2, bbox_to_anchor=(1, 1.16))
    for name, letter in (("a", "A"), ("d", "B")):
        axes[name].set_title(letter, loc="left", fontweight="bold")
    axes["d"].plot(late.step, late.surprise.ewm(alpha=0.1, adjust=False).mean(), color=BLACK, lw=1)
    axes["d"].set_ylabel("surprise $S_{cc}$ (nats)")
    other = axes["d"].twinx()
    other.plot(late.step, late.p_a, color=BLUE, lw=1)
    other.set_ylabel("probability of A\n(online EM)", color=BLUE)
    other.set_ylim(-0.02, 1.1)
    mark_environment(axes["d"], late)
    for axis in axes.values():
        axis.set_xlabel("time step")
    return figure


FIGURE_7 = Figure("7", "SMiLe against online EM", CAPTION, simulated({"walks": _simulate}), draw, claims)
