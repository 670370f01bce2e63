"""What does `astonish surprise` do with a table of trials, and what does it say?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame

from astonish.bids import write_bids
from astonish.catalogue import choose
from astonish.commands.options import numbers, outcome_columns, pairs
from astonish.commands.words import obstacle, refuse, say, working
from astonish.files import whole
from astonish.regressors import describe, regressors
from astonish.table import Columns, Trials, read_trials

_ENDS = (".csv", ".tsv", ".parquet")


def surprise(
    file: Path,
    *,
    outcome: Sequence[str],
    subject: str | None,
    block: str | None,
    kind: str | None,
    label: Sequence[str],
    learner: str,
    settings: Sequence[str],
    given: Sequence[str],
    measure: Sequence[str],
    hazard: float | None,
    prefix: str,
    out: Path | None,
    bids: bool,
    onset: str,
    duration: str,
    task: str,
) -> int:
    """Write the table with regressors beside it; the answer is the exit code."""
    target = out or Path("bids" if bids else "regressors.csv")
    try:
        _check(file, target, bids)
        columns = Columns(outcome_columns(outcome), subject, block, given=pairs("--given", given))
        trials = read_trials(file, columns, kind=kind, labels=list(label) or None)
        say(trials.preview())
        choice = choose(learner, trials, numbers("--set", settings))
        say(f"learner: {choice.learner}" + (", where nothing else was set:" if choice.assumed else ""))
        for sentence in choice.assumed:
            say(f"  {sentence}")
        with working("asking the learner about every trial"):
            table = regressors(choice.learner, trials, list(measure) or None, hazard, prefix)
            if bids:
                new = [str(name) for name in table if name not in trials.frame]
                meanings = {name: describe(name.removeprefix(prefix)) for name in new}
                write_bids(target, table, trials, meanings, task, onset, duration)
            else:
                _write(table, target)
    except ValueError as problem:
        return refuse(str(problem), 2)
    except KeyboardInterrupt:
        return refuse("stopped; files that are there are whole", 130)
    except OSError as problem:
        return refuse(obstacle(problem, target, thing="folder" if bids else "file"), 1)
    print(_done(trials, table, target))
    return 0


def _check(file: Path, target: Path, bids: bool) -> None:
    if not bids and target.suffix.lower() not in _ENDS:
        raise ValueError(
            f"--out {target} is of an unknown kind; give a file that ends in {', '.join(_ENDS)}, or --bids"
        )
    if target.exists() and file.exists() and target.samefile(file):
        raise ValueError(f"--out {target} is the table itself; give another file")


def _write(table: DataFrame, target: Path) -> None:
    with whole(target) as file:
        if target.suffix.lower() == ".parquet":
            _parquet(table, target, file)
        else:
            table.to_csv(file, sep="," if target.suffix.lower() == ".csv" else "\t", index=False, lineterminator="\n")


def _parquet(table: DataFrame, target: Path, file: Any) -> None:
    try:
        table.to_parquet(file, engine="pyarrow", index=False)
    except ImportError:
        raise ValueError(
            f"{target} needs pyarrow, which is not installed; pip install pyarrow, or give a .csv"
        ) from None


def _done(trials: Trials, table: DataFrame, target: Path) -> str:
    new = len(table.columns) - len(trials.frame.columns)
    return f"{new} columns for {len(table)} trials of {len(trials)} participant{'s' * (len(trials) != 1)}: {target}"
