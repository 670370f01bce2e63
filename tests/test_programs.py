"""Does `make test` get a browser and Java where it may, and go on where it may not?"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("programs.sh")
SKIPPED = "are skipped."
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


def _install(folder: Path, packages: str) -> str:
    """Makes a program of each of these packages, as far as it may without any other one."""
    made = {"chromium": "chromium", "openjdk-21": "java", "openjdk-17": "java"}
    cases = " ".join(
        f"*install*{package}*) : > {folder}/{made[package]}; /bin/chmod 755 {folder}/{made[package]};;"
        for package in packages.split()
    )
    return f'case "$*" in {cases} esac'


def test_nothing_is_done_where_all_are_there(tmp_path: Path) -> None:
    assert _run(tmp_path, chromium="", java="", apt_get="", id="echo 0") == ""
    assert not (tmp_path / "said").exists()


@pytest.mark.parametrize("java", ["openjdk-21", "openjdk-17"])
def test_root_installs_them(tmp_path: Path, java: str) -> None:
    said = _run(tmp_path, apt_get=_install(tmp_path, f"chromium {java}"), id="echo 0")
    assert [line.split(",")[0] for line in said.splitlines()] == ["Installing Chromium", "Installing Java"]
    assert "install --no-install-recommends chromium" in _said(tmp_path)
    assert f"install --no-install-recommends {java}-jre-headless" in _said(tmp_path)


def test_whoever_may_become_root_installs_them(tmp_path: Path) -> None:
    install = _install(tmp_path, "chromium openjdk-21")
    said = _run(tmp_path, apt_get=install, id="echo 1000", sudo='shift; "$@"', true="")
    assert SKIPPED not in said
    assert "sudo -n apt-get" in _said(tmp_path)
    assert "openjdk-17" not in _said(tmp_path)


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
def test_elsewhere_it_is_said_in_a_line_each(tmp_path: Path, programs: dict[str, str]) -> None:
    said = [line for line in _run(tmp_path, **programs).splitlines() if line.startswith("There is no")]
    assert [line.split(":")[1] for line in said] == [
        f" the tests {of} {SKIPPED}" for of in ("in a browser", "of Spark")
    ]
    assert "install" not in (_said(tmp_path) if programs.get("apt_get") == "" else "")
