"""Does JAX tell families and learners apart, whatever it puts into them, and are parameters floating-point numbers?"""

import pickle
from dataclasses import replace
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import (
    Beta,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    Kalman,
    MessagePassing,
    Nassar2010,
    NormalGamma,
    OnlineEM,
    ParticleFilter,
    Poisson,
    Smile,
    scan,
)
from astonish.models.parameters import parameters, with_parameters
from astonish.models.registry import RESPONSES
from astonish.people.fit import Estimate, Model
from astonish.testing.checks import takes_any_leaves
from astonish.worlds.gaussian_jumps import gaussian_jumps
from families import FAMILIES, LEARNERS


@pytest.mark.parametrize(("one", "other"), list(combinations([Beta(), Exponential(), NormalGamma(), Poisson()], 2)))
def test_families_with_the_same_fields_have_different_structures(one: object, other: object) -> None:
    assert jax.tree.structure(one) != jax.tree.structure(other)


def test_learners_of_such_families_have_different_structures() -> None:
    assert jax.tree.structure(Smile(Poisson())) != jax.tree.structure(Smile(Exponential()))


def test_parameters_are_leaves() -> None:
    assert jax.tree.leaves(Smile(Gaussian(noise=2.0), m=0.3)) == [2.0, 0.3]
    assert jax.tree.leaves(Delta(learning_rate=0.2, start=1.0)) == [0.2, 1.0]


EVERY = {case.name: case.learner for case in LEARNERS} | {f"family {case.name}": case.family for case in FAMILIES}
RESPONSE_MODELS = [kind() for kind in RESPONSES.classes().values()]
_scan = jax.jit(scan)
THREES = [3, np.int8(3), np.int64(3), np.array(3), np.array([3, 3]), jnp.asarray(3), jnp.array([3, 3])]


@pytest.mark.parametrize("thing", [*EVERY.values(), *RESPONSE_MODELS], ids=[*EVERY, *map(repr, RESPONSE_MODELS)])
def test_whole_numbers_become_floating_point_ones(thing: Any) -> None:
    real = [path for path, each in parameters(thing).items() if not each.known.domain.whole]
    for path in (path for path in real if path.split(".")[-1] not in ("low", "high")):  # which have to fit each other
        for three in THREES:
            found = parameters(with_parameters(thing, {path: three}))[path].value
            assert np.issubdtype(np.asarray(found).dtype, np.floating)
            np.testing.assert_array_equal(found, three)


def test_sizes_seeds_and_axes_stay_whole() -> None:
    for size in (5, 5.0, np.int64(5), np.float32(5)):
        assert type(Dirichlet(size).size) is int
        assert type(MessagePassing(Gaussian(), hypotheses=size).hypotheses) is int
    assert type(ParticleFilter(Gaussian(), seed=7).seed) is int
    assert type(OnlineEM(3, frozen=7).frozen) is int
    assert jax.tree.leaves(jax.tree.map(lambda _: 0, Smile(Gaussian()))) == [0, 0]


@pytest.mark.parametrize("noise", [50_000, 4_000_000_000])
@pytest.mark.parametrize("double", [False, True])
def test_large_whole_numbers_do_not_overflow(noise: int, double: bool) -> None:
    """Their squares exceed 2^31 and 2^63, up to which integers go in single and in double precision."""
    xs = np.array([1.0, -2.0, 3.0]) * noise
    with jax.enable_x64(double):
        whole, real = (_scan(Kalman(number, number, std=number), xs) for number in (noise, float(noise)))
    np.testing.assert_array_equal(whole.estimate, real.estimate)
    np.testing.assert_array_equal(whole.surprise, real.surprise)
    assert np.isfinite(real.surprise).all()
    # drift, noise and first std are the same: the gains are 2/3, 5/8 and 13/21, as of the golden ratio
    np.testing.assert_allclose(whole.learning_rate, [2 / 3, 5 / 8, 13 / 21], rtol=1e-6)


@pytest.mark.parametrize("thing", [*RESPONSE_MODELS, Model(Delta(), Estimate())], ids=repr)
def test_jax_may_put_anything_into_response_models(thing: Any) -> None:
    takes_any_leaves(thing)


@pytest.mark.parametrize("value", [True, 0, None, object()], ids=lambda value: type(value).__name__)
def test_a_learner_prints_itself_whatever_jax_put_in(value: Any) -> None:
    learner = Smile(Gaussian(), prior=Gaussian().prior())
    assert repr(value) in repr(jax.tree.map(lambda _: value, learner))
    takes_any_leaves(learner)


def test_what_jax_put_in_is_checked_where_it_is_written_again() -> None:
    learner = jax.tree.map(lambda _: 0, Nassar2010())
    assert pickle.loads(pickle.dumps(learner)) == learner
    with pytest.raises(ValueError, match="low = 0 and high = 0 leave no room"):
        replace(learner, noise=1.0)
    assert replace(Nassar2010(), noise=4_000_000_000).noise == 4e9
    assert type(replace(Nassar2010(), noise=4_000_000_000).noise) is float


def test_a_learner_can_be_mapped_over_some_of_its_numbers() -> None:
    axes = jax.tree.map(lambda _: 0, Nassar2010())
    many = jax.tree.map(lambda x: x * jnp.arange(1.0, 4.0), Nassar2010())
    np.testing.assert_allclose(jax.vmap(lambda each: each.high - each.low, (axes,))(many), [40, 80, 120])


@pytest.mark.parametrize("hazard", [-0.1, 0.0, 1.0, 2.0, float("nan")])
def test_a_hazard_outside_its_range_is_refused(hazard: float) -> None:
    with pytest.raises(ValueError, match=f"hazard = {hazard:g} is not allowed; give a finite number between 0 and 1"):
        gaussian_jumps(10, seed=1, hazard=hazard)


def test_the_task_jumps_as_often_as_it_should() -> None:
    episode = gaussian_jumps(200_000, seed=2, hazard=0.066)
    assert episode.changed[1:].mean() == pytest.approx(0.066, abs=4 * (0.066 * 0.934 / 2e5) ** 0.5)
    assert (episode.samples - episode.truth).std() == pytest.approx(4.0, rel=0.01)
    assert abs(episode.truth).max() <= 20
