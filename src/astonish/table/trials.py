"""What is known of an experiment once its table has been read?"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from astonish.domain import Numbers
from astonish.samples import Mask
from astonish.table.columns import Columns

if TYPE_CHECKING:
    from pandas import DataFrame


class Rejected(NamedTuple):
    """A row that was left out, and why.

    line: in a text file, counted from 1 with the header; in a DataFrame or Parquet file the position, counted from 0.
    """

    line: int
    reason: str


@dataclass(frozen=True)
class Trials:
    """A table of trials: a row for each participant, a column for each trial, padded to the longest.

    frame: the accepted rows, in the file's order, with all columns of the file.
    outcomes: numbers (whole ones for outcomes that count), or a pair (contexts, outcomes) for transitions; an allowed
    value stands where there is none. observed: False where an outcome is missing, or there is no trial.
    starts: where a block begins. rows: the position in `frame` of each trial, -1 where there is none.
    responses: NaN where missing; choices are indices. scored: where a response is there, and is to be explained.
    given: values of a learner's parameters, trial by trial.
    before: whether a response is given before the outcome of its trial is seen, or after.
    kind: "continuous", "binary", "categorical" or "transitions". response_kind: "continuous" or "choice".
    labels: what the indices of outcomes, or else of choices, stand for.
    excluded: participants who cannot be used, and why. Their rows stay in `frame`.
    guessed: which of kind and response_kind were not said, and have been concluded from the data.
    unit: what `rejected` counts: "line" or "row".
    """

    frame: "DataFrame"
    subjects: tuple[str, ...]
    outcomes: Any
    observed: Mask
    starts: Mask
    rows: NDArray[np.intp]
    responses: Numbers | None
    scored: Mask
    given: dict[str, Numbers]
    before: bool
    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    rejected: tuple[Rejected, ...]
    excluded: dict[str, str]
    columns: Columns = Columns("outcome")  # noqa: RUF009 (it is frozen)
    guessed: tuple[str, ...] = ()
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.subjects)

    def only(self, subjects: Iterable[str]) -> "Trials":
        """The same of these participants alone, in this order."""
        chosen = tuple(map(str, subjects))
        unknown = [name for name in chosen if name not in self.subjects]
        if unknown or not chosen:
            which = f"there is no participant {unknown[0]!r}" if unknown else "no participant was named"
            raise ValueError(f"{which}; give some of {', '.join(self.subjects)}")
        return self.at([self.subjects.index(name) for name in chosen], chosen)

    def at(self, places: Any, subjects: tuple[str, ...]) -> "Trials":
        """The participants at these places, by other names where one of them is there more than once."""
        steps = int((self.rows[places] >= 0).sum(axis=1).max())
        arrays = (self.outcomes, self.observed, self.starts, self.rows, self.responses, self.scored, self.given)
        outcomes, observed, starts, rows, responses, scored, given = jax.tree.map(
            lambda part: part[places, :steps], arrays
        )
        return replace(
            self,
            subjects=subjects,
            outcomes=outcomes,
            observed=observed,
            starts=starts,
            rows=rows,
            responses=responses,
            scored=scored,
            given=given,
        )

    def preview(self) -> str:
        """A few lines on how everything was understood."""
        from astonish.table.preview import preview

        return preview(self)
