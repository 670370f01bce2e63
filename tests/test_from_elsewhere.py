"""Commands on the pages for users of R and MATLAB run, and the names on the HGF toolbox's page exist."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from astonish import HGF
from astonish.cli.app import app
from astonish.learners import ClassicHGF, ContinuousHGF, TwoLevelHGF
from astonish.models.parameters import parameters
from astonish.models.registry import LEARNERS, RESPONSES

DOCS = Path(__file__).parent.parent / "docs"
R, MATLAB = ((DOCS / page).read_text() for page in ("r.md", "matlab.md"))
NAMES = MATLAB.split("## Names of the HGF toolbox")[1]
TRAJECTORIES = NAMES.split("Trajectories are columns")[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables that the pages take for granted."""
    rng = np.random.default_rng(1)
    numbers = pd.DataFrame({"id": np.repeat(["a", "b"], 20), "x": rng.normal(size=40).cumsum()})
    numbers.assign(b=numbers["x"] + rng.normal(0, 0.2, 40)).to_csv(tmp_path / "numbers.csv", index=False)
    binary = pd.DataFrame({"subject": np.repeat([1, 2], 40), "u": rng.integers(0, 2, 80), "y": rng.integers(0, 2, 80)})
    binary.to_csv(tmp_path / "binary.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _check(folder: Path, table: str, commands: list[list[str]], files: list[str]) -> None:
    """The commands of a page run on a table, and write the files that the page reads."""
    assert [command[0] for command in commands] == ["surprise", "fit"]
    (folder / table).rename(folder / "trials.csv")
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    for file in files:
        assert len(pd.read_csv(folder / file)) > 0


def test_commands_of_the_page_for_r(folder: Path) -> None:
    calls = re.findall(r"^astonish\((.*?)\)\n", R, re.MULTILINE | re.DOTALL)
    commands = [re.findall(r'"(.*?)"', call) for call in calls]
    _check(folder, "numbers.csv", commands, re.findall(r'read\.csv\("(.*?)"\)', R))


def test_commands_of_the_page_for_matlab(folder: Path) -> None:
    written = re.findall(r"command = \[?(.*?);\n", MATLAB, re.DOTALL)
    commands = ["".join(re.findall(r"'(.*?)'", text)).split()[1:] for text in written]
    _check(folder, "binary.csv", commands, re.findall(r"readtable\('(.*?)'\)", MATLAB))
    columns = set(pd.read_csv(folder / "regressors.csv").columns)
    for _, ours in re.findall(r"^\| (`traj.*?) \| (.*) \|$", TRAJECTORIES, re.MULTILINE):
        assert set(re.findall(r"`(\w+)`", ours)) <= columns


def test_names_beside_those_of_the_toolbox_exist() -> None:
    learners = {"hgf": HGF, "hgf-classic": ClassicHGF, "hgf2": TwoLevelHGF, "hgf-continuous": ContinuousHGF}
    for name, kind in learners.items():
        assert f"`{name}` (class `{kind.__name__}`)" in NAMES
        assert LEARNERS.classes()[name] is kind
    for parameter in ("omega2", "omega3", "kappa", "mu2", "mu3", "pi2", "pi3"):
        assert f"`{parameter}`" in NAMES
        assert parameter in parameters(HGF)
    assert "zeta" in parameters(RESPONSES.classes()["unit-square"])
