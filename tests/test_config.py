"""Does JAX tell families and learners apart, and do parameters that cannot be right get refused?"""

from itertools import combinations

import jax
import pytest

from astonish import Beta, Delta, Exponential, Gaussian, NormalGamma, Poisson, Smile
from astonish.tasks.gaussian_jumps import gaussian_jumps


@pytest.mark.parametrize(("one", "other"), list(combinations([Beta(), Exponential(), NormalGamma(), Poisson()], 2)))
def test_families_with_the_same_fields_have_different_structures(one: object, other: object) -> None:
    assert jax.tree.structure(one) != jax.tree.structure(other)


def test_learners_of_such_families_have_different_structures() -> None:
    assert jax.tree.structure(Smile(Poisson())) != jax.tree.structure(Smile(Exponential()))


def test_parameters_are_leaves() -> None:
    assert jax.tree.leaves(Smile(Gaussian(noise=2.0), m=0.3)) == [2.0, 0.3]
    assert jax.tree.leaves(Delta(learning_rate=0.2, start=1.0)) == [0.2, 1.0]


@pytest.mark.parametrize("hazard", [-0.1, 0.0, 1.0, 2.0, float("nan")])
def test_a_hazard_outside_its_range_is_refused(hazard: float) -> None:
    with pytest.raises(ValueError, match=f"hazard = {hazard:g} is not allowed; give a finite number between 0 and 1"):
        gaussian_jumps(10, seed=1, hazard=hazard)


def test_the_task_jumps_as_often_as_it_should() -> None:
    episode = gaussian_jumps(200_000, seed=2, hazard=0.066)
    assert episode.changed[1:].mean() == pytest.approx(0.066, abs=4 * (0.066 * 0.934 / 2e5) ** 0.5)
    assert (episode.samples - episode.truth).std() == pytest.approx(4.0, rel=0.01)
    assert abs(episode.truth).max() <= 20
