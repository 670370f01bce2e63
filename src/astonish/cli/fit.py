"""`astonish fit`: which parameters explain each participant's responses best?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from astonish.cli import options as o
from astonish.cli.console import guarded, say
from astonish.cli.outputs import drawn, finish, left_out, shown, write_table
from astonish.io.files import locked
from astonish.report.page import paragraph, section

if TYPE_CHECKING:
    from astonish.cli.candidates import Candidate
    from astonish.fit import Fit

PARAMETERS = (
    "A row for each participant: the parameters that make the responses most probable, how many of the searches for "
    "them agreed, and what to know about them. Standard errors and intervals are in parameters.csv."
)
CAPTION = (
    "Above: the parameters of all participants, in the order of their values, with 95 % intervals. Below, for numbers: "
    "how far responses move for errors of each size (means in bins with equally many trials, and the middle half), "
    "by people and by the fitted model, and responses against those expected. For choices: how probable the model "
    "takes those that were made."
)
GROUP = (
    "Mean of the group, its standard deviation on the unconstrained scale (logarithms of what has one bound, log-odds "
    "of what has two), and what is shared; with 95 % intervals. Participants' own are in posterior.csv, all "
    "draws with the log-likelihood of each response in posterior.nc, for ArviZ."
)
CHECKS = (
    "Of all participants: what was observed, what participants with drawn parameters would do instead (mean and 95 % "
    "interval), and the share of these that exceed what was observed (p): near 0 or 1, the model misses something."
)


def fit(
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
    learner: Annotated[str, Option(help=o.FITTED_HELP)] = "smile",
    shared: Annotated[list[str] | None, Option(help="A parameter that is the same for all participants.")] = None,
    starts: o.Starts = 10,
    seed: o.Seed = 0,
    posterior: Annotated[
        int, Option(help="Also so many draws of each chain from the posterior of participants and group.")
    ] = 0,
    out: o.Out = Path("fit"),
) -> None:
    """Which parameters explain each participant's responses best?

    astonish fit trials.csv --outcome x --response b --responded before --subject id --learner smile
    """
    options = o.TrialOptions(
        file, outcome, response, responded, subject, block, ignore, given, kind, label, response_range, settings,
        family, response_model, free_running, free_response, contexts,
    )  # fmt: skip
    with guarded(out, "fits need"):
        from astonish.cli.candidates import candidates

        (model,) = candidates([learner], options)
        say(f"can such a design tell {', '.join(model.free)} at all? astonish recover, with the same options, says")
        with locked(out):
            found = model.fit(starts, seed, out, shared or ())
            sections = _sections(found, out)
            if posterior:
                sections[2:2] = _posterior(model, shared or (), seed, posterior, out)
            print(found)
            medians = ", ".join(f"median {name} {found.people()[name].median():.3g}" for name in found.names)
            lead = f"{model.name} fitted to {len(found.values)} participants; {medians}"
            finish(out, "A fit to people's responses", lead, sections, str(found.model), found.excluded)


def _sections(found: "Fit", out: Path) -> list[str]:
    """Write what was found, and describe it."""
    from astonish.fit.plot import plot_fit

    people = found.people()
    write_table(found.table(), out / "parameters.csv")
    write_table(people, out / "participants.csv")
    write_table(found.trial_table(), out / "trials.csv")
    noted = sum(map(bool, found.notes))
    note = f"{noted} of them come with a note. " if noted else ""
    return [
        section("What was read", *map(paragraph, found.trials.preview().splitlines())),
        section("Figure", drawn(plot_fit(found), out / "fit", "Parameters and behaviour", CAPTION)),
        section("Participants", paragraph(note + PARAMETERS), *left_out(found.excluded), shown(people, "Participants")),
    ]


def _posterior(model: "Candidate", shared: Sequence[str], seed: int, draws: int, out: Path) -> list[str]:
    """Draw from the posterior, write the draws, and describe them."""
    from astonish.fit.posterior import hierarchical

    found = model.run("drawing from the posterior of", hierarchical, shared=shared, draws=draws, seed=seed)
    table, checks = found.table(), found.predictive(seed)
    write_table(table, out / "posterior.csv")
    write_table(checks, out / "predictive.csv")
    found.save(out / "posterior.nc")
    print(found, end="\n\n")
    warned = [paragraph(f"Beware: {warning}.") for warning in found.warnings]
    everyone = checks[checks["participant"] == ""]
    return [
        section("The group", paragraph(GROUP), *warned, shown(table[table["kind"] != "participant"], "Group")),
        section("Would such people behave so?", paragraph(CHECKS), shown(everyone, "Predictive checks")),
    ]
