"""The maze: how does a learner of transitions fare when the rooms are rearranged under its feet?

The walk is that of the paper's section 2.4, except that the environment also switches when somebody says so.
"""

from typing import Any

import numpy as np

from astonish.beliefs import Dirichlet
from astonish.catalogue import BELIEVERS, defaults, settable
from astonish.domain import Domain, Numbers
from astonish.explorer.controls import Answer, Slider, described, in_words, known, numbers, one_of, packed, several
from astonish.learner import PerContext
from astonish.run import run
from astonish.tasks.maze import A, B, Walk, maze

STEPS, ROOMS = 1000, 16
SLIDERS = {
    "m": Slider("m, readiness to change one's mind (SMiLe, VarSMiLe)", Domain(0.001, 100), 0.1, 0.01, log=True),
    "leave": Slider("chance of a switch before each step", Domain(0.0, 0.2), 0.005, 0.001),
    "seed": Slider("seed of all chance", Domain(0, 9999, whole=True), 1, 1),
}
MOST_SWITCHES = 200
DRAWN = maze(A, B)


def controls() -> Answer:
    """What can be set, and what the two environments look like, for the page."""
    return {
        "sliders": described(SLIDERS),
        "learners": list(BELIEVERS),
        "steps": STEPS,
        "environments": [A.tolist(), B.tolist()],
        "transitions": packed(DRAWN.transitions),
    }


def walk_through_maze(said: Any) -> Answer:
    """A walk, and what a learner with one belief per room made of every step.

    `row` is what it then believes about the room it left, without the impossible chance of staying there.
    """
    asked = known(said, (*SLIDERS, "learner", "switches"))
    at = numbers(asked, SLIDERS)
    name = one_of("learner", asked.get("learner", "smile"), BELIEVERS)
    switches = several("switches", asked.get("switches", []), Domain(0, STEPS - 1, whole=True), 0, MOST_SWITCHES)
    way = walked(at["leave"], int(at["seed"]), [int(step) for step in switches])
    settings = parameters(name, at)
    history = run(PerContext(BELIEVERS[name](Dirichlet(ROOMS - 1), **settings), ROOMS), way.choices)
    return {
        "told": in_words(defaults(name, "categorical") | settings),
        "rooms": way.rooms.tolist(),
        "environment": way.environment.tolist(),
        "switched": np.flatnonzero(way.switched).tolist(),
        "row": packed(history.estimate),
        "surprise": packed(history.surprise),
        "rate": packed(history.rate),
        "error": packed(errors(way, history.estimate)),
        "python": _python(name, at, settings, switches),
    }


def parameters(name: str, at: dict[str, float]) -> dict[str, float]:
    """What a learner is told: its readiness to change its mind, or the chance of a switch."""
    told = {"m": at["m"], "hazard": float(np.clip(at["leave"], 0.001, 0.5))}
    return {word: told[word] for word in settable(BELIEVERS[name]) if word in told}


def walked(leave: float, seed: int, switches: list[int]) -> Walk:
    """A walk that starts in A. switches: before which steps, counted from 0, somebody switches the environment."""
    rng = np.random.default_rng(seed)
    start, doors, by_chance = rng.integers(ROOMS), rng.integers(4, size=STEPS), rng.random(STEPS) < leave
    switched = by_chance ^ (np.bincount(np.array(switches, int), minlength=STEPS) % 2 == 1)
    environment = np.cumsum(switched) % 2
    rooms = [int(start)]
    for where, door in zip(environment, doors, strict=True):
        rooms.append(int(DRAWN.doors[where, rooms[-1], door]))
    return Walk(np.array(rooms, np.int32), environment.astype(np.int32), switched)


def errors(way: Walk, rows: Numbers) -> Numbers:
    """The mean square of the differences between believed and true chances, over all 16 x 16 pairs of rooms."""
    truth = _without_staying(DRAWN.transitions)
    first = np.square(1 / (ROOMS - 1) - truth).sum(axis=-1)  # of each room, in each environment
    steps = np.arange(len(rows))[:, None]
    left = np.square(rows - truth[:, way.rooms[: len(rows)]]).sum(axis=-1)  # of the room just left
    visits = np.where(way.rooms[: len(rows), None] == np.arange(ROOMS), steps, -1)
    last = np.maximum.accumulate(visits)  # when each room was last left
    now = way.environment[:, None]
    return np.where(last < 0, first[way.environment], left[now, last]).sum(axis=-1) / ROOMS**2


def _without_staying(chances: Numbers) -> Numbers:
    apart = ~np.eye(ROOMS, dtype=bool)
    return chances[..., apart].reshape(*chances.shape[:-1], ROOMS - 1)


def _python(name: str, at: dict[str, float], settings: dict[str, float], switches: list[float]) -> str:
    words = "".join(f", {word}={value!r}" for word, value in settings.items())
    kind = BELIEVERS[name].__name__
    lines = [
        "import numpy as np",
        f"from astonish import Dirichlet, PerContext, run, {kind}",
        "from astonish.tasks.maze import A, B, maze",
        "",
        f"doors, rng = maze(A, B).doors, np.random.default_rng({at['seed']})",
        f"room, ways, switched = rng.integers(16), rng.integers(4, size={STEPS}), "
        f"rng.random({STEPS}) < {at['leave']!r}",
        f"for step in {switches!r}:  # where the button was pressed",
        "    switched[step] ^= True",
        "rooms = [room]",
        "for environment, way in zip(np.cumsum(switched) % 2, ways):",
        "    rooms.append(doors[environment, rooms[-1], way])",
        "here, there = np.array(rooms[:-1]), np.array(rooms[1:])",
        f"learner = PerContext({kind}(Dirichlet(15){words}), 16)",
        "history = run(learner, (here, there - (there > here)))  # .estimate, .surprise, .rate",
        'print(f"mean surprise {history.surprise.mean():.4g}, mean rate {history.rate.mean():.4g}")',
    ]
    return "\n".join([*lines, ""])
