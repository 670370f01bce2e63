"""When is a connection closed on which nothing comes any more?

Somebody who opens connections and sends half a request on each would otherwise keep everybody else out.
"""

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20
CONNECTIONS = 500  # of which a browser keeps six; more than a class needs, and fewer than the files a process may open
PROGRESS = 64 * 1024  # bytes; more than uvicorn takes as the head of a request


def make_server(app: Any, seconds: float = SECONDS) -> uvicorn.Server:
    """A server for an application. seconds: how long it waits for a request, or for the next part of its body."""
    bare: Any = {"log_level": "warning", "ws": "none", "server_header": False, "proxy_headers": False}
    limits: Any = {"timeout_keep_alive": seconds, "limit_concurrency": CONNECTIONS}
    return uvicorn.Server(uvicorn.Config(app, http=ImpatientProtocol, **bare, **limits))


class ImpatientProtocol(H11Protocol):
    """A connection that is closed where a request, or the next `PROGRESS` bytes of its body, take too long to come."""

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
        """The server ends, and with it an answer that goes on for as long as somebody listens."""
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
