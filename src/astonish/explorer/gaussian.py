"""Gaussian world: how do all learners follow samples about a mean that jumps?"""

from typing import Any, ClassVar

import numpy as np

from astonish.assemble import Assembly, Outcomes, imports, known_facts
from astonish.domain import Domain
from astonish.explanation import explain
from astonish.explorer.controls import Json, Slider, Values, listed, numbers, one, one_of, packed
from astonish.explorer.explained import explained
from astonish.explorer.world import WorldTab, shown
from astonish.kinds import OutcomeKind
from astonish.series import run
from astonish.tasks.gaussian_jumps import Episode, facts, gaussian_jumps

LOW, HIGH = -20.0, 20.0
LENGTH = 1024  # all series are padded to this, so that nothing is compiled anew; more than the most samples
SHOWN = ("smile", "varsmile", "message-passing", "delta")


class GaussianTab(WorldTab):
    """Learners in a Gaussian world."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: chance of a jump before each sample", Domain(0.001, 0.5), 0.066),
        "noise": Slider("noise: standard deviation of the samples", Domain(0.1, 20), 4.0),
        "seed": Slider("seed of all random numbers", Domain(0, 9999, whole=True), 1),
        "samples": Slider("number of samples", Domain(20, 1000, whole=True), 200),
    }
    between = (LOW, HIGH)

    def outcomes(self, at: Values) -> Outcomes:
        return Outcomes(OutcomeKind.CONTINUOUS, known_facts(facts(at["hazard"], at["noise"], LOW, HIGH)))

    def controls(self) -> Json:
        return {**super().controls(), "shown": list(SHOWN)}

    def answer(self, request: Any) -> Json:
        at, others = numbers(request, self.sliders, "learners")
        chosen = listed("learners", others.get("learners", list(SHOWN)), len(self.learners))
        wanted = {one_of("learners", name, self.learners) for name in chosen}
        made = {name: self.assembled(name, at) for name in self.learners if name in wanted}
        task = gaussian_jumps(int(at["samples"]), int(at["seed"]), at["hazard"], at["noise"], LOW, HIGH)
        return {
            "samples": packed(task.samples),
            "truth": packed(task.truth),
            "changes": (np.flatnonzero(task.changed) + 1).tolist(),
            "learners": {name: _followed(assembly, task) for name, assembly in made.items()},
            "python": self.script(at, made),
        }

    def explain(self, request: Any) -> Json:
        """What one sample did to one learner. at: which sample, counted from 0."""
        at, others = numbers(request, self.sliders, "learner", "at")
        name = one_of("learner", others.get("learner", SHOWN[0]), self.learners)
        index = one("at", others.get("at"), Domain(0, at["samples"] - 1, whole=True))
        task = gaussian_jumps(int(at["samples"]), int(at["seed"]), at["hazard"], at["noise"], LOW, HIGH)
        return explained(explain(self.assembled(name, at).learner, task.samples, int(index)))

    def script(self, at: Values, made: dict[str, Assembly]) -> str:
        """The same in Python."""
        lines = [
            *imports([kind for assembly in made.values() for kind in assembly.classes], "run"),
            "from astonish.tasks.gaussian_jumps import gaussian_jumps",
            "",
            f"task = gaussian_jumps({at['samples']}, {at['seed']}, hazard={at['hazard']!r}, noise={at['noise']!r}, "
            f"low={LOW!r}, high={HIGH!r})",
            "learners = {",
            *(f"    {name!r}: {assembly.code}," for name, assembly in made.items()),
            "}",
            "for name, learner in learners.items():",
            "    history = run(learner, task.samples)  # .estimate, .surprise, .learning_rate",
            "    off = history.estimate - task.truth",
            '    print(f"{name}: squared error {(off**2).mean():.4g}, absolute error {abs(off).mean():.4g}")',
        ]
        return "\n".join([*lines, ""])


def _followed(assembly: Assembly, task: Episode) -> Json:
    steps = len(task.samples)
    history = run(assembly.learner, np.append(task.samples, np.full(LENGTH - steps, np.nan)))
    off = history.estimate[:steps] - task.truth
    errors = {"squared_error": float(np.mean(off**2)), "absolute_error": float(np.mean(np.abs(off)))}
    return {**shown(assembly, history, steps), **errors}
