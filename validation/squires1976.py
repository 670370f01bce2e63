"""`python -m validation.squires1976`: does surprise at transitions, forgotten together, explain the P300 as published?

Squires, Wickens, Squires & Donchin (1976) measured the P300 that a stimulus A evokes after each sequence of four As and
Bs, where A had a probability of .3, .5 or .7. Meyniel, Maheu & Dehaene (2016) explained it by the surprise of observers
that count leakily: stimuli, or transitions between them. docs/squires1976.md tells the whole story.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import typer
from jax import Array
from pandas import DataFrame, read_csv

from astonish import Beta, Leaky, PerContext, Rows
from astonish.cli.app import guarded
from astonish.core.numbers import FloatArray, double
from astonish.learners.base import Learner, scan

FILE, SOURCE = "p300_by_pattern.csv", "https://github.com/florentmeyniel/MinimalTransitionProbsModel"
NEEDED = (
    f"squires1976 needs a folder with {FILE}, given with --data: a row for each pattern, such as BBBBA, and a column "
    f"for each probability of A, such as p_a=0.5; the amplitudes are in the repository {SOURCE} (MIT licence)"
)
CONDITIONS = (0.5, 0.3, 0.7)
LONGEST, STIMULI, PER_SET = 5, 200, 200  # stimuli in a pattern, and in a sequence; sequences of the published study
LEAKS = range(6, 25)
_EVERY = np.arange(2**LONGEST)  # all patterns of five, as binary numbers in which A is 1
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Observer(NamedTuple):
    """Who is surprised. learner: for the share of the past that is kept. published: leak, R^2, mean squared error."""

    name: str
    learner: Callable[[Any], Learner]
    transitions: bool
    published: tuple[int, float, float] | None = None


class Fit(NamedTuple):
    """How well surprise explains amplitudes at the best leak. lowest, highest: R^2 with a single set of sequences."""

    leak: int
    explained: float
    error: float
    lowest: float
    highest: float


def first_belief(family: Any, keep: Any) -> Any:
    """A flat belief, in counts of which the newest has the weight `keep`, as the authors have it, instead of 1."""
    return family.prior(ones=1 / keep, zeros=1 / keep)


def leaky(family: Any, keep: Any) -> Leaky:
    """The past counts `keep` times as much with every sample."""
    return Leaky(family, keep, first_belief(family, keep))


OBSERVERS = (
    Observer("transitions, leaky together", lambda keep: leaky(Rows(Beta(), 2), keep), True, (16, 0.767, 0.4705)),
    Observer("transitions, leaky apart", lambda keep: PerContext(leaky(Beta(), keep), 2), True),
    Observer("frequencies, leaky", lambda keep: leaky(Beta(), keep), False, (11, 0.658, 0.692)),
)


def read(folder: Path) -> DataFrame:
    """The amplitude for each pattern (rows) and probability of A (columns)."""
    try:
        table = read_csv(folder / FILE, index_col="pattern")
        return table[[f"p_a={probability}" for probability in CONDITIONS]]
    except (OSError, ValueError, KeyError) as problem:
        raise ValueError(f"{folder / FILE} could not be read ({problem}). {NEEDED}") from None


def sequences(rng: np.random.Generator, probability: float, count: int, complete: bool) -> FloatArray:
    """Random sequences of stimuli, 1 for A. complete: only such as contain every pattern of the study."""
    found: list[FloatArray] = []
    while sum(map(len, found)) < count:
        drawn = (rng.random((4 * count, STIMULI)) < probability).astype(int)
        last = _last_five(drawn)
        has_all = np.all([(last == pattern).any(axis=1) for pattern in _EVERY[_EVERY % 2 == 1]], axis=0)
        found.append(drawn[has_all] if complete else drawn)
    return np.concatenate(found)[:count]


def surprise_by_pattern(observer: Observer, leak: float, stimuli: FloatArray, patterns: Iterable[str]) -> FloatArray:
    """The surprise at the last stimulus of each pattern, averaged over all places where the pattern occurs."""
    xs: Any = (stimuli[:, :-1], stimuli[:, 1:]) if observer.transitions else stimuli
    with double():
        surprise = np.asarray(_surprise(observer.learner(jnp.asarray(np.exp(-1 / leak))), xs))
    last = _last_five(stimuli)
    total = np.bincount(last.ravel(), surprise[:, -last.shape[1] :].ravel(), len(_EVERY))
    count = np.bincount(last.ravel(), minlength=len(_EVERY))
    ends = [_EVERY % 2 ** len(pattern) == _binary(pattern) for pattern in patterns]
    return np.array([total[end].sum() / count[end].sum() for end in ends])


def _binary(pattern: str) -> int:
    return int(pattern.replace("A", "1").replace("B", "0"), 2)


def _last_five(stimuli: FloatArray) -> FloatArray:
    """The last five stimuli as a binary number, from the fifth stimulus on."""
    windows = np.lib.stride_tricks.sliding_window_view(stimuli, LONGEST, axis=1)
    return np.asarray(windows @ 2 ** np.arange(LONGEST)[::-1])


@jax.jit
def _surprise(learner: Learner, xs: Any) -> Array:
    return jax.vmap(lambda series: scan(learner, series).surprise)(xs)


def explained(surprise: FloatArray, amplitudes: FloatArray) -> tuple[float, float]:
    """R^2 and the mean squared error of a linear regression of amplitudes on surprise."""
    slope, intercept = np.polyfit(surprise, amplitudes, 1)
    error = float(np.mean((amplitudes - slope * surprise - intercept) ** 2))
    return 1 - error / float(np.var(amplitudes)), error


def fit(observer: Observer, amplitudes: DataFrame, stimuli: list[FloatArray]) -> Fit:
    """The fit at the leak that explains most. stimuli: for each condition, sequences."""
    patterns, data = list(amplitudes.index), amplitudes.to_numpy().T.ravel()

    def regress(leak: int, some: slice) -> tuple[float, float]:
        by_pattern = partial(surprise_by_pattern, observer, leak, patterns=patterns)
        return explained(np.concatenate([by_pattern(stimuli=each[some]) for each in stimuli]), data)

    best = max(LEAKS, key=lambda leak: regress(leak, slice(None))[0])
    sets = [slice(start, start + PER_SET) for start in range(0, len(stimuli[0]), PER_SET)]
    by_set = [regress(best, some)[0] for some in sets]
    return Fit(best, *regress(best, slice(None)), min(by_set), max(by_set))


def compare(amplitudes: DataFrame, sets: int, seed: int) -> str:
    """A table of all observers: with sequences and patterns as published, with any sequences, with all patterns."""
    rng = np.random.default_rng(seed)
    complete, any_of_them = ([sequences(rng, p, sets * PER_SET, only) for p in CONDITIONS] for only in (True, False))
    of_five = amplitudes[amplitudes.index.str.len() == LONGEST]
    lines = [f"{'':29}{'leak':>5}{'R^2':>8}{'error':>8}   R^2, one set    published: leak, R^2, error"]
    for title, table, stimuli in (
        ("patterns of five, sequences that contain all of them", of_five, complete),
        ("patterns of five, any sequences", of_five, any_of_them),
        ("all patterns, any sequences", amplitudes, any_of_them),
    ):
        lines.append(title)
        for observer in OBSERVERS:
            found = fit(observer, table, stimuli)
            numbers = f"{found.leak:5}{found.explained:8.3f}{found.error:8.4f}"
            one_set = f"   {found.lowest:.3f} to {found.highest:.3f}"
            known = observer.published if stimuli is complete else None
            theirs = "" if known is None else "  {:4}, {:.3f}, {:.4f}".format(*known)
            lines.append(f"  {observer.name:27}{numbers}{one_set}{theirs}")
    return "\n".join(lines)


@app.command()
def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the amplitudes.", show_default=False)] = None,
    sets: Annotated[int, typer.Option(min=1, help=f"How many sets of {PER_SET} sequences to average over.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 1,
) -> None:
    """Compare how well surprise explains the P300 with what was published."""
    with guarded(None, "tables need"):
        if data is None:
            raise ValueError(NEEDED)
        print(compare(read(data), sets, seed))


if __name__ == "__main__":
    app()
