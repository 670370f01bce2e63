"""A job for Apache Spark: how surprising is each row of a growing folder of Parquet files, to a learner for each key?

    pip install '.[spark]'                # and Java 17 or later
    python examples/spark_stream.py readings surprises checkpoint

Files that appear in `readings` (columns `sensor`, `time`, `value`) are read once each, and their rows appear in
`surprises` with what the learner of their sensor made of them. Kill it at any time and start it again: with the same
checkpoint it goes on where it was, and each row is learned from, and written, exactly once.
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession

from astonish import Gaussian, Smile
from astonish.interop.spark import banks, surprise_stream

LEARNER = Smile(Gaussian(noise=1.0), m=0.1)
SCHEMA = "sensor STRING, time LONG, value DOUBLE"


def main() -> None:
    """Run until stopped, or until all files that are there have been read."""
    options = _options()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on this machine use this interpreter
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", options.shards)  # a task for each; else 200
    spark = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    readings = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", options.files).parquet(options.source)
    surprises = surprise_stream(
        readings, LEARNER, key="sensor", sample="value", order="time", shards=options.shards, capacity=options.capacity
    )
    query = (
        surprises.writeStream.format("parquet")
        .option("path", options.sink)
        .option("checkpointLocation", options.checkpoint)
        .trigger(**({"availableNow": True} if options.once else {"processingTime": "0 seconds"}))
        .start()
    )
    query.awaitTermination()
    if options.states:
        from pandas import concat

        concat(bank.to_frame() for bank in banks(spark, options.checkpoint, LEARNER)).to_parquet(options.states)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="a folder of Parquet files with the columns sensor, time and value")
    parser.add_argument(
        "sink", help="a folder for Parquet files with the columns estimate, surprise and learning_rate too"
    )
    parser.add_argument("checkpoint", help="a folder for what Spark has to remember")
    parser.add_argument("--shards", type=int, default=16, help="states that all sensors share (16); a few per core")
    parser.add_argument("--capacity", type=int, default=100_000, help="room for so many sensors per shard (100000)")
    parser.add_argument("--files", type=int, default=100, help="files in a micro-batch, at most (100)")
    parser.add_argument("--once", action="store_true", help="stop once all files that are there have been read")
    parser.add_argument("--states", help="a Parquet file for the last estimate of each sensor, written at the end")
    return parser.parse_args()


if __name__ == "__main__":
    main()
