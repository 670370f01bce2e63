"""The maze: learners of transitions, while the rooms are rearranged now and then.

The walk is that of the paper's section 2.4, except that the environment also switches when somebody presses a button.
What is believed, and its error, are the paper's own, as in its Figures 5 and 6 (see `worlds.maze`).
"""

from typing import Any, ClassVar

import numpy as np

from astonish.core.domain import Domain, FloatArray
from astonish.core.kinds import Contexts, OutcomeKind
from astonish.models.assemble import Assembly, Outcomes, imports, known_facts
from astonish.online.explanation import explain
from astonish.page.controls import Json, Slider, Values, listed, numbers, one, one_of, packed
from astonish.page.explained import explained
from astonish.page.world import MEASURES, WorldTab, settings_of
from astonish.worlds.maze import A, B, Walk, current_error, estimator, follow, maze

STEPS, ROOMS, MOST_SWITCHES = 1000, 16, 200
SMOOTHED = 30  # steps of which the trace of surprise is the mean
NONE = "none"  # in place of a second learner
DRAWN = maze(A, B)
_STEP = Domain(0, STEPS - 1, whole=True)


class MazeTab(WorldTab):
    """One or two learners in the maze, each with a belief for each room."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: probability of a switch before each step", Domain(0.0, 0.2), 0.005),
        "seed": Slider("random seed", Domain(0, 9999, whole=True), 1),
    }
    contexts: ClassVar[Contexts | None] = "apart"  # as in the paper's Algorithm 2

    def outcomes(self, at: Values) -> Outcomes:
        known = known_facts({"hazard": float(np.clip(at["hazard"], 0.001, 0.5))})
        return Outcomes(OutcomeKind.TRANSITIONS, known, labels=ROOMS - 1, contexts=ROOMS)

    def controls(self) -> Json:
        drawn = {"environments": [A.tolist(), B.tolist()], "transitions": DRAWN.transitions.tolist()}
        return {**super().controls(), "steps": STEPS, "smoothed": SMOOTHED, **drawn}

    def answer(self, request: Any) -> Json:
        """The walk, and what each learner makes of it."""
        at, way, switches, asked = self._asked(request, "second")
        second = one_of("second", asked.get("second", NONE), [*self.learners, NONE])
        made = {name: self.assembled(name, at) for name in (asked["learner"], second) if name != NONE}
        return {
            "rooms": way.rooms.tolist(),
            "environment": way.environment.tolist(),
            "switched": np.flatnonzero(way.switched).tolist(),
            "learners": {name: shown(assembly, way) for name, assembly in made.items()},
            "python": self.script(at, made, switches),
        }

    def explain(self, request: Any) -> Json:
        """What one step did to the belief about the room that was left. at: which step, counted from 0."""
        at, way, _, asked = self._asked(request, "at")
        step = int(one("at", asked.get("at"), _STEP))
        here, there = way.rooms[step], way.rooms[step + 1]
        others = [f"room {room + 1}" for room in range(ROOMS) if room != here]
        seen, where = f"room {there + 1}", f"in room {here + 1}"
        learner = self.assembled(asked["learner"], at).learner
        return explained(explain(learner, way.choices, step, seen, where), STEPS, others)

    def _asked(self, request: Any, *more: str) -> tuple[Values, Walk, list[int], Json]:
        """The values of sliders, the walk, the steps before which the button was pressed, and the other parts."""
        at, asked = numbers(request, self.sliders, "learner", "switches", *more)
        name = one_of("learner", asked.get("learner", "smile"), self.learners)
        pressed = listed("switches", asked.get("switches", []), MOST_SWITCHES)
        switches = [int(one("switches", step, _STEP)) for step in pressed]
        return at, walked(at["hazard"], int(at["seed"]), switches), switches, {**asked, "learner": name}

    def script(self, at: Values, made: dict[str, Assembly], switches: list[int]) -> str:
        """The same in Python."""
        classes = [each for assembly in made.values() for each in assembly.classes]
        lines = [
            "import numpy as np",
            *imports(classes),
            "from astonish.worlds.maze import A, B, current_error, follow, maze",
            "",
            f"rooms, rng = maze(A, B), np.random.default_rng({at['seed']})",
            f"room, ways, switched = rng.integers(16), rng.integers(4, size={STEPS}), "
            f"rng.random({STEPS}) < {at['hazard']!r}",
            f"for step in {switches!r}:  # where the button was pressed",
            "    switched[step] ^= True",
            "visited, environment = [room], np.cumsum(switched) % 2",
            "for now, way in zip(environment, ways):",
            "    visited.append(rooms.doors[now, visited[-1], way])",
            "here, there = np.array(visited[:-1]), np.array(visited[1:])",
            "learners = {",
            *(f"    {name!r}: {assembly.code}," for name, assembly in made.items()),
            "}",
            "for name, learner in learners.items():",
            "    course = follow(learner, (here, there - (there > here)))  # .believed, .surprise, .learning_rate",
            "    error = current_error(course.believed, rooms.transitions, environment)",
            '    print(f"{name}: mean surprise {course.surprise.mean():.4g}, "',
            '          f"mean learning rate {course.learning_rate.mean():.4g}, mean error {error.mean():.4g}")',
        ]
        return "\n".join([*lines, ""])


def shown(assembly: Assembly, way: Walk) -> Json:
    """What the page shows of a learner: among it what is `believed` about the room just left, which alone changes."""
    learner: Any = assembly.learner
    course = follow(learner, way.choices)
    series = {
        "believed": course.believed[np.arange(STEPS), way.rooms[:-1]],
        "surprise": course.surprise,
        "smoothed": smoothed(course.surprise),
        "learning_rate": course.learning_rate,
        "error": current_error(course.believed, DRAWN.transitions, way.environment),
    }
    own = MEASURES.get(learner.surprise_measure, "measure that it defines")
    about = {"settings": settings_of(assembly), "estimator": estimator(learner), "measure": own}
    return about | {name: packed(values) for name, values in series.items()}


def walked(hazard: float, seed: int, switches: list[int]) -> Walk:
    """A walk that starts in A. switches: before which steps, counted from 0, somebody switches the environment."""
    rng = np.random.default_rng(seed)
    start, doors, by_itself = rng.integers(ROOMS), rng.integers(4, size=STEPS), rng.random(STEPS) < hazard
    switched = by_itself ^ (np.bincount(np.array(switches, int), minlength=STEPS) % 2 == 1)
    environment = np.cumsum(switched) % 2
    rooms = [int(start)]
    for where, door in zip(environment, doors, strict=True):
        rooms.append(int(DRAWN.doors[where, rooms[-1], door]))
    return Walk(np.array(rooms, np.int32), environment.astype(np.int32), switched)


def smoothed(values: FloatArray, steps: int = SMOOTHED) -> FloatArray:
    """The mean of the last so many values, or of all as long as there are fewer.

    >>> smoothed(np.array([1.0, 2.0, 6.0]), steps=2).tolist()
    [1.0, 1.5, 4.0]
    """
    after = np.arange(1, len(values) + 1)
    before = np.maximum(after - steps, 0)
    sums = np.append(0.0, np.cumsum(values))
    return (sums[after] - sums[before]) / (after - before)
