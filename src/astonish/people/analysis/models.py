"""How do options become models to fit to trials?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from astonish.core.domain import Parameter, by_name, matches, resolve, with_parameters
from astonish.core.refusal import unknown
from astonish.models.assemble import allowed_settings, family_class, runs_on_family
from astonish.models.registry import LEARNERS, RESPONSES
from astonish.people.analysis.console import Console
from astonish.people.analysis.options import TrialOptions, numbers
from astonish.people.analysis.outputs import UNFINISHED
from astonish.people.fit import Fit, Model, fit
from astonish.people.fit.estimate import usable
from astonish.people.fit.likelihood import explained
from astonish.people.fit.priors import Priors
from astonish.people.tables import Trials
from astonish.people.tables.facts import choose, outcomes_of
from astonish.responses import Response


@dataclass(frozen=True)
class Candidate:
    """A model to fit to trials: what it is called, which parameters are free, and what was assumed, in sentences."""

    name: str
    model: Model
    free: tuple[str, ...]
    trials: Trials
    console: Console
    assumed: tuple[str, ...] = ()

    @property
    def learner(self) -> str:
        """The name of the learner, without the parameters that are listed behind it."""
        return name_and_free(self.name)[0]

    def fit(
        self,
        starts: int,
        seed: int,
        out: Path,
        shared: Sequence[str] = (),
        priors: Priors = None,
        waited_for: bool = False,
    ) -> Fit:
        """The fit of the model; participants who are finished are kept until all are.

        waited_for: whether somebody may want to see them as they are found.
        """
        how: Any = {"shared": shared, "priors": priors, "starts": starts, "seed": seed}
        if waited_for and self.console.fitted is not None:
            how["found"] = partial(self.console.fitted, self.name)
        return self.run("fitting", fit, checkpoint=out / UNFINISHED, **how)

    def run(self, doing: str, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        """Call a fitting function on the model, with a progress bar that says what it is doing."""
        with self.console.progress(f"{doing} {self.name}") as report:
            return function(self.model, self.trials, self.free, *arguments, progress=report, **how)


def candidates(learners: Sequence[str], options: TrialOptions, trials: Trials, console: Console) -> list[Candidate]:
    """The models of these learners, such as "smile" or, with parameters to be fitted, "smile:m,noise".

    What was set concerns those that have such a parameter, a family those that run on one. If one of them cannot be
    fitted, none is.
    """
    settings, outcomes = numbers("--set", options.settings), outcomes_of(trials)
    kinds = {learner: LEARNERS.find_for(name_and_free(learner)[0], trials.kind) for learner in learners}
    on_family = [learner for learner, kind in kinds.items() if runs_on_family(kind)] or learners
    families = {learner: options.family if learner in on_family else None for learner in learners}
    homes = {learner: family_class(kind, trials.kind, families[learner]) for learner, kind in kinds.items()}
    allowed = {learner: allowed_settings(kind, homes[learner], outcomes) for learner, kind in kinds.items()}
    every = {word: known for own in allowed.values() for word, known in own.items()}
    for own in allowed.values():
        by_symbol = {word: settings.pop(word) for word in list(settings) if word not in every}
        settings |= by_name(by_symbol, own)
    response = _response(options, trials)
    of_response = {word: settings.pop(word) for word in list(settings) if word not in every and matches(response, word)}
    for word in settings:
        if word not in every:
            raise unknown("parameter", word, every, of=" or ".join(learners))
    response, held = _set(response, of_response)
    models = [
        _candidate(
            learner, settings, own, (response, held), replace(options, family=families[learner]), trials, console
        )
        for learner, own in allowed.items()
    ]
    _check_by_condition(options, models)
    for each in models:
        usable(each.model, trials, each.free)
    for each in models:
        say_assembly(console, each.name, each.model.learner, each.assumed)
    return models


def say_assembly(console: Console, name: str, learner: object, assumed: Sequence[str]) -> None:
    """Say which learner a name stands for, and what was assumed for it."""
    console.say(f"{name}: {learner}" + (", where nothing else was set:" if assumed else ""))
    for sentence in assumed:
        console.say(f"  {sentence}")


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


def _candidate(
    learner: str,
    settings: Mapping[str, float],
    allowed: Mapping[str, Parameter],
    responding: tuple[Response, Sequence[str]],
    options: TrialOptions,
    trials: Trials,
    console: Console,
) -> Candidate:
    """The model of one learner. responding: the response model, and its parameters that are not to be fitted."""
    name, listed = name_and_free(learner)
    given = {word: value for word, value in settings.items() if word in allowed}
    own = given | {
        word: _first(allowed[word])
        for word in by_name(dict.fromkeys(listed), allowed)
        if _left_out(word, allowed, given)
    }
    chosen = choose(name, trials, own, options.family, options.contexts)
    (response, held), second = responding, _second(options, trials)
    kind = LEARNERS.find(name)
    theirs = [word for word in listed if not matches(chosen.learner, word) and matches(response, word)]
    words = [*response.free, *_further(options, second=False), *theirs]
    from_response = list(dict.fromkeys(path for path in _paths(response, words) if path not in held))
    from_learner = [word for word in listed if word not in theirs] or [word for word in kind.free if word not in given]
    if not kind.learns:
        from_learner, from_response = _without_learning(response, from_learner, from_response, trials)
    free = [f"learner.{resolve(chosen.learner, word).path}" for word in from_learner]
    free += [f"response.{resolve(response, word).path}" for word in from_response]
    from_second = () if second is None else (*second.free, *_further(options, second=True))
    free += [f"second.{resolve(second, word).path}" for word in from_second]
    differs = _differing(options, Model(chosen.learner, response, second), free)
    model = Model(chosen.learner, response, second, differs=differs)
    return Candidate(learner, model, tuple(free), trials, console, (*chosen.assumed, *_first_responses(model, trials)))


def _left_out(word: str, allowed: Mapping[str, Parameter], own: Mapping[str, float]) -> bool:
    """Whether a parameter that is to be found has no value from which to begin, so that it would not be used."""
    known = allowed.get(word)
    return (
        known is not None and known.default is None and not known.fact and known.usual is not None and word not in own
    )


def _first(known: Parameter) -> float:
    assert known.usual is not None
    return 0.5 * sum(known.usual)


def _without_learning(
    response: Response, own: list[str], others: list[str], trials: Trials
) -> tuple[list[str], list[str]]:
    """The parameters that responses tell of a learner that never learns."""
    if trials.options is not None:  # all are alike for ever, so that only the last choice makes a difference
        return [], list(dict.fromkeys(["perseveration", *(word for word in others if word != response.scale)]))
    return ([] if response.anchored else own), [word for word in others if word != response.scale]


def _differing(options: TrialOptions, model: Model, free: Sequence[str]) -> tuple[str, ...]:
    """The free parameters that differ between conditions: those named that the model has, or all of the learner."""
    if options.condition is None:
        return ()
    if not options.by_condition:
        return tuple(path for path in free if path.startswith("learner."))
    return tuple(path for word in options.by_condition for path in _path(model, word) if path in free)


def _set(response: Response, values: Mapping[str, float]) -> tuple[Response, list[str]]:
    """The response model with these values of parameters, and which these are."""
    found = {word: resolve(response, word) for word in values}
    checked = {each.path: float(each.known.domain.check(word, values[word])) for word, each in found.items()}
    return with_parameters(response, checked), list(checked)


def _paths(response: Response, words: Sequence[str]) -> list[str]:
    return [resolve(response, word).path for word in words]


def _path(model: Model, word: str) -> list[str]:
    """The path of a parameter by its name; nothing if the model has none of that name."""
    return [resolve(model, word).path] if matches(model, word) else []


def _check_by_condition(options: TrialOptions, models: Sequence[Candidate]) -> None:
    """Refuse a name that is a free parameter of no model."""
    for word in options.by_condition or ():
        if not any(_path(each.model, word) for each in models):
            resolve(models[0].model, word)  # says what there is
        if not any(path in each.free for each in models for path in _path(each.model, word)):
            free = ", ".join(dict.fromkeys(path for each in models for path in each.free))
            raise ValueError(f"--by-condition {word} is not free; free are {free}")


def _first_responses(model: Model, trials: Trials) -> list[str]:
    """What to say of responses before which there is none in their block, if the learner goes on from responses."""
    count = int((trials.scored & ~explained(model, trials)).sum()) if trials.responds_before else 0
    begin = "the learner starts from the first response of each block, which is therefore not explained"
    return [f"{begin} ({count} in all); with --free-running it is"] if count else []


def _response(options: TrialOptions, trials: Trials) -> Response:
    """A response model, its parameters where a search may begin."""
    kind = str(trials.response_kind)
    model = RESPONSES.find_for(options.response_model or RESPONSES.names_for(kind)[0], kind)
    response: Response = model.for_responses(trials.responses, _further(options, second=False), trials.outcome_range)
    if options.free_running and "anchored" in {field.name for field in fields(model)}:
        response = replace(response, anchored=False)  # type: ignore[type-var]
    return response


def _second(options: TrialOptions, trials: Trials) -> Response | None:
    """The model of the second response, if there is one."""
    if (options.second_response is None) != (options.second_response_model is None):
        raise ValueError("--second-response and --second-response-model go together; give both, such as rt and log-rt")
    if options.second_response_model is None:
        return None
    model = RESPONSES.find_for(options.second_response_model, "continuous")
    second: Response = model.for_responses(trials.second, _further(options, second=True), trials.outcome_range)
    return second


def _further(options: TrialOptions, second: bool) -> list[str]:
    """Parameters of a response model that are to be fitted as well; those of the second begin with "second."."""
    words = options.free_response or []
    return [word.removeprefix("second.") for word in words if word.startswith("second.") == second]
