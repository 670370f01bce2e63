"""Parameters: what is known about each, those about the world, and checks of them, of beliefs and of states."""

import math
from collections.abc import Iterator
from dataclasses import MISSING, field, fields, is_dataclass, replace
from inspect import get_annotations
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.core.numbers import FINITE, OPEN_PROBABILITY, POSITIVE, Domain, as_numbers, double

_LONGEST, _LARGEST = 2**31 - 1, 2**62  # of an array, whose places are counted in 32 bits, and of any whole number
_LOCATIONS = ("low", "high", "middle")  # facts that are places rather than distances


class Parameter(NamedTuple):
    """What is known about a parameter.

    usual: where people's values usually lie. about: what it means, in a few words.
    fact: the fact about outcomes that decides the value if nobody sets it, such as "noise" (see `assemble.fact_of`).
    Such a parameter is in units of the outcomes (unless it is a concentration), and `usual` is for outcomes between 0
    and 1. symbol: what papers call it, such as "alpha"; it is understood in place of the name.
    """

    domain: Domain
    usual: tuple[float, float] | None = None
    about: str = ""
    default: Any = None
    fact: str = ""
    symbol: str = ""

    @property
    def from_data(self) -> bool:
        """Whether the outcomes decide the value if nobody sets it."""
        return self.fact not in ("", "hazard", "period")

    @property
    def has_units(self) -> bool:
        """Whether it is in units of the outcomes."""
        return self.from_data and self.fact != "concentration"

    def usual_between(self, low: float, high: float) -> tuple[float, float] | None:
        """Where its values usually lie for outcomes between `low` and `high`.

        >>> Parameter(Domain(), usual=(0.0, 0.5), fact="middle").usual_between(10.0, 20.0)
        (10.0, 15.0)
        """
        if self.usual is None or not self.has_units:
            return self.usual
        (first, last), width = self.usual, (high - low) or 1.0
        if self.fact in _LOCATIONS:
            return low + width * first, low + width * last
        return (first / width, last / width) if self.fact == "per_unit" else (first * width, last * width)

    def field(self, **changes: Any) -> Any:
        """The parameter as a field of a class. changes: what is different about it there."""
        p = self._replace(**changes)
        return parameter(p.default, p.domain, p.usual, p.about, p.fact, symbol=p.symbol)


REQUIRED: Any = MISSING  # the default of a parameter that has none


def parameter(
    default: Any,
    domain: Domain,
    usual: tuple[float, float] | None = None,
    about: str = "",
    fact: str = "",
    static: bool = False,
    symbol: str = "",
) -> Any:
    """A field of a learner, family or response model, and what is known about it (see `Parameter`).

    static: JAX compiles again for each value, as it must for sizes of arrays.
    """
    facts = Parameter(domain, usual, about, None if default is REQUIRED else default, fact, symbol)
    return field(default=default, metadata={"parameter": facts, "static": static})


def declared(kind: type) -> dict[str, Parameter]:
    """The parameters that a class declares, by name."""
    return {f.name: f.metadata["parameter"] for f in fields(kind) if "parameter" in f.metadata}


NOISE = Parameter(POSITIVE, (0.02, 0.5), "standard deviation of the samples", 1.0, "noise")
HAZARD = Parameter(OPEN_PROBABILITY, (0.005, 0.5), "probability of a change before each sample", 0.1, "hazard", "h")
LOW = Parameter(Domain(), (0.0, 0.3), "lower end of the range of the mean", -20.0, "low")
HIGH = Parameter(Domain(), (0.7, 1.0), "upper end of the range of the mean", 20.0, "high")
MEAN = Parameter(Domain(), (0.0, 1.0), "mean of the first belief", 0.0, "middle")
STD = Parameter(POSITIVE, (0.05, 1.0), "standard deviation of the first belief", None, "spread")
START = Parameter(Domain(), (0.0, 1.0), "estimate before the first sample", 0.0, "middle")
CONCENTRATION = Parameter(
    POSITIVE,
    (1.0, 100.0),
    "concentration of the samples: 1 over their variance, if that is small",
    5.0,
    "concentration",
)
PERIOD = Parameter(POSITIVE, (1.0, 360.0), "the whole circle: 2 pi, or 360 for degrees", 2 * math.pi, "period")
DIRECTION = Parameter(Domain(), (-math.pi, math.pi), "direction that is estimated before the first sample", 0.0)


def check_parameters(thing: Any) -> None:
    """Refuse a learner any of whose parameters lies outside its domain, or does not go with the others."""
    owner, parts = type(thing).__name__, list(_parts(thing))
    for path, part in parts:
        for f in fields(part):
            value, name = getattr(part, f.name), f"{owner}'s {path}{f.name}"
            if "parameter" not in f.metadata or value is None:
                continue
            domain: Domain = f.metadata["parameter"].domain
            numbers = domain.check(name, value)
            if np.shape(numbers) != domain.shape:
                raise ValueError(f"{name} has shape {np.shape(numbers)}; give {domain}")
            most = _LONGEST if f.metadata["static"] else _LARGEST
            if domain.whole and numbers > most:
                raise ValueError(f"{name} = {numbers:g} is too large; give at most {most:g}")
    for where, leaf in jax.tree.leaves_with_path(thing):
        FINITE.check(f"{owner}'s {_path(where)}", leaf)
    for _, part in parts:
        replace(part)  # for its constructor to look at, since JAX may have put other values in


def check_ends(low: Any, high: Any, between: str) -> None:
    """Refuse ends of a range that leave no room for what lies between them; numbers that JAX does not know yet pass."""
    if isinstance(low, jax.core.Tracer) or isinstance(high, jax.core.Tracer):
        return
    low, high = as_numbers("low", low), as_numbers("high", high)
    if not (low < high).all():
        ends = f"low = {low.max():g} and high = {high.min():g}"
        raise ValueError(f"{ends} leave no room for {between}; give low below high")


def _parts(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A learner and whatever it is made of, each after the path to it."""
    if is_dataclass(thing) and not isinstance(thing, type):
        yield path, thing
        for f in fields(thing):
            yield from _parts(getattr(thing, f.name), f"{path}{f.name}.")


def check_like(name: str, belief: Any, like: Any, example: str) -> None:
    """Refuse a belief, or a state, that is made up differently from another one, or holds numbers that cannot be.

    example: how to come by one that is made up in the same way.
    """
    form: Any = jax.tree.structure(belief)
    if form != jax.tree.structure(like):
        raise ValueError(f"{name} is {_outline(belief)}; give {_outline(like)}, such as {example}")
    for (where, leaf), example_leaf in zip(jax.tree.leaves_with_path(belief), jax.tree.leaves(like), strict=True):
        if np.shape(leaf) != np.shape(example_leaf):
            path = f"{name}.{_path(where)}" if where else name
            raise ValueError(f"{path} has shape {np.shape(leaf)}; give shape {np.shape(example_leaf)}, as in {example}")
    check_values(name, belief)


def check_values(name: str, tree: Any) -> None:
    """Refuse a belief, a state, or a table of them, that holds numbers that the annotations of its fields rule out.

    >>> from astonish.beliefs import GaussianBelief
    >>> check_values("prior", GaussianBelief(mean=0.0, precision=-1.0))
    Traceback (most recent call last):
    ValueError: prior.precision = -1 is not allowed; give a finite number above 0
    """
    for part, hint in get_annotations(type(tree)).items() if isinstance(tree, tuple) else ():
        check_values(f"{name}.{part}", value := getattr(tree, part))
        for domain in getattr(hint, "__metadata__", ()):
            domain.check(f"{name}.{part}", value)


def read_state(learner: Any, state: Any) -> Any:
    """A state, checked, from which a learner can go on: NumPy's arrays, of the types that its own start has."""
    with double():
        start = learner.init()
    check_like("state", state, start, f"that of a History of {type(learner).__name__}")
    if isinstance(start, jax.Array):
        FINITE.check("state", state)
    return jax.tree.map(lambda leaf, example_leaf: np.asarray(leaf).astype(example_leaf.dtype), state, start)


def _outline(tree: Any) -> str:
    """What something is called, and what it is made of."""
    parts = [_path(where) for where, _ in jax.tree.leaves_with_path(tree)]
    return f"{type(tree).__name__}({', '.join(parts)})" if any(parts) else repr(tree)


def _path(where: Any) -> str:
    return jax.tree_util.keystr(where, simple=True, separator=".")
