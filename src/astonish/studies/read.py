"""Which study does a file describe? One of those that are known by name, in TOML; or any, in Python."""

import runpy
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from astonish.sweep import Study

KINDS = ("gaussian", "maze", "recovery", "models", "figure8")  # a module each, imported when it is wanted
_EXAMPLE = '[[learner]] with name = "smile" and perhaps m = [0.03, 0.1]'


def read_study(path: Path) -> Study:
    """The study of a file: `.toml`, or `.py` with a `study` in it."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give one that describes a study")
    if path.suffix == ".py":
        return _in_python(path)
    try:
        told = tomllib.loads(path.read_text())
    except ValueError as problem:
        raise ValueError(f"{path} is not TOML ({problem}); give a file like those in docs/scale.md") from None
    try:
        return _told(told)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def _told(told: Mapping[str, Any]) -> Study:
    unknown = [word for word in told if word not in ("study", "learner")]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known here; give [study] and [[learner]]")
    about = told.get("study")
    if not isinstance(about, dict) or about.get("kind") not in KINDS:
        said = about.get("kind") if isinstance(about, dict) else None
        raise ValueError(f"kind = {said!r} is no study; give [study] with kind = one of {', '.join(KINDS)}")
    words = {word: value for word, value in about.items() if word != "kind"}
    learners = _learners(told.get("learner", []))
    if not learners and about["kind"] != "figure8":
        raise ValueError(f"it names no learner; give {_EXAMPLE}")
    return import_module(f"astonish.studies.{about['kind']}").study(words, learners)


def _learners(told: Any) -> list[dict[str, Any]]:
    for learner in told if isinstance(told, list) else [told]:
        if not isinstance(learner, dict) or not isinstance(learner.get("name"), str):
            raise ValueError(f"{learner!r} names no learner; give {_EXAMPLE}")
    return told if isinstance(told, list) else [told]


def _in_python(path: Path) -> Study:
    try:
        found = runpy.run_path(str(path)).get("study")
    except Exception as problem:
        raise ValueError(f"{path} could not be run ({type(problem).__name__}: {problem}); mend it") from None
    if not isinstance(found, Study):
        raise ValueError(f"{path} has no study; let it say study = astonish.sweep.Study(...)")
    return found
