"""Does the page fit, compare and recover as the commands do, and is nothing left of it when nobody waits any more?"""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from astonish.cli.app import app as command
from astonish.people.tables.cells import constant_columns, guessed_columns

pytest.importorskip("starlette", reason="the page needs starlette")

from astonish.page import data, jobs
from astonish.page.jobs import Jobs
from astonish.page.server import SECONDS, make_app, make_server

NAMES = ("=ann", "bob", "eve")  # the first is a formula to a spreadsheet
ASKED = {"name": "my trials.csv", "outcome": "x", "response": "estimate", "responded": "before", "subject": "id"}
FIT = {**ASKED, "learner": "delta", "starts": "2"}
LONG = {**ASKED, "learner": "hgf-continuous", "starts": "50"}  # it is still compiled when a test has ended it


def followers(names: Sequence[str] = NAMES) -> pd.DataFrame:
    """Three people who follow a delta rule for 30 trials."""
    rng, rows = np.random.default_rng(3), []
    for name, rate in zip(names, (0.3, 0.5, 0.8), strict=True):
        belief = 0.0
        for k in range(30):
            x = round(float(rng.normal(10 if k < 15 else -5, 2)), 2)
            rows.append((name, x, round(belief + float(rng.normal(0, 0.5)), 2)))
            belief += rate * (x - belief)
    return pd.DataFrame(rows, columns=["id", "x", "estimate"])


TABLE = followers().to_csv(index=False)


@contextlib.contextmanager
def served(app: Any, port: int = 0, seconds: float = SECONDS) -> Iterator[str]:
    """Where an application is served as the command serves the page."""
    listening, server = socket.create_server(("127.0.0.1", port)), make_server(app, seconds)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive()


class Page:
    """A page that is served as the command serves it, in a folder for temporary files of its own."""

    def __init__(self, home: str, made: Jobs, folder: Path) -> None:
        self.home, self.jobs, self.folder = home, made, folder

    def start(self, analysis: str = "fit", **asked: Any) -> Any:
        return self.fetch(f"api/jobs/{analysis}?{urllib.parse.urlencode(asked, doseq=True)}", TABLE.encode())

    def fetch(self, path: str, body: bytes | None = None) -> Any:
        with urllib.request.urlopen(urllib.request.Request(self.home + path, body), timeout=60) as answer:
            content = answer.read()
            return json.loads(content) if answer.headers["content-type"] == "application/json" else content

    def follow(self, job: str) -> Any:
        return urllib.request.urlopen(f"{self.home}api/jobs/{job}/events", timeout=60)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def _events(stream: Any, *last: str) -> Iterator[dict[str, Any]]:
    """What comes, up to the first of these events; else to the end."""
    for line in stream:
        if line.startswith(b"data: "):
            event = json.loads(line.removeprefix(b"data: "))
            yield event
            if event["event"] in (last or ("done", "refused", "failed", "cancelled")):
                return


def _until(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def _processes(folder: Path) -> list[int]:
    """Those that work in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (place / "cwd").resolve().is_relative_to(folder) and int(place.name) != os.getpid():
                found.append(int(place.name))
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, compiled_alike: None) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setattr(jobs, "ALONE", 1.0)
        made = Jobs()
        with served(make_app(warm=False, jobs=made)) as home:
            yield Page(home, made, folder)
        assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def done(page: Page) -> Iterator[dict[str, Any]]:
    """A fit to its end: what was answered, all events, the archive and the report; its events are still followed."""
    answer = page.start(**FIT)
    with page.follow(answer["job"]) as stream:
        events = list(_events(stream))
        assert events[-1]["event"] == "done", events[-1]
        archive = page.fetch(f"api/jobs/{answer['job']}/results.zip")
        report = page.fetch(f"api/jobs/{answer['job']}/report.html")
        yield {"answer": answer, "events": events, "report": report, "zip": zipfile.ZipFile(io.BytesIO(archive))}


@pytest.fixture(scope="module")
def commanded(tmp_path_factory: pytest.TempPathFactory, done: dict[str, Any]) -> Path:
    """The folder that the command writes, the very one that the page shows."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "my-trials.csv").write_text(TABLE)
    with contextlib.chdir(folder):
        result = CliRunner().invoke(command, done["answer"]["command"].split()[1:])
    assert result.exit_code == 0, result.output
    return folder / "fit"


def test_a_fit_on_the_page_is_that_of_the_command(done: dict[str, Any], commanded: Path) -> None:
    expected = pd.read_csv(commanded / "parameters.csv")
    (fitted,) = [event for event in done["events"] if event["event"] == "fitted"]
    assert (fitted["model"], fitted["parameters"]) == ("delta", ["learning_rate", "noise"])
    for column in ("value", "low", "high"):
        found = np.ravel([person[{"value": "values"}.get(column, column)] for person in fitted["people"]])
        np.testing.assert_allclose(found, expected[column], rtol=1e-9)
    assert [person["who"] for person in fitted["people"]] == list(NAMES)
    people = pd.read_csv(commanded / "participants.csv")
    np.testing.assert_allclose([person["bic"] for person in fitted["people"]], people.bic, rtol=1e-9)
    assert all(len(person["course"]) == 3 for person in fitted["people"])
    shares = [event["share"] for event in done["events"] if event["event"] == "progress"]
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_the_archive_holds_what_the_command_writes(done: dict[str, Any], commanded: Path) -> None:
    archive, end = done["zip"], done["events"][-1]
    written = {path.name for path in commanded.iterdir()} - {".lock"}
    assert {name.removeprefix("fit/") for name in archive.namelist()} == written == set(end["files"])
    assert done["report"] == archive.read("fit/report.html") == (commanded / "report.html").read_bytes()
    for name in ("methods.txt", "references.bib", "script.py"):
        assert archive.read(f"fit/{name}") == (commanded / name).read_bytes()
    assert end["methods"] == (commanded / "methods.txt").read_text()
    assert "@software{astonish," in end["bibtex"]
    for name in ("parameters.csv", "participants.csv", "trials.csv"):
        found = archive.read(f"fit/{name}").decode()
        assert found.replace("'=ann", "=ann") == (commanded / name).read_text()
        assert "'=ann" in found  # which a spreadsheet shows, and does not run
        assert "\n=ann" not in found


def test_the_script_finds_the_same(done: dict[str, Any], commanded: Path) -> None:
    out, scope = io.StringIO(), {}
    with contextlib.chdir(commanded.parent), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(done["events"][-1]["python"], "<page>", "exec"), scope)
    found: Any = scope["found"]
    np.testing.assert_allclose(found.values.ravel(), pd.read_csv(commanded / "parameters.csv").value, rtol=1e-9)


def test_a_report_runs_nothing_and_is_kept_by_itself(page: Page, done: dict[str, Any]) -> None:
    path = f"{page.home}api/jobs/{done['answer']['job']}/report.html"
    with urllib.request.urlopen(path) as answer:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert "sandbox" in answer.headers["content-security-policy"]
    with urllib.request.urlopen(f"{path}?download") as answer:
        assert answer.headers["content-disposition"] == 'attachment; filename="astonish-fit-my-trials.html"'


def test_learners_are_compared_and_recovered(page: Page) -> None:
    started = [page.start("compare", **ASKED, learner=["delta", "pearce-hall"], starts="1", baseline="no")]
    started.append(page.start("recover", **ASKED, learner="delta", participants="4"))  # beside it
    with page.follow(started[0]["job"]) as one, page.follow(started[1]["job"]) as other:
        with pytest.raises(urllib.error.HTTPError, match="429") as refused:
            page.start(**FIT)
        assert "2 analyses are under way, the most at once; wait" in json.load(refused.value)["error"]
        compared, recovered = (list(_events(stream)) for stream in (one, other))
    fitted = {event["model"] for event in compared if event["event"] == "fitted"}
    assert fitted == {"delta", "pearce-hall"}
    (models,) = [event for event in compared if event["event"] == "table"]
    assert [row[0] for row in models["rows"]] == ["delta", "pearce-hall"]
    assert models["rows"][0][models["columns"].index("difference")] == "+0 ± 0"
    assert any("has the least BIC" in event["text"] for event in compared if event["event"] == "show")
    (summary,) = [event for event in recovered if event["event"] == "table"]
    assert {"parameter", "correlation", "bias", "coverage"} <= set(summary["columns"])
    assert [row[0] for row in summary["rows"]] == ["learning_rate", "noise"]
    assert (compared[-1]["event"], recovered[-1]["event"]) == ("done", "done")


def test_a_job_that_is_cancelled_leaves_nothing(page: Page) -> None:
    answer = page.start(**LONG)
    with page.follow(answer["job"]) as stream:
        next(_events(stream, "progress"))
        assert len(page.left()) == len(_processes(page.folder)) == 1
        page.fetch(f"api/jobs/{answer['job']}/cancel", b"{}")
        assert page.left() == _processes(page.folder) == []
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page.fetch(f"api/jobs/{answer['job']}/report.html")


def test_a_job_ends_when_its_client_is_gone(page: Page) -> None:
    answer = page.start(**LONG)
    with page.follow(answer["job"]) as stream:
        next(_events(stream, "progress"))
        time.sleep(1.5)  # longer than a job waits alone
        assert len(page.left()) == 1
    _until(lambda: page.left() == _processes(page.folder) == [])
    unseen = page.start(**LONG)
    _until(lambda: page.jobs.find(unseen["job"]) is None)
    assert page.left() == []


def test_what_takes_too_long_or_too_much_is_ended_with_the_command(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value, words in (("seconds", 0.5, "0.5 seconds"), ("memory", 2**20, "0.000976562 GB of memory")):
        with monkeypatch.context() as patch:
            patch.setattr(page.jobs, limit, value)
            answer = page.start(**LONG)
            with page.follow(answer["job"]) as stream:
                *_, last = _events(stream)
        assert last["event"] == "refused"
        assert last["text"].startswith(f"it takes more than {words}, which is the most on the page; the command has no")
        assert last["text"].endswith(answer["command"])


@pytest.mark.parametrize(
    ("analysis", "asked", "sentence"),
    [
        ("fit", {"name": "/etc/passwd"}, "the file ends in ''; give one that ends in .csv"),
        ("sweep", {}, "analysis = 'sweep' is not known; give one of fit, compare, recover"),
        ("fit", {"learner": "mine.py:Mine"}, "learner = 'mine.py:Mine' is not known"),
        ("fit", {"learner": "os:path"}, "learner = 'os:path' is not known"),
        ("fit", {"learner": "smile:m"}, "learner = 'smile:m' is not known"),
        ("fit", {"family": "mine.py:Mine"}, "family = 'mine.py:Mine' is not known"),
        ("fit", {"response_model": "mine.py:Mine"}, "response_model = 'mine.py:Mine' is not known"),
        ("fit", {"second_response_model": "a:b"}, "second_response_model = 'a:b' is not known"),
        ("fit", {"out": "/tmp/x"}, "there is no 'out' to set"),
        ("fit", {"file": "/etc/passwd"}, "there is no 'file' to set"),
        ("fit", {"posterior": "100"}, "there is no 'posterior' to set"),
        ("fit", {"starts": "1000"}, "starts = 1000 is not allowed; give a whole number from 1 to 50"),
        ("fit", {"starts": "many"}, "starts = 'many' is not a whole number"),
        ("fit", {"settings": "particles=100000"}, "particles = 100000 is not allowed"),
        ("fit", {"response_scale": "0"}, "response_scale = '0' is not understood; give two numbers, such as 0 100"),
        ("fit", {"weak_priors": "perhaps"}, "weak_priors = 'perhaps' is not known; give one of yes, no"),
        ("compare", {"score": "guess"}, "score = 'guess' is not known; give one of log-probability, mse"),
        ("recover", {"participants": "2"}, "participants = 2 is not allowed; give a whole number from 3 to 500"),
    ],
)
def test_only_what_the_page_offers_can_be_asked(page: Page, analysis: str, asked: Any, sentence: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        page.start(analysis, **{**ASKED, **asked})
    assert sentence in json.load(refused.value)["error"]
    _until(lambda: page.left() == [])  # also of the test before


def test_a_learner_of_ones_own_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from astonish.page.analyses import from_anywhere

    source = "from astonish import Delta\nfrom astonish.core.numbers import pytree_dataclass\n\n\n"
    source += "@pytree_dataclass\nclass Mine(Delta):\n    pass\n"
    (tmp_path / "brought_along.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    offered = ["delta", "brought_along.py:Mine"]
    asked = [("outcome", "x"), ("learner", "delta"), ("learner", "brought_along.py:Mine")]
    for analysis, words in (("fit", asked[:1] + asked[2:]), ("compare", asked)):
        found = from_anywhere(data.understood(analysis, "t.csv", words, offered)).learner
        own = f"{tmp_path / 'brought_along.py'}:Mine"
        assert found == (own if analysis == "fit" else ("delta", own))


def test_too_many_searches_are_refused() -> None:
    from astonish.page.analyses import check_searches

    asked = [("outcome", "x"), ("subject", "id"), ("response", "b"), ("responded", "before"), ("starts", "50")]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        request = data.understood("fit", "t.csv", [*asked, ("learner", "delta")], ["delta"])
        rows = "".join(f"{who},{x},{x}.5\n" for who in range(101) for x in (1, 2, 3, 5))
        Path("t.csv").write_text(f"id,x,b\n{rows}")
        with pytest.raises(ValueError, match=r"101 participants, .* make 5050 searches; the page takes up to 5000"):
            check_searches(request)


def test_names_of_files_lead_nowhere() -> None:
    sent = ["/etc/passwd.csv", "..\\..\\x.csv", "../.csv", "a b; rm -rf.tsv.GZ", "--out.csv", "\x00.csv"]
    safe = ["passwd.csv", "x.csv", "trials.csv", "a-b--rm--rf.tsv.gz", "out.csv", "trials.csv"]
    assert [data.safe_name(name) for name in sent] == safe
    assert data.safe_name("a" * 300 + ".parquet") == "a" * 60 + ".parquet"


def test_columns_are_guessed_by_name_and_content() -> None:
    rows = 12
    frame = pd.DataFrame({
        "trial": range(rows), "Subject_ID": ["a", "b"] * 6, "session": [1] * 6 + [2] * 6, "age": [20, 30] * 6,
        "group": ["old", "young"] * 6, "cond": ["hot"] * 3 + ["cold"] * 9, "reward": range(rows),
        "choice": ["L", "R", "R"] * 4, "site": ["here"] * rows, "response": range(rows), "id": range(rows),
    })  # fmt: skip
    bandit = {"subject": "Subject_ID", "trial": "trial", "block": "session", "group": "group", "condition": "cond"}
    assert guessed_columns(frame) == bandit | {"choice": "choice", "outcome": "reward"}
    plain = guessed_columns(frame.drop(columns=["choice", "Subject_ID"]))
    assert (plain["outcome"], plain["response"]) == ("reward", "response")
    assert not {"subject", "group"} & set(plain)  # id is another one in each row; groups are of participants
    assert "trial" not in guessed_columns(frame.assign(trial=frame.trial % 2))  # it does not tell their order
    assert constant_columns(frame) == ["site"]
    assert guessed_columns(pd.DataFrame({"a": [1, 2], "b": [3, 4]})) == {}


SERVER = """
import signal, sys, tempfile
from astonish.cli.app import app
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a parent such as nohup may ignore it
tempfile.tempdir = sys.argv[1]
app(["explore", "--no-browser", "--port", "0"])
"""


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are looked up in /proc")
def test_nothing_is_left_when_the_terminal_of_the_server_is_closed(tmp_path: Path) -> None:
    made = tmp_path / "temporary"
    made.mkdir()
    words = [sys.executable, "-c", SERVER, str(made)]
    how: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "start_new_session": True}
    with subprocess.Popen(words, **how) as server:
        try:
            assert server.stdout is not None
            home = server.stdout.readline().split("page is at ")[1].split(" ")[0]
            other = Page(home, Jobs(), made)
            with other.follow(other.start(**LONG)["job"]) as stream:
                next(_events(stream, "progress"))
                assert len(other.left()) == len(_processes(made)) == 1
                os.killpg(server.pid, signal.SIGHUP)  # which ends the server at once
                assert server.wait() == -signal.SIGHUP
            _until(lambda: other.left() == _processes(made) == [])
        finally:
            server.kill()
