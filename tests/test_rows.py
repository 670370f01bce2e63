"""Do rows of beliefs forget, and suspect changes, together, and is one row the family itself?"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pandas import DataFrame
from scipy.special import expit

from astonish import (
    Bayes,
    Beta,
    Dirichlet,
    Gaussian,
    Leaky,
    MessagePassing,
    ParticleFilter,
    PerContext,
    Rows,
    Smile,
    VarSmile,
    measure,
    run,
)
from astonish.core.numbers import double
from astonish.learners.base import Learner, scan
from astonish.people.fit import Estimate, Model
from astonish.people.fit.likelihood import evaluate, participant_data
from astonish.people.tables import Columns, read_trials
from families import agree
from laboratory import by_numpy

RNG = np.random.default_rng(5)
LABELS = RNG.integers(3, size=40)
STEPS = list(itertools.pairwise(LABELS.tolist()))
COINS = [(int(c), int(x)) for c, x in RNG.integers(2, size=(8, 2))]


def _on(family: Any) -> list[Learner]:
    prior = family.prior()
    return [
        Smile(family, 0.3, reference=prior),
        VarSmile(family, 0.3),
        Bayes(family),
        Leaky(family, 0.8),
        MessagePassing(family, 0.1, hypotheses=6),
        ParticleFilter(family, 0.1, particles=6, seed=2),
    ]


@pytest.mark.parametrize("family", [Beta(), Gaussian(1.5), Dirichlet(2)], ids=lambda family: type(family).__name__)
def test_one_row_is_the_family_itself(family: Any) -> None:
    xs = [0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1]
    for single, rows in zip(_on(family), _on(Rows(family, 1)), strict=True):
        agree(run(rows, [(0, x) for x in xs]), run(single, xs), atol=1e-12)


def test_leaky_rows_are_counts_that_fade_together() -> None:
    keep, seen, counts = 0.85, 0.5, np.zeros((3, 3))
    history = run(Leaky(Rows(Dirichlet(3), 3), keep, Rows(Dirichlet(3), 3).prior(alpha=1 + seen)), STEPS)
    for k, (here, there) in enumerate(STEPS):
        before = (counts[here] + 1 + seen) / (counts[here] + 1 + seen).sum()
        counts *= keep
        counts[here, there] += 1
        after = (counts[here] + 1 + seen) / (counts[here] + 1 + seen).sum()
        assert history.surprise[k] == pytest.approx(-np.log(before[there]), rel=1e-9)
        np.testing.assert_allclose(history.estimate[k], after, rtol=1e-9)
    np.testing.assert_allclose(history.state.belief.rows.alpha, counts + 1 + seen, rtol=1e-9)


def test_without_a_leak_rows_are_contexts_apart() -> None:
    together, apart = run(Leaky(Rows(Dirichlet(3), 3), 1.0), STEPS), run(PerContext(Bayes(Dirichlet(3)), 3), STEPS)
    agree(together, estimate=apart.estimate, surprise=apart.surprise)


def test_varsmile_on_rows_fades_all_of_them() -> None:
    m, counts = 0.4, np.zeros((2, 2))
    history = run(VarSmile(Rows(Beta(), 2), m), COINS)
    for k, (here, x) in enumerate(COINS):
        bayes_factor = np.log(0.5) - np.log((counts[here, x] + 1) / (counts[here].sum() + 2))
        gamma = expit(np.log(m) + bayes_factor)
        counts *= 1 - gamma
        counts[here, x] += 1
        assert history.surprise[k] == pytest.approx(bayes_factor, rel=1e-9, abs=1e-12)
        assert history.learning_rate[k] == pytest.approx(gamma, rel=1e-9)
        assert history.estimate[k] == pytest.approx((counts[here, 1] + 1) / (counts[here].sum() + 2), rel=1e-9)


def test_the_local_estimate_is_that_of_the_context_asked_for() -> None:
    for rows, apart in (
        (Leaky(Rows(Dirichlet(3), 3), 1.0), PerContext(Leaky(Dirichlet(3), 1.0), 3)),
        (MessagePassing(Rows(Dirichlet(3), 3), 1e-12), PerContext(MessagePassing(Dirichlet(3), 1e-12), 3)),
    ):
        together, each = run(rows, STEPS).state, run(apart, STEPS).state
        with double():
            for context in range(3):
                found = [
                    inner.estimate(held)
                    for inner, held, _ in (
                        rows.in_context(together, (context, 0)),
                        apart.in_context(each, (context, 0)),
                    )
                ]
                np.testing.assert_allclose(*found, rtol=1e-6)


def test_measures_of_rows_are_those_of_the_row() -> None:
    together = measure(Bayes(Rows(Beta(), 2)), COINS, hazard=0.1)
    apart = measure(PerContext(Bayes(Beta()), 2), COINS, hazard=0.1)
    for name in together:
        if not name.startswith("confidence_corrected"):
            np.testing.assert_allclose(together[name], apart[name], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("mode", [jax.grad, jax.jacfwd])
def test_derivatives_are_finite_in_both_modes(mode: Any) -> None:
    xs = tuple(jnp.asarray(part) for part in zip(*STEPS, strict=True))
    family = Rows(Dirichlet(3), 3)

    def total(make: Any, value: Any) -> Any:
        trace = scan(make(value), xs)
        return trace.estimate[:, 0].sum() + trace.surprise.sum()

    learners: list[tuple[Any, tuple[float, ...]]] = [
        (lambda keep: Leaky(family, keep), (0.0, 0.3, 1.0)),
        (lambda m: VarSmile(family, m), (0.0, 0.3, 1.0)),
        (lambda m: Smile(family, m, None, family.prior()), (0.0, 0.3, 1.0)),
        (lambda hazard: MessagePassing(family, hazard), (1e-9, 0.3, 1 - 1e-9)),
    ]
    with double():
        for make, values in learners:
            slopes = by_numpy(jax.vmap(mode(lambda value, make=make: total(make, value))))(np.asarray(values))
            assert np.isfinite(slopes).all()


def test_rows_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 is no family of beliefs; give one, such as Beta\(\)"):
        Rows(3, 2)  # type: ignore[arg-type]


def test_a_fit_knows_the_estimate_before_a_trial_in_its_own_context() -> None:
    """Without forgetting, rows are the same together and apart, and noise that grows with steps tells their sizes."""
    rng = np.random.default_rng(3)
    table = DataFrame({"from": rng.integers(2, size=80), "to": rng.integers(2, size=80), "said": rng.random(80)})
    table["from"], table["to"] = (table[name].map({0: "a", 1: "b"}) for name in ("from", "to"))
    trials = read_trials(table, Columns(("from", "to"), response="said"), responds_before=False)
    found = []
    for learner in (Leaky(Rows(Beta(), 2), 1.0), PerContext(Leaky(Beta(), 1.0), 2)):
        model = Model(learner, Estimate(noise=0.3, growth=2.0, anchored=False))
        with double():
            own = jax.tree.map(lambda part: part[0], participant_data(model, trials))
            found.append(np.asarray(evaluate(model, own, responds_before=False).log_likelihood))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
