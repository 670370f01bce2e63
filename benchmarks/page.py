"""Does the page keep up with many hands at once, and how soon is an answer on the screen? On two cores, on Linux.

By itself (`python benchmarks/page.py`) it prints what it finds.
"""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from environment import apart
from timing import SMOKE, Target, at_most, show, size

COMMAND = [sys.executable, "-m", "astonish", "explore", "--no-browser"]
CLIENTS, SECONDS, BEFORE = size((20, 60.0, 3.0), (4, 0.5, 0.1))
SOME = size(None, 1)  # of the families, learners and screens, or all of them
LENGTHS = {200: 50, 1000: 100}  # milliseconds from a slider to the picture, by the number of samples
CONNECTIONS, DRAWING = 6, 0.05  # as browsers do: so many are kept open by each, and nothing is asked while it draws
TABS = ("gaussian", "maze", "lab")
MEMORY = {"everything": "after all was used", "before": "before the clients", "after": "after them"}
MOVED: dict[str, dict[str, tuple[float, float, float]]] = {  # sliders: from, to, in steps of
    "gaussian": {"m": (0.01, 10, 0.01), "hazard": (0.01, 0.4, 0.001), "noise": (0.5, 10, 0.1), "seed": (0, 999, 1)},
    "maze": {"m": (0.01, 10, 0.01), "hazard": (0.0, 0.1, 0.001), "seed": (0, 999, 1)},
    "lab": {"m": (0.01, 10, 0.01), "x": (-20, 20, 0.1), "mean": (-10, 10, 0.1), "std": (0.1, 5, 0.05)},
}


def report() -> list[Target]:
    """In a process of its own, on two cores, while this one stays on one."""
    if sys.platform != "linux":
        return []
    return tell(apart(measure, cores=2))


def measure() -> dict[str, Any]:
    """What a browser, and clients who moved sliders for a while, found, and the memory of the server."""
    with serving() as (process, port, start):
        warm_up(HTTPConnection("127.0.0.1", port, timeout=120))
        browsed = in_a_browser(f"http://127.0.0.1:{port}/")
        use_everything(HTTPConnection("127.0.0.1", port, timeout=120))
        everything, reader = held(process), held_by_children(process)
        asked_for(port, BEFORE)
        before = held(process)
        fitted: list[str] = []
        found = asked_for(port, SECONDS, size([lambda *job: fitted.append(fit(*job))], []))
        after = held(process)
    memory = {"everything": everything, "reader": reader, "before": before, "after": after}
    return {"start": start, "browsed": browsed, "fitted": fitted, **memory, **found}


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
    for family in list(controls(connection, "lab")["families"])[:SOME]:
        ask(connection, "lab", {"family": family})
    for tab in TABS:
        ask(connection, tab, {})


def use_everything(connection: HTTPConnection) -> None:
    """Ask for every screen, family, learner in both worlds, average over seeds and explanation, and read a table."""
    warm_up(connection)
    for screen in controls(connection, "tour")["screens"][:SOME]:
        ask(connection, "tour", {"screen": screen["name"]})
    spec = {tab: controls(connection, tab) for tab in ("gaussian", "maze")}
    for name in list(spec["gaussian"]["learners"])[:SOME]:
        ask(connection, "gaussian", {"learners": [name]})
        ask(connection, "averages", {"learners": [name]}, "words")
        ask(connection, "explain-gaussian", {"learner": name, "at": 30}, "sentence")
    for name in list(spec["maze"]["learners"])[:SOME]:
        ask(connection, "maze", {"learner": name})
        ask(connection, "explain-maze", {"learner": name, "at": 30}, "sentence")
    for learner in size(("smile", "delta"), ()):
        send_table(connection, f"name=t.csv&outcome=x&subject=id&learner={learner}", people(3))


def asked_for(port: int, seconds: float, beside: Sequence[Callable[[int, float], None]] = ()) -> dict[str, Any]:
    """Waits and errors of clients that move sliders side by side, each on its tab and one slider at a time.

    beside: what else goes on meanwhile, such as a fit, called with the port and the time at which it should end.
    """
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

    clients = [threading.Thread(target=drag, args=(client,)) for client in range(CLIENTS - len(beside))]
    clients += [threading.Thread(target=work, args=(port, until)) for work in beside]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    return {"waits": waits, "errors": errors, "seconds": seconds}


def send_table(connection: HTTPConnection, asked: str, table: str) -> None:
    """Ask for the surprise of each trial of a table."""
    connection.request("POST", f"/api/data?{asked}", table)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise ValueError(f"{asked}: {answer.status} {body[:200]!r}")


def people(count: int) -> str:
    """A table of so many people with 200 trials each, as CSV."""
    rng, rows = np.random.default_rng(1), ["id,x,b"]
    for who in range(count):
        belief = 0.0
        for x in rng.normal(0, 5, 200):
            belief += 0.4 * (x - belief) + rng.normal()
            rows.append(f"{who},{x:.3f},{belief:.3f}")
    return "\n".join(rows)


def fit(port: int, until: float) -> str:
    """The last event of a fit of 60 people with 200 trials each, as somebody at the page would have it."""
    asked = "name=load.csv&outcome=x&subject=id&response=b&responded=after&learner=smile&starts=3"
    line = HTTPConnection("127.0.0.1", port, timeout=max(until - time.perf_counter(), 1) + 60)
    line.request("POST", f"/api/jobs/fit?{asked}", people(60))
    job = json.loads(line.getresponse().read())
    if "job" not in job:
        return str(job)
    line.request("GET", f"/api/jobs/{job['job']}/events")
    answer, last = line.getresponse(), "nothing"
    for raw in answer:
        if raw.startswith(b"data: "):
            last = json.loads(raw[6:])["event"]
            if last in ("done", "refused", "failed", "cancelled"):
                break
    return last


def controls(connection: HTTPConnection, tab: str) -> Any:
    """What can be set on a tab."""
    connection.request("GET", f"/api/{tab}")
    return json.loads(connection.getresponse().read())


def ask(connection: HTTPConnection, tab: str, said: dict[str, Any], expected: str = "python") -> None:
    """One question; an answer without what is expected in it is an error."""
    connection.request("POST", f"/api/{tab}", json.dumps(said), {"content-type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200 or expected not in json.loads(body):
        raise ValueError(f"{tab} {said}: {answer.status} {body[:200]!r}")


def held(process: int) -> float:
    """Megabytes of a process now."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def held_by_children(process: int) -> float:
    """Megabytes of the processes that its threads have started, now."""
    children = " ".join(each.read_text() for each in Path(f"/proc/{process}/task").glob("*/children"))
    return sum(map(held, map(int, children.split())))


MOVE = """async () => { // one move of a slider after the other, each timed until its picture is on the screen
    const slider = document.querySelector('input[name="gaussian.seed"]'), took = [];
    for (let seed = 100; seed < 160; seed += 1) {
        const drawn = new Promise(done => { const watch = new PerformanceObserver(list => { watch.disconnect();
            done(Math.max(...list.getEntries().map(each => each.startTime + each.duration))); });
            watch.observe({ type: "measure" }); });
        const start = performance.now();
        slider.value = seed;
        slider.dispatchEvent(new Event("input"));
        took.push(await drawn - start);
        await new Promise(done => setTimeout(done, 50));
    }
    return took.slice(20); // the browser compiles, too
}"""


def in_a_browser(home: str) -> dict[str, Any]:
    """Bytes of the first load, milliseconds to the first picture and from a slider to its picture.

    Nothing where there is no Chromium.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None or SMOKE:
        return {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        network, sizes = page.context.new_cdp_session(page), []
        network.send("Network.enable")
        network.on("Network.loadingFinished", lambda each: sizes.append(each["encodedDataLength"]))
        page.add_init_script("""window.first = new Promise(done => new PerformanceObserver(list =>
            done(list.getEntries()[0].startTime + list.getEntries()[0].duration)).observe({ type: "measure" }));""")
        page.goto(f"{home}#tab=gaussian")
        first = page.evaluate("() => window.first")
        loaded = sum(sizes)
        moved = {}
        for samples in LENGTHS:
            page.fill('input[name="gaussian.samples number"]', str(samples))
            page.wait_for_timeout(1500)
            moved[samples] = page.evaluate(MOVE)
        browser.close()
    return {"bytes": loaded, "first": first, "moved": moved}


def tell(found: dict[str, Any]) -> list[Target]:
    """Tables, and how they compare with what was hoped for."""
    rows = [row(tab, [wait for each, wait in found["waits"] if each == tab], found["seconds"]) for tab in TABS]
    every = [wait for _, wait in found["waits"]]
    show(
        f"The page: {CLIENTS} clients that move sliders for {found['seconds']:g} s on 2 cores, clients included; ms",
        ["", "p50", "p95", "largest", "answers/s"],
        [*rows, row("all", every, found["seconds"])],
    )
    if found["errors"]:
        print(f"  {len(found['errors'])} errors, such as: {found['errors'][0]}")
    print(f"  one of them fits SMiLe to 60 people with 200 trials each meanwhile: {', '.join(found['fitted'])}")
    memory = [f"{found[name]:.0f} MB {when}" for name, when in MEMORY.items()]
    reader = f"the process that reads tables, which ends a minute after the last one: {found['reader']:.0f} MB"
    print(f"  memory of the server: {', '.join(memory)}; {reader}")
    return [
        at_most("page: `astonish explore` to the address", 2, found["start"], "s"),
        at_most("page: memory after all was used", 500, found["everything"], "MB"),
        at_most("page: 20 clients", 0, len(found["errors"]), "errors", is_check=True),
        at_most("page: fits that did not end", 0, sum(e != "done" for e in found["fitted"]), "fits", is_check=True),
        at_most("page: 20 clients, p95", 400, 1000 * float(np.quantile(every, 0.95)), "ms"),
        at_most("page: 20 clients, memory gained", 10, found["after"] - found["before"], "MB"),
        *(tell_browsed(found["browsed"]) if found["browsed"] else []),
    ]


def tell_browsed(found: dict[str, Any]) -> list[Target]:
    """What a browser found."""
    moved = {int(samples): ms for samples, ms in found["moved"].items()}
    rows = [[f"{samples} samples", *_two(ms)] for samples, ms in moved.items()]
    show("From a slider to the redrawn Gaussian world in Chromium; ms", ["", "p50", "p95"], rows)
    return [
        at_most("page: first load, compressed", 1.5, found["bytes"] / 1e6, "MB"),
        at_most("page: first picture", 1, found["first"] / 1000, "s"),
        *(
            at_most(
                f"page: slider to picture at {samples} samples, median", LENGTHS[samples], float(np.median(ms)), "ms"
            )
            for samples, ms in moved.items()
        ),
    ]


def row(name: str, waits: list[float], seconds: float) -> list[str]:
    ms = [1000 * wait for wait in waits]
    return [name, *_two(ms), f"{max(ms):.0f}", f"{len(ms) / seconds:.0f}"]


def _two(ms: list[float]) -> list[str]:
    return [f"{np.quantile(ms, level):.0f}" for level in (0.5, 0.95)]


if __name__ == "__main__":
    for target in report():
        print(f"  {target.name}: {target.measured}, wanted {target.wanted}{'' if target.met else ', NOT met'}")
