"""Which program computes the steps of a learner?

For streams it has `series` (many samples, one state), `update` and `watch` (one sample from Python, see `entry`); for
banks `rows` (many samples, a table of states).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from astonish.core.numbers import as_double, double
from astonish.core.programs import Packing
from astonish.engines.native import entry, loops, machine
from astonish.engines.native.layout import Layout, places
from astonish.engines.native.lowering import LARGEST
from astonish.engines.native.values import UnsupportedError
from astonish.engines.native.writer import Writer
from astonish.learners.base import Learner, advance


@dataclass(frozen=True)
class Program:
    """Machine code of a learner's step, for all learners that differ in parameters only."""

    layout: Layout
    code: machine.Code
    given: tuple[bool, ...]  # which answers the learner gives


def program_of(learner: Learner, start: Any, packing: Packing, for_banks: bool = False) -> Program:
    """The program for this learner and states like this one, or an `UnsupportedError`."""
    leaves, structure = jax.tree.flatten(as_double(learner))
    state = _avals(jax.tree.leaves(start))
    found = _program(structure, _avals(leaves), packing, state, learner.samples, for_banks)
    if isinstance(found, UnsupportedError):
        raise found
    return found


@lru_cache(maxsize=256)
def _program(
    structure: Any, parameters: Any, packing: Packing, state: Any, samples: Any, for_banks: bool
) -> Program | UnsupportedError:
    """The program, or why there is none."""
    if any(np.prod(aval.shape) > LARGEST for aval in (*parameters, *state)):
        return UnsupportedError("large arrays", expected=True)
    try:
        with double():
            traced = _Traced(structure, parameters, packing, state, samples)
    except Exception:  # which XLA will raise again, when a step is taken
        return UnsupportedError("a step that fails", expected=True)
    try:
        with double():
            writer = Writer(traced.step, traced.read, traced.layout)
            if for_banks:
                loops.write_rows(writer, traced.lanes(loops.LANES))
            else:
                loops.write_series(writer)
                entry.write(writer.module, writer.step, traced.layout, samples)
            return Program(traced.layout, machine.compiled(writer.module), traced.given)
    except UnsupportedError as problem:
        return problem
    except Exception as problem:  # of a rule that does not foresee everything: another reason to leave it to XLA
        return UnsupportedError(f"something that failed to compile ({type(problem).__name__}: {problem})")


def _avals(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves)


class _Traced:
    """A learner's step, and what it reads off a state, as JAX's programs."""

    def __init__(self, structure: Any, parameters: Any, packing: Packing, state: Any, samples: Any) -> None:
        domains = jax.tree.leaves(samples)
        sample = tuple(jax.ShapeDtypeStruct(d.shape, np.int32 if d.is_index else np.float64) for d in domains)

        def step(parameters: Any, leaves: Any, xs: Any) -> Any:
            learner, old = structure.unflatten(parameters), packing.structure.unflatten(leaves)
            new, info = advance(learner, old, jax.tree.unflatten(jax.tree.structure(samples), xs))
            kept = [jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(jax.tree.leaves(new), state, strict=True)]
            answers = (learner.estimate(new), *info)
            self.given = tuple(answer is not None for answer in answers)
            return kept, [jnp.asarray(jnp.nan if answer is None else answer, float) for answer in answers]

        def read(parameters: Any, leaves: Any) -> Any:
            estimate = structure.unflatten(parameters).estimate(packing.structure.unflatten(leaves))
            return jnp.asarray(estimate, float)

        self.step, (kept, answers) = jax.make_jaxpr(step, return_shape=True)(parameters, state, sample)
        self.read = jax.make_jaxpr(read)(parameters, state)
        if any(aval.shape for aval in answers[1:]) or [a.shape for a in kept] != [a.shape for a in state]:
            raise ValueError("a step gives one surprise, one learning rate, and a state like the one before")
        self.layout = Layout(parameters, state, *places(packing, state), sample, answers[0].shape)
        self._vmapped = jax.vmap(step, in_axes=(None, 0, 0))

    def lanes(self, count: int) -> Any:
        """The step of so many keys at once; None if it is not one of single numbers, where that is no gain."""
        if any(aval.shape for aval in (*self.layout.state, *self.layout.samples)) or not _is_scalar(self.step.jaxpr):
            return None

        def repeated(avals: Any) -> Any:
            return tuple(jax.ShapeDtypeStruct((count, *aval.shape), aval.dtype) for aval in avals)

        return jax.make_jaxpr(self._vmapped)(
            self.layout.parameters, repeated(self.layout.state), repeated(self.layout.samples)
        )


def _is_scalar(jaxpr: Any) -> bool:
    """Whether all arrays in a program have one number."""
    inner = [each for equation in jaxpr.eqns for each in jaxprs_in_params(equation.params)]
    own = (np.prod(variable.aval.shape) <= 1 for equation in jaxpr.eqns for variable in equation.outvars)
    return all(own) and all(map(_is_scalar, inner))
