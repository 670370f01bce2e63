"""How is a batch learned completely or not at all?

While a batch is learned, what it changes is written down as it was before. Whatever interrupts the batch, and whenever,
the bank is put back from that before it does anything else. Putting it back twice does no harm, so that may be
interrupted too. Compiled code cannot be interrupted: a batch that it has learned stays learned.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from astonish.core.domain import FloatArray
from astonish.online.bank.keys import Slots


@dataclass
class Journal:
    """A bank before a batch. keys: where its keys were kept. used: slots with a key. seen: samples there were.

    rows: states as they were, with their slots. done: numbers that are all above 0 once compiled code has learned the
    batch; None where XLA computes it. left: slots that were taken from keys, and these keys; None as long as no key was
    entered. last: when keys last had a sample, with their slots.
    """

    keys: Any
    used: int
    seen: int
    rows: list[tuple[Slots, list[FloatArray]]] = field(default_factory=list)
    done: FloatArray | None = None
    left: tuple[Slots, Any] | None = None
    last: tuple[Slots, FloatArray] = (np.zeros(0, np.int64), np.zeros(0))
