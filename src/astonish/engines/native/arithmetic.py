"""JAX's elementwise operations in LLVM: the same numbers, NaN, infinity and overflow included."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from astonish.core.programs import ELEMENTWISE
from astonish.engines.native.llvm import (
    Builder,
    Lowered,
    UnsupportedError,
    Value,
    array_type,
    ir,
    lowered,
    positions,
)

Rule = Callable[..., Value]
_INSTRUCTIONS = {  # for floating-point numbers, signed and unsigned whole ones, of which booleans are the smallest
    "add": ("fadd", "add", "add"), "add_any": ("fadd", "add", "add"), "sub": ("fsub", "sub", "sub"),
    "mul": ("fmul", "mul", "mul"), "div": ("fdiv", "sdiv", "udiv"), "rem": ("frem", "srem", "urem"),
    "neg": ("fneg", "neg", "neg"), "and": ("", "and_", "and_"), "or": ("", "or_", "or_"), "xor": ("", "xor", "xor"),
    "not": ("", "not_", "not_"),
}  # fmt: skip
_IN_VECTORS = {"sqrt", "fabs", "floor", "ceil", "roundeven"}  # what a processor computes for many numbers at once
_OF_C = ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "erf", "erfc", "exp2", "pow",
         "atan", "atan2", "asin", "acos", "lgamma", "cbrt")  # fmt: skip


class Arithmetic(Builder):
    """Writes elementwise operations, too."""

    def do(self, name: str, *values: Value, **params: Any) -> Value:
        """Write an operation, or compute it where all numbers are known.

        Where an array has a single number along an axis, that stands for as many as the others have.
        """
        if params.pop("out_dtype", None) not in (None, values[0].dtype):
            raise UnsupportedError("a result of another type than its numbers")
        if not any(isinstance(value, Lowered) for value in values):
            if name == "convert_element_type":
                return values[0].astype(params["new_dtype"])
            if name in ELEMENTWISE:
                with np.errstate(all="ignore"):
                    return np.asarray(ELEMENTWISE[name](*values))
        shape = np.broadcast_shapes(*(value.shape for value in values))
        alike = (lowered(self.moved(value, np.broadcast_to(positions(value.shape), shape))) for value in values)
        return RULES[name](self, *alike, **params)


def _like(value: Lowered, result: Any, dtype: Any = None) -> Lowered:
    return value._replace(value=result, dtype=value.dtype if dtype is None else np.dtype(dtype))


def _filled(value: Lowered, number: Any) -> Any:
    """The same number as often as another array has some."""
    return lowered(np.full(value.shape, number, value.dtype)).value


def _numbers(value: Lowered) -> list[Any]:
    """The numbers of a constant."""
    constant = value.value.constant
    return [number.constant for number in constant] if isinstance(constant, list) else [constant]


def _instruction(name: str, low: Arithmetic, a: Lowered, *more: Lowered, **_: Any) -> Lowered:
    instruction = _INSTRUCTIONS[name]["fiu".index(a.kind)]
    if not instruction or any(b.dtype != a.dtype for b in more):
        raise UnsupportedError(f"this operation on {' and '.join(str(value.dtype) for value in (a, *more))}")
    if instruction in ("sdiv", "udiv", "srem", "urem"):
        (b,) = more
        if not isinstance(b.value, ir.Constant) or {0, -1} & set(_numbers(b)):  # which may stop the program
            raise UnsupportedError("division of whole numbers by one that is not known, 0 or -1")
    # a product and a sum may be rounded once, as XLA allows
    flags = {"flags": ("contract",)} if instruction in ("fadd", "fsub", "fmul") else {}
    return _like(a, getattr(low, instruction)(a.value, *(b.value for b in more), **flags))


def _compare(sign: str, low: Arithmetic, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    if a.kind == "f":
        compare = low.fcmp_unordered if sign == "!=" else low.fcmp_ordered
    else:
        compare = low.icmp_signed if a.kind == "i" else low.icmp_unsigned
    return _like(a, compare(sign, a.value, b.value), bool)


def _compare_totally(sign: str, low: Arithmetic, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """Compare in the total order of floating-point numbers: -NaN, -infinity, ..., -0, 0, ..., infinity, NaN."""
    if a.kind != "f":
        return _compare(sign, low, a, b)
    kind = np.dtype(f"i{a.dtype.itemsize}")

    def ordered(value: Lowered) -> Lowered:
        bits = _like(value, low.bitcast(value.value, array_type(kind, value.size)), kind)
        mask = low.lshr(low.ashr(bits.value, _filled(bits, 8 * kind.itemsize - 1)), _filled(bits, 1))
        return _like(bits, low.xor(bits.value, mask))

    return _compare(sign, low, ordered(a), ordered(b))


def _extreme(sign: str, low: Arithmetic, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """The larger or smaller; NaN if either is NaN.

    A processor's own instruction gives the second number if either is NaN, so only the first needs a closer look, and
    none does if the first is known.
    """
    if isinstance(b.value, ir.Constant):
        a, b = b, a
    extreme = low.select(_compare(sign, low, a, b).value, a.value, b.value)
    if a.kind == "f" and not isinstance(a.value, ir.Constant):
        extreme = low.select(low.fcmp_unordered("uno", a.value, a.value), a.value, extreme)
    elif a.kind == "f" and any(map(math.isnan, _numbers(a))):
        raise UnsupportedError("a limit that is not a number")
    return _like(a, extreme)


def _shift(name: str, low: Arithmetic, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """Shift; by as many bits as there are, or more, leaves nothing (of a sign: the sign)."""
    bits = 8 * a.dtype.itemsize
    inside = low.icmp_unsigned("<", b.value, _filled(b, bits))
    shifted = getattr(low, name)(a.value, low.select(inside, b.value, _filled(b, bits - 1)))
    return _like(a, shifted if name == "ashr" else low.select(inside, shifted, _filled(a, 0)))


def _call(name: str, low: Arithmetic, a: Lowered, *more: Lowered, **_: Any) -> Lowered:
    """Call an operation of LLVM for all numbers, or a function of C's mathematics for each."""
    if a.kind != "f":
        raise UnsupportedError(f"{name} of {a.dtype}")
    bits, vectors = 8 * a.dtype.itemsize, [value.value for value in (a, *more)]
    if name in _IN_VECTORS:
        element, count = array_type(a.dtype, a.size), "" if a.size == 1 else f"v{a.size}"
        name = f"llvm.{name}.{count}f{bits}"
    else:
        element, name = array_type(a.dtype), f"{name}{'f' * (bits == 32)}"
    function = low.declared(name, element, [element] * len(vectors))
    function.attributes.add("readnone")  # so that the same number is not asked for twice
    if name.startswith("llvm."):
        return _like(a, low.call(function, vectors))
    return _like(a, low.one_by_one(lambda *numbers: low.call(function, numbers), element, *vectors))


def _absolute(low: Arithmetic, a: Lowered, **_: Any) -> Lowered:
    if a.kind == "f":
        return _call("fabs", low, a)
    return a if a.kind == "u" else _extreme(">", low, a, low.do("neg", a))


def _sign(low: Arithmetic, a: Lowered, **_: Any) -> Value:
    zero, one = np.zeros((), a.dtype), np.ones((), a.dtype)
    falling = low.do("select_n", low.do("lt", a, zero), a, np.negative(one))  # 0 and NaN stay as they are
    return low.do("select_n", low.do("gt", a, zero), falling, one)


def _integer_pow(low: Arithmetic, a: Lowered, y: int, **_: Any) -> Value:
    """Multiply repeated squares, as XLA does."""
    one: Value = np.ones(a.shape, a.dtype)
    power, product, left = a, None, abs(y)
    while left:
        if left & 1:
            product = power if product is None else low.do("mul", product, power)
        left >>= 1
        power = low.do("mul", power, power) if left else power
    product = one if product is None else product
    return product if y >= 0 else low.do("div", one, product)


def _logistic(low: Arithmetic, a: Lowered, **_: Any) -> Value:
    one = np.ones((), a.dtype)
    return low.do("div", one, low.do("add", one, low.do("exp", low.do("neg", a))))


def _round(low: Arithmetic, a: Lowered, rounding_method: Any, **_: Any) -> Lowered:
    if int(rounding_method) != 1:
        raise UnsupportedError("rounding half away from zero")
    return _call("roundeven", low, a)


def _select(low: Arithmetic, which: Lowered, *cases: Lowered, **_: Any) -> Lowered:
    """The case of this number, for each element or for all."""
    if which.dtype.kind == "b":
        return _like(cases[0], low.select(which.value, cases[1].value, cases[0].value))
    chosen = cases[0].value
    for k, case in enumerate(cases[1:], 1):
        chosen = low.select(low.icmp_signed(">=", which.value, _filled(which, k)), case.value, chosen)
    return _like(cases[0], chosen)


def _convert(low: Arithmetic, a: Lowered, new_dtype: Any, **_: Any) -> Lowered:
    new = np.dtype(new_dtype)
    kind = array_type(new, a.size)
    if new == a.dtype:
        return a
    if new.kind == "b":
        return _compare("!=", low, a, _like(a, _filled(a, 0)))
    if a.kind == "f" != new.kind:  # the nearest whole number there is towards zero, 0 for NaN
        sign, count = "u" if new.kind == "u" else "s", "" if a.size == 1 else f"v{a.size}"
        name = f"llvm.fpto{sign}i.sat.{count}i{8 * new.itemsize}.{count}f{8 * a.dtype.itemsize}"
        return _like(a, low.call(low.declared(name, kind, [a.value.type]), [a.value]), new)
    wider = new.itemsize > a.dtype.itemsize or a.dtype.kind == "b"
    if new.kind == "f":
        instruction = {"i": "sitofp", "u": "uitofp"}.get(a.kind, "fpext" if wider else "fptrunc")
    elif new.itemsize == a.dtype.itemsize and not wider:
        return _like(a, a.value, new)
    else:
        instruction = ("sext" if a.kind == "i" else "zext") if wider else "trunc"
    return _like(a, getattr(low, instruction)(a.value, kind), new)


def _bitcast(low: Arithmetic, a: Lowered, new_dtype: Any, **_: Any) -> Lowered:
    new = np.dtype(new_dtype)
    if new.itemsize != a.dtype.itemsize or "b" in (new.kind, a.dtype.kind):
        raise UnsupportedError("bits read as a type of another size")
    kind = array_type(new, a.size)
    return _like(a, a.value if a.value.type == kind else low.bitcast(a.value, kind), new)


RULES: dict[str, Rule] = {
    **{name: partial(_instruction, name) for name in _INSTRUCTIONS},
    **{name: partial(_call, name) for name in ("sqrt", "floor", "ceil", *_OF_C)},
    "max": partial(_extreme, ">"),
    "min": partial(_extreme, "<"),
    "clamp": lambda low, least, a, most, **_: low.do("min", low.do("max", a, least), most),
    "eq": partial(_compare, "=="),
    "ne": partial(_compare, "!="),
    "lt": partial(_compare, "<"),
    "le": partial(_compare, "<="),
    "gt": partial(_compare, ">"),
    "ge": partial(_compare, ">="),
    "lt_to": partial(_compare_totally, "<"),
    "le_to": partial(_compare_totally, "<="),
    "is_finite": lambda low, a, **_: low.do("lt", _absolute(low, a), np.asarray(np.inf, a.dtype)),
    "shift_left": partial(_shift, "shl"),
    "shift_right_logical": partial(_shift, "lshr"),
    "shift_right_arithmetic": partial(_shift, "ashr"),
    "abs": _absolute,
    "sign": _sign,
    "square": lambda low, a, **_: low.do("mul", a, a),
    "integer_pow": _integer_pow,
    "logistic": _logistic,
    "rsqrt": lambda low, a, **_: low.do("div", np.ones((), a.dtype), low.do("sqrt", a)),
    "round": _round,
    "select_n": _select,
    "convert_element_type": _convert,
    "bitcast_convert_type": _bitcast,
    **dict.fromkeys(
        ("stop_gradient", "copy", "copy_p", "optimization_barrier", "device_put", "computed_once"),
        lambda _low, a, **_: a,
    ),
}
