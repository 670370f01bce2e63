"""Checks beliefs about a direction, and what is built on them, by quadrature over the circle, SciPy and mpmath."""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from astonish import (
    Bayes,
    Delta,
    DeltaCircular,
    Gaussian,
    MessagePassing,
    ParticleFilter,
    Smile,
    VarSmile,
    VonMises,
    run,
)
from astonish.beliefs import VonMisesBelief
from astonish.core.numbers import double
from astonish.core.special import difference, log_bessel_ratio, log_i0_less, log_von_mises, root_less_one, wrapped
from astonish.people.fit import CircularEstimate, Estimate, Model, fit, plan_trials, simulate_responses
from astonish.people.fit.likelihood import participant_data
from astonish.people.fit.plot import plot_fit
from astonish.people.posterior.checks import statistics
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose, fact_of
from astonish.people.tables.regressors import regressors
from astonish.responses import ResponseInput
from families import ANGLES
from laboratory import by_numpy, expfam, rule, surprise

CIRCLE = np.linspace(-np.pi, np.pi, 20_001)[:-1]
STEP = CIRCLE[1] - CIRCLE[0]
SIZES = [*np.logspace(-12, 8, 41), 19.9, 20.0, 20.1]


@pytest.fixture(autouse=True)
def in_double() -> Any:
    with double():
        yield


_prior = by_numpy(lambda period, mean, k: VonMises(period=period).prior(mean, k))


def _belief(mean: float, k: float, period: float = 2 * np.pi) -> VonMisesBelief:
    return _prior(period, mean, k)


def _log_density(belief: VonMisesBelief) -> Any:
    k = np.hypot(belief.cosine, belief.sine)
    return stats.vonmises.logpdf(CIRCLE, k, np.arctan2(belief.sine, belief.cosine))


def _divergence(a: Any, b: Any) -> float:
    """From logarithms of densities on the circle."""
    return float(np.exp(a) @ (a - b) * STEP)


def _of_k(k: Any) -> Any:
    """`log_i0_less` as a function of k."""
    return log_i0_less(k * k)


_functions = [_of_k, jax.grad(_of_k), jax.grad(jax.grad(_of_k))]
_first, _second, _third, _ratio, _root = map(by_numpy, (*_functions, log_bessel_ratio, root_less_one))


@pytest.mark.parametrize("k", SIZES)
def test_bessel_functions_and_their_derivatives(k: float) -> None:
    with mp.workdps(60):
        x = mp.mpf(k)
        ratio, root = mp.besseli(1, x) / mp.besseli(0, x), mp.sqrt(1 + x * x)
        exact = [mp.log(mp.besseli(0, x)), ratio - x / root, 1 - ratio / x - ratio**2 - root**-3, mp.log(ratio)]
    found = [_first(k) + _root(k * k), _second(k), _third(k), _ratio(k * k)]
    for one, other, rtol in zip(found, exact, (1e-15, 2e-14, 1e-12, 1e-13), strict=True):
        assert_allclose(float(one), float(other), rtol=rtol)
    assert_allclose(float(_first(k) - k + _root(k * k)), np.log(special.ive(0, k)), rtol=1e-7, atol=1e-15)


def test_at_zero_and_far_out_all_derivatives_are_numbers() -> None:
    derivatives = [log_i0_less]
    for _ in range(4):
        derivatives.append(jax.grad(derivatives[-1]))
    derivatives = list(map(by_numpy, derivatives))
    at_zero = [float(each(0.0)) for each in derivatives]
    with mp.workdps(30):
        series = mp.taylor(lambda s: mp.log(mp.hyp0f1(1, s / 4)) - mp.sqrt(1 + s) + 1, 0, 4)
        assert_allclose(at_zero, [float(c * mp.factorial(n)) for n, c in enumerate(series)], atol=1e-14)
    for each in derivatives:
        assert np.isfinite([each(square) for square in (1e-300, 1e16, 1e300)]).all()


@pytest.mark.parametrize("angle", [0.0, 3.0, -np.pi, np.pi, 100.0, -1e6])
def test_wrapped_angles_are_the_same_angles(angle: float) -> None:
    assert -np.pi < float(wrapped(angle, 2 * np.pi)) <= np.pi
    assert_allclose(np.exp(1j * float(wrapped(angle, 2 * np.pi))), np.exp(1j * angle), atol=1e-9)
    assert difference(10.0, 350.0, 360.0) == 20.0


@pytest.mark.parametrize("k", [0.0, 1e-6, 0.7, 15.0, 400.0, 1e6])
def test_the_density_of_samples_is_scipys(k: float) -> None:
    angles = np.array([0.0, 1e-3, 0.5, 2.0, np.pi])
    expected = stats.vonmises.logpdf(angles, k) if k else np.full(5, -np.log(2 * np.pi))
    assert_allclose(log_von_mises(angles, k), expected, rtol=1e-9)


@pytest.mark.parametrize("k", [1e-6, 0.5, 8.0, 300.0])
def test_mean_spread_and_density(k: float) -> None:
    belief = _belief(2.5, k)
    density = np.exp(_log_density(belief))
    resultant = (density * np.exp(1j * CIRCLE)).sum() * STEP
    assert_allclose(belief.mean, 2.5, rtol=1e-12)
    assert_allclose(belief.concentration, k, rtol=1e-12)
    assert_allclose(belief.std, np.sqrt(-2 * np.log(abs(resultant))), rtol=1e-6)
    assert_allclose(VonMises().density(belief, CIRCLE), density, rtol=1e-9)
    degrees = _belief(np.degrees(2.5), k, 360.0)
    assert_allclose([degrees.mean, degrees.std], np.degrees([belief.mean, belief.std]), rtol=1e-12)
    assert_allclose(VonMises(period=360.0).density(degrees, np.degrees(CIRCLE)), density / 180 * np.pi, rtol=1e-9)


def test_no_opinion_and_opposite_samples_have_no_direction_but_all_numbers() -> None:
    family = VonMises(4.0)
    for belief in (family.prior(), expfam.bayes(family, family.likelihood(0.0), np.pi)):
        assert np.isfinite([belief.mean, belief.std, expfam.entropy(family, belief)]).all()
    assert_allclose(expfam.entropy(family, family.prior()), np.log(2 * np.pi))
    slopes = by_numpy(jax.jacfwd(lambda k: family.prior(0.3, k)))(0.0)
    assert_allclose([slopes.cosine, slopes.sine], [np.cos(0.3), np.sin(0.3)])
    assert np.isfinite(
        by_numpy(jax.grad(lambda k: rule.smile(family, family.prior(0.3, k), 2.0, 0.1).belief.mean))(0.0)
    )


PAIRS = [
    (0.0, 2.0, 0.7),
    (3.0, 2.0, -3.0),
    (1.0, 1e-6, 2.5),
    (-2.0, 60.0, 1.1),
    (0.5, 0.0, 0.5),
    (0.5, 4.0, 0.5 - np.pi),
]


@pytest.mark.parametrize(("mean", "k", "x"), PAIRS)
def test_surprise_and_smile_by_quadrature(mean: float, k: float, x: float) -> None:
    family, belief = VonMises(3.0), _belief(mean, k)
    prior, naive = _log_density(belief), stats.vonmises.logpdf(CIRCLE, 3.0, x)
    evidence = float(np.exp(prior + naive).sum() * STEP)
    assert_allclose(surprise.shannon(family, belief, x), -np.log(evidence), rtol=1e-10)
    assert_allclose(surprise.confidence_corrected(family, belief, x), _divergence(prior, naive), rtol=1e-9)
    posterior = prior + naive - np.log(evidence)
    assert_allclose(surprise.bayesian(family, belief, x), _divergence(prior, posterior), rtol=1e-7, atol=1e-13)
    assert_allclose(surprise.raw(family, belief, x), -np.exp(prior) @ naive * STEP, rtol=1e-10)
    update = rule.smile(family, belief, x, 0.4)
    mixed = (1 - float(update.gamma)) * prior + float(update.gamma) * naive
    mixed -= np.log(np.exp(mixed).sum() * STEP)
    assert_allclose(_log_density(jax.tree.map(np.asarray, update.belief)), mixed, atol=1e-8)
    share = 0.4 * _divergence(prior, naive) / (1 + 0.4 * _divergence(prior, naive))
    assert_allclose(_divergence(mixed, prior), share * _divergence(naive, prior), rtol=1e-8)


def test_errors_go_the_shorter_way_round() -> None:
    family, belief = VonMises(3.0, period=360.0), _belief(170.0, 5.0, 360.0)
    assert_allclose(family.error(belief, -170.0), 20.0)
    assert_allclose(surprise.absolute_error(family, belief, 130.0), 40.0)
    assert_allclose(surprise.absolute_error(family, belief, -170.0, 0.3), 20.0)  # no opinion has no direction
    other = _belief(-100.0, 2.0, 360.0)
    vectors = [
        special.i1(k) / special.i0(k) * np.exp(1j * np.radians(mean)) for mean, k in ((170.0, 5.0), (-100.0, 2.0))
    ]
    expected = np.degrees(np.angle(0.7 * vectors[0] + 0.3 * vectors[1]))
    assert_allclose(surprise.absolute_error(family, belief, 180.0, 0.3, other), 180 - abs(expected), rtol=1e-9)


@pytest.mark.parametrize("k", [1e-3, 3.0, 1e3, 1e6])
def test_predictions_are_compared_whatever_their_width(k: float) -> None:
    family = VonMises(2 * k)
    width = min(1.0, k**-0.5)
    a, b = _belief(0.4, 3 * k), _belief(0.4 + width, 5 * k)
    fine = 0.4 + np.linspace(-1, 1, 20_001)[:-1] * min(np.pi, 30 * width)
    p, q = (by_numpy(jax.vmap(lambda x, own=own: expfam.log_evidence(family, own, x)))(fine) for own in (a, b))
    expected = np.exp(p) @ (p - q) * (fine[1] - fine[0])
    assert_allclose(by_numpy(VonMises.predictive_divergence)(family, a, b, 0.0), expected, rtol=1e-7, atol=1e-15)


def test_close_and_firm_beliefs_keep_their_digits() -> None:
    """As firm as 10,000 samples of concentration a million, where the belief is nearly normal."""
    k, gap = 1e10, 1e-6
    a, b = _belief(1.0, k), _belief(1.0 + gap, 2 * k)
    expected = 0.5 * (2 - 1 - np.log(2)) + 0.5 * 2 * k * gap**2
    assert_allclose(expfam.divergence(VonMises(), a, b), expected, rtol=1e-6)
    assert_allclose(surprise.shannon(VonMises(1e6), a, 1.0), -stats.norm.logpdf(0, 0, 1.00005e-3), rtol=1e-6)


def test_message_passing_points_where_the_mean_vector_does() -> None:
    """With beliefs on both sides of the cut the estimate is on neither side of 0."""
    learner = MessagePassing(VonMises(30.0), 0.2)
    state = run(learner, [3.0, 3.1, -3.1, -3.0, 3.05]).state
    assert abs(float(learner.estimate(state))) > 2.9
    resultant = 0.0
    for weight, cosine, sine in zip(state.weights, state.beliefs.cosine, state.beliefs.sine, strict=True):
        k = np.hypot(cosine, sine)
        resultant += weight * special.ive(1, k) / special.ive(0, k) * complex(cosine, sine) / k
    assert_allclose(learner.estimate(state), np.angle(resultant), rtol=1e-10)
    assert_allclose(learner.uncertainty(state), np.sqrt(-2 * np.log(abs(resultant))), rtol=1e-8)


FAMILY = VonMises(6.0)
LEARNERS = [Bayes(FAMILY), Smile(FAMILY), VarSmile(FAMILY), MessagePassing(FAMILY), ParticleFilter(FAMILY)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("turn", [0.4, np.pi, -50.0])
def test_whoever_turns_the_outcomes_turns_the_estimates(learner: Any, turn: float) -> None:
    here, there = run(learner, ANGLES), run(learner, np.array(ANGLES) + turn)
    assert_allclose(np.exp(1j * there.estimate), np.exp(1j * (here.estimate + turn)), atol=1e-7)
    assert_allclose(there.surprise, here.surprise, atol=1e-7)


def test_with_little_noise_smile_is_that_of_a_gaussian() -> None:
    noise = 1e-4
    xs = 0.5 + noise * np.array([0.3, -1.0, 0.4, 6.0, 5.5, 6.2, 0.0])
    circle = run(Smile(VonMises(noise**-2), 0.2, _belief(0.5, noise**-2)), xs)
    line = run(Smile(Gaussian(noise), 0.2, Gaussian(noise).prior(0.5, noise)), xs)
    assert_allclose(circle.estimate, line.estimate, atol=1e-6 * noise)
    assert_allclose(circle.learning_rate, line.learning_rate, rtol=1e-5)
    assert_allclose(circle.surprise, line.surprise, rtol=1e-5)


@pytest.mark.parametrize("kind", [Smile, VarSmile])
def test_derivatives_in_both_modes_are_those_of_differences(kind: Any) -> None:
    xs = jnp.asarray([0.3, -0.2, 2.9, -2.9, 3.0])

    def total(k: Any) -> Any:
        learner = kind(VonMises(k), 0.3)

        def step(state: Any, x: Any) -> Any:
            state, info = learner.step(state, x)
            return state, info.surprise + state.mean

        return jax.lax.scan(step, jax.tree.map(jnp.asarray, learner.init()), xs)[1].sum()

    value, forward, reverse = map(by_numpy, (total, jax.jacfwd(total), jax.grad(total)))
    for k in (0.5, 20.0, 1e6):
        numeric = (value(k * 1.0001) - value(k * 0.9999)) / (2e-4 * k)
        assert_allclose([forward(k), reverse(k)], [numeric] * 2, rtol=1e-4, atol=1e-6)
    assert np.isfinite([derivative(k) for derivative in (forward, reverse) for k in (1e-6, 1e10, 1e100)]).all()


def test_draws_are_scipys() -> None:
    family, rng = VonMises(4.0, period=360.0), np.random.default_rng(5)
    xs = family.sample_outcome(50.0, rng, 3000)
    assert stats.kstest(np.radians(xs), stats.vonmises(4.0, np.radians(50.0)).cdf).pvalue > 0.01
    thetas = np.array([family.sample(_belief(-20.0, 9.0, 360.0), rng) for _ in range(2000)])
    assert stats.kstest(np.radians(thetas), stats.vonmises(9.0, np.radians(-20.0)).cdf).pvalue > 0.01


TABLE = pd.DataFrame({"angle": [350.0, 10.0, 5.0, 355.0, 180.0, 170.0], "answer": [0.0, 350.0, 2.0, 4.0, 359.0, 90.0]})


def test_a_table_of_angles_is_read_if_it_is_said_to_be_one() -> None:
    assert read_trials(TABLE, Columns("angle")).kind == "continuous"
    trials = read_trials(TABLE, Columns("angle", response="answer"), kind="circular", responds_before=True)
    assert (trials.kind, trials.response_kind, trials.labels) == ("circular", "circular", None)
    assert trials.outcomes.dtype == np.float64
    assert "outcome angle: circular, from 5 to 355" in trials.preview()
    with pytest.raises(ValueError, match="response_kind = 'circular' is for responses to angles; give kind='circular'"):
        read_trials(TABLE, Columns("angle", response="answer"), response_kind="circular", responds_before=True)


def test_a_learner_is_put_together_for_angles() -> None:
    trials = read_trials(TABLE, Columns("angle"), kind="circular")
    chosen = choose("smile", trials)
    assert chosen.assumed[1] == "period = 6.283, for angles in radians; set 360 for degrees"
    steps = np.array([20.0, 5.0, 10.0, 175.0, 10.0])
    noise = np.radians(np.median(steps)) / (0.6745 * np.sqrt(2))
    assert_allclose(choose("smile", trials, {"period": 360.0}).settings["concentration"], noise**-2)
    assert fact_of(trials, "concentration", {}) == fact_of(trials, "concentration", {"period": 2 * np.pi})
    with pytest.raises(ValueError, match="the learner kalman does not take circular data; give one of smile"):
        choose("kalman", trials)
    with pytest.raises(ValueError, match="these outcomes are angles, which Delta would take for other numbers"):
        regressors(Delta(), trials)


def test_prediction_errors_of_angles_go_the_shorter_way_round() -> None:
    trials = read_trials(TABLE, Columns("angle"), kind="circular")
    table = regressors(DeltaCircular(1.0, start=20.0, period=360.0), trials)
    assert_allclose(table["prediction_error"], [-30.0, 20.0, -5.0, -10.0, -175.0, -10.0])


def _given(estimate: float, period: float | None) -> ResponseInput:
    zero = jnp.zeros(())
    return ResponseInput(jnp.asarray(estimate), zero, zero, zero, zero, period)


def test_responses_are_von_mises_about_the_estimate() -> None:
    distribution = CircularEstimate(7.0).distribution(_given(170.0, 360.0))
    expected = stats.vonmises.logpdf(np.radians(20.0), 7.0) + np.log(np.pi / 180)
    assert_allclose(distribution.log_prob(jnp.asarray(-170.0)), expected, rtol=1e-9)
    lapsing = CircularEstimate(7.0, 0.25).distribution(_given(170.0, 360.0))
    assert_allclose(lapsing.log_prob(jnp.asarray(-170.0)), np.log(0.75 * np.exp(expected) + 0.25 / 360), rtol=1e-9)
    assert_allclose(lapsing.mean, 170.0)


@pytest.mark.parametrize("k", [1e-7, 0.5, 3.0, 50.0, 1e7])
def test_simulated_responses_are_von_mises(k: float) -> None:
    distribution = CircularEstimate(k).distribution(_given(1.0, None))
    drawn = np.asarray(jax.vmap(distribution.sample)(jax.random.split(jax.random.key(2), 3000)))
    exact = stats.vonmises(k) if k < 1e6 else stats.norm(0, k**-0.5)
    assert stats.kstest(np.asarray(wrapped(drawn - 1.0, 2 * np.pi)), exact.cdf).pvalue > 0.01


def test_parameters_of_people_who_follow_angles_are_found() -> None:
    rng = np.random.default_rng(8)
    directions = np.repeat(rng.uniform(-180, 180, (4, 12)), 15, axis=1)
    outcomes = directions + np.degrees(rng.vonmises(0.0, 12.0, directions.shape))
    trials = plan_trials(outcomes, responds_before=True, kind="circular", response_kind="circular")
    model = Model(DeltaCircular(0.4, period=360.0), CircularEstimate(40.0))
    found = fit(model, simulate_responses(model, trials, seed=3), ["learner.learning_rate", "response.concentration"])
    assert_allclose(found.values[:, 0], 0.4, atol=0.06)
    assert_allclose(found.values[:, 1], 40.0, rtol=0.4)
    left = plot_fit(found).axes[-2]
    assert all(np.abs(line.get_xdata()).max() <= 180 for line in left.get_lines())


def test_statistics_of_responses_go_the_shorter_way_round() -> None:
    trials = read_trials(TABLE, Columns("angle", response="answer"), kind="circular", responds_before=True)
    model = Model(DeltaCircular(period=360.0), CircularEstimate())
    found = statistics("estimate", trials, participant_data(model, trials), trials.responses, 360.0)
    errors, steps = np.array([-10.0, 20.0, 3.0, -9.0, -179.0]), np.array([-10.0, 12.0, 2.0, -5.0, 91.0])
    assert_allclose(found["mean absolute error"], np.abs(errors).mean())
    assert_allclose(found["mean absolute update"], np.abs(steps).mean())
    assert_allclose(found["learning rate"], errors @ steps / (errors @ errors))


def test_responses_that_do_not_go_with_angles_are_refused() -> None:
    columns = Columns("angle", response="answer")
    angles = read_trials(TABLE, columns, kind="circular", responds_before=True)
    numbers = read_trials(TABLE, columns, responds_before=True)
    learner, number, angle = DeltaCircular(period=360.0), Estimate(), CircularEstimate()
    for model, trials, sentence in [
        (Model(learner, number), angles, "these responses are angles, which Estimate does not give; give CircularEst"),
        (Model(learner, angle), numbers, "these responses are numbers, which CircularEstimate does not give"),
        (Model(learner, number), numbers, "DeltaCircular estimates an angle, but these responses were read as other"),
        (Model(Delta(), angle), angles, "these outcomes are angles, which Delta would take for other numbers"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            fit(model, trials, ["learner.learning_rate"])
