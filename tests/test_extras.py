"""Does everything that needs an extra say which, and does everything else work without it?

Run as a program, this file goes through all modules of the library, and through what people call, without the packages
of each extra in turn, and prints what it was told.
"""

import json
import re
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from astonish.cli.app import app
from astonish.core.refusal import EXTRAS, NotInstalledError

ROOT = Path(__file__).parent.parent
NATIVE = [
    f"engines.native.{path.stem}"
    for path in (ROOT / "src" / "astonish" / "engines" / "native").glob("*.py")
    if path.stem != "__init__"
]
NEEDED = {  # which modules need which extras; those in a folder, whatever the folder needs
    **{f"people.analysis.{name}": {"cli", "frames"} for name in ("commands", "models")},
    **{name: {"cli"} for name in ("io.request", "people.analysis.report", "people.analysis.requests")},
    "page": {"cli", "frames", "page", "plots"},
    "people.fit": {"frames"},
    "people.comparison": {"frames"},
    "people.recovery": {"frames"},
    "people.fit.plot": {"plots"},
    "people.posterior": {"frames", "posteriors"},
    "interop.river": {"river"},
    "interop.sklearn": {"sklearn"},
    "interop.spark": {"frames"},
    **{module: {"native"} for module in NATIVE},
    "paper": {"frames", "plots"},
    "sweep": {"frames"},
    "worlds.gymnasium": {"worlds"},
    "testing": {"frames"},
    "people.tables": {"frames"},
    "watch.followers": {"frames"},
}
CALLS = {  # what people call without one of the packages of an extra, and what that says
    "history.to_frame()": "frames: a table needs pandas",
    "astonish.measure(learner, [1.0, 2.0])": "frames: measures need pandas",
    "astonish.compare({'it': learner}, [[1.0, 2.0]])": "frames: a comparison needs pandas",
    "bank.update_table(None, 'key', 'x')": "frames: tables need narwhals",
    "bank.to_frame()": "frames: this table needs narwhals",
    "history.plot()": "plots: a plot needs matplotlib",
    "bank.to_frame('pyarrow')": "parquet: this table needs pyarrow",
    "bank.to_frame('polars')": ": this table needs polars",
    "module('people.comparison').psis_loo(None)": "posteriors: psis_loo needs arviz_stats",
    "module('sweep').local_cluster(1).__enter__()": "cluster: a cluster needs distributed",
    "module('sweep').scheduler('tcp://127.0.0.1:1').__enter__()": "cluster: a cluster needs distributed",
    "module('interop.spark').surprise_stream(rows, learner, key='k', sample='x', order='t')": (
        "spark: a stream needs pyspark"
    ),
}


def test_the_extras_are_those_of_the_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {"scikit-learn": "sklearn"}
    for extra, requirements in listed.items():
        packages = [re.split(r"[\[>]", word)[0] for word in requirements]
        own = sorted(named.get(word, word.replace("-", "_")) for word in packages if word != "astonish")
        assert sorted(EXTRAS.get(extra, ())) == own


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What this file prints as a program."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_module_that_needs_an_extra_says_so_and_the_others_do_without(extra: str, told: dict[str, Any]) -> None:
    said = {module: sentence for module, sentence in told["modules"][extra].items() if sentence}
    needed = {module for module, extras in NEEDED.items() if extra in extras}
    assert needed <= said.keys()
    for module, sentence in said.items():
        assert any(f"{module}.".startswith(f"{folder}.") for folder in needed), f"{module} needs {extra}"
        assert re.fullmatch(rf".+ needs? \w+, which is not installed; pip install 'astonish\[{extra}\]'", sentence)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_needs_an_extra_says_so(call: str, told: dict[str, Any]) -> None:
    extra, _, needs = CALLS[call].partition(": ")
    wanted = f"'astonish[{extra}]'" if extra else needs.split()[-1]
    assert told["calls"][call] == f"{needs}, which is not installed; pip install {wanted}"


@pytest.mark.parametrize(
    ("package", "extra", "words", "needs"),
    [
        ("uvicorn", "page", ["explore", "--no-browser"], "the page needs"),
        ("distributed", "cluster", ["sweep", "study.py", "--local-cluster", "1"], "sweeps need"),
    ],
)
def test_a_command_that_needs_an_extra_says_so(
    package: str, extra: str, words: list[str], needs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = "from astonish.sweep import Study\nstudy = Study({'a': {}}, lambda setting: {'x': 1.0})"
    (tmp_path / "study.py").write_text(study)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "astonish.page.server", raising=False)  # for it to be imported again
    result = CliRunner().invoke(app, words)
    assert result.stderr == f"astonish: {needs} {package}, which is not installed; pip install 'astonish[{extra}]'\n"
    assert (result.exit_code, result.stdout) == (1, "")


@contextmanager
def _without(packages: tuple[str, ...]) -> Iterator[None]:
    """As if these were not installed, and nothing of this library were imported yet."""
    before = dict(sys.modules)
    for name in before:
        if name.partition(".")[0] in ("astonish", *packages):
            del sys.modules[name]
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]
    yield
    for name in list(sys.modules):
        if name.partition(".")[0] in ("astonish", *packages):
            del sys.modules[name]
    sys.modules.update(before)


def _sentence(function: Callable[..., Any], *words: Any) -> str:
    """What a function says about a package that is missing; nothing if it misses none."""
    try:
        function(*words)
    except ModuleNotFoundError as problem:
        return str(problem) if type(problem).__name__ == NotInstalledError.__name__ else repr(problem)
    return ""


def _values() -> dict[str, Any]:
    """What the calls are made with."""
    astonish = import_module("astonish")
    learner = astonish.Delta()
    values = {"astonish": astonish, "learner": learner, "history": astonish.run(learner, [1.0, 2.0])}
    values |= {"bank": astonish.Bank(learner, 10), "rows": SimpleNamespace(columns=["k", "x", "t"])}
    return values | {"module": lambda name: import_module(f"astonish.{name}")}


def _main() -> None:
    files = [path.relative_to(ROOT / "src" / "astonish").with_suffix("") for path in (ROOT / "src").rglob("*.py")]
    names = [".".join(path.parts).removesuffix("__init__").strip(".") for path in files]
    told: dict[str, Any] = {"modules": {}, "calls": {}}
    for extra, packages in {**EXTRAS, "": ("polars",)}.items():
        with _without(packages):
            modules = [name for name in names if name and name.partition(".")[0] not in ("__main__", "cli")]
            told["modules"][extra] = {name: _sentence(import_module, f"astonish.{name}") for name in modules}
            calls = [call for call, sentence in CALLS.items() if sentence.partition(":")[0] == extra]
            values = _values() if calls else {}
            told["calls"] |= {call: _sentence(eval, call, values) for call in calls}
    print(json.dumps(told))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of gymnasium, which is told of the maze more than once
    _main()
