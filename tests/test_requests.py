"""A request is data: the command line, the page, a TOML file and Python say the same, and a new option says itself."""

import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from typer import Typer
from typer.testing import CliRunner

from astonish.cli.app import takes_request
from astonish.cli.watch import WatchRequest
from astonish.io.request import asked
from astonish.page import data as page
from astonish.people.analysis.commands import run_fit
from astonish.people.analysis.requests import (
    SEARCH,
    CompareRequest,
    FitRequest,
    RecoverRequest,
    SurpriseRequest,
)
from shell import done, refused

ALL = {
    "file": "my data.csv", "outcome": ["x"], "response": "b", "responded": "before", "response_range": (0.0, 300.0),
    "ignore": ["v", "w"], "free_running": True, "settings": {"noise": 2.5, "start": 0}, "group": "diagnosis",
    "covariate": ["age", "iq"], "missing": ["-999"], "kind": "continuous", "per_trial": {"noise": "sigma"},
    "weak_priors": True, "seed": 3,
}  # fmt: skip
REQUESTS = [
    FitRequest(**ALL, learner="smile", starts=3, shared=["noise"], out="o"),
    CompareRequest(**ALL, learner=["delta", "smile"], baseline=False, held_out=True, score="mse"),
    RecoverRequest(**ALL, learner=["delta"], trials=[20, 40], participants=30),
]


def _asked_of_command(command: str, words: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what the analysis is asked if these words are typed."""
    seen: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(f"astonish.people.analysis.commands.run_{command}", lambda asked, _: seen.append(asked))
        done(words)
    return seen[0]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.command)
def test_command_line_file_page_and_python_say_the_same(
    request_: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my data.csv").write_text("x,b\n")
    command, file = request_.command, request_.out / "request.toml"
    typed = request_.command_line().removeprefix("astonish ")
    assert _asked_of_command(command, typed, monkeypatch) == request_
    request_.write(file)
    assert _asked_of_command(command, f"{command} {file}", monkeypatch) == request_
    other = _asked_of_command(command, f"{command} {file} --seed 5 --no-weak-priors", monkeypatch)
    assert other == request_.model_copy(update={"seed": 5, "weak_priors": False})
    assert eval(request_.python()) == request_
    words = [(name, str(part)) for name, value in request_.said().items() for part in _parts(value) if name != "out"]
    found = page.understood(request_.command, "my data.csv", words[1:], ["delta", "smile"])
    assert found.model_copy(update={"file": request_.file, "out": request_.out}) == request_


def _parts(value: Any) -> list[str]:
    """A value as the controls of the page send it."""
    if isinstance(value, dict):
        return [f"{name}={word}" for name, word in value.items()]
    if isinstance(value, tuple):
        return ["0 300"] if value == (0.0, 300.0) else list(map(str, value))
    return [{True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)]


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


# A console at which somebody stops a fit once the first participants are kept
STOPPED: Any = SimpleNamespace(
    **dict.fromkeys(("say", "show", "table", "saved"), lambda *_: None),
    fitted=_stop,
    progress=lambda *_: nullcontext(lambda _: None),
)


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    rng, path = np.random.default_rng(1), tmp_path / "trials.csv"
    x = rng.normal(0, 5, 60)
    b = pd.Series(x).ewm(alpha=0.4).mean() + rng.normal(0, 0.5, 60)
    pd.DataFrame({"id": np.repeat(["ann", "bob"], 30), "x": x, "b": b}).to_csv(path, index=False)
    return path


PEOPLE = "--outcome x --response b --responded after --subject id --learner delta"


def test_a_fit_is_repeated_from_its_file_and_not_for_other_data(trials: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done("fit", trials, PEOPLE, "--set start=0 --starts 2 --out", out)
    tables = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    assert "astonish fit request.toml" in (out / "report.html").read_text()
    done("fit", out / "request.toml", "--out", tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").glob("*.csv")} == tables
    (moved := tmp_path / "elsewhere").mkdir()
    trials.rename(moved / "trials.csv")
    out.rename(moved / "out")
    file = moved / "out" / "request.toml"
    assert FitRequest.read(file).file == moved / "trials.csv"
    _edit(moved / "trials.csv")
    sentence = refused("fit", file)
    assert "is not the table of" in sentence
    assert "delete the line sha256" in sentence
    file.write_text(re.sub("(?m)^sha256.*\n", "", file.read_text()))
    done("fit", file)
    assert (moved / "out" / "parameters.csv").read_bytes() != tables["parameters.csv"]


def _edit(table: Path) -> None:
    """Change the responses a little."""
    frame = pd.read_csv(table)
    frame.assign(b=frame.b + 0.25).to_csv(table, index=False)


def test_one_request_has_one_checkpoint_and_other_data_another(
    trials: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed, from a file and from the page, a fit goes on from the same file; with other data it does not."""
    typed = _asked_of_command("fit", f"fit {trials} {PEOPLE} --set start=0 --starts 2", monkeypatch)
    words = [("outcome", "x"), ("response", "b"), ("responded", "after"), ("subject", "id"), ("learner", "delta")]
    on_page = page.understood("fit", "trials.csv", [*words, ("settings", "start=0"), ("starts", "2")], ["delta"])
    typed.write(tmp_path / "request.toml")
    requests = [typed, FitRequest.read(tmp_path / "request.toml"), on_page.model_copy(update={"file": trials})]
    kept = [_kept(request, tmp_path / str(k)) for k, request in enumerate(requests)]
    assert kept[0] == kept[1] == kept[2]
    assert len(kept[0]) == 1
    _edit(trials)
    assert _kept(typed, tmp_path / "0") > kept[0]  # beside the old one, which is not used


def _kept(request: FitRequest, out: Path) -> set[str]:
    with pytest.raises(KeyboardInterrupt):
        run_fit(request.model_copy(update={"out": out}), STOPPED)
    return {path.name for path in (out / "unfinished").iterdir()}


class _MoreRequest(FitRequest):
    """`FitRequest` with an option more."""

    command: ClassVar[str] = "more"
    depth: int = asked("How deep.", 2, SEARCH, label="depth of the search")


STUDY = '[study]\nkind = "gaussian"\nseed = [1, 2]\nepisodes = 2\nsteps = 20\n[[learner]]\nname = "delta"\n'


@pytest.mark.parametrize("words", ["reproduce 4 --quick --seed 5", "sweep study.toml"])
def test_what_makes_no_use_of_a_table_is_repeated_from_its_file_too(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    done(words, "--out first/out")
    monkeypatch.chdir("/")
    done(words.split()[0], tmp_path / "first/out/request.toml", "--out", tmp_path / "again")
    first, again = (
        {p.name: p.read_bytes() for p in (tmp_path / where).iterdir() if p.is_file()}
        for where in ("first/out", "again")
    )
    first.pop("request.toml"), again.pop("request.toml")  # a path in it is as seen from there
    assert first == again


def test_an_option_is_one_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other file is the code that uses it."""
    seen: list[_MoreRequest] = []

    def more(request: _MoreRequest) -> None:
        """More."""
        seen.append(request)

    monkeypatch.setitem(more.__annotations__, "request", _MoreRequest)
    command = Typer()
    command.command()(takes_request(more))
    monkeypatch.setitem(page.ANALYSES, "more", _MoreRequest)
    assert "How deep." in CliRunner(env={"COLUMNS": "200"}).invoke(command, ["--help"]).output
    assert CliRunner().invoke(command, ["t.csv", "--depth", "7"]).exit_code == 0
    assert seen[-1].depth == 7
    seen[-1].write(tmp_path / "request.toml")
    assert "depth = 7" in (tmp_path / "request.toml").read_text()
    assert CliRunner().invoke(command, [str(tmp_path / "request.toml")]).exit_code == 0
    assert seen[-1].depth == 7
    assert "--depth 7" in seen[-1].command_line()
    assert "depth=7" in seen[-1].python()
    (control,) = [field for field in page.form(["delta"])["more"] if field["name"] == "depth"]
    assert (control["label"], control["shape"], control["default"]) == ("depth of the search", "number", 2)
    assert page.understood("more", "t.csv", [("depth", "7")], ["delta"]).depth == 7  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [SurpriseRequest, FitRequest, CompareRequest, RecoverRequest, WatchRequest])
def test_every_field_has_a_help_line_a_heading_and_on_the_page_a_label(kind: Any) -> None:
    for field in kind.asked():
        assert re.match(r"[A-Z].*[.?]$", field.help), field.name
        assert field.is_argument or field.heading != "Options"
        if kind in page.ANALYSES.values() and field.name not in ("file", "out", "posterior"):
            assert kind.model_fields[field.name].title, field.name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"responded": "later"}, "responded = 'later' is not known; give one of before, after"),
        ({"starts": "many"}, "starts = 'many' is not a whole number; give one"),
        ({"speed": 1}, "there is no option 'speed' of fit; did you mean 'seed'?"),
        ({"settings": ["m"]}, "--set m is not understood; give a name and a value, such as --set noise="),
        ({"settings": ["m=1", "m=2"]}, "--set gives m twice, as 1 and 2; give it once"),
        ({"settings": {"m": "much"}}, "--set m = 'much' is not a number; give one"),
        ({"response_scale": "0 50 100"}, "response_scale = '0 50 100' is not understood; give two numbers"),
        ({"free_running": "perhaps"}, "free_running = 'perhaps' is not known; give one of yes, no"),
        ({"group": ["a", "b"]}, "group = ['a', 'b'] is not understood; give text"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as problem:
        FitRequest(file="t.csv", **words)
    assert "pydantic" not in str(problem.value)


def test_files_that_are_no_request_of_the_command_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    for text, sentence in (
        ("a = ", "is not TOML"),
        ("command = 'compare'", "is a request of astonish compare; give it to that command"),
        ("outcome = 'x'", "file is missing"),
        ("file = 't.csv'\nspeed = 1", "there is no option 'speed' of fit"),
    ):
        file.write_text(text)
        assert sentence in refused("fit", file)
    assert "there is no file" in refused("fit", tmp_path / "none.toml")


def test_paths_and_classes_of_ones_own_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "plan" / "request.toml"
    request = CompareRequest(file=tmp_path / "t.csv", learner=[f"{tmp_path}/mine.py:Mine:m", "delta", "a.b:C"])
    request.write(file)
    assert '"../mine.py:Mine:m", "delta", "a.b:C"' in file.read_text()
    assert CompareRequest.read(file).learner == request.learner
    assert CompareRequest.read(file).file == request.file
