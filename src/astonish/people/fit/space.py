"""The space of free parameters: an unconstrained scale, usual ranges on it, and priors.

Parameters in units of the outcomes, or of the responses, are scaled by the range that these have. With "usual", normal
priors say where people's values usually lie (see `domain.Parameter`): about the middle of that range, with a standard
deviation of half its width. They are weak, and keep values that few responses hardly tell from going astray.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.names import OutcomeKind, ResponseKind
from astonish.core.numbers import BoolArray, Domain, FloatArray, as_numbers, double
from astonish.core.parameters import Parameter
from astonish.core.refusal import unknown
from astonish.models.parameters import NamedParameter, find_parameter, parameters, short_names, with_parameters
from astonish.people.tables import Trials

LIMIT = 15.0  # on the unconstrained scale, beyond which data cannot distinguish a bounded value from its bound
_ORDINARY = 6.0  # logarithms of ranges of data up to which that holds for parameters in units of the data, too

Priors = Mapping[str, tuple[float, float]] | Literal["usual"] | None


@dataclass(frozen=True)
class Space:
    """The free parameters of a model, and the values that each may take.

    Unconstrained, they are all real numbers: logarithms of the distance from one bound, log-odds between two, and
    multiples of a unit where there is none. A parameter that differs between conditions is there once for each of them,
    as in "learner.m[easy]".

    Args:
        basis: If given, what is searched for are other numbers, of which the unconstrained values are linear
            combinations: a row for each of these.
        further: By how much the limit of a parameter in units of the data is further away, because these are very
            large or very small.
    """

    names: tuple[str, ...]
    known: tuple[Parameter, ...]
    units: tuple[float, ...]
    basis: tuple[tuple[float, ...], ...] | None = None
    further: float = 0.0

    @classmethod
    def of(cls, model: Any, names: Iterable[str], trials: Trials | None = None) -> "Space":
        """Make the space of these parameters; a name may be short if only one parameter of the model ends so."""
        free: dict[str, NamedParameter] = {}
        for name in names:
            short, _, condition = name.partition("[")
            parameter = find_parameter(parameters(model), short)
            if parameter.known.domain.whole:
                problem = f"{parameter.path} is a whole number and cannot be found by gradients"
                raise ValueError(f"{problem}; give it a value instead")
            path, conditions = parameter.path, trials.conditions if trials is not None else ()
            if path not in model.differs:
                if condition:
                    raise ValueError(f"{path} is the same in all conditions; give Model(..., differs=({path!r},))")
                free[path] = parameter
                continue
            if not conditions:
                problem = f"{path} is to differ between conditions, but none are known"
                raise ValueError(f"{problem}; name their column (condition=)")
            chosen = [label for label in conditions if condition in ("", f"{label}]")]
            if not chosen:
                raise unknown("condition", condition.removesuffix("]"), conditions)
            free |= {f"{path}[{label}]": parameter for label in chosen}
        values = [parameter.value for parameter in free.values()]
        units = tuple(float(abs(value) if isinstance(value, float | int) else 0) or 1.0 for value in values)
        further = 0.0
        if trials is not None:
            parts = (np.where(trials.observed, trials.scalar_outcomes, np.nan), trials.responses, trials.second)
            there = [part for part in parts if part is not None and np.isfinite(part).any()]
            widths = [np.nanmax(part) - np.nanmin(part) for part in there]
            further = max([0.0, *(float(abs(np.log(width))) - _ORDINARY for width in widths if width > 0)])
        return cls(tuple(free), tuple(parameter.known for parameter in free.values()), units, further=further)

    @property
    def by_condition(self) -> dict[str, list[int]]:
        """The columns of each parameter that differs between conditions, by its path."""
        groups: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            path, bracket, _ = name.partition("[")
            if bracket:
                groups.setdefault(path, []).append(k)
        return groups

    def contrasted(self) -> "Space":
        """Return the same space, in which the mean of each parameter by condition, and differences, are searched for.

        For two conditions the difference between the first and the second; for more, as many contrasts as are needed.
        """
        basis = np.eye(len(self))
        for places in self.by_condition.values():
            count = len(places)
            contrasts = np.array([[0.5], [-0.5]]) if count == 2 else effects(count)
            basis[np.ix_(places, places)] = np.concatenate([np.ones((count, 1)), contrasts], axis=1)
        return replace(self, basis=tuple(map(tuple, basis.tolist()))) if self.by_condition else self

    @property
    def searched(self) -> tuple[str, ...]:
        """What is searched for, by short names."""
        words = list(short_names(self.names))
        for path, places in self.by_condition.items() if self.basis is not None else ():
            short = path.rpartition(".")[2]
            labels = [self.names[k].removesuffix("]").partition("[")[2] for k in places]
            words[places[0]] = f"{short} (mean of conditions)"
            for k, place in enumerate(places[1:], 1):
                words[place] = f"{short} ({labels[0]} - {labels[1]})" if len(labels) == 2 else f"{short} (contrast {k})"
        return tuple(words)

    def __len__(self) -> int:
        return len(self.names)

    def only(self, k: int) -> "Space":
        """Return the space of one of its parameters."""
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
        """Compute the values of the parameters themselves; the last axis counts parameters."""
        if self.basis is not None:
            unconstrained = unconstrained @ jnp.asarray(self.basis, unconstrained.dtype).T
        pairs = enumerate(zip(self.domains, self.units, strict=True))
        return jnp.stack([_constrain(domain, unit, unconstrained[..., k]) for k, (domain, unit) in pairs], -1)

    def constrained(self, unconstrained: FloatArray) -> FloatArray:
        """Do the same in NumPy, cut where a value would be no number."""
        most = np.where(np.isfinite(self.limit), 500.0, np.inf)
        with double():
            return np.asarray(self.constrain(jnp.asarray(np.clip(unconstrained, -most, most))))

    def unconstrained(self, values: Any) -> FloatArray:
        """Compute the unconstrained values, in NumPy, within the limit; with a basis, what is searched for."""
        numbers = np.asarray(values, np.float64)
        scales = enumerate(zip(self.domains, self.units, self._limits.tolist(), strict=True))
        x = np.stack([_unconstrain(*scale, numbers[..., k]) for k, scale in scales], -1)
        return x if self.basis is None else np.linalg.solve(np.array(self.basis), x[..., None])[..., 0]

    def bind(self, model: Any, unconstrained: Array) -> Any:
        """Return the model with these unconstrained values of its free parameters."""
        return self.put(model, self.constrain(unconstrained))

    def put(self, model: Any, values: Array) -> Any:
        """Return the model with these values of its free parameters; of parameters by condition, an array of them."""
        by_condition = {path: jnp.stack([values[k] for k in places]) for path, places in self.by_condition.items()}
        others = {name: values[k] for k, name in enumerate(self.names) if "[" not in name}
        return with_parameters(model, others | by_condition)

    def start(self, model: Any) -> FloatArray:
        """Return the unconstrained values that the model has now."""
        now = parameters(model)
        return self.unconstrained([float(now[name.partition("[")[0]].value) for name in self.names])

    def derivatives(self, unconstrained: Array) -> Array:
        """Differentiate each value by its unconstrained one."""
        return jax.jvp(self.constrain, (unconstrained,), (jnp.ones_like(unconstrained),))[1]

    def at_bound(self, unconstrained: FloatArray) -> FloatArray:
        """Return -1 where data cannot distinguish a value from its lower bound, 1 from its upper bound, else 0.

        What has one bound and has gone as far away from it as a search may, is at the other one, which is infinite.
        """
        has_low = np.array([domain.has_low for domain in self.domains])
        has_high = np.array([domain.has_high for domain in self.domains])
        far = np.where(has_low | has_high, self._limits - 1, np.inf)
        upwards = np.where(has_low, unconstrained, -unconstrained)  # with an upper bound alone, small means near to it
        return (upwards > far).astype(np.float64) - (upwards < -far)

    def endless(self, unconstrained: FloatArray) -> BoolArray:
        """Mark values at a bound that is infinite."""
        edges = self.at_bound(unconstrained)
        low, high = (np.array([getattr(domain, side) for domain in self.domains]) for side in ("low", "high"))
        return np.isinf(np.where(edges < 0, low, high)) & (edges != 0)

    @property
    def _limits(self) -> FloatArray:
        return np.array([LIMIT + self.further * known.has_units for known in self.known])


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


def effects(count: int) -> FloatArray:
    """Contrast groups, or conditions, none of which is special: columns that add up to zero, orthonormal.

    >>> effects(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    basis = np.zeros((count, count - 1))
    for k in range(1, count):  # after Helmert: the mean of the first k against the next
        basis[:k, k - 1], basis[k, k - 1] = 1.0, -float(k)
    return basis / np.linalg.norm(basis, axis=0)


# Usual ranges


def usual(space: Space, trials: Trials, of_each: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the usual range of each parameter, by the range of all data; NaN where it is not known.

    Outcomes concern the learner's parameters, and responses their own. A choice follows the estimates, and so the
    outcomes. Labels and angles are from 0 to 1. of_each: by the range of what each participant saw and did, a row each.
    """
    data = {"learner": (np.where(trials.observed, trials.scalar_outcomes, np.nan), trials.kind)}
    if trials.responses is not None and trials.response_kind != ResponseKind.CHOICE:
        data["response"] = trials.responses, str(trials.response_kind)
    if trials.second is not None:
        data["second"] = trials.second, OutcomeKind.CONTINUOUS
    ranges = {}
    for part, (values, kind) in data.items():
        numbers = values if kind == OutcomeKind.CONTINUOUS else np.tile([0.0, 1.0], (len(values), 1))
        numbers = numbers if of_each else numbers.reshape(1, -1)
        ends = np.stack([np.fmin.reduce(numbers, axis=1), np.fmax.reduce(numbers, axis=1)], 1)
        ranges[part] = np.where(np.isnan(ends), [0.0, 1.0], ends).tolist()
    usual = np.full((2, len(ranges["learner"]), len(space)), np.nan)
    for k, (name, known) in enumerate(zip(space.names, space.known, strict=True)):
        if known.usual is not None:
            own = ranges.get(name.partition(".")[0], ranges["learner"])
            usual[:, :, k] = np.transpose([known.usual_between(*ends) for ends in own])
    low, high = (replace(space, basis=None).unconstrained(end) for end in usual)
    for _, *differences in space.by_condition.values() if space.basis is not None else ():
        quarter = 0.25 * np.abs(high[:, differences] - low[:, differences])  # of the width; usually not more
        low[:, differences], high[:, differences] = -quarter, quarter
    return (low, high) if of_each else (low[0], high[0])


# Priors


def normal_priors(model: Any, space: Space, trials: Trials, priors: Priors, shared: tuple[str, ...] = ()) -> FloatArray:
    """Compute means and precisions, by participant and parameter; a precision of 0 is no prior.

    shared: full names of parameters that have one value for all participants; as their prior counts once, each
    participant has a part of it.
    """
    people, same = len(trials), np.isin(space.names, shared)
    prior = np.zeros((2, people, len(space)))
    if isinstance(priors, str):
        if str(priors) != "usual":
            form = "'usual', or means and standard deviations by name"
            raise ValueError(f"priors = {priors!r} is not allowed; give {form}")
        ends = zip(usual(space, trials, of_each=True), usual(space, trials), strict=True)
        low, high = (np.where(same, of_all, of_each) for of_each, of_all in ends)
        mean, std = 0.5 * (low + high), 0.5 * np.abs(high - low)
        known = ~np.isnan(mean)
        prior[0][known], prior[1][known] = mean[known], std[known] ** -2.0
    else:
        for k, (mean, std) in by_column(model, trials, space, priors or {}, 2, "priors").items():
            prior[:, :, k] = np.array([mean, std**-2.0])[:, None]
    prior[1] = np.where(same, prior[1] / people, prior[1])
    return prior


def by_column(
    model: Any, trials: Trials, space: Space, given: Mapping[str, Any], count: int, what: str
) -> dict[int, FloatArray]:
    """Return what is given about parameters, by their columns. count: of the numbers given about each, 1 or 2.

    Of a parameter that differs between conditions, it is about each of them, or about their mean if that is searched.
    """
    columns: dict[int, FloatArray] = {}
    for name, value in given.items():
        names = Space.of(model, [name], trials).names
        if names[0] not in space.names:
            raise ValueError(f"{what} describes {name!r}, which is not free; free are {', '.join(space.names)}")
        numbers = as_numbers(f"{what}[{name!r}]", value)
        if numbers.shape != (2,)[: count - 1] or not np.isfinite(numbers).all() or numbers.flat[-1] <= 0:
            form = "a mean and a standard deviation above 0" if count == 2 else "a number above 0"
            raise ValueError(f"{what}[{name!r}] = {value!r} is not allowed; give {form}, on the unconstrained scale")
        columns |= {space.names.index(full): numbers for full in (names if space.basis is None else names[:1])}
    return columns


def in_words(space: Space, prior: FloatArray, shared: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Describe the priors, a sentence for each parameter; nothing where there is none at all.

    prior: as `normal_priors` gives it. shared: full names of parameters that have one value for all participants.
    """
    if not prior[1].any():
        return ()
    count = np.where(np.isin(space.names, shared), prior.shape[1], 1.0)
    mean, precision = prior[0], np.where(prior[1] > 0, prior[1] * count, np.nan)
    low, high = np.sort([space.constrained(mean + side * precision**-0.5) for side in (-1, 1)], axis=0)
    sentences = []
    for k, name in enumerate(short_names(space.names)):
        domain, known = space.domains[k], space.known[k]
        if np.isnan(low[0, k]):
            sentences.append(f"{name} has no prior: where its values usually lie is not known")
            continue
        one_bound = "its logarithm is" if domain.low == 0 else "the logarithm of its distance from the bound is"
        scale = ("its value is", one_bound, "its log-odds are")[domain.has_low + domain.has_high]
        ends = f"{low[0, k]:.3g} and {high[0, k]:.3g}"
        if np.ptp(low[:, k]) > 0 and known.usual is not None:
            of = "responses" if space.names[k].startswith("response.") else "outcomes"
            ends = f"{known.usual[0]:g} and {known.usual[1]:g}, if each participant's {of} were from 0 to 1"
        sentences.append(f"prior of {name}: {scale} normally distributed, 68 % of values between {ends}")
    return tuple(sentences)
