"""Is the page's server safe from tables, connections and people that would harm it?"""

import csv
import gzip
import io
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the page needs starlette")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")


from astonish.explorer.data import DataTab
from astonish.explorer.upload import as_file

HOME, AWAY = "http://127.0.0.1:8765", "http://192.168.0.7:8765"
TOKEN, SECONDS = "a-secret", 2
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux limits memory")
WIDE, LONG = 2_500, 1_000  # more than two million cells together


# ---- tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"," * WIDE + b"\n" * LONG),
        ("t.csv", b"," * WIDE + b"\r" * LONG),
        ("t.txt", b";" * WIDE + b"\r\n" * LONG),
        ("t.tsv", b"a,b" + b"\t" * WIDE + b"\n" * LONG),
        ("t.csv.gz", gzip.compress(b"," * WIDE + b"\n" * LONG, mtime=0)),
        ("t.csv", b'"x\n",' + b"," * WIDE + b"\n" * LONG),  # the first row has two lines
    ],
)
def test_cells_are_counted_before_a_table_is_read(name: str, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"2000000 cells, .* use the command"), as_file(name, content):
        pass


@pytest.mark.parametrize("content", [b"x\n" + b"," * WIDE + b"\n" * LONG, b"x\n" + b"," * 2**20, b"x,y\r1,2,3\r"])
def test_rows_with_more_cells_than_names_are_refused_before_they_are_read(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"the second row has .* give each column a name"), as_file("t.csv", content):
        pass


@pytest.mark.parametrize(
    ("columns", "row", "rows"), [(2, "1.5,2.5", 99_990), (WIDE, "1" + "," * (WIDE - 1), 790), (2, "1,5;2,5", 9)]
)
def test_a_table_with_no_more_cells_than_allowed_is_read(columns: int, row: str, rows: int) -> None:
    header = (";" if ";" in row else ",").join(f"c{k}" for k in range(columns))
    read = DataTab().preview({"name": "t.csv"}, f"{header}\n{f'{row} ' * rows}".replace(" ", "\n").encode())
    assert (len(read["columns"]), read["trials"]) == (columns, rows)


def test_commas_in_text_are_no_cells() -> None:
    content = 'said,x\n"' + "well, " * 500 + '",1\n' + "no,2\n" * 5000
    assert DataTab().preview({"name": "t.csv"}, content.encode())["trials"] == 5001


def test_a_spreadsheet_runs_nothing_of_a_table_that_was_downloaded() -> None:
    risky = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\r=1", "\n=1"]
    words = [*risky, "-1.5", "+2e3", "plain", "a=b", "a\r=1", "", "'quoted"]
    frame = pd.DataFrame({"x": [-1.5, 2.0] * 7, "=word": words, "count": range(-7, 7)})
    sent = frame.to_csv(index=False, quoting=csv.QUOTE_ALL).encode()
    text = DataTab().table({"name": "t.csv", "outcome": "x", "learner": "delta"}, sent)
    read = pd.read_csv(io.StringIO(text, newline=""), keep_default_na=False)
    assert list(read)[:3] == ["x", "'=word", "count"]
    assert read["'=word"].tolist() == [f"'{word}" if word in risky else word for word in words]
    for name in ("x", "count"):
        pd.testing.assert_series_equal(read[name], frame[name])
    assert (read.prediction_error < 0).any()
