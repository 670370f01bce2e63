"""Surprise-driven learning: how surprising is each observation, and how far should it change a mind?

Implements Faraji, Preuschoff & Gerstner (2018), "Balancing New Against Old Information: The Role of Surprise in
Learning", Neural Computation 30(1).
"""

from astonish import expfam, rule, surprise
from astonish.bank import Bank, Steps
from astonish.beliefs import (
    Beta,
    Dirichlet,
    Exponential,
    Gaussian,
    GaussianVector,
    Grid,
    NormalGamma,
    Poisson,
    Regression,
    finite,
)
from astonish.changes import Detector, change_points, run_lengths
from astonish.compare import Comparison, compare
from astonish.learner import Info, PerContext, Trace, scan
from astonish.learners import (
    Bayes,
    Delta,
    Kalman,
    Leaky,
    MessagePassing,
    Modulated,
    Nassar2010,
    Nassar2012,
    NassarGaussian2010,
    NassarGaussian2012,
    OnlineEM,
    ParticleFilter,
    PearceHall,
    Smile,
    VarSmile,
)
from astonish.memory import load_state, save_state
from astonish.run import History, run, run_many
from astonish.stream import Step, Stream
from astonish.surprises import surprises

__version__ = "0.1.0"
__all__ = [
    "Bank",
    "Bayes",
    "Beta",
    "Comparison",
    "Delta",
    "Detector",
    "Dirichlet",
    "Exponential",
    "Gaussian",
    "GaussianVector",
    "Grid",
    "History",
    "Info",
    "Kalman",
    "Leaky",
    "MessagePassing",
    "Modulated",
    "Nassar2010",
    "Nassar2012",
    "NassarGaussian2010",
    "NassarGaussian2012",
    "NormalGamma",
    "OnlineEM",
    "ParticleFilter",
    "PearceHall",
    "PerContext",
    "Poisson",
    "Regression",
    "Smile",
    "Step",
    "Steps",
    "Stream",
    "Trace",
    "VarSmile",
    "change_points",
    "compare",
    "expfam",
    "finite",
    "load_state",
    "rule",
    "run",
    "run_lengths",
    "run_many",
    "save_state",
    "scan",
    "surprise",
    "surprises",
]
