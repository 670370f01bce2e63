"""Which option was chosen on a trial, what did it pay, and what would the others have paid?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.tables import cells
from astonish.people.tables.trials import Columns, Trials

NEAREST = 5  # trials in which an option was chosen, from which what it would have paid is drawn
ASSUMED = (
    "what an option would have paid when it was not chosen is not in the table; simulations draw it from the "
    f"{NEAREST} nearest trials of the block in which the participant chose it (--payoff names columns that know it)"
)


def option_labels(frame: pd.DataFrame, columns: Columns, options: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """The options among which people choose, in order: those given, or those that were chosen; None if none are."""
    if columns.choice is None:
        return None
    chosen = {label for label in cells.labels(frame[columns.choice]).values.tolist() if label is not None}
    labels = cells.in_order(chosen) if options is None else tuple(map(cells.label, options))
    if len(labels) < 2:
        only = f"only {cells.few(labels)}" if labels else "nothing"
        raise ValueError(f"{columns.choice} holds {only}, which is no choice; name all options (--options A,B)")
    if len(set(labels)) < len(labels):
        raise ValueError(f"options = {cells.few(labels)} names one twice; give each once")
    for what, names in (("counterfactual", columns.counterfactual), ("payoff", columns.payoffs)):
        allowed = {0, len(labels)} | ({1} if what == "counterfactual" and len(labels) == 2 else set())
        if len(names) not in allowed:
            wanted = f"a column for each of the options {cells.few(labels)}, in this order"
            raise ValueError(f"--{what} was given {len(names)} times; give {wanted}")
    return labels


def with_choices(trials: Trials, options: tuple[Any, ...], columns: Mapping[str, FloatArray]) -> Trials:
    """Trials whose outcomes are rewards, as trials of choices with consequences.

    columns: those that say what options paid, shown or not, in the form of `trials.outcomes`.
    """
    assert trials.responses is not None  # the choices
    chosen = np.isfinite(trials.responses)
    choices = np.where(chosen, trials.responses, 0).astype(np.int32)
    observed = trials.observed & chosen
    rewards, names = np.where(observed, trials.outcomes, 0), trials.columns
    outcomes: Any = (choices, rewards.astype(trials.outcomes.dtype))
    payoffs = None
    if names.payoffs:
        payoffs = np.stack([columns[name] for name in names.payoffs], -1)
        _check_payoffs(trials, payoffs, choices, observed)
    if names.counterfactual:
        every = _every_outcome([columns[name] for name in names.counterfactual], rewards, choices)
        shown = np.isfinite(every) & (trials.rows >= 0)[..., None]
        outcomes = choices, np.where(shown, every, 0).astype(rewards.dtype), shown.astype(np.int32)
        if payoffs is None and shown[observed].all():
            payoffs = np.where(shown, every, np.nan)
    return replace(trials, outcomes=outcomes, observed=observed, options=options, payoffs=payoffs)


def _every_outcome(columns: list[FloatArray], rewards: FloatArray, choices: Any) -> FloatArray:
    """What each option paid, NaN where that was not shown; from one column, what the one not chosen of two paid."""
    own = np.arange(max(2, len(columns))) == choices[..., None]
    others = np.stack(columns * 2 if len(columns) == 1 else columns, -1)
    return np.where(own, rewards[..., None], others)


def _check_payoffs(trials: Trials, payoffs: FloatArray, choices: Any, observed: BoolArray) -> None:
    """Refuse payoffs that are missing, or differ from the rewards that were paid."""
    there = trials.rows >= 0
    if np.isnan(payoffs[there]).any():
        raise ValueError(
            f"--payoff {' '.join(trials.columns.payoffs)} has empty cells; give what each option would pay"
        )
    paid = np.take_along_axis(payoffs, choices[..., None], -1)[..., 0]
    wrong = observed & (paid != trials.outcomes)
    if wrong.any():
        row, at = np.argwhere(wrong)[0]
        who, seen = trials.subjects[row], f"{trials.outcomes[row, at]:g} was paid, but the payoff is {paid[row, at]:g}"
        raise ValueError(f"on trial {at + 1} of participant {who} {seen}; name payoffs in the order of the options")


def with_payoffs(trials: Trials, seed: int = 0) -> Trials:
    """Trials of choices in which it is known what each option pays: assumed, where the table does not say so.

    What was paid stays. Where an option was not chosen, it pays what it did in one of the nearest trials of the block
    in which the participant chose it, at random; else in any trial of theirs; else in anybody's.
    """
    if trials.options is None or trials.payoffs is not None:
        return trials
    rng, rewards, choices = np.random.default_rng(seed), trials.scalar_outcomes, trials.choices
    payoffs = np.zeros((*rewards.shape, len(trials.options)))
    blocks = np.cumsum(trials.starts, axis=1)
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
            payoffs[row, :, option] = rewards[row, _near(np.flatnonzero(there), blocks[row], rng)]
            payoffs[row, there, option] = rewards[row, there]
    return replace(trials, payoffs=payoffs)


def chosen_anew(trials: Trials, responses: FloatArray) -> Trials:
    """The same trials with other choices, and the outcomes that follow from them; payoffs must be known."""
    assert trials.payoffs is not None
    chosen = np.isfinite(responses)
    choices = np.where(chosen, responses, 0).astype(np.int32)
    _, rewards, *shown = trials.outcomes
    paid = np.nan_to_num(trials.payoffs).astype(rewards.dtype)
    if shown:
        return replace(trials, outcomes=(choices, paid, *shown))
    return replace(trials, outcomes=(choices, np.take_along_axis(paid, choices[..., None], -1)[..., 0]))


def paid_columns(trials: Trials) -> dict[str, FloatArray]:
    """What columns of the table say about rewards, and about what was shown of options that were not chosen."""
    columns = {trials.columns.outcomes[0]: np.where(trials.observed, trials.scalar_outcomes, np.nan)}
    names = trials.columns.counterfactual
    if len(names) == 1:
        _, every, shown = trials.outcomes
        other = 1 - trials.choices[..., None]
        seen = np.take_along_axis(shown, other, -1)[..., 0] > 0
        columns[names[0]] = np.where(seen, np.take_along_axis(every, other, -1)[..., 0], np.nan)
    return columns


def _near(chosen: Any, blocks: Any, rng: np.random.Generator) -> Any:
    """For each trial, one at random of the nearest in which an option was chosen, of the same block if there is any."""
    at = np.arange(len(blocks))
    distance = np.abs(at[:, None] - chosen) + len(at) * (blocks[:, None] != blocks[chosen])
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEAREST]
    same = np.take_along_axis(distance, nearest, 1) < len(at)
    count = np.where(same.any(1), same.sum(1), nearest.shape[1])
    return chosen[nearest[at, rng.integers(0, count)]]
