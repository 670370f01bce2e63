"""Which loops are there around a learner's step? Many samples of one stream, or of a table of streams.

Where a step is one of single numbers, a table's are taken sixteen at a time, for as many different keys.
"""

from typing import Any

from astonish.engines.native.entry import flushing
from astonish.engines.native.layout import COUNT, nbytes
from astonish.engines.native.llvm import ir
from astonish.engines.native.lowering import Lowering
from astonish.engines.native.parallel import write_job
from astonish.engines.native.values import Lowered, allocated, array_type, counted, lowered, moved
from astonish.engines.native.writer import (
    BIT,
    BYTE,
    NULL,
    POINTER,
    WORD,
    Writer,
    ahead,
    copy,
    load,
    prefetch,
    split,
)

LANES = 16


def write_series(writer: Writer) -> None:
    """Many samples, one state.

    Arguments: parameters, parts of the state, parts of the samples, answers, a byte for each sample that is 0 where
    it is missing (or null), where to copy the answers to the last sample that was there (or null), and the count.
    """
    parts, xs = len(writer.layout.parts), len(writer.layout.samples)
    function = writer.function("series", 1 + parts + xs + COUNT + 1 + COUNT, exported=True, more=1)
    (parameters, *pointers), count = function.args[:-1], function.args[-1]
    rows, samples, answers, (seen, *latest) = split(pointers, parts, xs, COUNT)
    builder = writer.builder(function)
    restore = flushing(builder)
    last = allocated(builder, WORD)
    builder.store(WORD(-1), last)
    with counted(builder, count) as k:
        there = writer.step_or_skip(builder, k, k, parameters, rows, samples, answers, seen)
        builder.store(builder.select(there, k, builder.load(last, typ=WORD)), last)
    at = builder.load(last, typ=WORD)
    asked = builder.icmp_unsigned("!=", latest[0], NULL)
    with builder.if_then(builder.and_(asked, builder.icmp_signed(">=", at, WORD(0)))):
        for answer, room, size in zip(answers, latest, writer.layout.answers, strict=True):
            copy(builder, ahead(builder, answer, at, size), room, size)
    restore()
    builder.ret_void()


def write_rows(writer: Writer, lanes: Any) -> None:
    """Many samples, a table of states. lanes: JAX's program of `LANES` steps at once, or None.

    Arguments: parameters, parts of the table, parts of the samples, answers, which are missing (as above), the slot of
    each sample, room for the places of those samples that fall to this thread, a number that becomes 1 more than their
    count at the end; the number of samples, that of threads (a power of 2) less 1, and which one this is. Answers are
    in the order of steps.
    """
    row = _write_row(writer)
    many = None if lanes is None else _write_lanes(writer, lanes)
    function = writer.function("rows", _arguments(writer)[2] + 2, exported=True, more=3)
    (*common, order, done), (samples, mask, thread) = function.args[:-3], function.args[-3:]
    builder = writer.builder(function)
    restore = flushing(builder)
    count = _write_share(builder, common[_slots_at(writer)], order, samples, mask, thread)
    groups = WORD(0) if many is None else builder.sdiv(count, WORD(LANES))
    if many is not None:
        with counted(builder, groups) as group:
            first = builder.mul(group, WORD(LANES))
            _prefetch(writer, builder, common, order, builder.add(first, WORD(LANES)), count)
            taken = builder.call(many, [*common, order, first])
            with builder.if_then(builder.not_(taken), likely=False), counted(builder, WORD(LANES)) as k:
                builder.call(row, [*common, order, builder.add(first, k)])
    begin = builder.mul(groups, WORD(LANES))
    with counted(builder, builder.sub(count, begin)) as k:
        builder.call(row, [*common, order, builder.add(begin, k)])
    builder.store(builder.add(count, WORD(1)), done)
    restore()
    builder.ret_void()
    write_job(function)


def _write_share(builder: Any, slots: Any, order: Any, samples: Any, mask: Any, thread: Any) -> Any:
    """List the samples of a thread, those whose slots end in its number; how many there are.

    Without a branch that depends on the slots, which no processor could foresee.
    """
    taken = allocated(builder, WORD)
    builder.store(WORD(0), taken)
    with counted(builder, samples) as k:
        slot = builder.load(builder.gep(slots, [k], source_etype=WORD), typ=WORD)
        so_far = builder.load(taken, typ=WORD)
        builder.store(k, builder.gep(order, [so_far], source_etype=WORD))
        own = builder.zext(builder.icmp_unsigned("==", builder.and_(slot, mask), thread), WORD)
        builder.store(builder.add(so_far, own), taken)
    return builder.load(taken, typ=WORD)


def _slots_at(writer: Writer) -> int:
    """Which argument has the slots."""
    parts, xs, _ = _arguments(writer)
    return 1 + parts + xs + COUNT + 1


def _arguments(writer: Writer) -> tuple[int, int, int]:
    """Numbers of parts of a state and of a sample, and of all pointers that rows and lanes have in common."""
    parts, xs = len(writer.layout.parts), len(writer.layout.samples)
    return parts, xs, 1 + parts + xs + COUNT + 2


def _write_row(writer: Writer) -> Any:
    """One step, in a table, which is not taken if the sample is missing."""
    parts, xs, common = _arguments(writer)
    function = writer.function("row", common + 1, exported=False, more=1)
    (parameters, *pointers, order), k = function.args[:-1], function.args[-1]
    tables, samples, answers, (seen, slots) = split(pointers, parts, xs, COUNT)
    builder = writer.builder(function)
    at = builder.load(builder.gep(order, [k], source_etype=WORD), typ=WORD)
    slot = builder.load(builder.gep(slots, [at], source_etype=WORD), typ=WORD)
    rows = [ahead(builder, table, slot, size) for table, size in zip(tables, writer.layout.parts, strict=True)]
    writer.step_or_skip(builder, at, k, parameters, rows, samples, answers, seen)
    builder.ret_void()
    return function


def _write_lanes(writer: Writer, program: Any) -> Any:
    """Steps of several keys at once; whether they were taken, which they are not if two keys are the same.

    Nor are they if any sample may be missing.
    """
    layout, (parts, xs, common) = writer.layout, _arguments(writer)
    function = ir.Function(writer.module, ir.FunctionType(BIT, [POINTER] * (common + 1) + [WORD]), "lanes")
    function.linkage = "internal"
    function.attributes.add("noinline")
    parameters, *pointers, order, first = function.args
    tables, samples, answers, (seen, slots) = split(pointers, parts, xs, COUNT)
    builder = writer.builder(function)
    places = builder.gep(order, [first], source_etype=WORD)
    ats = [builder.load(builder.gep(places, [WORD(k)], source_etype=WORD), typ=WORD) for k in range(LANES)]
    own = [builder.load(builder.gep(slots, [at], source_etype=WORD), typ=WORD) for at in ats]
    different = builder.and_(_all_different(builder, own), builder.icmp_unsigned("==", seen, NULL))
    with builder.if_then(builder.not_(different), likely=False):
        builder.ret(BIT(0))
    rows = [
        [ahead(builder, table, slot, size) for table, size in zip(tables, layout.parts, strict=True)] for slot in own
    ]
    numbers = [
        load(builder, parameters, at, aval) for at, aval in zip(layout.offsets(), layout.parameters, strict=True)
    ]
    state = [_together(builder, aval, [(row[part], at) for row in rows])
             for (part, at), aval in zip(layout.leaves, layout.state, strict=True)]  # fmt: skip
    xs_now = [_together(builder, aval, [(ahead(builder, x, at, nbytes(aval)), 0) for at in ats])
              for x, aval in zip(samples, layout.samples, strict=True)]  # fmt: skip
    found = [lowered(value) for value in Lowering(builder).run(program, [*numbers, *state, *xs_now])]
    for (part, offset), value in zip(layout.leaves, found, strict=False):
        _apart(builder, value, [builder.gep(row[part], [WORD(offset)], source_etype=BYTE) for row in rows])
    for answer, size, value in zip(answers, layout.answers, found[-COUNT:], strict=True):
        whole = value if value.size == LANES else lowered(moved(builder, value, [0] * LANES))
        builder.store(whole.value, ahead(builder, answer, first, size), align=8)
    builder.ret(BIT(1))
    return function


def _all_different(builder: Any, numbers: list[Any]) -> Any:
    """Whether no two of these are equal: each is compared with those up to half-way around."""
    vector = ir.Constant(ir.VectorType(WORD, LANES), ir.Undefined)
    for k, number in enumerate(numbers):
        vector = builder.insert_element(vector, number, ir.IntType(32)(k))
    equal = None
    for turn in range(1, LANES // 2 + 1):
        mask = [ir.IntType(32)((k + turn) % LANES) for k in range(LANES)]
        turned = builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), LANES), mask))
        same = builder.icmp_signed("==", vector, turned)
        equal = same if equal is None else builder.or_(equal, same)
    return builder.icmp_unsigned("==", builder.bitcast(equal, ir.IntType(LANES)), ir.IntType(LANES)(0))


def _together(builder: Any, aval: Any, places: list[tuple[Any, int]]) -> Lowered:
    """One number from each of these places, side by side."""
    value = ir.Constant(array_type(aval.dtype, LANES), ir.Undefined)
    for k, (pointer, at) in enumerate(places):
        value = builder.insert_element(value, load(builder, pointer, at, aval).value, ir.IntType(32)(k))
    return Lowered((LANES, *aval.shape), aval.dtype, value)


def _apart(builder: Any, value: Lowered, places: list[Any]) -> None:
    for k, place in enumerate(places):
        one = value.value if value.size == 1 else builder.extract_element(value.value, ir.IntType(32)(k))
        builder.store(one, place, align=value.dtype.itemsize)


def _prefetch(writer: Writer, builder: Any, common: Any, order: Any, first: Any, count: Any) -> None:
    """Have the states of steps to come brought near."""
    parts, slots = len(writer.layout.parts), common[_slots_at(writer)]
    with builder.if_then(builder.icmp_signed("<=", builder.add(first, WORD(LANES)), count)):
        for k in range(LANES):
            at = builder.load(builder.gep(order, [builder.add(first, WORD(k))], source_etype=WORD), typ=WORD)
            slot = builder.load(builder.gep(slots, [at], source_etype=WORD), typ=WORD)
            for table, size in zip(common[1 : 1 + parts], writer.layout.parts, strict=True):
                prefetch(builder, ahead(builder, table, slot, size))
