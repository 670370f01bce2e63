"""A setting of the monitor for the Numenta Anomaly Benchmark, chosen without labels.

Series are simulated, with anomalies whose places are known, from general knowledge about measured series alone. A grid
of settings is scored on them by the rule of the benchmark; the best one is then scored on the benchmark itself, once.
docs/streams.md says what came of it.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.random import Generator, default_rng

from astonish.cli.app import guarded
from astonish.core.numbers import FloatArray

from .detectors import at_alarms, daily_surprise
from .nab import PROFILES, NabSeries, best_scores, read_corpus
from .report import laid_out

SEED, SERIES = 20261118, 200
ROWS = (1000, 20_000)
STEPS = (300, 600, 900, 1800, 3600)  # seconds from a row to the next
DAY, WEEKEND = 86_400, 5  # seconds; days of a week before the weekend
SCORED = 0.1  # share of the rows of a series that lie in its windows
RHYTHMS = ("none", "daily", "weekly")
NOISES = ("Gaussian", "heavy", "skewed", "counts")
ANOMALIES = ("spike", "shift", "variance", "rhythm")
START = np.datetime64("2024-01-01T00:00:00", "s")  # a Monday
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Setting(NamedTuple):
    """What can be set of a monitor and of its alarms; as `astonish.monitor` had it before this choice."""

    forgetting: float = 0.001
    rate: float = 0.005
    rest: int = 100
    falls: bool = True


class Parts(NamedTuple):
    """What a series is made of, row by row: its level, what the noise is multiplied by, and the rhythm too."""

    level: FloatArray
    spread: FloatArray
    beat: FloatArray


def grid() -> list[Setting]:
    """Each number as it is, a third of it and three times as much; a level of alarms that falls or does not."""
    return [
        Setting(*each) for each in product((3e-4, 1e-3, 3e-3), (0.0015, 0.005, 0.015), (33, 100, 300), (True, False))
    ]


def simulated(seed: int = SEED, count: int = SERIES) -> dict[str, NabSeries]:
    """So many series with labelled windows, by their numbers."""
    return {str(k): simulate(default_rng([seed, k])) for k in range(count)}


def simulate(rng: Generator) -> NabSeries:
    """One series: level, rhythm and noise, spoilt at 1 to 4 places, and seen through what its kind of numbers is."""
    rows = round(math.exp(rng.uniform(math.log(ROWS[0]), math.log(ROWS[1]))))
    step, kind, rhythm = int(rng.choice(STEPS)), str(rng.choice(NOISES)), str(rng.choice(RHYTHMS))
    seconds = step * np.arange(rows)
    empty = NabSeries(START + seconds.astype("timedelta64[s]"), np.zeros(rows), ())
    places = anomaly_places(rng, rows, empty.probation)
    parts = Parts(np.zeros(rows), np.ones(rows), np.ones(rows))
    possible = ANOMALIES if rhythm != "none" else ANOMALIES[:-1]
    for at in places:
        spoil(rng, parts, str(rng.choice(possible)), at, round(SCORED * rows / len(places)), DAY // step)
    hidden = parts.level + parts.beat * rhythm_of(rng, rhythm, seconds) + parts.spread * noise_of(rng, kind, rows)
    return empty._replace(values=seen(rng, kind, hidden), windows=windows_of(rows, places))


def anomaly_places(rng: Generator, rows: int, probation: int) -> list[int]:
    """Where 1 to 4 anomalies begin: one in each of as many equal parts of what is scored, with its window."""
    count = int(rng.integers(1, 5))
    ends, half = np.linspace(probation, rows, count + 1), SCORED * rows / count / 2
    return [int(rng.uniform(low + half + 1, high - half - 1)) for low, high in pairwise(ends)]


def windows_of(rows: int, places: list[int]) -> tuple[tuple[int, int], ...]:
    """The windows around these places: together a tenth of the rows, each with its place in the middle."""
    half = int(SCORED * rows / len(places) / 2)
    return tuple((at - half, at + half) for at in places)


def spoil(rng: Generator, parts: Parts, kind: str, at: int, width: int, day: int) -> None:
    """Put an anomaly of this kind at a row. width: of its window. day: its rows."""
    sign, length = rng.choice([-1, 1]), round(width * rng.uniform(0.25, 1))
    if kind == "spike":
        parts.level[at : at + int(rng.integers(1, 6))] += sign * rng.uniform(3, 10)
    elif kind == "shift":
        parts.level[at:] += sign * rng.uniform(2, 6)
    elif kind == "variance":
        parts.spread[at : at + length] *= math.exp(sign * rng.uniform(math.log(2), math.log(6)))
    else:
        parts.beat[at : at + max(length, day)] = 0.0


def rhythm_of(rng: Generator, kind: str, seconds: Any) -> FloatArray:
    """A wave of a day, with two weaker ones above it; of a week if it is weaker at weekends; or nothing."""
    phase = 2 * math.pi * seconds / DAY
    waves = [np.sin(k * phase + rng.uniform(0, 2 * math.pi)) * rng.uniform(0.5, 1) / k for k in (1, 2, 3)]
    quiet = rng.uniform(0, 0.7) if kind == "weekly" else 1.0
    size = 0.0 if kind == "none" else rng.uniform(0.5, 4)
    return size * np.where(seconds // DAY % 7 >= WEEKEND, quiet, 1.0) * sum(waves)


def noise_of(rng: Generator, kind: str, rows: int) -> FloatArray:
    """Noise of variance 1, of Student's distribution if heavy; in half of the series it hangs together."""
    shocks = rng.standard_t(3, rows) / math.sqrt(3) if kind == "heavy" else rng.normal(size=rows)
    kept = rng.uniform(0.2, 0.95) if rng.random() < 0.5 else 0.0
    noise, last = np.empty(rows), shocks[0]
    for k, shock in enumerate(shocks.tolist()):
        noise[k] = last = kept * last + math.sqrt(1 - kept**2) * shock
    return noise


def seen(rng: Generator, kind: str, hidden: FloatArray) -> FloatArray:
    """What is measured: the hidden numbers in some unit, or their exponentials, or counts with these as their means."""
    unit = 10 ** rng.uniform(-2, 4)
    if kind == "skewed":
        return unit * np.exp(0.5 * hidden)
    if kind == "counts":
        return rng.poisson(10 ** rng.uniform(0, 2) * np.exp(0.3 * hidden)).astype(float)
    return unit * (hidden + rng.uniform(0, 20))


def scored(corpus: Mapping[str, NabSeries], settings: list[Setting]) -> Iterator[tuple[Setting, dict[str, float]]]:
    """Each setting with its scores on a corpus, under each profile at the threshold that is best there."""
    for forgetting in dict.fromkeys(each.forgetting for each in settings):
        surprises = {name: daily_surprise(series, forgetting=forgetting) for name, series in corpus.items()}
        for setting in (each for each in settings if each.forgetting == forgetting):
            scores = {name: at_alarms(surprise, *setting[1:]) for name, surprise in surprises.items()}
            yield setting, {name: found.score for name, found in best_scores(corpus, scores).items()}


def best_setting(table: Mapping[Setting, Mapping[str, float]]) -> Setting:
    """The setting with the highest score under the standard profile; the first of equal ones."""
    return max(table, key=lambda setting: table[setting]["standard"])


def lines(title: str, table: Mapping[Setting, Mapping[str, float]]) -> str:
    """Settings with their scores, the best first."""
    order = sorted(table, key=lambda setting: -table[setting]["standard"])
    rows = [
        [f"{each.forgetting:g}", f"{each.rate:g}", str(each.rest), "yes" if each.falls else "no"]
        + [f"{table[each][profile]:.2f}" for profile in PROFILES]
        for each in order
    ]
    return f"{title}\n" + laid_out([*Setting._fields, *PROFILES], rows, left=0)


@app.command()
def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder with the benchmark; left out: only choose.", show_default=False)
    ] = None,
) -> None:
    """Choose a setting by simulated series, and score it, and the one that stood before, on the benchmark."""
    with guarded(None, "tables need"):
        table = dict(scored(simulated(), grid()))
        best = best_setting(table)
        print(lines(f"{SERIES} simulated series", table))
        print(f"chosen: {best}")
        if data is not None:
            print(lines("the benchmark", dict(scored(read_corpus(data), list(dict.fromkeys([best, Setting()]))))))


if __name__ == "__main__":
    app()
