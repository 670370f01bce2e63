"""The maze: how does a learner of transitions do when the rooms are rearranged?

The walk is that of the paper's section 2.4, except that the environment also switches when somebody presses a button.
"""

from typing import Any, ClassVar

import numpy as np

from astonish.assemble import Assembly, Outcomes, imports, known_facts
from astonish.domain import Domain, Numbers
from astonish.explanation import explain
from astonish.explorer.controls import Json, Slider, Values, listed, numbers, one, one_of, packed
from astonish.explorer.explained import explained
from astonish.explorer.world import WorldTab, shown
from astonish.kinds import Contexts, OutcomeKind
from astonish.series import run
from astonish.tasks.maze import A, B, Walk, maze

STEPS, ROOMS, MOST_SWITCHES = 1000, 16, 200
DRAWN = maze(A, B)
_STEP = Domain(0, STEPS - 1, whole=True)


class MazeTab(WorldTab):
    """A learner in the maze, with a belief for each room."""

    world: ClassVar[dict[str, Slider]] = {
        "hazard": Slider("hazard: chance of a switch before each step", Domain(0.0, 0.2), 0.005),
        "seed": Slider("seed of all random numbers", Domain(0, 9999, whole=True), 1),
    }
    contexts: ClassVar[Contexts | None] = "apart"  # as in the paper's Algorithm 2

    def outcomes(self, at: Values) -> Outcomes:
        known = known_facts({"hazard": float(np.clip(at["hazard"], 0.001, 0.5))})
        return Outcomes(OutcomeKind.TRANSITIONS, known, labels=ROOMS - 1, contexts=ROOMS)

    def controls(self) -> Json:
        drawn = {"environments": [A.tolist(), B.tolist()], "transitions": DRAWN.transitions.tolist()}
        return {**super().controls(), "steps": STEPS, **drawn}

    def answer(self, request: Any) -> Json:
        """`estimate` is what is then believed about the room just left, without the impossible chance of staying."""
        at, switches, assembly, _ = self._asked(request)
        way = walked(at["hazard"], int(at["seed"]), switches)
        history = run(assembly.learner, way.choices)
        return {
            **shown(assembly, history, STEPS),
            "rooms": way.rooms.tolist(),
            "environment": way.environment.tolist(),
            "switched": np.flatnonzero(way.switched).tolist(),
            "error": packed(errors(way, history.estimate)),
            "python": self.script(at, assembly, switches),
        }

    def explain(self, request: Any) -> Json:
        """What one step did to the belief about the room that was left. at: which step, counted from 0."""
        at, switches, assembly, asked = self._asked(request, "at")
        step = int(one("at", asked.get("at"), _STEP))
        way = walked(at["hazard"], int(at["seed"]), switches)
        here, there = way.rooms[step], way.rooms[step + 1]
        others = [f"room {room + 1}" for room in range(ROOMS) if room != here]
        seen, where = f"room {there + 1}", f"in room {here + 1}"
        return explained(explain(assembly.learner, way.choices, step, seen, where), STEPS, others)

    def _asked(self, request: Any, *more: str) -> tuple[Values, list[int], Assembly, Json]:
        """The values of sliders, the steps before which the button was pressed, the learner, and the other parts."""
        at, asked = numbers(request, self.sliders, "learner", "switches", *more)
        name = one_of("learner", asked.get("learner", "smile"), self.learners)
        pressed = listed("switches", asked.get("switches", []), MOST_SWITCHES)
        return at, [int(one("switches", step, _STEP)) for step in pressed], self.assembled(name, at), asked

    def script(self, at: Values, assembly: Assembly, switches: list[int]) -> str:
        """The same in Python."""
        lines = [
            "import numpy as np",
            *imports(assembly.classes, "run"),
            "from astonish.tasks.maze import A, B, maze",
            "",
            f"doors, rng = maze(A, B).doors, np.random.default_rng({at['seed']})",
            f"room, ways, switched = rng.integers(16), rng.integers(4, size={STEPS}), "
            f"rng.random({STEPS}) < {at['hazard']!r}",
            f"for step in {switches!r}:  # where the button was pressed",
            "    switched[step] ^= True",
            "rooms = [room]",
            "for environment, way in zip(np.cumsum(switched) % 2, ways):",
            "    rooms.append(doors[environment, rooms[-1], way])",
            "here, there = np.array(rooms[:-1]), np.array(rooms[1:])",
            f"learner = {assembly.code}",
            "history = run(learner, (here, there - (there > here)))  # .estimate, .surprise, .learning_rate",
            "surprise, learning_rate = history.surprise.mean(), history.learning_rate.mean()",
            'print(f"mean surprise {surprise:.4g}, mean learning rate {learning_rate:.4g}")',
        ]
        return "\n".join([*lines, ""])


def walked(hazard: float, seed: int, switches: list[int]) -> Walk:
    """A walk that starts in A. switches: before which steps, counted from 0, somebody switches the environment."""
    rng = np.random.default_rng(seed)
    start, doors, by_chance = rng.integers(ROOMS), rng.integers(4, size=STEPS), rng.random(STEPS) < hazard
    switched = by_chance ^ (np.bincount(np.array(switches, int), minlength=STEPS) % 2 == 1)
    environment = np.cumsum(switched) % 2
    rooms = [int(start)]
    for where, door in zip(environment, doors, strict=True):
        rooms.append(int(DRAWN.doors[where, rooms[-1], door]))
    return Walk(np.array(rooms, np.int32), environment.astype(np.int32), switched)


def errors(way: Walk, rows: Numbers) -> Numbers:
    """The mean square of the differences between believed and true chances, over all 16 x 16 pairs of rooms."""
    truth = DRAWN.transitions[:, ~np.eye(ROOMS, dtype=bool)].reshape(2, ROOMS, ROOMS - 1)  # without staying
    first = np.square(1 / (ROOMS - 1) - truth).sum(axis=-1)  # of each room, in each environment
    steps = np.arange(len(rows))[:, None]
    left = np.square(rows - truth[:, way.rooms[: len(rows)]]).sum(axis=-1)  # of the room just left
    visits = np.where(way.rooms[: len(rows), None] == np.arange(ROOMS), steps, -1)
    last = np.maximum.accumulate(visits)  # when each room was last left
    now = way.environment[:, None]
    return np.where(last < 0, first[way.environment], left[now, last]).sum(axis=-1) / ROOMS**2
