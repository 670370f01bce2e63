"""Checks loops: one kernel gives what the plain loop gives, refusals are noticed, and JAX heeds the attributes."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import Delta, Gaussian, Modulated
from astonish.core.numbers import as_double, pytree_dataclass
from astonish.core.programs import ONE_KERNEL, compiled, loop, once
from astonish.learners.base import NumberLearner, StepInfo, scan, scan_many
from families import LEARNERS, columns


def same(one: Any, other: Any, tolerance: float) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["smile_gaussian", "smile_dirichlet", "smile_regression", "per_context"])
def test_so_it_does_for_series_side_by_side_of_any_length(name: str) -> None:
    case = next(case for case in LEARNERS if case.name == name)
    learner, xs = (
        as_double(case.learner),
        jax.tree.map(lambda part: np.stack([part, part[::-1]], 1), columns(case.samples)),
    )
    observed = np.ones(jax.tree.leaves(xs)[0].shape[:2], bool)
    observed[2, 1] = False
    fast = compiled(scan_many)
    found, plain = fast(learner, xs, observed, 5), jax.jit(scan_many)(learner, xs, observed, 5)
    assert not fast._refused
    same(found, plain, 1e-10)


def running_sums(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def step(total: Any, x: Any) -> tuple[Any, Any]:
        new = total + work(total + x)
        return new, new

    return lambda xs: loop(step, jnp.zeros(3), xs)[1]


HARD: dict[str, tuple[Callable[[Any], Any], int | None]] = {  # and how often XLA refuses it, if that is known
    "a product of matrices": (lambda x: (jnp.outer(x, x) @ jnp.outer(x, x))[0] * 1e-3, None),
    "a scatter": (lambda x: x.at[jnp.array([0, 2])].add(1.0), None),
    "a callback": (lambda x: jax.pure_callback(lambda x: np.asarray(x) + 1, x, x), 1),
    "LAPACK": (lambda x: jnp.linalg.cholesky(jnp.outer(x, x) + 9 * jnp.eye(3))[2], 0),  # which is never tried
    "sorting": (jnp.sort, 0),
}


@pytest.mark.parametrize(("work", "refusals"), HARD.values(), ids=HARD)
def test_what_xla_refuses_is_compiled_plainly_once_and_for_all(work: Any, refusals: int | None) -> None:
    loops = running_sums(work)
    fast, xs = compiled(loops), np.arange(12.0).reshape(4, 3)
    same(fast(xs), jax.jit(loops)(xs), 1e-12)
    refused = set(fast._refused)
    same(fast(xs + 1), jax.jit(loops)(xs + 1), 1e-12)
    assert fast._refused == refused
    assert refusals in (None, len(refused))  # this also shows that XLA heeds the attributes


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(TypeError, match="carry"):
        compiled(lambda xs: loop(lambda _, x: (x[None], None), 0.0, xs))(np.ones(3))


def test_arguments_that_are_equal_or_needed_by_nothing_do_no_harm() -> None:
    """XLA would end the process if a kernel had an argument that nothing in it uses."""

    def sums(xs: Any, idle: Any) -> Any:
        zeros = [jnp.zeros(3) + 0 * k for k in range(3)]  # equal constants

        def step(total: Any, at: Any) -> tuple[Any, Any]:
            x, unused = at
            new = total[0] + x + sum(zeros) + 0 * len(unused)
            return (new, total[1]), jnp.zeros_like(idle)

        return loop(step, (jnp.zeros(3), idle), (xs, xs))

    xs = np.arange(12.0).reshape(4, 3)
    same(compiled(sums)(xs, np.ones(2)), jax.jit(sums)(xs, np.ones(2)), 0.0)


def test_the_call_of_a_loop_carries_the_attributes_and_nothing_else_does() -> None:
    lowered = compiled(scan)._one_kernel.lower(as_double(LEARNERS[0].learner), columns(LEARNERS[0].samples))
    calls = [line for line in lowered.as_text().splitlines() if " call @" in line]
    (marked,) = (line for line in calls if any(name in line for name in ONE_KERNEL))
    assert "call @whole" in marked
    assert all(f'{name} = "{value}"' in marked for name, value in ONE_KERNEL.items())
    assert re.search("call.*to_apply=%whole", lowered.compile().as_text())  # it is not inlined


def test_a_program_of_ones_own_stays_plain() -> None:
    learner, xs = as_double(LEARNERS[0].learner), columns(LEARNERS[0].samples)
    fast = compiled(scan)
    fast(learner, xs)
    own = jax.jit(lambda learner, xs: (scan(learner, xs).estimate, fast(learner, xs).estimate))
    assert "xla_cpu_small_call" not in own.lower(learner, xs).as_text()


def test_loops_can_be_mapped_and_differentiated_within() -> None:
    learner, xs = as_double(LEARNERS[0].learner), columns(LEARNERS[0].samples)

    def steeper(learner: Any, xs: Any) -> Any:
        slope = jax.jvp(lambda xs: scan(learner, xs).estimate, (xs,), (jnp.ones_like(xs),))
        return slope, jax.grad(lambda xs: scan(learner, xs).estimate.sum())(xs)

    many = jax.vmap(steeper, in_axes=(None, 0))
    same(compiled(many)(learner, xs[None]), jax.jit(many)(learner, xs[None]), 1e-12)


@pytree_dataclass
class Foreign(NumberLearner):
    """A learner of somebody else."""

    def init(self) -> Any:
        return MeanState(jnp.zeros(()))

    def step(self, state: Any, x: Any) -> tuple[Any, StepInfo]:
        return MeanState(0.5 * (state.mean + x)), StepInfo(jnp.abs(x), jnp.asarray(0.5))


class MeanState(NamedTuple):
    """What it knows."""

    mean: Any


def test_single_kernels_are_for_our_own_learners_and_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    xs, program = jnp.arange(5.0), compiled(scan)
    marked: list[bool] = []
    monkeypatch.setattr(program, "_one_kernel", lambda *args: marked.append(True) or program._plain(*args))
    program(Delta(0.3), xs)
    assert marked == [True]
    assert program(Foreign(), xs).estimate.tolist() == [0.0, 0.5, 1.25, 2.125, 3.0625]
    program(Modulated(Gaussian(1.0), lambda surprise: surprise / (5 + surprise)), xs)
    monkeypatch.setenv("ASTONISH_KERNELS", "many")
    program(Delta(0.3), xs)
    assert marked == [True]


def test_what_is_computed_once_is_the_same_in_every_way_of_computing_it() -> None:
    xs = jnp.array([1.5, -2.0, 0.0, jnp.nan, jnp.inf])
    assert np.array_equal(jax.jit(once)(xs), xs, equal_nan=True)
    assert np.array_equal(jax.vmap(once)(xs), xs, equal_nan=True)
    assert np.array_equal(jax.jit(jax.grad(lambda x: jnp.sum(once(x) ** 2)))(xs[:3]), 2 * xs[:3])
    assert float(jax.jvp(lambda x: once(x * x), (3.0,), (1.0,))[1]) == 6.0
    assert float(jax.hessian(lambda x: once(x) ** 3)(2.0)) == 12.0
