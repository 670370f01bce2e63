"""Does a file appear whole or not at all, and is one that is not what it claims refused before it takes memory?"""

import errno
import io
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astonish.io.files import DamagedError, atomic_write, locked, read, write


def test_files_appear_with_the_folders_above_them_and_not_before_they_are_finished(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with atomic_write(tmp_path / "file") as file, atomic_write(tmp_path / "a" / "b" / "other") as other:
        file.write(b"new")
        other.write(b"all of it")
        file.flush()
        assert (tmp_path / "file").read_bytes() == b"old"
    contents = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert contents == {"file": b"new", "a/b/other": b"all of it"}


def _write_half(path: Path, problem: BaseException | None) -> None:
    with atomic_write(path) as file:
        file.write(b"half of")
        if problem is not None:
            raise problem


@pytest.mark.parametrize("problem", [ValueError(), KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), SystemExit(1)])
@pytest.mark.parametrize("old", [{}, {"file": b"old"}])
@pytest.mark.parametrize("syncs", [True, False])
def test_what_goes_wrong_leaves_the_folder_as_it_was(
    problem: BaseException, old: dict[str, bytes], syncs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise problem

    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    if not syncs:
        monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(problem)):
        _write_half(tmp_path / "file", problem if syncs else None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"), atomic_write(tmp_path / "taken") as file:
        file.write(b"all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


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


# Archives


def rewritten(change: Any, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    """A good archive whose arrays were changed: `change` takes the bytes of each."""
    good, file = io.BytesIO(), io.BytesIO()
    write(good, "state", {"a": np.arange(6.0).reshape(2, 3)})
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w", compression) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) if name == "schema.npy" else change(old.read(name)))
    return file


def header(shape: str, dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_what_was_written_is_read_in_any_order_of_its_axes() -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 4))):
        file = io.BytesIO()
        write(file, "state", {"a": array}, {"b": 1})
        found, about = read(file, "state")
        np.testing.assert_array_equal(found["a"], array)
        assert about == {"b": 1}
        found["a"][...] = 0  # it can be written to
    assert read(rewritten(lambda content: content), "state")[0]["a"].shape == (2, 3)


@pytest.mark.parametrize(
    "file",
    [
        rewritten(lambda _: header("(2147483648,)")),
        rewritten(lambda _: header("(2147483648, 1000)") + b"\0" * 80),
        rewritten(lambda _: header("(3,)", "|O") + b"\0" * 24),
        rewritten(lambda _: header("(1,)") + b"\0" * (3 << 20), zipfile.ZIP_DEFLATED),
        rewritten(lambda _: b"\x93NUMPY\x02\x00" + b"\0" * 200),
        rewritten(lambda _: b"\x93NUMPY\x01\x00\xff\xff{"),
    ],
)
def test_sizes_that_are_claimed_are_checked_before_memory_is_taken(file: io.BytesIO) -> None:
    tracemalloc.start()
    with pytest.raises(DamagedError, match="what was given is not a saved state"):
        read(file, "state")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_an_archive_whose_parts_overlap_is_refused() -> None:
    file = io.BytesIO()
    write(file, "state", {name: np.zeros(100) for name in "abc"})
    with zipfile.ZipFile(file, "a") as archive:
        first = archive.infolist()[0]
        for member in archive.infolist():  # every part claims to be the largest
            member.header_offset, member.file_size, member.compress_size = first.header_offset, 4000, 4000
        archive.writestr("more.npy", b"")
    with pytest.raises(DamagedError, match="not a saved state"):
        read(file, "state")


def test_every_flipped_bit_of_an_array_is_noticed() -> None:
    file = io.BytesIO()
    write(file, "state", {"long": np.arange(5000.0)})
    sound = file.getvalue()
    header = sound.rindex(b"\x93NUMPY")
    for bit in range(8 * header, 8 * (header + 200)):  # what the array is, and its first numbers
        spoiled = bytearray(sound)
        spoiled[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedError, match="not a saved state"):
            read(io.BytesIO(spoiled), "state")
    for other in (b"", sound[:-50], b"no archive"):
        with pytest.raises(DamagedError, match="not a saved state"):
            read(io.BytesIO(other), "state")
