"""Millions of keyed streams that learn from one learner."""

from astonish.online.bank.bank import Bank

__all__ = ["Bank"]
