"""Which learner errs least on average, over many random seeds?"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from astonish.core.domain import FloatArray
from astonish.page.controls import Json

CLEAR = 2.0  # standard errors of a difference with which the difference is compared


class Average(NamedTuple):
    """A mean over seeds, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Any) -> "Average":
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))


def compared(errors: Mapping[str, FloatArray]) -> Json:
    """The mean error of each learner, which is least, and whether it is so clearly. errors: by learner, one per seed.

    Learners are compared seed by seed, so that what is hard for all of them does not count.
    """
    found = {name: Average.of(each) for name, each in errors.items()}
    answer = {name: average._asdict() for name, average in found.items()}
    if len(found) < 2:
        return {"learners": answer, "best": None, "words": "Choose several learners, and their errors are compared."}
    best, second, *_ = sorted(found, key=lambda name: found[name].mean)
    words = _words(best, second, Average.of(errors[second] - errors[best]), len(errors[best]))
    return {"learners": answer, "best": best, "words": words}


def _words(best: str, second: str, gap: Average, seeds: int) -> str:
    clear = "more" if gap.mean > CLEAR * gap.error else "not more"
    return (
        f"Over {seeds} random seeds, {best} has the least mean squared error. That of {second}, the second, is larger "
        f"by {gap.mean:.3g} ± {gap.error:.2g} (paired by seed; ± 1 standard error), which is {clear} than {CLEAR:g} "
        "standard errors."
    )
