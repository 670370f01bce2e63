"""Keyed streams in Apache Spark, where each row is learned from exactly once, whatever fails.

`pip install 'astonish[spark]'`, and Java 17 or later.

Spark keeps a state for each group of a stream, and handing one over to Python costs far more than a step of a learner.
So keys are dealt out to shards, each a group, and the state of a shard is a whole `Bank`, as bytes.
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from astonish.core.numbers import Domain
from astonish.core.refusal import naming_extra
from astonish.learners.base import Learner, check, given_by
from astonish.online.bank import Bank, ColumnNames, check_columns, listed

with naming_extra("this module needs"):
    from pandas import DataFrame as Rows, concat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHARD = "shard"
_COUNT = Domain(1, 2**31 - 1, whole=True)


@naming_extra("a stream needs")
def surprise_stream(
    frame: "DataFrame",
    learner: Learner,
    *,
    key: str,
    sample: ColumnNames,
    order: str | Sequence[str],
    shards: int = 16,
    capacity: int = 100_000,
    evict: bool = False,
) -> "DataFrame":
    """The rows of a streaming frame, with the columns `estimate`, `surprise`, `learning_rate`, `change_probability`.

    The last is there if the learner estimates it.

    key, sample: names of columns, as for `Bank.update_table`. A null sample is missing and changes nothing.
    order: the columns that put the samples of a key in order: within a micro-batch they are learned from in this
    order, and after those of earlier micro-batches. shards: how many states there are; once a query has a checkpoint,
    it stays. capacity: how many keys there is room for in each shard. evict: whether the least recently used keys
    make room for new ones; else a key too many ends the query.
    """
    check(learner)
    _COUNT.check("shards", shards)
    _COUNT.check("capacity", capacity)
    check_columns(frame.columns, (key, *listed(sample), *listed(order)), (_SHARD, *answers(learner)))
    learning = ShardUpdate(learner, key, sample, listed(order), shards, capacity, evict)
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, StructField, StructType

    schema = StructType([*frame.schema.fields, *(StructField(name, DoubleType()) for name in answers(learner))])
    dealt = frame.withColumn(_SHARD, functions.pmod(functions.hash(key), functions.lit(shards)))
    state = "shards INT, bank BINARY"
    return dealt.groupBy(_SHARD).applyInPandasWithState(learning.learn, schema, state, "append", "NoTimeout")


def banks(spark: "SparkSession", checkpoint: str, learner: Learner) -> Iterator[Bank]:
    """The bank of each shard, as the query with this checkpoint last left it."""
    rows = spark.read.format("statestore").load(checkpoint).select("value.groupState.bank")
    for row in rows.toLocalIterator():
        yield Bank.load(io.BytesIO(row.bank), learner)


def answers(learner: Learner) -> list[str]:
    """The names of the columns that a learner adds.

    >>> from astonish import Dirichlet, Smile
    >>> answers(Smile(Dirichlet(3)))
    ['estimate_0', 'estimate_1', 'estimate_2', 'surprise', 'learning_rate']
    """
    steps = jax.tree.map(lambda answer: np.zeros((1, *answer.shape)), given_by(learner))
    return list(steps.columns())


class ShardUpdate(NamedTuple):
    """What happens to the rows of a shard in a micro-batch."""

    learner: Learner
    key: str
    sample: ColumnNames
    order: list[str]
    shards: int
    capacity: int
    evict: bool

    def learn(self, _: Any, chunks: Iterator[Rows], state: Any) -> Iterator[Rows]:
        """For Spark: from the rows of a shard and its state to the rows with answers; the state moves on."""
        by = [*self.order, *listed(self.sample)]  # samples break ties
        rows = concat(list(chunks)).sort_values(by, kind="stable")
        shards, packed = state.get if state.exists else (self.shards, b"")
        if shards != self.shards:
            begun = f"the checkpoint was begun with {shards} shards, not {self.shards}, and the states are dealt out so"
            raise ValueError(f"{begun}; give shards={shards}, or begin another checkpoint")
        how = self.learner, self.capacity, self.evict
        bank = Bank.load(io.BytesIO(packed), *how) if packed else Bank(*how)
        answered = bank.update_table(rows, self.key, self.sample)
        state.update((self.shards, bank.to_bytes()))
        yield answered.drop(columns=_SHARD, errors="ignore")
