"""Compute engines: what takes the steps of a learner, XLA or machine code of our own (`native`).

XLA computes what no other engine can: what the native one has no rule for, what has large arrays, and everything
where llvmlite is not installed. The environment variable `ASTONISH_ENGINE` (`native` or `xla`) decides wherever nothing
else is said.
"""

import os
import platform
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from warnings import warn

from astonish.core.programs import Packing
from astonish.learners.base import Learner

if TYPE_CHECKING:
    from astonish.engines.native.program import Program

ENGINES = ("native", "xla")


def program_for(
    learner: Learner, start: Any, packing: Packing, engine: str | None = None, for_banks: bool = False
) -> "Program | None":
    """The compiled step of this learner, for states like this one; None where XLA is to compute it.

    Args:
        learner: The learner whose step is compiled; all that differ in parameters only share a program.
        start: A state of the learner.
        packing: How states are handed to compiled code.
        engine: "native" or "xla". Default: the one that the environment asks for, or else the better one.
        for_banks: Whether the program is for tables of states, instead of one state.
    """
    name = engine or os.environ.get("ASTONISH_ENGINE") or None
    if name not in (None, *ENGINES):
        raise ValueError(f"engine = {name!r} is not known; give one of {', '.join(ENGINES)}")
    if name == "xla":
        return None
    obstacle = _obstacle()
    if obstacle is None:
        from astonish.engines.native.llvm import UnsupportedError
        from astonish.engines.native.program import program_of

        try:
            return program_of(learner, start, packing, for_banks)
        except UnsupportedError as problem:
            obstacle = f"{type(learner).__name__} needs {problem}"
            if not problem.expected:
                _say_once(obstacle)
    if engine == "native":
        raise ValueError(f"the native engine is not possible here: {obstacle}; give engine='xla'")
    return None


@cache
def _obstacle() -> str | None:
    """Why nothing at all can be compiled here, if so."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed; pip install 'astonish[native]'"
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"it is for x86-64 processors, and this is {platform.machine()}"
    from astonish.engines.native.entry import is_known_python

    return None if is_known_python() else "it is for CPython with a global lock"


@cache
def _say_once(obstacle: str) -> None:
    warn(f"{obstacle}, which the native engine cannot compile; XLA computes it instead", stacklevel=4)
