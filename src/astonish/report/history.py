"""What does a learner's history look like?"""

from typing import TYPE_CHECKING

import jax
import numpy as np

from astonish.core.refusal import naming_extra
from astonish.report.style import GREEN, PURPLE, STYLE

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from astonish.online.series import History


def plot_history(history: "History") -> Figure:
    """Samples and estimates, surprise, and learning rate over time."""
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
        bottom.plot(steps, history.learning_rate, color=PURPLE)
        bottom.set(ylabel="learning rate", ylim=(-0.02, 1.02), xlabel="sample")
    return figure
