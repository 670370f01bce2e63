"""Does `astonish watch` learn from every number that comes, in order, and say what it makes of it?"""

import contextlib
import io
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from astonish import Delta, Detector, Gaussian, Smile, Stream, monitor
from astonish.cli.app import app
from astonish.page.stream import StreamTab
from astonish.watch.followers import follower_for, samples_needed
from astonish.watch.stream import (
    LONGEST,
    Feed,
    Follower,
    Reading,
    Row,
    follow,
    picture,
    read_numbers,
    sparkline,
    summary,
)

SET = ["--set", "noise=2", "--set", "mean=20", "--threshold", "7", "--burn-in", "3"]
LEARNER = Smile(Gaussian(2.0), 0.1, Gaussian(2.0).prior(mean=20.0, std=2.0))
LINES = "20.5\n19.25\n\n21\nNA\nabc\n35\n36.5\n1e999\n34"
NUMBERS = [20.5, 19.25, math.nan, 21.0, math.nan, 35.0, 36.5, 34.0]


def _watched(lines: str, *options: str) -> Any:
    """What the command makes of lines, in this process."""
    done = CliRunner().invoke(app, ["watch", *options], input=lines)
    assert done.exit_code == 0, done.output
    return done


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _read(text: str, column: str | None = None) -> tuple[list[float], list[tuple[int, str]]]:
    wrong: list[tuple[int, str]] = []
    numbers = read_numbers(io.BytesIO(text.encode()), lambda *what: wrong.append(what), column)
    return [x for _, x in numbers], wrong


def _same(found: Sequence[float], expected: Sequence[float]) -> bool:
    return np.array_equal(np.array(found, float), np.array(expected, float), equal_nan=True)


# ---- lines


def test_lines_become_numbers() -> None:
    found, wrong = _read("\ufeff1.5\r\n -2e1 \nNaN\nnull\nn/a\n+.5\n7.\n")
    assert _same(found, [1.5, -20.0, math.nan, math.nan, math.nan, 0.5, 7.0])
    assert wrong == []


@pytest.mark.parametrize("word", ["abc", "1,5", "inf", "-Infinity", "1e999", "1_000", "٣", "0x10", "1 2", "\0"])
def test_what_is_no_number_is_said_with_its_line(word: str) -> None:
    found, wrong = _read(f"1\n{word}\n2\n")
    assert found == [1.0, 2.0]
    assert wrong == [(2, f"{word!r} is not a finite number")]


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    found, wrong = _read("1\n" + "9" * (3 * LONGEST) + "\n2")
    assert found == [1.0, 2.0]
    assert [line for line, _ in wrong] == [2]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('time,"room, A",b\n1,2.5,x\n2,,x\n3,4\n', "room, A"),
        ("time;a;b\n1;2.5;x\n2;NA;x\n3;4;y\n", "a"),
        ("1\t2.5\n2\t\n3\t4\n", "2"),
    ],
)
def test_a_column_is_taken_by_its_name_or_its_number(text: str, column: str) -> None:
    found, wrong = _read(text, column)
    assert _same(found, [2.5, math.nan, 4.0])
    assert wrong == []


def test_columns_that_are_not_there_are_said() -> None:
    for column in ("c", "3", "0"):
        with pytest.raises(ValueError, match=r"there is no column .* give one of 'a', 'b', or a number from 1 to 2"):
            _read("a,b\n1,2\n", column)
    assert _read("a,b\n1,2\n7\n8,9\n", "b") == ([2.0, 9.0], [(3, "it has 1 columns, not 2")])


# ---- the command


def test_json_is_exactly_what_a_stream_and_a_detector_give() -> None:
    done = _watched(LINES, "--json", *SET)
    rows = _rows(done.stdout)
    stream, detector = Stream(LEARNER), Detector(LEARNER, 7.0, burn_in=3)
    assert [row["sample"] for row in rows] == list(range(1, len(NUMBERS) + 1))
    for row, x in zip(rows, NUMBERS, strict=True):
        step, alarm = stream.update(x), detector.update(x)
        std = float(LEARNER.uncertainty(stream.state))
        expected = [x, step.estimate, step.estimate - 2 * std, step.estimate + 2 * std, step.surprise, alarm]
        shown = [math.nan if row[name] is None else row[name] for name in Row._fields[1:]]
        assert _same(shown, expected)
    assert [row["sample"] for row in rows if row["alarm"]] == [6]
    assert "line 6 is left out: 'abc' is not a finite number" in done.stderr
    assert "line 9 is left out: '1e999' is not a finite number" in done.stderr
    last = f"last estimate {rows[-1]['estimate']:.4g}"
    assert done.stderr.rstrip().endswith("; 2 lines without a number were left out")
    assert f"astonish: 8 samples, 2 of them missing, 1 alarm (at 6), {last} (between" in done.stderr


def test_lines_of_text_hold_the_same_numbers_and_every_thins_what_is_printed_not_what_is_learned() -> None:
    rows = _rows(_watched(LINES, "--json", *SET).stdout)
    head, *lines = _watched(LINES, *SET).stdout.splitlines()
    assert head.split("\t") == list(Row._fields)
    for line, row in zip(lines, rows, strict=True):
        cells = [math.nan if cell == "" else float(cell) for cell in line.split("\t")]
        assert _same(cells, [math.nan if value is None else value for value in row.values()])
    some = _rows(_watched(LINES, "--json", "--every", "4", *SET).stdout)
    assert some == [row for row in rows if row["sample"] in (4, 8) or row["alarm"]]


def test_what_was_not_set_is_told_from_the_first_samples_which_are_learned_too() -> None:
    rng = np.random.default_rng(3)
    lines = "".join(f"{x}\n" for x in np.append(rng.normal(20, 2, 130), rng.normal(40, 2, 20)))
    done = _watched(lines, "--json", "--warm-up", "100", "--learner", "varsmile")
    rows = _rows(done.stdout)
    assert [row["sample"] for row in rows] == list(range(1, 151))
    assert next(row["sample"] for row in rows if row["alarm"]) == 131
    assert "assumed from the first 100 samples: noise =" in done.stderr
    assert "false alarms per sample, if samples are as the learner's model has them" in done.stderr
    assert samples_needed("smile", {}, "continuous", None, 100) == 100
    assert samples_needed("smile", {"noise": 2.0, "mean": 0.0}, "continuous", None, 100) == 0
    assert samples_needed("smile", {}, "binary", None, 100) == 0  # there is nothing that the samples decide


def test_a_threshold_is_found_in_samples_without_a_change() -> None:
    quiet = np.random.default_rng(4).normal(0, 1, 2000)
    alarms = {"false_alarm_rate": 0.02, "calibrate": 1000}
    follower = follower_for("delta", quiet.tolist(), {"learning_rate": 0.1, "start": 0.0}, alarms)
    expected = Detector.calibrated(Delta(0.1, start=0.0), quiet[:1000], 0.02)
    assert f"threshold={expected.threshold!r}" in follower.code
    assert follower.description.endswith("if later samples are like the first 1000")
    reading = follower.update(0.5)
    assert math.isnan(reading.low)
    assert reading.estimate == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--learner", "delta", "--set", "start=0"], "give --threshold, or --calibrate and a number of samples"),
        (["--learner", "smiel"], "there is no learner 'smiel'"),
        (["--set", "m=-1", *SET], "m = -1 is not allowed"),
        (["--kind", "categorical"], "a stream of numbers is not categorical"),
        (["--signal", "fear", *SET], "gives no signal 'fear'"),
        (["--calibrate", "3", *SET[:4]], "too few to tell a rate of 0.001"),
        ([], "cannot be estimated from outcomes that hardly differ"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(options: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, ["watch", *options], input="1\n1\n1\n1\n")
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_samples_that_the_learner_does_not_take_are_left_out() -> None:
    done = _watched("1\n0\n0.5\n1\n", "--kind", "binary", "--json", "--threshold", "5")
    assert [row["x"] for row in _rows(done.stdout)] == [1.0, 0.0, 1.0]
    assert "line 3 is left out: x = 0.5 is not allowed; give" in done.stderr
    nothing = CliRunner().invoke(app, ["watch", *SET], input="a\nb\n")
    assert nothing.exit_code == 2
    assert "no samples; 2 lines without a number were left out" in nothing.stderr


# ---- as a process


def _start(*options: str, **how: Any) -> Any:
    """The command, to which every line is sent at once."""
    how = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | {"text": True, "bufsize": 1} | how
    return subprocess.Popen([sys.executable, "-m", "astonish", "watch", *options], **how)


def test_samples_come_out_at_once_and_ctrl_c_ends_with_a_summary(compiled_alike: None) -> None:
    with _start("--json", *SET) as process:
        for x in (20.5, 19.0, 22.0):
            process.stdin.write(f"{x}\n")
            assert json.loads(process.stdout.readline())["x"] == x  # though more may come
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        said = process.stderr.read()
    assert "astonish: 3 samples, no alarms, last estimate" in said
    assert "Traceback" not in said


def test_it_ends_quietly_when_nobody_reads(compiled_alike: None) -> None:
    with _start(*SET) as process:
        process.stdin.write("20\n")
        assert process.stdout.readline().startswith("sample")
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            for _ in range(200):
                process.stdin.write("20\n")
                time.sleep(0.01)
        process.wait(timeout=30)
        said = process.stderr.read()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    assert [line for line in said.splitlines() if not line.startswith("astonish: Smile (")] == []


def test_a_terminal_shows_a_drawing(compiled_alike: None) -> None:
    ours, theirs = pty.openpty()
    with _start(*SET, stdout=theirs, env=os.environ | {"COLUMNS": "80", "TERM": "xterm-256color"}) as process:
        os.close(theirs)
        process.stdin.write(LINES + "\n")
        process.stdin.close()
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                shown += part
        process.wait(timeout=30)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"sample +8: 34", text)
    assert re.search(r"estimate +3[45]\S* \(between", text)
    assert "1 (at 6)" in text
    assert "█" in text


# ---- what is kept, and what is shown of it


def test_a_feed_keeps_the_last_rows_and_counts_all() -> None:
    feed = Feed(kept=3)
    assert feed.rows() == []
    assert feed.samples == 0
    for k in range(5):
        feed.add(math.nan if k == 2 else float(k), Reading(1.0, 0.0, 2.0, 0.5, k in (0, 4)))
    assert [row.sample for row in feed.rows()] == [3, 4, 5]
    assert [row.sample for row in feed.rows(after=4)] == [5]
    assert feed.rows(after=5) == feed.rows(after=50) == []
    assert (feed.samples, feed.missing, feed.alarms, feed.last_alarms) == (5, 1, 2, (1, 5))
    assert summary(feed) == "5 samples, 1 of them missing, 2 alarms (at 1, 5), last estimate 1 (between 0 and 2)"


def test_the_page_gets_what_it_has_not_seen() -> None:
    feed = Feed()
    tab = StreamTab(feed)
    assert (tab.answer({})["samples"], tab.answer({})["python"]) == (0, "")
    for k in range(4):
        feed.add(float(k), Reading(float(k), math.nan, math.nan, 0.5, k == 3))
    answer = tab.answer({"after": 2})
    assert answer["rows"]["sample"]["shape"] == (2,)
    assert (answer["samples"], answer["alarms"], answer["is_over"]) == (4, 1, False)
    with pytest.raises(ValueError, match="after = -1"):
        tab.answer({"after": -1})


def test_lines_of_the_page_give_the_same_alarms(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    feed = Feed()
    alarms = {"threshold": 7.0, "burn_in": 3}
    plain = io.BytesIO(b"20.5\n19.25\n\n21\n35\n36.5\n34\n")
    make = lambda first: follower_for("smile", first, {"noise": 2.0, "mean": 20.0}, alarms)  # noqa: E731
    follow(feed, lambda _: None, plain, None, 0, make, lambda: contextlib.nullcontext(lambda _: None))
    assert feed.is_over
    monkeypatch.setattr(sys, "stdin", io.StringIO(plain.getvalue().decode()))
    exec(compile(StreamTab(feed).answer({})["python"], "<page>", "exec"), {})
    assert capsys.readouterr().out == "".join(f"alarm at sample {at}\n" for at in feed.last_alarms) != ""


def test_samples_that_wait_for_others_are_counted_when_it_is_interrupted() -> None:
    class Interrupted(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if not (line := super().readline(size)):
                raise KeyboardInterrupt
            return line

    feed, lines = Feed(), Interrupted(b"1\n2\n")
    with pytest.raises(KeyboardInterrupt):
        follow(feed, lambda _: None, lines, None, 5, lambda _: pytest.fail("too few"), contextlib.nullcontext)
    assert summary(feed) == "2 samples, too few to begin with (waiting for the first 5 samples)"
    assert feed.was_interrupted


def test_anything_with_an_update_can_be_followed() -> None:
    last = Follower("the last sample", "", lambda x: Reading(x, x - 1, x + 1, 0.0, x > 2))
    feed = Feed()
    shown: list[Row] = []
    view = lambda: contextlib.nullcontext(shown.append)  # noqa: E731
    follow(feed, lambda _: None, io.BytesIO(b"1\n2\n3\n"), None, 2, lambda _: last, view)
    assert shown == feed.rows() == [Row(k, float(k), k, k - 1, k + 1, 0.0, k > 2) for k in (1, 2, 3)]


def test_sparklines_and_pictures_stand_for_any_numbers() -> None:
    assert sparkline([]) == ""
    assert sparkline([1.0, 1.0, math.nan, math.inf]) == "▁▁  "
    assert sparkline([-1.0, 1.0], "ab") == "ab"
    from rich.console import Console

    console = Console(file=io.StringIO(), width=60)
    feed = Feed()
    console.print(picture(feed, console))
    feed.add(math.nan, Reading(math.nan, math.nan, math.nan, math.nan, False))
    console.print(picture(feed, console))
    assert "waiting for samples" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_monitor_watches_what_it_knows_nothing_about() -> None:
    rng = np.random.default_rng(0)
    xs = (10 + 3 * np.sin(2 * np.pi * np.arange(400) / 24) + 0.5 * rng.standard_normal(400)).round(3)
    xs[350] += 8
    done = _watched("\n".join(map(str, xs)), "--monitor", "--json")
    assert "period in the first 100 samples: 24 samples" in done.stderr
    follower = monitor(period=24.0)
    steps = [follower.update(x) for x in xs]
    rows = _rows(done.stdout)
    assert [row["estimate"] for row in rows] == [step.estimate for step in steps]
    assert [row["sample"] for row in rows if row["alarm"]] == [k for k, step in enumerate(steps, 1) if step.alarm]
    assert steps[350].alarm
    refused = CliRunner().invoke(app, ["watch", "--monitor", "--learner", "delta"], input="1\n")
    assert refused.exit_code == 2
    assert "--learner is about a learner, but --monitor needs none" in refused.stderr
