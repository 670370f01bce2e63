"""What does a learner's history look like?"""

from typing import TYPE_CHECKING, Any

import jax
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from astonish.run import History

# Okabe & Ito's colours, told apart by colour-blind people too
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    mpl.colors.to_hex(c) for c in mpl.color_sequences["okabe_ito"]
)

STYLE: Any = {
    "axes.prop_cycle": cycler(color=[BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
}


def history(history: "History") -> "Figure":
    """Samples and estimates, surprise, and rate over time."""
    with mpl.rc_context(STYLE):
        figure, (top, middle, bottom) = plt.subplots(
            3, 1, sharex=True, figsize=(7, 5), height_ratios=(2, 1, 1), layout="constrained"
        )
        steps = np.arange(1, len(history) + 1)
        estimate = history.estimate.reshape(len(history), -1)
        samples = jax.tree.leaves(history.samples)
        if len(samples) == 1 and samples[0].shape == history.estimate.shape:
            top.plot(steps, samples[0].reshape(len(history), -1), "o", ms=2.5, color="0.6", label="samples")
        top.plot(steps, estimate[:, :8], label=["estimate", *[None] * (min(estimate.shape[1], 8) - 1)])
        top.set_ylabel("estimate")
        top.legend(loc="best", ncols=2)
        middle.plot(steps, history.surprise, color=GREEN)
        middle.set_ylabel("surprise")
        bottom.plot(steps, history.rate, color=PURPLE)
        bottom.set(ylabel="rate", ylim=(-0.02, 1.02), xlabel="sample")
    return figure
