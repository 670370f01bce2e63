"""What can every conjugate belief do?

A belief is stored as a kernel k(theta), proportional to its density; `log_partition` is the logarithm of the kernel's
integral. Whatever the paper does to beliefs, it multiplies them: Bayes' rule (eq. 14) is belief x likelihood, the
SMiLe rule (eq. 6) is belief^(1 - gamma) x likelihood^gamma. So one function of two kernels and two powers,

    log_mass(a, u, b, v) = ln of the integral of a(theta)^u b(theta)^v,

carries the theory: predictive probability, entropy, Kullback-Leibler divergence and the SMiLe rule's `gamma` are read
off its values and derivatives, here, once for all families.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from numpy.random import Generator

from astonish.core.numbers import Domain, Number, PytreeDataclass, limits
from astonish.core.parameters import Parameter
from astonish.core.refusal import cannot_continue, cannot_simulate

Belief = Any  # a NamedTuple of arrays; every family has its own
_SHOWN = 30  # numbers that are printed one by one


def printed(belief: Belief, values: Callable[[Belief], Mapping[str, Any]]) -> str:
    """A belief in print: by what the `prior` of its family takes.

    values: from the belief, in double precision, to these. Where JAX has put something else in place of numbers, the
    belief is printed as it is stored.
    """
    name, stored = type(belief).__name__, belief._asdict()
    if all(isinstance(part, float | np.number | np.ndarray | Array) for part in belief) and not any(
        isinstance(part, Tracer) for part in belief
    ):
        stored = values(type(belief)(*(np.asarray(part, np.float64) for part in belief)))
    return f"{name}({', '.join(f'{word}={_short(value)}' for word, value in stored.items())})"


def _short(value: Any) -> str:
    if not isinstance(value, np.ndarray | np.number):
        return repr(value)
    return repr(value.tolist()) if value.size <= _SHOWN else f"(numbers of shape {value.shape})"


class Family(PytreeDataclass, Protocol):
    """A family of beliefs: a few facts, from which everything else follows. Any file in `beliefs/` is an example.

    Derive a family from this class, and it need only have `samples`, `prior`, `flat`, `likelihood` and `log_partition`;
    `blend` is right for beliefs stored by their natural parameters, `log_base` where the likelihood is the kernel
    itself, and the other questions are answered here for those that cannot answer them.
    takes: the kinds of outcomes that it is about. example: what to write where a family is missing.
    prior_parameters: what is known about the arguments of `prior`, which are also what a belief prints (see `printed`).
    proper_likelihood: whether the likelihood of a single sample is a proper belief by itself.
    support: which numbers the belief is about; None if it is about several at once.
    usual_samples: between which numbers samples lie in an example.
    period: after how much samples repeat, if they are angles; else None.
    search_steps: in how many steps an accelerator searches for `gamma` (see `solver`).
    """

    takes: ClassVar[tuple[str, ...]] = ()
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {}
    proper_likelihood: ClassVar[bool] = True
    support: ClassVar[Domain | None] = None
    usual_samples: ClassVar[tuple[float, float]] = (0.0, 1.0)
    search_steps: ClassVar[int] = 7
    example: ClassVar[str] = "Gaussian()"

    @property
    def period(self) -> Number | None:
        return None

    def check_parts(self) -> None:
        """Refuse parts that do not go together, before a learner uses them; parameters are checked already."""
        return

    @property
    def samples(self) -> Any:
        """Which samples the family takes: a `Domain`, or a tuple of them for samples of several parts."""

    def prior(self, *args: Any, **kwargs: Any) -> Belief:
        """A belief from numbers that people use."""

    def flat(self) -> Belief:
        """The constant kernel: no opinion at all."""

    def likelihood(self, x: Any) -> Belief:
        """The likelihood of a sample as a kernel: the belief of an observer who has seen nothing else."""

    def blend(self, a: Belief, u: Number, b: Belief, v: Number) -> tuple[Belief, Number]:
        """A kernel `c` and a number `misfit` such that `a^u b^v = exp(-misfit) c`."""
        return linear(self.flat(), a, u, b, v)

    def log_partition(self, belief: Belief) -> Array:
        """Logarithm of the integral of the kernel."""

    def log_mass_near(self, a: Belief, u: Number, b: Belief, v: Number) -> Array:
        """`log_mass` less a line: a function linear in `u` and `v`, the best one where `a^u b^v` is close to `a`.

        Divergences do not change with that line. A family in whose `log_partition` their digits would be lost gives it.
        """
        return log_mass(self, a, u, b, v)

    def log_base(self, x: Any) -> Array:
        """Logarithm of the factors of p(x | theta) that the likelihood kernel leaves out."""
        return jnp.zeros(())

    def error(self, belief: Belief, x: Any) -> Array | None:
        """The sample minus the expected one; None where samples are labels, or no sample is expected."""
        return None

    def predicted_std(self, belief: Belief, x: Any) -> Array | None:
        """The standard deviation of the sample that is predicted; None where samples are labels, or it is not known.

        Only what is known of a sample beforehand (the features of a regression) is taken from `x`.
        """
        return None

    def predictive_divergence(self, a: Belief, b: Belief, x: Any) -> Array | None:
        """D between the distributions of samples that two beliefs predict; None where it cannot be computed.

        Only what is known of a sample beforehand (the features of a regression) is taken from `x`.
        """
        return None

    def density(self, belief: Belief, grid: Any) -> Array | None:
        """The density of the belief at these values of the parameter; None if it is about several numbers at once."""
        return None

    def weights(self, belief: Belief) -> Array | None:
        """The probability of each outcome or model that the belief is about; None if it is not about probabilities."""
        return None

    def expected(self, theta: Any) -> Any:
        """The sample to expect if the parameter were `theta`; None where that is not a number."""
        return None

    def mixture_mean(self, beliefs: Belief, weights: Array) -> Array:
        """The mean of a mixture of beliefs, which are stacked, with these weights."""
        return jnp.tensordot(weights, jax.vmap(lambda belief: belief.mean)(beliefs), axes=1)

    def mixture_std(self, beliefs: Belief, weights: Array) -> Array:
        """The standard deviation of a mixture: from the spread within each belief, and between them."""
        mean = self.mixture_mean(beliefs, weights)

        def second_moment(belief: Any) -> Array:
            return jnp.square(belief.std) + jnp.square(belief.mean - mean)

        return jnp.sqrt(jnp.tensordot(weights, jax.vmap(second_moment)(beliefs), axes=1))

    def with_mean(self, belief: Belief, mean: Any) -> Belief:
        """The belief with this mean, as certain as before."""
        raise cannot_continue(f"a belief of {type(self).__name__}")

    def in_context(self, belief: Belief, x: Any) -> Belief:
        """The belief such that its mean is that in the context of this sample, where samples have contexts."""
        return belief

    def one_context(self, belief: Belief, x: Any) -> "tuple[Family, Belief, Any]":
        """The family, the belief and the sample within the context of this sample, where samples have contexts."""
        return self, belief, x

    def context_of(self, x: Any) -> str:
        """Where a sample belongs, such as "in context 3"; empty where samples have no context."""
        return ""

    def sample(self, belief: Belief, rng: Generator) -> Any:
        """A value of the parameter, drawn from the belief."""
        raise cannot_simulate(type(self).__name__)

    def sample_outcome(self, theta: Any, rng: Generator, steps: int) -> Any:
        """So many samples, drawn from the distribution with this parameter."""
        raise cannot_simulate(type(self).__name__)


class MeanFamily(Family, Protocol):
    """A family of beliefs about the mean of its samples."""

    def error(self, belief: Belief, x: Any) -> Array:
        return x - belief.mean

    def expected(self, theta: Any) -> Any:
        return theta


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


def scaled_likelihood(family: Family, x: Any, reference: Belief | None = None) -> Belief:
    """The scaled likelihood (eq. 11): what a naive observer believes after this sample alone.

    With a `reference` belief in place of flatness it is that belief's posterior. This is our extension, for families
    in which the likelihood of one sample is improper.
    """
    if reference is not None:
        return bayes(family, reference, x)
    if not family.proper_likelihood:
        problem = f"{type(family).__name__} has no scaled likelihood: one sample alone leaves it improper"
        effect = "so the paper's confidence-corrected surprise is undefined"
        raise ValueError(f"{problem}, {effect}; pass a proper belief as reference=, for example the prior")
    return family.likelihood(x)


def log_mass(family: Family, a: Belief, u: Number, b: Belief, v: Number) -> Array:
    """`ln` of the integral of `a^u b^v`."""
    belief, misfit = family.blend(a, u, b, v)
    return family.log_partition(belief) - misfit


@jax.jit
def log_mass_curve(family: Family, a: Belief, b: Belief, g: Number, u: Number | None = None) -> Curve:
    """`log_mass` of `a^u b^g` as a curve in `g`, where `u = 1 - g`: convex, and all that the SMiLe rule needs to know.

    u: give it where `1 - g` would lose digits. A part linear in `g` may be missing, see `Family.log_mass_near`.
    """

    def value(more: Array) -> Array:
        return family.log_mass_near(a, rest - more, b, g + more)

    def value_and_slope(more: Array) -> tuple[Array, Array]:
        return jax.jvp(value, (more,), (jnp.ones_like(more),))

    g = jnp.asarray(g, dtype_of(a))
    rest = 1 - g if u is None else u
    zero = jnp.zeros_like(g)
    (height, slope), (_, curvature) = jax.jvp(value_and_slope, (zero,), (jnp.ones_like(g),))
    return Curve(height, slope, curvature)


def nearby(a: Belief, b: Belief) -> Belief:
    """A constant of about the size of `a`, unless `b` is much larger."""
    return jax.tree.map(lambda a, b: jax.lax.stop_gradient(jnp.maximum(a, b / 16)), a, b)


def divergence(family: Family, a: Belief, b: Belief) -> Array:
    """Kullback-Leibler divergence D[a || b]."""
    return bregman(log_mass_curve(family, a, b, 0.0), log_mass_curve(family, a, b, 1.0), 1.0)


def bregman(p: Curve, q: Curve, gap: Number) -> Array:
    """How far a convex curve lies, at `q`, above its tangent at `p`; `gap` is the way from `p` to `q`.

    The definition subtracts almost equal numbers when the two places are close. As soon as an integral agrees with it
    to within rounding, the integral is the better value: that of the slope (trapezoidal rule with end correction,
    Euler-Maclaurin) or, closer still, that of the curvature, which does not cancel at all. Derivatives are always
    those of the definition.
    """
    eps = limits(p.value).eps
    closed = q.value - p.value - gap * p.slope
    by_slope = 0.5 * gap * (q.slope - p.slope) - gap * gap * (q.curvature - p.curvature) * (1 / 12)
    by_curvature = gap * gap * (2 * p.curvature + q.curvature) * (1 / 6)
    integral = jnp.maximum(jnp.where(by_curvature < 4 * eps ** (2 / 3), by_curvature, by_slope), 0.0)
    rounding = 128 * eps * (1 + jnp.abs(p.value) + jnp.abs(gap * p.slope))
    better = jax.lax.stop_gradient(integral) + (closed - jax.lax.stop_gradient(closed))
    return jnp.where(jnp.abs(closed - integral) < rounding, better, jnp.maximum(closed, 0.0))


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
