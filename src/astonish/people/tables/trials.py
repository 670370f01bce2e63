"""Trials of an experiment, once its table has been read; how they were understood, and what other choices would pay."""

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
from astonish.people.tables.cells import MOST_LABELS, few, label

NEAREST = 5  # trials in which an option was chosen, from which what it would have paid is drawn
ASSUMED = (
    "what an option would have paid when it was not chosen is not in the table; simulations draw it from the "
    f"{NEAREST} nearest trials of the block in which the participant chose it (--payoff names columns that know it)"
)
_SHOWN = 5  # of items in a list of the preview


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
        paid = np.take_along_axis(rewards, self.choices[..., None], -1)[..., 0] if shown else rewards
        return np.asarray(paid, np.float64)

    @property
    def choices(self) -> NDArray[np.int32]:
        """The option chosen on each trial; 0 where there is none."""
        return np.asarray(self.outcomes[0], np.int32)

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
        """Select these participants alone, in this order."""
        chosen = tuple(map(str, subjects))
        strange = [name for name in chosen if name not in self.subjects]
        if strange or not chosen:
            which = f"there is no participant {strange[0]!r}" if strange else "no participant was named"
            raise ValueError(f"{which}; give some of {', '.join(self.subjects)}")
        return self.at([self.subjects.index(name) for name in chosen], chosen)

    def at(self, places: Any, subjects: tuple[str, ...]) -> "Trials":
        """Select the participants at these places, by other names where one of them is there more than once."""
        steps = int((self.rows[places] >= 0).sum(axis=1).max())
        names = ["outcomes", "observed", "starts", "rows", "responses", "scored", "given", "payoffs", "second"]
        names += ["condition", "changed"]
        parts: Any = {name: jax.tree.map(lambda part: part[places, :steps], getattr(self, name)) for name in names}
        parts["group"] = None if self.group is None else self.group[places]
        parts["covariates"] = {name: values[places] for name, values in self.covariates.items()}
        return replace(self, subjects=subjects, **parts)

    def to_rows(self, values: Any, where: BoolArray) -> FloatArray:
        """Write values of trials as a column of `frame`; NaN in rows of trials that are not in `where`."""
        column = np.full(len(self.frame), np.nan)
        column[self.rows[where]] = values[where]
        return column

    def as_written(self, responses: FloatArray) -> Any:
        """Write responses as the table has them: choices by labels, numbers on the scale on which they were given."""
        if self.response_kind == ResponseKind.CHOICE:
            return _labelled(responses, self.choice_labels)
        low, high = self.response_scale or (0.0, 1.0)
        return low + (high - low) * responses

    def preview(self) -> str:
        """Say in a few lines everything that was assumed, recognised or left out."""
        columns, there = self.columns, self.rows >= 0
        people = "one participant" if columns.subject is None else f"by {columns.subject}"
        blocks = f"{_span(self.starts.sum(axis=1))} blocks by {columns.block}" if columns.block else "one block"
        ordered = f", ordered by {columns.trial}" if columns.trial else ""
        outcomes = self.scalar_outcomes
        outcome = _column(self, " to ".join(columns.outcomes), "kind", outcomes[self.observed])
        missing = (there & ~self.observed).sum() or "none"
        lines = [
            f"participants: {len(self)} ({people}), of {_span(there.sum(axis=1))} trials in {blocks}{ordered}",
            f"{'reward' if self.options else 'outcome'} {outcome}; {missing} missing",
            *_responses(self),
            *_design(self),
        ]
        for name, values in self.given.items():
            lines.append(f"given {name}: by {columns.given[name]}, from {values.min():g} to {values.max():g}")
        lines += [*self.notes, *_few_values(self), *_constant(self, "outcomes", outcomes, self.observed)]
        if self.responses is not None:
            lines += _constant(self, "responses", self.responses, self.scored)
        lists = {
            "responses not read": [f"{self.unit} {line}: {reason}" for line, reason in self.unread],
            "rejected rows": [f"{self.unit} {line}: {reason}" for line, reason in self.rejected],
            "excluded participants": [f"{name}: {reason}" for name, reason in self.excluded.items()],
        }
        for heading, items in lists.items():
            more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
            lines += [f"{heading}: {len(items)}", *(f"  {item}" for item in items[:_SHOWN] + more)] if items else []
        return "\n".join(lines)


def _labelled(indices: FloatArray, labels: tuple[Any, ...]) -> Any:
    """Write what indices stand for; None where they are NaN."""
    meanings = np.array([*labels, None], object)
    return meanings[np.where(np.isnan(indices), len(labels), indices).astype(np.intp)]


def free_name(name: str, taken: Any) -> str:
    """Find a name that no column has yet.

    >>> free_name("response", ["response", "response_2"])
    'response_3'
    """
    endings = ("", *(f"_{number}" for number in range(2, len(taken) + 3)))
    return next(name + ending for ending in endings if name + ending not in taken)


# The lines of the preview


def _column(trials: Trials, name: str, field: str, values: Any) -> str:
    """Say the kind of a column, and what it holds. field: "kind" or "response_kind"."""
    kind, labels = getattr(trials, field), trials.labels
    text = f"{name}: {kind}{' (guessed)' * (field in trials.guessed)}"
    if labels and kind == OutcomeKind.BINARY and labels != (0, 1):
        return f"{text}, 1 stands for {labels[1]!r}, 0 for {labels[0]!r}"
    if labels and kind not in MEASURED:
        return f"{text}, one of {few(labels)}"
    return f"{text}, from {values.min():g} to {values.max():g}" if len(values) else text


def _responses(trials: Trials) -> list[str]:
    """Describe responses, if there are any."""
    if trials.responses is None:
        return []
    columns, made = trials.columns, trials.responses[np.isfinite(trials.responses)]
    missing = f"{int((trials.rows >= 0).sum()) - len(made) or 'none'} missing"
    if ignored := len(made) - int(trials.scored.sum()):
        missing += f", {ignored} known but not to be explained ({', '.join(columns.ignore)})"
    if trials.options is not None:
        others = ", ".join(columns.counterfactual)
        shown = f"; outcomes of options not chosen are shown ({others})" if others else ""
        return [f"choice {columns.choice}: one of {few(trials.options)}; {missing}{shown}"]
    column = _column(trials, str(columns.response), "response_kind", made)
    if trials.response_scale is not None:
        low, high = trials.response_scale
        column += f" ({low:g} means 0, {high:g} means 1)"
    when = "before" if trials.responds_before else "after"
    return [f"response {column}; given {when} the outcome of its trial; {missing}"]


def _design(trials: Trials) -> list[str]:
    """Describe second responses, conditions, groups and covariates."""
    there, lines = trials.rows >= 0, []
    if trials.second is not None:
        made = trials.second[np.isfinite(trials.second)]
        span = f"from {made.min():g} to {made.max():g}" if len(made) else "nothing"
        missing = int(there.sum()) - len(made) or "none"
        lines.append(f"second response {trials.columns.second_response}: {span}; {missing} missing")
    if trials.condition is not None:
        counts = np.bincount(trials.condition[there], minlength=len(trials.conditions))
        listed = ", ".join(f"{label} ({count} trials)" for label, count in zip(trials.conditions, counts, strict=True))
        lines.append(f"conditions by {trials.columns.condition}: {listed}")
    if trials.group is not None:
        labels, counts = np.unique(trials.group.astype(str), return_counts=True)
        listed = ", ".join(f"{label} ({count})" for label, count in zip(labels, counts, strict=True))
        lines.append(f"groups by {trials.columns.group}: {listed}")
    for name, values in trials.covariates.items():
        lines.append(f"covariate {name}: from {values.min():g} to {values.max():g}, mean {values.mean():g}")
    return lines


def _few_values(trials: Trials) -> list[str]:
    """Note numbers that may be labels, since they are only two, or few whole ones."""
    if trials.kind != OutcomeKind.CONTINUOUS or "kind" not in trials.guessed:
        return []
    values = np.unique(trials.scalar_outcomes[trials.observed])
    whole = (values == np.floor(values)).all() and values[-1] - values[0] <= MOST_LABELS
    if trials.options or (len(values) != 2 and not (whole and len(values) > 2)):
        return []
    kind = "binary" if len(values) == 2 else "categorical"
    gap = "; if -1 means missing, give missing=[-1] (--missing -1)" if values.tolist() == [-1, 0, 1] else ""
    only = few(label(value) for value in values)
    return [f"note: the outcomes are only {only}; if these are labels, give kind={kind!r} (--kind {kind}){gap}"]


def _constant(trials: Trials, what: str, values: FloatArray, there: BoolArray) -> list[str]:
    """Note participants whose values are all equal, and so say little."""
    low = np.where(there, values, np.inf).min(axis=1)
    high = np.where(there, values, -np.inf).max(axis=1)
    names = [name for name, same in zip(trials.subjects, low == high, strict=True) if same]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"note: all {what} are equal for {', '.join(names[:_SHOWN])}{more}"] if names else []


def _span(counts: Any) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


# Trials of choices with consequences, whose outcomes are other ones if choices are


def with_payoffs(trials: Trials, seed: int = 0) -> Trials:
    """Assume what each option of each trial pays, where the table does not say so.

    What was paid stays. Where an option was not chosen, it pays what it did in one of the nearest trials of the block
    in which the participant chose it, at random; else in any trial of theirs; else in anybody's.
    """
    if trials.options is None or trials.payoffs is not None:
        return trials
    rng, rewards, choices = np.random.default_rng(seed), trials.scalar_outcomes, trials.choices
    payoffs = np.zeros((*rewards.shape, len(trials.options)))
    blocks, at = np.cumsum(trials.starts, axis=1), np.arange(rewards.shape[1])
    for option in range(len(trials.options)):
        chosen = trials.observed & (choices == option)
        anybodys = rewards[chosen]
        if not len(anybodys):
            label = trials.options[option]
            raise ValueError(f"nobody chose {label!r}, so what it would pay is not known; name columns with --payoff")
        for row, there in enumerate(chosen):
            if not there.any():
                payoffs[row, :, option] = rng.choice(anybodys, rewards.shape[1])
                continue
            # One of the nearest trials in which it was chosen, of the same block if there is any
            places = np.flatnonzero(there)
            distance = np.abs(at[:, None] - places) + len(at) * (blocks[row][:, None] != blocks[row, places])
            nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEAREST]
            same = np.take_along_axis(distance, nearest, 1) < len(at)
            count = np.where(same.any(1), same.sum(1), nearest.shape[1])
            payoffs[row, :, option] = rewards[row, places[nearest[at, rng.integers(0, count)]]]
            payoffs[row, there, option] = rewards[row, there]
    return replace(trials, payoffs=payoffs)


def chosen_anew(trials: Trials, responses: FloatArray) -> Trials:
    """Replace choices, and the outcomes that follow from them; payoffs must be known."""
    assert trials.payoffs is not None
    choices = np.where(np.isfinite(responses), responses, 0).astype(np.int32)
    _, rewards, *shown = trials.outcomes
    paid = np.nan_to_num(trials.payoffs).astype(rewards.dtype)
    paid = paid if shown else np.take_along_axis(paid, choices[..., None], -1)[..., 0]
    return replace(trials, outcomes=(choices, paid, *shown))


def paid_columns(trials: Trials) -> dict[str, Any]:
    """Write what columns of the table say about rewards, and about what was shown of options that were not chosen.

    They are as the table has them: by their labels if they have any.
    """
    columns = {trials.columns.outcomes[0]: np.where(trials.observed, trials.scalar_outcomes, np.nan)}
    names = trials.columns.counterfactual
    if len(names) == 1:
        _, every, shown = trials.outcomes
        other = 1 - trials.choices[..., None]
        seen = np.take_along_axis(shown, other, -1)[..., 0] > 0
        columns[names[0]] = np.where(seen, np.take_along_axis(every, other, -1)[..., 0], np.nan)
    if trials.kind in MEASURED:
        return columns
    return {name: _labelled(values, trials.labels or ()) for name, values in columns.items()}
