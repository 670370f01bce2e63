"""What can be said about a table of trials, about the models that are to explain it, and about an analysis?

Each option is a field with its help, from which the commands make their options, and the page its controls. A field
`free_running` is the option `--free-running`.
"""

import shlex
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from astonish.core.kinds import Contexts, OutcomeKind, ResponseKind
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES

OWN = "Or a class of your own: file.py:Class, or module:Class."
LEARNER_HELP = f"One of {', '.join(LEARNERS.names)}. {OWN} `astonish learners` lists their parameters."
FITTED_HELP = f"A learner, perhaps with the parameters to be fitted, as in smile:m or smile:m,noise. {LEARNER_HELP}"


def option(help: str, default: Any = None, panel: str = "Options", flag: str = "", metavar: str = "") -> Any:
    """A field that is an option. panel: the heading under which help lists it. flag: its name, if not the field's."""
    known = {"help": help, "panel": panel, "flag": flag, "metavar": metavar}
    return field(default=default, metadata=known)


def flag(each: "Field[Any]") -> str:
    """The option of a field on the command line."""
    return each.metadata.get("flag") or f"--{each.name.replace('_', '-')}"


TABLE, ANSWERS, PEOPLE, MODEL, SEARCH = "Table", "Responses", "People and conditions", "Model", "Search and output"


@dataclass(frozen=True)
class TableOptions:
    """What can be said about a table of outcomes."""

    file: Path = field(metadata={"help": "Table with a row for each trial: .csv, .tsv (also .gz), .parquet or .xlsx."})
    outcome: list[str] | None = option(
        "Column of the outcome. Twice for transitions: where from, where to.", None, TABLE
    )
    choice: str | None = option(
        "Column of the option that was chosen, if outcomes are what that option paid.", None, TABLE
    )
    reward: str | None = option("Column of what the chosen option paid.", None, TABLE)
    options: str | None = option("All options that can be chosen, as in A,B,C; else those that were.", None, TABLE)
    counterfactual: list[str] | None = option(
        "Column of what was shown of the option not chosen; of several options, once for each, in order.", None, TABLE
    )
    subject: str | None = option("Column that names the participant.", None, TABLE)
    block: str | None = option("Column that numbers blocks, or has 1 on first trials; beliefs start anew.", None, TABLE)
    trial: str | None = option(
        "Column by which the trials of a block are ordered; else by the order of the rows.", None, TABLE
    )
    kind: OutcomeKind | None = option(
        "Kind of the outcome; else guessed (but angles, circular, never are).", None, TABLE
    )
    label: list[str] | None = option(
        "An outcome that can occur, once for each; else those that do. Of two, the first is 0, the second 1.",
        None,
        TABLE,
    )
    missing: list[str] | None = option(
        "What else means that a cell is missing, such as -999; else only empty, NA and NaN.", None, TABLE
    )
    decimal: Literal[",", "."] | None = option("The mark of decimals; else recognised.", None, TABLE)
    given: list[str] | None = option(
        "A parameter that a column gives trial by trial, such as noise=sigma.", None, TABLE
    )
    settings: list[str] | None = option(
        "A parameter that is given, such as m=0.1, noise=25 or mean=0; it is not fitted, unless it is listed.",
        None,
        MODEL,
        "--set",
    )
    family: str | None = option(
        f"Family of beliefs: {', '.join(FAMILIES.names)}; else the usual one for the outcomes. {OWN}", None, MODEL
    )
    contexts: Contexts | None = option(
        "For transitions: does the learner forget, or suspect changes, in all contexts together, or is it apart in "
        "each? Else as is usual for it.",
        None,
        MODEL,
    )


@dataclass(frozen=True)
class TrialOptions(TableOptions):
    """What can be said about a table of outcomes and responses, and about the models that are to explain them."""

    response: str | None = option("Column of the response.", None, ANSWERS)
    responded: Literal["before", "after"] | None = option(
        "Is it given before or after the trial's outcome is seen?", None, ANSWERS
    )
    ignore: list[str] | None = option(
        "Column that marks trials after whose outcome the response is not explained; with --choice, choices in the "
        "same row.",
        None,
        ANSWERS,
    )
    response_kind: ResponseKind | None = option(
        "Are responses numbers, or choices? Else guessed, or asked.", None, ANSWERS
    )
    response_range: tuple[float, float] | None = option(
        "Smallest and largest possible response, as they are written.", None, ANSWERS, "--range"
    )
    response_scale: tuple[float, float] | None = option(
        "Responses that mean 0 and 1, such as 0 100 for percentages.", None, ANSWERS, metavar="LOW HIGH"
    )
    second_response: str | None = option(
        "Column of a second response of the same trial, such as a reaction time or a confidence.", None, ANSWERS
    )
    payoff: list[str] | None = option(
        "Column of what an option would have paid, once for each option in order, for simulations.", None, ANSWERS
    )
    condition: str | None = option("Column of conditions between which parameters may differ.", None, PEOPLE)
    by_condition: list[str] | None = option(
        "A parameter that differs between conditions; else all free ones of the learner.", None, PEOPLE
    )
    group: str | None = option("Column of the group that a participant belongs to.", None, PEOPLE)
    covariate: list[str] | None = option("Column of a number known of each participant, such as age.", None, PEOPLE)
    change: str | None = option("Column that is 1 where the world has just changed, for figures.", None, PEOPLE)
    response_model: str | None = option(
        f"How people respond: {', '.join(RESPONSES.names)}; else by the kind of response. {OWN}", None, MODEL
    )
    second_response_model: str | None = option(
        "How the second response comes about: log-rt, confidence or readout.", None, MODEL
    )
    free_running: bool = option("The learner does not go on from the participant's own last response.", False, MODEL)
    free_response: list[str] | None = option(
        "Another parameter of the response model to be fitted, such as growth, lapse or perseveration; of the second, "
        "as in second.by_variance.",
        None,
        MODEL,
    )


@dataclass(frozen=True)
class FitOptions:
    """What can be said about a fit."""

    learner: str = option(FITTED_HELP, "smile", MODEL)
    shared: list[str] | None = option("A parameter that is the same for all participants.", None, MODEL)
    starts: int = option("Searches for each participant, from different starts.", 10, SEARCH)
    map: bool = option(
        "Maximum a posteriori, with weak priors where people's values usually lie; recommended for few trials.",
        False,
        SEARCH,
    )
    posterior: int = option("Also so many draws of each chain from the posterior of participants and group.", 0, SEARCH)
    seed: int = option("Random seed; the same seed gives the same results.", 0, SEARCH)
    out: Path = option("Folder for tables, pictures and the report.", Path("fit"), SEARCH)


@dataclass(frozen=True)
class CompareOptions:
    """What can be said about a comparison of learners."""

    learner: list[str] | None = option(
        f"{FITTED_HELP} Once each; differences are to the first. Else delta and smile.", None, MODEL
    )
    baseline: bool = option("Also compare with a baseline that never learns.", True, MODEL)
    starts: int = option("Searches for each participant, from different starts.", 10, SEARCH)
    map: bool = option(
        "Maximum a posteriori, with weak priors where people's values usually lie; recommended for few trials.",
        False,
        SEARCH,
    )
    held_out: bool = option("Also leave out blocks, and predict them.", False, SEARCH)
    folds: int | None = option(
        "With --held-out: leave out so many stretches of each participant's trials instead of blocks.", None, SEARCH
    )
    score: Literal["log-probability", "mse"] = option(
        "How predictions of blocks left out are scored.", "log-probability", SEARCH
    )
    seed: int = option("Random seed; the same seed gives the same results.", 0, SEARCH)
    out: Path = option("Folder for tables, pictures and the report.", Path("comparison"), SEARCH)


@dataclass(frozen=True)
class RecoverOptions:
    """What can be said about a recovery of parameters and learners."""

    learner: list[str] | None = option(f"{FITTED_HELP} Several: could they be distinguished? Else smile.", None, MODEL)
    participants: int = option("How many to simulate with each learner.", 200, SEARCH)
    trials: list[int] | None = option(
        "Also with so many trials, once for each number: how many are needed?", None, SEARCH
    )
    map: bool = option("As in a fit: maximum a posteriori, with weak priors.", False, SEARCH)
    seed: int = option("Random seed; the same seed gives the same results.", 0, SEARCH)
    out: Path = option("Folder for tables, pictures and the report.", Path("recovery"), SEARCH)


@dataclass(frozen=True)
class SurpriseOptions:
    """What can be said about the surprise of trials."""

    learner: str = option(LEARNER_HELP, "smile", MODEL)
    measure: list[str] | None = option(
        "A measure of surprise, such as shannon, a quantity of the learner, novelty, or all that apply; else the "
        "learner's own surprise.",
        None,
        MODEL,
    )
    hazard: float | None = option(
        "Probability of a change before each trial, for measures that take it into account.", None, MODEL
    )
    prefix: str = option("Goes before the names of new columns.", "", SEARCH)
    out: Path | None = option(
        "File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids.", None, SEARCH
    )
    bids: bool = option("Write events files in a BIDS folder.", False, "BIDS")
    bids_datatype: Literal["beh", "func", "eeg", "meg"] = option(
        "What was recorded, and so where events files go: behaviour, fMRI, EEG or MEG.", "beh", "BIDS"
    )
    onset: str = option("Column of onsets in seconds.", "onset", "BIDS")
    duration: str = option("Column of durations, or seconds for all.", "duration", "BIDS")
    task: str = option("What the task is called.", "task", "BIDS")


def command_line(name: str, *given: Any) -> str:
    """The command that does what these options say.

    >>> command_line("fit", TrialOptions(Path("my trials.csv"), ["x"], response="b", responded="after"), FitOptions())
    "astonish fit 'my trials.csv' --outcome x --response b --responded after"
    """
    words = ["astonish", name]
    for options in given:
        for each in fields(options):
            value = getattr(options, each.name)
            if each.default is MISSING:
                words.insert(2, str(value))
            elif value != each.default:
                words += _words(flag(each), value)
    return shlex.join(words)


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option if value else option.replace("--", "--no-", 1)]
    if isinstance(value, tuple):
        return [option, *(f"{number:g}" for number in value)]
    return [word for each in (value if isinstance(value, list) else [value]) for word in (option, str(each))]


def pairs(option: str, words: Sequence[str] | None) -> dict[str, str]:
    """Names and the words that follow their sign of equality.

    >>> pairs("--given", ["noise=sigma"])
    {'noise': 'sigma'}
    """
    found: dict[str, str] = {}
    for word in words or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise ValueError(f"{option} {word} is not understood; give a name and a value, such as {option} noise=...")
        if name in found:
            raise ValueError(f"{option} gives {name} twice, as {found[name]} and {value}; give it once")
        found[name] = value
    return found


def numbers(option: str, words: Sequence[str] | None) -> dict[str, float]:
    """Names and numbers.

    >>> numbers("--set", ["m=0.1", "noise=25"])
    {'m': 0.1, 'noise': 25.0}
    """
    found = {}
    for name, value in pairs(option, words).items():
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"{option} {name} = {value!r} is not a number; give one") from None
    return found
