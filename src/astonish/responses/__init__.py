"""Response models: each a frozen dataclass (see `response.Response`), in the order in which they are listed."""

from astonish.responses.circular import CircularEstimate
from astonish.responses.estimate import Estimate, StickyEstimate
from astonish.responses.readout import Readout
from astonish.responses.response import Response as Response, ResponseInput as ResponseInput
from astonish.responses.softmax import Softmax
from astonish.responses.unit_square import UnitSquare

__all__ = ["CircularEstimate", "Estimate", "Readout", "Softmax", "StickyEstimate", "UnitSquare"]
