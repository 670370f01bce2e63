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
from astonish.files import whole
from astonish.table import Trials, cells

VERSION = "1.10.0"


def write_bids(
    folder: Path,
    table: pd.DataFrame,
    trials: Trials,
    meanings: Mapping[str, str],
    task: str,
    onset: str = "onset",
    duration: str = "duration",
) -> list[Path]:
    """Write the table as a BIDS folder, and say which files of events it has.

    meanings: what columns mean. onset: the column of the times in seconds at which trials began; where it falls, a new
    run begins. duration: a column, or a number of seconds for all trials.
    """
    _check_ours(folder)
    events = _timed(table, onset, duration)
    labels = _labels(trials.subjects)
    files = {}
    for name, places in zip(trials.subjects, trials.rows, strict=True):
        for run, part in _runs(events.iloc[places[places >= 0]]):
            files[_path(labels[name], _label("task", task), run)] = part
    for path, part in files.items():
        with whole(folder / path) as file:
            part.to_csv(file, sep="\t", index=False, na_rep="n/a", lineterminator="\n")
    _write(folder / f"task-{_label('task', task)}_events.json", _sidecar(events, task, meanings))
    _write(folder / "dataset_description.json", _description(task))
    with whole(folder / "README.md") as file:
        file.write(f"Trials of the task {task}, and what a learner made of each; written by astonish.\n".encode())
    return [folder / path for path in files]


def _check_ours(folder: Path) -> None:
    """Refuse to write into a data set of somebody else."""
    about = folder / "dataset_description.json"
    if about.exists() and '"astonish"' not in about.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{folder} holds a data set of others; give a new folder")


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


def _runs(events: pd.DataFrame) -> list[tuple[int | None, pd.DataFrame]]:
    """The events of one participant, run by run; None where there is only one."""
    falls = np.cumsum(np.diff(events["onset"].to_numpy(), prepend=-np.inf) < 0)
    if not falls.any():
        return [(None, events)]
    return [(int(run) + 1, events[falls == run]) for run in range(falls[-1] + 1)]


def _path(subject: str, task: str, run: int | None) -> Path:
    runs = "" if run is None else f"_run-{run}"
    return Path(f"sub-{subject}", "beh", f"sub-{subject}_task-{task}{runs}_events.tsv")


def _sidecar(events: pd.DataFrame, task: str, meanings: Mapping[str, str]) -> dict[str, Any]:
    times = {
        "onset": {"Description": "when the trial began", "Units": "s"},
        "duration": {"Description": "how long the trial took", "Units": "s"},
    }
    others = (name for name in events if name not in times)
    return {
        "TaskName": task,
        **times,
        **{str(name): {"Description": meanings.get(str(name), "as in the table of trials")} for name in others},
    }


def _description(task: str) -> dict[str, Any]:
    return {
        "Name": f"Regressors for the task {task}",
        "BIDSVersion": VERSION,
        "DatasetType": "raw",
        "GeneratedBy": [{"Name": "astonish", "Version": __version__}],
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    with whole(path) as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())
