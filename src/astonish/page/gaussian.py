"""Gaussian world: all learners follow samples about a mean that jumps, with one measure of surprise for all."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from astonish.core.domain import Domain, FloatArray
from astonish.core.kinds import OutcomeKind
from astonish.core.precision import double
from astonish.models.parameters import Assembly, Outcomes, imports, known_facts
from astonish.online.explanation import explain
from astonish.online.measures import applicable, measure
from astonish.online.series import History, run
from astonish.page.controls import Json, Slider, Values, listed, numbers, one, one_of, packed
from astonish.page.explained import explained
from astonish.page.world import MEASURES, WorldTab, settings_of
from astonish.worlds.gaussian_jumps import Episode, facts, gaussian_jumps

LOW, HIGH = -20.0, 20.0
LONGEST = 1000  # so many samples are drawn, and the first of them used: more samples extend a series
LENGTH = 1024  # all series are padded to this, so that nothing is compiled anew
SEEDS = range(50)  # over which errors are averaged
SHOWN = ("smile", "varsmile", "message-passing", "delta")
OWN, ERROR = "own", "absolute_error"  # measures of surprise that every learner has
CLEAR = 2.0  # standard errors of a difference with which the difference is compared


class GaussianTab(WorldTab):
    """Learners in a Gaussian world."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: probability of a jump before each sample", Domain(0.001, 0.5), 0.066, log=True),
        "noise": Slider("noise: standard deviation of the samples", Domain(0.1, 20), 4.0),
        "seed": Slider("random seed", Domain(0, 9999, whole=True), 1),
        "samples": Slider("number of samples", Domain(20, LONGEST, whole=True), 200),
    }
    between = (LOW, HIGH)
    _measures: ClassVar[dict[str, frozenset[str]]] = {}  # those that a learner has, by its name, once they are known

    def outcomes(self, at: Values) -> Outcomes:
        return Outcomes(OutcomeKind.CONTINUOUS, known_facts(facts(at["hazard"], at["noise"], LOW, HIGH)))

    def controls(self) -> Json:
        more = {"shown": list(SHOWN), "measures": list(MEASURES.items()), "seeds": len(SEEDS)}
        return {**super().controls(), **more}

    def answer(self, request: Any) -> Json:
        at, others = numbers(request, self.sliders, "learners", "measure")
        measured, made = one_of("measure", others.get("measure", "shannon"), MEASURES), self.chosen(at, others)
        task = series(at, int(at["seed"]))
        steps, learners = len(task.samples), {}
        for name, assembly in made.items():
            history = followed(assembly, task)
            surprise = self.surprise_of(name, history, measured)
            off = history.estimate[:steps] - task.truth
            learners[name] = {
                "settings": settings_of(assembly),
                "estimate": packed(history.estimate[:steps]),
                "surprise": None if surprise is None else packed(surprise[:steps]),
                "learning_rate": packed(history.learning_rate[:steps]),
                "squared_error": float(np.mean(off**2)),
                "absolute_error": float(np.mean(np.abs(off))),
            }
        if measured == OWN:
            own = {name: assembly.learner.surprise_measure for name, assembly in made.items()}
            parts = [f"{name}: {MEASURES.get(measure, 'one that it defines')}" for name, measure in own.items()]
            words = (
                f"Surprise is measured differently by each learner, so that heights do not compare. {'; '.join(parts)}."
            )
        else:
            without = [name for name, shown in learners.items() if shown["surprise"] is None]
            missing = f" Not shown, for they do not have it: {', '.join(without)}." if without else ""
            words = f"Surprise is the {MEASURES[measured]} for all learners.{missing}"
        return {
            "samples": packed(task.samples),
            "truth": packed(task.truth),
            "changes": (np.flatnonzero(task.changed) + 1).tolist(),
            "surprise": {"label": f"surprise: {MEASURES[measured]}", "words": words},
            "learners": learners,
            "python": self.script(at, made),
        }

    def surprise_of(self, name: str, history: History, measured: str) -> FloatArray | None:
        """Measure the surprise at each sample; None if the learner of this name does not have this measure."""
        learner = history.learner
        if measured in (OWN, learner.surprise_measure):
            return history.surprise
        if measured == ERROR:
            with double():
                first = float(learner.estimate(learner.init()))
            return np.abs(history.samples - np.append(first, history.estimate[:-1]))
        if name not in self._measures:
            self._measures[name] = frozenset(applicable(learner))
        if measured not in self._measures[name]:
            return None
        return measure(learner, history.samples, names=[measured])[measured].to_numpy()

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
        errors = {}
        for name, assembly in self.chosen(at, others).items():
            estimates = [followed(assembly, task).estimate[: len(task.samples)] for task in tasks]
            off = [estimate - task.truth for estimate, task in zip(estimates, tasks, strict=True)]
            errors[name] = np.mean(np.square(off), axis=1)
        return compared(errors)

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


def compared(errors: Mapping[str, FloatArray]) -> Json:
    """Average the errors of each learner, and say which is least and whether it is so clearly.

    Learners are compared seed by seed, so that what is hard for all of them does not count.

    Args:
        errors: By learner, one for each seed.
    """
    averages = {name: _average(values) for name, values in errors.items()}
    learners = {name: {"mean": mean, "error": error} for name, (mean, error) in averages.items()}
    if len(averages) < 2:
        return {"learners": learners, "best": None, "words": "Choose several learners, and their errors are compared."}
    best, second, *_ = sorted(averages, key=lambda name: averages[name][0])
    gap, error = _average(errors[second] - errors[best])
    words = (
        f"Over {len(errors[best])} random seeds, {best} has the least mean squared error. That of {second}, the "
        f"second, is larger by {gap:.3g} ± {error:.2g} (paired by seed; ± 1 standard error), which is "
        f"{'more' if gap > CLEAR * error else 'not more'} than {CLEAR:g} standard errors."
    )
    return {"learners": learners, "best": best, "words": words}


def _average(values: Any) -> tuple[float, float]:
    """The mean over seeds, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
