"""What is known of an experiment once its table has been read, and which of its columns mean what?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from astonish.core.names import MEASURED, OutcomeKind, ResponseKind
from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.refusal import unknown
from astonish.learners.base import Learner
from astonish.people.tables.preview import preview


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
    trial: by which the trials of a block are ordered; without it, they are in the order of the rows.
    choice: which option the participant chose, if the outcome is what that option paid; it then is the response, and
    `ignore` marks choices in the same row. counterfactual: what was shown of options that were not chosen: a column for
    the other one of two, or one for each option in their order. payoffs: what each option would have paid, shown or
    not, for simulations.
    second_response: another number that the participant gives together with the response, such as a reaction time or a
    confidence.
    condition: what a trial is like, so that parameters may differ between conditions. group, covariates: what is known
    of a participant, the same in all rows: a label, and numbers such as age. change: is 1, or not empty, where the
    world has changed just before the outcome of the trial, for figures.
    """

    outcome: str | tuple[str, str]
    subject: str | None = None
    block: str | None = None
    response: str | None = None
    ignore: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    trial: str | None = None
    choice: str | None = None
    counterfactual: tuple[str, ...] = ()
    payoffs: tuple[str, ...] = ()
    second_response: str | None = None
    condition: str | None = None
    group: str | None = None
    covariates: tuple[str, ...] = ()
    change: str | None = None

    def __post_init__(self) -> None:
        if self.choice is None and (self.counterfactual or self.payoffs):
            raise ValueError("counterfactual and payoffs are about options; name the column of the choice")
        if self.choice is not None and (self.response not in (None, self.choice) or len(self.outcomes) > 1):
            raise ValueError("a choice is the response, and its outcome is one column; leave out the others")
        if self.choice is not None:
            object.__setattr__(self, "response", self.choice)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The column, or both columns, of the outcome."""
        return (self.outcome,) if isinstance(self.outcome, str) else tuple(self.outcome)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns that may hold numbers."""
        paid = (*self.counterfactual, *self.payoffs)
        every = (*self.outcomes, self.response, *self.given.values(), *paid, self.second_response, *self.covariates)
        return tuple(name for name in every if name is not None)

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that have a meaning, each once."""
        others = (self.subject, self.block, self.trial, *self.ignore, self.condition, self.group, self.change)
        return tuple(dict.fromkeys(name for name in (*self.measured, *others) if name is not None))

    def check(self, there: Sequence[str], doubled: Sequence[str] = ()) -> None:
        """Refuse if a column is not there, with the name of one that may have been meant, or is there twice."""
        if len(self.outcomes) > 2:
            raise ValueError(f"outcome = {self.outcome!r} is not allowed; give one column, or a pair (from, to)")
        if self.response in self.outcomes or (self.response and self.response == self.second_response):
            raise ValueError(f"{self.response} cannot be two things, such as outcome and response; name two columns")
        for name in self.named:
            if name not in there:
                raise unknown("column", name, there)
            if name in doubled:
                raise ValueError(f"there are several columns {name!r}; give each a name of its own")


class Rejected(NamedTuple):
    """A row, or a response, that was left out, and why.

    line: in a text file or spreadsheet, counted from 1 with the header; in a DataFrame or Parquet file the position,
    counted from 0.
    """

    line: int
    reason: str


@dataclass(frozen=True)
class Trials:
    """A table of trials: a row for each participant, a column for each trial, padded to the longest.

    frame: the accepted rows, in the file's order, with all columns of the file.
    outcomes: numbers (whole ones for outcomes that count); a pair (contexts, outcomes) for transitions; of choices with
    consequences (choices, rewards), or with counterfactual outcomes (choices, those of all options, 1 where shown). An
    allowed value stands where there is none. observed: False where an outcome is missing, or there is no trial.
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
    unread: responses that could not be read, and why; they are missing, while the outcomes of their trials are there.
    response_scale: the responses, as written, that mean 0 and 1; if None, they are as written.
    another_scale: why the responses cannot report an estimate of the outcomes; empty if they can.
    notes: what else was noticed, a line each.
    options: what can be chosen, if outcomes are consequences of choices. payoffs: what each option would pay, trial by
    trial, if that is known. second: second responses, NaN where missing.
    conditions: what the indices in `condition`, of each trial, stand for. group: of each participant; covariates: by
    name, a number for each. changed: where the world has changed just before the outcome, if that is known.
    """

    frame: DataFrame
    subjects: tuple[str, ...]
    outcomes: Any
    observed: BoolArray
    starts: BoolArray
    rows: NDArray[np.intp]
    responses: FloatArray | None
    scored: BoolArray
    given: dict[str, FloatArray]
    responds_before: bool
    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    rejected: tuple[Rejected, ...]
    excluded: dict[str, str]
    columns: Columns = Columns("outcome")
    guessed: tuple[str, ...] = ()
    unit: str = "line"
    unread: tuple[Rejected, ...] = ()
    response_scale: tuple[float, float] | None = None
    another_scale: str = ""
    notes: tuple[str, ...] = ()
    options: tuple[Any, ...] | None = None
    payoffs: FloatArray | None = None
    second: FloatArray | None = None
    conditions: tuple[Any, ...] = ()
    condition: NDArray[np.int32] | None = None
    group: NDArray[Any] | None = None
    covariates: Mapping[str, FloatArray] = field(default_factory=dict)
    changed: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome; of labels and angles, 0 and 1."""
        if self.kind != OutcomeKind.CONTINUOUS:
            return 0.0, 1.0
        seen = self.scalar_outcomes[self.observed]
        return float(seen.min()), float(seen.max())

    @property
    def scalar_outcomes(self) -> FloatArray:
        """What happened on each trial, as one number: the outcome, where a transition led, or the reward."""
        if self.options is None:
            return np.asarray(jax.tree.leaves(self.outcomes)[-1], np.float64)
        _, rewards, *shown = self.outcomes
        own = np.take_along_axis(rewards, self.choices[..., None], -1)[..., 0] if shown else rewards
        return np.asarray(own, np.float64)

    @property
    def choices(self) -> NDArray[np.int32]:
        """The option chosen on each trial; 0 where there is none."""
        found: NDArray[np.int32] = self.outcomes[0]
        return found

    @property
    def choice_labels(self) -> tuple[Any, ...]:
        """What the indices of choices stand for."""
        return self.options or self.labels or ()

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
        names = ["outcomes", "observed", "starts", "rows", "responses", "scored", "given", "payoffs", "second"]
        names += ["condition", "changed"]
        parts: Any = {name: jax.tree.map(lambda part: part[places, :steps], getattr(self, name)) for name in names}
        parts["group"] = None if self.group is None else self.group[places]
        parts["covariates"] = {name: values[places] for name, values in self.covariates.items()}
        return replace(self, subjects=subjects, **parts)

    def to_rows(self, values: Any, where: BoolArray) -> FloatArray:
        """Values of trials as a column of `frame`; NaN in rows of trials that are not in `where`."""
        column = np.full(len(self.frame), np.nan)
        column[self.rows[where]] = values[where]
        return column

    def with_columns(self, columns: Mapping[str, Any]) -> DataFrame:
        """The table with new columns, which have a number behind their name where it is that of an old one."""
        return self.frame.assign(**{free_name(name, self.frame): values for name, values in columns.items()})

    def as_written(self, responses: FloatArray) -> Any:
        """Responses as the table has them: choices by their labels, numbers on the scale on which they were given."""
        if self.response_kind == ResponseKind.CHOICE:
            return _labelled(responses, self.choice_labels)
        low, high = self.response_scale or (0.0, 1.0)
        return low + (high - low) * responses

    def outcomes_as_written(self, outcomes: FloatArray) -> Any:
        """Outcomes as the table has them, by their labels if they have any."""
        return outcomes if self.kind in MEASURED else _labelled(outcomes, self.labels or ())

    def preview(self) -> str:
        """A few lines on how everything was understood."""
        return preview(self)


def _labelled(indices: FloatArray, labels: tuple[Any, ...]) -> Any:
    """What indices stand for; None where they are NaN."""
    known = np.array([*labels, None], object)
    return known[np.where(np.isnan(indices), len(labels), indices).astype(np.intp)]


def free_name(name: str, taken: Any) -> str:
    """A name that no column has yet.

    >>> free_name("response", ["response", "response_2"])
    'response_3'
    """
    endings = ("", *(f"_{number}" for number in range(2, len(taken) + 3)))
    return next(name + ending for ending in endings if name + ending not in taken)
