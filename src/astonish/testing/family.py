"""What does every family of beliefs promise?"""

from collections.abc import Sequence
from functools import partial, reduce
from inspect import signature
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter, check_parameters
from astonish.people.fit.space import Space
from astonish.testing.common import Check, agree, allowed, answer, described, holds, listed, pickled, takes_any_leaves
from astonish.theory import expfam, surprise
from astonish.theory.expfam import Belief, Family

_CHECKS: list[Check] = []
_NODES, _FURTHEST = 6001, 36.0  # of quadrature, on the scale on which a fit searches
_DRAWS = 1000
bayes_of, target_of, raw_of = jax.jit(expfam.bayes), jax.jit(expfam.scaled_likelihood), jax.jit(surprise.raw)
divergence_of, evidence_of = jax.jit(expfam.divergence), jax.jit(expfam.log_evidence)
blend_of = jax.jit(lambda family, *powers: family.blend(*powers))
predictive_divergence_of = jax.jit(lambda family, *at: family.predictive_divergence(*at))
predicted_of = jax.jit(jax.vmap(expfam.log_evidence, (None, None, 0)))


class CheckedFamily:
    """A family with samples, a belief and a reference to check it with."""

    def __init__(self, family: Family, samples: Sequence[Any], belief: Belief = None, reference: Belief = None) -> None:
        self.family, self.samples, self.name = family, list(samples), type(family).__name__
        self.belief = reduce(partial(bayes_of, family), samples, family.prior()) if belief is None else belief
        self.reference = family.prior() if reference is None and not family.proper_likelihood else reference

    @property
    def beliefs(self) -> list[Belief]:
        """Three beliefs: the one given, that of someone who saw one sample only, and a posterior."""
        naive = target_of(self.family, self.samples[0], self.reference)
        return [self.belief, naive, bayes_of(self.family, self.belief, self.samples[-1])]

    def quadrature(self) -> tuple[Any, Any, Any] | None:
        """Values of the parameter, their weights and the density there; None if the family gives no density."""
        if self.family.support is None:
            return None
        places, weights = _nodes(self.family.support, self.belief.mean, self.belief.std)
        density = self.family.density(self.belief, places)
        return None if density is None else (places, weights, density)


_check = listed(_CHECKS, CheckedFamily)


def check_family(family: Family, samples: Sequence[Any], belief: Belief = None, reference: Belief = None) -> None:
    """Check a family of beliefs, with a few samples that it takes.

    belief: one that is neither extreme nor the prior; that after these samples when left out. reference: for families
    in which the likelihood of one sample is improper; the prior when left out.

    >>> from astonish import Beta
    >>> check_family(Beta(), [0, 1, 1])
    """
    for each in family_checks():
        each(family, samples, belief, reference)


def family_checks() -> list[Check]:
    """All checks of families: functions of what `check_family` takes, each of one promise.

    >>> [each.__name__ for each in family_checks()][:2]
    ['parameters_are_described', 'pickling_and_printing']
    """
    return list(_CHECKS)


def _nodes(domain: Domain, middle: Any, spread: Any) -> tuple[Any, Any]:
    """Places and weights of quadrature over a domain, densest about the middle.

    The trapezoidal rule on the scale on which a fit searches, stretched so that far tails are reached.
    """
    space = Space(("theta",), (Parameter(domain),), (1.0,))

    def place(free: Any) -> Any:
        return space.constrain(free[..., None])[..., 0]

    centre = jnp.asarray(space.unconstrained([middle])[0])
    scale = spread / jax.grad(place)(centre)
    bounded = domain.has_low or domain.has_high
    scale = jnp.minimum(scale, 1.0) if bounded else scale
    end = jnp.arcsinh(_FURTHEST / scale) if bounded else 12.0
    steps = jnp.linspace(-end, end, _NODES)
    places, slopes = jax.jvp(lambda step: place(centre + scale * jnp.sinh(step)), (steps,), (jnp.ones_like(steps),))
    return places, jnp.abs(slopes) * (steps[1] - steps[0])


@_check
def parameters_are_described(case: CheckedFamily) -> None:
    """Every parameter, of the first belief too, has a domain, a usual range inside it and a sentence."""
    check_parameters(case.family)
    described(case.name, type(case.family))
    for name in case.family.prior_parameters:
        taken = name in signature(case.family.prior).parameters
        holds(taken, f"{case.name}.prior takes no {name!r}, which is among its prior_parameters")


@_check
def pickling_and_printing(case: CheckedFamily) -> None:
    """A family prints itself with the name of its class, and is the same after pickling."""
    again, own = (bayes_of(each, case.belief, case.samples[-1]) for each in (pickled(case.family), case.family))
    agree(again, own, f"{case.name} has another posterior after pickling", rtol=0, atol=0)


@_check
def leaves_may_be_anything(case: CheckedFamily) -> None:
    """JAX's functions of trees work, whatever they put in place of the numbers of a family."""
    takes_any_leaves(case.family)


@_check
def beliefs_have_a_mean_and_a_spread(case: CheckedFamily) -> None:
    """A belief has a `mean`, a `mode` of the same form, and a `std` that is not negative."""
    for each in case.beliefs:
        holds(np.isfinite(each.mean), f"{each} of {case.name} has the mean {each.mean}")
        holds(np.shape(each.mode) == np.shape(each.mean), f"mode and mean of {each} are not of the same form")
        holds(np.asarray(each.std) >= 0, f"{each} of {case.name} has the std {each.std}")


@_check
def divergence_is_a_distance(case: CheckedFamily) -> None:
    """The divergence of a belief from itself is 0, and from others at least 0."""
    for a, b in product(case.beliefs, repeat=2):
        far = float(divergence_of(case.family, a, b))
        holds(far == 0 if a is b else far >= 0, f"the divergence of {case.name} from {a} to {b} is {far}")


@_check
def flatness_changes_nothing(case: CheckedFamily) -> None:
    """Blended with flatness, a belief stays what it is; its two halves make it whole."""
    family, own, flat = case.family, case.belief, case.family.flat()
    for powers in ((own, 1.0, flat, 1.0), (flat, 1.0, own, 1.0), (own, 0.5, own, 0.5)):
        kernel, misfit = blend_of(family, *powers)
        far = float(divergence_of(family, kernel, own))
        holds(abs(far) < 1e-12, f"blend of {case.name} with flatness, or of two halves, changes a belief by {far}")
        scale = family.log_partition(kernel) - misfit
        agree(scale, family.log_partition(own), f"blend of {case.name} with flatness, or of two halves, has a misfit")


@_check
def the_order_of_samples_does_not_matter(case: CheckedFamily) -> None:
    """Bayes' rule comes to the same belief whatever the order of samples."""
    forth = back = case.belief
    for x, y in zip(case.samples, reversed(case.samples), strict=True):
        forth, back = bayes_of(case.family, forth, x), bayes_of(case.family, back, y)
    agree(forth, back, f"the order of samples matters to {case.name}", rtol=1e-10)


@_check
def raw_surprise_is_bayesian_plus_shannon(case: CheckedFamily) -> None:
    """Equation 15 of the paper: an identity of `blend`, `log_partition` and `log_base`."""
    for x in case.samples:
        at = case.family, case.belief, x
        parts = divergence_of(case.family, case.belief, bayes_of(*at)) - evidence_of(*at)
        agree(raw_of(*at), parts, f"raw surprise of {case.name} at {x} is not Bayesian plus Shannon's surprise")


@_check
def the_target_is_the_likelihood_or_needs_a_reference(case: CheckedFamily) -> None:
    """The target is the likelihood if that is proper, else the posterior of a reference, which must be given."""
    family, x = case.family, case.samples[0]
    same = family.likelihood(x) if case.reference is None else expfam.bayes(family, case.reference, x)
    agree(
        expfam.scaled_likelihood(family, x, case.reference),
        same,
        f"the target of {case.name} is another",
        rtol=0,
        atol=0,
    )
    if not family.proper_likelihood:
        refused = answer(lambda: surprise.confidence_corrected(family, case.belief, x), case.name) is None
        holds(refused, f"{case.name} computes confidence-corrected surprise without the reference that it needs")


@_check
def density_is_that_of_the_belief(case: CheckedFamily) -> None:
    """The density, where there is one, integrates to 1 over the support, with the belief's mean and spread."""
    if (found := case.quadrature()) is None:
        return
    places, weights, density = found
    mass = density * weights
    mean, atol = mass @ places, 1e-5 * float(case.belief.std)
    spread = jnp.sqrt(mass @ (places - mean) ** 2)
    agree(mass.sum(), 1.0, f"the density of {case.name} integrates to another number than 1", rtol=1e-5)
    agree(mean, case.belief.mean, f"the density of {case.name} has another mean than the belief", 1e-5, atol)
    agree(spread, case.belief.std, f"the density of {case.name} has another spread than the belief", 1e-5, atol)


@_check
def bayes_rule_is_its_definition(case: CheckedFamily) -> None:
    """The posterior is the belief times the likelihood, divided by the evidence, by quadrature."""
    family, own = case.family, case.belief
    if not family.proper_likelihood or (found := case.quadrature()) is None:
        return
    places, weights, density = found
    for x in case.samples:
        naive = jax.tree.map(jnp.asarray, family.likelihood(x))
        kernel: Any = family.density(naive, places)
        probability = jnp.exp(family.log_partition(naive) + family.log_base(x)) * kernel
        evidence = (density * probability) @ weights
        posterior, found_posterior = density * probability / evidence, family.density(bayes_of(family, own, x), places)
        agree(evidence_of(family, own, x), jnp.log(evidence), f"{case.name} gives {x} another probability", 1e-5, 1e-6)
        atol = 1e-6 * float(posterior.max())
        agree(found_posterior, posterior, f"the posterior of {case.name} at {x} is not Bayes' rule", 1e-5, atol)


@_check
def predictions_sum_to_one(case: CheckedFamily) -> None:
    """The probabilities of all samples sum to 1, where these are numbers, angles, or whole numbers between two ends."""
    domain = case.family.samples
    if not isinstance(domain, Domain) or domain.shape or (domain.whole and not (domain.has_low and domain.has_high)):
        return
    if domain.whole:
        xs: Any = jnp.arange(int(domain.low), int(domain.high) + 1)
        weights: Any = jnp.ones(len(xs))
    elif case.family.period is not None:
        whole = case.family.period
        xs, weights = jnp.linspace(0.0, whole, _NODES)[1:], jnp.full(_NODES - 1, whole / (_NODES - 1))
    else:
        xs, weights = _nodes(domain, np.median(case.samples), np.std(case.samples) + 1e-3)
    mass = jnp.exp(predicted_of(case.family, case.belief, xs)) @ weights
    agree(mass, 1.0, f"the probabilities that {case.name} predicts do not sum to 1", rtol=1e-4)


@_check
def predictive_divergence_is_a_distance(case: CheckedFamily) -> None:
    """How far apart predictions are, where that is known: 0 for the same belief, else at least 0."""
    for a, b in product(case.beliefs[::2], repeat=2):
        far = predictive_divergence_of(case.family, a, b, case.samples[0])
        right = far is None or (abs(float(far)) < 1e-9 if a is b else float(far) >= 0)
        holds(right, f"predictions of {case.name} from {a} and {b} are {far} apart")


@_check
def draws_are_allowed(case: CheckedFamily) -> None:
    """What is drawn from a belief is in its support, and samples drawn from that can be learned from; or refused."""
    family, own, rng = case.family, jax.tree.map(np.asarray, case.belief), np.random.default_rng(0)
    theta = answer(lambda: family.sample(own, rng), f"{case.name}.sample")
    xs = None
    if theta is not None:
        xs = answer(lambda: family.sample_outcome(theta, rng, _DRAWS), f"{case.name}.sample_outcome")
    if xs is None:
        return
    allowed(family.samples, xs, f"{case.name}.sample_outcome")
    if family.support is not None:
        thetas = np.array([family.sample(own, rng) for _ in range(_DRAWS)])
        holds(family.support.allows(thetas), f"{case.name}.sample draws {thetas}, which are not {family.support}")
        _near(thetas, own.mean, own.std, f"{case.name}.sample")
    if (expected := family.expected(theta)) is not None:
        _near(xs, expected, np.std(xs), f"{case.name}.sample_outcome")


def _near(drawn: Any, mean: Any, std: Any, who: str) -> None:
    """The mean of what was drawn is within six standard errors of what it should be."""
    near = abs(np.mean(drawn) - mean) <= 6 * std / len(drawn) ** 0.5
    holds(near, f"{who} draws {np.mean(drawn)} on average, where {mean} is to be expected")


@_check
def with_mean_gives_the_mean(case: CheckedFamily) -> None:
    """A belief can be given another mean, or that is refused in a sentence."""
    wanted = bayes_of(case.family, case.belief, case.samples[-1]).mean
    moved = answer(lambda: case.family.with_mean(case.belief, wanted), f"{case.name}.with_mean")
    if moved is not None:
        agree(moved.mean, wanted, f"{case.name}.with_mean gives another mean")
