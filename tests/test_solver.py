"""Is a fixed number of steps, as on accelerators, enough to find gamma?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import Beta, Dirichlet, Exponential, Gaussian, NormalGamma, Poisson
from astonish.beliefs import BetaBelief, DirichletBelief, GammaBelief, GaussianBelief, NormalGammaBelief
from astonish.core.numbers import double
from astonish.theory import solver
from astonish.theory.expfam import scaled_likelihood

COUNT = 2000
RNG = np.random.default_rng(5)


def powers_of_e(low: float, high: float, *shape: int) -> Any:
    return np.exp(RNG.uniform(low, high, (COUNT, *shape)))


WIDE: dict[str, tuple[Any, Any, Any]] = {
    "gaussian": (
        Gaussian(1.0),
        GaussianBelief(RNG.normal(size=COUNT) * powers_of_e(-5, 7), powers_of_e(-7, 5)),
        RNG.normal(size=COUNT),
    ),
    "dirichlet": (Dirichlet(15), DirichletBelief(powers_of_e(-3, 9, 15)), RNG.integers(15, size=COUNT)),
    "beta": (Beta(), BetaBelief(powers_of_e(-2, 7), powers_of_e(-2, 7)), RNG.integers(2, size=COUNT)),
    "poisson": (Poisson(), GammaBelief(powers_of_e(-1, 7), powers_of_e(-2, 6)), np.floor(powers_of_e(0, 7))),
    "exponential": (Exponential(), GammaBelief(powers_of_e(-1, 7), powers_of_e(-2, 6)), powers_of_e(-3, 4)),
    "normal_gamma": (
        NormalGamma(),
        NormalGammaBelief(RNG.normal(size=COUNT), powers_of_e(-1, 5), powers_of_e(0, 5), powers_of_e(0, 5)),
        RNG.normal(size=COUNT) * powers_of_e(-1, 2),
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_fixed_number_of_steps_finds_the_same_gamma(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family, beliefs, xs = WIDE[name]
    shares = 1 / (1 + np.exp(RNG.uniform(-10, 10, COUNT)))
    with double():
        reference = None if family.proper_likelihood else family.prior()

        def gamma(belief: Any, x: Any, share: Any) -> Any:
            return solver.powers_at(family, belief, scaled_likelihood(family, x, reference), share).gamma

        exact = jax.jit(jax.vmap(gamma))(beliefs, jnp.asarray(xs), shares)
        monkeypatch.setattr(solver, "_until_found", solver._in_fixed_steps)
        found = jax.jit(jax.vmap(lambda *at: gamma(*at)))(beliefs, jnp.asarray(xs), shares)
    off = np.abs(np.asarray(found) / np.asarray(exact) - 1)
    assert np.median(off) < 1e-13
    assert np.quantile(off, 0.99) < 1e-8
    assert off.max() < 2e-6


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_at_the_ends_of_the_line_a_belief_is_one_of_the_two(share: float) -> None:
    family, belief = Beta(), BetaBelief(2.0, 3.0)
    assert solver.powers_at(family, belief, scaled_likelihood(family, 1), share) == (share, 1 - share)
