"""What does `astonish explore` do to bring its page to the screen?"""

import socket
import webbrowser
from threading import Thread

import uvicorn

from astonish.commands.words import refuse, say
from astonish.explorer.guard import is_loopback
from astonish.explorer.server import make_app, plotly_file

PORT = 8765
CONNECTIONS = 500  # of which a browser keeps six; more than a class needs, and fewer than the files a process may open


def explore(host: str, port: int | None, browser: bool) -> int:
    """Serve the page until somebody stops it; the answer is the exit code. port: `PORT` or any free one when None."""
    plotly_file()  # if it is missing, better now than on the page
    try:
        listening = _listen(host, port)
    except (OSError, OverflowError) as problem:
        return refuse(f"{host} port {port or PORT} cannot be used ({problem}); give another --host or --port", 1)
    address = _address(host, listening.getsockname()[1])
    if not is_loopback(host):
        say(f"astonish: warning: whoever can reach {host} can use this page; leave out --host if unsure")
    print(f"the page is at {address} (Ctrl-C ends it)", flush=True)
    if browser:
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    settings = uvicorn.Config(
        make_app(host),
        log_level="warning",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
    )
    try:
        uvicorn.Server(settings).run(sockets=[listening])
    except KeyboardInterrupt:
        say("astonish: stopped")
    return 0


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, PORT if port is None else port), family=family)
    except OSError:
        if port is not None:
            raise
        return socket.create_server((host, 0), family=family)


def _address(host: str, port: int) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/"
