"""The tour: are its numbers those of plain arithmetic, its verdicts those of the documentation, and do claims break?"""

import contextlib
import io
import json
import math
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the figures of the paper are drawn with Matplotlib")
pytest.importorskip("pandas", reason="the tables of the paper are data frames")

from astonish import run
from astonish.page.tour.screen import all_claims
from astonish.page.tour.screens import (
    SCREENS,
    STEPS,
    WALKS,
    TourTab,
    errors_after_switches,
    errors_of_online_em,
    errors_of_smile,
    scores,
    walks,
)
from astonish.paper import figure3
from astonish.paper.figure5 import isolated
from astonish.paper.figure8 import scenes
from astonish.paper.maze_learners import current, smile
from astonish.worlds.gaussian_jumps import gaussian_jumps

ROOT = Path(__file__).parents[1]
TAB = TourTab()
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def answer(screen: str, **settings: Any) -> Any:
    return TAB.answer({"screen": screen, **settings})


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(NUMBER, text)]


def plotted(found: Any, panel: int, name: str, part: str = "y") -> Any:
    """What the page draws under this name."""
    [mark] = [each for each in found["panels"][panel]["marks"] if each["name"] == name and each["kind"] != "band"]
    values = mark[part]
    return np.frombuffer(b64decode(values["f8"]), "<f8") if isinstance(values, dict) else np.array(values)


def test_the_verdicts_of_the_tour_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    claims = [claim for claim in all_claims().values() if not claim["ours"]]
    total, *parts = numbers(re.findall(r"\*\*Of .*?\.", page)[0])
    assert [len(claims), *(sum(claim["mark"] == mark for claim in claims) for mark in "✓◐✗")] == [total, *parts]
    assert all("\\" not in claim["says"] and "&lt;" not in claim["why"] for claim in claims)


@pytest.mark.parametrize("screen", SCREENS.values(), ids=lambda screen: screen.name)
def test_the_control_breaks_the_claim_and_the_sentence_says_so(screen: Any) -> None:
    end = {screen.steps: screen.sliders[screen.steps].domain.high} if screen.steps else {}
    usual, broken = answer(screen.name, **end), answer(screen.name, **screen.breaking)
    assert usual["verdict"] in ("holds", "holds in part")
    assert broken["verdict"] == "does not hold as stated"
    assert (usual["mark"] in "✓◐", broken["mark"]) == (True, "✗")
    assert usual["sentence"] != broken["sentence"]
    assert numbers(usual["sentence"]) != numbers(broken["sentence"])
    json.dumps(usual, allow_nan=False)
    described = screen.described()
    assert all(claim["says"] and claim["verdict"] for claim in described["claims"])
    assert set(screen.breaking) <= {*described["sliders"], *described["choices"]}


def scaled(likelihood: Any) -> Any:
    return likelihood / likelihood.sum()


def divergence(p: Any, q: Any) -> float:
    """Of p from q; where p is 0 it adds nothing."""
    return float(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


@pytest.mark.parametrize(("first", "telling"), [("goldfish", [0.19, 0.01]), ("Tuesday", [0.001, 0.001])])
def test_the_joke_by_plain_bayes(first: str, telling: list[float]) -> None:
    guns, even = np.array([0.01, 0.19]), np.array([0.5, 0.5])
    after = scaled(even * telling)
    beliefs = [even, after, after, scaled(after * guns)]
    for line, belief in enumerate(beliefs):
        found = answer("joke", first=first, line=line)
        assert plotted(found, 0, "belief") == pytest.approx(belief)
        assert len(found["text"]) == line
    surprises = [divergence(even, scaled(np.array(telling))), *(divergence(p, scaled(guns)) for p in (after, even))]
    assert plotted(found, 1, "surprise") == pytest.approx(surprises)
    assert plotted(found, 0, "what “guns” alone suggests") == pytest.approx(scaled(guns))
    assert numbers(found["sentence"])[:2] == pytest.approx(surprises[1:], abs=0.005)
    assert answer("joke", line=2)["verdict"] == ""  # nothing is claimed before the end


@pytest.mark.parametrize("confidence", [0.25, 0.6, 0.75])
def test_the_voters_by_plain_sums(confidence: float) -> None:
    models = np.full((4, 4), 0.05 / 3)
    np.fill_diagonal(models, 0.95)
    rest = (0.75 - confidence) / 2
    beliefs = [(0.75, 0.25, 0, 0), (0, 0.25, 0.75, 0), (rest, 0.25, rest, confidence)]
    found = answer("voters", confidence=confidence)
    expected = [divergence(belief, scaled(models[:, 1])) for belief in beliefs]
    assert plotted(found, 3, "surprise at candidate 2") == pytest.approx(expected)
    assert [np.dot(belief, models[:, 1]) for belief in beliefs] == pytest.approx([0.25] * 3)
    assert plotted(found, 2, "belief of C") == pytest.approx(beliefs[2])
    assert (found["verdict"] == "holds") == (confidence < 0.75)


def test_commitment_by_sums_and_formulas() -> None:
    theta, x = np.linspace(-6, 6, 601), 1.3
    density = np.exp(-2 * (theta - 2) ** 2)
    suggested = scaled(np.exp(-0.5 * ((x - abs(theta)) / 0.7) ** 2))
    found = answer("commitment", x=x)
    for name, belief in (("committed", density), ("open", density + density[::-1])):
        surprise = divergence(scaled(belief), suggested)
        assert plotted(found, 2, name)[1] == pytest.approx(surprise, abs=2e-3)  # the ends count half in the library
    pair = answer("commitment", pair="normal", x=x)
    for name, variance in (("committed", 0.05), ("open", 0.5)):
        surprise = 0.5 * (math.log((1 - variance) / variance) + (variance + x**2) / (1 - variance) - 1)
        shannon = 0.5 * x**2 + 0.5 * math.log(2 * math.pi)
        assert plotted(pair, 2, name) == pytest.approx([shannon, surprise])
    assert pair["verdict"] == "holds"  # in the middle it does
    assert "equal commitment, equal surprise" in answer("commitment", pair="alike")["sentence"]


@pytest.mark.parametrize(("m", "width"), [(0.1, 1.0), (0.0, 1.0), (1e6, 1.0), (0.5, 0.4)])
def test_the_bound_by_formulas(m: float, width: float) -> None:
    found = answer("bound", m=m, width=width)
    surprise = -math.log(width) + (width**2 + 4) / 2 - 0.5
    most = math.log(width) + (1 + 4) / (2 * width**2) - 0.5
    bound = most * m * surprise / (1 + m * surprise)
    assert numbers(found["sentence"])[:3] == pytest.approx([surprise, bound, most], abs=0.0051)
    gamma = plotted(found, 0, "the step that is made", "x")[0]
    precision = (1 - gamma) / width**2 + gamma
    spent = 0.5 * (math.log(precision * width**2) + (1 / precision + (2 * gamma / precision) ** 2) / width**2 - 1)
    assert spent == pytest.approx(bound, abs=1e-6)
    assert (found["verdict"] == "holds") == (width == 1)


def test_errors_of_figure_3_are_those_that_are_claimed() -> None:
    hazard = 0.066
    found, (_, _, fixed, ours) = answer("jumps", hazard=hazard), scores(hazard)
    claimed = all_claims()["jumps.best-rate"]["measured"]
    saved = re.search(r"minus that of SMiLe is (.*?): ", found["sentence"])
    assert saved is not None
    assert f"squared, H = {hazard}: {saved[1]}" in claimed  # the same seeds, hazard by hazard
    task = gaussian_jumps(1000, (1, 3, 0), hazard)
    off = run(figure3.smile(), task.samples).estimate - task.truth
    assert [ours["squared"][0], ours["absolute"][0]] == pytest.approx([(off**2).mean(), abs(off).mean()])
    assert plotted(found, 1, "SMiLe")[0] == pytest.approx(ours["squared"].mean())
    assert plotted(found, 1, "fixed rate")[30] == pytest.approx(fixed["squared"][31].mean())


def test_surprise_around_switches_is_that_of_the_library() -> None:
    where, means = walks(), []
    for k in range(WALKS):
        here, there = (part[k] for part in where.walk.choices)
        surprise = run(smile(0.1), (here, there)).surprise
        times = isolated(where.walk.switched[k])
        means.append(np.mean([surprise[time] for time in times]))
    found = answer("switch")
    offsets = plotted(found, 0, "SMiLe", "x")
    assert plotted(found, 0, "SMiLe")[offsets == 0] == pytest.approx([np.mean(means)])
    assert "does not rise" in answer("switch", m=0.0)["sentence"]


def counted(here: Any, there: Any, truth: Any) -> Any:
    """The error in A after each step of who counts moves: naive Bayes, whose mode is the share of each next room."""
    counts, errors, apart = np.zeros((16, 15)), [], truth[~np.eye(16, dtype=bool)].reshape(16, 15)
    for room, next_room in zip(here, there, strict=True):
        counts[room, next_room] += 1
        total = counts.sum(1, keepdims=True)
        shares = np.where(total > 0, counts / np.maximum(total, 1), 1 / 15)
        errors.append(((shares - apart) ** 2).sum() / 256)
    return np.array(errors)


def test_naive_bayes_after_switches_is_a_plain_count() -> None:
    psi, means = 0.95, []
    where = scenes(1, [(100, psi, k) for k in range(2)], STEPS)
    for k in range(2):
        here, there = (part[k] for part in where.walk.choices)
        errors, environment = counted(here, there, where.truth[k, 0]), where.walk.environment[k]
        into_a = np.flatnonzero(where.walk.switched[k] & (environment == 0))
        stays = [t for t in into_a if t + 64 < STEPS and (environment[t : t + 65] == 0).all()]
        means.append(np.mean([errors[t + 64] for t in stays]))
    assert errors_after_switches()["naive Bayes"][-1][:2] == pytest.approx(means)
    found = answer("visits", psi="0.95")
    assert plotted(found, 0, "naive Bayes")[-1] == pytest.approx(np.nanmean(errors_after_switches()["naive Bayes"][-1]))


def test_online_em_waits_and_says_when_it_is_accurate() -> None:
    environment = walks().walk.environment
    all_errors = errors_of_online_em(2000), errors_of_online_em(0), errors_of_smile(0.1)
    waiting, eager, ours = (current(environment, errors) for errors in all_errors)
    in_a = waiting[0, :1999][environment[0, :1999] == 0]
    assert np.ptp(in_a) == 0  # nothing is learned in the wait
    assert np.ptp(eager[0, :1999][environment[0, :1999] == 0]) > 0
    soon = [next((t + 1 for t in range(STEPS) if e[t] < 0.002 and env[t] == 0), math.inf)
            for e, env in zip(waiting, environment, strict=True)]  # fmt: skip
    said = f"online EM in {sum(map(math.isfinite, soon))} of {WALKS} walks (median: step {np.median(soon):.0f})"
    sentence = answer("online-em")["sentence"]
    assert said in sentence
    assert numbers(sentence)[3] == pytest.approx((waiting - ours)[:, :2000].mean(), rel=0.01)


@pytest.mark.parametrize("screen", SCREENS.values(), ids=lambda screen: screen.name)
def test_the_lines_of_python_print_the_numbers_of_the_screen(screen: Any) -> None:
    found, out = answer(screen.name, **({"line": 3} if screen.steps else {})), io.StringIO()
    with contextlib.redirect_stdout(out):
        few = re.sub(r"psi in \[0.05, .*?\]", "psi in [0.05]", found["python"])  # the first is enough, and faster
        exec(compile(few, "<tour>", "exec"), {})
    printed = numbers(out.getvalue())
    wanted = {
        "joke": numbers(found["sentence"])[:2],
        "voters": list(plotted(found, 3, "surprise at candidate 2")) if screen.name == "voters" else [],
        "switch": [],
        "bound": numbers(found["sentence"])[:4],
        "commitment": numbers(found["sentence"])[2:4],
    }.get(screen.name, numbers(found["sentence"])[3:4])
    for value in wanted:
        assert any(each == pytest.approx(value, abs=0.006, rel=0.01) for each in printed), (value, printed)
    assert printed
