"""Attention follows surprise: learn faster about what has lately been predicted badly.

Pearce & Hall (1980), in the hybrid form of Li, Schiller, Schoenbaum, Phelps & Daw (2011): errors drive the estimate as
in the delta rule, and their size drives the learning rate.
"""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.learner import Info
from astonish.precision import Number

SHARE = Domain(0.0, 1.0)


class Attention(NamedTuple):
    """An estimate, and how readily it is changed."""

    mean: Array
    associability: Array


@config
class PearceHall:
    """A delta rule with the rate `salience` (kappa) times associability, which is a running mean of errors' sizes.

    The surprise it reports is the size of its error, in units of the samples, uncut.
    renewal: the share of the newest error in that mean (eta). associability: its value before the first sample.
    scale: the error that is as large as errors get. The original is for outcomes from 0 to 1, in which no error exceeds
    1 and so no rate does. For other samples errors are measured in units of `scale`, and larger ones count as 1.
    """

    salience: Number = parameter(default=0.5, domain=SHARE)
    renewal: Number = parameter(default=0.3, domain=SHARE)
    start: Number = parameter(default=0.0, domain=Domain())
    associability: Number = parameter(default=1.0, domain=SHARE)
    scale: Number = parameter(default=1.0, domain=POSITIVE)
    samples: ClassVar[Domain] = Domain()

    def init(self) -> Attention:
        start = jnp.asarray(self.start, jnp.result_type(float, self.start))
        return Attention(start, jnp.asarray(self.associability, start.dtype))

    def step(self, state: Attention, x: Number) -> tuple[Attention, Info]:
        error = jnp.abs(x - state.mean)
        rate = self.salience * state.associability
        size = jnp.minimum(error / self.scale, 1.0)
        associability = self.renewal * size + (1 - self.renewal) * state.associability
        return Attention((1 - rate) * state.mean + rate * x, associability), Info(error, rate)

    def estimate(self, state: Attention) -> Array:
        return state.mean
