"""Is a sample, or a batch, learned completely or not at all, whatever interrupts it, and whoever else is learning?"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import count
from typing import Any

import jax
import numpy as np
import pytest

from astonish import Bank, Bayes, Delta, Detector, Dirichlet, Gaussian, PerContext, Smile, Stream

BAYES, SMALL, LARGE = Bayes(Gaussian(noise=1.0)), Smile(Gaussian(noise=1.0)), PerContext(Smile(Dirichlet(4)), 100)
KEYS = [3, 1, 3, 2, 3, 9, 1]  # more than a bank of 4 has room for, together with those before
XS = [0.5, 2.0, -1.0, 0.25, 3.0, 1.0, 0.0]


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of generators that end


class Interruption(BaseException):
    """As Ctrl-C is: no error that anybody would handle."""


def interrupted_at(place: int, work: Callable[[], Any]) -> bool:
    """Do it, and raise an exception at its call, or return, of this number. Whether it came so far."""
    left = place

    def profile(_: Any, event: str, what: Any) -> None:
        nonlocal left
        if event == "c_call" and what.__name__ in ("__exit__", "setprofile"):
            return  # Python looks for signals after calls, so none comes just before a lock is left
        left -= 1
        if left < 0:
            sys.setprofile(None)
            raise Interruption

    sys.setprofile(profile)
    try:
        work()
    except Interruption:
        pass
    finally:
        sys.setprofile(None)
    return left < 0


def stream(learner: Any, samples: list[Any], engine: str) -> tuple[Any, Callable[[], Any], Callable[[], Any]]:
    """Something that learns, what it does next, and what can be seen of it."""
    fed = Stream(learner, engine=engine)
    for x in samples:
        fed.update(x)
    return fed, lambda: fed.update(samples[0]), lambda: [fed.state, fed.estimate]


def detector(engine: str) -> tuple[Any, Callable[[], Any], Callable[[], Any]]:
    watching = Detector(Delta(0.5), threshold=3.0, burn_in=1, cooldown=2, engine=engine)
    for x in (0.0, 0.1):
        watching.update(x)
    return watching, lambda: watching.update(9.0), lambda: [watching._watch.now(), watching.drift_detected]


def bank(name: Any, evict: bool, engine: str) -> tuple[Any, Callable[[], Any], Callable[[], Any]]:
    kept = Bank(SMALL, 4 if evict else 10, evict, engine)
    kept.update([name(key) for key in (1, 7, 8)], [0.0, 1.0, 2.0])
    keys, every = [name(key) for key in KEYS], [name(key) for key in range(10)]
    return kept, lambda: kept.update(keys, XS), lambda: [kept.__reduce__()[1][3:], kept.estimate(every), len(kept)]


def large_bank(engine: str) -> tuple[Any, Callable[[], Any], Callable[[], Any]]:
    """One whose batches are large enough for several threads."""
    kept, rng = Bank(SMALL, 3000, engine=engine), np.random.default_rng(0)
    kept.update(np.arange(2000), rng.normal(size=2000))
    keys, xs = rng.integers(3000, size=9000), rng.normal(size=9000)
    return kept, lambda: kept.update(keys, xs), lambda: [kept.__reduce__()[1][3:], len(kept)]


ENGINES = ("native", "xla") if find_spec("llvmlite") else ("xla",)
MAKERS = {
    f"{name}, {engine}": partial(make, engine=engine)
    for name, make in {
        "stream": partial(stream, SMALL, [0.3, 2.0]),
        "detector": detector,
        "bank of strings": partial(bank, str, False),
        "bank of numbers that evicts": partial(bank, int, True),
        "large bank": large_bank,
    }.items()
    for engine in ENGINES
} | {"large stream": partial(stream, LARGE, [(3, 1), (99, 2)], "xla")}


def same(a: Any, b: Any) -> bool:
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(left, right) for left, right in leaves)


def outcomes(make: Any, interrupt: Callable[[Any], bool]) -> Iterator[bool]:
    """Interrupt it again and again, each time a fresh one. Whether it had learned; it must not have learned in part."""
    (_, work, seen), (_, _, untouched) = make(), make()
    before = untouched()
    work()
    after = seen()
    work()
    later = seen()
    while True:
        _, work, seen = make()
        stopped = interrupt(work)
        learned = same(seen(), after)
        assert learned or same(seen(), before)
        work()  # and it goes on
        assert same(seen(), later if learned else after)
        yield learned
        if not stopped:
            return


@pytest.mark.parametrize("name", MAKERS)
def test_an_exception_at_any_call_leaves_it_as_before_or_as_after(name: str) -> None:
    places = count(0, 1 if name == "bank of strings, native" else 5)  # all, or a fifth; `make hostile` takes all
    found = list(outcomes(MAKERS[name], lambda work: interrupted_at(next(places), work)))
    assert not found[0]
    assert found[-1]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("name", [pytest.param(k, marks=() if "large" in k else pytest.mark.hostile) for k in MAKERS])
def test_a_signal_at_any_time_leaves_it_as_before_or_as_after(name: str) -> None:
    signal_at_random(MAKERS[name], times=40, seed=1)


def signal_at_random(make: Any, times: int, seed: int) -> None:
    """Interrupt it so many times by a signal, at random times."""
    rng = np.random.default_rng(seed)

    def stop(*_: Any) -> None:
        raise Interruption

    def interrupt(work: Callable[[], Any]) -> bool:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1.5e-3))
            work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interruption:
            pass
        return True

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _, _ in zip(outcomes(make, interrupt), range(times), strict=False):
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_threads(work: Callable[[int], Any], threads: int = 8) -> None:
    """The same at once in so many threads, which take turns as often as Python allows."""
    often, together = sys.getswitchinterval(), threading.Barrier(threads)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda thread: (together.wait(), work(thread)), range(threads)))
    finally:
        sys.setswitchinterval(often)


def test_threads_lose_no_sample_of_a_stream() -> None:
    for learner, x in ((BAYES, 1.0), (PerContext(Bayes(Dirichlet(3)), 200), (5, 1))):
        fed = Stream(learner)
        in_threads(lambda _, fed=fed, x=x: [fed.update(x) for _ in range(100)])
        wanted = Stream(learner)
        for _ in range(800):
            wanted.update(x)
        assert same(fed.state, wanted.state)


def test_threads_lose_no_sample_of_a_bank_and_mix_no_keys() -> None:
    for name in (int, str):
        kept = Bank(BAYES, 200)

        def work(thread: int, kept: Any = kept, name: Any = name) -> None:
            for round_ in range(20):
                keys = [name(key) for key in (1000, thread, 8 + 8 * round_ + thread)]
                kept.update(keys, [1.0, float(thread), float(round_)])
                assert kept.estimate(keys).shape == (3,)

        in_threads(work)
        assert len(kept) == 1 + 8 + 160
        counts = [round(BAYES.belief(kept.state(name(key))).std ** -2) - 1 for key in (1000, 0, 7, 8, 167)]
        assert counts == [160, 20, 20, 1, 1]
        assert kept.estimate([name(7)])[0] == pytest.approx(7 * 20 / 21)


def test_threads_count_every_sample_of_a_detector() -> None:
    watching = Detector(BAYES, threshold=0.0, burn_in=100, cooldown=6, signal="surprise")
    alarms: list[bool] = []
    in_threads(lambda _: alarms.extend([watching.update(1.0) for _ in range(100)]))
    assert sum(alarms) == 100  # of 700 samples, each seventh
    assert BAYES.belief(watching._stream.state).std == pytest.approx(801**-0.5)
