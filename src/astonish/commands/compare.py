"""What does `astonish compare` say about learners that might explain people's responses?"""

from collections.abc import Sequence
from pathlib import Path

from astonish.commands import leave
from astonish.commands.fit import finished, fitted
from astonish.commands.people import Candidate, Words, candidates, read
from astonish.commands.words import guarded, progress
from astonish.fit import Selection, compare_elpd, compare_fits, held_out
from astonish.page import page, paragraph, picture, section
from astonish.table import Trials

CAPTION = (
    "A: what each participant's BIC under a model is, less that under the first; diamonds are means with 95 % "
    "confidence intervals. B: the share of people who use each model, with its standard deviation, and the protected "
    "probability that no other is used by more of them (Stephan et al. 2009; Rigoux et al. 2014)."
)
COLUMNS = (
    "Less is better for AIC and BIC, which are summed over participants. difference: of BIC to the first model, a mean "
    "over participants, with its standard error; best, better: for how many participants a model's BIC is the least of "
    "all, and less than the first model's; share to protected: see panel B of the figure."
)
HELD_OUT = (
    "The log-probability of the responses in each block, from parameters found without it, summed over participants; "
    "more is better. difference: to the first model, with its standard error over participants."
)


def compare_models(
    words: Words, learners: Sequence[str], starts: int, seed: int, blocks: bool, out: Path, command: str
) -> int:
    """Fit learners to everybody's responses and compare them; the answer is the exit code."""
    with guarded(out) as answer:
        _check(learners)
        trials = read(words)
        models = candidates(learners, words, trials)
        fits = {model.name: fitted(model, trials, (), starts, seed, out) for model in models}
        found = compare_fits(fits)
        sections, more = _held_out(models, trials, starts, seed, out) if blocks else ([], "")
        for model in models:
            leave.table(fits[model.name].table(), out / f"{leave.named(model.name)}.csv")
        _write(found, sections, out, command)
        finished(out)
        print(found)
        print(more, end="")
        for who, why in found.excluded.items():
            print(f"left out: {who}, {why}")
        print(f"Report: {out / 'report.html'}")
    return answer.code


def _check(learners: Sequence[str]) -> None:
    if len(set(learners)) < 2 or len(set(learners)) < len(learners):
        raise ValueError(
            f"--learner {' --learner '.join(learners)} names {len(set(learners))} models; name two or more, each once"
        )


def _held_out(models: Sequence[Candidate], trials: Trials, starts: int, seed: int, out: Path) -> tuple[list[str], str]:
    predicted = {}
    for model in models:
        with progress(f"leaving out blocks, {model.name}") as told:
            predicted[model.name] = held_out(model.model, trials, model.free, starts=starts, seed=seed, told=told)
    table = compare_elpd(predicted).reset_index(names="model")
    leave.table(table, out / "held_out.csv")
    told_as = table.to_string(index=False, float_format="{:.4g}".format)
    return [section("Blocks left out", paragraph(HELD_OUT), leave.shown(table, "Blocks left out"))], f"{told_as}\n"


def _write(found: Selection, more: Sequence[str], out: Path, command: str) -> None:
    leave.table(found.table.reset_index(names="model"), out / "comparison.csv")
    leave.table(found.people, out / "participants.csv")
    png = leave.drawing(found.plot(), out / "comparison")
    best = str(found.table["bic"].idxmin())
    count = len(found.people["participant"].unique())
    lead = (
        f"{best} has the least BIC over {count} participants, and is the best for {found.table['best'][best]} of them; "
        f"protected probability that no other is used by more people: {found.table['protected'][best]:.2f}"
    )
    gone = [paragraph(f"Left out: {who}, {why}.") for who, why in found.excluded.items()]
    sections = [
        section("Figure", picture(png, "Models and people", "comparison", CAPTION)),
        section(
            "Models",
            paragraph(COLUMNS),
            leave.shown(found.table.reset_index(names="model"), "Models"),
            *gone,
        ),
        *more,
        section("Participants", leave.shown(found.people, "Participants")),
    ]
    leave.text(page("Which learner explains people best?", lead, "", command, sections), out / "report.html")
