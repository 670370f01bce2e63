"""`python -m validation.searches`: is there anything better than what a fit reports? The tables of docs/searches.md.

Dense grids over all allowed values look for something better, in simulated people and in the position and probability
tasks of Foucault & Meyniel (2024) and the helicopter task of Bruckner, Nassar, Li & Eppinger. Then: do searches with
message passing end, and how far off are estimates from few trials, by likelihood and with weak priors?
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from pandas import DataFrame, read_csv

from astonish import HGF, Beta, Delta, Gaussian, MessagePassing, PearceHall, Smile, VarSmile
from astonish.cli.app import guarded, say
from astonish.core.numbers import FloatArray
from astonish.learners.base import Learner
from astonish.models.parameters import with_parameters
from astonish.online.series import run_many
from astonish.people.fit import Estimate, Fit, Model, Softmax, fit, plan_trials, simulate_responses
from astonish.people.fit.likelihood import Losses
from astonish.people.fit.search import minimise
from astonish.people.fit.space import LIMIT, Priors, Space, usual
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import choose

BETTER = 1e-3  # a log-likelihood that is higher by more than this is something better
STARTS = (10, 3)  # searches for each person


class Case(NamedTuple):
    """Simulated people. kind: of the outcomes. places: of a grid, along each parameter."""

    model: Model
    free: tuple[str, ...]
    kind: str
    places: int = 51


CASES: Mapping[str, Case] = {
    "choices": Case(Model(Delta(0.3, start=0.5), Softmax(3.0)), ("learning_rate", "beta"), "binary"),
    "estimates": Case(
        Model(Delta(0.3), Estimate(noise=1.0, anchored=False)), ("learning_rate", "response.noise"), "continuous"
    ),
    "SMiLe": Case(Model(Smile(Gaussian(2.0)), Estimate(noise=1.0)), ("m",), "continuous", 301),
    "VarSMiLe": Case(
        Model(VarSmile(Gaussian(2.0)), Estimate(noise=1.0, anchored=False)), ("m",), "continuous", 301
    ),  # in one of these people, a second bottom is narrow and far from the usual range
    "Pearce-Hall": Case(
        Model(PearceHall(0.5, 0.3), Estimate(noise=1.0, anchored=False)), ("salience", "renewal"), "continuous"
    ),
    "HGF": Case(Model(HGF(), Softmax(3.0)), ("omega2", "beta"), "binary"),
}
TITLES: Mapping[str, str] = {
    "choices": "delta rule, choices",
    "estimates": "delta rule, estimates",
    "SMiLe": "SMiLe, estimates",
    "VarSMiLe": "VarSMiLe, estimates",
    "Pearce-Hall": "Pearce-Hall, estimates",
    "HGF": "HGF, choices",
}


class Task(NamedTuple):
    """A table of people. columns: those of person, block, outcome and estimate. middle: of what can be estimated.

    before: whether estimates are given before the outcome of their trial.
    """

    file: str
    columns: tuple[str, str, str, str]
    kind: str
    before: bool
    middle: float


_ADA = ("run", "session", "outcome", "estimate")
TASKS: Mapping[str, Task] = {
    "position": Task("ada_learn/main_ada-pos.csv.gz", _ADA, "continuous", False, 0.5),
    "probability": Task("ada_learn/main_ada-prob.csv.gz", _ADA, "binary", False, 0.5),
    "helicopter": Task("helicopter/exp1.csv.gz", ("subj_num", "new_block", "x_t", "b_t"), "continuous", True, 150.0),
}
LEARNERS: Mapping[str, str] = {"delta": "delta rule", "smile": "SMiLe"}
COLUMNS = Columns("outcome", subject="who", block="block", response="estimate")
NEEDED = (
    f"searches needs a folder with {', '.join(task.file for task in TASKS.values())}, given with --data: a row for "
    "each trial, with columns run, session, outcome and estimate (Foucault & Meyniel 2024, doi 10.1162/opmi_a_00139) "
    "or subj_num, new_block, x_t and b_t (Bruckner, Nassar, Li & Eppinger, PsyArXiv nh9bq)"
)


class Size(NamedTuple):
    """How much is computed. seeds: of simulated people; people: how many for each seed; recovered: for the last table.

    places: of a grid over real people's rates. taken: how many real people, at most.
    """

    seeds: int
    people: int
    places: int
    taken: int
    recovered: int


FULL, QUICK = Size(3, 500, 1201, 1000, 400), Size(1, 40, 301, 6, 40)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


# Grids for simulated people


def simulated(case: Case, people: int, steps: int, seed: int) -> Trials:
    """People whose parameters lie anywhere in the usual ranges, in a world that jumps now and then."""
    return simulated_with_truth(case, people, steps, seed)[0]


def simulated_with_truth(case: Case, people: int, steps: int, seed: int) -> tuple[Trials, FloatArray]:
    """The same, and their parameters on the unconstrained scale, a row each."""
    rng, choices = np.random.default_rng(seed), case.model.response.kind == "choice"
    last = np.maximum.accumulate(np.where(rng.random((people, steps)) < 0.1, np.arange(steps), 0), axis=1)
    probability = np.take_along_axis(rng.uniform(0.1, 0.9, (people, steps)), last, 1)
    outcomes = (
        rng.random((people, steps)) < probability
        if case.kind == "binary"
        else 20 * probability + rng.normal(size=(people, steps))
    )
    planned = plan_trials(
        outcomes.astype(int if case.kind == "binary" else float),
        responds_before=choices,
        response_kind="choice" if choices else "continuous",
        kind=case.kind,
    )
    space = Space.of(case.model, case.free)
    like = planned if choices else replace(planned, responses=planned.scalar_outcomes)  # of the same range as outcomes
    low, high = usual(space, like)
    truth = low + (high - low) * rng.random((people, len(space)))
    values = dict(zip(space.names, space.constrained(truth).T, strict=True))
    return simulate_responses(case.model, planned, values, seed=seed), truth


def losses_of(found: Fit) -> FloatArray:
    """What the fit has made as small as it could: minus the log-likelihood and, with priors, the log prior density."""
    mean, precision = found.prior
    return np.asarray(-found.log_likelihood + 0.5 * (precision * (found.unconstrained - mean) ** 2).sum(1))


def better_elsewhere(found: Fit, lowest: FloatArray) -> list[str]:
    """Whose loss is lower elsewhere by more than 0.001. lowest: the least loss that somebody else has found."""
    ours = losses_of(found)
    missed = np.flatnonzero(lowest < ours - BETTER)
    return [f"{found.trials.subjects[who]}: {ours[who]:.5f}, but {lowest[who]:.5f}" for who in missed]


def lowest_on_grids(found: Fit, places: int) -> FloatArray:
    """Each person's least loss on a dense grid over all allowed values, and on ever finer ones about its bottoms."""
    space, people = found.space, np.arange(len(found.values))
    losses = Losses(found.model, found.data, space, found.trials.responds_before, found.prior, 256)
    limit = np.where(np.isfinite(space.limit), space.limit, LIMIT)
    axes = [np.linspace(-each, each, places) for each in limit]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(space))
    heights = (losses(grid, np.full(len(grid), who))[0].reshape([places] * len(space)) for who in people)
    bottoms = [_bottoms(each)[:2] for each in heights]
    whose = np.repeat(people, [len(own) for own in bottoms])
    refined = _refined(losses, whose, grid[np.concatenate(bottoms)], limit, 2 * limit / (places - 1))
    return np.array([refined[whose == who].min() for who in people])


def _bottoms(heights: Any) -> Any:
    """Where a grid is no higher than its neighbours, from the deepest on."""
    low = np.ones(heights.shape, bool)
    for axis in range(heights.ndim):
        along, kept = np.moveaxis(heights, axis, 0), np.moveaxis(low, axis, 0)
        kept[1:] &= along[1:] <= along[:-1]
        kept[:-1] &= along[:-1] <= along[1:]
    places = np.flatnonzero(low)
    return places[np.argsort(heights.ravel()[places])]


def _refined(losses: Losses, whose: Any, x: Any, limit: Any, width: Any) -> Any:
    """The least loss on small grids about each row, which follow its best point, and are finer if that is near."""
    sides = [np.linspace(-1, 1, 7)] * x.shape[1]
    steps = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, x.shape[1])
    width = np.tile(width, (len(x), 1))
    for _ in range(25):
        around = np.clip(x[:, None] + width[:, None] * steps, -limit, limit)
        heights = losses(around.reshape(-1, x.shape[1]), np.repeat(whose, len(steps)))[0].reshape(len(x), -1)
        last, x = x, np.take_along_axis(around, heights.argmin(1)[:, None, None], 1)[:, 0]
        width[(np.abs(x - last) < 0.9 * width).all(1)] *= 0.5
    return heights.min(1)


# Grids for real people


def read(folder: Path, task: Task, taken: int) -> DataFrame:
    """The trials of the first so many people: who, block, outcome and estimate."""
    path = folder / task.file
    try:
        table = read_csv(path, usecols=list(task.columns))[list(task.columns)]
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} could not be read ({problem}). {NEEDED}") from None
    table.columns = ["who", "block", "outcome", "estimate"]
    if task.columns[1] == "new_block":  # 1 on the first trial of a block
        table["block"] = table.groupby("who")["block"].cumsum()
    return table[table["who"].isin(table["who"].unique()[:taken])].astype({"who": str})


def by_block(table: DataFrame) -> DataFrame:
    """The same trials, as if somebody else had gone through each block."""
    return table.assign(who=table["who"] + " in " + table["block"].astype(str))


def trials_of(table: DataFrame, task: Task) -> Trials:
    """The trials to which models are fitted."""
    return read_trials(table, COLUMNS, kind=task.kind, response_kind="continuous", responds_before=task.before)


def squared_errors(learner: Learner, name: str, values: FloatArray, table: DataFrame, before: bool) -> DataFrame:
    """The sum of squared errors of the estimates in each block, a row each, with each value of a parameter.

    Learners go through blocks whose outcomes are the same only once.
    """
    blocks = [part for _, part in table.groupby(["who", "block"], sort=False)]
    seen = [tuple(part["outcome"]) for part in blocks]
    series = {outcomes: k for k, outcomes in enumerate(dict.fromkeys(seen))}
    sums = np.zeros((len(blocks), len(values)))
    for k, value in enumerate(values):
        own = with_parameters(learner, {name: value})
        first = np.atleast_1d(np.asarray(own.estimate(own.init())))
        estimates = [np.asarray(history.estimate) for history in run_many(own, [np.array(each) for each in series])]
        if before:
            estimates = [np.concatenate([first, each[:-1]]) for each in estimates]
        sums[:, k] = [
            np.square(part["estimate"].to_numpy() - estimates[series[outcomes]]).sum()
            for part, outcomes in zip(blocks, seen, strict=True)
        ]
    rows = [(part["who"].iloc[0], part["block"].iloc[0], len(part)) for part in blocks]
    return DataFrame(rows, columns=["who", "block", "count"]).join(DataFrame(sums).add_prefix("at "))


def lowest_at_best_noise(found: Fit, values: FloatArray, errors: DataFrame) -> FloatArray:
    """Each person's least loss: with these values and the noise that is best for each, and downhill from there.

    Searches start at the two deepest bottoms. errors: of these values; see `squared_errors`.
    """
    own = errors.drop(columns="block").groupby("who").sum().loc[list(found.trials.subjects)]
    count, squares = own["count"].to_numpy()[:, None], own.drop(columns="count").to_numpy()
    limit = found.space.limit
    noise = np.clip(np.sqrt(squares / count), np.exp(-limit[1]), np.exp(limit[1]))
    heights = count * np.log(noise) + 0.5 * squares / noise**2 + 0.5 * count * np.log(2 * np.pi)
    bottoms = [_bottoms(each)[:2] for each in heights]
    whose, places = np.repeat(np.arange(len(own)), [len(each) for each in bottoms]), np.concatenate(bottoms)
    begin = found.space.unconstrained(np.stack([values[places], noise[whose, places]], 1))
    losses = Losses(found.model, found.data, found.space, found.trials.responds_before, found.prior)
    ends = minimise(losses, begin, whose, limit=limit, tolerance=1e-6).loss
    return np.array([min(heights[who].min(), ends[whose == who].min()) for who in range(len(own))])


# What was found when others looked


class Looked(NamedTuple):
    """Fits, and where something better was found, by the number of starts."""

    label: str
    places: str
    fits: int
    better: Mapping[int, list[str]]


def looked_at_simulated(name: str, size: Size) -> Looked:
    """Grids over the parameters of simulated people with 25 trials each."""
    case, fits = CASES[name], 0
    better: dict[int, list[str]] = {starts: [] for starts in STARTS}
    for seed in range(1, size.seeds + 1):
        trials = simulated(case, size.people, 25, seed)
        found = {starts: fit(case.model, trials, case.free, starts=starts) for starts in STARTS}
        lowest = lowest_on_grids(found[STARTS[0]], case.places)
        fits += len(lowest)
        for starts, each in found.items():
            better[starts] += [f"seed {seed}, person {line}" for line in better_elsewhere(each, lowest)]
    return Looked(f"simulated: {TITLES[name]}", " x ".join([str(case.places)] * len(case.free)), fits, better)


def looked_at_people(name: str, learner: str, table: DataFrame, places: int) -> Looked:
    """Grids over the rate of real people, in all blocks together and in each by itself, with the best noise."""
    task, free = TASKS[name], {"delta": "learning_rate", "smile": "m"}[learner]
    known = choose(learner, trials_of(table, task), {"start": task.middle} if learner == "delta" else {}).learner
    model = Model(known, Estimate(0.2 * task.middle, anchored=False))
    parts = [trials_of(each, task) for each in (table, by_block(table))]
    fits = {n: [fit(model, part, [free, "response.noise"], starts=n) for part in parts] for n in STARTS}
    return looked(f"{name}: {LEARNERS[learner]}", fits, table, places)


def looked(label: str, fits: Mapping[int, Sequence[Fit]], table: DataFrame, places: int) -> Looked:
    """A grid over the first parameter, from bound to bound, with the best noise at each value.

    fits: by their number of starts, to people and, if there are two, to blocks as people.
    """
    one = fits[STARTS[0]][0]
    own = one.space.only(0)
    values = own.constrained(np.linspace(-own.limit, own.limit, places))[:, 0]
    errors = squared_errors(one.model.learner, one.names[0], values, table, one.trials.responds_before)
    parts = (errors, by_block(errors))[: len(fits[STARTS[0]])]
    lowest = [lowest_at_best_noise(*each) for each in zip(fits[STARTS[0]], [values] * len(parts), parts, strict=True)]
    better = {
        starts: [line for pair in zip(found, lowest, strict=True) for line in better_elsewhere(*pair)]
        for starts, found in fits.items()
    }
    return Looked(label, str(places), sum(map(len, lowest)), better)


def looked_lines(rows: Sequence[Looked]) -> Iterator[str]:
    """The table, and below it who has missed something."""
    heads = "".join(f"{f'{starts} starts':>11}" for starts in STARTS)
    yield f"{'something better, by more than 0.001':38}{'grid':>9}{'fits':>7}{heads}"
    for row in rows:
        counts = [str(len(row.better[starts])) if starts in row.better else "" for starts in STARTS]
        yield f"  {row.label:36}{row.places:>9}{row.fits:7}{''.join(f'{count:>11}' for count in counts)}".rstrip()
    for row in rows:
        for starts, lines in row.better.items():
            yield from (f"  {row.label}, {starts} starts, {line}" for line in lines)


# Message passing


PASSED: Mapping[str, Any] = {
    "merged": MessagePassing(Beta()),
    "dropped": MessagePassing(Beta(), merge=False),
    "none left out": MessagePassing(Beta(), hypotheses=76),
}


class Passed(NamedTuple):
    """A fit with message passing, and the seconds that it took."""

    found: Fit
    seconds: float


def passed(table: DataFrame) -> dict[str, Passed]:
    """Fits of people's probability estimates, if the hypotheses that are too many become one, or are dropped."""
    trials, fits = trials_of(table, TASKS["probability"]), {}
    for label, learner in PASSED.items():
        began = perf_counter()
        model = Model(learner, Estimate(0.1, anchored=False))
        found = fit(model, trials, ["hazard", "response.noise"], starts=STARTS[0])
        fits[label] = Passed(found, perf_counter() - began)
    return fits


def passed_lines(fits: Mapping[str, Passed]) -> Iterator[str]:
    """Whether these searches have ended."""
    yield f"{'message passing':20}{'did not end':>12}{'agreed, mean':>14}{'log-likelihood':>16}{'seconds':>9}"
    for label, (found, seconds) in fits.items():
        ends = f"{(~found.converged).sum()} of {len(found.values)}"
        agreed = f"{found.starts_at_optimum.mean():.1f} of {found.starts}"
        yield f"  {label:18}{ends:>12}{agreed:>14}{found.log_likelihood.sum():16.1f}{seconds:9.0f}"


# Few trials


TRIALS: Mapping[str, tuple[int, ...]] = {"choices": (25, 50, 100, 200, 400), "estimates": (10, 25, 50)}
METHODS: Mapping[str, Priors] = {"likelihood": None, "weak priors": "usual"}


def recovered(case: Case, people: int, steps: int, priors: Priors) -> tuple[int, FloatArray, int]:
    """How many could be fitted, root mean squared errors on the unconstrained scale, and who is at a bound."""
    trials, truth = simulated_with_truth(case, people, steps, seed=1)
    found = fit(case.model, trials, case.free, priors=priors)
    rows = [trials.subjects.index(subject) for subject in found.trials.subjects]
    errors = np.sqrt(np.square(found.unconstrained - truth[rows]).mean(0))
    return len(rows), errors, int(found.space.at_bound(found.unconstrained).any(1).sum())


def few_trials_lines(people: int) -> Iterator[str]:
    """Errors of people's values, by likelihood and with weak priors."""
    head = "".join(f"{method:>12}" for _ in range(3) for method in METHODS)
    yield f"{'few trials':24}{'':16}{'error of rate':>24}{'of beta or noise':>24}{'at a bound':>24}"
    yield f"  {'':22}{'trials':>8}{'people':>8}{head}"
    for name, lengths in TRIALS.items():
        for steps in lengths:
            found = [recovered(CASES[name], people, steps, priors) for priors in METHODS.values()]
            errors = "".join(f"{each[1][k]:12.2f}" for k in range(2) for each in found)
            bounds = "".join(f"{each[2]:12}" for each in found)
            yield f"  {TITLES[name]:22}{steps:8}{found[0][0]:8}{errors}{bounds}"


@app.command()
def main(
    data: Annotated[Path | None, typer.Option(help="Folder of ada_learn/ and helicopter/.", show_default=False)] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few people and coarse grids, to see whether it runs.")
    ] = False,
) -> None:
    """Look for something better than what fits report; do searches with message passing end; what few trials tell."""
    with guarded(None, "tables need", stopped="the same command begins anew"):
        if data is None:
            raise ValueError(NEEDED)
        size = QUICK if quick else FULL
        tables = {name: read(data, task, size.taken) for name, task in TASKS.items()}
        rows = [looked_at_simulated(name, size) for name in _told(CASES)]
        for name in TASKS:
            rows += [looked_at_people(name, learner, tables[name], size.places) for learner in _told(LEARNERS, name)]
        say("message passing")
        fits = passed(tables["probability"])
        merged = {STARTS[0]: [fits["merged"].found]}
        rows.append(looked("probability: message passing", merged, tables["probability"], size.places))
        print("\n".join([*looked_lines(rows), "", *passed_lines(fits), ""]), flush=True)
        say("few trials")
        print("\n".join(few_trials_lines(size.recovered)))


def _told(names: Iterable[str], of: str = "simulated people") -> Iterator[str]:
    """Each of these, after saying that it is its turn."""
    for name in names:
        say(f"{of}: {name}")
        yield name


if __name__ == "__main__":
    app()
