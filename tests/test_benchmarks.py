"""What benchmarks measure is accepted by the package as it is now; how fast it is, `make bench` says."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest


def test_the_people_of_the_posterior_benchmark_answer_on_the_scale_of_their_outcomes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    posteriors = import_module("posteriors")
    monkeypatch.setattr(posteriors, "PEOPLE", 2)
    monkeypatch.setattr(posteriors, "TRIALS", 40)
    trials = posteriors.participants()
    assert trials.another_scale == ""
    assert np.isfinite(posteriors.gradient(trials))
