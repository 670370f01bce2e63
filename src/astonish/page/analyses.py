"""The process that fits learners for the page, and what it tells the page meanwhile.

It runs what the commands run, in a folder of its own; what it says and finds goes through a pipe, an event at a time.
"""

import io
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from pandas import DataFrame, isna

from astonish.models.registry import LEARNERS
from astonish.page.controls import Json, json_number, packed
from astonish.page.data import Analysis, check_file, check_size, defused
from astonish.people.analysis.commands import run_compare, run_fit, run_recover
from astonish.people.analysis.models import read_responses
from astonish.people.analysis.report import METHODS, REFERENCES, REPORT, SCRIPT
from astonish.people.fit import Fit

MOST_SEARCHES = 5000  # participants x searches for each x learners
SHOWN_TRIALS = 50_000  # of all participants together, whose courses are drawn
LARGEST_RESULT = 64 * 2**20  # bytes
_RUNS: dict[str, Any] = {"fit": run_fit, "compare": run_compare, "recover": run_recover}
_SMALLEST_STEP, _SECONDS = 0.01, 0.2  # of progress, so that the page is not told more often than it can be seen


class PageConsole:
    """Where an analysis that was asked for on the page says what it does (see `analysis.report.Console`)."""

    def __init__(self, report: Callable[[Json], None]) -> None:
        self._report, self._lock, self._left = report, Lock(), SHOWN_TRIALS

    def tell(self, event: str, **about: Any) -> None:
        """Send an event to the page."""
        with self._lock:
            self._report({"event": event, **about})

    def say(self, sentence: str) -> None:
        """Say what is going on."""
        self.tell("say", text=sentence)

    def show(self, text: str) -> None:
        """Show a result."""
        self.tell("show", text=text)

    def saved(self, report: Path) -> None:
        """Say nothing: the report is in a folder that the reader cannot see."""

    def table(self, name: str, frame: DataFrame) -> None:
        """Show a result that is a table."""

        def cell(value: Any) -> Any:
            return value if isinstance(value, str) else None if isna(value) else json_number(value)

        rows = [[cell(value) for value in row] for row in frame.itertuples(index=False)]
        self.tell("table", name=name, columns=[str(column).replace("_", " ") for column in frame], rows=rows)

    def fitted(self, model: str, fit: Fit) -> None:
        """Show the next few participants: their parameters, and what they and the model did, trial by trial."""
        people: list[Json] = []
        for row, who in enumerate(fit.trials.subjects):
            ends = {"values": fit.values, "low": fit.low, "high": fit.high}
            person = {name: [json_number(value) for value in part[row]] for name, part in ends.items()}
            people.append({"who": who, **person, "bic": json_number(fit.bic[row]), "note": fit.notes[row]})
            trials = int((fit.trials.rows[row] >= 0).sum())
            if trials <= self._left:
                self._left -= trials
                people[row]["course"] = _course(fit, row)
        self.tell("fitted", model=model, parameters=fit.names, people=people)

    @contextmanager
    def progress(self, doing: str, counted: bool = True) -> Iterator[Callable[[float], None]]:
        """Tell the share that is done, now and then; none if it is not known."""
        last = [-1.0, 0.0]

        def report(share: float) -> None:
            now = time.monotonic()
            if share - last[0] >= _SMALLEST_STEP and now - last[1] >= _SECONDS:
                last[:] = share, now
                self.tell("progress", doing=doing, share=share)

        self.tell("progress", doing=doing, share=0.0 if counted else None)
        yield report
        self.tell("progress", doing=doing, share=1.0)


def _course(fit: Fit, row: int) -> Json:
    """Describe what one participant and the model did, trial by trial; of choices, how probable each was."""
    trials, outputs, there = fit.trials, fit.outputs, fit.trials.rows[row] >= 0
    if outputs.probabilities is not None:
        labels = [str(label) for label in trials.choice_labels]
        probabilities = [packed(column) for column in outputs.probabilities[row][there].T]
        return {"probabilities": probabilities, "made": packed(outputs.responses[row][there]), "labels": labels}
    series = {
        "outcome": np.where(trials.observed[row], trials.scalar_outcomes[row], np.nan),
        "response": outputs.responses[row],
        "expected": np.where(fit.data.scored[row], outputs.expected[row], np.nan),
    }
    return {name: packed(values[there]) for name, values in series.items()}


def work(report: Callable[[Json], None], request: Analysis, content: bytes) -> Json:
    """Analyse a table in this process.

    Args:
        report: Told events meanwhile.
        request: What is asked.
        content: Of the table's file.

    Returns:
        What is left at the end: the folder that the command writes, packed, and what to copy from it.
    """
    request = from_anywhere(request)
    with chdir(tempfile.gettempdir()):
        check_file(request.file, content)
        request.file.write_bytes(content)
        check_searches(request)
        _RUNS[request.command](request, PageConsole(report))
        out, whole = request.out, io.BytesIO()
        texts = {name: (out / name).read_text(encoding="utf-8") for name in (METHODS, REFERENCES, SCRIPT, REPORT)}
        files = sorted(path for path in out.iterdir() if path.is_file() and path.name != ".lock")
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                data = path.read_bytes()
                archive.writestr(path.as_posix(), defused(data.decode()) if path.suffix == ".csv" else data)
    if whole.tell() > LARGEST_RESULT:
        most = f"{LARGEST_RESULT >> 20} MB, which is the most that the page keeps"
        raise ValueError(f"the results have more than {most}; use the command")
    return {
        "python": texts[SCRIPT],
        "methods": texts[METHODS],
        "bibtex": texts[REFERENCES],
        "files": [path.name for path in files],
        "kept": {"results.zip": whole.getvalue(), REPORT: texts[REPORT].encode()},
    }


def from_anywhere(request: Analysis) -> Analysis:
    """Name learners of one's own, whose files are named from where the page was started, by full paths."""
    for name in np.atleast_1d(request.learner).tolist():
        LEARNERS.find(name)  # so that a module is found that lies there
    return request.moved(lambda place: place.resolve() if place.suffix == ".py" else place)


def check_searches(request: Analysis) -> None:
    """Refuse what would take too long."""
    trials = read_responses(request)
    check_size(trials)
    people = getattr(request, "participants", len(trials))
    searches = people * getattr(request, "starts", 5) * max(np.size(request.learner), 1)
    if searches > MOST_SEARCHES:
        raise ValueError(
            f"{people} participants, and what was asked for each, make {searches} searches; the page takes up to "
            f"{MOST_SEARCHES}, the command more; choose fewer starts or learners, or use the command"
        )
