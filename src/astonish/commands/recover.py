"""What does `astonish recover` say about a design before it is fitted?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from astonish.commands import leave
from astonish.commands.fit import finished, fitted
from astonish.commands.people import Candidate, Words, candidates, read
from astonish.commands.words import guarded, progress, say
from astonish.fit import Fit, recover_models, recover_parameters, trials_needed
from astonish.page import page, paragraph, picture, section
from astonish.table import Trials

PARAMETERS = (
    "Participants with parameters like those of the real ones were simulated in their trials, and fitted as if nothing "
    "were known. All numbers are about the scale of the search: logarithms, or log-odds. coverage: how often the 95 % "
    "interval holds the true value; coverage_se: by how much it may be off by chance."
)
MODELS = (
    "Participants were simulated with each model, and all models were fitted to all of them. Rows: the model that was "
    "true. Columns: the share of participants for whom each would be chosen by BIC."
)
_STARTS = 3
NEEDED = "The same with the first trials of each participant only: how many are needed?"


def recover(
    words: Words, learners: Sequence[str], participants: int, counts: Sequence[int], seed: int, out: Path, command: str
) -> int:
    """Say whether parameters, and the right model among several, would be found; the answer is the exit code."""
    with guarded(out, "nothing was written that is not whole") as answer:
        if participants < 3:
            raise ValueError(f"--participants {participants} is too few to tell anything; give at least 3")
        trials = read(words)
        models = candidates(learners, words, trials)
        likely = {model.name: _likely(model, trials, seed, out) for model in models}
        simulation = {"participants": participants, "seed": seed}
        sections = [_parameters(model, trials, out, truth=likely[model.name], **simulation) for model in models]
        if counts:
            sections += [
                _needed(model, trials, counts, out, truth=likely[model.name], **simulation) for model in models
            ]
        if len(models) > 1:
            sections.append(_models(models, trials, out, truth=likely, **simulation))
        finished(out)
        lead = f"{participants} simulated participants with each of {', '.join(learners)}"
        leave.text(page("Would we find what is there?", lead, "", command, sections), out / "report.html")
        print(f"Report: {out / 'report.html'}")
    return answer.code


def _likely(model: Candidate, trials: Trials, seed: int, out: Path) -> Fit | None:
    """Parameters that people may have: those of the real ones, if anybody's can be told."""
    found = fitted(model, trials, (), _STARTS, seed, out)
    if not all(found.notes):
        return found
    say(f"{model.name}: nobody's parameters can be told, so they are drawn about those that the model has")
    return None


def _parameters(model: Candidate, trials: Trials, out: Path, **simulation: Any) -> str:
    with progress(f"recovering {model.name}") as told:
        found = recover_parameters(model.model, trials, model.free, told=told, **simulation)
    stem = f"recovery-{leave.named(model.name)}"
    leave.table(found.table(), out / f"{stem}.csv")
    png = leave.drawing(found.plot(), out / stem)
    print(f"{model.name}\n{found}\n")
    summary = found.summary().reset_index(names="parameter")
    caption = "Values found over true ones, with 95 % intervals; on the dashed line they are the same."
    return section(
        f"Parameters of {model.name}",
        paragraph(PARAMETERS),
        leave.shown(summary, model.name),
        picture(png, "True and found", stem, caption),
    )


def _needed(model: Candidate, trials: Trials, counts: Sequence[int], out: Path, **simulation: Any) -> str:
    with progress(f"trials needed, {model.name}") as told:
        found = trials_needed(model.model, trials, model.free, counts, told=told, **simulation)
    stem = f"trials-{leave.named(model.name)}"
    leave.table(found.table(), out / f"{stem}.csv")
    png = leave.drawing(found.plot(), out / stem)
    print(f"{model.name}, by number of trials\n{found}\n")
    caption = "Left: how well values found agree with true ones. Right: how wide their intervals are."
    return section(
        f"Trials needed for {model.name}",
        paragraph(NEEDED),
        leave.shown(found.table(), stem),
        picture(png, "By number of trials", stem, caption),
    )


def _models(
    models: Sequence[Candidate], trials: Trials, out: Path, truth: dict[str, Fit | None], **simulation: Any
) -> str:
    known = {name: found for name, found in truth.items() if found is not None}
    rivals = {model.name: (model.model, model.free) for model in models}
    with progress("recovering models") as told:
        found = recover_models(rivals, trials, truth=known, told=told, **simulation)
    matrix = found.matrix().reset_index(names="true")
    leave.table(matrix, out / "models.csv")
    png = leave.drawing(found.plot(), out / "models")
    print(found)
    caption = "Left: which model is chosen, given the true one. Right: which is true, given the one chosen."
    return section(
        "Models", paragraph(MODELS), leave.shown(matrix, "Models"), picture(png, "True and chosen", "models", caption)
    )
