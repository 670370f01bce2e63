"""The server of the page: which function answers which request?

It runs nothing that people send, refuses early what is too large, and says what is wrong in a sentence.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from astonish.explorer.body import read_body
from astonish.explorer.controls import Tab
from astonish.explorer.data import DataTab
from astonish.explorer.gaussian import GaussianTab
from astonish.explorer.guard import Guard, sentence
from astonish.explorer.job_routes import job_routes
from astonish.explorer.jobs import Jobs
from astonish.explorer.lab import LabTab
from astonish.explorer.maze import MazeTab
from astonish.explorer.stream import StreamTab
from astonish.explorer.tour import TourTab
from astonish.explorer.upload import LARGEST
from astonish.explorer.worker import Worker
from astonish.watch.feed import Feed

STATIC = Path(__file__).parent / "static"
LARGEST_REQUEST = 64 * 1024
AT_ONCE = 2  # answers computed side by side
COMPRESSION = 1  # of 9; more would take longer than it saves
UPLOADS = 4  # tables held in memory; one is computed, the others wait for it


def make_app(
    host: str = "127.0.0.1",
    warm: bool = True,
    learners: Sequence[str] = (),
    token: str | None = None,
    worker: Worker | None = None,
    jobs: Jobs | None = None,
    feed: Feed | None = None,
) -> Starlette:
    """The application.

    host: the address it listens on. warm: compile what the page shows first, in a thread. learners: names of learners
    that are offered beside those of the catalogue. token: a secret, without which nobody is answered. worker: reads the
    tables that people send, within its limits. jobs: the fits that people ask for, within theirs.
    feed: a stream to be shown.
    """
    data, gaussian, maze = DataTab(learners), GaussianTab(learners), MazeTab(learners)
    process, fits = worker or Worker(), jobs or Jobs()
    tabs: dict[str, Tab] = {"tour": TourTab(), "gaussian": gaussian, "maze": maze, "lab": LabTab()}
    more = {"averages": gaussian.averages, "explain-gaussian": gaussian.explain, "explain-maze": maze.explain}
    if feed is not None:
        tabs["stream"] = StreamTab(feed)

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        app.state.limiter, app.state.uploads = CapacityLimiter(AT_ONCE), CapacityLimiter(UPLOADS)
        app.state.worker, app.state.jobs, app.state.learners = process, fits, data.learners
        app.state.page = index(feed is not None)
        app.state.controls = {"data": data.controls, **{name: tab.controls for name, tab in tabs.items()}}
        app.state.answers = {**more, **{name: tab.answer for name, tab in tabs.items()}}
        tables = {"preview": data.preview, "data": data.answer, "table": data.table, "explain-data": data.explain}
        app.state.tables = tables
        stop = Event()
        if not warm:
            stop.set()
        thread = Thread(target=warm_up, args=(stop, tabs))
        thread.start()
        yield
        stop.set()
        process.end()
        await to_thread.run_sync(fits.end)
        thread.join()  # a compiler that is cut short takes Python down with it

    routes = [
        Route("/", _index),
        Route("/api/{tab:str}", _controls, methods=["GET"]),
        Route("/api/{question:str}", _answer, methods=["POST"]),
        *job_routes(),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = dict.fromkeys((HTTPException, ValueError, ClientDisconnect, Exception), _problem)
    layers = [Middleware(Guard, host=host, token=token), Middleware(GZipMiddleware, compresslevel=COMPRESSION)]
    return Starlette(routes=routes, middleware=layers, exception_handlers=handlers, lifespan=alive)


def warm_up(stop: Event, tabs: dict[str, Tab]) -> None:
    """Compile what the page asks for first, then the other screens of the tour, until it is to stop.

    Other families of the belief lab are compiled when they are chosen: each takes tens of megabytes.
    """
    for tab in tabs.values():
        if not stop.is_set():
            tab.answer({})
    for screen in () if stop.is_set() else tabs["tour"].controls()["screens"]:
        if not stop.is_set():
            tabs["tour"].answer({"screen": screen["name"]})


async def _index(request: Request) -> Response:
    return HTMLResponse(request.app.state.page)


def index(with_stream: bool) -> str:
    """The page. with_stream: whether it has a tab for a stream."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    return page if with_stream else re.sub(r" *<!-- stream -->.*?<!-- /stream -->\n", "", page, flags=re.DOTALL)


async def _controls(request: Request) -> Response:
    return JSONResponse(await _in_thread(request, _known(request.app.state.controls, request.path_params["tab"])))


async def _answer(request: Request) -> Response:
    question, state = request.path_params["question"], request.app.state
    if question in state.answers:
        asked = _parsed(await read_body(request, LARGEST_REQUEST))
        return JSONResponse(await _in_thread(request, state.answers[question], asked))
    function = _known(state.tables, question)
    async with state.uploads:
        body = await read_body(request, LARGEST)
        answer = await to_thread.run_sync(state.worker.ask, function, dict(request.query_params), body)
    return Response(answer, media_type="text/csv") if isinstance(answer, str) else JSONResponse(answer)


def _known(functions: dict[str, Callable[..., Any]], name: str) -> Callable[..., Any]:
    if name not in functions:
        raise HTTPException(404, f"there is no {name[:60]!r} here")
    return functions[name]


async def _in_thread(request: Request, function: Callable[..., Any], *given: Any) -> Any:
    return await to_thread.run_sync(function, *given, limiter=request.app.state.limiter)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON; send an object, such as {}") from None


async def _problem(_: Request, problem: Exception) -> Response:
    """What is wrong with a request, in a sentence."""
    match problem:
        case HTTPException():
            return sentence(problem.status_code, str(problem.detail))
        case ClientDisconnect():
            return Response(status_code=499)  # nobody reads it
        case ValueError():
            return sentence(400, str(problem))
    return sentence(500, "something went wrong that should not; the window in which astonish runs says what")
