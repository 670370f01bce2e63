"""Which columns of a table mean what?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches


@dataclass(frozen=True)
class Columns:
    """How the columns of a table are understood, all of them by name.

    outcome: what happened on the trial; of a pair (from, to) the first is a context and the second what followed.
    subject: who took part; without it, all rows are of one participant, named "1".
    block: where it changes the belief starts anew. Either an id of the block, or 1 on first trials and 0 on all others.
    response: what the participant answered.
    ignore: where any of these is not 0, False or empty, the response that follows the outcome is known, but not to be
    explained. It is in the same row if responses are given after the outcome, else in the next row of the block.
    given: columns that give a learner's parameter trial by trial, such as {"noise": "sigma"}.
    """

    outcome: str | tuple[str, str]
    subject: str | None = None
    block: str | None = None
    response: str | None = None
    ignore: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The column, or both columns, of the outcome."""
        return (self.outcome,) if isinstance(self.outcome, str) else tuple(self.outcome)

    def check(self, there: Sequence[str]) -> None:
        """Refuse if a column is not there, with the name of one that may have been meant."""
        if len(self.outcomes) > 2:
            raise ValueError(f"outcome = {self.outcome!r} is not allowed; give one column, or a pair (from, to)")
        doubled = sorted({str(name) for name in there if list(there).count(name) > 1})
        if doubled:
            raise ValueError(f"there are several columns {doubled[0]!r}; give each a name of its own")
        for name in self._named():
            if name not in there:
                raise ValueError(f"there is no column {name!r}; {_guess(name, there)}")

    def _named(self) -> Iterator[str]:
        single = (name for name in (self.subject, self.block, self.response) if name is not None)
        yield from (*self.outcomes, *single, *self.ignore, *self.given.values())


def _guess(name: str, there: Sequence[str]) -> str:
    words = [str(column) for column in there]
    close = get_close_matches(name.lower(), [word.lower() for word in words], n=1)
    known = f"the columns are {', '.join(words)}"
    if not close:
        return known
    meant = next(word for word in words if word.lower() == close[0])
    return f"did you mean {meant!r}? T{known[1:]}"
