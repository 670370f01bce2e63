"""Is the Gaussian task what it says, and is every episode reproducible by itself?"""

import numpy as np
import pytest
from scipy import stats

from astonish.worlds.gaussian_jumps import Episode, gaussian_jumps, many_gaussian_jumps


def same(one: Episode, other: Episode) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("hazard", [0.01, 0.066, 0.5])
def test_jumps_are_as_frequent_as_the_hazard_says(hazard: float) -> None:
    changed = many_gaussian_jumps(2000, range(100), hazard).changed
    assert changed[:, 0].all()
    error = (hazard * (1 - hazard) / changed[:, 1:].size) ** 0.5
    assert abs(changed[:, 1:].mean() - hazard) < 4 * error


def test_jumps_do_not_depend_on_the_last_jump() -> None:
    changed = many_gaussian_jumps(2000, range(100), 0.3).changed[:, 1:]
    after = changed[:, 1:][changed[:, :-1]]
    assert abs(after.mean() - 0.3) < 4 * (0.3 * 0.7 / len(after)) ** 0.5


def test_means_are_uniform_over_their_range() -> None:
    task = many_gaussian_jumps(1000, range(50), 0.1, low=-3.0, high=7.0)
    means = task.truth[task.changed]
    assert stats.kstest(means, stats.uniform(-3.0, 10.0).cdf).pvalue > 1e-3
    assert abs(means.mean() - 2.0) < 4 * 10 / (12 * len(means)) ** 0.5
    assert means.min() >= -3.0
    assert means.max() <= 7.0


def test_the_mean_stays_between_jumps() -> None:
    task = gaussian_jumps(2000, seed=5)
    assert np.array_equal(np.diff(task.truth) != 0, task.changed[1:])


@pytest.mark.parametrize("noise", [0.5, 4.0])
def test_the_noise_is_normal_and_of_the_right_size(noise: float) -> None:
    task = many_gaussian_jumps(1000, range(100), noise=noise)
    off = (task.samples - task.truth).ravel() / noise
    assert abs(off.mean()) < 4 / len(off) ** 0.5
    assert abs(off.std() - 1) < 4 / (2 * len(off)) ** 0.5
    assert stats.kstest(off, stats.norm.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(off[1:], off[:-1])[0, 1]) < 4 / len(off) ** 0.5


def test_the_same_seed_gives_the_same_episode_and_another_seed_another() -> None:
    assert same(gaussian_jumps(50, seed=3), gaussian_jumps(50, seed=3))
    assert not np.isin(gaussian_jumps(50, seed=3).samples, gaussian_jumps(50, seed=4).samples).any()


def test_an_episode_is_the_same_whatever_the_others_are() -> None:
    task = many_gaussian_jumps(30, [7, (1, 2), 9], hazard=[0.1, 0.2, 0.3], noise=2.0, low=0.0, high=5.0)
    alone = gaussian_jumps(30, (1, 2), 0.2, 2.0, 0.0, 5.0)
    assert task.samples.shape == task.truth.shape == task.changed.shape == (3, 30)
    assert same(Episode(*(part[1] for part in task)), alone)
    other = many_gaussian_jumps(30, [(1, 2), 8], hazard=0.2, noise=2.0, low=0.0, high=5.0)
    assert same(Episode(*(part[0] for part in other)), alone)


def test_a_seed_has_the_same_noise_at_every_hazard_and_its_jumps_are_nested() -> None:
    calm, volatile = (gaussian_jumps(2000, seed=1, hazard=hazard) for hazard in (0.02, 0.1))
    assert np.allclose(calm.samples - calm.truth, volatile.samples - volatile.truth, rtol=0, atol=1e-12)
    assert volatile.changed[calm.changed].all()
    assert volatile.changed.sum() > calm.changed.sum()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps = 0 is not allowed"),
        ({"seeds": []}, "there are no seeds; give at least one"),
        ({"hazard": [0.1, 1.0]}, "hazard = 1 is not allowed"),
        ({"noise": 0.0}, "noise = 0 is not allowed"),
        ({"low": 2.0, "high": 2.0}, "high - low = 0 is not allowed"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        many_gaussian_jumps(**({"steps": 10, "seeds": [1, 2]} | settings))  # type: ignore[arg-type]
