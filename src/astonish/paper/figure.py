"""Figures of the paper: simulated tables, a drawing of them, and claims that they decide; and a report on all figures.

A figure's own module holds its simulations, its panels and its claims; here is what figures share.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas import DataFrame

from astonish import __version__
from astonish.core.numbers import double
from astonish.core.refusal import unknown
from astonish.io.files import locked, write_text
from astonish.people.tables.files import ALL_DIGITS
from astonish.report.style import STYLE, html_table, page, picture, row, save_figure, section
from astonish.sweep.run import run_study
from astonish.sweep.study import Result, Setting, Study

if TYPE_CHECKING:
    import matplotlib.figure

Drawing: TypeAlias = "matplotlib.figure.Figure"  # imported when it is drawn: those who want tables do without
Tables = dict[str, DataFrame]
HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold as stated"

# Claims


class Claim(NamedTuple):
    """One statement of the paper, checked.

    id: its stable name, by which documents and pages refer to it. where: its place in the paper. says: the statement,
    in our words. paper: the paper's value. measured: ours, with a confidence interval over episodes where there are
    episodes, at the paper's own parameters and in its own quantity. verdict: `HOLDS`, `IN_PART` or `FAILS`. why: one or
    two sentences; what holds at other settings is said here. ours: whether the statement is a finding of our own.
    seeds: with how many seeds the verdict is the same, and of how many; None for one seed. figure: the name of the
    figure whose numbers decide it.
    """

    id: str
    where: str
    says: str
    paper: str
    measured: str
    verdict: str
    why: str
    ours: bool = False
    seeds: tuple[int, int] | None = None
    figure: str = ""


class Interval(NamedTuple):
    """A mean (or median), and the ends of its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}" for number in self)
        return f"{mean} ({low} to {high})"


def interval(episodes: ArrayLike) -> Interval:
    """Compute the mean of one number per episode (those that are not NaN), and Student's interval for it.

    >>> print(interval([1.0, 2.0, 3.0]))
    2 (-0.484 to 4.48)
    """
    from scipy.special import stdtrit

    values = np.asarray(episodes, float)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values.mean()) if len(values) else np.nan, np.nan, np.nan)
    half = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values))
    return Interval(values.mean(), values.mean() - half, values.mean() + half)


def median(episodes: ArrayLike) -> Interval:
    """Compute the median of one number per episode (those that are not NaN), and an interval from their order alone.

    The interval runs between two of the numbers, chosen by the binomial distribution, whatever theirs is.

    >>> print(median(range(1, 22)))
    11 (6 to 16)
    """
    from scipy import stats  # which takes a second

    values = np.sort(np.asarray(episodes, float))
    values = values[~np.isnan(values)]
    if len(values) < 6:
        return Interval(float(np.median(values)) if len(values) else np.nan, np.nan, np.nan)
    first = int(stats.binom.ppf(0.025, len(values), 0.5)) - 1
    return Interval(float(np.median(values)), values[first], values[len(values) - 1 - first])


def verdict(parts: Any) -> str:
    """Judge a claim by its parts: `HOLDS` if all of them do, `FAILS` if none does."""
    held = [bool(part) for part in parts]
    return HOLDS if all(held) else IN_PART if any(held) else FAILS


def same(a: Any, b: Any) -> bool:
    """Tell whether numbers are equal to within rounding.

    >>> same([0.1 + 0.2, 1.0], [0.3, 1.0]), same(0.3, 0.31)
    (True, False)
    """
    return bool(np.allclose(a, b, rtol=0, atol=1e-9))


def listed(values: Any, form: str = "g") -> str:
    """List numbers as a claim tells them.

    >>> listed([0.5, 2], ".2f")
    '0.50, 2.00'
    """
    return ", ".join(f"{value:{form}}" for value in values)


def missed(differences: Mapping[str, Interval]) -> list[str]:
    """Name the differences whose interval is not above zero.

    >>> missed({"a": Interval(1, 0.5, 2), "b": Interval(1, -1, 3), "c": Interval(-2, -3, -1)})
    ['b (undecided)', 'c (reversed)']
    """
    return [f"{name} ({'reversed' if i.high < 0 else 'undecided'})" for name, i in differences.items() if not i.low > 0]


# Tables and panels


def by_episode(**columns: Any) -> DataFrame:
    """Make a table of one row per episode, which are numbered."""
    return DataFrame(columns).rename_axis("episode").reset_index()


def wide(table: DataFrame, rows: str, columns: str | list[str], values: str) -> Any:
    """Lay out one column of a table by others."""
    return table.pivot(index=rows, columns=columns, values=values)


def panels(rows: int, columns: int, size: tuple[float, float], letters: str, **options: Any) -> tuple[Drawing, Any]:
    """Make a drawing of panels, each with its letter. size: in inches. options: of `plt.subplots`."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", **options)
    letter_panels(axes.flat, letters)
    return figure, axes


def letter_panels(axes: Iterable[Any], letters: str, **place: Any) -> None:
    """Put a bold letter at the upper left corner of each panel."""
    for axis, letter in zip(axes, letters, strict=False):
        axis.set_title(letter, loc="left", fontweight="bold", **place)


# A figure


class RunSettings(NamedTuple):
    """The settings of a reproduction.

    seed: of all random numbers. quick: simulations are small, to see that they work. thorough: there are more walks.
    """

    seed: int = 1
    quick: bool = False
    thorough: bool = False

    @property
    def size(self) -> str:
        return "quick" if self.quick else "thorough" if self.thorough else ""


Simulation = Callable[[RunSettings], DataFrame | Tables]


@dataclass(frozen=True)
class Figure:
    """One figure.

    name: as people type it. caption: what it shows, in our words. source: simulations, in double precision, each with
    the name of its table if it gives a single one; or the study that is to be computed. draw, claims: from the tables
    alone. tables: those in the results of a study, by name. thorough: whether it takes so long that it is made only if
    asked for, or in a thorough run.
    """

    name: str
    title: str
    caption: str
    source: Mapping[str, Simulation] | Callable[[RunSettings], Study]
    draw: Callable[[Tables], Drawing]
    claims: Callable[[Tables], list[Claim]]
    tables: Callable[[Study, Mapping[str, Result]], Tables] | None = None
    thorough: bool = False

    @property
    def stem(self) -> str:
        """The name of its files, without their ending."""
        return f"figure{self.name}" if self.name.isdecimal() else self.name

    @property
    def label(self) -> str:
        """Its name as a heading."""
        return f"Figure {self.name}" if self.name.isdecimal() else self.name.capitalize()

    def study(self, run: RunSettings) -> Study:
        """Describe what is to be computed; each simulation is a setting, whose result is tables as the bytes of CSV."""
        if not isinstance(self.source, Mapping):
            return self.source(run)
        simulations = self.source

        def simulate(setting: Setting) -> Result:
            name = setting["simulation"]
            with double():
                result = simulations[name](RunSettings(setting["seed"], setting["quick"], setting["thorough"]))
            tables = {name: result} if isinstance(result, DataFrame) else result
            return {key: np.frombuffer(table.to_csv(index=False).encode(), np.uint8) for key, table in tables.items()}

        return Study({name: {"simulation": name, **run._asdict()} for name in simulations}, simulate)

    def compute(
        self,
        settings: RunSettings,
        folder: Path | None = None,
        progress: Callable[[float], Any] = lambda _: None,
        say: Callable[[str], Any] = lambda _: None,
    ) -> Tables:
        """Compute the tables of the figure.

        folder: where results are stored, in a folder of the figure's own, and each table is written as CSV. Tables are
        read from their CSV, so that they are the same whether or not they were computed before.
        """
        study = self.study(settings)
        run = run_study(study, folder and folder / self.stem, recompute=True, progress=progress, say=say)
        for name, why in run.failed.items():
            raise RuntimeError(f"{self.label}: {name} failed:\n{why}")
        if self.tables is None:
            csvs = {name: np.asarray(csv).tobytes() for of_one in run.results.values() for name, csv in of_one.items()}
        else:
            tables = self.tables(study, run.results)
            csvs = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
        for name, csv in csvs.items():
            if folder is not None:
                write_text(folder / f"{self.stem}_{name}.csv", csv.decode())
        return {name: read_csv(csv) for name, csv in csvs.items()}


def read_csv(text: bytes) -> DataFrame:
    """Read a table with every digit as it was written; only an empty cell is NaN: a learner may be called "None"."""
    return pd.read_csv(BytesIO(text), keep_default_na=False, na_values=[""], **ALL_DIGITS)


# All figures, and the report on them

MODULES = {  # of each figure, which is FIGURE_<NAME> in its module, imported when it is made
    **{number: f"figure{number}" for number in "12345678"},
    "ceiling": "smile_limits",
    "sweeps": "maze_learners",
    "readings": "variants",
    "em": "maze_learners",
    "cost": "smile_limits",
    "drift": "smile_limits",
    "links": "variants",
    "choices": "variants",
}
TITLE = "Balancing new against old information, made again"
ABOUT = (
    "What Faraji, Preuschoff & Gerstner say in “Balancing New Against Old Information: The Role of Surprise in "
    "Learning” (2018), and what new simulations say to it. Brackets hold 95 % confidence intervals over episodes."
)
THOROUGH = (
    " This was a thorough run: there are 100 walks where captions say 20 or 10, numbers and pictures are those of the "
    "first seed, and brackets behind a verdict say with how many seeds it is the same."
)
QUICK = "This was a quick run: its numbers come from very small simulations, and its verdicts are not to be trusted."
SEEDS = 5  # of a thorough run
COLUMNS = ["claim, and its place in the paper", "paper", "measured", "verdict", "why", "figure"]
OWN = ["finding", "expected", "measured", "verdict", "why", "figure"]
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold as stated"}
MARKS = {HOLDS: "✓", IN_PART: "◐", FAILS: "✗"}  # for those who do not see the colour
COLOURS = {HOLDS: "holds", IN_PART: "in-part", FAILS: "fails"}
NOTE_COLUMNS = ["place in the paper", "it says", "what is to be said to it"]
NOTES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Where the paper contradicts itself": (
        (
            "caption of Fig. 3C",
            "The best fixed gamma decreases with the hazard rate, indicating that a bigger gamma is preferred in "
            "volatile environments.",
            "The two halves of the sentence exclude each other; the second is so (figure 3).",
        ),
        (
            "caption of Fig. 5C",
            "The error is a norm with index 2, and equal to the sum of the squares over 256.",
            "No norm with index 2 is that sum: the Frobenius norm would be its root, the spectral norm is the largest "
            "singular value. Which of them was computed decides two claims (figure readings).",
        ),
        (
            "section 4.12",
            "The switch probabilities that online EM starts from are very close to the true ones: 0.1 and 0.005.",
            "One is twenty times the other; from the true value online EM is faster (figure em).",
        ),
        (
            "section 3, new versus old information",
            "The algorithm increases model uncertainty in the face of surprising data.",
            "In the paper's own Gaussian task, with its prior as uncertain as one sample, the uncertainty is the same "
            "for ever (figure 3).",
        ),
        (
            "caption of Fig. 4, and Fig. 8",
            "Switch probabilities are at most 0.1; the fraction of time in A and the average stay there are two free "
            "parameters.",
            "Short stays in A and a large fraction of time there need a larger probability of leaving B. Figure 8 is "
            "shown with such cells, and its dependence is measured without them, too.",
        ),
    ),
    "What simulations cannot test": (
        (
            "section 3, experimental predictions",
            "In changing environments the activity of noradrenaline correlates with confidence-corrected surprise.",
            "It takes recordings. `astonish surprise` and `regressors` give the surprise of every trial, by this and "
            "the other measures, as columns to correlate with.",
        ),
        (
            "section 3, experimental predictions",
            "Acetylcholine is linked to model uncertainty, and sets a threshold for noradrenaline.",
            "It takes recordings. The uncertainty of a learner is another of those columns.",
        ),
        (
            "sections 1 and 3",
            "Surprise shows in the P300 component and in the size of the pupil, within 400 ms.",
            "It takes recordings. The surprise of a sample does not depend on the update that follows (figure 2), so "
            "it can be as early as the sample.",
        ),
        (
            "section 2.2",
            "Differences in m capture how differently people change their beliefs.",
            "It takes behaviour, of which the paper has none. `astonish fit` estimates m for each participant, and "
            "`astonish compare` says whether SMiLe describes the participants better than other learners.",
        ),
        (
            "section 3",
            "The rule could be implemented by probabilistic population codes, and likelihoods by networks of neurons.",
            "It is a statement about brains; here are the equations alone.",
        ),
    ),
}


class FigureResult(NamedTuple):
    """A figure that was made: what its tables say to the paper's claims, and its picture."""

    figure: Figure
    claims: list[Claim]
    png: bytes


def paper_figure(name: str) -> Figure:
    """Import one of the paper's figures."""
    return getattr(import_module(f"astonish.paper.{MODULES[name]}"), f"FIGURE_{name.upper()}")


def chosen(names: Sequence[str], thorough: bool = False) -> list[Figure]:
    """Choose the figures of these names, each once and in the paper's order; all of them when there are no names.

    thorough: whether those that take long are among all.

    >>> [figure.name for figure in chosen(["ceiling", "fig3", "Figure 1", "3"])]
    ['1', '3', 'ceiling']
    """
    bare = {re.sub(r"^fig(ure)?[ .]*", "", name.strip().lower()): name for name in names}
    for name, typed in bare.items():
        if name not in MODULES:
            raise unknown("figure", typed, list(MODULES))
    figures = [paper_figure(name) for name in MODULES if name in bare or not names]
    return [figure for figure in figures if names or thorough or not figure.thorough]


def numbers_folder(out: Path, settings: RunSettings) -> Path:
    """Say where the tables of a reproduction are, and the results they are made of."""
    return out / "numbers" / "-".join(filter(None, [settings.size, f"seed-{settings.seed}"]))


def reproduce(
    figures: Sequence[Figure],
    settings: RunSettings,
    out: Path,
    progress: Callable[[float], Any] = lambda _: None,
    say: Callable[[str], Any] = lambda _: None,
    command: str = "",
) -> list[FigureResult]:
    """Compute and draw the figures into the folder, and a report on all of them.

    progress: is called with the share that is done. say: is called with a line about each figure, and with sentences
    about what is not as expected. command: what was typed, but for the settings, if not `astonish reproduce`.
    """
    import matplotlib as mpl

    runs = [settings._replace(seed=settings.seed + k) for k in range(SEEDS if settings.thorough else 1)]
    results: list[FigureResult] = []
    by_seed: list[list[Claim]] = []  # of one figure
    say_once = cache(say)  # what is not as expected may be so for every seed

    def report(share: float) -> None:
        progress((len(results) + (len(by_seed) + share) / len(runs)) / len(figures))

    with locked(out):
        for leftover in (out / "numbers").glob("*/.*.csv.*"):  # what a killed run left
            leftover.unlink()
        for figure in figures:
            say(f"{figure.label}: {figure.title}")
            by_seed, png = [], b""
            for run in runs:
                report(0.0)
                tables = figure.compute(run, numbers_folder(out, run), report, say_once)
                if not png:
                    with mpl.rc_context(STYLE):
                        png = save_figure(figure.draw(tables), out / figure.stem)
                by_seed.append([claim._replace(figure=figure.name) for claim in figure.claims(tables)])
            results.append(FigureResult(figure, over_seeds(by_seed), png))
        claims = [claim for result in results for claim in result.claims]
        write_text(out / "claims.json", claims_json(claims))
        write_text(out / "report.md", markdown(results, settings, command))
        write_text(out / "report.html", html(results, settings, command))
    return results


def over_seeds(by_seed: Sequence[list[Claim]]) -> list[Claim]:
    """Give the claims of the first seed, each with the number of seeds of the same verdict, if there are several."""
    if len(by_seed) == 1:
        return by_seed[0]
    agree = [[claim.verdict for claim in claims].count(claims[0].verdict) for claims in zip(*by_seed, strict=True)]
    return [claim._replace(seeds=(number, len(by_seed))) for claim, number in zip(by_seed[0], agree, strict=True)]


def count(claims: Iterable[Claim]) -> str:
    """Say how many claims of the paper hold, in one sentence, and in another how often seeds agree.

    >>> claim = Claim("sky", "Figure 9", "The sky is blue.", "blue", "blue", HOLDS, "It is.")
    >>> count([claim, claim, claim._replace(verdict=FAILS), claim._replace(ours=True)])
    'Of 3 claims of the paper, 2 hold, 0 hold in part, 1 does not hold as stated.'
    """
    theirs = [claim for claim in claims if not claim.ours]
    if not theirs:
        return "There are no claims to check."
    numbers = Counter(claim.verdict for claim in theirs)
    parts = ", ".join(f"{numbers[v]} {v if numbers[v] == 1 else plural}" for v, plural in PLURALS.items())
    total = f"Of {len(theirs)} claim{'s' if len(theirs) > 1 else ''} of the paper, {parts}."
    if theirs[0].seeds is None:
        return total
    seeds = theirs[0].seeds[1]
    agree = sum(claim.seeds == (seeds, seeds) for claim in theirs)
    return f"{total} {'All' if agree == len(theirs) else agree} verdicts are the same for each of {seeds} seeds."


def _tables(results: Sequence[FigureResult]) -> Iterator[tuple[str, list[str], Sequence[tuple[str, ...]], list[str]]]:
    """The paper's claims, what we found beyond them, and notes on the paper if the figures are its own.

    Of each table its heading, columns, rows, and how the rows look where they are claims.
    """
    claims = [claim for result in results for claim in result.claims]
    for heading, columns, ours in (("Claims of the paper", COLUMNS, False), ("Findings of our own", OWN, True)):
        if some := [claim for claim in claims if claim.ours == ours]:
            yield heading, columns, [_cells(claim) for claim in some], [COLOURS[claim.verdict] for claim in some]
    if any(result.figure.name in MODULES for result in results):
        for heading, notes in NOTES.items():
            yield heading, NOTE_COLUMNS, notes, []


def markdown(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """Write the report for a folder that holds the pictures. command: see `reproduce`."""
    claims = [claim for result in results for claim in result.claims]
    parts = [f"# {TITLE}", f"**{count(claims)}**", f"> **{QUICK}**" if settings.quick else ""]
    parts += [ABOUT + THOROUGH if settings.thorough else ABOUT]
    parts += [f"Made by astonish {__version__} with `{_command(results, settings, command)}`"]
    for heading, columns, rows, _ in _tables(results):
        parts += [f"## {heading}", markdown_table(columns, rows)]
    parts += ["## Figures"]
    for figure, _, _ in results:
        title, caption = _plain(figure.title), _plain(figure.caption)
        parts += [f"### {figure.label}: {title}", f"![{caption}]({figure.stem}.png)", caption]
    return "\n\n".join(filter(None, parts)) + "\n"


def html(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """Write the report in one file, pictures included. command: see `reproduce`."""
    sections = []
    for heading, columns, rows, looks in _tables(results):
        lines = [row(cells[0], cells[1:], look) for cells, look in zip(rows, looks or [""] * len(rows), strict=True)]
        sections.append(section(heading, html_table(columns, lines, "claims" if looks else "notes", heading)))
    pictures = [picture(png, f"{f.label}: {f.title}", f.stem, f.caption) for f, _, png in results]
    sections.append(section("Figures", *pictures))
    lead, warning = count(claim for result in results for claim in result.claims), QUICK if settings.quick else ""
    about = ABOUT + THOROUGH if settings.thorough else ABOUT
    return page(TITLE, lead, about, _command(results, settings, command), sections, warning)


def claims_json(claims: Iterable[Claim]) -> str:
    """Write the claims as data, for documents and pages that refer to them by their `id`."""
    records = [{**claim._asdict(), "mark": MARKS[claim.verdict]} for claim in claims]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def claims_from_json(text: str) -> list[Claim]:
    """Read the claims that `claims_json` wrote."""
    claims = [Claim(*(record[field] for field in Claim._fields)) for record in json.loads(text)]
    return [claim._replace(seeds=claim.seeds and (claim.seeds[0], claim.seeds[1])) for claim in claims]


def claims_markdown(claims: Iterable[Claim], columns: Sequence[str] = COLUMNS) -> str:
    """Write a table of claims as the report shows it."""
    return markdown_table(columns, map(_cells, claims))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of plain text."""
    lines = [columns, ["---"] * len(columns), *([_plain(cell) for cell in cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _command(results: Sequence[FigureResult], settings: RunSettings, command: str) -> str:
    """What to type to get the same files."""
    words = [command] if command else ["astonish reproduce", *(result.figure.name for result in results)]
    return " ".join([*words, f"--seed {settings.seed}", *([f"--{settings.size}"] if settings.size else [])])


def _cells(claim: Claim) -> tuple[str, ...]:
    mark = f"{MARKS[claim.verdict]} {claim.verdict}"
    if claim.seeds is not None:
        mark += f" ({claim.seeds[0]} of {claim.seeds[1]} seeds)"
    return f"{claim.says} ({claim.where})", claim.paper, claim.measured, mark, claim.why, claim.figure


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", escape(" ".join(text.split()), quote=False))
