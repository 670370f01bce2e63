"""Checks that a bank does for every key what a stream of its own would have done."""

import copy
import io
import pickle
from collections import OrderedDict, defaultdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from astonish import (
    Bayes,
    Delta,
    Dirichlet,
    Gaussian,
    MessagePassing,
    ParticleFilter,
    PerContext,
    Regression,
    Smile,
    Stream,
    run,
    run_many,
)
from astonish.io.files import read, write
from astonish.online.bank import LOOPS, TILES, Bank, Schedule
from astonish.online.keys import UNKNOWN, Names, WholeNumbers

LEARNER = Smile(Gaussian(noise=1.0))
RNG = np.random.default_rng(1)


def _some(size: int) -> Any:
    """Keys of which a few come often, as they do."""
    return np.random.default_rng(2).zipf(1.4, size) % 40


@pytest.mark.parametrize(
    ("learner", "xs"),
    [
        (LEARNER, RNG.normal(size=900)),
        (Smile(Dirichlet(15)), RNG.integers(15, size=900)),
        (Delta(learning_rate=0.1), RNG.normal(size=900)),
        (MessagePassing(Gaussian(noise=1.0), hazard=0.1), RNG.normal(size=900)),
        (ParticleFilter(Gaussian(noise=1.0), hazard=0.1, particles=5), RNG.normal(size=900)),
        (PerContext(Smile(Dirichlet(3)), 4), (RNG.integers(4, size=900), RNG.integers(3, size=900))),
        (Bayes(Regression(2, noise=1.0)), (RNG.normal(size=(900, 2)), RNG.normal(size=900))),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_key_learns_as_if_alone(learner: Any, xs: Any) -> None:
    keys = _some(900)
    bank = Bank(learner, 40)
    parts = [slice(0, 600), slice(600, 900)]
    steps = [bank.update(keys[part], jax.tree.map(lambda column, part=part: column[part], xs)) for part in parts]
    names = np.unique(keys)
    series = [jax.tree.map(lambda column, key=key: column[keys == key], xs) for key in names]
    together = jax.tree.map(lambda *columns: np.concatenate(columns), *steps)
    for key, alone in zip(names, run_many(learner, series), strict=True):
        of_key = jax.tree.map(lambda column, key=key: column[keys == key], together)
        wanted = alone.steps._replace(state=None)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12), of_key, wanted)
        np.testing.assert_allclose(bank.estimate([key])[0], alone.estimate[-1], rtol=1e-12, atol=1e-12)


def test_missing_samples_change_nothing_and_a_stream_goes_on_from_a_key() -> None:
    bank, stream = Bank(LEARNER, 10), Stream(LEARNER)
    steps = bank.update(["a", "b", "a", "a"], [1.0, None, np.nan, 3.0])
    assert np.isnan(steps.surprise).tolist() == [False, True, True, False]
    assert steps.learning_rate[1:3].tolist() == [0.0, 0.0]
    stream.update(1.0)
    assert stream.update(3.0).estimate == pytest.approx(steps.estimate[3], rel=1e-12)
    again = Stream(LEARNER, bank.state("a"))
    assert again.update(2.0).estimate == pytest.approx(stream.update(2.0).estimate, rel=1e-12)
    assert bank.estimate(["b", "new"]).tolist() == [0.0, 0.0]
    assert "new" not in bank
    assert "b" in bank
    numbers = Bank(LEARNER, 10)
    numbers.update([1], [0.5])
    assert [key in numbers for key in (1, 2, "1", None)] == [True, False, False, False]


def test_a_state_that_was_handed_out_stays_as_it_was() -> None:
    bank = Bank(Smile(Dirichlet(3)), 4)
    bank.update([7], [1])
    state = bank.state(7)
    before = np.array(state.alpha)
    bank.update([7], [2])
    np.testing.assert_array_equal(state.alpha, before)


@pytest.mark.single
def test_it_computes_in_double_precision_in_a_program_that_does_not() -> None:
    bank = Bank(LEARNER, 10)
    bank.update([1, 2], [0.1, 0.2])
    again = Bank.load(io.BytesIO(bank.to_bytes()), LEARNER)
    alone = run(LEARNER, [0.1, 0.3])
    for each in (bank, again):
        assert each.update([1], [0.3]).estimate[0] == pytest.approx(alone.estimate[1], rel=1e-14)
        assert each.estimate([1])[0] == pytest.approx(alone.estimate[1], rel=1e-14)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=400), st.integers(0, 1300))
@settings(deadline=None, max_examples=60)
def test_a_schedule_goes_through_the_samples_of_each_key_in_order(slots: list[int], hot: int) -> None:
    given_slots = np.array(slots + [7] * hot)
    finder = Schedule(capacity=8)
    for _ in range(2):  # what was marked by the batch before does no harm
        met: dict[int, list[int]] = defaultdict(list)
        parts = (given_slots[at : at + 100] for at in range(0, len(given_slots), 100))
        for _, blocks in groupby(finder.of(parts, len(given_slots)), key=lambda block: block.turn):
            turn = list(blocks)
            together = np.concatenate([block.slots for block in turn])
            assert len(set(together.tolist())) == len(together)
            for block in turn:
                assert block.keys in TILES
                assert len(block.slots) == len(block.at) <= block.keys
                assert block.at.shape[1] in LOOPS
                for slot, at in zip(block.slots.tolist(), block.at, strict=True):
                    met[slot] += at[at >= 0].tolist()
        assert met == {int(slot): np.flatnonzero(given_slots == slot).tolist() for slot in np.unique(given_slots)}


def test_marks_begin_anew_when_their_numbers_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astonish.online.bank._LAST", 10)
    finder, slots = Schedule(capacity=3), np.array([0, 2, 0, 1])
    for _ in range(5):
        found = [(block.slots.tolist(), block.at.tolist()) for block in finder.of([slots[:2], slots[2:]], 4)]
        assert found == [([0, 2], [[0], [1]]), ([1], [[3]]), ([0], [[2]])]


WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 30)


@given(st.lists(st.tuples(st.sampled_from(["enter", "leave"]), st.lists(WHOLE, max_size=12)), max_size=25))
@settings(deadline=None, max_examples=100)
def test_keys_are_found_where_they_were_put(script: list[tuple[str, list[int]]]) -> None:
    for kind, sort in ((WholeNumbers, np.int64), (Names, str)):
        memory, known, free = kind(400), {}, list(range(400))
        for word, whole in script:
            given_keys = np.array(whole, np.int64).astype(sort).tolist()
            keys = memory.read(np.array(given_keys, sort))
            if word == "enter":
                new = [key for key in dict.fromkeys(given_keys) if key not in known]
                assert list(memory.unique(keys)) == list(dict.fromkeys(given_keys))
                slots = [free.pop() for _ in new]
                memory.enter(memory.read(np.array(new, sort)), np.array(slots, np.int64))
                known |= dict(zip(new, slots, strict=True))
            else:
                gone = [known.pop(key) for key in dict.fromkeys(given_keys) if key in known]
                memory.leave(np.array(gone, np.int64))
                free += gone
            asked = [*known, *given_keys]
            assert memory.find(memory.read(np.array(asked, sort))).tolist() == [
                known.get(key, UNKNOWN) for key in asked
            ]
        assert memory.at(np.array(list(known.values()), np.int64)).tolist() == list(known)


def test_keys_that_collide_and_leave_do_not_fill_the_table() -> None:
    memory = WholeNumbers(4)
    for key in range(0, 4000, 4):
        keys = np.arange(key, key + 4) * 2**40
        memory.enter(keys, np.arange(4))
        assert memory.find(keys).tolist() == [0, 1, 2, 3]
        memory.leave(np.arange(4))
        assert (memory.find(keys) == UNKNOWN).all()


@pytest.fixture(params=[2, None])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are found for a few samples at a time, as XLA has it, or for all."""
    if request.param:
        monkeypatch.setenv("ASTONISH_ENGINE", "xla")
        monkeypatch.setattr("astonish.online.bank._PART", request.param)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("name", [int, str])
def test_those_that_were_silent_for_longest_leave(name: Any) -> None:
    rng = np.random.default_rng(3)
    bank, oracle = Bank(LEARNER, 12, evict=True), OrderedDict[Any, Stream]()
    for _ in range(60):
        keys, xs = [name(key) for key in rng.integers(30, size=8)], rng.normal(size=8)
        found = bank.update(keys, xs)
        fresh = [key for key in dict.fromkeys(keys) if key not in oracle]
        idle = [key for key in oracle if key not in keys]
        for key in idle[: max(len(oracle) + len(fresh) - 12, 0)]:
            del oracle[key]
        for k, (key, x) in enumerate(zip(keys, xs, strict=True)):
            oracle.setdefault(key, Stream(LEARNER))
            oracle.move_to_end(key)
            assert oracle[key].update(x).estimate == pytest.approx(found.estimate[k], rel=1e-12)
        assert set(bank.keys().tolist()) == set(oracle)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("before", "keys", "words"),
    [
        ([1], [1, 1, 1, 2, 3], "room for 2 keys and knows 1, 2 more"),
        ([1], [1, "a"], "'a' is not a whole number"),
        ([1], [1.5, 1.0], "1.5 is not a whole number"),
        ([1], np.array([2**63], np.uint64), "too large"),
        ([1], "one", "'one' as keys"),
        ([], ["a", None], "None is not a key"),
        ([], ["a", 3], "key 3 is not a string"),
        ([], [3, "a"], "key 3 is not a key like the others"),
        ([], ["a", ("b", 1)], r"key \('b', 1\) is not a string"),
        ([], [2**70, 5], "key 1180591620717411303424 is not"),
        ([], np.ma.masked_array([1, 2], [False, True]), "key 1 .* is masked"),
        ([], pd.array([1, None], "Int64"), "key 1 .* is masked"),
        ([], pd.Series(["a", None], dtype="string"), "<NA> is not a key"),
    ],
)
def test_a_batch_with_anything_wrong_is_refused_and_leaves_no_trace(before: Any, keys: Any, words: str) -> None:
    bank = Bank(LEARNER, 2)
    if before:
        bank.update(before, [0.5])
    saved = bank.to_bytes()
    for wrong, xs, sentence in ((keys, [0.0] * len(keys), words), ([1, 2], [0.0], "2 keys and 1 samples"),
                                ([1], [np.inf], "sample 0")):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            bank.update(wrong, xs)
    assert bank.to_bytes() == saved
    assert bank.update([1], [0.7]).estimate == Bank.load(io.BytesIO(saved), LEARNER).update([1], [0.7]).estimate


def test_too_many_keys_at_once_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="more keys than the 2"):
        Bank(LEARNER, 2, evict=True).update([1, 2, 3], [0.0] * 3)
    with pytest.raises(ValueError, match="capacity = 0"):
        Bank(LEARNER, 0)
    with pytest.raises(KeyError, match="'a' is not among"):
        Bank(LEARNER, 2).state("a")


@pytest.mark.parametrize("name", [int, str])
def test_a_saved_bank_goes_on_exactly(tmp_path: Path, name: Any) -> None:
    keys, xs = [name(key) for key in _some(300)], np.random.default_rng(4).normal(size=300)
    bank = Bank(LEARNER, 40, evict=True)
    bank.update(keys, xs)
    bank.save(tmp_path / "bank")
    again = Bank.load(tmp_path / "bank", LEARNER, evict=True)
    larger = Bank.load(io.BytesIO(bank.to_bytes()), LEARNER, capacity=70)
    late = [name(key) for key in range(20, 60)]
    with pytest.raises(ValueError, match="room for 40"):
        Bank.load(tmp_path / "bank", LEARNER).update(late, xs[:40])
    wanted = bank.update(late, xs[:40])
    for other in (again, larger):
        for found, part in zip(other.update(late, xs[:40]), wanted, strict=True):
            np.testing.assert_array_equal(found, part)
    assert len(larger) > len(again) == 40
    assert set(again.keys().tolist()) == set(bank.keys().tolist())


def test_a_loaded_bank_forgets_what_was_used_least_recently(tmp_path: Path) -> None:
    bank = Bank(LEARNER, 3, evict=True)
    for key in "abc":
        bank.update([key], [0.0])
    bank.save(tmp_path / "bank")
    again = Bank.load(tmp_path / "bank", LEARNER, evict=True)
    for key in "ade":
        again.update([key], [0.0])
    assert set(again.keys().tolist()) == set("ade")


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    bank = Bank(LEARNER, 4)
    bank.update([1, 2], [0.5, 0.1])
    good = bank.to_bytes()
    for cut in np.random.default_rng(5).integers(1, len(good), 20):
        with pytest.raises(ValueError, match="is not a saved bank"):
            Bank.load(io.BytesIO(good[:cut]), LEARNER)
    with pytest.raises(ValueError, match=r"family = Gaussian\(.*\), and this one has family = Dirichlet"):
        Bank.load(io.BytesIO(good), Smile(Dirichlet(3)))
    with pytest.raises(ValueError, match=r"not \.alpha; give the kind of learner"):
        Bank.load(io.BytesIO(good), Smile(Dirichlet(3)), other_learner=True)
    with pytest.raises(ValueError, match="2 keys were saved and there is room for 1"):
        Bank.load(io.BytesIO(good), LEARNER, capacity=1)
    Stream(LEARNER).save(tmp_path / "state")
    with pytest.raises(ValueError, match="state is not a saved bank"):
        Bank.load(tmp_path / "state", LEARNER)
    file = io.BytesIO()
    write(file, "bank", {}, {"capacity": 3})
    with pytest.raises(ValueError, match="no 'keys'"):
        Bank.load(file, LEARNER)


def test_a_newer_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astonish.io.files._VERSION", 3)
    newer = Bank(LEARNER, 2).to_bytes()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="format version 3; this library reads up to 2"):
        Bank.load(io.BytesIO(newer), LEARNER)


def test_strings_are_kept_whole_and_one_long_one_costs_only_itself() -> None:
    keys = ["a", "a\0", "a\0\0", "", "\ud800", "é" * 1000]
    bank = Bank(LEARNER, 1000)
    bank.update(keys, np.arange(6.0))
    bank.update([str(number) for number in range(900)], np.zeros(900))
    saved = bank.to_bytes()
    assert len(saved) < 60_000
    again = Bank.load(io.BytesIO(saved), LEARNER)
    assert bank.keys().tolist() == again.keys().tolist()
    np.testing.assert_array_equal(again.estimate(keys), bank.estimate(keys))
    assert len(set(again.estimate(keys))) == 6


def test_a_copied_and_a_pickled_bank_go_on_by_themselves() -> None:
    bank = Bank(LEARNER, 4)
    bank.update([("a", 1), ("b", 2)], [0.5, 0.1])
    copies = [copy.deepcopy(bank), pickle.loads(pickle.dumps(bank))]
    wanted = bank.update([("b", 2), ("b", 2)], [2.0, 1.0])
    for other in copies:
        np.testing.assert_array_equal(other.update([("b", 2)], [2.0]).estimate, wanted.estimate[:1])
        np.testing.assert_array_equal(other.update([("b", 2)], [1.0]).estimate, wanted.estimate[1:])


def test_a_file_that_claims_more_than_it_holds_takes_no_memory() -> None:
    bank, file = Bank(LEARNER, 4), io.BytesIO()
    assert len(Bank.load(io.BytesIO(bank.to_bytes()), LEARNER)) == 0
    bank.update([1, 2], [0.5, 0.1])
    arrays, about = read(io.BytesIO(bank.to_bytes()), "bank")
    write(file, "bank", arrays, about | {"capacity": 2**31 - 1})
    with pytest.raises(ValueError, match=r"claims room for 2147483647 keys \(32 GiB\) and holds 2; give the capacity"):
        Bank.load(file, LEARNER)
    assert len(Bank.load(file, LEARNER, capacity=2)) == 2


def test_keys_that_no_file_can_hold_are_refused_when_saved() -> None:
    bank = Bank(LEARNER, 2)
    bank.update([(1, 2)], [0.5])
    with pytest.raises(ValueError, match=r"key \(1, 2\) cannot be kept"):
        bank.to_bytes()


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
@pytest.mark.parametrize("keys", [[3, 5, 3], ["x", "y", "x"]])
def test_tables_of_every_kind_go_in_and_out(kind: str, keys: Any) -> None:
    pytest.importorskip(kind)
    import narwhals as nw

    table = nw.from_dict({"who": keys, "x": [0.5, 1.5, -1.0]}, backend=kind).to_native()
    bank, plain = Bank(LEARNER, 4), Bank(LEARNER, 4).update(keys, [0.5, 1.5, -1.0])
    answer = bank.update_table(table, key="who", sample="x")
    assert type(answer) is type(table)
    read = nw.from_native(answer)
    assert read.columns == ["who", "x", "estimate", "surprise", "learning_rate"]
    np.testing.assert_array_equal(read["surprise"].to_numpy(), plain.surprise)
    listed = nw.from_native(bank.to_frame(kind))
    assert listed["key"].to_list() == [keys[0], keys[1]]
    np.testing.assert_array_equal(listed["estimate"].to_numpy(), bank.estimate(keys[:2]))


def test_samples_of_several_parts_are_several_columns() -> None:
    table = pd.DataFrame({"who": [1, 1], "room": [0, 2], "door": [1, 1]})
    answer = Bank(PerContext(Smile(Dirichlet(3)), 4), 2).update_table(table, "who", ["room", "door"])
    assert list(answer.columns[-5:]) == ["estimate_0", "estimate_1", "estimate_2", "surprise", "learning_rate"]
    family = Regression(2, noise=1.0)
    rooms = PerContext(Smile(family, reference=family.prior(std=5.0)), 3)
    table = pd.DataFrame({"who": [1, 1], "room": [0, 2], "a": [1.0, 2.0], "b": [0.5, 0.1], "y": [3.0, 4.0]})
    answer = Bank(rooms, 2).update_table(table, "who", ["room", [["a", "b"], "y"]])
    plain = Bank(rooms, 2).update(table["who"], (table["room"], (table[["a", "b"]].to_numpy(), table["y"])))
    np.testing.assert_array_equal(answer["surprise"], plain.surprise)
    with pytest.raises(ValueError, match="have 2 parts, so give columns for each"):
        Bank(rooms, 2).update_table(table, "who", ["room", "a", "y"])


@pytest.mark.parametrize(
    ("key", "words"),
    [("when", "no column 'when'; the columns are who, x, learning_rate"), ("who", "column 'learning_rate' already")],
)
def test_columns_that_are_wrong_are_named(key: str, words: str) -> None:
    bank = Bank(LEARNER, 2)
    with pytest.raises(ValueError, match=words):
        bank.update_table(pd.DataFrame({"who": [1], "x": [0.0], "learning_rate": [0.0]}), key, "x")
    assert len(bank) == 0
    with pytest.raises(ValueError, match="kind = 'list' is not known"):
        bank.to_frame("list")


def test_a_million_keys_take_little_more_than_their_states() -> None:
    bank = Bank(LEARNER, 1_000_000)
    rng = np.random.default_rng(6)
    for _ in range(3):
        steps = bank.update(rng.permutation(1_000_000) * 7919, rng.normal(scale=1e3, size=1_000_000))
    assert np.isfinite(steps.estimate).all()
    assert np.isfinite(steps.surprise).all()
    assert bank.nbytes <= 3 * 1_000_000 * 16
