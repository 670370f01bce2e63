"""Runs every test in double precision, as `run` and `Stream` compute, unless it is marked `single`.

`budget.json` says how many seconds each file may take on two idle cores. The longest run first, each file in one
process, which keeps its programs; a run says which file took more. `pytest --write-budget` writes what was measured.

The tests compile two thousand programs to run most of them once, so the compiler is told not to take pains: the same
arithmetic in half the time. Only modules marked `computes`, whose programs run for long, are compiled with care.
`XLA_FLAGS= pytest` compiles everything as users do, and so do the commands that tests start. What was compiled is kept
in .pytest_cache, for the other processes of this run and for the next run, which takes half the time.
"""

import ctypes
import gc
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import matplotlib as mpl
import pytest

from jax_versions import quick_flags

mpl.use("Agg")
HASTY = "XLA_FLAGS" not in os.environ
FLAGS = quick_flags()
CACHE = str(Path(__file__).parent.parent / ".pytest_cache" / "jax")
if HASTY:
    os.environ["XLA_FLAGS"] = FLAGS
    jax.devices()  # reads them
    del os.environ["XLA_FLAGS"]
os.environ.setdefault("ASTONISH_CACHE", str(Path(CACHE).with_name("native")))
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
gc.set_threshold(100_000, 50, 100)  # tracing makes many objects, among which there is little to be collected
BUDGET, SLACK, LEAST = Path(__file__).with_name("budget.json"), 1.3, 2.0  # a share, and seconds that may always be lost
MANY, MUCH = 40_000, 2 * 2**30  # pieces of memory, of which Linux gives a process 65530, and bytes


def _budget() -> dict[str, float]:
    seconds: dict[str, float] = json.loads(BUDGET.read_text()) if BUDGET.exists() else {}
    return seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--first", action="store_true", help="of each test, and of each promise of a contract, one case")
    parser.addoption(
        "--write-budget", action="store_true", help="write the seconds of each file into tests/budget.json"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--first"):
        first: dict[Any, pytest.Item] = {}
        for item in items:
            parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
            others = [repr(value) for name, value in parameters.items() if name != "case" and "case" in parameters]
            first.setdefault((item.nodeid.partition("[")[0], *others), item)
        config.hook.pytest_deselected(items=list(set(items) - set(first.values())))
        items[:] = first.values()
    budget = _budget()
    items.sort(key=lambda item: -budget.get(item.nodeid.partition("::")[0], 0.0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    taken: Counter[str] = Counter()
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        taken[getattr(report, "nodeid", "").partition("::")[0]] += getattr(report, "duration", 0.0)
    if config.getoption("--write-budget"):
        seconds = {file: round(time, 1) for file, time in taken.most_common() if time >= 0.5}
        BUDGET.write_text(json.dumps(seconds, indent=0) + "\n")
    for file, allowed in _budget().items():
        if taken[file] > SLACK * allowed + LEAST:
            terminalreporter.write_line(
                f"{file} took {taken[file]:.0f} s, and its budget is {allowed:.0f} s", yellow=True
            )


@pytest.fixture(scope="module", autouse=True)
def room(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compiled programs are forgotten between files before they fill the memory."""
    computes = request.node.get_closest_marker("computes") is not None
    jax.config.update("jax_disable_most_optimizations", HASTY and not computes)
    environment = dict(os.environ)
    yield
    os.environ.clear()  # commands, and packages when they are imported, set variables for a process of their own
    os.environ.update(environment)
    if Path("/proc/self/maps").exists():
        pieces = Path("/proc/self/maps").read_text().count("\n")
        assert pieces < MANY, f"after {request.node.name} there are {pieces} pieces of memory; compile fewer programs"
        if _resident(Path("/proc/self/statm")) > MUCH:
            jax.clear_caches()
            gc.collect()
            with suppress(AttributeError, OSError):  # no glibc
                ctypes.CDLL(None).malloc_trim(0)


def _resident(pages: Path) -> int:
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def compiled_alike() -> Iterator[None]:
    """Processes that the module starts compile as the tests do, so that their numbers agree to the last bit."""
    names = ("COMPILATION_CACHE_DIR", "PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES")
    settings = dict(zip((f"JAX_{name}" for name in names), (CACHE, "0", "-1"), strict=True))
    hasty = {"XLA_FLAGS": FLAGS, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"} if HASTY else {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (settings | hasty).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True)
def precision(request: pytest.FixtureRequest) -> Iterator[None]:
    """Double precision around the test, or JAX's default where it is marked so."""
    with jax.enable_x64(request.node.get_closest_marker("single") is None):
        yield
