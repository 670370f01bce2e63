"""Studies: settings with readable names, what to compute for each, and the folder that keeps the results.

`results/` has a file for each setting that is finished, `failed/` one for each that failed (it is tried again by the
next run), and `manifest.json` says what the study is, and what computed it: only results of one code are put together.
"""

import inspect
import json
import platform
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from pandas import DataFrame

import astonish
from astonish.io.files import DamagedError, atomic_write, locked, read, write, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Setting = Mapping[str, Any]
Result = dict[str, Any]
Versions = dict[str, str]
_NAME = re.compile(r"[\w=+,-][\w=+,.-]*(/[\w=+,-][\w=+,.-]*)*", re.ASCII)
_LONGEST = 200
_FORMAT = "astonish study"
_VERSION = 1


@dataclass(frozen=True)
class Batching:
    """How several settings are computed in one call, which is what fills an accelerator.

    compute: as `Study.compute`, for several settings. group: equal for settings that can go into one call, such as
    those with as many steps. episodes: how many a setting has side by side. memory: the bytes that an episode takes.
    """

    compute: Callable[[Sequence[Setting]], Sequence[Mapping[str, Any]]]
    group: Callable[[Setting], Hashable]
    episodes: Callable[[Setting], int]
    memory: Callable[[Setting], float]


@dataclass(frozen=True)
class Study:
    """Settings by name, and what is to be done with them.

    settings: names such as `maze/m=0.1/seed=7`, each with plain values: numbers, texts, and lists of them.
    compute: from a setting to a flat dictionary of numbers and NumPy arrays. It must depend on the setting alone: any
    seed is in there too.
    summarise: from each setting and its result, in one dictionary by name, to a table. Left out, the table has a row
    for each name.
    draw: a figure of that table, if there is one to be drawn.
    batching: how an accelerator computes several settings in one call; a processor computes each by itself.

    >>> study = Study({f"die/sides={n}": {"sides": n} for n in (4, 6)}, lambda s: {"mean": (s["sides"] + 1) / 2})
    >>> study.table({"die/sides=4": {"mean": 2.5}, "die/sides=6": {"mean": 3.5}}).to_dict("list")
    {'setting': ['die/sides=4', 'die/sides=6'], 'sides': [4, 6], 'mean': [2.5, 3.5]}
    """

    settings: Mapping[str, Setting]
    compute: Callable[[Setting], Mapping[str, Any]]
    summarise: Callable[[Mapping[str, Result]], DataFrame] | None = None
    draw: Callable[[DataFrame], "Figure"] | None = None
    batching: Batching | None = None

    def __post_init__(self) -> None:
        if not self.settings:
            raise ValueError("the study has no settings; give at least one")
        for name, setting in self.settings.items():
            if not (isinstance(name, str) and len(name) <= _LONGEST and _NAME.fullmatch(name)):
                raise ValueError(
                    f"{name!r} cannot name a setting; give letters, digits and any of = + , . - _, in parts divided "
                    f"by /, at most {_LONGEST} in all"
                )
            try:
                plain = json.loads(json.dumps(setting, allow_nan=False)) == setting
            except (TypeError, ValueError):
                plain = False
            if not plain:
                advice = "give a dictionary of plain numbers, texts and lists"
                raise ValueError(f"the setting {name} is {setting!r}; {advice}")

    def table(self, results: Mapping[str, Result]) -> DataFrame:
        """The summary of the results of all settings."""
        joined = {name: {**setting, **results[name]} for name, setting in self.settings.items()}
        if self.summarise is not None:
            return self.summarise(joined)
        return DataFrame([{"setting": name, **about} for name, about in joined.items()])


def checked_result(setting: Setting, result: Any) -> Result:
    """A result with its numbers as Python's and its arrays as NumPy's, or an error that says what is wrong with it."""
    if not isinstance(result, Mapping):
        raise TypeError(f"compute gave {result!r}; let it give a dictionary of numbers and arrays")
    for name, value in result.items():
        if not isinstance(name, str) or name in setting:
            raise ValueError(f"the result has {name!r}, which is no name or one that the setting has; give it another")
        if np.asarray(value).dtype.kind not in "biufc":
            raise TypeError(f"the result has {name} = {value!r}; give numbers, or arrays of numbers")
    arrays = {name: np.asarray(value) for name, value in result.items()}
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}


class JobResult(NamedTuple):
    """Results of a job, or why there are none; and by which code, and on what, they were computed."""

    results: dict[str, Result]
    failed: dict[str, str]
    versions: Versions
    device: str
    batch_size: int


@cache
def code() -> str:
    """A fingerprint of the library."""
    return _hash_of(sorted(Path(astonish.__file__).parent.rglob("*.py")))


def versions() -> Versions:
    """The versions of the library and of what it rests on."""
    return {"astonish": astonish.__version__, "code": code(), "jax": jax.__version__, "numpy": np.__version__}


def device() -> str:
    """What kind of device computes here; the same kind gives the same numbers to the last digit."""
    first = jax.devices()[0]
    return "cpu" if first.platform == "cpu" else str(first.device_kind)


def described(device: str, batch_size: int) -> str:
    """In words, on what something was computed."""
    return f"{device}, in batches of {batch_size} episodes" if batch_size else device


def fingerprint(compute: Any) -> str:
    """Of a function that is not part of the library: of its file, or of its package, or of itself without a file."""
    while isinstance(compute, partial):
        compute = compute.func
    function = compute if inspect.isfunction(compute) or inspect.ismethod(compute) else type(compute)
    package, _, module = str(function.__module__).rpartition(".")
    if (package or module).partition(".")[0] == "astonish":
        return "of the library"
    try:
        file = Path(inspect.getfile(function))
        return _hash_of(sorted(file.parent.glob("*.py")) if package else [file])
    except (OSError, TypeError):
        return sha256(getattr(getattr(function, "__code__", None), "co_code", b"")).hexdigest()[:16]


def _hash_of(files: Iterable[Path]) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Store:
    """A folder with the results of one study and of one code, and of nothing else."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        self.versions = {**versions(), "study": fingerprint(study.compute)}
        self.device: tuple[str, int] | None = None  # and batch size, of the results that there are

    @contextmanager
    def opened(self, recompute: bool, say: Callable[[str], Any]) -> Iterator[dict[str, Result]]:
        """Lock the folder; what is given are the results that are finished.

        recompute: results of other settings, or of other code, are computed again; else they are refused. say: is
        called with sentences about what cannot be used.
        """
        self._check_manifest(say)
        with locked(self.path):
            yield self._finished(recompute, say)

    def _finished(self, recompute: bool, say: Callable[[str], Any]) -> dict[str, Result]:
        """Read the results that are of this study and this code."""
        for leftover in self.path.glob("results/**/.*.npz.*"):  # what a killed run left
            leftover.unlink()
        files = {self._result_file(name): name for name in self.study.settings}
        there = set(self.path.glob("results/**/*.npz"))
        results, stale = {}, []
        for path, name in files.items():
            if path not in there:
                continue
            try:
                arrays, about = read(path, "result")
            except DamagedError:
                arrays, about = {}, {}
            if about.get("name") != name:
                say(f"{path} is damaged; it is computed again")
                continue
            pairs: Any = (about["setting"], self.study.settings[name]), (about["versions"], self.versions)
            changes = [
                f"{word} was {old.get(word)}, is {new.get(word)}"
                for old, new in pairs
                for word in {**old, **new}
                if old.get(word) != new.get(word)
            ]
            if changes:
                stale.append(f"{name} ({changes[0]})")
            else:
                results[name] = {word: array if array.ndim else array.item() for word, array in arrays.items()}
                self.device = about["device"], about["batch_size"]
        if stale and not recompute:
            raise ValueError(
                f"{self.path} holds results of another study or of other code: {len(stale)}, such as {stale[0]}; "
                "give another folder, or have them computed again (--recompute)"
            )
        others = there - files.keys()
        if others and not recompute:
            say(f"{len(others)} results in {self.path} are of no setting of this study; they are left alone")
        if stale:
            say("results of another study or of other code are computed again")
        if 0 < len(results) < len(files):
            say(f"{len(results)} of {len(files)} settings are finished already")
        return results

    def check_device(self, batch_size: int) -> None:
        """Refuse to continue here what was begun on another device: the last digits would differ."""
        here = device(), batch_size
        if self.device not in (None, here):
            raise ValueError(
                f"{self.path} holds results of {described(*self.device)}, and this is {described(*here)}, whose last "
                "digits differ; continue as it was begun, or give another folder"
            )

    def record(self, computed: JobResult) -> JobResult:
        """Store what a worker computed; its results count as failed if they cannot be put together with the others.

        The same result gives the same bytes.
        """
        where, failures = (computed.device, computed.batch_size), self.path / "failed"
        mismatches = [
            f"a worker has {word} {version}, here is {self.versions[word]}; install the same there"
            for word, version in computed.versions.items()
            if self.versions[word] != version
        ]
        if self.device not in (None, where):
            begun = described(*self.device)
            mismatches.append(f"a worker computed on {described(*where)}, others on {begun}: last digits differ")
        if mismatches:
            refused = dict.fromkeys(computed.results, mismatches[0])
            computed = computed._replace(results={}, failed=computed.failed | refused)
        for name, result in computed.results.items():
            self.device = where
            about = {"name": name, "setting": dict(self.study.settings[name]), "versions": self.versions}
            with atomic_write(self._result_file(name)) as file:
                write(file, "result", result, {**about, "device": computed.device, "batch_size": computed.batch_size})
            (failures / f"{name}.txt").unlink(missing_ok=True)
        for name, why in computed.failed.items():
            write_text(failures / f"{name}.txt", f"{name}\n{json.dumps(self.study.settings[name])}\n\n{why}")
        return computed

    def describe(self, executor: str, failed: Mapping[str, str]) -> None:
        """Write what the study is, and what computed it."""
        settings = {name: dict(setting) for name, setting in self.study.settings.items()}
        seeds = sorted({setting["seed"] for setting in settings.values() if isinstance(setting.get("seed"), int)})
        about = {
            "format": _FORMAT,
            "version": _VERSION,
            "versions": {**self.versions, "python": platform.python_version()},
            "executor": executor,
            "device": None if self.device is None else described(*self.device),
            "failed": sorted(failed),
            "seeds": seeds,
            "settings": settings,
        }
        write_text(self.path / "manifest.json", json.dumps(about, indent=1))

    def _result_file(self, name: str) -> Path:
        return self.path / "results" / f"{name}.npz"

    def _check_manifest(self, say: Callable[[str], Any]) -> None:
        path = self.path / "manifest.json"
        try:
            about = json.loads(path.read_text())
            kind, version = about["format"], about["version"]
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            kind, version = None, 0
        if kind != _FORMAT and any(self._result_file(name).is_file() for name in self.study.settings):
            say(f"{path} is damaged; results are used without it, since it only describes them")
        elif kind != _FORMAT:
            raise ValueError(f"{path} is not of a study; give another folder")
        if version > _VERSION:
            raise ValueError(f"{path} has format version {version}; this library reads up to {_VERSION}")
