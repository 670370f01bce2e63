"""How do several cores share the work of compiled code?

Threads are begun and awaited in compiled code, by one call from Python. Whatever interrupts Python comes before that
call or after it, so that all of the work is done or none.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from astonish.engines.native import machine
from astonish.engines.native.llvm import binding, ir
from astonish.engines.native.values import counted
from astonish.engines.native.writer import NULL, POINTER, WORD

_EACH = 4096  # rows from which another thread is worth its while
_MOST = 8
_INT = ir.IntType(32)
_THREADS = ("pthread_create", "pthread_join")


def threads_for(rows: int) -> int:
    """How many threads to use for so many rows: a power of 2, at most one for each core."""
    if not _there_are_threads():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 << (max(min(cores, _MOST, rows // _EACH), 1).bit_length() - 1)


def in_parallel(address: int, arguments: Sequence[Sequence[Any]]) -> None:
    """Call a function, written by `write_job`, with each of these arguments, all at once.

    Arguments are whole numbers and arrays; None is an array that is not there.
    """
    jobs = np.array([[address, *map(_word, each)] for each in arguments], np.int64)
    _together()(jobs.ctypes.data, jobs.shape[1], len(jobs))


def _word(argument: Any) -> int:
    if argument is None:
        return 0
    return int(argument.ctypes.data) if isinstance(argument, np.ndarray) else int(argument)


def write_job(function: Any) -> None:
    """Write `NAME_job`, which reads the arguments of a function behind the address of a job."""
    job = ir.Function(function.module, ir.FunctionType(POINTER, [POINTER]), f"{function.name}_job")
    builder = ir.IRBuilder(job.append_basic_block())
    places = (builder.gep(job.args[0], [WORD(1 + k)], source_etype=WORD) for k in range(len(function.args)))
    read = [builder.load(place, typ=argument.type) for place, argument in zip(places, function.args, strict=True)]
    builder.call(function, read)
    builder.ret(NULL)


@cache
def _there_are_threads() -> bool:
    try:
        for name in _THREADS:
            binding.add_symbol(name, ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value)
    except (AttributeError, OSError, TypeError):  # as on Windows
        return False
    return True


@cache
def _together() -> Callable[..., None]:
    module = ir.Module("astonish_threads")
    _write_together(module, _there_are_threads())
    code = machine.compiled(module)
    _LOADED.append(code)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code["together"])


_LOADED: list[Any] = []  # machine code that must stay


def _write_together(module: Any, in_threads: bool) -> None:
    """All jobs: the first in this thread, each of the others in one of its own, or in this one if there can be none."""
    kind = ir.FunctionType(POINTER, [POINTER])
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, WORD, WORD]), "together")
    create = ir.Function(module, ir.FunctionType(_INT, [POINTER] * 4), _THREADS[0]) if in_threads else None
    join = ir.Function(module, ir.FunctionType(_INT, [WORD, POINTER]), _THREADS[1]) if in_threads else None
    jobs, words, count = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    ids, begun = (builder.alloca(ir.ArrayType(WORD, _MOST)) for _ in range(2))
    for room in (ids, begun):
        room.type = POINTER

    def job(k: Any) -> Any:
        return builder.gep(jobs, [builder.mul(k, words)], source_etype=WORD)

    def call(k: Any) -> None:
        work = builder.load(job(k), typ=POINTER)
        work.type = ir.PointerType(kind)
        builder.call(work, [job(k)])

    if create and join:
        with counted(builder, builder.sub(count, WORD(1))) as k:
            work = builder.load(job(builder.add(k, WORD(1))), typ=POINTER)
            arguments = [builder.gep(ids, [k], source_etype=WORD), NULL, work, job(builder.add(k, WORD(1)))]
            failed = builder.call(create, arguments)
            builder.store(builder.zext(failed, WORD), builder.gep(begun, [k], source_etype=WORD))
    call(WORD(0))
    with counted(builder, builder.sub(count, WORD(1))) as k:
        if create and join:
            failed = builder.load(builder.gep(begun, [k], source_etype=WORD), typ=WORD)
            with builder.if_else(builder.icmp_unsigned("==", failed, WORD(0))) as (running, alone):
                with running:
                    builder.call(join, [builder.load(builder.gep(ids, [k], source_etype=WORD), typ=WORD), NULL])
                with alone:
                    call(builder.add(k, WORD(1)))
        else:
            call(builder.add(k, WORD(1)))
    builder.ret_void()
