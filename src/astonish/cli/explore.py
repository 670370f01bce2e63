"""`astonish explore`: a page in the browser to try learners, shape beliefs and look at one's own data."""

import os
import socket
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_urlsafe
from threading import Thread
from typing import Annotated

from typer import Option

from astonish.cli.console import guarded, refuse, say
from astonish.people.analysis.requests import OWN

PORT = 8765
LOCAL = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # for all addresses of this machine, one of its own


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
        _serve(host, port, browser, learner or ())


def _serve(host: str, port: int | None, browser: bool, learners: Sequence[str]) -> None:
    """The page, until Ctrl-C."""
    from astonish.page.server import PROGRAMS, is_loopback, make_app, make_server

    token = None if is_loopback(host) else token_urlsafe()
    app = make_app(host, learners=learners, token=token, programs=PROGRAMS)
    try:
        listening = listen(host, port)
    except (OSError, OverflowError) as problem:
        sentence = f"{host} port {port or PORT} cannot be used ({problem}); give another --host or --port"
        raise refuse(sentence, 1) from None
    links = [f"{each}?token={token}" if token else each for each in addresses(host, listening.getsockname()[1])]
    if token:
        say("astonish: warning: whoever has the link can use the page, and what it sends is not encrypted")
    print(f"the page is at {' or '.join(links)} (Ctrl-C ends it)", flush=True)
    if browser and not token:  # everybody on this machine could read the link among its processes
        Thread(target=webbrowser.open, args=(links[0],), daemon=True).start()
    with suppress(KeyboardInterrupt):  # which is how it is ended
        make_server(app).run(sockets=[listening])
    say("astonish: the page is closed")


def listen(host: str, port: int | None) -> socket.socket:
    """A socket at this port; at the usual one, or any that is free, if none is given."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, PORT if port is None else port), family=family)
    except OSError:
        if port is not None:
            raise
        return socket.create_server((host, 0), family=family)


def addresses(host: str, port: int) -> list[str]:
    """Where a page that listens there is found."""
    names = (LOCAL[host], socket.gethostname()) if host in LOCAL else (host,)
    return [f"http://{f'[{name}]' if ':' in name else name}:{port}/" for name in names]
