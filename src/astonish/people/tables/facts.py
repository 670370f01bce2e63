"""Learners for the outcomes of a table: the facts about its outcomes that decide parameters which were not set."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from astonish.core.names import Contexts, OutcomeKind
from astonish.core.special import wrapped
from astonish.models.parameters import Assembly, Fact, Outcomes, Settings, assemble
from astonish.people.tables.trials import Trials

_OF_A_RANGE = {"spread": "std", "range": "scale"}  # facts that need different outcomes, and parameters they decide
_HALF = 0.6745  # half of a normal distribution is within so many standard deviations


def outcomes_of(trials: Trials) -> Outcomes:
    """Describe the outcomes of a table, as far as a learner has to know them."""
    contexts = int(trials.outcomes[0].max()) + 1 if trials.kind == OutcomeKind.TRANSITIONS else 0
    labels, options = len(trials.labels or ()), len(trials.options or ())
    shown = bool(trials.columns.counterfactual)
    return Outcomes(trials.kind, lambda *asked: fact_of(trials, *asked), labels, contexts, options, shown)


def choose(
    name: str,
    trials: Trials,
    settings: Settings | None = None,
    family: str | None = None,
    contexts: Contexts | None = None,
) -> Assembly:
    """Assemble the learner of this name for the outcomes of a table, and say what was assumed for it.

    name: of a learner, or where its class is: `file.py:Class` or `module:Class`. settings: parameters of the learner,
    its family and its first belief by name, such as m, noise or mean. family: by name, or where its class is; the usual
    one for outcomes of this kind when left out. contexts: for transitions, whether the learner forgets, or suspects
    changes, in all contexts "together", or learns in each of them "apart"; as is usual for it when left out.

    >>> from pandas import DataFrame
    >>> from astonish.people.tables import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, 9.0, 2.0, 8.0]}), Columns("x"))
    >>> chosen = choose("nassar2012", trials, {"noise": 2.0, "hazard": 0.2})
    >>> chosen.learner
    Nassar2012(noise=2.0, hazard=0.2, low=1.0, high=9.0, start=None, ...)
    >>> chosen.assumed
    ('low = 1, the smallest outcome', 'high = 9, the largest outcome')
    """
    return assemble(name, outcomes_of(trials), settings, family, contexts)


def fact_of(trials: Trials, name: str, settings: Mapping[str, float]) -> Fact | None:
    """Estimate a fact about outcomes that are numbers: noise, drift, low, high, middle, spread or range.

    About angles: period and concentration. None for any other. settings: parameters that were set, on which others
    depend.
    """
    if name in ("noise", "concentration") and name in trials.given:
        column = trials.columns.given[name]
        return Fact(float(np.median(trials.given[name])), f"the median of {column}, which gives it trial by trial")
    if name == "noise":
        if trials.kind == OutcomeKind.BINARY:
            return Fact(0.5, "the standard deviation of 0 and 1, if they are equally frequent")
        if trials.options is not None:
            return Fact(_reward_noise(trials), "the standard deviation of what an option pays a participant")
        return Fact(_median_noise(trials, name), "from the median difference of successive outcomes")
    if name == "period":
        return Fact(2 * math.pi, "for angles in radians; set 360 for degrees")
    if name == "concentration":
        period = settings.get("period", 2 * math.pi)
        radians = math.tau / period * _median_noise(trials, name, period)
        return Fact(radians**-2, "from the median difference of successive outcomes")
    if name == "drift":
        noise = Fact(settings["noise"], "it was set") if "noise" in settings else fact_of(trials, "noise", {})
        return noise and Fact(0.1 * noise.value, "a tenth of noise")
    low, high = trials.outcome_range
    if name in _OF_A_RANGE and low == high:
        raise ValueError(f"{_OF_A_RANGE[name]} cannot be estimated from outcomes that are all {low:g}; set it")
    facts = {
        "low": Fact(low, "the smallest outcome"),
        "high": Fact(high, "the largest outcome"),
        "middle": Fact(0.5 * (low + high), "the middle of the range of outcomes"),
        "spread": Fact((high - low) / math.sqrt(12), "as of a mean anywhere in the range of outcomes"),
        "range": Fact(high - low, "the range of outcomes"),
    }
    return facts.get(name)


def _median_noise(trials: Trials, name: str, period: float | None = None) -> float:
    """Estimate the standard deviation of outcomes from trial to trial. name: of the parameter that needs it."""
    successive = trials.observed[:, 1:] & trials.observed[:, :-1] & ~trials.starts[:, 1:]
    steps: Any = np.diff(trials.scalar_outcomes)[successive]
    sizes = np.abs(steps if period is None else wrapped(steps, period))
    noise = float(np.median(sizes)) / (_HALF * math.sqrt(2)) if len(sizes) else 0.0
    if noise == 0:
        raise ValueError(f"{name} cannot be estimated from outcomes that hardly differ from trial to trial; set {name}")
    return noise


def _reward_noise(trials: Trials) -> float:
    """Estimate the standard deviation of rewards about the mean that an option pays a participant."""
    rewards, squares, count = trials.scalar_outcomes, 0.0, 0
    for row, option in np.ndindex(len(trials), len(trials.options or ())):
        paid = rewards[row][trials.observed[row] & (trials.choices[row] == option)]
        squares += float(np.square(paid - paid.mean()).sum()) if len(paid) else 0.0
        count += len(paid)
    if not squares:
        raise ValueError("noise cannot be estimated from options that always pay the same; set noise")
    return math.sqrt(squares / count)
