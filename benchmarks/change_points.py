"""What does inference in a world that changes cost, against a Rust package and against NumPy on the same numbers?"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

import growth
import literal_pf
from astonish import (
    Gaussian,
    MessagePassing,
    NormalGamma,
    ParticleFilter,
    Poisson,
    change_posterior,
    run,
    run_lengths,
    run_many,
    scan,
)
from astonish.core.numbers import as_double, double
from astonish.learners.base import Learner
from environment import ask
from gaussian import compute, jumps
from timing import Target, at_least, at_most, best, best_each, show, size

SERIES, LENGTH, LONG, HAZARD = *size((64, 1_000, 4_000), (2, 30, 100)), 0.02
SOME = size(4, 1)  # of the series are also run by rivals that take them one by one, at the same cost for each
LENGTHS = size((1_000, 2_000, 4_000), (30,))
HYPOTHESES = size((5, 20, 80, 320), (5,))
NUMBERS, COUNTS = MessagePassing(NormalGamma(), HAZARD), MessagePassing(Poisson(), HAZARD)
EXACT = replace(NUMBERS, hypotheses=LENGTH + 1)
NOISE, STD, PARTICLES = 1.0, 3.0, 20
CROWD = ParticleFilter(Gaussian(NOISE), HAZARD, Gaussian(NOISE).prior(std=STD), PARTICLES)
SEEDS, CHECKED = size((400, 100), (100, 50))  # crowds, and samples, by which both particle filters are compared
_many = jax.vmap(scan, in_axes=(None, 0))


def report() -> list[Target]:
    rng = np.random.default_rng(7)
    many, one = np.stack([jumps(rng, LENGTH) for _ in range(SERIES)]), jumps(rng, LONG)
    return [*hypotheses(many, one), *past(one), *particles(many, one), *cost(), *memory()]


def past(one: Any) -> list[Target]:
    """Posteriors of past changes, exact and with some hypotheses."""
    rows = []
    for length in LENGTHS:
        times = [
            best(partial(change_posterior, NUMBERS, one[:length], hypotheses=some), 2, 0.0) for some in (None, 200)
        ]
        rows.append([f"{length:_}", *(f"{time:.2f}" for time in times)])
    show("Posterior of past changes; seconds", ["length", "exact", "200 hypotheses"], rows)
    return []


def hypotheses(many: Any, one: Any) -> list[Target]:
    """Message passing with 20 hypotheses, and with all of them, against a package that always keeps all."""
    counts = np.round(np.abs(many))
    numbers = [one, *many[:SOME]]
    theirs = ask("bocpd", hazard=HAZARD, numbers=[xs.tolist() for xs in numbers], counts=counts[:SOME].tolist(),
                 lengths=LENGTHS)  # fmt: skip
    times = best_each([lambda: run_many(NUMBERS, list(many)), lambda: run(NUMBERS, one)])
    loop = compute(_many, NUMBERS, many) / many.size
    show(
        "Message passing, normal-gamma or gamma prior, against changepoint's Bocpd; microseconds per step",
        ["", "astonish", "changepoint", "ratio"],
        [
            row(f"{SERIES} x {LENGTH} numbers, 20 hypotheses (run_many)", times[0] / many.size, theirs.get("numbers")),
            row(f"{SERIES} x {LENGTH} numbers, 20 hypotheses (jit(vmap(scan)))", loop, theirs.get("numbers")),
            row(f"{SERIES} x {LENGTH} numbers, all hypotheses (jit(vmap(scan)))",
                compute(_many, EXACT, many) / many.size, theirs.get("numbers")),
            row(f"{SERIES} x {LENGTH} counts, 20 hypotheses (jit(vmap(scan)))",
                compute(_many, COUNTS, counts) / many.size, theirs.get("counts")),
            row(f"1 x {LONG} numbers, 20 hypotheses (run)", times[1] / LONG, theirs.get(f"length {LONG}")),
            row(f"1 x {LONG} numbers, 20 hypotheses (jit(scan))", compute(scan, NUMBERS, one) / LONG,
                theirs.get(f"length {LONG}")),
        ],
    )  # fmt: skip
    few, all_of_them = (run(learner, many[0]).estimate for learner in (NUMBERS, EXACT))
    print(f"  what 20 hypotheses miss of the exact estimate, on average: {np.abs(few - all_of_them).mean():.1e}")
    if not theirs:
        return []
    apart = 0.5 * np.abs(run_lengths(EXACT, many[0], LENGTH)[-1] - theirs["probabilities"]).sum()
    print(f"  total variation between exact and changepoint's run lengths at the end of a series: {apart:.2f}, for it")
    print("  gives a new run the hazard as weight, whatever the run's first sample is")
    show(
        "Message passing as series get longer; microseconds per step",
        ["length", "astonish (run)", "changepoint"],
        [[f"{n:_}", f"{best(partial(run, NUMBERS, one[:n])) / n * 1e6:.2f}", f"{theirs[f'length {n}'] * 1e6:.1f}"]
         for n in LENGTHS],
    )  # fmt: skip
    ratio = theirs["numbers"] / loop
    return [at_least(f"message passing: {SERIES} series side by side, against changepoint", 5, ratio, "x faster")]


def particles(many: Any, one: Any) -> list[Target]:
    """The particle filter against NumPy, which takes series one by one or side by side."""
    times = best_each([lambda: run_many(CROWD, list(many)), lambda: run(CROWD, one)])
    loop_many, loop_one = compute(_many, CROWD, many) / many.size, compute(scan, CROWD, one) / LONG
    alone = best(lambda: [by_letter(xs[None]) for xs in many[:SOME]], 3, 0.0) / (SOME * LENGTH)
    beside = best(lambda: by_letter(many), 3, 0.0) / many.size
    show(
        f"Particle filter, {PARTICLES} particles, Gaussian, against NumPy; microseconds per step",
        ["", "astonish", "NumPy", "ratio"],
        [
            row(f"{SERIES} x {LENGTH} (run_many | one by one)", times[0] / many.size, alone),
            row(f"{SERIES} x {LENGTH} (jit(vmap(scan)) | one by one)", loop_many, alone),
            row(f"{SERIES} x {LENGTH} (jit(vmap(scan)) | side by side)", loop_many, beside),
            row(f"1 x {LONG} (run)", times[1] / LONG, alone),
            row(f"1 x {LONG} (jit(scan))", loop_one, alone),
        ],
    )
    apart = disagreement(one[:CHECKED])
    print(f"  their mean estimates differ by {apart:.2f} standard errors (root mean square; 1 is chance)")
    return [
        at_most("particle filter: same mean estimates as NumPy", 1.25, apart, "standard errors apart", is_check=True),
        at_least(f"particle filter: {SERIES} series side by side, against NumPy", 5, alone / loop_many, "x faster"),
    ]


def by_letter(xs: Any, seed: int = 1) -> Any:
    return literal_pf.particle_filter(xs, NOISE, STD, HAZARD, PARTICLES, seed)


def disagreement(xs: Any) -> float:
    """How many standard errors the two filters' estimates, averaged over many seeds, lie apart."""
    with double():
        ours = jax.jit(jax.vmap(lambda seed: scan(replace(as_double(CROWD), seed=seed), xs).estimate))(np.arange(SEEDS))
    both = [np.asarray(ours), by_letter(np.broadcast_to(xs, (SEEDS, len(xs))))]
    errors = np.sqrt(sum(np.var(estimates, axis=0, ddof=1) / SEEDS for estimates in both))
    random = errors > 1e-12  # after the first samples all particles still agree
    gaps = (both[0].mean(0) - both[1].mean(0))[random] / errors[random]
    return float(np.sqrt(np.mean(gaps**2)))


def cost() -> list[Target]:
    """Linear in the hypotheses, and flat in the length of a series."""
    learners = [replace(NUMBERS, hypotheses=some) for some in HYPOTHESES]
    costs = growth.marginal(learners, [jumps] * len(learners))
    show(
        "Message passing: what one more step of run costs",
        ["hypotheses", "us per step", "relative", "ns per step and hypothesis"],
        [[*growth.cells(n, c, costs), f"{c / n * 1e9:.1f}"] for n, c in zip(HYPOTHESES, costs, strict=True)],
    )
    rng = np.random.default_rng(8)
    kinds: dict[str, Learner] = {"message passing": NUMBERS, "particle filter": CROWD}
    targets = []
    for name, learner in kinds.items():
        times = best_each([partial(run, learner, jumps(rng, n)) for n in growth.LENGTHS])
        costs = [time / n for time, n in zip(times, growth.LENGTHS, strict=True)]
        show(f"Growth with length: run({name}), all that is done once included", ["length", "us per step", "relative"],
             [growth.cells(n, c, costs) for n, c in zip(growth.LENGTHS, costs, strict=True)])  # fmt: skip
        targets.append(at_most(f"{name}: a step in a series of 1e5, not 1e4", 1.25, costs[2] / costs[1], "x"))
    return targets


def memory() -> list[Target]:
    """Flat: what a stream of either kind holds."""
    return [*growth.memory("message_passing"), *growth.memory("particles")]


def row(name: str, ours: float, theirs: float | None) -> list[str]:
    cells = ["-", "-"] if theirs is None else [f"{theirs * 1e6:.1f}", f"{theirs / ours:.1f} x"]
    return [name, f"{ours * 1e6:.2f}", *cells]
