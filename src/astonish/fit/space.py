"""Which numbers are to be found, and on what scale are they searched for?"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.blocks import with_parameters
from astonish.domain import Domain, Numbers, parameters

FURTHEST = 15.0  # on the scale of a search, beyond which a bounded value is at its bound for all that data can tell


@dataclass(frozen=True)
class Space:
    """The free parameters of a model, and the values each may take.

    A search moves over all real numbers: over logarithms of what has one bound, over log-odds of what has two, and over
    multiples of its unit of what has none.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    units: tuple[float, ...]

    @classmethod
    def of(cls, model: Any, names: Iterable[str]) -> "Space":
        """The space of these parameters; a name may be short, as long as only one parameter of the model ends so."""
        known = {name: domain for name, _, domain in parameters(model)}
        size = {name: abs(value) for name, value, _ in parameters(model) if isinstance(value, float | int)}
        full = tuple(dict.fromkeys(full_name(model, name) for name in names))
        whole = next((name for name in full if known[name].whole), None)
        if whole is not None:
            raise ValueError(f"{whole} is a whole number and cannot be found by gradients; give it a value instead")
        units = tuple(float(size.get(name) or 1.0) for name in full)
        return cls(full, tuple(known[name] for name in full), units)

    def only(self, k: int) -> "Space":
        """The space of one of its parameters."""
        return Space(self.names[k : k + 1], self.domains[k : k + 1], self.units[k : k + 1])

    @property
    def furthest(self) -> Numbers:
        """How far from the middle each place may be."""
        return np.where([math.isfinite(domain.low) for domain in self.domains], FURTHEST, np.inf)

    def __len__(self) -> int:
        return len(self.names)

    def values(self, places: Array) -> Array:
        """What people know these places as; the last axis counts parameters."""
        return jnp.stack([_value(*own, places[..., k]) for k, own in enumerate(self._each)], -1)

    def places(self, values: Any) -> Numbers:
        """Where in the search these values are; NumPy's, and within `FURTHEST` of the middle where there are bounds."""
        numbers = np.asarray(values, np.float64)
        return np.stack([_place(*own, numbers[..., k]) for k, own in enumerate(self._each)], -1)

    def put(self, model: Any, places: Array) -> Any:
        """The model with the values of these places."""
        values = self.values(places)
        return with_parameters(model, {name: values[k] for k, name in enumerate(self.names)})

    def start(self, model: Any) -> Numbers:
        """The place of the values that the model has."""
        now = {name: value for name, value, _ in parameters(model)}
        return self.places([float(now[name]) for name in self.names])

    def slopes(self, places: Array) -> Array:
        """How fast each value changes with its place."""
        one = jnp.ones_like(places)
        return jax.jvp(self.values, (places,), (one,))[1]

    def at_bound(self, places: Numbers) -> Numbers:
        """-1 where a value is at its lower bound for all that can be told, 1 at its upper, else 0."""
        bounded = [(math.isfinite(d.low), math.isfinite(d.high)) for d in self.domains]
        low, high = np.array(bounded).reshape(-1, 2).T
        edge = FURTHEST - 1
        return np.where((places < -edge) & low, -1.0, 0.0) + np.where((places > edge) & high, 1.0, 0.0)

    @property
    def _each(self) -> list[tuple[Domain, float]]:
        return list(zip(self.domains, self.units, strict=True))


def full_name(model: Any, name: str) -> str:
    """The one parameter of the model that is meant."""
    known = [known for known, _, _ in parameters(model)]
    if name in known:
        return name
    meant = [full for full in known if full.endswith(f".{name}")]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ValueError(f"{name!r} may be {' or '.join(meant)}; give the whole name")
    raise ValueError(f"there is no parameter {name!r}; known are {', '.join(known)}")


def _value(domain: Domain, unit: float, place: Array) -> Array:
    if math.isfinite(domain.low) and math.isfinite(domain.high):
        return domain.low + (domain.high - domain.low) * jax.nn.sigmoid(place)
    if math.isfinite(domain.low):
        return domain.low + jnp.exp(place)
    return unit * place


def _place(domain: Domain, unit: float, value: Numbers) -> Any:
    with np.errstate(divide="ignore"):
        if math.isfinite(domain.low) and math.isfinite(domain.high):
            odds = np.log(value - domain.low) - np.log(domain.high - value)
            return np.clip(odds, -FURTHEST, FURTHEST)
        if math.isfinite(domain.low):
            return np.maximum(np.log(value - domain.low), -FURTHEST)
    return value / unit
