"""A few delta rules, each for another time since the last change, approximate exact inference in a changing world.

Wilson, Nassar & Gold (2013): instead of every possible run length (the number of samples since the last change), only
a few are kept, the nodes. Transitions between them are those of the authors' corrected code (2017).
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import COUNT, NOT_NEGATIVE, Domain, Number, floats
from astonish.core.parameters import HAZARD, parameter
from astonish.learners.base import StepInfo, repeated
from astonish.learners.message_passing import MixtureLearner
from astonish.learners.particle_filter import log_weights, reweighted
from astonish.theory.expfam import Belief, Family, bayes, blend, log_evidence


class Nodes(NamedTuple):
    """The belief of each node (stacked), and how probable it is that the run is about as long as the node says."""

    beliefs: Belief
    weights: Annotated[Array, NOT_NEGATIVE]


class DeltaMixture(MixtureLearner):
    """Before each sample the world changes with probability `hazard`, to a parameter drawn from the prior.

    A node of run length l is a delta rule: it remembers what is worth l samples, because before each sample it keeps
    1 - 1/l of its evidence and fades that far towards the prior. With a prior worth one sample the estimate's learning
    rate is 1/(l + 1). The node's probability follows from how well it predicts the sample. A change leads to the
    shortest node. Without one, the run is one sample longer: a share of the probability, 1 / (difference of lengths),
    moves on to the next node, so that the mean run length grows by 1; in the last node it stays.

    Run lengths grow in equal ratios from 1 to `longest`, yet by at least 1 from node to node; a single node has the
    length `longest`, and is the learner `Leaky` with keep = 1 - 1/longest. It reports Shannon's surprise; its learning
    rate is 1/l, averaged over nodes: the share of the newest sample in all the evidence, the prior not counted.
    """

    family: Family
    hazard: Number = HAZARD.field()
    prior: Belief | None = None
    longest: Number = parameter(20.0, Domain(1.0), (5.0, 200.0), "run length of the longest node")
    nodes: int = parameter(3, COUNT, (2, 10), "how many delta rules there are", static=True)
    name: ClassVar[str] = "delta-mixture"
    free: ClassVar[tuple[str, ...]] = ("hazard",)

    @property
    def lengths(self) -> Array:
        """The run length of each node."""
        if self.nodes == 1:
            return floats(self.longest)[0][None]
        shares, least = np.arange(self.nodes) / (self.nodes - 1), np.arange(1.0, self.nodes + 1)
        return jnp.maximum(jnp.exp(shares * jnp.log(self.longest)), least)

    def init(self) -> Nodes:
        belief = jax.tree.map(jnp.asarray, self.first_belief)
        lengths = self.lengths
        return Nodes(repeated(belief, self.nodes), jnp.where(np.arange(self.nodes) == 0, jnp.ones_like(lengths), 0.0))

    def step(self, state: Nodes, x: Any) -> tuple[Nodes, StepInfo]:
        prior, lengths = self.first_belief, self.lengths
        kept = 1 - 1 / lengths
        faded = jax.vmap(lambda belief, keep: blend(self.family, belief, keep, prior, 1 - keep))(state.beliefs, kept)
        under_each = jax.vmap(lambda belief: log_evidence(self.family, belief, x))(faded)
        first = np.arange(self.nodes) == 0
        grown = state.weights  # as the run grows by one sample
        if self.nodes > 1:
            leaves = jnp.append(grown[:-1] / (lengths[1:] - lengths[:-1]), 0.0)
            grown = grown - leaves + jnp.roll(leaves, 1)
        moved = (1 - jnp.asarray(self.hazard)) * grown + jnp.where(first, self.hazard, 0.0)
        weights, surprise = reweighted(moved, under_each)
        changed = jnp.exp(jnp.minimum(log_weights(jnp.asarray(self.hazard)) + under_each[0] + surprise, 0))
        beliefs = jax.vmap(lambda belief: bayes(self.family, belief, x))(faded)
        rate = jnp.minimum(weights @ (1 / lengths), 1.0)
        return Nodes(beliefs, weights), StepInfo(surprise, rate, changed)
