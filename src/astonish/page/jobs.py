"""How are learners fitted for somebody at the page, who may go away at any time?

Each job is a process of its own, which a thread of the server watches: it ends with an answer, when it is cancelled,
when it takes too much, when its client is gone, and with the server. Whatever happens, its folder is deleted; results
are kept in memory, for as long as the client is there.
"""

import json
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import anyio

from astonish.page.requests import Request
from astonish.page.worker import MEMORY, prepare

RUNNING, KEPT = 2, 8  # jobs at once: those that compute, and those whose client is there
SECONDS, ALONE = 600.0, 5.0  # that a job may take, and that it waits for its client
_TICK, _QUIET = 0.1, 5.0  # seconds: how often one looks, and after which one remarks that nothing has happened
_KINDNESS = 10  # of a process that computes for long towards those that answer at once


class BusyError(ValueError):
    """Why another job cannot be started now."""


class PageJob:
    """One analysis. events: what it told, as server-sent events. archive, report: what is left at the end."""

    def __init__(self, request: Request, content: bytes, seconds: float, memory: int) -> None:
        self.id, self.request, self.seconds, self.memory = secrets.token_urlsafe(16), request, seconds, memory
        self.events: list[bytes] = []
        self.archive: bytes | None = None
        self.report = ""
        self.is_running = True
        self.stop = Event()
        self._followers, self._seen, self._content = 0, time.monotonic(), content
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    async def follow(self, after: int = 0) -> AsyncIterator[bytes]:
        """The events, as they come, for as long as somebody reads them; after so many that are known."""
        self._followers += 1
        try:
            quiet = time.monotonic()
            while not self.stop.is_set() or after < len(self.events):
                while after < len(self.events):
                    yield self.events[after]
                    after, quiet = after + 1, time.monotonic()
                if time.monotonic() - quiet > _QUIET:
                    yield b":\n\n"  # a remark, by which the server learns whether somebody still reads
                    quiet = time.monotonic()
                await anyio.sleep(_TICK)
        finally:
            self._followers -= 1
            self._seen = time.monotonic()

    def end(self) -> None:
        """End the process, if it runs, and forget everything."""
        self.stop.set()
        self._thread.join()

    @property
    def is_alone(self) -> bool:
        """Whether its client is gone."""
        return not self._followers and time.monotonic() - self._seen > ALONE

    def _watch(self) -> None:
        """Follow the process to its end; then wait until nobody wants its results."""
        folder = tempfile.mkdtemp(prefix="astonish-")
        try:
            self._run(folder)
        finally:
            self.is_running, self._content = False, b""
            shutil.rmtree(folder, ignore_errors=True)
        while not (self.is_alone or self.stop.wait(_TICK)):
            pass
        self.stop.set()
        self.archive, self.report = None, ""

    def _run(self, folder: str) -> None:
        context = get_context("spawn")  # a copy of this process would lack JAX's threads
        pipe, theirs = context.Pipe(duplex=False)
        given = theirs, self.memory, folder, self.request, self._content
        process = context.Process(target=_serve, args=given, daemon=True)
        process.start()
        theirs.close()
        try:
            self._listen(pipe)
        finally:
            process.kill()
            process.join()
            pipe.close()

    def _listen(self, pipe: Connection) -> None:
        """Take down what the process tells, until it is over."""
        limit = time.monotonic() + self.seconds
        with suppress(EOFError, OSError):  # it is gone, for want of memory
            while not (self.stop.is_set() or self.is_alone):
                if pipe.poll(_TICK):
                    event = pipe.recv()
                    if self._taken_down(event):
                        return
                if time.monotonic() > limit:
                    self._refuse(
                        f"{self.seconds / 60:g} minutes" if self.seconds >= 60 else f"{self.seconds:g} seconds"
                    )
                    return
            self._tell("cancelled")
            return
        self._refuse(f"{self.memory / 2**30:g} GB of memory")

    def _refuse(self, most: str) -> None:
        limit = f"it takes more than {most}, which is the most on the page"
        self._tell("refused", text=f"{limit}; the command has no limit: {self.request.command}")

    def _taken_down(self, event: dict[str, Any]) -> bool:
        """Keep an event for those who follow; whether it is the last."""
        if event["event"] == "full":
            raise EOFError
        self.archive, self.report = event.pop("archive", None), event.pop("report", "")
        self._tell(**event)
        return event["event"] in ("done", "refused", "failed")

    def _tell(self, event: str, **about: Any) -> None:
        self.events.append(b"data: %b\n\n" % json.dumps({"event": event, **about}).encode())


class Jobs:
    """All jobs of a server. seconds, memory: what each may take."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.seconds, self.memory = seconds, memory
        self._jobs: dict[str, PageJob] = {}
        self._lock = Lock()

    def check(self) -> None:
        """Refuse if there are as many as may be."""
        self._jobs = {key: job for key, job in self._jobs.items() if not job.stop.is_set()}
        if sum(job.is_running for job in self._jobs.values()) >= RUNNING:
            raise BusyError(f"{RUNNING} analyses are under way, the most at once; wait for one to end, or cancel it")
        if len(self._jobs) >= KEPT:
            raise BusyError(f"the results of {KEPT} analyses are open, the most at once; close one of their pages")

    def start(self, request: Request, content: bytes) -> PageJob:
        """Start a job, unless there are too many."""
        with self._lock:
            self.check()
            job = PageJob(request, content, self.seconds, self.memory)
            self._jobs[job.id] = job
            return job

    def find(self, key: str) -> PageJob | None:
        """The job of this name, if it is still known."""
        job = self._jobs.get(key)
        return None if job is None or job.stop.is_set() else job

    def end(self) -> None:
        """End all of them."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()
            for job in self._jobs.values():
                job.end()
            self._jobs = {}


def _serve(pipe: Connection, memory: int, folder: str, request: Request, content: bytes) -> None:
    """In the process: analyse the table, and delete its folder if the server is gone."""
    Thread(target=_end_with_server, args=(folder,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: _forget(folder))  # the server ends without having ended this
    with suppress(AttributeError, OSError):  # there is no such thing here
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal ends the server, which is seen
        os.nice(_KINDNESS)
    prepare(memory)
    from astonish.page.analyses import work

    with suppress(BrokenPipeError):  # nobody listens any more
        work(pipe, folder, request, content)


def _end_with_server(folder: str) -> None:
    server = parent_process()
    if server is not None:
        connection.wait([server.sentinel])
        _forget(folder)


def _forget(folder: str) -> None:
    while Path(folder).exists():  # something may be written to it meanwhile
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
