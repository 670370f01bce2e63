"""Is DeltaMixture the mixture of delta rules of Wilson, Nassar & Gold (2013)? The oracle is a loop in plain NumPy."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from astonish import Beta, DeltaMixture, Gaussian, Leaky, MessagePassing, run
from astonish.core.numbers import double

RNG = np.random.default_rng(8)
JUMPS = np.repeat(RNG.normal(size=12) * 5, 25) + RNG.normal(size=300)
COINS = (RNG.random(300) < np.repeat(RNG.random(12), 25)).astype(int)


def matrix(lengths: Any, hazard: float) -> Any:
    """The probability of coming from each node (column) to each node (row), as in the authors' corrected code."""
    probabilities = np.zeros((len(lengths), len(lengths)))
    for i, length in enumerate(lengths):
        probabilities[0, i] += hazard
        if i + 1 < len(lengths):
            gap = lengths[i + 1] - length
            probabilities[i, i] += (1 - hazard) * (gap - 1) / gap
            probabilities[i + 1, i] += (1 - hazard) / gap
        else:
            probabilities[i, i] += 1 - hazard
    return probabilities


def mixture(xs: Any, lengths: Any, hazard: float, predicted: Any, mean: Any) -> Any:
    """Estimate, surprise, learning rate and probability of a change.

    predicted: p(x) for a sum of so many samples' evidence, beside the prior; mean: the estimate from it.
    """
    lengths, probabilities = np.asarray(lengths), matrix(lengths, hazard)
    sums, counts = np.zeros((2, len(lengths)))  # what the nodes remember, and how many samples that is worth
    weights = np.eye(len(lengths))[0]
    found = []
    for x in xs:
        sums, counts = sums * (lengths - 1) / lengths, counts * (lengths - 1) / lengths
        expected, likelihood = probabilities @ weights, predicted(x, sums, counts)
        total = expected @ likelihood
        sums, counts, weights = sums + x, counts + 1, expected * likelihood / total
        found.append(
            (weights @ mean(sums, counts), -np.log(total), weights @ (1 / lengths), hazard * likelihood[0] / total)
        )
    return np.array(found)


def _answers(learner: Any, xs: Any) -> Any:
    history = run(learner, xs)
    return np.stack([history.estimate, history.surprise, history.learning_rate, history.change_probability], axis=1)


@pytest.mark.parametrize(("nodes", "longest"), [(2, 20.0), (3, 30.0), (6, 10.0), (5, 3.0)])
def test_numbers_are_followed_as_in_the_paper(nodes: int, longest: float) -> None:
    learner = DeltaMixture(Gaussian(1.0), 0.05, Gaussian(1.0).prior(0.5, 4.0), longest, nodes)
    nu = 1 / 16  # samples that the prior is worth

    def predicted(x: float, sums: Any, counts: Any) -> Any:
        return stats.norm.pdf(x, (nu * 0.5 + sums) / (nu + counts), np.sqrt(1 + 1 / (nu + counts)))

    def mean(sums: Any, counts: Any) -> Any:
        return (nu * 0.5 + sums) / (nu + counts)

    expected = mixture(JUMPS, learner.lengths, 0.05, predicted, mean)
    np.testing.assert_allclose(_answers(learner, JUMPS), expected, rtol=1e-7, atol=1e-12)


def test_coins_are_followed_as_in_the_paper() -> None:
    learner = DeltaMixture(Beta(), 0.04, nodes=4, longest=40.0)

    def mean(sums: Any, counts: Any) -> Any:
        return (1 + sums) / (2 + counts)

    def predicted(x: int, sums: Any, counts: Any) -> Any:
        return np.abs(1 - x - mean(sums, counts))

    expected = mixture(COINS, learner.lengths, 0.04, predicted, mean)
    np.testing.assert_allclose(_answers(learner, COINS), expected, rtol=1e-7, atol=1e-12)


def test_with_a_prior_worth_one_sample_the_rate_of_a_node_is_one_over_its_length_plus_one() -> None:
    """Once the node is full, for an error from what its own samples were."""
    learner = DeltaMixture(Gaussian(1.0), 0.1, Gaussian(1.0).prior(0.0, 1.0), longest=9.0, nodes=1)
    history = run(learner, [2.0] * 400 + [3.0])
    assert history.estimate[-1] - history.estimate[-2] == pytest.approx(1 / (9 + 1))


def test_lengths_grow_in_equal_ratios_by_at_least_one() -> None:
    with double():
        np.testing.assert_allclose(DeltaMixture(Beta(), longest=25.0, nodes=3).lengths, [1, 5, 25])
        np.testing.assert_allclose(DeltaMixture(Beta(), longest=2.0, nodes=4).lengths, [1, 2, 3, 4])
        for nodes in (2, 7, 20):
            lengths = np.asarray(DeltaMixture(Beta(), longest=100.0, nodes=nodes).lengths)
            assert (np.diff(lengths) >= 1 - 1e-12).all()


def test_without_changes_the_mean_run_length_grows_by_one() -> None:
    certain = Gaussian(1.0).prior(0.0, 1e-7)  # who has nothing to learn, so that all nodes predict the same
    learner = DeltaMixture(Gaussian(1.0), 1e-12, certain, longest=1000.0, nodes=5)
    lengths = np.asarray(learner.lengths)
    weights = np.eye(5)[0]
    for _ in range(20):
        weights = matrix(lengths, 0.0) @ weights
    found = run(learner, [0.0, 1.0] * 10).state.weights
    np.testing.assert_allclose(found, weights, rtol=1e-6, atol=1e-9)
    assert found @ lengths == pytest.approx(21, rel=1e-3)


def test_one_node_is_the_leaky_integrator() -> None:
    one, leaky = run(DeltaMixture(Gaussian(1.0), longest=8.0, nodes=1), JUMPS), run(Leaky(Gaussian(1.0), 7 / 8), JUMPS)
    np.testing.assert_allclose(one.estimate, leaky.estimate, rtol=1e-9)


def test_three_nodes_come_closer_to_exact_inference_than_any_single_one() -> None:
    prior = Gaussian(1.0).prior(0.0, 5.0)
    exact = run(MessagePassing(Gaussian(1.0), 0.04, prior, hypotheses=300), JUMPS).estimate

    def distance(nodes: int, longest: float) -> float:
        learner = DeltaMixture(Gaussian(1.0), 0.04, prior, longest, nodes)
        return float(np.mean((run(learner, JUMPS).estimate - exact) ** 2))

    assert distance(3, 10.0) < 0.5 * min(distance(1, longest) for longest in (1.2, 1.5, 2.0, 3.0, 5.0, 10.0))
