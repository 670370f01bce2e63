"""What do participants have in common, and how sure can we be of each? Needs `astonish[posteriors]`."""

from astonish.fit.posteriors.hierarchical import hierarchical
from astonish.fit.posteriors.posterior import Posterior

__all__ = ["Posterior", "hierarchical"]
