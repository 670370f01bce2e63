"""In which order are the trials of each participant, and is the order of the rows that of the trials?"""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.tables import cells

_ENDS = r"([_. ]?(no|nr|num|number|index|idx|count|counter|n|#))?"
TRIAL = re.compile(rf"(.*[_. ])?trial({_ENDS}|s\.thisN)", re.IGNORECASE)  # the last as PsychoPy has it
_COUNTERS = re.compile(rf"(.*[_. ])?(trial|onset|timestamp)({_ENDS}|[_. ]?id)", re.IGNORECASE)


def by_trial(
    who: NDArray[np.intp], trial: "pd.Series[Any] | None", blocks: FloatArray | None = None
) -> NDArray[np.intp]:
    """The rows by participant, block and trial; as they come in the file where these are the same, or not known.

    who, blocks: a number for each row.
    """
    keys = [part for part in (None if trial is None else _ranks(trial), blocks) if part is not None]
    return np.lexsort((np.arange(len(who)), *keys, who))


def repeats(who: NDArray[np.intp], trial: "pd.Series[Any]") -> bool:
    """Whether a participant has trials of the same number."""
    return bool(pd.DataFrame({"who": who, "trial": _ranks(trial)}).dropna().duplicated().any())


def _ranks(trial: "pd.Series[Any]") -> FloatArray:
    """Numbers in the order of the trials: of their own, or of names, in which 9 comes before 10."""
    if not cells.is_text(trial):
        return cells.numbers(trial).values
    codes, different = pd.factorize(cells.names(trial).values)
    places = np.argsort(sorted(range(len(different)), key=lambda at: _parts(different[at])))
    return np.append(places.astype(np.float64), np.nan)[codes]


def _parts(name: str) -> list[tuple[int, str]]:
    """A name as texts and numbers, by which it is to be ordered."""
    return [(int(part), "") if re.fullmatch("[0-9]+", part) else (-1, part) for part in re.split("([0-9]+)", name)]


def check_different(
    who: Any, blocks: FloatArray, trial: "pd.Series[Any]", good: BoolArray, lines: Any, unit: str
) -> None:
    """Refuse if two trials of a block have the same number."""
    at = np.flatnonzero(good)
    keys = pd.DataFrame({"who": np.asarray(who)[at], "block": blocks[at], "trial": _ranks(trial)[at]})
    again = np.flatnonzero(keys.duplicated())
    if len(again):
        second = again[0]
        first = np.flatnonzero((keys == keys.iloc[second]).all(axis=1))[0]
        name, value = trial.name, cells.label(trial.iloc[at[second]])
        where = f"{unit}s {lines[at[first]]} and {lines[at[second]]}"
        advice = "name the column of the block (block=, --block), or give each trial a number of its own"
        raise ValueError(f"{name} = {value} is there twice in a block, in {where}; {advice}")


def check_counters(
    frame: pd.DataFrame, who: Any, blocks: FloatArray, good: BoolArray, lines: Any, unit: str
) -> list[str]:
    """Ask if a column that is called trial is not in order; what to say if it starts again, or stays, in a block."""
    at = np.flatnonzero(good)
    order = at[np.lexsort((at, np.asarray(who)[at]))]
    same = (np.diff(who[order]) == 0) & (np.diff(blocks[order]) == 0)
    for name in [name for name in frame.columns if TRIAL.fullmatch(str(name))]:
        numbers, written = _ranks(frame[name])[order], frame[name].iloc[order]
        falls = np.flatnonzero(same & (np.diff(numbers) < 0) & _counts(numbers, same)) + 1
        for row in _astray(numbers, falls, who[order], blocks[order])[:1]:
            before, now = (cells.label(written.iloc[place]) for place in (row - 1, row))
            raise ValueError(
                f"{name} falls from {before} to {now} in {unit} {lines[order[row]]}: are the rows out of order? "
                f"Give trial={name!r} (--trial {name}) to order them by {name}, or name another column that counts "
                "trials or tells the time, or that of the block (--block)"
            )
        if len(falls):
            again = f"starts again at {cells.label(written.iloc[falls[0]])} {_times(len(falls))} within a block"
            return [f"{name} {again}: is there a column of blocks (--block), or of participants (--subject)?"]
        if stays := _stays(numbers, same):
            return [f"{name} is that of the row before {_times(stays)}: is there one row for each trial?"]
    return []


def _astray(numbers: FloatArray, falls: NDArray[np.intp], who: Any, blocks: FloatArray) -> NDArray[np.intp]:
    """Where trials are out of order: they fall, but not to the least of a participant; or none is there twice."""
    least = pd.Series(numbers).groupby(who).transform("min").to_numpy()
    astray = falls[numbers[falls] != least[falls]]
    again = pd.DataFrame({"who": who, "block": blocks, "trial": numbers}).duplicated()
    return astray if len(astray) or again.any() else falls


def _stays(numbers: FloatArray, same: BoolArray) -> int:
    """How often a number is that of the row before; 0 if it stays for so long that it counts something else."""
    stays = same & (np.diff(numbers) == 0)
    return 0 if (stays[2:] & stays[1:-1] & stays[:-2]).any() else int(stays.sum())


def _times(count: int) -> str:
    return f"{count} times" if count > 1 else "once"


def doubles(frame: pd.DataFrame, who: NDArray[np.intp]) -> dict[int, str]:
    """Rows that are there twice: the same in all columns as the participant's row before, the trial's number included.

    Without a column that counts trials, or tells the time, rows may well be the same.
    """
    order = np.lexsort((np.arange(len(frame)), who))
    same = np.diff(who[order]) == 0
    for name in [name for name in frame.columns if _COUNTERS.fullmatch(str(name))]:
        numbers = cells.numbers(frame[name]).values[order]
        if not _counts(numbers, same):
            continue
        again = np.flatnonzero(same & (np.diff(numbers) == 0)) + 1
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
    """What to say if blocks come back after others, so that beliefs start anew. order: of the rows."""
    person, block = who[order], blocks[order]
    starts = (np.diff(person, prepend=-1) != 0) | (np.diff(block, prepend=np.nan) != 0)
    again = int(pd.DataFrame({"who": person, "block": block})[starts].duplicated().sum())
    return [f"{name} comes back to the same value {_times(again)}: beliefs start anew each time"] if again else []
