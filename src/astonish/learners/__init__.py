"""Learners: each a frozen dataclass with `init`, `step` and `estimate` (see `learner.Learner`)."""

from astonish.learners.bayes import Bayes, Evidence, Leaky
from astonish.learners.delta import Delta
from astonish.learners.nassar import Nassar2010
from astonish.learners.online_em import OnlineEM
from astonish.learners.smile import Modulated, Smile

__all__ = ["Bayes", "Delta", "Evidence", "Leaky", "Modulated", "Nassar2010", "OnlineEM", "Smile"]
