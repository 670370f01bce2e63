"""Learners in worlds about which the facts are known: the Gaussian world, whose mean jumps, and the paper's maze.

The walk through the maze is that of the paper's section 2.4, except that the environment also switches when somebody
presses a button. What is believed there, and its error, are the paper's own, as in its Figures 5 and 6 (see
`worlds.maze_beliefs`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pandas import Series

from astonish.core.names import Contexts, OutcomeKind
from astonish.core.numbers import Domain, FloatArray, double
from astonish.core.parameters import Parameter
from astonish.models.parameters import Assembly, Outcomes, Specification, assemble, imports, known_facts
from astonish.models.registry import LEARNERS, title
from astonish.online.explanation import explain
from astonish.online.measures import applicable, holds_a_belief, measure
from astonish.online.series import History, run
from astonish.page.controls import (
    Json,
    Slider,
    Values,
    described,
    explained,
    listed,
    numbers,
    one,
    one_of,
    packed,
    slider_for,
)
from astonish.watch.followers import settings_of
from astonish.worlds.gaussian_jumps import Episode, facts, gaussian_jumps
from astonish.worlds.maze import A, B, Walk, current_error, follow, maze

LOW, HIGH = -20.0, 20.0  # of the mean in the Gaussian world
LONGEST = 1000  # so many samples are drawn, and the first of them used: more samples extend a series
LENGTH = 1024  # all series are padded to this, so that nothing is compiled anew
SEEDS = range(50)  # over which errors are averaged
SHOWN = ("smile", "varsmile", "message-passing", "delta")
CLEAR = 2.0  # standard errors of a difference with which the difference is compared
STEPS, ROOMS, MOST_SWITCHES = 1000, 16, 200  # of the maze
SMOOTHED = 30  # steps of which the trace of surprise is the mean
NONE = "none"  # in place of a second learner
DRAWN = maze(A, B)
_SEED, _STEP = Slider("random seed", Domain(0, 9999, whole=True), 1), Domain(0, STEPS - 1, whole=True)
OWN, ERROR = "own", "absolute_error"  # measures of surprise that every learner has
MEASURES = {  # of surprise, as the page calls them
    "shannon": "Shannon surprise, -ln p(x) (nats)",
    ERROR: "size of the prediction error (units of the samples)",
    "confidence_corrected": "confidence-corrected surprise (nats)",
    "bayes_factor": "logarithm of the Bayes factor (nats)",
    "bayesian": "Bayesian surprise (nats)",
    OWN: "each learner's own measure",
}


class WorldTab(ABC):
    """A tab on which learners are set. more: names of learners that are offered beside those of the catalogue.

    world: what can be set of the world. between: the numbers between which outcomes lie. contexts: how learners learn
    about contexts (see `assemble.choose`).
    """

    world: ClassVar[Mapping[str, Slider]]
    between: ClassVar[tuple[float, float]] = (0.0, 1.0)
    contexts: ClassVar[Contexts | None] = None

    def __init__(self, more: Sequence[str] = ()) -> None:
        start = self.outcomes({name: slider.default for name, slider in self.world.items()})
        self.learners = [name for name in (*LEARNERS.classes(), *more) if start.kind in LEARNERS.find(name).takes]
        self.owners: dict[str, list[str]] = {}  # the learners that are given each parameter
        parameters: dict[str, Parameter] = {}
        for name in self.learners:
            settable = Specification.of(name, start).settable
            for word in LEARNERS.find(name).free:
                if not {word, settable[word].fact} & self.world.keys():  # which is set of the world itself
                    self.owners.setdefault(word, []).append(name)
                    parameters.setdefault(word, settable[word])
        self.own = {}
        for word, parameter in parameters.items():
            fact = start.facts(parameter.fact, {})
            of = [title(name) for name in self.owners[word]]
            self.own[word] = slider_for(word, parameter, self.between, None if fact is None else fact.value, of)
        self.sliders = {**self.own, **self.world}

    @abstractmethod
    def outcomes(self, at: Values) -> Outcomes:
        """Describe the outcomes of the world, if it is set like this."""

    def controls(self) -> Json:
        """Describe what can be set; parameters of the first learner before all others."""
        first = {word: slider for word, slider in self.own.items() if self.learners[0] in self.owners[word]}
        more = {word: slider for word, slider in self.own.items() if word not in first}
        return {"sliders": described({**first, **self.world}), "more": described(more), "learners": self.learners}

    def assembled(self, name: str, at: Values) -> Assembly:
        """Make a learner that is given the facts about this world, and what is set for it."""
        own = {word: at[word] for word, names in self.owners.items() if name in names}
        return assemble(name, self.outcomes(at), own, contexts=self.contexts)


# ---- the Gaussian world


class GaussianTab(WorldTab):
    """Learners that follow samples about a mean that jumps, with one measure of surprise for all."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: probability of a jump before each sample", Domain(0.001, 0.5), 0.066, log=True),
        "noise": Slider("noise: standard deviation of the samples", Domain(0.1, 20), 4.0),
        "seed": _SEED,
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
            each = "; ".join(f"{name}: {MEASURES.get(word, 'one that it defines')}" for name, word in own.items())
            words = f"Surprise is measured differently by each learner, so that heights do not compare. {each}."
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
        """Explain what one sample did to one learner. at: which sample, counted from 0."""
        at, others = numbers(request, self.sliders, "learner", "at")
        name = one_of("learner", others.get("learner", SHOWN[0]), self.learners)
        index = one("at", others.get("at"), Domain(0, at["samples"] - 1, whole=True))
        samples = series(at, int(at["seed"])).samples
        return explained(explain(self.assembled(name, at).learner, samples, int(index)), len(samples))

    def averages(self, request: Any) -> Json:
        """Average squared errors over many seeds, at one setting of everything else."""
        sliders = {name: slider for name, slider in self.sliders.items() if name != "seed"}
        at, others = numbers(request, sliders, "learners")
        tasks = [series(at, seed) for seed in SEEDS]
        errors = {}
        for name, assembly in self.chosen(at, others).items():
            estimates = [followed(assembly, task).estimate[: len(task.samples)] for task in tasks]
            off = [estimate - task.truth for estimate, task in zip(estimates, tasks, strict=True)]
            errors[name] = np.mean(np.square(off), axis=1)
        return compared(errors)

    def chosen(self, at: Values, others: Json) -> dict[str, Assembly]:
        """Make the learners that a request names, or those that are shown at first."""
        names = listed("learners", others.get("learners", list(SHOWN)), len(self.learners))
        wanted = {one_of("learners", name, self.learners) for name in names}
        return {name: self.assembled(name, at) for name in self.learners if name in wanted}

    def script(self, at: Values, made: dict[str, Assembly]) -> str:
        """Write the same in Python."""
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
    """Take the first samples of the longest series."""
    longest, used = gaussian_jumps(LONGEST, seed, at["hazard"], at["noise"], LOW, HIGH), slice(int(at["samples"]))
    return Episode(longest.samples[used], longest.truth[used], longest.changed[used])


def followed(assembly: Assembly, task: Episode) -> History:
    """Run a learner over a series, which is padded with missing samples."""
    return run(assembly.learner, np.pad(task.samples, (0, LENGTH - len(task.samples)), constant_values=np.nan))


def compared(errors: Mapping[str, FloatArray]) -> Json:
    """Average the errors of each learner, and say which is least and whether it is so clearly.

    Learners are compared seed by seed, so that what is hard for all of them does not count.

    Args:
        errors: By learner, one for each seed.
    """

    def average(values: Any) -> Json:
        return {"mean": float(np.mean(values)), "error": float(np.std(values, ddof=1) / np.sqrt(len(values)))}

    learners = {name: average(values) for name, values in errors.items()}
    if len(learners) < 2:
        return {"learners": learners, "best": None, "words": "Choose several learners, and their errors are compared."}
    best, second, *_ = sorted(learners, key=lambda name: learners[name]["mean"])
    gap = average(errors[second] - errors[best])
    words = (
        f"Over {len(errors[best])} random seeds, {best} has the least mean squared error. That of {second}, the "
        f"second, is larger by {gap['mean']:.3g} ± {gap['error']:.2g} (paired by seed; ± 1 standard error), which is "
        f"{'more' if gap['mean'] > CLEAR * gap['error'] else 'not more'} than {CLEAR:g} standard errors."
    )
    return {"learners": learners, "best": best, "words": words}


# ---- the maze


class MazeTab(WorldTab):
    """One or two learners in the maze, each with a belief for each room."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: probability of a switch before each step", Domain(0.0, 0.2), 0.005),
        "seed": _SEED,
    }
    contexts: ClassVar[Contexts | None] = "apart"  # as in the paper's Algorithm 2

    def outcomes(self, at: Values) -> Outcomes:
        known = known_facts({"hazard": float(np.clip(at["hazard"], 0.001, 0.5))})
        return Outcomes(OutcomeKind.TRANSITIONS, known, labels=ROOMS - 1, contexts=ROOMS)

    def controls(self) -> Json:
        drawn = {"environments": [A.tolist(), B.tolist()], "transitions": DRAWN.transitions.tolist()}
        return {**super().controls(), "steps": STEPS, "smoothed": SMOOTHED, **drawn}

    def answer(self, request: Any) -> Json:
        """Walk, and show what each learner makes of it: among it what is `believed` about the room just left."""
        at, way, switches, name, asked = self._asked(request, "second")
        second = one_of("second", asked.get("second", NONE), [*self.learners, NONE])
        made = {name: self.assembled(name, at) for name in (name, second) if name != NONE}
        learners = {}
        for name, assembly in made.items():
            learner: Any = assembly.learner
            course = follow(learner, way.choices)
            parts = {
                "believed": course.believed[np.arange(STEPS), way.rooms[:-1]],
                "surprise": course.surprise,
                "smoothed": Series(course.surprise).rolling(SMOOTHED, min_periods=1).mean(),
                "learning_rate": course.learning_rate,
                "error": current_error(course.believed, DRAWN.transitions, way.environment),
            }
            learners[name] = {
                "settings": settings_of(assembly),
                "estimator": "mode" if holds_a_belief(learner) else "mean",
                "measure": MEASURES.get(learner.surprise_measure, "measure that it defines"),
                **{part: packed(values) for part, values in parts.items()},
            }
        return {
            "rooms": way.rooms.tolist(),
            "environment": way.environment.tolist(),
            "switched": np.flatnonzero(way.switched).tolist(),
            "learners": learners,
            "python": self.script(at, made, switches),
        }

    def explain(self, request: Any) -> Json:
        """Explain what one step did to the belief about the room that was left. at: which step, counted from 0."""
        at, way, _, name, asked = self._asked(request, "at")
        step = int(one("at", asked.get("at"), _STEP))
        here, there = way.rooms[step], way.rooms[step + 1]
        others = [f"room {room + 1}" for room in range(ROOMS) if room != here]
        learner = self.assembled(name, at).learner
        explanation = explain(learner, way.choices, step, f"room {there + 1}", f"in room {here + 1}")
        return explained(explanation, STEPS, others)

    def _asked(self, request: Any, more: str) -> tuple[Values, Walk, list[int], str, Json]:
        """Read the sliders, the walk, the steps before which the button was pressed, the learner, and one part more."""
        at, asked = numbers(request, self.sliders, "learner", "switches", more)
        name = one_of("learner", asked.get("learner", "smile"), self.learners)
        pressed = listed("switches", asked.get("switches", []), MOST_SWITCHES)
        switches = [int(one("switches", step, _STEP)) for step in pressed]
        return at, walked(at["hazard"], int(at["seed"]), switches), switches, name, asked

    def script(self, at: Values, made: dict[str, Assembly], switches: list[int]) -> str:
        """Write the same in Python."""
        lines = [
            *imports([kind for assembly in made.values() for kind in assembly.classes]),
            "from astonish.page.worlds import walked",
            "from astonish.worlds.maze import A, B, current_error, follow, maze",
            "",
            f"way = walked({at['hazard']!r}, {at['seed']}, {switches!r})  # hazard, seed, where the button was pressed",
            "learners = {",
            *(f"    {name!r}: {assembly.code}," for name, assembly in made.items()),
            "}",
            "for name, learner in learners.items():",
            "    course = follow(learner, way.choices)  # .believed, .surprise, .learning_rate",
            "    error = current_error(course.believed, maze(A, B).transitions, way.environment)",
            '    print(f"{name}: mean surprise {course.surprise.mean():.4g}, "',
            '          f"mean learning rate {course.learning_rate.mean():.4g}, mean error {error.mean():.4g}")',
        ]
        return "\n".join([*lines, ""])


def walked(hazard: float, seed: int, switches: list[int]) -> Walk:
    """Walk from A on. switches: before which steps, counted from 0, somebody switches the environment."""
    rng = np.random.default_rng(seed)
    start, doors, by_itself = rng.integers(ROOMS), rng.integers(4, size=STEPS), rng.random(STEPS) < hazard
    switched = by_itself ^ (np.bincount(np.array(switches, int), minlength=STEPS) % 2 == 1)
    environment = np.cumsum(switched) % 2
    rooms = [int(start)]
    for where, door in zip(environment, doors, strict=True):
        rooms.append(int(DRAWN.doors[where, rooms[-1], door]))
    return Walk(np.array(rooms, np.int32), environment.astype(np.int32), switched)
