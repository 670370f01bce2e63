"""Studies: the same bytes whoever computes, nothing lost whatever is killed, and a sentence for all that goes wrong."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, read_csv
from typer.testing import CliRunner

from astonish import Delta, Gaussian, Smile, run
from astonish.cli.app import app
from astonish.io import files as archive
from astonish.people.fit import recover_models
from astonish.sweep import Batching, Study, local_cluster, run as running, run_study, scheduler, study as stored
from astonish.sweep.kinds import candidate, designed, episodes, read_study
from astonish.worlds.gaussian_jumps import gaussian_jumps

SOURCE = Path(__file__).parent.parent / "src"
TYPED = [sys.executable, "-c", "import astonish.cli.app; astonish.cli.app.main()", "sweep"]
GAUSSIAN = """
[study]
kind = "gaussian"
hazard = [0.02, 0.1]
episodes = 3
steps = 50
seed = [1, 2]

[[learner]]
name = "smile"
m = [0.1, 0.3]

[[learner]]
name = "delta"
learning_rate = 0.5
"""


def command(*words: Any) -> int:
    """The exit code of the command in this process; what it says is printed."""
    result = CliRunner().invoke(app, ["sweep", *map(str, words)])
    print(result.stdout, end="")
    print(result.stderr, end="", file=sys.stderr)
    return result.exit_code


def draw(setting: Any) -> dict[str, Any]:
    """What a test computes: fast, and without JAX."""
    rng = np.random.default_rng(setting["seed"])
    return {"mean": rng.standard_normal(), "all": rng.standard_normal((2, 3)), "count": setting["seed"] ** 2}


def draw_or_fail(setting: Any) -> dict[str, Any]:
    if setting["seed"] in setting["bad"] and not Path(setting["mended"]).exists():
        raise ZeroDivisionError(f"seed {setting['seed']} is bad")
    return draw(setting)


def draw_or_die(setting: Any) -> dict[str, Any]:
    """Once, where the mark is not there yet, a whole worker is killed."""
    mark = Path(setting["mark"])
    if setting["seed"] == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(setting)


def always_die(setting: Any) -> dict[str, Any]:
    if setting["seed"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(setting)


def seeds(count: int, compute: Callable[[Any], Any] = draw, **more: Any) -> Study:
    return Study({f"draws/seed={k}": {"seed": k, **more} for k in range(count)}, compute)


def files(where: Path) -> dict[str, bytes]:
    """Everything that was left in a folder of results, hidden files too."""
    return {
        str(path.relative_to(where)): path.read_bytes() for path in (where / "results").rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[Executor]:
    with local_cluster(2) as pool:
        yield pool


def test_what_is_read_back_is_what_was_computed(tmp_path: Path) -> None:
    first = run_study(seeds(5), tmp_path)
    assert first.results["draws/seed=2"]["count"] == 4
    rng = np.random.default_rng(2)
    assert first.results["draws/seed=2"]["mean"] == rng.standard_normal()
    np.testing.assert_array_equal(first.results["draws/seed=2"]["all"], rng.standard_normal((2, 3)))
    shares: list[float] = []
    said: list[str] = []
    read = run_study(seeds(5), tmp_path, progress=shares.append, say=said.append)
    assert said == shares == []
    assert list(read.results) == list(first.results)
    for name, result in read.results.items():
        assert {key: type(value) for key, value in result.items()} == {"mean": float, "all": np.ndarray, "count": int}
        np.testing.assert_equal(result, first.results[name])


def test_nothing_is_computed_twice(tmp_path: Path) -> None:
    computed: list[int] = []

    def once(setting: Any) -> dict[str, Any]:
        computed.append(setting["seed"])
        return draw(setting)

    for count in (3, 3, 6, 2):
        shares: list[float] = []
        found = run_study(seeds(count, once), tmp_path, progress=shares.append, say=lambda _: None)
        assert len(found.results) == count
        assert shares == sorted(shares)
    assert sorted(computed) == [0, 1, 2, 3, 4, 5]


def test_a_cluster_of_two_processes_leaves_the_same_bytes_as_threads(cluster: Executor, tmp_path: Path) -> None:
    run_study(seeds(20), tmp_path / "threads")
    run_study(seeds(20), tmp_path / "cluster", cluster)
    run_study(seeds(20), tmp_path / "together", cluster, batch_size=7)
    assert len(files(tmp_path / "threads")) == 20
    assert files(tmp_path / "threads") == files(tmp_path / "cluster") == files(tmp_path / "together")
    manifest = json.loads((tmp_path / "cluster" / "manifest.json").read_text())
    assert manifest["executor"] == "ClientExecutor"
    assert manifest["seeds"] == list(range(20))
    assert manifest["settings"]["draws/seed=3"] == {"seed": 3}
    assert manifest["device"] == "cpu"
    assert set(manifest["versions"]) == {"astonish", "code", "jax", "numpy", "python", "study"}


def test_a_learner_leaves_the_same_bytes_in_threads_and_in_processes(tmp_path: Path) -> None:
    study = _study_file(tmp_path, GAUSSIAN)
    _typed(study, "--out", tmp_path / "threads").check_returncode()
    assert command(study, "--out", tmp_path / "cluster", "--local-cluster", 2) == 0
    assert len(files(tmp_path / "threads")) == 12
    assert files(tmp_path / "threads") == files(tmp_path / "cluster")
    tables = [(tmp_path / name / "summary.csv").read_bytes() for name in ("threads", "cluster")]
    assert tables[0] == tables[1]
    table = read_csv(tmp_path / "threads" / "summary.csv")
    row = table[table.setting == "gaussian/smile/m=0.3/hazard=0.1/noise=4.0/seed=2"].iloc[0]
    errors = []
    for episode in range(3):
        task = gaussian_jumps(50, [2, episode], hazard=0.1)
        errors.append(np.square(run(Smile(Gaussian(4.0), m=0.3), task.samples).estimate - task.truth).mean())
    assert row.squared_error == pytest.approx(np.mean(errors), rel=1e-12)
    assert row.squared_error_se == pytest.approx(np.std(errors, ddof=1) / 3**0.5, rel=1e-9)


def test_a_worker_that_is_killed_loses_nothing(cluster: Executor, tmp_path: Path) -> None:
    study = seeds(12, draw_or_die, mark=str(tmp_path / "mark"))
    found = run_study(study, tmp_path / "cluster", cluster)
    assert (tmp_path / "mark").exists()
    assert not found.failed
    run_study(study, tmp_path / "threads")
    assert files(tmp_path / "threads") == files(tmp_path / "cluster")


@pytest.mark.hostile
def test_a_setting_that_kills_every_worker_fails_and_the_others_do_not(cluster: Any, tmp_path: Path) -> None:
    brain = cluster._client.cluster.scheduler
    patience, brain.allowed_failures = brain.allowed_failures, 0
    try:
        found = run_study(seeds(8, always_die), tmp_path, cluster)
    finally:
        brain.allowed_failures = patience
    assert "draws/seed=3" in found.failed
    assert "KilledWorker" in found.failed["draws/seed=3"]
    assert len(found.results) + len(found.failed) == 8
    assert len(files(tmp_path)) == len(found.results) >= 1


def test_a_pool_of_processes_that_broke_is_said(tmp_path: Path) -> None:
    lost = pytest.raises(ConnectionError, match=r"of 5 settings finished; run the same again")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, lost:
        run_study(seeds(5, always_die), tmp_path, pool)
    assert len(files(tmp_path)) <= 3


SLEEPY = """
import time
import numpy as np
from astonish.sweep import Study

def compute(setting):
    time.sleep(0.04)
    return {"x": np.random.default_rng(setting["seed"]).standard_normal(50)}

study = Study({f"sleepy/seed={k}": {"seed": k} for k in range(60)}, compute)
"""


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.hostile)])
def test_a_sweep_killed_at_random_moments_ends_the_same(kills: int, tmp_path: Path) -> None:
    study, out = tmp_path / "sleepy.py", tmp_path / "killed"
    study.write_text(SLEEPY)
    rng = random.Random(7)
    for _ in range(kills):
        before = len(list(out.glob("results/*/*.npz")))
        process = subprocess.Popen(
            [*TYPED, study, "--out", out], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=_environment()
        )
        while len(list(out.glob("results/*/*.npz"))) == before and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.08))
        process.kill()
        process.wait()
    some = len(list(out.glob("results/*/*.npz")))
    assert kills <= some < 60
    _typed(study, "--out", out).check_returncode()
    run_study(read_study(study), tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")
    assert read_csv(out / "summary.csv").seed.tolist() == list(range(60))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def _typed(*words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TYPED, *words], capture_output=True, text=True, env=_environment())


def _study_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_failures_are_said_kept_and_tried_again(tmp_path: Path) -> None:
    study = seeds(6, draw_or_fail, bad=[1, 4], mended=str(tmp_path / "mended"))
    out = tmp_path / "out"
    found = run_study(study, out)
    assert list(found.results) == [f"draws/seed={k}" for k in (0, 2, 3, 5)]
    assert sorted(found.failed) == ["draws/seed=1", "draws/seed=4"]
    with pytest.raises(ValueError, match=r"2 of 6 settings failed: draws/seed=1: ZeroDivisionError: seed 1 is bad"):
        found.table()
    why = (out / "failed" / "draws" / "seed=4.txt").read_text()
    assert why.startswith('draws/seed=4\n{"seed": 4')
    assert "ZeroDivisionError: seed 4 is bad" in why
    assert json.loads((out / "manifest.json").read_text())["failed"] == ["draws/seed=1", "draws/seed=4"]
    (tmp_path / "mended").touch()
    assert not run_study(study, out, say=lambda _: None).failed
    assert not [path for path in (out / "failed").rglob("*") if path.is_file()]
    assert json.loads((out / "manifest.json").read_text())["failed"] == []


def test_the_command_says_what_failed_and_leaves_no_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "odd.py"
    study.write_text(
        "from astonish.sweep import Study\n"
        "study = Study({f'k={k}': {'k': k} for k in range(-1, 14)}, lambda s: {'x': 1 / max(s['k'], 0)})"
    )
    assert command(study, "--out", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "k=-1: ZeroDivisionError" in said
    assert f"2 settings failed; {tmp_path / 'out' / 'failed'} says why, and the same command tries again" in said
    assert not (tmp_path / "out" / "summary.csv").exists()


@pytest.mark.parametrize(
    ("result", "says"),
    [(3, "compute gave 3"), ({"x": "text"}, "give numbers"), ({"seed": 1}, "give it another"), ({1: 2}, "no name")],
)
def test_a_result_that_is_none_is_a_failure(result: Any, says: str) -> None:
    assert says in run_study(seeds(1, lambda _: result)).failed["draws/seed=0"]


def test_another_study_is_refused_unless_asked_for(tmp_path: Path) -> None:
    run_study(seeds(4, draw_or_fail, bad=[], mended="here"), tmp_path)
    before = files(tmp_path)
    with pytest.raises(ValueError, match=r"4, such as draws/seed=0 \(mended was here, is there\); give another folder"):
        run_study(seeds(4, draw_or_fail, bad=[], mended="there"), tmp_path)
    assert files(tmp_path) == before
    said: list[str] = []
    run_study(seeds(5, draw_or_fail, bad=[], mended="there"), tmp_path, recompute=True, say=said.append)
    assert said == ["results of another study or of other code are computed again"]
    assert files(tmp_path).keys() > before.keys()
    assert all(files(tmp_path)[name] != old for name, old in before.items())


def test_other_code_is_refused_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_study(seeds(2), tmp_path)
    monkeypatch.setattr(stored, "code", lambda: "of tomorrow")
    with pytest.raises(ValueError, match=r"\(code was \w{16}, is of tomorrow\)"):
        run_study(seeds(2), tmp_path)
    assert not run_study(seeds(2), tmp_path, recompute=True, say=lambda _: None).failed
    said: list[str] = []
    assert len(run_study(seeds(2, always_die), tmp_path, say=said.append).results) == 2  # which computes nothing
    assert said == []


def test_a_function_that_was_rewritten_is_noticed(tmp_path: Path) -> None:
    study = tmp_path / "mine.py"
    for text in ("{'x': 1}", "{'x': 2}"):
        study.write_text(
            f"from astonish.sweep import Study\nstudy = Study({{'a': {{'k': 1}}}}, lambda setting: {text})"
        )
        code = command(study, "--out", tmp_path / "out")
    assert code == 2
    assert command(study, "--out", tmp_path / "out", "--recompute") == 0
    assert read_csv(tmp_path / "out" / "summary.csv").x.tolist() == [2]


class Elsewhere(Executor):
    """Workers with another library, or on another device; or that vanish, as when a scheduler is lost."""

    def __init__(self, left: int = 99, **other: Any) -> None:
        self.left, self.other = left, other

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left >= 0:
            future.set_result(fn(*args)._replace(**self.other))
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_workers_with_other_code_or_devices_are_refused(tmp_path: Path) -> None:
    other = Elsewhere(versions={**stored.versions(), "jax": "0.0.1"})
    found = run_study(seeds(3), tmp_path / "code", other)
    assert found.failed["draws/seed=1"].startswith("a worker has jax 0.0.1, here is")
    assert not files(tmp_path / "code")
    run_study(seeds(2), tmp_path / "device", Elsewhere(device="H9000"))
    with pytest.raises(ValueError, match="holds results of H9000, and this is cpu, whose last digits differ"):
        run_study(seeds(3), tmp_path / "device")
    some = run_study(seeds(3), tmp_path / "device", Elsewhere(device="cpu"), say=lambda _: None)
    assert "a worker computed on cpu, others on H9000" in some.failed["draws/seed=2"]


def test_workers_that_vanish_leave_what_was_finished(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"the workers were lost with \d of 9 settings finished"):
        run_study(seeds(9), tmp_path, Elsewhere(left=3))
    assert len(files(tmp_path)) <= 3
    assert len(run_study(seeds(9), tmp_path, say=lambda _: None).results) == 9


def test_an_interruption_keeps_what_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    def slowly(setting: Any) -> dict[str, Any]:
        time.sleep(0.05)
        return draw(setting)

    with pytest.raises(KeyboardInterrupt):
        run_study(seeds(40, slowly), tmp_path, progress=interrupt)
    assert 1 <= len(files(tmp_path)) < 40


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "10.0.0.1", "ftp://here"])
def test_a_scheduler_out_of_reach_is_said(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "_TIMEOUT", 0.5)
    study = _study_file(tmp_path, GAUSSIAN)
    assert command(study, "--out", tmp_path / "out", "--scheduler", address) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("astonish: ")
    assert address in said
    assert "address" in said


def test_a_finished_sweep_needs_no_scheduler(tmp_path: Path) -> None:
    study = seeds(3)
    finished = run_study(study, tmp_path).results
    assert run_study(study, tmp_path, scheduler("tcp://127.0.0.1:9")).results.keys() == finished.keys()


@pytest.mark.parametrize("full_at", ["results", "manifest"])
def test_a_full_disk_loses_nothing_that_was_finished(
    full_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = tmp_path / "sleepy.py", tmp_path / "out"
    study.write_text(SLEEPY.replace("range(60)", "range(9)").replace("0.04", "0"))
    function, enough = ("atomic_write", 3) if full_at == "results" else ("write_text", 1)
    genuine, written = getattr(stored, function), []

    def full(path: Path, *text: str) -> Any:
        if len(written) == enough:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        written.append(path)
        return genuine(path, *text)

    with monkeypatch.context() as patch:
        patch.setattr(stored, function, full)
        assert command(study, "--out", out) == 1
    assert "no space is left" in capsys.readouterr().err
    assert len(files(out)) == (3 if full_at == "results" else 9)
    assert command(study, "--out", out) == 0
    assert len(files(out)) == 9


def test_damaged_results_are_computed_again_and_said(tmp_path: Path) -> None:
    run_study(seeds(12), tmp_path)
    sound = files(tmp_path)
    rng = np.random.default_rng(3)
    for k, (name, written) in enumerate(sound.items()):
        spoiled = bytearray(written[: len(written) // 2] if k % 4 == 0 else b"" if k % 4 == 1 else written)
        if k % 4 > 1:  # in the numbers themselves, or anywhere
            at = written.index(b"NUMPY", 900) + 130 if k % 4 == 2 else int(rng.integers(len(written)))
            spoiled[at] ^= 0xFF
        (tmp_path / name).write_bytes(spoiled)
    said: list[str] = []
    run_study(seeds(12), tmp_path, say=said.append)
    assert sum("is damaged; it is computed again" in sentence for sentence in said) >= 9
    assert files(tmp_path).keys() == sound.keys()
    for name in sound:
        arrays, about = archive.read(tmp_path / name, "result")
        np.testing.assert_equal(arrays, draw(about["setting"]))


def test_a_result_under_another_name_is_not_taken(tmp_path: Path) -> None:
    run_study(seeds(2), tmp_path)
    right, wrong = (tmp_path / "results" / "draws" / f"seed={k}.npz" for k in (0, 1))
    before = right.read_bytes()
    right.write_bytes(wrong.read_bytes())
    run_study(seeds(2), tmp_path, say=lambda _: None)
    assert right.read_bytes() == before


@pytest.mark.parametrize("module", [archive, stored], ids=["result", "manifest"])
def test_a_later_format_is_refused(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = module._VERSION
    with monkeypatch.context() as patch:
        patch.setattr(module, "_VERSION", ours + 1)
        run_study(seeds(2), tmp_path)
    before = files(tmp_path)
    with pytest.raises(ValueError, match=f"has format version {ours + 1}; this library reads up to {ours}"):
        run_study(seeds(2), tmp_path)
    assert files(tmp_path) == before


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"mine": true}')
    with pytest.raises(ValueError, match="is not of a study; give another folder"):
        run_study(seeds(2), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_damaged_description_does_not_lose_the_results(tmp_path: Path) -> None:
    before = run_study(seeds(2), tmp_path).results
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-30])
    said: list[str] = []
    np.testing.assert_equal(dict(run_study(seeds(2), tmp_path, say=said.append).results), dict(before))
    assert said == [f"{manifest} is damaged; results are used without it, since it only describes them"]
    run_study(seeds(3), tmp_path, say=said.append)  # which has something to compute
    assert len(json.loads(manifest.read_text())["settings"]) == 3


def test_two_commands_on_one_folder_are_one_too_many(tmp_path: Path) -> None:
    def meanwhile(setting: Any) -> dict[str, Any]:
        with pytest.raises(ValueError, match="is in use by another program; wait for its end"):
            run_study(seeds(2), tmp_path)
        return draw(setting)

    assert not run_study(seeds(2, meanwhile), tmp_path).failed
    assert len(run_study(seeds(2, meanwhile), tmp_path).results) == 2  # once it has ended, the next may begin


@pytest.mark.parametrize("name", ["", "/a", "a/", "../a", "a/../b", "a b", ".a", "a//b", "x" * 201, "ä", "a\n"])
def test_names_that_are_no_names_of_files_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a setting; give letters"):
        Study({name: {}}, draw)


@pytest.mark.parametrize("value", [float("nan"), np.arange(3), {1: 2}, (1, 2), object()])
def test_settings_are_plain(value: Any) -> None:
    with pytest.raises(ValueError, match="give a dictionary of plain numbers"):
        Study({"a": {"x": value}}, draw)


@pytest.mark.parametrize(
    ("study", "learner", "says"),
    [
        (None, None, r"there is no kind 'None' of \[study\]; known are gaussian, maze"),
        ("'gausian'", None, r"there is no kind 'gausian' of \[study\]; did you mean 'gaussian'"),
        ("[", None, "is not TOML"),
        ("'maze'", None, "names no learner; give \\[\\[learner\\]\\] with name"),
        ("'maze'", "m = 1", "names no learner"),
        ("'maze'", "name = 'delta'", "delta does not take transitions data; give one of smile"),
        ("'maze'", "name = 'smile'\nn = 1", "there is no parameter 'n' of smile; known are m"),
        ("'maze'\nnoise = 1", "name = 'smile'", r"there is no option 'noise' of \[study\]; known are hazard"),
        ("'gaussian'", "name = 'smil'", "there is no learner 'smil'; did you mean 'smile'"),
        ("'gaussian'", "name = 'smile'\nm = [0.1, -1]", "m = -1 is not allowed"),
        ("'gaussian'", "name = 'smile'\nm = 'x'", "smile: m = 'x' is not a number"),
        ("'gaussian'", "name = 'smile'\nm = []", r"m = \[\] has no values"),
        ("'gaussian'\nsteps = 0", "name = 'smile'", "steps = 0 is not allowed; give a whole"),
        ("'gaussian'\nseed = 'a'", "name = 'smile'", "seed = 'a' is not a number"),
        ("'figure8'", "name = 'smile'", "figure8 has learners of its own"),
        ("'figure8'\nquick = 1", None, "quick = 1 is not known; give true or false"),
        ("'figure8'\nseed = [1, 2]", None, "are several"),
        ("'maze'\n[studies]", None, "'studies' is not known here"),
        ("'models'", "name = 'delta'", "there is one learner, and one is to be chosen"),
        ("'models'", "name = 'delta'\n[[learner]]\nname = 'delta'", "delta is named twice"),
    ],
)
def test_mistakes_in_a_file_are_said(study: str | None, learner: str | None, says: str, tmp_path: Path) -> None:
    text = "" if study is None else f"[study]\nkind = {study}\n"
    with pytest.raises(ValueError, match=says):
        read_study(_study_file(tmp_path, text if learner is None else f"{text}[[learner]]\n{learner}"))


@pytest.mark.parametrize(
    ("text", "says"),
    [("1 / 0", "could not be run .ZeroDivisionError"), ("study = 3", "has no study"), (None, "no file")],
)
def test_mistakes_in_python_are_said(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=says):
        read_study(path)


def test_two_executors_are_one_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(_study_file(tmp_path, GAUSSIAN), "--scheduler", "tcp://a:1", "--local-cluster", 2) == 2
    assert "give one" in capsys.readouterr().err


def _square(settings: Any) -> list[dict[str, Any]]:
    if len({setting["seed"] for setting in settings} & {4}) and settings[0]["seed"] != 4:
        raise MemoryError
    return [{"square": setting["seed"] ** 2, "size": len(settings)} for setting in settings]


def _accelerated(monkeypatch: pytest.MonkeyPatch, count: int, episodes: int = 5) -> Study:
    """A study on what seems to be an accelerator."""
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    monkeypatch.setattr(running, "available_memory", lambda: 350.0)
    for module in (running, stored):
        monkeypatch.setattr(module, "device", lambda: "H9000")
    batching = Batching(_square, lambda setting: setting["seed"] % 2, lambda _: episodes, lambda _: 10.0)
    return Study(seeds(count).settings, lambda _: {"square": -1}, batching=batching)


def test_an_accelerator_gets_as_many_settings_as_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = _accelerated(monkeypatch, 20)
    assert running.usual_batch_size(study) == 32  # 50 are alike, 35 fit
    parts = running.jobs(study, study.settings, 32)
    assert [len(part.settings) for part in parts] == [6, 4, 6, 4]
    assert {part.size for part in parts} == {6}
    found = run_study(study, tmp_path)
    assert [result["square"] for result in found.results.values()] == [k**2 for k in range(20)]
    assert {result["size"] for result in found.results.values()} == {6}  # filled up, also where one failed
    assert json.loads((tmp_path / "manifest.json").read_text())["device"] == "H9000, in batches of 32 episodes"


def test_a_call_on_an_accelerator_keeps_the_size_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_study(_accelerated(monkeypatch, 3), tmp_path)
    grown = run_study(_accelerated(monkeypatch, 40), tmp_path, say=lambda _: None)
    assert {result["size"] for result in grown.results.values()} == {3}  # of 10 alike, hence 16 at once, 5 each
    with pytest.raises(
        ValueError, match="of H9000, in batches of 16 episodes, and this is H9000, in batches of 64 episodes"
    ):
        run_study(_accelerated(monkeypatch, 41), tmp_path, batch_size=64)


def test_on_a_processor_each_setting_is_computed_by_itself() -> None:
    batching = Batching(_square, lambda _: 0, lambda _: 5, lambda _: 10.0)
    study = Study(seeds(4).settings, lambda _: {"square": -1}, batching=batching)
    assert running.usual_batch_size(study) == 0
    for batch_size in (None, 10):
        assert {result["square"] for result in run_study(study, batch_size=batch_size).results.values()} == {-1}


def test_settings_together_give_what_each_gives_alone(tmp_path: Path) -> None:
    study = read_study(_study_file(tmp_path, GAUSSIAN))
    assert study.batching is not None
    for part in running.jobs(study, study.settings, 9):
        assert part.size == 3
        settings = list(part.settings.values())
        for setting, result in zip(settings, study.batching.compute(settings), strict=True):
            np.testing.assert_allclose(result["squared_error"], study.compute(setting)["squared_error"], rtol=1e-12)


def test_a_learner_knows_the_facts_about_a_gaussian_world(tmp_path: Path) -> None:
    words = "hazard = 0.1\nnoise = 2.0\nseed = 3\nepisodes = 2\nsteps = 40\n"
    learner = "[[learner]]\nname = 'delta'\nlearning_rate = 0.5"
    study = read_study(_study_file(tmp_path, f"[study]\nkind = 'gaussian'\n{words}{learner}"))
    (setting,) = study.settings.values()
    task = episodes(setting)
    expected = [
        np.abs(run(Delta(0.5, start=0.0), xs).estimate - truth).mean()
        for xs, truth in zip(task.samples, task.truth, strict=True)
    ]
    np.testing.assert_allclose(study.compute(setting)["absolute_error"], expected, rtol=1e-12)


@pytest.mark.parametrize("learner", ["smile", "varsmile", "bayes", "leaky"])
def test_the_maze_is_a_study(learner: str, tmp_path: Path) -> None:
    words = f"[study]\nkind = 'maze'\nsteps = 40\nepisodes = 2\n[[learner]]\nname = '{learner}'"
    study = read_study(_study_file(tmp_path, words))
    (result,) = run_study(study).results.values()
    assert result["error"].shape == (2,)
    assert (result["error"] > 0).all()
    assert (result["error"] < 0.05).all()


def test_recovery_is_a_study(tmp_path: Path) -> None:
    words = "[study]\nkind = 'recovery'\ntrials = 30\nparticipants = 4\nstarts = 1\n[[learner]]\nname = 'delta'"
    table: DataFrame = run_study(read_study(_study_file(tmp_path, words))).table()
    assert table["learning_rate.participants"].tolist() == [4]
    assert table["noise.correlation"].between(-1, 1).all()


def test_model_recovery_is_a_study(tmp_path: Path) -> None:
    words = "[study]\nkind = 'models'\ntrials = 30\nparticipants = 4\nstarts = 1"
    learners = "\n[[learner]]\nname = 'delta'\n[[learner]]\nname = 'leaky'\nkeep = [0.7, 0.9]"
    study = read_study(_study_file(tmp_path, words + learners))
    table = run_study(study).table().set_index("setting")
    assert list(table["learner"]) == ["delta", "leaky", "leaky"]
    settings = [{word: x for word, x in setting.items() if word != "rivals"} for setting in study.settings.values()]
    whole = recover_models(
        {setting["learner"]: candidate(setting) for setting in settings[:2]},
        designed(settings[0]),
        participants=4,
        starts=1,
        seed=1,
    ).matrix()
    np.testing.assert_array_equal(table.iloc[:2][["chosen.delta", "chosen.leaky"]], whole)
