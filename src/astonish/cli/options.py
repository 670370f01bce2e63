"""Which options do several commands have, and what do words such as `m=0.1` mean?

The names of learners, families and response models are read from the library's source, where each class states its
name, and from the entry points of other packages: so help comes without waiting for JAX.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from astonish.kinds import Contexts, OutcomeKind

_NAME = re.compile(r'^    (?:name|aliases): ClassVar\[.+\] = \(?"([\w-]+)"', re.MULTILINE)
_NOT_BY_NAME = ("online-em", "gaussian-vector", "regression", "grid")  # they need more than numbers to be made
_ENTRY_POINTS = entry_points()


def names_in(folder: str) -> str:
    """The names of the classes in a folder of the library, and of those that packages announce."""
    files = sorted((Path(__file__).parents[1] / folder).glob("*.py"))
    own = [name for file in files for name in _NAME.findall(file.read_text(encoding="utf-8"))]
    group = "astonish.families" if folder == "beliefs" else f"astonish.{folder}"
    names = dict.fromkeys([*own, *sorted(_ENTRY_POINTS.select(group=group).names)])
    return ", ".join(name for name in names if name not in _NOT_BY_NAME)


OWN = "Or a class of your own: file.py:Class, or module:Class."
LEARNER_HELP = f"One of {names_in('learners')}. {OWN} `astonish learners` lists their parameters."
FITTED_HELP = f"A learner, perhaps with the parameters to be fitted, as in smile:m or smile:m,noise. {LEARNER_HELP}"

File = Annotated[Path, Argument(help="Table with a row for each trial: .csv, .tsv (also .gz) or .parquet.")]
Outcome = Annotated[list[str], Option(help="Column of the outcome. Twice for transitions: where from, where to.")]
Subject = Annotated[str | None, Option(help="Column that names the participant.")]
Block = Annotated[str | None, Option(help="Column that numbers blocks, or has 1 on first trials; beliefs start anew.")]
Kind = Annotated[
    OutcomeKind | None, Option(help="Kind of the outcome; else guessed (but angles, circular, never are).")
]
Label = Annotated[list[str] | None, Option(help="An outcome that can occur, once for each; else those that do.")]
Settings = Annotated[list[str] | None, Option("--set", help="A parameter, such as m=0.1, noise=25 or mean=0.")]
Given = Annotated[list[str] | None, Option(help="A parameter that a column gives trial by trial, such as noise=sigma.")]
FamilyName = Annotated[
    str | None,
    Option("--family", help=f"Family of beliefs: {names_in('beliefs')}; else the usual one for the outcomes. {OWN}"),
]
ContextsName = Annotated[
    Contexts | None,
    Option(
        "--contexts",
        help="For transitions: does the learner forget, or suspect changes, in all contexts together, or is it apart "
        "in each? Else as is usual for it.",
    ),
]
ResponseColumn = Annotated[str, Option(help="Column of the response.")]
When = Annotated[Literal["before", "after"], Option(help="Is it given before or after the trial's outcome is seen?")]
Ignore = Annotated[
    list[str] | None, Option(help="Column that marks trials after whose outcome the response is not explained.")
]
Range = Annotated[tuple[float, float] | None, Option("--range", help="Smallest and largest response.")]
ResponseModel = Annotated[
    str | None, Option(help=f"How people respond: {names_in('responses')}; else by the kind of response. {OWN}")
]
FreeRunning = Annotated[
    bool, Option("--free-running", help="The learner does not go on from the participant's own last response.")
]
FreeResponse = Annotated[
    list[str] | None, Option(help="Another parameter of the response model to be fitted, such as growth or lapse.")
]
Starts = Annotated[int, Option(help="Searches for each participant, from different starts.")]
Seed = Annotated[int, Option(help="Seed of all random numbers; the same seed gives the same results.")]
Out = Annotated[Path, Option(help="Folder for tables, pictures and the report.")]


@dataclass(frozen=True)
class TrialOptions:
    """What was given about a table of responses, and about the models that are to explain them."""

    file: Path
    outcome: Sequence[str]
    response: str
    responded: str
    subject: str | None
    block: str | None
    ignore: Sequence[str] | None
    given: Sequence[str] | None
    kind: OutcomeKind | None
    label: Sequence[str] | None
    response_range: tuple[float, float] | None
    settings: Sequence[str] | None
    family: str | None
    response_model: str | None
    free_running: bool
    free_response: Sequence[str] | None
    contexts: Contexts | None


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


def outcome_columns(names: Sequence[str]) -> str | tuple[str, str]:
    """One column, or two for transitions."""
    if len(names) > 2:
        raise ValueError(f"--outcome was given {len(names)} times; give it once, or twice (from, to) for transitions")
    return names[0] if len(names) == 1 else (names[0], names[1])
