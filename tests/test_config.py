"""Does JAX tell families and learners apart, whatever it puts into them, and are parameters floating-point numbers?"""

import pickle
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from inspect import signature
from itertools import combinations, product
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
    Leaky,
    MessagePassing,
    Nassar2010,
    NormalGamma,
    OnlineEM,
    ParticleFilter,
    PerContext,
    Poisson,
    Smile,
    run,
    scan,
)
from astonish.core.numbers import Domain, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.models.parameters import parameters, with_parameters
from astonish.models.registry import RESPONSES
from astonish.people.fit import Estimate, Model
from astonish.testing.checks import takes_any_leaves
from families import FAMILIES, LEARNERS


@pytest.mark.parametrize(("one", "other"), list(combinations([Beta(), Exponential(), NormalGamma(), Poisson()], 2)))
def test_families_with_the_same_fields_and_their_learners_have_different_structures(one: Any, other: Any) -> None:
    assert jax.tree.structure(one) != jax.tree.structure(other)
    assert jax.tree.structure(Leaky(one)) != jax.tree.structure(Leaky(other))


def test_parameters_are_leaves() -> None:
    assert jax.tree.leaves(Smile(Gaussian(noise=2.0), m=0.3)) == [2.0, 0.3]
    assert jax.tree.leaves(Delta(learning_rate=0.2, start=1.0)) == [0.2, 1.0]


class Plain(Delta):
    """A delta rule under another name."""


@pytree_dataclass
class Marked(Delta):
    """A delta rule with a parameter more."""

    patience: float = parameter(0.5, Domain(0.0, 1.0), (0.1, 0.9), "how long it waits")


@pytest.mark.parametrize(
    ("kind", "fields"), [(Plain, ("learning_rate", "start")), (Marked, ("learning_rate", "start", "patience"))]
)
def test_a_class_derived_from_a_learner_is_one_whatever_stands_above_it(kind: Any, fields: tuple[str, ...]) -> None:
    learner = kind(start=1)
    assert tuple(signature(kind).parameters) == tuple(asdict(learner)) == fields
    paths = [path for path, _ in jax.tree.leaves_with_path(PerContext(learner, 2))]
    assert [jax.tree_util.keystr(path) for path in paths] == [f".learner.{name}" for name in fields]
    assert jax.tree.structure(learner) != jax.tree.structure(Delta())
    assert type(jax.tree.map(lambda leaf: leaf, learner)) is kind
    assert type(replace(learner, start=2).start) is float
    assert kind.name == "" != Delta.name
    with pytest.raises(ValueError, match=f"{kind.__name__}'s learning_rate = 2 is not allowed; give a finite number"):
        replace(learner, learning_rate=2)
    with pytest.raises(ValueError, match=f"{kind.__name__}'s learning_rate = nan is not allowed; give a finite number"):
        run(jax.tree.map(lambda _: np.nan, learner), [1.0])


def test_a_constructor_of_ones_own_is_refused_with_what_to_write() -> None:
    with pytest.raises(TypeError, match="Mine has an __init__ of its own; declare its parameters as fields, such as"):

        class Mine(Delta):
            def __init__(self) -> None:
                pass


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (Smile, r"Smile needs a family; give one, such as Smile\(Gaussian\(\)\)"),
        (partial(Leaky, keep=0.5), r"Leaky needs a family; give one, such as Leaky\(Gaussian\(\)\)"),
        (OnlineEM, "OnlineEM needs rooms, how many rooms there are; give a whole number of at least 2"),
        (partial(PerContext, contexts=3), "PerContext needs learner; give it"),
    ],
)
def test_what_is_missing_is_said(make: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        make()


EVERY = {case.name: case.learner for case in LEARNERS} | {f"family {case.name}": case.family for case in FAMILIES}
RESPONSE_MODELS = [kind() for kind in RESPONSES.classes().values()]
_scan = jax.jit(scan)
WRITTEN: list[Callable[[int], Any]] = [
    int, np.int8, np.int64, np.array, jnp.asarray, lambda n: np.array([n, n]), lambda n: jnp.array([n, n])
]  # fmt: skip


@pytest.mark.parametrize("thing", [*EVERY.values(), *RESPONSE_MODELS], ids=[*EVERY, *map(repr, RESPONSE_MODELS)])
def test_whole_numbers_become_floating_point_ones(thing: Any) -> None:
    real = [path for path, each in parameters(thing).items() if not each.known.domain.whole]
    for path in (path for path in real if path.split(".")[-1] not in ("low", "high")):  # which have to fit each other
        allowed = [n for n in (3, 1) if parameters(thing)[path].known.domain.allows(n)]
        for n, write in product(allowed[:1], WRITTEN):
            value = parameters(with_parameters(thing, {path: write(n)}))[path].value
            assert np.issubdtype(np.asarray(value).dtype, np.floating)
            np.testing.assert_array_equal(value, write(n))


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
