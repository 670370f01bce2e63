"""Checks that compiled code computes what XLA computes, whatever the learner, the sample and the operation."""

import copy
import ctypes
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from astonish import (
    Bank,
    Bayes,
    Delta,
    Detector,
    Dirichlet,
    Exponential,
    Gaussian,
    GaussianVector,
    MessagePassing,
    NormalGamma,
    ParticleFilter,
    PerContext,
    Poisson,
    Smile,
    Step,
    Stream,
    run,
)
from astonish.core.numbers import Domain, double, pytree_dataclass
from astonish.learners.base import Learner, NumberLearner, StepInfo
from operations import OPERATIONS, P

ir = pytest.importorskip("llvmlite.ir", reason="the native engine is not installed")
if jax.default_backend() != "cpu":
    pytest.skip("compared on the processor", allow_module_level=True)

from astonish.engines.native import llvm  # noqa: E402
from astonish.engines.native.llvm import POINTER, UnsupportedError, nbytes  # noqa: E402
from astonish.engines.native.lowering import Lowering  # noqa: E402

GAUSSIAN, BAYES = Smile(Gaussian(noise=1.0)), Bayes(Gaussian(noise=1.0))


def compiled(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What the lowered code of a function gives for these arguments, as flat arrays."""
    arrays = [np.asarray(a) for a in jax.tree.leaves(arguments)]

    def without_bits(*values: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.astype(jnp.int8) if leaf.dtype == bool else leaf, function(*values))

    program = jax.make_jaxpr(without_bits)(*arguments)
    module = ir.Module("test")
    pointers = [POINTER] * (len(arrays) + len(program.out_avals))
    code = ir.Function(module, ir.FunctionType(ir.VoidType(), pointers), "test")
    low = Lowering.of(code)
    results = low.run(program, [low.load_array(code.args[k], 0, aval) for k, aval in enumerate(program.in_avals)])
    for pointer, value in zip(code.args[len(arrays) :], results, strict=True):
        low.store_array(pointer, 0, value)
    low.ret_void()
    made = llvm.compiled(module)
    outputs = [np.zeros(nbytes(aval) + 8, np.uint8) for aval in program.out_avals]
    held = [np.ascontiguousarray(array) for array in arrays]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(code.args))(made["test"])
    call(*(array.ctypes.data for array in (*held, *outputs)))
    pairs = zip(outputs, program.out_avals, strict=True)
    return [room[: nbytes(aval)].view(aval.dtype).reshape(aval.shape) for room, aval in pairs]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_jax_gives(name: str) -> None:
    function, *arguments = OPERATIONS[name]
    with double():
        expected = jax.tree.leaves(jax.device_get(jax.jit(function)(*arguments)))
        found = compiled(function, *arguments)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.asarray(other).dtype or (one.dtype == np.int8 and other.dtype == bool)
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=0)
            zeros = np.asarray(other) == 0
            np.testing.assert_array_equal(np.signbit(one)[zeros], np.signbit(other)[zeros])
        else:
            np.testing.assert_array_equal(one, other)


WITHOUT_A_RULE = [
    jnp.sort,
    jnp.fft.fft,
    lambda a: jax.lax.div(a.astype(int), a.astype(int)),
    lambda a: jax.lax.div(a.astype(int), np.array([1, 0, 2, 3])),
    lambda a: jax.lax.rem(a.astype(int), np.asarray(-1)),
    lambda a: jnp.maximum(a, np.array([1.0, np.nan, 2.0, 3.0])),
]


@pytest.mark.parametrize("function", WITHOUT_A_RULE)
def test_an_operation_without_a_rule_is_refused(function: Any) -> None:
    with double(), pytest.raises(UnsupportedError):
        compiled(function, P)


def close(a: Any, b: Any, within: float) -> None:
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=within, atol=within * 1e-3)


EXTREMES = [
    Smile(Gaussian(noise=1.0), 1e-9),
    Smile(Gaussian(noise=1.0), 1e9),
    Smile(Gaussian(noise=1e-6), 0.1),
    Smile(Dirichlet(4), 1e6),
    Smile(Poisson(), 0.01),
    Smile(Exponential(), 10.0),
    Smile(NormalGamma(), 0.5, reference=NormalGamma().prior()),
    MessagePassing(Gaussian(noise=1.0), 0.001),
    ParticleFilter(Gaussian(noise=1.0), 0.1, particles=6),
]


@pytest.mark.parametrize("learner", EXTREMES, ids=str)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_extreme_samples_give_the_same_numbers(learner: Any, data: st.DataObject) -> None:
    domain: Domain = learner.samples
    low, high = max(domain.low, -1e150), min(domain.high, 1e150)
    floats = st.floats(low, high, exclude_min=domain.open)
    numbers: Any = st.integers(int(low), int(min(high, 1e9))) if domain.whole else floats
    xs = data.draw(st.lists(numbers, min_size=1, max_size=6))
    by_xla, largest = Stream(learner, engine="xla"), max(map(abs, xs))
    for x in xs:
        native = Stream(learner, by_xla.state, engine="native")
        step, expected = native.update(x), by_xla.update(x)
        leaves = map(jax.tree.leaves, ([step, native.state], [expected, by_xla.state]))
        for one, other in zip(*leaves, strict=True):
            assert np.array_equal(np.isnan(one), np.isnan(other))
            if largest < 1e70:  # beyond, squares of differences may be all rounding error
                np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-12 * largest)


def test_particles_draw_the_same_numbers() -> None:
    learner, xs = ParticleFilter(Gaussian(1.0), 0.2, particles=9, seed=5), np.random.default_rng(1).normal(size=60)
    one, other = run(learner, xs, engine="native").state, run(learner, xs, engine="xla").state
    np.testing.assert_array_equal(one.key, other.key)
    np.testing.assert_array_equal(one.ages, other.ages)


VECTOR, LABELS = Smile(GaussianVector(np.eye(2))), Smile(Dirichlet(4))
SAMPLES: list[Any] = [
    *((GAUSSIAN, x) for x in (0.5, 3, True, np.float32(0.25), np.int64(2), np.float64(1.5), np.array(0.75), None)),
    *((GAUSSIAN, x) for x in (math.nan, 10**30)),
    *((VECTOR, x) for x in (np.array([0.5, -2.0]), [0.5, -2.0], np.array([0.5, -2.0], np.float32), np.array([1, 2]))),
    (VECTOR, np.array([[0.5, 9.0], [-2.0, 9.0]])[:, 0]),
    (VECTOR, np.ma.array([0.5, -2.0], mask=[False, False])),
    (VECTOR, np.ma.array([0.5, -2.0], mask=[False, True])),
    (VECTOR, np.array([0.5, np.nan])),
]


@pytest.mark.parametrize(("learner", "x"), SAMPLES, ids=repr)
def test_samples_of_every_sort_are_read_as_by_xla(learner: Any, x: Any) -> None:
    native, by_xla = (Stream(learner, engine=engine) for engine in ("native", "xla"))
    one, other = native.update(x), by_xla.update(x)
    assert isinstance(one, Step)
    assert [type(part) for part in one] == [type(part) for part in other]
    close([one, native.last_step, native.state], [other, by_xla.last_step, by_xla.state], 1e-12)


REFUSED: list[Any] = [
    *((GAUSSIAN, x) for x in ("0.5", [1.0, 2.0], math.inf, 10**400, 1j, np.array([1.0]), (1.0,))),
    *((VECTOR, x) for x in (np.zeros(3), np.zeros((1, 2)), np.array([0.0, np.inf]), np.zeros(2, complex), 1.0)),
    *((LABELS, x) for x in (4, -1, 1.5)),
    *((PerContext(LABELS, 3), x) for x in ((3, 1), (1, 2, 0), [1])),
    (Smile(Exponential()), 0.0),
    (Smile(Poisson()), -1),
]


@pytest.mark.parametrize(("learner", "x"), REFUSED, ids=repr)
def test_what_is_not_allowed_is_refused_in_the_same_words(learner: Any, x: Any) -> None:
    sentences = []
    for engine in ("native", "xla"):
        stream = Stream(learner, engine=engine)
        before = stream.state
        with pytest.raises(ValueError, match=r"give|samples have") as refused:
            stream.update(x)
        sentences.append(str(refused.value))
        jax.tree.map(np.testing.assert_array_equal, stream.state, before)
    assert sentences[0] == sentences[1]


def test_update_is_called_as_before() -> None:
    stream = Stream(GAUSSIAN, engine="native")
    assert repr(stream.update(x=0.5)) == repr(Stream(GAUSSIAN, engine="native").update(0.5))
    assert "Learn from one sample" in (stream.update.__doc__ or "")
    for wrong in ((), (1.0, 2.0)):
        with pytest.raises(TypeError):
            stream.update(*wrong)
    with pytest.raises(TypeError):
        stream.update(y=1.0)  # type: ignore[call-arg]


class Doubled(Stream):
    """One whose updates are its own."""

    def update(self, x: Any) -> Step:
        return super().update(2 * x)


def test_updates_of_ones_own_are_kept() -> None:
    assert repr(Doubled(GAUSSIAN).update(0.5)) == repr(Stream(GAUSSIAN).update(1.0))


@pytest.mark.parametrize(
    "learner", [GAUSSIAN, Smile(Dirichlet(15)), MessagePassing(Gaussian(1.0), 0.1, hypotheses=5)], ids=str
)
def test_estimates_that_were_handed_out_stay_as_they_were(learner: Any) -> None:
    stream = Stream(learner, engine="native")
    step, state = stream.update(1), stream.state
    kept = copy.deepcopy((step, state))
    stream.update(0)
    jax.tree.map(np.testing.assert_array_equal, (step, state), kept)
    estimate = stream.estimate
    if np.ndim(estimate):
        estimate[...] = -1.0
        assert (stream.estimate != -1.0).all()


def test_many_at_once_is_the_same_as_one_by_one() -> None:
    xs = [0.5, None, 2.0, -1.0, math.nan]
    for engine in ("native", "xla"):
        many, single = Stream(GAUSSIAN, engine=engine), Stream(GAUSSIAN, engine=engine)
        steps, each = many.update_many(xs), [single.update(x) for x in xs]
        close([steps.estimate, steps.surprise, steps.learning_rate], list(np.array(each).T[:3]), 1e-12)
        assert steps.change_probability is None
        close(many.last_step, single.last_step, 1e-12)
        close(many.state, single.state, 1e-12)
        with pytest.raises(ValueError, match="sample 1 "):
            many.update_many([1.0, math.inf])
        close(many.state, single.state, 1e-12)
        before = many.last_step
        many.update_many([None, None])
        assert repr(many.last_step) == repr(before)


def test_large_states_go_many_at_once_too() -> None:
    learner = PerContext(Smile(Dirichlet(4)), 300)
    many, single = Stream(learner), Stream(learner)
    assert many.engine == "xla"
    many.update_many(([3, 299, 3], [1, 2, 1]))
    for x in ((3, 1), (299, 2), (3, 1)):
        single.update(x)
    close(many.state, single.state, 1e-11)
    close(many.last_step, single.last_step, 1e-11)


def test_a_stream_ends_with_its_last_reference_and_its_function_goes_on() -> None:
    stream = Stream(GAUSSIAN, engine="native")
    gone, update = weakref.ref(stream), stream.update
    del stream
    assert gone() is None
    gc.collect()
    assert repr(update(0.5)) == repr(Stream(GAUSSIAN, engine="native").update(0.5))


def test_thousands_of_updates_leave_no_objects_behind() -> None:
    stream = Stream(Smile(Dirichlet(3)), engine="native")
    counted = 0
    for k in range(3):
        for _ in range(2000):
            stream.update(1)
            stream.update(None)
        counts, counted = counted, len(gc.get_objects())
        assert k < 2 or counted <= counts + 50
    gaussian = Stream(GAUSSIAN, engine="native")
    before = sys.getrefcount(Step)
    steps = [gaussian.update(1.0) for _ in range(100)]
    assert sys.getrefcount(Step) - before in (0, 100)
    del steps
    assert sys.getrefcount(Step) == before


def test_threads_lose_nothing() -> None:
    stream = Stream(BAYES, engine="native")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [stream.update(0.0) for _ in range(500)], range(8)))
        list(pool.map(lambda _: stream.update_many(np.zeros(500)), range(8)))
    assert BAYES.belief(stream.state).std == pytest.approx(8001**-0.5)


def test_states_read_by_other_threads_are_of_one_moment() -> None:
    """The two numbers of this state always agree."""
    learner = Pair()
    stream, stop = Stream(learner, engine="native"), threading.Event()

    def read() -> bool:
        good = True
        while not stop.is_set():
            a, b = stream.state
            good &= bool(a == b)
        return good

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for k in range(20_000):
            stream.update(float(k))
        stop.set()
        assert all(reader.result() for reader in readers)


@pytree_dataclass
class Pair(Learner):
    """It remembers the last sample twice, as a number and as a whole one."""

    samples = Domain()

    def init(self) -> Any:
        return jnp.zeros(()), jnp.zeros((), jnp.int32)

    def step(self, state: Any, x: Any) -> tuple[Any, StepInfo]:
        return (x, jnp.asarray(x, jnp.int32)), StepInfo(jnp.zeros(()), jnp.zeros(()))

    def estimate(self, state: Any) -> Any:
        return state[0]


@pytree_dataclass
class Sorting(NumberLearner):
    """It sorts, for which there is no rule."""

    def init(self) -> Any:
        return jnp.zeros(3)

    def step(self, state: Any, x: Any) -> tuple[Any, StepInfo]:
        return jnp.sort(state.at[0].set(x)), StepInfo(jnp.abs(x), jnp.ones(()))

    def estimate(self, state: Any) -> Any:
        return state[1]


def test_a_learner_with_an_operation_nobody_knows_falls_back_and_says_so_once() -> None:
    with pytest.warns(UserWarning, match=r"Sorting needs the operation 'sort'.*XLA computes it instead"):
        stream = Stream(Sorting())
    assert stream.engine == "xla"
    assert [stream.update(x).estimate for x in (3.0, 1.0)] == [0.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Stream(Sorting()).engine == "xla"
        run(Sorting(), [1.0])
    with pytest.raises(ValueError, match="not possible here: Sorting needs the operation 'sort'; give engine='xla'"):
        Stream(Sorting(), engine="native")


def test_the_engine_is_chosen_by_name_or_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Stream(GAUSSIAN).engine == "native"
    assert Stream(GAUSSIAN, engine="xla").engine == "xla"
    assert Bank(GAUSSIAN, 3, engine="xla").engine == "xla"
    monkeypatch.setenv("ASTONISH_ENGINE", "xla")
    assert Stream(GAUSSIAN).engine == Bank(GAUSSIAN, 3).engine == Detector(GAUSSIAN, 3.0).engine == "xla"
    assert Stream(GAUSSIAN, engine="native").engine == "native"
    monkeypatch.setenv("ASTONISH_ENGINE", "fast")
    with pytest.raises(ValueError, match="engine = 'fast' is not known; give one of native, xla"):
        Stream(GAUSSIAN)


def test_states_are_the_same_whichever_engine_wrote_them(tmp_path: Path) -> None:
    contexts, particles = PerContext(Smile(Dirichlet(4)), 3), ParticleFilter(Gaussian(1.0), particles=5)
    for learner, x in ((GAUSSIAN, 1.25), (contexts, (1, 2)), (particles, 0.5)):
        for name in ("native", "xla"):
            stream = Stream(learner, engine=name)
            stream.update(x)
            stream.save(tmp_path / name)
        states = [Stream.load(tmp_path / name, learner).state for name in ("native", "xla")]
        one, other = ([leaf.dtype for leaf in jax.tree.leaves(state)] for state in states)
        assert one == other
        close(*states, 1e-12)
        close(pickle.loads(pickle.dumps(Stream(learner, states[0], engine="xla"))).state, states[0], 0)


@pytest.mark.parametrize("kind", [Bank, Detector, Stream])
def test_what_was_told_to_use_xla_does_so_when_it_is_copied(kind: Any) -> None:
    made = kind(GAUSSIAN, *(() if kind is Stream else (3,)), engine="xla")
    assert pickle.loads(pickle.dumps(made)).engine == copy.deepcopy(made).engine == "xla"


def test_a_detector_is_the_same_with_either_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = [*np.random.default_rng(0).normal(size=40), None, *np.random.default_rng(1).normal(6.0, 1.0, 40), math.nan]
    found = []
    for engine in ("native", "xla"):
        monkeypatch.setenv("ASTONISH_ENGINE", engine)
        detector = Detector(GAUSSIAN, 3.0, burn_in=3, cooldown=4)
        assert detector.engine == engine
        alarms = [detector.update(x) for x in xs]
        assert all(type(alarm) is bool for alarm in alarms)
        detector.threshold = 0.0
        found.append((alarms, detector.drift_detected, [detector.update(0.0) for _ in range(6)]))
        copied = pickle.loads(pickle.dumps(detector))
        assert [copied.update(9.0) for _ in range(6)] == [detector.update(9.0) for _ in range(6)]
        assert copied.threshold == 0.0
    assert found[0] == found[1]
    assert any(found[0][0])


LANES = [Smile(Gaussian(noise=1.0)), Bayes(Gaussian(noise=1.0)), Delta(0.3), Smile(Poisson()), Smile(Dirichlet(4)),
         MessagePassing(Gaussian(1.0), 0.1, hypotheses=4), ParticleFilter(Gaussian(1.0), particles=4)]  # fmt: skip


@pytest.mark.parametrize("learner", LANES, ids=str)
def test_a_bank_learns_as_streams_do(learner: Any) -> None:
    """Batches small and large, with few keys and many, and with gaps."""
    rng, bank = np.random.default_rng(3), Bank(learner, 3000, engine="native")
    streams: dict[int, Stream] = {}
    for size, keys in ((3, 2), (100, 5), (4000, 3000), (9000, 2000)):
        names = rng.integers(keys, size=size)
        xs = rng.integers(4, size=size).astype(float)
        if size == 100:
            xs[::7] = np.nan
        steps = bank.update(names, xs)
        small = size <= 100
        for k, (name, x) in enumerate(zip(names.tolist(), xs.tolist(), strict=True)):
            if not small and name > 5:
                continue
            stream = streams.setdefault(name, Stream(learner, engine="native"))
            step = stream.update(x)
            close([steps.estimate[k], steps.surprise[k], steps.learning_rate[k]], list(step[:3]), 1e-9)
        for name, stream in streams.items():
            if small or name <= 5:
                close(bank.state(name), stream.state, 1e-9)


def test_batches_by_several_threads_are_the_same_as_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    batches = [(rng.integers(500, size=n), rng.normal(size=n)) for n in (20_000, 7, 30_000)]
    found = []
    for cores in (1, 2, 4):
        monkeypatch.setattr("astonish.engines.native.parallel.threads_for", lambda _, cores=cores: cores)
        bank = Bank(GAUSSIAN, 500, engine="native")
        found.append([bank.update(*batch) for batch in batches] + [bank.__reduce__()[1][3:]])
    for other in found[1:]:
        close(other, found[0], 1e-12)


def test_a_program_is_kept_and_a_damaged_one_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTONISH_CACHE", str(tmp_path / "kept"))

    def module() -> Any:
        made = ir.Module("kept")
        function = ir.Function(made, ir.FunctionType(ir.IntType(64), []), "answer")
        ir.IRBuilder(function.append_basic_block()).ret(ir.IntType(64)(42))
        return made

    def answer() -> int:
        code = llvm.compiled(module())
        return ctypes.CFUNCTYPE(ctypes.c_int64)(code["answer"])()

    assert answer() == 42
    (file,) = (tmp_path / "kept").iterdir()
    written = file.read_bytes()
    compilations = []
    original = llvm._object
    monkeypatch.setattr(llvm, "_object", lambda *about: (compilations.append(1), original(*about))[1])
    assert (answer(), compilations) == (42, [])
    for damaged in (b"", written[:-1], bytes([written[0] ^ 1]) + written[1:], b"x" * len(written)):
        file.write_bytes(damaged)
        compilations.clear()
        assert (answer(), compilations) == (42, [1])
        assert file.read_bytes() == written
    monkeypatch.setenv("ASTONISH_CACHE", str(file / "no folder"))
    assert answer() == 42
    monkeypatch.setenv("ASTONISH_CACHE", "off")
    assert answer() == 42
    assert list((tmp_path / "kept").iterdir()) == [file]


def test_a_program_without_llvmlite_computes_by_xla() -> None:
    script = """
import sys
sys.modules["llvmlite"] = None  # as if it were not installed
import warnings; warnings.simplefilter("error")
from astonish import Bank, Detector, Gaussian, Smile, Stream, run
learner = Smile(Gaussian(1.0))
assert Stream(learner).engine == Bank(learner, 3).engine == Detector(learner, 3.0).engine == "xla"
Stream(learner).update(0.5)
assert sys.modules["llvmlite"] is None
try:
    Stream(learner, engine="native")
except ValueError as refused:
    print(refused)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "llvmlite is not installed; pip install 'astonish[native]'" in done.stdout
