"""Where could a guess about a table be wrong? There the reader asks, and names the option that answers."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from astonish.core.names import OutcomeKind
from astonish.core.numbers import FloatArray
from astonish.people.tables import cells
from astonish.people.tables.cells import few
from astonish.people.tables.preview import MOST_LABELS

CHOSEN = re.compile(r"choice|choose|chosen|action|option|decision|arm$")  # how words of names begin
_TAKEN = re.compile(r"response|key")
PAID = re.compile(r"reward|feedback|payoff|payout|points?$|wins?$|won$")
_HAPPENED = re.compile(r"outcome")
WHO = re.compile(r"(subj(ect)?|sub|participant|person|ppt?|ppn)[_. ]?(id|no|nr|num|number|code)?|id", re.IGNORECASE)
_NARROW = 0.1  # the width of one range, over that of another, from which on the scales are hardly the same
_ROUND = 1e-6  # beyond 0 and 1, of probabilities
_MOST = 0.9  # of the responses are on the scale that is asked about; the others may be mistakes


def bandit(outcome: Any, response: Any) -> str:
    """What to give if a choice is paid by an outcome."""
    python, command = f"Columns({outcome!r}, choice={response!r})", f"--choice {response} --reward {outcome}"
    return f"if {response} says which option was taken, and {outcome} what it paid, give {python} ({command})"


def choice_beside_numbers(outcome: Any, response: Any, labels: Iterable[Any]) -> str:
    """The question about choices that cannot be predictions of outcomes, since these are numbers."""
    what = f"the responses {response} are choices ({few(labels)}), but the outcomes {outcome} are numbers"
    predicted = "if it predicts the outcome, give kind='binary' or 'categorical' (--kind)"
    return f"{what}: what was chosen? I{bandit(outcome, response)[1:]}; {predicted}"


def choices_elsewhere(outcome: Any, response: Any, chosen: Iterable[Any], happened: Iterable[Any]) -> str:
    """The question about choices that are none of the outcomes."""
    none = f"the choices {few(cells.in_order(chosen))} are none of the outcomes {few(cells.in_order(happened))}"
    return f"{none}; write each choice as the outcome that it predicts, or {bandit(outcome, response)}"


def check_alike(column: "pd.Series[Any]", option: str) -> None:
    """Ask if labels differ in capital letters only. option: by which all of them can be listed."""
    found = cells.in_order(cells.found(column)) if cells.is_text(column) else ()
    last = {cells.folded(label): label for label in found}
    for label in found:
        if last[cells.folded(label)] != label:
            ask = f"does {column.name} mean the same by {label!r} and {last[cells.folded(label)]!r}?"
            raise ValueError(f"{ask} Then list what can occur, each once, as {option}; else list all that is there")


def check_prediction(outcome: Any, response: Any) -> None:
    """Ask if what looks like a prediction of the outcome may be a choice that was rewarded, by the columns' names."""
    chosen, paid = is_called(response, CHOSEN), is_called(outcome, PAID)
    if (chosen and is_called(outcome, _HAPPENED)) or (paid and (chosen or is_called(response, _TAKEN))):
        ask = f"does {response} predict {outcome}, or is it a choice that {outcome} rewards?"
        answer = "If it predicts it, give response_kind='choice' (--response-kind choice)"
        raise ValueError(f"{ask} {answer}; {bandit(outcome, response)}")


def check_numbers(outcome: Any, response: "pd.Series[Any]", kind: str) -> None:
    """Ask if responses that are few whole numbers are numbers, or labels of choices."""
    seen = cells.seen(response)
    if len(seen) < 2 or (seen != np.floor(seen)).any() or seen[-1] - seen[0] > MOST_LABELS:
        return
    ask = f"the responses {response.name} are few whole numbers ({few(map(int, seen))}): numbers, or choices?"
    answers = ["Give response_kind='continuous' or 'choice' (--response-kind continuous, or choice)"]
    if kind == OutcomeKind.BINARY and len(seen) > 2:
        low, high = f"{seen[0]:g}", f"{seen[-1]:g}"
        scale = f"response_scale=({low}, {high}) (--response-scale {low} {high})"
        answers.append(f"if they say how probable {outcome} is, from {low} to {high}, give {scale}")
    answers.append(bandit(outcome, response.name))
    raise ValueError(f"{ask} {'; '.join(answers)}")


def of_whom(frame: pd.DataFrame) -> list[str]:
    """What to say if participants were not named, but a column is called so and holds several."""
    for name in [name for name in frame.columns if WHO.fullmatch(str(name))]:
        people = frame[name].nunique()
        if 1 < people <= len(frame) / 3:
            return [f"all rows are taken for one participant: or does {name} name {people} (--subject {name})?"]
    return []


def another_scale(trials: Any) -> str:
    """Why responses cannot report an estimate of the outcomes, as a question; empty if they can.

    Estimates of a probability are from 0 to 1. Those of other numbers are neither apart from the outcomes nor ten times
    as widely spread; and where they are spread ten times less, they are about the middle of the outcomes.
    """
    responses = trials.responses[np.isfinite(trials.responses)]
    if not len(responses) or trials.kind not in (OutcomeKind.BINARY, OutcomeKind.CONTINUOUS):
        return ""
    low, high = float(responses.min()), float(responses.max())
    about = f"the responses {trials.columns.response} are from {low:g} to {high:g}, but estimates are"
    readout = "if they are no estimates, give Readout() (--response-model readout)"
    if trials.kind == OutcomeKind.BINARY:
        if low >= -_ROUND and high <= 1 + _ROUND:
            return ""
        return f"{about} probabilities, from 0 to 1: {_probability(responses, trials.labels)}; {readout}"
    outcomes = trials.outcomes[trials.observed]
    if _same_scale(outcomes, responses):
        return ""
    known = f"{about} like the outcomes {trials.columns.outcome}, from {outcomes.min():g} to {outcomes.max():g}"
    scale = "give response_scale=(LOW, HIGH) (--response-scale LOW HIGH), the responses that mean 0 and 1"
    return f"{known}; if they are on another scale, {scale}: (0, 1) if they are as they should be; {readout}"


def _probability(responses: FloatArray, labels: Sequence[Any]) -> str:
    """What to ask of responses that are no probabilities."""
    bottom, top = _likely_scale(responses, labels)
    left_out = int(((responses < bottom) | (responses > top)).sum())
    scale = f"response_scale=({bottom:g}, {top:g}) (--response-scale {bottom:g} {top:g})"
    ask = f"is {bottom:g} the probability 0, and {top:g} the probability 1? Then give {scale}"
    ask += f", without the {left_out} of {len(responses)} that are outside" if left_out else ""
    if tuple(labels) == (0, 1):
        return ask
    return f"{ask}; if they estimate the mean of {labels[0]!r} and {labels[1]!r}, give kind='continuous' (--kind)"


def _likely_scale(responses: FloatArray, labels: Sequence[Any]) -> tuple[float, float]:
    """The ends of the scale on which responses may say how probable the second of two labels is."""
    low, high = float(responses.min()), float(responses.max())
    own = () if any(isinstance(label, str) for label in labels) else (tuple(labels),)
    most = MOST_LABELS + 1  # up to which a scale ends where the responses do
    for bottom, top in ((0, 1), *own, *(((low, high),) if high <= most else ((0, 100), (0, 1000)))):
        if ((responses >= bottom) & (responses <= top)).mean() >= _MOST:
            return float(bottom), float(top)
    return low, high


def _same_scale(outcomes: FloatArray, responses: FloatArray) -> bool:
    low, first, third, high = np.quantile(outcomes, (0.05, 0.25, 0.75, 0.95))
    least, lower, middle, upper, most = np.quantile(responses, (0.05, 0.25, 0.5, 0.75, 0.95))
    if not np.ptp(outcomes) or not np.ptp(responses):  # which tells nothing
        return True
    if least > high or most < low:
        return False
    # The middle half as well as nearly all: a few values far out, or many that are equal, change one of them only.
    widths = np.array([third - first or np.ptp(outcomes), high - low or np.ptp(outcomes)])
    spreads = np.array([upper - lower, most - least])
    if (spreads * _NARROW > widths).all():
        return False
    return bool((spreads >= _NARROW * widths).any() or first <= middle <= third)


def is_called(name: Any, how: re.Pattern[str]) -> bool:
    """Whether a word of a name begins so."""
    words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", str(name)).lower())
    return any(map(how.match, words))
