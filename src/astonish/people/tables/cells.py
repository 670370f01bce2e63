"""Cells of a column as numbers, names, labels or flags; the order of trials; and questions where a guess may be wrong.

Each different cell is looked at once, however often it occurs. Where the reader asks, it names the option that answers.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.names import OutcomeKind
from astonish.core.numbers import BoolArray, FloatArray

MOST_LABELS = 10  # from the smallest to the largest of whole numbers that may be labels
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?")
_NO = ("", "0", "0.0", "false", "no")

# Names of columns, or the beginnings of words in them
_CHOSEN = re.compile(r"choice|choose|chosen|action|option|decision|arm$")
_TAKEN = re.compile(r"response|key")
_PAID = re.compile(r"reward|feedback|payoff|payout|points?$|wins?$|won$")
_OUTCOME = re.compile(r"outcome")
_ANSWERED = re.compile(r"response|respond|estimate|prediction|predict|guess|answer|belief|bucket")
_WHO = re.compile(r"(subj(ect)?|sub|participant|person|ppt?|ppn)[_. ]?(id|no|nr|num|number|code)?|id", re.IGNORECASE)
_BLOCK = re.compile(r"(.*[_. ])?(block|session|run)s?([_. ]?(no|nr|num|number|index|idx|id|n|#))?", re.IGNORECASE)
_ENDS = r"([_. ]?(no|nr|num|number|index|idx|count|counter|n|#))?"
_TRIAL = re.compile(rf"(.*[_. ])?trial({_ENDS}|s\.thisN)", re.IGNORECASE)  # the last as PsychoPy has it
_COUNTERS = re.compile(rf"(.*[_. ])?(trial|onset|timestamp)({_ENDS}|[_. ]?id)", re.IGNORECASE)
_HAPPENED = re.compile(r"(outcome|observation|sample|stimulus|target|x)([_. ]?\d*)", re.IGNORECASE)
_GROUP = re.compile(r"(group|cohort|diagnosis)([_. ]?(id|name))?", re.IGNORECASE)
_CONDITION = re.compile(r"(condition|cond|context)([_. ]?(id|name|no))?", re.IGNORECASE)
_REPEATED = 3  # rows that a participant, a block, a group or a condition has at least, on average

# Responses on another scale than the outcomes
_NARROW = 0.1  # the width of one range, over that of another, from which on the scales are hardly the same
_ROUND = 1e-6  # beyond 0 and 1, of probabilities
_MOST = 0.9  # of the responses are on the scale that is asked about; the others may be mistakes

# Cells that may mean that something is missing
_CODES = (-9, *(sign * int("9" * length) for length in (2, 3, 4, 5) for sign in (-1, 1)))  # as people write it
_PAIRS = ((0, 1), (1, 2))  # beside which 9 is such a code, if these numbers occur again and again
_WORDS = ("none", "miss", "missed", "missing", "timeout", "toolate", "noresponse", "noanswer", "invalid", "")


class Cells(NamedTuple):
    """What was read, and by position what is wrong with cells that could not be.

    values: numbers, NaN where a cell is missing or wrong; or objects, None there.
    """

    values: Any
    problems: dict[int, str]


def is_text(column: "pd.Series[Any]") -> bool:
    """Whether most of what is there is not a number."""
    values = _coerced(column)
    return int((np.isnan(values) & present(column)).sum()) > int(np.isfinite(values).sum())


def numbers(column: "pd.Series[Any]") -> Cells:
    """Read finite numbers."""
    values = _coerced(column)
    finite = np.isfinite(values)
    problems = {}
    for at in np.flatnonzero(~finite & present(column)) if not finite.all() else ():
        odd = column.iloc[at]
        written = repr(odd) if isinstance(odd, str) else str(odd)
        problems[int(at)] = f"{column.name} = {written} is {'infinite' if _is_infinite(odd) else 'not a number'}"
    return Cells(np.where(finite, values, math.nan), problems)


def names(column: "pd.Series[Any]") -> Cells:
    """Read what things are called, as text: the number 1.0 is called 1, the text 01 is called 01."""
    return labels(column, lambda value: value.strip() if isinstance(value, str) else str(label(value)))


def labels(column: "pd.Series[Any]", read: Callable[[Any], Any] | None = None) -> Cells:
    """Read what outcomes are called: whole numbers, other numbers, or text. read: of a cell; else as `label` does."""
    codes, different = _factorized(column)
    infinite = [at for at, value in enumerate(different) if isinstance(value, float) and math.isinf(value)]
    values = np.full(len(different) + 1, None, object)
    for at, value in enumerate(different):
        if at not in infinite and (not isinstance(value, str) or value.strip()):
            values[at] = (read or label)(value)
    odd = np.flatnonzero(np.isin(codes, infinite)) if infinite else ()
    return Cells(values[codes], {int(at): f"{column.name} = {different[codes[at]]} is infinite" for at in odd})


def flags(column: "pd.Series[Any]") -> BoolArray:
    """Find where a cell says yes: neither empty, nor 0, nor False."""
    return _holds(column, lambda value: str(value).strip().lower() not in _NO)


def present(column: "pd.Series[Any]") -> BoolArray:
    """Find where a cell is not empty."""
    there = column.notna().to_numpy(bool)
    is_number = pd.api.types.is_numeric_dtype(column)
    return there if is_number else there & _holds(column, lambda value: str(value).strip() != "")


def without(column: "pd.Series[Any]", empty: Sequence[Any]) -> "pd.Series[Any]":
    """Leave out the cells that mean that something is missing."""
    meant = [label(value) for value in empty]
    gone = _holds(column, lambda value: label(value) in meant) if meant else np.zeros(len(column), bool)
    return column.mask(pd.Series(gone, column.index)) if gone.any() else column


def different_numbers(column: "pd.Series[Any]") -> FloatArray:
    """List the different finite numbers of a column, in order."""
    values = _coerced(column)
    return np.unique(values[np.isfinite(values)])


def different_labels(column: "pd.Series[Any]") -> set[Any]:
    """Collect the different labels of a column."""
    return {label for label in pd.unique(labels(column).values) if label is not None}


def label(value: Any) -> Any:
    """Write a label in plain Python: a number, even beside text (if whole an integer, even beside gaps), or text."""
    if isinstance(value, str):
        text = value.strip()
        return label(float(text)) if _NUMBER.fullmatch(text) else text
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.integer | np.floating):
        return int(value) if math.isfinite(value) and value == int(value) else float(value)
    return str(value)


def folded(label: Any) -> Any:
    """Write a label without capital letters."""
    return label.casefold() if isinstance(label, str) else label


def in_order(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Sort labels in the order in which people count: numbers before text."""
    return tuple(sorted(labels, key=lambda value: (isinstance(value, str), value)))


def few(labels: Iterable[Any]) -> str:
    """Write labels in a sentence, not more than ten."""
    words = [repr(label) for label in labels]
    return ", ".join(words[:10]) + (f", ... ({len(words)} in all)" if len(words) > 10 else "")


def _coerced(column: "pd.Series[Any]") -> FloatArray:
    """Read numbers, infinite ones among them; NaN for anything else."""
    cells = column if column.dtype.kind not in "cmM" else column.astype(str)
    return pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=math.nan)


def _factorized(column: "pd.Series[Any]") -> tuple[Any, list[Any]]:
    """Number cells by their values, -1 where they are empty; and list the different values."""
    try:
        codes, different = pd.factorize(column)
    except TypeError:  # lists and the like
        codes, different = pd.factorize(column.map(str, na_action="ignore"))
    return codes, list(different)


def _holds(column: "pd.Series[Any]", test: Callable[[Any], bool]) -> BoolArray:
    """Find where something holds of a cell; nowhere among empty ones."""
    codes, different = _factorized(column)
    return np.array([*map(test, different), False], bool)[codes]


def _is_infinite(cell: Any) -> bool:
    """Whether a cell is a number, but not a finite one: pandas before 3.0 sees no number in the text 1e999."""
    try:
        return math.isinf(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


# The order of trials


def ranks(trial: "pd.Series[Any]") -> FloatArray:
    """Number trials in their order: as they are numbered, or by names, in which 9 comes before 10."""
    if not is_text(trial):
        return numbers(trial).values
    codes, different = pd.factorize(names(trial).values)
    parts = [re.split("([0-9]+)", name) for name in different]  # of which every second one is a number
    keys = [[(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(name)] for name in parts]
    places = np.argsort(sorted(range(len(different)), key=lambda at: keys[at]))
    return np.append(places.astype(np.float64), np.nan)[codes]


def check_order(
    frame: pd.DataFrame, trial: str | None, who: Any, blocks: FloatArray, good: BoolArray, where: Callable[[Any], str]
) -> list[str]:
    """Refuse two trials of the same number in a block; or ask if a column that is called trial is not in order.

    trial: the column by which trials are ordered. good: rows that are used. where: says the place of a row.
    Return what to say if the column that is called trial starts again, or stays, in a block.
    """
    at = np.flatnonzero(good)
    if trial is not None:
        keys = pd.DataFrame({"who": who[at], "block": blocks[at], "trial": ranks(frame[trial])[at]})
        for second in np.flatnonzero(keys.duplicated())[:1]:
            first = np.flatnonzero((keys == keys.iloc[second]).all(axis=1))[0]
            twice = f"{trial} = {label(frame[trial].iloc[at[second]])} is there twice in a block"
            advice = "name the column of the block (block=, --block), or give each trial a number of its own"
            raise ValueError(f"{twice}, in {where(at[[first, second]])}; {advice}")
        return []
    order = at[np.argsort(who[at], kind="stable")]
    same = (np.diff(who[order]) == 0) & (np.diff(blocks[order]) == 0)
    for name in [name for name in frame.columns if _TRIAL.fullmatch(str(name))]:
        counts, written = ranks(frame[name])[order], frame[name].iloc[order]
        falls = np.flatnonzero(same & (np.diff(counts) < 0) & _counts(counts, same)) + 1
        # Out of order are trials that fall, but not to the least of a participant; or all, if none is there twice.
        least = pd.Series(counts).groupby(who[order]).transform("min").to_numpy()
        astray = falls[counts[falls] != least[falls]]
        again = pd.DataFrame({"who": who[order], "block": blocks[order], "trial": counts}).duplicated()
        for row in (astray if len(astray) or again.any() else falls)[:1]:
            before, now = (label(written.iloc[place]) for place in (row - 1, row))
            raise ValueError(
                f"{name} falls from {before} to {now} in {where(order[[row]])}: are the rows out of order? "
                f"Give trial={name!r} (--trial {name}) to order them by {name}, or name another column that counts "
                "trials or tells the time, or that of the block (--block)"
            )
        if len(falls):
            restart = f"starts again at {label(written.iloc[falls[0]])} {_times(len(falls))} within a block"
            return [f"{name} {restart}: is there a column of blocks (--block), or of participants (--subject)?"]
        stays = same & (np.diff(counts) == 0)
        if stays.any() and not (stays[2:] & stays[1:-1] & stays[:-2]).any():  # else it counts something else
            return [f"{name} is that of the row before {_times(stays.sum())}: is there one row for each trial?"]
    return []


def _times(count: int) -> str:
    return f"{count} times" if count > 1 else "once"


def doubles(frame: pd.DataFrame, who: NDArray[np.intp]) -> dict[int, str]:
    """Find rows that repeat the participant's row before in all columns, the number of the trial included.

    Without a column that counts trials, or tells the time, rows may well be the same.
    """
    order = np.argsort(who, kind="stable")
    same = np.diff(who[order]) == 0
    for name in [name for name in frame.columns if _COUNTERS.fullmatch(str(name))]:
        counts = numbers(frame[name]).values[order]
        if not _counts(counts, same):
            continue
        again = np.flatnonzero(same & (np.diff(counts) == 0)) + 1
        now, before = (frame.iloc[order[at]].reset_index(drop=True) for at in (again, again - 1))
        equal = ((now == before) | (now.isna() & before.isna())).all(axis=1).to_numpy(bool)
        return {int(at): f"the row is there twice, with {name} the same" for at in order[again[equal]]}
    return {}


def _counts(numbers: FloatArray, same: BoolArray) -> bool:
    """Whether numbers differ from row to row of a participant, as a rule."""
    steps = np.diff(numbers)[same]
    steps = steps[np.isfinite(steps)]
    return len(steps) > 0 and float((steps != 0).mean()) > 0.5


def returns(who: NDArray[np.intp], blocks: FloatArray, order: NDArray[np.intp], name: str | None) -> list[str]:
    """Say if blocks come back after others, so that beliefs start anew. order: of the rows."""
    person, block = who[order], blocks[order]
    starts = (np.diff(person, prepend=-1) != 0) | (np.diff(block, prepend=np.nan) != 0)
    again = int(pd.DataFrame({"who": person, "block": block})[starts].duplicated().sum())
    return [f"{name} comes back to the same value {_times(again)}: beliefs start anew each time"] if again else []


# What a column may be, by its name and by what it holds


def guessed_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Guess columns by their meaning: subject, block, trial, outcome, response or choice, group and condition.

    A choice and what it paid are found together: the outcome is then the reward. A column has one meaning at most, and
    one that is the same in all rows has none.

    >>> guessed_columns(pd.DataFrame({"id": list("aaabbb"), "x": [3, 1, 4, 1, 5, 9], "estimate": [2, 7, 1, 8, 2, 8]}))
    {'subject': 'id', 'outcome': 'x', 'response': 'estimate'}
    """
    left = [str(name) for name in frame.columns if frame[name].nunique() > 1]
    guesses: dict[str, str] = {}

    def repeated(name: str) -> bool:
        return bool(frame[name].nunique() <= len(frame) / _REPEATED)

    def counts_trials(name: str) -> bool:
        within = [guesses[meaning] for meaning in ("subject", "block") if meaning in guesses]
        return not frame.duplicated([*within, name]).any()

    def of_participants(name: str) -> bool:
        return "subject" in guesses and bool((frame.groupby(guesses["subject"])[name].nunique() <= 1).all())

    paid, chosen = partial(_is_called, beginning=_PAID), partial(_is_called, beginning=_CHOSEN)
    meanings: dict[str, Callable[[str], Any]] = {
        "subject": lambda name: _WHO.fullmatch(name) and repeated(name),
        "block": lambda name: _BLOCK.fullmatch(name) and repeated(name),
        "trial": lambda name: _TRIAL.fullmatch(name) and counts_trials(name),
        "group": lambda name: _GROUP.fullmatch(name) and of_participants(name),
        "condition": lambda name: _CONDITION.fullmatch(name) and repeated(name),
        "choice": lambda name: any(map(paid, left)) and chosen(name) and repeated(name),
        "outcome": lambda name: paid(name) or ("choice" not in guesses and _HAPPENED.fullmatch(name)),
        "response": lambda name: "choice" not in guesses and (chosen(name) or _is_called(name, _ANSWERED)),
    }
    for meaning, fits in meanings.items():
        name = next((name for name in left if fits(name)), None)
        if name is not None:
            guesses[meaning] = name
            left.remove(name)
    return guesses


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """List the columns that are the same in all rows, so that they tell nothing."""
    return [str(name) for name in frame.columns if frame[name].nunique(dropna=False) <= 1]


def _is_called(name: Any, beginning: re.Pattern[str]) -> bool:
    """Whether a word of a name begins so."""
    words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", str(name)).lower())
    return any(map(beginning.match, words))


def of_whom(frame: pd.DataFrame) -> list[str]:
    """Say if participants were not named, but a column is called so and holds several."""
    for name in [name for name in frame.columns if _WHO.fullmatch(str(name))]:
        people = frame[name].nunique()
        if 1 < people <= len(frame) / 3:
            return [f"all rows are taken for one participant: or does {name} name {people} (--subject {name})?"]
    return []


# Questions about labels, choices and scales


def bandit(outcome: Any, response: Any) -> str:
    """Say what to give if a choice is paid by an outcome."""
    python, command = f"Columns({outcome!r}, choice={response!r})", f"--choice {response} --reward {outcome}"
    return f"if {response} says which option was taken, and {outcome} what it paid, give {python} ({command})"


def choice_beside_numbers(outcome: Any, response: Any, labels: Iterable[Any]) -> str:
    """Ask about choices that cannot be predictions of outcomes, since these are numbers."""
    choices = f"the responses {response} are choices ({few(labels)}), but the outcomes {outcome} are numbers"
    predicted = "if it predicts the outcome, give kind='binary' or 'categorical' (--kind)"
    return f"{choices}: what was chosen? I{bandit(outcome, response)[1:]}; {predicted}"


def check_alike(column: "pd.Series[Any]", option: str) -> None:
    """Ask if labels differ in capital letters only. option: by which all of them can be listed."""
    every = in_order(different_labels(column)) if is_text(column) else ()
    last = {folded(label): label for label in every}
    for label in every:
        if last[folded(label)] != label:
            ask = f"does {column.name} mean the same by {label!r} and {last[folded(label)]!r}?"
            raise ValueError(f"{ask} Then list what can occur, each once, as {option}; else list all that is there")


def check_prediction(outcome: Any, response: Any) -> None:
    """Ask if what looks like a prediction of the outcome may be a choice that was rewarded, by the columns' names."""
    chosen, paid = _is_called(response, _CHOSEN), _is_called(outcome, _PAID)
    if (chosen and _is_called(outcome, _OUTCOME)) or (paid and (chosen or _is_called(response, _TAKEN))):
        ask = f"does {response} predict {outcome}, or is it a choice that {outcome} rewards?"
        answer = "If it predicts it, give response_kind='choice' (--response-kind choice)"
        raise ValueError(f"{ask} {answer}; {bandit(outcome, response)}")


def check_numbers(outcome: Any, response: "pd.Series[Any]", kind: str) -> None:
    """Ask if responses that are few whole numbers are numbers, or labels of choices."""
    values = different_numbers(response)
    if len(values) < 2 or (values != np.floor(values)).any() or values[-1] - values[0] > MOST_LABELS:
        return
    ask = f"the responses {response.name} are few whole numbers ({few(map(int, values))}): numbers, or choices?"
    answers = ["Give response_kind='continuous' or 'choice' (--response-kind continuous, or choice)"]
    if kind == OutcomeKind.BINARY and len(values) > 2:
        low, high = f"{values[0]:g}", f"{values[-1]:g}"
        scale = f"response_scale=({low}, {high}) (--response-scale {low} {high})"
        answers.append(f"if they say how probable {outcome} is, from {low} to {high}, give {scale}")
    answers.append(bandit(outcome, response.name))
    raise ValueError(f"{ask} {'; '.join(answers)}")


def another_scale(trials: Any) -> str:
    """Ask about responses that cannot report an estimate of the outcomes; empty if they can.

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
        return f"{about} probabilities, from 0 to 1: {_ask_probability(responses, trials.labels)}; {readout}"
    outcomes = trials.outcomes[trials.observed]
    if not np.ptp(outcomes) or not np.ptp(responses):  # which tells nothing
        return ""
    bottom, first, third, top = np.quantile(outcomes, (0.05, 0.25, 0.75, 0.95))
    least, lower, middle, upper, most = np.quantile(responses, (0.05, 0.25, 0.5, 0.75, 0.95))
    # The middle half as well as nearly all: a few values far out, or many that are equal, change one of them only.
    widths = np.array([third - first or np.ptp(outcomes), top - bottom or np.ptp(outcomes)])
    spreads = np.array([upper - lower, most - least])
    apart = least > top or most < bottom or (spreads * _NARROW > widths).all()
    if not apart and ((spreads >= _NARROW * widths).any() or first <= middle <= third):
        return ""
    like = f"{about} like the outcomes {trials.columns.outcome}, from {outcomes.min():g} to {outcomes.max():g}"
    scale = "give response_scale=(LOW, HIGH) (--response-scale LOW HIGH), the responses that mean 0 and 1"
    return f"{like}; if they are on another scale, {scale}: (0, 1) if they are as they should be; {readout}"


def _ask_probability(responses: FloatArray, labels: Sequence[Any]) -> str:
    """Ask about responses that are no probabilities: are they on the first likely scale that holds most of them?"""
    low, high = float(responses.min()), float(responses.max())
    likely = [(0, 1), *([] if any(isinstance(label, str) for label in labels) else [tuple(labels)])]
    likely += [(low, high)] if high <= MOST_LABELS + 1 else [(0, 100), (0, 1000)]
    shares = [((responses >= bottom) & (responses <= top)).mean() for bottom, top in likely]
    bottom, top = next((scale for scale, share in zip(likely, shares, strict=True) if share >= _MOST), (low, high))
    left_out = int(((responses < bottom) | (responses > top)).sum())
    scale = f"response_scale=({bottom:g}, {top:g}) (--response-scale {bottom:g} {top:g})"
    ask = f"is {bottom:g} the probability 0, and {top:g} the probability 1? Then give {scale}"
    ask += f", without the {left_out} of {len(responses)} that are outside" if left_out else ""
    if tuple(labels) == (0, 1):
        return ask
    return f"{ask}; if they estimate the mean of {labels[0]!r} and {labels[1]!r}, give kind='continuous' (--kind)"


# Questions about cells that may mean that something is missing


def check_missing(frame: pd.DataFrame, columns: Any, labels: Any, options: Any) -> None:
    """Ask about numbers and words that may mean that a cell is missing. labels, options: those that were listed."""
    outcomes = columns.outcomes if labels is None else ()
    numbered = [name for name in columns.measured if name not in (*columns.outcomes, columns.choice)]
    happened = {number for name in columns.outcomes for number in different_numbers(frame[name])}
    for name in (*outcomes, *numbered):
        response = name == columns.response
        if marks := _strange_numbers(frame[name], response and -1.0 not in happened):
            others = np.setdiff1d(different_numbers(frame[name]), marks)
            low, high, words = f"{others[0]:g}", f"{others[-1]:g}", [f"{mark:g}" for mark in marks]
            apart = f"stands apart from all other values, which are from {low} to {high}"
            give = f"missing=[{', '.join(words)}] ({' '.join(f'--missing {word}' for word in words)})"
            give += f", or response_range=({low}, {high}) (--range {low} {high})" if response else ""
            ask = f"{name} = {' and '.join(words)} {apart}: does it mean that {name} is missing?"
            raise ValueError(f"{ask} Then give {give}; else missing=[] (--missing NA)")
    answered = () if columns.response is None or labels is not None else (columns.response,)
    for name in (*outcomes, *answered) if columns.choice is None else outcomes:
        if words := _strange_words(different_labels(frame[name]) if is_text(frame[name]) else set()):
            give = f"missing={words} ({' '.join(f'--missing {word!r}' for word in words)})"
            ask = f"does {name} = {' and '.join(map(repr, words))} mean that {name} is missing?"
            raise ValueError(f"{ask} Then give {give}; else missing=[] (--missing NA)")
    if columns.choice is not None and options is None:
        _check_options(frame[columns.choice], frame[columns.outcomes[0]])


def _check_options(choice: "pd.Series[Any]", reward: "pd.Series[Any]") -> None:
    """Ask about options that may mean that nothing was chosen: by what they are called, or since they never paid."""
    chosen, paid = labels(choice).values, present(reward)
    every = in_order(different_labels(choice))
    strange = [*_strange_numbers(choice, True), *_strange_words(set(every))]
    strange = strange or [label for label in every if not paid[chosen == label].any()]
    options = [str(label) for label in every if label not in strange]
    if strange and len(options) > 1:
        ask = f"is {choice.name} = {' and '.join(str(label(option)) for option in strange)} an option"
        other = f"give options={options} (--options {','.join(options)}) if it means that nothing was chosen"
        raise ValueError(f"{ask}? It looks as if it were none: {other}, or else list all options")


def _strange_numbers(column: "pd.Series[Any]", negative_is_strange: bool) -> list[float]:
    """List numbers that people write where something is missing, and that stand apart from all others.

    negative_is_strange: whether -1 stands apart from few whole numbers that are not negative.
    """
    values = different_numbers(column)
    others = values[~np.isin(values, _CODES)]
    strange = [mark for mark in values[np.isin(values, _CODES)] if len(others) > 1 and _is_apart(mark, others)]
    rest = others[others != -1]
    alone = -1 in others and len(rest) > 1 and rest[0] >= 0
    if alone and (negative_is_strange or len(rest) > MOST_LABELS):
        strange = [-1.0, *strange]
    if any(np.array_equal(others, [*pair, 9]) for pair in _PAIRS) and column.count() > len(values):
        strange.append(9.0)
    return [float(mark) for mark in strange]


def _is_apart(mark: float, others: FloatArray) -> bool:
    """Whether a number is as far from all others as these are from each other, or alone is negative."""
    return bool(np.abs(others - mark).min() >= others[-1] - others[0] or mark < 0 <= others[others != -1].min())


def _strange_words(labels: set[Any]) -> list[str]:
    """List words that say that something is missing, beside two labels or more."""
    plain = {label: re.sub(r"[\W_]", "", label.lower()) for label in labels if isinstance(label, str)}
    words = sorted(label for label, word in plain.items() if word in _WORDS and (word != "miss" or "hit" not in plain))
    return words if len(labels) - len(words) > 1 else []
