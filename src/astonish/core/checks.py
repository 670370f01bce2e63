"""Checks of what people give: samples, with gaps among them, and the values of learners, beliefs and states."""

import math
from collections.abc import Collection, Iterator, Sized
from dataclasses import Field, fields, is_dataclass, replace
from functools import reduce
from inspect import get_annotations
from typing import Any

import jax
import numpy as np

from astonish.core.numbers import FINITE, BoolArray, Domain, FloatArray, as_numbers, double, is_missing

_LONGEST, _LARGEST = 2**31 - 1, 2**62  # of an array, whose places are counted in 32 bits, and of any whole number


def check_parameters(thing: Any) -> None:
    """Refuse a learner any of whose parameters lies outside its domain, or does not go with the others."""
    owner, parts = type(thing).__name__, list(_parts(thing))
    for path, part in parts:
        for f in fields(part):
            if "parameter" in f.metadata and (value := getattr(part, f.name)) is not None:
                _check_parameter(f"{owner}'s {path}{f.name}", value, f)
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


def _check_parameter(name: str, value: Any, f: Field[Any]) -> None:
    domain: Domain = f.metadata["parameter"].domain
    numbers = domain.check(name, value)
    if np.shape(numbers) != domain.shape:
        raise ValueError(f"{name} has shape {np.shape(numbers)}; give {domain}")
    most = _LONGEST if f.metadata["static"] else _LARGEST
    if domain.whole and numbers > most:
        raise ValueError(f"{name} = {numbers:g} is too large; give at most {most:g}")


def check_like(name: str, belief: Any, like: Any, example: str) -> None:
    """Refuse a belief, or a state, that is made up differently from another one, or holds numbers that cannot be.

    example: how to come by one that is made up in the same way.
    """
    form: Any = jax.tree.structure(belief)
    if form != jax.tree.structure(like):
        raise ValueError(f"{name} is {_outline(belief)}; give {_outline(like)}, such as {example}")
    for (where, leaf), own in zip(jax.tree.leaves_with_path(belief), jax.tree.leaves(like), strict=True):
        if np.shape(leaf) != np.shape(own):
            path = f"{name}.{_path(where)}" if where else name
            raise ValueError(f"{path} has shape {np.shape(leaf)}; give shape {np.shape(own)}, as in {example}")
    check_values(name, belief)


def check_values(name: str, tree: Any) -> None:
    """Refuse a belief, a state, or a table of them, that holds numbers that the annotations of its fields rule out.

    >>> from astonish.beliefs import GaussianBelief
    >>> check_values("prior", GaussianBelief(mean=0.0, precision=-1.0))
    Traceback (most recent call last):
    ValueError: prior.precision = -1 is not allowed; give a finite number above 0
    """
    for field, hint in get_annotations(type(tree)).items() if isinstance(tree, tuple) else ():
        check_values(f"{name}.{field}", value := getattr(tree, field))
        for domain in getattr(hint, "__metadata__", ()):
            domain.check(f"{name}.{field}", value)


def read_state(learner: Any, state: Any) -> Any:
    """A state, checked, from which a learner can go on: NumPy's arrays, of the types that its own start has."""
    with double():
        start = learner.init()
    check_like("state", state, start, f"that of a History of {type(learner).__name__}")
    if isinstance(start, jax.Array):
        FINITE.check("state", state)
    return jax.tree.map(lambda leaf, own: np.asarray(leaf).astype(own.dtype), state, start)


def _outline(tree: Any) -> str:
    """What something is called, and what it is made of."""
    parts = [_path(where) for where, _ in jax.tree.leaves_with_path(tree)]
    return f"{type(tree).__name__}({', '.join(parts)})" if any(parts) else repr(tree)


def _path(where: Any) -> str:
    return jax.tree_util.keystr(where, simple=True, separator=".")


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
    if all(domain.allows(column).all() for domain, column in zip(domains, columns, strict=True)):
        typed = [column.astype(np.int32) if d.is_index else column for d, column in zip(domains, columns, strict=True)]
        return jax.tree.unflatten(structure, typed), np.ones(len(columns[0]), bool)
    observed: BoolArray = ~reduce(np.logical_or, (_any_of_row(np.isnan(column)) for column in columns))
    read = [_checked(domain, column, observed) for domain, column in zip(domains, columns, strict=True)]
    return jax.tree.unflatten(structure, read), observed


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
    """The numbers of each part of the samples, in order."""
    if isinstance(samples, Domain):
        return [_numbers(samples, xs)]
    columns = xs if isinstance(xs, tuple) else _transposed(len(samples), _series(xs))
    if len(columns) != len(samples):
        raise ValueError(f"got {len(columns)} columns; these samples have {len(samples)} parts, so give that many")
    return [numbers for part, column in zip(samples, columns, strict=True) for numbers in _columns(part, column)]


def _transposed(parts: int, xs: Any) -> list[list[Any]]:
    rows = [[None] * parts if is_missing(row) else row for row in (np.asarray(xs) if hasattr(xs, "columns") else xs)]
    odd = next((row for row in rows if not isinstance(row, Collection) or len(row) != parts), None)
    if odd is not None:
        raise ValueError(f"a sample is {odd!r}; these samples have {parts} parts, so give (part, part, ...) for each")
    return [[row[part] for row in rows] for part in range(parts)]


def _series(xs: Any) -> Any:
    if isinstance(xs, str) or getattr(xs, "ndim", 1) == 0 or not isinstance(xs, Sized):
        raise ValueError(f"got {xs!r}; give a series of samples, such as a list")
    return xs


def _numbers(domain: Domain, column: Any) -> FloatArray:
    column = _series(column)
    if domain.shape and len(getattr(column, "shape", ())) < 2:  # then each row is a sample, or stands for one
        rows = column.to_pylist() if type(column).__module__ == "pyarrow.lib" else column
        column = [np.full(domain.shape, math.nan) if is_missing(row) else row for row in rows]
    numbers = as_numbers("the series", column) if len(column) else np.zeros((0, *domain.shape))
    if numbers.shape[1:] != domain.shape:
        raise ValueError(f"a sample has shape {numbers.shape[1:]}; give samples of shape {domain.shape}")
    return numbers


def _any_of_row(marks: BoolArray) -> BoolArray:
    return marks if marks.ndim == 1 else np.asarray(marks.reshape(len(marks), -1).any(axis=1))


def _checked(domain: Domain, column: FloatArray, observed: BoolArray) -> Any:
    holds = domain.allows(column)
    if holds.all() and observed.all():
        return column.astype(np.int32) if domain.is_index else column
    good = ~_any_of_row(~holds)
    if not (good | ~observed).all():
        at = int(np.argmax(~good & observed))
        value = column[at].flat[np.argmax(~domain.allows(column[at]))]
        raise ValueError(f"sample {at} (counted from 0) is {value:g}, which is not allowed; give {domain}")
    filled = np.where(observed.reshape(-1, *[1] * len(domain.shape)), column, domain.stand_in)
    return filled.astype(np.int32) if domain.is_index else filled
