"""Does the documentation name only what exists, and do commands print what it quotes?"""

import importlib
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import astonish
import astonish.people.fit
import astonish.people.posterior
import astonish.people.tables
import astonish.sweep
from astonish.cli.app import app
from astonish.paper.figure import FAILS, HOLDS, Claim, claims_from_json

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "astonish"
ROWS = re.findall(r"`([\w.]+)` \| `(test_\w+)` \|", (ROOT / "docs" / "paper.md").read_text())
FAQ = (ROOT / "docs" / "faq.md").read_text()
QUOTED = re.findall(r"^```console\n\$ astonish (.*)\n((?:.*\n)+?)```$", FAQ, re.MULTILINE)
TABLE = re.search(r"^```text\n(.*?)^```$", FAQ, re.MULTILINE | re.DOTALL)
NOTES = re.findall(r"^\| (.*) \| .* \|$", FAQ.split('"note" of a fit')[1].split("##")[0], re.MULTILINE)[1:]
MESSAGES = ("has no scaled likelihood", "which is not installed; pip install")
COMMANDS = [str(info.callback.__name__) for info in app.registered_commands if info.callback]


@pytest.mark.parametrize(("function", "test"), ROWS)
def test_the_map_of_the_paper_names_what_exists(function: str, test: str) -> None:
    thing: Any = astonish
    for name in function.split("."):
        thing = getattr(thing, name)
    assert f"def {test}(" in (ROOT / "tests" / "test_paper.py").read_text()


def test_the_page_and_the_picture_of_the_rooms_show_every_room() -> None:
    tree = (ROOT / "docs" / "architecture.md").read_text().split("src/astonish/\n")[1].split("```")[0]
    picture = runpy.run_path(str(ROOT / "docs" / "extensions" / "rooms.py"))["picture"]()
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert set(re.findall(r"^  (\w+)/", tree, re.MULTILINE)) == rooms
    assert [room for room in rooms if f">{room}</text>" not in picture] == []


def test_dead_links_and_what_is_loaded_from_elsewhere_are_found(tmp_path: Path) -> None:
    problems = runpy.run_path(str(ROOT / "docs" / "extensions" / "links.py"))["problems"]
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="b.html#there"></a><a href="https://example.org"></a>')
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="a.html#here"></a><img src="data:image/png;base64,">')
    assert problems(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="c.html"></a><script src="https://example.org/x.js"></script>')
    (tmp_path / "s.css").write_text("p { background: url(https://example.org/x.png) }")
    assert problems(tmp_path) == [
        "a.html links to b.html#there, which has no such place",
        "b.html links to c.html, which is not there",
        "b.html loads https://example.org/x.js",
        "s.css loads url(https://example.org/x.png)",
    ]


EXPORTS = ("astonish.learners", "astonish.beliefs", "astonish.responses")
PUBLIC = [
    (module.__name__, name)
    for module in (astonish, astonish.people.tables, astonish.people.fit, astonish.people.posterior, astonish.sweep)
    for name in module.__all__
    if name not in ("Result", "Setting")  # other names of dictionaries
]
PUBLIC += [
    ("astonish.core.numbers", "pytree_dataclass"),
    ("astonish.core.numbers", "Domain"),
    ("astonish.core.parameters", "parameter"),
]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_everything_public_is_in_the_reference(module: str, name: str) -> None:
    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "api").glob("*.md")))
    blocks = [f".. currentmodule:: {module}\n" + block for block in pages.split(f".. currentmodule:: {module}\n")[1:]]
    if any(f".. exports:: {place}\n" in pages and name in importlib.import_module(place).__all__ for place in EXPORTS):
        return
    found = re.compile(rf"^\.\. auto(?:class|function):: {name}$", re.MULTILINE)
    whole = f".. automodule:: astonish.theory.{name}\n" in pages
    assert whole or any(found.search(block.split("```")[0]) for block in blocks)


def test_the_page_of_verdicts_is_filled_from_claims() -> None:
    filled = runpy.run_path(str(ROOT / "docs" / "verdicts.py"))["filled"]
    claims = [
        Claim("a.so", "Fig. 1", "It is so.", "1", "1", HOLDS, "Yes."),
        Claim("a.not", "Fig. 2", "It is not.", "2", "3 | 4", FAILS, "No."),
        Claim("own", "Fig. 3", "Ours.", "-", "5", HOLDS, "Well.", ours=True),
    ]
    blocks = ["counts", "verdicts: ✓", "verdicts: ◐ ✗", "claims: own a.so", "findings"]
    page = "\n".join(f"<!-- {block} -->\nbefore\n<!-- end -->" for block in blocks)
    counts, holds, not_, named, findings = filled(page, claims).split("<!-- end -->")[:5]
    assert "before" not in counts + holds + not_ + named + findings
    assert "**Of 2 claims" in counts
    assert "It is so." in holds
    assert "It is not." not in holds
    assert "It is not." in not_
    assert named.index("Ours.") < named.index("It is so.")
    assert findings.count("| Ours.") == 1
    assert filled(page, claims) == filled(filled(page, claims), claims)


def test_the_page_of_verdicts_and_the_tour_show_the_same_claims() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "verdicts.py"))
    kept = claims_from_json(module["KEPT"].read_text(encoding="utf-8"))
    page = module["PAGE"].read_text(encoding="utf-8")
    assert module["filled"](page, kept) == page
    assert len({claim.id for claim in kept}) == len(kept)


@pytest.mark.parametrize(("command", "printed"), QUOTED)
def test_commands_print_what_is_quoted(
    command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TABLE is not None
    (tmp_path / "t.csv").write_text(TABLE[1])
    monkeypatch.chdir(tmp_path)
    assert printed.rstrip() in CliRunner().invoke(app, command.split()).output


@pytest.mark.parametrize("note", NOTES)
def test_notes_are_those_of_fits(note: str) -> None:
    source = "".join(path.read_text() for path in sorted((SOURCE / "people" / "fit").glob("*.py")))
    assert all(part.strip() in source for part in note.split("..."))


def test_other_messages_are_in_the_source() -> None:
    source = "".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")))
    assert all(message in FAQ and message in source for message in MESSAGES)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_has_what_help_has(command: str) -> None:
    """Help, as it is printed, is the independent list."""
    pytest.importorskip("sphinx", reason="the documentation needs sphinx")
    reference = runpy.run_path(str(ROOT / "docs" / "extensions" / "commands.py"))
    environment = {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    printed = CliRunner(env=environment).invoke(app, [command, "--help"]).output
    listed = set(re.findall(r"^│\s+(?:\*\s+)?(--[\w-]+)", printed, re.MULTILINE))
    words = reference["words"](reference["commands"]()[command])
    names = {word.name.split(", ")[0] for word in words}
    assert listed - {"--help"} == {name for name in names if name.startswith("--")}
    assert all(word.help for word in words)
