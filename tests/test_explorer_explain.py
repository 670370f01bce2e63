"""Does the page explain samples of every tab with the library's own numbers, and refuse what is not there?"""
# ruff: noqa: F811 - the fixture is imported, and named by the tests that use it

from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page needs starlette")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

from starlette.testclient import TestClient

from astonish import Delta, Dirichlet, Gaussian, PerContext, Smile, explain
from astonish.online.explanation import STAGES
from astonish.page.worlds import series, walked
from test_explorer import GAUSSIAN, _asked, _defaults, _numbers, _refused, page  # noqa: F401

DEFAULTS = _defaults(GAUSSIAN)
TABLE = "who,run,x,saw\n" + "".join(f"a,1,{x},{'hot' if x > 3 else 'cold'}\n" for x in (1.5, 2.0, 9.0, 8.5))


def test_samples_of_the_gaussian_world(page: TestClient) -> None:
    samples = series(DEFAULTS, 1).samples
    answer = _asked(page, "explain-gaussian", at=93, learner="smile")
    found = explain(GAUSSIAN.assembled("smile", DEFAULTS).learner, samples, 93)
    assert found.drawing is not None
    assert answer["sentence"] == found.sentence
    assert (answer["at"], answer["length"], answer["kind"]) == (93, 200, "curves")
    assert answer["observation"] == pytest.approx(samples[93])
    assert _numbers(answer["path"]) == pytest.approx(found.drawing.heights[:STAGES], rel=1e-9, abs=1e-15)
    assert sum(term["value"] for term in answer["terms"]) == pytest.approx(answer["total"]["value"])
    delta = _asked(page, "explain-gaussian", at=93, learner="delta")
    assert (delta["terms"], delta["total"], delta["alone"], delta["kind"]) == (None, None, None, "points")
    assert _numbers(delta["path"])[[0, -1], 0] == pytest.approx(
        np.array(explain(GAUSSIAN.assembled("delta", DEFAULTS).learner, samples, 93).estimate[:2])
    )
    for at in (200, -1, 1.5, "one", None):
        assert _refused(page.post("/api/explain-gaussian", json={"at": at})).startswith("at = ")


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
        answer = page.post("/api/explain-data", params=query, content=TABLE.encode())
        assert answer.status_code == 200, answer.text
        return answer.json()

    numbers = {"outcome": "x", "learner": "delta", "settings": ["start=1", "learning_rate=0.5"]}
    answer = asked(**numbers, at="2")
    assert answer["sentence"] == explain(Delta(0.5, start=1.0), [1.5, 2.0, 9.0], 2).sentence
    assert answer["length"] == 4
    labels = asked(outcome="saw", learner="smile", kind="categorical", at="2")
    assert labels["sentence"].startswith("Expected hot with probability ")
    assert labels["x"] == ["cold", "hot"]
    refusal = page.post("/api/explain-data", params={"name": "t.csv", **numbers, "at": "4"}, content=TABLE.encode())
    assert _refused(refusal).startswith("at = 4 is not allowed")


def test_the_observation_in_the_lab(page: TestClient) -> None:
    answer = _asked(page, "lab", family="gaussian", noise=2.0, mean=1.0, std=2.0, x=9.0, m=0.1)
    expected = explain(Smile(Gaussian(2.0), 0.1, Gaussian(2.0).prior(1.0, 2.0)), [9.0], 0)
    assert answer["sentence"] == expected.sentence
    assert answer["total"]["value"] == pytest.approx(answer["surprise"])
    assert sum(term["value"] for term in answer["terms"]) == pytest.approx(answer["surprise"])
    election = _asked(page, "lab", family="election", x=1)
    assert election["sentence"].startswith("Expected candidate 2 with probability ")
