"""The library's mathematics without a compiler: JAX's trace of each function, carried out by NumPy.

A test that compares an equation with an oracle needs its value at a few points, which takes milliseconds this way and
up to seconds if XLA compiles it. `test_interpreter` checks that both ways agree, for every operation and every learner.
"""

from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

from astonish.core.programs import interpreted
from astonish.theory import expfam as _expfam, predictive as _predictive, rule as _rule, surprise as _surprise

by_numpy: Any = cache(interpreted)


def _uncompiled(module: ModuleType) -> Any:
    functions = {name: thing for name, thing in vars(module).items() if callable(thing) and name.islower()}
    return SimpleNamespace(**{**vars(module), **{name: by_numpy(function) for name, function in functions.items()}})


expfam, predictive, rule, surprise = map(_uncompiled, (_expfam, _predictive, _rule, _surprise))
