"""A learner's step as Python calls it, without the cost of a foreign function.

`update` is a function as CPython itself calls those that are written in C: it reads one sample, checks that it is
allowed, takes the step and makes the answer. Whatever is not an ordinary number, or not allowed, it leaves to a
function of Python, which has more time. It runs under Python's lock from end to end, so nothing comes between.

What a function needs to know is in a table of addresses, a `bytes` object at the head of the tuple that is its `self`;
the tuple owns everything that the table points to.
"""

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from astonish.core.numbers import Domain
from astonish.engines.native.llvm import (
    BYTE,
    DOUBLE,
    INT,
    NULL,
    POINTER,
    PYTHON,
    WORD,
    Builder,
    array_type,
    ir,
    offsets,
    record,
)
from astonish.engines.native.loops import COUNT, Layout

# the table of addresses, before those of parameters, parts of the state and answers
FLOAT, WHOLE, TUPLE, ARRAY, STEP, SLOW, COPY, TRUE, FALSE, WATCH, FIRST = range(11)
WATCHED = np.dtype(  # what is watched: the address of a number; for how many samples to come there is no alarm
    [("number", "i8"), ("threshold", "f8"), ("cooldown", "i8"), ("wait", "i8"), ("alarm", "i8"), ("samples", "i8")]
)
_CALL = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS
_NUMBERS = 0x0008 | 0x0004  # PyBUF_ND | PyBUF_FORMAT: in one piece, and which type of number
_ADDRESS, _LENGTH, _DIMENSIONS, _FORMAT = 0, 16, 36, 40  # where a Py_buffer has them


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


def write(module: Any, step: Any, layout: Layout, samples: Any) -> None:
    """Write `update`, and `watch`, which takes a step and says whether a number exceeds a threshold.

    Each of them also for a sample that was read and checked (`update_read`): as `bytes`, its parts in a record.
    """
    for name in ("update", "watch"):
        for more in ("", "_read"):
            kind = ir.FunctionType(POINTER, [POINTER, POINTER, WORD, POINTER])
            _Entry.of(ir.Function(module, kind, f"{name}{more}")).write(step, layout, samples)


class _Entry(Builder):
    """Writes a function that Python calls."""

    def write(self, step: Any, layout: Layout, samples: Any) -> None:
        """Write the function by its name. step: the function that takes the step."""
        self.step, self.layout, self.name, avals = step, layout, self.function.name, layout.samples
        me, arguments, count, names = self.function.args
        self.table = self._python("PyBytes_AsString", self._python("PyTuple_GetItem", me, WORD(0)))
        if self.name.endswith("_read"):
            numbers = self._python("PyBytes_AsString", self.load(arguments, typ=POINTER))
            begins = offsets(record(avals))
            self._step_and_answer([self.gep(numbers, [WORD(begin)], source_etype=BYTE) for begin in begins])
            return
        self.slow = self.function.append_basic_block("slow")
        self._only_if(self.and_(self.icmp_unsigned("==", names, NULL), self.icmp_signed("==", count, WORD(1))))
        if any(len(aval.shape) > 1 or (aval.shape and aval.dtype.kind != "f") for aval in avals):
            self.branch(self.slow)  # matrices, and arrays of whole numbers, are read by NumPy
        else:
            places = [self.allocated(array_type(aval.dtype, int(np.prod(aval.shape)))) for aval in avals]
            self._read(samples, self.load(arguments, typ=POINTER), iter(places))
            self._step_and_answer(places)
        self.position_at_end(self.slow)
        self.ret(self._python("PyObject_Vectorcall", self._address(SLOW), arguments, count, names))

    def _python(self, name: str, *arguments: Any) -> Any:
        """Call a function of Python's."""
        takes = [argument.type for argument in arguments]
        return self.call(self.declared(name, PYTHON[name], takes), list(arguments))

    def _address(self, index: int) -> Any:
        return self.item(self.table, WORD(index), POINTER)

    def _only_if(self, condition: Any) -> None:
        """Go on if this is true; else leave the sample to Python."""
        further = self.append_basic_block("further")
        self.cbranch(condition, further, self.slow)
        self.position_at_end(further)

    def _leave_if(self, failed: Any) -> None:
        """Where one of Python's functions failed, forget its error and leave the sample to Python."""
        with self.if_then(failed, likely=False):
            self._python("PyErr_Clear")
            self.branch(self.slow)
            self.position_at_end(self.append_basic_block("never"))

    def _has_type(self, thing: Any, which: int) -> Any:
        return self.icmp_unsigned("==", self.item(thing, WORD(1), POINTER), self._address(which))

    def _read(self, samples: Any, thing: Any, places: Iterator[Any]) -> None:
        """Read a sample, or the parts of one, into their places."""
        if not isinstance(samples, Domain):
            self._only_if(self._has_type(thing, TUPLE))
            self._only_if(self.icmp_signed("==", self._python("PyTuple_Size", thing), WORD(len(samples))))
            for k, part in enumerate(samples):
                self._read(part, self._python("PyTuple_GetItem", thing, WORD(k)), places)
        elif samples.shape:
            self._read_array(samples, thing, next(places))
        else:
            number = self._number(thing)
            self._check(samples, number)
            self.store(self.fptosi(number, INT) if samples.is_index else number, next(places))

    def _number(self, thing: Any) -> Any:
        room = self.allocated(DOUBLE)
        with self.if_else(self._has_type(thing, FLOAT)) as (floating, other):
            with floating:
                self.store(self.item(thing, WORD(2), DOUBLE), room)
            with other:
                self._only_if(self._has_type(thing, WHOLE))
                number = self._python("PyLong_AsDouble", thing)
                with self.if_then(self.fcmp_ordered("==", number, DOUBLE(-1.0)), likely=False):
                    self._leave_if(self.icmp_unsigned("!=", self._python("PyErr_Occurred"), NULL))
                self.store(number, room)
        return self.load(room, typ=DOUBLE)

    def _read_array(self, domain: Domain, thing: Any, place: Any) -> None:
        """Read an array of NumPy's, of float64 and in one piece; any other is left to Python."""
        size, short = domain.shape[0], ir.IntType(16)
        self._only_if(self._has_type(thing, ARRAY))
        view = self.allocated(ir.ArrayType(WORD, 16))  # a `Py_buffer`, and more
        failed = self._python("PyObject_GetBuffer", thing, view, INT(_NUMBERS))
        self._leave_if(self.icmp_signed("!=", failed, INT(0)))

        def field(at: int, kind: Any) -> Any:
            return self.load(self.gep(view, [WORD(at)], source_etype=BYTE), typ=kind)

        form = self.load(field(_FORMAT, POINTER), typ=short, align=1)
        fits = self.icmp_signed("==", field(_LENGTH, WORD), WORD(8 * size))
        fits = self.and_(fits, self.icmp_signed("==", field(_DIMENSIONS, INT), INT(1)))
        fits = self.and_(fits, self.icmp_unsigned("==", form, short(ord("d"))))
        with self.if_then(fits):
            numbers = self.load(field(_ADDRESS, POINTER), typ=array_type(np.float64, size), align=8)
            self.store(numbers, place, align=8)
        self._python("PyBuffer_Release", view)
        self._only_if(fits)
        for k in range(size):
            self._check(domain, self.item(place, WORD(k), DOUBLE))

    def _check(self, domain: Domain, number: Any) -> None:
        infinity = float("inf")
        absolute, floor = (self.declared(f"llvm.{name}.f64", DOUBLE, [DOUBLE]) for name in ("fabs", "floor"))
        good = self.fcmp_ordered("<", self.call(absolute, [number]), DOUBLE(infinity))
        more, less = (">", "<") if domain.open else (">=", "<=")
        for comparison, end in ((more, domain.low), (less, domain.high)):
            if abs(end) < infinity:
                good = self.and_(good, self.fcmp_ordered(comparison, number, DOUBLE(float(end))))
        if domain.whole:
            good = self.and_(good, self.fcmp_ordered("==", number, self.call(floor, [number])))
        self._only_if(good)

    def _step_and_answer(self, samples: Sequence[Any]) -> None:
        """Take the step. Answer with a `Step`: an estimate (a number, or a copy of the array) and single numbers.

        Null if there is no memory. A watch answers whether there is an alarm.
        """
        states = len(self.layout.parts)
        parameters, *pointers = (self._address(FIRST + k) for k in range(1 + states + COUNT))
        restore = self.flushing()
        self.call(self.step, [parameters, *pointers[:states], *samples, *pointers[states:]])
        restore()
        if self.name.startswith("watch"):
            self.ret(self._alarm())
            return
        numbers, parts = pointers[states:], []
        if self.layout.estimate:
            parts.append(self._or_nothing(self._python("PyObject_CallNoArgs", self._address(COPY))))
            del numbers[0]
        for place in numbers:
            parts.append(self._or_nothing(self._python("PyFloat_FromDouble", self.load(place, typ=DOUBLE))))
        made = self._or_nothing(self._python("PyType_GenericAlloc", self._address(STEP), WORD(len(parts))))
        for k, part in enumerate(parts):
            self._python("PyTuple_SetItem", made, WORD(k), part)
        self.ret(made)

    def _or_nothing(self, made: Any) -> Any:
        """Go on with an object that was made; where it was not, Python hears of it."""
        with self.if_then(self.icmp_unsigned("==", made, NULL), likely=False):
            self.ret(NULL)
        return made

    def _alarm(self) -> Any:
        """Say whether the number that is watched gives an alarm: True or False."""
        watch = self._address(WATCH)
        fields = [self.gep(watch, [WORD(at)], source_etype=BYTE) for at in offsets(WATCHED)]
        number, threshold, cooldown, waiting, alarmed, samples = fields
        wait = self.load(waiting, typ=WORD)
        value = self.load(self.load(number, typ=POINTER), typ=DOUBLE)
        above = self.fcmp_ordered(">", value, self.load(threshold, typ=DOUBLE))
        alarm = self.and_(self.icmp_signed("==", wait, WORD(0)), above)
        shorter = self.select(self.icmp_signed(">", wait, WORD(0)), self.sub(wait, WORD(1)), WORD(0))
        self.store(self.select(alarm, self.load(cooldown, typ=WORD), shorter), waiting)
        self.store(self.zext(alarm, WORD), alarmed)
        self.store(self.add(self.load(samples, typ=WORD), WORD(1)), samples)
        answer = self.select(alarm, self._address(TRUE), self._address(FALSE))
        self._python("Py_IncRef", answer)
        return answer
