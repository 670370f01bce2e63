"""How many promises the tests check of each learner, family of beliefs and response model.

    python -m tests.promises                     what is checked here
    python -m tests.promises --before FOLDER     the same in another checkout too, and what differs

A promise is a case of a test, or a named subtest of it. Those marked `hostile` are run by `make hostile`, all others by
`make test`.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parents[1]
CASE = re.compile(r"^((?:tests|src|validation)/\S+?\.py)::(\w+)(?:\[(.*)\])?$", re.MULTILINE)


def subjects(root: Path) -> set[str]:
    """Return the names by which cases of learners, families and response models are called."""
    code = (
        "import sys; sys.path.insert(0, 'tests'); import families; from astonish.models import registry as r;"
        "print(*{c.name for c in (*families.LEARNERS, *families.FAMILIES)} |"
        " {*r.LEARNERS.names, *r.FAMILIES.names, *r.RESPONSES.names})"
    )
    return set(_run(root, "-c", code).split())


def promises(root: Path, which: str) -> Counter[str]:
    """Count what is checked of each subject, and of everything together as ``all``."""
    listed = _run(root, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", which)
    known, counts, subtests = subjects(root), Counter[str](), dict[str, Counter[str]]()
    for file, function, parameters in CASE.findall(listed):
        if file not in subtests:
            subtests[file] = _subtests((root / file).read_text(encoding="utf-8"))
        number = max(subtests[file][function], 1)
        counts["all"] += number
        for name in known & {*parameters.split("-"), parameters}:
            counts[name] += number
    return counts


def _subtests(code: str) -> Counter[str]:
    """Count the subtests of each test function."""
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    return Counter({node.name: ast.unparse(node).count("subtests.test(") for node in functions})


def _run(root: Path, *words: str) -> str:
    environment = {"PYTHONPATH": f"{root / 'src'}"}
    return subprocess.run([sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True).stdout


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout")
    before = parser.parse_args().before
    here, attacks = promises(HERE, "not hostile and not published"), promises(HERE, "hostile")
    then = promises(before, "not published") if before else here + attacks
    print("subject\tbefore\tmake test\tmake hostile")
    for name in sorted(then | here | attacks):
        is_lost = here[name] + attacks[name] < then[name]
        print(f"{name}\t{then[name]}\t{here[name]}\t{attacks[name]}{'  fewer' if is_lost else ''}")


if __name__ == "__main__":
    main()
