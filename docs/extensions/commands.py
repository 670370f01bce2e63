"""A reference of the command line: every command with its arguments and options, read from the commands themselves.

`{commands}` becomes a section for each command, with a table for each heading of its help.
"""

import inspect
import types
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from typer.models import ArgumentInfo

from astonish.cli.app import app

ARGUMENTS = "Arguments"
PLAIN = {str: "text", int: "whole number", float: "number", Path: "path", bool: ""}
HEADS = ("value", "if left out", "meaning")


class Word(NamedTuple):
    """An argument or option as it is typed, what follows it, its default, its help, and the heading it stands under."""

    name: str
    value: str
    default: str
    help: str
    panel: str


def commands() -> dict[str, Callable[..., None]]:
    """Every command by its name, in the order of `astonish --help`.

    >>> list(commands())[:3]
    ['reproduce', 'surprise', 'fit']
    """
    callbacks = [info.callback for info in app.registered_commands if info.callback]
    return {str(callback.__name__): callback for callback in callbacks}


def words(command: Callable[..., None]) -> list[Word]:
    """What can be said to a command.

    >>> [word.name for word in words(commands()["learners"])]
    ['NAME']
    >>> words(commands()["explore"])[2][:3]
    ('--browser, --no-browser', '', '--browser')
    """
    hints = get_type_hints(command, include_extras=True)
    return [_word(each, hints[each.name]) for each in inspect.signature(command).parameters.values()]


def _word(each: inspect.Parameter, hint: Any) -> Word:
    kind, about = get_args(hint)[0], hint.__metadata__[0]
    unsaid = each.default is None or each.default is False or each.default is inspect.Parameter.empty
    left_out = "" if unsaid else str(each.default)
    if isinstance(about, ArgumentInfo):
        needed = "" if each.default is not inspect.Parameter.empty else "needed"
        return Word(each.name.upper(), _value(kind), needed, about.help or "", ARGUMENTS)
    typed = [word for word in (about.default, *(about.param_decls or ())) if isinstance(word, str)]
    name = ", ".join(typed or [_flags(each.name, kind)]).replace("/", ", ")
    if kind is bool:
        left_out = name.split(", ")[0] if each.default else ""
    return Word(name, about.metavar or _value(kind), left_out, about.help or "", about.rich_help_panel or "Options")


def _flags(name: str, kind: Any) -> str:
    dashed = name.replace("_", "-")
    return f"--{dashed}, --no-{dashed}" if kind is bool else f"--{dashed}"


def _value(kind: Any) -> str:
    """In words, what such an option takes.

    >>> _value(list[str] | None), _value(Literal["before", "after"]), _value(tuple[float, float])
    ('text, may be repeated', 'before or after', 'number, number')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _value(parts[0])
    if origin in (Union, types.UnionType):
        return _value(next(part for part in parts if part is not type(None)))
    if origin is list:
        return f"{_value(parts[0])}, may be repeated"
    if origin is tuple:
        return ", ".join(map(_value, parts))
    choices = parts if origin is Literal else list(kind) if issubclass(kind, Enum) else ()
    return " or ".join(map(str, choices)) or PLAIN[kind]


class Commands(Directive):
    """`{commands}`."""

    def run(self) -> list[Any]:
        """A section for each command."""
        return [_section(name, command) for name, command in commands().items()]


def _section(name: str, command: Callable[..., None]) -> nodes.section:
    section = nodes.section(ids=[f"astonish-{name}"], names=[f"astonish-{name}"])
    section += nodes.title("", "", nodes.literal(text=f"astonish {name}"))
    for paragraph in inspect.getdoc(command).split("\n\n"):  # type: ignore[union-attr]
        text = " ".join(paragraph.split())
        example = text.startswith("astonish ")
        section += nodes.literal_block(text, text, language="console") if example else nodes.paragraph(text, text)
    said = words(command)
    for panel in dict.fromkeys(word.panel for word in said):
        section += nodes.rubric(text=panel)
        section += _table([word for word in said if word.panel == panel])
    return section


def _table(rows: list[Word]) -> nodes.table:
    heads = ("argument" if rows[0].panel == ARGUMENTS else "option", *HEADS)
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in (5, 3, 3, 9)]
    head, body = nodes.thead(), nodes.tbody()
    head += _row([nodes.Text(text) for text in heads])
    body += [_row([nodes.literal(text=row[0]), *map(nodes.Text, row[1:4])]) for row in rows]
    group += [head, body]
    table = nodes.table(classes=["catalogue"])
    table += group
    return table


def _row(cells: list[Any]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        entry += nodes.paragraph("", "", cell)
        row += entry
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
