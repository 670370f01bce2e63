"""Your data: tables that people send, what can be asked about them, and how surprising each trial was to a learner.

A command runs files of a user's own; the page runs only what it offers, within limits. A file is looked at before it is
read in full: a small one may unpack to more than a machine holds. It stays in a folder of its own for as long as it
takes to answer, and is then deleted.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pandas import DataFrame, isna
from pandas.api.types import is_numeric_dtype

from astonish.core.names import MEASURED, NUMBERS, OutcomeKind
from astonish.core.numbers import Domain
from astonish.io.request import Asked
from astonish.models.parameters import Assembly, Outcomes, Specification, known_facts
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES
from astonish.online.measures import holds_a_belief
from astonish.page.controls import Json, check_keys, explained, one, one_of, packed
from astonish.people.analysis.models import read_outcomes
from astonish.people.analysis.requests import (
    SEARCH,
    CompareRequest,
    FitRequest,
    RecoverRequest,
    SurpriseRequest,
    TrialRequest,
)
from astonish.people.tables import Trials
from astonish.people.tables.cells import constant_columns, guessed_columns
from astonish.people.tables.facts import choose
from astonish.people.tables.files import open_rows, width
from astonish.people.tables.regressors import ALL, explain_trial, regressors

LARGEST = 20 * 2**20  # bytes of a table, as sent and as unpacked
MOST_ROWS, MOST_CELLS, LONGEST_LINE, MOST_LABELS = 100_000, 2_000_000, 100_000, 50
SHOWN_ROWS, SHOWN_TRIALS = 5, 5000
TEXT, PARQUET = (".csv", ".tsv", ".txt"), ".parquet"
ENDS = (*TEXT, *(f"{end}.gz" for end in TEXT), PARQUET)
FORMULAS = tuple("=+-@\t\r\n")  # how text starts that a spreadsheet runs, unless it is a number
GUESSED = "guessed"  # in place of a kind of outcome
PREFIX = "learner_"  # before new columns, if the table has such columns already

Pairs = Iterable[tuple[str, str]]
Analysis = FitRequest | CompareRequest | RecoverRequest
ANALYSES: dict[str, type[Analysis]] = {kind.command: kind for kind in (FitRequest, CompareRequest, RecoverRequest)}
_LIMITS = {  # of requests and of learners; of all other numbers, _ANY
    "starts": Domain(1, 50, whole=True),
    "participants": Domain(3, 500, whole=True),
    "trials": Domain(3, 10_000, whole=True),
    "folds": Domain(2, 20, whole=True),
    "seed": Domain(0, 2**31 - 1, whole=True),
    "hypotheses": Domain(1, 100),
    "particles": Domain(1, 100),
}
_ANY = Domain(-1e12, 1e12)


# ---- requests for an analysis


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
    """Make a request for an analysis; see `limited`."""
    request: Analysis = limited(ANALYSES[one_of("analysis", analysis, ANALYSES)], name, words, learners)
    return request


def limited(kind: Any, name: str, words: Pairs, learners: Sequence[str]) -> Any:
    """Make a request of words, within the limits of the page, or refuse what is not offered or not allowed.

    Args:
        kind: Of request.
        name: Of the table's file.
        words: Names of fields and what was said, in order; what can be several may be repeated, empty text is ignored.
        learners: Those that the page offers.
    """
    fields = {field.name: field for field in _offered(kind)}
    said: dict[str, list[str]] = {}
    for word, text in words:
        if text.strip():
            said.setdefault(word, []).append(text.strip())
    check_keys(said, fields)
    for word, values in said.items():
        if len(values) > 1 and not fields[word].several:
            raise ValueError(f"{word} was given {len(values)} times; give it once")
        if fields[word].of:
            for value in values:
                one_of(word, value, _options(fields[word], learners))
    given = {word: values if fields[word].several else values[0] for word, values in said.items()}
    request = kind(file=safe_name(name), **given)
    numbers = [(field.name, getattr(request, field.name)) for field in fields.values() if field.shape == "number"]
    for word, value in [*numbers, *request.settings.items()]:
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None:
                one(word, number, _LIMITS.get(word, _ANY))
    return request


def _offered(kind: Any) -> list[Asked]:
    """List the fields that have a label for the page; others, such as files to write, are for commands alone."""
    return [field for field in kind.asked() if kind.model_fields[field.name].title]


def _options(field: Asked, learners: Sequence[str]) -> list[str]:
    """List the words among which to choose; of classes, those that the page offers."""
    if field.of == "responses":
        return list(RESPONSES.names_for("continuous") if field.name.startswith("second") else RESPONSES.by_name())
    return list({"learners": learners, "beliefs": FAMILIES.by_name()}.get(field.of, field.options))


# ---- files


def safe_name(name: str) -> str:
    """Return the name of a file that was sent, as that of one in a folder of our own.

    >>> safe_name("../../my data.CSV"), safe_name("-x;rm.tsv.gz"), safe_name("résumé.parquet")
    ('my-data.csv', 'x-rm.tsv.gz', 'résumé.parquet')
    """
    end = next((end for end in ENDS if name.lower().endswith(end)), None)
    if end is None:
        raise ValueError(f"the file ends in {Path(name).suffix[:20]!r}; give one that ends in {', '.join(ENDS)}")
    stem = re.split(r"[\\/]", name[: -len(end)])[-1]
    plain = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in stem)[:60].strip("-")
    return f"{plain or 'trials'}{end}"


@contextmanager
def as_file(name: str, content: bytes) -> Iterator[Path]:
    """Make a table a file, if it is small enough, in a folder of its own to which this process moves meanwhile."""
    path = Path(safe_name(name))
    check_file(path, content)
    with TemporaryDirectory(prefix="astonish-") as folder, chdir(folder):
        path.write_bytes(content)
        yield path


def check_file(path: Path, content: bytes) -> None:
    """Refuse a file that is empty, damaged or too large, before it is read."""
    if not content.strip():
        raise ValueError("the file is empty; give a table with a row for each trial")
    if path.suffix == ".gz":
        path = path.with_suffix("")
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error):
            raise ValueError("the file is not packed by gzip, though its name says so; give one that is") from None
        _check_unpacked(len(content))
    (_check_parquet if path.suffix == PARQUET else _check_text)(content, path.suffix)


def _check_unpacked(size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"the file unpacks to more than {too_much(f'{LARGEST / 2**20:g} MB')}")


def _check_cells(rows: int, columns: int) -> None:
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise ValueError(f"the table has more than {too_much(f'{MOST_ROWS} rows or {MOST_CELLS} cells')}")


def _check_text(content: bytes, end: str) -> None:
    """Count lines, and the cells in a row: a line of two bytes may fill a row of thousands."""
    if content.find(b"\n", 0, LONGEST_LINE) < 0 and len(content) > LONGEST_LINE:
        raise ValueError("the first line is very long; give a table whose first line names its columns")
    try:
        cells = width(content, "\t" if end == ".tsv" else None)
    except csv.Error as problem:
        raise ValueError(f"the first line could not be read ({problem}); give shorter cells") from None
    _check_cells(content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n"), cells)
    if len(content.strip().splitlines()) < 2:
        raise ValueError("the table has no rows; give a table with a row for each trial")


def _check_parquet(content: bytes, _: str) -> None:
    """Look at what the file says of itself, and count its text: a word that is stored once may stand in all rows."""
    try:
        from pyarrow import ArrowException, compute, types
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError("this needs pyarrow, which is not installed; pip install pyarrow, or give a .csv") from None
    try:
        file = ParquetFile(io.BytesIO(content))
        rows = file.metadata.num_rows
        _check_cells(rows, file.metadata.num_columns)
        _check_unpacked(sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups)))
        fields = list(file.schema_arrow)
        nested = next((field.name for field in fields if types.is_nested(field.type)), None)
        if nested is not None:
            raise ValueError(f"column {nested[:60]!r} holds several values in a cell; give one value in each")
        size = sum(rows * field.type.byte_width for field in fields if types.is_fixed_size_binary(field.type))
        names = [field.name for field in fields if not types.is_primitive(field.type)]
        words = ParquetFile(io.BytesIO(content), read_dictionary=names).read(columns=names)
        for part in (part for column in words.columns if types.is_dictionary(column.type) for part in column.chunks):
            size += compute.sum(compute.binary_length(part.dictionary).take(part.indices)).as_py() or 0
        _check_unpacked(size)
    except (ArrowException, OSError):
        raise ValueError("the file could not be read as Parquet; give a table with one row for each trial") from None


def check_size(trials: Trials) -> None:
    """Refuse trials that make too many numbers, once they are read."""
    labels = 0 if trials.kind in (*NUMBERS, *MEASURED) else len(trials.labels or ())
    options = len(trials.options or ())
    for count, name in ((labels, "outcomes"), (options, "choices")):
        if count > MOST_LABELS:
            limit = f"the page takes up to {MOST_LABELS}, the command more"
            raise ValueError(f"there are {count} different {name}; {limit}")
    cells = trials.observed.size * max(labels, options, 1)
    if cells > MOST_CELLS:
        limit = f"the page takes up to {MOST_CELLS}, the command astonish surprise more"
        raise ValueError(f"participants x trials x outcomes make {cells} numbers; {limit}")


def too_much(limit: str) -> str:
    """End a sentence that refuses a table which is beyond a limit."""
    return f"{limit}, which is the most that the page takes; use the command astonish surprise"


def marked(cell: Any) -> Any:
    """Mark a cell by an apostrophe if it is text that a spreadsheet would run."""
    if not isinstance(cell, str) or not cell.startswith(FORMULAS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def defused(text: str) -> str:
    r"""Mark the cells of a table of CSV that would be run; the very text if there is nothing to mark.

    >>> defused("who,x\n=1+1,-2\n")
    "who,x\n'=1+1,-2\n"
    """
    rows = list(csv.reader(io.StringIO(text, newline="")))
    changed = [[marked(cell) for cell in row] for row in rows]
    if changed == rows:
        return text
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(changed)
    return out.getvalue()


# ---- the tab


class DataTab:
    """A table of one's own. more: names of learners that are offered beside those of the catalogue."""

    def __init__(self, more: Sequence[str] = ()) -> None:
        self.learners = [*LEARNERS.by_name(), *more]

    def controls(self) -> Json:
        parameters: Json = {kind: {} for kind in OutcomeKind}
        for name in self.learners:
            for kind in LEARNERS.find(name).takes:
                parameters[kind][name] = Specification.of(name, Outcomes(kind, known_facts({}))).defaults
        classes = [name for name in self.learners if name in LEARNERS.classes() or name not in LEARNERS.by_name()]
        kinds = [GUESSED, *OutcomeKind]
        offered = {"learners": self.learners, "different": classes, "kinds": kinds, "parameters": parameters}
        return {**offered, "options": form(self.learners), "largest": LARGEST, "ends": ENDS}

    def preview(self, words: Pairs, content: bytes) -> Json:
        """Show the columns of a table, its first rows, and guesses of what its columns are."""
        with as_file(dict(words).get("name", ""), content) as path:
            frame = open_rows(path).frame
        if frame.empty:
            raise ValueError("the table has no rows; give a table with a row for each trial")
        cells = frame.head(SHOWN_ROWS).map(lambda value: "" if isna(value) else str(value)[:60])
        return {
            "columns": [str(name) for name in frame],
            "rows": cells.to_numpy().tolist(),
            "trials": len(frame),
            "guessed": guessed_columns(frame),
            "constant": constant_columns(frame),
        }

    def answer(self, words: Pairs, content: bytes) -> Json:
        """Compute surprise and learning rate of one participant, trial by trial, and say how the table was read."""
        request, trials, chosen, who, rows = self._read(words, content)
        computed, prefix = _computed(chosen, trials)  # of all, so that another one is not compiled anew
        series = computed.iloc[rows]
        outcomes = trials.to_rows(trials.scalar_outcomes, trials.observed)[rows] if trials.kind in MEASURED else None
        columns = ("surprise", "learning_rate", "prediction")
        lines = [
            "from astonish.people.analysis.requests import SurpriseRequest",
            "from astonish.people.analysis.models import read_outcomes",
            "from astonish.people.tables.facts import choose",
            "from astonish.people.tables.regressors import regressors",
            "",
            f"request = {request.model_copy(update={'kind': trials.kind, 'prefix': prefix}).python()}",
            "trials = read_outcomes(request)",
            "learner = choose(request.learner, trials, request.settings, request.family, request.contexts).learner",
            "table = regressors(learner, trials, prefix=request.prefix)",
            f'print(table[["{prefix}surprise", "{prefix}learning_rate"]].describe())',
        ]
        return {
            "understood": trials.preview(),
            "kind": trials.kind,
            "learner": str(chosen.learner),
            "assumed": chosen.assumed,
            "participants": trials.subjects,
            "who": who,
            "outcome": None if outcomes is None else packed(outcomes),
            **{name: packed(series[name]) if name in series else None for name in columns},
            "python": "\n".join([*lines, ""]),
        }

    def explain(self, words: Pairs, content: bytes) -> Json:
        """Explain what one trial of a participant did to the learner. at: which of those shown, counted from 0."""
        at = dict(words).get("at", "")
        if not at.isdecimal() or len(at) > 9:
            raise ValueError(f"at = {at[:60]!r} is not a whole number; give one")
        _, trials, chosen, who, rows = self._read(words, content)
        labels = [] if trials.kind in MEASURED else [str(label) for label in trials.labels or ()]
        return explained(explain_trial(chosen.learner, trials, who, int(at)), len(rows), labels)

    def table(self, words: Pairs, content: bytes) -> str:
        """Add what the learner computed for every trial to the whole table, as CSV."""
        _, trials, chosen, *_ = self._read(words, content)
        computed, prefix = _computed(chosen, trials, [ALL] if holds_a_belief(chosen.learner) else None)
        whole = trials.frame.assign(**{f"{prefix}{name}": values for name, values in computed.items()})
        whole = whole.apply(lambda column: column if is_numeric_dtype(column) else column.map(marked))
        return str(whole.rename(columns=marked).to_csv(index=False, lineterminator="\r\n"))  # both are quoted in a cell

    def _read(self, words: Pairs, content: bytes) -> tuple[SurpriseRequest, Trials, Assembly, str, Any]:
        """Return the request, the trials, the learner, the participant to show, and the rows that are shown of them."""
        own = {word: text for word, text in words if word in ("name", "who", "at")}
        others = [(word, text) for word, text in words if word not in own]
        request: SurpriseRequest = limited(SurpriseRequest, own.get("name", ""), others, self.learners)
        with as_file(own.get("name", ""), content):
            trials = read_outcomes(request)
        check_size(trials)
        who = one_of("who", own.get("who", trials.subjects[0]), trials.subjects)
        rows = trials.rows[trials.subjects.index(who)]
        chosen = choose(request.learner, trials, request.settings, request.family, request.contexts)
        return request, trials, chosen, who, rows[rows >= 0][:SHOWN_TRIALS]


def _computed(chosen: Assembly, trials: Trials, measures: Sequence[str] | None = None) -> tuple[DataFrame, str]:
    """Compute the columns that are added, and what goes before their names, if the table has such columns already."""
    computed = regressors(chosen.learner, replace(trials, frame=trials.frame.iloc[:, :0]), measures)
    return computed, PREFIX if any(name in trials.frame for name in computed) else ""
