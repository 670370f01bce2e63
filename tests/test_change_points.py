"""Checks learners of a world that changes against brute force over every history of changes, with SciPy's densities."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from scipy import special
from scipy.special import logsumexp

from astonish import (
    Bayes,
    Beta,
    Dirichlet,
    Gaussian,
    MessagePassing,
    ParticleFilter,
    PerContext,
    Poisson,
    Smile,
    Stream,
    VarSmile,
    change_points,
    load_state,
    run,
    run_lengths,
    run_many,
    save_state,
    scan,
)
from astonish.beliefs import BetaBelief, GaussianBelief
from astonish.core.numbers import double
from families import (
    CASE,
    FAMILIES,
    NUMBERS,
    SERIES,
    FamilyCase,
    columns,
    log_probability,
    mean_between,
    posterior,
)

HAZARD = 0.15
STEPS = 7
FEW = [c for c in FAMILIES if c.name in ("gaussian", "gaussian_vector", "poisson", "finite", "normal_gamma")]
every_family = pytest.mark.parametrize("case", FAMILIES, ids=[c.name for c in FAMILIES])
a_few_families = pytest.mark.parametrize("case", FEW, ids=[c.name for c in FEW])  # a crowd takes long to compile


def _mean(case: FamilyCase, b: Any) -> Any:
    """What a belief expects of the parameter; of an angle, the mean direction as a complex number."""
    if case.name in ("finite", "grid"):
        return special.softmax(b.log_density + b.log_width) @ np.asarray(b.points)
    if case.name in ("poisson", "exponential"):
        return b.shape / b.time
    if case.name == "von_mises":
        vector = complex(b.cosine, b.sine)
        return special.i1(abs(vector)) / special.i0(abs(vector)) * vector / abs(vector)
    if case.name == "beta_interval":
        return mean_between(b)
    b = b if case.name != "rows" else BetaBelief(*(counts[b.context] for counts in b.rows))
    if isinstance(b, BetaBelief):
        return b.ones / (b.ones + b.zeros)
    return b.alpha / b.alpha.sum() if case.name == "dirichlet" else b.mean


class Truth(NamedTuple):
    """What brute force finds after each sample; `best` is the most probable history after the last one."""

    estimate: Any
    surprise: Any
    change: Any
    rate: Any
    lengths: Any
    best: list[int]


def _segments(case: FamilyCase, prior: Any, xs: list[Any]) -> tuple[Any, dict[tuple[int, int], Any]]:
    """For samples i .. j - 1: their log-evidence from the prior, and what is expected after them."""
    evidence, means = np.zeros((len(xs), len(xs) + 1)), {}
    for i in range(len(xs)):
        belief = prior
        for j in range(i, len(xs)):
            evidence[i, j + 1] = evidence[i, j] + log_probability(case, belief, xs[j])
            belief = posterior(case, belief, xs[j])
            means[i, j + 1] = _mean(case, belief)
    return evidence, means


def _brute(case: FamilyCase, prior: Any, xs: list[Any], hazard: float) -> Truth:
    """Every history of changes there can be, after each sample anew."""
    evidence, means = _segments(case, jax.tree.map(lambda part: np.asarray(part, float), prior), xs)
    rows, totals, best = [], [0.0], []
    for now in range(1, len(xs) + 1):
        histories = list(product([0, 1], repeat=now))
        starts = [sorted({0, *np.flatnonzero(history).tolist()}) for history in histories]
        logs = [
            sum(evidence[i, j] for i, j in zip(s, [*s[1:], now], strict=True))
            + sum(np.log(hazard if changed else 1 - hazard) for changed in history)
            for history, s in zip(histories, starts, strict=True)
        ]
        totals.append(logsumexp(logs))
        probabilities, ages = np.exp(np.array(logs) - totals[-1]), np.array([now - s[-1] for s in starts])
        estimate = sum(probability * means[s[-1], now] for probability, s in zip(probabilities, starts, strict=True))
        change = probabilities @ np.array(histories)[:, -1]
        lengths = np.bincount(ages, probabilities)[1:]
        rows.append((estimate, totals[-2] - totals[-1], change, probabilities @ (1 / ages), lengths))
        best = starts[int(np.argmax(probabilities))][1:]
    estimate, surprise, change, rate, lengths = zip(*rows, strict=True)
    estimates = np.array(estimate)
    if case.name == "von_mises":
        estimates = np.degrees(np.angle(estimates))
    return Truth(estimates, np.array(surprise), np.array(change), np.array(rate), lengths, best)


def _short(case: FamilyCase) -> list[Any]:
    """Some samples, an outlier among them."""
    return SERIES[case.name][3 : 3 + STEPS]


def _exact(case: FamilyCase, hazard: float = HAZARD, prior: Any = None) -> MessagePassing:
    return MessagePassing(case.family, hazard, case.family.prior() if prior is None else prior, STEPS + 1)


@jax.jit
def _crowds(learner: ParticleFilter, seeds: Any, xs: Any) -> Any:
    return jax.vmap(lambda seed: scan(replace(learner, seed=seed), xs))(seeds)


def _near(ours: Any, theirs: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def _same(history: Any, exact: Truth) -> None:
    _near(history.estimate, exact.estimate)
    answers = history.surprise, history.change_probability, history.learning_rate
    _near(answers, (exact.surprise, exact.change, exact.rate))


@every_family
def test_with_more_hypotheses_than_samples_message_passing_is_exact(case: FamilyCase) -> None:
    for prior in (case.family.prior(), case.belief):
        exact = _brute(case, prior, _short(case), HAZARD)
        learner = _exact(case, prior=prior)
        _same(run(learner, _short(case)), exact)
        for row, expected in zip(run_lengths(learner, _short(case), STEPS), exact.lengths, strict=True):
            _near(row, np.pad(expected, (0, STEPS - len(expected))))


ODD = [400.0, 400.0, 100.0, 400.0, 400.0, 400.0]  # one speaks against no change, those after it even more for it


@pytest.mark.parametrize(
    ("hazard", "xs"), [*((hazard, NUMBERS[:8]) for hazard in (1e-6, 0.5, 0.9, 1 - 1e-6)), (0.01, ODD)]
)
def test_message_passing_is_exact_at_any_hazard_and_with_any_odds(hazard: float, xs: list[float]) -> None:
    family = Gaussian(1.5)
    exact = _brute(CASE["gaussian"], family.prior(), xs, hazard)
    assert xs is not ODD or (exact.lengths[2][2] < 1e-300 and exact.lengths[5][5] > 0.99)
    _same(run(MessagePassing(family, hazard, hypotheses=9), xs), exact)


def _most_probable_hypotheses(case: FamilyCase, prior: Any, xs: Any, hazard: float, most: int) -> Any:
    """MPN as it is published: estimate, surprise, change and rate after each sample."""
    kept, rows = [(1.0, prior, 0)], []
    for x in xs:
        every = [((1 - hazard) * weight, belief, age) for weight, belief, age in kept] + [(hazard, prior, 0)]
        joint = [weight * np.exp(log_probability(case, belief, x)) for weight, belief, _ in every]
        after = [
            (probability / sum(joint), posterior(case, belief, x), age + 1)
            for probability, (_, belief, age) in zip(joint, every, strict=True)
        ]
        kept = sorted(after, key=lambda hypothesis: -hypothesis[0])[:most]
        total = sum(weight for weight, _, _ in kept)
        kept = [(weight / total, belief, age) for weight, belief, age in kept]
        estimate = sum(weight * _mean(case, belief) for weight, belief, _ in kept)
        rows.append((estimate, -np.log(sum(joint)), after[-1][0], sum(weight / age for weight, _, age in kept)))
    return np.array(rows).T


@pytest.mark.parametrize("some", [1, 2, 3, 7])
def test_the_most_probable_hypotheses_are_kept(some: int) -> None:
    family, xs = Gaussian(1.5), _jumps(60, 2)
    learner = MessagePassing(family, HAZARD, hypotheses=some, merge=False)
    expected = _most_probable_hypotheses(CASE["gaussian"], family.prior(), xs, HAZARD, some)
    history = run(learner, xs)
    _near([history.estimate, history.surprise, history.change_probability, history.learning_rate], expected)


def _merged_neighbours(case: FamilyCase, prior: Any, xs: Any, hazard: float, most: int) -> Any:
    """Estimate, surprise, change and rate if neighbours are merged, in a plain loop; the newest hypothesis first."""
    kept, rows = [(1.0, prior, 0.0, 0)], []  # weight, belief (mean, precision), mean age, longest age
    for x in xs:
        every = [(hazard, prior, 0.0, 0)] + [((1 - hazard) * weight, *rest) for weight, *rest in kept]
        joint = [weight * np.exp(log_probability(case, belief, x)) for weight, belief, _, _ in every]
        kept = [
            (probability / sum(joint), posterior(case, belief, x), age + 1, oldest + 1)
            for probability, (_, belief, age, oldest) in zip(joint, every, strict=True)
        ]
        change = kept[0][0]
        if len(kept) > most:
            since = [0, *(oldest for *_, oldest in kept)]
            far = [k for k in range(most) if since[k] >= 50 * most]
            spans = [(kept[k + 1][3] - since[k]) / (since[k] + 1) for k in range(most)]
            at = far[0] if far else int(np.argmin(spans))
            (v, (a, p), young, _), (w, (b, q), old, oldest) = kept[at : at + 2]
            precision = (v * p + w * q) / (v + w)
            mean = (v * p * a + w * q * b) / (v * p + w * q)
            kept[at : at + 2] = [(v + w, GaussianBelief(mean, precision), (v * young + w * old) / (v + w), oldest)]
        estimate = sum(weight * _mean(case, belief) for weight, belief, _, _ in kept)
        rows.append((estimate, -np.log(sum(joint)), change, sum(weight / age for weight, _, age, _ in kept)))
    return np.array(rows).T, [(weight, age) for weight, _, age, _ in kept]


@pytest.mark.parametrize("some", [1, 2, 3, 7])
def test_neighbours_are_merged_on_a_schedule_of_times(some: int) -> None:
    family, xs = Gaussian(1.5), _jumps(240, 2)
    expected, kept = _merged_neighbours(CASE["gaussian"], family.prior(), xs, HAZARD, some)
    learner = MessagePassing(family, HAZARD, hypotheses=some)
    history = run(learner, xs)
    _near([history.estimate, history.surprise, history.change_probability, history.learning_rate], expected)
    _near(np.stack([history.state.weights, history.state.ages], 1), kept)
    assert learner.last_change(history.state).ages.tolist() == [round(age) for _, age in kept]


@pytest.mark.parametrize("hazard", [0.005, 0.05])
def test_merged_hypotheses_miss_less_than_dropped_ones_do(hazard: float) -> None:
    family, many = Gaussian(1.0), [_jumps(200, seed, hazard) for seed in range(10)]
    exact = run_many(MessagePassing(family, hazard, family.prior(std=4.0), hypotheses=201), many)
    missed = []
    for merge in (True, False):
        found = run_many(MessagePassing(family, hazard, family.prior(std=4.0), merge=merge), many)
        missed.append([
            np.mean([(a.estimate - e.estimate) ** 2 for a, e in zip(found, exact, strict=True)]),
            np.mean([(a.change_probability - e.change_probability) ** 2 for a, e in zip(found, exact, strict=True)]),
        ])  # fmt: skip
    assert missed[0][0] < 0.5 * missed[1][0]
    assert missed[0][1] < missed[1][1]


def test_the_likelihood_of_merged_hypotheses_has_no_jumps() -> None:
    """As the hazard goes up in small steps, it goes up and down in small steps; where hypotheses drop out, it jumps."""
    xs = np.stack([_jumps(300, seed) for seed in range(3)])
    hazards = np.linspace(0.02, 0.03, 401)
    roughness = []
    for merge in (True, False):
        learner = MessagePassing(Gaussian(1.0), prior=Gaussian(1.0).prior(std=4.0), hypotheses=8, merge=merge)
        at = jax.jit(jax.vmap(lambda h, x: scan(replace(learner, hazard=h), x).surprise.sum(), (0, None)))  # noqa: B023
        with double():
            bends = np.abs(np.diff(jax.vmap(at, (None, 0))(hazards, xs), 2))
        roughness.append((bends.max(1) / np.median(bends, 1)).max())
    assert roughness[0] < 3
    assert roughness[1] > 100


def test_change_points_are_dated_by_hypotheses_that_are_not_merged() -> None:
    learner, xs = MessagePassing(Gaussian(1.0), 0.05, hypotheses=5), _jumps(150, 4)
    apart = replace(learner, merge=False)
    assert learner.with_change_times() == apart
    assert change_points(learner, xs).tolist() == change_points(apart, xs).tolist()
    np.testing.assert_array_equal(run_lengths(learner, xs, 150), run_lengths(apart, xs, 150))


def _jumps(length: int, seed: int, hazard: float = 0.1) -> Any:
    """Numbers with noise 1 around a mean that jumps now and then."""
    rng = np.random.default_rng(seed)
    means = rng.normal(scale=4.0, size=length)
    last = np.maximum.accumulate(np.where(rng.random(length) < hazard, np.arange(length), 0))
    return means[last] + rng.normal(size=length)


def test_fewer_hypotheses_come_ever_closer_to_exact_inference() -> None:
    family, many = Gaussian(1.0), [_jumps(60, seed) for seed in range(20)]
    learner = MessagePassing(family, 0.1, family.prior(std=4.0), hypotheses=61)
    exact = run_many(learner, many)
    errors = []
    for some in (1, 3, 9, 27):
        pairs = list(zip(run_many(replace(learner, hypotheses=some), many), exact, strict=True))
        errors.append([np.mean([abs(a.estimate - e.estimate) for a, e in pairs]),
                       np.mean([abs(a.change_probability - e.change_probability) for a, e in pairs])])  # fmt: skip
    assert (np.diff(errors, axis=0) < 0).all()
    assert min(errors[0]) > 1e-2
    assert max(errors[-1]) < 1e-3


def _luck(seed: int, particles: int, steps: int) -> Any:
    """The random numbers that a crowd draws: at each step two for each particle."""
    key = jax.random.key(seed)
    for _ in range(steps):
        key, now = jax.random.split(key)
        yield np.asarray(jax.random.uniform(now, (2, particles)))


def test_a_crowd_does_what_is_published() -> None:
    """Particle by particle, with the same luck: resets, weights, and drawing anew, which happens now and then."""
    case, prior, m, some = CASE["gaussian"], Gaussian(1.5).prior(), 0.1 / 0.9, 20
    xs, drawn_anew, rows = _jumps(150, 5), 0, []
    crowd = [(1 / some, prior)] * some
    for x, (for_changes, for_drawing) in zip(xs, _luck(3, some, len(xs)), strict=True):
        fresh = np.exp(log_probability(case, prior, x))
        weights, each = np.array([w for w, _ in crowd]), [np.exp(log_probability(case, b, x)) for _, b in crowd]
        factor = 1 / sum(w * p / fresh for w, p in zip(weights, each, strict=True))
        gamma = m * factor / (1 + m * factor)
        weights = (1 - gamma) * weights * each / (weights @ each) + gamma * weights
        resets = [luck < (m * fresh / p) / (1 + m * fresh / p) for luck, p in zip(for_changes, each, strict=True)]
        places = list(range(some))
        if 1 / (weights**2).sum() <= some / 2:
            places = [int(np.argmax(np.cumsum(weights) > luck)) for luck in for_drawing]
            weights, drawn_anew = np.full(some, 1 / some), drawn_anew + 1
        crowd = [(weights[i], posterior(case, prior if resets[k] else crowd[k][1], x)) for i, k in enumerate(places)]
        rows.append((sum(w * _mean(case, b) for w, b in crowd), gamma, -np.log(0.9 * fresh / factor + 0.1 * fresh)))
    history = run(ParticleFilter(Gaussian(1.5), 0.1, particles=some, seed=3), xs)
    _near(np.stack([history.estimate, history.change_probability, history.surprise], 1), rows)
    _near(history.state.weights, [w for w, _ in crowd])
    assert 3 < drawn_anew < 75


def test_particles_come_ever_closer_to_exact_inference() -> None:
    """The error falls as the square root of their number; what is left beyond probability is too small to be seen."""
    xs, seeds, prior = _jumps(30, 3), 60, Gaussian(1.0).prior(std=4.0)
    exact = run(MessagePassing(Gaussian(1.0), 0.1, prior, hypotheses=31), xs)
    errors = []
    for particles in (16, 512):
        trace = _crowds(ParticleFilter(Gaussian(1.0), 0.1, prior, particles), np.arange(seeds), xs)
        for ours, theirs in ((trace.estimate, exact.estimate), (trace.change_probability, exact.change_probability)):
            bias, spread = np.abs(np.mean(ours, axis=0) - theirs), np.std(ours, axis=0, ddof=1)
            assert (bias <= 4.5 * spread / np.sqrt(seeds) + 2 / particles).all()
        errors.append(np.sqrt(np.mean((trace.estimate - exact.estimate) ** 2)))
    assert errors[0] / errors[1] == pytest.approx(np.sqrt(512 / 16), rel=0.3)
    assert errors[1] < 0.1


@a_few_families
def test_particles_agree_with_brute_force(case: FamilyCase) -> None:
    exact = _brute(case, case.family.prior(), _short(case), HAZARD)
    trace = _crowds(ParticleFilter(case.family, HAZARD, particles=200), np.arange(40), columns(_short(case)))
    for ours, theirs in ((trace.estimate, exact.estimate), (trace.change_probability, exact.change)):
        error = 5 * np.std(ours, axis=0, ddof=1) / np.sqrt(40)
        assert (np.abs(np.mean(ours, axis=0) - theirs) <= error + 0.01 * np.abs(theirs)).all()


@every_family
def test_the_first_two_gammas_of_varsmile_are_probabilities_of_a_change(case: FamilyCase) -> None:
    """So far its belief is exact; from then on it is one belief in place of a mixture."""
    xs, prior = _short(case), jax.tree.map(np.asarray, case.family.prior())
    exact, after = _brute(case, prior, xs, HAZARD), posterior(case, prior, xs[0])
    history = run(VarSmile(case.family, HAZARD / (1 - HAZARD)), xs)
    assert history.change_probability[0] == pytest.approx(HAZARD)
    _near(history.change_probability[:2], exact.change[:2])
    _near(history.estimate[0], exact.estimate[0])
    _near(history.surprise[:2], [0.0, log_probability(case, prior, xs[1]) - log_probability(case, after, xs[1])])
    assert np.abs(history.change_probability[2:] - exact.change[2:]).max() > 1e-4
    np.testing.assert_array_equal(history.change_probability, history.learning_rate)


def test_the_slope_of_varsmile_in_its_readiness_is_a_number_even_where_it_has_none() -> None:
    def last(m: Any) -> Any:
        return scan(VarSmile(Gaussian(1.5), m), np.array(NUMBERS[:4])).estimate[-1]

    assert float(jax.grad(last)(0.0)) == pytest.approx(float(last(1e-7) - last(0.0)) / 1e-7, rel=1e-5)
    far = jax.grad(lambda m: scan(VarSmile(Gaussian(1.5), m), np.array([0.0, 1e150, -1e150])).learning_rate.sum())
    assert np.isfinite(far(0.0))
    assert np.isfinite(far(0.3))


def test_varsmile_on_outcomes_is_the_published_rule() -> None:
    alpha, m, outcomes = np.ones(3), 0.4, SERIES["dirichlet"]
    history = run(VarSmile(Dirichlet(3), m), outcomes)
    for x, estimate in zip(outcomes, history.estimate, strict=True):
        odds = m * (1 / 3) / (alpha[x] / alpha.sum())
        gamma = odds / (1 + odds)
        alpha = (1 - gamma) * alpha + gamma * np.ones(3) + np.eye(3)[x]
        _near(estimate, alpha / alpha.sum())


def _without_outlier(case: FamilyCase) -> list[Any]:
    """Samples for which something else than a change would do."""
    return [*SERIES[case.name][:6], SERIES[case.name][0]]


@every_family
def test_in_a_world_that_never_changes_both_are_bayes(case: FamilyCase) -> None:
    """VarSMiLe may be told that a change is impossible; to message passing it is next to impossible."""
    xs = _without_outlier(case)
    bayes, still = run(Bayes(case.family), xs), run(VarSmile(case.family, 0.0), xs)
    assert (still.learning_rate == 0).all()
    _near(still.estimate, bayes.estimate, 1e-12)
    _near(run(VarSmile(case.family, 1e-14), xs).estimate, bayes.estimate, 1e-8)
    _near(run(_exact(case, 1e-14), xs).estimate, bayes.estimate, 1e-8)
    _near(run(_exact(case, 1e-14), xs).surprise, bayes.surprise, 1e-8)


@a_few_families
def test_in_a_world_that_never_changes_all_particles_are_bayes(case: FamilyCase) -> None:
    xs = _without_outlier(case)
    crowds = _crowds(ParticleFilter(case.family, 1e-14, particles=200), np.arange(40), columns(xs))
    _near(crowds.estimate, np.stack([run(Bayes(case.family), xs).estimate] * 40), 1e-8)


def _adams_mackay(case: FamilyCase, prior: Any, xs: list[Any], hazard: float) -> list[Any]:
    """P(run length = 0, 1, ...) after each sample by their recursion, in which changes fall after samples."""
    beliefs, probabilities, rows = [prior], np.ones(1), []
    for x in xs:
        joint = probabilities * np.exp([log_probability(case, belief, x) for belief in beliefs])
        probabilities = np.append(hazard * joint.sum(), (1 - hazard) * joint) / joint.sum()
        beliefs = [prior, *(posterior(case, belief, x) for belief in beliefs)]
        rows.append(probabilities)
    return rows


@pytest.mark.parametrize("case", [FAMILIES[0], FAMILIES[4]], ids=["gaussian", "poisson"])
def test_run_length_zero_says_nothing_but_run_length_one_does(case: FamilyCase) -> None:
    """In the convention of Adams & MacKay P(r = 0) is the hazard whatever the data; `change` is P(r = 1 | r > 0)."""
    xs = SERIES[case.name]
    theirs = _adams_mackay(case, case.family.prior(), xs, HAZARD)
    learner = MessagePassing(case.family, HAZARD, hypotheses=13)
    change, lengths = run(learner, xs).change_probability, run_lengths(learner, xs, 12)
    _near([row[0] for row in theirs], np.full(12, HAZARD))
    _near(change[1:], [row[1] / (1 - HAZARD) for row in theirs[1:]])
    _near(lengths[1:, 0], change[1:])
    assert change[6] > 0.9 > change[5]  # the outlier
    for row, expected in zip(lengths, theirs, strict=True):
        _near(row[: len(expected) - 1], expected[1:] / (1 - HAZARD))


def _crowd(seed: int) -> ParticleFilter:
    return ParticleFilter(Gaussian(1.0), seed=seed)


def test_luck_depends_on_the_seed_and_moves_on_with_every_sample_and_only_then() -> None:
    once, again, other = run(_crowd(4), NUMBERS), run(_crowd(4), NUMBERS), run(_crowd(5), NUMBERS)
    np.testing.assert_array_equal(once.estimate, again.estimate)
    assert (once.estimate[1:] != other.estimate[1:]).any()
    assert (once.state.key != other.state.key).any()
    keys = [run(_crowd(4), NUMBERS[:n]).state.key.tolist() for n in (1, 2, 3)]
    assert keys[0] != keys[1] != keys[2]
    assert run(_crowd(4), [NUMBERS[0], None, None]).state.key.tolist() == keys[0]


def test_a_saved_crowd_goes_on_with_the_same_luck(tmp_path: Path) -> None:
    whole, first = run(_crowd(4), NUMBERS), run(_crowd(4), NUMBERS[:5])
    save_state(tmp_path / "crowd", first.state)
    state = load_state(tmp_path / "crowd", _crowd(9))  # whose own seed no longer matters
    assert state.key.dtype == np.uint32
    _near(run(_crowd(9), NUMBERS[5:], state).estimate, whole.estimate[5:])
    stream = Stream(_crowd(4))
    steps = [stream.update(x) for x in NUMBERS[:5]]
    stream.save(tmp_path / "stream")
    steps += [Stream.load(tmp_path / "stream", _crowd(9), other_learner=True).update(NUMBERS[5])]
    _near([step.estimate for step in steps], whole.estimate[:6])
    _near([step.change_probability for step in steps], whole.change_probability[:6])


@every_family
def test_the_change_points_found_are_the_most_probable_ones(case: FamilyCase) -> None:
    rng = np.random.default_rng(21)
    for hazard in (0.1, 0.4):
        for _ in range(3):
            xs = [SERIES[case.name][i] for i in rng.permutation(12)[:STEPS]]
            exact = _brute(case, case.family.prior(), xs, hazard)
            assert change_points(_exact(case, hazard), xs).tolist() == exact.best


def test_the_most_probable_history_is_not_a_row_of_the_most_probable_changes() -> None:
    """Going back greedily from the most probable last change would miss the best history as a whole."""
    rng, family, missed = np.random.default_rng(22), Gaussian(1.5), 0
    learner = MessagePassing(family, 0.3, hypotheses=9)
    for _ in range(40):
        xs = rng.normal(scale=3.0, size=8).tolist()
        exact = _brute(CASE["gaussian"], family.prior(), xs, 0.3)
        greedy, now = [], 8
        while now > 0:
            now -= 1 + int(np.argmax(exact.lengths[now - 1]))
            greedy.append(now)
        missed += greedy[-2::-1] != exact.best
        assert change_points(learner, xs).tolist() == exact.best
    assert missed > 0


def test_clear_changes_are_found_where_they_are() -> None:
    rng = np.random.default_rng(23)
    numbers = np.concatenate([rng.normal(mean, 1.0, 100) for mean in (0.0, 10.0, -5.0, 3.0)])
    gaussian = MessagePassing(Gaussian(1.0), 0.01, Gaussian(1.0).prior(std=10.0))
    assert change_points(gaussian, numbers).tolist() == [100, 200, 300]
    counts = np.concatenate([rng.poisson(rate, 80) for rate in (2, 60, 5)])
    assert change_points(MessagePassing(Poisson(), 0.01), counts).tolist() == [80, 160]
    assert change_points(gaussian, numbers[:100]).tolist() == []
    assert change_points(gaussian, numbers[:1]).tolist() == []


def test_missing_samples_are_counted_but_say_nothing() -> None:
    learner = MessagePassing(Gaussian(1.0), 0.01, hypotheses=8)
    gapped = [None, 0.1, None, -0.2, 0.3, None, 9.1, None, 8.8, 9.0]
    assert change_points(learner, gapped).tolist() == [6]
    assert change_points(learner, [None, None]).tolist() == []
    lengths = run_lengths(learner, gapped, 6)
    seen = [i for i, x in enumerate(gapped) if x is not None]
    _near(lengths[seen], run_lengths(learner, [gapped[i] for i in seen], 6))
    np.testing.assert_array_equal(lengths[5], lengths[4])
    assert (lengths[0] == 0).all()


def test_run_lengths_beyond_the_longest_are_left_out() -> None:
    learner = MessagePassing(Beta(), 0.05, hypotheses=13)
    whole, cut = run_lengths(learner, SERIES["beta"], 12), run_lengths(learner, SERIES["beta"], 4)
    assert cut.shape == (12, 4)
    np.testing.assert_array_equal(cut, whole[:, :4])
    _near(whole.sum(axis=1), np.ones(12))
    assert cut[-1].sum() < 0.9


NO_DATES = [Smile(Gaussian()), ParticleFilter(Gaussian()), PerContext(MessagePassing(Gaussian()), 2)]
COUNTS = MessagePassing(Poisson())


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        *((lambda it=it: change_points(it, [1.0]), f"{type(it).__name__} keeps no hypotheses") for it in NO_DATES),
        (lambda: run_lengths(NO_DATES[0], [1.0], 3), "Smile keeps no hypotheses.*give a MessagePassing"),
        (lambda: change_points(COUNTS, [1, -2]), "not allowed"),
        (lambda: change_points(COUNTS, []), "empty"),
        (lambda: change_points(COUNTS, "12"), "give a series"),
        (lambda: run_lengths(COUNTS, [1, 2], 0), "longest = 0 is not allowed"),
        (lambda: change_points(MessagePassing(Poisson(), 1.0), [1, 2]), "hazard = 1 is not allowed"),
    ],
)
def test_what_cannot_be_dated_is_refused(ask: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ask()
