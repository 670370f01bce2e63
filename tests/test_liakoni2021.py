"""Are our learners those whose errors Liakoni et al. (2021) published? Statistically, and on the authors' own samples.

The data is not part of the project: tests that need it are skipped where it is not there (see `published_data`).
"""

import json
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from pandas import DataFrame
from typer.testing import CliRunner
from validation.liakoni2021 import comparison, drawing, julia, numbers, published, series
from validation.liakoni2021.__main__ import app, figure_with
from validation.liakoni2021.julia import Julia
from validation.liakoni2021.learners import LEARNERS, Case, enough, exact
from validation.liakoni2021.numbers import FULL, Size, simulate
from validation.liakoni2021.series import Run

from astonish import Gaussian, Leaky
from astonish.beliefs import GaussianBelief
from astonish.learners.base import scan
from astonish.paper.figure import FAILS, HOLDS, IN_PART, MODULES, RunSettings, read_csv
from published_data import published_data

pytestmark = pytest.mark.computes

DATA, needs_data = published_data("liakoni2021", "published errors")
THEIR_STEPS = 10 * 100_000
SIGMAS, HAZARDS = (5.0, 2.0, 1.0, 0.5, 0.1), (0.1, 0.05, 0.01, 0.005)


# The authors' files


@needs_data
def test_the_published_errors_are_read() -> None:
    table = published.read(DATA)
    assert len(table) == 8 * 20
    assert list(table.learner.unique()) == list(published.SOURCES)
    assert set(zip(table.sigma, table.hazard, strict=True)) == {(s, h) for s in SIGMAS for h in HAZARDS}
    rows = table.set_index(["learner", "sigma", "hazard"])
    assert rows.error["exact Bayes", 5.0, 0.1] == 0.8447942974214102
    assert rows.error["VarSMiLe", 5.0, 0.1] == 0.8447942974214102 + 0.0017357028141098407
    assert rows.error["MP10", 0.1, 0.1] == 0.003349787754337556 + 4.482486538988015e-07  # 4482486538988015e-22 there
    assert rows.parameter["VarSMiLe", 5.0, 0.1] == 0.14000000000000024
    assert rows.parameter["leaky", 0.1, 0.005] == 0.39000000000000024
    assert rows.parameter["Nas10*", 5.0, 0.1] == 0.09617248711152965
    assert rows.parameter["Nas12*", 5.0, 0.005] == 0.004923882631706742
    assert rows.parameter["SMiLe", 5.0, 0.1] == 2.220446049250313e-16
    assert rows.parameter[["exact Bayes", "MP10", "pf20"]].isna().all()


def _invent(folder: Path) -> Path:
    """Files as the authors', with one world and made-up numbers."""
    (folder / "gaussian").mkdir(parents=True)
    for source in published.SOURCES.values():
        path = folder / "gaussian" / f"gaussian_heatmap_{source.table}.csv"
        path.write_text("sigma changeprobability x_meanerror\n0.5 0.1 0.1\n0.5 1e-4 7\n")
    names = [source.parameters for source in published.SOURCES.values() if source.parameters]
    (folder / published.PARAMETERS).write_text(json.dumps({name: [[0.5, 0.1, 0.2]] for name in names}))
    return folder


def test_differences_are_added_to_the_errors_of_exact_bayes(tmp_path: Path) -> None:
    table = published.read(_invent(tmp_path))
    assert table.error.tolist() == [0.1, *[0.2] * 7]  # and the world that changes more seldom is left out


def test_a_world_that_a_table_lacks_is_noticed(tmp_path: Path) -> None:
    path = _invent(tmp_path) / "gaussian" / "gaussian_heatmap_diff_leaky.csv"
    path.write_text(path.read_text().replace("0.5 0.1 ", "0.5 0.2 "))
    with pytest.raises(ValueError, match=r"does not tell leaky's error for every sigma and hazard\. liakoni2021 needs"):
        published.read(tmp_path)


# Conventions


def test_their_leak_takes_the_new_sample_too_which_matters_only_beside_a_prior() -> None:
    """N = w N + w and X = w X + w x: our `Leaky` without a prior, and with one if the noise is 1 / sqrt(w) as large."""
    w, sigma, xs = 0.7, 1.7, np.random.default_rng(1).normal(3.0, 2.0, 50)
    count, total, plain, shrunk = 0.0, 0.0, [], []
    for x in xs:
        count, total = w * count + w, w * total + w * x
        plain.append(total / count)
        shrunk.append((total / sigma**2) / (count / sigma**2 + 1))  # with the prior N(0, 1)
    ours = scan(LEARNERS["leaky"](Case(sigma, None, w, None)), xs).estimate
    assert np.allclose(ours, plain, rtol=1e-14)
    family = Gaussian(sigma / np.sqrt(w))
    assert np.allclose(scan(Leaky(family, w, family.prior(0.0, std=1.0)), xs).estimate, shrunk, rtol=1e-14)


@pytest.mark.parametrize("draw", [series.new(seed=1), series.theirs])
def test_worlds_are_as_described(draw: series.Draw) -> None:
    samples, means = draw(Run(2.0, 0.1, 0.0, series=3), 100_000)
    fresh, noise = means[1:][np.diff(means) != 0], samples - means
    assert len(fresh) / len(means) == pytest.approx(0.1, abs=0.004)
    assert (fresh.mean(), fresh.std()) == (pytest.approx(0, abs=0.04), pytest.approx(1, abs=0.03))
    assert (noise.mean(), noise.std()) == (pytest.approx(0, abs=0.03), pytest.approx(2, abs=0.02))


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_twice_as_many_hypotheses_do_not_change_the_error(sigma: float) -> None:
    drawn = [series.new(seed=3)(Run(sigma, 0.01, 0.0, k), 3000) for k in range(20)]
    samples, means = map(np.stack, zip(*drawn, strict=True))
    errors = []
    for hypotheses in (enough(sigma), 2 * enough(sigma)):
        learner = exact(hypotheses)(Case(sigma, 0.01, None, None))
        estimates = jax.jit(jax.vmap(lambda xs, learner=learner: scan(learner, xs).estimate))(samples)
        errors.append(np.square(estimates - means).mean(1))
    fewer, more = errors
    whole = more.std(ddof=1) * np.sqrt(2 * 3000 / THEIR_STEPS)  # standard error of the full comparison
    assert abs(fewer.mean() - more.mean()) < 0.1 * whole


# Standard errors


def test_z_is_the_difference_over_its_standard_error() -> None:
    theirs = DataFrame({"learner": ["leaky"], "sigma": [1.0], "hazard": [0.1], "parameter": [0.5], "error": [2.0]})
    ours = DataFrame({"sigma": 1.0, "hazard": 0.1, "series": 0, "part": range(4), "error": [1.0, 2.0, 3.0, 4.0]})
    same = ours.assign(error=[2.0, 2.0, 2.0, 3.0])
    row = comparison.compare(theirs, {"leaky": (ours, same)}, steps=250_000).iloc[0]
    assert (row.theirs, row.ours, row.same) == (2.0, 2.5, 2.25)
    assert row.standard_error == pytest.approx(np.sqrt(5 / 3) * np.sqrt(1 / 4 + 1 / 4))
    assert row.z == pytest.approx(0.5 / row.standard_error)
    assert row.z_same == pytest.approx(0.25 / row.standard_error)


@pytest.mark.parametrize(("series", "parts", "steps"), [numbers.FULL, (10, 2, 5000)])
def test_z_of_the_same_learner_varies_as_it_should(series: int, parts: int, steps: int) -> None:
    """If theirs is the mean over their steps of what ours is drawn from, z has a standard deviation of nearly 1."""
    rng = np.random.default_rng(1)
    cells = np.arange(3000) / 1000
    spread = 7 / np.sqrt(steps)
    theirs = DataFrame({"learner": "leaky", "sigma": cells, "hazard": 0.1, "parameter": 0.5})
    theirs["error"] = rng.normal(20, 7 / np.sqrt(THEIR_STEPS), len(cells))
    ours = DataFrame({"sigma": np.repeat(cells, series * parts), "hazard": 0.1})
    ours["error"] = rng.normal(20, spread, len(ours))
    z = comparison.compare(theirs, {"leaky": (ours, ours)}, steps).z
    freedom = series * parts - 1
    assert z.std() == pytest.approx(np.sqrt(freedom / (freedom - 2)), rel=0.05)  # Student's
    assert (z.abs() < comparison.FAR).mean() > 0.98


def test_claims_are_decided_by_z() -> None:
    table = DataFrame({"learner": ["a"] * 3 + ["b"] * 3, "sigma": 1.0, "hazard": 0.1, "theirs": 1.0, "ours": 1.0})
    table = table.assign(same=1.0, z=0.0, z_same=0.0)
    assert [claim.verdict for claim in comparison.claims({"comparison": table})] == [HOLDS] * 3
    mixed = {"comparison": table.assign(z=[0.0, -2.9, 3.1, 9.0, 0.0, 0.0], z_same=[0, 0, 3.1, -9, np.nan, 0])}
    assert [claim.verdict for claim in comparison.claims(mixed)] == [IN_PART, FAILS, FAILS]


def test_every_number_is_in_the_text() -> None:
    table = DataFrame({"learner": list("aaabbb"), "sigma": 1.0, "hazard": 0.1, "theirs": 1.0, "ours": 1.0, "same": 1.0})
    table = table.assign(z=[0.0, -2.9, 3.1, 9.0, 0.0, -1e-9], z_same=[0, 0, 0, 0, -4.0, 0])
    lines = [line.split() for line in comparison.as_text({"comparison": table}).splitlines()]
    assert lines[0] == ["learner", "sigma", "hazard", "published", "ours", "z", "same", "series", "z"]
    assert lines[3] == ["a", "1", "0.1", "1", "1", "3.10", "1", "0.00"]
    assert lines[6] == ["b", "1", "0.1", "1", "1", "0.00", "1", "0.00"]
    assert lines[9:12] == [
        ["a", "2", "of", "3", "66.7%", "3", "of", "3", "100.0%"],
        ["b", "2", "of", "3", "66.7%", "2", "of", "3", "66.7%"],
        ["all", "4", "of", "6", "66.7%", "5", "of", "6", "83.3%", "(aimed", "at:", "98%)"],
    ]
    assert lines[12:] == [["Outside:"], lines[0], lines[3], lines[4], lines[5], comparison.WHY.split()]


# The command


def _run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def _refused(out: Path, *words: str | Path) -> str:
    """The one line that is said, where nothing else is, and nothing is written."""
    result = _run(*words, "--out", out / "out")
    assert not (out / "out").exists()
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return str(result.stderr).rstrip("\n")


def test_without_data_it_says_what_is_needed_and_where_it_is(tmp_path: Path) -> None:
    line = _refused(tmp_path)
    assert line.startswith("astonish: liakoni2021 needs a folder with gaussian/gaussian_heatmap_*.csv and optimal_")
    assert all(part in line for part in (published.SOURCE, "MIT", "docs/liakoni2021.md"))
    assert (Path(__file__).parents[1] / "docs" / "liakoni2021.md").is_file()


@pytest.mark.parametrize("folder", ["", "nowhere", "file"])
def test_a_wrong_folder_is_refused(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    line = _refused(tmp_path, "--data", tmp_path / folder)
    assert line.startswith(f"astonish: there is no file {tmp_path / folder / published.PARAMETERS}. liakoni2021 needs ")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *((published.PARAMETERS, text) for text in ("[1, 2", "[1, 2]", '{"gaussian_leaky": [[0.5, 0.1, 0.2]]}')),
        ("gaussian/gaussian_heatmap_bayesfilter.csv", ""),
        *(("gaussian/gaussian_heatmap_diff_pf20.csv", f"sigma changeprobability x\n0.5 0.1{end}\n")
          for end in (" much", "", " 1 2")),
    ],
)  # fmt: skip
def test_a_spoiled_file_is_named(file: str, content: str, tmp_path: Path) -> None:
    (_invent(tmp_path) / file).write_text(content)
    line = _refused(tmp_path, "--data", tmp_path)
    assert str(tmp_path) in line
    assert "liakoni2021 needs a folder with" in line


def test_it_is_none_of_the_papers_figures(tmp_path: Path) -> None:
    assert figure_with(_invent(tmp_path)).name == "liakoni2021"
    assert "liakoni2021" not in MODULES


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder and the words of a quick comparison with the real data."""
    out = tmp_path_factory.mktemp("quick")
    return out, _run("--data", DATA, "--quick", "--out", out)


def _comparison(out: Path) -> DataFrame:
    return read_csv((out / "numbers" / "quick-seed-1" / "liakoni2021_comparison.csv").read_bytes())


@needs_data
def test_a_small_comparison_finds_the_published_errors(quick: tuple[Path, Any]) -> None:
    out, result = quick
    assert result.exit_code == 0, result.output
    table = _comparison(out)
    assert len(table) == 8 * 2
    assert (table.z.abs() < 4).all()
    assert np.allclose(table.ours, table.theirs, rtol=0.25)


@needs_data
def test_a_small_comparison_finds_the_same_errors_on_the_same_series(quick: tuple[Path, Any]) -> None:
    """To rounding, to what the authors' root finder leaves (SMiLe), or but for first steps and lost hypotheses."""
    table = _comparison(quick[0])
    off = (table.same / table.theirs - 1).abs().groupby(table.learner).max()
    assert (off[["VarSMiLe", "leaky"]] < 1e-12).all()
    assert off["SMiLe"] < 1e-8
    assert (off[["exact Bayes", "MP10", "Nas10*", "Nas12*"]] < 1e-3).all()
    assert off["pf20"] < 0.03


@needs_data
def test_the_command_prints_every_number_and_the_shares(quick: tuple[Path, Any]) -> None:
    lines = quick[1].stdout.splitlines()
    assert lines[1].split()[:5] == ["exact", "Bayes", "0.5", "0.1", "0.09259"]  # as the authors' table has it
    assert lines[16].split()[:3] == ["leaky", "0.5", "0.01"]
    assert any(line.startswith("all ") and "of 16" in line for line in lines)
    assert (quick[0] / "liakoni2021.png").is_file()
    report = (quick[0] / "report.md").read_text()
    assert "VarSMiLe" in report
    assert f"python -m validation.liakoni2021 --data {DATA} --seed 1 --quick" in report


@needs_data
def test_finished_results_are_kept_and_other_data_are_noticed(quick: tuple[Path, Any], tmp_path: Path) -> None:
    """Other errors change the comparison alone; with other parameters the learner is simulated again."""
    data = shutil.copytree(DATA, tmp_path / "data")
    out = shutil.copytree(quick[0], tmp_path / "out") / "numbers" / "quick-seed-1"
    names = {path.name.removeprefix("liakoni2021_").removesuffix(".csv") for path in out.glob("*.csv")}
    tables = {numbers.table_of(learner, same) for learner in published.SOURCES for same in (False, True)}
    assert names == {"published", *tables, "comparison"}

    def computed() -> tuple[list[float], list[str], DataFrame]:
        shares: list[float] = []
        said: list[str] = []
        found = figure_with(data).compute(RunSettings(1, quick=True), out, shares.append, said.append)
        return shares, said, found["comparison"]

    shares, said, before = computed()
    assert shares == said == []
    path = data / "gaussian" / "gaussian_heatmap_bayesfilter.csv"
    path.write_text(path.read_text().replace("0.5 0.1 0.09259057", "0.5 0.1 0.09259058"))
    shares, said, after = computed()
    assert shares == said == []
    assert (before.theirs != after.theirs).any()
    assert (before.ours == after.ours).all()
    path = data / published.PARAMETERS
    parameters = json.loads(path.read_text())
    for cell in parameters["gaussian_leaky"]:
        cell[2] *= 0.9
    path.write_text(json.dumps(parameters))
    shares, said, last = computed()
    again, finished = "results of another study or of other code are computed again", "14 of 16 settings are finished"
    assert said == [again, f"{finished} already"]
    assert set(last.learner[last.ours != after.ours]) == {"leaky"}


@needs_data
def test_the_drawing_shows_every_number(quick: tuple[Path, Any]) -> None:
    table = _comparison(quick[0])
    figure = drawing.draw({"comparison": table})
    left, right = figure.axes
    assert sum(len(line.get_xdata()) for line in left.lines[1:]) == len(table)  # the first is the diagonal
    assert sorted(x for line in right.lines for x in line.get_xdata()) == sorted([*table.z, *table.z_same])
    assert "" not in (left.get_xlabel(), left.get_ylabel(), right.get_xlabel())
    plt.close(figure)


def test_the_same_seed_gives_the_same_errors_and_series_are_cut_without_a_seam() -> None:
    runs = [
        Run(sigma, hazard, keep, k) for sigma, hazard, keep in ((1.0, 0.1, 0.7), (2.0, 0.05, 0.8)) for k in range(3)
    ]
    size = Size(series=3, parts=2, steps=4000)
    table, again, other = (DataFrame(simulate("leaky", runs, seed, size, series.new(seed))) for seed in (1, 1, 2))
    assert table.equals(again)
    assert not np.isclose(table.error, other.error).any()
    assert table.groupby(["sigma", "hazard", "series", "part"]).size().tolist() == [1] * 12
    samples, means = series.new(seed=1)(Run(2.0, 0.05, 0.8, series=1), 8000)
    estimate = scan(LEARNERS["leaky"](Case(2.0, None, 0.8, None)), samples).estimate
    both = table[(table.sigma == 2.0) & (table.series == 1)].sort_values("part").error
    assert np.allclose(both, np.square(estimate - means).reshape(2, -1).mean(1), rtol=1e-12)


@needs_data
def test_learners_that_are_computed_together_differ_in_nothing_but_numbers() -> None:
    study = numbers.study_of(published.read(DATA), RunSettings())
    for setting in study.settings.values():
        runs = [Run(*run) for run in setting["runs"]]
        assert 0 < len(runs) <= numbers.TOGETHER
        assert len({numbers.maker(setting["learner"], run.sigma) for run in runs}) == 1
    assert sum(len(setting["runs"]) for setting in study.settings.values()) == 8 * 2 * 20 * 10


# The authors' own series


def test_julia_draws_these_numbers() -> None:
    """The first numbers of `MersenneTwister(1234)`, as printed by Julia."""
    uniform, normal = Julia(1234), Julia(1234)
    assert [uniform.rand() for _ in range(3)] == [0.5908446386657102, 0.7667970365022592, 0.5662374165061859]
    expected = [0.8673472019512456, -0.9017438158568171, -0.4944787535042339]
    assert [normal.randn() for _ in range(3)] == pytest.approx(expected, rel=1e-13)


def test_julia_draws_normal_numbers() -> None:
    generator = Julia(5)
    drawn = np.array([generator.randn() for _ in range(100_000)])
    assert [np.mean(drawn**k) for k in (1, 2, 3, 4)] == pytest.approx([0, 1, 0, 3], abs=0.06)
    assert np.mean(np.abs(drawn) > 3.66) == pytest.approx(2.5e-4, abs=1.5e-4)  # the tail


def test_the_layers_of_the_ziggurat_have_equal_areas() -> None:
    _, width, height = julia._ziggurat()
    edges = np.array(width[1:]) * 2.0**51
    areas = edges[1:] * -np.diff(height)[1:]
    assert areas == pytest.approx(np.full(254, width[0] * 2.0**51 * height[255]), rel=1e-10)
    assert edges[0] * (1 - height[1]) == pytest.approx(areas[0], rel=1e-10)  # the top one ends at the top


CELLS = [(5.0, 0.1), (0.5, 0.1), (2.0, 0.01), (0.1, 0.01)]


def _theirs(learner: str) -> tuple[Any, Case]:
    """The published errors in these cells, and with which parameters the learner made them."""
    table = published.read(DATA).set_index(["learner", "sigma", "hazard"])
    rows = table.loc[[(learner, *cell) for cell in CELLS]].reset_index()
    return rows.error.to_numpy(), Case(*rows[["sigma", "hazard", "parameter"]].to_numpy().T, seed=np.zeros(len(CELLS)))


def _ours(make: Any, cases: Case, start: Any = None) -> Any:
    """The errors on the authors' series. start: the state after the first sample, where theirs is not ours."""

    def estimates(case: Case, xs: Any) -> Any:
        if start is None:
            return scan(make(case), xs).estimate
        state = start(case, xs[0])
        return jnp.concatenate([state.mean[None], scan(make(case), xs[1:], state).estimate])

    cells = zip(cases.sigma.tolist(), cases.hazard.tolist(), strict=True)
    drawn = [[series.theirs(Run(*cell, 0.0, k), FULL.parts * FULL.steps) for k in range(10)] for cell in cells]
    samples, means = np.moveaxis(np.array(drawn), 2, 0)
    made = jax.jit(jax.vmap(jax.vmap(estimates, in_axes=(None, 0))))(cases, samples)
    return np.square(made - means).mean((1, 2))


# SMiLe: to what their root finder leaves. MP10: theirs starts with one hypothesis, ours with the same one twice.
@needs_data
@pytest.mark.parametrize(
    ("learner", "digits"), [("VarSMiLe", 1e-12), ("leaky", 1e-12), ("SMiLe", 1e-8), ("MP10", 1e-4)]
)
def test_on_the_authors_samples_the_errors_are_those_published(learner: str, digits: float) -> None:
    errors, cases = _theirs(learner)
    assert _ours(LEARNERS[learner], cases) == pytest.approx(errors, rel=digits)


@needs_data
@pytest.mark.parametrize("learner", ["Nas10*", "Nas12*"])
def test_so_are_those_of_nassar_after_a_first_step_as_theirs(learner: str) -> None:
    """Their program takes the first sample for the second: it starts with a run length of 1, ours with 0."""

    def start(case: Case, x: Any) -> GaussianBelief:
        rho, p = case.sigma**2, case.parameter
        stay, jump = x / (rho + 2), x / (rho + 1)
        ten = (rho + (1 - p) * 2 + p) / rho
        twelve = 1 / (rho * (rho + p + 1) / ((rho + 2) * (rho + 1)) + p * (1 - p) * (stay - jump) ** 2)
        return GaussianBelief((1 - p) * stay + p * jump, ten if learner == "Nas10*" else twelve)

    errors, cases = _theirs(learner)
    assert _ours(LEARNERS[learner], cases, start) == pytest.approx(errors, rel=1e-12)
    assert _ours(LEARNERS[learner], cases) == pytest.approx(errors, rel=0.01)


@needs_data
def test_so_are_those_of_exact_bayes() -> None:
    errors, cases = _theirs(published.EXACT)
    first = jax.tree.map(lambda part: part[:1], cases)  # the world in which fewest hypotheses matter
    assert _ours(exact(150), first) == pytest.approx(errors[:1], rel=1e-7)
