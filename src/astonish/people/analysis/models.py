"""Trials and models as a request says: tables are read; learners get a response model and free parameters."""

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
from astonish.people.analysis.requests import TableRequest, TrialRequest
from astonish.people.fit import Fit, Model, fit
from astonish.people.fit.estimate import prepare
from astonish.people.fit.likelihood import explained
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import outcomes_of
from astonish.responses import Response

# Tables


def read_outcomes(request: TableRequest, columns: Mapping[str, Any] | None = None, **responses: Any) -> Trials:
    """Read the outcomes of a table. columns, responses: what is said about responses, see `read_responses`."""
    outcome: tuple[str, ...] = request.outcome
    if request.choice is not None and request.reward is None:
        raise ValueError("--choice goes with --reward, the column of what it paid")
    if request.reward is not None:
        if request.choice is None:
            raise ValueError("--reward goes with --choice, the column of what was chosen")
        if outcome:
            raise ValueError(f"--reward {request.reward} is the outcome of a choice; leave out --outcome {outcome[0]}")
        outcome = (request.reward,)
    if not outcome:
        raise ValueError("which column is the outcome? Give --outcome COLUMN, or --choice COLUMN --reward COLUMN")
    if len(outcome) > 2:
        raise ValueError(f"--outcome was given {len(outcome)} times; give it once, or twice (from, to) for transitions")
    named = Columns(
        outcome[0] if len(outcome) == 1 else (outcome[0], outcome[1]), request.subject, request.block,
        given=dict(request.per_trial), trial=request.trial, choice=request.choice,
        counterfactual=request.counterfactual, **(columns or {}),
    )  # fmt: skip
    return read_trials(
        request.file, named, kind=request.kind, decimal=request.decimal,
        labels=list(request.label) or None, missing=list(request.missing) or None,
        options=None if request.options is None else [word.strip() for word in request.options.split(",")], **responses,
    )  # fmt: skip


def read_responses(request: TrialRequest) -> Trials:
    """Read the outcomes and responses of a table."""
    if request.choice is None and request.reward is None and request.response is None:
        raise ValueError(
            "which column is to be explained? Give --response COLUMN, or of a choice and what it paid --choice COLUMN "
            "--reward COLUMN"
        )
    if request.choice is not None and request.response is not None:
        raise ValueError(f"--choice {request.choice} is the response; leave out --response {request.response}")
    if request.by_condition and request.condition is None:
        raise ValueError(f"--by-condition {request.by_condition[0]} needs the column of conditions; give --condition")
    kind = request.response_kind
    if kind is None and request.choice is None and request.response_model is not None:
        takes = RESPONSES.find(request.response_model).takes
        kind = takes[0] if len(takes) == 1 else None
    same = ("response", "ignore", "second_response", "condition", "group", "change")
    return read_outcomes(
        request,
        {name: getattr(request, name) for name in same} | {"payoffs": request.payoff, "covariates": request.covariate},
        response_kind=kind,
        responds_before=None if request.responded is None else request.responded == "before",
        response_range=request.response_range,
        response_scale=request.response_scale,
    )


# Models


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

    def fit(self, out: Path, waited_for: bool = False, **options: Any) -> Fit:
        """Fit the model; participants who are finished are kept until all are.

        waited_for: whether somebody may want to see them as they are found. options: of `fit`.
        """
        if waited_for and self.console.fitted is not None:
            options["fitted"] = partial(self.console.fitted, self.name)
        return self.run("fitting", fit, checkpoint=out / UNFINISHED, **options)

    def run(self, doing: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a fitting function on the model, with a progress bar that says what it is doing."""
        with self.console.progress(f"{doing} {self.name}") as report:
            return function(self.model, self.trials, self.free, *arguments, progress=report, **options)


def candidates(learners: Sequence[str], request: TrialRequest, trials: Trials, console: Console) -> list[Candidate]:
    """Make the models of these learners, such as "smile" or, with parameters to be fitted, "smile:m,noise".

    What was set concerns those that have such a parameter, or else the response model; a family those that run on one.
    If one of them cannot be fitted, none is.
    """
    outcomes, names = outcomes_of(trials), {learner: name_and_free(learner)[0] for learner in learners}
    on_family = [learner for learner, name in names.items() if runs_on_family(LEARNERS.find_for(name, trials.kind))]
    learning = {
        learner: Specification.of(
            name, outcomes, request.family if learner in on_family or not on_family else None, request.contexts
        )
        for learner, name in names.items()
    }
    responding = _responding(request, trials)
    settings: dict[str, dict[str, float]] = {learner: {} for learner in learners}
    held: dict[str, float] = {}  # parameters of the responses that are not fitted, by path
    for word, value in request.settings.items():
        having = [learner for learner, specification in learning.items() if matching(specification.parameters, word)]
        for learner in having:
            settings[learner] |= {word: value}
        if not having:
            parameter = _of_responses(responding, word)
            if parameter is None:
                every = {short: None for specification in learning.values() for short in specification.settable}
                raise unknown("parameter", word, every, of=" or ".join(learners))
            held[parameter.path] = float(parameter.known.domain.check(word, value))
    models = []
    for learner, specification in learning.items():
        model, free, assumed = _assembled(learner, specification, settings[learner], responding, held, request, trials)
        models.append(Candidate(learner, model, free, trials, console, assumed))
    for word in request.by_condition:
        meant = [(other, _find(parameters(other.model), word)) for other in models]
        if all(parameter is None for _, parameter in meant):
            find_parameter(parameters(models[0].model), word)  # says what there is
        if not any(parameter is not None and parameter.path in other.free for other, parameter in meant):
            every = dict.fromkeys(path for other in models for path in other.free)
            raise ValueError(f"--by-condition {word} is not free; free are {', '.join(every)}")
    for candidate in models:
        prepare(candidate.model, trials, candidate.free)
    for candidate in models:
        say_assembly(console, candidate.name, candidate.model.learner, candidate.assumed)
    return models


def say_assembly(console: Console, name: str, learner: object, assumed: Sequence[str]) -> None:
    """Say which learner a name stands for, and what was assumed for it."""
    console.say(f"{name}: {learner}" + (", where nothing else was set:" if assumed else ""))
    for sentence in assumed:
        console.say(f"  {sentence}")


def name_and_free(learner: str) -> tuple[str, list[str]]:
    """Split the name of a learner from the parameters that are listed behind it.

    >>> name_and_free("smile:m,noise"), name_and_free("mine.py:Mine:rate"), name_and_free("delta")
    (('smile', ['m', 'noise']), ('mine.py:Mine', ['rate']), ('delta', []))
    """
    parts = [part.strip() for part in learner.split(":")]
    elsewhere = "." in parts[0] or (parts[0].isidentifier() and find_spec(parts[0]) is not None)
    length = 2 if elsewhere and parts[0] not in LEARNERS.by_name() else 1
    listed = ":".join(parts[length:])
    return ":".join(parts[:length]), [word.strip() for word in listed.split(",") if word.strip()]


def _assembled(
    learner: str,
    specification: Specification,
    settings: Mapping[str, float],
    responding: Mapping[str, Response],
    held: Mapping[str, float],
    request: TrialRequest,
    trials: Trials,
) -> tuple[Model, tuple[str, ...], tuple[str, ...]]:
    """Assemble a model; find its free parameters, and say what was assumed. held: see `candidates`."""
    listed, kind, response = name_and_free(learner)[1], specification.learner, responding["response."]
    given = specification.given(settings)
    begin = {}  # of parameters to be found that would not be used without a value, in the middle of usual ones
    for word in listed:
        for _, value, known in matching(specification.parameters, word):
            if value is None and not known.fact and known.usual is not None:
                begin[word] = 0.5 * sum(known.usual)
    assembly = specification.make(specification.given(begin) | given)
    model = with_parameters(Model(assembly.learner, *responding.values()), held)

    # Free are the parameters that are listed, or else the learner's usual ones, and those of the responses
    learned = parameters(model.learner, "learner.")
    others = {word: _of_responses(responding, word) for word in listed if not matching(learned, word)}
    theirs = {word: parameter.path for word, parameter in others.items() if parameter is not None}
    from_learner = [word for word in listed if word not in theirs] or [word for word in kind.free if word not in given]
    further, from_responses = [*request.fit_response_parameter, *theirs.values()], {}
    for root, model_of in responding.items():
        words = [*model_of.free, *(word for word in further if word.startswith("second.") == (root == "second."))]
        paths = dict.fromkeys(find_parameter(parameters(model_of, root), word).path for word in words)
        from_responses[root] = [path for path in paths if path not in held]
    if not kind.learns:
        others_of = [path for path in from_responses["response."] if path != f"response.{response.scale}"]
        if trials.options is not None:  # all are alike for ever, so that only the last choice makes a difference
            from_learner, others_of = [], list(dict.fromkeys(["response.perseveration", *others_of]))
        elif response.anchored:
            from_learner = []
        from_responses["response."] = others_of
    free = [find_parameter(learned, word).path for word in from_learner]
    free += [path for paths in from_responses.values() for path in paths]
    if request.condition is not None:  # named parameters that the model has differ, or all of the learner
        named = (_find(parameters(model), word) for word in request.by_condition)
        differs = [parameter.path for parameter in named if parameter is not None and parameter.path in free]
        of_learner = [path for path in free if path.startswith("learner.")]
        model = replace(model, differs=tuple(differs if request.by_condition else of_learner))
    assumed = list(assembly.assumed)
    count = int((trials.scored & ~explained(model, trials)).sum()) if trials.responds_before else 0
    if count:
        first = "the learner starts from the first response of each block, which is therefore not explained"
        assumed.append(f"{first} ({count} in all); with --free-running it is")
    return model, tuple(free), tuple(assumed)


def _find(every: Any, word: str) -> NamedParameter | None:
    """Find the parameter that a word means, if there is such a one."""
    return find_parameter(every, word) if matching(every, word) else None


def _of_responses(responding: Mapping[str, Response], word: str) -> NamedParameter | None:
    """Find the parameter of the response model, or else of that of second responses, that a word means."""
    places = (_find(parameters(model, root), word) for root, model in responding.items())
    return next((parameter for parameter in places if parameter is not None), None)


def _responding(request: TrialRequest, trials: Trials) -> dict[str, Response]:
    """Make the response model, and that of second responses if there are any, by the roots of their parameters.

    They have values where a search may begin.
    """
    further: dict[bool, list[str]] = {False: [], True: []}  # more parameters to be fitted, those of the second by True
    for word in request.fit_response_parameter:
        further[word.startswith("second.")].append(word.rpartition(".")[2])
    kind = str(trials.response_kind)
    model = RESPONSES.find_for(request.response_model or RESPONSES.names_for(kind)[0], kind)
    response: Any = model.for_responses(trials.responses, further[False], trials.outcome_range)
    if request.free_running and "anchored" in {field.name for field in fields(model)}:
        response = replace(response, anchored=False)
    if (request.second_response is None) != (request.second_response_model is None):
        raise ValueError("--second-response and --second-response-model go together; give both, such as rt and log-rt")
    responding = {"response.": response}
    if request.second_response_model is not None:
        model = RESPONSES.find_for(request.second_response_model, "continuous")
        responding["second."] = model.for_responses(trials.second, further[True], trials.outcome_range)
    return responding
