"""Do `astonish fit`, `compare` and `recover` find what is in a table, write it whole, and explain what is wrong?"""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish.io.files import locked
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES
from shell import done, refused, run

RATES = {"ann": 0.3, "bob": 0.6, "cid": 0.9}
PEOPLE = "--outcome x --response b --responded after --subject id --block run"
CHOICES = "--outcome up --response choice --responded after --subject id"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """People who follow the delta rule, each at a rate of their own, and answer with noise of 0.5."""
    rng = np.random.default_rng(1)
    rows = []
    for who, rate in RATES.items():
        for block in (1, 2):
            belief = 0.0
            for _ in range(30):
                x = rng.normal(0, 5)
                belief += rate * (x - belief) + 0.5 * rng.standard_normal()
                rows.append((who, block, x, belief, int(x > 0), int(belief > 0), 1 / (1 + np.exp(-belief))))
    return pd.DataFrame(rows, columns=["id", "run", "x", "b", "up", "choice", "p"])


@pytest.fixture
def file(table: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "trials.csv"
    table.to_csv(path, index=False)
    return path


def _page(out: Path) -> str:
    """The report, in which all tags are closed, and there is a picture."""
    text, opened = (out / "report.html").read_text(), []
    for end, tag in re.findall(r"<(/?)(\w+)", text):
        if end:
            assert opened.pop() == tag
        elif tag not in ("meta", "img", "br"):
            opened.append(tag)
    assert opened == []
    assert "<img " in text
    assert "http" not in text.replace("http://www.w3.org", "")  # nothing is fetched
    return text


def test_fit_finds_the_rates_and_leaves_tables_pictures_and_a_page(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = done("fit", file, PEOPLE, "--learner delta --set start=0 --starts 2 --out", out)
    people = pd.read_csv(out / "participants.csv").set_index("participant")
    assert people.learning_rate.to_dict() == pytest.approx(RATES, abs=0.05)
    assert people.noise.to_dict() == pytest.approx(dict.fromkeys(RATES, 0.5), abs=0.15)
    assert pd.read_csv(out / "parameters.csv").shape == (6, 7)
    trials = pd.read_csv(out / "trials.csv")
    assert len(trials) == 180
    assert trials.log_likelihood.sum() == pytest.approx(people.log_likelihood.sum())
    assert {path.name for path in out.iterdir()} == {
        ".lock", "participants.csv", "parameters.csv", "trials.csv", "fit.png", "fit.pdf", "report.html",
        "behaviour.png", "behaviour.pdf", "participant.png", "participant.pdf", "methods.txt", "references.bib",
        "script.py", "request.toml",
    }  # fmt: skip
    text = _page(out)
    assert "delta fitted to 3 participants" in text
    assert "astonish recover" in result.stderr
    assert "Report:" in result.stdout


def test_a_posterior_that_is_stopped_at_once_says_that_nothing_is_kept(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpyro")
    from astonish.people.posterior import sampling

    words = f"fit {file} {PEOPLE} --learner delta --set start=0 --starts 1 --posterior 60"

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling, "wait", interrupted)
    result = done(words, "--out", tmp_path / "none")
    assert "stopped: there are no 20 draws of two chains yet, so none are kept, and the report has no" in result.stderr
    assert len(pd.read_csv(tmp_path / "none" / "participants.csv")) == 3
    assert not (tmp_path / "none" / "posterior.csv").exists()


def test_fit_of_choices(file: Path, tmp_path: Path) -> None:
    words = "--response-model softmax --fit-response-parameter lapse --starts 2"
    done("fit", file, CHOICES, words, "--out", tmp_path / "o")
    assert {"m", "beta", "lapse"} <= set(pd.read_csv(tmp_path / "o" / "participants.csv").columns)
    _page(tmp_path / "o")


def test_the_commands_take_weak_priors(file: Path, tmp_path: Path) -> None:
    for command, words in {
        "fit": "--learner delta --starts 2",
        "compare": "--learner delta --learner leaky --starts 2",
        "recover": "--learner delta --participants 6",
    }.items():
        result = done(command, file, CHOICES, words, "--weak-priors --out", tmp_path / command)
        report = (tmp_path / command / "report.html").read_text()
        assert "maximum a posteriori" in report
        if command != "recover":
            assert "68 % of values between 0.05 and 0.95" in result.output
            assert "68 % of values between 0.05 and 0.95" in report
    assert "prior_mean" in pd.read_csv(tmp_path / "fit" / "parameters.csv")
    assert "Laplace" in (tmp_path / "compare" / "report.html").read_text()
    assert np.isfinite(pd.read_csv(tmp_path / "compare" / "comparison.csv").log_evidence).all()
    plain = done("fit", file, CHOICES, "--learner delta --starts 2 --out", tmp_path / "ml")
    assert "--weak-priors (priors='usual') is recommended" in plain.output
    assert "is recommended" in (tmp_path / "ml" / "report.html").read_text()


def test_compare_prefers_what_is_true(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = "--learner smile --learner delta --set noise=5 --set start=0 --set mean=0"
    done("compare", file, PEOPLE, models, "--starts 2 --held-out --out", out)
    table = pd.read_csv(out / "comparison.csv", index_col="model")
    assert table.best.to_dict() == {"smile": 0, "delta": 3, "no-learning": 0}
    assert table.difference["delta"] < -10
    assert table.r_squared["delta"] > table.r_squared["smile"] > table.r_squared["no-learning"]
    assert table.mse["delta"] < table.mse["smile"]
    assert pd.read_csv(out / "held_out.csv", index_col="model").difference["delta"] < -10  # less is better throughout
    text = _page(out)
    assert "delta has the least BIC over 3 participants, and most people use it" in text
    assert "Of blocks that were left out, delta has the least log loss, the same model." in text
    assert "Either way, most people use delta" in text
    assert "Responses of 3 participants (180 responses) were modelled" in text
    assert "@incollection{rescorla1972" in text
    assert not (out / "unfinished").exists()


def test_a_family_is_for_the_learners_that_run_on_one(file: Path, tmp_path: Path) -> None:
    words = "--outcome up --response p --responded after --subject id --free-running"
    family = f"--family beta-interval --set low=0.1 --set high=0.9 --starts 1 --out {tmp_path}"
    result = done("compare", file, words, family, "--learner delta --learner leaky")
    assert "leaky: Leaky(family=BetaInterval(low=0.1, high=0.9)" in result.output
    result = run("compare", file, words, family, "--learner delta --learner pearce-hall")
    assert "runs on no family of beliefs; leave out the family" in result.output


def test_compare_scores_blocks_left_out_by_squared_error(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = "--learner smile --learner delta --set noise=5 --set start=0 --set mean=0"
    words = f"{PEOPLE} {models} --starts 2 --out {out} --score mse"
    done("compare", file, words, "--held-out --free-running")
    table = pd.read_csv(out / "held_out.csv", index_col="model")
    assert table.columns.tolist() == ["mse", "difference", "difference_se", "best", "better"]
    assert table.difference["delta"] == pytest.approx(table.mse["delta"] - table.mse["smile"])
    assert table.difference["delta"] < 0
    assert table.best.to_dict() == {"smile": 0, "delta": 3, "no-learning": 0}
    assert "Of blocks that were left out, delta has the least squared error" in _page(out)
    assert "add --held-out" in run("compare", file, words).output
    assert "these are choices" in refused("compare", file, CHOICES, "--block run --held-out --score mse --out", out)


def test_recover_says_how_well_parameters_and_models_would_be_found(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = "--learner delta --learner leaky --set noise=5 --set start=0"
    done("recover", file, PEOPLE, models, "--participants 6 --trials 20 --out", out)
    assert (pd.read_csv(out / "models.csv")[["delta", "leaky"]].sum(axis=1) == 1).all()
    assert pd.read_csv(out / "recovery-delta.csv").shape[0] == 12
    assert (out / "trials-delta.png").is_file()
    assert "Would we find what is there?" in _page(out)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--response-model shout", "there is no response model 'shout'; known are estimate, sticky, circular-estimate"),
        ("--response-model softmax", "but the outcomes x are numbers: what was chosen? If b says which option"),
        ("--fit-response-parameter laps", "there is no parameter 'laps'; did you mean 'lapse'? Known are noise, "),
        ("--shared speed", "there is no parameter 'speed'"),
        ("--block rnu", "rnu"),
        ("--ignore catch", "catch"),
    ],
)
def test_what_is_wrong_is_said(words: str, sentence: str, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert sentence in refused("fit", file, PEOPLE, words, "--out", out)
    assert not (out / "report.html").exists()


def test_models_to_compare_are_two_or_more(file: Path) -> None:
    assert "names 1 models; name two or more" in refused("compare", file, PEOPLE, "--learner smile")
    assert "names 1 models" in refused("compare", file, PEOPLE, "--learner delta --learner delta")


def test_odd_participants_are_left_out_and_said(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    odd = table.astype({"b": object})
    odd.loc[odd.id == "bob", "b"] = 3.0
    odd = odd[(odd.id != "cid") | (odd.index < 122)]
    odd.loc[5, "b"] = "much"
    odd.to_csv(path, index=False)
    result = done("fit", path, PEOPLE, "--learner delta --set start=0 --starts 1 --out", tmp_path / "o")
    assert "left out: bob, all responses are 3" in result.stdout
    assert "left out: cid" in result.stdout
    assert "line 7" in result.stderr
    assert np.isfinite(
        pd.read_csv(tmp_path / "o" / "participants.csv")[["learning_rate", "noise", "bic"]].to_numpy()
    ).all()


def test_a_killed_fit_goes_on(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astonish.people.fit.estimate._TOGETHER", 1)
    out = tmp_path / "out"
    words = f"fit {file} {PEOPLE} --learner delta --set start=0 --starts 2 --out {out}"
    from astonish.people.fit import estimate

    searched, calls = estimate.search, []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return searched(*args)

    monkeypatch.setattr(estimate, "search", interrupted)
    stopped = run(words)
    assert stopped.exit_code == 130
    assert "stopped; the same command continues from what is finished" in stopped.stderr
    assert len(list((out / "unfinished").iterdir())) == 2
    done(words)
    assert len(calls) == 4
    assert len(pd.read_csv(out / "participants.csv")) == 3


@pytest.mark.parametrize("command", ["fit", "compare", "recover"])
def test_a_folder_in_use_is_left_alone(command: str, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "unfinished").mkdir(parents=True)
    (out / "unfinished" / "of-another.npz").write_bytes(b"hours of work")
    with locked(out):
        sentence = refused(command, file, PEOPLE, "--set noise=5 --out", out)
    assert sentence == f"astonish: {out} is in use by another program; wait for its end, or give another folder"
    assert sorted(path.name for path in out.rglob("*")) == [".lock", "of-another.npz", "unfinished"]


# Classes of one's own

MODELS = '''
"""A learner, and a response model."""

from typing import ClassVar

import jax.numpy as jnp

from astonish import Delta
from astonish.core.numbers import Domain, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.responses.base import Normal, Response

class Follower(Delta):
    """Follow numbers by some steps."""


@pytree_dataclass
class Report(Response):
    """Reports the estimate, off by a number that is never positive."""

    shift: float = parameter(-0.1, Domain(high=0.0), (-5.0, -0.01), "how far responses are off")
    scatter: float = parameter(1.0, Domain(0.0, open=True), (0.1, 2.0), "standard deviation of responses")
    takes: ClassVar[tuple[str, ...]] = ("continuous",)
    free: ClassVar[tuple[str, ...]] = ("scatter",)
    kind: ClassVar[str] = "estimate"

    @property
    def anchored(self):
        return True

    def distribution(self, given):
        return Normal(given.estimate + self.shift, jnp.asarray(self.scatter))
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file of somebody's models, in a folder from which modules can be imported."""
    path = tmp_path / f"models_{tmp_path.name}.py"
    path.write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop(path.stem, None)


@pytest.mark.parametrize("learner", ["{path}:Follower", "{stem}:Follower"])
def test_a_learner_of_ones_own_is_run_over_trials(learner: str, own: Path, file: Path, tmp_path: Path) -> None:
    words = "--outcome x --subject id --block run"
    words += " --set start=0 --set learning_rate=0.3 --learner"
    mine = learner.format(path=own, stem=own.stem)
    result = done("surprise", file, words, mine, "--out", tmp_path / "o.csv")
    assert "learner: Follower(learning_rate=0.3, start=0.0)" in result.stderr
    done("surprise", file, words, "delta --out", tmp_path / "delta.csv")
    columns = ["surprise", "learning_rate", "prediction", "estimate"]
    tables = [pd.read_csv(tmp_path / name)[columns] for name in ("o.csv", "delta.csv")]
    np.testing.assert_allclose(*tables, rtol=1e-12)


@pytest.mark.parametrize("ending", ["", ":alpha", ": alpha , start"])
def test_models_of_ones_own_are_fitted(ending: str, own: Path, file: Path, tmp_path: Path) -> None:
    words = f"--learner '{own}:Follower{ending}' --response-model {own}:Report --set start=0"
    done("fit", file, PEOPLE, words, "--fit-response-parameter shift --starts 2 --out", tmp_path / "o")
    people = pd.read_csv(tmp_path / "o" / "participants.csv").set_index("participant")
    found = ["learning_rate", "start"] if "start" in ending else ["learning_rate"]
    assert people.columns.tolist()[: len(found) + 2] == [*found, "scatter", "shift"]
    assert people.learning_rate.to_dict() == pytest.approx(RATES, abs=0.06)
    assert people.scatter.to_dict() == pytest.approx(dict.fromkeys(RATES, 0.5), abs=0.15)
    assert (people["shift"] <= 0).all()


def test_models_of_ones_own_are_compared_and_recovered(own: Path, file: Path, tmp_path: Path) -> None:
    words = f"--learner {own.stem}:Follower:alpha --learner delta --family gaussian"
    sentence = refused("compare", file, PEOPLE, words)
    assert sentence == "astonish: Follower runs on no family of beliefs; leave out the family gaussian"
    mine = f"--learner {own.stem}:Follower:alpha --set start=0"
    out = tmp_path / "c"
    done("compare", file, PEOPLE, "--learner leaky --set noise=5", mine, "--starts 2 --out", out)
    table = pd.read_csv(out / "comparison.csv", index_col="model")
    assert table.best.to_dict() == {"leaky": 0, f"{own.stem}:Follower:alpha": 3, "no-learning": 0}
    out = tmp_path / "r"
    done("recover", file, PEOPLE, mine, "--participants 6 --out", out)
    assert len(list(out.glob("recovery-*.csv"))) == 1


def test_a_family_is_chosen_by_name(file: Path, tmp_path: Path) -> None:
    words = "--family normal-gamma --learner varsmile --free-running --starts 1"
    result = done("fit", file, PEOPLE, words, "--out", tmp_path / "o")
    assert "varsmile: VarSmile(family=NormalGamma(" in result.stderr
    assert np.isfinite(pd.read_csv(tmp_path / "o" / "participants.csv")["bic"]).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--family bta", "there is no family 'bta'; did you mean 'beta'? Known are "),
        ("--learner smiel:m", "there is no learner 'smiel'; did you mean 'smile'? Known are "),
        ("--learner smile:n", "there is no parameter 'n'; known are "),
        ("--learner smile --set noise=1", "there is no parameter 'noise' of smile; "),
        ("--learner leaky --set keep=2", "Leaky's keep = 2 is not allowed; give a finite number "),
        ("--learner {own}:Other", "{own} has no 'Other'; give the name of a class in it, as in {own}:Mine"),
        ("--learner {own}:Report", "{own}:Report is no learner; give a class derived from astonish.learners.base.Lear"),
        ("--family {own}:Follower", "{own}:Follower is no family; give a class derived from astonish.theory.expfam.F"),
        ("--response-model {own}:Follower", "{own}:Follower is no response model; give a class derived from as"),
        ("--learner {own}:Follower --set m=1", "there is no parameter 'm' of "),
        ("--learner {broken}:Mine", "{broken} could not be run (ZeroDivisionError: division by zero); mend it"),
    ],
)
def test_models_that_cannot_be_are_refused_in_a_sentence(
    words: str, sentence: str, own: Path, file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken_models.py"
    broken.write_text("1 / 0")
    places = {"own": own, "broken": broken}
    said = refused("fit", file, CHOICES, words.format(**places), "--out", tmp_path / "out")
    assert said.startswith(f"astonish: {sentence.format(**places)}")


# The commands themselves


def test_what_was_not_meant_is_refused_with_what_is_allowed(file: Path) -> None:
    result = run("fit", file, PEOPLE, "--responded later")
    assert result.exit_code == 2
    assert "'later' is not one of 'before', 'after'" in " ".join(result.stderr.replace("│", "").split())


def test_learners_are_listed_with_their_parameters(own: Path) -> None:
    lines = run("learners").stdout.splitlines()
    headings = [word for line in lines if line and not line.startswith(" ") for word in line.split(", ")]
    assert headings == [*LEARNERS.by_name(), *FAMILIES.by_name(), *RESPONSES.by_name()]
    assert (
        "  learning_rate (alpha) = 0.1: share of the error by which the estimate moves (a finite number from 0 to 1; "
        in (run("learners delta").stdout)
    )
    mine = run("learners", f"{own}:Follower").stdout.splitlines()
    assert mine[:3] == ["Follower", "  Follow numbers by some steps.", "  takes: continuous, binary"]
    assert mine[3].startswith(
        "  learning_rate (alpha) = 0.1: share of the error by which the estimate moves (a finite number from 0 to 1;"
    )
    result = run("learners smiel")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no learner, family or response model 'smiel'; did you mean 'smile'?" in result.stderr
