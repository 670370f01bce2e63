"""Does a command print what the page of questions quotes?"""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astonish.cli.app import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "faq.md").read_text()
QUOTED = re.findall(r"^```console\n\$ astonish (.*)\n((?:.*\n)+?)```$", PAGE, re.MULTILINE)
TABLE = re.search(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOTES = re.findall(r"^\| (.*) \| .* \|$", PAGE.split('"note" of a fit')[1].split("##")[0], re.MULTILINE)[1:]


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
    source = "".join(path.read_text() for path in sorted((ROOT / "src" / "astonish" / "fit").glob("*.py")))
    assert all(part.strip() in source for part in note.split("..."))


def test_other_messages_are_in_the_source() -> None:
    source = "".join(path.read_text() for path in sorted((ROOT / "src" / "astonish").rglob("*.py")))
    for message in ("has no scaled likelihood", "which is not installed; pip install"):
        assert message in PAGE
        assert message in source
