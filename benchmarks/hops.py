"""The files that a reader opens to follow a command: those in which a function runs, in the order of the first call.

`python benchmarks/hops.py fit` and `python benchmarks/hops.py reproduce 8 --quick` print the lists of
docs/architecture.md. Files of which only a lambda, a comprehension, or a function called by an import runs are listed
apart, and so are files that only a child process reaches. The table of trials is made here.
"""

import os
import sys
import tempfile
import threading
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from pandas import DataFrame

FIT = ["--outcome", "x", "--response", "y", "--responded", "after", "--subject", "who", "--starts", "2"]


def main(words: list[str]) -> None:
    package = import_module("astonish")
    root = Path(str(package.__file__)).parent
    inside = f"{root}{os.sep}"
    opened: dict[str, None] = {}
    apart: dict[str, None] = {}
    children: list[Any] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not frame.f_code.co_flags & CO_OPTIMIZED or not path.startswith(inside):
            return
        name = Path(path.removeprefix(inside)).as_posix()
        if name in opened:
            return
        is_nameless = frame.f_code.co_name.startswith("<")
        files = apart if is_nameless or _in_import(frame, inside) else opened
        files.setdefault(name)

    def watch(event: str, words: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
            children.append(words[1] if len(words) > 1 else event)

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "trials.csv"
        rng = np.random.default_rng(1)
        who = np.repeat(["a", "b", "c"], 40)
        DataFrame({"who": who, "x": rng.normal(size=120), "y": rng.normal(size=120)}).to_csv(table, index=False)
        fit = words[0] == "fit"
        sys.argv = ["astonish", *words, *([str(table), *FIT] if fit else []), "--out", f"{folder}/out"]
        app = import_module("astonish.cli.app")
        sys.addaudithook(watch)
        sys.setprofile(note)
        threading.setprofile(note)
        try:
            app.main()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    for k, name in enumerate(opened, 1):
        print(f"{k:2} {name}")
    only_apart = [name for name in apart if name not in opened]
    print(f"only by lambdas, comprehensions or imports, {len(only_apart)}: {', '.join(only_apart)}")
    print(f"child processes: {len(children)}")


def _in_import(frame: FrameType | None, inside: str) -> bool:
    """Whether a function runs because a module is imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(inside):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
