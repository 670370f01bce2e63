"""Which parameters do several learners and families share, because they are about the world?"""

import math

from astonish.core.domain import OPEN_PROBABILITY, POSITIVE, Domain, Parameter

NOISE = Parameter(POSITIVE, (0.02, 0.5), "standard deviation of the samples", 1.0, "noise")
HAZARD = Parameter(OPEN_PROBABILITY, (0.005, 0.5), "probability of a change before each sample", 0.1, "hazard", "h")
LOW = Parameter(Domain(), (0.0, 0.3), "lower end of the range of the mean", -20.0, "low")
HIGH = Parameter(Domain(), (0.7, 1.0), "upper end of the range of the mean", 20.0, "high")
MEAN = Parameter(Domain(), (0.0, 1.0), "mean of the first belief", 0.0, "middle")
STD = Parameter(POSITIVE, (0.05, 1.0), "standard deviation of the first belief", None, "spread")
START = Parameter(Domain(), (0.0, 1.0), "estimate before the first sample", 0.0, "middle")
CONCENTRATION = Parameter(
    POSITIVE,
    (1.0, 100.0),
    "concentration of the samples: 1 over their variance, if that is small",
    5.0,
    "concentration",
)
PERIOD = Parameter(POSITIVE, (1.0, 360.0), "the whole circle: 2 pi, or 360 for degrees", 2 * math.pi, "period")
DIRECTION = Parameter(Domain(), (-math.pi, math.pi), "direction that is estimated before the first sample", 0.0)
