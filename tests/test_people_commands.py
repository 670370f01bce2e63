"""Do `astonish fit`, `compare` and `recover` find what is in a table, write it whole, and explain what is wrong?"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import astonish_command

RATES = {"ann": 0.3, "bob": 0.6, "cid": 0.9}
PEOPLE = ("--outcome", "x", "--response", "b", "--response-time", "after", "--subject", "id", "--block", "run")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """People who follow the delta rule, each at a rate of their own, and answer with noise of 0.5."""
    rng = np.random.default_rng(1)
    rows = []
    for who, rate in RATES.items():
        for run in (1, 2):
            belief = 0.0
            for _ in range(30):
                x = rng.normal(0, 5)
                belief += rate * (x - belief) + 0.5 * rng.standard_normal()
                rows.append((who, run, x, belief, int(x > 0), int(belief > 0)))
    return pd.DataFrame(rows, columns=["id", "run", "x", "b", "up", "choice"])


@pytest.fixture
def file(table: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "trials.csv"
    table.to_csv(path, index=False)
    return path


def _run(*words: str | Path) -> Any:
    return CliRunner().invoke(astonish_command.app, [str(word) for word in words])


class _Tags(HTMLParser):
    """Whether all tags are closed, and which pictures there are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.images += tag == "img"
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _page(out: Path) -> str:
    text = (out / "report.html").read_text()
    tags = _Tags(text)
    assert tags.open == []
    assert tags.images >= 1
    assert "http" not in text.replace("http://www.w3.org", "")  # nothing is fetched
    return text


def test_fit_finds_the_rates_and_leaves_tables_pictures_and_a_page(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = _run("fit", file, *PEOPLE, "--learner", "delta", "--set", "start=0", "--starts", "2", "--out", out)
    assert result.exit_code == 0, result.output
    people = pd.read_csv(out / "participants.csv").set_index("participant")
    assert people.rate.to_dict() == pytest.approx(RATES, abs=0.05)
    assert people.noise.to_dict() == pytest.approx(dict.fromkeys(RATES, 0.5), abs=0.15)
    assert pd.read_csv(out / "parameters.csv").shape == (6, 7)
    trials = pd.read_csv(out / "trials.csv")
    assert len(trials) == 180
    assert trials.log_likelihood.sum() == pytest.approx(people.log_likelihood.sum())
    assert {path.name for path in out.iterdir()} == {
        "participants.csv", "parameters.csv", "trials.csv", "fit.png", "fit.pdf", "report.html",
    }  # fmt: skip
    text = _page(out)
    assert "delta fitted to 3 participants" in text
    assert "astonish recover" in result.stderr
    assert "Report:" in result.stdout


def test_fit_with_a_posterior(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("numpyro")
    words = (*PEOPLE, "--learner", "delta", "--set", "start=0", "--starts", "1", "--posterior", "60")
    result = _run("fit", file, *words, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "posterior.csv")
    own = table[(table.kind == "participant") & (table.parameter == "rate")].set_index("participant")
    assert own["mean"].to_dict() == pytest.approx(RATES, abs=0.06)
    assert set(pd.read_csv(tmp_path / "predictive.csv").columns) >= {"observed", "predicted", "p"}
    assert (tmp_path / "posterior.nc").stat().st_size > 1000
    assert "Would such people behave so?" in _page(tmp_path)


def test_fit_of_choices(file: Path, tmp_path: Path) -> None:
    words = ("--outcome", "up", "--response", "choice", "--response-time", "after", "--subject", "id")
    result = _run(
        "fit", file, *words, "--respond", "softmax", "--also", "lapse", "--starts", "2", "--out", tmp_path / "o"
    )
    assert result.exit_code == 0, result.output
    assert {"m", "beta", "lapse"} <= set(pd.read_csv(tmp_path / "o" / "participants.csv").columns)
    _page(tmp_path / "o")


def test_compare_prefers_what_is_true(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = ("--learner", "smile", "--learner", "delta", "--set", "noise=5", "--set", "start=0", "--set", "mean=0")
    result = _run("compare", file, *PEOPLE, *models, "--starts", "2", "--held-out", "--out", out)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out / "comparison.csv", index_col="model")
    assert table.best.to_dict() == {"smile": 0, "delta": 3}
    assert table.difference["delta"] < -10
    assert pd.read_csv(out / "held_out.csv", index_col="model").difference["delta"] > 10
    text = _page(out)
    assert "delta has the least BIC over 3 participants" in text
    assert not (out / "unfinished").exists()


def test_recover_says_how_well_parameters_and_models_would_be_found(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = ("--learner", "delta", "--learner", "leaky", "--set", "noise=5", "--set", "start=0")
    result = _run("recover", file, *PEOPLE, *models, "--participants", "6", "--trials", "20", "--out", out)
    assert result.exit_code == 0, result.output
    assert (pd.read_csv(out / "models.csv")[["delta", "leaky"]].sum(axis=1) == 1).all()
    assert pd.read_csv(out / "recovery-delta.csv").shape[0] == 12
    assert (out / "trials-delta.png").is_file()
    assert "Would we find what is there?" in _page(out)


def _refused(*words: str | Path) -> str:
    result = _run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return str(result.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--learner", "smiel"), "there is no learner 'smiel'; did you mean 'smile'?"),
        (("--learner", "delta:speed"), "there is no parameter 'speed'; known are rate, start"),
        (("--set", "speed=3"), "has no 'speed'"),
        (("--respond", "shout"), "--respond shout is not known; give one of estimate, sticky, softmax, readout"),
        (("--respond", "softmax"), "a choice is among outcomes, but these are numbers"),
        (("--also", "laps"), "there is no parameter 'laps'; known are noise, growth, lapse"),
        (("--learner", "message-passing"), "cannot go on from someone's answers; give a response that is not anchored"),
        (("--starts", "0"), "starts = 0 is no search; give at least 1"),
        (("--shared", "speed"), "there is no parameter 'speed'"),
        (("--block", "rnu"), "rnu"),
        (("--response-time", "later"), "--response-time later is not known; give one of before, after"),
        (("--ignore", "catch"), "catch"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], sentence: str, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert sentence in _refused("fit", file, *PEOPLE, *words, "--out", out)
    assert not (out / "report.html").exists()


def test_models_to_compare_are_two_or_more(file: Path) -> None:
    assert "names 1 models; name two or more" in _refused("compare", file, *PEOPLE, "--learner", "smile")
    assert "names 1 models" in _refused("compare", file, *PEOPLE, "--learner", "delta", "--learner", "delta")


def test_odd_participants_are_left_out_and_said(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    odd = table.astype({"b": object})
    odd.loc[odd.id == "bob", "b"] = 3.0
    odd = odd[(odd.id != "cid") | (odd.index < 122)]
    odd.loc[5, "b"] = "much"
    odd.to_csv(path, index=False)
    result = _run(
        "fit", path, *PEOPLE, "--learner", "delta", "--set", "start=0", "--starts", "1", "--out", tmp_path / "o"
    )
    assert result.exit_code == 0, result.output
    assert "left out: bob, all responses are 3" in result.stdout
    assert "left out: cid" in result.stdout
    assert "line 7" in result.stderr
    assert np.isfinite(pd.read_csv(tmp_path / "o" / "participants.csv")[["rate", "noise", "bic"]].to_numpy()).all()


def test_a_killed_fit_goes_on(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astonish.fit.estimate._KEPT", 1)
    out = tmp_path / "out"
    words = ("fit", file, *PEOPLE, "--learner", "delta", "--set", "start=0", "--starts", "2", "--out", out)
    from astonish.fit import estimate

    searched, calls = estimate._searched, []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return searched(*args)

    monkeypatch.setattr(estimate, "_searched", interrupted)
    stopped = _run(*words)
    assert stopped.exit_code == 130
    assert "stopped; the same command goes on from what is finished" in stopped.stderr
    assert len(list((out / "unfinished").iterdir())) == 2
    again = _run(*words)
    assert again.exit_code == 0, again.output
    assert len(calls) == 4
    assert len(pd.read_csv(out / "participants.csv")) == 3
