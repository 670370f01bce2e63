"""How was a table of trials understood? A few lines that say everything that was assumed, recognised or left out."""

from typing import Any

import numpy as np

from astonish.core.names import MEASURED, OutcomeKind
from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.tables.cells import few, label

MOST_LABELS = 10  # from the smallest to the largest of whole numbers that may be labels
_SHOWN = 5


def preview(trials: Any) -> str:
    """The lines, of `Trials`."""
    columns, there = trials.columns, trials.rows >= 0
    people = "one participant" if columns.subject is None else f"by {columns.subject}"
    blocks = f"{_span(trials.starts.sum(axis=1))} blocks by {columns.block}" if columns.block else "one block"
    ordered = f", ordered by {columns.trial}" if columns.trial else ""
    outcomes = trials.scalar_outcomes
    outcome = _column(trials, " to ".join(columns.outcomes), "kind", outcomes[trials.observed])
    lines = [
        f"participants: {len(trials)} ({people}), of {_span(there.sum(axis=1))} trials in {blocks}{ordered}",
        f"{'reward' if trials.options else 'outcome'} {outcome}; {(there & ~trials.observed).sum() or 'none'} missing",
    ]
    if trials.responses is not None:
        lines.append(_response(trials, int(there.sum())))
    lines += _design(trials)
    for name, values in trials.given.items():
        lines.append(f"given {name}: by {columns.given[name]}, from {values.min():g} to {values.max():g}")
    lines += [*trials.notes, *_few_values(trials), *_constant(trials, "outcomes", outcomes, trials.observed)]
    if trials.responses is not None:
        lines += _constant(trials, "responses", trials.responses, trials.scored)
        lines += _listed("responses not read", [f"{trials.unit} {line}: {reason}" for line, reason in trials.unread])
    lines += _listed("rejected rows", [f"{trials.unit} {line}: {reason}" for line, reason in trials.rejected])
    lines += _listed("excluded participants", [f"{name}: {reason}" for name, reason in trials.excluded.items()])
    return "\n".join(lines)


def _column(trials: Any, name: str, field: str, values: Any) -> str:
    """The kind of a column, and what it holds. field: "kind" or "response_kind"."""
    kind, labels = getattr(trials, field), trials.labels
    text = f"{name}: {kind}{' (guessed)' * (field in trials.guessed)}"
    if labels and kind == OutcomeKind.BINARY and labels != (0, 1):
        return f"{text}, 1 stands for {labels[1]!r}, 0 for {labels[0]!r}"
    if labels and kind not in MEASURED:
        return f"{text}, one of {few(labels)}"
    return f"{text}, from {values.min():g} to {values.max():g}" if len(values) else text


def _response(trials: Any, count: int) -> str:
    seen = trials.responses[np.isfinite(trials.responses)]
    ignored = len(seen) - int(trials.scored.sum())
    unexplained = f", {ignored} known but not to be explained ({', '.join(trials.columns.ignore)})" if ignored else ""
    missing = f"{count - len(seen) or 'none'} missing{unexplained}"
    if trials.options is not None:
        others = ", ".join(trials.columns.counterfactual)
        shown = f"; outcomes of options not chosen are shown ({others})" if others else ""
        return f"choice {trials.columns.choice}: one of {few(trials.options)}; {missing}{shown}"
    column = _column(trials, str(trials.columns.response), "response_kind", seen)
    if trials.response_scale is not None:
        low, high = trials.response_scale
        column += f" ({low:g} means 0, {high:g} means 1)"
    when = "before" if trials.responds_before else "after"
    return f"response {column}; given {when} the outcome of its trial; {missing}"


def _design(trials: Any) -> list[str]:
    """Lines about second responses, conditions, groups and covariates."""
    there, lines = trials.rows >= 0, []
    if trials.second is not None:
        seen = trials.second[np.isfinite(trials.second)]
        span = f"from {seen.min():g} to {seen.max():g}" if len(seen) else "nothing"
        missing = int(there.sum()) - len(seen) or "none"
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


def _few_values(trials: Any) -> list[str]:
    """A note about numbers that may be labels, since they are only two, or few whole ones."""
    if trials.kind != OutcomeKind.CONTINUOUS or "kind" not in trials.guessed:
        return []
    seen = np.unique(trials.scalar_outcomes[trials.observed])
    whole = (seen == np.floor(seen)).all() and seen[-1] - seen[0] <= MOST_LABELS
    if trials.options or (len(seen) != 2 and not (whole and len(seen) > 2)):
        return []
    kind = "binary" if len(seen) == 2 else "categorical"
    values = few(label(value) for value in seen)
    gap = "; if -1 means missing, give missing=[-1] (--missing -1)" if seen.tolist() == [-1, 0, 1] else ""
    return [f"note: the outcomes are only {values}; if these are labels, give kind={kind!r} (--kind {kind}){gap}"]


def _constant(trials: Any, what: str, values: FloatArray, there: BoolArray) -> list[str]:
    """A note about participants whose values are all equal, and so say little."""
    low = np.where(there, values, np.inf).min(axis=1)
    high = np.where(there, values, -np.inf).max(axis=1)
    names = [name for name, same in zip(trials.subjects, low == high, strict=True) if same]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"note: all {what} are equal for {', '.join(names[:_SHOWN])}{more}"] if names else []


def _listed(heading: str, items: list[str]) -> list[str]:
    """The first few of some items below a heading that counts them; nothing if there are none."""
    more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return [f"{heading}: {len(items)}", *(f"  {item}" for item in items[:_SHOWN] + more)] if items else []


def _span(counts: Any) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
