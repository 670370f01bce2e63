"""What can be asked about a table of trials and the models that are to explain it: one class for each command.

A new option of a command is a field here, and the code that uses it.
"""

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
TABLE, ANSWERS, PEOPLE, MODEL, SEARCH = "Table", "Responses", "People and conditions", "Model", "Search and output"

Settings = Annotated[dict[str, float], assignments("--set")]
PerTrial = Annotated[dict[str, str], assignments("--per-trial")]
Learners = Annotated[tuple[Learner, ...], SEVERAL]


class TableRequest(Request):
    """What can be said about a table of outcomes."""

    file: Path = asked(
        "Table with a row for each trial: .csv, .tsv (also .gz), .parquet or .xlsx; or a request, .toml.",
        argument=True,
    )
    outcome: Columns = asked(
        "Column of the outcome. Twice for transitions: where from, where to.", (), TABLE, label="column of the outcome"
    )
    choice: Column | None = asked(
        "Column of the option that was chosen, if outcomes are what that option paid.",
        None,
        TABLE,
        label="column of the choice (if the outcome is what it paid)",
    )
    reward: Column | None = asked(
        "Column of what the chosen option paid.", None, TABLE, label="column of what the choice paid"
    )
    options: str | None = asked(
        "All options that can be chosen, as in A,B,C; else those that were.",
        None,
        TABLE,
        label="options that can be chosen, as in A,B,C (else those that were)",
    )
    counterfactual: Columns = asked(
        "Column of what was shown of the option not chosen; of several options, once for each, in order.",
        (),
        TABLE,
        label="columns of what the options not chosen would have paid, as shown",
    )
    subject: Column | None = asked("Column that names the participant.", None, TABLE, label="column of the participant")
    block: Column | None = asked(
        "Column that numbers blocks, or has 1 on first trials; beliefs start anew.",
        None,
        TABLE,
        label="column of the block",
    )
    trial: Column | None = asked(
        "Column by which the trials of a block are ordered; else by the order of the rows.",
        None,
        TABLE,
        label="column by which trials are ordered",
    )
    kind: OutcomeKind | None = asked(
        "Kind of the outcome; else guessed (but angles, circular, never are).", None, TABLE, label="kind of outcome"
    )
    label: Words = asked(
        "An outcome that can occur, once for each; else those that do. Of two, the first is 0, the second 1.",
        (),
        TABLE,
        label="outcomes that can occur (else those that do)",
    )
    missing: Words = asked(
        "What else means that a cell is missing, such as -999; else only empty, NA and NaN.",
        (),
        TABLE,
        label="what else means that a cell is missing",
    )
    decimal: Literal[",", "."] | None = asked(
        "The mark of decimals; else recognised.", None, TABLE, label="mark of decimals"
    )
    per_trial: PerTrial = asked(
        "A parameter that a column gives trial by trial, such as noise=sigma.",
        {},
        TABLE,
        label="parameters that columns give trial by trial, such as noise=sigma",
    )
    settings: Settings = asked(
        "A parameter that is given, such as m=0.1, noise=25 or mean=0; it is not fitted, unless it is listed.",
        {},
        MODEL,
        flag="--set",
        label="parameters that are set, such as m=0.1",
    )
    family: FamilyName | None = asked(
        f"{FAMILY_HELP}; else the usual one for the outcomes. {OWN}", None, MODEL, label="family of beliefs"
    )
    contexts: Contexts | None = asked(
        "For transitions: does the learner forget, or suspect changes, in all contexts together, or is it apart in "
        "each? Else as is usual for it.",
        None,
        MODEL,
        label="contexts of transitions: forget in all together, or apart in each",
    )


class SurpriseRequest(TableRequest):
    """What can be asked about the surprise of trials."""

    command: ClassVar[str] = "surprise"
    learner: Learner = asked(LEARNER_HELP, "smile", MODEL, label="learner")
    measure: Words = asked(
        "A measure of surprise, such as shannon, a quantity of the learner, novelty, or all that apply; else the "
        "learner's own surprise.",
        (),
        MODEL,
    )
    hazard: float | None = asked(
        "Probability of a change before each trial, for measures that take it into account.", None, MODEL
    )
    prefix: str = asked("Goes before the names of new columns.", "", SEARCH)
    out: Path | None = asked(
        "File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids.", None, SEARCH
    )
    bids: bool = asked("Write events files in a BIDS folder.", False, "BIDS")
    bids_datatype: Literal["beh", "func", "eeg", "meg"] = asked(
        "What was recorded, and so where events files go: behaviour, fMRI, EEG or MEG.", "beh", "BIDS"
    )
    onset: Column = asked("Column of onsets in seconds.", "onset", "BIDS")
    duration: str = asked("Column of durations, or seconds for all.", "duration", "BIDS")
    task: str = asked("What the task is called.", "task", "BIDS")

    @property
    def target(self) -> Path:
        """What is written: a file, or a BIDS folder."""
        return self.out or Path("bids" if self.bids else "regressors.csv")


class TrialRequest(TableRequest):
    """What can be said about a table of outcomes and responses, and about the models that are to explain them."""

    response: Column | None = asked("Column of the response.", None, ANSWERS, label="column of the response")
    responded: Literal["before", "after"] | None = asked(
        "Is it given before or after the trial's outcome is seen?",
        None,
        ANSWERS,
        label="responded: before or after the outcome is seen",
    )
    ignore: Columns = asked(
        "Column that marks trials after whose outcome the response is not explained; with --choice, choices in the "
        "same row.",
        (),
        ANSWERS,
        label="columns that mark trials whose responses are not explained",
    )
    response_kind: ResponseKind | None = asked(
        "Are responses numbers, or choices? Else guessed, or asked.",
        None,
        ANSWERS,
        label="response kind: numbers, or choices",
    )
    response_range: Ends | None = asked(
        "Smallest and largest possible response, as they are written.",
        None,
        ANSWERS,
        flag="--range",
        label="range: smallest and largest possible response",
    )
    response_scale: Ends | None = asked(
        "Responses that mean 0 and 1, such as 0 100 for percentages.",
        None,
        ANSWERS,
        metavar="LOW HIGH",
        label="response scale: responses that mean 0 and 1, such as 0 100",
    )
    second_response: Column | None = asked(
        "Column of a second response of the same trial, such as a reaction time or a confidence.",
        None,
        ANSWERS,
        label="column of a second response, such as a reaction time",
    )
    payoff: Columns = asked(
        "Column of what an option would have paid, once for each option in order, for simulations.",
        (),
        ANSWERS,
        label="columns of what each option would have paid, for simulations",
    )
    condition: Column | None = asked(
        "Column of conditions between which parameters may differ.", None, PEOPLE, label="column of the condition"
    )
    by_condition: Words = asked(
        "A parameter that differs between conditions; else all free ones of the learner.",
        (),
        PEOPLE,
        label="parameters that differ between conditions (else all free ones of the learner)",
    )
    group: Column | None = asked(
        "Column of the group that a participant belongs to.", None, PEOPLE, label="column of the group"
    )
    covariate: Columns = asked(
        "Column of a number known of each participant, such as age.",
        (),
        PEOPLE,
        label="columns of numbers known of each participant, such as age",
    )
    change: Column | None = asked(
        "Column that is 1 where the world has just changed, for figures.",
        None,
        PEOPLE,
        label="column that is 1 where the world has just changed",
    )
    response_model: ResponseName | None = asked(
        f"How people respond: {', '.join(RESPONSES.names)}; else by the kind of response. {OWN}",
        None,
        MODEL,
        label="response model",
    )
    second_response_model: ResponseName | None = asked(
        "How the second response comes about: log-rt, confidence or readout.",
        None,
        MODEL,
        label="model of the second response",
    )
    free_running: bool = asked(
        "The learner does not go on from the participant's own last response.",
        False,
        MODEL,
        label="free-running: the learner does not go on from each response",
    )
    fit_response_parameter: Words = asked(
        "Another parameter of the response model to be fitted, such as growth, lapse or perseveration; of the second, "
        "as in second.by_variance.",
        (),
        MODEL,
        label="more parameters of the response model to fit, such as lapse",
    )
    weak_priors: bool = asked(
        "Maximum a posteriori, with weak priors where people's values usually lie; recommended for few trials.",
        False,
        SEARCH,
        label="weak priors: recommended for few trials",
    )
    seed: int = asked("Random seed; the same seed gives the same results.", 0, SEARCH, label="random seed")


class FitRequest(TrialRequest):
    """What can be asked about a fit."""

    command: ClassVar[str] = "fit"
    learner: Learner = asked(FITTED_HELP, "smile", MODEL, label="learner")
    shared: Words = asked(
        "A parameter that is the same for all participants.", (), MODEL, label="parameters that all participants share"
    )
    starts: int = asked(STARTS, 10, SEARCH, label="searches for each participant")
    posterior: int = asked("Also so many draws of each chain from the posterior of participants and group.", 0, SEARCH)
    out: Path = asked(OUT, Path("fit"), SEARCH)


class CompareRequest(TrialRequest):
    """What can be asked about a comparison of learners."""

    command: ClassVar[str] = "compare"
    learner: Learners = asked(
        f"{FITTED_HELP} Once each; differences are to the first.", ("delta", "smile"), MODEL, label="learners"
    )
    baseline: bool = asked(
        "Also compare with a baseline that never learns.",
        True,
        MODEL,
        label="compare with a baseline that never learns",
    )
    starts: int = asked(STARTS, 10, SEARCH, label="searches for each participant")
    held_out: bool = asked(
        "Also leave out blocks, and predict them.", False, SEARCH, label="also leave out blocks, and predict them"
    )
    folds: int | None = asked(
        "With --held-out: leave out so many stretches of each participant's trials instead of blocks.",
        None,
        SEARCH,
        label="stretches of trials to leave out instead of blocks",
    )
    score: Literal["log-probability", "mse"] = asked(
        "How predictions of blocks left out are scored.", "log-probability", SEARCH, label="score of predictions"
    )
    out: Path = asked(OUT, Path("comparison"), SEARCH)


class RecoverRequest(TrialRequest):
    """What can be asked about a recovery of parameters and learners."""

    command: ClassVar[str] = "recover"
    learner: Learners = asked(
        f"{FITTED_HELP} Several: could they be distinguished?", ("smile",), MODEL, label="learners"
    )
    participants: int = asked(
        "How many to simulate with each learner.", 200, SEARCH, label="participants to simulate with each learner"
    )
    trials: Annotated[tuple[int, ...], SEVERAL] = asked(
        "Also with so many trials, once for each number: how many are needed?",
        (),
        SEARCH,
        label="also with so many trials: how many are needed?",
    )
    out: Path = asked(OUT, Path("recovery"), SEARCH)
