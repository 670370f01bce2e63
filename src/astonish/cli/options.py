"""Commands whose options are the fields of a request."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

from typer import Argument, Option

from astonish.cli.console import guarded
from astonish.io.request import Asked, Request


def takes_request(command: Callable[[Any], None]) -> Callable[..., None]:
    """Make a command that takes each field of a request from a command of one request.

    Typer reads the options of a command from its signature, so the signature has the fields in place of the class. All
    defaults there are None: what is not said is left to the request, or to the file that it is read from.
    """
    kind: type[Request] = next(iter(get_type_hints(command).values()))
    fields = kind.asked()
    argument = next((field.name for field in fields if field.is_argument), "request")

    @wraps(command)
    def run(**words: Any) -> None:
        said = {word: value for word, value in words.items() if value not in (None, [])}
        file = _request_file(said.get(argument))
        with guarded():
            if file is not None:
                del said[argument]
            request = kind(**said) if file is None else kind.read(file, **said)
        command(request)

    parameters = [_parameter(field) for field in fields]
    if argument == "request":
        about = Annotated[Path | None, Argument(help="A request, .toml; options override what it says.")]
        parameters.insert(
            0, inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=about)
        )
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _request_file(words: Any) -> Path | None:
    """The file of a request, if the first argument, and the only one, is one."""
    word = words[0] if isinstance(words, list) and len(words) == 1 else words
    return Path(word) if isinstance(word, str | Path) and Path(word).suffix == ".toml" else None


def _parameter(field: Asked) -> inspect.Parameter:
    kind: Any = str if get_origin(field.kind) is dict else field.kind
    kind = list[kind] if field.several else kind
    if field.is_argument:
        about, default = Argument(help=field.help), None if field.several else inspect.Parameter.empty
    else:
        words = f"{field.flag}/--no-{field.flag[2:]}" if kind is bool else field.flag
        about = Option(
            words,
            help=field.help,
            rich_help_panel=field.heading,
            metavar=field.metavar or None,
            show_default=default_in_words(field),
        )
        default = None
    hint = kind if default is inspect.Parameter.empty else kind | None
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, about]
    )


def default_in_words(field: Asked) -> str | bool:
    """The default as help shows it; False where there is none to show."""
    if field.default in (None, (), "", False) or isinstance(field.default, dict):
        return False
    if field.default is True:
        return field.flag.removeprefix("--")
    return ", ".join(field.default) if field.several else str(field.default)
