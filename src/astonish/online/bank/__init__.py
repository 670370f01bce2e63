"""How do millions of keyed streams learn from one learner?"""

from astonish.online.bank.bank import Bank

__all__ = ["Bank"]
