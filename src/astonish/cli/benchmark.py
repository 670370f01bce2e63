"""`astonish benchmark`: learners and detectors on public benchmarks."""

from pathlib import Path
from typing import Annotated

from typer import Option, Typer

from astonish.cli.console import guarded, progress

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

    astonish benchmark nab --data nab --detector monitor --detector river:HalfSpaceTrees
    """
    with guarded(needs="this benchmark needs", stopped="nothing was written"):
        from astonish.benchmark.report import nab_table

        with progress("nab") as report:
            table = nab_table(data, detector or ["monitor", "windowed-gaussian"], report)
        print(table)
