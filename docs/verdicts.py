"""The numbers of docs/verdicts.md, from what a thorough reproduction found, and its pictures.

    python docs/verdicts.py [FOLDER]

FOLDER is that of `astonish reproduce --thorough --out FOLDER`. Its claims are kept for the tour of `astonish explore`,
and its pictures are copied. Then, or without a folder from the claims that were kept before, the page is filled: what
stands between a comment that says what belongs there and the comment "end" is replaced by the sentence that counts
verdicts, by the paper's claims with some verdicts, by the claims with some identifiers, or by a table of the report.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from astonish.paper.figure import (
    MARKS,
    NOTE_COLUMNS,
    NOTES,
    OWN,
    Claim,
    claims_from_json,
    claims_markdown,
    count,
    markdown_table,
)

PAGE = Path(__file__).with_suffix(".md")
KEPT = PAGE.parents[1] / "src" / "astonish" / "page" / "tour" / "verdicts.json"
PICTURES = PAGE.parent / "_static" / "reproduction"
BLOCK = re.compile(r"(<!-- (counts|verdicts|claims|findings|notes)(?:: (.*?))? -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, claims: Sequence[Claim]) -> str:
    """The page with these claims."""
    by_id = {claim.id: claim for claim in claims}

    def block(match: re.Match[str]) -> str:
        start, kind, which, end = match.groups()
        if kind == "counts":
            text = f"**{count(claims)}**"
        elif kind == "notes":
            text = markdown_table(NOTE_COLUMNS, NOTES[which])
        elif kind == "findings":
            text = claims_markdown([claim for claim in claims if claim.ours], OWN)
        elif kind == "claims":
            text = claims_markdown([by_id[name] for name in which.split()])
        else:
            text = claims_markdown([claim for claim in claims if not claim.ours and MARKS[claim.verdict] in which])
        return f"{start}\n{text}\n\n{end}"

    return BLOCK.sub(block, page)


def main(folder: Path) -> None:
    """Keep the claims of a reproduction, and copy the pictures that the page shows."""
    KEPT.write_text((folder / "claims.json").read_text(encoding="utf-8"), encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in re.findall(r"_static/reproduction/([\w-]+\.png)", PAGE.read_text(encoding="utf-8")):
        small = Image.open(folder / name).convert("RGB").quantize(128)
        small.save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(Path(argument))
    kept = claims_from_json(KEPT.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
