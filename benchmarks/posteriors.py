"""How long does it take to know a hundred participants, and what they have in common? On all cores.

By itself (`python benchmarks/posteriors.py`) it prints what it finds.
"""

import os
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from astonish import Gaussian, Smile
from astonish.core.numbers import as_double, double
from astonish.online.series import OPTIONS
from astonish.people.fit import Estimate, Model
from astonish.people.fit.likelihood import log_likelihoods_and_gradients, participant_data, simulate
from astonish.people.fit.space import Space
from astonish.people.posterior.sampling import hierarchical
from astonish.people.tables import Columns, Trials, read_trials
from environment import apart
from timing import Target, at_most, best, show, size

PEOPLE, TRIALS, STAY, NOISE = *size((100, 500), (2, 40)), 20, 10.0
DRAWS, CHAINS = size((1000, 4), (10, 2))
MODEL = Model(Smile(Gaussian(noise=NOISE), m=0.1), Estimate(noise=5.0))
FREE = ("m", "response.noise")
COLUMNS = Columns("outcome", subject="participant", response="answer")


def report() -> list[Target]:
    """In a process of its own, on all cores, while this one stays on one."""
    return tell(apart(measure))


def participants(seed: int = 1) -> Trials:
    """People who learn by surprise, each in their own way, from numbers whose mean jumps now and then."""
    rng = np.random.default_rng(seed)
    means = np.repeat(rng.uniform(0, 300, (PEOPLE, TRIALS // STAY)), STAY, 1)
    frame = pd.DataFrame({
        "participant": np.repeat(np.arange(PEOPLE), TRIALS),
        "outcome": (means + NOISE * rng.standard_normal(means.shape)).ravel(),
        "answer": means.ravel(),  # until answers are simulated
    })  # fmt: skip
    space = Space.of(MODEL, FREE)
    xs = space.start(MODEL) + 0.5 * rng.standard_normal((PEOPLE, len(space)))
    with double():
        model, data = _known(read_trials(frame, COLUMNS, responds_before=True))
        keys = jax.random.split(jax.random.key(seed), PEOPLE)
        answers = jax.jit(jax.vmap(lambda x, own, key: simulate(space.bind(model, x), own, True, key).responses))
        frame["answer"] = np.asarray(answers(xs, data, keys)).ravel()
    return read_trials(frame, COLUMNS, responds_before=True)


def _known(trials: Trials) -> Any:
    return jax.tree.map(jnp.asarray, as_double((MODEL, participant_data(MODEL, trials))))


def measure() -> dict[str, Any]:
    """Seconds for the whole posterior, with compilation, and for one evaluation of the gradient on one core."""
    trials = participants()
    assert trials.another_scale == "", trials.another_scale  # than that of their outcomes
    load = os.getloadavg()[0] if sys.platform != "win32" else 0.0
    start = time.perf_counter()
    found = hierarchical(MODEL, trials, FREE, draws=DRAWS, chains=CHAINS)
    seconds = time.perf_counter() - start
    return {
        "cores": os.cpu_count(),
        "load": load,
        "seconds": seconds,
        "gradients": int(found.drawn.n_steps.sum() + found.drawn.warmup_steps.sum()),
        "gradient": gradient(trials),
        "r_hat": float(found.trust["r_hat"].max()),
        "ess": float(min(found.trust["ess_bulk"].min(), found.trust["ess_tail"].min())),
        "divergences": found.divergences,
    }


def gradient(trials: Trials) -> float:
    """Seconds for the log-likelihood of all responses and its derivatives."""
    space = Space.of(MODEL, FREE)
    with double():
        model, data = _known(trials)
        xs = jnp.tile(space.start(MODEL), (PEOPLE, 1))
        both = jax.jit(lambda xs: log_likelihoods_and_gradients(model, data, space, True, xs), compiler_options=OPTIONS)
        return best(lambda: jax.block_until_ready(both(xs)))


def tell(found: dict[str, Any]) -> list[Target]:
    """A table, and how it compares with what was hoped for."""
    show(
        f"Posterior of {PEOPLE} participants with {TRIALS} trials: SMiLe, {CHAINS} chains of {DRAWS} draws, "
        f"{found['cores']} cores, load before {found['load']:.1f}",
        ["", ""],
        [
            ["seconds, compilation included", f"{found['seconds']:.1f}"],
            ["evaluations of the gradient", f"{found['gradients']:_}"],
            ["ms for one, on one core", f"{found['gradient'] * 1e3:.2f}"],
            ["largest R-hat", f"{found['r_hat']:.4f}"],
            ["fewest effective draws", f"{found['ess']:.0f}"],
            ["divergences", f"{found['divergences']}"],
        ],
    )
    return [
        at_most(f"posterior of {PEOPLE} participants on {found['cores']} cores", 90, found["seconds"], "s"),
        at_most(f"posterior of {PEOPLE} participants: R-hat", 1.01, found["r_hat"], ""),
    ]


if __name__ == "__main__":
    tell(measure())
