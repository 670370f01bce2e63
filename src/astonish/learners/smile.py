"""Surprise-modulated belief update (Faraji, Preuschoff & Gerstner 2018, Algorithm 1)."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array
from jax.tree_util import Partial

from astonish.core.numbers import FINITE, Domain, Number, double
from astonish.core.parameters import parameter
from astonish.learners.base import FamilyLearner, StepInfo
from astonish.theory import rule
from astonish.theory.expfam import Belief, Family, scaled_likelihood
from astonish.theory.surprise import confidence_corrected

_ZERO_OR_ONE = Domain(0, 1, whole=True)
_WIDE = 0.8  # a range of estimates that leaves little to be desired
_FAINT = 0.1  # of the parameters of a reference with which one outcome says a lot
_SURPRISES = (0.0, 0.1, 1.0, 10.0, 1000.0)  # at which a learning rate of one's own is tried


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

    def caution(self) -> str:
        if self.family.samples != _ZERO_OR_ONE or self.family.support is None:  # of which there are several means
            return ""

        def reach(reference: Belief | None) -> tuple[float, float]:
            """The estimates after outcomes that all are 0, or all are 1, however many there were."""
            low, high = (float(scaled_likelihood(self.family, x, reference).mean) for x in (0, 1))
            return low, high

        names = self.family.prior_parameters
        with double():
            (low, high), first = reach(self.reference), float(self.first_belief.mean)
            if not low <= first <= high or high - low > _WIDE:
                return ""
            advice = "give another learner, such as varsmile, leaky or message-passing"
            if all(known.domain.allows(_FAINT) for known in names.values()):
                least, most = reach(self.family.prior(**dict.fromkeys(names, _FAINT)))
                words = " ".join(f"--set reference.{name}={_FAINT}" for name in names)
                python = f"reference=family.prior({', '.join(f'{name}={_FAINT}' for name in names)})"
                advice = f"{words} ({python}) lets them go from {least:.2g} to {most:.2g}, or {advice}"
        limit = f"SMiLe's estimates stay between {low:.3g} and {high:.3g}, whatever m is, since it never remembers more"
        return f"{limit} than one outcome; {advice}"

    @property
    def surprise_measure(self) -> str:
        return _reported(self.reference)

    def step(self, state: Belief, x: Any) -> tuple[Belief, StepInfo]:
        update = rule.smile(self.family, state, x, self.m, self.reference)
        return update.belief, StepInfo(update.surprise, update.gamma)


class Modulated(FamilyLearner):
    """SMiLe with `gamma` a function of surprise of one's own (note 2 of Algorithm 1).

    gamma: takes the confidence-corrected surprise to a number from 0 to 1; beyond them, the nearer of them counts. To
    make parameters of it leaves of the learner, pass a `jax.tree_util.Partial`.
    """

    family: Family
    gamma: Callable[[Array], Number]
    prior: Belief | None = None
    reference: Belief | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.gamma):
            raise ValueError(f"gamma = {self.gamma!r} is no function; give one from surprise to a number from 0 to 1")
        if not isinstance(self.gamma, Partial):
            object.__setattr__(self, "gamma", Partial(self.gamma))

    def check_parts(self) -> None:
        super().check_parts()
        with double():
            for surprise in _SURPRISES:
                gamma = FINITE.check(f"at a surprise of {surprise:g}, gamma", self.gamma(jnp.asarray(surprise)))
                if gamma.ndim:
                    raise ValueError(f"gamma gives an array of shape {gamma.shape}; give a function to one number")

    @property
    def surprise_measure(self) -> str:
        return _reported(self.reference)

    def step(self, state: Belief, x: Any) -> tuple[Belief, StepInfo]:
        surprise = confidence_corrected(self.family, state, x, self.reference)
        gamma = jnp.asarray(self.gamma(surprise))
        gamma = jnp.where(gamma < 0, 0.0, jnp.where(gamma > 1, 1.0, gamma))
        return rule.step(self.family, state, x, gamma, self.reference), StepInfo(surprise, gamma)


def _reported(reference: Belief | None) -> str:
    """The measure of surprise by which learning is modulated."""
    return "confidence_corrected" if reference is None else "confidence_corrected_reference"
