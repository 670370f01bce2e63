"""A stream of numbers on standard input: lines become numbers, each is learned from as it comes, and is shown."""

import csv
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, TextIO

MISSING = ("", "na", "nan", "n/a", "null", "none")  # in small letters
LONGEST = 64 * 1024  # bytes of a line
KEPT = 1000  # rows; the page shows no more
REDRAWN = 10  # times a second, at most
MOST_LISTED = 8  # alarms
BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Reading(NamedTuple):
    """What is known after a sample.

    low, high: between which what is estimated lies, as far as is believed; NaN for learners that hold no belief.
    surprise: NaN where the sample is missing. alarm: whether the world seems to have changed.
    """

    estimate: float
    low: float
    high: float
    surprise: float
    alarm: bool


class Row(NamedTuple):
    """A sample, counted from 1, and its reading."""

    sample: int
    x: float
    estimate: float
    low: float
    high: float
    surprise: float
    alarm: bool


Show = Callable[[Row], None]


class Follower(NamedTuple):
    """Anything that follows a stream of numbers.

    description: what it is, in words. code: the lines of Python that make it, as `follower`. update: learns from a
    sample, NaN if it is missing, and says what is known then; ValueError, and nothing learned, if it is not allowed.
    """

    description: str
    code: str
    update: Callable[[float], Reading]


class Feed:
    """The last rows of a stream and counts of all; one thread adds to it, and others may look at it.

    about, code: of what follows the stream, once that is known. is_over: whether no more samples will come;
    was_interrupted: by Ctrl-C. samples, missing, alarms: their numbers, of which samples include missing ones.
    last_alarms: their samples. left_out: lines without a number that could be learned from. waiting: samples that came,
    but were not learned from yet, because more are needed before the follower is made.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.about, self.code, self.is_over, self.was_interrupted = "", "", False, False
        self.samples = self.missing = self.alarms = self.left_out = self.waiting = 0
        self.last_alarms: tuple[int, ...] = ()
        self._rows: deque[Row] = deque(maxlen=kept)
        self._lock = Lock()

    def add(self, x: float, reading: Reading) -> Row:
        """Keep the next sample and its reading."""
        with self._lock:
            self.samples += 1
            row = Row(self.samples, x, *reading)
            self._rows.append(row)
            self.missing += math.isnan(x)
            if row.alarm:
                self.alarms += 1
                self.last_alarms = (*self.last_alarms, row.sample)[-MOST_LISTED:]
            return row

    def rows(self, after: int = 0) -> list[Row]:
        """List the rows that are kept of the samples after one."""
        with self._lock:
            return [row for row in self._rows if row.sample > after]


def follow(
    feed: Feed,
    say: Callable[[str], None],
    source: BinaryIO,
    column: str | None,
    needed: int,
    make: Callable[[list[float]], Follower],
    view: Callable[[], AbstractContextManager[Show]],
) -> None:
    """Follow a stream until it ends: learn from every sample, in order, and show it.

    Args:
        feed: Keeps what comes.
        say: Told what goes on, and what is wrong with a line.
        source: Lines of text.
        column: Column of CSV, by its name or number; a line is a number when left out.
        needed: Samples that are read before the follower is made; they are then learned from like all others.
        make: Makes the follower of them.
        view: Shows each row.
    """

    def complain(line: int, problem: str) -> None:
        feed.left_out += 1
        say(f"astonish: line {line} is left out: {problem}")

    numbers, first = read_numbers(source, complain, column), []
    if needed:
        feed.about = f"waiting for the first {needed} samples"
        say(f"astonish: {feed.about}")
    try:
        for number in islice(numbers, needed):
            first.append(number)
            feed.waiting += 1
        follower = make([x for _, x in first])
        feed.about, feed.code = follower.description, follower.code
        say(f"astonish: {follower.description}")
        with view() as show:
            feed.waiting = 0
            for line, x in chain(first, numbers):
                try:
                    reading = follower.update(x)
                except ValueError as problem:
                    complain(line, str(problem))
                else:
                    show(feed.add(x, reading))
    except KeyboardInterrupt:
        feed.was_interrupted = True
        raise
    finally:
        feed.is_over = True


# ---- from lines to numbers


def read_numbers(
    lines: BinaryIO, complain: Callable[[int, str], None], column: str | None = None
) -> Iterator[tuple[int, float]]:
    """Read the number in each line as soon as the line is there, with the number of the line.

    Args:
        lines: Of text.
        complain: Called with a line in which there is no number, and what is wrong with it; such a line is left out.
        column: The name of a column of CSV (its first line then has the names), or its number, counted from 1; left
            out, a line holds a number and nothing else.
    """
    at: int | None = None
    separator = ","
    for line, text in _lines(lines, complain):
        if column is not None and at is None:
            separator = next((mark for mark in ("\t", ";") if mark in text), ",")
            names = [name.strip() for name in _cells(text, separator)]
            if column in names:
                at = names.index(column)
                continue
            if not column.isdecimal() or not 1 <= int(column) <= len(names):
                advice = f"give one of {', '.join(map(_short, names[:20]))}, or a number from 1 to {len(names)}"
                raise ValueError(f"there is no column {column!r} in the first line; {advice}")
            at = int(column) - 1
        try:
            cells = [text] if at is None or not text.strip() else _cells(text, separator)[at:]
            if not cells:
                raise ValueError(f"it has {len(_cells(text, separator))} columns, not {(at or 0) + 1}")
            x = to_number(cells[0])
        except ValueError as problem:
            complain(line, str(problem))
        else:
            yield line, x


def _lines(lines: BinaryIO, complain: Callable[[int, str], None]) -> Iterator[tuple[int, str]]:
    """Yield lines without their ends, and their numbers; one without an end is never held in memory as a whole."""
    line, too_long = 1, False
    while part := lines.readline(LONGEST):
        ends = part.endswith(b"\n")
        if not too_long and (ends or len(part) < LONGEST):
            text = part.decode("utf-8", "replace").rstrip("\r\n")
            yield line, text.removeprefix("\ufeff") if line == 1 else text
        elif not too_long:
            complain(line, f"it has more than {LONGEST} bytes")
        line, too_long = line + ends, not ends


def _cells(text: str, separator: str) -> list[str]:
    return next(csv.reader([text.replace("\0", "")], delimiter=separator), [])


def to_number(text: str) -> float:
    """Read a number; NaN if the text says that there is none.

    >>> to_number(" 2.5e1"), to_number("NA")
    (25.0, nan)
    """
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    x = float(word) if _NUMBER.fullmatch(word) else math.inf
    if math.isinf(x):
        raise ValueError(f"{_short(word)} is not a finite number")
    return x


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


# ---- what is shown


@contextmanager
def lines(out: TextIO, every: int, as_json: bool) -> Iterator[Show]:
    """Print every so-many-th sample and every alarm: tab-separated under a head of names, or as JSON objects.

    Where there is no number, JSON has null, and text an empty cell; an alarm is 1 or 0 in text.
    """
    if not as_json:
        print("\t".join(Row._fields), file=out, flush=True)

    def show(row: Row) -> None:
        if row.alarm or row.sample % every == 0:
            values = {name: None if math.isnan(value) else value for name, value in row._asdict().items()}
            cells = ("" if value is None else repr(value) for value in {**values, "alarm": int(row.alarm)}.values())
            print(json.dumps(values) if as_json else "\t".join(cells), file=out, flush=True)

    yield show


@contextmanager
def screen(feed: Feed, out: TextIO) -> Iterator[Show]:
    """Draw the present state of a stream in a terminal a few times a second, however fast samples come."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=out)
    with Live(get_renderable=lambda: picture(feed, console), console=console, refresh_per_second=REDRAWN):
        yield lambda _: None


def picture(feed: Feed, console: Any) -> Any:
    """Draw the last sample, what is believed, surprise as a row of blocks, and alarms."""
    from rich.table import Table
    from rich.text import Text

    rows = feed.rows(feed.samples - max(console.width - 24, 10))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if not rows:
        table.add_row("waiting for samples")
        return table
    last, surprises = rows[-1], Text()
    blocks = sparkline([row.surprise for row in rows], BLOCKS if console.encoding.startswith("utf") else PLAIN_BLOCKS)
    for block, row in zip(blocks, rows, strict=True):
        surprises.append(block, style="bold red" if row.alarm else "")
    alarms = f"{feed.alarms} (at {', '.join(map(str, feed.last_alarms))})" if feed.alarms else "none"
    table.add_row("sample", f"{last.sample}: {written(last.x)}")
    table.add_row("estimate", interval(last))
    table.add_row("surprise", Text.assemble(f"{written(last.surprise):<8} ", surprises))
    table.add_row("alarms", Text(alarms, "red" if last.alarm else ""))
    return table


def sparkline(values: Sequence[float], blocks: str = BLOCKS) -> str:
    """Draw a character for each number, from the lowest to the highest; a space where there is none.

    >>> sparkline([0.0, 0.5, 1.0, math.nan])
    '▁▅█ '
    """
    numbers = [value for value in values if math.isfinite(value)] or [0.0]
    low, top = min(numbers), len(blocks) - 1
    span = (max(numbers) - low) or 1.0
    return "".join(blocks[round((v - low) / span * top)] if math.isfinite(v) else " " for v in values)


def interval(row: Row) -> str:
    """Write the estimate, and between which numbers it is believed to lie, if that is known."""
    between = "" if math.isnan(row.low) else f" (between {written(row.low)} and {written(row.high)})"
    return written(row.estimate) + between


def written(value: float) -> str:
    """Write a number, or that there is none."""
    return "missing" if math.isnan(value) else f"{value:.4g}"


def summary(feed: Feed) -> str:
    """Say all in a sentence or two, for the end."""
    text = f"{feed.waiting} samples, too few to begin with ({feed.about})" if feed.waiting else "no samples"
    if feed.samples:
        missing = f", {feed.missing} of them missing" if feed.missing else ""
        last = "the last " if feed.alarms > MOST_LISTED else ""
        at = f" ({last}at {', '.join(map(str, feed.last_alarms))})" if feed.alarms else ""
        alarms = f"{feed.alarms or 'no'} alarm{'s' * (feed.alarms != 1)}{at}"
        estimate = f"last estimate {interval(feed.rows()[-1])}"
        text = f"{feed.samples} sample{'s' * (feed.samples != 1)}{missing}, {alarms}, {estimate}"
    if feed.left_out:
        were = "lines without a number were" if feed.left_out > 1 else "line without a number was"
        text += f"; {feed.left_out} {were} left out"
    return text
