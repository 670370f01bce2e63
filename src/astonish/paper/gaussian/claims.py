"""Does SMiLe do on this task what section 2.4 and the caption of Fig. 3 say?"""

from itertools import pairwise
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy import stats

from astonish.paper.claims import Claim, Interval, interval, listed, verdict
from astonish.paper.gaussian.numbers import BEST, ERRORS, HALF, HAZARDS, LEARNERS, NASSAR, NOISE, SMILE, START, M
from astonish.paper.study import Numbers

Cases = dict[str, Interval]


def claims(numbers: Numbers) -> list[Claim]:
    """What section 2.4 and the caption of Fig. 3 say of this task."""
    return [
        _weighted_average(numbers["figure3_series"]),
        _gamma_rises(numbers["figure3_gamma"]),
        _best_rate_grows(numbers["figure3_best"], numbers["figure3_fixed"]),
        _errors_grow(numbers),
        _saves(numbers, BEST, SMILE, "SMiLe makes smaller errors than the best fixed rate, at every hazard."),
        _saves(numbers, HALF, SMILE, "SMiLe makes smaller errors than a fixed rate of 0.5, at every hazard."),
        _saves(numbers, SMILE, NASSAR, "SMiLe makes larger errors than Nassar 2010, which is told the hazard."),
        _significant_once(numbers),
        _gap_shrinks(numbers),
    ]


def _compared(where: str, says: str, paper: str, what: str, cases: Cases, note: str = "") -> Claim:
    """A claim that differences are positive: each must have an interval above zero."""
    missed = [f"{name} ({'reversed' if i.high < 0 else 'undecided'})" for name, i in cases.items() if not i.low > 0]
    measured = f"{what}: " + "; ".join(f"{name}: {case}" for name, case in cases.items())
    why = f"95 % intervals of paired differences lie above zero in {len(cases) - len(missed)} of {len(cases)} cases"
    why += f"; not for {', '.join(missed)}." if missed else "."
    return Claim(where, says, paper, measured, verdict(i.low > 0 for i in cases.values()), f"{why} {note}".strip())


def _table(numbers: Numbers, error: str) -> Any:
    """One row per episode; one column per learner, and under it per hazard."""
    return numbers["figure3_errors"].pivot(index="episode", columns=["learner", "hazard"], values=error)


def _growth(table: DataFrame, name: str) -> Cases:
    """By how much the numbers in the columns, one per hazard, grow from each hazard to the next."""
    return {f"{name}, H = {a:g} to {b:g}": interval(table[b] - table[a]) for a, b in pairwise(HAZARDS)}


def _weighted_average(series: DataFrame) -> Claim:
    before = series.estimate.shift(fill_value=START)
    product = M * (series["sample"] - before) ** 2 / (2 * NOISE**2)
    gamma = np.sqrt(product / (1 + product))
    off = abs(gamma * series["sample"] + (1 - gamma) * before - series.estimate).max()
    off_gamma = abs(gamma - series.gamma).max()
    return Claim(
        "eqs. 9 and 10",
        "If the prior is as uncertain as one sample, the new estimate is the average of the old one and the sample, "
        "with weights 1 - gamma and gamma = sqrt(m S / (1 + m S)), where S = (x - old)^2 / (2 noise^2).",
        "exact",
        f"largest difference in {len(series)} steps: {off:.1g} in the estimate, {off_gamma:.1g} in gamma",
        verdict([off < 1e-9, off_gamma < 1e-9]),
        "The general search for gamma, which works for any belief, is compared with the closed form, to 1e-9.",
    )


def _gamma_rises(gamma: DataFrame) -> Claim:
    tables = {name: gamma.pivot(index="episode", columns="jump", values=name) for name in ("gamma", "surprise")}
    means = (f"{name} {interval(t[True])} at jumps, {interval(t[False])} otherwise" for name, t in tables.items())
    cases = {name: interval(table[True] - table[False]) for name, table in tables.items()}
    says = "Surprise rises at the first sample after a jump, and gamma with it."
    return _compared("Fig. 3B", says, "no number", f"{'; '.join(means)}; differences", cases)


def _best_rate_grows(best: DataFrame, fixed: DataFrame) -> Claim:
    cases: Cases = {}
    overall = []
    for error in ERRORS:
        cases |= _growth(best.pivot(index="episode", columns="hazard", values=error), error)
        rates = fixed.rate[fixed.groupby("hazard")[error].idxmin()]
        overall.append(f"{error} {listed(rates, '.2f')}")
    return _compared(
        "Fig. 3C",
        "The best fixed rate is larger where the mean jumps more often.",
        "the caption says that the best rate decreases with the hazard, and from this infers that volatile "
        "environments call for a bigger one",
        f"best rates over all episodes at H = {listed(HAZARDS)}: {'; '.join(overall)}; growth of the best rate of "
        "single episodes",
        cases,
        "Of the caption's two statements, which exclude each other, the second is tested.",
    )


def _errors_grow(numbers: Numbers) -> Claim:
    cases: Cases = {}
    for error in ERRORS:
        for learner in LEARNERS:
            growth = _growth(_table(numbers, error)[learner], f"{learner}, {error}")
            least = min(growth, key=lambda name: growth[name].low)
            cases[least] = growth[least]
    says = "For every learner the error grows with the hazard."
    what = "least growth of the error from one hazard to the next"
    return _compared("Fig. 3D", says, "no number; it increases for all models", what, cases)


def _saves(numbers: Numbers, worse: str, better: str, says: str) -> Claim:
    cases: Cases = {}
    for error in ERRORS:
        saved = _table(numbers, error)[worse] - _table(numbers, error)[better]
        cases |= {f"{error}, H = {hazard:g}": interval(saved[hazard]) for hazard in HAZARDS}
    return _compared("Fig. 3D", says, "no number", f"error of {worse} minus that of {better}", cases)


def _significant_once(numbers: Numbers) -> Claim:
    parts, found = [], []
    for error in ERRORS:
        table = _table(numbers, error)
        chances = [stats.ttest_rel(table[SMILE][hazard], table[NASSAR][hazard]).pvalue for hazard in HAZARDS]
        parts += [chances[0] < 0.05, *(chance >= 0.05 for chance in chances[1:])]
        found.append(f"{error} {listed(chances, '.1g')}")
    return Claim(
        "Fig. 3D",
        "The difference between SMiLe and Nassar 2010 is significant at the smallest hazard only.",
        "significant at H = 0.01 only, by a test that is not named",
        f"p of paired t-tests over episodes at H = {listed(HAZARDS)}: {'; '.join(found)}. Bars of one standard "
        f"deviation overlap {_overlaps(numbers)}",
        verdict(parts),
        "Pairing the same episodes shows differences that are small beside the spread between episodes; whether bars "
        "overlap, which is perhaps what the paper went by, does not decide whether means differ.",
    )


def _overlaps(numbers: Numbers) -> str:
    """At which hazards the bars of SMiLe and Nassar 2010 overlap: those over episodes, and those over single trials."""
    found: dict[str, list[str]] = {"episodes": [], "trials": []}
    for error in ERRORS:
        means, spreads = _table(numbers, error), _table(numbers, f"{error}_std")
        apart = abs(means.mean()[SMILE] - means.mean()[NASSAR])
        over = {"episodes": means.var(), "trials": (spreads**2).mean() + means.var(ddof=0)}
        for name, variance in over.items():
            reach = np.sqrt(variance[SMILE]) + np.sqrt(variance[NASSAR])
            at = listed(hazard for hazard in HAZARDS if apart[hazard] < reach[hazard])
            found[name].append(f"{error} {'at H = ' + at if at else 'nowhere'}")
    return "; ".join(f"over {name}: {', '.join(where)}" for name, where in found.items())


def _gap_shrinks(numbers: Numbers) -> Claim:
    cases: Cases = {}
    for error in ERRORS:
        table = _table(numbers, error)
        cases |= _growth(table[NASSAR] - table[SMILE], error)
    says = "The smaller the hazard, the further SMiLe falls behind Nassar 2010: it stays restless in a stable world."
    what = f"by how much less the error of {SMILE} exceeds that of {NASSAR} from one hazard to the next"
    return _compared("section 2.4", says, "no number", what, cases)
