"""What do participants have in common, and how sure can we be of each? Needs `astonish[posteriors]`."""

from astonish.fit.posterior.result import Posterior
from astonish.fit.posterior.sampling import hierarchical

__all__ = ["Posterior", "hierarchical"]
