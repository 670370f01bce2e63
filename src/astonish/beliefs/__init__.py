"""Families of beliefs: a file and a line for each; the usual one for a kind of outcomes comes first."""

from typing import TYPE_CHECKING

from astonish.core.names import exports

if TYPE_CHECKING:  # isort: off
    from .gaussian import Gaussian as Gaussian, GaussianBelief as GaussianBelief  # gaussian
    from .dirichlet import Beta as Beta, BetaBelief as BetaBelief  # beta
    from .beta_interval import BetaInterval as BetaInterval, BetaIntervalBelief as BetaIntervalBelief  # beta-interval
    from .dirichlet import Dirichlet as Dirichlet, DirichletBelief as DirichletBelief  # dirichlet
    from .gamma import Poisson as Poisson, GammaBelief as GammaBelief  # poisson
    from .gamma import Exponential as Exponential  # exponential
    from .normal_gamma import NormalGamma as NormalGamma, NormalGammaBelief as NormalGammaBelief  # normal-gamma
    from .regression import GaussianVector as GaussianVector, VectorBelief as VectorBelief  # -
    from .regression import Regression as Regression  # -
    from .von_mises import VonMises as VonMises, VonMisesBelief as VonMisesBelief  # von-mises
    from .grid import Grid as Grid, GridBelief as GridBelief  # -
    from .grid import finite as finite  # -
    from .rows import Rows as Rows, RowsBelief as RowsBelief  # -
else:
    __all__, __getattr__, __dir__ = exports(__name__)
