"""How do millions of keyed streams learn from one learner?"""

from astonish.bank.bank import Bank
from astonish.stream import Steps

__all__ = ["Bank", "Steps"]
