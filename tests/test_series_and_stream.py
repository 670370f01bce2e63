"""Checks run, run_many and Stream: what data they take, what they refuse and how, and how states are saved."""

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from astonish import (
    Bayes,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    GaussianVector,
    Grid,
    MessagePassing,
    NormalGamma,
    PerContext,
    Poisson,
    Regression,
    Smile,
    Stream,
    VarSmile,
    change_points,
    load_state,
    run,
    run_lengths,
    run_many,
    save_state,
)
from astonish.changes import changepoints
from astonish.core.numbers import Domain
from astonish.online import measures, series
from astonish.people.tables import Columns, read_trials, regressors
from families import CONTEXTS, LEARNER, NUMBERS, PAIRS, VECTORS, LearnerCase

of_each_shape = pytest.mark.parametrize(
    "case",
    [LEARNER[name] for name in ("smile_gaussian", "leaky_dirichlet", "bayes_regression", "delta", "per_context")],
)
GAUSSIAN, OUTCOME, CONTEXT = Smile(Gaussian()), Smile(Dirichlet(4)), PerContext(Smile(Dirichlet(4)), 3)
VECTOR, PAIR = Smile(GaussianVector(np.eye(2))), Bayes(Regression(2))


FRAME = pd.DataFrame(CONTEXTS, columns=["context", "outcome"])
FEATURES, RESPONSES = np.array([f for f, _ in PAIRS]), np.array([y for _, y in PAIRS])
FORMS = [  # a learner, its samples, and other forms of them
    (GAUSSIAN, NUMBERS, {
        "tuple": tuple(NUMBERS),
        "numpy": np.array(NUMBERS),
        "jax": lambda: jnp.array(NUMBERS),
        "pandas": pd.Series(NUMBERS, index=range(5, 17)),
        "nullable": pd.Series(NUMBERS, dtype="Float64"),
        "object": np.array(NUMBERS, object),
        "column": pd.DataFrame({"x": NUMBERS})["x"],
    }),
    (CONTEXT, CONTEXTS, {
        "list of lists": [list(pair) for pair in CONTEXTS],
        "numpy rows": np.array(CONTEXTS),
        "tuple of lists": ([c for c, _ in CONTEXTS], [x for _, x in CONTEXTS]),
        "tuple of arrays": tuple(np.array(CONTEXTS).T),
        "tuple of pandas": (FRAME["context"], FRAME["outcome"]),
        "frame": FRAME,
        "nullable frame": FRAME.astype("Int64"),
    }),
    (OUTCOME, [0, 1, 1, 0, 1], {
        np.dtype(dtype).name: np.array([0, 1, 1, 0, 1], dtype)
        for dtype in (np.int8, np.uint8, np.int64, np.float32, bool)
    }),
    (VECTOR, VECTORS, {
        "array": np.array(VECTORS),
        "rows": [v.tolist() for v in VECTORS],
        "frame": pd.DataFrame(np.array(VECTORS), columns=["a", "b"]),
    }),
    (PAIR, PAIRS, {
        "columns": (FEATURES, RESPONSES),
        "pandas": (pd.DataFrame(FEATURES), pd.Series(RESPONSES)),
        "rows": [(f.tolist(), float(y)) for f, y in PAIRS],
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("learner", "plain", "xs"),
    [
        pytest.param(learner, plain, xs, id=f"{type(learner.samples).__name__} {name}")
        for learner, plain, forms in FORMS
        for name, xs in forms.items()
    ],
)
def test_run_takes_a_series_in_many_forms(learner: Any, plain: Any, xs: Any) -> None:
    one, other = run(learner, xs() if callable(xs) else xs), run(learner, plain)
    jax.tree.map(np.testing.assert_array_equal, one.steps, other.steps)


@pytest.mark.parametrize("xs", [[0, None, 2, 1], [0, np.nan, 2, 1], np.array([0, np.nan, 2, 1])])
def test_a_missing_sample_is_passed_over(xs: Any) -> None:
    history = run(OUTCOME, xs)
    assert history.observed.tolist() == [True, False, True, True]
    assert np.isnan(history.surprise[1])
    np.testing.assert_allclose(history.estimate[-1], run(OUTCOME, [0, 2, 1]).estimate[-1], rtol=1e-9)
    pairs = [([1.0, 2.0], 1.0), None, ([1.0, 2.0], None)]
    assert run(PAIR, pairs).observed.tolist() == [True, False, False]


def test_a_series_of_nothing_but_gaps_teaches_nothing() -> None:
    history = run(GAUSSIAN, [None, np.nan])
    assert history.estimate.tolist() == history.learning_rate.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("x", [2, 2.0, np.int64(2), np.float32(2), np.array(2), True + True])
def test_stream_takes_a_sample_as(x: Any) -> None:
    assert Stream(OUTCOME).update(x).surprise == Stream(OUTCOME).update(2).surprise


def test_stream_takes_vectors_and_pairs() -> None:
    as_list, as_array = Stream(VECTOR).update([1.0, 2.0]), Stream(VECTOR).update(np.array([1.0, 2.0]))
    assert as_list.estimate.tolist() == as_array.estimate.tolist()
    expected = Stream(CONTEXT).update((1, 2)).surprise
    for pair in ([1, 2], np.array([1, 2]), (np.int64(1), 2.0)):
        assert Stream(CONTEXT).update(pair).surprise == expected
    assert Stream(PAIR).update((np.array([1.0, 2.0]), 0.5)).learning_rate == 1.0


def test_stream_answers_in_plain_numbers() -> None:
    step = Stream(GAUSSIAN).update(0.5)
    assert {type(number) for number in step} == {float}
    assert np.isnan(step.change_probability)
    assert [np.isnan(Stream(GAUSSIAN).update(x).surprise) for x in (None, np.float32("nan"))] == [True, True]
    assert isinstance(Stream(OUTCOME).update(1).estimate, np.ndarray)


@of_each_shape
def test_run_many_equals_single_runs_of_unequal_lengths(case: LearnerCase) -> None:
    many = run_many(case.learner, [case.samples, case.samples[3:8]])
    for together, xs in zip(many, [case.samples, case.samples[3:8]], strict=True):
        alone = run(case.learner, xs)
        assert len(together) == len(xs)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), together.steps, alone.steps)


def test_run_many_takes_gaps_and_refuses_nothing_at_all() -> None:
    first, second = run_many(GAUSSIAN, [[1.0, None, 2.0], pd.Series([3.0])])
    assert first.observed.tolist() == [True, False, True]
    assert len(second) == 1
    with pytest.raises(ValueError, match="no series"):
        run_many(GAUSSIAN, [])


@pytest.mark.single
def test_series_and_streams_compute_in_double_precision_and_leave_the_rest_of_the_program_alone(tmp_path: Path) -> None:
    history = run(GAUSSIAN, [0.1, 0.2])
    stream = Stream(GAUSSIAN)
    stream.update(0.1)
    stream.save(tmp_path / "state")
    Stream.load(tmp_path / "state", GAUSSIAN)
    run_many(GAUSSIAN, [[0.1], [0.2]])
    assert jnp.ones(1).dtype == jnp.float32
    for leaf in jax.tree.leaves((history.steps, stream.state)):
        assert isinstance(leaf, (np.ndarray, np.float64))
        assert leaf.dtype == np.float64


@pytest.mark.single
@pytest.mark.parametrize(
    "name", ["smile_gaussian", "smile_gaussian_vector", "smile_regression", "smile_grid", "smile_finite", "per_context"]
)
def test_series_and_streams_give_the_same_answers_when_the_program_is_in_single_precision(name: str) -> None:
    learner, samples = LEARNER[name].learner, LEARNER[name].samples
    outside = run(learner, samples)
    with jax.enable_x64(True):
        inside = run(learner, samples)
    np.testing.assert_allclose(outside.estimate, inside.estimate, rtol=1e-12)
    stream = Stream(learner)
    steps = [stream.update(x) for x in samples]
    np.testing.assert_allclose([s.learning_rate for s in steps], inside.learning_rate, rtol=1e-9)


@pytest.mark.single
def test_priors_made_in_single_precision_programs_lose_no_digits() -> None:
    for family, prior in [
        (Gaussian(0.1), Gaussian(0.1).prior(0.1, 0.3)),
        (Dirichlet(3), Dirichlet(3).prior(alpha=0.1)),
        (Regression(2), Regression(2).prior(0.1, 0.3)),
        (GaussianVector(np.eye(2) / 3), GaussianVector(np.eye(2) / 3).prior(0.1)),
    ]:
        start = Stream(Smile(family, prior=prior, reference=prior)).state
        name = "alpha" if isinstance(family, Dirichlet) else "mean"
        np.testing.assert_allclose(getattr(start, name), 0.1, rtol=1e-15)


def test_history_becomes_a_table() -> None:
    frame = run(GAUSSIAN, [0.5, None]).to_frame()
    assert list(frame) == ["sample", "observed", "estimate", "surprise", "learning_rate"]
    assert frame["observed"].tolist() == [True, False]
    assert np.isnan(frame["sample"][1])
    wide = run(CONTEXT, CONTEXTS).to_frame()
    estimates = [f"estimate_{k}" for k in range(4)]
    assert list(wide) == ["sample_0", "sample_1", "observed", *estimates, "surprise", "learning_rate"]
    assert wide["sample_0"].tolist() == [c for c, _ in CONTEXTS]
    np.testing.assert_allclose(wide[estimates].sum(axis=1), 1)


@of_each_shape
def test_history_becomes_a_figure_and_a_table(case: LearnerCase) -> None:
    history = run(case.learner, case.samples)
    figure = history.plot()
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 3
    figure.canvas.draw()
    plt.close(figure)
    assert len(history.to_frame()) == len(history) == len(case.samples)


@of_each_shape
def test_a_saved_stream_goes_on_exactly(case: LearnerCase, tmp_path: Path) -> None:
    stream = Stream(case.learner)
    for x in case.samples[:7]:
        stream.update(x)
    stream.save(tmp_path / "state.npz")
    again = Stream.load(tmp_path / "state.npz", case.learner)
    jax.tree.map(np.testing.assert_array_equal, again.state, stream.state)
    for x in case.samples[7:]:
        one, other = stream.update(x), again.update(x)
        assert (one.surprise, one.learning_rate) == (other.surprise, other.learning_rate)
        np.testing.assert_array_equal(one.estimate, other.estimate)
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


class _Unwritable:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("interrupted")


def test_states_are_saved_under_any_name_and_replaced_unless_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "no suffix"
    save_state(path, run(GAUSSIAN, [1.0]).state)
    save_state(str(path), run(GAUSSIAN, [1.0, 2.0]).state)
    with pytest.raises(RuntimeError, match="interrupted"):
        save_state(path, _Unwritable())
    assert load_state(path, GAUSSIAN).mean == run(GAUSSIAN, [1.0, 2.0]).state.mean
    assert [p.name for p in tmp_path.iterdir()] == ["no suffix"]


@pytest.mark.parametrize(
    ("saved", "other", "sentence"),
    [
        (GAUSSIAN, OUTCOME, "give the kind of learner that was saved"),
        (Smile(Dirichlet(3)), OUTCOME, r"shape \(3,\), the learner needs \(4,\); give the same sizes"),
        (GAUSSIAN, Bayes(Gaussian()), "give the kind of learner that was saved"),
        (Bayes(Gaussian()), GAUSSIAN, "give the kind of learner that was saved"),
        (CONTEXT, PerContext(Smile(Dirichlet(4)), 5), "give the same sizes"),
        (NormalGamma, GAUSSIAN, "give the kind of learner that was saved"),
    ],
)
def test_a_state_of_another_learner_is_refused(saved: Any, other: Any, sentence: str, tmp_path: Path) -> None:
    learner = Bayes(NormalGamma()) if saved is NormalGamma else saved
    Stream(learner).save(tmp_path / "state")
    with pytest.raises(ValueError, match=sentence):
        Stream.load(tmp_path / "state", other, other_learner=True)
    with pytest.raises(ValueError, match=r"was saved by .*, and this one .*; give the same learner, or other_learner"):
        Stream.load(tmp_path / "state", other)


def test_a_state_goes_to_a_learner_with_other_parameters_only_on_request(tmp_path: Path) -> None:
    Stream(GAUSSIAN).save(tmp_path / "state")
    other = dataclasses.replace(GAUSSIAN, m=0.7)
    with pytest.raises(ValueError, match=r"a learner with m = 0.1, and this one has m = 0.7"):
        Stream.load(tmp_path / "state", other)
    with pytest.raises(ValueError, match=r"family\.noise = 1.0, and this one has family\.noise = 2.0"):
        load_state(tmp_path / "state", Smile(Gaussian(noise=2.0)))
    assert Stream.load(tmp_path / "state", other, other_learner=True).update(3.0).surprise > 0
    with pytest.raises(ValueError, match=r"was saved by Smile\(.*\), and this one is VarSmile\("):
        Stream.load(tmp_path / "state", VarSmile(Gaussian(noise=1.0)))


def test_large_parameters_are_named_by_a_checksum(tmp_path: Path) -> None:
    points = np.linspace(0, 1, 200)
    grid = Grid(points, _bernoulli, domain=Domain(0, 1, whole=True))
    Stream(Smile(grid)).save(tmp_path / "state")
    assert Stream.load(tmp_path / "state", Smile(grid)).estimate == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"family.points = .*, and this one has family.points"):
        Stream.load(tmp_path / "state", Smile(dataclasses.replace(grid, points=points**2)))


def test_series_of_many_lengths_share_a_program_and_begin_alike() -> None:
    hazards, xs = MessagePassing(Gaussian(), hazard=0.1), np.random.default_rng(1).normal(size=64).cumsum()
    table = pd.DataFrame({"x": xs, "who": np.repeat(["a", "b", "c", "d"], 16)})
    entries = {
        series._one: lambda n: run(GAUSSIAN, xs[:n]).to_frame(),
        series._many: lambda n: run_many(GAUSSIAN, [xs[:n], -xs[:n]])[0].to_frame(),
        measures._measured_series: lambda n: measures.measure(GAUSSIAN, xs[:n]),
        changepoints._run_lengths: lambda n: pd.DataFrame(run_lengths(hazards, xs[:n], longest=5)),
        changepoints.most_probable: lambda n: pd.DataFrame(change_points(hazards, xs[:n])),
        regressors._record: lambda n: regressors.regressors(
            GAUSSIAN, read_trials(table.groupby("who").head(n), Columns("x", "who"))
        ),
    }
    for compiled, entry in entries.items():
        whole = entry(64)
        programs = compiled.programs()
        for length in (13, 5, 40):
            found = entry(length)
            if compiled not in (regressors._record, changepoints.most_probable):
                pd.testing.assert_frame_equal(found, whole.head(length), check_exact=True)
        assert compiled.programs() == programs


def _bernoulli(x: Any, points: Any) -> Any:
    return jnp.log(jnp.where(x == 1, points, 1 - points) + 1e-9)


def _written(write: Any) -> bytes:
    file = io.BytesIO()
    write(file, np.ones(3))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"not a state\n", b"", None, _written(np.save), _written(np.savez)])
def test_a_file_that_is_no_state_is_refused(content: bytes | None, tmp_path: Path) -> None:
    """A text, an empty file, a state that was cut off, an array, and an archive of others."""
    path = tmp_path / "garbage"
    save_state(path, run(GAUSSIAN, [1.0]).state)
    path.write_bytes(path.read_bytes()[:200] if content is None else content)
    with pytest.raises(ValueError, match="garbage is not a saved state; give a file written by save"):
        Stream.load(path, GAUSSIAN)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Stream.load(tmp_path / "nowhere", GAUSSIAN)


REFUSED = [  # a learner, a sample it does not take, how the sentence quotes it, and what it says would work
    (OUTCOME, 4, "4", "a whole number from 0 to 3"),
    (OUTCOME, -1, "-1", "a whole number from 0 to 3"),
    (OUTCOME, 1.5, "1.5", "a whole number from 0 to 3"),
    (OUTCOME, np.inf, "inf", "a whole number from 0 to 3"),
    (OUTCOME, 2**40, "1.09951e+12", "a whole number from 0 to 3"),
    (Bayes(Poisson()), -1, "-1", "a whole number of at least 0"),
    (Bayes(Poisson()), 0.5, "0.5", "a whole number of at least 0"),
    (Bayes(Exponential()), 0.0, "0", "a finite number above 0"),
    (Bayes(Exponential()), -2.0, "-2", "a finite number above 0"),
    (GAUSSIAN, np.inf, "inf", "a finite number"),
    (GAUSSIAN, -np.inf, "-inf", "a finite number"),
    (GAUSSIAN, "seven", "'seven'", "give numbers"),
    (Delta(), "", "''", "give numbers"),
    (GAUSSIAN, 1j, "1j", "give numbers"),
    (GAUSSIAN, [1.0, 2.0], "(2,)", "give samples of shape ()"),
    (VECTOR, [1.0, 2.0, 3.0], "(3,)", "give samples of shape (2,)"),
    (VECTOR, [1.0, np.inf], "inf", "a finite number"),
    (CONTEXT, (3, 0), "3", "a whole number from 0 to 2"),
    (CONTEXT, (0, 4), "4", "a whole number from 0 to 3"),
    (CONTEXT, (0, 1, 2), "(0, 1, 2)", "2 parts"),
    (CONTEXT, 1, "1", "2 parts"),
    (PAIR, ([1.0, 2.0, 3.0], 0.0), "(3,)", "give samples of shape (2,)"),
    (PAIR, ([1.0, 1e9], 0.0), "1e+09", "from -1e+08 to 1e+08"),
]


@pytest.mark.parametrize(("learner", "x", "quoted", "works"), REFUSED)
def test_a_sample_that_is_not_allowed_is_refused_and_changes_nothing(
    learner: Any, x: Any, quoted: str, works: str
) -> None:
    stream = Stream(learner)
    before = stream.state
    for learn in (stream.update, lambda x: run(learner, [x, x]), lambda x: run_many(learner, [[x, x]])):
        with pytest.raises(ValueError, match=f"{re.escape(quoted)}.*{re.escape(works)}"):
            learn(x)
    jax.tree.map(np.testing.assert_array_equal, stream.state, before)


@pytest.mark.parametrize(
    ("learner", "xs", "sentence"),
    [
        (GAUSSIAN, [], "the series is empty; give at least one sample"),
        (GAUSSIAN, np.array([]), "the series is empty; give at least one sample"),
        (CONTEXT, [], "the series is empty; give at least one sample"),
        (VECTOR, [], "the series is empty; give at least one sample"),
        (CONTEXT, ([], []), "the series is empty; give at least one sample"),
        (GAUSSIAN, 3.0, "got 3.0; give a series of samples"),
        (GAUSSIAN, None, "got None; give a series of samples"),
        (GAUSSIAN, "text", "got 'text'; give a series of samples"),
        (GAUSSIAN, [1.0, "two"], "holds 'two', which is not a number"),
        (GAUSSIAN, [1.0, "2"], "holds '2', which is not a number"),
        (GAUSSIAN, pd.Series(["a", "b"]), "holds 'a', which is not a number"),
        (GAUSSIAN, np.ones((3, 2)), r"a sample has shape \(2,\); give samples of shape \(\)"),
        (GAUSSIAN, [[1.0], [1.0, 2.0]], "samples of different shapes; give all of them the same"),
        (VECTOR, np.ones((3, 3)), r"a sample has shape \(3,\); give samples of shape \(2,\)"),
        (VECTOR, [[1.0, 2.0], [1.0]], "samples of different shapes; give all of them the same"),
        (CONTEXT, ([0, 1], [0, 1, 2]), r"the columns have \[2, 3\] rows; give columns of one length"),
        (CONTEXT, ([0, 1], [0, 1], [0, 1]), "got 3 columns; these samples have 2 parts"),
        (CONTEXT, 5, "5.*give"),
        (OUTCOME, [0, None, 9, 1], r"sample 2 \(counted from 0\) is 9"),
        (Smile(NormalGamma()), [0.5], "reference="),
        (Smile(Regression(2)), PAIRS[:1], "reference="),
    ],
)
def test_a_series_or_a_learner_that_makes_no_sense_is_refused(learner: Any, xs: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        run(learner, xs)
