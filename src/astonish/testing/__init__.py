"""Checks that a learner, or a family of beliefs, of your own keeps what the library promises of its own.

`check_learner` and `check_family` go through all checks; `learner_checks` and `family_checks` list them, so that pytest
can make a test of each. A check that fails raises an AssertionError that says what is wrong.
"""

from astonish.testing.checks import check_family, check_learner, family_checks, learner_checks

__all__ = ["check_family", "check_learner", "family_checks", "learner_checks"]
