"""Figure 7: is a learner that knows how the world is built better than one that is only surprised?"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame, Series, concat

from astonish.core.numbers import FloatArray
from astonish.paper.agents import (
    EM_RATE,
    OURS,
    MazeWalks,
    OnlineEMSettings,
    current,
    errors,
    signals_of,
    signals_of_em,
    smile,
    walks_of,
)
from astonish.paper.claims import Claim, interval, median, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.paper.figure5 import AFTER, isolated, mark_environment
from astonish.paper.sweeps import FROZEN, SMALL_M, SOON, about_ten, summary, times_as_long
from astonish.report.style import BLACK, BLUE

CAPTION = (
    "SMiLe (m = 0.1, black), which has one model of the world, and online EM (blue), which knows that there are two "
    f"environments (learning rate {EM_RATE:g}). A: error in environment A over one walk of 20000 steps, and the same "
    "for early and late steps; bars: the walk is in A. Online EM does not change its estimate in the first 2000 steps. "
    "B: surprise of SMiLe (smoothed by an exponential moving average that forgets a tenth per step) and the "
    "probability of being in A that online EM infers, in the late steps."
)


def simulate(run: RunSettings, em_settings: OnlineEMSettings = OURS, where: MazeWalks | None = None) -> Tables:
    """Of one walk all steps, and of every learner in every walk how soon it was accurate, and how accurate it became.

    found: the probability that online EM gives to the true environment, in the last quarter. frozen: whether its errors
    were the same in all steps before it starts to learn. early: the mean error before that. aligned: the mean error
    around the switches in the second half of each walk; that of online EM is of what it expects, whichever the
    environment: both of its estimates, each weighted by the probability of being there.
    """
    where = where or walks_of(run)
    ours, em = signals_of(smile(), where), signals_of_em(where, run.seed, em_settings)
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
    around = {"smile": current(environment, ours.errors), "em": current(environment, em.mixed)}
    return {"series": series, "walks": concat(walks), "aligned": _aligned(where.walk.switched, around)}


def _aligned(switched: Any, errors: dict[str, Any]) -> DataFrame:
    """The mean of each error at each offset from the late switches of each walk that have no other near them."""
    offsets, tables = np.arange(AFTER), []
    for episode, times in enumerate(map(isolated, switched)):
        late = times[times > len(switched[episode]) / 2, None] + offsets
        means = {name: each[episode][late].mean(0) for name, each in errors.items()} if len(late) else {}
        tables.append(DataFrame({"episode": episode, "offset": offsets, "smile": np.nan, "em": np.nan} | means))
    return concat(tables)


def claims(tables: Tables) -> list[Claim]:
    """Who is faster, and who is better in the end."""
    table = tables["walks"]
    ours, careful, em = (
        table[table.learner == name].set_index("episode") for name in ("SMiLe", "SMiLe, m = 0.01", "online EM")
    )
    slower, better = interval(em.early - ours.early), interval(ours.late - em.late)
    return [
        *_speed(ours.first_in_a, careful.first_in_a, em.first_in_a),
        Claim(
            "em.early",
            "Fig. 7A, early",
            "In the early phase SMiLe learns faster; online EM's error stays fixed for 2000 steps.",
            "SMiLe quickly learns after a switch",
            f"error in the current environment in the first 2000 steps: SMiLe {interval(ours.early)}, online EM "
            f"{interval(em.early)}; unchanged for 2000 steps in {em.frozen.mean():.0%} of the walks",
            verdict([slower.low > 0, bool(em.frozen.astype(bool).all())]),
            "Online EM starts from random probabilities and only collects statistics at first; it need not (figure "
            "em).",
        ),
        Claim(
            "em.late",
            "Fig. 7A, late",
            "In the long run online EM is the more accurate of the two.",
            "more accurate",
            f"error in the current environment in the last quarter: online EM {interval(em.late)}, SMiLe "
            f"{interval(ours.late)}, difference {better}",
            verdict([better.low > 0]),
            "It keeps what it knows of an environment while it is in the other; SMiLe has to learn it anew.",
        ),
        _adapts_faster(tables["aligned"]),
        Claim(
            "em.infers",
            "Fig. 7B",
            "Online EM infers which environment it is in.",
            "P(A) follows the environment",
            f"probability given to the true environment in the last quarter: {interval(em.found)}",
            verdict([interval(em.found).low > 0.9]),
            "Most moves are possible in one environment only, so a few suffice. Counted as inferring above 0.9.",
        ),
    ]


def _speed(ours: Series, careful: Series, em: Series) -> list[Claim]:
    """The two statements about speed, at the paper's m, in A; each number is that of a walk's first accurate step."""
    soon, reached = (ours <= SOON).mean(), ours.notna().mean()
    ratio = times_as_long(em, ours)
    at_small, without = times_as_long(em, careful), times_as_long(em - FROZEN, careful)
    return [
        Claim(
            "speed.accurate",
            "section 2.4, maze",
            "Within 1000 steps SMiLe brings the error in A, while it is in A, below 0.002.",
            "it does, at m = 0.1",
            f"in {soon:.0%} of the walks; in all 20000 steps in {reached:.0%}",
            verdict([soon > 0.5]),
            f"Counted as holding if it does in most walks. At m = {SMALL_M:g} it does after "
            f"{median(careful.fillna(np.inf))} steps (figure sweeps). With the paper's norm read as a spectral norm it "
            "does at m = 0.1 (figure readings).",
        ),
        Claim(
            "speed.ten-times",
            "section 2.4, maze",
            "Online EM takes ten times longer than SMiLe to bring the error in A below 0.002.",
            "10 times, at m = 0.1",
            f"online EM takes {median(em.fillna(np.inf))} steps; SMiLe "
            + (f"is {ratio} times as fast" if reached > 0.5 else f"never does in {1 - reached:.0%} of the walks"),
            verdict([reached > 0.5 and about_ten(ratio)]),
            f"Counted as ten times: five to twenty. At m = {SMALL_M:g}, where SMiLe does, online EM takes {at_small} "
            f"times as long, or {without} times without the 2000 steps in which it does not learn (figure em). "
            "With the paper's norm read as a spectral norm it is about ten times (figure readings).",
        ),
    ]


def _adapts_faster(aligned: DataFrame) -> Claim:
    half = {name: _halved(aligned.pivot(index="episode", columns="offset", values=name)) for name in ("smile", "em")}
    ours, em = (median(steps) for steps in half.values())
    saved = median(half["smile"] - half["em"])
    return Claim(
        "em.adapts",
        "Fig. 7A, late",
        "Late in learning, online EM adapts to the new environment faster than SMiLe.",
        "faster",
        f"steps after a switch until half of the error at the switch is left: online EM {em}, SMiLe {ours} (medians "
        f"over walks), difference {saved}",
        verdict([saved.low > 0]),
        "Online EM's estimate is its mixture of both environments, weighted by the probability of being in each: it "
        "need not learn the environment anew, only notice it.",
    )


def _halved(errors: DataFrame) -> FloatArray:
    """The first offset at which the error is half that at the switch, in each row; the number of offsets if never."""
    small = errors.to_numpy() <= 0.5 * errors.to_numpy()[:, :1]
    return np.where(errors[0].isna(), np.nan, np.where(small.any(1), small.argmax(1), errors.shape[1]))


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


FIGURE_7 = Figure("7", "SMiLe against online EM", CAPTION, simulated({"walks": simulate}), draw, claims)
