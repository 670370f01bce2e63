"""How is a table written in which a spreadsheet runs nothing that people typed?

Text that starts like a formula is marked as text by an apostrophe. FloatArray stay as they are.
"""

import csv
import io
from typing import Any

from pandas import DataFrame
from pandas.api.types import is_numeric_dtype

FORMULAS = tuple("=+-@\t\r\n")  # how text starts that a spreadsheet runs, unless it is a number


def defused(frame: DataFrame) -> DataFrame:
    """The same table, with text marked that would be run."""
    marked_cells = frame.apply(lambda column: column if is_numeric_dtype(column) else column.map(marked))
    return marked_cells.rename(columns=marked)


def defused_text(text: str) -> str:
    r"""The same for a table that is written already, with commas; the very text if there is nothing to mark.

    >>> defused_text("who,x\n=1+1,-2\n")
    "who,x\n'=1+1,-2\n"
    """
    rows = list(csv.reader(io.StringIO(text, newline="")))
    changed = [[marked(cell) for cell in row] for row in rows]
    if changed == rows:
        return text
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(changed)
    return out.getvalue()


def marked(cell: Any) -> Any:
    """A cell, marked if it is text that would be run."""
    if not isinstance(cell, str) or not cell.startswith(FORMULAS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
