"""Is this Sutton's K1? The oracles are his equations in a plain loop, and numbers that others have computed."""

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astonish import Delta, SuttonK1, run

DATA = Path(os.environ.get("ASTONISH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
COINS = np.random.default_rng(8).binomial(1, 0.7, 60)


def by_equations(xs: np.ndarray, mu: float, v: float, h: float, b: float, noise: float) -> np.ndarray:
    """Estimate and learning rate after every sample; b: the first one, noise: R."""
    found = []
    for x in xs:
        error = x - v
        b = b + mu * error * h
        a = math.exp(b) / (noise + math.exp(b))
        h = (h + a * error) * max(1 - a, 0)
        v = v + a * error
        found.append((v, a))
    return np.array(found)


@pytest.mark.parametrize("mu", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_it_is_k1_whatever_the_noise(mu: float, noise: float, rate: float) -> None:
    """Sutton's R only moves b, which starts at ln R where nothing else is said."""
    first = math.log(noise) + math.log(rate / (1 - rate))
    oracle, history = by_equations(COINS, mu, 0.4, 0.02, first, noise), run(SuttonK1(mu, 0.4, rate, 0.02), COINS)
    np.testing.assert_allclose(history.estimate, oracle[:, 0], rtol=1e-9)
    np.testing.assert_allclose(history.learning_rate, oracle[:, 1], rtol=1e-9)
    np.testing.assert_allclose(history.surprise, np.abs(COINS - np.append(0.4, oracle[:-1, 0])), rtol=1e-9)


def test_the_published_inputs_give_the_known_numbers() -> None:
    path = DATA / "hgf" / "canonical_binary_3level.csv"
    if not path.exists():
        pytest.skip(f"no inputs in {DATA}; name a folder that has hgf/ by ASTONISH_DATA")
    history = run(SuttonK1(3.0, start=0.5, first_trace=0.005), pd.read_csv(path)["mu1"].to_numpy(int))
    assert round(float(history.estimate[-1]), 7) == 0.1061601
    assert round(float(history.learning_rate.mean()), 7) == 0.1675686


def test_errors_are_measured_in_units_of_the_scale() -> None:
    one, other = run(SuttonK1(3.0, 0.5), COINS), run(SuttonK1(3.0, 50.0, scale=100.0), 100 * COINS)
    np.testing.assert_allclose(other.estimate, 100 * one.estimate, rtol=1e-12)
    np.testing.assert_allclose(other.learning_rate, one.learning_rate, rtol=1e-12)


def test_without_meta_learning_it_is_the_delta_rule() -> None:
    k1, delta = run(SuttonK1(0.0, 0.4, 0.2), COINS), run(Delta(0.2, 0.4), COINS)
    np.testing.assert_allclose(k1.estimate, delta.estimate, rtol=1e-12)


def test_it_learns_faster_after_a_jump_than_before() -> None:
    noise = np.random.default_rng(2).normal(0, 0.1, 200)
    rates = run(SuttonK1(3.0, 0.0), noise + np.repeat([0.0, 1.0], 100)).learning_rate
    assert rates[100:110].max() > 1.4 * rates[90:100].max()
