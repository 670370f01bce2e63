"""The server of the page: which function answers which request?

It runs nothing that people send, refuses early what is too large, and says what is wrong in a sentence.
"""

import json
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, Lock, create_task_group, to_thread
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from astonish.page.body import read_body
from astonish.page.controls import Tab
from astonish.page.data import DataTab
from astonish.page.gaussian import GaussianTab
from astonish.page.guard import Guard, sentence
from astonish.page.job_routes import job_routes
from astonish.page.jobs import Jobs
from astonish.page.lab import LabTab
from astonish.page.maze import MazeTab
from astonish.page.memory import MemoryLimit
from astonish.page.stream import StreamTab
from astonish.page.tour import TourTab
from astonish.page.upload import LARGEST
from astonish.page.worker import Worker
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
    memory: MemoryLimit | None = None,
) -> Starlette:
    """The application.

    host: the address it listens on. warm: compile what the page shows first, before it is asked for. learners: names of
    learners that are offered beside those of the catalogue. token: a secret, without which nobody is answered. worker:
    reads the tables that people send, within its limits. jobs: the fits that people ask for, within theirs. feed: a
    stream to be shown. memory: that of this process, with a limit if nothing but the page computes in it.
    """
    data, gaussian, maze = DataTab(learners), GaussianTab(learners), MazeTab(learners)
    process, fits = worker or Worker(), jobs or Jobs()
    tabs: dict[str, Tab] = {"tour": TourTab(), "gaussian": gaussian, "maze": maze, "lab": LabTab()}
    more = {"averages": gaussian.averages, "explain-gaussian": gaussian.explain, "explain-maze": maze.explain}
    if feed is not None:
        tabs["stream"] = StreamTab(feed)

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        app.state.limiter, app.state.extra = CapacityLimiter(AT_ONCE), CapacityLimiter(1)
        app.state.uploads = CapacityLimiter(UPLOADS)
        app.state.worker, app.state.jobs, app.state.learners = process, fits, data.learners
        app.state.page, app.state.is_warming = index(feed is not None), warm
        app.state.memory, app.state.making_room = memory or MemoryLimit(math.inf), Lock()
        app.state.controls = {"data": data.controls, **{name: tab.controls for name, tab in tabs.items()}}
        app.state.answers = {**more, **{name: tab.answer for name, tab in tabs.items()}}
        tables = {"preview": data.preview, "data": data.answer, "table": data.table, "explain-data": data.explain}
        app.state.tables = tables
        async with create_task_group() as group:
            if warm:
                group.start_soon(warm_up, app.state, tabs)
            yield
            group.cancel_scope.cancel()  # what is being compiled is waited for: cut short, it takes Python down with it
        process.end()
        await to_thread.run_sync(fits.end)

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


async def warm_up(state: Any, tabs: dict[str, Tab]) -> None:
    """Compile what the page asks for first, then the other screens of the tour.

    Other families of the belief lab, and other learners, are compiled when they are chosen.
    """
    screens = [{"screen": screen["name"]} for screen in tabs["tour"].controls()["screens"]]
    asked: list[tuple[Tab, dict[str, str]]] = [(tab, {}) for tab in tabs.values()]
    for tab, question in [*asked, *((tabs["tour"], screen) for screen in screens)]:
        with suppress(Exception):  # whoever asks for it is told what is wrong
            await to_thread.run_sync(partial(tab.answer, question), limiter=state.extra)
    state.is_warming = False
    await make_room(state)


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
        afterwards = None if state.is_warming else BackgroundTask(make_room, state)  # at the end of warming, too
        return JSONResponse(await _in_thread(request, state.answers[question], asked), background=afterwards)
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


async def make_room(state: Any) -> None:
    """If memory is full, make room in it while nothing is computed."""
    async with state.making_room:
        if not state.memory.is_full:
            return
        taken: list[object] = []
        try:
            for place in [object() for _ in range(AT_ONCE)]:
                await state.limiter.acquire_on_behalf_of(place)
                taken.append(place)
            await to_thread.run_sync(state.memory.make_room, limiter=state.extra)
        finally:
            for place in taken:
                state.limiter.release_on_behalf_of(place)


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
