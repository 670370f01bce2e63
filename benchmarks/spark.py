"""How many rows a second does Apache Spark put through learners, with a state per shard and with a state per key?

A state per key is given every advantage: its function learns nothing, and keeps no more than a count.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astonish import Gaussian, Smile
from astonish.interop.spark import surprise_stream
from environment import apart
from timing import Target, at_least, show

KEYS, BATCHES, SHARDS = 10_000, 5, 4
SIZES = (10_000, 100_000, 400_000)  # rows in a micro-batch
LEARNER = Smile(Gaussian(noise=1.0))


def report() -> list[Target]:
    """In processes of their own, on all cores, while this one stays on one; nothing where there is no Spark."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        print("\nSpark or Java is not installed, so Spark is left out.")
        return []
    return tell(apart(measure))


def tell(found: dict[str, Any]) -> list[Target]:
    """A table, and how it compares with what was hoped for."""
    rows = [
        [f"{size}", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f} x"]
        for size, ours, theirs in zip(SIZES, found["shard"], found["key"], strict=True)
    ]
    show(
        f"Spark: {KEYS} keys, the best of {BATCHES} micro-batches; {os.cpu_count()} cores; rows per second",
        ["rows in a micro-batch", f"a state for each of {SHARDS} shards", "a state per key, no learning", "ratio"],
        rows,
    )
    return [at_least("Spark: a state per shard", 50_000, found["shard"][-1], "rows/s")]


def measure() -> dict[str, Any]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", SHARDS)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return {name: [_rate(spark, make, size) for size in SIZES] for name, make in QUERIES.items()}


def _per_shard(frame: Any) -> Any:
    return surprise_stream(frame, LEARNER, key="key", sample="x", order="time", shards=SHARDS, capacity=KEYS)


def _per_key(frame: Any) -> Any:
    def count(_: Any, chunks: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        seen = state.get[0] if state.exists else 0
        for chunk in chunks:
            seen += len(chunk)
            yield chunk
        state.update((seen,))

    return frame.groupBy("key").applyInPandasWithState(count, frame.schema, "seen LONG", "append", "NoTimeout")


QUERIES: dict[str, Callable[[Any], Any]] = {"shard": _per_shard, "key": _per_key}


def _rate(spark: Any, make: Callable[[Any], Any], size: int) -> float:
    """Rows per second, in the best micro-batch: in the first ones workers start and programs are compiled."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.mkdir()
        for i in range(BATCHES):
            columns = {"key": rng.integers(KEYS, size=size), "time": np.arange(size), "x": rng.standard_normal(size)}
            pd.DataFrame(columns).to_parquet(source / f"{i}.parquet")
        frame = spark.readStream.schema("key LONG, time LONG, x DOUBLE").option("maxFilesPerTrigger", 1)
        answers = make(frame.parquet(str(source))).writeStream.format("noop").trigger(availableNow=True)
        query = answers.option("checkpointLocation", f"{folder}/checkpoint").start()
        query.awaitTermination()
        told = [update for update in query.recentProgress if update["numInputRows"]]
    return max(1000 * update["numInputRows"] / update["durationMs"]["triggerExecution"] for update in told)


if __name__ == "__main__":
    tell(measure())
