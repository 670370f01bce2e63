"""Which values may a sample or a parameter have, and what else is known about a parameter?"""

import math
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from astonish.core.numbers import BoolArray as BoolArray, FloatArray as FloatArray, as_numbers


@dataclass(frozen=True)
class Domain:
    """An interval of numbers, perhaps whole ones, perhaps in an array of some `shape`.

    open: the ends themselves are excluded. inside: the value that stands where a sample is missing; 0, or another
    allowed one, when left out.

    >>> Domain(0, 14, whole=True).check("outcome", 15)
    Traceback (most recent call last):
    ValueError: outcome = 15 is not allowed; give a whole number from 0 to 14
    >>> str(Domain(high=0))
    'a finite number of at most 0'
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    open: bool = False
    shape: tuple[int, ...] = ()
    inside: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"there is no number from low = {self.low:g} to high = {self.high:g}; give low below high")
        if self.inside is not None and not self.allows(self.inside):
            raise ValueError(f"inside = {self.inside:g} is not allowed; give {self._one}")

    def __str__(self) -> str:
        return f"an array of shape {self.shape}, each number {self._one}" if self.shape else self._one

    @property
    def _one(self) -> str:
        kind = "a whole number" if self.whole else "a finite number"
        low, high = f"{self.low:g}", f"{self.high:g}"
        if self.has_low and self.has_high:
            return f"{kind} between {low} and {high}, ends excluded" if self.open else f"{kind} from {low} to {high}"
        if self.has_low:
            return f"{kind} above {low}" if self.open else f"{kind} of at least {low}"
        if self.has_high:
            return f"{kind} below {high}" if self.open else f"{kind} of at most {high}"
        return kind

    @property
    def has_low(self) -> bool:
        """Whether there is a smallest value."""
        return math.isfinite(self.low)

    @property
    def has_high(self) -> bool:
        """Whether there is a largest value."""
        return math.isfinite(self.high)

    @property
    def is_index(self) -> bool:
        """Whether the values fit into the integers by which arrays are indexed."""
        return self.whole and self.high < 2**31

    @property
    def stand_in(self) -> float:
        """An allowed value, which stands where a sample is missing."""
        if self.inside is not None:
            return self.inside
        middle = 0.5 * (self.low + self.high) if self.has_low and self.has_high else 0.0
        near = self.low + 1 if self.has_low else self.high - 1
        allowed = next((value for value in (0.0, self.low, self.high, near, middle) if self.allows(value)), None)
        if allowed is None:
            raise ValueError(f"there is no {self._one.removeprefix('a ')}; give a domain with values in it")
        return allowed

    def any_sample(self) -> Any:
        """An allowed sample, as learners are given it."""
        return np.full(self.shape, self.stand_in, np.int32 if self.is_index else np.float64)

    def holds(self, values: FloatArray) -> BoolArray:
        """Where `values` are allowed, element by element."""
        good = np.isfinite(values) & (values >= self.low) & (values <= self.high)
        if self.open:
            good &= (values != self.low) & (values != self.high)
        return good & (values == np.floor(values)) if self.whole else good

    def holds_all(self, values: FloatArray) -> bool:
        """Whether all of at least one are allowed; `holds` in two passes instead of many."""
        if not values.size:
            return True
        low, high = values.min(), values.max()  # NaN if there is any
        within = self.low < low <= high < self.high if self.open else self.low <= low <= high <= self.high
        finite = math.isfinite(low) and math.isfinite(high)
        return bool(finite and within and (not self.whole or (values == np.floor(values)).all()))

    def allows(self, value: float) -> bool:
        """Whether one number is allowed; `holds` without the cost of arrays."""
        if not math.isfinite(value) or (self.whole and value != math.floor(value)):
            return False
        return self.low < value < self.high if self.open else self.low <= value <= self.high

    def check(self, name: str, value: Any) -> FloatArray:
        """`value` as numbers, or a ValueError that quotes the first that is not allowed.

        Under `jax.jit` and the like its value is not known yet, and it is left as it is.
        """
        if isinstance(value, jax.core.Tracer):
            return cast(FloatArray, value)
        if isinstance(value, float) and self.allows(value):
            return np.asarray(value, np.float64)
        numbers = as_numbers(name, value)
        bad = ~self.holds(numbers)
        if bad.any():
            raise ValueError(f"{name} = {numbers[bad].flat[0]:g} is not allowed; give {self._one}")
        return numbers


FINITE = Domain()
POSITIVE = Domain(0.0, open=True)
NOT_NEGATIVE = Domain(0.0)
PROBABILITY = Domain(0.0, 1.0)
OPEN_PROBABILITY = Domain(0.0, 1.0, open=True)
WHOLE = Domain(0, whole=True)
COUNT = Domain(1, whole=True)


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
        known = self._replace(**changes)
        return parameter(known.default, known.domain, known.usual, known.about, known.fact, symbol=known.symbol)


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
    known = Parameter(domain, usual, about, None if default is REQUIRED else default, fact, symbol)
    return field(default=default, metadata={"parameter": known, "static": static})


def declared(kind: type) -> dict[str, Parameter]:
    """The parameters that a class declares, by name."""
    return {f.name: f.metadata["parameter"] for f in fields(kind) if "parameter" in f.metadata}
