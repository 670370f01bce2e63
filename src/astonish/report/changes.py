"""What do past changes look like, and how sure are they?"""

from typing import TYPE_CHECKING

import jax
import numpy as np

from astonish.core.refusal import naming_extra
from astonish.report.style import BLUE, ORANGE, STYLE

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from astonish.changes.changepoints import ChangePosterior


def plot_changes(posterior: "ChangePosterior") -> Figure:
    """The series, an upright line for each change with its interval shaded, and below it how probable a change is."""
    with mpl.rc_context(STYLE):
        figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="constrained")
        places = np.arange(len(posterior.probability))
        for part in jax.tree.leaves(posterior.samples):
            top.plot(places, part.reshape(len(places), -1), "o", ms=2.5, color="0.6")
        for axes in (top, bottom):
            for place, low, high in zip(posterior.places, posterior.low, posterior.high, strict=True):
                axes.axvspan(low - 0.5, high + 0.5, color=ORANGE, alpha=0.3, lw=0)
                axes.axvline(place, color=ORANGE)
        top.set_ylabel("sample")
        bottom.vlines(places, 0.0, posterior.probability, color=BLUE)
        bottom.set(ylabel="probability of a change", ylim=(-0.02, 1.02), xlabel="index")
    return figure
