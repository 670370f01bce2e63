"""What can every conjugate belief do?

A belief is stored as a kernel k(theta), proportional to its density; `log_partition` is the logarithm of the kernel's
integral. Whatever the paper does to beliefs, it multiplies them: Bayes' rule (eq. 14) is belief x likelihood, the
SMiLe rule (eq. 6) is belief^(1 - gamma) x likelihood^gamma. So one function of two kernels and two powers,

    log_mass(a, u, b, v) = ln of the integral of a(theta)^u b(theta)^v,

carries the theory: predictive probability, entropy, Kullback-Leibler divergence and the SMiLe rule's `gamma` are read
off its values and derivatives, here, once for all families.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from astonish.precision import Number, limits

Belief = Any  # a NamedTuple of arrays; every family has its own


class Family(Protocol):
    """The facts that make a family of beliefs; any file in `beliefs/` is an example.

    prior: a belief from numbers that people use.
    samples: which samples the family takes: a `Domain`, or a tuple of them for samples of several parts.
    one_sample_is_enough: whether the likelihood of a single sample is a proper belief by itself.
    """

    @property
    def prior(self) -> Callable[..., Belief]: ...
    @property
    def samples(self) -> Any: ...
    @property
    def one_sample_is_enough(self) -> bool: ...

    def flat(self) -> Belief:
        """The constant kernel: no opinion at all."""

    def likelihood(self, x: Any) -> Belief:
        """The likelihood of a sample as a kernel: the opinion of someone who has seen nothing else."""

    def blend(self, a: Belief, u: Number, b: Belief, v: Number) -> tuple[Belief, Number]:
        """A kernel `c` and a number `misfit` such that `a^u b^v = exp(-misfit) c`."""

    def log_partition(self, belief: Belief) -> Array:
        """Logarithm of the integral of the kernel."""

    def log_base(self, x: Any) -> Array:
        """Logarithm of the factors of p(x | theta) that the likelihood kernel leaves out."""

    def error(self, belief: Belief, x: Any) -> Array | None:
        """The sample minus what the belief expected it to be; None where samples are names, or nothing is expected."""

    def predictive_divergence(self, a: Belief, b: Belief, x: Any) -> Array | None:
        """D between the distributions of samples that two beliefs predict; None where that cannot be computed.

        Only what is known of a sample beforehand (the features of a regression) is taken from `x`.
        """


class Curve(NamedTuple):
    """A function of one number, with its first two derivatives, at one place."""

    value: Array
    slope: Array
    curvature: Array


def linear(flat: Belief, a: Belief, u: Number, b: Belief, v: Number) -> tuple[Belief, Number]:
    """`blend` for beliefs stored by natural parameters: a power of a kernel is a multiple of its parameters."""
    return jax.tree.map(lambda f, a, b: u * a + v * b + (1 - u - v) * f, flat, a, b), 0.0


def blend(family: Family, a: Belief, u: Number, b: Belief, v: Number) -> Belief:
    """The belief proportional to `a^u b^v`."""
    return family.blend(a, u, b, v)[0]


def bayes(family: Family, belief: Belief, x: Any) -> Belief:
    """The posterior by Bayes' rule (eq. 14)."""
    return blend(family, belief, 1, family.likelihood(x), 1)


def target(family: Family, x: Any, reference: Belief | None = None) -> Belief:
    """The scaled likelihood (eq. 11): what a naive observer believes after this sample alone.

    With a `reference` belief in place of flatness it is that belief's posterior. This is our extension, for families
    in which the likelihood of one sample is improper.
    """
    if reference is not None:
        return bayes(family, reference, x)
    if not family.one_sample_is_enough:
        raise ValueError(
            f"{type(family).__name__} has no scaled likelihood: one sample alone leaves it improper, so the paper's "
            "confidence-corrected surprise is undefined; pass a proper belief as reference=, for example the prior"
        )
    return family.likelihood(x)


def log_mass(family: Family, a: Belief, u: Number, b: Belief, v: Number) -> Array:
    """`ln` of the integral of `a^u b^v`."""
    belief, misfit = family.blend(a, u, b, v)
    return family.log_partition(belief) - misfit


def along(family: Family, a: Belief, b: Belief, g: Number) -> Curve:
    """`log_mass` of `a^(1 - g) b^g` as a curve in `g`: convex, and all that the SMiLe rule needs to know."""

    def value(g: Array) -> Array:
        return log_mass(family, a, 1 - g, b, g)

    def value_and_slope(g: Array) -> tuple[Array, Array]:
        return jax.jvp(value, (g,), (jnp.ones_like(g),))

    g = jnp.asarray(g, dtype_of(a))
    (height, slope), (_, curvature) = jax.jvp(value_and_slope, (g,), (jnp.ones_like(g),))
    return Curve(height, slope, curvature)


def divergence(family: Family, a: Belief, b: Belief) -> Array:
    """Kullback-Leibler divergence D[a || b]."""
    return bregman(along(family, a, b, 0.0), along(family, a, b, 1.0), 1.0)


def bregman(p: Curve, q: Curve, gap: Number) -> Array:
    """How far a convex curve lies, at `q`, above its tangent at `p`; `gap` is the way from `p` to `q`.

    The definition subtracts almost equal numbers when the two places are close. As soon as an integral agrees with it
    to within rounding, the integral is the better value: that of the slope (trapezoidal rule with end correction,
    Euler-Maclaurin) or, closer still, that of the curvature, which does not cancel at all. Derivatives are always
    those of the definition.
    """
    eps = limits(p.value).eps
    closed = q.value - p.value - gap * p.slope
    by_slope = 0.5 * gap * (q.slope - p.slope) - gap * gap * (q.curvature - p.curvature) / 12
    by_curvature = gap * gap * (2 * p.curvature + q.curvature) / 6
    integral = jnp.where(by_curvature < 4 * eps ** (2 / 3), by_curvature, jnp.maximum(by_slope, 0.0))
    rounding = 128 * eps * (1 + jnp.abs(p.value) + jnp.abs(gap * p.slope))
    better = jax.lax.stop_gradient(integral) + (closed - jax.lax.stop_gradient(closed))
    return jnp.where(jnp.abs(closed - integral) < rounding, better, closed)


def log_evidence(family: Family, belief: Belief, x: Any) -> Array:
    """`ln p(x)` under the belief: the predictive probability, or density, of a sample."""
    return family.log_base(x) + log_mass(family, belief, 1, family.likelihood(x), 1) - family.log_partition(belief)


def mean_log_likelihood(family: Family, belief: Belief, x: Any) -> Array:
    """The belief's average of `ln p(x | theta)`."""
    naive = family.likelihood(x)
    zero = jnp.zeros((), dtype_of(belief))
    _, slope = jax.jvp(lambda v: log_mass(family, belief, 1, naive, v), (zero,), (jnp.ones_like(zero),))
    return family.log_base(x) + slope


def entropy(family: Family, belief: Belief) -> Array:
    """Entropy of the belief over its parameters, in nats."""
    one = jnp.ones((), dtype_of(belief))
    value, slope = jax.jvp(lambda u: log_mass(family, belief, u, family.flat(), 0), (one,), (one,))
    return value - slope


def dtype_of(belief: Belief) -> Any:
    """The floating-point type in which a belief is held."""
    return jnp.result_type(float, *jax.tree.leaves(belief))
