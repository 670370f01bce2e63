"""What is known of an experiment once its table has been read, and which of its columns mean what?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from astonish.deprecated import renamed_fields
from astonish.domain import Mask, Numbers
from astonish.kinds import MEASURED, OutcomeKind
from astonish.learner import Learner
from astonish.refusal import unknown
from astonish.trials.cells import few

_SHOWN = 5


@dataclass(frozen=True)
class Columns:
    """How the columns of a table are understood, all of them by name.

    outcome: what happened on the trial; of a pair (from, to) the first is a context and the second what followed.
    subject: who took part; without it, all rows are of one participant, named "1".
    block: where it changes the belief starts anew. Either an id of the block, or 1 on first trials and 0 on all others.
    response: what the participant answered.
    ignore: where any of these is not 0, False or empty, the response that follows the outcome is known, but not to be
    explained. It is in the same row if responses are given after the outcome, else in the next row of the block.
    given: columns that give a learner's parameter trial by trial, such as {"noise": "sigma"}.
    """

    outcome: str | tuple[str, str]
    subject: str | None = None
    block: str | None = None
    response: str | None = None
    ignore: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The column, or both columns, of the outcome."""
        return (self.outcome,) if isinstance(self.outcome, str) else tuple(self.outcome)

    def check(self, there: Sequence[str]) -> None:
        """Refuse if a column is not there, with the name of one that may have been meant."""
        if len(self.outcomes) > 2:
            raise ValueError(f"outcome = {self.outcome!r} is not allowed; give one column, or a pair (from, to)")
        doubled = sorted({str(name) for name in there if list(there).count(name) > 1})
        if doubled:
            raise ValueError(f"there are several columns {doubled[0]!r}; give each a name of its own")
        for name in (*self.outcomes, self.subject, self.block, self.response, *self.ignore, *self.given.values()):
            if name is not None and name not in there:
                raise unknown("column", name, there)


class Rejected(NamedTuple):
    """A row that was left out, and why.

    line: in a text file, counted from 1 with the header; in a DataFrame or Parquet file the position, counted from 0.
    """

    line: int
    reason: str


@renamed_fields(before="responds_before")
@dataclass(frozen=True)
class Trials:
    """A table of trials: a row for each participant, a column for each trial, padded to the longest.

    frame: the accepted rows, in the file's order, with all columns of the file.
    outcomes: numbers (whole ones for outcomes that count), or a pair (contexts, outcomes) for transitions; an allowed
    value stands where there is none. observed: False where an outcome is missing, or there is no trial.
    starts: where a block begins. rows: the position in `frame` of each trial, -1 where there is none.
    responses: NaN where missing; choices are indices. scored: where a response is there, and is to be explained.
    given: values of a learner's parameters, trial by trial.
    responds_before: whether a response is given before the outcome of its trial is seen, or after.
    kind: "continuous", "binary", "categorical", "transitions" or "circular". response_kind: "continuous", "choice" or
    "circular".
    labels: what the indices of outcomes, or else of choices, stand for.
    excluded: participants who cannot be used, and why. Their rows stay in `frame`.
    guessed: which of kind and response_kind were not given, and have been concluded from the data.
    unit: what `rejected` counts: "line" or "row".
    """

    frame: DataFrame
    subjects: tuple[str, ...]
    outcomes: Any
    observed: Mask
    starts: Mask
    rows: NDArray[np.intp]
    responses: Numbers | None
    scored: Mask
    given: dict[str, Numbers]
    responds_before: bool
    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    rejected: tuple[Rejected, ...]
    excluded: dict[str, str]
    columns: Columns = Columns("outcome")
    guessed: tuple[str, ...] = ()
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome; of labels and angles, 0 and 1."""
        if self.kind != OutcomeKind.CONTINUOUS:
            return 0.0, 1.0
        seen = self.outcomes[self.observed]
        return float(seen.min()), float(seen.max())

    def check_angles(self, learner: Learner) -> None:
        """Refuse a learner to which angles would be other numbers."""
        if self.kind == OutcomeKind.CIRCULAR and learner.period is None:
            problem = f"these outcomes are angles, which {type(learner).__name__} would take for other numbers"
            raise ValueError(f"{problem}; give DeltaCircular, NassarCircular, or a learner on VonMises")

    def only(self, subjects: Iterable[str]) -> "Trials":
        """The same of these participants alone, in this order."""
        chosen = tuple(map(str, subjects))
        strange = [name for name in chosen if name not in self.subjects]
        if strange or not chosen:
            which = f"there is no participant {strange[0]!r}" if strange else "no participant was named"
            raise ValueError(f"{which}; give some of {', '.join(self.subjects)}")
        return self.at([self.subjects.index(name) for name in chosen], chosen)

    def at(self, places: Any, subjects: tuple[str, ...]) -> "Trials":
        """The participants at these places, by other names where one of them is there more than once."""
        steps = int((self.rows[places] >= 0).sum(axis=1).max())
        names = ("outcomes", "observed", "starts", "rows", "responses", "scored", "given")
        parts: Any = {name: jax.tree.map(lambda part: part[places, :steps], getattr(self, name)) for name in names}
        return replace(self, subjects=subjects, **parts)

    def to_rows(self, values: Any, where: Mask) -> Numbers:
        """Values of trials as a column of `frame`; NaN in rows of trials that are not in `where`."""
        column = np.full(len(self.frame), np.nan)
        column[self.rows[where]] = values[where]
        return column

    def preview(self) -> str:
        """A few lines on how everything was understood."""
        columns, there = self.columns, self.rows >= 0
        people = "one participant" if columns.subject is None else f"by {columns.subject}"
        blocks = f"{_span(self.starts.sum(axis=1))} blocks by {columns.block}" if columns.block else "one block"
        outcomes = jax.tree.leaves(self.outcomes)[-1].astype(np.float64)
        outcome = self._column(" to ".join(columns.outcomes), "kind", outcomes[self.observed])
        lines = [
            f"participants: {len(self)} ({people}), of {_span(there.sum(axis=1))} trials in {blocks}",
            f"outcome {outcome}; {(there & ~self.observed).sum() or 'none'} missing",
        ]
        if self.responses is not None:
            lines.append(self._response(self.responses, int(there.sum())))
        for name, values in self.given.items():
            lines.append(f"given {name}: by {columns.given[name]}, from {values.min():g} to {values.max():g}")
        lines += self._constant("outcomes", outcomes, self.observed)
        if self.responses is not None:
            lines += self._constant("responses", self.responses, self.scored)
        lines += _listed("rejected rows", [f"{self.unit} {line}: {reason}" for line, reason in self.rejected])
        lines += _listed("excluded participants", [f"{name}: {reason}" for name, reason in self.excluded.items()])
        return "\n".join(lines)

    def _column(self, name: str, field: str, values: Any) -> str:
        """The kind of a column, and what it holds. field: "kind" or "response_kind"."""
        kind = getattr(self, field)
        text = f"{name}: {kind}{' (guessed)' * (field in self.guessed)}"
        if self.labels and kind not in MEASURED:
            return f"{text}, one of {few(self.labels)}"
        return f"{text}, from {values.min():g} to {values.max():g}" if len(values) else text

    def _response(self, responses: Numbers, count: int) -> str:
        seen = responses[np.isfinite(responses)]
        column = self._column(str(self.columns.response), "response_kind", seen)
        when = "before" if self.responds_before else "after"
        ignored = len(seen) - int(self.scored.sum())
        unexplained = f", {ignored} known but not to be explained ({', '.join(self.columns.ignore)})" if ignored else ""
        missing = count - len(seen) or "none"
        return f"response {column}; given {when} the outcome of its trial; {missing} missing{unexplained}"

    def _constant(self, what: str, values: Numbers, there: Mask) -> list[str]:
        """A note about participants whose values are all equal, and so say little."""
        low = np.where(there, values, np.inf).min(axis=1)
        high = np.where(there, values, -np.inf).max(axis=1)
        names = [name for name, same in zip(self.subjects, low == high, strict=True) if same]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return [f"note: all {what} are equal for {', '.join(names[:_SHOWN])}{more}"] if names else []


def _listed(heading: str, items: list[str]) -> list[str]:
    """The first few of some items below a heading that counts them; nothing if there are none."""
    more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return [f"{heading}: {len(items)}", *(f"  {item}" for item in items[:_SHOWN] + more)] if items else []


def _span(counts: Any) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
