"""Families of beliefs: a file and a line for each; the usual one for a kind of outcomes comes first."""

from typing import TYPE_CHECKING

from astonish.core.exports import exports

if TYPE_CHECKING:  # isort: off
    from .gaussian import Gaussian as Gaussian  # gaussian
    from .dirichlet import Beta as Beta  # beta
    from .beta_interval import BetaInterval as BetaInterval  # beta-interval
    from .dirichlet import Dirichlet as Dirichlet  # dirichlet
    from .gamma import Poisson as Poisson  # poisson
    from .gamma import Exponential as Exponential  # exponential
    from .normal_gamma import NormalGamma as NormalGamma  # normal-gamma
    from .regression import GaussianVector as GaussianVector  # -
    from .regression import Regression as Regression  # -
    from .von_mises import VonMises as VonMises  # von-mises
    from .grid import Grid as Grid  # -
    from .grid import finite as finite  # -
    from .rows import Rows as Rows  # -

    # the beliefs themselves
    from .beta_interval import BetaIntervalBelief as BetaIntervalBelief
    from .dirichlet import BetaBelief as BetaBelief
    from .dirichlet import DirichletBelief as DirichletBelief
    from .gamma import GammaBelief as GammaBelief
    from .gaussian import GaussianBelief as GaussianBelief
    from .grid import GridBelief as GridBelief
    from .normal_gamma import NormalGammaBelief as NormalGammaBelief
    from .regression import VectorBelief as VectorBelief
    from .rows import RowsBelief as RowsBelief
    from .von_mises import VonMisesBelief as VonMisesBelief
else:
    __all__, __getattr__, __dir__ = exports(__name__)
