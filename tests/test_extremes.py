"""Extreme parameters and samples leave numbers, and derivatives that are numbers, forward and backward."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import beliefs, learners, run, scan
from astonish.core.numbers import as_double, double
from astonish.core.parameters import declared
from astonish.models.parameters import with_parameters

RNG = np.random.default_rng(3)
EQUAL = np.ones(3_000, int)
MIXED = np.concatenate([np.ones(400, int), np.zeros(3, int), np.ones(3, int), RNG.integers(0, 2, 200)])
JUMPS = np.array([1e6, -1e6, 1e6, 0.0, 1.0, 1e6] * 5)
OUTLIERS = np.concatenate([np.zeros(50), [1e6, -1e6, 0.0, 1e6, 1e6], RNG.normal(size=50), [1e150, -1e150, 0.0, 1.0]])
ANGLES = np.array([1e6, -1e6, 0.0, np.pi, -np.pi, 1e100])
LOGS, TINY, SURE = (-30.0, -8.0, -1.0, 3.0, 10.0), 1e-12, 1 - 1e-12


def every(make: Any, *values: Sequence[Any]) -> list[Any]:
    return [make(*each) for each in product(*values)]


def particles(*lambdas: float) -> learners.StochasticityVolatility:
    return learners.StochasticityVolatility(*lambdas, particles=10)


CASES: dict[str, tuple[list[Any], tuple[Any, ...]]] = {
    **{f"{kind.name}, {kappa}": (every(kind, LOGS, LOGS, [kappa]), (EQUAL, MIXED))
       for kind in (learners.HGF, learners.ClassicHGF) for kappa in (0.0, 1.0, 10.0)},
    "hgf2": (every(learners.TwoLevelHGF, LOGS, (-50.0, 9.0), (1e-9, 1e9)), (EQUAL, MIXED)),
    "hgf-continuous": (every(learners.ContinuousHGF, (1e-6, 1.0), LOGS, LOGS, (0.0, 1.0, 10.0)),
                       (EQUAL * 1.0, OUTLIERS)),
    "delta-circular": ([learners.DeltaCircular(0.0), learners.DeltaCircular(1.0)], (EQUAL * 1.2, ANGLES)),
    "nassar-circular": (
        [learners.NassarCircular(1e-6), learners.NassarCircular(1e6), learners.NassarCircular(1e100, 1e-9),
         learners.NassarCircular(5.0, 1 - 1e-9, first_uncertainty=1e-9),
         learners.NassarCircular(5.0, surprise_sensitivity=0.0),
         learners.NassarCircular(5.0, uncertainty_underestimation=600.0)],
        (EQUAL * 1.2, ANGLES),
    ),
    "vkf": (every(learners.VolatileKalman, (1e-200, 1e-6, 1.0, 1e6), (0.0, TINY, 0.5, 1.0),
                  (0.0, 1e-6, 1.0, 1e6), [0.5]),
            (JUMPS, -JUMPS[::-1], np.array([0.0, -1e6, -1e6, 0.0, 1e6, 1.0, 0.0, 1e6]), EQUAL * 1.0)),
    "vkf-binary": (every(learners.BinaryVolatileKalman, (0.0, TINY, 0.5, 1.0), (0.0, 1e-9, 1e3), (1e-9, 1.0, 1e3)),
                   (np.array([1] * 40 + [0, 1, 0, 0]), EQUAL)),
    "sutton-k1": (every(learners.SuttonK1, (0.0, 3.0, 1e3), [0.5], (TINY, 0.5, SURE)), (EQUAL * 1.0, JUMPS)),
    "two-rate": ([learners.TwoRate(0.0, 1.0), learners.TwoRate(1.0, 0.0)], (EQUAL * 1.0, JUMPS)),
    "reversal-hmm": ([learners.ReversalHMM(hazard, *probabilities) for hazard in (TINY, 0.5, SURE)
                      for probabilities in ((SURE, TINY), (0.5, 0.5), (TINY, 0.9))], (np.append(EQUAL, [0, 0, 1, 0]),)),
    "stochasticity-volatility": (every(particles, (0.0, TINY, 0.5, 1.0), (0.0, 0.5, 1.0)), (EQUAL * 0.0, JUMPS)),
    **{f"delta-mixture, {type(family).__name__}, {nodes}": (
        [learners.DeltaMixture(family, hazard, longest=longest, nodes=nodes)
         for hazard in (1e-300, 0.5, 1 - 1e-16) for longest in (1.0, 1e12)], (xs,))
       for family, xs in ((beliefs.Gaussian(), JUMPS), (beliefs.NormalGamma(), EQUAL * 0.0), (beliefs.Beta(), EQUAL))
       for nodes in (1, 3)},
}  # fmt: skip


@partial(jax.jit, static_argnums=0)
def _answers(names: tuple[str, ...], learners: Any, xs: Any) -> Any:
    def total(values: Any, learner: Any) -> Any:
        trace = scan(with_parameters(learner, dict(zip(names, values, strict=True))), xs)
        return trace.surprise.sum() + trace.learning_rate.sum() + jnp.tanh(trace.estimate).sum()

    def answers(learner: Any) -> Any:
        at = jnp.stack([getattr(learner, name) for name in names])
        return scan(learner, xs), jax.jacfwd(total)(at, learner), jax.grad(total)(at, learner)

    return jax.vmap(answers)(learners)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_extremes_leave_numbers_and_derivatives(case: tuple[list[Any], tuple[Any, ...]]) -> None:
    learners, series = case
    names = tuple(name for name, known in declared(type(learners[0])).items() if not known.domain.whole)
    with double():
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *map(as_double, learners))
        for xs in series:
            trace, forward, backward = _answers(names, stacked, xs)
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(trace))
            for answers in (trace.learning_rate, trace.change_probability):
                assert answers is None or ((answers >= 0) & (answers <= 1)).all()
            for learner, *slopes in zip(learners, forward, backward, strict=True):
                assert np.isfinite(slopes).all(), (learner, slopes)
                np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-8 * np.abs(slopes).max(), err_msg=repr(learner))


ROWS = beliefs.Rows(beliefs.Dirichlet(3), 3)
ENDS = ((0.0, 1.0), (0.1, 0.9), (0.4, 0.4001), (0.0, 1e-6))
BELIEVERS: dict[str, tuple[list[Any], tuple[Any, ...]]] = {
    "von-mises": (every(lambda kind, k: kind(beliefs.VonMises(k)),
                        (learners.Smile, learners.VarSmile, learners.Bayes, learners.MessagePassing),
                        (1e-6, 1.0, 20.0, 1e6)), (EQUAL * 1.2, ANGLES)),
    "rows": ([*every(lambda kind, value: kind(ROWS, value), (learners.Leaky, learners.VarSmile), (0.0, TINY, 0.5, 1.0)),
              *every(lambda hazard: learners.MessagePassing(ROWS, hazard, hypotheses=3), (TINY, 0.5, SURE))],
             ((np.arange(len(EQUAL)) % 3, EQUAL * 0),)),
    "beta-interval": ([*every(lambda ends: learners.Leaky(beliefs.BetaInterval(*ends), 1.0), ENDS),
                       *every(lambda ends: learners.MessagePassing(beliefs.BetaInterval(*ends), 0.01, hypotheses=3),
                              ENDS)],
                      (EQUAL, EQUAL * 0)),
    "dbm": (every(lambda alpha: learners.DynamicBelief(beliefs.Beta(), alpha), (TINY, SURE)), (EQUAL,)),
}  # fmt: skip


@pytest.mark.parametrize("case", BELIEVERS.values(), ids=list(BELIEVERS))
def test_extremes_leave_beliefs(case: tuple[list[Any], tuple[Any, ...]]) -> None:
    for learner, xs in product(*case):
        history = run(learner, xs)
        assert all(np.isfinite(values).all() for values in history.columns().values()), learner
        assert all((np.asarray(leaf) < np.inf).all() for leaf in jax.tree.leaves(history.state)), learner
        assert np.isfinite(learner.uncertainty(history.state)).all(), learner
