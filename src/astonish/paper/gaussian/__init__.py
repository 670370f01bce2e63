"""Figure 3: does SMiLe follow a mean that jumps, and better than any fixed learning rate does?

Section 2.4 of the paper does not say which error it shows: here are the squared and the absolute one, which disagree.
"""

from astonish.paper.figure import Figure
from astonish.paper.gaussian import claims, drawing, numbers

CAPTION = (
    "Following a mean that jumps within [-20, 20], from samples with standard deviation 4. A: samples, true mean and "
    "the estimate of SMiLe (m = 0.1, prior as uncertain as one sample); triangles mark the jumps, of which there are "
    "0.066 per step. B: gamma, the weight that SMiLe gives to each sample. C: error after each sample against the rate "
    "of a delta rule, at four hazards; dots on the axis mark the rates that are best in hindsight. D: error against "
    "hazard for SMiLe, SMiLe with a prior three times as wide (its uncertainty then changes, until it is that of one "
    "sample), the best fixed rate, a rate of 0.5, and the rule of Nassar et al. (2010), which is told noise, range and "
    "hazard. C and D: means over 50 episodes of 1000 steps; bars are standard deviations over episodes, whereas the "
    "paper's are over all trials and episodes. All hazards share the seeds of the episodes."
)
FIGURE_3 = Figure(
    "3", "Following a mean that jumps", CAPTION, tuple(numbers.TABLES), numbers.compute, drawing.draw, claims.claims
)
