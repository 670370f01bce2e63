"""Checks that whatever computes a step computes the same: NumPy from JAX's trace, machine code of our own, and XLA.

All promises about a learner share its few compiled programs, so they are one test.
"""

from typing import Any

import jax
import numpy as np
import pytest

from astonish import Stream, run
from astonish.core.numbers import as_double, double
from astonish.core.programs import interpreted
from astonish.core.samples import read_one
from astonish.learners.base import first_state
from astonish.online import series
from families import LEARNERS, LearnerCase


def close(one: Any, other: Any, within: float) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=within, atol=within * 0.1)


@pytest.mark.parametrize("case", LEARNERS, ids=lambda case: case.name)
def test_every_engine_takes_the_same_steps(case: LearnerCase, subtests: pytest.Subtests) -> None:
    learner = case.learner
    by_numpy = interpreted(lambda learner, state, x: learner.step(state, x)[0])
    by_xla = Stream(learner, engine="xla")
    with subtests.test("first states are those that XLA computes"), double():
        first = jax.device_get(as_double(learner.init()))
        close(jax.tree.map(np.asarray, first_state(learner)), first, 1e-13)
    with subtests.test("one by one, from the same states"):
        for x in case.samples:
            native = Stream(learner, by_xla.state, engine="native")
            with double():
                new = by_numpy(as_double(learner), by_xla.state, read_one(learner.samples, x))
            close(native.update(x), by_xla.update(x), 1e-9)
            close(native.state, by_xla.state, 1e-9)
            close(new, by_xla.state, 1e-9)
    xs = [*case.samples[:4], None, *case.samples[4:]]
    whole = run(learner, xs, engine="native")  # the contract compares it with XLA's, for series side by side
    with subtests.test("a stream equals the series"):
        stream = Stream(learner)
        close(np.array([stream.update(x).surprise for x in xs]), whole.surprise, 1e-12)
        assert stream.engine == "native"


SOME = ("smile_gaussian", "smile_regression", "message_passing_gaussian", "particles_gaussian", "delta", "per_context")


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case.name in SOME else pytest.mark.hostile) for case in LEARNERS],
    ids=lambda case: case.name,
)
def test_xla_takes_them_in_one_kernel_and_in_many(case: LearnerCase, monkeypatch: pytest.MonkeyPatch) -> None:
    xs = [*case.samples[:4], None, *case.samples[4:]]
    refused = set(series._one._refused)
    kernel = run(case.learner, xs, engine="xla").steps
    assert series._one._refused == refused
    close(run(case.learner, xs, engine="native").steps, kernel, 1e-7)
    monkeypatch.setenv("ASTONISH_KERNELS", "many")
    within = 1e-14 if case.name == "smile_gaussian" else 1e-10  # the same bits, compiled as users do
    close(run(case.learner, xs, engine="xla").steps, kernel, within)
