"""Figure 7: SMiLe, which is only surprised, against online EM, which knows how the world is built."""

import numpy as np
from pandas import DataFrame, Series, concat

from astonish.core.numbers import FloatArray
from astonish.paper import maze_learners as agents
from astonish.paper.figure import (
    Claim,
    Drawing,
    Figure,
    RunSettings,
    Tables,
    interval,
    letter_panels,
    median,
    verdict,
    wide,
)
from astonish.paper.figure5 import at_switches, mark_environment
from astonish.paper.maze_learners import EM_RATE, FROZEN, OURS, SMALL_M, SOON, MazeWalks, OnlineEMSettings
from astonish.report.style import BLACK, BLUE

CAPTION = (
    "SMiLe (m = 0.1, black), which has one model of the world, and online EM (blue), which knows that there are two "
    f"environments (learning rate {EM_RATE:g}). A: error in environment A over one walk of 20000 steps, and the same "
    "for early and late steps; bars: the walk is in A. Online EM does not change its estimate in the first 2000 steps. "
    "B: surprise of SMiLe (smoothed by an exponential moving average that forgets a tenth per step) and the "
    "probability of being in A that online EM infers, in the late steps."
)


def simulate(run: RunSettings, em_settings: OnlineEMSettings = OURS, where: MazeWalks | None = None) -> Tables:
    """Record all steps of one walk, and how soon every learner was accurate, and how accurate it became, in every walk.

    found: the probability that online EM gives to the true environment, in the last quarter. frozen: whether its errors
    were the same in all steps before it starts to learn. early: the mean error before that. aligned: the mean error
    around the switches in the second half of each walk; that of online EM is of what it expects, whichever the
    environment: both of its estimates, each weighted by the probability of being there.
    """
    where = where or agents.walks_of(run)
    ours, em = agents.signals_of(agents.smile(), where), agents.signals_of_em(where, run.seed, em_settings)
    columns = {"step": np.arange(1, ours.surprise.shape[1] + 1), "environment": where.walk.environment[0]}
    columns |= {"smile": ours.errors[0, :, 0], "em": em.errors[0, :, 0]}  # in A
    series = DataFrame({**columns, "surprise": ours.surprise[0], "p_a": em.uncertainty[0]})
    environment = where.walk.environment
    right = np.where(environment == 0, em.uncertainty, 1 - em.uncertainty)
    inferred = right[:, -right.shape[1] // 4 :].mean(1)
    frozen = np.ptp(em.errors[:, : FROZEN - 1], axis=1).max(1) == 0
    early, em_early = (agents.current(environment, signals.errors)[:, :FROZEN].mean(1) for signals in (ours, em))
    walks = [
        agents.summary(where, ours.errors).assign(learner="SMiLe", early=early),
        agents.summary(where, em.errors).assign(learner="online EM", found=inferred, frozen=frozen, early=em_early),
        agents.summary(where, agents.errors(agents.smile(SMALL_M), where)).assign(learner="SMiLe, m = 0.01"),
    ]
    around = {"smile": agents.current(environment, ours.errors), "em": agents.current(environment, em.mixed)}
    aligned = at_switches(where.walk.switched, around, late=True)
    return {"series": series, "walks": concat(walks), "aligned": aligned}


def claims(tables: Tables) -> list[Claim]:
    """Judge who is faster, and who is better in the end."""
    table, aligned = tables["walks"], tables["aligned"]
    ours, careful, em = (
        table[table.learner == name].set_index("episode") for name in ("SMiLe", "SMiLe, m = 0.01", "online EM")
    )
    slower, better, inferred = interval(em.early - ours.early), interval(ours.late - em.late), interval(em.found)
    half_ours, half_em = (halved(wide(aligned, "episode", "offset", name)) for name in ("smile", "em"))
    saved = median(half_ours - half_em)
    return [
        *speed_claims(ours.first_in_a, careful.first_in_a, em.first_in_a),
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
        Claim(
            "em.adapts",
            "Fig. 7A, late",
            "Late in learning, online EM adapts to the new environment faster than SMiLe.",
            "faster",
            f"steps after a switch until half of the error at the switch is left: online EM {median(half_em)}, SMiLe "
            f"{median(half_ours)} (medians over walks), difference {saved}",
            verdict([saved.low > 0]),
            "Online EM's estimate is its mixture of both environments, weighted by the probability of being in each: "
            "it need not learn the environment anew, only notice it.",
        ),
        Claim(
            "em.infers",
            "Fig. 7B",
            "Online EM infers which environment it is in.",
            "P(A) follows the environment",
            f"probability given to the true environment in the last quarter: {inferred}",
            verdict([inferred.low > 0.9]),
            "Most moves are possible in one environment only, so a few suffice. Counted as inferring above 0.9.",
        ),
    ]


def speed_claims(ours: Series, careful: Series, em: Series) -> list[Claim]:
    """Judge the two statements about speed, at the paper's m, in A, by the first accurate step of each walk."""
    soon, reached = (ours <= SOON).mean(), ours.notna().mean()
    ratio = agents.times_as_long(em, ours)
    at_small, without = agents.times_as_long(em, careful), agents.times_as_long(em - FROZEN, careful)
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
            verdict([reached > 0.5 and agents.about_ten(ratio)]),
            f"Counted as ten times: five to twenty. At m = {SMALL_M:g}, where SMiLe does, online EM takes {at_small} "
            f"times as long, or {without} times without the 2000 steps in which it does not learn (figure em). "
            "With the paper's norm read as a spectral norm it is about ten times (figure readings).",
        ),
    ]


def halved(errors: DataFrame) -> FloatArray:
    """Find the first offset at which the error is half that at the switch in each row; their number if none."""
    small = errors.to_numpy() <= 0.5 * errors.to_numpy()[:, :1]
    return np.where(errors[0].isna(), np.nan, np.where(small.any(1), small.argmax(1), errors.shape[1]))


def draw(tables: Tables) -> Drawing:
    """Draw the whole walk, its early and late steps, and what the learners make of the latter."""
    import matplotlib.pyplot as plt

    series = tables["series"]
    early, late = series[(series.step > 500) & (series.step <= 2500)], series.tail(1500)
    figure, axes = plt.subplot_mosaic("aa;bc;dd", figsize=(7.2, 6.6), layout="constrained")
    for name, part in (("a", series), ("b", early), ("c", late)):
        axes[name].plot(part.step, part.smile, color=BLACK, lw=0.6 if name == "a" else 1, label="SMiLe")
        axes[name].plot(part.step, part.em, color=BLUE, lw=1.2, label="online EM")
        axes[name].set(ylabel=r"error in A, $E_A$", ylim=(0, None))
        mark_environment(axes[name], part)
    axes["a"].legend(loc="upper right", ncols=2, bbox_to_anchor=(1, 1.16))
    letter_panels((axes["a"], axes["d"]), "AB")
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


FIGURE_7 = Figure("7", "SMiLe against online EM", CAPTION, {"walks": simulate}, draw, claims)
