"""Studies: settings with readable names, what to compute for each, and how to summarise the results."""

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Setting = Mapping[str, Any]
Result = dict[str, Any]

_NAME = re.compile(r"[\w=+,-][\w=+,.-]*(/[\w=+,-][\w=+,.-]*)*", re.ASCII)
_LONGEST = 200


@dataclass(frozen=True)
class Batching:
    """How several settings are computed in one call, which is what fills an accelerator.

    compute: as `Study.compute`, for several settings. group: equal for settings that can go into one call, such as
    those with as many steps. episodes: how many a setting has side by side. memory: the bytes that an episode takes.
    """

    compute: Callable[[Sequence[Setting]], Sequence[Mapping[str, Any]]]
    group: Callable[[Setting], Hashable]
    episodes: Callable[[Setting], int]
    memory: Callable[[Setting], float]


@dataclass(frozen=True)
class Study:
    """Settings by name, and what is to be done with them.

    settings: names such as `maze/m=0.1/seed=7`, each with plain values: numbers, texts, and lists of them.
    compute: from a setting to a flat dictionary of numbers and NumPy arrays. It must depend on the setting alone: any
    seed is in there too.
    summarise: from each setting and its result, in one dictionary by name, to a table. Left out, the table has a row
    for each name.
    draw: a figure of that table, if there is one to be drawn.
    batching: how an accelerator computes several settings in one call; a processor computes each by itself.

    >>> study = Study({f"die/sides={n}": {"sides": n} for n in (4, 6)}, lambda s: {"mean": (s["sides"] + 1) / 2})
    >>> study.table({"die/sides=4": {"mean": 2.5}, "die/sides=6": {"mean": 3.5}}).to_dict("list")
    {'setting': ['die/sides=4', 'die/sides=6'], 'sides': [4, 6], 'mean': [2.5, 3.5]}
    """

    settings: Mapping[str, Setting]
    compute: Callable[[Setting], Mapping[str, Any]]
    summarise: Callable[[Mapping[str, Result]], DataFrame] | None = None
    draw: Callable[[DataFrame], "Figure"] | None = None
    batching: Batching | None = None

    def __post_init__(self) -> None:
        if not self.settings:
            raise ValueError("the study has no settings; give at least one")
        for name, setting in self.settings.items():
            if not (isinstance(name, str) and len(name) <= _LONGEST and _NAME.fullmatch(name)):
                raise ValueError(
                    f"{name!r} cannot name a setting; give letters, digits and any of = + , . - _, in parts divided "
                    f"by /, at most {_LONGEST} in all"
                )
            try:
                plain = json.loads(json.dumps(setting, allow_nan=False)) == setting
            except (TypeError, ValueError):
                plain = False
            if not plain:
                advice = "give a dictionary of plain numbers, texts and lists"
                raise ValueError(f"the setting {name} is {setting!r}; {advice}")

    def table(self, results: Mapping[str, Result]) -> DataFrame:
        """The summary of the results of all settings."""
        joined = {name: {**setting, **results[name]} for name, setting in self.settings.items()}
        if self.summarise is not None:
            return self.summarise(joined)
        return DataFrame([{"setting": name, **about} for name, about in joined.items()])


def checked_result(setting: Setting, result: Any) -> Result:
    """A result with its numbers as Python's and its arrays as NumPy's, or an error that says what is wrong with it."""
    if not isinstance(result, Mapping):
        raise TypeError(f"compute gave {result!r}; let it give a dictionary of numbers and arrays")
    for name, value in result.items():
        if not isinstance(name, str) or name in setting:
            raise ValueError(f"the result has {name!r}, which is no name or one that the setting has; give it another")
        if np.asarray(value).dtype.kind not in "biufc":
            raise TypeError(f"the result has {name} = {value!r}; give numbers, or arrays of numbers")
    arrays = {name: np.asarray(value) for name, value in result.items()}
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}
