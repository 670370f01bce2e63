"""Tables of trials, read as a request says."""

from typing import Any

from astonish.models.registry import RESPONSES
from astonish.people.analysis.requests import TableRequest, TrialRequest
from astonish.people.tables import Columns, Trials, read_trials


def read_outcomes(request: TableRequest) -> Trials:
    """Read the outcomes of a table."""
    return _read(request, {}, {})


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
    columns = {
        "response": request.response,
        "ignore": request.ignore,
        "payoffs": request.payoff,
        "second_response": request.second_response,
        "condition": request.condition,
        "group": request.group,
        "covariates": request.covariate,
        "change": request.change,
    }
    model = None if request.response_model is None else RESPONSES.find(request.response_model)
    by_model = None if model is None or len(model.takes) > 1 else model.takes[0]
    responses = {
        "response_kind": request.response_kind,
        "responds_before": None if request.responded is None else request.responded == "before",
        "response_range": request.response_range,
        "response_scale": request.response_scale,
    }
    if request.response_kind is None and request.choice is None:
        responses["response_kind"] = by_model
    return _read(request, columns, responses)


def _read(request: TableRequest, columns: dict[str, Any], responses: dict[str, Any]) -> Trials:
    named = Columns(
        _outcome(request),
        request.subject,
        request.block,
        given=dict(request.per_trial),
        trial=request.trial,
        choice=request.choice,
        counterfactual=request.counterfactual,
        **columns,
    )
    return read_trials(
        request.file,
        named,
        kind=request.kind,
        labels=list(request.label) or None,
        missing=list(request.missing) or None,
        decimal=request.decimal,
        options=None if request.options is None else [word.strip() for word in request.options.split(",")],
        **responses,
    )


def _outcome(request: TableRequest) -> str | tuple[str, str]:
    """The column of the outcome, two for transitions, or that of the reward."""
    names = request.outcome
    if request.choice is not None and request.reward is None:
        raise ValueError("--choice goes with --reward, the column of what it paid")
    if request.reward is not None:
        if request.choice is None:
            raise ValueError("--reward goes with --choice, the column of what was chosen")
        if names:
            raise ValueError(f"--reward {request.reward} is the outcome of a choice; leave out --outcome {names[0]}")
        return request.reward
    if not names:
        raise ValueError("which column is the outcome? Give --outcome COLUMN, or --choice COLUMN --reward COLUMN")
    if len(names) > 2:
        raise ValueError(f"--outcome was given {len(names)} times; give it once, or twice (from, to) for transitions")
    return names[0] if len(names) == 1 else (names[0], names[1])
