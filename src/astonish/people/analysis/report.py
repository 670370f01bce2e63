"""What an analysis leaves: sentences, tables, figures, a report, a script, and the methods for a paper."""

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from astonish.core.refusal import not_installed
from astonish.io.files import atomic_write, write_text
from astonish.io.request import FILE as REQUEST
from astonish.people.analysis.requests import CompareRequest, FitRequest, RecoverRequest, TrialRequest
from astonish.report.citations import Entry, cited
from astonish.report.page import details, html_table, page, paragraph, picture, preformatted, row, section

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from astonish.people.analysis.models import Candidate
    from astonish.people.fit import Fit

UNFINISHED = "unfinished"  # the folder of what is kept until an analysis is done
REPORT, METHODS, REFERENCES, SCRIPT = "report.html", "methods.txt", "references.bib", "script.py"
_PACKAGES = ("astonish", "jax", "numpy", "scipy", "pandas")
_LEFT_OUT = 10  # participants of whom it is said why they are left out
_TESTS = 40  # so many, the most significant, are in the terminal
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
DIFFERENT = (
    "Dots are participants, diamonds means with 95 % intervals on the unconstrained scale; axes show values. Values at"
    " a bound are not shown."
)


class Console(Protocol):
    """Where sentences, results and progress go, whoever asked: somebody at a terminal, or on the page.

    fitted: what to do with the few participants to whom a model, by its name, has just been fitted; None if nobody
    waits for them.
    """

    @property
    def fitted(self) -> "Callable[[str, Fit], None] | None":
        """See above."""

    def say(self, sentence: str) -> None:
        """A line about what is going on, or what was assumed."""

    def show(self, text: str) -> None:
        """A result."""

    def table(self, name: str, frame: "DataFrame") -> None:
        """A result that is a table."""

    def saved(self, report: Path) -> None:
        """The report is written."""

    def progress(self, doing: str, counted: bool = True) -> AbstractContextManager[Callable[[float], None]]:
        """A bar for something that takes long; to be called with the share that is done, if that is known (counted)."""


# Tables and figures


def write_table(frame: "DataFrame", path: Path) -> None:
    """Write a table as .csv, .tsv or .parquet, completely or not at all."""
    from astonish.io.text_table import write_separated

    with atomic_write(path) as file:
        if path.suffix.lower() != ".parquet":
            write_separated(frame, file, "\t" if path.suffix.lower() == ".tsv" else ",")
            return
        try:
            frame.to_parquet(file, engine="pyarrow", index=False)
        except ImportError:
            raise ValueError(f"{not_installed(f'{path} needs', 'pyarrow')}, or give a .csv") from None


def shown(frame: "DataFrame", name: str) -> str:
    """Write a table for a report, with short numbers."""
    short = frame.map(lambda cell: str(cell) if not isinstance(cell, float) else "-" if cell != cell else f"{cell:.4g}")
    rows = [row(first, cells) for first, *cells in short.itertuples(index=False)]
    return html_table([str(column).replace("_", " ") for column in frame.columns], rows, "numbers", name)


def in_lines(frame: "DataFrame") -> str:
    """Write a table for the terminal, with short numbers."""
    return str(frame.to_string(index=False, float_format="{:.4g}".format, na_rep="-"))


def drawn(figure: "Figure", stem: Path, heading: str, caption: str) -> str:
    """Show a figure in a report, and save it beside the report as PNG and PDF."""
    from astonish.report.style import save_figure

    return picture(save_figure(figure, stem), heading, stem.name, caption)


def left_out(excluded: Mapping[str, str]) -> list[str]:
    """Say in a report who is left out, and why."""
    return [paragraph(f"Left out: {who}, {why}.") for who, why in excluded.items()]


def file_name(model: str) -> str:
    """Return the name of a model as that of a file.

    >>> file_name("smile:m,noise")
    'smile-m-noise'
    """
    return "".join(letter if letter.isalnum() else "-" for letter in model)


# Sections that reports share


def described_in_short(fit: "Fit") -> "Iterator[tuple[str, DataFrame]]":
    """Yield the tables of parameters, and tests of differences, for the terminal, each with its name."""
    from astonish.people.fit.description import correlations, describe, describe_groups
    from astonish.people.fit.differences import differences

    yield "Parameters", describe(fit)
    related, groups, tests = correlations(fit), describe_groups(fit), differences(fit)
    if len(related) > 1:
        yield "Correlations over participants, by ranks", related.reset_index(names="parameter")
    if not groups.empty:
        yield "By group", groups
    if not tests.empty:
        most = tests.sort_values("p_holm", kind="stable").head(_TESTS).sort_index()
        more = f"; {len(tests) - _TESTS} more in differences.csv" if len(tests) > _TESTS else ""
        yield f"Differences and correlations, on the unconstrained scale{more}", most[TERMINAL]


def understood(models: "Sequence[Candidate]") -> str:
    """Say how the table was understood, and what was assumed for each model."""
    lines = models[0].trials.preview().splitlines()
    lines += [f"{model.name}: {sentence}" for model in models for sentence in model.assumed]
    before = preformatted("\n".join(f"{model.name}: {model.model}" for model in models))
    return section("What was read", *map(paragraph, lines), details("Models before the search", before))


def described(fit: "Fit", heading: str) -> list[str]:
    """Describe the parameters, by group where groups are known, and their correlations."""
    from astonish.people.fit.description import correlations, describe, describe_groups

    parts, related, groups = [shown(describe(fit), heading)], correlations(fit), describe_groups(fit)
    if not groups.empty:
        parts += [paragraph(BY_GROUP), shown(groups, f"{heading}, by group")]
    if len(related) > 1:
        parts += [paragraph(CORRELATED), shown(related.reset_index(names="parameter"), "Correlations")]
    return parts


def differences_section(fit: "Fit", out: Path) -> list[str]:
    """Test and draw parameters by group, condition and covariate; nothing if none are known."""
    from astonish.people.fit.differences import differences
    from astonish.people.fit.differences_plot import plot_differences

    table = differences(fit)
    if table.empty:
        return []
    write_table(table, out / "differences.csv")
    figure = drawn(
        plot_differences(fit), out / "differences", "Parameters by group, condition and covariate", DIFFERENT
    )
    return [section("Groups, conditions and covariates", paragraph(TESTED), shown(table, "Differences"), figure)]


def behaviour_section(fits: "Mapping[str, Fit]", out: Path, one: bool = True) -> list[str]:
    """Draw what people do, and what models do. one: whether to show one participant, too."""
    from astonish.people.fit.behaviour_plot import plot_behaviour, plot_participant

    first = next(iter(fits.values()))
    if first.model.response.kind == "readout" or first.trials.kind == "transitions":
        return []
    parts = [drawn(plot_behaviour(fits), out / "behaviour", "People and models", BEHAVIOUR)]
    if one:
        parts.insert(0, drawn(plot_participant(first), out / "participant", "One participant", ONE))
    return [section("Behaviour", *parts)]


# For a paper: the methods, what to cite, and the same in Python


@dataclass(frozen=True)
class Methods:
    """A paragraph for a paper; the publications that it cites; and the versions of what was used."""

    paragraph: str
    publications: tuple[Entry, ...]
    versions: str


def methods(
    models: "Sequence[Candidate]", sentences: Iterable[str], cite: Iterable[str] = (), more: Sequence[str] = ()
) -> Methods:
    """Write the methods of an analysis.

    Args:
        models: What was fitted.
        sentences: What was done, after what the models are.
        cite: Names of methods to cite.
        more: Packages that were used besides the usual ones.

    """
    from astonish.models.parameters import short_names
    from astonish.people.fit.likelihood import explained

    publications: dict[str, Entry] = {}
    about = []
    for model in models:
        entries = _cited(model.learner)
        publications |= {entry.key: entry for entry in entries}
        sources = f" ({'; '.join(entry.brief for entry in entries)})" if entries else ""
        response = type(model.model.response).__name__ + ", going on from each response" * model.model.response.anchored
        free = in_words(list(short_names(model.free)))
        about.append(f"the learner {model.learner}{sources}, response model {response}, free parameters {free}")
    for name in (*cite, "software"):
        publications |= {entry.key: entry for entry in _cited(name)}
    trials = models[0].trials
    responses = int(explained(models[0].model, trials).sum())
    people = f"{len(trials)} participant{'s' * (len(trials) != 1)} ({responses} responses)"
    opening = f"Responses of {people} were modelled trial by trial with {in_words(about)}."
    used = []
    for name in (*_PACKAGES, *more):
        try:
            used.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    versions = f"Versions: {', '.join(used)}, Python {platform.python_version()}."
    return Methods(" ".join([opening, *sentences]), tuple(publications.values()), versions)


def estimated(starts: int, priors: bool, shared: Sequence[str], conditions: Sequence[str]) -> list[str]:
    """Say how parameters were found. conditions: the parameters that differ between conditions."""
    weak = (
        "maximum a posteriori (with weak normal priors where people's values usually lie, on the unconstrained scale)"
    )
    sentences = [
        f"Parameters were estimated for each participant by {weak if priors else 'maximum likelihood'}, with exact "
        f"gradients and {starts} searches from different starts; the best end was confirmed along the profile of each "
        "parameter."
    ]
    if shared:
        sentences.append(f"{in_words(list(shared))} had one value for all participants.")
    if conditions:
        sentences.append(f"{in_words(list(conditions))} differed between conditions.")
    return sentences


def in_words(words: Sequence[str]) -> str:
    """List words in a sentence.

    >>> in_words(["m", "noise", "beta"])
    'm, noise and beta'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _cited(name: str) -> list[Entry]:
    """What to cite for something; nothing where there is nothing, as for a learner of one's own."""
    try:
        return cited(name)
    except ValueError:
        return []


def fit_script(request: FitRequest) -> str:
    """Write the Python that finds what `run_fit` finds for each participant."""
    how = f"{_search(request)}{f', shared={list(request.shared)!r}' if request.shared else ''}"
    return _script(
        request,
        [request.learner],
        "fit",
        "(model,) = models",
        f"found = fit(model.model, trials, model.free, {how})",
        "print(found.table().to_string())",
    )


def compare_script(request: CompareRequest, names: Sequence[str], evidence: str) -> str:
    """Write the Python that finds what `run_compare` finds for these models. evidence: what stands for it."""
    one = f"fit(each.model, trials, each.free, {_search(request)})"
    return _script(
        request,
        names,
        "compare_fits, fit",
        f"fits = {{each.name: {one} for each in models}}",
        f"print(compare_fits(fits, evidence={evidence!r}).table.to_string())",
    )


def recover_script(request: RecoverRequest, names: Sequence[str], starts: int) -> str:
    """Write the Python that finds what `run_recover` finds. starts: of the fits to the real participants."""
    priors = ', priors="usual"' * request.weak_priors
    how = f"participants={request.participants}, seed={request.seed}{priors}"
    return _script(
        request,
        names,
        "fit, recover_parameters",
        "for each in models:",
        f"    people = fit(each.model, trials, each.free, starts={starts}, seed={request.seed}{priors})",
        "    truth = None if all(people.notes) else people  # of those about whom there is nothing to note",
        f"    found = recover_parameters(each.model, trials, each.free, truth=truth, {how})",
        '    print(each.name, found.summary().to_string(), sep="\\n")',
    )


def _search(request: FitRequest | CompareRequest) -> str:
    return f"starts={request.starts}, seed={request.seed}" + ', priors="usual"' * request.weak_priors


def _script(request: TrialRequest, names: Sequence[str], functions: str, *lines: str) -> str:
    return "\n".join([
        "from astonish.cli.console import Terminal",
        "from astonish.people.analysis.models import candidates",
        f"from astonish.people.analysis.requests import {type(request).__name__}",
        "from astonish.people.analysis.table import read_responses",
        f"from astonish.people.fit import {functions}",
        "",
        f"request = {request.python()}",
        "trials = read_responses(request)",
        "print(trials.preview())",
        f"models = candidates({list(names)!r}, request, trials, Terminal())",
        *lines,
        "",
    ])  # fmt: skip


# The report itself


def write_report(
    console: Console,
    request: Any,
    title: str,
    lead: str,
    sections: Sequence[str],
    how: Methods,
    script: str,
    about: str = "",
    excluded: Mapping[str, str] | None = None,
) -> None:
    """Write the report, remove what was kept of unfinished fits, and show who is left out.

    Args:
        console: Where sentences go.
        request: What was asked, a `FitRequest` or the like.
        title: Of the report.
        lead: The message of the report, in a sentence, which was shown before.
        sections: Parts of the report.
        how: The methods, for a paper.
        script: The same in Python.
        about: What was fitted.
        excluded: Who is left out, and why.

    """
    out, bibtex = request.out, "\n\n".join(entry.bibtex for entry in how.publications)
    command = request.command_line()
    write_text(out / METHODS, f"{how.paragraph}\n\n{how.versions}\n")
    write_text(out / REFERENCES, f"{bibtex}\n")
    write_text(out / SCRIPT, script)
    paper = section(
        "For a paper",
        paragraph(how.paragraph),
        preformatted(command),
        paragraph(f"The same request is in {REQUEST}: astonish {request.command} {REQUEST} repeats it."),
        paragraph(how.versions),
        details("BibTeX", preformatted(bibtex)),
        details("The same in Python", preformatted(script)),
    )
    write_text(out / REPORT, page(title, lead, about, command, [*sections, paper]))
    shutil.rmtree(out / UNFINISHED, ignore_errors=True)
    others = list((excluded or {}).items())
    for who, why in others[:_LEFT_OUT]:
        console.show(f"left out: {who}, {why}")
    if len(others) > _LEFT_OUT:
        console.show(f"left out: {len(others) - _LEFT_OUT} more, see the report")
    console.saved(out / REPORT)
