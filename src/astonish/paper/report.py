"""What does somebody read who wants to know whether the paper holds? One page, as HTML and as Markdown."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from astonish import __version__
from astonish.page import page, picture, section, table
from astonish.paper.claims import FAILS, HOLDS, IN_PART, Claim
from astonish.paper.figure import Figure
from astonish.paper.study import Study

TITLE = "Balancing new against old information, made again"
ABOUT = (
    "What Faraji, Preuschoff & Gerstner say in “Balancing New Against Old Information: The Role of Surprise in "
    "Learning” (2018), and what new simulations say to it. Brackets hold 95 % confidence intervals over episodes."
)
QUICK = "This was a quick run: its numbers come from very small simulations, and its verdicts are not to be trusted."
COLUMNS = "claim, and its place in the paper", "paper", "measured", "verdict", "why"
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold as stated"}
MARKS = {HOLDS: "✓", IN_PART: "◐", FAILS: "✗"}  # for those who do not see the colour
COLOURS = {HOLDS: "holds", IN_PART: "in-part", FAILS: "fails"}


class Result(NamedTuple):
    """A figure that was made: what its numbers say to the paper's claims, and its picture."""

    figure: Figure
    claims: list[Claim]
    png: bytes


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


def markdown(results: Sequence[Result], study: Study) -> str:
    """The report for a folder that holds the pictures."""
    claims = [claim for result in results for claim in result.claims]
    table = [COLUMNS, ["---"] * len(COLUMNS), *([_plain(cell) for cell in _cells(claim)] for claim in claims)]
    return "\n\n".join([
        f"# {TITLE}",
        f"**{count(claims)}**",
        *([f"> **{QUICK}**"] if study.quick else []),
        ABOUT,
        f"Made by astonish {__version__} with `{_command(results, study)}`",
        "## Claims",
        "\n".join(f"| {' | '.join(row)} |" for row in table),
        "## Figures",
        *(_picture_in_markdown(result.figure) for result in results),
    ]) + "\n"  # fmt: skip


def html(results: Sequence[Result], study: Study) -> str:
    """The report in one file, pictures included."""
    claims = [claim for result in results for claim in result.claims]
    return page(
        TITLE,
        count(claims),
        ABOUT,
        _command(results, study),
        [
            section("Claims", table(COLUMNS, [_row(claim) for claim in claims], "claims", "Claims")),
            section("Figures", *(_picture_in_html(result) for result in results)),
        ],
        QUICK if study.quick else "",
    )


def _command(results: Sequence[Result], study: Study) -> str:
    """What to type to get the same files."""
    names = [result.figure.name for result in results]
    options = [result.figure.option for result in results if result.figure.option]
    return " ".join(
        ["astonish reproduce", *names, *options, f"--seed {study.seed}", *(["--quick"] if study.quick else [])]
    )


def _cells(claim: Claim) -> tuple[str, ...]:
    verdict = f"{MARKS[claim.verdict]} {claim.verdict}"
    return f"{claim.says} ({claim.where})", claim.paper, claim.measured, verdict, claim.why


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", escape(" ".join(text.split()), quote=False))


def _picture_in_markdown(figure: Figure) -> str:
    title, caption = _plain(figure.title), _plain(figure.caption)
    return f"### {figure.label}: {title}\n\n![{caption}]({figure.stem}.png)\n\n{caption}"


def _row(claim: Claim) -> str:
    says, where, paper, measured, verdict, why = (escape(part) for part in claim)
    return (
        f'<tr><th scope="row">{says} <small>{where}</small></th><td>{paper}</td><td>{measured}</td>'
        f'<td class="verdict {COLOURS[claim.verdict]}">{MARKS[claim.verdict]} {verdict}</td><td>{why}</td></tr>'
    )


def _picture_in_html(result: Result) -> str:
    figure = result.figure
    return picture(result.png, f"{figure.label}: {figure.title}", figure.stem, figure.caption)
