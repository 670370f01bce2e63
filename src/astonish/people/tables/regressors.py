"""Regressors for pupils, EEG and fMRI: surprise, learning rate and more of a learner, trial by trial.

Written for tools for EEG, MEG and fMRI, they follow the Brain Imaging Data Structure (Gorgolewski et al. 2016): a file
of events for each participant and run, what their columns mean, and a description of the whole.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from warnings import warn

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from astonish import __version__
from astonish.core.names import MEASURED, NUMBERS, OutcomeKind
from astonish.core.numbers import PROBABILITY, Domain, FloatArray, Number, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.refusal import unknown
from astonish.core.special import difference
from astonish.io.files import atomic_write, write_text
from astonish.learners.base import Learner, State, advance, check, failed, newly_failed
from astonish.models.parameters import find_parameter, parameters, with_parameters
from astonish.online.explanation import Explanation, explain
from astonish.online.measures import (
    COLUMNS,
    applicable,
    check_holds_a_belief,
    in_order,
    meaning,
    measures_and_quantities,
)
from astonish.online.series import to_common_length
from astonish.people.tables import cells
from astonish.people.tables.trials import Trials
from astonish.theory.novelty import novelty

OWN = "surprise"
ALL = "all"
NOVELTY = "novelty"
_WITH_CHANGE = "_with_change"
_FAILED = "failed"  # at a trial, in what is recorded
_OTHERS = {
    "learning_rate": "weight of the outcome in what the learner then thought, from 0 to 1",
    "prediction": "estimate just before the outcome",
    "estimate": "estimate just after the outcome",
    "prediction_error": "outcome minus prediction",
    "uncertainty": "standard deviation of the belief just before the outcome",
    "change_probability": "probability, once the outcome is known, that the world changed just before it",
    "value": "estimate of an option just before the choice",
    NOVELTY: "minus the logarithm of how often the outcome had been met before",
}


def regressors(
    learner: Learner,
    trials: Trials,
    measures: Sequence[str] | None = None,
    hazard: float | None = None,
    prefix: str = "",
) -> pd.DataFrame:
    """Run a learner over every block of every participant: the table row for row, and columns of what it made of them.

    Where an outcome is missing, so are they. It warns if the learner failed (see `Learner.failures`).

    Args:
        learner: The learner.
        trials: The table.
        measures: Which surprises: "surprise", the learner's own, as when left out; names from `measures.COLUMNS`, or
            of the learner's own quantities (see `Learner.quantities`); or "all" that apply. "novelty" comes beside
            them.
        hazard: The probability of a change before each trial, for measures that end in "_with_change".
        prefix: Goes before the names of the new columns.

    >>> from pandas import DataFrame
    >>> from astonish import Gaussian, Smile
    >>> from astonish.people.tables import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, None, 2.0, 9.0]}), Columns("x"))
    >>> table = regressors(Smile(Gaussian(noise=1.0)), trials)
    >>> table[["x", "surprise", "prediction"]].round(2).values.tolist()
    [[1.0, 0.5, 0.0], [nan, nan, nan], [2.0, 1.59, 0.22], [9.0, 32.99, 0.88]]
    """
    check(learner)
    trials.check_angles(learner)
    domains, (parts, structure) = jax.tree.leaves(learner.samples), jax.tree.flatten(trials.outcomes)
    if [domain.shape for domain in domains] != [part.shape[2:] for part in parts]:
        raise ValueError(f"{type(learner).__name__} does not learn from outcomes that are {trials.kind}")
    for domain, part in zip(domains, parts, strict=True):
        domain.check("an outcome", part[trials.observed])
    read = [part if domain.is_index else part.astype(np.float64) for domain, part in zip(domains, parts, strict=True)]
    samples = jax.tree.unflatten(structure, read)
    names = (OWN,) if measures is None else (measures,) if isinstance(measures, str) else tuple(measures)
    counted = {NOVELTY: _novelty(trials)} if NOVELTY in names else {}
    surprises = tuple(name for name in names if name != NOVELTY)
    wanted = _wanted(learner, surprises or (OWN,) if counted else names, hazard)
    given = {}
    for name, values in trials.given.items():
        parameter = find_parameter(parameters(learner), name)
        column = f"{trials.columns.given[name]}, which gives {name},"
        given[parameter.path] = parameter.known.domain.check(column, values)
    with double():
        people, length = trials.observed.shape
        arrays = to_common_length(to_common_length((samples, trials.observed, trials.starts, given), axis=1), least=1)
        recorded = jax.device_get(_record(as_double(learner), *arrays, length, hazard, wanted))
    recorded = {name: values[:people, :length] for name, values in recorded.items() if values is not None} | counted
    failures = float(np.sum(recorded.pop(_FAILED, 0.0)))
    if failures:
        warn(failed(learner, failures), stacklevel=2)
    columns = _columns(trials, recorded, learner.period)
    new = {prefix + name: trials.to_rows(values, trials.observed) for name, values in columns}
    taken = next((name for name in new if name in trials.frame), None)
    if taken is not None:
        raise ValueError(f"the table already has a column {taken!r}; give a prefix for the new ones (--prefix)")
    return trials.frame.assign(**new)


def describe(column: str, learner: Learner | None = None) -> str:
    """Say in a sentence what a column of `regressors` means. learner: whose quantities may be among the columns.

    >>> describe("prediction_error")
    'outcome minus prediction'
    """
    quantities = {} if learner is None else learner.meanings
    meanings = {**_OTHERS, OWN: "the learner's own measure of surprise", **quantities}
    if column in meanings:
        return meanings[column]
    if column in COLUMNS:
        return meaning(column)
    name, _, label = column.partition("_")
    return f"{_OTHERS[name]}, of {label}"


def _wanted(learner: Learner, names: tuple[str, ...], hazard: float | None) -> tuple[str, ...]:
    """List the measures and quantities that are asked for, or refuse."""
    apply = () if names == (OWN,) else applicable(learner, hazard)
    known = (ALL, OWN, *in_order((*COLUMNS, *apply)))
    for name in names:
        if name not in known:
            raise unknown("measure", name, (*known, NOVELTY))
        if name.endswith(_WITH_CHANGE) and hazard is None:
            raise ValueError(f"{name} needs the probability of a change before each trial; give hazard")
    if hazard is not None:
        PROBABILITY.check("hazard", hazard)
        if not any(name == ALL or name.endswith(_WITH_CHANGE) for name in names):
            raise ValueError(f"hazard = {hazard:g} is for measures that end in {_WITH_CHANGE}; ask for some, or all")
    for name in names:
        if name in COLUMNS and name not in apply:
            check_holds_a_belief(learner)
            raise ValueError(f"{name} does not apply to these outcomes; what does is {', '.join(apply)}")
    return (OWN, *apply) if ALL in names else names


def _novelty(trials: Trials) -> FloatArray:
    """Reckon the novelty of each outcome in its block; of a transition, that of the state that it leads to."""
    if trials.kind in MEASURED:
        raise ValueError("novelty is of outcomes that can be met again, such as labels; these are numbers")
    states = trials.scalar_outcomes
    values = np.full(trials.observed.shape, np.nan)
    for row, (seen, starts) in enumerate(zip(trials.observed, trials.starts, strict=True)):
        blocks = np.cumsum(starts)
        for block in np.unique(blocks):
            at = np.flatnonzero((blocks == block) & seen)
            values[row, at] = novelty(states[row, at].astype(int), max(2, len(trials.labels or ())))
    return values


@partial(compiled, static_argnames="wanted")
def _record(
    learner: Learner,
    samples: Any,
    observed: Any,
    starts: Any,
    given: Any,
    length: Number,
    hazard: Any,
    wanted: tuple[str, ...],
) -> dict[str, Any]:
    """Record what the learner makes of each trial, from its own start in each block, a row for each participant."""

    def step(state: State, at: tuple[Any, Any, Any, Any]) -> tuple[State, dict[str, Any]]:
        x, seen, start, values = at
        now = with_parameters(learner, values)
        before = jax.tree.map(lambda fresh, old: jnp.where(start, fresh, old), now.init(), state)
        after, info = advance(now, before, x, seen)
        (inner, held, _), (_, left, _) = now.in_context(before, x), now.in_context(after, x)
        prediction, read = inner.estimate(held), now.estimate_at(before, x)  # the latter is of all options
        measured = measures_and_quantities(now, before, after, x, hazard) if wanted != (OWN,) else {}
        return after, {
            **{name: value for name, value in {OWN: info.surprise, **measured}.items() if name in wanted},
            "learning_rate": info.learning_rate,
            "prediction": prediction,
            "estimate": inner.estimate(left),
            "uncertainty": inner.uncertainty(held),
            "change_probability": info.change_probability,
            "value": None if jnp.shape(read) == jnp.shape(prediction) else read,
            _FAILED: newly_failed(inner, held, left),
        }

    def one(*series: Any) -> dict[str, Any]:
        first = with_parameters(learner, {path: values[0] for path, values in series[-1].items()}).init()
        return loop(step, first, series, length)[1]

    return jax.vmap(one)(samples, observed, starts, given)


def _columns(trials: Trials, recorded: dict[str, Any], period: Number | None) -> Iterator[tuple[str, FloatArray]]:
    """Write what was recorded as columns of numbers; an estimate of several has one for each label."""
    if trials.kind in (*NUMBERS, *MEASURED):
        recorded["prediction_error"] = difference(trials.scalar_outcomes, recorded["prediction"], period)
    for name in (OWN, *in_order(set(recorded) - {OWN, *_OTHERS}), *_OTHERS):
        values = recorded.get(name)
        if values is not None and values.ndim == 2:
            yield name, values
        elif values is not None:
            labels = (trials.options if name == "value" else trials.labels) or range(values.shape[-1])
            yield from ((f"{name}_{label}", values[..., k]) for k, label in enumerate(labels))


def explain_trial(learner: Learner, trials: Trials, subject: str, at: float) -> Explanation:
    """Explain a trial of a participant, after those of the same block that came before it; see `explain`.

    Args:
        learner: The learner.
        trials: The table.
        subject: The participant.
        at: Which of the participant's trials, counted from 0.

    >>> from pandas import DataFrame
    >>> from astonish import Dirichlet, Smile
    >>> from astonish.people.tables import Columns, read_trials
    >>> table = DataFrame({"saw": ["red", "red", "green", "blue"]})
    >>> trials = read_trials(table, Columns("saw"))
    >>> explain_trial(Smile(Dirichlet(3), m=1.0), trials, "1", at=3).sentence[:42]
    'Expected blue with probability .26 and saw'
    """
    if trials.given:
        given = ", ".join(trials.given)
        raise ValueError(f"{given} is given trial by trial, which cannot be explained yet; read the table without it")
    if subject not in trials.subjects:
        raise ValueError(f"there is no participant {subject!r}; give one of {', '.join(trials.subjects)}")
    row = trials.subjects.index(subject)
    places = np.flatnonzero(trials.rows[row] >= 0)
    Domain(0, len(places) - 1, whole=True).check("at", at)
    last = int(places[int(at)])
    first = int(np.flatnonzero(trials.starts[row, : last + 1])[-1])
    gone = ~trials.observed[row, first : last + 1]

    def column(part: Any) -> Any:
        values = part[row, first : last + 1]
        return np.ma.array(values, mask=np.broadcast_to(gone.reshape(-1, *[1] * (values.ndim - 1)), values.shape))

    # What to call the outcome, and where it belongs; empty where numbers say it
    outcome = where = ""
    if trials.options is not None:
        where = f"for option {trials.options[trials.choices[row, last]]}"
    elif trials.kind not in MEASURED and trials.labels:
        outcome = str(trials.labels[int(trials.scalar_outcomes[row, last])])
        if trials.kind == OutcomeKind.TRANSITIONS:
            where = f"after {trials.labels[trials.outcomes[0][row, last]]}"
    return replace(explain(learner, jax.tree.map(column, trials.outcomes), last - first, outcome, where), at=int(at))


# The Brain Imaging Data Structure

VERSION = "1.10.0"
DATATYPES = ("beh", "func", "eeg", "meg")
_TIMES = {
    "onset": {"Description": "when the trial began", "Units": "s"},
    "duration": {"Description": "how long the trial took", "Units": "s"},
}


def write_bids(
    folder: Path,
    table: pd.DataFrame,
    trials: Trials,
    meanings: Mapping[str, str],
    task: str,
    onset: str = "onset",
    duration: str = "duration",
    datatype: str = "beh",
) -> list[Path]:
    """Write the table as a BIDS folder of derivatives, and say which files of events it has.

    Args:
        folder: A new folder, or one written by astonish.
        table: The rows of `trials`, with the columns to be written. `onset` and `duration`, in seconds, come first.
        trials: Whose rows they are.
        meanings: What columns mean.
        task: What the task is called.
        onset: The column of the times in seconds at which trials began; where it falls, a new run begins.
        duration: A column, or a number of seconds for all trials.
        datatype: Of the recordings that the events go with: "func" for fMRI, "eeg", "meg", or "beh" for behaviour
            alone.
    """
    if datatype not in DATATYPES:
        raise unknown("datatype", datatype, DATATYPES)
    description = folder / "dataset_description.json"
    if description.exists() and '"astonish"' not in description.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{folder} holds a data set of others; give a new folder")
    events, short = _timed(table, onset, duration), _bids_label("task", task)
    labels = {name: _bids_label("subject", name.removeprefix("sub-")) for name in trials.subjects}
    shared = [name for name, label in labels.items() if list(labels.values()).count(label) > 1]
    if shared:
        both = f"participants {shared[0]!r} and {shared[1]!r} would both be sub-{labels[shared[0]]}"
        raise ValueError(f"{both}; rename one")
    files = {}
    for name, places in zip(trials.subjects, trials.rows, strict=True):
        part = events.iloc[places[places >= 0]]
        runs = np.cumsum(np.diff(part["onset"].to_numpy(), prepend=-np.inf) < 0)
        for run in range(runs[-1] + 1):
            file = f"sub-{labels[name]}_task-{short}{f'_run-{run + 1}' if runs[-1] else ''}_events.tsv"
            files[folder / f"sub-{labels[name]}" / datatype / file] = part[runs == run]
    for path, part in files.items():
        with atomic_write(path) as stream:
            part.to_csv(stream, sep="\t", index=False, na_rep="n/a", lineterminator="\n")
    sentence = f"Trials of the task {task}, and what a learner made of each"
    about: dict[str, Any] = {"TaskName": task, "Description": sentence, **_TIMES}
    for column in map(str, events):
        about.setdefault(column, {"Description": meanings.get(column, "as in the table of trials")})
    write_text(folder / f"task-{short}_events.json", json.dumps(about, indent=2) + "\n")
    made = {
        "Name": f"Regressors for the task {task}",
        "BIDSVersion": VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "astonish", "Version": __version__, "Description": "regressors of a learner"}],
    }
    write_text(description, json.dumps(made, indent=2) + "\n")
    write_text(folder / "README.md", f"{sentence}; written by astonish.\n")
    return list(files)


def _timed(table: pd.DataFrame, onset: str, duration: str) -> pd.DataFrame:
    """Put the times of a table in front."""
    times: dict[str, Any] = {}
    for option, name in (("onset", onset), ("duration", duration)):
        if option == "duration" and name not in table and re.fullmatch(r"\d+(\.\d*)?|\.\d+", name):
            times[option] = np.full(len(table), float(name))
            continue
        if name not in table:
            raise ValueError(f"there is no column {name!r}; name the column of the {option} in seconds with --{option}")
        times[option], problems = cells.numbers(table[name])
        if problems:
            raise ValueError(f"{next(iter(problems.values()))}; give seconds")
    if (times["duration"] < 0).any():
        raise ValueError(f"{duration} = {np.nanmin(times['duration']):g} is negative; give seconds")
    missing = np.isnan(times["onset"])
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"{onset} is empty in row {row} (counted from 0); give every trial an onset")
    rest = table.drop(columns=[name for name in (onset, duration) if name in table])
    clash = [name for name in times if name in rest]
    if clash:
        raise ValueError(f"there is another column {clash[0]!r}; rename it, or use it as --{clash[0]}")
    return pd.concat([pd.DataFrame(times, index=table.index), rest], axis=1)


def _bids_label(what: str, name: str) -> str:
    label = re.sub("[^0-9a-zA-Z]", "", name)
    if not label:
        raise ValueError(f"{what} {name!r} has neither letters nor digits; give it a name that has")
    return label
