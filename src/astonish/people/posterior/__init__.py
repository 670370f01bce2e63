"""Posteriors of what participants have in common, and of each of them. Needs `astonish[posteriors]`."""

import astonish.people.fit  # noqa: F401  which says what it needs where that is missing
from astonish.people.posterior.result import Posterior
from astonish.people.posterior.sampling import hierarchical

__all__ = ["Posterior", "hierarchical"]
