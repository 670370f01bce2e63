"""Which kinds of outcomes and of responses are there? Known without JAX, so that the command can list them at once."""

from enum import StrEnum
from typing import Literal


class OutcomeKind(StrEnum):
    """What happens on a trial: a number, 0 or 1, one of several labels, a step from one label to another, or an angle.

    Angles look like other numbers, so that they are never guessed.
    """

    CONTINUOUS = "continuous"
    BINARY = "binary"
    CATEGORICAL = "categorical"
    TRANSITIONS = "transitions"
    CIRCULAR = "circular"


class ResponseKind(StrEnum):
    """What a participant gives: a number, one of several labels, or an angle."""

    CONTINUOUS = "continuous"
    CHOICE = "choice"
    CIRCULAR = "circular"


Contexts = Literal["together", "apart"]  # does a sample change all contexts of transitions, or its own alone?
NUMBERS = (OutcomeKind.CONTINUOUS, OutcomeKind.BINARY)
MEASURED = (OutcomeKind.CONTINUOUS, OutcomeKind.CIRCULAR)  # kinds whose outcomes are no labels
