"""How are the slots of many keys found, and samples shared out among threads, in compiled code?

The same hash table as in `bank.keys`, read by the same rule; only the reading is here.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from astonish.native import machine
from astonish.native.llvm import ir
from astonish.native.parallel import in_parallel, threads_for, write_job
from astonish.native.writer import NOTHING, POINTER, WORD, counted

_SHORT = ir.IntType(32)


def prepare() -> None:
    """Have all of this compiled."""
    _code()
    in_parallel(_code()["share_job"], [(np.zeros(1, np.int64), np.zeros(2, np.int64), 1, 0, 0)])


def find(keys: Any, table: Any, slot_keys: Any, bits: int, spread: int) -> Any:
    """The slot of each key, -1 where there is none.

    table: a slot in each place, -1 where it is free and -2 where it was given up. slot_keys: the key in each slot.
    """
    found = np.empty(len(keys), np.int64)
    signed = spread - (1 << 64) if spread >> 63 else spread
    pairs = zip(_parts(keys, threads_for(len(keys))), _parts(found, threads_for(len(keys))), strict=True)
    in_parallel(_code()["find_job"], [(part, table, slot_keys, into, len(part), bits, signed) for part, into in pairs])
    return found


def share(slots: Any, orders: list[Any]) -> list[Any]:
    """The places of those slots that fall to each of several threads (a power of 2), written into these arrays."""
    threads = len(orders)
    arguments = [(slots, order, len(slots), threads - 1, k) for k, order in enumerate(orders)]
    return [order[:count] for order, count in zip(orders, in_parallel(_code()["share_job"], arguments), strict=True)]


def merge(slots: Any, orders: list[Any], parts: list[Any], found: Any) -> None:
    """Put what the threads found where it belongs. parts: what each found, in the order of its places."""
    width, arguments = int(np.prod(found.shape[1:])), []
    addresses = np.array([part.ctypes.data for part in parts])
    for places, own, into in zip(*(_parts(a, len(parts)) for a in (np.arange(len(slots)), slots, found)), strict=True):
        begins = np.array([np.searchsorted(order, places[0]) for order in orders])
        arguments.append((own, addresses, begins, into, len(into), len(parts) - 1, width))
    in_parallel(_code()["merge_job"], arguments)


def _parts(array: Any, count: int) -> list[Any]:
    ends = [k * len(array) // count for k in range(count + 1)]
    return [array[begin:end] for begin, end in pairwise(ends)]


@cache
def _code() -> machine.Code:
    module = ir.Module("astonish_keys")
    for function in (_write_find(module), _write_share(module), _write_merge(module)):
        write_job(function)
    return machine.compiled(module)


def _write_find(module: Any) -> Any:
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER] * 4 + [WORD] * 3), "find")
    keys, table, slot_keys, found, count, bits, spread = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    builder.position_at_end(body := function.append_basic_block("start"))
    with builder.goto_block(function.entry_basic_block):
        builder.branch(body)
    shift, mask = builder.sub(WORD(64), bits), builder.sub(builder.shl(WORD(1), bits), WORD(1))
    with counted(builder, count) as k:
        key = builder.load(builder.gep(keys, [k], source_etype=WORD), typ=WORD)
        begin = builder.block
        look, compare, further, end = (builder.append_basic_block(n) for n in ("look", "compare", "further", "end"))
        first = builder.lshr(builder.mul(key, spread), shift)
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
        builder.store(slot, builder.gep(found, [k], source_etype=WORD))
    builder.ret_void()
    return function


def _write_share(module: Any) -> Any:
    """Without a branch that depends on the slots, which no processor could foresee."""
    function = ir.Function(module, ir.FunctionType(WORD, [POINTER] * 2 + [WORD] * 3), "share")
    slots, order, count, mask, thread = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    taken = builder.alloca(WORD)
    builder.store(WORD(0), taken)
    with counted(builder, count) as k:
        slot = builder.load(builder.gep(slots, [k], source_etype=WORD), typ=WORD)
        so_far = builder.load(taken, typ=WORD)
        builder.store(k, builder.gep(order, [so_far], source_etype=WORD))
        own = builder.zext(builder.icmp_unsigned("==", builder.and_(slot, mask), thread), WORD)
        builder.store(builder.add(so_far, own), taken)
    builder.ret(builder.load(taken, typ=WORD))
    return function


def _write_merge(module: Any) -> Any:
    function = ir.Function(module, ir.FunctionType(NOTHING, [POINTER] * 4 + [WORD] * 3), "merge")
    slots, parts, begins, found, count, mask, width = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    with counted(builder, count) as k:
        slot = builder.load(builder.gep(slots, [k], source_etype=WORD), typ=WORD)
        thread = builder.and_(slot, mask)
        begin = builder.gep(begins, [thread], source_etype=WORD)
        at = builder.load(begin, typ=WORD)
        part = builder.load(builder.gep(parts, [thread], source_etype=POINTER), typ=POINTER)
        builder.store(builder.add(at, WORD(1)), begin)
        source = builder.gep(part, [builder.mul(at, width)], source_etype=WORD)
        target = builder.gep(found, [builder.mul(k, width)], source_etype=WORD)
        with counted(builder, width) as j:
            number = builder.load(builder.gep(source, [j], source_etype=WORD), typ=WORD)
            builder.store(number, builder.gep(target, [j], source_etype=WORD))
    builder.ret_void()
    return function
