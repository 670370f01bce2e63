"""Does the documentation name only what exists?"""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = re.findall(r"`([\w.]+)` \| `(test_\w+)` \|", (ROOT / "docs" / "paper.md").read_text())


@pytest.mark.parametrize(("function", "test"), ROWS)
def test_the_map_of_the_paper_names_what_exists(function: str, test: str) -> None:
    module, *names = function.split(".")
    thing = importlib.import_module(f"astonish.{module}")
    for name in names:
        thing = getattr(thing, name)
    assert f"def {test}(" in (ROOT / "tests" / "test_paper.py").read_text()


def test_the_tree_in_the_readme_is_the_tree() -> None:
    tree = (ROOT / "README.md").read_text().split("src/astonish/\n")[1].split("```")[0]
    for path in (ROOT / "src" / "astonish").rglob("*.py"):
        if path.name != "__init__.py":
            assert re.search(rf"\b{path.stem}\b", tree), f"{path.name} is missing in the README's tree"
