"""How well do learners predict people's estimates of a probability, in sessions that they were not fitted to?

The probability task of Foucault & Meyniel (2024): people see 0 or 1, and after each outcome they say how probable a 1
is. That probability lies between 0.1 and 0.9, and is drawn anew now and then. Each session is left out in turn, the
learner is fitted to a person's others by squared error, and predicts the answers in it without being told any of them.
Others have published the mean squared errors of four learners.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from pandas import DataFrame, read_csv
from scipy.special import expit

from astonish.cli.app import guarded, progress
from astonish.core.numbers import FloatArray
from astonish.core.refusal import unknown
from astonish.learners.base import Learner
from astonish.models.parameters import with_parameters
from astonish.models.registry import LEARNERS
from astonish.online.series import run_many
from astonish.people.analysis.report import file_name, write_table
from astonish.people.fit import Estimate, Model, compare_mse, held_out
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import choose

FILE = "main_ada-prob.csv.gz"
NEEDED = (
    f"ada_prob needs a folder with {FILE}, given with --data: a row for each trial, with columns run (who), session, "
    "outcome (0 or 1) and estimate (after that outcome); from the data of Foucault & Meyniel (2024), "
    "doi 10.1162/opmi_a_00139"
)
COLUMNS = Columns("outcome", subject="run", block="session", response="estimate")
UNIT = 1000  # errors are given in thousandths


class Entry(NamedTuple):
    """A learner of the table: what it is called here and in the commands, and on which beliefs it runs.

    Its usual parameters are free, and nothing else is. published: the error that others have published, in thousandths.
    within: how near to it ours should be, as a share. tried: values of its only free parameter, of which the best is
    taken; it is searched for when left out.
    """

    label: str
    learner: str
    family: str | None = None
    settings: Mapping[str, float] = {}
    published: float | None = None
    within: float | None = None
    tried: tuple[float, ...] = ()


STARTS = 20  # searches for each person and session left out; fewer end in the lesser of two optima for some
ALL = 76  # so many hypotheses in a session of 75 trials that none is left out
HAZARDS = tuple(expit(np.linspace(-9, 7, 161)).tolist())
KEPT = tuple(expit(np.linspace(-2, 9, 111)).tolist())
READINESS = tuple(np.geomspace(1e-4, 1e2, 121).tolist())
FAINT = tuple(np.geomspace(1e-5, 10, 121).tolist())
WITHIN = {"low": 0.1, "high": 0.9}
ENTRIES = (
    Entry("delta rule", "delta", settings={"start": 0.5}, published=16.726, within=0.01),
    Entry("Pearce-Hall", "pearce-hall", settings={"start": 0.5}, published=17.539),
    Entry("volatile Kalman filter", "vkf-binary", published=16.275, within=0.01),
    Entry("HGF, two levels", "hgf2"),
    Entry("HGF, three levels", "hgf"),
    Entry(
        "message passing, 0.1 to 0.9",
        "message-passing",
        "beta-interval",
        WITHIN | {"hypotheses": ALL},
        published=14.139,
        within=0.03,
        tried=HAZARDS,
    ),
    Entry("message passing", "message-passing", settings={"hypotheses": ALL}, tried=HAZARDS),
    Entry("leaky integration, 0.1 to 0.9", "leaky", "beta-interval", WITHIN, tried=KEPT),
    Entry("leaky integration", "leaky"),
    Entry("VarSMiLe, 0.1 to 0.9", "varsmile", "beta-interval", WITHIN, tried=READINESS),
    Entry("VarSMiLe", "varsmile"),
    Entry("SMiLe, reference 0.1", "smile", settings={"reference.ones": 0.1, "reference.zeros": 0.1}, tried=FAINT),
    Entry("SMiLe", "smile"),
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def read(folder: Path) -> Trials:
    """The trials of all people."""
    path = folder / FILE
    if not path.is_file():
        raise ValueError(f"there is no file {path}. {NEEDED}")
    return read_trials(path, COLUMNS, kind="binary", responds_before=False)


def errors(entry: Entry, trials: Trials) -> DataFrame:
    """The mean squared error of each person's answers in sessions that were left out."""
    learner = choose(entry.learner, trials, entry.settings, entry.family).learner
    found = _tried(learner, entry, trials) if entry.tried else _searched(learner, entry, trials)
    return DataFrame({"run": trials.subjects, "mse": found})


def _searched(learner: Learner, entry: Entry, trials: Trials) -> FloatArray:
    """The errors at parameters that are searched for.

    The noise of answers is not free: whatever it is, the most probable parameters are those of the least squared error.
    """
    model = Model(learner, Estimate(0.1, anchored=False))
    with progress(entry.label) as report:
        found = held_out(model, trials, LEARNERS.find(entry.learner).free, starts=STARTS, progress=report)
    return np.asarray(np.nanmean(np.asarray(found.squared_error), axis=1))


def _tried(learner: Learner, entry: Entry, trials: Trials) -> FloatArray:
    """The errors at the best of values that are tried: less to compute than a search, as many people saw the same.

    All sessions are of the same length, and no outcome or answer is missing.
    """
    (name,) = LEARNERS.find(entry.learner).free
    people, sessions = len(trials.subjects), int(trials.starts[0].sum())
    outcomes, answers = (
        np.asarray(part).reshape(people * sessions, -1) for part in (trials.outcomes, trials.responses)
    )
    distinct, which = np.unique(outcomes, axis=0, return_inverse=True)
    squared = np.zeros((len(entry.tried), people, sessions))
    with progress(entry.label) as report:
        for k, value in enumerate(entry.tried):
            histories = run_many(with_parameters(learner, {name: value}), list(distinct))
            estimates = np.stack([history.estimate for history in histories])[which.ravel()]
            squared[k] = np.square(answers - estimates).mean(1).reshape(people, sessions)
            report((k + 1) / len(entry.tried))
    return _least_elsewhere(squared).mean(1)


def _least_elsewhere(squared: FloatArray) -> FloatArray:
    """For each person and session, its error at the value for which the sum over the other sessions is least.

    squared: a row for each value that was tried. Between three of them errors are taken to be a parabola.
    """
    others = squared.sum(2, keepdims=True) - squared
    middle = others.argmin(0).clip(1, len(squared) - 2)
    low, mid, high = (np.take_along_axis(others, (middle + step)[None], 0)[0] for step in (-1, 0, 1))
    bend = low - 2 * mid + high
    at = np.clip(np.divide(low - high, 2 * bend, out=np.zeros_like(bend), where=bend > 0), -1, 1)
    low, mid, high = (np.take_along_axis(squared, (middle + step)[None], 0)[0] for step in (-1, 0, 1))
    return np.asarray(mid + 0.5 * at * (high - low) + 0.5 * at * at * (low - 2 * mid + high))


def table(each: Mapping[str, FloatArray]) -> DataFrame:
    """A row for each learner, in thousandths: its error, the published one, and the difference to the first learner.

    each: the mean squared error of each person, by the labels of learners.
    """
    found = compare_mse(each)
    scaled = found[["mse", "difference", "difference_se"]] * UNIT
    known = {entry.label: entry.published for entry in ENTRIES}
    published = np.array([known[label] for label in found.index], np.float64)
    columns = {"ours": scaled["mse"], "published": published, "relative": scaled["mse"] / published - 1}
    counts = found[["best", "better"]]
    return DataFrame({**columns, **scaled[["difference", "difference_se"]], **counts}, found.index)


def as_text(found: DataFrame, entries: Sequence[Entry]) -> str:
    """The table for people, and whether errors are as near to the published ones as they should be."""
    head = (
        f"{'learner':31}{'error':>9}{'published':>11}{'apart':>9}{'difference':>22}{'best for':>10}{'better for':>12}"
    )
    lines = [head]
    for label, row in found.iterrows():
        unknown = np.isnan(row.published)
        theirs = f"{'':20}" if unknown else f"{row.published:11.3f}{row.relative:+9.2%}"
        difference = f"{row.difference:+.3f} ± {row.difference_se:.3f}"
        lines.append(f"{label!s:31}{row.ours:9.3f}{theirs}{difference:>22}{row.best:10.0f}{row.better:12.0f}")
    lines += [
        "",
        "Mean squared errors of answers in sessions left out, in thousandths; less is better. apart: ours minus the "
        "published one, as a share of that.",
        "difference: to the first learner, with its standard error over people; a negative one is better.",
    ]
    for entry in entries:
        if entry.within is not None and entry.label in found.index:
            holds = abs(found.relative[entry.label]) <= entry.within
            lines.append(f"{entry.label} within {entry.within:.0%} of the published error: {'yes' if holds else 'NO'}")
    return "\n".join(lines)


def _beyond(trials: Trials) -> float:
    """The share of answers that SMiLe cannot give: its belief is worth at most one sample, beside a flat one."""
    answers = np.asarray(trials.responses)[trials.scored]
    return float(((answers < 1 / 3) | (answers > 2 / 3)).mean())


@app.command()
def main(
    data: Annotated[Path | None, typer.Option(help="Folder of the data.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the errors of each person.")] = Path("figures/ada_prob"),
    learner: Annotated[
        list[str] | None, typer.Option(help="Only this learner of the table, and the first; once for each.")
    ] = None,
    people: Annotated[int, typer.Option(min=2, help="How many people, at most.")] = 1000,
) -> None:
    """Compare learners by how well they predict people's estimates of a probability, with the published errors.

    What is in the folder is not computed again: after an interruption the same command continues there.
    """
    with guarded(out, "fits need"):
        if data is None:
            raise ValueError(NEEDED)
        trials = read(data)
        trials = trials.only(trials.subjects[:people])
        labels = [entry.label for entry in ENTRIES]
        for label in learner or ():
            if label not in labels:
                raise unknown("learner", label, labels)
        entries = [entry for entry in ENTRIES if not learner or entry.label in (labels[0], *learner)]
        each = {}
        for entry in entries:
            path = out / f"{file_name(entry.label)}-{len(trials.subjects)}.csv"
            if not path.is_file():
                write_table(errors(entry, trials), path)
            each[entry.label] = read_csv(path).mse.to_numpy()
        found = table(each)
        write_table(found.reset_index(names="learner"), out / "table.csv")
        print(as_text(found, entries))
        print(f"Answers outside 1/3 to 2/3, where SMiLe's estimate lies beside a flat reference: {_beyond(trials):.0%}")


if __name__ == "__main__":
    app()
