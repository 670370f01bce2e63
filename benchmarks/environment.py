"""Processes of their own, for the rivals and for what is measured on other cores than the rest.

The rivals pin an older JAX than ours, so they have an environment of their own, beside this file, made when first
needed. The variable ASTONISH_RIVALS may name the interpreter of another one.
"""

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from timing import SMOKE

HERE = Path(__file__).parent
FOLDER = HERE / ".rivals"


def apart(measure: Callable[..., Any], *given: Any, cores: int | None = None) -> Any:
    """Call a benchmark's function in a process of its own, on all cores or some, while this process stays on one.

    What it is given and what it returns travel as JSON. A smoke run calls it in this process.
    """
    if SMOKE:
        return json.loads(json.dumps(measure(*given)))
    command = [sys.executable, __file__, Path(inspect.getfile(measure)).stem, measure.__name__, json.dumps(given)]
    with on_cores(cores):
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


@contextmanager
def on_cores(count: int | None = None) -> Iterator[None]:
    """Let processes that are started inside run on so many cores, or on all, where the system can."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # of which some may be forbidden
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ask(question: str, **what: Any) -> dict[str, Any]:
    """What `rivals.py` answers to a question, by name; nothing where there are no rivals."""
    python = None if SMOKE else interpreter()
    if python is None:
        return {}
    request = json.dumps({"question": question, "what": what})
    done = subprocess.run([python, HERE / "rivals.py"], input=request, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"\nThe rivals failed, so they are left out here: {_last_line(done.stderr)}")
        return {}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@cache
def interpreter() -> str | None:
    """The interpreter of the rivals' environment, which is made if missing; None if that fails."""
    given = os.environ.get("ASTONISH_RIVALS")
    if given:
        return given
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    return str(python) if python.exists() or _made(python) else None


def _made(python: Path) -> bool:
    print(f"\nMaking an environment for the rivals in {FOLDER} (once; a minute or more) ...", flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(HERE / "rivals.txt")]
    for command in ([sys.executable, "-m", "venv", str(FOLDER)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"That failed, so the rivals are left out: {_last_line(done.stderr)}")
            shutil.rmtree(FOLDER, ignore_errors=True)
            return False
    return True


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


if __name__ == "__main__":  # what `apart` starts
    module, function, words = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), function)(*json.loads(words))))
