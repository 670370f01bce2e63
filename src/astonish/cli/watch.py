"""`astonish watch` follows numbers from standard input; `astonish explore` opens the page in the browser."""

import os
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from secrets import token_urlsafe
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from typer import Exit, Option

from astonish.cli.app import guarded, refuse, say, takes_request
from astonish.core.names import OutcomeKind
from astonish.io.request import AtLeastOne, FamilyName, Learner, Request, asked
from astonish.people.analysis.requests import FAMILY_HELP, LEARNER_HELP, OWN, Settings

if TYPE_CHECKING:
    from astonish.watch.stream import Feed

_PORT = 8765
_LOCAL = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # for all addresses of this machine, one of its own
MODEL, ALARMS, OUTPUT = "Model", "Alarms", "Input and output"
Count = Annotated[int, Field(ge=0)]


class WatchRequest(Request):
    """What can be asked about a stream of numbers."""

    command: ClassVar[str] = "watch"
    learner: Learner | None = asked(f"{LEARNER_HELP} Else smile.", None, MODEL)
    monitor: bool = asked(
        "Instead of a learner: find out from the numbers themselves what is usual (astonish.monitor).", False, MODEL
    )
    period: float | None = asked("With --monitor: samples after which it repeats itself; else looked for.", None, MODEL)
    settings: Settings = asked("A parameter, such as m=0.1 or noise=2.", {}, MODEL, flag="--set")
    family: FamilyName | None = asked(f"{FAMILY_HELP}; else the usual one.", None, MODEL)
    kind: OutcomeKind = asked("Are samples continuous, or binary: 0 and 1?", OutcomeKind.CONTINUOUS, MODEL)
    warm_up: Annotated[int, Field(ge=2)] = asked(
        "Samples that decide, before anything is shown, what was not set.", 100, MODEL
    )
    signal: str | None = asked(
        "What gives an alarm: change_probability, surprise or learning_rate; else the first that there is.",
        None,
        ALARMS,
    )
    threshold: float | None = asked("Above which the signal gives an alarm; else it is found.", None, ALARMS)
    false_alarm_rate: float | None = asked(
        "False alarms per sample, if the threshold is to be found; else 0.001, or 0.005 with --monitor.", None, ALARMS
    )
    calibrate: AtLeastOne | None = asked(
        "Find it from so many first samples, in which nothing should change; else from the learner's own model.",
        None,
        ALARMS,
    )
    cooldown: Count = asked("So many samples after an alarm there is no other.", 10, ALARMS)
    burn_in: Count = asked("So many samples at the start give none.", 50, ALARMS)
    within: AtLeastOne = asked("Alarm for a change within so many samples up to now.", 1, ALARMS)
    column: str | None = asked("Column of CSV lines, by its name in the first line, or by its number.", None, OUTPUT)
    every: AtLeastOne = asked("Print every so-many-th sample only, and alarms.", 1, OUTPUT)
    json_lines: bool = asked("Print a JSON object for each sample; else tab-separated.", False, OUTPUT, flag="--json")
    page: bool = asked("Also show it on a page in the browser.", False, OUTPUT)
    port: Annotated[int, Field(ge=0, le=65535)] | None = asked(
        "Port of the page; else 8765, or any free one.", None, OUTPUT
    )
    browser: bool = asked("Open the page in the browser.", True, OUTPUT)


@takes_request
def watch(request: WatchRequest) -> None:
    """Follow numbers from standard input, one in a line: what is believed, how surprising each is, and alarms.

    sensor | astonish watch --learner message-passing --false-alarm-rate 0.0001

    sensor | astonish watch --monitor

    In a terminal it draws what is going on; elsewhere it prints a line for each sample. An empty line, or NA, is a
    missing sample. A line that is no number is left out, and said on standard error.
    """
    with guarded(needs="watching needs", stopped="nothing was learned yet"):
        from astonish.watch.stream import Feed, follow, lines, screen, summary

        needed, make = _follower(request)
        feed = Feed()
        draws = sys.stdout.isatty() and not request.json_lines
        view = partial(screen, feed, sys.stdout)
        if not draws:
            view = partial(lines, sys.stdout, request.every, request.json_lines)
        if sys.stdin.isatty():
            say("astonish: type a number in each line; Ctrl-D ends")
        with _served(feed, request.port, request.browser) if request.page else nullcontext():
            with suppress(KeyboardInterrupt):  # one way in which it ends
                follow(feed, say, sys.stdin.buffer, request.column, needed, make, view)
            stays = request.page and not feed.was_interrupted
            say(f"astonish: {summary(feed)}{'; the page stays until Ctrl-C' * stays}")
            with suppress(KeyboardInterrupt):
                while stays:
                    sleep(3600)
        if feed.left_out and not feed.samples:
            raise Exit(2)


def _follower(request: WatchRequest) -> tuple[int, Any]:
    """Return how many samples are needed to make what follows the stream, and the function that makes it of them."""
    from astonish.watch.followers import follower_for, monitor_for, samples_needed

    if request.monitor:
        of_learners = ("learner", "settings", "family", "signal", "threshold", "calibrate")
        for field in request.asked():
            if field.name in of_learners and field.name in request.said():
                raise ValueError(f"{field.flag} is about a learner, but --monitor needs none; leave one of them out")
        needed = 0 if request.period is not None else request.warm_up
        return needed, partial(monitor_for, period=request.period, false_alarm_rate=request.false_alarm_rate, say=say)
    name = request.learner or "smile"
    about: Any = {"settings": request.settings, "family": request.family, "kind": request.kind}
    needed = samples_needed(name, warm_up=request.warm_up, **about)
    make = partial(follower_for, name, alarms=request.said(), say=say, **about)
    return max(needed, request.calibrate or 0), make


@contextmanager
def _served(feed: "Feed", port: int | None, browser: bool) -> Iterator[None]:
    """Serve the page, on this machine alone, beside what else goes on; it ends with the block."""
    from astonish.page.server import make_app, make_server

    listening, (address,) = _listen("127.0.0.1", port, "--port")
    link = f"{address}#tab=stream"
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


def explore(
    host: Annotated[
        str, Option(help="Address to listen on; others than this machine's own can be reached with a secret link.")
    ] = "127.0.0.1",
    port: Annotated[int | None, Option(min=0, max=65535, help="Port to listen on; else 8765, or any free one.")] = None,
    browser: Annotated[bool, Option(help="Open the page in the browser, unless its link is secret.")] = True,
    learner: Annotated[list[str] | None, Option(help=f"A learner to show beside the known ones. {OWN}")] = None,
) -> None:
    """Try learners, shape beliefs and look at your own data on a page in the browser; nothing leaves this machine."""
    os.environ.setdefault("ASTONISH_ENGINE", "xla")  # LLVM for the native one takes 100 MB, and a page has the time
    with guarded(needs="the page needs"):
        from astonish.page.server import PROGRAMS, is_loopback, make_app, make_server

        token = None if is_loopback(host) else token_urlsafe()
        page = make_app(host, learners=learner or (), token=token, programs=PROGRAMS)
        listening, addresses = _listen(host, port, "--host or --port")
        links = [f"{address}?token={token}" if token else address for address in addresses]
        if token:
            say("astonish: warning: whoever has the link can use the page, and what it sends is not encrypted")
        print(f"the page is at {' or '.join(links)} (Ctrl-C ends it)", flush=True)
        if browser and not token:  # everybody on this machine could read the link among its processes
            Thread(target=webbrowser.open, args=(links[0],), daemon=True).start()
        with suppress(KeyboardInterrupt):  # which is how it is ended
            make_server(page).run(sockets=[listening])
        say("astonish: the page is closed")


def _listen(host: str, port: int | None, options: str) -> tuple[socket.socket, list[str]]:
    """Open a socket at this port, the usual one, or any that is free; and list the addresses of a page there.

    options: which to use, should it fail.
    """
    names = (_LOCAL[host], socket.gethostname()) if host in _LOCAL else (host,)
    family, obstacle = socket.AF_INET6 if ":" in host else socket.AF_INET, ""
    for place in (_PORT, 0) if port is None else (port,):
        try:
            listening = socket.create_server((host, place), family=family)
        except (OSError, OverflowError) as problem:
            obstacle = str(problem)
        else:
            at = listening.getsockname()[1]
            return listening, [f"http://{f'[{name}]' if ':' in name else name}:{at}/" for name in names]
    raise refuse(f"{host} port {port or _PORT} cannot be used ({obstacle}); give another {options}", 1)
