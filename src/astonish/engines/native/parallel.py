"""Work that several cores share: all rows of a batch, whose keys are found in compiled code.

Threads are begun and awaited in compiled code, by one call from Python. Whatever interrupts Python comes before that
call or after it, so that all of the work is done or none.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from astonish.engines.native.llvm import (
    INT,
    NOTHING,
    NULL,
    POINTER,
    WORD,
    Builder,
    Code,
    binding,
    compiled,
    ir,
)
from astonish.engines.native.loops import write_job

_EACH = 4096  # rows from which another thread is worth its while
_MOST = 8  # threads
_THREADS = ("pthread_create", "pthread_join")
_AT_ONCE = 32  # keys that are looked for together


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

    def word(argument: Any) -> int:
        return int(argument.ctypes.data if isinstance(argument, np.ndarray) else argument or 0)

    jobs = np.array([[address, *map(word, row)] for row in arguments], np.int64)
    _together()[1](jobs.ctypes.data, jobs.shape[1], len(jobs))


def find(keys: Any, table: Any, slot_keys: Any, bits: int, spread: int) -> Any:
    """Find the slot of each key, -1 where there is none, in the hash table of `bank.keys`, by the same rule.

    table: a slot in each place, -1 where it is free and -2 where it was given up. slot_keys: the key in each slot.
    """
    slots, threads = np.empty(len(keys), np.int64), threads_for(len(keys))
    signed = spread - (1 << 64) if spread >> 63 else spread
    parts = [slice(*ends) for ends in pairwise(k * len(keys) // threads for k in range(threads + 1))]
    jobs = [(keys[part], table, slot_keys, slots[part], len(slots[part]), bits, signed) for part in parts]
    in_parallel(_search()["find_job"], jobs)
    return slots


@cache
def _there_are_threads() -> bool:
    try:
        for name in _THREADS:
            binding.add_symbol(name, ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value)
    except (AttributeError, OSError, TypeError):  # as on Windows
        return False
    return True


@cache
def _together() -> tuple[Code, Callable[..., None]]:
    """What calls all jobs, and the machine code that must stay for it.

    It calls the first in this thread, each of the others in one of its own, or in this one if there can be none.
    """
    module = ir.Module("astonish_threads")
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER, WORD, WORD]), "together")
    jobs, words, count = function.args
    builder = Builder.of(function)
    ids, failures = (builder.alloca(ir.ArrayType(WORD, _MOST)) for _ in range(2))
    ids.type = failures.type = POINTER
    others = builder.sub(count, WORD(1))

    def job(k: Any) -> tuple[Any, Any]:
        """A job, and the function that does it."""
        place = builder.gep(jobs, [builder.mul(k, words)], source_etype=WORD)
        return place, builder.load(place, typ=POINTER)

    def call(k: Any) -> None:
        place, work = job(k)
        work.type = ir.PointerType(ir.FunctionType(POINTER, [POINTER]))
        builder.call(work, [place])

    if _there_are_threads():
        create, join = (
            ir.Function(module, ir.FunctionType(INT, takes), name)
            for name, takes in zip(_THREADS, ([POINTER] * 4, [WORD, POINTER]), strict=True)
        )
        with builder.counted(others) as k:
            place, work = job(builder.add(k, WORD(1)))
            failed = builder.call(create, [builder.gep(ids, [k], source_etype=WORD), NULL, work, place])
            builder.store(builder.zext(failed, WORD), builder.gep(failures, [k], source_etype=WORD))
    call(WORD(0))
    with builder.counted(others) as k:
        if _there_are_threads():
            with builder.if_else(builder.icmp_unsigned("==", builder.item(failures, k), WORD(0))) as (running, alone):
                with running:
                    builder.call(join, [builder.item(ids, k), NULL])
                with alone:
                    call(builder.add(k, WORD(1)))
        else:
            call(builder.add(k, WORD(1)))
    builder.ret_void()
    code = compiled(module)
    return code, ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code["together"])


@cache
def _search() -> Code:
    """Compile the search for some keys at a time: what all of them need is brought near before any is looked at."""
    module = ir.Module("astonish_keys")
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER] * 4 + [WORD] * 3), "find")
    keys, table, slot_keys, slots, count, bits, spread = function.args
    builder = Builder.of(function)
    shift, mask = builder.sub(WORD(64), bits), builder.sub(builder.shl(WORD(1), bits), WORD(1))

    def place_of(key: Any) -> Any:
        return builder.lshr(builder.mul(key, spread), shift)

    blocks = builder.sdiv(builder.add(count, WORD(_AT_ONCE - 1)), WORD(_AT_ONCE))
    with builder.counted(blocks) as block:
        begin = builder.mul(block, WORD(_AT_ONCE))
        left = builder.sub(count, begin)
        size = builder.select(builder.icmp_signed("<", left, WORD(_AT_ONCE)), left, WORD(_AT_ONCE))
        wanted, into = (builder.gep(pointer, [begin], source_etype=WORD) for pointer in (keys, slots))
        with builder.counted(size) as k:
            builder.prefetch(builder.gep(table, [place_of(builder.item(wanted, k))], source_etype=INT))
        with builder.counted(size) as k:
            slot = builder.and_(builder.item(table, place_of(builder.item(wanted, k)), INT), INT(2**31 - 1))
            builder.prefetch(builder.gep(slot_keys, [builder.sext(slot, WORD)], source_etype=WORD))
        with builder.counted(size) as k:
            key = builder.item(wanted, k)
            slot = _searched(builder, key, place_of(key), mask, table, slot_keys)
            builder.store(slot, builder.gep(into, [k], source_etype=WORD))
    builder.ret_void()
    write_job(function)
    return compiled(module)


def _searched(builder: Builder, key: Any, first: Any, mask: Any, table: Any, slot_keys: Any) -> Any:
    """The slot of one key: steps that grow by one, from its first place on."""
    begin = builder.block
    look, compare, further, end = (builder.append_basic_block(n) for n in ("look", "compare", "further", "end"))
    builder.branch(look)
    builder.position_at_end(look)
    place, step = builder.phi(WORD), builder.phi(WORD)
    place.add_incoming(first, begin)
    step.add_incoming(WORD(1), begin)
    short = builder.item(table, place, INT)
    slot = builder.sext(short, WORD)
    switch = builder.switch(short, compare)
    switch.add_case(INT(-1), end)
    switch.add_case(INT(-2), further)
    builder.position_at_end(compare)
    builder.cbranch(builder.icmp_unsigned("==", builder.item(slot_keys, slot), key), end, further)
    builder.position_at_end(further)
    place.add_incoming(builder.and_(builder.add(place, step), mask), further)
    step.add_incoming(builder.add(step, WORD(1)), further)
    builder.branch(look)
    builder.position_at_end(end)
    return slot
