"""How does work end that takes too long or too much memory?

It is done in a process of its own, which can be ended. That process starts when it is first needed and stays for the
next questions, because importing JAX and compiling take seconds; when none has come for a while it ends.
"""

import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Lock, Timer
from traceback import format_exc
from typing import Any

from astonish.page.controls import too_much

SECONDS, MEMORY, IDLE = 120.0, 4 * 2**30, 60.0


class Worker:
    """A process that answers one question at a time; where one takes too much, another process takes its place.

    seconds: that a question may take. memory: bytes that the process may take beyond those it starts with, where the
    system can limit them (Linux). idle: seconds without a question after which it ends.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY, idle: float = IDLE) -> None:
        self.seconds, self.memory, self.idle = seconds, memory, idle
        self._lock = Lock()
        self._timer = Timer(0, self.end)  # started after each question
        self._started: tuple[SpawnProcess, Connection] | None = None

    def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function returns, computed in the process; its temporary files are deleted, however it ends."""
        with self._lock, tempfile.TemporaryDirectory(prefix="astonish-") as folder:
            self._timer.cancel()
            try:
                pipe = self._pipe()
                pipe.send((folder, function, given))
                if not pipe.poll(self.seconds):
                    raise TimeoutError
                answer, is_full = pipe.recv()
            except (EOFError, OSError):  # the process is gone, or took too long
                self.end()
                limits = f"{self.seconds:g} seconds or {self.memory / 2**30:g} GB of memory"
                raise ValueError(f"the table takes more than {too_much(limits)}") from None
            if is_full:
                self.end()
            self._timer = Timer(self.idle, self._end_between_questions)
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

    def _end_between_questions(self) -> None:
        with self._lock:
            self.end()

    def _pipe(self) -> Connection:
        """To the process, which is started if there is none."""
        if self._started is None:
            context = get_context("spawn")  # a copy of this process would lack JAX's threads
            pipe, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self.memory), daemon=True)
            process.start()
            theirs.close()
            self._started = process, pipe
            pipe.recv()  # it is ready
        return self._started[1]


def _serve(pipe: Connection, memory: int) -> None:
    """Answer one question after another, until nobody asks any more."""
    start = prepare(memory)
    with suppress(EOFError):
        pipe.send("ready")
        while True:
            tempfile.tempdir, function, given = pipe.recv()
            pipe.send((_answer(function, given), _memory() > start + memory / 2))


def prepare(memory: int) -> int:
    """Limit the memory of a process that was just started; returns what it has already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    import jax

    jax.config.update("jax_platforms", "cpu")  # the memory of a GPU is taken by the process that asks
    jax.devices()
    start = _memory()
    _limit(start + memory)
    return start


def _answer(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """What the function returns, or what it raises."""
    try:
        return function(*given)
    except ValueError as problem:
        return ValueError(str(problem))
    except Exception as problem:
        if isinstance(problem, MemoryError) or "RESOURCE_EXHAUSTED" in str(problem):  # which is JAX's word for it
            sys.exit(1)
        return RuntimeError(format_exc())


def _memory() -> int:
    """Bytes of memory that this process may write to, where the system says so; else 0."""
    with suppress(ImportError, OSError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    return 0


def _limit(memory: int) -> None:
    """Let this process have so much memory and no more, and leave no copy of it on the disk if it breaks down."""
    with suppress(ImportError, OSError, ValueError):  # there are no such limits here, or lower ones
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
