"""Run a learner over every trial of a table, and write what it made of each."""

from warnings import catch_warnings, simplefilter

from astonish.people.analysis.models import say_assembly
from astonish.people.analysis.report import Console, write_table
from astonish.people.analysis.requests import SurpriseRequest
from astonish.people.analysis.table import read_outcomes
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import describe, regressors, write_bids

ENDS = (".csv", ".tsv", ".parquet")


def run_surprise(request: SurpriseRequest, console: Console) -> None:
    """Write the table with columns of surprise, learning rate, estimates and more; or a BIDS folder."""
    target = request.target
    if not request.bids and target.suffix.lower() not in ENDS:
        raise ValueError(f"--out {target} is of an unknown kind; give a file that ends in {', '.join(ENDS)}, or --bids")
    if target.exists() and request.file.exists() and target.samefile(request.file):
        raise ValueError(f"--out {target} is the table itself; give another file")
    trials = read_outcomes(request)
    console.say(trials.preview())
    chosen = choose(request.learner, trials, request.settings, request.family, request.contexts)
    say_assembly(console, "learner", chosen.learner, chosen.assumed)
    with console.progress("running the learner over every trial", counted=False):
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            table = regressors(chosen.learner, trials, request.measure or None, request.hazard, request.prefix)
        for warning in caught:
            console.say(str(warning.message))
        if request.bids:
            new = [str(name) for name in table if name not in trials.frame]
            meanings = {name: describe(name.removeprefix(request.prefix), chosen.learner) for name in new}
            where = request.task, request.onset, request.duration, request.bids_datatype
            write_bids(target, table, trials, meanings, *where)
        else:
            write_table(table, target)
    added = len(table.columns) - len(trials.frame.columns)
    people = f"{len(trials)} participant{'s' * (len(trials) != 1)}"
    console.show(f"{added} columns for {len(table)} trials of {people}: {target}")
