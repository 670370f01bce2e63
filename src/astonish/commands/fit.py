"""What does `astonish fit` do with a table of responses, and what does it say?"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from astonish.commands import leave
from astonish.commands.people import Candidate, Words, candidate, read
from astonish.commands.words import guarded, progress, say
from astonish.fit import Fit, fit
from astonish.fit.tables import trial_by_trial
from astonish.page import page, paragraph, picture, section
from astonish.table import Trials

PARAMETERS = (
    "A row for each participant: the parameters that make the responses most probable, how many of the searches for "
    "them agreed, and what to know about them. Standard errors and intervals are in parameters.csv."
)
CAPTION = (
    "Above: the parameters of all participants, in the order of their values, with 95 % intervals. Below, for numbers: "
    "how far responses move for errors of each size (means in bins with equally many trials, and the middle half), "
    "by people and by the fitted model, and responses against those expected. For choices: how probable the model "
    "takes those that were made."
)


def fit_table(
    words: Words, learner: str, shared: Sequence[str], starts: int, seed: int, out: Path, command: str
) -> int:
    """Fit a learner to everybody's responses and write what was found; the answer is the exit code."""
    with guarded(out) as answer:
        trials = read(words)
        model = candidate(learner, words, trials)
        say(f"can such a design tell {', '.join(model.free)} at all? astonish recover, with the same words, says")
        found = fitted(model, trials, shared, starts, seed, out)
        _write(found, model, out, command)
        print(found)
        for who, why in found.excluded.items():
            print(f"left out: {who}, {why}")
        print(f"Report: {out / 'report.html'}")
    return answer.code


def fitted(model: Candidate, trials: Trials, shared: Sequence[str], starts: int, seed: int, out: Path) -> Fit:
    """The fit of a model, with a bar; participants who are finished are kept until all are."""
    keep = out / "unfinished"
    with progress(f"fitting {model.name}") as told:
        return fit(model.model, trials, model.free, shared=shared, starts=starts, seed=seed, keep=keep, told=told)


def finished(out: Path) -> None:
    """Nothing is unfinished any more."""
    shutil.rmtree(out / "unfinished", ignore_errors=True)


def _write(found: Fit, model: Candidate, out: Path, command: str) -> None:
    from astonish.fit.fit_plot import portrait

    leave.table(found.table(), out / "parameters.csv")
    leave.table(found.people(), out / "participants.csv")
    leave.table(trial_by_trial(found), out / "trials.csv")
    png = leave.drawing(portrait(found), out / "fit")
    noted = sum(map(bool, found.notes))
    lead = f"{model.name} fitted to {len(found.values)} participants; " + ", ".join(
        f"median {name} {value:.3g}" for name, value in zip(found.names, np.median(found.values, 0), strict=True)
    )
    about = f"{noted} of them come with a note. " if noted else ""
    gone = [paragraph(f"Left out: {who}, {why}.") for who, why in found.excluded.items()]
    sections = [
        section("What was read", *map(paragraph, found.trials.preview().splitlines())),
        section("Figure", picture(png, "Parameters and behaviour", "fit", CAPTION)),
        section("Participants", paragraph(about + PARAMETERS), *gone, leave.shown(found.people(), "Participants")),
    ]
    leave.text(page("A fit to people's responses", lead, str(found.model), command, sections), out / "report.html")
    finished(out)
