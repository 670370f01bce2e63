"""How do the words of a command about people's responses become trials and models?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from astonish.catalogue import FREE, choose, has
from astonish.commands.options import numbers, outcome_columns, pairs
from astonish.commands.words import say
from astonish.fit import Estimate, Model, Readout, Softmax, StickyEstimate
from astonish.fit.responses import Response
from astonish.fit.space import full_name
from astonish.table import Columns, Trials, read_trials

TIMES = ("before", "after")
RESPONSES = ("estimate", "sticky", "softmax", "readout")
_ALWAYS_FREE = {
    "estimate": ("noise",),
    "sticky": ("noise", "growth", "half", "slope"),
    "softmax": ("beta",),
    "readout": ("offset", "slope", "noise"),
}


@dataclass(frozen=True)
class Words:
    """What was said about a table of responses."""

    file: Path
    outcome: Sequence[str]
    response: str
    response_time: str
    subject: str | None
    block: str | None
    ignore: Sequence[str]
    given: Sequence[str]
    kind: str | None
    label: Sequence[str]
    range: tuple[float, float] | None
    settings: Sequence[str]
    respond: str | None
    free_running: bool
    also: Sequence[str]


@dataclass(frozen=True)
class Candidate:
    """A model to fit: what it is called, and which parameters are free."""

    name: str
    model: Model
    free: tuple[str, ...]


def read(words: Words) -> Trials:
    """The trials, after saying how they were understood."""
    if words.response_time not in TIMES:
        raise ValueError(f"--response-time {words.response_time} is not known; give one of {', '.join(TIMES)}")
    columns = Columns(
        outcome_columns(words.outcome),
        words.subject,
        words.block,
        words.response,
        ignore=tuple(words.ignore),
        given=pairs("--given", words.given),
    )
    trials = read_trials(
        words.file,
        columns,
        kind=words.kind,
        response_kind={None: None, "softmax": "choice"}.get(words.respond, "continuous"),
        before=words.response_time == "before",
        labels=list(words.label) or None,
        response_range=words.range,
    )
    say(trials.preview())
    return trials


def candidates(learners: Sequence[str], words: Words, trials: Trials) -> list[Candidate]:
    """The models that learners' names mean, such as "smile" or, with parameters to be found, "smile:m,noise".

    What was set concerns those that have such a parameter.
    """
    settings = numbers("--set", words.settings)
    names = [learner.partition(":")[0].strip() for learner in learners]
    own = [{word: value for word, value in settings.items() if has(name, trials, word)} for name in names]
    for word in settings:
        if not any(word in mine for mine in own):
            choose(names[0], trials, settings)  # which says what there is
    return [_candidate(learner, mine, words, trials) for learner, mine in zip(learners, own, strict=True)]


def _candidate(learner: str, settings: dict[str, float], words: Words, trials: Trials) -> Candidate:
    name, _, listed = (part.strip() for part in learner.partition(":"))
    choice = choose(name, trials, settings)
    say(f"{learner}: {choice.learner}" + (", where nothing else was set:" if choice.assumed else ""))
    for sentence in choice.assumed:
        say(f"  {sentence}")
    kind = _kind(words, trials)
    model = Model(choice.learner, _response(kind, words, trials))
    own = [word.strip() for word in listed.split(",") if word.strip()] or FREE[name]
    free = [f"learner.{full_name(choice.learner, word)}" for word in own]
    answers = [f"response.{full_name(model.response, word)}" for word in (*_ALWAYS_FREE[kind], *words.also)]
    return Candidate(learner, model, (*free, *answers))


def _kind(words: Words, trials: Trials) -> str:
    kind = words.respond or ("softmax" if trials.response_kind == "choice" else "estimate")
    if kind not in RESPONSES:
        raise ValueError(f"--respond {kind} is not known; give one of {', '.join(RESPONSES)}")
    return kind


def _response(kind: str, words: Words, trials: Trials) -> Response:
    """A response model, its parameters where a search may begin; those at a bound stay there unless they are free."""
    responses = np.zeros(1) if trials.responses is None else trials.responses
    noise = 0.3 * float(np.nanstd(responses)) or 1.0
    common: dict[str, Any] = {
        "noise": noise,
        "lapse": 0.05 if "lapse" in words.also else 0.0,
        "low": float(np.nanmin(responses)),
        "high": float(np.nanmax(responses)),
        "anchored": not words.free_running,
    }
    match kind:
        case "estimate":
            return Estimate(**common, growth=0.1 if "growth" in words.also else 0.0)
        case "sticky":
            return StickyEstimate(**common, growth=0.1, half=noise, slope=-1 / noise)
        case "softmax":
            return Softmax(lapse=common["lapse"])
    return Readout(float(np.nanmean(responses)), noise=noise)
