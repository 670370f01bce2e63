"""How badly do parameters explain each participant, for many participants and places at once, on all cores?"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.domain import Numbers
from astonish.fit.gradient import with_slopes
from astonish.fit.likelihood import Model, Task
from astonish.fit.space import Space
from astonish.precision import as_double, double
from astonish.run import OPTIONS

TOGETHER = 128  # places in one call
_NEARBY = 1e-4  # where slopes are compared to find out how they turn


class Losses:
    """The negative log-posterior of participants at given places, and its derivatives, on all cores."""

    def __init__(
        self, model: Model, task: Task, space: Space, before: bool, expected: Numbers, together: int = TOGETHER
    ) -> None:
        with double():
            self._model, self._task = jax.tree.map(jnp.asarray, as_double((model, task)))
        self._space, self._before, self._expected = space, before, expected
        self._size = together  # always, so that nothing is compiled twice
        self._pool = ThreadPoolExecutor(os.cpu_count())

    def __call__(self, places: Numbers, who: Any) -> tuple[Numbers, Numbers]:
        """The loss of participant `who` at each place, and its gradient."""
        count, size = len(places), self._size
        short = -count % size
        filled = np.concatenate([places, np.repeat(places[-1:], short, 0)]).reshape(-1, size, places.shape[1])
        whose = np.concatenate([who, np.repeat(who[-1:], short)]).reshape(-1, size)
        pieces = list(self._pool.map(self._piece, filled, whose))
        losses, slopes = (np.concatenate(parts)[:count] for parts in zip(*pieces, strict=True))
        return losses, slopes

    def curvature(self, places: Numbers, who: NDArray[np.intp]) -> Numbers:
        """The matrix of second derivatives of each participant's loss, from how its slope turns nearby."""
        people, count = places.shape
        steps = np.concatenate([_NEARBY * np.eye(count), -_NEARBY * np.eye(count)])
        around = (places[:, None] + steps).reshape(-1, count)
        slopes = self(around, np.repeat(who, 2 * count))[1].reshape(people, 2, count, count)
        matrix = (slopes[:, 0] - slopes[:, 1]) / (2 * _NEARBY)
        return 0.5 * (matrix + matrix.transpose(0, 2, 1))

    def _piece(self, places: Numbers, who: Any) -> Any:
        with double():
            return jax.device_get(
                _loss_and_gradient(self._model, self._task, self._expected, places, who, self._space, self._before)
            )


@partial(jax.jit, static_argnums=(5, 6), compiler_options=OPTIONS)
def _loss_and_gradient(
    model: Model, task: Task, expected: Any, places: Any, who: Any, space: Space, before: bool
) -> tuple[Array, Array]:
    own = jax.tree.map(lambda part: part[who], task)
    log_likelihood, slope = with_slopes(model, own, space, before, places)
    off = places - expected[0]
    return 0.5 * (off * off) @ expected[1] - log_likelihood, expected[1] * off - slope
