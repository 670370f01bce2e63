"""Does Spark learn what a bank learns, each row once, though it is killed on the way?"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from astonish import Delta, Gaussian, Monitor, PerContext, Smile, VarSmile
from astonish.interop.spark import ShardUpdate, answers, surprise_stream
from astonish.online.bank import Bank
from jax_versions import quick_flags

JOB = Path(__file__).parent.parent / "examples" / "spark_stream.py"
LEARNER = Smile(Gaussian(noise=1.0), m=0.1)  # that of the job
FILES, ROWS = 5, 300
NO_PAINS = {  # compilers that do not try hard: half the time
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "XLA_FLAGS": f"--xla_backend_optimization_level=0 {quick_flags()}",
}
LEARNING = ShardUpdate(LEARNER, "sensor", "value", ["time"], shards=2, capacity=100, evict=False)
WITH_SPARK = pytest.mark.skipif(
    "JAVA_HOME" not in os.environ and shutil.which("java") is None,
    reason="Java is not installed here, and Spark needs it",
)


class State:
    """The state of a group, as Spark hands it over."""

    def __init__(self) -> None:
        self.exists, self.get = False, (0, b"")

    def update(self, new: tuple[int, bytes]) -> None:
        self.exists, self.get = True, new


def _readings(seed: int = 1) -> pd.DataFrame:
    """Means that jump, of sensors of which some speak more often than others, with gaps."""
    rng = np.random.default_rng(seed)
    sensor = rng.geometric(0.1, FILES * ROWS)
    value = rng.normal(0.0, 1.0, len(sensor)) + 6.0 * (np.arange(len(sensor)) > len(sensor) // 2)
    value[rng.random(len(sensor)) < 0.02] = np.nan
    return pd.DataFrame({"sensor": [f"s{i}" for i in sensor], "time": np.arange(len(sensor)), "value": value})


def _expected(rows: pd.DataFrame) -> tuple[pd.DataFrame, Bank]:
    bank = Bank(LEARNER, capacity=1000)
    return bank.update_table(rows, "sensor", "value"), bank


def _same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found[list(wanted)].reset_index(drop=True), wanted, rtol=1e-12, atol=1e-12)


@contextmanager
def _job(folder: Path, *more: str) -> Iterator[Any]:
    """The job, with all processes that it starts; behind this they are gone."""
    places = [str(folder / name) for name in ("readings", "surprises", "checkpoint")]
    settings = ["--shards", "2", "--capacity", "100", "--files", "1", *more]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"} | NO_PAINS
    with (folder / "log").open("a") as log:
        job = subprocess.Popen(
            [sys.executable, JOB, *places, *settings], stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        yield job
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _written(folder: Path) -> pd.DataFrame:
    """The rows of the sink: of the files in its log, and of no others."""
    added = set()
    for log in (folder / "surprises" / "_spark_metadata").glob("[0-9]*"):
        entries = map(json.loads, log.read_text().splitlines()[1:])
        added |= {Path(entry["path"]).name for entry in entries if entry["action"] == "add"}
    return pd.concat(pd.read_parquet(folder / "surprises" / name) for name in added).sort_values("time")


@pytest.fixture
def readings(tmp_path: Path) -> pd.DataFrame:
    """Rows that wait in files for a query, each out of order."""
    pytest.importorskip("pyspark", reason="pyspark is not installed here: pip install 'astonish[spark]'")
    rows = _readings()
    (tmp_path / "readings").mkdir()
    for i, part in enumerate(np.split(np.arange(len(rows)), FILES)):
        place = tmp_path / "readings" / f"{i}.parquet"
        rows.iloc[np.random.default_rng(i).permutation(part)].to_parquet(place)
        os.utime(place, (1_000_000_000 + i,) * 2)  # so that the oldest is the first
    return rows


def _finish(folder: Path, rows: pd.DataFrame) -> None:
    """Run the job to its end, which leaves what a bank learns of all rows."""
    with _job(folder, "--once", "--states", str(folder / "states")) as job:
        assert job.wait(300) == 0, (folder / "log").read_text()
    wanted, bank = _expected(rows)
    _same(_written(folder), wanted)
    states = pd.read_parquet(folder / "states").set_index("key").estimate
    assert len(states) == len(bank)
    np.testing.assert_allclose(states[bank.keys()], bank.estimate(bank.keys()), rtol=1e-12)


@WITH_SPARK
def test_a_query_writes_what_a_bank_learns(readings: pd.DataFrame, tmp_path: Path) -> None:
    _finish(tmp_path, readings)


@WITH_SPARK
@pytest.mark.hostile
def test_a_killed_query_goes_on_where_it_was(readings: pd.DataFrame, tmp_path: Path) -> None:
    log = tmp_path / "surprises" / "_spark_metadata"
    with _job(tmp_path) as job:
        while not (log / "1").exists():
            assert job.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.02)
    assert 2 * ROWS <= len(_written(tmp_path)) < FILES * ROWS  # it was killed on the way
    _finish(tmp_path, readings)


def _learn(learning: ShardUpdate, state: State, chunks: Sequence[pd.DataFrame]) -> pd.DataFrame:
    found = pd.concat(learning.learn((0,), iter(chunks), state))
    assert [*found.columns] == [*chunks[0].columns, *answers(learning.learner)]
    return found


def test_the_rows_of_a_shard_are_put_in_order_whatever_order_they_come_in() -> None:
    rows, rng = _readings()[:600], np.random.default_rng(2)
    state, found = State(), []
    for part in np.split(np.arange(600), 3):
        mixed = rng.permutation(part)
        found.append(_learn(LEARNING, state, [rows.iloc[mixed[:70]], rows.iloc[mixed[70:]]]))
    wanted, bank = _expected(rows)
    _same(pd.concat(found), wanted)
    kept = Bank.load(io.BytesIO(state.get[1]), LEARNER)
    assert kept.keys().tolist() == bank.keys().tolist()


def test_of_samples_at_the_same_time_the_order_does_not_depend_on_how_they_came() -> None:
    rows = pd.DataFrame({"sensor": "a", "time": [1, 1, 1, 2], "value": [5.0, 0.0, -5.0, 1.0]})
    one, other = (_learn(LEARNING, State(), [rows.iloc[order]]) for order in ([0, 1, 2, 3], [3, 2, 0, 1]))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))


def test_samples_of_several_parts_and_learners_that_ask_for_changes() -> None:
    rows = pd.DataFrame({"key": [1, 2, 1], "t": [3, 1, 2], "context": [0, 1, 0], "x": [4.0, 1.0, 2.0]})
    learner = PerContext(VarSmile(Gaussian(1.0)), 2)
    found = _learn(ShardUpdate(learner, "key", ["context", "x"], ["t"], 1, 10, False), State(), [rows])
    bank = Bank(learner, 10)
    steps = bank.update([2, 1, 1], ([1, 0, 0], [1.0, 2.0, 4.0]))
    assert steps.change_probability is not None
    np.testing.assert_allclose(
        found[["surprise", "learning_rate", "change_probability"]].T,
        [steps.surprise, steps.learning_rate, steps.change_probability],
    )


def test_a_monitor_learns_in_a_shard_what_it_learns_in_a_bank() -> None:
    rows, learner = _readings(), Monitor()
    update = ShardUpdate(learner, "sensor", "value", ["time"], shards=1, capacity=100, evict=False)
    found = _learn(update, State(), [rows])
    _same(found, Bank(learner, capacity=100).update_table(rows, "sensor", "value"))


def test_states_are_dealt_out_to_as_many_shards_as_at_first() -> None:
    state = State()
    _learn(LEARNING, state, [_readings()[:10]])
    with pytest.raises(ValueError, match=r"begun with 2 shards, not 3.*give shards=2, or begin another checkpoint"):
        _learn(LEARNING._replace(shards=3), state, [_readings()[10:20]])


def test_there_may_be_more_room_than_before() -> None:
    state, rows = State(), _readings()[:600]
    small = LEARNING._replace(capacity=rows.sensor[:20].nunique())
    _learn(small, state, [rows[:20]])
    with pytest.raises(ValueError, match="give a larger capacity, or evict=True"):
        _learn(small, state, [rows[20:]])
    assert len(_learn(LEARNING, state, [rows[20:]])) == 580


class Frame:
    """A frame of which only the columns are asked for."""

    columns = ("sensor", "time", "value", "learning_rate")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"key": "user"}, "there is no column 'user'; the columns are sensor, time, value, learning_rate"),
        ({"order": ["time", "offset"]}, "there is no column 'offset'"),
        ({"shards": 0}, "shards = 0 is not allowed; give a whole number from 1"),
        ({"capacity": 0.5}, "capacity = 0.5 is not allowed"),
        ({"learner": jax.tree.map(lambda _: 2.0, Delta())}, "Delta's .* = 2 is not allowed"),
        ({}, "the table has a column 'learning_rate' already; rename it"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(how: dict[str, Any], sentence: str) -> None:
    settings: dict[str, Any] = {"learner": LEARNER, "key": "sensor", "sample": "value", "order": "time"} | how
    with pytest.raises(ValueError, match=sentence):
        surprise_stream(Frame(), **settings)  # type: ignore[arg-type]
