"""How do millions of keyed streams learn from one learner?"""

from astonish.online.bank.bank import Bank
from astonish.online.stream import Steps

__all__ = ["Bank", "Steps"]
