"""How do the options of a command become trials, and models to fit to them?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from astonish.assemble import choose, family_class, runs_on_family
from astonish.catalogue import LEARNERS, RESPONSES, settable
from astonish.cli.console import progress, say, say_assembly
from astonish.cli.options import TrialOptions, numbers, outcome_columns, pairs
from astonish.cli.outputs import UNFINISHED
from astonish.deprecated import by_new_names
from astonish.domain import resolve
from astonish.fit import Fit, Model, fit
from astonish.refusal import unknown
from astonish.responses import Response
from astonish.trials import Columns, Trials, read_trials


@dataclass(frozen=True)
class Candidate:
    """A model to fit to trials: what it is called, and which parameters are free."""

    name: str
    model: Model
    free: tuple[str, ...]
    trials: Trials

    def fit(self, starts: int, seed: int, out: Path, shared: Sequence[str] = ()) -> Fit:
        """The fit of the model; participants who are finished are kept until all are."""
        return self.run("fitting", fit, shared=shared, starts=starts, seed=seed, checkpoint=out / UNFINISHED)

    def run(self, doing: str, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        """What a function of `astonish.fit` makes of the model, with a progress bar that says what it is doing."""
        with progress(f"{doing} {self.name}") as report:
            return function(self.model, self.trials, self.free, *arguments, progress=report, **how)


def candidates(learners: Sequence[str], options: TrialOptions) -> list[Candidate]:
    """The models of these learners, such as "smile" or, with parameters to be fitted, "smile:m,noise".

    What was set concerns those that have such a parameter, a family those that run on one.
    """
    trials, settings, allowed = _trials(options), numbers("--set", options.settings), {}
    old_names: dict[str, str] = {}
    kinds = {learner: LEARNERS.find_for(name_and_free(learner)[0], trials.kind) for learner in learners}
    on_family = [learner for learner, kind in kinds.items() if runs_on_family(kind)] or learners
    families = {learner: options.family if learner in on_family else None for learner in learners}
    for learner, kind in kinds.items():
        allowed[learner] = settable(kind, family_class(kind, trials.kind, families[learner]))
        old_names |= kind.old_names
    every = dict.fromkeys(word for own in allowed.values() for word in own)
    settings = by_new_names({old: new for old, new in old_names.items() if old not in every}, settings, "--set")
    for word in settings:
        if word not in every:
            raise unknown("parameter", word, every, of=" or ".join(learners))
    return [
        _candidate(
            learner,
            {word: settings[word] for word in settings if word in own},
            replace(options, family=families[learner]),
            trials,
        )
        for learner, own in allowed.items()
    ]


def name_and_free(learner: str) -> tuple[str, list[str]]:
    """The name of a learner, and the parameters that are listed behind it.

    >>> name_and_free("smile:m,noise"), name_and_free("mine.py:Mine:rate"), name_and_free("delta")
    (('smile', ['m', 'noise']), ('mine.py:Mine', ['rate']), ('delta', []))
    """
    parts = [part.strip() for part in learner.split(":")]
    elsewhere = "." in parts[0] or (parts[0].isidentifier() and find_spec(parts[0]) is not None)
    length = 2 if elsewhere and parts[0] not in LEARNERS.by_name() else 1
    listed = ":".join(parts[length:])
    return ":".join(parts[:length]), [word.strip() for word in listed.split(",") if word.strip()]


def _trials(options: TrialOptions) -> Trials:
    """The trials, after saying how they were understood."""
    columns = Columns(
        outcome_columns(options.outcome),
        options.subject,
        options.block,
        options.response,
        ignore=tuple(options.ignore or ()),
        given=pairs("--given", options.given),
    )
    model = None if options.response_model is None else RESPONSES.find(options.response_model)
    trials = read_trials(
        options.file,
        columns,
        kind=options.kind,
        response_kind=None if model is None or len(model.takes) > 1 else model.takes[0],
        responds_before=options.responded == "before",
        labels=options.label or None,
        response_range=options.response_range,
    )
    say(trials.preview())
    return trials


def _candidate(learner: str, settings: Mapping[str, float], options: TrialOptions, trials: Trials) -> Candidate:
    name, listed = name_and_free(learner)
    chosen = choose(name, trials, settings, options.family, options.contexts)
    response = _response(options, trials)
    say_assembly(learner, chosen.learner, chosen.assumed)
    free = [f"learner.{resolve(chosen.learner, word).path}" for word in listed or LEARNERS.find(name).free]
    also = [*response.free, *(options.free_response or ())]
    free += [f"response.{resolve(response, word).path}" for word in also]
    return Candidate(learner, Model(chosen.learner, response), tuple(free), trials)


def _response(options: TrialOptions, trials: Trials) -> Response:
    """A response model, its parameters where a search may begin."""
    kind = str(trials.response_kind)
    model = RESPONSES.find_for(options.response_model or RESPONSES.names_for(kind)[0], kind)
    response: Response = model.for_responses(trials.responses, options.free_response or ())
    if options.free_running and "anchored" in {field.name for field in fields(model)}:
        response = replace(response, anchored=False)  # type: ignore[type-var]
    return response
