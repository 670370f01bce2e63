"""Does the page answer with the library's own numbers, and refuse everything else in a sentence?"""

import base64
import contextlib
import gzip
import io
import itertools
import json
import math
import operator
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from astonish import Beta, Delta, Dirichlet, Exponential, Gaussian, PerContext, Poisson, Smile, explain, run
from astonish.core.names import OutcomeKind
from astonish.core.numbers import double
from astonish.core.parameters import check_parameters
from astonish.models.registry import LEARNERS
from astonish.online.explanation import STAGES
from astonish.online.measures import COLUMNS
from astonish.paper.figure import RunSettings
from astonish.paper.figure1 import SIMULATIONS
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import regressors
from astonish.worlds.gaussian_jumps import gaussian_jumps

pytest.importorskip("starlette", reason="the page needs starlette")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

from starlette.testclient import TestClient

from astonish.page import lab, server, worlds
from astonish.page.data import ENDS, DataTab
from astonish.page.worlds import GaussianTab, compared, series, walked

GAUSSIAN, LAB = GaussianTab(), lab.LabTab()
WORDS = ["m", *GAUSSIAN.world, "learners", "switches", "learner", "family", "x", "std", "weight1", "smile", "é"]
HOME = "http://127.0.0.1:8765"
TABLE = "who,run,x\n" + "".join(f"{who},1,{x}\n" for who in "ab" for x in (1.5, 2.0, "", 9.0, 8.5, 9.25))


@pytest.fixture(scope="module")
def page(compiled_alike: None) -> Iterator[TestClient]:
    with TestClient(server.make_app(warm=False), base_url=HOME, raise_server_exceptions=False) as client:
        yield client


def _asked(page: TestClient, tab: str, **said: Any) -> Any:
    answer = page.post(f"/api/{tab}", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _numbers(packed: Any) -> Any:
    return np.frombuffer(base64.b64decode(packed["f8"]), "<f8").reshape(packed["shape"])


def _defaults(tab: Any) -> dict[str, float]:
    return {name: slider.default for name, slider in tab.sliders.items()}


def _refused(answer: Any, code: int = 400) -> str:
    assert answer.status_code == code, answer.text
    sentence = answer.json()["error"]
    assert "Traceback" not in sentence
    assert len(sentence) > 10
    return sentence


def _printed(lines: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(lines, "<page>", "exec"), {})
    return out.getvalue()


# ---- Gaussian world


def test_estimates_are_those_of_the_library_though_series_are_padded(page: TestClient) -> None:
    said = {"m": 0.3, "hazard": 0.1, "noise": 2.0, "seed": 5, "samples": 60}
    answer = _asked(page, "gaussian", **said, learners=["smile", "delta"])
    task = gaussian_jumps(1000, 5, hazard=0.1, noise=2.0)
    samples, truth = task.samples[:60], task.truth[:60]
    assert np.array_equal(_numbers(answer["samples"]), samples)
    assert np.array_equal(_numbers(answer["truth"]), truth)
    assert answer["changes"] == [t + 1 for t in range(60) if task.changed[t]]
    history = run(Smile(Gaussian(2.0), 0.3), samples)
    for name in ("estimate", "learning_rate"):
        assert _numbers(answer["learners"]["smile"][name]) == pytest.approx(getattr(history, name), rel=1e-9)
    estimate, followed = 0.0, []
    for x in samples:
        estimate += 0.1 * (x - estimate)
        followed.append(estimate)
    made = answer["learners"]["delta"]
    assert _numbers(made["estimate"]) == pytest.approx(followed, rel=1e-9)
    assert made["squared_error"] == pytest.approx(np.mean((followed - truth) ** 2), rel=1e-9)
    assert made["absolute_error"] == pytest.approx(np.mean(np.abs(followed - truth)), rel=1e-9)


def test_more_samples_extend_a_series(page: TestClient) -> None:
    few, many = (_asked(page, "gaussian", learners=["delta"], samples=samples) for samples in (50, 1000))
    assert np.array_equal(_numbers(few["samples"]), _numbers(many["samples"])[:50])
    assert few["changes"] == [step for step in many["changes"] if step <= 50]


def test_one_measure_of_surprise_for_all_learners(page: TestClient) -> None:
    said = {"samples": 40, "learners": ["smile", "kalman", "delta"]}
    answer = _asked(page, "gaussian", **said)
    samples, learners = _numbers(answer["samples"]), answer["learners"]
    estimates = np.append(0.0, _numbers(learners["smile"]["estimate"])[:-1])
    shannon = -stats.norm.logpdf(samples, estimates, 4 * np.sqrt(2))  # SMiLe's belief stays as wide as the noise
    assert _numbers(learners["smile"]["surprise"]) == pytest.approx(shannon, rel=1e-9)
    assert learners["delta"]["surprise"] is None
    assert answer["surprise"]["label"] == "surprise: Shannon surprise, -ln p(x) (nats)"
    assert answer["surprise"]["words"].endswith("Not shown, for they do not have it: delta.")
    errors = _asked(page, "gaussian", **said, measure="absolute_error")
    for made in errors["learners"].values():
        before = np.append(0.0, _numbers(made["estimate"])[:-1])
        assert _numbers(made["surprise"]) == pytest.approx(np.abs(samples - before), rel=1e-9)
    own = _asked(page, "gaussian", **said, measure="own")
    for name in said["learners"]:
        history = run(GAUSSIAN.assembled(name, _defaults(GAUSSIAN)).learner, samples)
        assert _numbers(own["learners"][name]["surprise"]) == pytest.approx(history.surprise, rel=1e-9)
    assert "smile: confidence-corrected surprise (nats); " in own["surprise"]["words"]


def test_the_winner_is_the_one_over_many_seeds(page: TestClient) -> None:
    answer = _asked(page, "averages", samples=30, learners=["delta", "smile"])
    errors: dict[str, Any] = {}
    for name in ("delta", "smile"):
        learner = GAUSSIAN.assembled(name, _defaults(GAUSSIAN)).learner
        tasks = [gaussian_jumps(1000, seed) for seed in range(50)]
        off = [run(learner, task.samples[:30]).estimate - task.truth[:30] for task in tasks]
        errors[name] = np.mean(np.square(off), axis=1)
        found = answer["learners"][name]
        assert [found["mean"], found["error"]] == pytest.approx(
            [errors[name].mean(), stats.sem(errors[name])], rel=1e-9
        )
    assert answer["best"] == min(errors, key=lambda name: errors[name].mean()) == "smile"
    apart = errors["delta"] - errors["smile"]
    assert f"larger by {apart.mean():.3g} ± {stats.sem(apart):.2g}" in answer["words"]
    assert "is more than 2 standard errors" in answer["words"]
    assert _asked(page, "averages", samples=30, learners=["delta"])["best"] is None
    assert _asked(page, "averages", learners=[])["learners"] == {}


def test_a_small_difference_between_learners_is_said_to_be_one() -> None:
    errors = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([1.5, 1.9, 3.2])}  # the difference is 0.2 ± 0.17
    assert "0.2 ± 0.17 (paired by seed; ± 1 standard error), which is not more than 2" in compared(errors)["words"]


def test_moving_a_slider_compiles_nothing(page: TestClient) -> None:
    from astonish.online.series import _one

    _asked(page, "gaussian", learners=["delta"])
    before = _one.programs()
    for said in ({"m": 3}, {"hazard": 0.2}, {"noise": 1}, {"seed": 7}, {"samples": 1000}, {"samples": 20}):
        _asked(page, "gaussian", **said, learners=["delta"])
    assert _one.programs() == before


def test_every_learner_is_told_what_it_can_use() -> None:
    at = _defaults(GAUSSIAN) | {"m": 0.7, "hazard": 0.2, "learning_rate": 0.3, "drift": 2.0}
    assert len(GAUSSIAN.learners) == sum("continuous" in kind.takes for kind in LEARNERS.classes().values())
    for name in GAUSSIAN.learners:
        learner = GAUSSIAN.assembled(name, at).learner
        check_parameters(learner)
        fields: Any = vars(learner)
        assert fields.get("m", 0.7) == 0.7
        assert fields.get("hazard", 0.2) == 0.2
        assert fields.get("learning_rate", 0.3) == 0.3
        assert fields.get("drift", 2.0) == 2.0 or "drift" not in type(learner).free  # else a tenth of the noise
        assert fields.get("seed", 0) == 0  # its own, not that of the samples
        assert float(fields["family"].noise if "family" in fields else fields.get("noise", 4.0)) == 4.0
        if name in ("varsmile", "leaky", "particle-filter"):
            assert float(fields["prior"].std) == pytest.approx(40 / np.sqrt(12))  # as of a mean anywhere in the range
    assert float(GAUSSIAN.assembled("smile", at).learner.prior.std) == 4.0  # type: ignore[attr-defined] # as in the paper
    assert GAUSSIAN.assembled("kalman", _defaults(GAUSSIAN)).settings["drift"] == 0.4  # a tenth of the noise


def test_lines_of_the_gaussian_world_print_its_errors(page: TestClient) -> None:
    answer = _asked(page, "gaussian", learners=["smile", "delta", "nassar2012"], samples=40)
    averages = _asked(page, "averages", learners=["smile", "delta", "nassar2012"], samples=40)["learners"]
    assert _printed(answer["python"]).splitlines() == [
        line
        for name, made in answer["learners"].items()
        for line in (
            f"{name}: squared error {made['squared_error']:.4g}, absolute error {made['absolute_error']:.4g}",
            f"{name}: squared error over all seeds {averages[name]['mean']:.4g} ± {averages[name]['error']:.2g}",
        )
    ]


# ---- the maze


def _moves(rooms: list[int], room: int) -> list[int]:
    """Which of the other rooms came next, each time that this one was left."""
    return [there - (there > here) for here, there in itertools.pairwise(rooms) if here == room]


@pytest.fixture(scope="module")
def walk(page: TestClient) -> Any:
    return _asked(page, "maze", seed=3, hazard=0.02)


def test_the_walk_goes_through_doors_and_its_errors_are_those_of_the_modes(walk: Any) -> None:
    rooms, environment, smile = walk["rooms"], walk["environment"], walk["learners"]["smile"]
    assert len(environment) == worlds.STEPS == len(rooms) - 1
    truth, rule = worlds.DRAWN.transitions, Smile(Dirichlet(15), 0.1)
    alphas = {room: run(rule, _moves(rooms, room)).state.alpha for room in set(rooms[:-1])}  # at the end of the walk
    last = {here: t for t, here in enumerate(rooms[:-1])}
    for room, alpha in alphas.items():
        mode = (alpha - 1) / (alpha - 1).sum()  # where the density of a Dirichlet distribution is largest
        assert _numbers(smile["believed"])[last[room]] == pytest.approx(mode, abs=1e-12)
    believed, found = np.where(np.eye(16) > 0, 0.0, 1 / 15), []
    for t, (here, there) in enumerate(itertools.pairwise(rooms)):
        assert there in worlds.DRAWN.doors[environment[t], here]
        believed[here] = np.insert(_numbers(smile["believed"])[t], here, 0.0)
        found.append(np.mean((believed - truth[environment[t]]) ** 2))
    assert _numbers(smile["error"]) == pytest.approx(found, rel=1e-9)
    surprise = _numbers(smile["surprise"])
    last_steps = [surprise[max(t - 29, 0) : t + 1].mean() for t in range(worlds.STEPS)]
    assert _numbers(smile["smoothed"]) == pytest.approx(last_steps, rel=1e-9)
    changes = [t for t in range(worlds.STEPS) if environment[t] != ([0, *environment][t])]
    assert walk["switched"] == changes
    assert 5 < len(changes) < 40  # of 1000 steps at a probability of 0.02


def test_a_switch_changes_what_follows_and_nothing_before(page: TestClient, walk: Any) -> None:
    other = _asked(page, "maze", seed=3, hazard=0.02, switches=[300])
    assert other["rooms"][:301] == walk["rooms"][:301]
    assert other["environment"][:300] == walk["environment"][:300]
    assert other["environment"][300:] == [1 - e for e in walk["environment"][300:]]
    surprises = [_numbers(each["learners"]["smile"]["surprise"])[:300] for each in (other, walk)]
    assert np.array_equal(*surprises)
    assert _asked(page, "maze", seed=3, hazard=0.02, switches=[300, 300])["rooms"] == walk["rooms"]


def test_lines_of_the_maze_walk_the_same_way(page: TestClient) -> None:
    answer = _asked(page, "maze", seed=3, hazard=0.02, switches=[10, 300], second="bayes")
    expected = []
    for name, made in answer["learners"].items():
        surprise, rate, error = (_numbers(made[word]).mean() for word in ("surprise", "learning_rate", "error"))
        expected.append(f"{name}: mean surprise {surprise:.4g}, mean learning rate {rate:.4g}, mean error {error:.4g}")
    assert list(answer["learners"]) == ["smile", "bayes"]
    assert _printed(answer["python"]).splitlines() == expected


def test_learners_without_one_belief_for_a_room_show_its_mean(page: TestClient) -> None:
    answer = _asked(page, "maze", learner="message-passing", second="smile")
    assert [made["estimator"] for made in answer["learners"].values()] == ["mean", "mode"]
    rooms, made = answer["rooms"], answer["learners"]["message-passing"]
    first = rooms.index(rooms[0], 1)  # the room is left for the first time, and then for the second
    seen = [there - (there > rooms[0]) for there in (rooms[1], rooms[first + 1])]
    mean = (1 + np.bincount(seen, minlength=15)) / 17
    assert _numbers(made["believed"])[first] == pytest.approx(mean, rel=0.1)  # a change is hardly probable


# ---- the belief lab


def test_a_normal_belief_moves_as_the_paper_says(page: TestClient) -> None:
    answer = _asked(page, "lab", family="gaussian", noise=1.5, mean=1.0, std=1.5, x=4.0, m=0.4)
    surprising = (4.0 - 1.0) ** 2 / (2 * 1.5**2)  # beliefs as wide as the noise
    gamma = np.sqrt(0.4 * surprising / (1 + 0.4 * surprising))
    assert answer["surprise"] == pytest.approx(surprising)
    assert answer["gamma"] == pytest.approx(gamma)
    assert answer["bound_max"] == pytest.approx(surprising)
    assert answer["bound"] == pytest.approx(gamma**2 * surprising)
    assert _numbers(answer["again"]) == pytest.approx((1 - _numbers(answer["gammas"])) ** 2 * surprising, abs=1e-9)
    assert _numbers(answer["spent"]) == pytest.approx(_numbers(answer["gammas"]) ** 2 * surprising, abs=1e-9)
    drawn = {name: answer["drawn"][name] for name in ("belief", "scaled", "updated")}
    at = _numbers(answer["drawn"]["at"])
    for name, mean in (("belief", 1.0), ("scaled", 4.0), ("updated", 1.0 + 3.0 * gamma)):
        assert _numbers(drawn[name]) == pytest.approx(stats.norm.pdf(at, mean, 1.5), abs=1e-9)
    measures = {each["name"]: each["value"] for each in answer["measures"]}
    assert measures["shannon"] == pytest.approx(-stats.norm.logpdf(4.0, 1.0, 1.5 * np.sqrt(2)))
    assert measures["absolute_error"] == pytest.approx(3.0)
    assert all(each["name"] in COLUMNS and len(each["meaning"]) > 20 for each in answer["measures"])


@pytest.mark.parametrize(
    ("family", "belief", "oracle"),
    [
        (Beta(), Beta().prior(ones=9, zeros=3), stats.beta(9, 3)),
        (Poisson(), Poisson().prior(rate=3, time=2), stats.gamma(6, scale=1 / 2)),
        (Exponential(), Exponential().likelihood(0.5), stats.gamma(2, scale=2)),
    ],
)
def test_densities_are_those_of_scipy(family: Any, belief: Any, oracle: Any) -> None:
    at = np.linspace(0.01, 0.99, 50)
    assert family.density(belief, at) == pytest.approx(oracle.pdf(at), rel=1e-9)


def test_presets_are_the_examples_of_the_paper(page: TestClient) -> None:
    spec = page.get("/api/lab").json()
    by_label = {each["label"]: each for each in spec["presets"]}
    with double():
        found: Any = {name: SIMULATIONS[name](RunSettings()) for name in ("election", "joke", "parking")}
    election, joke, parking = found["election"]["election"], found["joke"]["joke"], found["parking"]
    some = parking[(parking.kinds == 1000) & (parking.car == "green BMW")].set_index("driver").surprise
    heard = joke[(joke.word == "guns")].set_index("belief").surprise
    wins = election[election.candidate == 2].set_index("colleague").surprise
    expected = {
        "Election: colleague A, and candidate 2 wins": wins["A"],
        "Election: colleague C, and candidate 2 wins": wins["C"],
        "Joke: guns, after goldfish": heard["after"],
        "Joke: guns, out of the blue": heard["before"],
        "Parking lot: used to the red car, and sees the green one": some["used to red"],
        "Parking lot: undecided, and sees the green car": some["undecided"],
        "Parking lot: cares only about a free slot": some["slot"],
    }
    assert set(expected) < set(by_label)
    for label, value in expected.items():
        answer = _asked(page, "lab", family=by_label[label]["family"], **by_label[label]["values"])
        assert answer["surprise"] == pytest.approx(value, rel=1e-4, abs=1e-9), label


def test_lines_of_the_lab_print_its_numbers(page: TestClient) -> None:
    answer = _asked(page, "lab", family="gaussian")
    printed = _printed(answer["python"]).splitlines()
    assert printed[0] == f"gamma {answer['gamma']:.4g}, bound {answer['bound']:.4g} of {answer['bound_max']:.4g} nats"
    by_line = dict(line.split(": ") for line in printed[1:])
    for each in answer["measures"]:
        assert float(by_line[each["name"]]) == pytest.approx(each["value"], rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("name", LAB.families)
def test_lines_of_the_lab_build_its_beliefs(name: str) -> None:
    shape = LAB.families[name]
    at = _defaults(shape)
    lines = LAB.script(shape, at, at.pop("x"), 0.1).partition("    update =")[0]
    scope: dict[str, Any] = {}
    exec(compile(lines, "<page>", "exec"), scope)
    with double():
        belief = shape.family(at)[0].prior(**shape.prior(at))
    for written, built in zip(jax.tree.leaves(scope["belief"]), jax.tree.leaves(belief), strict=True):
        assert np.asarray(written) == pytest.approx(np.asarray(built), rel=1e-12)


def test_bars_are_probabilities() -> None:
    alphas = {"alpha1": 4.0, "alpha2": 1.0, "alpha3": 1.0, "alpha4": 1.0}
    drawn = LAB.answer({"family": "dirichlet", "x": 1, **alphas})["drawn"]
    assert _numbers(drawn["belief"]) == pytest.approx([4 / 7, 1 / 7, 1 / 7, 1 / 7])
    assert _numbers(drawn["scaled"]) == pytest.approx([0.2, 0.4, 0.2, 0.2])


def test_what_is_infinite_does_not_break_json(page: TestClient) -> None:
    answer = _asked(page, "lab", family="exponential", rate=0.05, time=0.05, x=2.0)
    measures = {each["name"]: each["value"] for each in answer["measures"]}
    assert measures["absolute_error"] is None
    assert measures["shannon"] is not None


@pytest.mark.parametrize(("name", "expected"), [("gaussian", lambda at: at), ("exponential", lambda at: 1 / at)])
def test_the_observation_to_expect_is_given_at_every_point(page: TestClient, name: str, expected: Any) -> None:
    drawn = _asked(page, "lab", family=name)["drawn"]
    assert _numbers(drawn["expected"]) == pytest.approx(expected(_numbers(drawn["at"])), rel=1e-12)
    assert drawn["same_axis"] == (name == "gaussian")


# ---- your data


def _sent(page: TestClient, question: str, table: str | bytes = TABLE, **said: Any) -> Any:
    return page.post(f"/api/{question}", params=said, content=table if isinstance(table, bytes) else table.encode())


def test_a_table_is_measured_as_by_the_library(page: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    said = {"name": "trials.csv", "outcome": "x", "subject": "who", "learner": "smile", "settings": "m=0.4"}
    trials = read_trials(path, Columns("x", subject="who"))
    learner = choose("smile", trials, {"m": 0.4}).learner
    expected = regressors(learner, trials, ["all"])
    found = pd.read_csv(io.StringIO(_sent(page, "table", **said).text))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)
    answer = _sent(page, "data", **said, who="b").json()
    assert answer["participants"] == ["a", "b"]
    for name in ("surprise", "learning_rate"):
        np.testing.assert_allclose(_numbers(answer[name]), expected[name][6:], rtol=1e-12)  # one series or two at once
    assert "continuous" in answer["understood"]
    assert any("noise" in sentence for sentence in answer["assumed"])
    with contextlib.chdir(tmp_path):
        assert f"{expected.surprise.mean():.6f}" in _printed(answer["python"])


@pytest.mark.parametrize("end", ["csv.gz", "tsv.gz", "TXT", "parquet"])
def test_packed_tables_are_read_as_plain_ones(page: TestClient, end: str) -> None:
    frame, file = pd.read_csv(io.StringIO(TABLE)), io.BytesIO()
    if end == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        frame.to_parquet(file)
    else:
        text = frame.to_csv(index=False, sep="\t" if "tsv" in end else ",").encode()
        file.write(gzip.compress(text) if end.endswith("gz") else text)
    said = {"outcome": "x", "subject": "who", "learner": "delta"}
    plain = _sent(page, "table", name="trials.csv", **said).text
    packed = _sent(page, "table", file.getvalue(), name=f"my.trials.{end}", **said).text
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(packed)), pd.read_csv(io.StringIO(plain)))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"x": ["w" * 200_000] * 110}, "20 MB"),
        ({"x": np.zeros(100_001)}, "100000 rows"),
        ({str(k): np.zeros(50_000, bool) for k in range(41)}, "2000000 cells"),
        ({"x": [[1.0, 2.0]]}, "several values"),
    ],
)
def test_parquet_that_unpacks_to_too_much_is_refused(page: TestClient, columns: Any, word: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    assert len(file.getvalue()) < 200_000
    assert word in _refused(_sent(page, "preview", file.getvalue(), name="trials.parquet"))


@pytest.mark.parametrize("learner", ["smile", "delta"])
def test_choices_and_what_they_paid_are_measured_as_by_the_library(
    page: TestClient, tmp_path: Path, learner: str
) -> None:
    path = tmp_path / "trials.csv"
    path.write_text("c,r\n" + "".join(f"{'AB'[k % 3 == 0]},{k * k % 7 - 1.5}\n" for k in range(12)))
    said = {"name": "trials.csv", "reward": "r", "choice": "c", "learner": learner}
    trials = read_trials(path, Columns("r", choice="c"))
    expected = regressors(choose(learner, trials).learner, trials, ["all"] if learner == "smile" else None)
    found = pd.read_csv(io.StringIO(_sent(page, "table", path.read_text(), **said).text))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)
    assert {"value_A", "value_B", "surprise"} <= set(found)
    answer = _sent(page, "data", path.read_text(), **said).json()
    assert _numbers(answer["outcome"]) == pytest.approx(expected.r)
    assert _numbers(answer["prediction"]) == pytest.approx(expected.prediction, rel=1e-12)
    assert "choice c: one of 'A', 'B'" in answer["understood"]
    if learner == "delta":
        with contextlib.chdir(tmp_path):
            assert f"{expected.surprise.mean():.6f}" in _printed(answer["python"])


def test_questions_about_a_table_can_be_answered_on_the_page(page: TestClient) -> None:
    table = "trial;x\n3;2,5\n1;1,5\n4;-999\n2;1,234\n"
    said = {"outcome": "x", "learner": "delta", "name": "t.csv"}
    assert "--missing -999" in _refused(_sent(page, "data", table, **said))
    assert "--trial trial" in _refused(_sent(page, "data", table, **said, missing="-999"))
    answer = _sent(page, "data", table, **said, missing="-999", trial="trial", decimal=",").json()
    assert _numbers(answer["outcome"])[:3] == pytest.approx([1.5, 1.234, 2.5])
    assert np.isnan(_numbers(answer["outcome"])[3])
    assert "ordered by trial" in answer["understood"]
    for words in ("outcome=('x',), trial='trial'", "kind='continuous', missing=('-999',), decimal=','"):
        assert words in answer["python"]


@pytest.mark.parametrize("kind", OutcomeKind)
def test_what_can_be_set_is_what_the_library_takes(kind: str) -> None:
    numbers = [1.0, 5.5, 2.0]
    column = {"continuous": numbers, "circular": numbers, "binary": [0, 1, 1]}.get(kind, ["a", "b", "a"])
    columns = Columns(("x", "x") if kind == "transitions" else "x")
    trials = read_trials(pd.DataFrame({"x": column}), columns, kind=kind)
    for name, values in DataTab().controls()["parameters"][kind].items():
        plain = {word: value for word, value in values.items() if value is not None}
        assert repr(choose(name, trials, plain).learner) == repr(choose(name, trials).learner)
        missing = {word: 1.5 for word, value in values.items() if value is None}
        choose(name, trials, missing | ({"high": 9.0} if "high" in missing else {}))


def test_columns_and_first_rows_are_shown(page: TestClient) -> None:
    found = _sent(page, "preview", name="trials.csv").json()
    assert found["columns"] == ["who", "run", "x"]
    assert found["rows"][2] == ["a", "1", ""]
    assert found["trials"] == 12


@pytest.mark.parametrize(
    ("said", "table", "word"),
    [
        ({"outcome": "y"}, TABLE, "no column 'y'"),
        ({}, TABLE, "outcome"),
        ({"outcome": "x", "learner": "nobody"}, TABLE, "nobody"),
        ({"outcome": "x", "kind": "odd"}, TABLE, "odd"),
        ({"outcome": "x", "who": "z"}, TABLE, "z"),
        ({"outcome": "x", "settings": "m=lots"}, TABLE, "lots"),
        ({"outcome": "x", "settings": "m=nan"}, TABLE, "nan"),
        ({"outcome": "x", "settings": "m=-1"}, TABLE, "-1"),
        ({"outcome": "x", "name": "trials.xlsx"}, TABLE, ".xlsx"),
        ({"outcome": "x", "name": "../../etc/passwd"}, TABLE, "ends in"),
        ({"outcome": "x", "name": "trials.csv.gz"}, TABLE, "gzip"),
        ({"outcome": "x", "name": "trials.csv.gz"}, gzip.compress(TABLE.encode(), mtime=0)[:-20], "gzip"),
        ({"outcome": "x", "name": "trials.csv.gz"}, gzip.compress(bytes(21 * 2**20), mtime=0), "20 MB"),
        ({"outcome": "x", "name": "trials.parquet"}, TABLE, "Parquet"),
        ({"outcome": "x", "settings": "mm=1"}, TABLE, "mm"),
        ({"outcome": "x", "learner": "message-passing", "settings": "hypotheses=1e6"}, TABLE, "hypotheses"),
        ({"outcome": "x", "learner": "particle-filter", "settings": "seed=1e300"}, TABLE, "seed"),
        ({"outcome": "x", "extra": "1"}, TABLE, "extra"),
        ({"outcome": "x"}, "", "empty"),
        ({"outcome": "x"}, b"\xff\xfe\x00x\n\x00\xd8", "UTF-16"),
        ({"outcome": "x"}, "x" * 200_000, "first line"),
        ({"outcome": "x"}, "x\n" * 100_005, "rows"),
        ({"outcome": "x", "kind": "categorical"}, "x\n" + "".join(f"l{k}\n" for k in range(99)), "99 different"),
        ({"outcome": "x"}, "x\n1\n2,3,4\n2,3,4\n", "most rows have 3 cells"),
        ({"reward": "x", "choice": "c"}, "c,x\n" + "".join(f"{k},1\n" for k in range(99)), "99 different choices"),
        ({"reward": "x", "choice": "x"}, "x,y\n1,2\n2,1\n", "x cannot be two things"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(page: TestClient, said: Any, table: Any, word: str) -> None:
    sentence = _refused(_sent(page, "data", table, **{"name": "trials.csv", **said}))
    assert word in sentence
    assert "/tmp" not in sentence


def test_large_tables_are_refused_before_they_are_read(
    page: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LARGEST", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pulled = 0

    def endless() -> Iterator[bytes]:
        nonlocal pulled
        for _ in range(50):
            pulled += 1
            yield b"1\n" * 100

    assert "less" in _refused(_sent(page, "preview", "1\n" * 5000), 413)
    assert "less" in _refused(page.post("/api/preview", content=endless()), 413)
    assert _sent(page, "preview", name="trials.csv").status_code == 200
    assert list(tmp_path.iterdir()) == []


# ---- explanations

EXPLAINED = "who,run,x,saw\n" + "".join(f"a,1,{x},{'hot' if x > 3 else 'cold'}\n" for x in (1.5, 2.0, 9.0, 8.5))


def test_samples_of_the_gaussian_world(page: TestClient) -> None:
    samples = series(_defaults(GAUSSIAN), 1).samples
    answer = _asked(page, "explain-gaussian", at=93, learner="smile")
    found = explain(GAUSSIAN.assembled("smile", _defaults(GAUSSIAN)).learner, samples, 93)
    assert found.drawing is not None
    assert answer["sentence"] == found.sentence
    assert (answer["at"], answer["length"], answer["kind"]) == (93, 200, "curves")
    assert answer["observation"] == pytest.approx(samples[93])
    assert _numbers(answer["path"]) == pytest.approx(found.drawing.heights[:STAGES], rel=1e-9, abs=1e-15)
    assert sum(term["value"] for term in answer["terms"]) == pytest.approx(answer["total"]["value"])
    delta = _asked(page, "explain-gaussian", at=93, learner="delta")
    assert (delta["terms"], delta["total"], delta["alone"], delta["kind"]) == (None, None, None, "points")
    assert _numbers(delta["path"])[[0, -1], 0] == pytest.approx(
        np.array(explain(GAUSSIAN.assembled("delta", _defaults(GAUSSIAN)).learner, samples, 93).estimate[:2])
    )


def test_steps_in_the_maze(page: TestClient) -> None:
    answer = _asked(page, "explain-maze", at=120, learner="smile", m=0.1)
    way = walked(0.005, 1, [])
    here, there = way.rooms[120:122]
    learner = PerContext(Smile(Dirichlet(15), m=0.1), 16)
    expected = explain(learner, way.choices, 120, f"room {there + 1}", f"in room {here + 1}")
    assert answer["sentence"] == expected.sentence
    assert answer["sentence"].startswith(f"In room {here + 1}, expected room {there + 1} with probability ")
    assert answer["kind"] == "bars"
    assert f"room {here + 1}" not in answer["x"]
    path, at = _numbers(answer["path"]), answer["x"].index(f"room {there + 1}")
    assert path[-1, at] > path[0, at]
    assert path.sum(axis=1) == pytest.approx(np.ones(STAGES))


def test_trials_of_a_table(page: TestClient) -> None:
    def asked(**said: Any) -> Any:
        query = {"name": "t.csv", "subject": "who", "block": "run", **said}
        answer = page.post("/api/explain-data", params=query, content=EXPLAINED.encode())
        assert answer.status_code == 200, answer.text
        return answer.json()

    numbers = {"outcome": "x", "learner": "delta", "settings": ["start=1", "learning_rate=0.5"]}
    answer = asked(**numbers, at="2")
    assert answer["sentence"] == explain(Delta(0.5, start=1.0), [1.5, 2.0, 9.0], 2).sentence
    assert answer["length"] == 4
    labels = asked(outcome="saw", learner="smile", kind="categorical", at="2")
    assert labels["sentence"].startswith("Expected hot with probability ")
    assert labels["x"] == ["cold", "hot"]
    refusal = page.post("/api/explain-data", params={"name": "t.csv", **numbers, "at": "4"}, content=EXPLAINED.encode())
    assert _refused(refusal).startswith("at = 4 is not allowed")


def test_the_observation_in_the_lab(page: TestClient) -> None:
    answer = _asked(page, "lab", family="gaussian", noise=2.0, mean=1.0, std=2.0, x=9.0, m=0.1)
    expected = explain(Smile(Gaussian(2.0), 0.1, Gaussian(2.0).prior(1.0, 2.0)), [9.0], 0)
    assert answer["sentence"] == expected.sentence
    assert answer["total"]["value"] == pytest.approx(answer["surprise"])
    assert sum(term["value"] for term in answer["terms"]) == pytest.approx(answer["surprise"])
    election = _asked(page, "lab", family="election", x=1)
    assert election["sentence"].startswith("Expected candidate 2 with probability ")


# ---- who may ask, and for what


ELSEWHERE = {
    "host": ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[bad", "192.168.0.7:8765"],
    "origin": ["http://evil.example", "null", "http://[bad", "http://[127.0.0.1]:8765", "127.0.0.1:8765", ""],
    "Origin": ["http://127.0.0.1:9999"],
    "sec-fetch-site": ["cross-site", "same-site"],
}


@pytest.mark.parametrize(("header", "value"), [(header, value) for header in ELSEWHERE for value in ELSEWHERE[header]])
def test_other_names_and_sites_are_refused(page: TestClient, header: str, value: str) -> None:
    code, headers = 400 if header == "host" else 403, {header: value}
    assert page.post("/api/maze", json={}, headers=headers).status_code == code
    if header != "sec-fetch-site":  # a link from elsewhere may lead to the page itself
        assert page.get("/", headers=headers).status_code == code


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST"])
def test_names_of_this_machine_are_answered(page: TestClient, host: str) -> None:
    assert page.get("/", headers={"host": host}).status_code == 200
    assert page.get("/api/data", headers={"host": host, "origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "me.local"])
def test_what_others_can_reach_is_told_from_what_they_cannot(host: str) -> None:
    assert server.is_loopback(host) == (host in ("127.0.0.1", "::1", "localhost"))


def test_the_browser_is_bound(page: TestClient) -> None:
    for answer in (page.get("/"), page.get("/static/app.js"), page.get("/api/data"), page.get("/nowhere")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/etc/passwd",
     "/static/..\\server.py", "/api/nothing", "/api/..%2fserver", "/static/", "/static/%00", "/.git/config"],
)  # fmt: skip
def test_nothing_else_is_there(page: TestClient, path: str) -> None:
    answer = page.get(path)
    assert 400 <= answer.status_code < 500
    assert "import" not in answer.text


def test_only_get_and_post(page: TestClient) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        _refused(page.request(method, "/api/gaussian"), 405)


BEYOND: dict[str, dict[str, list[Any]]] = {
    "gaussian": {
        "samples": [1001, 1e9, 10**400, 20.5],
        "noise": [0, "4", True, None, math.nan, math.inf, -math.inf],
        "learners": [["nobody"], "smile", [["smile"]], ["smile"] * 99],
        "__class__": [1],
    },
    "maze": {"switches": [[1000], [0.5], list(range(300))], "learner": ["delta"], "second": ["delta"], "seed": [-1]},
    "lab": {"family": ["nothing", ["gaussian"]], "std": [-1], "ones": [1], "x": [1e9], "\ud800": [1]},
}


@pytest.mark.parametrize("tab", BEYOND)
def test_work_beyond_the_limits_is_refused(page: TestClient, tab: str) -> None:
    for name, values in BEYOND[tab].items():
        for value in values:
            _refused(page.post(f"/api/{tab}", content=json.dumps({name: value})))


@pytest.mark.parametrize(
    ("tab", "request_", "sentence"),
    [
        ("lab", {"family": "beta", "x": 2}, "x = 2"),
        ("lab", {"family": "joke", "weight1": 0, "weight2": 0}, "at least one"),
        ("gaussian", {"noise": math.inf}, "noise = inf is not allowed"),
        ("gaussian", {"measure": "joy"}, "measure = 'joy' is not known"),
        ("gaussian", {"m": -1}, "m = -1"),
        ("tour", {"screen": "moon"}, "screen = 'moon' is not known; give one of joke, voters"),
        ("tour", {"screen": "bound", "m": -1}, "m = -1 is not allowed"),
        ("tour", {"screen": "jumps", "error": "cubic"}, "'cubic' is not known; give one of squared, absolute"),
        ("tour", {"screen": "visits", "m": 1}, "there is no 'm' to set; give some of psi"),
        ("tour", [], "the request is []"),
        *(("explain-gaussian", {"at": at}, "at = ") for at in (200, -1, 1.5, "one", None)),
    ],
)
def test_odd_requests_are_refused_in_a_sentence(page: TestClient, tab: str, request_: Any, sentence: str) -> None:
    assert sentence in _refused(page.post(f"/api/{tab}", content=json.dumps(request_)))


def test_long_requests_are_refused(page: TestClient) -> None:
    _refused(page.post("/api/gaussian", content=b" " * 70_000), 413)
    _refused(page.post("/api/gaussian", content=b"[" * 60_000))
    _refused(page.post("/api/gaussian", content=b"{}", headers={"content-length": "9" * 5000}), 413)


def _body(value: Any) -> bytes:
    return json.dumps(value).encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**400), 10**400) | st.sampled_from(WORDS) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
)
BODIES = (
    st.binary(max_size=200) | JSON.map(_body) | st.dictionaries(st.sampled_from(WORDS), JSON, max_size=4).map(_body)
)
STARTS = [b"", b"x\n", b"x,y\n1,2\n", b"\x1f\x8b\x08\x00", b"PAR1", gzip.compress(b"x\n1\n", mtime=0)]
TABLES = st.builds(operator.add, st.sampled_from(STARTS), st.binary(max_size=60))
SAID = st.dictionaries(st.sampled_from(["outcome", "subject", "kind", "learner", "settings", "who", "\0"]), st.text())
NAMES = st.sampled_from(["", "t", *(f"t{end}" for end in ENDS)])


@settings(max_examples=400, deadline=None, derandomize=True)
@given(tab=st.sampled_from(["gaussian", "maze", "lab"]), body=BODIES)
def test_random_requests_are_refused_in_a_sentence(page: TestClient, tab: str, body: bytes) -> None:
    answer = page.post(f"/api/{tab}", content=body)  # `make hostile` sends twenty thousand
    assert answer.status_code == 200 or _refused(answer)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(question=st.sampled_from(["preview", "data", "table"]), table=TABLES, said=SAID, name=NAMES)
def test_random_tables_are_refused_in_a_sentence(
    page: TestClient, question: str, table: bytes, said: dict[str, str], name: str
) -> None:
    answer = _sent(page, question, table, **{"outcome": "x", **said, "name": name})
    assert answer.status_code == 200 or _refused(answer)


def test_the_page_needs_nothing_from_elsewhere_and_writes_no_style_into_elements(page: TestClient) -> None:
    index = page.get("/")
    assert index.headers["content-type"].startswith("text/html")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", index.text)
    seen, queue = set(), re.findall(r'(?:src|href)="(/[^"]*)"', index.text)
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = page.get(path)
        assert answer.status_code == 200, path
        if path.startswith("/static"):
            odd = r"""https?://(?!www\.w3\.org)|//cdn|\beval\(|innerHTML|new Function|setAttribute\(["']style|cssText"""
            assert not re.search(odd, answer.text), path
            queue += [f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', answer.text)]
    assert {f"/static/{path.name}" for path in server.STATIC.iterdir()} - {"/static/index.html"} <= seen


def test_texts_are_compressed_if_the_browser_can_read_that(page: TestClient) -> None:
    for path in ("/", "/static/style.css", "/static/plot.js", "/api/lab"):
        packed, plain = (page.get(path, headers={"accept-encoding": coding}) for coding in ("gzip", "identity"))
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert packed.text == plain.text
        assert int(packed.headers["content-length"]) < 0.6 * len(plain.content)
        assert packed.headers["content-security-policy"] == server.HEADERS["content-security-policy"]


def test_controls_describe_what_is_allowed(page: TestClient) -> None:
    spec = {tab: page.get(f"/api/{tab}").json() for tab in ("gaussian", "maze", "lab", "data")}
    of_worlds = [sliders for tab in ("gaussian", "maze") for sliders in (spec[tab]["sliders"], spec[tab]["more"])]
    of_beliefs = [family["sliders"] for family in spec["lab"]["families"].values()]
    for slider in (slider for sliders in of_worlds + of_beliefs for slider in sliders.values()):
        assert slider["least"] <= slider["low"] <= slider["default"] <= slider["high"] <= slider["most"], slider
        assert 0 < slider["step"] < slider["high"] - slider["low"] or slider["whole"]
        assert len(slider["label"]) < 100
    label = spec["gaussian"]["sliders"]["m"]["label"]
    assert re.fullmatch(r"m: readiness to change one's mind; 0 never learns.* \(smile, varsmile\)", label)
    assert {"keep", "learning_rate", "salience", "renewal", "drift", "omega1"} <= set(spec["gaussian"]["more"])
    assert list(spec["maze"]["more"]) == ["keep"]


def test_numbers_beyond_the_ends_of_a_slider_may_be_typed(page: TestClient) -> None:
    for m in (0, 50):
        assert f"m={float(m)}" in _asked(page, "gaussian", m=m, learners=["smile"], samples=20)["python"]


OWN = '''
from typing import ClassVar
import jax.numpy as jnp
from astonish import Bayes
from astonish.core.names import NUMBERS
from astonish.core.numbers import POSITIVE, PROBABILITY, Domain
from astonish.core.parameters import parameter
from astonish.learners.base import Learner, StepInfo

class Rounded(Learner):
    """A delta rule whose parameters say little about themselves."""
    speed: float = parameter(0.5, PROBABILITY)
    size: float = parameter(None, POSITIVE, about="what is usual is not known")
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("speed", "size")
    samples: ClassVar[Domain] = Domain()

    def init(self):
        return jnp.zeros(())

    def step(self, state, x):
        return state + self.speed * (x - state), StepInfo(jnp.abs(x - state), jnp.asarray(self.speed, state.dtype))

    def estimate(self, state):
        return state

class Doubtful(Bayes):
    """Bayes' rule under another name."""
    doubt: float = parameter(0.2, PROBABILITY, (0.0, 0.5), "how little it trusts the past")
    free: ClassVar[tuple[str, ...]] = ("doubt",)

    def step(self, state, x):
        state, info = super().step(state, x)
        return state, info._replace(learning_rate=jnp.asarray(self.doubt))
'''


def test_learners_of_ones_own_are_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "explored.py").write_text(OWN)
    rounded, doubtful = (f"{tmp_path / 'explored.py'}:{name}" for name in ("Rounded", "Doubtful"))
    app = server.make_app(warm=False, learners=[rounded, doubtful])
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as page:
        more = page.get("/api/gaussian").json()["more"]
        assert more["doubt"]["label"] == "doubt: how little it trusts the past (Doubtful)"
        assert (more["speed"]["low"], more["speed"]["high"]) == (0.0, 1.0)
        assert (more["size"]["default"], more["size"]["low"], more["size"]["high"]) == (1.0, 0.01, 2.0)
        answer = _asked(page, "gaussian", learners=[rounded, doubtful, "delta"], speed=0.1, samples=30)
        own, delta = answer["learners"][rounded], answer["learners"]["delta"]
        assert _numbers(own["estimate"]) == pytest.approx(_numbers(delta["estimate"]), rel=1e-12)
        assert own["settings"] == "speed 0.1, size 1"
        assert f"{rounded}: squared error {own['squared_error']:.4g}" in _printed(answer["python"])
        assert page.get("/api/maze").json()["learners"][-1] == doubtful
        walks = [_asked(page, "maze", learner=name, doubt=0.4) for name in (doubtful, "bayes")]
        own, bayes = walks[0]["learners"][doubtful], walks[1]["learners"]["bayes"]
        assert _numbers(own["believed"]) == pytest.approx(_numbers(bayes["believed"]), rel=1e-12)
        assert own["settings"] == "doubt 0.4, alpha 1"
        assert "mean learning rate 0.4" in _printed(walks[0]["python"])
        said = {"name": "trials.csv", "outcome": "x", "learner": rounded, "settings": ["speed=0.25", "size=2"]}
        assert _numbers(_sent(page, "data", **said).json()["learning_rate"])[0] == 0.25


def test_the_command_serves_the_page_and_stops() -> None:
    command = [sys.executable, "-m", "astonish", "explore", "--no-browser", "--port", "0"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", started.stdout.readline())
        assert found
        with urllib.request.urlopen(found[0], timeout=20) as answer:
            assert b"astonish" in answer.read()
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=20)
    finally:
        started.kill()
    assert started.returncode == 0
    assert "Traceback" not in errors
