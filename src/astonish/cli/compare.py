"""`astonish compare`: which learner explains people's responses best?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from astonish.cli import options as o
from astonish.cli.console import guarded
from astonish.cli.outputs import drawn, file_name, finish, left_out, shown, write_table
from astonish.io.files import locked
from astonish.kinds import ResponseKind
from astonish.report.page import paragraph, section

if TYPE_CHECKING:
    from astonish.cli.candidates import Candidate
    from astonish.fit import Selection

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
SQUARED_ERROR = (
    "mse: the mean squared error of predicting the responses in each block, with parameters found without it; a mean "
    "over participants. Less is better. difference: mse minus that of the first model, with its standard error over "
    "participants; a model with a negative one predicts better. best, better: for how many participants the error is "
    "the least of all, and less than the first model's. Parameters are the most probable ones; they are those of the "
    "least squared error if noise is normal and of constant size, and no response is a lapse."
)


def compare(
    file: o.File,
    outcome: o.Outcome,
    response: o.ResponseColumn,
    responded: o.When,
    subject: o.Subject = None,
    block: o.Block = None,
    ignore: o.Ignore = None,
    given: o.Given = None,
    kind: o.Kind = None,
    label: o.Label = None,
    response_range: o.Range = None,
    settings: o.Settings = None,
    family: o.FamilyName = None,
    contexts: o.ContextsName = None,
    response_model: o.ResponseModel = None,
    free_running: o.FreeRunning = False,
    free_response: o.FreeResponse = None,
    learner: Annotated[list[str] | None, Option(help=f"{o.FITTED_HELP} Once each; the first is the baseline.")] = None,
    starts: o.Starts = 10,
    seed: o.Seed = 0,
    held_out: Annotated[bool, Option("--held-out", help="Also leave out blocks, and predict them.")] = False,
    score: Annotated[
        Literal["log-probability", "mse"], Option(help="How predictions of blocks left out are scored.")
    ] = "log-probability",
    out: o.Out = Path("comparison"),
) -> None:
    """Which learner explains people's responses best?

    astonish compare trials.csv --outcome x --response b --responded before --subject id --learner delta
    --learner smile --learner reduced-bayes:hazard,surprise_sensitivity
    """
    options = o.TrialOptions(
        file, outcome, response, responded, subject, block, ignore, given, kind, label, response_range, settings,
        family, response_model, free_running, free_response, contexts,
    )  # fmt: skip
    names = learner or ["delta", "smile"]
    with guarded(out, "fits need"):
        from astonish.cli.candidates import candidates
        from astonish.fit import compare_fits

        if len(set(names)) < 2 or len(set(names)) < len(names):
            listed = " --learner ".join(names)
            raise ValueError(f"--learner {listed} names {len(set(names))} models; name two or more, each once")
        if score == "mse" and not held_out:
            raise ValueError("--score mse is about blocks that are left out; add --held-out")
        models = candidates(names, options)
        if score == "mse" and models[0].trials.response_kind == ResponseKind.CHOICE:
            raise ValueError("--score mse is for responses that are numbers, but these are choices; leave it out")
        with locked(out):
            fits = {model.name: model.fit(starts, seed, out) for model in models}
            found = compare_fits(fits)
            for name, each in fits.items():
                write_table(each.table(), out / f"{file_name(name)}.csv")
            sections = _sections(found, out)
            print(found)
            if held_out:
                sections.insert(2, _held_out(models, starts, seed, score, out))
            best = str(found.table["bic"].idxmin())
            row = found.table.loc[best]
            lead = (
                f"{best} has the least BIC over {found.people['participant'].nunique()} participants, and is the best "
                f"for {row['best']:.0f} of them; protected probability that no other is used by more people: "
                f"{row['protected']:.2f}"
            )
            finish(out, "Which learner explains people best?", lead, sections, excluded=found.excluded)


def _sections(found: "Selection", out: Path) -> list[str]:
    """Write what was found, and describe it."""
    models = found.table.reset_index(names="model")
    write_table(models, out / "comparison.csv")
    write_table(found.people, out / "participants.csv")
    return [
        section("Figure", drawn(found.plot(), out / "comparison", "Models and people", CAPTION)),
        section("Models", paragraph(COLUMNS), shown(models, "Models"), *left_out(found.excluded)),
        section("Participants", shown(found.people, "Participants")),
    ]


def _held_out(models: "Sequence[Candidate]", starts: int, seed: int, score: str, out: Path) -> str:
    """Leave out blocks, write how well each model predicts them, and describe it."""
    from astonish.fit import compare_elpd, compare_mse, held_out

    found = {model.name: model.run("leaving out blocks,", held_out, starts=starts, seed=seed) for model in models}
    compared, about = (compare_mse, SQUARED_ERROR) if score == "mse" else (compare_elpd, HELD_OUT)
    table = compared(found).reset_index(names="model")
    write_table(table, out / "held_out.csv")
    print(table.to_string(index=False, float_format="{:.4g}".format))
    return section("Blocks left out", paragraph(about), shown(table, "Blocks left out"))
