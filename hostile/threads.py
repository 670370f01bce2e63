"""Is any update lost, or any key mixed up, when many threads learn at once?"""

import numpy as np

from astonish import Bank, Stream
from attack import Report
from test_interrupted import BAYES, in_threads

THREADS = 8


def attack(updates: int) -> Report:
    """So many updates of a stream, and of a bank whose keys all threads share."""
    each, failures = updates // (2 * THREADS), []
    stream, bank = Stream(BAYES), Bank(BAYES, 2 * THREADS)

    def work(thread: int) -> None:
        for _ in range(each):
            stream.update(1.0)
            bank.update([0, thread + 1], [1.0, float(thread)])

    in_threads(work, THREADS)
    if round(BAYES.belief(stream.state).std ** -2) != THREADS * each + 1:
        failures.append("a stream has lost updates")
    counts = [round(BAYES.belief(bank.state(key)).std ** -2) - 1 for key in range(THREADS + 1)]
    if counts != [THREADS * each, *[each] * THREADS]:
        failures.append(f"the keys of a bank had {counts} updates")
    wanted = np.arange(THREADS) * each / (each + 1)
    if not np.allclose(bank.estimate(range(1, THREADS + 1)), wanted):
        failures.append("the keys of a bank were mixed up")
    tried = f"updates of one stream and one bank by {THREADS} threads at once"
    return Report("Threads", tried, 2 * THREADS * each, "none lost, no keys mixed up", failures)
