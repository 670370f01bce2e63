"""Does the page answer everybody, whatever somebody sends to it?"""

import http.client
import json
import random
import re
import socket
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

from attack import Report

PATHS = (
    *("/", "/api/controls", "/api/gaussian", "/api/maze", "/api/lab", "/api/preview", "/api/data", "/api/table"),
    *("/static/app.js", "/static/../../../etc/passwd", "/api/%00", "/%2e%2e/", "/api/none", "/" + "a" * 5000),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, -1e308, 1e-320, 10**400, "", "x" * 5000, "NaN"),
    *([], [[]] * 50, {}, {"a": {}}, "\0", "=1+1"),
)
WORDS = ("m", "noise", "samples", "seed", "hazard", "learners", "family", "x", "who", "learner", "kind", "steps")
MEMORY = 6 * 2**20  # kB, of the server and of the process that reads tables


def attack(times: int) -> Report:
    """So many requests, one out of a hundred of which never ends."""
    rng, failures, answers = random.Random(14), [], dict[int, int]()
    with _server() as server:
        port = int(re.search(r":(\d+)/", server.stdout.readline())[1])  # type: ignore[index]
        stalled: list[socket.socket] = []
        for number in range(times):
            if number % 100 == 0:
                stalled = [*stalled[-200:], _half(port, rng)]
            method, path, headers, body = _request(rng, port)
            status = _status(port, method, path, headers, body)
            answers[status] = answers.get(status, 0) + 1
            if status >= 500 and status != 503:
                failures.append(f"{method} {path[:60]} {headers} {body[:200]!r} gave {status}")
        if _status(port, "GET", "/", {}, b"") != 200:
            failures.append("afterwards, the page was not there")
        if (most := _memory(server.pid)) > MEMORY:
            failures.append(f"the page took {most / 2**20:.1f} GB")
        server.terminate()
    counts = ", ".join(f"{count:,} x {status or 'closed'}" for status, count in sorted(answers.items()))
    tried = "requests to the page with malformed methods, paths, headers, numbers, tables and lengths, some never ended"
    happened = f"{counts}; the page was there afterwards, and took {most / 2**20:.1f} GB at most"
    return Report("Requests", tried, times, happened, failures)


def _server() -> Any:
    command = [str(Path(sys.executable).with_name("astonish")), "explore", "--no-browser", "--port", "0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _request(rng: random.Random, port: int) -> tuple[str, str, dict[str, str], bytes]:
    path = rng.choice(PATHS)
    method = rng.choice(("POST",) * 12 + ("GET", "GET", "PUT", "HEAD", "X" * 40))
    headers = {"Host": rng.choice((f"127.0.0.1:{port}",) * 30 + ("evil.example", "[", "localhost:99999999"))}
    if rng.random() < 0.1:
        headers["Origin"] = rng.choice(("null", "http://[", "http://evil.example", f"http://127.0.0.1:{port}", "//"))
    if rng.random() < 0.05:
        headers["Sec-Fetch-Site"] = rng.choice(("cross-site", "same-origin", "?"))
    if path.startswith("/api/table"):
        path += (
            f"?outcome={rng.choice(('a', 'b', '', '%00'))}&name={rng.choice(('t.csv', 't.tsv', 't.parquet', '../x'))}"
        )
        return method, path, headers, _table(rng)
    asked = {rng.choice(WORDS): rng.choice(VALUES) for _ in range(rng.randrange(4))}
    body = json.dumps(rng.choice((asked, asked, asked, [asked], asked and list(asked)))).encode()
    return method, path, headers, body if rng.random() < 0.8 else rng.randbytes(rng.randrange(300))


def _table(rng: random.Random) -> bytes:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(rng.randrange(2000))
    if kind == 1:
        return b"," * rng.randrange(200_000) + b"\n" * rng.randrange(50_000)
    cells = ("1", "2", "-1e999", "nan", "", "x", '"', "=1+1", "é", "0.5")
    rows = [",".join(rng.choice(cells) for _ in range(2)) for _ in range(rng.randrange(1, 60))]
    return "\n".join(["a,b", *rows]).encode()


def _status(port: int, method: str, path: str, headers: dict[str, str], body: bytes) -> int:
    """The status of the answer; 0 where the connection was closed without one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError):
        return 0
    finally:
        connection.close()


def _half(port: int, rng: random.Random) -> socket.socket:
    """A connection on which half of a request has been sent."""
    connection = socket.create_connection(("127.0.0.1", port))
    noise = "".join(rng.choices(string.ascii_letters, k=rng.randrange(200)))
    connection.sendall(
        rng.choice((f"GET /{noise}", f"POST /api/maze HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: {noise}")).encode()
    )
    return connection


def _memory(process: int) -> int:
    """The most memory, in kB, that a process and those it started have had; 0 where the system does not say."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        own = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(own[1] if own else 0) + sum(_memory(int(child)) for child in children)
