"""Learners: each a frozen dataclass with `init`, `step` and `estimate` (see `learner.Learner`)."""

from astonish.learners.bayes import Bayes, Evidence, Leaky
from astonish.learners.delta import Delta
from astonish.learners.smile import Modulated, Smile

__all__ = ["Bayes", "Delta", "Evidence", "Leaky", "Modulated", "Smile"]
