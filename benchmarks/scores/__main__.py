"""`python -m benchmarks.scores`: learners and detectors on public benchmarks."""

from pathlib import Path
from typing import Annotated

from typer import Option, Typer

from astonish.cli.app import guarded, progress, say

app = Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def benchmark() -> None:
    """Score learners and detectors on public benchmarks."""


@app.command()
def nab(
    data: Annotated[Path, Option(help="Folder of the corpus: series.csv.gz, windows.json, published_scores.json.")],
    detector: Annotated[
        list[str] | None,
        Option(
            help="Which to score, else monitor and windowed-gaussian; may be repeated. A learner, river:Class, and "
            "file.py:function or module:function too: the function takes a series and returns a score for each row."
        ),
    ] = None,
) -> None:
    """Score detectors on the Numenta Anomaly Benchmark, under its three profiles.

    python -m benchmarks.scores nab --data nab --detector monitor --detector river:HalfSpaceTrees
    """
    with guarded(needs="this benchmark needs", stopped="nothing was written"):
        from .report import nab_table

        with progress("nab") as report:
            table = nab_table(data, detector or ["monitor", "windowed-gaussian"], report)
        print(table)


@app.command()
def drift(
    quick: Annotated[bool, Option("--quick", help="Fewer streams: a try, with wide intervals.")] = False,
    detail: Annotated[bool, Option("--detail", help="Every detector in every setting, with intervals.")] = False,
) -> None:
    """Find known changes in streams, at equal rates of false alarms, against river's detectors.

    python -m benchmarks.scores drift --detail
    """
    with guarded(needs="this benchmark needs", stopped="nothing was written"):
        from . import drift as known

        if not known.has_river():
            say(known.WITHOUT_RIVER)
        with progress("drift") as report:
            results = known.run_drift(known.QUICK if quick else known.FULL, report)
        if detail:
            print(known.drift_table(results), end="\n\n")
        print(known.summary_table(results))


@app.command()
def changepoints(
    data: Annotated[Path, Option(help="Folder with annotations.json and a JSON file for each series.")],
) -> None:
    """Compare changes that are found with those that annotators saw, as the Turing Change Point Dataset does.

    python -m benchmarks.scores changepoints --data TCPD
    """
    with guarded(needs="this benchmark needs", stopped="nothing was written"):
        from .changepoints import changepoints_table

        with progress("changepoints") as report:
            table = changepoints_table(data, report, say)
        print(table)


if __name__ == "__main__":
    app()
