"""Gaussian world: how do all learners follow samples about a mean that jumps?"""

from typing import Any, ClassVar

import numpy as np

from astonish.core.domain import Domain, FloatArray
from astonish.core.kinds import OutcomeKind
from astonish.models.assemble import Assembly, Outcomes, imports, known_facts
from astonish.online.explanation import explain
from astonish.online.series import History, run
from astonish.page.averages import compared
from astonish.page.controls import Json, Slider, Values, listed, numbers, one, one_of, packed
from astonish.page.explained import explained
from astonish.page.surprises import MEASURES, Surprises, about
from astonish.page.world import WorldTab, shown
from astonish.worlds.gaussian_jumps import Episode, facts, gaussian_jumps

LOW, HIGH = -20.0, 20.0
LONGEST = 1000  # so many samples are drawn, and the first of them used: more samples extend a series
LENGTH = 1024  # all series are padded to this, so that nothing is compiled anew
SEEDS = range(50)  # over which errors are averaged
SHOWN = ("smile", "varsmile", "message-passing", "delta")


class GaussianTab(WorldTab):
    """Learners in a Gaussian world."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: probability of a jump before each sample", Domain(0.001, 0.5), 0.066, log=True),
        "noise": Slider("noise: standard deviation of the samples", Domain(0.1, 20), 4.0),
        "seed": Slider("random seed", Domain(0, 9999, whole=True), 1),
        "samples": Slider("number of samples", Domain(20, LONGEST, whole=True), 200),
    }
    between = (LOW, HIGH)
    surprises: ClassVar[Surprises] = Surprises()

    def outcomes(self, at: Values) -> Outcomes:
        return Outcomes(OutcomeKind.CONTINUOUS, known_facts(facts(at["hazard"], at["noise"], LOW, HIGH)))

    def controls(self) -> Json:
        more = {"shown": list(SHOWN), "measures": list(MEASURES.items()), "seeds": len(SEEDS)}
        return {**super().controls(), **more}

    def answer(self, request: Any) -> Json:
        at, others = numbers(request, self.sliders, "learners", "measure")
        measured, made = one_of("measure", others.get("measure", "shannon"), MEASURES), self.chosen(at, others)
        task = series(at, int(at["seed"]))
        found = {name: followed(assembly, task) for name, assembly in made.items()}
        surprise = {name: self.surprises.of(name, history, measured) for name, history in found.items()}
        without = [name for name, values in surprise.items() if values is None]
        learners = {name: assembly.learner for name, assembly in made.items()}
        return {
            "samples": packed(task.samples),
            "truth": packed(task.truth),
            "changes": (np.flatnonzero(task.changed) + 1).tolist(),
            "surprise": {"label": f"surprise: {MEASURES[measured]}", "words": about(measured, learners, without)},
            "learners": {name: _drawn(made[name], found[name], surprise[name], task) for name in made},
            "python": self.script(at, made),
        }

    def explain(self, request: Any) -> Json:
        """What one sample did to one learner. at: which sample, counted from 0."""
        at, others = numbers(request, self.sliders, "learner", "at")
        name = one_of("learner", others.get("learner", SHOWN[0]), self.learners)
        index = one("at", others.get("at"), Domain(0, at["samples"] - 1, whole=True))
        samples = series(at, int(at["seed"])).samples
        return explained(explain(self.assembled(name, at).learner, samples, int(index)), len(samples))

    def averages(self, request: Any) -> Json:
        """Mean squared errors over many seeds, at one setting of everything else."""
        at, others = numbers(request, {name: each for name, each in self.sliders.items() if name != "seed"}, "learners")
        tasks = [series(at, seed) for seed in SEEDS]
        return compared(
            {
                name: np.array([_off(followed(assembly, task), task) for task in tasks])
                for name, assembly in self.chosen(at, others).items()
            }
        )

    def chosen(self, at: Values, others: Json) -> dict[str, Assembly]:
        """The learners that a request names, or those that are shown at first."""
        names = listed("learners", others.get("learners", list(SHOWN)), len(self.learners))
        wanted = {one_of("learners", name, self.learners) for name in names}
        return {name: self.assembled(name, at) for name in self.learners if name in wanted}

    def script(self, at: Values, made: dict[str, Assembly]) -> str:
        """The same in Python."""
        world = f"hazard={at['hazard']!r}, noise={at['noise']!r}, low={LOW!r}, high={HIGH!r}"
        lines = [
            "import numpy as np",
            *imports([kind for assembly in made.values() for kind in assembly.classes], "run"),
            "from astonish.worlds.gaussian_jumps import gaussian_jumps",
            "",
            "learners = {",
            *(f"    {name!r}: {assembly.code}," for name, assembly in made.items()),
            "}",
            "",
            "",
            "def errors(learner, seed):",
            f"    task = gaussian_jumps({LONGEST}, seed, {world})",
            f"    history = run(learner, task.samples[:{at['samples']}])  # .estimate, .surprise, .learning_rate",
            f"    return history.estimate - task.truth[:{at['samples']}]",
            "",
            "",
            "for name, learner in learners.items():",
            f"    off = errors(learner, seed={at['seed']})",
            '    print(f"{name}: squared error {(off**2).mean():.4g}, absolute error {abs(off).mean():.4g}")',
            f"    mean = [(errors(learner, seed) ** 2).mean() for seed in {SEEDS}]",
            "    standard_error = np.std(mean, ddof=1) / len(mean) ** 0.5",
            '    print(f"{name}: squared error over all seeds {np.mean(mean):.4g} ± {standard_error:.2g}")',
        ]
        return "\n".join([*lines, ""])


def series(at: Values, seed: int) -> Episode:
    """The first samples of the longest series."""
    longest, used = gaussian_jumps(LONGEST, seed, at["hazard"], at["noise"], LOW, HIGH), slice(int(at["samples"]))
    return Episode(longest.samples[used], longest.truth[used], longest.changed[used])


def followed(assembly: Assembly, task: Episode) -> History:
    """What a learner makes of a series, which is padded with missing samples."""
    return run(assembly.learner, np.append(task.samples, np.full(LENGTH - len(task.samples), np.nan)))


def _drawn(assembly: Assembly, history: History, surprise: FloatArray | None, task: Episode) -> Json:
    off = history.estimate[: len(task.samples)] - task.truth
    return {
        **shown(assembly, history, len(task.samples)),
        "surprise": None if surprise is None else packed(surprise[: len(task.samples)]),
        "squared_error": float(np.mean(off**2)),
        "absolute_error": float(np.mean(np.abs(off))),
    }


def _off(history: History, task: Episode) -> float:
    return float(np.mean((history.estimate[: len(task.samples)] - task.truth) ** 2))
