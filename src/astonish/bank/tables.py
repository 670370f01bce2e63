"""How does a bank learn from a table, and answer with one, whichever library it is from?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from astonish.domain import Domain
from astonish.run import wide

if TYPE_CHECKING:
    from astonish.bank.bank import Bank

KINDS = ("pandas", "pyarrow", "polars")
Names = str | Sequence["Names"]  # of columns: one, or as many as a sample has parts, each of them one or several


def update_table(bank: "Bank", table: Any, key: str, sample: Names) -> Any:
    """The table with what the bank made of each row: the columns `estimate`, `surprise`, `rate`, perhaps `change`."""
    frame = nw.from_native(table, eager_only=True, pass_through=False)
    for name in (key, *listed(sample)):
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(frame.columns)}")
    answers = (*wide("estimate", bank.estimate([])), "surprise", "rate", "change")
    taken = next((name for name in answers if name in frame.columns), None)
    if taken is not None:
        raise ValueError(f"the table has a column {taken!r} already; rename it, since the answer needs the name")
    steps = bank.update(frame[key].to_numpy(), _samples(bank.learner.samples, frame, sample))
    made = wide("estimate", steps.estimate) | {"surprise": steps.surprise, "rate": steps.rate}
    if steps.change is not None:
        made["change"] = steps.change
    backend = frame.implementation
    return frame.with_columns(*(nw.new_series(name, x, backend=backend) for name, x in made.items())).to_native()


def listed(names: Names) -> list[str]:
    """All names, one after the other.

    >>> listed([["x1", "x2"], "y"])
    ['x1', 'x2', 'y']
    """
    return [names] if isinstance(names, str) else [name for part in names for name in listed(part)]


def _samples(samples: Any, frame: Any, names: Names) -> Any:
    """The columns of these names, put together as the samples of a learner are."""
    if isinstance(samples, Domain):
        columns = [frame[name].to_numpy() for name in listed(names)]
        return columns[0] if isinstance(names, str) else np.stack(columns, axis=1)
    if isinstance(names, str) or len(names) != len(samples):
        raise ValueError(f"sample = {names!r}; these samples have {len(samples)} parts, so give columns for each")
    return tuple(_samples(part, frame, name) for part, name in zip(samples, names, strict=True))


def to_frame(bank: "Bank", kind: Any) -> Any:
    """All keys and their estimates."""
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r} is not known; give one of {', '.join(KINDS)}")
    keys = bank.keys()
    return nw.from_dict({"key": keys, **wide("estimate", bank.estimate(keys))}, backend=kind).to_native()
