"""Every benchmark, validation and attack at its smallest size: whatever raises has failed.

`make smoke` runs this, without rivals and without data that is not shipped. All run in this process, except the servers
and programs that are attacked. Numbers that a benchmark checks are checked here too; `make bench` measures speed.
"""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
os.environ["SMOKE"] = "1"  # before `timing` is imported, which reads it
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # else XLA tells of every program that it compiles in another way
sys.path += [str(ROOT), str(ROOT / "hostile"), str(ROOT / "tests")]

from validation import searches  # noqa: E402

import accelerator  # noqa: E402
import flips  # noqa: E402
import hops  # noqa: E402
import interruptions  # noqa: E402
import kills  # noqa: E402
import run  # noqa: E402
import threads  # noqa: E402
from attack import Report  # noqa: E402
from main import ATTACKS  # noqa: E402
from scores import nab_choice  # noqa: E402
from scores.__main__ import app as scores  # noqa: E402

LEFT_OUT = {
    "benchmarks/rivals.py": "rivals",
    "benchmarks/scores/rivals.py": "rivals",
    "benchmarks/spark.py": "Java and its workers are slow to start, and tests/test_spark.py starts them",
    "benchmarks/scores/drift.py": "tests/test_scores_drift.py starts it",
    "benchmarks/scores/streams.py": "so it does with these",
}
TIMES = {kills: 3, flips: 6, interruptions: 13, threads: 16}  # of an attack, where once is not enough


def parts() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is started, by its file."""
    for question in run.QUESTIONS:
        yield f"benchmarks/{question.__name__}.py", question.report
    yield "benchmarks/accelerator.py", accelerator.main
    yield "benchmarks/hops.py", partial(hops.main, ["fit", "--help"])
    yield "benchmarks/scores/nab_choice.py", _nab_choice
    for command in ("nab", "changepoints"):
        yield f"benchmarks/scores {command} without data", partial(_refused, scores, command, "--data", "nowhere")
    for module in ATTACKS:
        yield f"hostile/{module.__name__}.py", partial(module.attack, TIMES.get(module, 1))
    yield "validation/searches.py", _searches
    for path in sorted((ROOT / "validation").iterdir()):
        if path.name[0] not in "_.":
            name = f"validation.{path.stem}" + (".__main__" if path.is_dir() else "")
            yield f"validation/{path.name} without data", partial(_refused, import_module(name).app)


def _nab_choice() -> None:
    table = dict(nab_choice.scored(nab_choice.simulated(count=2), nab_choice.grid()[:2]))
    print(nab_choice.lines("2 simulated series", table))


def _searches() -> None:
    size = searches.Size(seeds=1, people=2, places=5, taken=2, recovered=2)
    print(*searches.looked_lines([searches.looked_at_simulated("choices", size)]), sep="\n")


def _refused(app: Any, *words: str) -> None:
    """Start a command without the data that it needs."""
    code = app(words, standalone_mode=False)
    if code != 2:
        raise RuntimeError(f"without data it ended with {code}, not with 2")


def main() -> None:
    """Start all, say how long each took, and end with an error if one failed or a file was not started."""
    gc.set_threshold(100_000, 50, 100)  # tracing makes many objects, among which there is little to be collected
    begun, failed = time.perf_counter(), list[str]()
    for name, start in parts():
        if name in LEFT_OUT:
            continue
        before, printed = time.perf_counter(), StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                problems = _problems(start())
        except BaseException:
            problems = [traceback.format_exc()]
        print(f"{time.perf_counter() - before:5.1f} s  {name}{'  FAILED' if problems else ''}", flush=True)
        if problems:
            failed.append(name)
            print(printed.getvalue(), *problems, sep="\n", flush=True)
    failed += [f"{name}, which nothing starts" for name in _unstarted()]
    print(*(f"left out: {name}: {why}" for name, why in LEFT_OUT.items()), sep="\n")
    print(f"{time.perf_counter() - begun:.0f} s in all; " + (f"failed: {', '.join(failed)}" if failed else "all run"))
    sys.exit(bool(failed))


def _problems(found: Any) -> list[str]:
    """List what went wrong in an attack, or the numbers of a benchmark that are not as they must be."""
    if isinstance(found, Report):
        return found.failures
    return [f"{t.name}: {t.measured}, wanted {t.wanted}" for t in found or () if t.is_check and not t.met]


def _unstarted() -> list[str]:
    """List the files of the three folders that nothing has imported."""
    imported = {module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}
    files = [file for room in ("benchmarks", "hostile", "validation") for file in (ROOT / room).glob("*.py")]
    files += [file for room in ("benchmarks", "validation") for file in (ROOT / room).glob("[!.]*/*.py")]
    names = {str(file.relative_to(ROOT)) for file in files if str(file) not in imported}
    return sorted(names - LEFT_OUT.keys())


if __name__ == "__main__":
    main()
