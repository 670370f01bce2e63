"""Which parameters are fitted, and on what unconstrained scale are they searched for?"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import BoolArray, Domain, FloatArray, double
from astonish.core.parameters import Parameter
from astonish.core.refusal import unknown
from astonish.models.parameters import NamedParameter, find_parameter, parameters, short_names, with_parameters
from astonish.people.fit.contrasts import effects
from astonish.people.tables import Trials

LIMIT = 15.0  # on the unconstrained scale, beyond which data cannot distinguish a bounded value from its bound
_ORDINARY = 6.0  # logarithms of ranges of data up to which that holds for parameters in units of the data, too


@dataclass(frozen=True)
class Space:
    """The free parameters of a model, and the values that each may take.

    Unconstrained, they are all real numbers: logarithms of the distance from one bound, log-odds between two, and
    multiples of a unit where there is none. A parameter that differs between conditions is there once for each of them,
    as in "learner.m[easy]".
    basis: if given, what is searched for are other numbers, of which the unconstrained values are linear combinations:
    a row for each of these. further: by how much the limit of a parameter in units of the data is further away, because
    these are very large or very small.
    """

    names: tuple[str, ...]
    known: tuple[Parameter, ...]
    units: tuple[float, ...]
    basis: tuple[tuple[float, ...], ...] | None = None
    further: float = 0.0

    @classmethod
    def of(cls, model: Any, names: Iterable[str], trials: Trials | None = None) -> "Space":
        """The space of these parameters; a name may be short, as long as only one parameter of the model ends so."""
        found: dict[str, NamedParameter] = {}
        for name in names:
            short, _, condition = name.partition("[")
            each = find_parameter(parameters(model), short)
            labels = _conditions(each.path, condition, model, trials)
            found |= {f"{each.path}[{label}]": each for label in labels} or {each.path: each}
        whole = next((each.path for each in found.values() if each.known.domain.whole), None)
        if whole is not None:
            raise ValueError(f"{whole} is a whole number and cannot be found by gradients; give it a value instead")
        values = [each.value for each in found.values()]
        units = tuple(float(abs(value) if isinstance(value, float | int) else 0) or 1.0 for value in values)
        return cls(tuple(found), tuple(each.known for each in found.values()), units, further=_further(trials))

    @property
    def by_condition(self) -> dict[str, tuple[str, ...]]:
        """The names of parameters that differ between conditions, by the path of each."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            path, bracket, _ = name.partition("[")
            if bracket:
                found[path] = (*found.get(path, ()), name)
        return found

    def contrasted(self) -> "Space":
        """The same space, in which what is searched for of each parameter by condition is its mean, and differences.

        For two conditions the difference between the first and the second; for more, as many contrasts as are needed.
        """
        basis = np.eye(len(self))
        for names in self.by_condition.values():
            places, count = [self.names.index(name) for name in names], len(names)
            contrasts = np.array([[0.5], [-0.5]]) if count == 2 else effects(count)
            basis[np.ix_(places, places)] = np.concatenate([np.ones((count, 1)), contrasts], axis=1)
        return replace(self, basis=tuple(map(tuple, basis.tolist()))) if self.by_condition else self

    @property
    def differences(self) -> list[int]:
        """Which of the numbers searched for are differences between conditions."""
        groups = self.by_condition.values() if self.basis is not None else ()
        return [self.names.index(name) for names in groups for name in names[1:]]

    @property
    def searched(self) -> tuple[str, ...]:
        """What is searched for, by short names."""
        found = list(short_names(self.names))
        for path, names in self.by_condition.items() if self.basis is not None else ():
            places, short = [self.names.index(name) for name in names], path.rpartition(".")[2]
            labels = [name.removesuffix("]").partition("[")[2] for name in names]
            found[places[0]] = f"{short} (mean of conditions)"
            for k, place in enumerate(places[1:], 1):
                found[place] = f"{short} ({labels[0]} - {labels[1]})" if len(names) == 2 else f"{short} (contrast {k})"
        return tuple(found)

    def __len__(self) -> int:
        return len(self.names)

    def only(self, k: int) -> "Space":
        """The space of one of its parameters."""
        return Space(self.names[k : k + 1], self.known[k : k + 1], self.units[k : k + 1], further=self.further)

    @property
    def domains(self) -> list[Domain]:
        """The values that each parameter may take."""
        return [known.domain for known in self.known]

    @property
    def limit(self) -> FloatArray:
        """How far from zero each unconstrained value may be."""
        bounded = [domain.has_low or domain.has_high for domain in self.domains]
        return np.where(bounded, np.inf if self.basis is not None else self._limits, np.inf)

    def constrain(self, unconstrained: Array) -> Array:
        """The values of the parameters themselves; the last axis counts parameters."""
        if self.basis is not None:
            unconstrained = unconstrained @ jnp.asarray(self.basis, unconstrained.dtype).T
        return jnp.stack([_constrain(*own[:2], unconstrained[..., k]) for k, own in enumerate(self._each)], -1)

    def constrained(self, unconstrained: FloatArray) -> FloatArray:
        """The same in NumPy, cut where a value would be no number."""
        most = np.where(np.isfinite(self.limit), 500.0, np.inf)
        with double():
            return np.asarray(self.constrain(jnp.asarray(np.clip(unconstrained, -most, most))))

    def unconstrained(self, values: Any) -> FloatArray:
        """The unconstrained values, in NumPy, within the limit; with a basis, what is searched for."""
        numbers = np.asarray(values, np.float64)
        found = np.stack([_unconstrain(*own, numbers[..., k]) for k, own in enumerate(self._each)], -1)
        return found if self.basis is None else np.linalg.solve(np.array(self.basis), found[..., None])[..., 0]

    def bind(self, model: Any, unconstrained: Array) -> Any:
        """The model with these values of its free parameters."""
        return self.put(model, self.constrain(unconstrained))

    def put(self, model: Any, values: Array) -> Any:
        """The same from the values themselves; of parameters by condition, an array of them."""
        found: dict[str, Any] = {name: values[k] for k, name in enumerate(self.names)}
        for path, names in self.by_condition.items():
            found[path] = jnp.stack([found.pop(name) for name in names])
        return with_parameters(model, found)

    def start(self, model: Any) -> FloatArray:
        """The unconstrained values that the model has now."""
        now = parameters(model)
        return self.unconstrained([float(now[name.partition("[")[0]].value) for name in self.names])

    def derivatives(self, unconstrained: Array) -> Array:
        """The derivative of each value by its unconstrained one."""
        return jax.jvp(self.constrain, (unconstrained,), (jnp.ones_like(unconstrained),))[1]

    def at_bound(self, unconstrained: FloatArray) -> FloatArray:
        """-1 where data cannot distinguish a value from its lower bound, 1 from its upper bound, else 0.

        What has one bound and has gone as far away from it as a search may, is at the other one, which is infinite.
        """
        has_low = np.array([domain.has_low for domain in self.domains])
        has_high = np.array([domain.has_high for domain in self.domains])
        far = np.where(has_low | has_high, self._limits - 1, np.inf)
        upwards = np.where(has_low, unconstrained, -unconstrained)  # with an upper bound alone, small means near to it
        return (upwards > far).astype(np.float64) - (upwards < -far)

    def endless(self, unconstrained: FloatArray) -> BoolArray:
        """Where a value is at a bound that is infinite."""
        edges = self.at_bound(unconstrained)
        low, high = (np.array([getattr(domain, side) for domain in self.domains]) for side in ("low", "high"))
        return np.isinf(np.where(edges < 0, low, high)) & (edges != 0)

    @property
    def _limits(self) -> FloatArray:
        return np.array([LIMIT + self.further * known.has_units for known in self.known])

    @property
    def _each(self) -> list[tuple[Domain, float, float]]:
        return list(zip(self.domains, self.units, self._limits.tolist(), strict=True))


def _conditions(path: str, condition: str, model: Any, trials: Trials | None) -> tuple[Any, ...]:
    """The conditions for each of which there is such a parameter; none if it is the same in all of them."""
    if path not in model.differs:
        if condition:
            raise ValueError(f"{path} is the same in all conditions; give Model(..., differs=({path!r},))")
        return ()
    if trials is None or not trials.conditions:
        raise ValueError(f"{path} is to differ between conditions, but none are known; name their column (condition=)")
    chosen = tuple(label for label in trials.conditions if condition in ("", f"{label}]"))
    if not chosen:
        raise unknown("condition", condition.removesuffix("]"), trials.conditions)
    return chosen


def _further(trials: Trials | None) -> float:
    """How far the logarithm of the range of the data is beyond what is ordinary."""
    if trials is None:
        return 0.0
    parts = (np.where(trials.observed, trials.scalar_outcomes, np.nan), trials.responses, trials.second)
    ranges = [np.nanmax(part) - np.nanmin(part) for part in parts if part is not None and np.isfinite(part).any()]
    return max([0.0, *(float(abs(np.log(width))) - _ORDINARY for width in ranges if width > 0)])


def _constrain(domain: Domain, unit: float, unconstrained: Array) -> Array:
    if domain.has_low and domain.has_high:
        return domain.low + (domain.high - domain.low) * jax.nn.sigmoid(unconstrained)
    if domain.has_low:
        return domain.low + jnp.exp(unconstrained)
    if domain.has_high:
        return domain.high - jnp.exp(unconstrained)
    return unit * unconstrained


def _unconstrain(domain: Domain, unit: float, limit: float, value: FloatArray) -> Any:
    with np.errstate(divide="ignore"):
        if domain.has_low and domain.has_high:
            return np.clip(np.log(value - domain.low) - np.log(domain.high - value), -limit, limit)
        if domain.has_low:
            return np.maximum(np.log(value - domain.low), -limit)
        if domain.has_high:
            return np.maximum(np.log(domain.high - value), -limit)
    return value / unit
