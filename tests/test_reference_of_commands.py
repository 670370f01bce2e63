"""Does the reference of the command line name every option that the commands take?"""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx", reason="the documentation needs sphinx")
from typer.testing import CliRunner

from astonish.cli.app import app

EXTENSION = Path(__file__).parent.parent / "docs" / "extensions" / "commands.py"
MADE: dict[str, Any] = runpy.run_path(str(EXTENSION))


@pytest.mark.parametrize("command", MADE["commands"]())
def test_the_reference_has_what_help_has(command: str) -> None:
    """Help, as it is printed, is the independent list."""
    environment = {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    printed = CliRunner(env=environment).invoke(app, [command, "--help"]).output
    listed = set(re.findall(r"^│\s+(?:\*\s+)?(--[\w-]+)", printed, re.MULTILINE))
    named = {word.name.split(", ")[0] for word in MADE["words"](MADE["commands"]()[command])}
    assert listed - {"--help"} == {name for name in named if name.startswith("--")}
    assert all(word.help for word in MADE["words"](MADE["commands"]()[command]))
