"""How do the fields of `analysis.options` become options of a command?"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

from typer import Argument, Option

from astonish.people.analysis.options import flag


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters are dataclasses of options, as a command that takes each of their fields.

    Typer reads the options of a command from its signature; so the signature has the fields in place of the classes.
    """
    classes: dict[str, Any] = {name: hint for name, hint in get_type_hints(command).items() if is_dataclass(hint)}
    parts = {name: [each.name for each in fields(kind)] for name, kind in classes.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        command(**{name: classes[name](**{word: given[word] for word in own}) for name, own in parts.items()})

    every = [
        _parameter(each, hints[each.name])
        for kind in classes.values()
        for hints in [get_type_hints(kind)]
        for each in fields(kind)
    ]
    signature = inspect.Signature(every)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in every}
    return run


def _parameter(each: "Field[Any]", kind: Any) -> inspect.Parameter:
    known = each.metadata
    if each.default is MISSING:
        return inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, Argument(help=known["help"])]
        )
    words = [flag(each)] if kind is not bool or not each.default else [f"{flag(each)}/--no-{flag(each)[2:]}"]
    about = Option(*words, help=known["help"], rich_help_panel=known["panel"], metavar=known["metavar"] or None)
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=Annotated[kind, about]
    )
