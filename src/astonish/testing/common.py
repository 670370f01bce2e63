"""What do the checks of learners and of families share?"""

import pickle
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import numpy as np

from astonish.core.numbers import double
from astonish.core.samples import read_series
from astonish.models.parameters import parameters

Check = Callable[..., None]


def listed(checks: list[Check], case: Callable[..., Any]) -> Callable[[Check], Check]:
    """Add a check to the list; it is made in double precision, of what `case` makes of its arguments."""

    def decorate(check: Check) -> Check:
        @wraps(check)
        def made(*args: Any, **kwargs: Any) -> None:
            with double():
                check(case(*args, **kwargs))

        checks.append(made)
        return made

    return decorate


def holds(condition: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the condition is true (everywhere)."""
    if not np.all(condition):
        raise AssertionError(sentence)


def agree(found: Any, expected: Any, sentence: str, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Raise an AssertionError with this sentence unless two trees of numbers are equal up to rounding."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for one, other in pairs:
        close = np.allclose(one, other, rtol, atol, equal_nan=True)
        holds(close, f"{sentence}: {np.asarray(one).tolist()} is not {np.asarray(other).tolist()}")


def described(owner: str, kind: type) -> None:
    """Every parameter has a sentence, and a usual range inside its domain."""
    for name, (_, _, each) in parameters(kind).items():
        holds(each.about, f"{owner}'s {name} does not say what it means; give it a sentence (about=)")
        holds(each.usual is not None, f"{owner}'s {name} does not say where its values usually lie; give usual=")
        low, high = each.usual or (0.0, 0.0)
        holds(low < high, f"{owner}'s {name} has the usual range {low:g} to {high:g}; give the smaller number first")
        inside = each.domain.low <= low and high <= each.domain.high
        holds(inside, f"{owner}'s {name} is usually from {low:g} to {high:g}, but has to be {each.domain}")


def pickled(thing: Any) -> Any:
    """The same thing, pickled and unpickled; it has to print itself as before, by the name of its class."""
    name = type(thing).__name__
    try:
        again = pickle.loads(pickle.dumps(thing))
    except (AttributeError, TypeError, pickle.PicklingError) as problem:
        raise AssertionError(f"{name} cannot be pickled ({problem}); define all parts at the top of a module") from None
    holds(repr(again) == repr(thing), f"{name} prints itself as {thing!r}, and after pickling as {again!r}")
    holds(repr(thing).startswith(f"{name}("), f"{name} prints itself as {thing!r}, without the name of its class")
    return again


def takes_any_leaves(thing: Any) -> None:
    """JAX may put anything in place of the numbers: truth values, axes, None, placeholders."""
    for value in (True, 0, None, object()):
        try:
            again = jax.tree.leaves(jax.tree.map(lambda _, value=value: value, thing))
        except Exception as problem:
            wrong = f"JAX cannot put {value!r} in place of the numbers of {type(thing).__name__} ({problem})"
            raise AssertionError(f"{wrong}; mark the class with astonish.core.numbers.pytree_dataclass") from None
        kept = all(leaf is value for leaf in again)
        holds(kept, f"{type(thing).__name__} makes {again} of {value!r}, which JAX puts in place of its numbers")


def answer(question: Callable[[], Any], who: str) -> Any:
    """The answer to a question that may be refused with a ValueError, in a sentence; None where it is refused."""
    try:
        return question()
    except ValueError as refusal:
        holds(len(str(refusal).split()) > 3, f"{who} refuses with {str(refusal)!r}; say in a sentence why")
        return None


def allowed(samples: Any, xs: Any, who: str) -> None:
    """What was drawn has to be a series of samples."""
    try:
        read_series(samples, xs)
    except ValueError as problem:
        raise AssertionError(f"{who} draws samples that it does not take: {problem}") from None
