"""Models to fit to trials, from a request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from astonish.core.refusal import unknown
from astonish.models.parameters import (
    NamedParameter,
    Specification,
    find_parameter,
    matching,
    parameters,
    runs_on_family,
    with_parameters,
)
from astonish.models.registry import LEARNERS, RESPONSES
from astonish.people.analysis.report import UNFINISHED, Console
from astonish.people.analysis.requests import TrialRequest
from astonish.people.fit import Fit, Model, fit
from astonish.people.fit.estimate import usable
from astonish.people.fit.likelihood import explained
from astonish.people.fit.priors import Priors
from astonish.people.tables import Trials
from astonish.people.tables.facts import outcomes_of
from astonish.responses import Response

Responding = tuple[Response, Response | None]  # how responses come about, and second ones


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


def candidates(learners: Sequence[str], request: TrialRequest, trials: Trials, console: Console) -> list[Candidate]:
    """The models of these learners, such as "smile" or, with parameters to be fitted, "smile:m,noise".

    What was set concerns those that have such a parameter, or else the response model; a family those that run on one.
    If one of them cannot be fitted, none is.
    """
    outcomes, names = outcomes_of(trials), {learner: name_and_free(learner)[0] for learner in learners}
    on_family = [each for each, name in names.items() if runs_on_family(LEARNERS.find_for(name, trials.kind))]
    learning = {
        each: Specification.of(
            name, outcomes, request.family if each in on_family or not on_family else None, request.contexts
        )
        for each, name in names.items()
    }
    responding = _response(request, trials), _second(request, trials)
    own: dict[str, dict[str, float]] = {learner: {} for learner in learners}
    held: dict[str, float] = {}
    for word, value in request.settings.items():
        having = [learner for learner, specification in learning.items() if matching(specification.parameters, word)]
        for learner in having:
            own[learner] |= {word: value}
        if not having:
            every = {short: None for specification in learning.values() for short in specification.settable}
            each = _of_responses(responding, word)
            if each is None:
                raise unknown("parameter", word, every, of=" or ".join(learners))
            held[each.path] = float(each.known.domain.check(word, value))
    models = [
        _candidate(learner, specification, own[learner], responding, held, request, trials, console)
        for learner, specification in learning.items()
    ]
    _check_by_condition(request, models)
    for candidate in models:
        usable(candidate.model, trials, candidate.free)
    for candidate in models:
        say_assembly(console, candidate.name, candidate.model.learner, candidate.assumed)
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
    specification: Specification,
    settings: Mapping[str, float],
    responding: Responding,
    held: Mapping[str, float],
    request: TrialRequest,
    trials: Trials,
    console: Console,
) -> Candidate:
    """The model of one learner. held: parameters of the responses that are not fitted, by path, and their values."""
    listed, kind, (response, second) = name_and_free(learner)[1], specification.learner, responding
    given = specification.given(settings)
    begin = {}  # of parameters to be found that would not be used without a value, in the middle of usual ones
    for word in listed:
        for _, value, known in matching(specification.parameters, word):
            if value is None and not known.fact and known.usual is not None:
                begin[word] = 0.5 * sum(known.usual)
    assembly = specification.make(specification.given(begin) | given)
    model = with_parameters(Model(assembly.learner, response, second), held)
    learned = parameters(model.learner, "learner.")
    others = {word: _of_responses(responding, word) for word in listed if not matching(learned, word)}
    theirs = {word: each.path for word, each in others.items() if each is not None}
    from_learner = [word for word in listed if word not in theirs] or [word for word in kind.free if word not in given]
    further = [*request.fit_response_parameter, *theirs.values()]
    from_response = _free_of(response, "response.", further, held)
    if not kind.learns:
        from_response = [path for path in from_response if path != f"response.{response.scale}"]
        if trials.options is not None:  # all are alike for ever, so that only the last choice makes a difference
            from_learner, from_response = [], list(dict.fromkeys(["response.perseveration", *from_response]))
        elif response.anchored:
            from_learner = []
    free = [find_parameter(learned, word).path for word in from_learner] + from_response
    if second is not None:
        free += _free_of(second, "second.", further, held)
    model = replace(model, differs=_differing(request, model, free))
    assumed = (*assembly.assumed, *_first_responses(model, trials))
    return Candidate(learner, model, tuple(free), trials, console, assumed)


def _of_responses(responding: Responding, word: str) -> NamedParameter | None:
    """The parameter of the response model, or else of that of second responses, that a word means; None if of none."""
    for root, response in zip(("response.", "second."), responding, strict=True):
        if response is not None and matching(every := parameters(response, root), word):
            return find_parameter(every, word)
    return None


def _free_of(response: Response, root: str, further: Sequence[str], held: Mapping[str, float]) -> list[str]:
    """The free parameters of a response model: those always fitted, and those of the further ones that are its own."""
    words = [*response.free, *(word for word in further if word.startswith("second.") == (root == "second."))]
    every = parameters(response, root)
    return [path for path in dict.fromkeys(find_parameter(every, word).path for word in words) if path not in held]


def _differing(request: TrialRequest, model: Model, free: Sequence[str]) -> tuple[str, ...]:
    """The free parameters that differ between conditions: those named that the model has, or all of the learner."""
    if request.condition is None:
        return ()
    if not request.by_condition:
        return tuple(path for path in free if path.startswith("learner."))
    return tuple(path for word in request.by_condition for path in _paths(model, word) if path in free)


def _paths(model: Model, word: str) -> list[str]:
    """The path of the parameter that a word means; none if the model has no such parameter."""
    every = parameters(model)
    return [find_parameter(every, word).path] if matching(every, word) else []


def _check_by_condition(request: TrialRequest, models: Sequence[Candidate]) -> None:
    """Refuse a name that is a free parameter of no model."""
    for word in request.by_condition:
        if not any(_paths(each.model, word) for each in models):
            find_parameter(parameters(models[0].model), word)  # says what there is
        if not any(path in each.free for each in models for path in _paths(each.model, word)):
            free = ", ".join(dict.fromkeys(path for each in models for path in each.free))
            raise ValueError(f"--by-condition {word} is not free; free are {free}")


def _first_responses(model: Model, trials: Trials) -> list[str]:
    """What to say of responses before which there is none in their block, if the learner goes on from responses."""
    count = int((trials.scored & ~explained(model, trials)).sum()) if trials.responds_before else 0
    begin = "the learner starts from the first response of each block, which is therefore not explained"
    return [f"{begin} ({count} in all); with --free-running it is"] if count else []


def _response(request: TrialRequest, trials: Trials) -> Response:
    """A response model, its parameters where a search may begin."""
    kind = str(trials.response_kind)
    model = RESPONSES.find_for(request.response_model or RESPONSES.names_for(kind)[0], kind)
    response: Response = model.for_responses(trials.responses, _further(request, second=False), trials.outcome_range)
    if request.free_running and "anchored" in {field.name for field in fields(model)}:
        response = replace(response, anchored=False)  # type: ignore[call-arg]
    return response


def _second(request: TrialRequest, trials: Trials) -> Response | None:
    """The model of the second response, if there is one."""
    if (request.second_response is None) != (request.second_response_model is None):
        raise ValueError("--second-response and --second-response-model go together; give both, such as rt and log-rt")
    if request.second_response_model is None:
        return None
    model = RESPONSES.find_for(request.second_response_model, "continuous")
    second: Response = model.for_responses(trials.second, _further(request, second=True), trials.outcome_range)
    return second


def _further(request: TrialRequest, second: bool) -> list[str]:
    """Parameters of a response model that are to be fitted as well; those of the second begin with "second."."""
    words = request.fit_response_parameter
    return [word.rpartition(".")[2] for word in words if word.startswith("second.") == second]
