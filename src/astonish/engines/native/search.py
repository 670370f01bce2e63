"""How are the slots of many keys found, and answers put in their places, in compiled code?

The same hash table as in `bank.keys`, read by the same rule; only the reading is here.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from astonish.engines.native import machine
from astonish.engines.native.llvm import ir
from astonish.engines.native.parallel import in_parallel, threads_for, write_job
from astonish.engines.native.values import counted
from astonish.engines.native.writer import NOTHING, POINTER, WORD, prefetch

_SHORT = ir.IntType(32)
_AT_ONCE = 32  # keys


def prepare() -> None:
    """Have all of this compiled."""
    find(np.zeros(1, np.int64), np.full(8, -1, np.int32), np.zeros(1, np.int64), 3, 1)


def find(keys: Any, table: Any, slot_keys: Any, bits: int, spread: int) -> Any:
    """The slot of each key, -1 where there is none.

    table: a slot in each place, -1 where it is free and -2 where it was given up. slot_keys: the key in each slot.
    """
    found, threads = np.empty(len(keys), np.int64), threads_for(len(keys))
    signed = spread - (1 << 64) if spread >> 63 else spread
    ends = [k * len(keys) // threads for k in range(threads + 1)]
    parts = [slice(*each) for each in pairwise(ends)]
    jobs = [(keys[part], table, slot_keys, found[part], len(found[part]), bits, signed) for part in parts]
    in_parallel(_code()["find_job"], jobs)
    return found


def put(order: Any, part: Any, found: Any) -> None:
    """Put rows at these places of a table."""
    in_parallel(_code()["put_job"], [(order, part, found, len(order), int(np.prod(found.shape[1:])))])


@cache
def _code() -> machine.Code:
    module = ir.Module("astonish_keys")
    for function in (_write_find(module), _write_put(module)):
        write_job(function)
    return machine.compiled(module)


def _write_find(module: Any) -> Any:
    """Some keys at a time: what is needed for all of them is brought near before any is looked at."""
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER] * 4 + [WORD] * 3), "find")
    keys, table, slot_keys, found, count, bits, spread = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    shift, mask = builder.sub(WORD(64), bits), builder.sub(builder.shl(WORD(1), bits), WORD(1))
    blocks = builder.sdiv(builder.add(count, WORD(_AT_ONCE - 1)), WORD(_AT_ONCE))

    def at(pointer: Any, index: Any, kind: Any = WORD) -> Any:
        return builder.gep(pointer, [index], source_etype=kind)

    def place_of(key: Any) -> Any:
        return builder.lshr(builder.mul(key, spread), shift)

    with counted(builder, blocks) as block:
        begin = builder.mul(block, WORD(_AT_ONCE))
        left = builder.sub(count, begin)
        size = builder.select(builder.icmp_signed("<", left, WORD(_AT_ONCE)), left, WORD(_AT_ONCE))
        own, into = at(keys, begin), at(found, begin)
        with counted(builder, size) as k:
            prefetch(builder, at(table, place_of(builder.load(at(own, k), typ=WORD)), _SHORT))
        with counted(builder, size) as k:
            short = builder.load(at(table, place_of(builder.load(at(own, k), typ=WORD)), _SHORT), typ=_SHORT)
            prefetch(builder, at(slot_keys, builder.sext(builder.and_(short, _SHORT(2**31 - 1)), WORD)))
        with counted(builder, size) as k:
            key = builder.load(at(own, k), typ=WORD)
            builder.store(_searched(builder, key, place_of(key), mask, table, slot_keys), at(into, k))
    builder.ret_void()
    return function


def _searched(builder: Any, key: Any, first: Any, mask: Any, table: Any, slot_keys: Any) -> Any:
    """The slot of one key: steps that grow by one, from its first place on."""
    begin = builder.block
    look, compare, further, end = (builder.append_basic_block(n) for n in ("look", "compare", "further", "end"))
    builder.branch(look)
    builder.position_at_end(look)
    place, step = builder.phi(WORD), builder.phi(WORD)
    place.add_incoming(first, begin)
    step.add_incoming(WORD(1), begin)
    short = builder.load(builder.gep(table, [place], source_etype=_SHORT), typ=_SHORT)
    slot = builder.sext(short, WORD)
    switch = builder.switch(short, compare)
    switch.add_case(_SHORT(-1), end)
    switch.add_case(_SHORT(-2), further)
    builder.position_at_end(compare)
    here = builder.load(builder.gep(slot_keys, [slot], source_etype=WORD), typ=WORD)
    builder.cbranch(builder.icmp_unsigned("==", here, key), end, further)
    builder.position_at_end(further)
    place.add_incoming(builder.and_(builder.add(place, step), mask), further)
    step.add_incoming(builder.add(step, WORD(1)), further)
    builder.branch(look)
    builder.position_at_end(end)
    return slot


def _write_put(module: Any) -> Any:
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER] * 3 + [WORD] * 2), "put")
    order, part, found, count, width = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    single = builder.icmp_signed("==", width, WORD(1))

    def at(pointer: Any, index: Any) -> Any:
        return builder.gep(pointer, [index], source_etype=WORD)

    with builder.if_else(single) as (numbers, rows):
        with numbers, counted(builder, count) as k:
            place = builder.load(at(order, k), typ=WORD)
            builder.store(builder.load(at(part, k), typ=WORD), at(found, place))
        with rows, counted(builder, count) as k:
            source = at(part, builder.mul(k, width))
            target = at(found, builder.mul(builder.load(at(order, k), typ=WORD), width))
            with counted(builder, width) as j:
                builder.store(builder.load(at(source, j), typ=WORD), at(target, j))
    builder.ret_void()
    return function
