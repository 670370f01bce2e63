"""Learners: each a file with a frozen dataclass (see `learner.Learner`), in the order in which they are listed."""

from astonish.learners.bayes import Bayes, Evidence as Evidence, Leaky
from astonish.learners.behrens import Behrens2007, JointGrid as JointGrid
from astonish.learners.delta import Delta
from astonish.learners.delta_circular import DeltaCircular
from astonish.learners.delta_mixture import DeltaMixture, Nodes as Nodes
from astonish.learners.dynamic_belief import DynamicBelief
from astonish.learners.hgf import HGF, ClassicHGF, ContinuousHGF, TwoLevelHGF
from astonish.learners.kalman import Kalman
from astonish.learners.message_passing import Hypotheses as Hypotheses, MessagePassing
from astonish.learners.monitor import Monitor, MonitorState as MonitorState
from astonish.learners.nassar import Nassar2010, Nassar2012
from astonish.learners.nassar_circular import NassarCircular
from astonish.learners.nassar_gaussian import NassarGaussian2010, NassarGaussian2012
from astonish.learners.no_learning import NoLearning
from astonish.learners.online_em import OnlineEM
from astonish.learners.particle_filter import ParticleFilter, Particles as Particles
from astonish.learners.pearce_hall import PearceHall
from astonish.learners.per_context import PerContext
from astonish.learners.per_option import PerOption
from astonish.learners.reversal_hmm import Reversal as Reversal, ReversalHMM
from astonish.learners.smile import Modulated, Smile
from astonish.learners.stochasticity_volatility import (
    KalmanParticles as KalmanParticles,
    StochasticityVolatility,
)
from astonish.learners.sutton import Gain as Gain, SuttonK1
from astonish.learners.two_rate import TwoRate
from astonish.learners.varsmile import VarSmile
from astonish.learners.volatile_kalman import BinaryVolatileKalman, VolatileKalman, VolatileState as VolatileState

__all__ = [  # noqa: RUF022  # as they are listed everywhere
    "Smile", "VarSmile", "Bayes", "Leaky", "MessagePassing", "ParticleFilter", "DeltaMixture", "Delta", "TwoRate",
    "PearceHall", "SuttonK1", "Kalman", "VolatileKalman", "BinaryVolatileKalman", "StochasticityVolatility", "HGF",
    "TwoLevelHGF", "ClassicHGF", "ContinuousHGF", "Nassar2010", "Nassar2012", "NassarGaussian2010",
    "NassarGaussian2012", "Behrens2007", "DynamicBelief", "ReversalHMM", "DeltaCircular", "NassarCircular",
    "NoLearning", "OnlineEM", "Monitor", "Modulated", "PerContext", "PerOption",
]  # fmt: skip
