"""Which values are allowed? Samples and parameters say so with a `Domain`, and the doors of the library ask it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """An interval of numbers, perhaps whole ones, perhaps in an array of some `shape`.

    open: the ends themselves are excluded. inside: an allowed value, used where a sample is missing.

    >>> Domain(0, 14, whole=True).check("outcome", 15)
    Traceback (most recent call last):
    ValueError: outcome = 15 is not allowed; give a whole number from 0 to 14
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    open: bool = False
    shape: tuple[int, ...] = ()
    inside: float = 0.0

    def __str__(self) -> str:
        return f"an array of shape {self.shape}, each number {self._one}" if self.shape else self._one

    @property
    def _one(self) -> str:
        kind = "a whole number" if self.whole else "a finite number"
        if math.isfinite(self.low) and math.isfinite(self.high):
            low, high = f"{self.low:g}", f"{self.high:g}"
            return f"{kind} between {low} and {high}, ends excluded" if self.open else f"{kind} from {low} to {high}"
        if math.isfinite(self.low):
            return f"{kind} above {self.low:g}" if self.open else f"{kind} of at least {self.low:g}"
        return kind

    @property
    def is_index(self) -> bool:
        """Whether the values can count places in an array."""
        return self.whole and self.high < 2**31

    def holds(self, values: Numbers) -> NDArray[np.bool_]:
        """Where `values` are allowed, element by element."""
        good = np.isfinite(values) & (values >= self.low) & (values <= self.high)
        if self.open:
            good &= (values != self.low) & (values != self.high)
        return good & (values == np.floor(values)) if self.whole else good

    def takes(self, value: float) -> bool:
        """Whether one number is allowed; `holds` without the cost of arrays."""
        if self.shape or not math.isfinite(value) or (self.whole and value != math.floor(value)):
            return False
        return self.low < value < self.high if self.open else self.low <= value <= self.high

    def check(self, name: str, value: Any) -> Numbers:
        """`value` as numbers, or a ValueError that quotes the first that is not allowed."""
        numbers = as_numbers(name, value)
        bad = ~self.holds(numbers)
        if bad.any():
            raise ValueError(f"{name} = {numbers[bad].flat[0]:g} is not allowed; give {self._one}")
        return numbers


POSITIVE = Domain(0.0, open=True)


def as_numbers(name: str, value: Any) -> Numbers:
    """`value` as an array of float64, where None, NaN and pandas' NA become NaN; text is refused."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} holds samples of different shapes; give all of them the same") from None
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    array = np.asarray(value, dtype=object)  # as it was written: NumPy turns numbers beside text into text
    odd = next((v for v in array.ravel().tolist() if not _is_number_or_missing(v)), None)
    if odd is not None:
        raise ValueError(f"{name} holds {odd!r}, which is not a number; give numbers, with None or NaN where missing")
    return np.array([_to_float(v) for v in array.flat], np.float64).reshape(array.shape)


def parameter(*, default: Any, domain: Domain) -> Any:
    """A dataclass field with a default and the values it may take."""
    return field(default=default, metadata={"domain": domain})


def parameters(thing: Any, path: str = "") -> Iterator[tuple[str, Any, Domain]]:
    """The name, value and domain of every parameter of a learner, its family and whatever else it is made of."""
    for f in fields(thing) if is_dataclass(thing) else ():
        value = getattr(thing, f.name)
        if "domain" in f.metadata:
            yield path + f.name, value, f.metadata["domain"]
        yield from parameters(value, f"{path}{f.name}.")


def check_parameters(thing: Any) -> None:
    """Refuse a learner any of whose parameters lies outside its domain."""
    for name, value, domain in parameters(thing):
        domain.check(f"{type(thing).__name__}'s {name}", value)
    for where, leaf in jax.tree.leaves_with_path(thing):
        Domain().check(f"{type(thing).__name__}'s {jax.tree_util.keystr(where, simple=True, separator='.')}", leaf)


def _is_number_or_missing(value: Any) -> bool:
    return _is_missing(value) or isinstance(value, (bool, int, float, np.number, np.bool_))


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _to_float(value: Any) -> float:
    return math.nan if _is_missing(value) else float(value)
