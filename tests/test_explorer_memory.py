"""Does the page's server keep its memory within bounds, and give the same answers when it has forgotten programs?"""

import math
import os
import re
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the page needs starlette")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

from starlette.testclient import TestClient

from astonish.page.memory import MemoryLimit, resident
from astonish.page.server import AT_ONCE, make_app

HOME = "http://127.0.0.1:8765"
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says how much a process holds")
SCREEN = {"screen": "bound"}


class Full(MemoryLimit):
    """MemoryLimit that is always full; it notes how many answers could be computed while room is made."""

    def __init__(self) -> None:
        super().__init__(0)
        self.state: Any = None
        self.computing: list[int] = []

    @property
    def is_full(self) -> bool:
        return True

    def make_room(self) -> None:
        self.computing.append(AT_ONCE - self.state.limiter.borrowed_tokens)


def test_room_is_made_after_an_answer_while_nothing_is_computed() -> None:
    memory = Full()
    app = make_app(warm=False, memory=memory)
    with TestClient(app, base_url=HOME) as client:
        memory.state = app.state
        first, second = (client.post("/api/tour", json=SCREEN).json() for _ in range(2))
        assert app.state.limiter.borrowed_tokens == 0  # and the next answer can be computed
        assert client.post("/api/nothing", json={}).status_code == 404
    assert first == second
    assert memory.computing == [0, 0]


class Broken:
    """A tab that cannot answer."""

    def controls(self) -> Any:
        return {"screens": []}

    def answer(self, request: Any) -> Any:
        raise RuntimeError("broken")


def test_a_tab_that_cannot_answer_does_not_end_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TourTab", "LabTab"):
        monkeypatch.setattr(f"astonish.page.server.{name}", Broken)
    app = make_app(memory=MemoryLimit(math.inf))
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as client:
        for _ in range(600):
            if not app.state.is_warming:
                break
            time.sleep(0.1)
        assert not app.state.is_warming
        assert client.get("/").status_code == 200
        assert client.post("/api/lab", json={}).status_code == 500


@LINUX
def test_memory_is_full_above_its_limit_and_then_only_when_more_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    held = 300
    monkeypatch.setattr("astonish.page.memory.resident", lambda: held << 20)
    monkeypatch.setattr("jax.clear_caches", lambda: None)  # other tests need them
    memory = MemoryLimit(400 << 20)
    assert not memory.is_full
    held = 401
    assert memory.is_full
    held = 380  # after making room
    memory.make_room()
    held = 443
    assert not memory.is_full  # or programs would be forgotten at each answer
    held = 445
    assert memory.is_full


@LINUX
def test_resident_memory_is_what_the_system_says() -> None:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert found is not None
    assert resident() == pytest.approx(int(found[1]) * 1024, rel=0.05)


@LINUX
def test_the_command_stays_small_and_keeps_compiled_programs_only_while_it_runs(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "astonish", "explore", "--no-browser", "--port", "0"]
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    settings["TMPDIR"] = str(tmp_path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings) as server:
        try:
            assert server.stdout is not None
            port = re.search(r":(\d+)/", server.stdout.readline())
            assert port is not None
            connection = HTTPConnection("127.0.0.1", int(port[1]), timeout=120)
            connection.request("GET", "/api/lab")
            assert connection.getresponse().read()
            connection.close()
            for _ in range(600):
                if programs := list(tmp_path.glob("astonish-compiled-*/*")):
                    break
                time.sleep(0.1)
            assert programs
            mapped = Path(f"/proc/{server.pid}/maps").read_text()
            assert "pandas" in mapped
            assert "arrow" not in mapped
        finally:
            server.terminate()
            server.wait()
    assert not list(tmp_path.glob("astonish-compiled-*"))
