"""Your data: how surprising was each trial of a table, to a learner of one's choice?

A table stays in a folder of its own for as long as it takes to answer, and is then gone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.catalogue import NAMES, Choice, choose
from astonish.domain import Domain
from astonish.explorer.controls import Answer, known, one, one_of, packed
from astonish.surprises import holds_a_belief

if TYPE_CHECKING:
    from pandas import DataFrame

    from astonish.table import Trials

LARGEST = 20 * 2**20  # bytes
MOST_TRIALS, MOST_CELLS, MOST_LABELS, LONGEST_LINE = 100_000, 2_000_000, 50, 100_000
SHOWN_ROWS, SHOWN_TRIALS = 5, 5000
ENDS = (".csv", ".tsv", ".txt")
KINDS = ("guessed", "continuous", "binary", "categorical", "transitions")
WORDS = ("name", "outcome", "to", "subject", "block", "kind", "learner", "m", "who")


def controls() -> Answer:
    """What can be chosen, for the page."""
    return {"learners": list(NAMES), "kinds": list(KINDS), "largest": LARGEST, "ends": list(ENDS)}


def preview(said: Any, content: bytes) -> Answer:
    """The columns of a table, and its first rows."""
    from astonish.table.source import open_rows

    asked = known(said, WORDS)
    with _file(asked, content) as path:
        frame = open_rows(path).frame
    rows = [[_cell(value) for value in row] for row in frame.head(SHOWN_ROWS).itertuples(index=False)]
    return {"columns": [str(name) for name in frame.columns], "rows": rows, "trials": len(frame)}


def data(said: Any, content: bytes) -> Answer:
    """Surprise and learning rate of one participant, trial by trial, and how the table was understood."""
    asked = known(said, WORDS)
    trials, choice = _read(asked, content)
    who = one_of("who", asked.get("who") or trials.subjects[0], trials.subjects)
    found = _measured(trials, choice, all_measures=False)  # of all, so that another one is not compiled anew
    rows = trials.rows[trials.subjects.index(who)]
    series = found.iloc[rows[rows >= 0][:SHOWN_TRIALS]]
    return {
        "understood": trials.preview(),
        "learner": str(choice.learner),
        "assumed": list(choice.assumed),
        "participants": list(trials.subjects),
        "who": who,
        "outcome": packed(series[trials.columns.outcomes[-1]]) if trials.kind == "continuous" else None,
        **{
            name: packed(series[name]) if name in series else None
            for name in ("surprise", "learning_rate", "prediction")
        },
        "python": _python(asked, trials),
    }


def table(said: Any, content: bytes) -> str:
    """The whole table with what the learner made of every trial, as CSV."""
    trials, choice = _read(known(said, WORDS), content)
    text = StringIO()
    _measured(trials, choice, all_measures=True).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue()


def _measured(trials: "Trials", choice: Choice, all_measures: bool) -> "DataFrame":
    from astonish.regressors import ALL, regressors

    return regressors(choice.learner, trials, [ALL] if all_measures and holds_a_belief(choice.learner) else None)


def _read(asked: Mapping[str, Any], content: bytes) -> tuple["Trials", Choice]:
    from astonish.table import Columns, read_trials

    outcome = _text(asked, "outcome")
    if outcome is None:
        raise ValueError("no column was named; give outcome, the column of what happened")
    to = _text(asked, "to")
    columns = Columns((outcome, to) if to else outcome, _text(asked, "subject"), _text(asked, "block"))
    kind = one_of("kind", asked.get("kind", KINDS[0]), KINDS)
    name = one_of("learner", asked.get("learner", "smile"), NAMES)
    with _file(asked, content) as path:
        trials = read_trials(path, columns, kind=None if kind == KINDS[0] else kind)
    _check_size(trials)
    return trials, choose(name, trials, _settings(asked, name))


def _settings(asked: Mapping[str, Any], name: str) -> dict[str, float]:
    """Of parameters, m alone can be set here; only some learners have it."""
    if name not in ("smile", "varsmile"):
        return {}
    try:
        value = float(asked.get("m", 0.1))
    except (TypeError, ValueError):
        raise ValueError(f"m = {str(asked['m'])[:60]!r} is not a number; give one above 0") from None
    return {"m": one("m", value, Domain(0.0, 1e6))}


def _check_size(trials: "Trials") -> None:
    labels = 0 if trials.kind in ("continuous", "binary") else len(trials.labels or ())
    if labels > MOST_LABELS:
        raise ValueError(f"there are {labels} different outcomes; the page takes up to {MOST_LABELS}, the command more")
    cells = trials.observed.size * max(labels, 1)
    if cells > MOST_CELLS:
        raise ValueError(
            f"participants x trials x outcomes make {cells} numbers; the page takes up to {MOST_CELLS}, the command "
            "astonish surprise more"
        )


@contextmanager
def _file(asked: Mapping[str, Any], content: bytes) -> Iterator[Path]:
    """The table as a file, if it is small enough. Of its name, only the ending is used."""
    end = Path(str(asked.get("name", "trials.csv"))).suffix.lower()
    if end not in ENDS:
        raise ValueError(f"the file ends in {end[:20]!r}; give one that ends in {', '.join(ENDS)}")
    if not content.strip():
        raise ValueError("the file is empty; give a table with a row for each trial")
    if content.find(b"\n", 0, LONGEST_LINE) < 0 and len(content) > LONGEST_LINE:
        raise ValueError("the first line is very long; give a table whose first line names its columns")
    if content.count(b"\n") > MOST_TRIALS:
        raise ValueError(
            f"the table has more than {MOST_TRIALS} rows; the page takes up to that many, the command astonish "
            "surprise more"
        )
    with TemporaryDirectory(prefix="astonish-") as folder:
        path = Path(folder) / f"trials{end}"
        path.write_bytes(content)
        try:
            yield path
        except ValueError as problem:  # of the file as people know it, and of what the page takes
            sentence, cut, _ = str(problem).replace(repr(str(path)), "the file").partition("; give a file that ends in")
            raise ValueError(sentence + "; give a table with one row for each trial" * bool(cut)) from None


def _text(asked: Mapping[str, Any], word: str) -> str | None:
    value = asked.get(word) or None
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{word} is not the name of a column; give one")
    return value


def _cell(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else str(value)[:60]


def _python(asked: Mapping[str, Any], trials: "Trials") -> str:
    columns = ", ".join(
        f"{word}={value!r}"
        for word, value in (("subject", trials.columns.subject), ("block", trials.columns.block))
        if value is not None
    )
    name = asked.get("learner", "smile")
    lines = [
        "from astonish.catalogue import choose",
        "from astonish.regressors import regressors",
        "from astonish.table import Columns, read_trials",
        "",
        f"columns = Columns({trials.columns.outcome!r}{', ' * bool(columns)}{columns})",
        f"trials = read_trials({str(asked.get('name', 'trials.csv'))!r}, columns, kind={trials.kind!r})",
        f"learner = choose({name!r}, trials, {_settings(asked, str(name))!r}).learner",
        "table = regressors(learner, trials)",
        'print(table[["surprise", "learning_rate"]].describe())',
    ]
    return "\n".join([*lines, ""])
