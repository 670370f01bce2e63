"""Which kinds of outcomes and of responses are there? Known without JAX, so that the command can list them at once."""

from enum import StrEnum
from typing import Literal


class OutcomeKind(StrEnum):
    """What happens on a trial: a number, 0 or 1, one of several labels, or a step from one label to another."""

    CONTINUOUS = "continuous"
    BINARY = "binary"
    CATEGORICAL = "categorical"
    TRANSITIONS = "transitions"


class ResponseKind(StrEnum):
    """What a participant gives: a number, or one of several labels."""

    CONTINUOUS = "continuous"
    CHOICE = "choice"


Contexts = Literal["together", "apart"]  # does a sample change all contexts of transitions, or its own alone?
NUMBERS = (OutcomeKind.CONTINUOUS, OutcomeKind.BINARY)
