"""Which figures are there, and how are they made, the same from the same settings, without computing twice?

The report on them says which claims of the paper hold, on one page, as HTML and as Markdown.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

from astonish import __version__
from astonish.io.files import locked, write_text
from astonish.paper.ceiling import CEILING
from astonish.paper.claims import FAILS, HOLDS, IN_PART, Claim
from astonish.paper.figure import Figure, RunSettings
from astonish.paper.figure1 import FIGURE_1
from astonish.paper.figure2 import FIGURE_2
from astonish.paper.figure3 import FIGURE_3
from astonish.paper.figure4 import FIGURE_4
from astonish.paper.figure5 import FIGURE_5
from astonish.paper.figure6 import FIGURE_6
from astonish.paper.figure7 import FIGURE_7
from astonish.paper.figure8 import FIGURE_8
from astonish.paper.sweeps import SWEEPS
from astonish.refusal import unknown
from astonish.report.page import html_table, page, picture, row, section
from astonish.report.style import STYLE, save_figure

FIGURES: Sequence[Figure] = (
    FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8, CEILING, SWEEPS,
)  # fmt: skip
TITLE = "Balancing new against old information, made again"
ABOUT = (
    "What Faraji, Preuschoff & Gerstner say in “Balancing New Against Old Information: The Role of Surprise in "
    "Learning” (2018), and what new simulations say to it. Brackets hold 95 % confidence intervals over episodes."
)
QUICK = "This was a quick run: its numbers come from very small simulations, and its verdicts are not to be trusted."
COLUMNS = ["claim, and its place in the paper", "paper", "measured", "verdict", "why"]
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold as stated"}
MARKS = {HOLDS: "✓", IN_PART: "◐", FAILS: "✗"}  # for those who do not see the colour
COLOURS = {HOLDS: "holds", IN_PART: "in-part", FAILS: "fails"}


class FigureResult(NamedTuple):
    """A figure that was made: what its tables say to the paper's claims, and its picture."""

    figure: Figure
    claims: list[Claim]
    png: bytes


def chosen(names: Sequence[str]) -> list[Figure]:
    """The figures of these names, each once and in the paper's order; all of them when there are no names.

    >>> [figure.name for figure in chosen(["ceiling", "fig3", "Figure 1", "3"])]
    ['1', '3', 'ceiling']
    """
    known = [figure.name for figure in FIGURES]
    bare = {re.sub(r"^fig(ure)?[ .]*", "", name.strip().lower()): name for name in names}
    for name, typed in bare.items():
        if name not in known:
            raise unknown("figure", typed, known)
    return [figure for figure in FIGURES if not names or figure.name in bare]


def numbers_folder(out: Path, settings: RunSettings) -> Path:
    """Where the tables of a reproduction are, and the results they are made of."""
    return out / "numbers" / f"{'quick-' if settings.quick else ''}seed-{settings.seed}"


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
    sentences, folder = set(), numbers_folder(out, settings)

    def report(share: float) -> None:
        progress((len(results) + share) / len(figures))

    def say_once(sentence: str) -> None:
        if sentence not in sentences:
            sentences.add(sentence)
            say(sentence)

    with locked(out):
        for leftover in folder.glob(".*.csv.*"):  # what a killed run left
            leftover.unlink()
        for figure in figures:
            say(f"{figure.label}: {figure.title}")
            report(0.0)
            tables = figure.compute(settings, folder, report, say_once)
            with mpl.rc_context(STYLE):
                png = save_figure(figure.draw(tables), out / figure.stem)
            results.append(FigureResult(figure, figure.claims(tables), png))
        write_text(out / "report.md", markdown(results, settings, command))
        write_text(out / "report.html", html(results, settings, command))
    return results


def count(claims: Iterable[Claim]) -> str:
    """How many claims hold, in one sentence.

    >>> claim = Claim("Figure 9", "The sky is blue.", "blue", "blue", HOLDS, "It is.")
    >>> count([claim, claim, claim._replace(verdict=FAILS)])
    'Of 3 claims, 2 hold, 1 does not hold as stated.'
    """
    numbers = Counter(claim.verdict for claim in claims)
    parts = [f"{numbers[v]} {v if numbers[v] == 1 else plural}" for v, plural in PLURALS.items() if numbers[v]]
    total = f"{numbers.total()} claim{'s' if numbers.total() > 1 else ''}"
    return f"Of {total}, {', '.join(parts)}." if parts else "There are no claims to check."


def markdown(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """The report for a folder that holds the pictures. command: see `reproduce`."""
    claims = [claim for result in results for claim in result.claims]
    table = [COLUMNS, ["---"] * len(COLUMNS), *([_plain(cell) for cell in _cells(claim)] for claim in claims)]
    parts = [f"# {TITLE}", f"**{count(claims)}**", f"> **{QUICK}**" if settings.quick else "", ABOUT]
    parts += [f"Made by astonish {__version__} with `{_command(results, settings, command)}`", "## Claims"]
    parts += ["\n".join(f"| {' | '.join(cells)} |" for cells in table), "## Figures"]
    for figure, _, _ in results:
        title, caption = _plain(figure.title), _plain(figure.caption)
        parts += [f"### {figure.label}: {title}", f"![{caption}]({figure.stem}.png)", caption]
    return "\n\n".join(filter(None, parts)) + "\n"


def html(results: Sequence[FigureResult], settings: RunSettings, command: str = "") -> str:
    """The report in one file, pictures included. command: see `reproduce`."""
    claims = [claim for result in results for claim in result.claims]
    rows = [row(_cells(claim)[0], _cells(claim)[1:], COLOURS[claim.verdict]) for claim in claims]
    pictures = [picture(png, f"{f.label}: {f.title}", f.stem, f.caption) for f, _, png in results]
    sections = [section("Claims", html_table(COLUMNS, rows, "claims", "Claims")), section("Figures", *pictures)]
    warning = QUICK if settings.quick else ""
    return page(TITLE, count(claims), ABOUT, _command(results, settings, command), sections, warning)


def _command(results: Sequence[FigureResult], settings: RunSettings, command: str) -> str:
    """What to type to get the same files."""
    words = [command] if command else ["astonish reproduce", *(result.figure.name for result in results)]
    return " ".join([*words, f"--seed {settings.seed}", *(["--quick"] if settings.quick else [])])


def _cells(claim: Claim) -> tuple[str, ...]:
    verdict = f"{MARKS[claim.verdict]} {claim.verdict}"
    return f"{claim.says} ({claim.where})", claim.paper, claim.measured, verdict, claim.why


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", escape(" ".join(text.split()), quote=False))
