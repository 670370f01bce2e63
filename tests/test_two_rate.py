"""Does each learning rate serve its sign of errors? The oracles are a plain loop, and the delta rule."""

import numpy as np
import pytest

from astonish import Delta, TwoRate, run

XS = np.random.default_rng(7).normal(size=50)
RATES = [0.0, 0.3, 0.8, 1.0]


@pytest.mark.parametrize("positive", RATES)
@pytest.mark.parametrize("negative", RATES)
def test_each_sign_has_its_rate(positive: float, negative: float) -> None:
    history, at = run(TwoRate(positive, negative, 0.2), XS), 0.2
    for t, x in enumerate(XS):
        error = x - at
        rate = positive if error > 0 else negative
        at = at + rate * error
        assert history.estimate[t] == pytest.approx(at, rel=1e-12, abs=1e-14)
        assert history.learning_rate[t] == rate
        assert history.surprise[t] == pytest.approx(abs(error), rel=1e-12, abs=1e-14)


def test_with_equal_rates_it_is_the_delta_rule() -> None:
    two, one = run(TwoRate(0.3, 0.3, 1.0), XS), run(Delta(0.3, 1.0), XS)
    np.testing.assert_allclose(two.estimate, one.estimate, rtol=1e-12)
    np.testing.assert_array_equal(two.learning_rate, one.learning_rate)


def test_who_learns_more_from_good_news_expects_more_than_there_is() -> None:
    """Of coins, the estimate settles where both kinds of errors balance: p a / (p a + (1 - p) b)."""
    coins = np.random.default_rng(1).binomial(1, 0.5, 20_000)
    assert run(TwoRate(0.03, 0.01, 0.5), coins).estimate[2000:].mean() == pytest.approx(0.75, abs=0.01)
