"""How is an analysis done in Python? A script that computes the same with the library."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from astonish.models.assemble import arguments
from astonish.people.analysis.options import CompareOptions, FitOptions, RecoverOptions, TrialOptions


def fit_script(trials: TrialOptions, options: FitOptions) -> str:
    """What `run_fit` finds for each participant."""
    how = _search(options) | ({"shared": options.shared} if options.shared else {})
    return _script(
        trials,
        [options.learner],
        "fit",
        "(model,) = models",
        f"found = fit(model.model, trials, model.free, {arguments(how)})",
        "print(found.table().to_string())",
    )


def compare_script(trials: TrialOptions, options: CompareOptions, names: Sequence[str], evidence: str) -> str:
    """What `run_compare` finds for these models. evidence: what stands for it."""
    each = f"fit(each.model, trials, each.free, {arguments(_search(options))})"
    return _script(
        trials,
        names,
        "compare_fits, fit",
        f"fits = {{each.name: {each} for each in models}}",
        f"print(compare_fits(fits, evidence={evidence!r}).table.to_string())",
    )


def recover_script(trials: TrialOptions, options: RecoverOptions, names: Sequence[str], starts: int) -> str:
    """What `run_recover` finds for the parameters of each model. starts: of the fits to the real participants."""
    how = {"participants": options.participants, "seed": options.seed} | _priors(options)
    first = arguments({"starts": starts, "seed": options.seed} | _priors(options))
    return _script(
        trials,
        names,
        "fit, recover_parameters",
        "for each in models:",
        f"    people = fit(each.model, trials, each.free, {first})",
        "    truth = None if all(people.notes) else people  # of those about whom there is nothing to note",
        f"    found = recover_parameters(each.model, trials, each.free, truth=truth, {arguments(how)})",
        '    print(each.name, found.summary().to_string(), sep="\\n")',
    )


def _script(trials: TrialOptions, names: Sequence[str], functions: str, *lines: str) -> str:
    return "\n".join([
        "from pathlib import Path",
        "",
        "from astonish.people.analysis.models import candidates",
        "from astonish.people.analysis.options import TrialOptions",
        "from astonish.people.analysis.table import read_responses",
        "from astonish.cli.console import Terminal",
        f"from astonish.people.fit import {functions}",
        "",
        f"options = TrialOptions({arguments(_given(trials))})".replace("(file=", "("),
        "trials = read_responses(options)",
        "print(trials.preview())",
        f"models = candidates({list(names)!r}, options, trials, Terminal())",
        *lines,
        "",
    ])  # fmt: skip


def _given(options: TrialOptions) -> dict[str, Any]:
    """What was said, as it is written in Python."""
    said = {each.name: getattr(options, each.name) for each in fields(options)}
    defaults = {each.name: each.default for each in fields(options) if each.default is not MISSING}
    return {name: _plain(value) for name, value in said.items() if name not in defaults or value != defaults[name]}


def _plain(value: Any) -> Any:
    return _Path(value) if isinstance(value, Path) else str(value) if isinstance(value, StrEnum) else value


class _Path(str):
    """A path that is written as one, whatever the system."""

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"


def _search(options: FitOptions | CompareOptions) -> dict[str, Any]:
    return {"starts": options.starts, "seed": options.seed} | _priors(options)


def _priors(options: FitOptions | CompareOptions | RecoverOptions) -> dict[str, Any]:
    return {"priors": "usual"} if options.map else {}
