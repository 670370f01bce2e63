"""What do the results of a grid come to? A row for each setting: means over episodes, and how sure they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.sweep import Result


def by_setting(known: Mapping[str, Result]) -> DataFrame:
    """Numbers as they are; of arrays the mean, and its standard error where there is more than one value."""
    return DataFrame([{"setting": name, **_row(about)} for name, about in known.items()])


def _row(about: Result) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in about.items():
        if not isinstance(value, np.ndarray):
            row[name] = value
            continue
        row[name] = value.mean()
        if len(value) > 1:
            row[f"{name}_se"] = value.std(ddof=1) / len(value) ** 0.5
    return row
