"""A request: one typed description of what a user asks.

The fields of a request are declared once, by `asked`. The options of a command, the form of the page, the TOML file and
the command line that a report offers, and the message about a value that is wrong all derive from them.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, Union, get_args, get_origin

from astonish.core.refusal import check_installed, unknown
from astonish.io.files import read_toml, write_text

check_installed("requests need", "pydantic")

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo  # noqa: E402

FILE = "request.toml"  # beside the results of a request
LIMITS = {"ge": "small; give {} or more", "le": "large; give {} or less"}
CLASSES = ("learners", "beliefs", "responses")  # what a field can name: a known word, or file.py:Class


class Asked(NamedTuple):
    """A field of a request.

    Attributes:
        shape: "column", "choice", "number", "yes or no" or "text".
        several: Whether it may be given more than once.
        of: Which classes it names, one of `CLASSES`; empty for other fields.
        options: The words among which to choose.
        kind: The type of one value.

    """

    name: str
    flag: str
    label: str
    help: str
    heading: str
    shape: str
    several: bool
    of: str
    options: tuple[str, ...]
    kind: Any
    default: Any
    is_argument: bool

    @property
    def form(self) -> dict[str, Any]:
        """The field as a control of the page."""
        is_flag, default = self.shape == "yes or no", self.default
        if default is not None:
            default = ("yes" if default else "no") if is_flag else None if self.several else default
        about = {name: getattr(self, name) for name in ("name", "flag", "label", "help", "shape", "several", "options")}
        return {**about, "default": default}


def asked(
    help: str,
    default: Any = ...,
    heading: str = "Options",
    *,
    label: str = "",
    flag: str = "",
    argument: bool = False,
) -> Any:
    """Declare a field of a request.

    Args:
        help: One line for the help of the command.
        default: Value if nothing is said; required when left out.
        heading: Heading under which help lists it.
        label: A few words for the page.
        flag: Option of the command. Default: the field's name, `free_running` as `--free-running`.
        argument: Whether the command takes it without an option before it.

    """
    extra: Any = {"heading": heading, "flag": flag, "argument": argument}
    return Field(default, description=help, title=label or None, json_schema_extra=extra)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _two(value: Any, info: ValidationInfo) -> Any:
    parts = re.split(r"[\s,;]+", value.strip()) if isinstance(value, str) else value
    if isinstance(parts, list) and len(parts) != 2:
        raise ValueError(f"{info.field_name} = {value!r:.60} is not understood; give two numbers, such as 0 100")
    return parts


def assignments(flag: str) -> BeforeValidator:
    """Make a converter of words such as `noise=sigma` to names and values.

    >>> Request.model_config["extra"], assignments("--set").func(["m=0.1", "noise = 25"])
    ('forbid', {'m': '0.1', 'noise': '25'})
    """

    def read(words: Any) -> Any:
        if isinstance(words, Mapping):
            return words
        values: dict[str, str] = {}
        for word in _listed(words):
            name, equals, value = (part.strip() for part in str(word).partition("="))
            if not (name and equals and value):
                raise ValueError(f"{flag} {word} is not understood; give a name and a value, such as {flag} noise=...")
            if name in values:
                raise ValueError(f"{flag} gives {name} twice, as {values[name]} and {value}; give it once")
            values[name] = value
        return values

    return BeforeValidator(read)


SEVERAL = BeforeValidator(_listed)
Column = Annotated[str, "column"]
Columns = Annotated[tuple[Column, ...], SEVERAL]
Words = Annotated[tuple[str, ...], SEVERAL]
Learner = Annotated[str, "learners"]
FamilyName = Annotated[str, "beliefs"]
ResponseName = Annotated[str, "responses"]
AtLeastOne = Annotated[int, Field(ge=1)]
Ends = Annotated[tuple[float, float], BeforeValidator(_two)]


class Request(BaseModel):
    """What a user asks of a command, the page, a file or Python; derived classes declare the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)
    command: ClassVar[str] = ""

    def __init__(self, /, **words: Any) -> None:
        try:
            super().__init__(**words)
        except ValidationError as problem:
            raise ValueError(_sentence(type(self), problem)) from None

    @classmethod
    def asked(cls) -> list[Asked]:
        """List what can be said, in the order of the fields."""
        return [_described(name, field) for name, field in cls.model_fields.items()]

    def said(self) -> dict[str, Any]:
        """Return the values that differ from their defaults, by name."""
        defaults = {field.name: field.default for field in self.asked()}
        return {name: getattr(self, name) for name in defaults if getattr(self, name) != defaults[name]}

    def moved(self, place: Callable[[Path], Path]) -> Self:
        """Return the same request with other paths, also of classes of a user's own, such as `models.py:Mine`."""

        def there(value: Any, of: str) -> Any:
            if isinstance(value, tuple):
                return tuple(there(part, of) for part in value)
            if isinstance(value, Path):
                return place(value)
            file, ending, rest = str(value).partition(".py:")
            return f"{place(Path(file + '.py')).as_posix()}:{rest}" if of and ending else value

        return self.model_copy(update={
            field.name: there(getattr(self, field.name), field.of)
            for field in self.asked()
            if field.name in self.model_fields_set and (field.of or field.kind is Path)
        })  # fmt: skip

    @classmethod
    def is_in(cls, file: Path) -> bool:
        """Whether a file is a request, rather than what a request is about."""
        return file.suffix == ".toml"

    @classmethod
    def read(cls, path: Path, **overriding: Any) -> Self:
        """Read a request from a TOML file, in which paths are relative to the file.

        Args:
            path: File that `write` has made, or that was written by hand.
            overriding: Values that are used instead of those in the file.

        """
        content = read_toml(path)
        command, digest = content.pop("command", cls.command), content.pop("sha256", None)
        if command != cls.command:
            raise ValueError(f"{path} is a request of astonish {command}; give it to that command")
        try:
            request = cls(**content).moved(lambda place: Path(os.path.normpath(path.parent / place)))
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}") from None
        table: Any = getattr(request, "file", None)
        is_there = table is not None and table.is_file()
        if digest is not None and is_there and hashlib.sha256(table.read_bytes()).hexdigest() != digest:
            advice = f"restore the table, or delete the line sha256 in {path} to use the table as it is now"
            raise ValueError(f"{table} is not the table of {path}: it has been changed since; {advice}")
        return cls(**{name: getattr(request, name) for name in request.model_fields_set} | overriding)

    def write(self, path: Path) -> None:
        """Write the request, with a hash of its table, as TOML from which `read` makes the same."""
        paths = {field.name: getattr(self, field.name) for field in self.asked() if field.kind is Path}
        whole = type(self)(**self.said() | {name: path for name, path in paths.items() if path is not None})
        table = getattr(self, "file", None)
        values = {"command": self.command}
        if table is not None and table.is_file():
            values["sha256"] = hashlib.sha256(table.read_bytes()).hexdigest()
        values |= whole.moved(lambda place: _relative(place, path.parent)).said()
        lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
        write_text(path, "\n".join([f"# astonish {self.command} {path.name} repeats this", *lines, ""]))

    def command_line(self) -> str:
        """Return the command that asks the same.

        >>> class Greeting(Request):
        ...     command = "greet"
        ...     file: Path = asked("Whom.", argument=True)
        ...     loud: bool = asked("Loudly?", True)
        ...     words: Words = asked("Which words.", ())
        >>> request = Greeting(file="my friends.csv", loud=False, words=["good", "day"])
        >>> request.command_line()
        "astonish greet 'my friends.csv' --no-loud --words good --words day"
        >>> request.python()
        "Greeting(file='my friends.csv', loud=False, words=('good', 'day'))"
        """
        arguments: list[str] = []
        options, said = [], self.said()
        for field in self.asked():
            if field.name not in said:
                continue
            value = said[field.name]
            if field.is_argument:
                arguments += map(str, value) if field.several else [str(value)]
            elif isinstance(value, bool):
                options.append(field.flag if value else field.flag.replace("--", "--no-", 1))
            elif isinstance(value, Mapping):
                options += [part for name, word in value.items() for part in (field.flag, f"{name}={_word(word)}")]
            elif isinstance(value, tuple) and not field.several:
                options += [field.flag, *map(_word, value)]
            else:
                parts = value if isinstance(value, tuple) else (value,)
                options += [word for part in parts for word in (field.flag, _word(part))]
        return shlex.join(["astonish", self.command, *arguments, *options])

    def python(self) -> str:
        """Return the Python that makes the same request."""
        written = (f"{name}={_plain(value)!r}" for name, value in self.said().items())
        return f"{type(self).__name__}({', '.join(written)})"


def _described(name: str, field: Any) -> Asked:
    """Take apart the type of a field: marks, whether it is repeated, and the type of one value."""
    kind, marks, several = field.annotation, list(field.metadata), False
    while (origin := get_origin(kind)) in (Annotated, Union, UnionType, tuple):
        parts = get_args(kind)
        if origin is Annotated:
            kind, marks = parts[0], [*marks, *parts[1:]]
        elif origin is tuple and parts[-1] is not Ellipsis:
            break
        else:
            several |= origin is tuple
            kind = next(part for part in parts if part is not type(None))
    several |= origin is dict
    words = (
        get_args(kind) if origin is Literal else kind if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
    )
    of = next((mark for mark in marks if mark in CLASSES), "")
    shape = "column" if "column" in marks else "choice" if words or of else "yes or no" if kind is bool else "text"
    shape = "number" if kind in (int, float) else shape
    heading, flag, argument = (field.json_schema_extra[name] for name in ("heading", "flag", "argument"))
    flag, label = flag or f"--{name.replace('_', '-')}", field.title or name.replace("_", " ")
    options, default = tuple(map(str, words)), None if field.is_required() else field.default
    return Asked(name, flag, label, field.description, heading, shape, several, of, options, kind, default, argument)


def _sentence(kind: type[Request], problem: ValidationError) -> str:
    """Say what is wrong with the first value that is, and what would work."""
    first = problem.errors(include_url=False)[0]
    fields = {field.name: field for field in kind.asked()}
    name, *inside = map(str, first["loc"])
    value, sort = repr(first["input"])[:60], first["type"]
    if sort == "value_error":
        return str(first["ctx"]["error"])
    if name not in fields:
        return str(unknown("option", name, fields, of=kind.command))
    field = fields[name]
    if sort == "missing":
        return f"{name} is missing; {field.help}"
    words = field.options or (("yes", "no") if field.shape == "yes or no" else ())
    if words:
        return f"{name} = {value} is not known; give one of {', '.join(words)}"
    for limit, advice in LIMITS.items():
        if limit in first.get("ctx", {}):
            return f"{field.flag} {value} is too {advice.format(first['ctx'][limit])}"
    subject = f"{field.flag} {inside[0]}" if isinstance(first["loc"][-1], str) and inside else name
    if field.kind is int:
        return f"{subject} = {value} is not a whole number; give one"
    if field.kind is float or "float" in sort:
        return f"{subject} = {value} is not a number; give one"
    return f"{subject} = {value} is not understood; give {'a list of text' if field.several else 'text'}"


def _relative(place: Path, folder: Path) -> Path:
    """Write a path as seen from a folder; as it is where there is no way from one to the other."""
    try:
        return Path(os.path.relpath(place, folder))
    except ValueError:  # on another drive
        return place.resolve()


def _plain(value: Any) -> Any:
    """Make a value what Python, JSON and TOML can write."""
    if isinstance(value, Path):
        return value.as_posix()
    return str(value) if isinstance(value, StrEnum) else value


def _word(value: Any) -> str:
    """Write a value as it is typed.

    >>> _word(25.0), _word(0.1), _word("a b")
    ('25', '0.1', 'a b')
    """
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _toml(value: Any) -> str:
    """Write a value in TOML.

    >>> _toml({"m": 0.1}), _toml(("a", "é")), _toml(True), _toml(Path("a/b.csv"))
    ('{ m = 0.1 }', '["a", "é"]', 'true', '"a/b.csv"')
    """
    if isinstance(value, Mapping):
        names = [name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name) for name in value]
        pairs = [f"{name} = {_toml(part)}" for name, part in zip(names, value.values(), strict=True)]
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)  # inf and nan too
    return json.dumps(_plain(value), ensure_ascii=False).replace("\x7f", "\\u007f")
