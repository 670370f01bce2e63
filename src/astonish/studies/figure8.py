"""Figure 8 of the paper as a study: its 120 million learner-steps on many machines."""

from collections.abc import Sequence
from dataclasses import replace

from astonish.domain import Domain
from astonish.paper.heatmaps import draw_table
from astonish.paper.visits import sweep
from astonish.studies.grid import Words, checked
from astonish.sweep import Study


def study(world: Words, learners: Sequence[Words]) -> Study:
    """That of one seed. quick: small, to see that it works."""
    if learners:
        raise ValueError("figure8 has learners of its own; leave out [[learner]]")
    quick = world.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"[study]: quick = {quick!r} is not known; give true or false")
    words = {word: value for word, value in world.items() if word != "quick"}
    seed = checked("[study]", words, {"seed": (1, Domain(0, 2**32 - 1, whole=True))})["seed"]
    if isinstance(seed, list):
        raise ValueError(f"[study]: seed = {seed} are several, and a figure has one; give one")
    return replace(sweep(seed, quick), draw=draw_table)
