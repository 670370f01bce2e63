"""Response models: each a frozen dataclass (see `response.Response`), in the order in which they are listed."""

from astonish.responses.base import Prediction as Prediction, Response as Response, ResponseInput as ResponseInput
from astonish.responses.circular import CircularEstimate
from astonish.responses.confidence import Confidence
from astonish.responses.estimate import Estimate, StickyEstimate
from astonish.responses.reaction_time import LogReactionTime
from astonish.responses.readout import Readout
from astonish.responses.softmax import Softmax
from astonish.responses.unit_square import UnitSquare

__all__ = [  # noqa: RUF022  # as they are listed everywhere; the first that takes a kind of responses is the usual one
    "Estimate", "StickyEstimate", "CircularEstimate", "Softmax", "UnitSquare", "Readout", "LogReactionTime",
    "Confidence",
]  # fmt: skip
