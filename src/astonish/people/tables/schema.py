"""What do the columns of a table of trials mean: which kinds of outcomes and responses are there, and which labels?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.core.names import MEASURED, OutcomeKind, ResponseKind
from astonish.core.numbers import FloatArray
from astonish.people.tables import cells, questions
from astonish.people.tables.cells import few
from astonish.people.tables.choices import option_labels
from astonish.people.tables.trials import Columns

_BINARY = (0, 1)
_STRANGE = 0.1  # so many choices that are not one of two outcomes are no mistakes
_TRUE = {"false": 0, "true": 1}
_TWO = (_BINARY, (-1, 1), (1, 2))  # pairs of numbers that stand for two outcomes
_YES = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("loss", "win"), ("lose", "win"), ("lost", "won"),
    ("incorrect", "correct"), ("wrong", "right"), ("miss", "hit"), ("off", "on"), ("absent", "present"),
    ("failure", "success"), ("fail", "pass"), ("bad", "good"), ("low", "high"), ("down", "up"), ("tails", "heads"),
    ("negative", "positive"), ("unrewarded", "rewarded"), ("nogo", "go"), ("no-go", "go"),
)  # fmt: skip


class Schema(NamedTuple):
    """How outcomes and responses are to be read.

    labels: of outcomes, or else of choices; None if both are numbers. contexts: the labels of the first column of a
    pair. options: what can be chosen, if outcomes are consequences of choices. guessed: what was not given, and has
    been concluded from the data.
    """

    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    contexts: tuple[Any, ...] | None
    options: tuple[Any, ...] | None
    guessed: tuple[str, ...]


def infer_schema(
    frame: pd.DataFrame,
    columns: Columns,
    kind: str | None,
    response_kind: str | None,
    labels: Sequence[Any] | None,
    options: Sequence[Any] | None = None,
) -> Schema:
    """The schema as far as it was given, completed by what the columns hold; a question where that may be wrong.

    options: what can be chosen, if columns name a choice. Rewards of -1 and 1, or of 1 and 2, are numbers; other such
    outcomes stand for two labels.
    """
    outcomes = [frame[name] for name in columns.outcomes]
    response = None if columns.response is None else frame[columns.response]
    _check(len(outcomes), kind, response, response_kind)
    guessed = tuple(name for name, asked in (("kind", kind), ("response_kind", response_kind)) if asked is None)
    listed = None if labels is None else tuple(_listed(label, outcomes[-1]) for label in labels)
    rewarded = option_labels(frame, columns, options)
    if rewarded is not None:
        response, response_kind = None, "choice"
    for name in columns.outcomes if listed is None else ():
        questions.check_alike(frame[name], "labels (--label)")
    if rewarded is not None and options is None:
        questions.check_alike(frame[columns.choice], "options (--options)")
    if response is not None and listed is None:
        questions.check_alike(response, "labels (--label)")
    kind = kind or _kind(outcomes, response, listed, two_are_binary=rewarded is None)
    if response is not None:
        response_kind = response_kind or _response_kind(response, kind, outcomes[-1])
    known = listed or _labels(kind, outcomes, response if response_kind == "choice" else None)
    if kind == "binary" and len(known) != 2:
        raise ValueError(f"{outcomes[0].name} holds {few(known)}, which are not two outcomes; give kind='categorical'")
    contexts = None
    if kind == "transitions":  # indices of labels if these share any with the outcomes; else of labels of their own
        found = cells.found(outcomes[0])
        contexts = known if found & set(known) else cells.in_order(found)
    return Schema(kind, response_kind, known, contexts, rewarded, guessed)


def _listed(label: Any, outcome: "pd.Series[Any]") -> Any:
    """A label that was listed; of outcomes that were read as true and false, TRUE is 1."""
    word = str(label).strip().lower()
    return _TRUE[word] if word in _TRUE and not cells.is_text(outcome) else cells.label(label)


def _check(outcomes: int, kind: str | None, response: Any, response_kind: str | None) -> None:
    if kind not in (None, *OutcomeKind):
        raise ValueError(f"kind = {kind!r} is not allowed; give one of {', '.join(OutcomeKind)}")
    if kind is not None and (kind == "transitions") != (outcomes == 2):
        raise ValueError(f"kind = {kind!r} does not fit; give a pair of outcome columns for transitions, else one")
    if response_kind not in (None, *ResponseKind):
        raise ValueError(f"response_kind = {response_kind!r} is not allowed; give one of {', '.join(ResponseKind)}")
    if response_kind == "circular" and kind != "circular":
        raise ValueError("response_kind = 'circular' is for responses to angles; give kind='circular', too")
    if response_kind is not None and response is None:
        raise ValueError(f"response_kind = {response_kind!r}, but no response was named; name its column")


def _kind(outcomes: Sequence["pd.Series[Any]"], response: Any, labels: Any, two_are_binary: bool) -> str:
    if len(outcomes) == 2:
        return "transitions"
    if labels is not None:
        return "binary" if len(labels) == 2 else "categorical"
    if cells.is_text(outcomes[0]):
        happened = cells.found(outcomes[0])
        chosen = response is not None and cells.is_text(response)
        other = chosen and _mostly_other(response, happened, _STRANGE)
        return "binary" if len(happened) == 2 and not other else "categorical"
    seen = cells.seen(outcomes[0])
    two = two_are_binary and any(np.array_equal(seen, pair) for pair in _TWO)
    return "binary" if two or (len(seen) and np.isin(seen, _BINARY).all()) else "continuous"


def _response_kind(response: "pd.Series[Any]", kind: str, outcome: "pd.Series[Any]") -> str:
    if cells.is_text(response):
        if kind in MEASURED:
            labels = cells.in_order(cells.found(response))
            raise ValueError(questions.choice_beside_numbers(outcome.name, response.name, labels))
        return "choice"
    if kind == "circular":
        return "circular"
    if kind not in MEASURED and not cells.is_text(outcome) and _among(cells.seen(response), cells.seen(outcome)):
        questions.check_prediction(outcome.name, response.name)
        return "choice"
    questions.check_numbers(outcome.name, response, kind)
    return "continuous"


def _among(responses: FloatArray, outcomes: FloatArray) -> bool:
    """Whether all responses are outcomes, of which 0 and 1 may both occur if either does."""
    possible = _BINARY if np.isin(outcomes, _BINARY).all() else outcomes
    return len(responses) > 0 and bool(np.isin(responses, possible).all())


def _labels(kind: str, outcomes: Sequence["pd.Series[Any]"], choices: "pd.Series[Any] | None") -> Any:
    """Labels of outcomes, and of choices among them; for outcomes that are numbers, those of choices alone."""
    chosen = set() if choices is None else cells.found(choices)
    if kind in MEASURED:
        return cells.in_order(chosen) or None
    happened = cells.found(outcomes[-1])
    if kind == "binary" and (happened <= set(_BINARY) or happened > set(_BINARY)):
        happened = set(_BINARY)
    if choices is not None and _mostly_other(choices, happened, _STRANGE if kind == "binary" else 1.0):
        raise ValueError(questions.choices_elsewhere(outcomes[-1].name, choices.name, chosen - happened, happened))
    if kind == "binary":
        return _no_and_yes(happened)
    if kind == "transitions" and happened & cells.found(outcomes[0]):
        happened |= cells.found(outcomes[0])
    return cells.in_order(happened | chosen)


def _mostly_other(choices: "pd.Series[Any]", happened: set[Any], share: float) -> bool:
    """Whether as large a share of the choices are none of the outcomes."""
    made = [label for label in cells.labels(choices).values if label is not None]
    return len(made) > 0 and sum(label not in happened for label in made) >= share * len(made)


def _no_and_yes(two: set[Any]) -> tuple[Any, ...]:
    """Two labels in order, but such as yes after such as no."""
    ordered = cells.in_order(two)
    backwards = tuple(str(label).lower() for label in reversed(ordered))
    return ordered[::-1] if backwards in _YES else ordered
