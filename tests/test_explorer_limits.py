"""Is the page's server safe from tables, connections and people that would harm it?"""

import csv
import gzip
import io
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the page needs starlette")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

import anyio
import jax
from httpx2 import ASGITransport, AsyncClient
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from typer.testing import CliRunner

from astonish.cli.app import app as command
from astonish.page import server
from astonish.page.data import DataTab, as_file
from astonish.page.jobs import Worker
from test_explorer_jobs import served

HOME, AWAY = "http://127.0.0.1:8765", "http://192.168.0.7:8765"
TOKEN, SECONDS = "a-secret", 2
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux limits memory")
WIDE, LONG = 2_500, 1_000  # more than two million cells together


# ---- tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"," * WIDE + b"\n" * LONG),
        ("t.csv", b"," * WIDE + b"\r" * LONG),
        ("t.txt", b";" * WIDE + b"\r\n" * LONG),
        ("t.tsv", b"a,b" + b"\t" * WIDE + b"\n" * LONG),
        ("t.csv.gz", gzip.compress(b"," * WIDE + b"\n" * LONG, mtime=0)),
        ("t.csv", b'"x\n",' + b"," * WIDE + b"\n" * LONG),  # the first row has two lines
    ],
)
def test_cells_are_counted_before_a_table_is_read(name: str, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"2000000 cells, .* use the command"), as_file(name, content):
        pass


@pytest.mark.parametrize("content", [b"x\n" + b"," * 2**20, b"x,y\r1,2,3\r"])
def test_rows_with_more_cells_than_names_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"most rows have .* give each column a name"):
        DataTab().preview([("name", "t.csv")], content)


@pytest.mark.parametrize(
    ("columns", "row", "rows"), [(2, "1.5,2.5", 99_990), (WIDE, "1" + "," * (WIDE - 1), 790), (2, "1,5;2,5", 9)]
)
def test_a_table_with_no_more_cells_than_allowed_is_read(columns: int, row: str, rows: int) -> None:
    header = (";" if ";" in row else ",").join(f"c{k}" for k in range(columns))
    read = DataTab().preview([("name", "t.csv")], f"{header}\n{f'{row} ' * rows}".replace(" ", "\n").encode())
    assert (len(read["columns"]), read["trials"]) == (columns, rows)


def test_commas_in_text_are_no_cells() -> None:
    content = 'said,x\n"' + "well, " * 500 + '",1\n' + "no,2\n" * 5000
    assert DataTab().preview([("name", "t.csv")], content.encode())["trials"] == 5001


def test_a_spreadsheet_runs_nothing_of_a_table_that_was_downloaded() -> None:
    risky = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\r=1", "\n=1"]
    words = [*risky, "-1.5", "+2e3", "plain", "a=b", "a\r=1", "", "'quoted"]
    frame = pd.DataFrame({"x": [-1.5, 2.0] * 7, "=word": words, "count": range(-7, 7)})
    sent = frame.to_csv(index=False, quoting=csv.QUOTE_ALL).encode()
    text = DataTab().table([("name", "t.csv"), ("outcome", "x"), ("learner", "delta")], sent)
    read = pd.read_csv(io.StringIO(text, newline=""), keep_default_na=False)
    assert list(read)[:3] == ["x", "'=word", "count"]
    plain = [(f"'{word}" if word in risky else word).replace("\r", "\n") for word in words]  # as all line ends are read
    assert read["'=word"].tolist() == plain
    for name in ("x", "count"):
        pd.testing.assert_series_equal(read[name], frame[name])
    assert (read.prediction_error < 0).any()


# ---- the process that reads them


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(memory=2**28)
    yield made
    made.end()


def test_questions_go_to_one_process_which_is_not_this_one(worker: Worker) -> None:
    process = worker.ask(os.getpid)
    assert process not in (os.getpid(), os.getppid())
    assert worker.ask(os.getpid) == process
    assert worker.ask(sorted, [3, 1, 2]) == [1, 2, 3]


def test_what_is_refused_there_is_refused_here(worker: Worker) -> None:
    process = worker.ask(os.getpid)
    with pytest.raises(ValueError, match="invalid literal for int"):
        worker.ask(int, "x")
    with pytest.raises(RuntimeError, match="FileNotFoundError"):  # what should not happen, with where it happened
        worker.ask(os.stat, "/nowhere")
    assert worker.ask(os.getpid) == process


@pytest.mark.parametrize(
    ("code", "seconds"),
    [
        ("time.sleep(600)", 0.1),
        pytest.param("bytearray(2**30)", 60.0, marks=LINUX),
        pytest.param("jax.numpy.zeros(2**30)", 60.0, marks=LINUX),
    ],
)
def test_what_takes_too_much_is_ended_and_leaves_nothing(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, seconds: float
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = worker.ask(os.getpid)
    worker.seconds = seconds
    with pytest.raises(ValueError, match=r"takes more than 0\.(1 seconds|25 GB of memory), .* use the command"):
        worker.ask(exec, f"import jax, tempfile, time; tempfile.mkstemp(); {code}")
    worker.seconds = 60.0
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert worker.ask(os.getpid) != process


@LINUX
def test_a_process_that_grows_is_replaced_before_it_is_full(worker: Worker) -> None:
    process = worker.ask(os.getpid)
    worker.ask(exec, "import sys; sys.kept = bytearray(150 * 2**20)")
    assert worker.ask(os.getpid) != process


def test_a_slow_table_is_refused_and_the_process_ends_with_the_page() -> None:
    slow = Worker(seconds=0.0)
    with TestClient(server.make_app(warm=False, worker=slow), base_url=HOME) as page:
        answer = page.post("/api/preview?name=t.csv", content=b"x\n1\n")
        assert answer.status_code == 400
        assert "more than 0 seconds" in answer.json()["error"]
        slow.seconds = 60.0
        assert page.post("/api/preview?name=t.csv", content=b"x\n1\n").json()["trials"] == 1
        process = slow.ask(os.getpid)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


class StuckWorker(Worker):
    """One that answers nobody before it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.released = threading.Semaphore(0), threading.Event()

    def ask(self, *_: Any) -> Any:
        self.asked.release()
        self.released.wait()
        return {}


def test_tables_that_are_computed_keep_nobody_else_waiting() -> None:
    stuck = StuckWorker()
    app = server.make_app(warm=False, worker=stuck)

    async def ask_all() -> list[int]:
        client = AsyncClient(transport=ASGITransport(app=app), base_url=HOME)
        async with app.router.lifespan_context(app), client, anyio.create_task_group() as group:
            try:
                for _ in range(server.UPLOADS + 2):
                    group.start_soon(lambda: client.post("/api/preview", content=b"x\n1\n"))
                for _ in range(server.UPLOADS):
                    await anyio.to_thread.run_sync(stuck.asked.acquire)
                others = [await client.get(path) for path in ("/", "/api/lab")]
                assert not stuck.asked.acquire(blocking=False)  # no more tables are held in memory
            finally:
                stuck.released.set()
        return [answer.status_code for answer in others]

    assert anyio.run(ask_all) == [200, 200]


def test_a_tab_that_cannot_answer_does_not_end_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    for tab in (server.TourTab, server.LabTab):
        monkeypatch.setattr(tab, "answer", broken)
    app = server.make_app()
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as client:
        for _ in range(600):
            if not app.state.is_warming:
                break
            time.sleep(0.1)
        assert not app.state.is_warming
        assert client.get("/").status_code == 200
        assert client.post("/api/lab", json={}).status_code == 500


def test_compiled_programs_are_forgotten_while_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    busy: list[int] = []
    app = server.make_app(warm=False, programs=0)
    monkeypatch.setattr("jax.clear_caches", lambda: busy.append(app.state.limiter.borrowed_tokens))
    with TestClient(app, base_url=HOME) as client:
        jax.jit(lambda x: x + len(busy))(1.0)  # JAX tells that a program was compiled
        answers = [client.post("/api/tour", json={"screen": "bound"}).json() for _ in range(2)]
        assert answers[0] == answers[1]
        assert app.state.compiled == 0
    assert busy[0] == 0


# ---- connections


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of what was sent; at /slow, after more time than a client has; at /refused, unread."""
    length, more = 0, scope["path"] != "/refused"
    if scope["path"] == "/slow":
        await anyio.sleep(1.5 * SECONDS)
    while more:
        message = await receive()
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    await PlainTextResponse(f"{length} bytes")(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where a server listens that waits for so many seconds."""
    with served(_echo, seconds=SECONDS) as address:
        yield int(address.rstrip("/").rpartition(":")[2])


HEAD = b"POST %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n"
HALF_A_HEAD = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-half: "


def test_connections_on_which_nothing_comes_are_closed(port: int) -> None:
    answers = {
        b"": b"",
        HALF_A_HEAD: b"",
        HEAD % (b"/", 20): b"",
        HEAD % (b"/", 200_000) + b"x" * 150_000: b"",
        HEAD % (b"/refused", 200_000) + b"x": b"0 bytes",
        HEAD % (b"/", 3) + b"abc": b"3 bytes",
        HEAD % (b"/", 3) + b"abc" + HALF_A_HEAD: b"3 bytes",
        HEAD % (b"/", 200_000) + b"x" * 200_000: b"200000 bytes",
        HEAD % (b"/slow", 3) + b"abc": b"3 bytes",  # it is not the client that is slow
        HEAD % (b"/slow", 200_000) + b"x" * 200_000: b"200000 bytes",
    }
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in answers]
        for client, sent in zip(clients, answers, strict=True):
            client.sendall(sent)
        for client, (sent, answer) in zip(clients, answers.items(), strict=True):
            rest = _rest(client)
            assert (rest.rpartition(b"\r\n\r\n")[2], bool(rest)) == (answer, bool(answer)), sent[:80]


@pytest.mark.hostile
def test_connections_on_which_only_drops_come_are_closed(port: int) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(3)]
        for client, sent in zip(clients, (HALF_A_HEAD, HEAD % (b"/", 9999), HEAD % (b"/refused", 9999)), strict=True):
            client.sendall(sent)
        for _ in range(200 * SECONDS):
            time.sleep(0.05)
            clients = [client for client in clients if _sent(client, b"x")]
            if not clients:
                return
    pytest.fail(f"{len(clients)} connections are still open")


def _sent(client: socket.socket, drop: bytes) -> bool:
    try:
        return client.send(drop) > 0
    except ConnectionError:
        return False


def _rest(client: socket.socket) -> bytes:
    """Everything that comes until the connection is closed."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


# ---- other machines


@pytest.fixture
def away() -> Iterator[TestClient]:
    app = server.make_app("0.0.0.0", warm=False, token=TOKEN)
    with TestClient(app, base_url=AWAY, raise_server_exceptions=False) as client:
        yield client


PATHS = ("/", "/static/app.js", "/static/plot.js", "/api/lab", "/nowhere")


def test_without_the_token_nothing_answers(away: TestClient) -> None:
    for path in PATHS:
        for shown in ("", "?token=", "?token=a-secre", "?token=A-SECRET", "?token=a-secret%00", "?token=%C3%A9"):
            answer = away.get(path + shown)
            assert answer.status_code == 403
            assert "the one that astonish explore printed" in answer.json()["error"]
            assert TOKEN not in answer.text + str(answer.headers)
    for cookie in ("", "astonish-8765=", "astonish-8765=wrong", "astonish-80=a-secret", "é", "a-secret"):
        assert away.get("/", headers={"cookie": cookie.encode()}).status_code == 403
    assert away.post("/api/lab", json={}).status_code == 403


def test_the_link_is_remembered_by_the_browser(away: TestClient) -> None:
    first = away.get(f"/?token={TOKEN}")
    assert first.status_code == 200
    flags = first.headers["set-cookie"].split("; ")
    assert flags[0] == f"astonish-8765={TOKEN}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(flags)
    assert [away.get(path).status_code for path in PATHS] == [200, 200, 200, 200, 404]
    assert "set-cookie" not in away.get("/").headers
    assert away.post("/api/lab", json={}).status_code == 200
    assert away.get("/", headers={"host": "desk.example"}).status_code == 200  # by whatever name it is reached
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert away.post("/api/lab", json={}, headers=headers).status_code == 403


@pytest.mark.parametrize(("host", "secret"), [("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)])
def test_the_command_prints_a_secret_link_where_others_can_reach_it(
    monkeypatch: pytest.MonkeyPatch, host: str, secret: bool
) -> None:
    apps: list[Any] = []
    opened: list[str] = []

    async def cold(*_: Any) -> None:
        """Compile nothing."""

    def made(app: Any) -> Any:
        apps.append(app)
        return SimpleNamespace(run=lambda sockets: sockets[0].close())

    monkeypatch.setenv("ASTONISH_ENGINE", "xla")  # which the command sets for its process
    monkeypatch.setattr(server, "make_server", made)
    monkeypatch.setattr(server, "warm_up", cold)
    monkeypatch.setattr("webbrowser.open", opened.append)
    printed = CliRunner().invoke(command, ["explore", "--host", host, "--port", "0"])
    assert printed.exit_code == 0, printed.output
    links = re.findall(r"http://\S+", printed.stdout)
    tokens = {link.partition("?token=")[2] for link in links}
    assert (len(links), len(tokens)) == (1 + secret, 1)
    token = tokens.pop()
    assert len(token) == (43 if secret else 0)
    assert ("whoever has the link" in printed.stderr) == secret
    with TestClient(apps[0], base_url=HOME) as client:
        codes = [client.get(path).status_code for path in ("/static/app.js", f"/?token={token}", "/static/app.js")]
    assert codes == [403 if secret else 200, 200, 200]
    assert not (secret and opened)
