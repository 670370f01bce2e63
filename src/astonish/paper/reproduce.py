"""Which figures are there, and how are they made, the same from the same settings, without computing twice?

The report on them says which claims of the paper hold, on one page, as HTML and as Markdown.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

from astonish import __version__
from astonish.core.refusal import unknown
from astonish.io.files import locked, write_text
from astonish.paper.ceiling import CEILING
from astonish.paper.choices import CHOICES_FIGURE
from astonish.paper.claims import FAILS, HOLDS, IN_PART, Claim
from astonish.paper.cost import COST
from astonish.paper.drift import DRIFT
from astonish.paper.em import EM
from astonish.paper.figure import Figure, RunSettings, Tables
from astonish.paper.figure1 import FIGURE_1
from astonish.paper.figure2 import FIGURE_2
from astonish.paper.figure3 import FIGURE_3
from astonish.paper.figure4 import FIGURE_4
from astonish.paper.figure5 import FIGURE_5
from astonish.paper.figure6 import FIGURE_6
from astonish.paper.figure7 import FIGURE_7
from astonish.paper.figure8 import FIGURE_8
from astonish.paper.links import LINK_CHOICE
from astonish.paper.notes import INCONSISTENCIES, NOT_TESTABLE, Note
from astonish.paper.readings import READINGS_FIGURE
from astonish.paper.sweeps import SWEEPS
from astonish.report.style import STYLE, html_table, page, picture, row, save_figure, section

FIGURES: Sequence[Figure] = (
    FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8,
    CEILING, SWEEPS, READINGS_FIGURE, EM, COST, DRIFT, LINK_CHOICE, CHOICES_FIGURE,
)  # fmt: skip
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
NOTES: dict[str, tuple[Note, ...]] = {
    "Where the paper contradicts itself": INCONSISTENCIES,
    "What simulations cannot test": NOT_TESTABLE,
}
NOTE_COLUMNS = ["place in the paper", "it says", "what is to be said to it"]
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold as stated"}
MARKS = {HOLDS: "✓", IN_PART: "◐", FAILS: "✗"}  # for those who do not see the colour
COLOURS = {HOLDS: "holds", IN_PART: "in-part", FAILS: "fails"}


class FigureResult(NamedTuple):
    """A figure that was made: what its tables say to the paper's claims, and its picture."""

    figure: Figure
    claims: list[Claim]
    png: bytes


def chosen(names: Sequence[str], thorough: bool = False) -> list[Figure]:
    """The figures of these names, each once and in the paper's order; all of them when there are no names.

    thorough: whether those that take long are among all.

    >>> [figure.name for figure in chosen(["ceiling", "fig3", "Figure 1", "3"])]
    ['1', '3', 'ceiling']
    """
    known = [figure.name for figure in FIGURES]
    bare = {re.sub(r"^fig(ure)?[ .]*", "", name.strip().lower()): name for name in names}
    for name, typed in bare.items():
        if name not in known:
            raise unknown("figure", typed, known)
    if not names:
        return [figure for figure in FIGURES if thorough or not figure.thorough]
    return [figure for figure in FIGURES if figure.name in bare]


def numbers_folder(out: Path, settings: RunSettings) -> Path:
    """Where the tables of a reproduction are, and the results they are made of."""
    return out / "numbers" / "-".join(filter(None, [settings.size, f"seed-{settings.seed}"]))


def runs_of(settings: RunSettings) -> list[RunSettings]:
    """The run itself, or one for each of the seeds of a thorough one."""
    return [settings._replace(seed=settings.seed + k) for k in range(SEEDS if settings.thorough else 1)]


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
    results: list[FigureResult] = []
    found: list[list[Claim]] = []  # of one figure, for each seed
    sentences, runs = set(), runs_of(settings)

    def report(share: float) -> None:
        progress((len(results) + (len(found) + share) / len(runs)) / len(figures))

    def say_once(sentence: str) -> None:
        if sentence not in sentences:
            sentences.add(sentence)
            say(sentence)

    with locked(out):
        for leftover in (out / "numbers").glob("*/.*.csv.*"):  # what a killed run left
            leftover.unlink()
        for figure in figures:
            say(f"{figure.label}: {figure.title}")
            found, png = [], b""
            for run in runs:
                report(0.0)
                tables = figure.compute(run, numbers_folder(out, run), report, say_once)
                png = png or _drawn(figure, tables, out)
                found.append([claim._replace(figure=figure.name) for claim in figure.claims(tables)])
            results.append(FigureResult(figure, _over_seeds(found), png))
        claims = [claim for result in results for claim in result.claims]
        write_text(out / "claims.json", claims_json(claims))
        write_text(out / "report.md", markdown(results, settings, command))
        write_text(out / "report.html", html(results, settings, command))
    return results


def _drawn(figure: Figure, tables: Tables, out: Path) -> bytes:
    with mpl.rc_context(STYLE):
        return save_figure(figure.draw(tables), out / figure.stem)


def _over_seeds(found: Sequence[list[Claim]]) -> list[Claim]:
    """The claims of the first seed, each with the number of seeds that lead to the same verdict, if there are more."""
    if len(found) == 1:
        return found[0]
    verdicts = zip(*([claim.verdict for claim in claims] for claims in found), strict=True)
    same = (f"{each.count(each[0])} of {len(each)}" for each in verdicts)
    return [claim._replace(seeds=seeds) for claim, seeds in zip(found[0], same, strict=True)]


def count(claims: Iterable[Claim]) -> str:
    """How many claims of the paper hold, in one sentence, and in another how often seeds agree.

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
    return f"{total} {_agreement(theirs)}".strip()


def _agreement(claims: Sequence[Claim]) -> str:
    """Whether all seeds lead to the same verdicts, if there are several."""
    number = claims[0].seeds.partition(" of ")[2]
    if not number:
        return ""
    same = sum(claim.seeds == f"{number} of {number}" for claim in claims)
    return f"{'All' if same == len(claims) else same} verdicts are the same for each of {number} seeds."


class _Table(NamedTuple):
    """A table of the report: its heading, what its columns are called, and a row and a verdict for each claim."""

    heading: str
    columns: list[str]
    claims: list[Claim]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return [_cells(claim) for claim in self.claims]


def _claim_tables(results: Sequence[FigureResult]) -> list[_Table]:
    """The paper's claims, and what we found beyond them."""
    claims = [claim for result in results for claim in result.claims]
    tables = [
        _Table("Claims of the paper", COLUMNS, [claim for claim in claims if not claim.ours]),
        _Table("Findings of our own", OWN, [claim for claim in claims if claim.ours]),
    ]
    return [table for table in tables if table.claims]


def _notes(results: Sequence[FigureResult]) -> dict[str, tuple[Note, ...]]:
    """What is to be said of the paper besides, if the figures are its own."""
    return NOTES if any(result.figure in FIGURES for result in results) else {}


def markdown(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """The report for a folder that holds the pictures. command: see `reproduce`."""
    claims = [claim for result in results for claim in result.claims]
    parts = [f"# {TITLE}", f"**{count(claims)}**", f"> **{QUICK}**" if settings.quick else "", _about(settings)]
    parts += [f"Made by astonish {__version__} with `{_command(results, settings, command)}`"]
    for table in _claim_tables(results):
        parts += [f"## {table.heading}", markdown_table(table.columns, table.rows)]
    for heading, notes in _notes(results).items():
        parts += [f"## {heading}", markdown_table(NOTE_COLUMNS, notes)]
    parts += ["## Figures"]
    for figure, _, _ in results:
        title, caption = _plain(figure.title), _plain(figure.caption)
        parts += [f"### {figure.label}: {title}", f"![{caption}]({figure.stem}.png)", caption]
    return "\n\n".join(filter(None, parts)) + "\n"


def claims_json(claims: Iterable[Claim]) -> str:
    """The claims as data, for documents and pages that refer to them by their `id`."""
    records = [{**claim._asdict(), "mark": MARKS[claim.verdict]} for claim in claims]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def claims_from_json(text: str) -> list[Claim]:
    """The claims that `claims_json` wrote."""
    return [Claim(*(record[field] for field in Claim._fields)) for record in json.loads(text)]


def claims_markdown(claims: Iterable[Claim], columns: Sequence[str] = COLUMNS) -> str:
    """A table of claims as the report shows it."""
    return markdown_table(columns, map(_cells, claims))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text."""
    lines = [columns, ["---"] * len(columns), *([_plain(cell) for cell in cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def html(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """The report in one file, pictures included. command: see `reproduce`."""
    claims = [claim for result in results for claim in result.claims]
    sections = []
    for table in _claim_tables(results):
        rows = [row(c[0], c[1:], COLOURS[claim.verdict]) for c, claim in zip(table.rows, table.claims, strict=True)]
        sections.append(section(table.heading, html_table(table.columns, rows, "claims", table.heading)))
    for heading, notes in _notes(results).items():
        rows = [row(note.where, note[1:]) for note in notes]
        sections.append(section(heading, html_table(NOTE_COLUMNS, rows, "notes", heading)))
    pictures = [picture(png, f"{f.label}: {f.title}", f.stem, f.caption) for f, _, png in results]
    sections.append(section("Figures", *pictures))
    warning = QUICK if settings.quick else ""
    return page(TITLE, count(claims), _about(settings), _command(results, settings, command), sections, warning)


def _about(settings: RunSettings) -> str:
    return ABOUT + (THOROUGH if settings.thorough else "")


def _command(results: Sequence[FigureResult], settings: RunSettings, command: str) -> str:
    """What to type to get the same files."""
    words = [command] if command else ["astonish reproduce", *(result.figure.name for result in results)]
    return " ".join([*words, f"--seed {settings.seed}", *([f"--{settings.size}"] if settings.size else [])])


def _cells(claim: Claim) -> tuple[str, ...]:
    verdict = f"{MARKS[claim.verdict]} {claim.verdict}" + (f" ({claim.seeds} seeds)" if claim.seeds else "")
    return f"{claim.says} ({claim.where})", claim.paper, claim.measured, verdict, claim.why, claim.figure


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", escape(" ".join(text.split()), quote=False))
