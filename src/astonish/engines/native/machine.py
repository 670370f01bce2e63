"""How does LLVM code become machine code, and where is that kept for the next program?

Machine code is kept in the user's cache folder (`ASTONISH_CACHE` names another), under a name made of the code, the
versions and the processor, with a checksum; what is damaged is compiled again. `ASTONISH_CACHE=off` keeps nothing.
"""

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

from astonish.engines.native.llvm import binding, version
from astonish.io.files import atomic_write

_CHECKSUM = 32  # bytes at the end of a file
_lock = RLock()  # LLVM compiles in one thread at a time


class Code:
    """Machine code of a module, which stays loaded as long as this object.

    LLVM is asked for addresses at once: an interruption while it answers would leave it locked.
    """

    def __init__(self, engine: Any, names: Sequence[str]) -> None:
        self._engine = engine
        self._addresses = {name: int(engine.get_function_address(name)) for name in names}

    def __getitem__(self, name: str) -> int:
        """The address of a function."""
        return self._addresses[name]


def compiled(module: Any) -> Code:
    """Machine code of a module of `llvmlite.ir`, compiled or from an earlier program."""
    with _lock:
        _introduce_symbols()
        target = _target()
        module.triple, module.data_layout = target.triple, str(target.target_data)
        text = str(module)
        path = _path(text)
        kept = None if path is None else _read(path)
        if kept is None:
            kept = _object(text, target)
            if path is not None:
                _write(path, kept)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target())
        engine.add_object_file(binding.ObjectFileRef.from_data(kept))
        engine.finalize_object()
        functions = (f for f in module.functions if not f.is_declaration and f.linkage != "internal")
        return Code(engine, [function.name for function in functions])


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
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=_processor()[0], features=_processor()[1], opt=3, jit=True, codemodel="jitdefault"
    )


@cache
def _processor() -> tuple[str, str]:
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def _introduce_symbols() -> None:
    """Tell LLVM where Python's own functions are."""
    for name in PYTHON:
        binding.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)


PYTHON = (
    "PyBytes_AsString", "PyTuple_GetItem", "PyTuple_SetItem", "PyTuple_Size", "PyLong_AsDouble", "PyErr_Occurred",
    "PyErr_Clear", "PyFloat_FromDouble", "PyType_GenericAlloc", "PyObject_Vectorcall", "PyObject_CallNoArgs",
    "Py_IncRef", "PyObject_GetBuffer", "PyBuffer_Release",
)  # fmt: skip


def _path(text: str) -> Path | None:
    folder = _folder()
    if folder is None:
        return None
    about = [
        text,
        version,
        str(binding.llvm_version_info),
        *_processor(),
        platform.platform(),
        sys.version,
    ]
    return folder / f"{hashlib.sha256(chr(0).join(about).encode()).hexdigest()}.o"


def _folder() -> Path | None:
    named = os.environ.get("ASTONISH_CACHE", "")
    if named:
        return None if named == "off" else Path(named)
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    with suppress(RuntimeError):  # there may be no home
        return (Path(home) if home else Path.home() / ".cache") / "astonish" / "native"
    return None


def _read(path: Path) -> bytes | None:
    """What was kept, if it is as it was written."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    body, checksum = found[:-_CHECKSUM], found[-_CHECKSUM:]
    return body if hashlib.sha256(body).digest() == checksum else None


def _write(path: Path, body: bytes) -> None:
    with suppress(OSError):  # a folder that cannot be written only costs time
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with atomic_write(path) as file:
            file.write(body + hashlib.sha256(body).digest())
