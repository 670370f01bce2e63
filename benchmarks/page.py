"""Does the page keep up with many hands at once, and how soon is an answer on the screen? On two cores, on Linux.

By itself (`python benchmarks/page.py`) it prints what it finds.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from timing import Target, at_most, show

COMMAND = [sys.executable, "-m", "astonish", "explore", "--no-browser"]
CLIENTS, SECONDS = 20, 30
CONNECTIONS, DRAWING = 6, 0.05  # as browsers do: so many are kept open by each, and nothing is asked while it draws
TABS = ("gaussian", "maze", "lab")
MOVED: dict[str, dict[str, tuple[float, float, float]]] = {  # sliders: from, to, in steps of
    "gaussian": {"m": (0.01, 10, 0.01), "hazard": (0.01, 0.4, 0.001), "noise": (0.5, 10, 0.1), "seed": (0, 999, 1)},
    "maze": {"m": (0.01, 10, 0.01), "hazard": (0.0, 0.1, 0.001), "seed": (0, 999, 1)},
    "lab": {"m": (0.01, 10, 0.01), "x": (-20, 20, 0.1), "mean": (-10, 10, 0.1), "std": (0.1, 5, 0.05)},
}


def report() -> list[Target]:
    """In a process of its own, on two cores, while this one stays on one."""
    if sys.platform != "linux":
        return []
    code = Path(__file__)
    answer = subprocess.run([sys.executable, code, "--json"], stdout=subprocess.PIPE, check=True, cwd=code.parent)
    return tell(json.loads(answer.stdout))


def measure() -> dict[str, Any]:
    """What clients found who moved sliders for a while, and the memory of the server before and after."""
    os.sched_setaffinity(0, range(min(2, os.cpu_count() or 1)))
    with serving() as (process, port, start):
        warm_up(HTTPConnection("127.0.0.1", port, timeout=120))
        asked_for(port, 3)
        before = held(process)
        found = asked_for(port, SECONDS)
        after = held(process)
        drawn = redrawn(f"http://127.0.0.1:{port}/")
    return {"start": start, "before": before, "after": after, "drawn": drawn, **found}


@contextmanager
def serving() -> Iterator[tuple[int, int, float]]:
    """The process, the port and the seconds it took to say so."""
    began = time.perf_counter()
    with subprocess.Popen([*COMMAND, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        took = time.perf_counter() - began
        try:
            assert port is not None, "the page did not start"
            yield process.pid, int(port[1]), took
        finally:
            process.terminate()


def warm_up(connection: HTTPConnection) -> None:
    """Wait until everything is compiled that the server compiles behind its back."""
    connection.request("GET", "/api/lab")
    for family in json.loads(connection.getresponse().read())["families"]:
        ask(connection, "lab", {"family": family})
    for tab in TABS:
        ask(connection, tab, {})


def asked_for(port: int, seconds: float) -> dict[str, Any]:
    """Waits and errors of clients that move sliders side by side, each on its tab and one slider at a time."""
    waits: list[tuple[str, float]] = []
    errors: list[str] = []
    until = time.perf_counter() + seconds

    def drag(client: int) -> None:
        rng, tab = np.random.default_rng(client), TABS[client % len(TABS)]
        lines = cycle([HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(CONNECTIONS)])
        while time.perf_counter() < until:
            name = str(rng.choice(list(MOVED[tab])))
            low, high, step = MOVED[tab][name]
            value = low + step * int(rng.integers(round((high - low) / step)))
            for _ in range(10):  # one pull at the slider
                value = min(value + step, high)
                began = time.perf_counter()
                try:
                    ask(next(lines), tab, {name: int(value) if step == 1 else value})
                except (OSError, HTTPException, ValueError) as problem:
                    errors.append(str(problem))
                waits.append((tab, time.perf_counter() - began))
                time.sleep(DRAWING)

    clients = [threading.Thread(target=drag, args=(client,)) for client in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    return {"waits": waits, "errors": errors, "seconds": seconds}


def ask(connection: HTTPConnection, tab: str, said: dict[str, Any]) -> None:
    """One question; an answer that is none is an error."""
    connection.request("POST", f"/api/{tab}", json.dumps(said), {"content-type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200 or "python" not in json.loads(body):
        raise ValueError(f"{tab} {said}: {answer.status} {body[:200]!r}")


def held(process: int) -> float:
    """Megabytes of a process now."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def redrawn(home: str) -> list[float]:
    """Milliseconds from an answer to the picture, in a browser; none where there is no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script("""window.took = []; new PerformanceObserver(list => {
            for (const each of list.getEntries()) window.took.push(each.duration); }).observe({type: "measure"});""")
        page.goto(home)
        page.wait_for_function("() => window.took.length > 0")
        for seed in range(60):
            page.fill('input[name="gaussian.seed number"]', str(100 + seed))
            page.wait_for_timeout(150)
        took: list[float] = page.evaluate("() => window.took.slice(-40)")  # the browser compiles, too
        browser.close()
    return took


def tell(found: dict[str, Any]) -> list[Target]:
    """Tables, and how they compare with what was hoped for."""
    rows = [row(tab, [wait for each, wait in found["waits"] if each == tab], found["seconds"]) for tab in TABS]
    every = [wait for _, wait in found["waits"]]
    show(
        f"The page: {CLIENTS} clients that move sliders for {found['seconds']} s on 2 cores, clients included; ms",
        ["", "p50", "p95", "largest", "answers/s"],
        [*rows, row("all", every, found["seconds"])],
    )
    if found["errors"]:
        print(f"  {len(found['errors'])} errors, such as: {found['errors'][0]}")
    print(f"  memory of the server: {found['before']:.0f} MB at the start, {found['after']:.0f} MB at the end")
    drawn = found["drawn"]
    if drawn:
        show("From an answer to the redrawn Gaussian world in Chromium; ms", ["", "p50", "p95"], [["", *_two(drawn)]])
    return [
        at_most("page: `astonish explore` to the address", 2, found["start"], "s"),
        at_most("page: 20 clients", 0, len(found["errors"]), "errors"),
        at_most("page: 20 clients, p95", 300, 1000 * float(np.quantile(every, 0.95)), "ms"),
        at_most("page: 20 clients, memory gained", 10, found["after"] - found["before"], "MB"),
        *([at_most("page: answer to redrawn, median", 50, float(np.median(drawn)), "ms")] if drawn else []),
    ]


def row(name: str, waits: list[float], seconds: float) -> list[str]:
    ms = [1000 * wait for wait in waits]
    return [name, *_two(ms), f"{max(ms):.0f}", f"{len(ms) / seconds:.0f}"]


def _two(ms: list[float]) -> list[str]:
    return [f"{np.quantile(ms, level):.0f}" for level in (0.5, 0.95)]


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(json.dumps(measure()))
    else:
        tell(measure())
