"""What does `python -m benchmarks.scores nab` print?"""

import json
import time
from collections.abc import Callable
from pathlib import Path

from . import detectors
from .nab import PROFILES, best_scores, read_corpus, scores_at


def nab_table(folder: Path, names: list[str], progress: Callable[[float], None]) -> str:
    """Scores of detectors, of none, of one that always detects, and the published ones, as a table."""
    corpus = read_corpus(folder)
    every = list(dict.fromkeys([*names, "null", "always"]))
    rows = []
    for k, name in enumerate(every):
        start = time.perf_counter()
        scores = detectors.scores_of(name, corpus)
        taken = time.perf_counter() - start
        found = scores_at(corpus, scores, 1.0) if name == "always" else best_scores(corpus, scores)
        rows.append([name, *(f"{found[profile].score:.2f}" for profile in PROFILES), f"{taken:.1f}"])
        progress((k + 1) / len(every))
    published = folder / "published_scores.json"
    if published.is_file():
        for name, scores_by_profile in json.loads(published.read_text(encoding="utf-8")).items():
            rows.append([f"{name} (published)", *(f"{scores_by_profile[each]:.2f}" for each in PROFILES), ""])
    return laid_out(["detector", *PROFILES, "seconds"], rows)


def laid_out(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table as text; so many columns stand to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append([cell.ljust(width) if k < left else cell.rjust(width) for k, (cell, width) in cells])
    return "\n".join("  ".join(line).rstrip() for line in lines)
