"""Requests that come from the page: those of the commands, within limits and of the learners that the page offers.

A command runs files of a user's own; the page runs only what it offers.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from astonish.core.numbers import Domain
from astonish.io.request import Asked
from astonish.models.registry import FAMILIES, RESPONSES
from astonish.page.controls import Json, check_keys, one, one_of
from astonish.page.upload import ending
from astonish.people.analysis.requests import SEARCH, CompareRequest, FitRequest, RecoverRequest, TrialRequest

Pairs = Iterable[tuple[str, str]]  # names of fields and what was said, in order; what can be several may be repeated
Analysis = FitRequest | CompareRequest | RecoverRequest
ANALYSES: dict[str, type[Analysis]] = {kind.command: kind for kind in (FitRequest, CompareRequest, RecoverRequest)}
_NOT_OFFERED = ("file", "out", "posterior")  # draws from a posterior take too long
_SEED = Domain(0, 2**31 - 1, whole=True)
_LIMITS = {
    "starts": Domain(1, 50, whole=True),
    "participants": Domain(3, 500, whole=True),
    "trials": Domain(3, 10_000, whole=True),
    "folds": Domain(2, 20, whole=True),
    "seed": _SEED,
}
_SETTINGS = {"hypotheses": Domain(1, 100), "particles": Domain(1, 100), "seed": _SEED}
_ANY = Domain(-1e12, 1e12)


def form(learners: Sequence[str]) -> Json:
    """Describe what can be said about a table, and about each analysis, as controls of the page."""
    parts = {"table": [field for field in _offered(TrialRequest) if field.heading != SEARCH]}
    table = {field.name for field in parts["table"]}
    parts |= {name: [field for field in _offered(kind) if field.name not in table] for name, kind in ANALYSES.items()}
    return {
        name: [field.form | {"options": _options(field, learners)} for field in fields]
        for name, fields in parts.items()
    }


def understood(analysis: str, name: str, words: Pairs, learners: Sequence[str]) -> Analysis:
    """Make a request of words, or refuse what is not offered or not allowed. name: of the table's file."""
    request: Analysis = limited(ANALYSES[one_of("analysis", analysis, ANALYSES)], name, words, learners)
    return request


def limited(kind: Any, name: str, words: Pairs, learners: Sequence[str]) -> Any:
    """Make a request of this kind of words, within the limits of the page."""
    fields, said = {field.name: field for field in _offered(kind)}, _gathered(words)
    check_keys(said, fields)
    for word, values in said.items():
        if len(values) > 1 and not fields[word].several:
            raise ValueError(f"{word} was given {len(values)} times; give it once")
        if fields[word].of:
            for value in values:
                one_of(word, value, _options(fields[word], learners))
    request = kind(
        file=safe_name(name), **{word: values if fields[word].several else values[0] for word, values in said.items()}
    )
    for field in fields.values():
        if field.shape == "number" and getattr(request, field.name) is not None:
            value = getattr(request, field.name)
            for number in value if field.several else (value,):
                one(field.name, number, _LIMITS.get(field.name, _ANY))
    for word, value in request.settings.items():
        one(word, value, _SETTINGS.get(word, _ANY))
    return request


def safe_name(name: str) -> str:
    """Return the name of a file that was sent, as that of one in a folder of our own.

    >>> safe_name("../../my data.CSV"), safe_name("-x;rm.tsv.gz"), safe_name("résumé.parquet")
    ('my-data.csv', 'x-rm.tsv.gz', 'résumé.parquet')
    """
    end = ending(name)
    stem = re.split(r"[\\/]", name[: -len(end)])[-1]
    plain = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in stem)[:60].strip("-")
    return f"{plain or 'trials'}{end}"


def _gathered(words: Pairs) -> dict[str, list[str]]:
    """What was said about each field; nothing about those that were left empty."""
    said: dict[str, list[str]] = {}
    for name, text in words:
        if text.strip():
            said.setdefault(name, []).append(text.strip())
    return said


def _offered(kind: Any) -> list[Asked]:
    return [field for field in kind.asked() if field.name not in _NOT_OFFERED]


def _options(field: Asked, learners: Sequence[str]) -> list[str]:
    """The words among which to choose; of classes, those that the page offers."""
    if field.of == "responses":
        return list(RESPONSES.names_for("continuous") if field.name.startswith("second") else RESPONSES.by_name())
    return list({"learners": learners, "beliefs": FAMILIES.by_name()}.get(field.of, field.options))
