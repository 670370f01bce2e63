"""How are words refused that are not known, and questions that a learner or a family cannot answer?"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def unknown(what: str, word: str, known: Iterable[Any], of: str = "") -> ValueError:
    """The error for a word that is none of those known. of: what it would belong to.

    >>> print(unknown("learner", "smil", ["smile", "delta"]))
    there is no learner 'smil'; did you mean 'smile'? Known are smile, delta
    """
    words = [str(each) for each in known]
    meant = did_you_mean(word, words)
    listed = f"{'Known' if meant else 'known'} are {', '.join(words)}" if words else "none are known"
    return ValueError(f"there is no {what} {word!r}{f' of {of}' if of else ''}; {meant}{listed}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that names the known word that is most like this one; empty if none is like it."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]!r}? " if close else ""


def cannot_continue(who: str) -> ValueError:
    """The error for a learner, or a belief, that cannot go on from another estimate than its own."""
    advice = "give a response that is not anchored (--free-running), or another learner"
    return ValueError(f"{who} cannot go on from someone's answer; {advice}")


def cannot_simulate(who: str) -> ValueError:
    """The error for a learner, or a family, without a model of how samples come about."""
    advice = "give a series in which nothing changes to Detector.calibrated"
    return ValueError(f"{who} does not say how samples come about, so none can be drawn; {advice}")
