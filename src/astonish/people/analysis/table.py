"""How do options become trials?"""

from typing import Any

from astonish.models.registry import RESPONSES
from astonish.people.analysis.options import TableOptions, TrialOptions, pairs
from astonish.people.tables import Columns, Trials, read_trials


def read_outcomes(options: TableOptions) -> Trials:
    """The outcomes of a table."""
    return _read(options, {}, {})


def read_responses(options: TrialOptions) -> Trials:
    """The outcomes and responses of a table."""
    if options.choice is None and options.reward is None and options.response is None:
        raise ValueError(
            "which column is to be explained? Give --response COLUMN, or of a choice and what it paid --choice COLUMN "
            "--reward COLUMN"
        )
    if options.choice is not None and options.response is not None:
        raise ValueError(f"--choice {options.choice} is the response; leave out --response {options.response}")
    columns = {
        "response": options.response,
        "ignore": tuple(options.ignore or ()),
        "payoffs": tuple(options.payoff or ()),
        "second_response": options.second_response,
        "condition": options.condition,
        "group": options.group,
        "covariates": tuple(options.covariate or ()),
        "change": options.change,
    }
    if options.by_condition and options.condition is None:
        raise ValueError(f"--by-condition {options.by_condition[0]} needs the column of conditions; give --condition")
    model = None if options.response_model is None else RESPONSES.find(options.response_model)
    by_model = None if model is None or len(model.takes) > 1 else model.takes[0]
    asked = {
        "response_kind": options.response_kind or (by_model if options.choice is None else None),
        "responds_before": None if options.responded is None else options.responded == "before",
        "response_range": options.response_range,
        "response_scale": options.response_scale,
    }
    return _read(options, columns, asked)


def _read(options: TableOptions, columns: dict[str, Any], asked: dict[str, Any]) -> Trials:
    named = Columns(
        _outcome(options),
        options.subject,
        options.block,
        given=pairs("--given", options.given),
        trial=options.trial,
        choice=options.choice,
        counterfactual=tuple(options.counterfactual or ()),
        **columns,
    )
    return read_trials(
        options.file,
        named,
        kind=options.kind,
        labels=options.label or None,
        missing=options.missing or None,
        decimal=options.decimal,
        options=None if options.options is None else [word.strip() for word in options.options.split(",")],
        **asked,
    )


def _outcome(options: TableOptions) -> str | tuple[str, str]:
    """The column of the outcome, two for transitions, or that of the reward."""
    names = options.outcome or []
    if (options.choice is None) != (options.reward is None):
        one, other = ("--choice", "--reward") if options.reward is None else ("--reward", "--choice")
        raise ValueError(
            f"{one} goes with {other}, the column of {'what it paid' if other == '--reward' else 'what was chosen'}"
        )
    if options.reward is not None:
        if names:
            raise ValueError(f"--reward {options.reward} is the outcome of a choice; leave out --outcome {names[0]}")
        return options.reward
    if not names:
        raise ValueError("which column is the outcome? Give --outcome COLUMN, or --choice COLUMN --reward COLUMN")
    if len(names) > 2:
        raise ValueError(f"--outcome was given {len(names)} times; give it once, or twice (from, to) for transitions")
    return names[0] if len(names) == 1 else (names[0], names[1])
