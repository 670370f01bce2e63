"""Work that may take too long or too much memory: child processes that can be ended, and the analyses they run."""

import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from traceback import format_exc
from typing import Any

import anyio
from starlette.exceptions import HTTPException

from astonish.page.data import Analysis, too_much

SECONDS, MEMORY = 120.0, 4 * 2**30  # of the process that reads tables
IDLE = 60.0  # seconds without a request after which a process ends
JOB_SECONDS, NICENESS = 600.0, 10  # of a job, which gives way to processes that answer at once
RUNNING, KEPT, ALONE = 2, 8, 5.0  # jobs that compute, jobs whose client is there, and seconds without a client
_TICK, _QUIET = 0.1, 5.0  # seconds between looks, and after which a comment is sent to learn whether somebody reads


class LimitError(ValueError):
    """Raised if a request takes more than a limit, such as "4 GB of memory"."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"the table takes more than {too_much(limit)}")
        self.limit = limit


class Worker:
    """A child process that computes one request at a time; where one takes too much, another process takes its place.

    The process starts with the first request and stays for the next ones, because importing JAX and compiling take
    seconds. Each request has a folder for temporary files, which is deleted however the request, the process or the
    server ends.

    Args:
        seconds: Time that a request may take.
        memory: Bytes that the process may take beyond those it starts with, where the system can limit them (Linux).
        niceness: How far the process gives way to others.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY, niceness: int = 0) -> None:
        self.seconds, self.memory, self.niceness = seconds, memory, niceness
        self._lock = Lock()
        self._timer = Timer(0, self.end)  # started after each request
        self._started: tuple[SpawnProcess, Connection] | None = None

    def ask(
        self,
        function: Callable[..., Any],
        *args: Any,
        report: Callable[[Any], None] | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Any:
        """Compute a function of these arguments in the process.

        Args:
            function: Called there; what it returns or raises comes back.
            *args: Its arguments.
            report: Called here with what the function reports by calling its first argument; None if it takes no such.
            is_wanted: Asked now and then; if not, the process ends with `CancelledError`.
        """
        with self._lock, tempfile.TemporaryDirectory(prefix="astonish-") as folder:
            self._timer.cancel()
            is_full = True
            try:
                answer, is_full = self._answer((folder, function, args, report is not None), report, is_wanted)
            except (EOFError, OSError):  # the process is gone
                raise LimitError(f"{self.memory / 2**30:g} GB of memory") from None
            finally:
                if is_full:
                    self.end()
            self._timer = Timer(IDLE, self._end_between_requests)
            self._timer.daemon = True
            self._timer.start()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """End the process, if there is one."""
        self._timer.cancel()
        if self._started is not None:
            (process, pipe), self._started = self._started, None
            process.kill()
            process.join()
            pipe.close()

    def _end_between_requests(self) -> None:
        with self._lock:
            self.end()

    def _answer(self, request: Any, report: Any, is_wanted: Callable[[], bool]) -> tuple[Any, bool]:
        """Send a request once the process is ready; what comes back, and whether the process has grown too large."""
        if self._started is None:
            context = get_context("spawn")  # a copy of this process would lack JAX's threads
            pipe, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self.memory, self.niceness), daemon=True)
            process.start()
            theirs.close()
            self._started = process, pipe
        pipe, deadline = self._started[1], time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            if not is_wanted():
                raise CancelledError
            if not pipe.poll(_TICK):
                continue
            match pipe.recv():
                case "ready":
                    pipe.send(request)
                case "report", event:
                    report(event)
                case "end", answer, is_full:
                    return answer, is_full
        raise LimitError(f"{self.seconds / 60:g} minutes" if self.seconds >= 60 else f"{self.seconds:g} seconds")


def _serve(pipe: Connection, memory: int, niceness: int) -> None:
    """Answer one request after another in the child process, until nobody asks any more."""
    folder = ""

    def leave(*_: Any) -> None:
        """Delete the folder of the request under way, and end."""
        while folder and Path(folder).exists():  # something may be written to it meanwhile
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    def leave_with_server() -> None:
        server = parent_process()
        if server is not None:
            connection.wait([server.sentinel])
            leave()

    Thread(target=leave_with_server, daemon=True).start()
    signal.signal(signal.SIGTERM, leave)  # the server ends without having ended this
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    with suppress(AttributeError, OSError):  # there is no such thing here
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal ends the server, which is seen
        os.nice(niceness)
    import jax

    jax.config.update("jax_platforms", "cpu")  # the memory of a GPU is taken by the process that asks
    jax.devices()
    start = _memory()
    with suppress(ImportError, OSError, ValueError):  # there are no such limits here, or lower ones
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the memory on the disk
        resource.setrlimit(resource.RLIMIT_DATA, (start + memory, start + memory))
    with suppress(EOFError, BrokenPipeError):
        while True:
            pipe.send("ready")
            try:
                folder, function, args, reports = pipe.recv()
                tempfile.tempdir = folder
                if reports:
                    args = (lambda event: pipe.send(("report", event)), *args)
                answer = function(*args)
            except (EOFError, BrokenPipeError):
                raise
            except ValueError as problem:
                answer = ValueError(str(problem))
            except Exception as problem:
                is_full = isinstance(problem, MemoryError) or type(problem) is ImportError  # of a library that is there
                if is_full or "RESOURCE_EXHAUSTED" in str(problem):  # JAX's word for it
                    sys.exit(1)
                answer = RuntimeError(format_exc())
            pipe.send(("end", answer, _memory() > start + memory / 2))


def _memory() -> int:
    """Return the bytes of memory that this process may write to, where the system says so; else 0."""
    with suppress(ImportError, OSError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    return 0


class PageJob:
    """One analysis for somebody at the page, who may go away at any time.

    A thread follows it: it ends with an answer, when it is cancelled, when it takes too much, when its client is gone,
    and with the server. Its results are kept in memory for as long as the client is there: `events` are what it told,
    as server-sent events; `kept` are the files that are left at the end, by name.
    """

    def __init__(self, request: Analysis, content: bytes, seconds: float, memory: int) -> None:
        self.id, self.request = secrets.token_urlsafe(16), request
        self.events: list[bytes] = []
        self.kept: dict[str, bytes] = {}
        self.is_running, self.stop = True, Event()
        self._followers, self._seen, self._content = 0, time.monotonic(), content
        self._thread = Thread(target=self._run, args=(Worker(seconds, memory, niceness=NICENESS),), daemon=True)
        self._thread.start()

    async def follow(self, after: int = 0) -> AsyncIterator[bytes]:
        """Yield the events after the first few, as they come, for as long as somebody reads them."""
        self._followers += 1
        try:
            quiet = time.monotonic()
            while not self.stop.is_set() or after < len(self.events):
                while after < len(self.events):
                    yield self.events[after]
                    after, quiet = after + 1, time.monotonic()
                if time.monotonic() - quiet > _QUIET:
                    yield b":\n\n"  # a comment, by which the server learns whether somebody still reads
                    quiet = time.monotonic()
                await anyio.sleep(_TICK)
        finally:
            self._followers -= 1
            self._seen = time.monotonic()

    def end(self) -> None:
        """End the process, if it runs, and forget everything."""
        self.stop.set()
        self._thread.join()

    def _is_wanted(self) -> bool:
        """Tell whether its client is there and has not cancelled it."""
        return not self.stop.is_set() and (self._followers > 0 or time.monotonic() - self._seen <= ALONE)

    def _run(self, worker: Worker) -> None:
        """Run the analysis to its end; then wait until nobody wants its results."""
        try:
            result = worker.ask(_analyse, self.request, self._content, report=self._tell, is_wanted=self._is_wanted)
            self.kept = result.pop("kept")
            self._tell({"event": "done", **result})
        except CancelledError:
            self._tell({"event": "cancelled"})
        except LimitError as problem:
            limit = f"it takes more than {problem.limit}, which is the most on the page"
            text = f"{limit}; the command has no limit: {self.request.command_line()}"
            self._tell({"event": "refused", "text": text})
        except ValueError as problem:
            self._tell({"event": "refused", "text": str(problem)})
        except RuntimeError as problem:
            print(problem, file=sys.stderr)
            self._tell({"event": "failed"})
        finally:
            worker.end()
            self.is_running, self._content = False, b""
        while self._is_wanted():
            self.stop.wait(_TICK)
        self.stop.set()
        self.kept = {}

    def _tell(self, event: dict[str, Any]) -> None:
        self.events.append(b"data: %b\n\n" % json.dumps(event).encode())


def _analyse(report: Callable[[Any], None], request: Analysis, content: bytes) -> Any:
    """Run an analysis in the child process; the server itself does not import what this needs."""
    from astonish.page.analyses import work

    return work(report, request, content)


class Jobs:
    """All jobs of a server, which asks from one thread: the time and the memory, in bytes, that each may take."""

    def __init__(self) -> None:
        self.seconds, self.memory = JOB_SECONDS, MEMORY
        self._jobs: dict[str, PageJob] = {}

    def check(self) -> None:
        """Refuse if there are as many as may be."""
        self._jobs = {key: job for key, job in self._jobs.items() if not job.stop.is_set()}
        if sum(job.is_running for job in self._jobs.values()) >= RUNNING:
            text = f"{RUNNING} analyses are under way, the most at once; wait for one to end, or cancel it"
            raise HTTPException(429, text)
        if len(self._jobs) >= KEPT:
            text = f"the results of {KEPT} analyses are open, the most at once; close one of their pages"
            raise HTTPException(429, text)

    def start(self, request: Analysis, content: bytes) -> PageJob:
        """Start a job, unless there are too many."""
        self.check()
        job = PageJob(request, content, self.seconds, self.memory)
        self._jobs[job.id] = job
        return job

    def find(self, key: str) -> PageJob | None:
        """Find the job of this name, if it is still there."""
        job = self._jobs.get(key)
        return None if job is None or job.stop.is_set() else job

    def end(self) -> None:
        """End all of them."""
        for job in self._jobs.values():
            job.stop.set()
        for job in self._jobs.values():
            job.end()
