"""Studies for `astonish sweep`, in files: those that are known by their kind, in TOML; or any, in Python."""

import runpy
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from astonish.core.refusal import unknown
from astonish.sweep.study import Study

KINDS = {  # the module and function of each, imported when it is wanted
    "gaussian": ("astonish.sweep.kinds.gaussian", "study"),
    "maze": ("astonish.paper.figure8", "study_of_maze"),
    "recovery": ("astonish.sweep.kinds.recovery", "study"),
    "models": ("astonish.sweep.kinds.recovery", "study_of_models"),
    "figure8": ("astonish.paper.figure8", "study_of_figure8"),
}
_EXAMPLE = '[[learner]] with name = "smile" and perhaps m = [0.03, 0.1]'


def read_study(path: Path) -> Study:
    """The study of a file: `.toml`, or `.py` with a `study` in it."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give one that describes a study")
    if path.suffix == ".py":
        return _in_python(path)
    try:
        content = tomllib.loads(path.read_text())
    except ValueError as problem:
        raise ValueError(f"{path} is not TOML ({problem}); give a file like those in docs/scale.md") from None
    try:
        return _from_tables(content)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def _from_tables(content: Mapping[str, Any]) -> Study:
    for word in content:
        if word not in ("study", "learner"):
            raise ValueError(f"{word!r} is not known here; give [study] and [[learner]]")
    about, learners = content.get("study"), content.get("learner", [])
    world = dict(about) if isinstance(about, dict) else {}
    kind = world.pop("kind", None)
    if kind not in KINDS:
        raise unknown("kind", str(kind), KINDS, of="[study]")
    learners = learners if isinstance(learners, list) else [learners]
    for table in learners:
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise ValueError(f"{table!r} names no learner; give {_EXAMPLE}")
    if not learners and kind != "figure8":
        raise ValueError(f"it names no learner; give {_EXAMPLE}")
    named = [{"learner": own["name"], **{word: own[word] for word in own if word != "name"}} for own in learners]
    module, function = KINDS[kind]
    return getattr(import_module(module), function)(world, named)


def _in_python(path: Path) -> Study:
    try:
        found = runpy.run_path(str(path)).get("study")
    except Exception as problem:
        raise ValueError(f"{path} could not be run ({type(problem).__name__}: {problem}); mend it") from None
    if not isinstance(found, Study):
        raise ValueError(f"{path} has no study; let it say study = astonish.sweep.Study(...)")
    return found
