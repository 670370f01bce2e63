"""Checks the streams with known changes, what alarms in them are worth, and who is said to be ahead."""

from typing import Any

import numpy as np
import pytest
from benchmarks.scores import drift
from benchmarks.scores.__main__ import app
from benchmarks.scores.drift import Result, Tally, drift_table, score, summary_table
from benchmarks.scores.rivals import Rival, tuned
from benchmarks.scores.streams import NOISES, RAMP, LabelledStream, settings, still, stream
from typer.testing import CliRunner

from astonish.beliefs import Beta
from astonish.changes import Detector, usual_detector
from astonish.learners import MessagePassing


def _means(kind: str, noise: str, before: int, after: int) -> Any:
    """Mean and standard deviation just before, and some time after, each change of many streams."""
    parts = []
    for seed in range(60):
        one = stream(kind, noise, seed)
        for at in one.changes:
            old, new = one.samples[at - before : at], one.samples[at + after : at + after + 100]
            parts.append((abs(new.mean() - old.mean()), old.std(), new.std()))
    return np.array(parts)


@pytest.mark.parametrize(("kind", "noise"), settings())
def test_streams_change_where_they_say(kind: str, noise: str) -> None:
    moved, old, new = _means(kind, noise, 100, RAMP).T
    if kind == "variance":
        assert moved.mean() < 0.25
        assert (np.maximum(old, new) / np.minimum(old, new)).mean() > 1.5
    else:
        assert moved.mean() > NOISES[noise].gap
        assert (moved > 0.5 * NOISES[noise].gap).mean() > 0.97


def test_streams_are_alike_for_a_seed_and_move_as_their_kind_says() -> None:
    one = stream("abrupt", "gaussian", [2, 5])
    np.testing.assert_array_equal(one.samples, stream("abrupt", "gaussian", [2, 5]).samples)
    assert one.changed.nonzero()[0].tolist() == list(one.changes)
    assert len(stream("rare", "poisson", 1).changes) == 1
    assert not any(kind == "variance" and noise in ("bernoulli", "poisson") for kind, noise in settings())
    level = np.mean([still("bernoulli", seed).mean() for seed in range(200)])
    assert level == pytest.approx(0.5, abs=0.05)
    middles = []
    for seed in range(200):  # half-way up the ramp, samples are a mixture, or in the middle
        for kind in ("gradual", "incremental"):
            made = stream(kind, "gaussian", seed)
            at = made.changes[0]
            ends = made.samples[at - 50 : at].mean(), made.samples[at + RAMP : at + RAMP + 50].mean()
            half = made.samples[at + RAMP // 2 - 5 : at + RAMP // 2 + 5]
            middles.append((half.mean() - ends[0]) / (ends[1] - ends[0]))
    assert np.mean(middles) == pytest.approx(0.5, abs=0.1)


def test_scores_by_hand() -> None:
    """Two changes, of which an alarm finds one after 6 samples; another alarm for it, one in burn-in, two false."""
    one = LabelledStream(np.zeros(1000), (300, 600), (400, 700))
    given = np.array([50, 150, 305, 320, 400])
    rows = score([one, one], [given, np.array([300, 699], int)])
    assert rows.found.tolist() == [1, 2]
    assert rows.missed.tolist() == [1, 0]
    assert rows.waited.tolist() == [6 + 100, 1 + 100]
    assert rows.false.tolist() == [2, 0]
    assert rows.quiet.tolist() == [700, 700]
    total = Tally(*(part.sum() for part in rows)).measures()
    assert total == pytest.approx({"found": 0.75, "delay": 207 / 4, "false": 2000 / 1400, "f1": 6 / 9})


class Above:
    """Gives an alarm above a threshold."""

    def __init__(self, threshold: float) -> None:
        self.threshold, self.drift_detected = threshold, False

    def update(self, x: float) -> None:
        self.drift_detected = x > self.threshold


def test_rivals_are_tuned_to_the_rate() -> None:
    rng = np.random.default_rng(5)
    streams = [rng.random(5000) for _ in range(4)]
    rival = Rival("above", lambda value: Above(1 - value), 1e-5, 1.0, 20)
    assert tuned(rival, streams, rate=0.01, burn_in=100) == pytest.approx(0.01, rel=0.2)


def _result(kind: str, detector: str, **measures: float) -> Result:
    every = {"found": 1.0, "delay": 10.0, "false": 1.0, "f1": 0.9} | measures
    return Result(kind, "gaussian", detector, every, every, every)


def test_who_is_ahead_is_computed() -> None:
    results = [
        _result("abrupt", "astonish"),
        _result("abrupt", "river ADWIN", found=0.9, delay=11.0),
        _result("rare", "astonish", delay=12.0),
        _result("rare", "river ADWIN", delay=11.0),
        _result("rare", "river KSWIN", delay=20.0, f1=0.95),
        _result("gradual", "astonish", f1=0.8),
        _result("gradual", "river ADWIN"),
    ]
    lines = summary_table(results).splitlines()
    assert lines[1].endswith("  astonish")
    assert lines[2].endswith("river's ADWIN (delay); river's KSWIN (F1)")
    assert lines[3].endswith("river's ADWIN (F1)")
    assert "in 2 of 3 settings; among them are 1 of 2 that are abrupt or rare (not rare gaussian)." in lines[-1]
    assert "90.0% (90% to 90%)" in drift_table(results)


def test_a_small_run_compares_with_river(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "settings", lambda: [("abrupt", "bernoulli")])
    shares: list[float] = []
    monkeypatch.setattr(drift, "rivals", lambda *_: [Rival("above", lambda v: Above(1.5 - v), 1e-3, 1.0, 2)])
    results = drift.run_drift(drift.Size(8, 3, 3), shares.append)
    assert [each.detector for each in results] == ["astonish", "river above"]
    ours, other = (each.measures for each in results)
    assert ours["found"] == 1.0
    assert ours["delay"] < 40
    assert results[0].low["delay"] <= ours["delay"] <= results[0].high["delay"]
    assert other["found"] == 0.0
    assert shares == sorted(shares)


def test_without_river_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "has_river", lambda: False)
    monkeypatch.setattr(drift, "settings", lambda: [("rare", "poisson")])
    monkeypatch.setattr(drift, "QUICK", drift.Size(8, 2, 2))
    answer = CliRunner().invoke(app, ["drift", "--quick", "--detail"])
    assert answer.exit_code == 0, answer.output
    assert "river is not installed, so its detectors are left out; pip install 'astonish[river]'" in answer.stderr
    assert answer.stdout.splitlines()[1].split()[:3] == ["rare", "poisson", "astonish"]
    assert answer.stdout.rstrip().endswith("There is nothing to compare with.")


def test_a_proportion_that_changes_slowly_needs_a_hypothesis_for_every_sample_in_sight() -> None:
    quiet = np.stack([still("bernoulli", [41, k]) for k in range(60)])
    streams = [stream("gradual", "bernoulli", [42, k]) for k in range(60)]
    how: Any = {"within": 80, "cooldown": 20, "burn_in": 80, "repeat": True, "changed": np.zeros(quiet.shape, bool)}
    fewer = Detector.calibrated(MessagePassing(Beta(), 0.001, None, 50), quiet, 0.001, **how)
    waited = [
        score(streams, [np.flatnonzero(detector.alarms(each.samples)) for each in streams]).waited.mean()
        for detector in (usual_detector("proportion", quiet), fewer)
    ]
    assert waited[0] < 0.98 * waited[1]
