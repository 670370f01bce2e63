"""Does NumPy, carrying out what JAX traced, give what JAX gives, and is nothing compiled for it?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import Dirichlet, Gaussian, OnlineEM, Smile, explain, run
from astonish.core.numbers import double, pytree_dataclass
from astonish.core.programs import interpreted
from astonish.learners.base import NumberLearner, StepInfo
from operations import OPERATIONS


def same(found: Any, expected: Any, within: float) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(one, np.ndarray | np.generic)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=within, atol=0.1 * within)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_jax_gives(name: str) -> None:
    function, *arguments = OPERATIONS[name]
    with double():
        same(interpreted(function)(*arguments), jax.device_get(jax.jit(function)(*arguments)), 1e-13)


def test_nothing_is_compiled_to_explain_a_trial() -> None:
    programs = jax.devices()[0].client.live_executables
    learner, xs = Smile(Gaussian(noise=1.25), 0.15), [0.1, 0.4, 7.0]
    explain(learner, xs, 0)
    before = len(programs())
    for m in (0.2, 0.3):  # other numbers, and another shape of the belief
        assert explain(Smile(Gaussian(noise=1.75), m), xs, 0).surprise is not None
        assert explain(Smile(Dirichlet(7), m), [2], 0).surprise is not None
    assert len(programs()) <= before


def test_what_only_jax_can_compute_is_compiled_once(caplog: pytest.LogCaptureFixture) -> None:
    def first_moves(seed: int) -> Any:
        return run(OnlineEM(3, seed=seed), [(0, 1), (1, 2)]).state.first

    one = first_moves(1)
    with jax.log_compiles():
        assert not np.array_equal(first_moves(2), one)
    assert not [record for record in caplog.records if record.message.startswith("Compiling")]


@pytest.mark.single
def test_numbers_have_the_precision_that_jax_would_give_them() -> None:
    third = interpreted(lambda x: x / 3)
    assert third(1.0).dtype == np.float32
    with double():
        assert third(1.0).dtype == np.float64


def test_a_function_that_cannot_be_traced_is_called() -> None:
    def half(x: Any) -> Any:
        return {"half": x / 2 if float(x) > 0 else x}

    assert interpreted(half)(jnp.asarray(3.0)) == {"half": 1.5}


def test_within_a_program_it_is_the_function_itself() -> None:
    square = interpreted(jnp.square)
    assert float(jax.jit(lambda x: square(x) + 1)(3.0)) == 10
    assert float(jax.grad(square)(3.0)) == 6
    np.testing.assert_array_equal(jax.vmap(square)(np.arange(3.0)), [0, 1, 4])


def test_what_goes_wrong_in_the_arithmetic_is_nan_or_infinity_as_in_jax() -> None:
    found = interpreted(lambda x: (1 / x, jnp.log(x), jnp.sqrt(x - 1), x * jnp.inf))(0.0)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.nan])


@pytree_dataclass
class Careful(NumberLearner):
    """Refuses a number only when it begins."""

    std: float = 1.0

    def init(self) -> Any:
        return Gaussian(noise=1.0).prior(std=self.std)

    def step(self, state: Any, x: Any) -> Any:
        return state, StepInfo(x, x)

    def estimate(self, state: Any) -> Any:
        return state.mean


def test_what_other_peoples_classes_check_when_they_begin_is_checked() -> None:
    assert run(Careful(2.0), [1.0]).estimate[0] == 0
    with pytest.raises(ValueError, match="std = -1 is not allowed"):
        run(Careful(-1.0), [1.0])
