"""Response models: a file and a line for each; the first that takes a kind of responses is the usual one."""

from typing import TYPE_CHECKING

from astonish.core.names import exports

if TYPE_CHECKING:  # isort: off
    from .estimate import Estimate as Estimate  # estimate
    from .estimate import StickyEstimate as StickyEstimate  # sticky
    from .circular import CircularEstimate as CircularEstimate  # circular-estimate
    from .softmax import Softmax as Softmax  # softmax
    from .unit_square import UnitSquare as UnitSquare  # unit-square
    from .readout import Readout as Readout  # readout
    from .reaction_time import LogReactionTime as LogReactionTime  # log-rt
    from .confidence import Confidence as Confidence  # confidence

    # what all of them are
    from .base import Prediction as Prediction
    from .base import Response as Response
    from .base import ResponseInput as ResponseInput
else:
    __all__, __getattr__, __dir__ = exports(__name__)
