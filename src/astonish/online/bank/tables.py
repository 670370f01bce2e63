"""How does a bank learn from a table, and answer with one, whichever library it is from?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from astonish.core.domain import Domain
from astonish.core.refusal import naming_extra
from astonish.learners.base import ANSWERS, wide
from astonish.online.bank.bank import Bank

with naming_extra("tables need"):
    import narwhals as nw

KINDS = ("pandas", "pyarrow", "polars")
ColumnNames = str | Sequence["ColumnNames"]  # one column, or as many as a sample has parts, each one or several


def update_table(bank: Bank, table: Any, key: str, sample: ColumnNames) -> Any:
    """Return the table with a column for each answer of a step."""
    frame = nw.from_native(table, eager_only=True, pass_through=False)
    check_columns(frame.columns, (key, *listed(sample)), (*wide("estimate", bank.estimate([])), *ANSWERS[1:]))
    steps = bank.update(frame[key].to_numpy(), _samples(bank.learner.samples, frame, sample))
    answers = (nw.new_series(*column, backend=frame.implementation) for column in steps.columns().items())
    return frame.with_columns(*answers).to_native()


def check_columns(columns: Sequence[str], needed: Sequence[str], added: Sequence[str]) -> None:
    """Refuse a table without columns that are needed, or with one of those that are added."""
    for name in needed:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(columns)}")
    for name in added:
        if name in columns:
            raise ValueError(f"the table has a column {name!r} already; rename it, since the answer needs the name")


def listed(names: ColumnNames) -> list[str]:
    """All names, one after the other.

    >>> listed([["x1", "x2"], "y"])
    ['x1', 'x2', 'y']
    """
    return [names] if isinstance(names, str) else [name for part in names for name in listed(part)]


def _samples(samples: Any, frame: Any, names: ColumnNames) -> Any:
    """The columns of these names, put together as the samples of a learner are."""
    if isinstance(samples, Domain):
        columns = [frame[name].to_numpy() for name in listed(names)]
        return columns[0] if isinstance(names, str) else np.stack(columns, axis=1)
    if isinstance(names, str) or len(names) != len(samples):
        raise ValueError(f"sample = {names!r}; these samples have {len(samples)} parts, so give columns for each")
    return tuple(_samples(part, frame, name) for part, name in zip(samples, names, strict=True))


@naming_extra("this table needs")
def to_frame(bank: Bank, kind: Any) -> Any:
    """All keys and their estimates."""
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r} is not known; give one of {', '.join(KINDS)}")
    keys = bank.keys()
    return nw.from_dict({"key": keys, **wide("estimate", bank.estimate(keys))}, backend=kind).to_native()
