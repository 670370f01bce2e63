"""`astonish recover`: would the parameters, and the right learner, be found if they were known?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from astonish.cli import options as o
from astonish.cli.console import guarded, progress, say
from astonish.cli.outputs import drawn, file_name, finish, shown, write_table
from astonish.io.files import locked
from astonish.report.page import paragraph, section

if TYPE_CHECKING:
    from astonish.cli.candidates import Candidate
    from astonish.fit import Fit

PARAMETERS = (
    "Participants with parameters like those of the real ones were simulated in their trials, and fitted as if nothing "
    "were known. All numbers are on the unconstrained scale: logarithms, or log-odds. coverage: how often the 95 % "
    "interval holds the true value; coverage_se: by how much it may be off by chance."
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


def recover(
    file: o.File,
    outcome: o.Outcome,
    response: o.ResponseColumn,
    responded: o.When,
    subject: o.Subject = None,
    block: o.Block = None,
    ignore: o.Ignore = None,
    given: o.Given = None,
    kind: o.Kind = None,
    label: o.Label = None,
    response_range: o.Range = None,
    settings: o.Settings = None,
    family: o.FamilyName = None,
    contexts: o.ContextsName = None,
    response_model: o.ResponseModel = None,
    free_running: o.FreeRunning = False,
    free_response: o.FreeResponse = None,
    learner: Annotated[list[str] | None, Option(help=f"{o.FITTED_HELP} Several: could they be told apart?")] = None,
    participants: Annotated[int, Option(help="How many to simulate with each learner.")] = 200,
    trials: Annotated[
        list[int] | None, Option(help="Also with so many trials, once for each number: how many are needed?")
    ] = None,
    seed: o.Seed = 0,
    out: o.Out = Path("recovery"),
) -> None:
    """Would the parameters, and the right learner, be found if they were known? Ask before fitting.

    astonish recover trials.csv --outcome x --response b --responded before --subject id --learner smile
    """
    options = o.TrialOptions(
        file, outcome, response, responded, subject, block, ignore, given, kind, label, response_range, settings,
        family, response_model, free_running, free_response, contexts,
    )  # fmt: skip
    with guarded(out, "fits need", stopped="every file that was written is complete"):
        from astonish.cli.candidates import candidates

        if participants < 3:
            raise ValueError(f"--participants {participants} is too few to tell anything; give at least 3")
        models = candidates(learner or ["smile"], options)
        with locked(out):
            truth = {model.name: _likely(model, seed, out) for model in models}
            how = {"participants": participants, "seed": seed}
            sections = [_parameters(model, out, truth=truth[model.name], **how) for model in models]
            if trials:
                sections += [_needed(model, trials, out, truth=truth[model.name], **how) for model in models]
            if len(models) > 1:
                sections.append(_models(models, out, truth, **how))
            lead = f"{participants} simulated participants with each of {', '.join(model.name for model in models)}"
            finish(out, "Would we find what is there?", lead, sections)


def _likely(model: "Candidate", seed: int, out: Path) -> "Fit | None":
    """A fit to the real participants, whose parameters are those that people may have; None if nobody's are known."""
    found = model.fit(_STARTS, seed, out)
    if not all(found.notes):
        return found
    say(f"{model.name}: nobody's parameters are known well, so they are drawn about those that the model has")
    return None


def _parameters(model: "Candidate", out: Path, **how: Any) -> str:
    from astonish.fit import recover_parameters

    found = model.run("recovering", recover_parameters, **how)
    stem = out / f"recovery-{file_name(model.name)}"
    write_table(found.table(), stem.with_suffix(".csv"))
    summary = found.summary().reset_index(names="parameter")
    return _section(f"Parameters of {model.name}", PARAMETERS, found, summary, stem, FOUND)


def _needed(model: "Candidate", counts: Sequence[int], out: Path, **how: Any) -> str:
    from astonish.fit import trials_needed

    found = model.run("trials needed,", trials_needed, counts, **how)
    stem = out / f"trials-{file_name(model.name)}"
    write_table(found.table(), stem.with_suffix(".csv"))
    return _section(f"Trials needed for {model.name}", NEEDED, found, found.table(), stem, BY_NUMBER)


def _models(models: "Sequence[Candidate]", out: Path, truth: "Mapping[str, Fit | None]", **how: Any) -> str:
    from astonish.fit import recover_models

    known = {name: found for name, found in truth.items() if found is not None}
    rivals = {model.name: (model.model, model.free) for model in models}
    with progress("recovering models") as report:
        found = recover_models(rivals, models[0].trials, truth=known, progress=report, **how)
    matrix = found.matrix().reset_index(names="true")
    write_table(matrix, out / "models.csv")
    return _section("Models", MODELS, found, matrix, out / "models", CHOSEN)


def _section(heading: str, about: str, found: Any, table: Any, stem: Path, caption: str) -> str:
    """Print what was found, save its figure, and describe it. table: what the report shows."""
    print(f"{heading}\n{found}\n")
    return section(heading, paragraph(about), shown(table, heading), drawn(found.plot(), stem, heading, caption))
