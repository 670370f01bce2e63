"""Simulate participants whose parameters are known, and see whether parameters and learners would be found again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from astonish.io.files import locked
from astonish.io.request import FILE
from astonish.people.analysis.models import Candidate, candidates
from astonish.people.analysis.report import (
    Console,
    drawn,
    file_name,
    methods,
    recover_script,
    shown,
    understood,
    write_report,
    write_table,
)
from astonish.people.analysis.requests import RecoverRequest
from astonish.people.analysis.table import read_responses
from astonish.people.fit import Fit, recover_models, recover_parameters, trials_needed
from astonish.people.tables.trials import ASSUMED
from astonish.report.page import paragraph, section

PARAMETERS = (
    "Participants with parameters like those of the real ones were simulated in their trials, and fitted as if nothing "
    "were known. All numbers are on the unconstrained scale: logarithms, or log-odds. coverage: how often the 95 % "
    "interval holds the true value; coverage se: by how much it may be off by chance."
)
MODELS = (
    "Participants were simulated with each model, and all models were fitted to all of them. Rows: the model that was "
    "true. Columns: the share of participants for whom each would be chosen by BIC."
)
NEEDED = "The same with the first trials of each participant only: how many are needed?"
FOUND = "Values found over true ones, with 95 % intervals; on the dashed line they are the same."
BY_NUMBER = "Left: how well values found agree with true ones. Right: how wide their intervals are."
CHOSEN = "Left: which model is chosen, given the true one. Right: which is true, given the one chosen."
_STARTS = 3


def run_recover(request: RecoverRequest, console: Console) -> None:
    """Ask whether a design can tell parameters and learners, and leave tables, figures and a report in a folder."""
    if request.participants < 3:
        raise ValueError(f"--participants {request.participants} is too few to tell anything; give at least 3")
    trials, out = read_responses(request), request.out
    console.say(trials.preview())
    models = candidates(request.learner, request, trials, console)
    with locked(out):
        request.write(out / FILE)
        truth = {model.name: _likely(model, request, console) for model in models}
        search: dict[str, Any] = {"participants": request.participants, "seed": request.seed}
        search["priors"] = "usual" if request.weak_priors else None
        sections = [understood(models), *_assumed(trials, console)]
        sections += [_parameters(model, out, truth=truth[model.name], **search) for model in models]
        if request.trials:
            sections += [_needed(model, request.trials, out, truth=truth[model.name], **search) for model in models]
        if len(models) > 1:
            sections.append(_models(models, out, truth, **search))
        simulated = (
            f"{request.participants} simulated participants with each of {', '.join(each.name for each in models)}"
        )
        weak = (
            "; all estimates are maximum a posteriori, with weak priors where values usually lie" * request.weak_priors
        )
        done = "Parameters were recovered from simulated participants, as advised by Wilson & Collins (2019)."
        how = methods(models, [done], ["recover_parameters"])
        code = recover_script(request, list(truth), _STARTS)
        write_report(console, request, "Would we find what is there?", simulated + weak, sections, how, code)


def _assumed(table: Any, console: Console) -> list[str]:
    """What simulations assume about options that were not chosen."""
    if table.options is None or table.payoffs is not None:
        return []
    console.say(f"assumed: {ASSUMED}")
    return [paragraph(f"Assumed: {ASSUMED}.")]


def _likely(model: Candidate, request: RecoverRequest, console: Console) -> Fit | None:
    """A fit to the real participants, whose parameters are those that people may have; None if nobody's are known."""
    found = model.fit(_STARTS, request.seed, request.out, priors="usual" if request.weak_priors else None)
    if not all(found.notes):
        return found
    console.say(f"{model.name}: nobody's parameters are known well, so they are drawn about those that the model has")
    return None


def _parameters(model: Candidate, out: Path, **how: Any) -> str:
    found = model.run("recovering", recover_parameters, **how)
    stem = out / f"recovery-{file_name(model.name)}"
    write_table(found.table(), stem.with_suffix(".csv"))
    summary = found.summary().reset_index(names="parameter")
    return _section(model.console, f"Parameters of {model.name}", PARAMETERS, found, summary, stem, FOUND)


def _needed(model: Candidate, counts: Sequence[int], out: Path, **how: Any) -> str:
    found = model.run("trials needed,", trials_needed, counts, **how)
    stem = out / f"trials-{file_name(model.name)}"
    write_table(found.table(), stem.with_suffix(".csv"))
    return _section(model.console, f"Trials needed for {model.name}", NEEDED, found, found.table(), stem, BY_NUMBER)


def _models(models: Sequence[Candidate], out: Path, truth: Mapping[str, Fit | None], **how: Any) -> str:
    known = {name: found for name, found in truth.items() if found is not None}
    rivals = {model.name: (model.model, model.free) for model in models}
    console = models[0].console
    with console.progress("recovering models") as report:
        found = recover_models(rivals, models[0].trials, truth=known, progress=report, **how)
    matrix = found.matrix().reset_index(names="true")
    write_table(matrix, out / "models.csv")
    return _section(console, "Models", MODELS, found, matrix, out / "models", CHOSEN)


def _section(console: Console, heading: str, about: str, found: Any, table: Any, stem: Path, caption: str) -> str:
    """Show what was found, save its figure, and describe it. table: what the report shows."""
    console.table(heading, table)
    return section(heading, paragraph(about), shown(table, heading), drawn(found.plot(), stem, heading, caption))
