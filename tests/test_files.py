"""Does a file appear whole or not at all?"""

import errno
from pathlib import Path

import pytest

from astonish.io.files import atomic_write


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
