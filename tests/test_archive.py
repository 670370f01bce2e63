"""Is a file that is not what it claims refused before it takes time or memory?"""

import io
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest

from astonish.io.files import DamagedError, read, write


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
