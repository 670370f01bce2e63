"""Docstrings as entries of the reference.

A sentence such as `m: readiness to change one's mind` describes the parameter of that name and goes to a list of all of
them. What a field declared with `parameter` says about itself joins that list: its meaning and the values it may take.
Google sections (`Args:`, `Returns:`) are left to `sphinx.ext.napoleon`.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext import autosummary

_NEVER_DESCRIBED = ("self", "args", "kwargs")
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Example|Examples|Attributes|Note):(\n|$)")
_PLAIN = re.compile(r"(`+[^`]*`+)|([*|]|\b_(?=\W|$))")


def _names(thing: Any) -> list[str]:
    """The parameters of a function or class, or whatever a class without any holds."""
    if not callable(thing):
        return []
    try:
        names = [name for name in inspect.signature(thing).parameters if name not in _NEVER_DESCRIBED]
    except (TypeError, ValueError):
        names = []
    return names or [name for name in vars(thing) if not name.startswith("_")] if isinstance(thing, type) else names


def _declared(thing: type) -> dict[str, tuple[str, str]]:
    """Say for each parameter that a class declares what it means, and which values it may take."""
    named = fields(thing) if is_dataclass(thing) else ()
    known = {field.name: field.metadata["parameter"] for field in named if "parameter" in field.metadata}
    return {name: (parameter.about, str(parameter.domain)) for name, parameter in known.items()}


def described(text: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """What a paragraph says in general, and what it says of each parameter.

    >>> described("Forgets. keep: how much stays. prior: at first.", ["keep", "prior"])
    ('Forgets.', {'keep': 'how much stays.', 'prior': 'at first.'})
    """
    if not names:
        return text, {}
    one = "|".join(map(re.escape, names))
    parts = re.split(rf"(?:^|(?<=[.;\n] )|(?<=\n))((?:{one})(?:, (?:{one}))*): ", text)
    said = zip(parts[1::2], parts[2::2], strict=True)
    return parts[0].strip(), {name: words.strip() for several, words in said for name in several.split(", ")}


def _quoted(line: str) -> str:
    """A line in which nothing but backticks means anything."""
    return _PLAIN.sub(lambda match: match[1] or f"\\{match[2]}", line)


def _rewritten(_app: Sphinx, what: str, _name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    names = _names(thing) if what != "module" else []
    about: dict[str, str] = {}
    paragraphs = []
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        if paragraph.lstrip().startswith(">>>") or _SECTION.match(paragraph):
            paragraphs.append(paragraph)
            continue
        rest, found = described(paragraph, names)
        about |= found
        paragraphs += ["\n".join(map(_quoted, rest.split("\n")))] if rest else []
    declared = _declared(thing) if what == "class" else {}
    for name in names:
        meaning, domain = declared.get(name, ("", ""))
        meaning = about.get(name, meaning)
        words = f"{meaning} ({domain})" if meaning and domain else meaning or domain
        if words:
            paragraphs.append(f":param {name}: {_quoted(' '.join(words.split()))}")
    lines[:] = [*"\n\n".join(paragraphs).split("\n"), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Rewrite what autodoc has found."""
    autosummary.extract_summary = lambda lines, _document: lines[0]  # it would end a sentence at "(eq."
    app.connect("autodoc-process-docstring", _rewritten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
