"""How are regressors written so that tools for EEG, MEG and fMRI can read them?

The Brain Imaging Data Structure (Gorgolewski et al. 2016): a file of events for each participant and run, what their
columns mean, and a description of the whole. Columns `onset` and `duration`, in seconds, come first.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astonish import __version__
from astonish.core.refusal import unknown
from astonish.io.files import atomic_write, write_text
from astonish.people.tables import Trials, cells

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

    datatype: of the recordings that the events go with: "func" for fMRI, "eeg", "meg", or "beh" for behaviour alone.
    meanings: what columns mean. onset: the column of the times in seconds at which trials began; where it falls, a new
    run begins. duration: a column, or a number of seconds for all trials.
    """
    if datatype not in DATATYPES:
        raise unknown("datatype", datatype, DATATYPES)
    description = folder / "dataset_description.json"
    if description.exists() and '"astonish"' not in description.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{folder} holds a data set of others; give a new folder")
    events, short = _timed(table, onset, duration), _label("task", task)
    labels = _labels(trials.subjects)
    files = {}
    for name, places in zip(trials.subjects, trials.rows, strict=True):
        subject = f"sub-{labels[name]}"
        for run, part in _runs(events.iloc[places[places >= 0]]):
            files[folder / subject / datatype / f"{subject}_task-{short}{run}_events.tsv"] = part
    for path, part in files.items():
        with atomic_write(path) as file:
            part.to_csv(file, sep="\t", index=False, na_rep="n/a", lineterminator="\n")
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
    """The table with its times in front."""
    times = {"onset": _seconds(table, onset, "onset"), "duration": _durations(table, duration)}
    missing = np.isnan(times["onset"])
    if missing.any():
        raise ValueError(
            f"{onset} is empty in row {int(np.argmax(missing))} (counted from 0); give every trial an onset"
        )
    rest = table.drop(columns=[name for name in (onset, duration) if name in table])
    clash = [name for name in times if name in rest]
    if clash:
        raise ValueError(f"there is another column {clash[0]!r}; rename it, or use it as --{clash[0]}")
    return pd.concat([pd.DataFrame(times, index=table.index), rest], axis=1)


def _seconds(table: pd.DataFrame, name: str, option: str) -> Any:
    if name not in table:
        raise ValueError(f"there is no column {name!r}; name the column of the {option} in seconds with --{option}")
    values, problems = cells.numbers(table[name])
    if problems:
        raise ValueError(f"{next(iter(problems.values()))}; give seconds")
    return values


def _durations(table: pd.DataFrame, duration: str) -> Any:
    if duration not in table and re.fullmatch(r"\d+(\.\d*)?|\.\d+", duration):
        return np.full(len(table), float(duration))
    values = _seconds(table, duration, "duration")
    if (values < 0).any():
        raise ValueError(f"{duration} = {np.nanmin(values):g} is negative; give seconds")
    return values


def _labels(subjects: tuple[str, ...]) -> dict[str, str]:
    """Participants by names of letters and digits only."""
    labels = {name: _label("subject", name.removeprefix("sub-")) for name in subjects}
    shared = [name for name, label in labels.items() if list(labels.values()).count(label) > 1]
    if shared:
        raise ValueError(
            f"participants {shared[0]!r} and {shared[1]!r} would both be sub-{labels[shared[0]]}; rename one"
        )
    return labels


def _label(what: str, name: str) -> str:
    label = re.sub("[^0-9a-zA-Z]", "", name)
    if not label:
        raise ValueError(f"{what} {name!r} has neither letters nor digits; give it a name that has")
    return label


def _runs(events: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The events of one participant, run by run, each with its part of the file's name."""
    falls = np.cumsum(np.diff(events["onset"].to_numpy(), prepend=-np.inf) < 0)
    if not falls.any():
        return [("", events)]
    return [(f"_run-{run + 1}", events[falls == run]) for run in range(falls[-1] + 1)]
