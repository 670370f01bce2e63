"""How does a bank learn from a table, and answer with one, whichever library it is from?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from astonish.run import wide

if TYPE_CHECKING:
    from astonish.bank.bank import Bank

KINDS = ("pandas", "pyarrow", "polars")


def update_table(bank: "Bank", table: Any, key: str, sample: str | Sequence[str]) -> Any:
    """The table with what the bank made of each row: the columns `estimate`, `surprise`, `rate`, perhaps `change`."""
    frame = nw.from_native(table, eager_only=True, pass_through=False)
    parts = [sample] if isinstance(sample, str) else list(sample)
    for name in (key, *parts):
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(frame.columns)}")
    answers = (*wide("estimate", bank.estimate([])), "surprise", "rate", "change")
    taken = next((name for name in answers if name in frame.columns), None)
    if taken is not None:
        raise ValueError(f"the table has a column {taken!r} already; rename it, since the answer needs the name")
    columns = tuple(frame[name].to_numpy() for name in parts)
    steps = bank.update(frame[key].to_numpy(), columns[0] if isinstance(sample, str) else columns)
    made = wide("estimate", steps.estimate) | {"surprise": steps.surprise, "rate": steps.rate}
    if steps.change is not None:
        made["change"] = steps.change
    backend = frame.implementation
    return frame.with_columns(*(nw.new_series(name, x, backend=backend) for name, x in made.items())).to_native()


def to_frame(bank: "Bank", kind: Any) -> Any:
    """All keys and their estimates."""
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r} is not known; give one of {', '.join(KINDS)}")
    keys = bank.keys()
    return nw.from_dict({"key": keys, **wide("estimate", bank.estimate(keys))}, backend=kind).to_native()
