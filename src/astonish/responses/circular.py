"""Responses that report a direction that the learner estimates."""

import math
from collections.abc import Collection
from dataclasses import field
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.names import ResponseKind
from astonish.core.numbers import POSITIVE, PROBABILITY, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.core.special import log, log_von_mises, wrapped
from astonish.responses.base import Distribution, Ends, Response, ResponseInput, lapsing

_WHOLE = 2 * math.pi
_FEWEST, _MOST = 1e-5, 1e6  # concentrations between which angles are drawn by rejection


class CircularEstimate(Response):
    """Reports the learner's estimate, an angle, with noise that has a von Mises distribution.

    The period of angles is the learner's. anchored: whether the learner goes on from each response.
    """

    concentration: Number = parameter(
        10.0, POSITIVE, (2.0, 200.0), "concentration of responses about the estimate: 1 over their variance, if small"
    )
    lapse: Number = parameter(0.0, PROBABILITY, (0.001, 0.2), "share of responses that are any angle instead")
    anchored: bool = field(default=True, kw_only=True, metadata={"static": True})
    name: ClassVar[str] = "circular-estimate"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CIRCULAR,)
    free: ClassVar[tuple[str, ...]] = ("concentration",)
    kind: ClassVar[str] = "estimate"

    def distribution(self, given: ResponseInput) -> Distribution:
        period = _WHOLE if given.period is None else given.period
        estimate = jnp.asarray(given.estimate)
        meant = VonMisesResponse(estimate, self.concentration, period)
        return lapsing(meant, self.lapse, estimate - 0.5 * period, estimate + 0.5 * period)

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        return cls(lapse=0.05 if "lapse" in free else 0.0)


class VonMisesResponse(NamedTuple):
    """An angle, most probably near the mean."""

    mean: Array
    concentration: Number
    period: Number

    def log_prob(self, response: Array) -> Array:
        angle = _WHOLE / self.period * wrapped(response - self.mean, self.period)
        return log_von_mises(angle, self.concentration) + math.log(_WHOLE) - log(self.period)

    def sample(self, key: Array) -> Array:
        angle = _von_mises(key, jnp.asarray(self.concentration, self.mean.dtype))
        return wrapped(self.mean + self.period / _WHOLE * angle, self.period)


def _von_mises(key: Array, concentration: Array) -> Array:
    """Draw an angle about 0, in radians: by rejection (Best & Fisher 1979), or normal where it is very concentrated."""
    k = jnp.clip(concentration, _FEWEST, _MOST)
    root = 1 + jnp.sqrt(1 + 4 * k * k)
    rho = 2 * k / (root + jnp.sqrt(2 * root))  # (root - sqrt(2 root)) / (2 k), where nothing cancels
    r = (1 + rho * rho) / (2 * rho)

    def proposed(at: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, more = jax.random.split(at[0])
        u, v = jax.random.uniform(more, (2,), k.dtype)
        z = jnp.cos(math.pi * u)
        cosine = (1 + r * z) / (r + z)
        c = k * (r - cosine)
        return key, cosine, jnp.log(c) + 1 - c >= jnp.log(v)

    key, for_sign, for_normal = jax.random.split(key, 3)
    start = key, jnp.ones_like(k), jnp.zeros((), bool)
    cosine = jax.lax.while_loop(lambda at: ~at[2], proposed, start)[1]
    angle = jnp.arccos(jnp.clip(cosine, -1, 1)) * jax.random.rademacher(for_sign, (), k.dtype)
    normal = jax.random.normal(for_normal, (), k.dtype) / jnp.sqrt(concentration)
    return jnp.where(concentration > _MOST, normal, angle)
