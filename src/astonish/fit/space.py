"""Which parameters are fitted, and on what unconstrained scale are they searched for?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.domain import Domain, Numbers, Parameter, parameters, resolve, with_parameters
from astonish.precision import double
from astonish.trials import Trials

LIMIT = 15.0  # on the unconstrained scale, beyond which data cannot distinguish a bounded value from its bound


@dataclass(frozen=True)
class Space:
    """The free parameters of a model, and the values that each may take.

    Unconstrained, they are all real numbers: logarithms of the distance from one bound, log-odds between two, and
    multiples of a unit where there is none.
    """

    names: tuple[str, ...]
    known: tuple[Parameter, ...]
    units: tuple[float, ...]

    @classmethod
    def of(cls, model: Any, names: Iterable[str]) -> "Space":
        """The space of these parameters; a name may be short, as long as only one parameter of the model ends so."""
        found = tuple({each.path: each for each in (resolve(model, name) for name in names)}.values())
        whole = next((each.path for each in found if each.known.domain.whole), None)
        if whole is not None:
            raise ValueError(f"{whole} is a whole number and cannot be found by gradients; give it a value instead")
        units = tuple(float(abs(each.value) if isinstance(each.value, float | int) else 0) or 1.0 for each in found)
        return cls(tuple(each.path for each in found), tuple(each.known for each in found), units)

    def __len__(self) -> int:
        return len(self.names)

    def only(self, k: int) -> "Space":
        """The space of one of its parameters."""
        return Space(self.names[k : k + 1], self.known[k : k + 1], self.units[k : k + 1])

    @property
    def domains(self) -> list[Domain]:
        """The values that each parameter may take."""
        return [known.domain for known in self.known]

    @property
    def limit(self) -> Numbers:
        """How far from zero each unconstrained value may be."""
        return np.where([domain.has_low or domain.has_high for domain in self.domains], LIMIT, np.inf)

    def constrain(self, unconstrained: Array) -> Array:
        """The values of the parameters themselves; the last axis counts parameters."""
        return jnp.stack([_constrain(*own, unconstrained[..., k]) for k, own in enumerate(self._each)], -1)

    def constrained(self, unconstrained: Numbers) -> Numbers:
        """The same in NumPy, cut where a value would be no number."""
        most = np.where(np.isfinite(self.limit), 500.0, np.inf)
        with double():
            return np.asarray(self.constrain(jnp.asarray(np.clip(unconstrained, -most, most))))

    def unconstrained(self, values: Any) -> Numbers:
        """The unconstrained values, in NumPy, within the limit."""
        numbers = np.asarray(values, np.float64)
        return np.stack([_unconstrain(*own, numbers[..., k]) for k, own in enumerate(self._each)], -1)

    def bind(self, model: Any, unconstrained: Array) -> Any:
        """The model with these values of its free parameters."""
        return self.put(model, self.constrain(unconstrained))

    def put(self, model: Any, values: Array) -> Any:
        """The same from the values themselves."""
        return with_parameters(model, {name: values[k] for k, name in enumerate(self.names)})

    def start(self, model: Any) -> Numbers:
        """The unconstrained values that the model has now."""
        now = {each.path: each.value for each in parameters(model)}
        return self.unconstrained([float(now[name]) for name in self.names])

    def usual(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """Between which unconstrained values people's usually lie; NaN where that is not known.

        Parameters in units of the outcomes, or of the responses, are scaled by their range.
        """
        ends = np.full((2, len(self)), np.nan)
        for k, (name, known) in enumerate(zip(self.names, self.known, strict=True)):
            if known.usual is not None:
                ends[:, k] = known.usual_between(*_range(trials, name.startswith("response.")))
        return self.unconstrained(ends[0]), self.unconstrained(ends[1])

    def derivatives(self, unconstrained: Array) -> Array:
        """The derivative of each value by its unconstrained one."""
        return jax.jvp(self.constrain, (unconstrained,), (jnp.ones_like(unconstrained),))[1]

    def at_bound(self, unconstrained: Numbers) -> Numbers:
        """-1 where data cannot distinguish a value from its lower bound, 1 from its upper bound, else 0."""
        has_low = np.array([domain.has_low for domain in self.domains])
        has_high = np.array([domain.has_high for domain in self.domains])
        below, above = unconstrained < 1 - LIMIT, unconstrained > LIMIT - 1
        at_high = has_high & np.where(has_low, above, below)  # with an upper bound alone, small means near to it
        return at_high.astype(np.float64) - (has_low & below)

    @property
    def _each(self) -> list[tuple[Domain, float]]:
        return list(zip(self.domains, self.units, strict=True))


def short_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without what is not needed to tell them apart.

    >>> short_names(("learner.m", "learner.family.noise", "response.noise"))
    ('m', 'family.noise', 'response.noise')
    """

    def shortest(name: str) -> str:
        parts = name.split(".")
        endings = [".".join(parts[k:]) for k in range(len(parts) - 1, -1, -1)]
        return next(end for end in endings if sum(f".{other}".endswith(f".{end}") for other in names) == 1)

    return tuple(map(shortest, names))


def _constrain(domain: Domain, unit: float, unconstrained: Array) -> Array:
    if domain.has_low and domain.has_high:
        return domain.low + (domain.high - domain.low) * jax.nn.sigmoid(unconstrained)
    if domain.has_low:
        return domain.low + jnp.exp(unconstrained)
    if domain.has_high:
        return domain.high - jnp.exp(unconstrained)
    return unit * unconstrained


def _unconstrain(domain: Domain, unit: float, value: Numbers) -> Any:
    with np.errstate(divide="ignore"):
        if domain.has_low and domain.has_high:
            return np.clip(np.log(value - domain.low) - np.log(domain.high - value), -LIMIT, LIMIT)
        if domain.has_low:
            return np.maximum(np.log(value - domain.low), -LIMIT)
        if domain.has_high:
            return np.maximum(np.log(domain.high - value), -LIMIT)
    return value / unit


def _range(trials: Trials, of_responses: bool) -> tuple[float, float]:
    if not of_responses:
        return trials.outcome_range
    if trials.response_kind != "continuous" or trials.responses is None or np.isnan(trials.responses).all():
        return 0.0, 1.0
    return float(np.nanmin(trials.responses)), float(np.nanmax(trials.responses))
