"""Does a file appear whole or not at all, and is a folder used by one program at a time?"""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from astonish.io.files import atomic_write, locked


def test_a_file_and_the_folders_above_it_appear(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a" / "b" / "file") as file:
        file.write(b"all of it")
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "file"]
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"all of it"


def test_nobody_sees_it_before_it_is_finished(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with atomic_write(tmp_path / "file") as file:
        file.write(b"new")
        file.flush()
        assert (tmp_path / "file").read_bytes() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new"


def _write_half(path: Path, problem: BaseException) -> None:
    with atomic_write(path) as file:
        file.write(b"half of")
        raise problem


@pytest.mark.parametrize("problem", [ValueError(), KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), SystemExit(1)])
@pytest.mark.parametrize("old", [None, b"old"])
def test_what_goes_wrong_leaves_the_folder_as_it_was(problem: BaseException, old: bytes | None, tmp_path: Path) -> None:
    if old is not None:
        (tmp_path / "file").write_bytes(old)
    with pytest.raises(type(problem)):
        _write_half(tmp_path / "file", problem)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({} if old is None else {"file": old})


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"), atomic_write(tmp_path / "taken") as file:
        file.write(b"all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "one") as one, atomic_write(tmp_path / "two") as two:
        one.write(b"1")
        two.write(b"2")
        one.write(b"1")
    assert ((tmp_path / "one").read_bytes(), (tmp_path / "two").read_bytes()) == (b"11", b"2")


def test_a_file_is_on_the_disk_before_it_gets_its_name_and_then_its_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    fsync, replace, kinds = os.fsync, os.replace, {tmp_path.stat().st_ino: "folder"}

    def synced(descriptor: int) -> None:
        about = os.fstat(descriptor)
        done.append(("sync", kinds.get(about.st_ino, about.st_size)))
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        done.append(("rename", target.name))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with atomic_write(tmp_path / "file") as file:
        file.write(b"all of it")
    assert done == [("sync", 9), ("rename", "file"), ("sync", "folder")]


@pytest.mark.parametrize("problem", [OSError(errno.EIO, "broken disk"), KeyboardInterrupt()])
def test_what_cannot_be_synced_does_not_get_its_name(
    problem: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise problem

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(problem)), atomic_write(tmp_path / "file") as file:
        file.write(b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_a_folder_that_cannot_be_synced_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> int:
        raise PermissionError(errno.EACCES, "folders cannot be opened here")  # as on Windows

    with monkeypatch.context() as patch, atomic_write(tmp_path / "file") as file:
        patch.setattr(os, "open", refused)
        file.write(b"all of it")
    assert (tmp_path / "file").read_bytes() == b"all of it"


def test_a_folder_is_locked_for_other_programs_until_it_is_left(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from astonish.io.files import locked
with locked(Path({str(tmp_path)!r})):
    print("got it")
"""
    command = [sys.executable, "-c", program]
    with locked(tmp_path):
        other = subprocess.run(command, capture_output=True, text=True, check=False)
    sentence = f"ValueError: {tmp_path} is in use by another program; wait for its end, or give another folder"
    assert other.stderr.splitlines()[-1] == sentence
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "got it\n"
