"""What has been finished already, and may it be trusted? The folder of a sweep.

`results/` has a file for each setting that is finished, `failed/` one for each that failed (it is tried again by the
next run), and `manifest.json` says what the study is, and what computed it.
"""

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from astonish.files import alone, whole
from astonish.sweep.made import Made, device, fingerprint, place, versions
from astonish.sweep.results import Kept, load, save
from astonish.sweep.study import Result, Study

_FORMAT = "astonish sweep"
_VERSION = 1


class Folder:
    """Results of one study and of one code, and of nothing else."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        self.made = {**versions(), "study": fingerprint(study.compute)}
        self.place: tuple[str, int] | None = None  # device and episodes at once of the results that there are

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others out for a while."""
        self._check_manifest()
        with alone(self.path) as free:
            if not free:
                raise ValueError(f"another sweep is at work in {self.path}; wait for its end, or give another folder")
            yield

    def open(self, anew: bool) -> tuple[dict[str, Result], list[str]]:
        """The results that are finished, and what is to be said about others.

        anew: results of other settings, or of other code, are computed anew; else they are refused, and left alone.
        """
        for leftover in self.path.glob("results/**/.*.npz.*"):  # what a killed run left
            leftover.unlink()
        results, damaged, stale = self._read()
        if stale and not anew:
            raise ValueError(
                f"{self.path} holds results of another study or of other code: {len(stale)}, such as {stale[0]}; "
                "give another folder, or ask for them anew (--anew)"
            )
        known = {self.result_file(name) for name in self.study.settings}
        others = sum(path not in known for path in self.path.glob("results/**/*.npz"))
        counted = {
            f"{others} results in {self.path} are of no setting of this study; they are left alone": others,
            f"{len(stale)} results are of another study or of other code, and computed anew": len(stale),
            f"{len(results)} of {len(self.study.settings)} settings are finished already": len(results),
        }
        sentences = [f"{path} is damaged; it is computed anew" for path in damaged]
        return results, sentences + [sentence for sentence, count in counted.items() if count]

    def _read(self) -> tuple[dict[str, Result], list[Path], list[str]]:
        """The results that are finished, files that are damaged, and which results are of something else."""
        results, damaged, stale = {}, [], []
        for name in self.study.settings:
            path = self.result_file(name)
            if not path.is_file():
                continue
            kept = load(path)
            if kept is None or kept.name != name:
                damaged.append(path)
            elif change := self._change(kept):
                stale.append(f"{name} ({change})")
            else:
                results[name], self.place = kept.result, (kept.device, kept.at_once)
        return results, damaged, stale

    def check_place(self, at_once: int) -> None:
        """Refuse to go on here with what was begun otherwise: the last digits would be others."""
        here = device(), at_once
        if self.place not in (None, here):
            raise ValueError(
                f"{self.path} holds results of {place(*self.place)}, and here computes {place(*here)}, which has "
                "other last digits; go on as it was begun, or give another folder"
            )

    def odd(self, made: Made, where: tuple[str, int]) -> str:
        """What is wrong with results that somebody else has computed; nothing if they go with the others."""
        for word, version in made.items():
            if self.made[word] != version:
                return f"a worker has {word} {version}, here is {self.made[word]}; install the same there"
        if self.place not in (None, where):
            return f"a worker computed on {place(*where)}, others on {place(*self.place)}, with other last digits"
        return ""

    def keep(self, name: str, result: Result, where: tuple[str, int]) -> None:
        """A result that is finished."""
        self.place = where
        save(self.result_file(name), Kept(name, self.study.settings[name], self.made, *where, result))
        self._failed_file(name).unlink(missing_ok=True)

    def fail(self, name: str, why: str) -> None:
        """A setting that failed, and why."""
        setting = json.dumps(self.study.settings[name])
        with whole(self._failed_file(name)) as file:
            file.write(f"{name}\n{setting}\n\n{why}".encode())

    def describe(self, engine: str, failed: Mapping[str, str]) -> None:
        """What the study is, and what computed it, for whoever finds the folder."""
        settings = {name: dict(setting) for name, setting in self.study.settings.items()}
        seeds = sorted({setting["seed"] for setting in settings.values() if isinstance(setting.get("seed"), int)})
        about = {
            "format": _FORMAT,
            "version": _VERSION,
            "made": {**self.made, "python": platform.python_version()},
            "engine": engine,
            "device": None if self.place is None else place(*self.place),
            "failed": sorted(failed),
            "seeds": seeds,
            "settings": settings,
        }
        with whole(self.path / "manifest.json") as file:
            file.write(json.dumps(about, indent=1).encode())

    def result_file(self, name: str) -> Path:
        """Where the result of a setting is."""
        return self.path / "results" / f"{name}.npz"

    def _failed_file(self, name: str) -> Path:
        return self.path / "failed" / f"{name}.txt"

    def _change(self, kept: Kept) -> str:
        """What is other now than when the result was computed."""
        pairs: tuple[tuple[Any, Any], ...] = ((kept.setting, self.study.settings[kept.name]), (kept.made, self.made))
        for old, new in pairs:
            for word in {**old, **new}:
                if old.get(word) != new.get(word):
                    return f"{word} was {old.get(word)}, is {new.get(word)}"
        return ""

    def _check_manifest(self) -> None:
        path = self.path / "manifest.json"
        if not path.exists():
            return
        try:
            about = json.loads(path.read_text())
            kind, version = about["format"], about["version"]
        except (ValueError, KeyError, TypeError):
            kind, version = None, 0
        if kind != _FORMAT:
            raise ValueError(f"{path} is not of a sweep; give another folder")
        if version > _VERSION:
            raise ValueError(f"{path} has format version {version}; this library reads up to {_VERSION}")
