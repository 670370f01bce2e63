"""How does LLVM compute what JAX's elementwise operations compute, NaN, infinity and overflow included?"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from astonish.engines.native.llvm import ir
from astonish.engines.native.values import (
    CONTRACT,
    WRITTEN_OUT,
    Lowered,
    UnsupportedError,
    Value,
    allocated,
    array_type,
    constant,
    counted,
    declared,
    element_type,
    lowered,
    moved,
    positions,
)

Rule = Callable[..., Value]
_NUMPY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "neg": np.negative,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "convert_element_type": np.ndarray.astype,
    "select_n": lambda which, *cases: np.choose(which.astype(int), cases),
}  # fmt: skip


def elementwise(name: str, builder: Any, values: Sequence[Value], **params: Any) -> Value:
    """What an operation of this name gives."""
    if params.pop("out_dtype", None) not in (None, values[0].dtype):
        raise UnsupportedError("a result of another type than its numbers")
    if name in _NUMPY and not any(isinstance(value, Lowered) for value in values):
        with np.errstate(all="ignore"):
            return np.asarray(_NUMPY[name](*values, *([params["new_dtype"]] if "new_dtype" in params else [])))
    return RULES[name](builder, *_alike(builder, values), **params)


def _alike(builder: Any, values: Sequence[Value]) -> list[Lowered]:
    """Arrays of one shape: where one has a single number along an axis, it stands for as many as the others have."""
    shape = np.broadcast_shapes(*(value.shape for value in values))
    return [lowered(moved(builder, value, np.broadcast_to(positions(value.shape), shape))) for value in values]


def _like(value: Lowered, found: Any, dtype: Any = None) -> Lowered:
    return value._replace(value=found, dtype=value.dtype if dtype is None else np.dtype(dtype))


def _numbers(known: Lowered) -> list[Any]:
    """The numbers of a constant."""
    held = known.value.constant
    return [each.constant for each in held] if isinstance(held, list) else [held]


def filled(value: Lowered, number: Any) -> Lowered:
    """The same number as often as another array has some."""
    return constant(np.full(value.shape, number, value.dtype))


def _binary(floating: str, signed: str, unsigned: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    name = {"f": floating, "i": signed, "u": unsigned}[a.kind]
    if not name or a.dtype != b.dtype:
        raise UnsupportedError(f"this operation on {a.dtype} and {b.dtype}")
    flags = {"flags": CONTRACT} if name in ("fadd", "fsub", "fmul") else {}
    return _like(a, getattr(builder, name)(a.value, b.value, **flags))


def _compare(how: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    if a.kind == "f":
        compare = builder.fcmp_unordered if how == "!=" else builder.fcmp_ordered
    else:
        compare = builder.icmp_signed if a.kind == "i" else builder.icmp_unsigned
    return _like(a, compare(how, a.value, b.value), bool)


def _total(how: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """Comparison in the total order of floating-point numbers: -NaN, -infinity, ..., -0, 0, ..., infinity, NaN."""
    if a.kind != "f":
        return _compare(how, builder, a, b)
    kind = np.dtype(f"i{a.dtype.itemsize}")

    def ordered(value: Lowered) -> Lowered:
        bits = _like(value, builder.bitcast(value.value, array_type(kind, value.size)), kind)
        sign = builder.ashr(bits.value, filled(bits, 8 * kind.itemsize - 1).value)
        mask = builder.lshr(sign, filled(bits, 1).value)
        return _like(bits, builder.xor(bits.value, mask))

    return _compare(how, builder, ordered(a), ordered(b))


def _extreme(how: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """The larger or smaller; NaN if either is NaN.

    A processor's own instruction gives the second number if either is NaN, so only the first needs a closer look, and
    none does if the first is known.
    """
    if isinstance(b.value, ir.Constant):
        a, b = b, a
    found = builder.select(_compare(how, builder, a, b).value, a.value, b.value)
    if a.kind == "f" and not isinstance(a.value, ir.Constant):
        found = builder.select(builder.fcmp_unordered("uno", a.value, a.value), a.value, found)
    elif a.kind == "f" and any(map(math.isnan, _numbers(a))):
        raise UnsupportedError("a limit that is not a number")
    return _like(a, found)


def _divide(name: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    if a.kind == "f":
        return _like(a, builder.fdiv(a.value, b.value) if name == "div" else builder.frem(a.value, b.value))
    if not isinstance(b.value, ir.Constant) or {0, -1} & set(_numbers(b)):  # which may stop the program
        raise UnsupportedError("division of whole numbers by one that is not known, 0 or -1")
    names = {"div": ("sdiv", "udiv"), "rem": ("srem", "urem")}[name]
    return _like(a, getattr(builder, names[a.kind == "u"])(a.value, b.value))


def _shift(name: str, builder: Any, a: Lowered, b: Lowered, **_: Any) -> Lowered:
    """Shifts by as many bits as there are, or more, leave nothing (of a sign: the sign)."""
    bits = 8 * a.dtype.itemsize
    inside = builder.icmp_unsigned("<", b.value, filled(b, bits).value)
    by = builder.select(inside, b.value, filled(b, bits - 1).value)
    found = getattr(builder, name)(a.value, by)
    return _like(a, found if name == "ashr" else builder.select(inside, found, filled(a, 0).value))


def called(builder: Any, name: str, value: Lowered, *more: Lowered) -> Lowered:
    """A function of C's mathematics, or an operation of LLVM (`llvm.` before its name), for each number."""
    element = element_type(value.dtype)
    vector = name.startswith("llvm.") and name[5:] in ("sqrt", "fabs", "floor", "ceil", "roundeven", "copysign")
    if vector or value.size == 1:
        kind = array_type(value.dtype, value.size)
        return _like(value, builder.call(_declared(builder, name, value, kind, 1 + len(more)), _all(value, *more)))
    function = _declared(builder, name, value._replace(shape=()), element, 1 + len(more))
    if value.size > WRITTEN_OUT:
        return _like(value, _called_in_a_loop(builder, function, _all(value, *more), value))
    found = ir.Constant(ir.VectorType(element, value.size), ir.Undefined)
    for k in range(value.size):
        at = ir.IntType(32)(k)
        one = builder.call(function, [builder.extract_element(v, at) for v in _all(value, *more)])
        found = builder.insert_element(found, one, at)
    return _like(value, found)


def _called_in_a_loop(builder: Any, function: Any, vectors: Sequence[Any], like: Lowered) -> Any:
    """The same for many numbers, of which LLVM would take seconds to make sense one by one."""
    element, kind = element_type(like.dtype), array_type(like.dtype, like.size)
    *rooms, found = [allocated(builder, kind) for _ in (*vectors, None)]
    for vector, room in zip(vectors, rooms, strict=True):
        builder.store(vector, room)
    with counted(builder, ir.IntType(64)(like.size)) as k:
        places = [builder.gep(room, [k], source_etype=element) for room in (*rooms, found)]
        builder.store(builder.call(function, [builder.load(place, typ=element) for place in places[:-1]]), places[-1])
    return builder.load(found, typ=kind)


def _all(*values: Lowered) -> list[Any]:
    return [value.value for value in values]


def _declared(builder: Any, name: str, value: Lowered, kind: Any, arguments: int) -> Any:
    bits = 8 * value.dtype.itemsize
    if name.startswith("llvm."):
        name += f".f{bits}" if value.size == 1 else f".v{value.size}f{bits}"
    elif bits == 32:
        name += "f"
    found = declared(builder, name, kind, [kind] * arguments)
    found.attributes.add("readnone")  # so that the same number is not asked for twice
    return found


def _function(name: str, builder: Any, *values: Lowered, **_: Any) -> Lowered:
    if values[0].kind != "f":
        raise UnsupportedError(f"{name} of {values[0].dtype}")
    return called(builder, name, *values)


def _negative(builder: Any, a: Lowered, **_: Any) -> Lowered:
    return _like(a, builder.fneg(a.value) if a.kind == "f" else builder.neg(a.value))


def _absolute(builder: Any, a: Lowered, **_: Any) -> Lowered:
    if a.kind == "f":
        return called(builder, "llvm.fabs", a)
    return a if a.kind == "u" else _extreme(">", builder, a, _negative(builder, a))


def _sign(builder: Any, a: Lowered, **_: Any) -> Lowered:
    up, down = (_compare(how, builder, a, filled(a, 0)).value for how in "><")
    signed = builder.select(up, filled(a, 1).value, builder.select(down, filled(a, -1).value, a.value))
    return _like(a, signed)


def _square(builder: Any, a: Lowered, **_: Any) -> Lowered:
    return RULES["mul"](builder, a, a)


def _integer_pow(builder: Any, a: Lowered, y: int, **_: Any) -> Lowered:
    """By repeated squares, as XLA does."""
    power, found, left = a, None, abs(y)
    while left:
        if left & 1:
            found = power if found is None else RULES["mul"](builder, found, power)
        left >>= 1
        power = RULES["mul"](builder, power, power) if left else power
    found = filled(a, 1) if found is None else found
    return found if y >= 0 else RULES["div"](builder, filled(a, 1), found)


def _logistic(builder: Any, a: Lowered, **_: Any) -> Lowered:
    one = filled(a, 1)
    return RULES["div"](builder, one, RULES["add"](builder, one, called(builder, "exp", _negative(builder, a))))


def _rsqrt(builder: Any, a: Lowered, **_: Any) -> Lowered:
    return RULES["div"](builder, filled(a, 1), called(builder, "llvm.sqrt", a))


def _round(builder: Any, a: Lowered, rounding_method: Any, **_: Any) -> Lowered:
    if int(rounding_method) != 1:
        raise UnsupportedError("rounding half away from zero")
    return called(builder, "llvm.roundeven", a)


def _is_finite(builder: Any, a: Lowered, **_: Any) -> Lowered:
    return _compare("<", builder, called(builder, "llvm.fabs", a), filled(a, np.inf))


def _not(builder: Any, a: Lowered, **_: Any) -> Lowered:
    return _like(a, builder.not_(a.value))


def _select(builder: Any, which: Lowered, *cases: Lowered, **_: Any) -> Lowered:
    """The case of this number, for each element or for all."""
    if which.dtype.kind == "b":
        return _like(cases[0], builder.select(which.value, cases[1].value, cases[0].value))
    found = cases[0]
    for k, case in enumerate(cases[1:], 1):
        here = builder.icmp_signed(">=", which.value, filled(which, k).value)
        found = _like(found, builder.select(here, case.value, found.value))
    return found


def _clamp(builder: Any, low: Lowered, a: Lowered, high: Lowered, **_: Any) -> Lowered:
    return _extreme("<", builder, _extreme(">", builder, a, low), high)


def _convert(builder: Any, a: Lowered, new_dtype: Any, **_: Any) -> Lowered:
    new = np.dtype(new_dtype)
    kind = array_type(new, a.size)
    if new == a.dtype:
        return a
    if new.kind == "b":
        return _compare("!=", builder, a, filled(a, 0))
    name = {
        ("f", "f"): "fpext" if new.itemsize > a.dtype.itemsize else "fptrunc",
        ("i", "f"): "sitofp",
        ("u", "f"): "uitofp",
    }.get((a.kind, new.kind))
    if name is None and a.kind == "f":
        return _saturated(builder, a, new, kind)
    if name is None:
        wider = new.itemsize > a.dtype.itemsize or a.dtype.kind == "b"
        if new.itemsize == a.dtype.itemsize and a.dtype.kind != "b":
            return _like(a, a.value, new)
        name = ("sext" if a.kind == "i" else "zext") if wider else "trunc"
    return _like(a, getattr(builder, name)(a.value, kind), new)


def _saturated(builder: Any, a: Lowered, new: Any, kind: Any) -> Lowered:
    """Floating-point to whole numbers: the nearest there is towards zero, 0 for NaN."""
    sign, count = "u" if new.kind == "u" else "s", "" if a.size == 1 else f"v{a.size}"
    name = f"llvm.fpto{sign}i.sat.{count}i{8 * new.itemsize}.{count}f{8 * a.dtype.itemsize}"
    return _like(a, builder.call(declared(builder, name, kind, [a.value.type]), [a.value]), new)


def _bitcast(builder: Any, a: Lowered, new_dtype: Any, **_: Any) -> Lowered:
    new = np.dtype(new_dtype)
    if new.itemsize != a.dtype.itemsize or "b" in (new.kind, a.dtype.kind):
        raise UnsupportedError("bits read as a type of another size")
    kind = array_type(new, a.size)
    return _like(a, a.value if a.value.type == kind else builder.bitcast(a.value, kind), new)


def _same(_builder: Any, a: Lowered, **_: Any) -> Lowered:
    return a


RULES: dict[str, Rule] = {
    "add": partial(_binary, "fadd", "add", "add"),
    "add_any": partial(_binary, "fadd", "add", "add"),
    "sub": partial(_binary, "fsub", "sub", "sub"),
    "mul": partial(_binary, "fmul", "mul", "mul"),
    "and": partial(_binary, "", "and_", "and_"),
    "or": partial(_binary, "", "or_", "or_"),
    "xor": partial(_binary, "", "xor", "xor"),
    "div": partial(_divide, "div"),
    "rem": partial(_divide, "rem"),
    "max": partial(_extreme, ">"),
    "min": partial(_extreme, "<"),
    "eq": partial(_compare, "=="),
    "ne": partial(_compare, "!="),
    "lt": partial(_compare, "<"),
    "le": partial(_compare, "<="),
    "gt": partial(_compare, ">"),
    "ge": partial(_compare, ">="),
    "lt_to": partial(_total, "<"),
    "le_to": partial(_total, "<="),
    "shift_left": partial(_shift, "shl"),
    "shift_right_logical": partial(_shift, "lshr"),
    "shift_right_arithmetic": partial(_shift, "ashr"),
    "neg": _negative,
    "abs": _absolute,
    "sign": _sign,
    "square": _square,
    "integer_pow": _integer_pow,
    "logistic": _logistic,
    "rsqrt": _rsqrt,
    "round": _round,
    "is_finite": _is_finite,
    "not": _not,
    "select_n": _select,
    "clamp": _clamp,
    "convert_element_type": _convert,
    "bitcast_convert_type": _bitcast,
    **dict.fromkeys(("stop_gradient", "copy", "copy_p", "optimization_barrier", "device_put", "computed_once"), _same),
    **{name: partial(_function, f"llvm.{name}") for name in ("sqrt", "floor", "ceil")},
    **{
        name: partial(_function, name)
        for name in ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "erf", "erfc",
                     "exp2", "pow", "atan", "atan2", "asin", "acos", "lgamma", "cbrt")
    },
}  # fmt: skip
