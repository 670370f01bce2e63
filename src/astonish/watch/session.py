"""From lines on standard input to readings: learn from every sample, in order, and show it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import BinaryIO

from astonish.watch.feed import Feed, Follower
from astonish.watch.lines import Numbered, read_numbers
from astonish.watch.views import Show

Maker = Callable[[list[float]], Follower]


class Session:
    """Follows a stream until it ends.

    left_out: how many lines had no number that could be learned from. waiting: samples that came, but were not learned
    from yet, because more are needed before the follower is made. was_interrupted: whether it was ended by Ctrl-C.
    """

    def __init__(self, feed: Feed, say: Callable[[str], None]) -> None:
        self.feed, self.left_out, self._say = feed, 0, say
        self.waiting: list[Numbered] = []
        self.was_interrupted = False

    def run(
        self,
        source: BinaryIO,
        column: str | None,
        needed: int,
        make: Maker,
        view: Callable[[], AbstractContextManager[Show]],
    ) -> None:
        """Follow all samples of a source.

        needed: how many are read before the follower is made of them; they are then learned from like all others.
        """
        numbers = read_numbers(source, self._complain, column)
        if needed:
            self.feed.about = f"waiting for the first {needed} samples"
            self._say(f"astonish: {self.feed.about}")
        try:
            self.waiting.extend(islice(numbers, needed))
            follower = make([number.x for number in self.waiting])
            self.feed.about, self.feed.code = follower.description, follower.code
            self._say(f"astonish: {follower.description}")
            with view() as show:
                first, self.waiting = self.waiting, []
                self._follow(follower, chain(first, numbers), show)
        except KeyboardInterrupt:
            self.was_interrupted = True
            raise
        finally:
            self.feed.is_over = True

    def _follow(self, follower: Follower, numbers: Iterator[Numbered], show: Show) -> None:
        for line, x in numbers:
            try:
                reading = follower.update(x)
            except ValueError as problem:
                self._complain(line, str(problem))
            else:
                show(self.feed.add(x, reading))

    def _complain(self, line: int, problem: str) -> None:
        self.left_out += 1
        self._say(f"astonish: line {line} is left out: {problem}")
