"""LLVM as this engine uses it: arrays in its code, and machine code that is kept for the next program.

`pip install 'astonish[native]'`

An array of one number is a scalar and a larger one a vector of all its numbers, row after row, so that loops over
elements are unrolled and a vector unit works on as many of them at once as it can. What is known beforehand stays an
array of NumPy until it is needed.

Machine code is kept in the user's cache folder (`ASTONISH_CACHE` names another), under a name made of the code, the
versions and the processor, with a checksum; what is damaged is compiled again. `ASTONISH_CACHE=off` keeps nothing.
"""

import ctypes
import hashlib
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np

from astonish.core.refusal import naming_extra
from astonish.io.files import atomic_write

with naming_extra("the native engine needs"):
    from llvmlite import __version__ as version, binding as binding, ir as ir

Shape = tuple[int, ...]
BIT, BYTE, INT, WORD = (ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER, NOTHING, DOUBLE = ir.PointerType(), ir.VoidType(), ir.DoubleType()
NULL = ir.Constant(POINTER, None)
_FLUSH = 0x8040  # denormal numbers count as zero, as in XLA
WRITTEN_OUT = 16  # numbers that are computed or read one by one, if they must be; more than that are in a loop
PYTHON = {  # functions of Python, and what they give
    **dict.fromkeys(("PyBytes_AsString", "PyTuple_GetItem", "PyErr_Occurred", "PyFloat_FromDouble"), POINTER),
    **dict.fromkeys(("PyType_GenericAlloc", "PyObject_Vectorcall", "PyObject_CallNoArgs"), POINTER),
    **dict.fromkeys(("PyErr_Clear", "PyBuffer_Release", "Py_IncRef"), NOTHING),
    **dict.fromkeys(("PyTuple_SetItem", "PyObject_GetBuffer"), INT),
    "PyLong_AsDouble": DOUBLE,
    "PyTuple_Size": WORD,
}
_CHECKSUM = 32  # bytes at the end of a file
_lock = RLock()  # LLVM compiles in one thread at a time


class UnsupportedError(Exception):
    """Something in a learner's step for which there is no rule here; XLA computes it instead.

    expected: whether that is as it should be, because XLA is as good at it.
    """

    def __init__(self, what: str, expected: bool = False) -> None:
        super().__init__(what)
        self.expected = expected


class Lowered(NamedTuple):
    """An array as it is in LLVM. dtype: NumPy's; booleans are single bits."""

    shape: Shape
    dtype: np.dtype[Any]
    value: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def kind(self) -> str:
        return "u" if self.dtype.kind == "b" else self.dtype.kind

    def reshaped(self, shape: Sequence[int]) -> "Lowered":
        return self._replace(shape=tuple(shape))


Value = Any  # Lowered, or an array of NumPy where the numbers are known when this is compiled


def array_type(dtype: Any, size: int = 1) -> Any:
    """The LLVM type of an array of `size` numbers."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        element: Any = ir.IntType(1 if dtype.kind == "b" else 8 * dtype.itemsize)
    elif dtype.kind == "f" and dtype.itemsize in (4, 8):
        element = ir.FloatType() if dtype.itemsize == 4 else DOUBLE
    else:
        raise UnsupportedError(f"numbers of type {dtype}")
    return element if size == 1 else ir.VectorType(element, size)


def record(avals: Sequence[Any]) -> Any:
    """The type of a record of NumPy's that holds these arrays one behind the other."""
    return np.dtype([(f"part{k}", aval.dtype, aval.shape) for k, aval in enumerate(avals)], align=True)


def offsets(kind: Any) -> list[int]:
    """Where each array of a record begins, in bytes."""
    return [kind.fields[name][1] for name in kind.names]


def filled(kind: Any, arrays: Sequence[Any]) -> Any:
    """A record with these arrays in it."""
    made = np.zeros((), kind)
    for name, array in zip(kind.names, arrays, strict=True):
        made[name] = array
    return made


def nbytes(aval: Any) -> int:
    """How many bytes an array takes."""
    return math.prod(aval.shape) * np.dtype(aval.dtype).itemsize


def lowered(value: Value) -> Lowered:
    """Write an array as a constant of LLVM, unless it is in LLVM already."""
    if isinstance(value, Lowered):
        return value
    array = np.asarray(value)
    if not array.size:
        raise UnsupportedError("empty arrays")
    numbers = [int(x) if array.dtype.kind in "bui" else float(x) for x in array.ravel()]
    element, kind = array_type(array.dtype), array_type(array.dtype, array.size)
    constant = numbers[0] if array.size == 1 else [ir.Constant(element, x) for x in numbers]
    return Lowered(array.shape, array.dtype, ir.Constant(kind, constant))


def positions(shape: Sequence[int]) -> Any:
    """Where each number of an array is, counted row after row."""
    return np.arange(math.prod(shape)).reshape(shape)


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """Writes the code of a function; besides LLVM's instructions, what is done with arrays and in loops."""

    @classmethod
    def of(cls, function: Any) -> Self:
        """Begin a function, in a block behind the first one, which is for room in memory."""
        builder = cls(function.append_basic_block("entry"))
        body = function.append_basic_block("body")
        builder.branch(body)
        builder.position_at_end(body)
        return builder

    def allocated(self, kind: Any) -> Any:
        """Room for something of this type, as long as the function runs."""
        with self.goto_entry_block():
            room = self.alloca(kind)
        room.type = POINTER  # whatever is put there
        return room

    def declared(self, name: str, gives: Any, takes: Sequence[Any]) -> Any:
        """A function of another library, or of LLVM's own, by its name and types."""
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(gives, takes), name)
            function.attributes.add("nounwind")
        return function

    def item(self, pointer: Any, index: Any, kind: Any = WORD) -> Any:
        """Load the item of this number from an array."""
        return self.load(self.gep(pointer, [index], source_etype=kind), typ=kind)

    def ahead(self, pointer: Any, index: Any, size: int) -> Any:
        """Where the item of this number is, of items of this size in bytes."""
        return self.gep(pointer, [self.mul(index, WORD(size))], source_etype=BYTE)

    def load_array(self, pointer: Any, at: int, aval: Any) -> Lowered:
        """Load an array that begins so many bytes behind a pointer."""
        dtype = np.dtype(aval.dtype)
        if dtype.kind == "b":
            raise UnsupportedError("states of booleans")
        place, kind = self.gep(pointer, [WORD(at)], source_etype=BYTE), array_type(dtype, math.prod(aval.shape))
        return Lowered(aval.shape, dtype, self.load(place, typ=kind, align=dtype.itemsize))

    def store_array(self, pointer: Any, at: int, value: Value) -> None:
        """Store an array so many bytes behind a pointer."""
        value = lowered(value)
        self.store(value.value, self.gep(pointer, [WORD(at)], source_etype=BYTE), align=value.dtype.itemsize)

    def prefetch(self, place: Any) -> None:
        """Have what is there brought near."""
        fetch = self.declared("llvm.prefetch.p0", NOTHING, [POINTER, INT, INT, INT])
        self.call(fetch, [place, INT(0), INT(3), INT(1)])

    @contextmanager
    def counted(self, count: Any) -> Iterator[Any]:
        """A loop over 0, 1, ... up to a number, around the code that is written within."""
        before = self.block
        test, body, end = (self.append_basic_block(name) for name in ("test", "body", "end"))
        self.branch(test)
        self.position_at_end(test)
        index = self.phi(WORD)
        index.add_incoming(WORD(0), before)
        self.cbranch(self.icmp_signed("<", index, count), body, end)
        self.position_at_end(body)
        yield index
        index.add_incoming(self.add(index, WORD(1)), self.block)
        self.branch(test)
        self.position_at_end(end)

    def flushing(self) -> Callable[[], None]:
        """Have denormal numbers count as zero, until the function that is returned is called."""
        with self.goto_entry_block():
            before, now = self.alloca(INT), self.alloca(INT)
        save, set_flags = (self.declared(f"llvm.x86.sse.{name}mxcsr", NOTHING, [POINTER]) for name in ("st", "ld"))
        self.call(save, [before])
        self.store(self.or_(self.load(before, typ=INT), INT(_FLUSH)), now)
        self.call(set_flags, [now])
        return lambda: self.call(set_flags, [before])

    def moved(self, value: Value, where: Any) -> Value:
        """Make an array of the numbers at the given positions of another one."""
        where = np.asarray(where)
        if not isinstance(value, Lowered):
            return value.ravel()[where]
        if value.size == where.size and (where.ravel() == np.arange(where.size)).all():
            return value.reshaped(where.shape)
        vector, places = value.value, where.ravel()
        if value.size == 1 < where.size:
            vector = self.side_by_side([vector])
        if where.size > 1:
            vector = self.shuffled(vector, places)
        elif value.size > 1:
            vector = self.extract_element(vector, INT(int(places[0])))
        return Lowered(where.shape, value.dtype, vector)

    def shuffled(self, vector: Any, places: Any, more: Any = None) -> Any:
        """The numbers at these places of a vector, or of two of one length, counted through both."""
        mask = ir.Constant(ir.VectorType(INT, len(places)), [INT(int(k)) for k in places])
        return self.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined) if more is None else more, mask)

    def side_by_side(self, numbers: Sequence[Any]) -> Any:
        """A vector of single numbers."""
        vector = ir.Constant(ir.VectorType(numbers[0].type, len(numbers)), ir.Undefined)
        for k, number in enumerate(numbers):
            vector = self.insert_element(vector, number, INT(k))
        return vector

    def one_by_one(self, compute: Callable[..., Any], kind: Any, *vectors: Any) -> Any:
        """Compute each number of an array, whose type has elements of this kind, from those of vectors of its length.

        Many are computed in a loop, since LLVM would take seconds to make sense of them written out.
        """
        if not isinstance(vectors[0].type, ir.VectorType):
            return compute(*vectors)
        size = vectors[0].type.count
        if size <= WRITTEN_OUT:
            rows = ([self.extract_element(vector, INT(k)) for vector in vectors] for k in range(size))
            return self.side_by_side([compute(*row) for row in rows])
        rooms, made = [self.allocated(vector.type) for vector in vectors], self.allocated(ir.VectorType(kind, size))
        for vector, room in zip(vectors, rooms, strict=True):
            self.store(vector, room)
        with self.counted(WORD(size)) as k:
            row = [self.item(room, k, vector.type.element) for vector, room in zip(vectors, rooms, strict=True)]
            self.store(compute(*row), self.gep(made, [k], source_etype=kind))
        return self.load(made, typ=ir.VectorType(kind, size))

    def joined(self, parts: Sequence[Lowered]) -> Lowered:
        """Join the numbers of several arrays, end to end."""
        while len(parts) > 1:
            pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
            parts = [pair[0] if len(pair) == 1 else self._appended(*pair) for pair in pairs]
        return parts[0].reshaped((parts[0].size,))

    def _appended(self, a: Lowered, b: Lowered) -> Lowered:
        if b.size == 1 and a.size > 1:
            wide = self.moved(a, [*range(a.size), 0])
            return wide._replace(value=self.insert_element(wide.value, b.value, INT(a.size)))
        size = max(a.size, b.size, 2)
        first, second = (self.moved(part, [min(k, part.size - 1) for k in range(size)]).value for part in (a, b))
        both = self.shuffled(first, [*range(a.size), *range(size, size + b.size)], second)
        return Lowered((a.size + b.size,), a.dtype, both)


class Code(dict[str, int]):
    """The addresses of the functions of a module, whose machine code stays loaded as long as this object."""

    engine: Any


def compiled(module: Any) -> Code:
    """Machine code of a module of `llvmlite.ir`, compiled or from an earlier program."""
    with _lock:
        for name in PYTHON:  # tell LLVM where Python's own functions are
            binding.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
        target = _target()
        module.triple, module.data_layout = target.triple, str(target.target_data)
        text = str(module)
        path, machine_code, checksum = _path(text), b"", b""
        if path is not None:
            with suppress(OSError):
                content = path.read_bytes()
                machine_code, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
        if hashlib.sha256(machine_code).digest() != checksum:  # there was none, or it is not as it was written
            machine_code = _object(text, target)
            if path is not None:
                with suppress(OSError):  # a folder that cannot be written only costs time
                    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    with atomic_write(path) as file:
                        file.write(machine_code + hashlib.sha256(machine_code).digest())
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target())
        engine.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        functions = (f for f in module.functions if not f.is_declaration and f.linkage != "internal")
        # LLVM is asked at once: an interruption while it answers would leave it locked
        code = Code({function.name: int(engine.get_function_address(function.name)) for function in functions})
        code.engine = engine
        return code


def _object(text: str, target: Any) -> bytes:
    parsed = binding.parse_assembly(text)
    parsed.verify()
    tuning = binding.create_pipeline_tuning_options(speed_level=2)
    tuning.slp_vectorization = True
    tuning.loop_vectorization = tuning.loop_unrolling = False  # loops are written out already
    builder = binding.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(parsed, builder)
    return bytes(target.emit_object(parsed))


def _target() -> Any:
    """A machine to compile for; one that runs code belongs to that code, and ends with it."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    (cpu, features), target = _processor(), binding.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True, codemodel="jitdefault")


@cache
def _processor() -> tuple[str, str]:
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def _path(text: str) -> Path | None:
    """The file for this code; None if none is kept, or there is no home."""
    folder = os.environ.get("ASTONISH_CACHE", "")
    if folder == "off":
        return None
    about = (text, version, str(binding.llvm_version_info), *_processor(), platform.platform(), sys.version)
    name = f"{hashlib.sha256(chr(0).join(about).encode()).hexdigest()}.o"
    if folder:
        return Path(folder) / name
    cache_home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return (Path(cache_home) if cache_home else Path.home() / ".cache") / "astonish" / "native" / name
    return None
