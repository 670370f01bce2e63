"""Does `make test` get a browser where it may, and go on where it may not?"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("chromium.sh")
SKIPPED = "the tests in a browser are skipped"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make needs a shell")


def _run(folder: Path, **programs: str) -> str:
    """What the script says where only these programs are found; `$0 $*` of each that is run goes to a file."""
    for name, body in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f'#!/bin/sh\necho "${{0##*/}} $*" >> {folder}/said\n{body}\n')
        path.chmod(0o755)
    done = subprocess.run(["/bin/sh", SCRIPT], env={"PATH": str(folder)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    return done.stdout


def _said(folder: Path) -> str:
    return (folder / "said").read_text()


def _install(folder: Path) -> str:
    """Makes the program, as far as it may without any other one."""
    return f'case "$*" in *install*) : > {folder}/chromium; /bin/chmod 755 {folder}/chromium;; esac'


def test_nothing_is_done_where_there_is_one(tmp_path: Path) -> None:
    assert _run(tmp_path, chromium="", apt_get="", id="echo 0") == ""
    assert not (tmp_path / "said").exists()


def test_root_installs_it(tmp_path: Path) -> None:
    said = _run(tmp_path, apt_get=_install(tmp_path), id="echo 0")
    assert said.startswith("Installing Chromium")
    assert SKIPPED not in said
    assert "install --no-install-recommends chromium" in _said(tmp_path)


def test_whoever_may_become_root_installs_it(tmp_path: Path) -> None:
    said = _run(tmp_path, apt_get=_install(tmp_path), id="echo 1000", sudo='shift; "$@"', true="")
    assert SKIPPED not in said
    assert "sudo -n apt-get" in _said(tmp_path)


@pytest.mark.parametrize(
    "programs",
    [
        {"id": "echo 0"},
        {"id": "echo 1000", "apt_get": ""},
        {"id": "echo 1000", "apt_get": "", "sudo": "exit 1"},
        {"id": "echo 0", "apt_get": "exit 100"},
    ],
    ids=["no apt-get", "no sudo", "sudo wants a password", "apt-get fails"],
)
def test_elsewhere_it_is_said_in_one_line(tmp_path: Path, programs: dict[str, str]) -> None:
    assert _run(tmp_path, **programs).splitlines()[-1].endswith(f"{SKIPPED}.")
    assert "install" not in (_said(tmp_path) if programs.get("apt_get") == "" else "")
