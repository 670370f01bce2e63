"""How many settings are sent together? On a processor one, on an accelerator as many as its memory holds.

An accelerator is fast only when it has much to do. What a setting takes there is for the study to say (`Study.memory`);
half of what JAX says is free may be taken, since a compiled program needs room of its own.
"""

from collections.abc import Iterable, Sequence

import jax

from astonish.sweep.study import Study

_SHARE = 0.5
_UNTOLD = 2**30  # bytes, for a device that does not say how much it has


def room() -> float:
    """How many bytes settings may take on the device here."""
    told = jax.local_devices()[0].memory_stats() or {}
    free = told["bytes_limit"] - told.get("bytes_in_use", 0) if "bytes_limit" in told else _UNTOLD
    return _SHARE * free


def batches(study: Study, names: Sequence[str], at_once: int | None) -> list[list[str]]:
    """Names of settings, those together that are sent together. at_once: so many; if left out, what fills the device.

    >>> study = Study({f"n={n}": {"n": n} for n in range(5)}, lambda setting: setting)
    >>> batches(study, list(study.settings), at_once=2)
    [['n=0', 'n=1'], ['n=2', 'n=3'], ['n=4']]
    """
    if at_once is not None:
        return [list(names[i : i + at_once]) for i in range(0, len(names), at_once)]
    if study.many is None or study.memory is None or jax.default_backend() == "cpu":
        return [[name] for name in names]
    return filled(names, [study.memory(study.settings[name]) for name in names], room())


def filled(names: Iterable[str], sizes: Iterable[float], most: float) -> list[list[str]]:
    """Names in order, as many together as fit.

    >>> filled("abcd", [3, 3, 3, 9], most=7)
    [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[str]] = []
    taken = 0.0
    for name, size in zip(names, sizes, strict=True):
        if groups and taken + size <= most:
            groups[-1].append(name)
            taken += size
        else:
            groups.append([name])
            taken = size
    return groups
