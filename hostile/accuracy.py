"""Does gamma agree with 80-digit arithmetic, whatever the belief and the sample?"""

import numpy as np

from astonish.core.numbers import double
from attack import Report
from test_accuracy import random_gamma

DIGITS = 1e-7


def attack(cases: int) -> Report:
    """So many random beliefs, samples and values of m, each over many orders of magnitude."""
    rng, failures, worst = np.random.default_rng(14), [], 0.0
    with double():
        for _ in range(cases):
            case, exact, ours = random_gamma(rng)
            off = abs(ours - exact) / (exact + 1e-2)  # seven digits, or 1e-9
            worst = max(worst, off)
            if not off < DIGITS:
                failures.append(f"{case}: gamma is {ours!r}, and should be {exact!r}")
    tried = "gamma of random beliefs (parameters up to a million), samples and m (1e-6 to 1e6), against 80 digits"
    return Report("Accuracy", tried, cases, f"seven digits, or 1e-9: at worst {worst:.1g} of 1e-7 allowed", failures)
