"""Where are the results of a study kept, and which of them can be used again?

`results/` has a file for each setting that is finished, `failed/` one for each that failed (it is tried again by the
next run), and `manifest.json` says what the study is, and what computed it.
"""

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from astonish.io.files import DamagedError, atomic_write, locked, read, write, write_text
from astonish.sweep.jobs import JobResult
from astonish.sweep.provenance import described, device, fingerprint, versions
from astonish.sweep.study import Result, Study

_FORMAT = "astonish study"
_VERSION = 1


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
        for leftover in self.path.glob("results/**/.*.npz.*"):  # what a killed run left
            leftover.unlink()
        files = {self._result_file(name): name for name in self.study.settings}
        there = set(self.path.glob("results/**/*.npz"))
        results, stale = self._read({name: path for path, name in files.items() if path in there}, say)
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

    def _read(self, files: Mapping[str, Path], say: Callable[[str], Any]) -> tuple[dict[str, Result], list[str]]:
        """The results in these files, and which of them are of something else, and of what."""
        results, stale = {}, []
        for name, path in files.items():
            try:
                arrays, about = read(path, "result")
            except DamagedError:
                arrays, about = {}, {}
            if about.get("name") != name:
                say(f"{path} is damaged; it is computed again")
            elif change := self._change(name, about):
                stale.append(f"{name} ({change})")
            else:
                results[name] = {each: array if array.ndim else array.item() for each, array in arrays.items()}
                self.device = about["device"], about["batch_size"]
        return results, stale

    def check_device(self, batch_size: int) -> None:
        """Refuse to continue here what was begun on another device: the last digits would differ."""
        here = device(), batch_size
        if self.device not in (None, here):
            raise ValueError(
                f"{self.path} holds results of {described(*self.device)}, and this is {described(*here)}, whose last "
                "digits differ; continue as it was begun, or give another folder"
            )

    def record(self, found: JobResult) -> JobResult:
        """Store what a worker found; its results count as failed if they cannot be put together with the others.

        The same result gives the same bytes.
        """
        if found.results and (mismatch := self._mismatch(found)):
            found = found._replace(results={}, failed=found.failed | dict.fromkeys(found.results, mismatch))
        for name, result in found.results.items():
            self.device = found.device, found.batch_size
            about = {"name": name, "setting": dict(self.study.settings[name]), "versions": self.versions}
            with atomic_write(self._result_file(name)) as file:
                write(file, "result", result, {**about, "device": found.device, "batch_size": found.batch_size})
            self._failed_file(name).unlink(missing_ok=True)
        for name, why in found.failed.items():
            write_text(self._failed_file(name), f"{name}\n{json.dumps(self.study.settings[name])}\n\n{why}")
        return found

    def _mismatch(self, found: JobResult) -> str:
        """Why results of a worker cannot be put together with the others; nothing if they can."""
        for word, version in found.versions.items():
            if self.versions[word] != version:
                return f"a worker has {word} {version}, here is {self.versions[word]}; install the same there"
        where = found.device, found.batch_size
        if self.device not in (None, where):
            return f"a worker computed on {described(*where)}, others on {described(*self.device)}: last digits differ"
        return ""

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

    def _failed_file(self, name: str) -> Path:
        return self.path / "failed" / f"{name}.txt"

    def _change(self, name: str, about: Mapping[str, Any]) -> str:
        """What is other now than when the result was computed."""
        pairs: Any = (about["setting"], self.study.settings[name]), (about["versions"], self.versions)
        for old, new in pairs:
            for word in {**old, **new}:
                if old.get(word) != new.get(word):
                    return f"{word} was {old.get(word)}, is {new.get(word)}"
        return ""

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
