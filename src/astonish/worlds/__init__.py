"""Worlds that know the truth, to try learners in."""
