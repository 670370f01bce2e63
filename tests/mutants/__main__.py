"""Mutants: small mistakes put into the source one at a time, each of which some test must notice.

    python -m tests.mutants                      every mutant against the test that killed it before
    python -m tests.mutants --coverage FILE      a mutant whose test is gone or passes: tests that reach its line
    python -m tests.mutants --sample             a new sample, from the seed, into mutants.json

A mutant is named by its function and the expression that it changes, so that it survives a move of the code. FILE is
the data of coverage, written by `pytest --cov=astonish --cov-context=test`.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
RECORD = Path(__file__).with_name("mutants.json")
SEED, PER_ROOM = 28, 12
ROOMS = {
    "theory": ("theory", "core/special.py"),
    "learners": ("learners",),
    "fit": ("people/fit", "people/posterior", "people/comparison", "people/recovery"),
    "tables": ("people/tables",),
    "streams": ("online", "changes"),
}
LIMIT, MOST = 600, 300  # seconds for the tests of one mutant, and how many of those that reach its line are run
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
}  # fmt: skip
NAMES = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """A mistake: in which function, which expression, what it becomes, and which of several equal ones it is."""

    room: str
    function: str
    before: str
    after: str
    occurrence: int = 0


class Place(NamedTuple):
    """Where a mutant is in the source, and the module's text with it."""

    path: Path
    line: int
    text: str


def mistakes(node: ast.AST) -> Iterator[ast.AST]:
    """Wrong versions of an expression: another sign, bound, mask or index, one more, or a greatest for a least."""
    wrong: Any = copy.deepcopy(node)
    match node:
        case ast.BinOp(op=op) if type(op) in SWAPS and not _is_text(node):
            wrong.op = SWAPS[type(op)]()
            yield wrong
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            wrong.ops = [SWAPS[type(op)]()]
            yield wrong
        case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not()):
            yield wrong.operand
        case ast.Subscript(slice=ast.Constant(value=int(index))):
            wrong.slice = ast.Constant(index + 1)
            yield wrong
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            wrong.func.attr = NAMES[name]
            yield wrong


def _is_text(node: ast.AST) -> bool:
    parts = list(ast.walk(node))
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str) for part in parts) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and "None" in ast.unparse(node)
    )


def expressions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every expression in the bodies of functions, with the name of its function, annotations left out."""

    def within(node: ast.AST, name: str, in_function: bool) -> Iterator[tuple[str, ast.AST]]:
        for field, child in ((f, c) for f, value in ast.iter_fields(node) for c in _listed(value)):
            if field in ("annotation", "returns", "decorator_list") or not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}" if name else child.name
                yield from within(child, inner, in_function or isinstance(child, ast.FunctionDef))
                continue
            if in_function:
                yield name, child
            yield from within(child, name, in_function)

    yield from within(tree, "", False)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def candidates(room: str) -> Iterator[Mutant]:
    """All mutants of a room, in the order of its source."""
    for part in ROOMS[room]:
        place = SOURCE / "astonish" / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            seen: dict[tuple[str, str, str], int] = {}
            for function, node in expressions(ast.parse(path.read_text(encoding="utf-8"))):
                for wrong in mistakes(node):
                    key = function, ast.unparse(node), ast.unparse(wrong)
                    yield Mutant(room, *key, seen.setdefault(key, 0))
                    seen[key] += 1


def find(mutant: Mutant, source: Path) -> Place | None:
    """Find the function of a mutant's name, else one of the same last name, else the only place of its expression."""
    exact, alike, anywhere = [], [], []
    for path in sorted((source / "astonish").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for function, node in expressions(ast.parse(text)):
            if ast.unparse(node) != mutant.before:
                continue
            if mutant.after not in {ast.unparse(wrong) for wrong in mistakes(node)}:
                continue
            place = Place(path, node.lineno, _replaced(text, node, mutant.after))  # type: ignore[attr-defined]
            anywhere.append(place)
            if function == mutant.function:
                exact.append(place)
            if function.rpartition(".")[2] == mutant.function.rpartition(".")[2]:
                alike.append(place)
    for places in (exact, alike):
        if len(places) > mutant.occurrence:
            return places[mutant.occurrence]
    return anywhere[0] if len(anywhere) == 1 else None


def _replaced(text: str, node: Any, after: str) -> str:
    """The text of a module with an expression replaced; positions of `ast` count bytes."""
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    raw = text.encode()
    return (raw[:start] + f"({after})".encode() + raw[end:]).decode()


def reaching(place: Place, source: Path, coverage: Path) -> list[str]:
    """The tests that run the line of a mutant, those of the fewest lines first."""
    from coverage import CoverageData

    data = CoverageData(str(coverage))
    data.read()
    suffix = str(place.path.relative_to(source))
    measured = next((name for name in data.measured_files() if name.endswith(suffix)), None)
    if measured is None:
        return []
    contexts = data.contexts_by_lineno(measured)
    tests = {context.partition("|")[0] for context in contexts.get(place.line, [])} - {""}
    sizes = {test: sum(any(c.startswith(test) for c in held) for held in contexts.values()) for test in tests}
    return sorted(tests, key=lambda test: (sizes[test], test))[:MOST]


def killer(place: Place, source: Path, tests: list[str]) -> str | None:
    """The first of these tests that notices a mutant; None if all pass, or time is over."""
    if not tests:
        return None
    with tempfile.TemporaryDirectory() as folder:
        mutated = Path(folder) / "src"
        shutil.copytree(source, mutated, ignore=shutil.ignore_patterns("__pycache__"))
        (mutated / place.path.relative_to(source)).write_text(place.text, encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests]
        settings = os.environ | {"PYTHONPATH": str(mutated), "ASTONISH_CACHE": f"{folder}/native"}
        try:
            done = subprocess.run(
                words, cwd=source.parent, env=settings, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return None
    failed = [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].partition(" - ")[0] if done.returncode == 1 and failed else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--source", type=Path, default=SOURCE)
    given = parser.parse_args()
    if given.sample:
        chosen = [m for room in ROOMS for m in random.Random(SEED).sample(list(candidates(room)), PER_ROOM)]
        RECORD.write_text(json.dumps([m._asdict() | {"killed_by": None} for m in chosen], indent=1) + "\n")
        return
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    lost = []
    for record in records:
        mutant = Mutant(*(record[field] for field in Mutant._fields))
        place = find(mutant, given.source)
        before = record["killed_by"]
        now = None
        if place is not None:
            now = killer(place, given.source, [before] if before else [])
            if now is None and given.coverage:
                tests = reaching(place, given.source, given.coverage)
                now = killer(place, given.source, tests)
        verdict = "not found" if place is None else now or "SURVIVES"
        print(f"{mutant.function}: {mutant.before} -> {mutant.after}: {verdict}", flush=True)
        if now is not None:
            record["killed_by"] = now
        elif before is not None:
            lost.append(mutant.function)
        RECORD.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    if lost:
        sys.exit(f"killed before, but not now: {', '.join(lost)}")


if __name__ == "__main__":
    main()
