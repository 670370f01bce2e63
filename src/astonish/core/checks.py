"""Can a learner, and its state, hold these values?"""

from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass, replace
from inspect import get_annotations
from typing import Any

import jax
import numpy as np

from astonish.core.domain import FINITE, Domain
from astonish.core.numbers import as_numbers
from astonish.core.precision import double

_LONGEST, _LARGEST = 2**31 - 1, 2**62  # of an array, whose places are counted in 32 bits, and of any whole number


def check_parameters(thing: Any) -> None:
    """Refuse a learner any of whose parameters lies outside its domain, or does not go with the others."""
    owner, parts = type(thing).__name__, list(_parts(thing))
    for path, part in parts:
        for f in fields(part):
            if "parameter" in f.metadata:
                _check_parameter(f"{owner}'s {path}{f.name}", getattr(part, f.name), f)
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
    if value is None and f.default is None:
        return
    domain: Domain = f.metadata["parameter"].domain
    if value is None:
        raise ValueError(f"{name} is None; give {domain}")
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
