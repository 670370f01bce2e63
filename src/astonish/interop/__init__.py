"""Learners inside the libraries that people already use: a module for each, which must be installed."""

from typing import Any

from astonish.beliefs import Regression
from astonish.learners import Smile, VarSmile
from astonish.learners.base import Learner

RULES = ("varsmile", "smile")


def weights(size: int, rule: str, m: Any, noise: Any, std: Any) -> Learner:
    """A learner of so many weights, each of which is zero before the first sample, give or take `std`.

    >>> weights(2, "varsmile", m=0.0, noise=0.5, std=3.0).init().std.tolist()
    [3.0, 3.0]
    """
    if rule not in RULES:
        raise ValueError(f"rule = {rule!r} is not known; give one of {', '.join(RULES)}")
    family = Regression(size, noise)
    prior = family.prior(std=std)
    return VarSmile(family, m, prior) if rule == "varsmile" else Smile(family, m, prior, reference=prior)
