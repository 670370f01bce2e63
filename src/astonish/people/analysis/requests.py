"""Requests about a table of trials and the models that are to explain it: one class for each command.

A new option of a command is a field here, and the code that uses it.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from astonish.core.names import Contexts, OutcomeKind, ResponseKind
from astonish.io.request import (
    SEVERAL,
    Column,
    Columns,
    Ends,
    FamilyName,
    Learner,
    Request,
    ResponseName,
    Words,
    asked,
    assignments,
)
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES

OWN = "Or a class of your own: file.py:Class, or module:Class."
LEARNER_HELP = f"One of {', '.join(LEARNERS.names)}. {OWN} `astonish learners` lists their parameters."
FITTED_HELP = f"A learner, perhaps with the parameters to be fitted, as in smile:m or smile:m,noise. {LEARNER_HELP}"
FAMILY_HELP = f"Family of beliefs: {', '.join(FAMILIES.names)}"
STARTS = "Searches for each participant, from different starts."
OUT = "Folder for tables, pictures and the report."
SEARCH = "Search and output"
_table, _responses, _people, _model, _search, _bids = (
    partial(asked, default=None, heading=heading)
    for heading in ("Table", "Responses", "People and conditions", "Model", SEARCH, "BIDS")
)

Settings = Annotated[dict[str, float], assignments("--set")]
PerTrial = Annotated[dict[str, str], assignments("--per-trial")]
Learners = Annotated[tuple[Learner, ...], SEVERAL]


class TableRequest(Request):
    """What can be said about a table of outcomes."""

    file: Path = asked(
        "Table with a row for each trial: .csv, .tsv (also .gz), .parquet or .xlsx; or a request, .toml.", argument=True
    )
    outcome: Columns = _table(
        "Column of the outcome. Twice for transitions: where from, where to.", default=(), label="column of the outcome"
    )
    choice: Column | None = _table(
        "Column of the option that was chosen, if outcomes are what that option paid.",
        label="column of the choice (if the outcome is what it paid)",
    )
    reward: Column | None = _table("Column of what the chosen option paid.", label="column of what the choice paid")
    options: str | None = _table(
        "All options that can be chosen, as in A,B,C; else those that were.",
        label="options that can be chosen, as in A,B,C (else those that were)",
    )
    counterfactual: Columns = _table(
        "Column of what was shown of the option not chosen; of several options, once for each, in order.",
        default=(),
        label="columns of what the options not chosen would have paid, as shown",
    )
    subject: Column | None = _table("Column that names the participant.", label="column of the participant")
    block: Column | None = _table(
        "Column that numbers blocks, or has 1 on first trials; beliefs start anew.", label="column of the block"
    )
    trial: Column | None = _table(
        "Column by which the trials of a block are ordered; else by the order of the rows.",
        label="column by which trials are ordered",
    )
    kind: OutcomeKind | None = _table(
        "Kind of the outcome; else guessed (but angles, circular, never are).", label="kind of outcome"
    )
    label: Words = _table(
        "An outcome that can occur, once for each; else those that do. Of two, the first is 0, the second 1.",
        default=(),
        label="outcomes that can occur (else those that do)",
    )
    missing: Words = _table(
        "What else means that a cell is missing, such as -999; else only empty, NA and NaN.",
        default=(),
        label="what else means that a cell is missing",
    )
    decimal: Literal[",", "."] | None = _table("The mark of decimals; else recognised.", label="mark of decimals")
    per_trial: PerTrial = _table(
        "A parameter that a column gives trial by trial, such as noise=sigma.",
        default={},
        label="parameters that columns give trial by trial, such as noise=sigma",
    )
    settings: Settings = _model(
        "A parameter that is given, such as m=0.1, noise=25 or mean=0; it is not fitted, unless it is listed.",
        default={},
        flag="--set",
        label="parameters that are set, such as m=0.1",
    )
    family: FamilyName | None = _model(
        f"{FAMILY_HELP}; else the usual one for the outcomes. {OWN}", label="family of beliefs"
    )
    contexts: Contexts | None = _model(
        "For transitions: does the learner forget, or suspect changes, in all contexts together, or is it apart in "
        "each? Else as is usual for it.",
        label="contexts of transitions: forget in all together, or apart in each",
    )


class SurpriseRequest(TableRequest):
    """What can be asked about the surprise of trials."""

    command: ClassVar[str] = "surprise"
    learner: Learner = _model(LEARNER_HELP, default="smile", label="learner")
    measure: Words = _model(
        "A measure of surprise, such as shannon, a quantity of the learner, novelty, or all that apply; else the "
        "learner's own surprise.",
        default=(),
    )
    hazard: float | None = _model("Probability of a change before each trial, for measures that take it into account.")
    prefix: str = _search("Goes before the names of new columns.", default="")
    out: Path | None = _search(
        "File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids."
    )
    bids: bool = _bids("Write events files in a BIDS folder.", default=False)
    bids_datatype: Literal["beh", "func", "eeg", "meg"] = _bids(
        "What was recorded, and so where events files go: behaviour, fMRI, EEG or MEG.", default="beh"
    )
    onset: Column = _bids("Column of onsets in seconds.", default="onset")
    duration: str = _bids("Column of durations, or seconds for all.", default="duration")
    task: str = _bids("What the task is called.", default="task")

    @property
    def target(self) -> Path:
        """What is written: a file, or a BIDS folder."""
        return self.out or Path("bids" if self.bids else "regressors.csv")


class TrialRequest(TableRequest):
    """What can be said about a table of outcomes and responses, and about the models that are to explain them."""

    response: Column | None = _responses("Column of the response.", label="column of the response")
    responded: Literal["before", "after"] | None = _responses(
        "Is it given before or after the trial's outcome is seen?",
        label="responded: before or after the outcome is seen",
    )
    ignore: Columns = _responses(
        "Column that marks trials after whose outcome the response is not explained; with --choice, choices in the "
        "same row.",
        default=(),
        label="columns that mark trials whose responses are not explained",
    )
    response_kind: ResponseKind | None = _responses(
        "Are responses numbers, or choices? Else guessed, or asked.", label="response kind: numbers, or choices"
    )
    response_range: Ends | None = _responses(
        "Smallest and largest possible response, as they are written.",
        flag="--range",
        label="range: smallest and largest possible response",
    )
    response_scale: Ends | None = _responses(
        "Responses that mean 0 and 1, such as 0 100 for percentages.",
        label="response scale: responses that mean 0 and 1, such as 0 100",
    )
    second_response: Column | None = _responses(
        "Column of a second response of the same trial, such as a reaction time or a confidence.",
        label="column of a second response, such as a reaction time",
    )
    payoff: Columns = _responses(
        "Column of what an option would have paid, once for each option in order, for simulations.",
        default=(),
        label="columns of what each option would have paid, for simulations",
    )
    condition: Column | None = _people(
        "Column of conditions between which parameters may differ.", label="column of the condition"
    )
    by_condition: Words = _people(
        "A parameter that differs between conditions; else all free ones of the learner.",
        default=(),
        label="parameters that differ between conditions (else all free ones of the learner)",
    )
    group: Column | None = _people("Column of the group that a participant belongs to.", label="column of the group")
    covariate: Columns = _people(
        "Column of a number known of each participant, such as age.",
        default=(),
        label="columns of numbers known of each participant, such as age",
    )
    change: Column | None = _people(
        "Column that is 1 where the world has just changed, for figures.",
        label="column that is 1 where the world has just changed",
    )
    response_model: ResponseName | None = _model(
        f"How people respond: {', '.join(RESPONSES.names)}; else by the kind of response. {OWN}", label="response model"
    )
    second_response_model: ResponseName | None = _model(
        "How the second response comes about: log-rt, confidence or readout.", label="model of the second response"
    )
    free_running: bool = _model(
        "The learner does not go on from the participant's own last response.",
        default=False,
        label="free-running: the learner does not go on from each response",
    )
    fit_response_parameter: Words = _model(
        "Another parameter of the response model to be fitted, such as growth, lapse or perseveration; of the second, "
        "as in second.by_variance.",
        default=(),
        label="more parameters of the response model to fit, such as lapse",
    )
    weak_priors: bool = _search(
        "Maximum a posteriori, with weak priors where people's values usually lie; recommended for few trials.",
        default=False,
        label="weak priors: recommended for few trials",
    )
    seed: int = _search("Random seed; the same seed gives the same results.", default=0, label="random seed")


class FitRequest(TrialRequest):
    """What can be asked about a fit."""

    command: ClassVar[str] = "fit"
    learner: Learner = _model(FITTED_HELP, default="smile", label="learner")
    shared: Words = _model(
        "A parameter that is the same for all participants.", default=(), label="parameters that all participants share"
    )
    starts: int = _search(STARTS, default=10, label="searches for each participant")
    posterior: int = _search(
        "Also so many draws of each chain from the posterior of participants and group.", default=0
    )
    out: Path = _search(OUT, default=Path("fit"))


class CompareRequest(TrialRequest):
    """What can be asked about a comparison of learners."""

    command: ClassVar[str] = "compare"
    learner: Learners = _model(
        f"{FITTED_HELP} Once each; differences are to the first.", default=("delta", "smile"), label="learners"
    )
    baseline: bool = _model(
        "Also compare with a baseline that never learns.",
        default=True,
        label="compare with a baseline that never learns",
    )
    starts: int = _search(STARTS, default=10, label="searches for each participant")
    held_out: bool = _search(
        "Also leave out blocks, and predict them.", default=False, label="also leave out blocks, and predict them"
    )
    folds: int | None = _search(
        "With --held-out: leave out so many stretches of each participant's trials instead of blocks.",
        label="stretches of trials to leave out instead of blocks",
    )
    score: Literal["log-probability", "mse"] = _search(
        "How predictions of blocks left out are scored.", default="log-probability", label="score of predictions"
    )
    out: Path = _search(OUT, default=Path("comparison"))


class RecoverRequest(TrialRequest):
    """What can be asked about a recovery of parameters and learners."""

    command: ClassVar[str] = "recover"
    learner: Learners = _model(
        f"{FITTED_HELP} Several: could they be distinguished?", default=("smile",), label="learners"
    )
    participants: int = _search(
        "How many to simulate with each learner.", default=200, label="participants to simulate with each learner"
    )
    trials: Annotated[tuple[int, ...], SEVERAL] = _search(
        "Also with so many trials, once for each number: how many are needed?",
        default=(),
        label="also with so many trials: how many are needed?",
    )
    out: Path = _search(OUT, default=Path("recovery"))
