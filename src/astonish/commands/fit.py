"""What does `astonish fit` do with a table of responses, and what does it say?"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from astonish.commands import leave
from astonish.commands.people import Candidate, Words, candidates, read
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

GROUP = (
    "Mean of the group, its standard deviation on the scale of the search (logarithms of what has one bound, log-odds "
    "of what has two), and what is shared; with 95 % intervals. Participants' own are in posterior.csv, all "
    "draws with the log-likelihood of each response in posterior.nc, for ArviZ."
)
CHECKS = (
    "Of all participants: what was observed, what participants with drawn parameters would do instead (mean and 95 % "
    "interval), and the share of these that exceed what was observed (p): near 0 or 1, the model misses something."
)


def fit_table(
    words: Words, learner: str, shared: Sequence[str], starts: int, seed: int, draws: int, out: Path, command: str
) -> int:
    """Fit a learner to everybody's responses and write what was found; the answer is the exit code.

    draws: of each chain from the posterior of participants and group; 0 for none.
    """
    with guarded(out) as answer:
        trials = read(words)
        (model,) = candidates([learner], words, trials)
        say(f"can such a design tell {', '.join(model.free)} at all? astonish recover, with the same words, says")
        found = fitted(model, trials, shared, starts, seed, out)
        more = _posterior(model, trials, shared, seed, draws, out) if draws else []
        _write(found, model, more, out, command)
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


def _posterior(model: Candidate, trials: Trials, shared: Sequence[str], seed: int, draws: int, out: Path) -> list[str]:
    """Draw from the posterior, and say what it is."""
    from astonish.fit.posteriors import hierarchical

    with progress(f"drawing from the posterior of {model.name}") as told:
        found = hierarchical(model.model, trials, model.free, shared=shared, draws=draws, seed=seed, told=told)
    table, checks = found.table(), found.predictive(seed)
    leave.table(table, out / "posterior.csv")
    leave.table(checks, out / "predictive.csv")
    found.save(out / "posterior.nc")
    print(found, end="\n\n")
    warned = [paragraph(f"Beware: {warning}.") for warning in found.warnings]
    everyone = checks[checks["participant"] == ""]
    return [
        section("The group", paragraph(GROUP), *warned, leave.shown(table[table["kind"] != "participant"], "Group")),
        section("Would such people behave so?", paragraph(CHECKS), leave.shown(everyone, "Predictive checks")),
    ]


def _write(found: Fit, model: Candidate, more: Sequence[str], out: Path, command: str) -> None:
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
        *more,
        section("Participants", paragraph(about + PARAMETERS), *gone, leave.shown(found.people(), "Participants")),
    ]
    leave.text(page("A fit to people's responses", lead, str(found.model), command, sections), out / "report.html")
    finished(out)
