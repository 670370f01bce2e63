"""Does the source keep the rules that its readers rely on?"""

import ast
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import astonish
from astonish import beliefs, learners, responses
from astonish.core.names import rows
from astonish.models.parameters import parameters
from astonish.models.registry import CATALOGUES

ROOT = Path(astonish.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
PACKAGES = [path.parent for path in FILES if path.name == "__init__.py"]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_two_public_types_share_a_name() -> None:
    names = Counter(
        node.name
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("package", PACKAGES, ids=module_name)
def test_no_export_hides_a_module(package: Path) -> None:
    room = import_module(module_name(package / "__init__.py"))
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    for name in modules & set(getattr(room, "__all__", ())):
        assert isinstance(getattr(room, name), ModuleType)  # as `astonish.theory.surprise` is


FOLDERS = ("learners", "beliefs", "responses")
IN_FOLDERS = [node for path in FILES if path.parent.name in FOLDERS for node in TREES[path].body]
THEORY = {
    *(node.name for node in IN_FOLDERS if isinstance(node, ast.ClassDef)),
    *("Learner", "FamilyLearner", "Family"),
}


def classes_asked(node: ast.AST) -> set[str]:
    """The names of the classes that an expression is compared with by isinstance, or by a pattern."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
        return {_name(part) for part in ast.walk(node.args[1])}
    return {_name(node.cls)} if isinstance(node, ast.MatchClass) else set()


def _name(node: ast.AST) -> str:
    """The name that an expression ends with; empty if it is no name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_a_question_for_the_kind_of_a_belief_is_noticed() -> None:
    source = "isinstance(x, int | beliefs.gaussian.GaussianBelief)\nmatch x:\n    case Hypotheses(weights): pass"
    asked = {name for node in ast.walk(ast.parse(source)) for name in classes_asked(node)}
    assert asked & THEORY == {"GaussianBelief", "Hypotheses"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_asks_what_kind_of_learner_or_belief_something_is(path: Path) -> None:
    if path.relative_to(ROOT).parts[0] in ("learners", "beliefs"):
        return
    asked = {name for node in ast.walk(TREES[path]) for name in classes_asked(node)}
    assert asked & THEORY == set()


EVERY = [
    *(("learners", getattr(learners, name)) for name in learners.__all__),
    *(("beliefs", getattr(beliefs, name)) for name in beliefs.__all__ if name != "finite"),
    *(("responses", getattr(responses, name)) for name in responses.__all__),
]


@pytest.mark.parametrize("kind", [kind for _, kind in EVERY], ids=lambda kind: kind.__name__)
def test_every_parameter_has_a_domain_a_usual_range_and_a_sentence(kind: Any) -> None:
    every = parameters(kind)
    for name, (_, _, known) in every.items():
        assert known.about, f"{kind.__name__}.{name} does not say what it means"
        assert known.usual is not None, f"{kind.__name__}.{name} has no usual range"
        low, high = known.usual
        assert low < high
        assert known.domain.allows(low) or (known.domain.has_low and low == known.domain.low)
        assert known.domain.allows(high) or (known.domain.has_high and high == known.domain.high)
    for name in getattr(kind, "free", ()):
        assert name in every


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda catalogue: catalogue.room)
def test_the_table_of_a_room_names_every_class_that_says_what_it_takes(catalogue: Any) -> None:
    for row in rows(catalogue.room):
        kind = getattr(import_module(row.module), row.name)
        assert kind is getattr(import_module(catalogue.room), row.name)
        if isinstance(kind, type):
            assert row.names[:1] == ((kind.name,) if kind.name and kind.takes else ())  # type: ignore[attr-defined]
    assert catalogue.names == list(catalogue.by_name())


def test_names_are_listed_without_jax() -> None:
    words = "import sys, astonish.people.analysis.requests as made; print('jax' in sys.modules, made.LEARNER_HELP)"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert told.startswith("False One of smile, varsmile, bayes, ")
