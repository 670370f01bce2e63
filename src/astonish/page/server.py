"""The server of the page: which function answers which request.

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

import jax
from anyio import CapacityLimiter, create_task_group, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from astonish.page import requests
from astonish.page.controls import Tab
from astonish.page.data import DataTab
from astonish.page.gaussian import GaussianTab
from astonish.page.guard import Guard, sentence, trusted_hosts
from astonish.page.jobs import BusyError, Jobs, PageJob, Worker
from astonish.page.lab import LabTab
from astonish.page.maze import MazeTab
from astonish.page.stream import StreamTab
from astonish.page.tour import TourTab
from astonish.page.upload import LARGEST
from astonish.watch.session import Feed

STATIC = Path(__file__).parent / "static"
LARGEST_REQUEST = 64 * 1024
AT_ONCE = 2  # answers computed side by side
COMPILED = "/jax/core/compile/backend_compile_duration"  # what JAX calls the event that a program was compiled
PROGRAMS = 100  # compiled programs, of one to twenty megabytes each, that are kept beside those of the warm-up
COMPRESSION = 1  # of 9; more would take longer than it saves
UPLOADS = 4  # tables held in memory; one is computed, the others wait for it
# a report brings its own style and pictures, and nothing in it may run
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


def make_app(
    host: str = "127.0.0.1",
    warm: bool = True,
    learners: Sequence[str] = (),
    token: str | None = None,
    worker: Worker | None = None,
    jobs: Jobs | None = None,
    feed: Feed | None = None,
    programs: float = math.inf,
) -> Starlette:
    """Make the application.

    Args:
        host: The address it listens on.
        warm: Whether to compile what the page shows first before it is asked for.
        learners: Names of learners that are offered beside those of the catalogue.
        token: A secret, without which nobody is answered.
        worker: Reads the tables that people send, within its limits.
        jobs: The analyses that people ask for, within their limits.
        feed: A stream to be shown.
        programs: Number of programs compiled since the warm-up above which all are forgotten; only where nothing else
            computes.
    """
    data, gaussian, maze = DataTab(learners), GaussianTab(learners), MazeTab(learners)
    process, fits = worker or Worker(), jobs or Jobs()
    tabs: dict[str, Tab] = {"tour": TourTab(), "gaussian": gaussian, "maze": maze, "lab": LabTab()}
    more = {"averages": gaussian.averages, "explain-gaussian": gaussian.explain, "explain-maze": maze.explain}
    if feed is not None:
        tabs["stream"] = StreamTab(feed)

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        state = app.state

        def count(event: str, *_: Any, **__: Any) -> None:
            state.compiled += event == COMPILED

        state.compiled, state.programs = 0, programs
        jax.monitoring.register_event_duration_secs_listener(count)
        state.limiter, state.uploads = CapacityLimiter(AT_ONCE), CapacityLimiter(UPLOADS)
        state.worker, state.jobs, state.learners = process, fits, data.learners
        state.page, state.is_warming = index(feed is not None), warm
        state.controls = {"data": data.controls, **{name: tab.controls for name, tab in tabs.items()}}
        state.answers = {**more, **{name: tab.answer for name, tab in tabs.items()}}
        tables = {"preview": data.preview, "data": data.answer, "table": data.table, "explain-data": data.explain}
        state.tables = tables
        async with create_task_group() as group:
            if warm:
                group.start_soon(warm_up, state, tabs)
            yield
            group.cancel_scope.cancel()  # what is being compiled is waited for: cut short, it takes Python down with it
        process.end()
        await to_thread.run_sync(fits.end)

    routes = [
        Route("/", _index),
        Route("/api/{tab:str}", _controls, methods=["GET"]),
        Route("/api/{question:str}", _answer, methods=["POST"]),
        Route("/api/jobs/{analysis:str}", _start, methods=["POST"]),
        Route("/api/jobs/{job:str}/events", _follow, methods=["GET"]),
        Route("/api/jobs/{job:str}/cancel", _cancel, methods=["POST"]),
        Route("/api/jobs/{job:str}/results.zip", _results, methods=["GET"]),
        Route("/api/jobs/{job:str}/report.html", _report, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = dict.fromkeys((HTTPException, ValueError, ClientDisconnect, Exception), _problem)
    layers = [
        Middleware(Guard, token=token),
        Middleware(TrustedHostMiddleware, allowed_hosts=trusted_hosts(host, token), www_redirect=False),
        Middleware(GZipMiddleware, compresslevel=COMPRESSION),
    ]
    return Starlette(routes=routes, middleware=layers, exception_handlers=handlers, lifespan=alive)


async def warm_up(state: Any, tabs: dict[str, Tab]) -> None:
    """Compile what the page asks for first, then the other screens of the tour.

    Other families of the belief lab, and other learners, are compiled when they are chosen.
    """
    screens = [{"screen": screen["name"]} for screen in tabs["tour"].controls()["screens"]]
    asked: list[tuple[Tab, dict[str, str]]] = [(tab, {}) for tab in tabs.values()]
    one_at_a_time = CapacityLimiter(1)
    for tab, question in [*asked, *((tabs["tour"], screen) for screen in screens)]:
        with suppress(Exception):  # whoever asks for it is told what is wrong
            await to_thread.run_sync(partial(tab.answer, question), limiter=one_at_a_time)
    state.is_warming, state.compiled = False, 0


def forget_programs(state: Any) -> None:
    """Forget what was compiled, if that is much and nothing is computed; what is asked for next is compiled again."""
    if state.compiled > state.programs and not state.is_warming and state.limiter.borrowed_tokens == 0:
        jax.clear_caches()
        state.compiled = 0


def index(with_stream: bool) -> str:
    """Read the page, with or without its tab for a stream."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    return page if with_stream else re.sub(r" *<!-- stream -->.*?<!-- /stream -->\n", "", page, flags=re.DOTALL)


async def read_body(request: Request, most: int) -> bytes:
    """Read the body of a request, and refuse it as soon as it is seen to be longer than so many bytes."""
    too_much = HTTPException(413, f"that is more than {most / 2**20:g} MB, which is the most that is taken; send less")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 12 or int(length) > most:
        raise too_much
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise too_much
    return bytes(body)


# ---- tabs


async def _index(request: Request) -> Response:
    return HTMLResponse(request.app.state.page)


async def _controls(request: Request) -> Response:
    state = request.app.state
    controls = _named(state.controls, request.path_params["tab"])
    return JSONResponse(await to_thread.run_sync(controls, limiter=state.limiter))


async def _answer(request: Request) -> Response:
    question, state = request.path_params["question"], request.app.state
    if question in state.answers:
        try:
            asked = json.loads(await read_body(request, LARGEST_REQUEST))
        except (ValueError, RecursionError):
            raise ValueError("the request is not JSON; send an object, such as {}") from None
        answer = await to_thread.run_sync(state.answers[question], asked, limiter=state.limiter)
        forget_programs(state)
        return JSONResponse(answer)
    function = _named(state.tables, question)
    async with state.uploads:
        body = await read_body(request, LARGEST)
        answer = await to_thread.run_sync(state.worker.ask, function, dict(request.query_params), body)
    return Response(answer, media_type="text/csv") if isinstance(answer, str) else JSONResponse(answer)


def _named(functions: dict[str, Callable[..., Any]], name: str) -> Callable[..., Any]:
    if name not in functions:
        raise HTTPException(404, f"there is no {name[:60]!r} here")
    return functions[name]


# ---- analyses


async def _start(request: Request) -> Response:
    """Start an analysis of the table that is sent, as the words in the address say; name: of its file."""
    state, asked = request.app.state, request.query_params.multi_items()
    name = request.query_params.get("name", "")
    words = [pair for pair in asked if pair[0] != "name"]
    try:
        state.jobs.check()  # before a table is taken
        understood = requests.understood(request.path_params["analysis"], name, words, state.learners)
        async with state.uploads:
            job = state.jobs.start(understood, await read_body(request, LARGEST))
    except BusyError as problem:
        raise HTTPException(429, str(problem)) from None
    return JSONResponse({"job": job.id, "command": understood.command_line(), "seconds": state.jobs.seconds})


async def _follow(request: Request) -> Response:
    after = request.query_params.get("after", "0")
    events = _job(request).follow(int(after) if after.isdecimal() and len(after) < 9 else 0)
    return StreamingResponse(events, media_type="text/event-stream")


async def _cancel(request: Request) -> Response:
    await to_thread.run_sync(_job(request).end)
    return JSONResponse({})


async def _results(request: Request) -> Response:
    job = _job(request)
    if job.archive is None:
        raise HTTPException(404, "there are no results yet; wait until the analysis is done")
    return _download(job, "zip", job.archive, "application/zip")


async def _report(request: Request) -> Response:
    """The report by itself: to look at, or, with ?download, to keep."""
    job = _job(request)
    if not job.report:
        raise HTTPException(404, "there is no report yet; wait until the analysis is done")
    if "download" in request.query_params:
        return _download(job, "html", job.report.encode(), "text/html; charset=utf-8")
    return HTMLResponse(job.report, headers={"content-security-policy": REPORT_POLICY})


def _job(request: Request) -> PageJob:
    job: PageJob | None = request.app.state.jobs.find(request.path_params["job"])
    if job is None:
        raise HTTPException(404, "this analysis is not known any more; start it again")
    return job


def _download(job: PageJob, end: str, content: bytes, kind: str) -> Response:
    """Send a file to keep, whose name has letters, digits and hyphens only."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", job.request.file.name.partition(".")[0]).strip("-")
    name = "-".join(part for part in ("astonish", job.request.command, stem) if part)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}.{end}"'})


async def _problem(_: Request, problem: Exception) -> Response:
    """Say what is wrong with a request, in a sentence."""
    match problem:
        case HTTPException():
            return sentence(problem.status_code, str(problem.detail))
        case ClientDisconnect():
            return Response(status_code=499)  # nobody reads it
        case ValueError():
            return sentence(400, str(problem))
    return sentence(500, "something went wrong that should not; the window in which astonish runs says what")
