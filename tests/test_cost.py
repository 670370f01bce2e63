"""Are operations counted as by hand, and loops as often as they run?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pandas import DataFrame

from astonish.core import special
from astonish.learners import Delta, Nassar2010
from astonish.paper import figure3, smile_limits as cost
from astonish.paper.figure import FAILS, HOLDS, IN_PART


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (lambda x: x * x + 1, (np.ones(3),), 6),
        (lambda a, b: a @ b, (np.ones((2, 3)), np.ones((3, 4))), 2 * 2 * 3 * 4),
        (lambda x: x.sum(), (np.ones((4, 5)),), 20),
        (lambda x: jnp.reshape(x, (2, 2)).T, (np.ones(4),), 0),
        (special.log_gamma, (np.ones(5),), 5),
        (jax.jit(lambda x: jnp.exp(x) + x), (np.ones(2),), 4),
    ],
)
def test_operations_are_counted_as_by_hand(function: Any, inputs: tuple[Any, ...], expected: int) -> None:
    assert cost.operations(function, *inputs) == expected


def test_special_functions_can_be_counted_by_what_they_are_made_of() -> None:
    assert cost.operations(special.log_gamma, np.ones(1), elementary=True) > 30


@pytest.mark.parametrize("times", [0, 1, 7])
def test_a_loop_counts_as_often_as_it_runs(times: int) -> None:
    def halved(n: Any) -> Any:
        return jax.lax.while_loop(lambda at: at[0] > 0, lambda at: (at[0] - 1, at[1] * 0.5), (n, 1.0))

    assert cost.operations(halved, times) == 3 * times  # a comparison, a difference and a product


@pytest.mark.parametrize("branch", [0, 1])
def test_only_the_branch_that_is_taken_counts(branch: int) -> None:
    def chosen(k: Any, x: Any) -> Any:
        return jax.lax.switch(k, [lambda x: x + 1, lambda x: x * x * x + 1], x)

    taken = cost.operations(chosen, branch, np.ones(4)) - cost.operations(chosen, 0, np.ones(4))
    assert taken == (8 if branch else 0)


def test_steps_are_averaged_and_numbers_counted() -> None:
    assert cost.per_step(Delta(0.5), np.ones(4)) == cost.per_step(Delta(0.5), np.ones(1))
    assert cost.numbers_kept(Nassar2010(1.0, 0.1, -1.0, 1.0)) == 2


def test_the_closed_form_is_the_papers() -> None:
    surprise = 0.1 * 9 / (2 * 16)
    gamma = np.sqrt(surprise / (1 + surprise))
    assert figure3.closed_form(1.0, 4.0) == pytest.approx((gamma, 4 * gamma + 1 - gamma), rel=1e-12)
    assert cost.operations(figure3.closed_form, 1.0, 4.0) == 10


def _table(**changed: float) -> DataFrame:
    rows = [
        ("maze", "online EM", 2, 1000.0, 500), ("maze", "online EM", 4, 4e3, 900), ("maze", "online EM", 8, 9e4, 2000),
        ("maze", "SMiLe", 1, changed.get("smile", 100.0), 240), ("maze", "naive Bayes", 1, 50.0, 240),
        *(("Gaussian", "exact", n, 50.0 * n, 3 * n) for n in cost.HYPOTHESES),
        ("Gaussian", "Nassar 2010", 1, 50.0, 2), ("Gaussian", "SMiLe", 1, 800.0, 2),
        ("Gaussian", "SMiLe, closed form", 1, changed.get("closed", 10.0), 1),
    ]  # fmt: skip
    table = DataFrame(rows, columns=["task", "learner", "size", "operations", "numbers_kept"])
    grows = changed.get("grows", 1.0)
    em = table.learner == "online EM"
    table.loc[em, "operations"] = 1000 * (table.operations[em] / 1000) ** grows
    return table.assign(elementary=table.operations * changed.get("elementary", 1.0))


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, [HOLDS, HOLDS, HOLDS]),
        ({"grows": 0.0}, [FAILS, HOLDS, HOLDS]),
        ({"elementary": 20.0}, [HOLDS, IN_PART, HOLDS]),
        ({"smile": 2000.0}, [HOLDS, IN_PART, HOLDS]),
        ({"closed": 400.0}, [HOLDS, HOLDS, FAILS]),
    ],
)
def test_verdicts_follow_the_numbers(changed: dict[str, float], verdicts: list[str]) -> None:
    found = cost.cost_claims({"operations": _table(**changed)})
    assert [claim.verdict for claim in found] == verdicts
