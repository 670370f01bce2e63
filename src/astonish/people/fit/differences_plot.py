"""What do parameters look like by group and by condition, and over covariates?"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import stdtrit

from astonish.core.numbers import FloatArray
from astonish.core.refusal import naming_extra
from astonish.people.fit.result import Fit
from astonish.people.tables.cells import in_order
from astonish.report.style import BLUE, STYLE

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_ACROSS = 3  # panels in a row
_GOLDEN = 0.6180339887498949  # steps of this size spread dots evenly, however many there are


def plot_differences(fit: Fit) -> Figure:
    """A panel for each parameter and each way in which people, or conditions, differ.

    Dots are participants (lines join the conditions of one), diamonds means with 95 % intervals, both on the
    unconstrained scale; axes are labelled by values. Values at a bound are not shown.
    """
    panels = list(_panels(fit))
    rows, columns = -(-len(panels) // _ACROSS), min(_ACROSS, len(panels))
    with mpl.rc_context(STYLE):
        size = (2.6 * columns + 0.4, 2.6 * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
        for axis in list(axes.flat)[len(panels) :]:
            axis.set_axis_off()
        for axis, (draw, *about) in zip(axes.flat, panels, strict=False):
            draw(axis, fit, *about)
    return figure


def _panels(fit: Fit) -> Iterator[tuple[Any, ...]]:
    own = [k for k, name in enumerate(fit.space.names) if name not in fit.shared]
    if fit.trials.group is not None:
        yield from ((_by_group, k) for k in own)
    yield from ((_by_condition, path, names) for path, names in fit.space.by_condition.items())
    for name in fit.trials.covariates:
        yield from ((_over_covariate, k, name) for k in own)


def _by_group(axis: Any, fit: Fit, k: int) -> None:
    labels = in_order(set(fit.trials.group if fit.trials.group is not None else ()))
    for place, label in enumerate(labels):
        here = np.array([own == label for own in fit.trials.group])  # type: ignore[union-attr]
        _dots(axis, place, _inside(fit, k)[here])
    axis.set_xticks(range(len(labels)), [str(label) for label in labels])
    axis.set(xlabel=fit.trials.columns.group, ylabel=fit.names[k], xlim=(-0.6, len(labels) - 0.4))
    _values_as_labels(axis, fit, k)


def _by_condition(axis: Any, fit: Fit, path: str, names: tuple[str, ...]) -> None:
    places = [fit.space.names.index(name) for name in names]
    values = np.stack([_inside(fit, k) for k in places], axis=1)
    axis.plot(np.arange(len(names)), values.T, color="0.8", lw=0.6, zorder=0)
    for place in range(len(names)):
        _dots(axis, place, values[:, place], spread=0.0)
    axis.set_xticks(range(len(names)), [str(label) for label in fit.trials.conditions])
    axis.set(xlabel=fit.trials.columns.condition, ylabel=path.rpartition(".")[2], xlim=(-0.6, len(names) - 0.4))
    _values_as_labels(axis, fit, places[0])


def _over_covariate(axis: Any, fit: Fit, k: int, name: str) -> None:
    values, numbers = _inside(fit, k), fit.trials.covariates[name]
    there = np.isfinite(values)
    axis.plot(numbers[there], values[there], "o", ms=3, mew=0, color=BLUE, alpha=0.6)
    if there.sum() > 2 and np.ptp(numbers[there]) > 0:
        slope, start = np.polyfit(numbers[there], values[there], 1)
        ends = np.array([numbers[there].min(), numbers[there].max()])
        axis.plot(ends, start + slope * ends, color="black", lw=1)
    axis.set(xlabel=name, ylabel=fit.names[k])
    _values_as_labels(axis, fit, k)


def _inside(fit: Fit, k: int) -> FloatArray:
    """Unconstrained values of a parameter; NaN where they are at a bound."""
    return np.where(fit.space.at_bound(fit.unconstrained)[:, k] == 0, fit.unconstrained[:, k], np.nan)


def _dots(axis: Any, place: int, values: FloatArray, spread: float = 0.4) -> None:
    known = values[np.isfinite(values)]
    across = place + spread * (np.arange(len(known)) * _GOLDEN % 1 - 0.5)
    axis.plot(across, known, "o", ms=3, mew=0, color=BLUE, alpha=0.5)
    if len(known) > 1:
        wide = stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known))
        axis.errorbar(place, known.mean(), yerr=wide, fmt="D", ms=5, color="black", capsize=3, zorder=3)


def _values_as_labels(axis: Any, fit: Fit, k: int) -> None:
    """Labels that are values of the parameter, at places that are unconstrained ones."""
    low, high = axis.get_ylim()
    marks = np.linspace(low, high, 9)[1::2]
    space = fit.space.only(k)
    axis.set_yticks(marks, [f"{value:.2g}" for value in space.constrained(marks[:, None])[:, 0]])
    axis.set_ylim(low, high)
