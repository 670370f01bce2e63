"""The report of an analysis: sentences, tables, figures, a script, and the methods for a paper."""

import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from astonish.core.refusal import not_installed
from astonish.io.files import atomic_write, write_separated, write_text
from astonish.io.request import FILE as REQUEST
from astonish.people.analysis.requests import CompareRequest, FitRequest, RecoverRequest, TrialRequest
from astonish.report.citations import Entry, cited
from astonish.report.style import details, html_table, page, paragraph, picture, preformatted, row, save_figure, section

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from astonish.people.analysis.models import Candidate
    from astonish.people.fit import Fit

UNFINISHED = "unfinished"  # the folder of what is kept until an analysis is done
REPORT, METHODS, REFERENCES, SCRIPT = "report.html", "methods.txt", "references.bib", "script.py"
_PACKAGES = ("astonish", "jax", "numpy", "scipy", "pandas")
_LEFT_OUT = 10  # participants of whom it is said why they are left out
DESCRIBED = (
    "Of all participants: how many there are, mean, standard deviation, median and quartiles of their values (mean and "
    "standard deviation without values that grow without end); how many values are at a bound, and how many searches "
    "did not end. A mean that is far from the median may be that of a few participants whose responses hardly tell the "
    "parameter."
)
BEHAVIOUR = (
    "Means over people, with standard errors. Of numbers: the learning rate, which is the slope of the step of the "
    "response on the prediction error, for errors of each size, and around changes where the table says when these "
    "were. Of choices: how often the last one is repeated after outcomes that were worse, and better, than usual."
)
ONE = (
    "One participant, who is explained as well as most. Of numbers: outcomes, responses, and what the model expects of "
    "each response. Of choices: their probabilities under the model, and marks for those that were made."
)


class Console(Protocol):
    """Where sentences, results and progress go, whoever asked: somebody at a terminal, or on the page."""

    @property
    def fitted(self) -> "Callable[[str, Fit], None] | None":
        """What to do with the few participants to whom a model, by its name, has just been fitted; None for nothing."""

    def say(self, sentence: str) -> None:
        """Say what is going on, or what was assumed."""

    def show(self, text: str) -> None:
        """Show a result."""

    def table(self, name: str, frame: "DataFrame") -> None:
        """Show a result that is a table."""

    def saved(self, report: Path) -> None:
        """Say that the report is written."""

    def progress(self, doing: str, counted: bool = True) -> AbstractContextManager[Callable[[float], None]]:
        """Show a bar for something that takes long; to be called with the share that is done, if known (counted)."""


# Tables and figures


def write_table(frame: "DataFrame", path: Path) -> None:
    """Write a table as .csv, .tsv or .parquet, completely or not at all."""
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


def drawn(figure: "Figure", stem: Path, heading: str, caption: str) -> str:
    """Show a figure in a report, and save it beside the report as PNG and PDF."""
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


def parameter_tables(fit: "Fit") -> "list[tuple[str, str, DataFrame]]":
    """Describe the parameters, also by group where groups are known, and correlate them: names, what to say, tables."""
    from astonish.people.fit.description import correlations, describe

    tables = [("Parameters", DESCRIBED, describe(fit))]
    groups, related = describe(fit, by_group=True), correlations(fit)
    if not groups.empty:
        tables.append(("By group", "The same for each group.", groups))
    if len(related) > 1:
        about = "Correlations of parameters over participants, by ranks (Spearman)."
        tables.append(("Correlations over participants, by ranks", about, related.reset_index(names="parameter")))
    return tables


def understood(models: "Sequence[Candidate]") -> str:
    """Say how the table was understood, and what was assumed for each model."""
    lines = models[0].trials.preview().splitlines()
    lines += [f"{model.name}: {sentence}" for model in models for sentence in model.assumed]
    before = preformatted("\n".join(f"{model.name}: {model.model}" for model in models))
    return section("What was read", *map(paragraph, lines), details("Models before the search", before))


def described(fit: "Fit") -> list[str]:
    """Describe the parameters in a report."""
    return [part for name, about, table in parameter_tables(fit) for part in (paragraph(about), shown(table, name))]


def behaviour_section(fits: "Mapping[str, Fit]", out: Path, one: bool = True) -> list[str]:
    """Draw what people do, and what models do. one: whether to show one participant, too."""
    from astonish.people.fit.plot import plot_behaviour, plot_participant

    first = next(iter(fits.values()))
    if first.model.response.kind == "readout" or first.trials.kind == "transitions":
        return []
    parts = [drawn(plot_behaviour(fits), out / "behaviour", "People and models", BEHAVIOUR)]
    if one:
        parts.insert(0, drawn(plot_participant(first), out / "participant", "One participant", ONE))
    return [section("Behaviour", *parts)]


# For a paper: the methods, what to cite, and the same in Python


def _methods(
    models: "Sequence[Candidate]", sentences: Sequence[str], cite: Sequence[str], packages: Sequence[str]
) -> tuple[str, list[Entry], str]:
    """Write the methods of an analysis: a paragraph, the publications that it cites, the versions of what was used."""
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
    for name in (*_PACKAGES, *packages):
        with suppress(PackageNotFoundError):
            used.append(f"{name} {version(name)}")
    versions = f"Versions: {', '.join(used)}, Python {platform.python_version()}."
    return " ".join([opening, *sentences]), list(publications.values()), versions


def estimated(request: FitRequest | CompareRequest, models: "Sequence[Candidate]") -> list[str]:
    """Say how parameters were found, which are shared, and which differ between conditions."""
    priors = "with weak normal priors where people's values usually lie, on the unconstrained scale"
    method = f"maximum a posteriori ({priors})" if request.weak_priors else "maximum likelihood"
    sentences = [
        f"Parameters were estimated for each participant by {method}, with exact gradients and {request.starts} "
        "searches from different starts; the best end was confirmed along the profile of each parameter."
    ]
    if isinstance(request, FitRequest) and request.shared:
        sentences.append(f"{in_words(request.shared)} had one value for all participants.")
    differing = dict.fromkeys(path.rpartition(".")[2] for model in models for path in model.model.differs)
    if differing:
        sentences.append(f"{in_words(list(differing))} differed between conditions.")
    return sentences


def in_words(words: Sequence[str]) -> str:
    """List words in a sentence.

    >>> in_words(["m", "noise", "beta"])
    'm, noise and beta'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _cited(name: str) -> list[Entry]:
    """List what to cite for something; nothing where there is nothing, as for a learner of one's own."""
    try:
        return cited(name)
    except ValueError:
        return []


def script(request: TrialRequest, names: Sequence[str], functions: str, *lines: str) -> str:
    """Write the Python that finds the same. lines: what is done with `models`, by functions of `people.fit`."""
    return "\n".join([
        "from astonish.cli.app import Terminal",
        "from astonish.people.analysis.models import candidates, read_responses",
        f"from astonish.people.analysis.requests import {type(request).__name__}",
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
    request: FitRequest | CompareRequest | RecoverRequest,
    models: "Sequence[Candidate]",
    title: str,
    lead: str,
    sections: Sequence[str],
    *,
    methods: Sequence[str],
    script: str,
    cite: Sequence[str] = (),
    packages: Sequence[str] = (),
    about: str = "",
    excluded: Mapping[str, str] | None = None,
) -> None:
    """Write the report, remove what was kept of unfinished fits, and show who is left out.

    lead: its message, in a sentence, which was shown before. methods: what was done, in sentences for a paper. script:
    the same in Python. cite: names of methods to cite. packages: used besides the usual ones. about: what was fitted.
    """
    out, command = request.out, request.command_line()
    how, publications, versions = _methods(models, methods, cite, packages)
    bibtex = "\n\n".join(entry.bibtex for entry in publications)
    write_text(out / METHODS, f"{how}\n\n{versions}\n")
    write_text(out / REFERENCES, f"{bibtex}\n")
    write_text(out / SCRIPT, script)
    paper = section(
        "For a paper",
        paragraph(how),
        preformatted(command),
        paragraph(f"The same request is in {REQUEST}: astonish {request.command} {REQUEST} repeats it."),
        paragraph(versions),
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
