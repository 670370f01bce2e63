"""Families of beliefs: each a few facts (see `expfam.Family`)."""

from astonish.beliefs.dirichlet import Beta, BetaBelief, Dirichlet, DirichletBelief
from astonish.beliefs.finite import Grid, GridBelief, finite
from astonish.beliefs.gamma import Exponential, GammaBelief, Poisson
from astonish.beliefs.gaussian import Gaussian, GaussianBelief
from astonish.beliefs.normal_gamma import NormalGamma, NormalGammaBelief
from astonish.beliefs.regression import GaussianVector, Regression, VectorBelief

__all__ = [
    "Beta",
    "BetaBelief",
    "Dirichlet",
    "DirichletBelief",
    "Exponential",
    "GammaBelief",
    "Gaussian",
    "GaussianBelief",
    "GaussianVector",
    "Grid",
    "GridBelief",
    "NormalGamma",
    "NormalGammaBelief",
    "Poisson",
    "Regression",
    "VectorBelief",
    "finite",
]
