"""Surprise-modulated belief update (Faraji, Preuschoff & Gerstner 2018, Algorithm 1)."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array
from jax.tree_util import Partial

from astonish import rule
from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.expfam import Belief, Family
from astonish.learner import FamilyLearner, Info
from astonish.precision import Number
from astonish.surprise import confidence_corrected


@config
class Smile(FamilyLearner):
    """Learn fast when surprised, slowly otherwise. The surprise it reports is the confidence-corrected one.

    family: what the learner believes about; any of `beliefs/`.
    prior: belief before the first sample; the family's own when left out.
    reference: a proper belief in place of flatness, where one sample leaves the scaled likelihood improper.
    """

    family: Family
    m: Number = parameter(
        0.1, Domain(0.0), (0.01, 1.0), "readiness to change one's mind; 0 never learns, a huge one keeps one sample"
    )
    prior: Belief | None = None
    reference: Belief | None = None
    name: ClassVar[str] = "smile"
    free: ClassVar[tuple[str, ...]] = ("m",)
    own_defaults: ClassVar[tuple[str, ...]] = ("std",)  # as uncertain as one sample, as in the paper

    def step(self, state: Belief, x: Any) -> tuple[Belief, Info]:
        update = rule.smile(self.family, state, x, self.m, self.reference)
        return update.belief, Info(update.surprise, update.gamma)


@config
class Modulated(FamilyLearner):
    """SMiLe with `gamma` a function of surprise of one's own (note 2 of Algorithm 1).

    gamma: takes the confidence-corrected surprise to a number from 0 to 1. To make parameters of it leaves of the
    learner, pass a `jax.tree_util.Partial`.
    """

    family: Family
    gamma: Callable[[Array], Number]
    prior: Belief | None = None
    reference: Belief | None = None

    def __post_init__(self) -> None:
        if callable(self.gamma) and not isinstance(self.gamma, Partial):
            object.__setattr__(self, "gamma", Partial(self.gamma))

    def step(self, state: Belief, x: Any) -> tuple[Belief, Info]:
        surprise = confidence_corrected(self.family, state, x, self.reference)
        gamma = jnp.asarray(self.gamma(surprise))
        return rule.step(self.family, state, x, gamma, self.reference), Info(surprise, gamma)
