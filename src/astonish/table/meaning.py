"""What are the outcomes and responses of a table: numbers, yes or no, or one of several things?"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.table import cells
from astonish.table.cells import Cells

KINDS = ("continuous", "binary", "categorical", "transitions")
RESPONSE_KINDS = ("continuous", "choice")
_BINARY = (0, 1)


class Meaning(NamedTuple):
    """How outcomes and responses are to be read.

    labels: of outcomes, or else of choices; None if both are numbers. contexts: the labels of the first column of a
    pair. guessed: what was not said, and has been concluded from the data.
    """

    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    contexts: tuple[Any, ...] | None
    guessed: tuple[str, ...]


def understand(
    outcomes: Sequence["pd.Series[Any]"],
    response: "pd.Series[Any] | None",
    kind: str | None,
    response_kind: str | None,
    labels: Sequence[Any] | None,
) -> Meaning:
    """What is said, completed by what can be seen."""
    _check(len(outcomes), kind, response, response_kind)
    guessed = [name for name, said in (("kind", kind), ("response_kind", response_kind)) if said is None]
    told = None if labels is None else tuple(map(cells.label, labels))
    kind = kind or _kind(outcomes, told)
    if response is not None:
        response_kind = response_kind or _response_kind(response, kind, outcomes[-1])
    choices = response if response_kind == "choice" else None
    known = told or _labels(kind, outcomes, choices)
    if kind == "binary":
        _check_two(known, outcomes[0].name)
    contexts = _contexts(outcomes[0], known) if kind == "transitions" else None
    return Meaning(kind, response_kind, known, contexts, tuple(guessed))


def read(column: "pd.Series[Any]", labels: tuple[Any, ...] | None) -> Cells:
    """A column as numbers, or where there are labels as their indices."""
    if labels is None:
        return cells.numbers(column)
    found = cells.labels(column)
    place = {label: index for index, label in enumerate(labels)}
    strangers = {
        at: f"{column.name} = {label!r} is none of {few(labels)}"
        for at, label in enumerate(found.values.tolist())
        if label is not None and label not in place
    }
    indices = np.array([place.get(label, np.nan) for label in found.values.tolist()], np.float64)
    return Cells(indices, found.problems | strangers)


def few(labels: Iterable[Any]) -> str:
    """Labels in a sentence, not more than ten."""
    words = [repr(label) for label in labels]
    return ", ".join(words[:10]) + (f", ... ({len(words)} in all)" if len(words) > 10 else "")


def _check(outcomes: int, kind: str | None, response: Any, response_kind: str | None) -> None:
    if kind not in (None, *KINDS):
        raise ValueError(f"kind = {kind!r} is not allowed; give one of {', '.join(KINDS)}")
    if kind is not None and (kind == "transitions") != (outcomes == 2):
        raise ValueError(f"kind = {kind!r} does not fit; give a pair of outcome columns for transitions, else one")
    if response_kind not in (None, *RESPONSE_KINDS):
        raise ValueError(f"response_kind = {response_kind!r} is not allowed; give one of {', '.join(RESPONSE_KINDS)}")
    if response_kind is not None and response is None:
        raise ValueError(f"response_kind = {response_kind!r}, but no response was named; name its column")


def _kind(outcomes: Sequence["pd.Series[Any]"], labels: Any) -> str:
    if len(outcomes) == 2:
        return "transitions"
    if labels is not None or cells.is_text(outcomes[0]):
        return "categorical"
    return "binary" if _only(outcomes[0], _BINARY) else "continuous"


def _response_kind(response: "pd.Series[Any]", kind: str, outcome: "pd.Series[Any]") -> str:
    if cells.is_text(response):
        return "choice"
    numbered = kind in ("categorical", "transitions") and not cells.is_text(outcome)
    return "choice" if _only(response, tuple(_found(outcome)) if numbered else _BINARY) else "continuous"


def _only(column: "pd.Series[Any]", allowed: tuple[Any, ...]) -> bool:
    values = cells.numbers(column).values
    seen = values[np.isfinite(values)]
    return len(seen) > 0 and bool(np.isin(seen, allowed).all())


def _found(column: "pd.Series[Any]") -> set[Any]:
    return {label for label in cells.labels(column).values.tolist() if label is not None}


def _labels(kind: str, outcomes: Sequence["pd.Series[Any]"], choices: "pd.Series[Any] | None") -> Any:
    """Labels of outcomes, and of choices among them; for outcomes that are numbers, those of choices alone."""
    chosen = set() if choices is None else _found(choices)
    if kind == "continuous":
        return cells.in_order(chosen) or None
    happened = _found(outcomes[-1])
    if kind == "binary" and not cells.is_text(outcomes[-1]):
        happened = set(_BINARY)
    if chosen and not chosen & happened:
        raise ValueError(
            f"the choices {few(cells.in_order(chosen))} are none of the outcomes {few(cells.in_order(happened))}; "
            "write each choice as the outcome that it predicts"
        )
    if kind == "binary":
        return cells.in_order(happened)
    if kind == "transitions" and happened & _found(outcomes[0]):
        happened |= _found(outcomes[0])
    return cells.in_order(happened | chosen)


def _check_two(labels: tuple[Any, ...], name: Any) -> None:
    if len(labels) != 2:
        raise ValueError(f"{name} holds {few(labels)}, which are not two outcomes; give kind='categorical'")


def _contexts(column: "pd.Series[Any]", labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """Contexts are places among the labels if they share any with the outcomes; else they have labels of their own."""
    found = _found(column)
    return labels if found & set(labels) else cells.in_order(found)
