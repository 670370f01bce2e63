"""By which code, and on what, was a number computed? Numbers are trusted only if this code computed them."""

import inspect
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
import numpy as np

import astonish

Made = dict[str, str]


@cache
def code() -> str:
    """A fingerprint of the library."""
    root = Path(astonish.__file__).parent
    return sha256(b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))).hexdigest()[:16]


def versions() -> Made:
    """What computes here: the library and what it rests on."""
    return {"astonish": astonish.__version__, "code": code(), "jax": jax.__version__, "numpy": np.__version__}


def device() -> str:
    """What kind of device computes here; the same kind gives the same numbers to the last digit."""
    first = jax.devices()[0]
    return "cpu" if first.platform == "cpu" else str(first.device_kind)


def place(on: str, at_once: int) -> str:
    """In words, where something was computed."""
    return f"{on}, {at_once} episodes at once" if at_once else on


def fingerprint(compute: Any) -> str:
    """Of a function that is not part of the library: of the file that it is in, or of itself where there is none."""
    while isinstance(compute, partial):
        compute = compute.func
    function = compute if inspect.isfunction(compute) or inspect.ismethod(compute) else type(compute)
    if str(function.__module__).partition(".")[0] == "astonish":
        return "of the library"
    try:
        written = Path(inspect.getfile(function)).read_bytes()
    except (OSError, TypeError):
        written = getattr(getattr(function, "__code__", None), "co_code", b"")
    return sha256(written).hexdigest()[:16]
