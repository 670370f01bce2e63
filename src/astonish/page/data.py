"""Your data: how surprising was each trial of a table, to a learner of one's choice?

A table stays in a folder of its own for as long as it takes to answer, and is then deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pandas import DataFrame, isna

from astonish.core.domain import Domain
from astonish.core.kinds import MEASURED, OutcomeKind
from astonish.models.assemble import Assembly, Outcomes, Specification, arguments, known_facts
from astonish.models.registry import LEARNERS
from astonish.online.measures import holds_a_belief
from astonish.page.controls import Json, Values, check_keys, one, one_of, packed
from astonish.page.explained import explained
from astonish.page.formulas import defused
from astonish.page.requests import form
from astonish.page.upload import ENDS, LARGEST, as_file, check_size
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.cells import constant_columns, guessed_columns
from astonish.people.tables.facts import choose
from astonish.people.tables.files import open_rows
from astonish.people.tables.regressors import ALL, explain_trial, regressors

SHOWN_ROWS, SHOWN_TRIALS = 5, 5000
GUESSED = "guessed"
KINDS = (GUESSED, *OutcomeKind)
COLUMNS = ("outcome", "to", "subject", "block", "trial", "choice")  # of the table, by their meaning
CELLS = {"missing": "", "decimal": "", "label": "", "options": ""}  # how they are written; several with commas
DEFAULTS = {"name": "trials.csv", **dict.fromkeys(COLUMNS, ""), **CELLS, "kind": GUESSED, "learner": "smile", "who": ""}
PREFIX = "learner_"
SET = "set."  # before the name of a parameter
LARGE = Domain(-1e12, 1e12)
LIMITS = {"hypotheses": Domain(1, 100), "particles": Domain(1, 100), "seed": Domain(0, 2**31 - 1)}


class DataTab:
    """A table of one's own. more: names of learners that are offered beside those of the catalogue."""

    def __init__(self, more: Sequence[str] = ()) -> None:
        self.learners = [*LEARNERS.by_name(), *more]

    def controls(self) -> Json:
        parameters: Json = {kind: {} for kind in OutcomeKind}
        for name in self.learners:
            for kind in LEARNERS.find(name).takes:
                parameters[kind][name] = Specification.of(name, Outcomes(kind, known_facts({}))).defaults
        known = {"learners": self.learners, "kinds": KINDS, "parameters": parameters, "largest": LARGEST, "ends": ENDS}
        classes = [name for name in self.learners if name in LEARNERS.classes() or name not in LEARNERS.by_name()]
        return {**known, "options": form(self.learners), "different": classes}

    def preview(self, request: Mapping[str, str], content: bytes) -> Json:
        """The columns of a table, its first rows, and what its columns may be: guesses, to be shown."""
        with as_file(_apart(request)[0]["name"], content) as path:
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

    def answer(self, request: Mapping[str, str], content: bytes) -> Json:
        """Surprise and learning rate of one participant, trial by trial, and how the table was understood."""
        asked, settings = _apart(request)
        trials, chosen = self._read(asked, settings, content)
        who = one_of("who", asked["who"] or trials.subjects[0], trials.subjects)
        found, prefix = _computed(chosen, trials)  # of all, so that another one is not compiled anew
        rows = trials.rows[trials.subjects.index(who)]
        shown = rows[rows >= 0][:SHOWN_TRIALS]
        series = found.iloc[shown]
        outcomes = trials.to_rows(trials.scalar_outcomes, trials.observed)[shown] if trials.kind in MEASURED else None
        columns = ("surprise", "learning_rate", "prediction")
        return {
            "understood": trials.preview(),
            "kind": trials.kind,
            "learner": str(chosen.learner),
            "assumed": chosen.assumed,
            "participants": trials.subjects,
            "who": who,
            "outcome": None if outcomes is None else packed(outcomes),
            **{name: packed(series[name]) if name in series else None for name in columns},
            "python": self.script(asked, settings, trials, prefix),
        }

    def explain(self, request: Mapping[str, str], content: bytes) -> Json:
        """What one trial of a participant did to the learner. at: which of those shown, counted from 0."""
        at = _number("at", request.get("at", ""))
        asked, settings = _apart({word: text for word, text in request.items() if word != "at"})
        trials, chosen = self._read(asked, settings, content)
        who = one_of("who", asked["who"] or trials.subjects[0], trials.subjects)
        shown = min(int((trials.rows[trials.subjects.index(who)] >= 0).sum()), SHOWN_TRIALS)
        return explained(explain_trial(chosen.learner, trials, who, at), shown, _bars(trials))

    def table(self, request: Mapping[str, str], content: bytes) -> str:
        """The whole table with what the learner computed for every trial, as CSV."""
        trials, chosen = self._read(*_apart(request), content)
        found, prefix = _computed(chosen, trials, [ALL] if holds_a_belief(chosen.learner) else None)
        whole = trials.frame.assign(**{f"{prefix}{name}": values for name, values in found.items()})
        return str(defused(whole).to_csv(index=False, lineterminator="\r\n"))  # so that both are quoted in a cell

    def script(self, asked: Mapping[str, str], settings: Values, trials: Trials, prefix: str) -> str:
        """The same in Python."""
        added = f", prefix={prefix!r}" if prefix else ""
        names = {word: getattr(trials.columns, word) for word in COLUMNS if word != "to"}
        how = {"kind": str(trials.kind), **_written(asked)}
        lines = [
            "from astonish.people.tables.facts import learner_for",
            "from astonish.people.tables import Columns, read_trials",
            "from astonish.people.tables.regressors import regressors",
            "",
            f"columns = Columns({arguments({word: name for word, name in names.items() if name is not None})})",
            f"trials = read_trials({asked['name']!r}, columns, {arguments(how)})",
            f"learner = learner_for({asked['learner']!r}, trials, {settings!r})",
            f"table = regressors(learner, trials{added})",
            f'print(table[["{prefix}surprise", "{prefix}learning_rate"]].describe())',
        ]
        return "\n".join([*lines, ""])

    def _read(self, asked: Mapping[str, str], settings: Values, content: bytes) -> tuple[Trials, Assembly]:
        outcome, to, subject, block, trial, choice = (asked[word] or None for word in COLUMNS)
        if outcome is None:
            raise ValueError("no column was named; give outcome, the column of what happened")
        columns = Columns((outcome, to) if to else outcome, subject, block, trial=trial, choice=choice)
        kind = one_of("kind", asked["kind"], KINDS)
        name = one_of("learner", asked["learner"], self.learners)
        with as_file(asked["name"], content) as path:
            trials = read_trials(path, columns, kind=None if kind == GUESSED else kind, **_written(asked))
        check_size(trials)
        return trials, choose(name, trials, settings)


def _computed(chosen: Assembly, trials: Trials, measures: Sequence[str] | None = None) -> tuple[DataFrame, str]:
    """The columns that are added to the table, and what goes before their names, if it has such columns already."""
    found = regressors(chosen.learner, replace(trials, frame=trials.frame.iloc[:, :0]), measures)
    return found, PREFIX if any(name in trials.frame for name in found) else ""


def _apart(request: Mapping[str, str]) -> tuple[Mapping[str, str], Values]:
    """What was asked about the table, and about the learner's parameters."""
    words = {word: text for word, text in request.items() if not word.startswith(SET)}
    settings = {word.removeprefix(SET): text for word, text in request.items() if word.startswith(SET)}
    return {**DEFAULTS, **check_keys(words, DEFAULTS)}, {word: _number(word, text) for word, text in settings.items()}


def _written(asked: Mapping[str, str]) -> Json:
    """What was said about how cells are written."""
    several = {"missing": asked["missing"], "labels": asked["label"], "options": asked["options"]}
    found: Json = {word: [part.strip() for part in text.split(",")] for word, text in several.items() if text}
    return found | ({"decimal": asked["decimal"]} if asked["decimal"] else {})


def _number(word: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{word[:60]} = {text[:60]!r} is not a number; give one") from None
    return one(word[:60], value, LIMITS.get(word, LARGE))


def _bars(trials: Trials) -> list[str]:
    """What the outcomes are called, if they are labels."""
    return [] if trials.kind in MEASURED else [str(label) for label in trials.labels or ()]
