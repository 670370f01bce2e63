"""Learners: each a file with a frozen dataclass (see `learner.Learner`), in the order in which they are listed."""

from astonish.learners.bayes import Bayes, Evidence as Evidence, Leaky
from astonish.learners.delta import Delta
from astonish.learners.kalman import Kalman
from astonish.learners.message_passing import Hypotheses as Hypotheses, MessagePassing
from astonish.learners.nassar import Nassar2010, Nassar2012
from astonish.learners.nassar_gaussian import NassarGaussian2010, NassarGaussian2012
from astonish.learners.online_em import OnlineEM
from astonish.learners.particle_filter import ParticleFilter, Particles as Particles
from astonish.learners.pearce_hall import PearceHall
from astonish.learners.per_context import PerContext
from astonish.learners.smile import Modulated, Smile
from astonish.learners.varsmile import VarSmile
from astonish.learners.volatile_kalman import BinaryVolatileKalman, VolatileKalman, VolatileState as VolatileState

__all__ = [  # noqa: RUF022  # as they are listed everywhere
    "Smile", "VarSmile", "Bayes", "Leaky", "MessagePassing", "ParticleFilter", "Delta", "PearceHall", "Kalman",
    "VolatileKalman", "BinaryVolatileKalman",
    "Nassar2010", "Nassar2012", "NassarGaussian2010", "NassarGaussian2012", "OnlineEM", "Modulated", "PerContext",
]  # fmt: skip
