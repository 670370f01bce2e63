"""`astonish watch`: numbers from standard input; what is believed, how surprising each is, and alarms, as they come."""

import sys
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from astonish.cli.console import guarded, refuse, say
from astonish.cli.explore import addresses, listen
from astonish.core.kinds import OutcomeKind
from astonish.models.registry import FAMILIES
from astonish.people.analysis.options import LEARNER_HELP, numbers

if TYPE_CHECKING:
    from astonish.watch.feed import Feed

MODEL, ALARMS, OUTPUT = "Model", "Alarms", "Input and output"


def watch(
    learner: Annotated[str | None, Option(help=f"{LEARNER_HELP} Else smile.", rich_help_panel=MODEL)] = None,
    monitor: Annotated[
        bool,
        Option(
            "--monitor",
            help="Instead of a learner: find out from the numbers themselves what is usual (astonish.monitor).",
            rich_help_panel=MODEL,
        ),
    ] = False,
    period: Annotated[
        float | None,
        Option(help="With --monitor: samples after which it repeats itself; else looked for.", rich_help_panel=MODEL),
    ] = None,
    settings: Annotated[
        list[str] | None, Option("--set", help="A parameter, such as m=0.1 or noise=2.", rich_help_panel=MODEL)
    ] = None,
    family: Annotated[
        str | None,
        Option(help=f"Family of beliefs: {', '.join(FAMILIES.names)}; else the usual one.", rich_help_panel=MODEL),
    ] = None,
    kind: Annotated[OutcomeKind, Option(help="Are samples continuous, or binary: 0 and 1?", rich_help_panel=MODEL)] = (
        OutcomeKind.CONTINUOUS
    ),
    first: Annotated[
        int,
        Option(min=2, help="Samples that decide, before anything is shown, what was not set.", rich_help_panel=MODEL),
    ] = 100,
    signal: Annotated[
        str | None,
        Option(
            help="What gives an alarm: change_probability, surprise or learning_rate; else the first that there is.",
            rich_help_panel=ALARMS,
        ),
    ] = None,
    threshold: Annotated[
        float | None, Option(help="Above which the signal gives an alarm; else it is found.", rich_help_panel=ALARMS)
    ] = None,
    false_alarm_rate: Annotated[
        float | None,
        Option(
            help="False alarms per sample, if the threshold is to be found; else 0.001, or 0.005 with --monitor.",
            rich_help_panel=ALARMS,
        ),
    ] = None,
    calibrate: Annotated[
        int | None,
        Option(
            min=1,
            help="Find it from so many first samples, in which nothing should change; else from the learner's "
            "own model.",
            rich_help_panel=ALARMS,
        ),
    ] = None,
    cooldown: Annotated[
        int, Option(min=0, help="So many samples after an alarm there is no other.", rich_help_panel=ALARMS)
    ] = 10,
    burn_in: Annotated[int, Option(min=0, help="So many samples at the start give none.", rich_help_panel=ALARMS)] = 50,
    within: Annotated[
        int, Option(min=1, help="Alarm for a change within so many samples up to now.", rich_help_panel=ALARMS)
    ] = 1,
    column: Annotated[
        str | None,
        Option(help="Column of CSV lines, by its name in the first line, or by its number.", rich_help_panel=OUTPUT),
    ] = None,
    every: Annotated[
        int, Option(min=1, help="Print every so-many-th sample only, and alarms.", rich_help_panel=OUTPUT)
    ] = 1,
    json: Annotated[
        bool, Option("--json", help="Print a JSON object for each sample; else tab-separated.", rich_help_panel=OUTPUT)
    ] = False,
    page: Annotated[
        bool, Option("--page", help="Also show it on a page in the browser.", rich_help_panel=OUTPUT)
    ] = False,
    port: Annotated[
        int | None,
        Option(min=0, max=65535, help="Port of the page; else 8765, or any free one.", rich_help_panel=OUTPUT),
    ] = None,
    browser: Annotated[bool, Option(help="Open the page in the browser.", rich_help_panel=OUTPUT)] = True,
) -> None:
    """Follow numbers from standard input, one in a line: what is believed, how surprising each is, and alarms.

    sensor | astonish watch --learner message-passing --false-alarm-rate 0.0001

    sensor | astonish watch --monitor

    In a terminal it draws what is going on; elsewhere it prints a line for each sample. An empty line, or NA, is a
    missing sample. A line that is no number is left out, and said on standard error.
    """
    with guarded(needs="watching needs", stopped="nothing was learned yet"):
        from astonish.watch.detecting import DetectorSettings, follower_for, samples_needed
        from astonish.watch.feed import Feed
        from astonish.watch.monitoring import monitor_for
        from astonish.watch.session import Session
        from astonish.watch.views import lines, screen, summary

        given = numbers("--set", settings)
        rate = DetectorSettings().false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        alarms = DetectorSettings(threshold, rate, calibrate, signal, cooldown, burn_in, within)
        if monitor:
            own = {"--learner": learner, "--set": settings, "--family": family, "--signal": signal}
            _check_monitor({**own, "--threshold": threshold, "--calibrate": calibrate})
            needed = 0 if period is not None else first
            make: Any = partial(monitor_for, period=period, false_alarm_rate=false_alarm_rate, say=say)
        else:
            name = learner or "smile"
            needed = max(samples_needed(name, given, kind, family, first), calibrate or 0)
            make = partial(follower_for, name, settings=given, alarms=alarms, kind=kind, family=family, say=say)
        feed = Feed()
        session = Session(feed, say)
        draws = sys.stdout.isatty() and not json
        view = partial(screen, feed, sys.stdout) if draws else partial(lines, sys.stdout, every, json)
        if sys.stdin.isatty():
            say("astonish: type a number in each line; Ctrl-D ends")
        with served(feed, port, browser) if page else nullcontext():
            with suppress(KeyboardInterrupt):  # one way in which it ends
                session.run(sys.stdin.buffer, column, needed, make, view)
            stays = page and not session.was_interrupted
            rest = "; the page stays until Ctrl-C" if stays else ""
            say(f"astonish: {summary(feed, len(session.waiting), session.left_out)}{rest}")
            with suppress(KeyboardInterrupt):
                while stays:
                    sleep(3600)
        if session.left_out and not feed.samples:
            raise Exit(2)


def _check_monitor(own: Mapping[str, Any]) -> None:
    """Refuse options that are about learners and their detectors."""
    for option, value in own.items():
        if value is not None:
            raise ValueError(f"{option} is about a learner, but --monitor needs none; leave one of them out")


@contextmanager
def served(feed: "Feed", port: int | None, browser: bool) -> Iterator[None]:
    """The page, on this machine alone, beside what else goes on; it ends with the block."""
    from astonish.page.connections import make_server
    from astonish.page.server import make_app

    try:
        listening = listen("127.0.0.1", port)
    except (OSError, OverflowError) as problem:
        raise refuse(f"port {port} cannot be used ({problem}); give another --port", 1) from None
    link = f"{addresses('127.0.0.1', listening.getsockname()[1])[0]}#tab=stream"
    server = make_server(make_app(warm=False, feed=feed))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    say(f"astonish: the page is at {link}")
    if browser:
        Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(timeout=10)
