"""Attention follows surprise: learn faster about what has lately been predicted badly.

Pearce & Hall (1980), in the hybrid form of Li, Schiller, Schoenbaum, Phelps & Daw (2011): errors drive the estimate as
in the delta rule, and their size drives the learning rate.
"""

from typing import Annotated, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish.core.names import NUMBERS
from astonish.core.numbers import FINITE, NOT_NEGATIVE, POSITIVE, PROBABILITY, Number, floats
from astonish.core.parameters import START, parameter
from astonish.learners.base import NumberLearner, StepInfo


class Attention(NamedTuple):
    """An estimate, and how readily it is changed."""

    mean: Annotated[Array, FINITE]
    associability: Annotated[Array, NOT_NEGATIVE]


class PearceHall(NumberLearner):
    """A delta rule with the rate `salience` (kappa) times associability, which is a running mean of errors' sizes.

    The surprise it reports is the size of its error, in units of the samples, uncut.
    The original is for outcomes from 0 to 1, in which no error exceeds 1 and so no rate does. For other samples errors
    are measured in units of `scale`, and larger ones count as 1.
    """

    salience: Number = parameter(0.5, PROBABILITY, (0.05, 0.95), "learning rate at full associability", symbol="kappa")
    renewal: Number = parameter(
        0.3, PROBABILITY, (0.05, 0.95), "share of the newest error in associability", symbol="eta"
    )
    start: Number = START.field()
    associability: Number = parameter(1.0, PROBABILITY, (0.1, 1.0), "associability before the first sample")
    scale: Number = parameter(1.0, POSITIVE, (0.1, 1.0), "the error that counts as 1", fact="range")
    name: ClassVar[str] = "pearce-hall"
    surprise_measure: ClassVar[str] = "absolute_error"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("salience", "renewal")

    def init(self) -> Attention:
        (start,) = floats(self.start)
        return Attention(start, jnp.asarray(self.associability, start.dtype))

    def step(self, state: Attention, x: Number) -> tuple[Attention, StepInfo]:
        error = jnp.abs(x - state.mean)
        rate = self.salience * state.associability
        size = jnp.minimum(error / self.scale, 1.0)
        associability = self.renewal * size + (1 - self.renewal) * state.associability
        return Attention((1 - rate) * state.mean + rate * x, associability), StepInfo(error, rate)
