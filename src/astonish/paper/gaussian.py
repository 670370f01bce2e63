"""Figure 3, panels A and B: does SMiLe follow a mean that jumps, and does gamma rise when it does?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from astonish.beliefs import Gaussian
from astonish.learners import Smile
from astonish.plot import BLUE, GREEN, PURPLE, STYLE, VERMILLION
from astonish.run import History, run
from astonish.tasks.gaussian_jumps import Episode, gaussian_jumps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = 4.0
CAPTION = (
    "A learner that minimises surprise follows a mean that jumps. A: samples, the true mean and the estimate of SMiLe "
    "(m = 0.1, prior as uncertain as one sample); triangles mark the jumps. B: gamma, the weight of each sample."
)


def compute(seed: int = 3, steps: int = 200) -> tuple[Episode, History]:
    """One episode of the task, and SMiLe's way through it."""
    episode = gaussian_jumps(steps, seed, noise=NOISE)
    return episode, run(Smile(Gaussian(noise=NOISE), m=0.1), episode.samples)


def draw(episode: Episode, history: History) -> "Figure":
    """Estimate and truth above, gamma below."""
    import matplotlib.pyplot as plt

    steps = np.arange(1, len(history) + 1)
    jumps = steps[episode.changed]
    with mpl.rc_context(STYLE):
        figure, (top, bottom) = plt.subplots(
            2, 1, sharex=True, figsize=(7, 4.2), height_ratios=(2, 1), layout="constrained"
        )
        top.plot(steps, episode.samples, "o", ms=2.5, color="0.65", label="samples")
        top.step(steps, episode.truth, "--", where="mid", color=VERMILLION, label="true mean")
        top.plot(steps, history.estimate, color=BLUE, label="SMiLe's estimate")
        top.plot(jumps, np.full(len(jumps), 33.0), "v", ms=4, color=GREEN, label="jump")
        top.set(ylabel="position (arbitrary units)", ylim=(-36, 36))
        top.set_title("A", loc="left", fontweight="bold")
        top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        bottom.plot(steps, history.rate, color=PURPLE)
        bottom.plot(jumps, np.full(len(jumps), 1.0), "v", ms=4, color=GREEN)
        bottom.set(ylabel=r"weight $\gamma$", ylim=(0, 1.05), xlabel="time step")
        bottom.set_title("B", loc="left", fontweight="bold")
    return figure


def main(folder: str = "figures") -> None:
    """Draw the figure and say what it shows."""
    mpl.use("Agg")
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    episode, history = compute()
    figure = draw(episode, history)
    for ending in ("png", "pdf"):
        figure.savefig(out / f"figure3ab.{ending}")
    print(f"wrote {out / 'figure3ab.png'} and .pdf")
    print(CAPTION)
    at_jump, between = history.rate[episode.changed].mean(), history.rate[~episode.changed].mean()
    print(f"mean gamma at a jump {at_jump:.2f}, otherwise {between:.2f}")
    learner, sample = (np.abs(x - episode.truth).mean() for x in (history.estimate, episode.samples))
    print(f"mean absolute error of the estimates {learner:.2f}, of the samples themselves {sample:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
