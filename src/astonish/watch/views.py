"""How is a stream shown: as lines that programs read, or live in a terminal?"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from astonish.watch.feed import Feed, Row

REDRAWN = 10  # times a second, at most
MOST_LISTED = 8  # alarms
BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
Show = Callable[[Row], None]


@contextmanager
def lines(out: TextIO, every: int, as_json: bool) -> Iterator[Show]:
    """A line for every so-many-th sample and for every alarm: tab-separated under a head of names, or JSON objects."""
    if not as_json:
        print("\t".join(Row._fields), file=out, flush=True)
    write = to_json if as_json else to_tsv

    def show(row: Row) -> None:
        if row.alarm or row.sample % every == 0:
            print(write(row), file=out, flush=True)

    yield show


def to_json(row: Row) -> str:
    """A row as JSON, null where there is no number.

    >>> to_json(Row(1, 2.5, 2.0, math.nan, math.nan, 0.5, False))
    '{"sample": 1, "x": 2.5, "estimate": 2.0, "low": null, "high": null, "surprise": 0.5, "alarm": false}'
    """
    return json.dumps({name: None if value != value else value for name, value in row._asdict().items()})


def to_tsv(row: Row) -> str:
    """A row as text, empty where there is no number, and 1 or 0 for an alarm or none."""
    return "\t".join("" if value != value else repr(int(value) if value is row.alarm else value) for value in row)


@contextmanager
def screen(feed: Feed, out: TextIO) -> Iterator[Show]:
    """The present state of a stream, redrawn in a terminal a few times a second, however fast samples come."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=out)
    with Live(get_renderable=lambda: picture(feed, console), console=console, refresh_per_second=REDRAWN):
        yield lambda _: None


def picture(feed: Feed, console: Any) -> Any:
    """What the terminal shows: the last sample, what is believed, surprise as a row of blocks, and alarms."""
    from rich.table import Table
    from rich.text import Text

    rows = feed.rows(feed.samples - max(console.width - 24, 10))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if not rows:
        table.add_row("waiting for samples")
        return table
    last = rows[-1]
    blocks = BLOCKS if console.encoding.startswith("utf") else PLAIN_BLOCKS
    line = Text()
    for block, row in zip(sparkline([row.surprise for row in rows], blocks), rows, strict=True):
        line.append(block, style="bold red" if row.alarm else "")
    latest = ", ".join(map(str, feed.last_alarms[-MOST_LISTED:])) or "none"
    table.add_row("sample", f"{last.sample}: {written(last.x)}")
    table.add_row("estimate", interval(last))
    table.add_row("surprise", Text.assemble(f"{written(last.surprise):<8} ", line))
    table.add_row(
        "alarms", Text(f"{feed.alarms} (at {latest})" if feed.alarms else "none", "red" if last.alarm else "")
    )
    return table


def sparkline(values: Sequence[float], blocks: str = BLOCKS) -> str:
    """A character for each number, from the lowest to the highest; a space where there is none.

    >>> sparkline([0.0, 0.5, 1.0, math.nan])
    '▁▅█ '
    """
    known = [value for value in values if math.isfinite(value)]
    low, span = min(known, default=0.0), (max(known, default=0.0) - min(known, default=0.0)) or 1.0
    top = len(blocks) - 1
    return "".join(blocks[round((v - low) / span * top)] if math.isfinite(v) else " " for v in values)


def interval(row: Row) -> str:
    """The estimate, and between which numbers it is believed to lie, if that is known."""
    between = "" if math.isnan(row.low) else f" (between {written(row.low)} and {written(row.high)})"
    return written(row.estimate) + between


def written(value: float) -> str:
    """A number, or that there is none."""
    return "missing" if math.isnan(value) else f"{value:.4g}"


def summary(feed: Feed, waiting: int = 0, left_out: int = 0) -> str:
    """All in a sentence or two, for the end.

    waiting: samples that were not learned from. left_out: lines without a sample.
    """
    if not feed.samples:
        sentences = [f"{waiting} samples, too few to begin with ({feed.about})" if waiting else "no samples"]
    else:
        missing = f", {feed.missing} of them missing" if feed.missing else ""
        at = f" (at {', '.join(map(str, feed.last_alarms[-MOST_LISTED:]))})" if feed.alarms else ""
        if feed.alarms > MOST_LISTED:
            at = at.replace("(at", "(the last at")
        counted = f"{feed.alarms or 'no'} alarm{'s' * (feed.alarms != 1)}{at}"
        number = f"{feed.samples} sample{'s' * (feed.samples != 1)}"
        sentences = [f"{number}{missing}, {counted}, last estimate {interval(feed.rows()[-1])}"]
    if left_out:
        sentences.append(
            f"{left_out} line{'s' * (left_out != 1)} without a number {'were' if left_out > 1 else 'was'} left out"
        )
    return "; ".join(sentences)
