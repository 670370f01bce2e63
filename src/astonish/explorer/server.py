"""Who may ask the page for what, and how is everybody else refused?

It answers only to names of this machine, so that no other site can reach it through the browser; runs nothing that
people write; and says what is wrong in a sentence.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astonish.explorer import data, gaussian, lab, maze
from astonish.explorer.controls import Answer

STATIC = Path(str(files("astonish.explorer").joinpath("static")))
LARGEST_REQUEST = 64 * 1024
AT_ONCE = 2  # answers computed side by side
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    # Plotly sets styles of elements; its own style sheet is ours to serve
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
QUESTIONS: dict[str, Callable[[Any], Answer]] = {
    "gaussian": gaussian.gaussian,
    "maze": maze.walk_through_maze,
    "lab": lab.lab,
}
CONTROLS: dict[str, Callable[[], Answer]] = {
    "gaussian": gaussian.controls,
    "maze": maze.controls,
    "lab": lab.controls,
    "data": data.controls,
}
TABLES: dict[str, Callable[[Any, bytes], Any]] = {"preview": data.preview, "data": data.data, "table": data.table}


class Guard:
    """Refuses other names of this machine than `host`, and other sites; adds headers that bind the browser."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = refused(Headers(scope=scope), scope["path"], self.host)
        await (_sentence(403, refusal) if refusal else self.app)(scope, receive, sending)


def refused(headers: Headers, path: str, host: str) -> str | None:
    """Why a request is not answered, if it is not."""
    name = _host_name(headers.get("host", ""))
    if not _is_ours(name, host):
        return f"this page answers to {' or '.join(LOOPBACK[:2])}, not to {name[:60]!r}; use the address it gave"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return f"requests from {origin[:60]!r} are not answered; use the page itself"
    if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "requests from other sites are not answered; use the page itself"
    return None


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_ours(name: str, host: str) -> bool:
    """A number is safe where we listen to the network: it is names that can be made to point here (DNS rebinding)."""
    if name in (*LOOPBACK, host):
        return True
    if is_loopback(host):
        return False
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def make_app(host: str = "127.0.0.1", warm: bool = True) -> Starlette:
    """The application. host: the address it listens on. warm: compile what the page shows first, behind its back."""

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        if warm:
            Thread(target=warm_up, daemon=True).start()
        yield

    routes = [
        Route("/", _index),
        Route("/plotly.min.js", _plotly),
        Route("/api/{tab:str}", _controls, methods=["GET"]),
        Route("/api/{question:str}", _answer, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = {
        HTTPException: _http_problem,
        ValueError: _refusal,
        ClientDisconnect: _gone,
        Exception: _failure,
    }
    return Starlette(
        routes=routes, middleware=[Middleware(Guard, host=host)], exception_handlers=handlers, lifespan=alive
    )


def warm_up() -> None:
    """Compile what the page asks for first, then what it may ask for next."""
    gaussian.gaussian({})
    lab.lab({})
    maze.walk_through_maze({})
    for family in lab.all_shapes():
        lab.lab({"family": family})


async def _index(_: Request) -> Response:
    return HTMLResponse(await _in_thread(index))


@cache
def index() -> str:
    """The page. Plotly would write a style sheet for maps into it, which is forbidden, but not if it is there by name."""
    names = re.findall(r'getElementById\("([0-9a-f]{64})"\)', plotly_file().read_text(encoding="utf-8"))
    there = "".join(f'<template id="{name}"></template>' for name in names)
    return (STATIC / "index.html").read_text(encoding="utf-8").replace("<!-- styles of Plotly -->", there)


async def _plotly(_: Request) -> Response:
    return FileResponse(plotly_file(), media_type="text/javascript", headers={"cache-control": "max-age=86400"})


@cache
def plotly_file() -> Path:
    """Plotly's JavaScript, out of its Python package, which itself would take long to import."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the page needs plotly, which is not installed", name="plotly")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


async def _controls(request: Request) -> Response:
    tab = request.path_params["tab"]
    if tab not in CONTROLS:
        raise HTTPException(404, f"there is no {tab[:60]!r} here")
    return JSONResponse(await _in_thread(CONTROLS[tab]))


async def _answer(request: Request) -> Response:
    question = request.path_params["question"]
    if question in QUESTIONS:
        said = _parsed(await _body(request, LARGEST_REQUEST))
        return JSONResponse(await _in_thread(QUESTIONS[question], said))
    if question in TABLES:
        said = dict(request.query_params)
        answer = await _in_thread(TABLES[question], said, await _body(request, data.LARGEST))
        return Response(answer, media_type="text/csv") if isinstance(answer, str) else JSONResponse(answer)
    raise HTTPException(404, f"there is no {question[:60]!r} here")


async def _in_thread(function: Callable[..., Any], *given: Any) -> Any:
    return await to_thread.run_sync(function, *given, limiter=_limiter())


@cache
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(AT_ONCE)


async def _body(request: Request, most: int) -> bytes:
    """What was sent, refused as soon as it is seen to be too much."""
    too_much = HTTPException(413, f"that is more than {most / 2**20:g} MB, which is the most that is taken; send less")
    said = request.headers.get("content-length", "0")
    if not said.isdecimal() or len(said) > 12 or int(said) > most:
        raise too_much
    parts, total = [], 0
    async for part in request.stream():
        total += len(part)
        if total > most:
            raise too_much
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON; send an object, such as {}") from None


def _sentence(code: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, code)


async def _http_problem(_: Request, problem: HTTPException) -> Response:
    return _sentence(problem.status_code, str(problem.detail))


async def _refusal(_: Request, problem: ValueError) -> Response:
    return _sentence(400, str(problem))


async def _gone(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _failure(_: Request, __: Exception) -> Response:
    return _sentence(500, "something went wrong that should not; the window in which astonish runs says what")
