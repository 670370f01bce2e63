"""How do the words of a request become the options of an analysis, and which controls does the page make of them?

Only learners, families and response models that the page offers can be named, since a command runs files of one's own.
"""

import re
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from astonish.core.domain import Domain
from astonish.models.registry import FAMILIES, RESPONSES
from astonish.page.controls import Json, check_keys, one, one_of
from astonish.page.upload import ending
from astonish.people.analysis.options import (
    CompareOptions,
    FitOptions,
    RecoverOptions,
    TrialOptions,
    command_line,
    flag,
    numbers,
)

Asked = Sequence[tuple[str, str]]  # names of options and what was said, in order; what can be several may be repeated
AnalysisOptions = FitOptions | CompareOptions | RecoverOptions
ANALYSES: dict[str, type[AnalysisOptions]] = {"fit": FitOptions, "compare": CompareOptions, "recover": RecoverOptions}
_OURS = ("file", "out", "posterior")  # fields that the page does not offer; draws from a posterior take too long
_LIMITS = {
    "starts": Domain(1, 50, whole=True),
    "participants": Domain(3, 500, whole=True),
    "trials": Domain(3, 10_000, whole=True),
    "folds": Domain(2, 20, whole=True),
    "seed": Domain(0, 2**31 - 1, whole=True),
}
_SETTINGS = {"hypotheses": Domain(1, 100), "particles": Domain(1, 100), "seed": Domain(0, 2**31 - 1)}
_ANY = Domain(-1e12, 1e12)


class Request(NamedTuple):
    """An analysis, and what is said about the table, the models and the search."""

    analysis: str
    trials: TrialOptions
    options: AnalysisOptions

    @property
    def command(self) -> str:
        """The command that does the same, without limits."""
        return command_line(self.analysis, self.trials, self.options)


def controls(learners: Sequence[str]) -> Json:
    """What can be said about a table, and about each analysis, for the page; see `_described`."""
    parts = {"table": TrialOptions, **ANALYSES}
    return {name: [_described(kind, each, learners) for each in _offered(kind)] for name, kind in parts.items()}


def understood(analysis: str, name: str, asked: Asked, learners: Sequence[str]) -> Request:
    """The options that a request names; refused if one is not offered, or not allowed. name: of the table's file."""
    kind = ANALYSES[one_of("analysis", analysis, ANALYSES)]
    known = [each.name for options in (TrialOptions, kind) for each in _offered(options)]
    check_keys(dict(asked), known)
    trials = TrialOptions(Path(safe_name(name)), **_read(TrialOptions, asked, learners))
    for word, value in numbers("--set", trials.settings).items():
        one(word, value, _SETTINGS.get(word, _ANY))
    options: AnalysisOptions = kind(**_read(kind, asked, learners))
    return Request(analysis, trials, options)


def safe_name(name: str) -> str:
    """The name of a file that was sent, as that of one in a folder of our own.

    >>> safe_name("../../my data.CSV"), safe_name("-x;rm.tsv.gz"), safe_name("résumé.parquet")
    ('my-data.csv', 'x-rm.tsv.gz', 'résumé.parquet')
    """
    end = ending(name)
    stem = re.split(r"[\\/]", name[: -len(end)])[-1]
    plain = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in stem)[:60].strip("-")
    return f"{plain or 'trials'}{end}"


def _offered(kind: type) -> list["Field[Any]"]:
    return [each for each in fields(kind) if each.name not in _OURS]


def _names(name: str, learners: Sequence[str]) -> list[str] | None:
    """What may be given for an option that names a class; None for other options."""
    named = {"learner": learners, "family": FAMILIES.by_name(), "response_model": RESPONSES.by_name()}
    named["second_response_model"] = RESPONSES.names_for("continuous")
    return list(named[name]) if name in named else None


def _read(kind: type, asked: Asked, learners: Sequence[str]) -> Json:
    """What was said about the fields of a class of options; fields that nothing was said about are left out."""
    hints, found = get_type_hints(kind), {}
    for each in _offered(kind):
        words = [text.strip() for name, text in asked if name == each.name and text.strip()]
        if words:
            found[each.name] = _value(each.name, hints[each.name], words, _names(each.name, learners))
    return found


def _value(name: str, hint: Any, words: list[str], names: list[str] | None) -> Any:
    """What words mean for an option of this type."""
    hint = _without_none(hint)
    if get_origin(hint) is list:
        return [_one(name, get_args(hint)[0], word, names) for word in words]
    if len(words) > 1:
        raise ValueError(f"{name} was given {len(words)} times; give it once")
    if get_origin(hint) is tuple:
        parts = re.split(r"[\s,;]+", words[0])
        if len(parts) != 2:
            raise ValueError(f"{name} = {words[0][:60]!r} is not understood; give two numbers, such as 0 100")
        return tuple(_one(name, float, part, None) for part in parts)
    return _one(name, hint, words[0], names)


def _one(name: str, hint: Any, word: str, names: list[str] | None) -> Any:
    if names is not None:
        return one_of(name, word, names)
    options = _options(hint)
    if options:
        return hint(one_of(name, word, options)) if isinstance(hint, type) else one_of(name, word, options)
    if hint is bool:
        return one_of(name, word, ("yes", "no")) == "yes"
    if hint in (int, float):
        try:
            value = float(word)
        except ValueError:
            raise ValueError(f"{name} = {word[:60]!r} is not a number; give one") from None
        return one(name, value, _LIMITS.get(name, _ANY))
    return word


def _without_none(hint: Any) -> Any:
    """The type of an option that may be left out."""
    if get_origin(hint) in (UnionType, Union):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _options(hint: Any) -> list[str]:
    """The words of which an option is one; none if it is something else."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return list(hint) if isinstance(hint, type) and issubclass(hint, StrEnum) else []


def _described(kind: type, each: "Field[Any]", learners: Sequence[str]) -> Json:
    """A control. shape: "column", "choice", "yes or no", "number" or "text"; several: whether it may be repeated."""
    hint = _without_none(get_type_hints(kind)[each.name])
    several = get_origin(hint) is list
    inner = get_args(hint)[0] if several else hint
    options = _names(each.name, learners) or _options(inner)
    shape = "choice" if options else "yes or no" if inner is bool else "number" if inner is int else "text"
    about = re.split(" Or a class of your own|: [a-z-]+, |, perhaps with| One of", each.metadata["help"])[0]
    if about.startswith("Column"):
        shape = "column"
    default = None if each.default in (None, MISSING) else each.default
    return {
        "name": each.name,
        "flag": flag(each),
        "label": f"{each.name.replace('_', ' ')}: {about}",
        "shape": shape,
        "several": several,
        "options": options,
        "default": ("yes" if default else "no") if shape == "yes or no" else default,
    }
