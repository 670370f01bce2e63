"""Checks explanations of a sample, for every learner: their numbers, words and pictures."""

import math
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from pandas import DataFrame
from scipy import integrate, stats

from astonish import (
    Bayes,
    Beta,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    Kalman,
    MessagePassing,
    NormalGamma,
    PerContext,
    PerOption,
    Poisson,
    Smile,
    VarSmile,
    VonMises,
    explain,
    run,
)
from astonish.core.names import OutcomeKind
from astonish.models.parameters import Outcomes, assemble, known_facts, runs_on_family
from astonish.models.registry import FAMILIES, LEARNERS
from astonish.online import explanation
from astonish.online.explanation import STAGES
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.regressors import explain_trial
from astonish.report.views import number, probability
from astonish.theory import surprise
from families import LEARNER, NUMBERS

FACTS = {"noise": 1.0, "drift": 0.1, "low": 0.0, "high": 9.0, "middle": 4.0, "spread": 3.0, "range": 9.0, "hazard": 0.1,
         "period": 6.0, "concentration": 4.0}  # fmt: skip
SERIES: dict[str, Any] = {
    OutcomeKind.CONTINUOUS: [1.0, 2.0, 9.0],
    OutcomeKind.BINARY: [1, 1, 0],
    OutcomeKind.CATEGORICAL: [0, 0, 2],
    OutcomeKind.TRANSITIONS: [(0, 0), (1, 2), (0, 2)],
    OutcomeKind.CIRCULAR: [0.5, 1.0, -2.5],
}


def _catalogue() -> list[tuple[str, str, str | None]]:
    """Every learner, kind of outcomes and family that go together."""
    return [
        (name, kind, family)
        for name, learner in LEARNERS.classes().items()
        for kind in learner.takes
        for family in (FAMILIES.names_for(kind) if runs_on_family(learner) else (None,))
    ]


def _filled(compute: Any, *given: Any) -> Any:
    """The form of what would be computed, with a number in every place: to compile all of it would take a minute."""
    return jax.tree.map(lambda leaf: np.full(leaf.shape, 0.5), jax.eval_shape(compute, *given))


@pytest.mark.parametrize(("name", "kind", "family"), _catalogue())
def test_every_learner_of_the_catalogue_is_explained(
    name: str, kind: str, family: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = Outcomes(kind, known_facts(FACTS), labels=3, contexts=2)
    learner = assemble(name, outcomes, {}, family).learner
    monkeypatch.setattr(explanation, "_explained", partial(_filled, explanation._explained))
    found = explain(learner, SERIES[kind], 0)
    holds = found.learner.belief(found.learner.init()) is not None
    defined = holds and (found.learner.family.proper_likelihood or found.learner.reference is not None)
    assert (found.terms is not None) == (found.confidence_corrected is not None) == defined
    assert ("S_cc" in found.sentence or "confidence-corrected" in found.sentence) == holds
    assert ("is undefined" in found.sentence) == (holds and not found.learner.family.proper_likelihood)
    assert ("gamma" in found.sentence) == (name in ("smile", "varsmile"))
    assert found.sentence.endswith(".")
    assert "None" not in found.sentence


@pytest.mark.parametrize(
    "name",
    ["smile_gaussian", "smile_beta", "smile_dirichlet", "smile_normal_gamma", "varsmile_exponential", "delta", "kalman",
     "bayes_regression", "message_passing_gaussian", "hgf", "leaky_rows", "online_em", "per_context", "per_option"],
)  # fmt: skip
def test_the_numbers_are_those_of_a_run(name: str) -> None:
    _, learner, samples = LEARNER[name]
    found, history = explain(learner, samples, 6), run(learner, samples)
    assert found.surprise == pytest.approx(history.surprise[6], rel=1e-9)
    assert found.learning_rate == pytest.approx(history.learning_rate[6], rel=1e-9)
    if np.shape(found.estimate.after) == history.estimate[6].shape:
        assert found.estimate.after == pytest.approx(history.estimate[6], rel=1e-9, abs=1e-12)
    inner, held, x = learner.in_context(run(learner, samples[:6]).state, jax.tree.map(np.asarray, samples[6]))
    assert found.estimate.before == pytest.approx(np.asarray(inner.estimate(held)), rel=1e-9, abs=1e-12)
    if found.terms is not None:
        reference = inner.reference
        expected = surprise.confidence_corrected(inner.family, inner.belief(held), x, reference)
        assert sum(found.terms.values()) == pytest.approx(float(expected), rel=1e-9)
        assert found.confidence_corrected == pytest.approx(float(expected), rel=1e-12)


def test_the_sentence_about_a_gaussian_belief() -> None:
    noise, mean, x, m = 4 / math.sqrt(2), 17.0, -12.0, 0.1  # belief as wide as the noise, so that both add up to 4
    learner = Smile(Gaussian(noise), m=m, prior=Gaussian(noise).prior(mean=mean))
    found = explain(learner, [x], 0)
    size = (x - mean) ** 2 / (2 * noise**2)
    gamma = math.sqrt(m * size / (1 + m * size))  # for a belief as wide as the noise
    moved = gamma * (mean - x)
    assert (round(size), f"{gamma:.2f}", round(moved)) == (53, "0.92", 27)
    assert found.sentence == (
        "Expected 17 ± 4, saw \N{MINUS SIGN}12: confidence-corrected surprise 53 nats, so gamma = .92 and the estimate "
        "moves 27 of 29."
    )
    assert (found.surprise, found.learning_rate, found.moved) == pytest.approx((size, gamma, moved))
    assert (found.possible, found.predicted_std, float(found.expected)) == pytest.approx((29.0, 4.0, 17.0))


def test_the_terms_of_a_gaussian_belief_have_closed_forms() -> None:
    noise, std, mean, x = 1.5, 0.7, 0.3, 4.0
    terms = explain(Smile(Gaussian(noise), prior=Gaussian(noise).prior(mean, std)), [x], 0).terms
    assert terms is not None
    posterior = 1 / (1 / std**2 + 1 / noise**2)
    after = posterior * (mean / std**2 + x / noise**2)
    divergence = 0.5 * (std**2 / posterior - 1 - math.log(std**2 / posterior) + (after - mean) ** 2 / posterior)
    assert terms["shannon"] == pytest.approx(-stats.norm.logpdf(x, mean, math.hypot(noise, std)))
    assert terms["bayesian"] == pytest.approx(divergence)
    assert terms["log_norm"] == pytest.approx(0.0, abs=1e-12)  # as a function of the mean, the density integrates to 1
    assert terms["commitment"] == pytest.approx(-stats.norm(mean, std).entropy())
    assert list(terms) == ["shannon", "bayesian", "log_norm", "commitment"]


def test_the_terms_of_a_beta_belief_against_quadrature() -> None:
    ones, zeros = 6.5, 2.5
    found = explain(Smile(Beta(), prior=Beta().prior(ones=ones, zeros=zeros)), [0], 0)
    belief, likelihood = stats.beta(ones, zeros), lambda p: 1 - p
    raw = integrate.quad(lambda p: -belief.pdf(p) * math.log(likelihood(p)), 0, 1)[0]
    whole = integrate.quad(lambda p: belief.pdf(p) * math.log(belief.pdf(p) / (2 * likelihood(p))), 1e-12, 1 - 1e-12)[0]
    terms = found.terms
    assert terms is not None
    assert terms["shannon"] == pytest.approx(-math.log(zeros / (ones + zeros)))
    assert terms["shannon"] + terms["bayesian"] == pytest.approx(raw, rel=1e-6)
    assert terms["log_norm"] == pytest.approx(math.log(0.5))  # the integral of 1 - p
    assert terms["commitment"] == pytest.approx(-belief.entropy())
    assert found.confidence_corrected == pytest.approx(whole, rel=1e-6)
    assert sum(terms.values()) == pytest.approx(whole, rel=1e-6)
    assert "Expected 0 with probability .28 and saw it" in found.sentence


def test_terms_against_a_reference_add_up() -> None:
    family = NormalGamma()
    found = explain(Smile(family, reference=family.prior(weight=0.5)), NUMBERS, 6)
    assert found.terms is not None
    assert list(found.terms) == ["shannon", "bayesian", "reference_evidence", "reference_divergence"]
    assert sum(found.terms.values()) == pytest.approx(found.confidence_corrected, rel=1e-9)
    assert "against its reference" in found.sentence
    assert "leaves the scaled likelihood of NormalGamma improper" in found.sentence
    without = explain(VarSmile(family), NUMBERS, 6)
    assert without.terms is None
    assert without.confidence_corrected is None
    assert "S_cc, the paper's surprise, is undefined" in without.sentence


@pytest.mark.parametrize(
    ("learner", "x"),
    [
        (Bayes(NormalGamma(), NormalGamma().prior(1.0, 2.0, 3.0, 4.0)), 0.0),
        (Bayes(Gaussian(2.0), Gaussian().prior(1.0, 0.5)), 0.0),
        (Bayes(Poisson(), Poisson().prior(3.0, 2.0)), 1),
        (Bayes(Exponential(), Exponential().prior(4.0, 2.0)), 1.0),
        (Bayes(VonMises(8.0), VonMises().prior(0.3, 9.0)), 0.0),
    ],
)
def test_the_spread_of_a_prediction_is_that_of_samples_drawn_from_it(learner: Any, x: float) -> None:
    rng, belief = np.random.default_rng(3), learner.first_belief
    drawn = [learner.family.sample_outcome(learner.family.sample(belief, rng), rng, 1)[0] for _ in range(4_000)]
    expected = stats.circstd(drawn) if learner.period is not None else np.std(drawn)
    assert float(learner.family.predicted_std(belief, x)) == pytest.approx(expected, rel=0.08)


def test_a_learner_without_a_belief_says_only_what_it_knows() -> None:
    found = explain(Delta(0.2, start=1.0), [0.0, 3.0], 1)
    assert found.sentence == "Expected 0.8, saw 3.0: error 2.2, learning rate .20, and the estimate moves 0.4 of 2.2."
    assert found.beliefs is None
    assert found.drawing is None
    kalman = explain(Kalman(1.0, drift=0.0, std=1.0), [2.0], 0)
    assert "(the estimate is uncertain by 1.0)" in kalman.sentence
    assert kalman.moved == pytest.approx(1.0)
    many = explain(MessagePassing(Gaussian(1.0), 0.1, hypotheses=3), [0.0, 9.0], 1)
    assert "probability of a change" in many.sentence
    assert "S_cc" not in many.sentence


def test_another_rule_names_its_own_measure() -> None:
    found = explain(VarSmile(Gaussian(1.0), m=0.2), [0.0, 5.0], 1)
    assert found.surprise is not None
    assert f"log Bayes factor {number(found.surprise)} nats, so gamma" in found.sentence
    assert found.change_probability == found.learning_rate
    assert "VarSmile does not use it" in found.sentence
    assert "Shannon surprise" in explain(Bayes(Gaussian(1.0)), [0.0, 5.0], 1).sentence


def test_contexts_and_options_are_named() -> None:
    rooms = PerContext(Smile(Dirichlet(3), m=1.0), 2)
    steps = [(0, 1), (1, 2), (0, 1), (0, 2)]
    found = explain(rooms, steps, 3)
    alone = explain(Smile(Dirichlet(3), m=1.0), [1, 1, 2], 2)  # what was seen in that context
    assert found.sentence == f"In context 0, {alone.sentence[0].lower()}{alone.sentence[1:]}"
    named = explain(rooms, steps, 3, "room 4", "in room 1").sentence
    assert named.startswith("In room 1, expected room 4 with probability ")
    bandit = explain(PerOption(Delta(0.5), 2), [(1, 1.0), (0, 9.0), (1, 3.0)], 2)
    assert bandit.sentence.startswith("For option 1, expected 0.5, saw 3.0")
    assert (bandit.moved, bandit.possible) == pytest.approx((1.25, 2.5))


def test_a_missing_sample_and_the_first_one() -> None:
    learner = Smile(Gaussian(1.0), m=0.5)
    missing = explain(learner, [1.0, None, 2.0], 1)
    assert missing.outcome is None
    assert missing.sentence.startswith("Sample 2 is missing, so nothing changes")
    assert missing.plot() is not None
    after = explain(learner, [1.0, None, 2.0], 2)
    assert after.sentence == explain(learner, [1.0, 2.0], 1).sentence
    assert explain(learner, [1.0, None, 2.0], -1).at == 2
    first = explain(learner, [1.0], 0)
    assert first.beliefs is not None
    assert float(first.beliefs.before.mean) == 0.0
    for at in (3, -4):
        with pytest.raises(ValueError, match=f"at = {at} is not allowed; give a whole number from 0 to 2"):
            explain(learner, [1.0, None, 2.0], at)


def test_the_way_from_before_to_after_leads_along_the_rule() -> None:
    learner = Smile(Gaussian(1.0), m=0.5, prior=Gaussian().prior(0.0, 0.5))
    found = explain(learner, [3.0], 0)
    beliefs, drawing = found.beliefs, found.drawing
    assert beliefs is not None
    assert drawing is not None
    assert found.learning_rate is not None
    assert drawing.heights.shape[0] == STAGES + 1
    middle = found.learning_rate * 4 / (STAGES - 1)  # gamma at the fifth stage
    precision = middle * 1.0 + (1 - middle) / 0.25
    assert beliefs.path.precision[4] == pytest.approx(precision)
    assert beliefs.path.mean[4] == pytest.approx(middle * 3.0 / precision)
    spread = np.trapezoid(drawing.heights, drawing.at, axis=1)
    assert spread == pytest.approx(np.ones(STAGES + 1), abs=1e-3)
    assert drawing.heights[-1] == pytest.approx(stats.norm.pdf(drawing.at, 3.0, 1.0), rel=1e-9)


@pytest.mark.parametrize("name", ["smile_gaussian", "smile_dirichlet", "smile_normal_gamma", "delta"])
def test_the_picture_shows_beliefs_and_terms(name: str) -> None:
    _, learner, samples = LEARNER[name]
    found = explain(learner, samples, 6)
    figure = found.plot()
    labels = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    if found.terms is None:
        assert len(figure.axes) == 1
        return
    bars = figure.axes[1].patches
    assert sum(bar.get_height() for bar in bars) == pytest.approx(found.confidence_corrected)
    assert any(label.startswith("S_cc") for label in labels)
    assert {"before", "after"} <= set(labels)


def test_a_trial_of_a_table_is_explained_in_its_block() -> None:
    samples = [1.0, 9.0, 5.0, 2.0, None, 4.0, 3.0]
    table = DataFrame({"who": list("aaabbbb"), "run": [1, 1, 2, 1, 1, 1, 1], "x": samples})
    trials = read_trials(table, Columns("x", subject="who", block="run"))
    learner = Smile(Gaussian(1.0), m=0.5)
    assert explain_trial(learner, trials, "a", 2).sentence == explain(learner, [5.0], 0).sentence
    assert explain_trial(learner, trials, "a", 2).at == 2
    assert explain_trial(learner, trials, "b", 2).sentence == explain(learner, [2.0, 4.0], 1).sentence
    assert "is missing" in explain_trial(learner, trials, "b", 1).sentence
    with pytest.raises(ValueError, match="at = 3 is not allowed"):
        explain_trial(learner, trials, "a", 3)
    with pytest.raises(ValueError, match="there is no participant 'z'; give one of a, b"):
        explain_trial(learner, trials, "z", 0)
    words = read_trials(DataFrame({"a": ["x", "y", "x"], "b": ["y", "x", "z"]}), Columns(("a", "b")))
    found = explain_trial(PerContext(Smile(Dirichlet(3)), 3), words, "1", 2)
    assert found.sentence.startswith("After x, expected z with probability ")
    paid = DataFrame({"took": ["left", "right", "left"], "paid": [1.0, 0.5, 2.5]})
    bandit = read_trials(paid, Columns("paid", choice="took"))
    assert explain_trial(PerOption(Delta(0.5), 2), bandit, "1", 2).sentence.startswith("For option left, expected 0.5")


def test_numbers_are_written_with_two_digits_and_a_real_minus() -> None:
    written = [number(x) for x in (-12.4, 0.0456, 1234.5, 1e-9, 3.14, math.inf, -math.inf, math.nan)]
    assert written == "~12 0.046 1234 1.0e~09 3.1 ∞ ~∞ unknown".replace("~", "\N{MINUS SIGN}").split()
    assert number(-0.001, 1) == "0.0"
    assert [probability(x) for x in (0.0, 0.5, 0.98, 0.9994, 1.0)] == ["0", ".50", ".98", ">.999", "1"]
