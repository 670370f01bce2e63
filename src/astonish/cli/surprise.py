"""`astonish surprise`: how surprising was each trial of a table?"""

from pathlib import Path
from typing import Annotated
from warnings import catch_warnings, simplefilter

from typer import Option

from astonish.cli import options as o
from astonish.cli.console import guarded, progress, say, say_assembly
from astonish.cli.outputs import write_table

ENDS = (".csv", ".tsv", ".parquet")


def surprise(
    file: o.File,
    outcome: o.Outcome,
    subject: o.Subject = None,
    block: o.Block = None,
    kind: o.Kind = None,
    label: o.Label = None,
    learner: Annotated[str, Option(help=o.LEARNER_HELP)] = "smile",
    settings: o.Settings = None,
    family: o.FamilyName = None,
    contexts: o.ContextsName = None,
    given: o.Given = None,
    measure: Annotated[
        list[str] | None,
        Option(
            help="A measure of surprise, such as shannon, a quantity of the learner, novelty, or all that apply; "
            "else the learner's own surprise."
        ),
    ] = None,
    hazard: Annotated[
        float | None, Option(help="Chance of a change before each trial, for measures that take it into account.")
    ] = None,
    prefix: Annotated[str, Option(help="Goes before the names of new columns.")] = "",
    out: Annotated[
        Path | None,
        Option(help="File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids."),
    ] = None,
    bids: Annotated[bool, Option("--bids", help="Write events files in a BIDS folder.")] = False,
    onset: Annotated[str, Option(help="For BIDS: column of onsets in seconds.")] = "onset",
    duration: Annotated[str, Option(help="For BIDS: column of durations, or seconds for all.")] = "duration",
    task: Annotated[str, Option(help="For BIDS: what the task is called.")] = "task",
) -> None:
    """How surprising was each trial? Adds columns of surprise, learning rate, estimates and more to a table.

    astonish surprise trials.csv --outcome x --subject id --block run --learner varsmile --measure all
    """
    target = out or Path("bids" if bids else "regressors.csv")
    what = "folder" if bids else "file"
    with guarded(target, "tables need", thing=what, stopped="every file that was written is complete"):
        from astonish.assemble import choose
        from astonish.trials import Columns, read_trials
        from astonish.trials.bids import write_bids
        from astonish.trials.regressors import describe, regressors

        _check(file, target, bids)
        columns = Columns(o.outcome_columns(outcome), subject, block, given=o.pairs("--given", given))
        trials = read_trials(file, columns, kind=kind, labels=label or None)
        say(trials.preview())
        chosen = choose(learner, trials, o.numbers("--set", settings), family, contexts)
        say_assembly("learner", chosen.learner, chosen.assumed)
        with progress("running the learner over every trial", counted=False):
            with catch_warnings(record=True) as caught:
                simplefilter("always")
                table = regressors(chosen.learner, trials, measure or None, hazard, prefix)
            for warning in caught:
                say(str(warning.message))
            if bids:
                new = [str(name) for name in table if name not in trials.frame]
                meanings = {name: describe(name.removeprefix(prefix), chosen.learner) for name in new}
                write_bids(target, table, trials, meanings, task, onset, duration)
            else:
                write_table(table, target)
        columns_added = len(table.columns) - len(trials.frame.columns)
        people = f"{len(trials)} participant{'s' * (len(trials) != 1)}"
        print(f"{columns_added} columns for {len(table)} trials of {people}: {target}")


def _check(file: Path, target: Path, bids: bool) -> None:
    if not bids and target.suffix.lower() not in ENDS:
        raise ValueError(f"--out {target} is of an unknown kind; give a file that ends in {', '.join(ENDS)}, or --bids")
    if target.exists() and file.exists() and target.samefile(file):
        raise ValueError(f"--out {target} is the table itself; give another file")
