"""Surprise-driven learning: how surprising is each observation, and how far should it change a mind?

Implements Faraji, Preuschoff & Gerstner (2018), "Balancing New Against Old Information: The Role of Surprise in
Learning", Neural Computation 30(1).
"""

from astonish import expfam, rule, surprise
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
from astonish.learner import Info, PerContext, Trace, scan
from astonish.learners import Bayes, Delta, Leaky, Modulated, Nassar2010, OnlineEM, Smile
from astonish.memory import load_state, save_state
from astonish.run import History, run, run_many
from astonish.stream import Step, Stream

__version__ = "0.1.0"
__all__ = [
    "Bayes", "Beta", "Delta", "Dirichlet", "Exponential", "Gaussian", "GaussianVector", "Grid", "History", "Info",
    "Leaky", "Modulated", "Nassar2010", "NormalGamma", "OnlineEM", "PerContext", "Poisson", "Regression", "Smile",
    "Step", "Stream", "Trace", "expfam", "finite", "load_state", "rule", "run", "run_many", "save_state", "scan",
    "surprise",
]  # fmt: skip
