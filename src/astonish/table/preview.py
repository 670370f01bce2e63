"""How was a table understood, in a few lines?"""

from typing import Any

import jax
import numpy as np

from astonish.table.meaning import few
from astonish.table.trials import Trials

_SHOWN = 5


def preview(trials: Trials) -> str:
    """What `Trials.preview` says."""
    lines = [_participants(trials), _outcome(trials), *_response(trials), *_given(trials), *_oddities(trials)]
    return "\n".join((*lines, *_left_out(trials)))


def _participants(trials: Trials) -> str:
    lengths, blocks = (trials.rows >= 0).sum(axis=1), trials.starts.sum(axis=1)
    by = "one participant" if trials.columns.subject is None else f"by {trials.columns.subject}"
    blocked = f"in {_span(blocks)} blocks by {trials.columns.block}" if trials.columns.block else "in one block"
    return f"participants: {len(trials)} ({by}), of {_span(lengths)} trials {blocked}"


def _outcome(trials: Trials) -> str:
    values = jax.tree.leaves(trials.outcomes)[-1][trials.observed]
    what = f"{' to '.join(trials.columns.outcomes)}: {trials.kind}{_guess(trials, 'kind')}"
    if trials.kind == "continuous" or not trials.labels:
        what += f", from {values.min():g} to {values.max():g}"
    else:
        what += f", one of {few(trials.labels)}"
    gone = int(((trials.rows >= 0) & ~trials.observed).sum())
    return f"outcome {what}; {gone or 'none'} missing"


def _response(trials: Trials) -> list[str]:
    if trials.responses is None:
        return []
    seen = trials.responses[np.isfinite(trials.responses)]
    what = f"response {trials.columns.response}: {trials.response_kind}{_guess(trials, 'response_kind')}"
    if trials.response_kind == "choice" and trials.labels:
        what += f", one of {few(trials.labels)}"
    elif len(seen):
        what += f", from {seen.min():g} to {seen.max():g}"
    when = "before the outcome of its trial" if trials.before else "after the outcome of its trial"
    there = trials.rows >= 0
    gone, ignored = int(there.sum()) - len(seen), len(seen) - int(trials.scored.sum())
    unexplained = f", {ignored} known but not to be explained ({', '.join(trials.columns.ignore)})" if ignored else ""
    return [f"{what}; given {when}; {gone or 'none'} missing{unexplained}"]


def _given(trials: Trials) -> list[str]:
    return [
        f"given {name}: by {trials.columns.given[name]}, from {values.min():g} to {values.max():g}"
        for name, values in trials.given.items()
    ]


def _oddities(trials: Trials) -> list[str]:
    """Participants whose data say little."""
    lines = []
    outcomes = jax.tree.leaves(trials.outcomes)[-1].astype(np.float64)
    for what, values, there in (
        ("all outcomes are equal", outcomes, trials.observed),
        ("all responses are equal", trials.responses, trials.scored),
    ):
        names = [] if values is None else _constant(trials, values, there)
        if names:
            lines.append(f"note: {what} for {_listed(names)}")
    return lines


def _constant(trials: Trials, values: Any, there: Any) -> list[str]:
    low = np.where(there, values, np.inf).min(axis=1)
    high = np.where(there, values, -np.inf).max(axis=1)
    return [name for name, same in zip(trials.subjects, low == high, strict=True) if same]


def _left_out(trials: Trials) -> list[str]:
    lines = []
    if trials.rejected:
        lines.append(f"rejected rows: {len(trials.rejected)}")
        lines += [f"  {trials.unit} {line}: {reason}" for line, reason in trials.rejected[:_SHOWN]]
        more = len(trials.rejected) - _SHOWN
        lines += [f"  and {more} more"] * (more > 0)
    if trials.excluded:
        lines.append(f"excluded participants: {len(trials.excluded)}")
        shown = list(trials.excluded.items())
        lines += [f"  {name}: {reason}" for name, reason in shown[:_SHOWN]]
        lines += [f"  and {len(shown) - _SHOWN} more"] * (len(shown) > _SHOWN)
    return lines


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _span(numbers: Any) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def _guess(trials: Trials, what: str) -> str:
    return " (guessed)" if what in trials.guessed else ""
