"""Does the probability of a 1 stay as it is, or is it drawn anew? The dynamic belief model of Yu & Cohen (2009)."""

from typing import Any, ClassVar

import jax.numpy as jnp

from astonish.core.names import OutcomeKind
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, Number
from astonish.core.parameters import parameter
from astonish.learners.base import LastChange, StepInfo
from astonish.learners.message_passing import Hypotheses, MessagePassing, MixtureLearner
from astonish.theory.expfam import Belief, Family


class DynamicBelief(MixtureLearner):
    """Before each outcome the probability of a 1 stays as it is with probability `alpha`, or is drawn from the prior.

    It is `MessagePassing` with the hazard `1 - alpha`, under the name and with the parameter of the paper, for outcomes
    0 and 1 and a Beta prior. The fixed belief model of the same paper is `Bayes`. It is exact with as many hypotheses
    as outcomes. The estimate is the probability of a 1 now; the paper's prediction of the next outcome is `alpha` times
    that and `1 - alpha` times the mean of the prior, and the surprise it reports, Shannon's, is of that prediction.
    """

    family: Family
    alpha: Number = parameter(0.8, OPEN_PROBABILITY, (0.5, 0.99), "probability that the world stays as it is")
    prior: Belief | None = None
    hypotheses: int = parameter(50, COUNT, (20, 200), "how many times of the last change are kept in mind", static=True)
    name: ClassVar[str] = "dbm"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.BINARY,)
    free: ClassVar[tuple[str, ...]] = ("alpha",)

    def init(self) -> Hypotheses:
        return self._message_passing.init()

    def step(self, state: Hypotheses, x: Any) -> tuple[Hypotheses, StepInfo]:
        return self._message_passing.step(state, x)

    def last_change(self, state: Hypotheses) -> LastChange:
        return self._message_passing.last_change(state)

    def with_change_times(self, hypotheses: int | None = None) -> MessagePassing:
        return self._message_passing.with_change_times(hypotheses)

    @property
    def _message_passing(self) -> MessagePassing:
        return MessagePassing(self.family, 1 - jnp.asarray(self.alpha), self.prior, self.hypotheses)
