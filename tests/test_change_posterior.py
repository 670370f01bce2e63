"""Checks posteriors of past changes against every segmentation there can be, and how often intervals are right."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp

from astonish import Beta, DynamicBelief, Gaussian, MessagePassing, NormalGamma, Poisson, Smile, change_posterior
from astonish.changes import ChangePosterior, change_points
from families import CASE, FAMILIES, NUMBERS, SERIES, FamilyCase
from test_change_points import _segments

SOME = [case for case in FAMILIES if case.name in ("gaussian", "gaussian_vector", "beta", "poisson", "normal_gamma")]
some_families = pytest.mark.parametrize("case", SOME, ids=[case.name for case in SOME])


class Brute(NamedTuple):
    """All segmentations of a series, one per row: whether each place has a change, and how probable each is."""

    changed: Any
    probabilities: Any

    def location(self, first: int, last: int) -> Any:
        """The probability of each place, if there is exactly one change from the first place to the last."""
        inside = self.changed[:, first : last + 1]
        one = inside.sum(axis=1) == 1
        joint = self.probabilities[one] @ inside[one]
        return joint / joint.sum()


def _brute(name: str, prior: Any, xs: list[Any], hazard: float) -> Brute:
    evidence, _ = _segments(CASE[name], prior, xs)
    changed = np.array([(0, *rest) for rest in product([0, 1], repeat=len(xs) - 1)])
    logs = []
    for row in changed:
        starts = [0, *np.flatnonzero(row).tolist()]
        ends = [*starts[1:], len(xs)]
        jumps = row[1:].sum()
        before = jumps * np.log(hazard) + (len(xs) - 1 - jumps) * np.log1p(-hazard)
        logs.append(before + sum(evidence[i, j] for i, j in zip(starts, ends, strict=True)))
    return Brute(changed, np.exp(np.array(logs) - logsumexp(logs)))


def _shortest(location: Any, first: int, place: int, level: float) -> tuple[int, int]:
    """By trying all intervals around the place, from the shortest to the longest, and from the left."""
    for length in range(1, len(location) + 1):
        for low in range(first, first + len(location) - length + 1):
            if low <= place < low + length and location[low - first : low - first + length].sum() >= level:
                return low, low + length - 1
    raise AssertionError("the whole window holds everything")


@some_families
@pytest.mark.parametrize("hazard", [0.03, 0.3])
def test_posteriors_are_those_of_all_segmentations(case: FamilyCase, hazard: float) -> None:
    """Probabilities, most probable history, intervals and what they hold, by enumeration."""
    rng = np.random.default_rng(31)
    for prior in (case.family.prior(), case.belief):
        xs = [SERIES[case.name][i] for i in rng.permutation(12)[:9]]
        brute = _brute(case.name, prior, xs, hazard)
        found = change_posterior(MessagePassing(case.family, hazard, prior), xs, level=0.8)
        np.testing.assert_allclose(found.probability, brute.probabilities @ brute.changed, rtol=0, atol=1e-10)
        assert found.expected == pytest.approx((brute.probabilities @ brute.changed).sum(), abs=1e-10)
        assert found.places.tolist() == np.flatnonzero(brute.changed[np.argmax(brute.probabilities)]).tolist()
        assert found.dropped == 0.0
        _same_intervals(found, brute, 9)


def _same_intervals(found: ChangePosterior, brute: Brute, count: int) -> None:
    middles = [(a + b) // 2 for a, b in zip(found.places[:-1], found.places[1:], strict=True)]
    firsts, lasts = [1, *(m + 1 for m in middles)], [*middles, count - 1]
    for k, place in enumerate(found.places.tolist()):
        location = brute.location(firsts[k], lasts[k])
        assert (found.low[k], found.high[k]) == _shortest(location, firsts[k], place, found.level)
        assert found.held[k] == pytest.approx(location[found.low[k] - firsts[k] : found.high[k] + 1 - firsts[k]].sum())
        inside = brute.changed[:, found.low[k] : found.high[k] + 1].any(axis=1)
        assert found.in_interval[k] == pytest.approx(brute.probabilities[inside].sum(), abs=1e-10)


def test_it_is_exact_where_single_samples_speak_against_a_history_by_thousands_of_nats() -> None:
    xs = [400.0, 400.0, 100.0, 400.0, 400.0, 400.0, -300.0, 5.0]
    brute = _brute("gaussian", Gaussian(1.5).prior(), xs, 0.01)
    found = change_posterior(MessagePassing(Gaussian(1.5), 0.01), xs)
    np.testing.assert_allclose(found.probability, brute.probabilities @ brute.changed, rtol=0, atol=1e-10)


def test_a_learner_by_another_name_is_asked_alike() -> None:
    coins = SERIES["beta"]
    found = change_posterior(DynamicBelief(Beta(), 0.9), coins).probability
    np.testing.assert_array_equal(found, change_posterior(MessagePassing(Beta(), 1 - 0.9), coins).probability)


def test_missing_samples_are_counted_but_say_nothing() -> None:
    learner = MessagePassing(Gaussian(1.0), 0.05)
    gapped = [None, 0.1, None, -0.2, 0.3, None, 3.1, None, 2.8, 3.0]
    seen = [i for i, x in enumerate(gapped) if x is not None]
    found, plain = change_posterior(learner, gapped), change_posterior(learner, [gapped[i] for i in seen])
    np.testing.assert_array_equal(found.probability[seen], plain.probability)
    assert found.probability.sum() == plain.probability.sum()
    for ours, theirs in ((found.places, plain.places), (found.low, plain.low), (found.high, plain.high)):
        assert ours.tolist() == np.array(seen)[theirs].tolist()


def test_series_without_a_change_without_samples_and_of_one_sample() -> None:
    learner = MessagePassing(Gaussian(1.0), 0.01)
    still = change_posterior(learner, np.zeros(20))
    assert len(still.places) == len(still.low) == len(still.in_interval) == len(still.to_frame()) == 0
    assert 0 < still.expected < 0.2
    for few in ([1.0], [None, None], [None, 3.0]):
        found = change_posterior(learner, few)
        assert found.probability.tolist() == [0.0] * len(few)
        assert len(found.places) == 0


@pytest.mark.parametrize("count", [63, 64, 65, 128])
def test_nothing_is_dropped_at_any_length(count: int) -> None:
    xs = np.random.default_rng(34).normal(size=count)
    learner = MessagePassing(Gaussian(1.0), 0.05)
    found = change_posterior(learner, xs)
    assert found.dropped == 0.0
    np.testing.assert_allclose(found.probability, change_posterior(learner, xs, hypotheses=count + 1).probability)


def test_fewer_hypotheses_say_how_much_they_drop() -> None:
    rng = np.random.default_rng(32)
    xs = np.concatenate([rng.normal(mean, 1.0, 60) for mean in (0.0, 3.0, 1.0)])
    learner = MessagePassing(Gaussian(1.0), 0.01, Gaussian(1.0).prior(std=3.0))
    exact = change_posterior(learner, xs)
    errors, dropped = [], []
    for some in (10, 40, 120):
        found = change_posterior(learner, xs, hypotheses=some)
        errors.append(np.abs(found.probability - exact.probability).max())
        dropped.append(found.dropped)
    assert errors == sorted(errors, reverse=True)
    assert dropped == sorted(dropped, reverse=True)
    assert errors[2] < 1e-4
    assert dropped[2] > exact.dropped == 0.0
    assert change_points(learner.with_change_times(len(xs) + 1), xs).tolist() == exact.places.tolist()


LENGTH, SERIES_COUNT, HAZARD = 200, 300, 0.02


def _simulated(family: Any, prior: Any) -> list[tuple[Any, Any]]:
    """Series from the model itself, each with the places of its changes."""
    rng, made = np.random.default_rng(33), []
    for _ in range(SERIES_COUNT):
        changes = 1 + np.flatnonzero(rng.random(LENGTH - 1) < HAZARD)
        ends = np.diff([0, *changes, LENGTH])
        parts = [family.sample_outcome(family.sample(prior, rng), rng, int(steps)) for steps in ends]
        made.append((np.concatenate(parts), changes))
    return made


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        (Gaussian(1.0), Gaussian(1.0).prior(std=1.5)),
        (NormalGamma(), NormalGamma().prior(weight=0.5, shape=3.0)),
        (Poisson(), Poisson().prior(2.0, 0.5)),
    ],
    ids=["gaussian", "normal_gamma", "poisson"],
)
def test_intervals_hold_as_many_true_places_as_they_say(family: Any, prior: Any) -> None:
    """If there was one change in the window, it lies in the interval as often as the level says."""
    learner, rows, surplus = MessagePassing(family, HAZARD, prior), [], []
    for xs, truth in _simulated(family, prior):
        found = change_posterior(learner, xs)
        surplus.append(found.expected - len(truth))
        edges = [0, *((found.places[:-1] + found.places[1:]) // 2), LENGTH]
        for k, (low, high) in enumerate(zip(found.low, found.high, strict=True)):
            own = truth[(truth > edges[k]) & (truth <= edges[k + 1])]
            within = [low <= place <= high for place in own]
            rows.append((len(own) == 1, any(within), found.held[k], found.in_interval[k]))
    alone, hit, held, in_interval = np.array(rows).T
    covered = hit[alone > 0].mean()
    assert alone.sum() > 300
    assert covered == pytest.approx(0.95, abs=0.03)
    assert covered == pytest.approx(held[alone > 0].mean(), abs=0.03)
    assert hit.mean() == pytest.approx(in_interval.mean(), abs=0.03)
    assert abs(np.mean(surplus)) < 3 * np.std(surplus) / np.sqrt(SERIES_COUNT)


@pytest.mark.parametrize(
    ("learner", "xs", "settings", "sentence"),
    [
        (Smile(Gaussian()), NUMBERS, {}, r"Smile keeps no hypotheses.*give a MessagePassing"),
        (MessagePassing(Gaussian()), NUMBERS, {"level": 1.0}, "level = 1 is not allowed"),
        (MessagePassing(Gaussian()), NUMBERS, {"hypotheses": 0}, "hypotheses = 0 is not allowed"),
        (MessagePassing(Gaussian()), np.zeros(20_000), {}, r"20000 samples with 32770 hypotheses each need too much m"),
    ],
)
def test_it_refuses_what_it_cannot_answer(learner: Any, xs: Any, settings: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        change_posterior(learner, xs, **settings)


def test_a_table_and_a_picture() -> None:
    found = change_posterior(MessagePassing(Gaussian(1.0), 0.02), NUMBERS)
    assert found.to_frame().columns.tolist() == ["place", "probability", "low", "high", "held", "in_interval"]
    assert found.to_frame()["place"].tolist() == [6, 9]
    top, bottom = found.plot().axes
    assert len(top.patches) == len(bottom.patches) == len(found.places) == 2
    assert bottom.get_ylabel() == "probability of a change"
