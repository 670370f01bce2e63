"""What does a process do that fits learners for the page, and what does it tell the page meanwhile?

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
from astonish.page.formulas import defused_text
from astonish.page.requests import Analysis
from astonish.page.upload import as_file, check_size
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
        """An event, for the page."""
        with self._lock:
            self._report({"event": event, **about})

    def say(self, sentence: str) -> None:
        """A line about what is going on."""
        self.tell("say", text=sentence)

    def show(self, text: str) -> None:
        """A result."""
        self.tell("show", text=text)

    def saved(self, report: Path) -> None:
        """Say nothing: the report is in a folder that the reader cannot see."""

    def table(self, name: str, frame: DataFrame) -> None:
        """A result that is a table."""
        rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
        self.tell("table", name=name, columns=[str(column).replace("_", " ") for column in frame], rows=rows)

    def fitted(self, model: str, found: Fit) -> None:
        """The next few participants: their parameters, and what they and the model did, trial by trial."""
        people = [_person(found, row) for row in range(len(found.values))]
        for row, person in enumerate(people):
            trials = int((found.trials.rows[row] >= 0).sum())
            if trials <= self._left:
                self._left -= trials
                person["course"] = _course(found, row)
        self.tell("fitted", model=model, parameters=found.names, people=people)

    @contextmanager
    def progress(self, doing: str, counted: bool = True) -> Iterator[Callable[[float], None]]:
        """The share that is done, now and then; none if it is not known."""
        last = [-1.0, 0.0]

        def report(share: float) -> None:
            now = time.monotonic()
            if share - last[0] >= _SMALLEST_STEP and now - last[1] >= _SECONDS:
                last[:] = share, now
                self.tell("progress", doing=doing, share=share)

        self.tell("progress", doing=doing, share=0.0 if counted else None)
        yield report
        self.tell("progress", doing=doing, share=1.0)


def work(report: Callable[[Json], None], request: Analysis, content: bytes) -> Json:
    """Analyse a table in this process; report events meanwhile, and return what is left at the end."""
    request = _from_anywhere(request)
    with chdir(tempfile.gettempdir()):
        return _analysed(request, content, PageConsole(report))


def _analysed(request: Analysis, content: bytes, console: PageConsole) -> Json:
    """What is left when the analysis is done: the folder that the command writes, packed, and what to copy from it."""
    file = request.file
    with as_file(file.name, content):  # refused if it is too large
        file.write_bytes(content)
    _check(request, console)
    _RUNS[request.command](request, console)
    out = request.out
    texts = {name: (out / name).read_text(encoding="utf-8") for name in (METHODS, REFERENCES, SCRIPT, REPORT)}
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != ".lock")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.writestr(path.as_posix(), _downloaded(path))
    if whole.tell() > LARGEST_RESULT:
        most = f"{LARGEST_RESULT >> 20} MB, which is the most that the page keeps"
        raise ValueError(f"the results have more than {most}; use the command")
    return {
        "python": texts[SCRIPT],
        "methods": texts[METHODS],
        "bibtex": texts[REFERENCES],
        "files": [path.name for path in files],
        "report": texts[REPORT],
        "archive": whole.getvalue(),
    }


def _downloaded(path: Path) -> bytes:
    """A file of the results; in a table, text that a spreadsheet would run is marked."""
    return defused_text(path.read_bytes().decode()).encode() if path.suffix == ".csv" else path.read_bytes()


def _from_anywhere(request: Analysis) -> Analysis:
    """The same, with learners of one's own, whose files are named from where the page was started, by full paths."""
    for name in _learners(request):
        LEARNERS.find(name)  # so that a module is found that lies there
    return request.moved(lambda place: place.resolve() if place.suffix == ".py" else place)


def _learners(request: Analysis) -> tuple[str, ...]:
    return (request.learner,) if isinstance(request.learner, str) else request.learner


def _check(request: Analysis, console: PageConsole) -> None:
    """Refuse what would take too long; tell how many participants there are."""
    trials = read_responses(request)
    check_size(trials)
    people = getattr(request, "participants", len(trials))
    searches = people * getattr(request, "starts", 5) * max(len(_learners(request)), 1)
    if searches > MOST_SEARCHES:
        raise ValueError(
            f"{people} participants, and what was asked for each, make {searches} searches; the page takes up to "
            f"{MOST_SEARCHES}, the command more; choose fewer starts or learners, or use the command"
        )
    console.tell("read", participants=len(trials), understood=trials.preview())


def _person(found: Fit, row: int) -> Json:
    """One participant's parameters, their intervals, and what to know about them."""
    values, low, high = ([json_number(value) for value in part[row]] for part in (found.values, found.low, found.high))
    about = {"bic": json_number(found.bic[row]), "note": found.notes[row]}
    return {"who": found.trials.subjects[row], "values": values, "low": low, "high": high, **about}


def _course(found: Fit, row: int) -> Json:
    """What one participant and the model did, trial by trial; of choices how probable each was, and which was made."""
    trials, there = found.trials, found.trials.rows[row] >= 0
    if found.outputs.probabilities is not None:
        probabilities, made = found.outputs.probabilities[row][there], found.outputs.responses[row][there]
        labels = [str(each) for each in trials.choice_labels]
        return {"probabilities": [packed(each) for each in probabilities.T], "made": packed(made), "labels": labels}
    series = {
        "outcome": np.where(trials.observed[row], trials.scalar_outcomes[row], np.nan),
        "response": found.outputs.responses[row],
        "expected": np.where(found.data.scored[row], found.outputs.expected[row], np.nan),
    }
    return {name: packed(values[there]) for name, values in series.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return None if isna(value) else json_number(value)
