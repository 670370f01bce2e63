"""Which settings are sent together? On a processor none, on an accelerator as many as fill it.

An accelerator is fast only when it has much to do. But a program that is compiled for another number of episodes may
add in another order, and its last digits are others. So all calls of a sweep have one size: those that lack settings
are filled up with copies of the last one, which costs little, and whatever is gone on with keeps the size it had.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import jax

from astonish.sweep.study import Study, Together

_SHARE = 0.5  # of the memory; a compiled program needs room of its own
_UNTOLD = 2**33  # bytes, for a device that does not say how much it has


class Batch(NamedTuple):
    """Names of settings that are sent together, and how many settings a call on an accelerator has: none is one."""

    names: list[str]
    size: int = 0


def episodes_at_once(study: Study) -> int:
    """How many episodes fill the device here: all that are alike, or as many as half of its memory holds.

    A power of two; 0 on a processor, and for a study that does not say how to compute settings together.
    """
    how = study.together
    if how is None or jax.default_backend() == "cpu":
        return 0
    settings = study.settings.values()
    alike: Counter[Hashable] = Counter()
    for setting in settings:
        alike[how.alike(setting)] += how.episodes(setting)
    held = int(room() / max(how.memory(setting) for setting in settings))
    return min(1 << (max(alike.values()) - 1).bit_length(), 1 << max(held.bit_length() - 1, 0))


def room() -> float:
    """How many bytes episodes may take on the device here."""
    told: dict[str, Any] = jax.local_devices()[0].memory_stats() or {}
    return _SHARE * told.get("bytes_limit", _UNTOLD)


def batches(study: Study, names: Iterable[str], at_once: int) -> list[Batch]:
    """The settings of these names, so that none has more episodes at once than that, if it can be helped."""
    how = study.together
    if how is None or at_once == 0:
        return [Batch([name]) for name in names]
    kinds: dict[tuple[Hashable, int], list[str]] = {}
    for name in names:
        kinds.setdefault(_kind(study, how, name, at_once), []).append(name)
    return [Batch(some, size) for (_, size), alike in kinds.items() for some in _cut(alike, size)]


def _kind(study: Study, how: Together, name: str, at_once: int) -> tuple[Hashable, int]:
    setting = study.settings[name]
    return how.alike(setting), max(1, at_once // how.episodes(setting))


def _cut(names: Sequence[str], size: int) -> list[list[str]]:
    """In parts of so many.

    >>> _cut("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [names[i : i + size] for i in range(0, len(names), size)]  # type: ignore[misc]
