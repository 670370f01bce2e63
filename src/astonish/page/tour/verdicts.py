"""What did the reproduction of the paper find? The claims of docs/verdicts.md, kept here by `docs/verdicts.py`."""

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("verdicts.json")


@cache
def all_claims() -> tuple[dict[str, str], ...]:
    """Each claim of the paper, with its `id`, its place, the paper's value, ours, and the verdict on it."""
    claims = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(claim for claim in claims if not claim["ours"])


def claim_that_begins(words: str) -> dict[str, str]:
    """The one claim that begins with these words."""
    found = [claim for claim in all_claims() if claim["says"].startswith(words)]
    if len(found) != 1:
        raise ValueError(f"{len(found)} claims begin with {words!r}; give the beginning of one of docs/verdicts.md")
    return found[0]


def mark_of(verdict: str) -> str:
    """The sign that stands before a verdict, for those who do not see its colour; none for no verdict."""
    return next((claim["mark"] for claim in all_claims() if claim["verdict"] == verdict), "")
