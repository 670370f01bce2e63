"""Families of beliefs: each a file with a few facts (see `expfam.Family`)."""

from astonish.beliefs.beta_interval import BetaInterval, BetaIntervalBelief as BetaIntervalBelief
from astonish.beliefs.dirichlet import Beta, BetaBelief as BetaBelief, Dirichlet, DirichletBelief as DirichletBelief
from astonish.beliefs.gamma import Exponential, GammaBelief as GammaBelief, Poisson
from astonish.beliefs.gaussian import Gaussian, GaussianBelief as GaussianBelief
from astonish.beliefs.grid import Grid, GridBelief as GridBelief, finite
from astonish.beliefs.normal_gamma import NormalGamma, NormalGammaBelief as NormalGammaBelief
from astonish.beliefs.regression import GaussianVector, Regression, VectorBelief as VectorBelief

__all__ = [  # noqa: RUF022  # the usual family for a kind of outcomes comes first
    "Gaussian", "Beta", "BetaInterval", "Dirichlet", "Poisson", "Exponential", "NormalGamma", "GaussianVector",
    "Regression", "Grid", "finite",
]  # fmt: skip
