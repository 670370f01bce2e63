"""Samples that are masked, null or NA are missing, whichever library says so."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from astonish.core.numbers import Domain
from astonish.core.samples import read_one, read_series

OUTCOME, NUMBER, VECTOR = Domain(0, 5, whole=True), Domain(), Domain(shape=(2,))
PAIR = OUTCOME, NUMBER
HIDDEN = [False, True, False]
MASKED = np.ma.masked
SERIES: dict[str, Any] = {
    "numpy.ma of integers": np.ma.array([1, 5, 0], mask=HIDDEN),
    "numpy.ma of floats": np.ma.array([1.0, 5.0, 0.0], mask=HIDDEN),
    "numpy.ma of truth values": np.ma.array([True, True, False], mask=HIDDEN),
    "numpy.ma of objects": np.ma.array([1, "x", 0], mask=HIDDEN, dtype=object),
    "numpy.ma in a list": [1, MASKED, 0],
    "pandas Int64": pd.array([1, None, 0], dtype="Int64"),
    "pandas Float64": pd.Series([1.0, None, 0.0], dtype="Float64"),
    "pandas boolean": pd.Series([True, None, False], dtype="boolean"),
    "pandas by Arrow": pd.Series([1, None, 0], dtype="int64[pyarrow]"),
    "pandas boolean by Arrow": pd.Series([True, None, False], dtype="bool[pyarrow]"),
    "pandas objects": pd.Series([1, pd.NA, 0], dtype=object),
    "NA in a list": [1, pd.NA, 0],
    "NaT in a list": [1, pd.NaT, 0],
    "all in a list": [1, MASKED, 0.0],
    "Arrow integers": pa.array([1, None, 0]),
    "Arrow bytes": pa.array([1, None, 0], pa.uint8()),
    "Arrow floats": pa.array([1.0, None, 0.0]),
    "Arrow truth values": pa.array([True, None, False]),
    "Arrow in chunks": pa.chunked_array([[1], [None, 0]]),
    "Arrow in a list": list(pa.array([1, None, 0])),
    "Polars integers": pl.Series([1, None, 0]),
    "Polars floats": pl.Series([1.0, None, 0.0]),
    "Polars truth values": pl.Series([True, None, False]),
}
ROWS: dict[str, Any] = {  # of two numbers, the second row missing
    "numpy.ma": np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 0], [0, 1], [0, 0]]),
    "numpy.ma in a list": [np.ma.array([1, 2]), np.ma.array([3, 4], mask=[True, False]), np.ma.array([5, 6])],
    "masked in lists": [[1, 2], [MASKED, 4], [5, 6]],
    "a row masked": [[1, 2], MASKED, [5, 6]],
    "a row NA": [[1, 2], pd.NA, [5, 6]],
    "a row NaN": [[1, 2], float("nan"), [5, 6]],
    "pandas": pd.DataFrame({"a": pd.array([1, None, 5], dtype="Int64"), "b": [2.0, 4.0, 6.0]}),
    "pandas by Arrow": pd.DataFrame({"a": [1, 3, 5], "b": pd.array([2, None, 6], dtype="int64[pyarrow]")}),
    "Arrow": pa.table({"a": [1, None, 5], "b": [2.0, 4.0, 6.0]}),
    "Polars": pl.DataFrame({"a": [1, None, 5], "b": [2.0, 4.0, 6.0]}),
}
LISTS: dict[str, Any] = {  # columns of lists, for samples of several numbers
    "pandas": pd.Series([[1, 2], None, [5, 6]]),
    "Arrow": pa.array([[1, 2], None, [5, 6]]),
    "Arrow, one part null": pa.array([[1, 2], [3, None], [5, 6]], pa.list_(pa.int64(), 2)),
    "Polars": pl.Series([[1, 2], None, [5, 6]], dtype=pl.Array(pl.Int64, 2)),
}


@pytest.mark.parametrize("xs", SERIES.values(), ids=list(SERIES))
@pytest.mark.parametrize("domain", [OUTCOME, NUMBER], ids=["whole", "any"])
def test_a_mask_hides_a_sample(xs: Any, domain: Domain) -> None:
    samples, observed = read_series(domain, xs)
    assert observed.tolist() == [True, False, True]
    assert samples[observed].tolist() == [1, 0]
    assert domain.allows(samples).all()


@pytest.mark.parametrize("xs", [*ROWS.values(), *LISTS.values()], ids=[*ROWS, *(f"{name}, lists" for name in LISTS)])
def test_a_mask_hides_a_sample_of_several_numbers_or_parts(xs: Any) -> None:
    samples, observed = read_series(VECTOR, xs)
    assert observed.tolist() == [True, False, True]
    assert samples[observed].tolist() == [[1, 2], [5, 6]]
    if any(xs is rows for rows in ROWS.values()):
        parts, observed = read_series(PAIR, xs)
        assert observed.tolist() == [True, False, True]
        assert [part[observed].tolist() for part in parts] == [[1, 5], [2, 6]]


def test_a_mask_in_one_column_hides_a_sample_of_several_parts() -> None:
    for columns in (
        (np.ma.array([1, 2, 3], mask=HIDDEN), np.ma.array([1.0, 2.0, 3.0], mask=[False, False, True])),
        (pa.array([1, None, 3]), pa.array([1.0, 2.0, None])),
        (pl.Series([1, None, 3]), pd.Series([1.0, 2.0, None], dtype="Float64")),
    ):
        assert read_series(PAIR, columns)[1].tolist() == [True, False, False]


MISSING = [None, float("nan"), np.float64("nan"), MASKED, pd.NA, pd.NaT, pa.scalar(None), pa.scalar(None, pa.int64())]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_one_sample_may_be_missing(missing: Any) -> None:
    for samples in (OUTCOME, NUMBER, VECTOR, PAIR):
        assert read_one(samples, missing) is None
    assert read_one(PAIR, (1, missing)) is None
    assert read_one(VECTOR, [1.0, missing]) is None


def test_one_sample_may_be_of_any_library() -> None:
    assert read_one(OUTCOME, pa.scalar(2)) == 2
    assert read_one(NUMBER, np.ma.array(2.0)) == 2
    assert read_one(VECTOR, np.ma.array([1.0, 2.0])).tolist() == [1, 2]
    assert read_one(VECTOR, np.ma.array([1.0, 2.0], mask=[False, True])) is None
