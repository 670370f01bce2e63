"""What does an accelerator give: does it agree with the processor, how must it be filled, and what bounds it?

`python benchmarks/accelerator.py` prints all answers for whatever JAX computes with. It is not part of `make bench`,
which runs where there is none.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astonish import Dirichlet, Gaussian, MessagePassing, PerContext, Smile, VarSmile
from astonish.core.numbers import as_double, double
from astonish.learners.base import Learner, advance, scan
from astonish.paper.figure8 import LEARNERS, PSIS, TAUS, scenes
from astonish.paper.maze_learners import OURS, MazeWalks, errors_of_em_on_device, errors_on_device, naive, smile
from timing import show, size

ROOMS, DOORS = 16, 15
MAZE = PerContext(Smile(Dirichlet(DOORS)), ROOMS)
EPISODES = size((1, 100, 1_000, 2_000, 10_000, 100_000), (1, 2))
WALKS, STEPS = size((20, 20_000), (1, 50))
SERIES, JUMPS = size((64, 20), (2, 1))  # of 50 samples after each jump
MILLIONS, ROUNDS = size((2**26, 256), (2**10, 2))  # numbers, to measure what the device can do, and how often


def main() -> None:
    """Ask all questions."""
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}")
    with double():
        agreement()
        roofline()
    figure8()


def agreement() -> None:
    """The largest difference between what this device and the processor find, over all samples of some series."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(SERIES, 50 * JUMPS)) + np.repeat(rng.normal(scale=5, size=(SERIES, JUMPS)), 50, axis=1)
    family = Gaussian(noise=1.0)
    cases: dict[str, tuple[Learner, Any]] = {
        "SMiLe, Gaussian": (Smile(family), numbers),
        "VarSMiLe, Gaussian": (VarSmile(family, prior=family.prior(std=5.0)), numbers),
        "message passing, Gaussian": (MessagePassing(family, hazard=0.05), numbers),
        "SMiLe, maze": (MAZE, moves(SERIES, 50 * JUMPS)),
    }
    rows = []
    for name, (learner, xs) in cases.items():
        here, there = (_run(learner, xs, device) for device in (jax.devices()[0], jax.devices("cpu")[0]))
        off = max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in zip(here, there, strict=True))
        rows.append([name, f"{off:.1e}"])
    title = "Largest difference from the processor, of estimates, surprise and rates (relative, absolute below 1)"
    show(title, ["", "difference"], rows)


def _run(learner: Learner, xs: Any, device: Any) -> list[Any]:
    with jax.default_device(device):
        trace = jax.jit(jax.vmap(scan, in_axes=(None, 0)))(as_double(learner), xs)
        return [np.asarray(part) for part in (trace.estimate, trace.surprise, trace.learning_rate)]


def moves(episodes: int, steps: int) -> tuple[Any, ...]:
    """Random moves from rooms through doors."""
    rng = np.random.default_rng(2)
    return tuple(rng.integers(n, size=(episodes, steps)).astype(np.int32) for n in (ROOMS, DOORS))


def roofline() -> None:
    """What a step of the maze's learner costs by how many learn side by side, and what it would cost at the least.

    Three things bound it: what a step costs however few learn (programs are sent to the device one after the other),
    the numbers that must be moved, and the arithmetic. The compiler says how many of the last two there are; the loop
    that finds gamma, which goes round two or three times, it counts once.
    """
    bandwidth, speed = _bandwidth(), _speed()
    print(
        f"\nThe device moves {bandwidth / 1e12:.2f} TB/s and adds and multiplies {speed / 1e12:.1f} Tflop/s (float64)"
    )
    floor, rows = None, []
    for episodes in EPISODES:
        steps = size(200 if episodes > 1000 else 2000, 5)
        learner, placed = jax.device_put((as_double(MAZE), moves(episodes, steps)))
        each = seconds(partial(_felt, learner, placed)) / steps
        floor = each if floor is None else floor
        flops, moved = _counted(learner, episodes)
        bounds = {"sending": floor, "moving": moved / bandwidth, "arithmetic": flops / speed}
        bound = max(bounds, key=lambda name: bounds[name])
        least = [f"{value * 1e6:.2f}" for value in bounds.values()]
        away = f"{each / bounds[bound]:.1f} x"
        rows.append([f"{episodes}", f"{each * 1e6:.1f}", f"{each / episodes * 1e9:.2f}", *least, bound, away])
    header = ["episodes", "us per step of all", "ns per learner-step", *bounds, "bound", "away"]
    show("SMiLe in the maze, float64; microseconds that a step of all would take at the least", header, rows)


@jax.jit
def _felt(learner: Learner, samples: Any) -> Any:
    def one(samples: Any) -> Any:
        trace = scan(learner, samples, read=lambda _: None)
        return trace.surprise, trace.learning_rate, trace.state

    return jax.vmap(one)(samples)


def _counted(learner: Learner, episodes: int) -> tuple[float, float]:
    """Operations of one step of all, and bytes: of the row that it changes, there and back, and of its answers."""
    state = jax.vmap(lambda _: learner.learner.init())(jnp.zeros(episodes))  # type: ignore[attr-defined]
    step = jax.jit(jax.vmap(lambda row, x: advance(learner.learner, row, x)))  # type: ignore[attr-defined]
    cost = step.lower(state, jnp.zeros(episodes, jnp.int32)).compile().cost_analysis()
    row = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    return float((cost or {})["flops"]), 2.0 * row + episodes * (2 * 4 + 2 * 8)


def _bandwidth() -> float:
    numbers = jnp.ones(MILLIONS)
    return 2 * numbers.nbytes / seconds(partial(jax.jit(lambda x: x + 1.0), numbers))


def _speed() -> float:
    def work(x: Any) -> Any:
        for _ in range(ROUNDS):
            x = x * 0.999 + 0.001
        return x

    return 2 * ROUNDS * MILLIONS / seconds(partial(jax.jit(work), jnp.ones(MILLIONS)))


def figure8() -> None:
    """The paper's largest simulation, all walks side by side; errors stay on the device, or come back."""
    cells = [(tau, psi, episode) for tau in TAUS for psi in PSIS for episode in range(WALKS)]
    start = time.perf_counter()
    where = scenes(1, cells, STEPS)
    rows = [["the walks, on the processor", f"{time.perf_counter() - start:.2f}"]]
    in_a, seeds = MazeWalks(where.walk, where.truth[:, :1]), np.arange(len(cells))
    stay: dict[str, Callable[[], Any]] = {
        "SMiLe": lambda: errors_on_device(smile(), in_a),
        "online EM": lambda: errors_of_em_on_device(where, seeds),
        "naive Bayes": lambda: errors_on_device(naive(), in_a),
    }
    totals = np.zeros(2)
    for name, work in stay.items():
        first = _once(work)
        times = np.array([seconds(work, repeats=2), seconds(partial(LEARNERS[name], where, seeds, OURS), repeats=2)])
        totals += times
        rows += [[f"{name}: the first time, compilation included", f"{first:.2f}"],
                 [f"{name}: again", f"{times[0]:.2f}"], [f"{name}: again, and back", f"{times[1]:.2f}"]]  # fmt: skip
    rows += [["all three: again", f"{totals[0]:.2f}"], ["all three: again, and back", f"{totals[1]:.2f}"]]
    steps = len(cells) * STEPS * len(stay)
    show(f"Figure 8: {steps / 1e6:.0f} million learner-steps; seconds", ["", "seconds"], rows)


def _once(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - start


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of some runs, after one that does not count."""
    jax.block_until_ready(work())
    return min(_once(work) for _ in range(size(repeats, 1)))


if __name__ == "__main__":
    main()
