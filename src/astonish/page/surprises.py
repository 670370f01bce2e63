"""How surprised are learners, by one measure for all of them?"""

from collections.abc import Collection

import numpy as np

from astonish.core.domain import FloatArray
from astonish.core.precision import double
from astonish.learners.base import Learner
from astonish.online.measures import applicable, measure
from astonish.online.series import History

OWN, ERROR = "own", "absolute_error"
MEASURES = {
    "shannon": "Shannon surprise, -ln p(x) (nats)",
    ERROR: "size of the prediction error (units of the samples)",
    "confidence_corrected": "confidence-corrected surprise (nats)",
    "bayes_factor": "logarithm of the Bayes factor (nats)",
    "bayesian": "Bayesian surprise (nats)",
    OWN: "each learner's own measure",
}


class Surprises:
    """Finds a measure for learners of a world; which of them have it is found out once for each name."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def of(self, name: str, history: History, measured: str) -> FloatArray | None:
        """The surprise at each sample; None if the learner of this name does not have this measure."""
        learner = history.learner
        if measured in (OWN, learner.surprise_measure):
            return history.surprise
        if measured == ERROR:
            return np.abs(history.samples - _predictions(history))
        if name not in self._known:
            self._known[name] = frozenset(applicable(learner))
        if measured not in self._known[name]:
            return None
        return measure(learner, history.samples, names=[measured])[measured].to_numpy()


def about(measured: str, learners: dict[str, Learner], without: Collection[str]) -> str:
    """What is shown as surprise, in sentences. without: the learners that do not have the measure."""
    if measured == OWN:
        each = [
            f"{name}: {MEASURES.get(learner.surprise_measure, 'one that it defines')}"
            for name, learner in learners.items()
        ]
        return f"Surprise is measured differently by each learner, so that heights do not compare. {'; '.join(each)}."
    missing = f" Not shown, for they do not have it: {', '.join(without)}." if without else ""
    return f"Surprise is the {MEASURES[measured]} for all learners.{missing}"


def _predictions(history: History) -> FloatArray:
    """The estimate before each sample."""
    learner = history.learner
    with double():
        first = float(learner.estimate(learner.init()))
    return np.append(first, history.estimate[:-1])
