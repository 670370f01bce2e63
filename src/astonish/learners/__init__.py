"""Learners: each a frozen dataclass with `init`, `step` and `estimate` (see `learner.Learner`)."""

from astonish.learners.bayes import Bayes, Evidence, Leaky
from astonish.learners.delta import Delta
from astonish.learners.kalman import Kalman
from astonish.learners.message_passing import Hypotheses, MessagePassing
from astonish.learners.nassar import Nassar2010, Nassar2012
from astonish.learners.nassar_gaussian import NassarGaussian2010, NassarGaussian2012
from astonish.learners.online_em import OnlineEM
from astonish.learners.particle_filter import ParticleFilter, Particles
from astonish.learners.pearce_hall import PearceHall
from astonish.learners.smile import Modulated, Smile
from astonish.learners.varsmile import VarSmile

__all__ = [
    "Bayes",
    "Delta",
    "Evidence",
    "Hypotheses",
    "Kalman",
    "Leaky",
    "MessagePassing",
    "Modulated",
    "Nassar2010",
    "Nassar2012",
    "NassarGaussian2010",
    "NassarGaussian2012",
    "OnlineEM",
    "ParticleFilter",
    "Particles",
    "PearceHall",
    "Smile",
    "VarSmile",
]
