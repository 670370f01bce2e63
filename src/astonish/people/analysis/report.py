"""Which parts do reports of several analyses share: what was read, parameters, differences, behaviour and methods?"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from astonish.io.files import write_text
from astonish.people.analysis.methods import Methods
from astonish.people.analysis.outputs import drawn, shown, write_table
from astonish.report.page import details, paragraph, preformatted, section

if TYPE_CHECKING:
    from pandas import DataFrame

    from astonish.people.analysis.models import Candidate
    from astonish.people.fit import Fit

METHODS, REFERENCES, SCRIPT = "methods.txt", "references.bib", "script.py"
DESCRIBED = (
    "Of all participants: how many there are, mean, standard deviation, median and quartiles of their values (mean and "
    "standard deviation without values that grow without end); how many values are at a bound, and how many searches "
    "did not end. A mean that is far from the median may be that of a few participants whose responses hardly tell the "
    "parameter."
)
CORRELATED = "Correlations of parameters over participants, by ranks (Spearman)."
BY_GROUP = "The same for each group."
BEHAVIOUR = (
    "Means over people, with standard errors. Of numbers: the learning rate, which is the slope of the step of the "
    "response on the prediction error, for errors of each size, and around changes where the table says when these "
    "were. Of choices: how often the last one is repeated after outcomes that were worse, and better, than usual."
)
ONE = (
    "One participant, who is explained as well as most. Of numbers: outcomes, responses, and what the model expects of "
    "each response. Of choices: their probabilities under the model, and marks for those that were made."
)
TESTED = (
    "On the unconstrained scale (logarithms of what has one bound, log-odds of what has two), the first minus the "
    "second, with 95 % intervals (low, high). Groups: Welch's t-test, and Hedges' g as effect size; covariates: "
    "Pearson's correlation, as difference and effect size; conditions: the t-test of differences within people, and "
    "Cohen's d. people: in the test; left out: since a value is at a bound. p ranks: of the tests of Mann and Whitney, "
    "Kruskal and Wallis, Spearman, or Wilcoxon, which leave nobody out; p holm: adjusted for all tests of this table."
)
TERMINAL = ["parameter", "comparison", "people", "left_out", "difference", "low", "high", "p", "p_holm"]
_TESTS = 40  # so many, the most significant, are in the terminal
DIFFERENT = (
    "Dots are participants, diamonds means with 95 % intervals on the unconstrained scale; axes show values. Values at"
    " a bound are not shown."
)


def described_in_short(found: "Fit") -> "Iterator[tuple[str, DataFrame]]":
    """The same tables for the terminal, and the tests of differences, each with its name."""
    from astonish.people.fit.description import correlations, describe, describe_groups
    from astonish.people.fit.differences import differences

    yield "Parameters", describe(found)
    related, groups, tests = correlations(found), describe_groups(found), differences(found)
    if len(related) > 1:
        yield "Correlations over participants, by ranks", related.reset_index(names="parameter")
    if not groups.empty:
        yield "By group", groups
    if not tests.empty:
        most = tests.sort_values("p_holm", kind="stable").head(_TESTS).sort_index()
        more = f"; {len(tests) - _TESTS} more in differences.csv" if len(tests) > _TESTS else ""
        yield f"Differences and correlations, on the unconstrained scale{more}", most[TERMINAL]


def understood(models: "Sequence[Candidate]") -> str:
    """How the table was understood, and what was assumed for each model."""
    lines = models[0].trials.preview().splitlines()
    lines += [f"{each.name}: {sentence}" for each in models for sentence in each.assumed]
    before = details(
        "Models before the search", preformatted("\n".join(f"{each.name}: {each.model}" for each in models))
    )
    return section("What was read", *map(paragraph, lines), before)


def described(found: "Fit", heading: str) -> list[str]:
    """A table that describes the parameters, by group where groups are known, and their correlations."""
    from astonish.people.fit.description import correlations, describe, describe_groups

    parts, related, groups = [shown(describe(found), heading)], correlations(found), describe_groups(found)
    if not groups.empty:
        parts += [paragraph(BY_GROUP), shown(groups, f"{heading}, by group")]
    if len(related) > 1:
        parts += [paragraph(CORRELATED), shown(related.reset_index(names="parameter"), "Correlations")]
    return parts


def differences_section(found: "Fit", out: Path) -> list[str]:
    """Tests and a figure of parameters by group, condition and covariate; nothing if none are known."""
    from astonish.people.fit.differences import differences
    from astonish.people.fit.differences_plot import plot_differences

    table = differences(found)
    if table.empty:
        return []
    write_table(table, out / "differences.csv")
    figure = drawn(
        plot_differences(found), out / "differences", "Parameters by group, condition and covariate", DIFFERENT
    )
    return [section("Groups, conditions and covariates", paragraph(TESTED), shown(table, "Differences"), figure)]


def behaviour_section(fits: "Mapping[str, Fit]", out: Path, one: bool = True) -> list[str]:
    """Figures of what people do, and of what models do. one: whether to show one participant, too."""
    from astonish.people.fit.behaviour_plot import plot_behaviour, plot_participant

    first = next(iter(fits.values()))
    if first.model.response.kind == "readout" or first.trials.kind == "transitions":
        return []
    parts = [drawn(plot_behaviour(fits), out / "behaviour", "People and models", BEHAVIOUR)]
    if one:
        parts.insert(0, drawn(plot_participant(first), out / "participant", "One participant", ONE))
    return [section("Behaviour", *parts)]


def methods_section(methods: Methods, script: str, command: str, out: Path) -> str:
    """A paragraph for a paper, the command, versions, BibTeX and the Python; all but the command also as files."""
    write_text(out / METHODS, f"{methods.paragraph}\n\n{methods.versions}\n")
    write_text(out / REFERENCES, f"{methods.bibtex}\n")
    write_text(out / SCRIPT, script)
    return section(
        "For a paper",
        paragraph(methods.paragraph),
        preformatted(command),
        paragraph(methods.versions),
        details("BibTeX", preformatted(methods.bibtex)),
        details("The same in Python", preformatted(script)),
    )
