"""The server of the page: who is answered, which function answers which request, and how long a client may take.

It runs nothing that people send, refuses early what is too large, and says what is wrong in a sentence.
"""

import asyncio
import ctypes
import gc
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import h11
import jax
import uvicorn
from anyio import CapacityLimiter, create_task_group, to_thread
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from astonish.page.controls import Tab
from astonish.page.data import LARGEST, DataTab, understood
from astonish.page.jobs import Jobs, PageJob, Worker
from astonish.page.lab import LabTab
from astonish.page.stream import StreamTab
from astonish.page.tour.screen import SCREENS
from astonish.page.tour.screens import TourTab
from astonish.page.worlds import GaussianTab, MazeTab
from astonish.watch.stream import Feed

STATIC = Path(__file__).parent / "static"
LARGEST_REQUEST = 64 * 1024
AT_ONCE = 2  # answers computed side by side
COMPILED = "/jax/core/compile/backend_compile_duration"  # what JAX calls the event that a program was compiled
PROGRAMS = 16  # compiled programs, of one to twenty megabytes each, that are kept beside those of the warm-up
GLIBC = ((-8, 2), (-3, 2**16))  # for its mallopt, M_ARENA_MAX and M_MMAP_THRESHOLD: so that what is freed is given back
NO_GLIBC = (AttributeError, OSError, TypeError)  # what calls of it raise on other systems
COMPRESSION = 1  # of 9; more would take longer than it saves
UPLOADS = 4  # tables held in memory; one is computed, the others wait for it
SECONDS = 20  # that the server waits for a request, or for the next `PROGRESS` bytes of its body
CONNECTIONS = 500  # of which a browser keeps six; more than a class needs, and fewer than the files a process may open
PROGRESS = 64 * 1024  # bytes; more than uvicorn takes as the head of a request
# a report brings its own style and pictures, and nothing in it may run
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; "  # blob: a plot that is saved as PNG
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


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
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    if feed is None:
        page = re.sub(r" *<!-- stream -->.*?<!-- /stream -->\n", "", page, flags=re.DOTALL)
    else:
        tabs["stream"] = StreamTab(feed)

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        state = app.state

        def count(event: str, *_: Any, **__: Any) -> None:
            state.compiled += event == COMPILED

        state.compiled, state.programs, state.is_warming = 0, programs, warm
        jax.monitoring.register_event_duration_secs_listener(count)
        state.limiter, state.uploads = CapacityLimiter(AT_ONCE), CapacityLimiter(UPLOADS)
        state.worker, state.jobs, state.learners = process, fits, data.learners
        state.controls = {"data": data.controls, **{name: tab.controls for name, tab in tabs.items()}}
        state.answers = {**more, **{name: tab.answer for name, tab in tabs.items()}}
        state.tables = {"preview": data.preview, "data": data.answer, "table": data.table, "explain-data": data.explain}
        with suppress(*NO_GLIBC):
            for option in GLIBC:
                ctypes.CDLL(None).mallopt(*option)
        async with create_task_group() as group:
            if warm:
                group.start_soon(warm_up, state, tabs)
            yield
            group.cancel_scope.cancel()  # what is being compiled is waited for: cut short, it takes Python down with it
        process.end()
        await to_thread.run_sync(fits.end)

    routes = [
        Route("/", lambda _: HTMLResponse(page)),
        Route("/api/{tab:str}", _controls, methods=["GET"]),
        Route("/api/{question:str}", _answer, methods=["POST"]),
        Route("/api/jobs/{analysis:str}", _start, methods=["POST"]),
        Route("/api/jobs/{job:str}/events", _follow, methods=["GET"]),
        Route("/api/jobs/{job:str}/cancel", _cancel, methods=["POST"]),
        Route("/api/jobs/{job:str}/{name:str}", _kept, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = dict.fromkeys((HTTPException, ValueError, ClientDisconnect, Exception), _problem)
    # all names of this machine are answered where the token keeps others out
    names = ["*"] if token else ["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host]
    layers = [
        Middleware(Guard, token=token),
        Middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False),
        Middleware(GZipMiddleware, compresslevel=COMPRESSION),
    ]
    return Starlette(routes=routes, middleware=layers, exception_handlers=handlers, lifespan=alive)


async def warm_up(state: Any, tabs: dict[str, Tab]) -> None:
    """Compile what the page asks for first, then the other screens of the tour.

    Other families of the belief lab, and other learners, are compiled when they are chosen.
    """
    asked: list[tuple[Tab, dict[str, str]]] = [(tab, {}) for tab in tabs.values()]
    asked += [(tabs["tour"], {"screen": name}) for name in SCREENS]
    one_at_a_time = CapacityLimiter(1)
    for tab, question in asked:
        with suppress(Exception):  # whoever asks for it is told what is wrong
            await to_thread.run_sync(partial(tab.answer, question), limiter=one_at_a_time)
    state.is_warming, state.compiled = False, 0


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
        # forget what was compiled, if that is much and nothing is computed
        if state.compiled > state.programs and not state.is_warming and state.limiter.borrowed_tokens == 0:
            jax.clear_caches()
            gc.collect()
            with suppress(*NO_GLIBC):
                ctypes.CDLL(None).malloc_trim(0)
            state.compiled = 0
        return JSONResponse(answer)
    function = _named(state.tables, question)
    async with state.uploads:
        body = await read_body(request, LARGEST)
        answer = await to_thread.run_sync(state.worker.ask, function, request.query_params.multi_items(), body)
    return Response(answer, media_type="text/csv") if isinstance(answer, str) else JSONResponse(answer)


def _named(functions: dict[str, Callable[..., Any]], name: str) -> Callable[..., Any]:
    if name not in functions:
        raise HTTPException(404, f"there is no {name[:60]!r} here")
    return functions[name]


# ---- analyses


async def _start(request: Request) -> Response:
    """Start an analysis of the table that is sent, as the words in the address say; name: of its file."""
    state, asked = request.app.state, request.query_params
    words = [(name, text) for name, text in asked.multi_items() if name != "name"]
    state.jobs.check()  # before a table is taken
    analysis = understood(request.path_params["analysis"], asked.get("name", ""), words, state.learners)
    async with state.uploads:
        job = state.jobs.start(analysis, await read_body(request, LARGEST))
    return JSONResponse({"job": job.id, "command": analysis.command_line(), "seconds": state.jobs.seconds})


async def _follow(request: Request) -> Response:
    after = request.query_params.get("after", "0")
    events = _job(request).follow(int(after) if after.isdecimal() and len(after) < 9 else 0)
    return StreamingResponse(events, media_type="text/event-stream")


async def _cancel(request: Request) -> Response:
    await to_thread.run_sync(_job(request).end)
    return JSONResponse({})


async def _kept(request: Request) -> Response:
    """Send what an analysis has left: to keep, or, a report without ?download, to look at."""
    job, name = _job(request), request.path_params["name"]
    content, end = job.kept.get(name), name.rpartition(".")[2]
    if content is None:
        raise HTTPException(404, f"{name} is not there yet; wait until the analysis is done")
    if end == "html" and "download" not in request.query_params:
        return HTMLResponse(content, headers={"content-security-policy": REPORT_POLICY})
    table = re.sub(r"[^A-Za-z0-9]+", "-", job.request.file.name.partition(".")[0]).strip("-")
    kept_as = "-".join(part for part in ("astonish", job.request.command, table) if part)
    headers = {"content-disposition": f'attachment; filename="{kept_as}.{end}"'}
    return Response(content, media_type="text/html" if end == "html" else "application/zip", headers=headers)


def _job(request: Request) -> PageJob:
    job: PageJob | None = request.app.state.jobs.find(request.path_params["job"])
    if job is None:
        raise HTTPException(404, "this analysis is not known any more; start it again")
    return job


async def _problem(_: Request, problem: Exception) -> Response:
    """Say what is wrong with a request, in a sentence."""
    match problem:
        case HTTPException():
            return refusal(problem.status_code, str(problem.detail))
        case ClientDisconnect():
            return Response(status_code=499)  # nobody reads it
        case ValueError():
            return refusal(400, str(problem))
    return refusal(500, "something went wrong that should not; the window in which astonish runs says what")


def refusal(code: int, words: str) -> JSONResponse:
    """Refuse, in the form that the page reads."""
    return JSONResponse({"error": words}, code)


# ---- who is answered


class Guard:
    """Middleware that refuses other sites and requests without the token, and adds `HEADERS` to every answer.

    Which names of the machine are answered is left to Starlette's `TrustedHostMiddleware`, so that no other site can
    reach the page through the browser (DNS rebinding). Where other machines can reach the page, it answers only to
    those who show its token: once in a link, and then in a cookie.

    Args:
        app: What is guarded.
        token: The secret, if there is one.
    """

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, cookie = HTTPConnection(scope), f"astonish-{scope['server'][1]}"  # browsers share cookies across ports
        headers, problem = request.headers, ""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            problem = f"requests from {origin[:60]!r} are not answered; use the page itself"
        elif scope["path"].startswith("/api/") and site not in ("same-origin", "none"):
            problem = "requests from other sites are not answered; use the page itself"
        by_link = not problem and self._is_token(request.query_params.get("token", ""))
        if not problem and self.token and not (by_link or self._is_token(request.cookies.get(cookie, ""))):
            problem = "this page answers only to those who have its link; open the one that astonish explore printed"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)  # a report has a policy of its own
                if by_link:
                    answer.append("set-cookie", f"{cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        await (refusal(403, problem) if problem else self.app)(scope, receive, sending)

    def _is_token(self, text: str) -> bool:
        return self.token is not None and compare_digest(text.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


# ---- how long a client may take


def make_server(app: Any, seconds: float = SECONDS) -> uvicorn.Server:
    """Make a server for an application. seconds: how long it waits for a client."""
    bare: Any = {"log_level": "warning", "ws": "none", "server_header": False, "proxy_headers": False}
    limits: Any = {"timeout_keep_alive": seconds, "limit_concurrency": CONNECTIONS}
    return uvicorn.Server(uvicorn.Config(app, http=ImpatientProtocol, **bare, **limits))


class ImpatientProtocol(H11Protocol):
    """A connection that is closed where a request, or the next `PROGRESS` bytes of its body, take too long to come.

    Somebody who opens connections and sends half a request on each would otherwise keep everybody else out.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._received += len(data)
        if self._received >= PROGRESS:
            self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def shutdown(self) -> None:
        """End with the server, and with it an answer that goes on for as long as somebody listens."""
        super().shutdown()
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop()

    def _wait(self) -> None:
        self._stop()
        self._received = 0
        self._timer = self.loop.call_later(self.timeout_keep_alive, self._check)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        """Close the connection if the client has had its time; it has more while we are the ones who are waited for."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._wait()
