"""Where do people's values usually lie, on the unconstrained scale on which they are searched for?

Parameters in units of the outcomes, or of the responses, are scaled by the range that these have.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from astonish.core.names import OutcomeKind, ResponseKind
from astonish.core.numbers import FloatArray
from astonish.people.fit.space import Space
from astonish.people.tables import Trials


def usual(space: Space, trials: Trials) -> tuple[FloatArray, FloatArray]:
    """Both ends of the usual range of each parameter, by the range of everybody's data; NaN where it is not known."""
    low, high = _usual(space, {part: _of_all(own) for part, own in _ranges(trials).items()})
    return low[0], high[0]


def usual_of_each(space: Space, trials: Trials) -> tuple[FloatArray, FloatArray]:
    """The same for each participant, a row each, by the range of what they alone saw and did."""
    return _usual(space, _ranges(trials))


def _usual(space: Space, ranges: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    people = len(next(iter(ranges.values())))
    ends = np.full((2, people, len(space)), np.nan)
    for k, (name, known) in enumerate(zip(space.names, space.known, strict=True)):
        if known.usual is not None:
            own = ranges.get(name.partition(".")[0], ranges["learner"])
            filled = np.where(np.isnan(own), [0.0, 1.0], own).tolist()
            ends[:, :, k] = np.transpose([known.usual_between(*each) for each in filled])
    low, high = (replace(space, basis=None).unconstrained(end) for end in ends)
    for place in space.differences:  # between conditions: usually not more than a quarter of the width
        quarter = 0.25 * np.abs(high[:, place] - low[:, place])
        low[:, place], high[:, place] = -quarter, quarter
    return low, high


def _ranges(trials: Trials) -> dict[str, FloatArray]:
    """The smallest and the largest number of each participant; of labels and angles 0 and 1, NaN where there is none.

    By the part of a model whose parameters they concern: outcomes that of the learner, and responses their own. A
    choice follows the estimates, and so the outcomes.
    """
    outcomes = _ends(np.where(trials.observed, trials.scalar_outcomes, np.nan), trials.kind)
    found = {"learner": outcomes, "response": outcomes}
    if trials.responses is not None and trials.response_kind != ResponseKind.CHOICE:
        found["response"] = _ends(trials.responses, trials.response_kind)
    if trials.second is not None:
        found["second"] = _ends(trials.second, OutcomeKind.CONTINUOUS)
    return found


def _ends(values: Any, kind: str | None) -> FloatArray:
    if kind != OutcomeKind.CONTINUOUS:
        return np.tile([0.0, 1.0], (len(values), 1))
    return np.stack([np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)], 1)


def _of_all(ranges: FloatArray) -> FloatArray:
    return np.array([[np.fmin.reduce(ranges[:, 0]), np.fmax.reduce(ranges[:, 1])]])
