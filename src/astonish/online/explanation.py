"""What did one sample do to a learner: what was expected, how surprising was it, and how far did the estimate move?"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from astonish.core.numbers import Domain, as_double, double
from astonish.core.programs import interpreted
from astonish.core.samples import read_series
from astonish.core.special import wrapped
from astonish.learners.base import Learner, State, check
from astonish.online.series import state_before
from astonish.theory import expfam, surprise
from astonish.theory.drawing import CURVES, Drawing, drawn
from astonish.theory.expfam import Belief, Family

__all__ = ["Explanation", "explain"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODULATING = ("confidence_corrected", "confidence_corrected_reference")  # measures of those who move to the target
STAGES = 12  # beliefs on the way from the one before to the one after
_FINE = 41  # points of a curve about each of them


class Change(NamedTuple):
    """Something before and after a sample, and where it would be if the past counted nothing: None if not known."""

    before: Any
    after: Any
    target: Any = None


class Beliefs(NamedTuple):
    """What a learner believed. path: `STAGES` beliefs from the one before to the one after, stacked.

    target: what an observer believes who knows this sample alone: the scaled likelihood, or the posterior of the
    learner's reference; None where one sample leaves it improper, and there is no reference.
    """

    family: Family
    before: Belief
    target: Belief | None
    after: Belief
    path: Belief


@dataclass(frozen=True)
class Explanation:
    """What one sample did to a learner; what the learner does not know is None.

    at: which sample, counted from 0. learner: the one that learned from it: of its context, if there are several.
    outcome: what was seen, None if the sample is missing; seen, context: the same, and where, in words.
    probability: of the outcome, where outcomes are labels; None after it, if the learner holds no belief.
    predicted_std: the standard deviation of the predicted sample; uncertainty: that of the estimate alone.
    surprise: in the learner's own measure, whose name is `learner.surprise_measure`.
    confidence_corrected: the paper's S_cc of the belief, whether or not the learner uses it; terms: what it is the sum
    of (see `surprise.confidence_corrected_terms`). improper: the family in which the scaled likelihood is improper, so
    that S_cc is undefined, or taken against the learner's reference; else empty.
    estimate: before and after. error: the sample minus the expected one, before and after.
    """

    at: int
    learner: Any
    outcome: Any
    seen: str
    context: str
    estimate: Change
    error: Change | None = None
    probability: Change | None = None
    predicted_std: Any = None
    uncertainty: Change | None = None
    surprise: float | None = None
    learning_rate: float | None = None
    change_probability: float | None = None
    confidence_corrected: float | None = None
    terms: Mapping[str, float] | None = None
    improper: str = ""
    beliefs: Beliefs | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether outcomes are labels, of which there are finitely many."""
        return _labels(self.learner)

    @property
    def expected(self) -> Any:
        """The sample to expect, where it is a number."""
        return None if self.error is None else _finite(self.outcome - self.error.before)

    @property
    def place(self) -> float | None:
        """Where the sample is on the axis of the parameter, or of the estimate; None if it is not on it."""
        if self.outcome is None or self.error is None or np.ndim(self.outcome):
            return None
        if self.beliefs is not None and self.drawing is not None and self.drawing.kind == CURVES:
            on_axis = self.drawing.has_samples or self.learner.period is not None
        else:
            on_axis = np.ndim(self.estimate.before) == 0
        period = self.learner.period
        return None if not on_axis else float(self.outcome if period is None else wrapped(self.outcome, period))

    @property
    def moved(self) -> float | None:
        """How far the expected sample moved towards where it could have gone; below 0 if the other way."""
        return None if self._ways is None else self._ways[0]

    @property
    def possible(self) -> float | None:
        """How far it could have: to the target if the learner moves towards one, else to the sample."""
        return None if self._ways is None else self._ways[1]

    @property
    def sentence(self) -> str:
        """All of it in words."""
        from astonish.report.views import sentence

        return sentence(self)

    @cached_property
    def drawing(self) -> Drawing | None:
        """The beliefs on the way, and then the target if there is one, as they are drawn; None without a belief."""
        if self.beliefs is None:
            return None
        family, _, target, _, path = self.beliefs
        with double():
            return drawn(family, path if target is None else jax.tree.map(_appended, path, target), _FINE)

    def plot(self) -> "Figure":
        """Belief before, scaled likelihood and belief after, and the terms of the surprise."""
        from astonish.report.views import plot_explanation

        return plot_explanation(self)

    @cached_property
    def _ways(self) -> tuple[float, float] | None:
        if self.error is None:
            return None
        before, after, target = self.error
        possible = before if target is None else before - target
        moved, period = before - after, self.learner.period
        if period is not None:
            moved, possible = wrapped(moved, period), wrapped(possible, period)
        if np.ndim(moved):
            moved, possible = np.linalg.norm(moved), np.linalg.norm(possible)
        if not np.isfinite(moved) or not np.isfinite(possible):
            return None
        return float(moved * (np.sign(possible) or 1.0)), float(abs(possible))


def explain(learner: Learner, xs: Any, at: int, seen: str = "", context: str = "") -> Explanation:
    """Explain what one sample did to a learner that ran over the series up to it.

    xs: a series as `run` takes it. at: which sample, counted from 0 as everywhere in Python, or from the end if below
    0; in words, sample 17 is at 16. seen, context: what to call the outcome ("room 4"), and where it belongs ("in room
    3"); their numbers if left out.

    >>> from astonish import Gaussian, Smile
    >>> noise = 4.0
    >>> learner = Smile(Gaussian(noise), m=0.1, prior=Gaussian(noise).prior(mean=17.0))
    >>> explain(learner, [-12.0], at=0).sentence
    'Expected 17 ± 6, saw −12: confidence-corrected surprise 26 nats, so gamma = .85 and the estimate moves 25 of 29.'
    """
    check(learner)
    samples, observed = read_series(learner.samples, xs)
    at = _index(at, len(observed))
    x = jax.tree.map(lambda part: part[at], samples)
    where = context or learner.context_of(x)
    with double():
        state = state_before(learner, samples, observed, at)
        if not observed[at]:
            inner, held, _ = learner.in_context(state, x)
            estimate = np.asarray(inner.estimate(held))
            return Explanation(at, inner, None, "", "", Change(estimate, estimate))
        found = _explained(as_double(learner), state, x)
        local: tuple[Any, State, Any] = learner.in_context(state, x)
    inner, _, sample = local
    outcome = np.asarray(jax.tree.leaves(sample)[-1])
    holds = found.get("beliefs") is not None
    improper = type(inner.family).__name__ if holds and not inner.family.proper_likelihood else ""
    return Explanation(at, inner, outcome, seen, where, improper=improper, **_checked(found))


def _index(at: int, length: int) -> int:
    """Which sample is meant, counted from 0."""
    asked = operator.index(at)
    if not -length <= asked < length:
        raise ValueError(f"at = {asked} is not allowed; give a whole number from 0 to {length - 1}, or from the end")
    return asked % length


@interpreted
def _explained(learner: Learner, state: State, x: Any) -> dict[str, Any]:
    """What a step does: the fields of an explanation, in arrays."""
    new, info = learner.step(state, x)
    (inner, held, sample), (_, left, _) = learner.in_context(state, x), learner.in_context(new, x)
    errors = inner.error(held, sample), inner.error(left, sample)
    widths = inner.uncertainty(held), inner.uncertainty(left)
    found = {
        **info._asdict(),
        "estimate": Change(inner.estimate(held), inner.estimate(left)),
        "error": None if errors[0] is None else Change(*errors),
        "uncertainty": None if widths[0] is None else Change(*widths),
    }
    before, after = inner.belief(held), inner.belief(left)
    if before is None:
        return {**found, "probability": _without_belief(inner, info.surprise)}
    return found | _of_beliefs(inner, before, after, sample, found["error"])


def _without_belief(learner: Learner, surprise: Any) -> Change | None:
    """The probability of an outcome that is a label, from a surprise that is minus its logarithm."""
    if not _labels(learner) or learner.surprise_measure != "shannon":
        return None
    return Change(jnp.exp(-surprise), None)


def _of_beliefs(learner: Any, before: Belief, after: Belief, x: Any, error: Change | None) -> dict[str, Any]:
    """What there is to say of a learner that holds a belief."""
    family, reference = learner.family, learner.reference
    knows_target = family.proper_likelihood or reference is not None
    target = expfam.scaled_likelihood(family, x, reference) if knows_target else None
    heads_for_it = knows_target and learner.surprise_measure in MODULATING

    def probability(belief: Belief) -> Any:
        return jnp.exp(expfam.log_evidence(family, belief, x))

    found: dict[str, Any] = {"predicted_std": family.predicted_std(before, x)}
    if _labels(learner):
        last = probability(target) if heads_for_it else None
        found["probability"] = Change(probability(before), probability(after), last)
    if error is not None:
        found["error"] = error._replace(target=family.error(target, x) if heads_for_it else None)
    if knows_target:
        found["terms"] = surprise.confidence_corrected_terms(family, before, x, reference)
        found["confidence_corrected"] = surprise.confidence_corrected(family, before, x, reference)
    shown = family.one_context(before, x)[0]
    old, new = (family.one_context(each, x)[1] for each in (before, after))
    naive = None if target is None else family.one_context(target, x)[1]
    path = jax.vmap(lambda t: expfam.blend(shown, old, 1 - t, new, t))(np.linspace(0.0, 1.0, STAGES))
    return {**found, "beliefs": Beliefs(shown, old, naive, new, path)}


def _labels(learner: Learner) -> bool:
    """Whether the outcomes of a learner are labels, of which there are finitely many."""
    domain: Domain = jax.tree.leaves(learner.samples)[-1]
    return domain.whole and domain.has_low and domain.has_high


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    """Fields of an explanation, single numbers as Python's own."""
    plain = ("surprise", "learning_rate", "change_probability", "confidence_corrected")
    numbers = {name: None if found.get(name) is None else float(found[name]) for name in plain}
    terms = found.get("terms")
    ordered = None if terms is None else {name: float(terms[name]) for name in surprise.TERMS if name in terms}
    return {**found, **numbers, "terms": ordered}


def _appended(path: Any, last: Any) -> Any:
    return np.concatenate([path, np.asarray(last)[None]])


def _finite(value: Any) -> Any:
    return value if np.isfinite(value).all() else None
