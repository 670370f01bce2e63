"""How does Python call a learner's step without the cost of a foreign function?

`update` is a function as CPython itself calls those that are written in C: it reads one sample, checks that it is
allowed, takes the step and makes the answer. Whatever is not an ordinary number, or not allowed, it leaves to a
function of Python, which has more time. It runs under Python's lock from end to end, so nothing comes between.

What a function needs to know is in a table of addresses, a `bytes` object at the head of the tuple that is its `self`;
the tuple owns everything that the table points to.
"""

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from astonish.core.numbers import Domain
from astonish.engines.native.layout import COUNT
from astonish.engines.native.llvm import ir
from astonish.engines.native.values import allocated, array_type, declared

BYTE, INT, WORD, POINTER = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.PointerType()
DOUBLE, NOTHING = ir.DoubleType(), ir.VoidType()
NULL = ir.Constant(POINTER, None)
_FLUSH = 0x8040  # denormal numbers count as zero, as in XLA
# the table of addresses, before those of parameters, parts of the state and answers
FLOAT, WHOLE, TUPLE, ARRAY, STEP, SLOW, COPY, TRUE, FALSE, WATCH, FIRST = range(11)
_CALL = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS
_NUMBERS = 0x0008 | 0x0004  # PyBUF_ND | PyBUF_FORMAT: in one piece, and which type of number
_BUFFER = (0, 16, 36, 40)  # where a Py_buffer has its address, length, number of dimensions and format

_GIVES = {
    "PyLong_AsDouble": DOUBLE,
    "PyTuple_Size": WORD,
    "PyTuple_SetItem": INT,
    "PyObject_GetBuffer": INT,
    **dict.fromkeys(("PyErr_Clear", "PyBuffer_Release", "Py_IncRef"), NOTHING),
}  # what Python's functions give, where that is not an object


def is_known_python() -> bool:
    """Whether objects of this Python are laid out as `update` expects, and it has one lock for all threads."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    number = 1.5
    of_type, value = ctypes.c_void_p.from_address(id(number) + 8), ctypes.c_double.from_address(id(number) + 16)
    return of_type.value == id(float) and value.value == number


class _Method(ctypes.Structure):
    """A `PyMethodDef`."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def bound(name: str, address: int, addresses: Sequence[int], *owned: Any) -> Callable[..., Any]:
    """A function of Python that calls the code at this address. owned: what the addresses point to."""
    method = _Method(name.encode(), address, _CALL, b"update(x)\n--\n\nLearn from one sample.")
    table = b"".join(number.to_bytes(8, sys.byteorder) for number in addresses)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: Callable[..., Any] = make(ctypes.addressof(method), (table, method, *owned), None)
    return function


def flushing(builder: Any) -> Callable[[], None]:
    """Have denormal numbers count as zero, until the function that is returned is called."""
    with builder.goto_entry_block():
        before, now = builder.alloca(INT), builder.alloca(INT)
    store, load = (declared(builder, f"llvm.x86.sse.{name}mxcsr", NOTHING, [POINTER]) for name in ("st", "ld"))
    builder.call(store, [before])
    builder.store(builder.or_(builder.load(before, typ=INT), INT(_FLUSH)), now)
    builder.call(load, [now])
    return lambda: builder.call(load, [before])


def write(module: Any, step: Any, layout: Any, samples: Any) -> None:
    """Write `update` and `watch`, which takes a step and says whether a number exceeds a threshold."""
    for name in ("update", "watch"):
        _Entry(module, step, layout, name).write(samples)


class _Entry:
    def __init__(self, module: Any, step: Any, layout: Any, name: str) -> None:
        self.module, self.step, self.layout, self.name = module, step, layout, name
        self.function = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER, WORD, POINTER]), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.slow = self.function.append_basic_block("slow")

    def write(self, samples: Any) -> None:
        builder, layout = self.builder, self.layout
        me, arguments, count, names = self.function.args
        start = self.function.append_basic_block("start")
        builder.branch(start)
        builder.position_at_end(start)
        table = self._python("PyBytes_AsString", self._python("PyTuple_GetItem", me, WORD(0)))
        self.table = table
        plain = builder.and_(builder.icmp_unsigned("==", names, NULL), builder.icmp_signed("==", count, WORD(1)))
        self._only_if(plain)
        places = [self._room(array_type(aval.dtype, _count(aval))) for aval in layout.samples]
        if any(len(aval.shape) > 1 or (aval.shape and aval.dtype.kind != "f") for aval in layout.samples):
            builder.branch(self.slow)  # matrices, and arrays of whole numbers, are read by NumPy
        else:
            self._read(samples, builder.load(arguments, typ=POINTER), iter(places))
            self._step_and_answer(places)
        builder.position_at_end(self.slow)
        builder.ret(self._python("PyObject_Vectorcall", self._address(SLOW), arguments, count, names))
        self._write_raw()

    def _write_raw(self) -> None:
        """The same for a sample that was read and checked: its numbers as `bytes`, each part behind the other."""
        self.function = ir.Function(self.module, self.function.function_type, f"{self.name}_read")
        self.builder = builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        start = self.function.append_basic_block("start")
        builder.branch(start)
        builder.position_at_end(start)
        self.table = self._python("PyBytes_AsString", self._python("PyTuple_GetItem", self.function.args[0], WORD(0)))
        numbers = self._python("PyBytes_AsString", builder.load(self.function.args[1], typ=POINTER))
        places, at = [], 0
        for aval in self.layout.samples:
            places.append(builder.gep(numbers, [WORD(at)], source_etype=BYTE))
            at += _count(aval) * aval.dtype.itemsize
        self._step_and_answer(places)

    def _room(self, kind: Any) -> Any:
        return allocated(self.builder, kind)

    def _python(self, name: str, *arguments: Any) -> Any:
        """Call a function of Python's."""
        takes = [argument.type for argument in arguments]
        return self.builder.call(declared(self.builder, name, _GIVES.get(name, POINTER), takes), list(arguments))

    def _address(self, index: int) -> Any:
        return self.builder.load(self.builder.gep(self.table, [WORD(index)], source_etype=POINTER), typ=POINTER)

    def _only_if(self, condition: Any) -> None:
        """Go on if this is true; else leave the sample to Python."""
        further = self.builder.append_basic_block("further")
        self.builder.cbranch(condition, further, self.slow)
        self.builder.position_at_end(further)

    def _has_type(self, thing: Any, which: int) -> Any:
        own = self.builder.load(self.builder.gep(thing, [WORD(1)], source_etype=POINTER), typ=POINTER)
        return self.builder.icmp_unsigned("==", own, self._address(which))

    def _read(self, samples: Any, thing: Any, places: Any) -> None:
        """Read a sample, or the parts of one, into their places."""
        if isinstance(samples, Domain) and samples.shape:
            self._read_array(samples, thing, next(places))
            return
        if isinstance(samples, Domain):
            number = self._number(thing)
            self._check(samples, number)
            kind = INT if samples.is_index else DOUBLE
            self.builder.store(self.builder.fptosi(number, INT) if kind is INT else number, next(places))
            return
        self._only_if(self._has_type(thing, TUPLE))
        self._only_if(self.builder.icmp_signed("==", self._python("PyTuple_Size", thing), WORD(len(samples))))
        for k, part in enumerate(samples):
            self._read(part, self._python("PyTuple_GetItem", thing, WORD(k)), places)

    def _number(self, thing: Any) -> Any:
        builder, found = self.builder, self._room(DOUBLE)
        with builder.if_else(self._has_type(thing, FLOAT)) as (floating, other):
            with floating:
                builder.store(builder.load(builder.gep(thing, [WORD(2)], source_etype=DOUBLE), typ=DOUBLE), found)
            with other:
                self._only_if(self._has_type(thing, WHOLE))
                number = self._python("PyLong_AsDouble", thing)
                with builder.if_then(builder.fcmp_ordered("==", number, DOUBLE(-1.0)), likely=False):
                    failed = builder.icmp_unsigned("!=", self._python("PyErr_Occurred"), NULL)
                    with builder.if_then(failed, likely=False):
                        self._python("PyErr_Clear")
                        builder.branch(self.slow)
                        builder.position_at_end(builder.append_basic_block("never"))
                builder.store(number, found)
        return builder.load(found, typ=DOUBLE)

    def _read_array(self, domain: Domain, thing: Any, place: Any) -> None:
        """Read an array of NumPy's, of float64 and in one piece; any other is left to Python."""
        builder, size = self.builder, domain.shape[0]
        self._only_if(self._has_type(thing, ARRAY))
        view = self._room(ir.ArrayType(WORD, 16))  # a `Py_buffer`, and more
        view.type = POINTER
        failed = builder.icmp_signed("!=", self._python("PyObject_GetBuffer", thing, view, INT(_NUMBERS)), INT(0))
        with builder.if_then(failed, likely=False):
            self._python("PyErr_Clear")
            builder.branch(self.slow)
            builder.position_at_end(builder.append_basic_block("never"))
        fields = [builder.gep(view, [WORD(at)], source_etype=BYTE) for at in _BUFFER]
        data, form = (builder.load(fields[k], typ=POINTER) for k in (0, 3))
        fits = builder.icmp_signed("==", builder.load(fields[1], typ=WORD), WORD(8 * size))
        fits = builder.and_(fits, builder.icmp_signed("==", builder.load(fields[2], typ=INT), INT(1)))
        short = ir.IntType(16)
        fits = builder.and_(fits, builder.icmp_unsigned("==", builder.load(form, typ=short, align=1), short(ord("d"))))
        with builder.if_then(fits):
            kind = array_type(np.float64, size)
            builder.store(builder.load(data, typ=kind, align=8), place, align=8)
        self._python("PyBuffer_Release", view)
        self._only_if(fits)
        for k in range(size):
            self._check(domain, builder.load(builder.gep(place, [WORD(k)], source_etype=DOUBLE), typ=DOUBLE))

    def _check(self, domain: Domain, number: Any) -> None:
        builder, infinity = self.builder, float("inf")
        size = builder.call(declared(builder, "llvm.fabs.f64", DOUBLE, [DOUBLE]), [number])
        good = builder.fcmp_ordered("<", size, DOUBLE(infinity))
        more, less = (">", "<") if domain.open else (">=", "<=")
        for how, end in ((more, domain.low), (less, domain.high)):
            if abs(end) < infinity:
                good = builder.and_(good, builder.fcmp_ordered(how, number, DOUBLE(float(end))))
        if domain.whole:
            floor = declared(builder, "llvm.floor.f64", DOUBLE, [DOUBLE])
            good = builder.and_(good, builder.fcmp_ordered("==", number, builder.call(floor, [number])))
        self._only_if(good)

    def _step_and_answer(self, samples: Sequence[Any]) -> None:
        builder, parts = self.builder, len(self.layout.parts)
        addresses = [self._address(FIRST + k) for k in range(1 + parts + COUNT)]
        restore = flushing(builder)
        builder.call(self.step, [*addresses[: 1 + parts], *samples, *addresses[1 + parts :]])
        restore()
        answers = addresses[1 + parts :]
        builder.ret(self._step(answers) if self.name == "update" else self._alarm())

    def _step(self, answers: Sequence[Any]) -> Any:
        """A `Step`: an estimate (a number, or a copy of the array) and single numbers. Null if there is no memory."""
        parts = [] if self.layout.estimate else [self._float(answers[0])]
        if self.layout.estimate:
            parts.append(self._or_nothing(self._python("PyObject_CallNoArgs", self._address(COPY))))
        parts += map(self._float, answers[1:])
        made = self._or_nothing(self._python("PyType_GenericAlloc", self._address(STEP), WORD(len(parts))))
        for k, part in enumerate(parts):
            self._python("PyTuple_SetItem", made, WORD(k), part)
        return made

    def _float(self, place: Any) -> Any:
        return self._or_nothing(self._python("PyFloat_FromDouble", self.builder.load(place, typ=DOUBLE)))

    def _or_nothing(self, made: Any) -> Any:
        """Go on with an object that was made; where it was not, Python hears of it."""
        with self.builder.if_then(self.builder.icmp_unsigned("==", made, NULL), likely=False):
            self.builder.ret(NULL)
        return made

    def _alarm(self) -> Any:
        """True or False.

        What is watched: the address of a number, the threshold, the cool-down, for how many samples there is no alarm,
        whether the last one gave one, and how many there were.
        """
        builder, watch = self.builder, self._address(WATCH)
        fields = [builder.gep(watch, [WORD(k)], source_etype=WORD) for k in range(6)]
        number = builder.load(builder.load(fields[0], typ=POINTER), typ=DOUBLE)
        wait = builder.load(fields[3], typ=WORD)
        above = builder.fcmp_ordered(">", number, builder.load(fields[1], typ=DOUBLE))
        alarm = builder.and_(builder.icmp_signed("==", wait, WORD(0)), above)
        shorter = builder.select(builder.icmp_signed(">", wait, WORD(0)), builder.sub(wait, WORD(1)), WORD(0))
        builder.store(builder.select(alarm, builder.load(fields[2], typ=WORD), shorter), fields[3])
        builder.store(builder.zext(alarm, WORD), fields[4])
        builder.store(builder.add(builder.load(fields[5], typ=WORD), WORD(1)), fields[5])
        answer = builder.select(alarm, self._address(TRUE), self._address(FALSE))
        self._python("Py_IncRef", answer)
        return answer


def _count(aval: Any) -> int:
    return int(np.prod(aval.shape))
