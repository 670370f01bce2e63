"""Your data: how surprising was each trial of a table, to a learner of one's choice?

A table stays in a folder of its own for as long as it takes to answer, and is then gone.
"""

from collections.abc import Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.catalogue import NAMES, Choice, choose, defaults, names_for
from astonish.domain import Domain
from astonish.explorer.controls import Answer, known, one, one_of, packed
from astonish.explorer.upload import ENDS, LARGEST, MOST_CELLS, as_file
from astonish.surprises import holds_a_belief

if TYPE_CHECKING:
    from pandas import DataFrame

    from astonish.table import Trials

MOST_LABELS, SHOWN_ROWS, SHOWN_TRIALS = 50, 5, 5000
KINDS = ("guessed", "continuous", "binary", "categorical", "transitions")
WORDS = ("name", "outcome", "to", "subject", "block", "kind", "learner", "who")
SET = "set."  # before the name of a parameter
LARGE = Domain(-1e12, 1e12)
LIMITS = {"hypotheses": Domain(1, 100), "particles": Domain(1, 100), "seed": Domain(0, 2**31 - 1)}


def controls() -> Answer:
    """What can be chosen, and of which learner what can be set, for the page."""
    parameters = {kind: {name: defaults(name, kind) for name in names_for(kind)} for kind in KINDS[1:]}
    return {
        "learners": list(NAMES),
        "kinds": list(KINDS),
        "largest": LARGEST,
        "ends": list(ENDS),
        "parameters": parameters,
    }


def preview(said: Mapping[str, str], content: bytes) -> Answer:
    """The columns of a table, and its first rows."""
    from astonish.table.source import open_rows

    with as_file(_name(known(said, WORDS)), content) as path:
        frame = open_rows(path).frame
    rows = [[_cell(value) for value in row] for row in frame.head(SHOWN_ROWS).itertuples(index=False)]
    return {"columns": [str(name) for name in frame.columns], "rows": rows, "trials": len(frame)}


def data(said: Mapping[str, str], content: bytes) -> Answer:
    """Surprise and learning rate of one participant, trial by trial, and how the table was understood."""
    asked, settings = _apart(said)
    trials, choice = _read(asked, settings, content)
    who = one_of("who", asked.get("who") or trials.subjects[0], trials.subjects)
    found = _measured(trials, choice, all_measures=False)  # of all, so that another one is not compiled anew
    rows = trials.rows[trials.subjects.index(who)]
    series = found.iloc[rows[rows >= 0][:SHOWN_TRIALS]]
    return {
        "understood": trials.preview(),
        "kind": trials.kind,
        "learner": str(choice.learner),
        "assumed": list(choice.assumed),
        "participants": list(trials.subjects),
        "who": who,
        "outcome": packed(series[trials.columns.outcomes[-1]]) if trials.kind == "continuous" else None,
        **{
            name: packed(series[name]) if name in series else None
            for name in ("surprise", "learning_rate", "prediction")
        },
        "python": _python(asked, settings, trials),
    }


def table(said: Mapping[str, str], content: bytes) -> str:
    """The whole table with what the learner made of every trial, as CSV."""
    trials, choice = _read(*_apart(said), content)
    text = StringIO()
    _measured(trials, choice, all_measures=True).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue()


def _measured(trials: "Trials", choice: Choice, all_measures: bool) -> "DataFrame":
    from astonish.regressors import ALL, regressors

    return regressors(choice.learner, trials, [ALL] if all_measures and holds_a_belief(choice.learner) else None)


def _apart(said: Mapping[str, str]) -> tuple[Mapping[str, str], dict[str, float]]:
    """What was said of the table, and of the learner's parameters."""
    words = {word: text for word, text in said.items() if not word.startswith(SET)}
    settings = {word.removeprefix(SET): text for word, text in said.items() if word.startswith(SET)}
    return known(words, WORDS), {word: _number(word, text) for word, text in settings.items()}


def _number(word: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{word[:60]} = {text[:60]!r} is not a number; give one") from None
    return one(word[:60], value, LIMITS.get(word, LARGE))


def _read(asked: Mapping[str, str], settings: dict[str, float], content: bytes) -> tuple["Trials", Choice]:
    from astonish.table import Columns, read_trials

    outcome, to, subject, block = (asked.get(word) or None for word in ("outcome", "to", "subject", "block"))
    if outcome is None:
        raise ValueError("no column was named; give outcome, the column of what happened")
    columns = Columns((outcome, to) if to else outcome, subject, block)
    kind = one_of("kind", asked.get("kind", KINDS[0]), KINDS)
    name = one_of("learner", asked.get("learner", "smile"), NAMES)
    with as_file(_name(asked), content) as path:
        trials = read_trials(path, columns, kind=None if kind == KINDS[0] else kind)
    _check_size(trials)
    return trials, choose(name, trials, settings)


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


def _name(asked: Mapping[str, str]) -> str:
    return asked.get("name", "trials.csv")


def _cell(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else str(value)[:60]


def _python(asked: Mapping[str, str], settings: dict[str, float], trials: "Trials") -> str:
    columns = ", ".join(
        f"{word}={value!r}"
        for word, value in (("subject", trials.columns.subject), ("block", trials.columns.block))
        if value is not None
    )
    lines = [
        "from astonish.catalogue import choose",
        "from astonish.regressors import regressors",
        "from astonish.table import Columns, read_trials",
        "",
        f"columns = Columns({trials.columns.outcome!r}{', ' * bool(columns)}{columns})",
        f"trials = read_trials({_name(asked)!r}, columns, kind={trials.kind!r})",
        f"learner = choose({asked.get('learner', 'smile')!r}, trials, {settings!r}).learner",
        "table = regressors(learner, trials)",
        'print(table[["surprise", "learning_rate"]].describe())',
    ]
    return "\n".join([*lines, ""])
