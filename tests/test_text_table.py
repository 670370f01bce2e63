"""A large table is written with the same bytes as by pandas."""

from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

from astonish.io import files
from astonish.io.files import write_separated

pytest.importorskip("pyarrow")
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
TEXTS = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.sampled_from([",", '"', "\n"])
)


def _check(frame: pd.DataFrame, mark: str = ",") -> None:
    ours, theirs = BytesIO(), BytesIO()
    write_separated(frame, ours, mark)
    frame.to_csv(theirs, sep=mark, index=False, lineterminator="\n")
    assert ours.getvalue() == theirs.getvalue()


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(st.tuples(NUMBERS, st.integers(-(2**62), 2**62), st.booleans(), TEXTS), min_size=1, max_size=9))
@example([(0.0, 1, True, "a,b"), (-0.0, 2, False, '"'), (1e15, 3, True, "\t"), (1e14 + 0.5, 4, True, None)])
@example([(1e-5, 1, True, ""), (0.00012, 2, False, " x"), (np.nan, 3, True, "\r"), (np.inf, 4, True, "é")])
@pytest.mark.parametrize("mark", [",", "\t"])
def test_every_cell_is_written_as_by_pandas(mark: str, rows: list[Any]) -> None:
    columns = list(zip(*rows, strict=True))
    frame = pd.DataFrame({"x": columns[0], 'a "b"': columns[1], "c,d": columns[2]}).assign(
        t=pd.array(columns[3], "str")
    )
    _check(frame, mark)


def test_numbers_of_every_size_are_written_as_python_does() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 50_000, dtype=np.uint64).view(np.float64)
    sizes = 10.0 ** np.arange(-20, 25) * rng.uniform(1, 10, (1000, 45))
    edges = [np.nextafter(edge, edge * side) for edge in (1e-4, 1e9, 1e10, 1e15, 1e16) for side in (0.5, 1, 2)]
    frame = pd.DataFrame({"x": np.concatenate([bits, sizes.ravel(), edges, np.round(sizes.ravel(), 3)]), "y": 1})
    _check(frame)


def test_rows_are_written_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_ROWS", 3)
    frame = pd.DataFrame({"x": np.arange(10) / 7, "y": pd.array(list("abcdefghij"), "str")})
    _check(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1.5, None]}),  # where pandas quotes what is empty
        pd.DataFrame({"x": [1.5, 2.0], "y": pd.array([1, None], "Int64")}),
        pd.DataFrame({"x": [1.5, 2.0], "y": np.array(["a", 1], object)}),
        pd.DataFrame({"x": [1.5, 2.0], "y": np.array([1.1, 2.2], np.float32)}),
        pd.DataFrame({"x": [], "y": []}),
    ],
)
def test_what_is_left_to_pandas(frame: pd.DataFrame) -> None:
    _check(frame)
