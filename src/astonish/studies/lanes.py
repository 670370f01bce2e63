"""How do many learners, each with its own parameters, go side by side through one compiled computation?"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.learner import Learner
from astonish.precision import as_double, double


class Lanes(NamedTuple):
    """A learner and the series it goes through: arrays with a row for each."""

    learner: Learner
    series: tuple[Any, ...]


def side_by_side(compute: Callable[..., dict[str, Any]], parts: Sequence[Lanes]) -> list[dict[str, Any]]:
    """What `compute`, which takes a learner and a row of each array (all stacked), finds in each part.

    All learners are of one kind, and all series of one length.
    """
    sizes = [len(jax.tree.leaves(part.series)[0]) for part in parts]
    learners = [as_double(part.learner) for part in parts]
    stacked = jax.tree.map(lambda *leaves: np.repeat(np.stack(leaves), sizes, axis=0), *learners)
    series = jax.tree.map(lambda *arrays: np.concatenate(arrays), *(part.series for part in parts))
    with double():
        found = jax.device_get(compute(stacked, *series))
    split = {name: np.split(column, np.cumsum(sizes)[:-1]) for name, column in found.items()}
    return [{name: column[k] for name, column in split.items()} for k in range(len(parts))]
