"""What does astonish withstand? `python hostile/main.py` attacks it for a quarter of an hour, and says what happened.

It ends with an error if anything went wrong. `--write` puts the table into docs/withstands.md.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))


import accuracy  # noqa: E402
import flips  # noqa: E402
import interruptions  # noqa: E402
import kills  # noqa: E402
import steps  # noqa: E402
import threads  # noqa: E402
import web  # noqa: E402
from attack import Report, timed  # noqa: E402

ATTACKS = {
    steps: 100_000_000,
    accuracy: 11_400,
    kills: 60,
    flips: 30_000,
    web: 20_000,
    interruptions: 2_000,
    threads: 20_000,
}
PAGE, BEGIN, END = ROOT / "docs" / "withstands.md", "<!-- by `make hostile` -->\n", "<!-- end -->"


def main() -> None:
    """Make all attacks, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the documentation")
    options = parser.parse_args()
    start = time.perf_counter()
    reports = [timed(module.attack, times) for module, times in ATTACKS.items()]
    table = _table(reports)
    print(f"\n{table}\n{time.perf_counter() - start:.0f} s in all")
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")
    sys.exit(any(report.failures for report in reports))


def _table(reports: list[Report]) -> str:
    """What was tried, how often and what happened, in Markdown."""
    rows = [f"| {r.name} | {r.tried} | {r.times:,} | {r.happened} | {len(r.failures)} |" for r in reports]
    return "\n".join(
        ["| attack | what was tried | times | what happened | failures |", "|---|---|---|---|---|", *rows, ""]
    )


if __name__ == "__main__":
    main()
