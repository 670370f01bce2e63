"""How do keyed streams learn in Apache Spark, each row exactly once whatever fails?

`pip install 'astonish[spark]'`, and Java 17 or later.

Spark keeps a state for each group of a stream, and handing one over to Python costs far more than a step of a learner.
So keys are dealt out to shards, each a group, and the state of a shard is a whole `Bank`, as bytes.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from astonish.bank import Bank
from astonish.bank.tables import Names, listed
from astonish.changes.signals import signal_of
from astonish.domain import Domain, check_parameters
from astonish.learner import Learner
from astonish.run import wide

if TYPE_CHECKING:
    from pandas import DataFrame as Rows
    from pyspark.sql import DataFrame, SparkSession

_SHARD = "shard"
_COUNT = Domain(1, 2**31 - 1, whole=True)


def surprise_stream(
    frame: "DataFrame",
    learner: Learner,
    *,
    key: str,
    sample: Names,
    order: str | Sequence[str],
    shards: int = 16,
    capacity: int = 100_000,
    forgets: bool = False,
) -> "DataFrame":
    """The rows of a streaming frame, each with the learner's answer: `estimate`, `surprise`, `rate`, perhaps `change`.

    key, sample: names of columns, as for `Bank.update_table`. A null sample is missing and changes nothing.
    order: the columns that put the samples of a key in order: within a micro-batch they are learned from in this
    order, and after those of earlier micro-batches. shards: how many states there are; once a query has a checkpoint,
    it stays. capacity: how many keys there is room for in each shard. forgets: whether the keys that were silent for
    longest make room for new ones; else a key too many ends the query.
    """
    learning = Learning(learner, key, sample, listed(order), shards, capacity, forgets)
    learning.check(frame.columns)
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, StructField, StructType

    schema = StructType([*frame.schema.fields, *(StructField(name, DoubleType()) for name in answers(learner))])
    dealt = frame.withColumn(_SHARD, functions.pmod(functions.hash(key), functions.lit(shards)))
    return dealt.groupBy(_SHARD).applyInPandasWithState(
        learning.function(schema.names), schema, "shards INT, bank BINARY", "append", "NoTimeout"
    )


def banks(spark: "SparkSession", checkpoint: str, learner: Learner) -> Iterator[Bank]:
    """The bank of each shard, as the query with this checkpoint last left it."""
    rows = spark.read.format("statestore").load(checkpoint).select("value.groupState.bank")
    for row in rows.toLocalIterator():
        yield Bank.load(io.BytesIO(row.bank), learner)


def answers(learner: Learner) -> list[str]:
    """The names of the columns that a learner adds.

    >>> from astonish import Dirichlet, Smile
    >>> answers(Smile(Dirichlet(3)))
    ['estimate_0', 'estimate_1', 'estimate_2', 'surprise', 'rate']
    """
    estimates = wide("estimate", Bank(learner, capacity=1).estimate([0]))
    return [*estimates, "surprise", "rate", *(["change"] if signal_of(learner, None) == "change" else [])]


class Learning(NamedTuple):
    """What happens to the rows of a shard in a micro-batch."""

    learner: Learner
    key: str
    sample: Names
    order: list[str]
    shards: int
    capacity: int
    forgets: bool

    def check(self, columns: Sequence[str]) -> None:
        """Refuse on the spot what would fail in a worker later."""
        check_parameters(self.learner)
        _COUNT.check("shards", self.shards)
        _COUNT.check("capacity", self.capacity)
        for name in (self.key, *listed(self.sample), *self.order):
            if name not in columns:
                raise ValueError(f"there is no column {name!r}; the columns are {', '.join(columns)}")
        for name in (_SHARD, *answers(self.learner)):
            if name in columns:
                raise ValueError(f"the stream has a column {name!r} already; rename it: the answer needs the name")

    def function(self, columns: Sequence[str]) -> Callable[[Any, Iterator["Rows"], Any], Iterator["Rows"]]:
        """For Spark: from the rows of a shard and its state to the rows with answers; the state moves on."""

        def learn(_: Any, chunks: Iterator["Rows"], state: Any) -> Iterator["Rows"]:
            from pandas import concat

            by = [*self.order, *listed(self.sample)]  # samples break ties
            rows = concat(list(chunks)).sort_values(by, kind="stable")
            bank = self.bank(*state.get) if state.exists else Bank(self.learner, self.capacity, self.forgets)
            answered = bank.update_table(rows, self.key, self.sample)
            state.update((self.shards, bank.packed()))
            yield answered[list(columns)]

        return learn

    def bank(self, shards: int, packed: bytes) -> Bank:
        """The bank that a shard left behind."""
        if shards != self.shards:
            raise ValueError(
                f"the checkpoint was begun with {shards} shards, not {self.shards}, and the states are dealt out so; "
                f"give shards={shards}, or begin another checkpoint"
            )
        return Bank.load(io.BytesIO(packed), self.learner, self.capacity, self.forgets)
