"""Samples as people write them, lists, tables and gaps, as arrays and a mask of what was observed."""

import math
from collections.abc import Collection, Sized
from functools import reduce
from typing import Any

import jax
import numpy as np

from astonish.core.numbers import BoolArray, Domain, FloatArray, as_numbers, is_missing


def read_series(samples: Any, xs: Any) -> tuple[Any, BoolArray]:
    """A series as one array per part of a sample, gaps filled in, and a mask of what was observed.

    A tuple holds columns, one per part of a sample; anything else holds rows. A sample in which any number is None,
    NaN, NA or masked is missing.

    >>> read_series(Domain(), [1.0, None, 2.0])
    (array([1., 0., 2.]), array([ True, False,  True]))
    """
    columns = _columns(samples, xs)
    lengths = {len(column) for column in columns}
    if lengths == {0}:
        raise ValueError("the series is empty; give at least one sample")
    if len(lengths) > 1:
        raise ValueError(f"the columns have {sorted(lengths)} rows; give columns of one length")
    domains, structure = jax.tree.flatten(samples)
    observed: BoolArray = ~reduce(np.logical_or, (_any_of_row(np.isnan(column)) for column in columns))
    for k, domain in enumerate(domains):
        column = columns[k]
        allowed = domain.allows(column)
        if not (allowed.all() and observed.all()):
            wrong = _any_of_row(~allowed) & observed
            if wrong.any():
                at = int(np.argmax(wrong))
                value = column[at].flat[np.argmax(~allowed[at])]
                raise ValueError(f"sample {at} (counted from 0) is {value:g}, which is not allowed; give {domain}")
            column = np.where(observed.reshape(-1, *[1] * len(domain.shape)), column, domain.stand_in)
        columns[k] = column.astype(np.int32) if domain.is_index else column
    return jax.tree.unflatten(structure, columns), observed


def read_one(samples: Any, x: Any) -> Any:
    """One sample, checked; None where it is missing."""
    try:
        plain = _plain(samples, x)
    except OverflowError:  # a whole number too large for a floating-point one
        plain = None
    if plain is not None:
        return plain
    series, observed = read_series(samples, [x])
    return jax.tree.map(lambda column: column[0], series) if observed[0] else None


def _plain(samples: Any, x: Any) -> Any:
    """A sample of ordinary Python numbers that are all allowed; None for anything that needs a closer look."""
    if isinstance(samples, Domain):
        if not isinstance(x, (int, float, np.integer, np.floating)) or samples.shape or not samples.allows(float(x)):
            return None
        return int(x) if samples.is_index else float(x)
    if type(x) is not tuple or len(x) != len(samples):
        return None
    parts = tuple(map(_plain, samples, x))
    return None if None in parts else parts


def _columns(samples: Any, xs: Any) -> list[FloatArray]:
    """Read the numbers of each part of the samples, in order."""
    if isinstance(xs, str) or getattr(xs, "ndim", 1) == 0 or not issubclass(type(xs), Sized):
        raise ValueError(f"got {xs!r}; give a series of samples, such as a list")
    if isinstance(samples, Domain):
        if samples.shape and len(getattr(xs, "shape", ())) < 2:  # then each row is a sample, or stands for one
            rows = xs.to_pylist() if type(xs).__module__ == "pyarrow.lib" else xs
            xs = [np.full(samples.shape, math.nan) if is_missing(row) else row for row in rows]
        numbers = as_numbers("the series", xs) if len(xs) else np.zeros((0, *samples.shape))
        if numbers.shape[1:] != samples.shape:
            raise ValueError(f"a sample has shape {numbers.shape[1:]}; give samples of shape {samples.shape}")
        return [numbers]
    parts = len(samples)
    if not isinstance(xs, tuple):
        rows = [[None] * parts if is_missing(x) else x for x in (np.asarray(xs) if hasattr(xs, "columns") else xs)]
        odd = next((row for row in rows if not isinstance(row, Collection) or len(row) != parts), None)
        if odd is not None:
            advice = f"these samples have {parts} parts, so give (part, part, ...) for each"
            raise ValueError(f"a sample is {odd!r}; {advice}")
        xs = [[row[part] for row in rows] for part in range(parts)]
    if len(xs) != parts:
        raise ValueError(f"got {len(xs)} columns; these samples have {parts} parts, so give that many")
    return [numbers for part, column in zip(samples, xs, strict=True) for numbers in _columns(part, column)]


def _any_of_row(marks: BoolArray) -> BoolArray:
    return marks if marks.ndim == 1 else np.asarray(marks.reshape(len(marks), -1).any(axis=1))
