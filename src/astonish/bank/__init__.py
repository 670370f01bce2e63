"""How do millions of keyed streams learn from one learner?"""

from astonish.bank.bank import Bank, Steps

__all__ = ["Bank", "Steps"]
