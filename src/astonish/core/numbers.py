"""How do the numbers that people write, with gaps among them, become NumPy's?"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_NESTED = {np.ma.MaskedArray, type(np.ma.masked), list, tuple}  # what may hold, or be, a masked number


def as_numbers(name: str, value: Any) -> FloatArray:
    """`value` as an array of float64, NaN where a number is None, NA or masked; text is refused.

    >>> as_numbers("x", np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    value = unmasked(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} holds samples of different shapes; give all of them the same") from None
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    array = np.asarray(value, dtype=object)  # as it was written: NumPy turns numbers beside text into text
    return np.array([_number(name, each) for each in array.ravel().tolist()], np.float64).reshape(array.shape)


def as_float(name: str, value: Any) -> Any:
    """Whole numbers as floating-point ones, whose powers do not overflow so soon, and lists as arrays of them.

    Anything else stays what it is.
    """
    if isinstance(value, int):
        return _number(name, value)
    if isinstance(value, list):
        return as_numbers(name, value)
    whole = np.issubdtype(getattr(value, "dtype", object), np.integer)
    return value.astype(float) if whole else value


def as_integer(value: Any) -> Any:
    """A whole number as Python's own; anything else as it is."""
    return int(value) if isinstance(value, float | np.number) and float(value).is_integer() else value


def unmasked(value: Any) -> Any:
    """The same numbers, NaN where they are masked as `numpy.ma` does."""
    if isinstance(value, np.ma.MaskedArray):
        numbers: Any = value.astype(np.float64 if value.dtype.kind in "biuf" else object)
        filled = numbers.filled(math.nan)
        return filled if value.ndim else filled.item()
    if isinstance(value, list | tuple) and set(map(type, value)) & _NESTED:
        return [unmasked(each) for each in value]
    return value


def is_missing(value: Any) -> bool:
    """Whether this stands for a number, or a sample, that is missing: None, NaN, pandas' NA, Arrow's null, masked."""
    if isinstance(value, float):
        return math.isnan(value)
    named = type(value).__name__ in ("NAType", "NaTType")
    return value is None or value is np.ma.masked or named or getattr(value, "is_valid", True) is False


def _number(name: str, value: Any) -> float:
    """One number; NaN where it is missing."""
    value = value.as_py() if type(value).__module__ == "pyarrow.lib" else value
    if is_missing(value):
        return math.nan
    if not isinstance(value, (bool, int, float, np.number, np.bool_)) or isinstance(value, np.complexfloating):
        raise ValueError(f"{name} holds {value!r}, which is not a number; give numbers, with None or NaN where missing")
    try:
        return float(value)
    except OverflowError:
        about = f"{'-' if value < 0 else ''}1e{int(value).bit_length() * math.log10(2):.0f}"
        raise ValueError(f"{name} holds about {about}, which is too large; give numbers below 1e308") from None
