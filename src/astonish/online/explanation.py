"""What one sample did to a learner: what was expected, how surprising it was, and how far the estimate moved."""

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
    moved: how far the expected sample moved towards where it could have gone; below 0 if the other way. possible: how
    far it could have: to the target if the learner moves towards one, else to the sample.
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
    moved: float | None = None
    possible: float | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether outcomes are labels, of which there are finitely many."""
        return _labels(self.learner)

    @property
    def expected(self) -> Any:
        """The sample to expect, where it is a number."""
        expected = None if self.error is None else self.outcome - self.error.before
        return expected if expected is not None and np.isfinite(expected).all() else None

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
        if target is not None:
            path = jax.tree.map(lambda way, last: np.concatenate([way, np.asarray(last)[None]]), path, target)
        with double():
            return drawn(family, path, _FINE)

    def plot(self) -> "Figure":
        """Belief before, scaled likelihood and belief after, and the terms of the surprise."""
        from astonish.report.views import plot_explanation

        return plot_explanation(self)


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
    length, asked = len(observed), operator.index(at)
    if not -length <= asked < length:
        raise ValueError(f"at = {asked} is not allowed; give a whole number from 0 to {length - 1}, or from the end")
    at = asked % length
    x = jax.tree.map(lambda part: part[at], samples)
    with double():
        state = state_before(learner, samples, observed, at)
        local: tuple[Any, State, Any] = learner.in_context(state, x)
        inner, held, sample = local
        if not observed[at]:
            estimate = np.asarray(inner.estimate(held))
            return Explanation(at, inner, None, "", "", Change(estimate, estimate))
        fields = _explained(as_double(learner), state, x)
    for name in ("surprise", "learning_rate", "change_probability", "confidence_corrected"):
        fields[name] = None if fields.get(name) is None else float(fields[name])
    if fields.get("terms") is not None:
        fields["terms"] = {name: float(fields["terms"][name]) for name in surprise.TERMS if name in fields["terms"]}
    holds = fields.get("beliefs") is not None
    improper = type(inner.family).__name__ if holds and not inner.family.proper_likelihood else ""
    if fields["error"] is not None:
        before, after, target = fields["error"]
        ways = before - after, before if target is None else before - target
        if inner.period is not None:
            ways = wrapped(ways[0], inner.period), wrapped(ways[1], inner.period)
        moved, possible = map(np.linalg.norm, ways) if np.ndim(before) else ways
        if np.isfinite(moved) and np.isfinite(possible):
            fields |= {"moved": float(moved * (np.sign(possible) or 1.0)), "possible": float(abs(possible))}
    outcome, where = np.asarray(jax.tree.leaves(sample)[-1]), context or learner.context_of(x)
    return Explanation(at, inner, outcome, seen, where, improper=improper, **fields)


@interpreted
def _explained(learner: Learner, state: State, x: Any) -> dict[str, Any]:
    """Take a step: the fields of an explanation, in arrays."""
    new, info = learner.step(state, x)
    (inner, held, sample), (_, left, _) = learner.in_context(state, x), learner.in_context(new, x)
    error, widths = inner.error(held, sample), (inner.uncertainty(held), inner.uncertainty(left))
    fields: dict[str, Any] = {
        "surprise": info.surprise,
        "learning_rate": info.learning_rate,
        "change_probability": info.change_probability,
        "estimate": Change(inner.estimate(held), inner.estimate(left)),
        "error": None if error is None else Change(error, inner.error(left, sample)),
        "uncertainty": None if widths[0] is None else Change(*widths),
    }
    before, after = inner.belief(held), inner.belief(left)
    if before is None:
        if _labels(inner) and inner.surprise_measure == "shannon":  # minus the logarithm of the probability
            fields["probability"] = Change(jnp.exp(-info.surprise), None)
        return fields
    family, reference = inner.family, inner.reference
    knows_target = family.proper_likelihood or reference is not None
    target = expfam.scaled_likelihood(family, sample, reference) if knows_target else None
    heads_for_it = knows_target and inner.surprise_measure in MODULATING

    def probability(belief: Belief) -> Any:
        return jnp.exp(expfam.log_evidence(family, belief, sample))

    fields["predicted_std"] = family.predicted_std(before, sample)
    if _labels(inner):
        last = probability(target) if heads_for_it else None
        fields["probability"] = Change(probability(before), probability(after), last)
    if error is not None:
        of_target = family.error(target, sample) if heads_for_it else None
        fields["error"] = fields["error"]._replace(target=of_target)
    if knows_target:
        fields["terms"] = surprise.confidence_corrected_terms(family, before, sample, reference)
        fields["confidence_corrected"] = surprise.confidence_corrected(family, before, sample, reference)
    local, old, *_ = family.one_context(before, sample)
    new = family.one_context(after, sample)[1]
    naive = None if target is None else family.one_context(target, sample)[1]
    path = jax.vmap(lambda t: expfam.blend(local, old, 1 - t, new, t))(np.linspace(0.0, 1.0, STAGES))
    return {**fields, "beliefs": Beliefs(local, old, naive, new, path)}


def _labels(learner: Learner) -> bool:
    """Whether the outcomes of a learner are labels, of which there are finitely many."""
    domain: Domain = jax.tree.leaves(learner.samples)[-1]
    return domain.whole and domain.has_low and domain.has_high
