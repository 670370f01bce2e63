"""Which cells may mean that something is missing, although they are not empty? There the reader asks."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from astonish.core.numbers import FloatArray
from astonish.people.tables import cells
from astonish.people.tables.preview import MOST_LABELS
from astonish.people.tables.trials import Columns

_CODES = (-9, *(sign * int("9" * length) for length in (2, 3, 4, 5) for sign in (-1, 1)))  # as people write it
_PAIRS = ((0, 1), (1, 2))  # beside which 9 is such a code, if these numbers occur again and again
_WORDS = ("none", "miss", "missed", "missing", "timeout", "toolate", "noresponse", "noanswer", "invalid", "")


def check_missing(frame: pd.DataFrame, columns: Columns, labels: Any, options: Any) -> None:
    """Ask about numbers and words that may mean that a cell is missing. labels, options: those that were listed."""
    outcomes = columns.outcomes if labels is None else ()
    numbered = [name for name in columns.measured if name not in (*columns.outcomes, columns.choice)]
    happened = {number for name in columns.outcomes for number in cells.seen(frame[name])}
    for name in (*outcomes, *numbered):
        response = name == columns.response
        if marks := _numbers(frame[name], response and -1.0 not in happened):
            raise ValueError(_number_question(frame[name], marks, response))
    answered = () if columns.response is None or labels is not None else (columns.response,)
    for name in (*outcomes, *answered) if columns.choice is None else outcomes:
        if words := _words(cells.found(frame[name]) if cells.is_text(frame[name]) else set()):
            give = f"missing={words} ({' '.join(f'--missing {word!r}' for word in words)})"
            ask = f"does {name} = {' and '.join(map(repr, words))} mean that {name} is missing?"
            raise ValueError(f"{ask} Then give {give}; else missing=[] (--missing NA)")
    if columns.choice is not None and options is None:
        _check_options(frame[columns.choice], frame[columns.outcomes[0]])


def _check_options(choice: "pd.Series[Any]", reward: "pd.Series[Any]") -> None:
    """Ask about options that may mean that nothing was chosen: by what they are called, or since they never paid."""
    chosen, paid = cells.labels(choice).values, cells.present(reward)
    found = cells.in_order(cells.found(choice))
    strange = [*_numbers(choice, True), *_words(set(found))]
    strange = strange or [label for label in found if not paid[chosen == label].any()]
    options = [str(label) for label in found if label not in strange]
    if strange and len(options) > 1:
        ask = f"is {choice.name} = {' and '.join(str(cells.label(each)) for each in strange)} an option"
        other = f"give options={options} (--options {','.join(options)}) if it means that nothing was chosen"
        raise ValueError(f"{ask}? It looks as if it were none: {other}, or else list all options")


def _numbers(column: "pd.Series[Any]", negative_is_strange: bool) -> list[float]:
    """Numbers that people write where something is missing, and that stand apart from all others.

    negative_is_strange: whether -1 stands apart from few whole numbers that are not negative.
    """
    seen = cells.seen(column)
    others = seen[~np.isin(seen, _CODES)]
    found = [mark for mark in seen[np.isin(seen, _CODES)] if len(others) > 1 and _is_apart(mark, others)]
    rest = others[others != -1]
    alone = -1 in others and len(rest) > 1 and rest[0] >= 0
    if alone and (negative_is_strange or len(rest) > MOST_LABELS):
        found = [-1.0, *found]
    if any(np.array_equal(others, [*pair, 9]) for pair in _PAIRS) and column.count() > len(seen):
        found.append(9.0)
    return [float(mark) for mark in found]


def _is_apart(mark: float, others: FloatArray) -> bool:
    """Whether a number is as far from all others as these are from each other, or alone is negative."""
    return bool(np.abs(others - mark).min() >= others[-1] - others[0] or mark < 0 <= others[others != -1].min())


def _words(found: set[Any]) -> list[str]:
    """Words that say that something is missing, beside two labels or more."""
    plain = {label: re.sub(r"[\W_]", "", label.lower()) for label in found if isinstance(label, str)}
    words = sorted(label for label, word in plain.items() if word in _WORDS and (word != "miss" or "hit" not in plain))
    return words if len(found) - len(words) > 1 else []


def _number_question(column: "pd.Series[Any]", marks: Sequence[float], is_response: bool) -> str:
    name, words = column.name, [f"{mark:g}" for mark in marks]
    others = np.setdiff1d(cells.seen(column), marks)
    low, high = f"{others[0]:g}", f"{others[-1]:g}"
    ask = f"{name} = {' and '.join(words)} stands apart from all other values, which are from {low} to {high}"
    give = f"missing=[{', '.join(words)}] ({' '.join(f'--missing {word}' for word in words)})"
    possible = f", or response_range=({low}, {high}) (--range {low} {high})" if is_response else ""
    return f"{ask}: does it mean that {name} is missing? Then give {give}{possible}; else missing=[] (--missing NA)"
