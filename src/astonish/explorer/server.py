"""What does the page answer to which question?

It runs nothing that people write, refuses early what is too much, and says what is wrong in a sentence.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from astonish.explorer import data, gaussian, lab, maze
from astonish.explorer.controls import Answer
from astonish.explorer.guard import Guard, sentence
from astonish.explorer.upload import LARGEST

STATIC = Path(str(files("astonish.explorer").joinpath("static")))
LARGEST_REQUEST = 64 * 1024
AT_ONCE = 2  # answers computed side by side
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


def make_app(host: str = "127.0.0.1", warm: bool = True) -> Starlette:
    """The application. host: the address it listens on. warm: compile what the page shows first, behind its back."""

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        app.state.limiter = CapacityLimiter(AT_ONCE)
        stop = Event()
        thread = Thread(target=warm_up, args=(stop,))
        if warm:
            thread.start()
        yield
        stop.set()
        if warm:
            thread.join()  # a compiler that is cut short takes Python down with it

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


def warm_up(stop: Event) -> None:
    """Compile what the page asks for first, then what it may ask for next, until it is to stop."""
    for question in QUESTIONS.values():
        if not stop.is_set():
            question({})
    for family in () if stop.is_set() else lab.all_shapes():
        if not stop.is_set():
            lab.lab({"family": family})


async def _index(request: Request) -> Response:
    return HTMLResponse(await _in_thread(request, index))


@cache
def index() -> str:
    """The page. Plotly would write a style sheet for maps into it, which is forbidden, unless one is there by name."""
    names = re.findall(r'getElementById\("([0-9a-f]{64})"\)', plotly_file().read_text(encoding="utf-8"))
    there = "".join(f'<template id="{name}"></template>' for name in names)
    return (STATIC / "index.html").read_text(encoding="utf-8").replace("<!-- styles of Plotly -->", there)


async def _plotly(_: Request) -> Response:
    return FileResponse(plotly_file(), media_type="text/javascript")


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
    return JSONResponse(await _in_thread(request, CONTROLS[tab]))


async def _answer(request: Request) -> Response:
    question = request.path_params["question"]
    if question in QUESTIONS:
        said = _parsed(await _body(request, LARGEST_REQUEST))
        return JSONResponse(await _in_thread(request, QUESTIONS[question], said))
    if question in TABLES:
        said = dict(request.query_params)
        answer = await _in_thread(request, TABLES[question], said, await _body(request, LARGEST))
        return Response(answer, media_type="text/csv") if isinstance(answer, str) else JSONResponse(answer)
    raise HTTPException(404, f"there is no {question[:60]!r} here")


async def _in_thread(request: Request, function: Callable[..., Any], *given: Any) -> Any:
    return await to_thread.run_sync(function, *given, limiter=request.app.state.limiter)


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


async def _http_problem(_: Request, problem: HTTPException) -> Response:
    return sentence(problem.status_code, str(problem.detail))


async def _refusal(_: Request, problem: ValueError) -> Response:
    return sentence(400, str(problem))


async def _gone(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _failure(_: Request, __: Exception) -> Response:
    return sentence(500, "something went wrong that should not; the window in which astonish runs says what")
