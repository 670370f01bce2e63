"""The commands of `astonish`, run in this process."""

import shlex
from typing import Any

from typer.testing import CliRunner

from astonish.cli.app import app


def run(*words: Any) -> Any:
    """Run a command; texts are split at spaces, as a shell does, and everything else is one word."""
    parts = [shlex.split(word) if isinstance(word, str) else [str(word)] for word in words]
    return CliRunner().invoke(app, [part for some in parts for part in some])


def done(*words: Any) -> Any:
    """Run a command that succeeds."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def refused(*words: Any) -> str:
    """Run a command that is refused before anything is written, and return its last sentence."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return str(result.stderr.splitlines()[-1])
