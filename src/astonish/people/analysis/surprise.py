"""Run a learner over every trial of a table, and write what it made of each."""

from pathlib import Path
from warnings import catch_warnings, simplefilter

from astonish.people.analysis.console import Console
from astonish.people.analysis.models import say_assembly
from astonish.people.analysis.options import SurpriseOptions, TableOptions, numbers
from astonish.people.analysis.outputs import write_table
from astonish.people.analysis.table import read_outcomes
from astonish.people.tables.bids import write_bids
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import describe, regressors

ENDS = (".csv", ".tsv", ".parquet")


def run_surprise(table: TableOptions, options: SurpriseOptions, console: Console) -> None:
    """Write the table with columns of surprise, learning rate, estimates and more; or a BIDS folder."""
    target = options.out or Path("bids" if options.bids else "regressors.csv")
    _check(table.file, target, options.bids)
    trials = read_outcomes(table)
    console.say(trials.preview())
    chosen = choose(options.learner, trials, numbers("--set", table.settings), table.family, table.contexts)
    say_assembly(console, "learner", chosen.learner, chosen.assumed)
    with console.progress("running the learner over every trial", counted=False):
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            found = regressors(chosen.learner, trials, options.measure or None, options.hazard, options.prefix)
        for warning in caught:
            console.say(str(warning.message))
        if options.bids:
            new = [str(name) for name in found if name not in trials.frame]
            meanings = {name: describe(name.removeprefix(options.prefix), chosen.learner) for name in new}
            where = options.task, options.onset, options.duration, options.bids_datatype
            write_bids(target, found, trials, meanings, *where)
        else:
            write_table(found, target)
    added = len(found.columns) - len(trials.frame.columns)
    people = f"{len(trials)} participant{'s' * (len(trials) != 1)}"
    console.show(f"{added} columns for {len(found)} trials of {people}: {target}")


def _check(file: Path, target: Path, bids: bool) -> None:
    if not bids and target.suffix.lower() not in ENDS:
        raise ValueError(f"--out {target} is of an unknown kind; give a file that ends in {', '.join(ENDS)}, or --bids")
    if target.exists() and file.exists() and target.samefile(file):
        raise ValueError(f"--out {target} is the table itself; give another file")
