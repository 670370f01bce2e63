"""Fill docs/verdicts.md with what a thorough reproduction found, and copy its pictures.

    python docs/verdicts.py [FOLDER]

FOLDER is that of `astonish reproduce --thorough --out FOLDER`. What stands between a comment that says what belongs
there and the comment "end" is replaced: the sentence that counts verdicts, the claims with some verdicts, those that
begin with some words, or a whole table of the report. The claims of the page are then written for the tour of
`astonish explore`; without a folder, nothing else is.
"""

import json
import re
import sys
from html import unescape
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).with_suffix(".md")
TOUR = PAGE.parents[1] / "src" / "astonish" / "explorer" / "tour" / "verdicts.json"
PICTURES = PAGE.parent / "_static" / "reproduction"
BLOCK = re.compile(r"(<!-- (counts|verdicts|rows|table)(?:: (.*?))? -->\n).*?(<!-- end -->)", re.DOTALL)
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^#|\Z)", re.DOTALL | re.MULTILINE)
CLAIMS = "Claims of the paper"


def filled(page: str, report: str) -> str:
    """The page with the numbers of this report."""
    tables = {heading: _table(section) for heading, section in SECTION.findall(report)}

    def block(found: re.Match[str]) -> str:
        start, kind, which, end = found.groups()
        if kind == "counts":
            return f"{start}\n{_counts(report)}\n\n{end}"
        if kind == "table":
            return f"{start}\n{_join(tables[which])}\n{end}"
        if kind == "verdicts":
            wanted = [row for row in tables[CLAIMS][2:] if row.split(" | ")[3][0] in which]
        else:
            every = [row for table in tables.values() for row in table[2:]]
            wanted = [row for words in which.split(" | ") for row in every if row.startswith(f"| {words}")]
        return f"{start}\n{_join([*tables[CLAIMS][:2], *wanted])}\n{end}"

    return BLOCK.sub(block, page)


def claims_of(page: str) -> list[dict[str, str]]:
    """The claims of the paper that stand in the page with their verdicts, as plain text."""
    rows = [row for block in BLOCK.finditer(page) if block[2] == "verdicts" for row in _table(block[0])[2:]]
    return [_claim(row) for row in rows]


def _claim(row: str) -> dict[str, str]:
    """A row of the page, whose first cell ends with the place in the paper, and whose verdict begins with a mark."""
    says, paper, measured, verdict, why, figure = map(_text, row.strip("| ").split(" | "))
    says, where = says.removesuffix(")").rsplit(". (", 1)
    mark, words = verdict.split(" ", 1)
    words, _, seeds = words.partition(" (")
    found = {"says": f"{says}.", "where": where, "paper": paper, "measured": measured, "mark": mark, "verdict": words}
    return {**found, "seeds": seeds.removesuffix(" seeds)"), "why": why, "figure": figure}


def _text(cell: str) -> str:
    """What Markdown shows of a cell."""
    return unescape(re.sub(r"\\([\\`*_\[\]|~$])", r"\1", cell))


def _table(section: str) -> list[str]:
    return [line for line in section.splitlines() if line.startswith("| ")]


def _counts(report: str) -> str:
    found = re.search(r"\*\*Of .*", report)
    if found is None:
        raise ValueError("the report counts no verdicts; give the folder of a reproduction")
    return found[0]


def _join(rows: list[str]) -> str:
    return "\n".join(rows) + "\n"


def write_claims() -> None:
    """Write the claims of the page for the tour."""
    claims = claims_of(PAGE.read_text(encoding="utf-8"))
    TOUR.write_text(json.dumps(claims, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    """Fill the page, and copy the pictures that it shows."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), (folder / "report.md").read_text(encoding="utf-8")))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in re.findall(r"_static/reproduction/(\w+\.png)", PAGE.read_text(encoding="utf-8")):
        small = Image.open(folder / name).convert("RGB").quantize(128)
        small.save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        main(Path(given))
    write_claims()
