"""How are words refused that are not known, questions that cannot be answered, and imports of what is not installed?"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

EXTRAS = {  # which modules each of them installs, besides those of other extras
    "cli": ("pydantic", "rich", "typer"),
    "cluster": ("dask", "distributed"),
    "excel": ("openpyxl",),
    "frames": ("narwhals", "pandas"),
    "native": ("llvmlite",),
    "page": ("anyio", "starlette", "uvicorn"),
    "parquet": ("pyarrow",),
    "plots": ("matplotlib",),
    "posteriors": ("arviz_base", "arviz_stats", "h5netcdf", "h5py", "numpyro", "xarray"),
    "river": ("river",),
    "sklearn": ("sklearn",),
    "spark": ("pyspark",),
    "worlds": ("gymnasium",),
}


def unknown(what: str, word: str, known: Iterable[Any], of: str = "") -> ValueError:
    """The error for a word that is none of those known. of: what it would belong to.

    >>> print(unknown("learner", "smil", ["smile", "delta"]))
    there is no learner 'smil'; did you mean 'smile'? Known are smile, delta
    """
    words = [str(each) for each in known]
    meant = did_you_mean(word, words)
    listed = f"{'Known' if meant else 'known'} are {', '.join(words)}" if words else "none are known"
    return ValueError(f"there is no {what} {word!r}{f' of {of}' if of else ''}; {meant}{listed}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that names the known word that is most like this one; empty if none is like it."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]!r}? " if close else ""


def cannot_continue(who: str) -> ValueError:
    """The error for a learner, or a belief, that cannot go on from another estimate than its own."""
    advice = "give a response that is not anchored (--free-running), or another learner"
    return ValueError(f"{who} cannot go on from someone's answer; {advice}")


class NoSimulationError(ValueError):
    """Samples were to be drawn from something without a model of how they come about."""


def cannot_simulate(who: str) -> NoSimulationError:
    """The error for a learner, or a family, without a model of how samples come about."""
    advice = "give a series in which nothing changes to Detector.calibrated"
    return NoSimulationError(f"{who} does not say how samples come about, so none can be drawn; {advice}")


class NotInstalledError(ModuleNotFoundError):
    """A package is missing that one of the library's extras installs, or that somebody's own code needs."""


def not_installed(needs: str, module: str) -> NotInstalledError:
    """The error for a module that is missing. needs: what needs it, with the verb.

    >>> print(not_installed("the page needs", "starlette.routing"))
    the page needs starlette, which is not installed; pip install 'astonish[page]'
    """
    package = module.partition(".")[0]
    wanted = next((f"'astonish[{extra}]'" for extra, modules in EXTRAS.items() if package in modules), package)
    return NotInstalledError(f"{needs} {package}, which is not installed; pip install {wanted}", name=package)


@contextmanager
def naming_extra(needs: str) -> Iterator[None]:
    """Imports inside that fail say which extra has what is missing; for a function, as a decorator."""
    try:
        yield
    except ModuleNotFoundError as problem:
        if (problem.name or "astonish").partition(".")[0] == "astonish":  # a mistake of ours
            raise
        raise not_installed(needs, str(problem.name)) from None


def check_installed(needs: str, *modules: str) -> None:
    """Refuse to go on without these modules, which are not imported yet."""
    for module in modules:
        if find_spec(module) is None:
            raise not_installed(needs, module)
