"""Fill docs/verdicts.md with what a thorough reproduction found, and copy its pictures.

    python docs/verdicts.py FOLDER

FOLDER is that of `astonish reproduce --thorough --out FOLDER`. What stands between a comment that says what belongs
there and the comment "end" is replaced: the sentence that counts verdicts, the claims with some verdicts, those that
begin with some words, or a whole table of the report.
"""

import re
import sys
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).with_suffix(".md")
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


def _table(section: str) -> list[str]:
    return [line for line in section.splitlines() if line.startswith("| ")]


def _counts(report: str) -> str:
    found = re.search(r"\*\*Of .*", report)
    if found is None:
        raise ValueError("the report counts no verdicts; give the folder of a reproduction")
    return found[0]


def _join(rows: list[str]) -> str:
    return "\n".join(rows) + "\n"


def main(folder: Path) -> None:
    """Fill the page, and copy the pictures that it shows."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), (folder / "report.md").read_text(encoding="utf-8")))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in re.findall(r"_static/reproduction/(\w+\.png)", PAGE.read_text(encoding="utf-8")):
        small = Image.open(folder / name).convert("RGB").quantize(128)
        small.save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
