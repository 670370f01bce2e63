"""Are other choices than ours what they are called, and is a verdict that depends on one found?"""

import numpy as np
import pytest
from pandas import DataFrame

from astonish import Nassar2010, Stream, run
from astonish.paper import figure3, variants as choices
from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings
from astonish.paper.figure3 import GaussianTask

SAMPLES = [1.0, -3.0, 12.0, 30.0, 18.0]


def test_no_jump_outside_the_range() -> None:
    usual, other = (run(kind(4.0, 0.1, -20.0, 20.0), SAMPLES) for kind in (Nassar2010, choices.NoJumpOutside))
    np.testing.assert_array_equal(other.estimate[:3], usual.estimate[:3])  # the same inside
    stream = Stream(Nassar2010(4.0, 0.1, -20.0, 20.0))
    for x in SAMPLES[:3]:
        stream.update(x)
    assert other.learning_rate[3] == pytest.approx(1 / (float(stream.state.length) + 1), rel=1e-6)  # as without a jump
    assert usual.learning_rate[3] > other.learning_rate[3]


def test_the_first_sample_is_the_first_estimate() -> None:
    found = run(choices.FirstSampleCounts(4.0, 0.1, -20.0, 20.0), SAMPLES)
    assert found.estimate[0] == pytest.approx(SAMPLES[0], rel=1e-2)


def test_errors_before_a_sample_are_those_of_the_estimate_before_it() -> None:
    settings = RunSettings(2, quick=True)
    table = figure3._hazards(settings, GaussianTask(hazards=(0.1,), before=True))["errors"]
    task = figure3.episodes(settings, 0.1)
    found = table[(table.learner == figure3.SMILE) & (table.episode == 3)].iloc[0]
    estimates = run(figure3.smile(), task.samples[3]).estimate
    off = estimates[:-1] - task.truth[3, 1:]
    assert found.squared == pytest.approx(np.square(off).mean(), rel=1e-9)


def _rows(*verdicts: tuple[str, str, str]) -> DataFrame:
    """Rows of one choice: the other choice, and the verdict before and after."""
    rows = [("rate", "eta", "1", other, "7", "Fig. 7", "It is so.", before, after) for other, before, after in verdicts]
    return DataFrame(rows, columns=choices.COLUMNS)


@pytest.mark.parametrize(
    ("rows", "verdict", "words"),
    [
        ([("2", HOLDS, HOLDS), ("3", HOLDS, HOLDS)], HOLDS, "2: none of 1 verdicts changes"),
        ([("2", HOLDS, HOLDS), ("3", HOLDS, FAILS)], IN_PART, "(holds, then does not hold as stated)"),
        ([("2", IN_PART, HOLDS), ("3", HOLDS, FAILS)], FAILS, "2: 1 of 1 verdicts change: “It is so.”"),
    ],
)
def test_a_verdict_that_depends_on_a_choice_is_named(
    rows: list[tuple[str, str, str]], verdict: str, words: str
) -> None:
    [claim] = choices.choices_claims({"verdicts": _rows(*rows)})
    assert claim.verdict == verdict
    assert words in claim.measured
    assert claim.ours


def test_every_choice_names_figure_and_alternative() -> None:
    abouts = [choice.about for choice in choices.CHOICES]
    assert len(set(abouts)) == len(abouts)
    assert all(choice.others and choice.ours for choice in choices.CHOICES)
