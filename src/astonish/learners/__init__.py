"""Learners: a file and a line for each, in the order in which they are listed (see `astonish.core.names`)."""

from typing import TYPE_CHECKING

from astonish.core.names import exports

if TYPE_CHECKING:  # isort: off
    from .smile import Smile as Smile  # smile
    from .varsmile import VarSmile as VarSmile  # varsmile
    from .bayes import Bayes as Bayes, Evidence as Evidence  # bayes
    from .bayes import Leaky as Leaky  # leaky
    from .message_passing import MessagePassing as MessagePassing, Hypotheses as Hypotheses  # message-passing
    from .particle_filter import ParticleFilter as ParticleFilter, Particles as Particles  # particle-filter
    from .delta_mixture import DeltaMixture as DeltaMixture, Nodes as Nodes  # delta-mixture
    from .delta import Delta as Delta  # delta, rw, rescorla-wagner
    from .two_rate import TwoRate as TwoRate  # two-rate, rw2
    from .pearce_hall import PearceHall as PearceHall  # pearce-hall
    from .sutton import SuttonK1 as SuttonK1, Gain as Gain  # sutton-k1
    from .kalman import Kalman as Kalman  # kalman
    from .volatile_kalman import VolatileKalman as VolatileKalman, VolatileState as VolatileState  # vkf
    from .volatile_kalman import BinaryVolatileKalman as BinaryVolatileKalman  # vkf-binary
    from .stochasticity_volatility import StochasticityVolatility as StochasticityVolatility  # stochasticity-volatility
    from .hgf import HGF as HGF  # hgf
    from .hgf import TwoLevelHGF as TwoLevelHGF  # hgf2
    from .hgf import ClassicHGF as ClassicHGF  # hgf-classic
    from .hgf import ContinuousHGF as ContinuousHGF  # hgf-continuous
    from .nassar import Nassar2010 as Nassar2010  # nassar2010
    from .nassar import Nassar2012 as Nassar2012  # nassar2012, reduced-bayes
    from .nassar_gaussian import NassarGaussian2010 as NassarGaussian2010  # nassar-gaussian2010
    from .nassar_gaussian import NassarGaussian2012 as NassarGaussian2012  # nassar-gaussian2012
    from .behrens import Behrens2007 as Behrens2007, JointGrid as JointGrid  # behrens2007
    from .dynamic_belief import DynamicBelief as DynamicBelief  # dbm
    from .reversal_hmm import ReversalHMM as ReversalHMM, Reversal as Reversal  # reversal-hmm
    from .delta_circular import DeltaCircular as DeltaCircular  # delta-circular
    from .nassar_circular import NassarCircular as NassarCircular  # reduced-bayes-circular
    from .no_learning import NoLearning as NoLearning  # no-learning
    from .online_em import OnlineEM as OnlineEM  # -
    from .monitor import Monitor as Monitor, MonitorState as MonitorState  # -
    from .smile import Modulated as Modulated  # -
    from .per_context import PerContext as PerContext  # -
    from .per_option import PerOption as PerOption  # -
    from .stochasticity_volatility import KalmanParticles as KalmanParticles
else:
    __all__, __getattr__, __dir__ = exports(__name__)
