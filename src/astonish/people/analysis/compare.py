"""Compare learners by how well they explain people's responses, and how well they predict those left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astonish.core.kinds import ResponseKind
from astonish.io.files import locked
from astonish.models.registry import LEARNERS
from astonish.people.analysis.console import Console
from astonish.people.analysis.headline import BASELINE, headline
from astonish.people.analysis.methods import Methods, estimated, methods
from astonish.people.analysis.models import Candidate, candidates
from astonish.people.analysis.options import CompareOptions, TrialOptions, command_line
from astonish.people.analysis.outputs import drawn, file_name, finish, left_out, shown, write_table
from astonish.people.analysis.report import behaviour_section, described, methods_section, understood
from astonish.people.analysis.script import compare_script
from astonish.people.analysis.table import read_responses
from astonish.people.fit import Fit, Selection, compare_elpd, compare_fits, compare_mse, held_out
from astonish.people.tables import Trials
from astonish.report.page import details, paragraph, section

if TYPE_CHECKING:
    from pandas import DataFrame

CAPTION = (
    "A: what each participant's BIC under a model is, less that under the first; diamonds are means with 95 % "
    "confidence intervals. B: the share of people who use each model, with its standard deviation, and the protected "
    "probability that no other is used by more of them (Stephan et al. 2009; Rigoux et al. 2014)."
)
COLUMNS = (
    "Of BIC and mse less is better, and a negative difference means better than the first model. BIC is summed over "
    "participants; difference: of BIC to the first model, a mean over participants, with its standard error. R2: the "
    "share of the variance of responses that is explained, or of choices the share of the log-likelihood of choosing "
    "at random that is gained, and mse: the mean squared error, both means over participants. best: for how many "
    "participants BIC is the least of all; share, protected: see panel B of the figure; bound, unfinished: for how "
    "many participants a parameter is at its bound, and the search did not end. More columns are in comparison.csv."
)
HELD_OUT = (
    "Log loss: minus the log-probability of the responses in each block, from parameters found without it, summed over "
    "participants; less is better. difference: log loss minus that of the first model, with its standard error over "
    "participants."
)
LAPLACE = "Shares rest on the log-evidence of each participant by Laplace's approximation, which needs priors."
BIC = "Shares rest on -BIC/2 for the log-evidence of each participant."
SQUARED_ERROR = (
    "mse: the mean squared error of predicting the responses in each block, with parameters found without it; a mean "
    "over participants. Less is better. difference: mse minus that of the first model, with its standard error over "
    "participants. best, better: for how many participants the error is the least of all, and less than the first "
    "model's. Parameters are the most probable ones; they are those of the least squared error if noise is normal and "
    "of constant size, and no response is a lapse."
)
BASE = f"{BASELINE} never learns: a learner that explains responses no better has explained nothing by learning."
_STARTS = 3  # of fits that only ask whether another winner is found


def run_compare(trials: TrialOptions, options: CompareOptions, console: Console) -> None:
    """Fit several learners to the same responses, and leave tables, figures and a report in a folder."""
    names = options.learner or ["delta", "smile"]
    _check(names, options)
    table = read_responses(trials)
    console.say(table.preview())
    if options.score == "mse" and table.response_kind == ResponseKind.CHOICE:
        raise ValueError("--score mse is for responses that are numbers, but these are choices; leave it out")
    add = options.baseline and BASELINE not in names and table.kind in LEARNERS.find(BASELINE).takes
    models = (_with_baseline if add else candidates)(names, trials, table, console)
    command, out = command_line("compare", trials, options), options.out
    how: dict[str, Any] = {"starts": options.starts, "seed": options.seed, "priors": "usual" if options.map else None}
    with locked(out):
        fits = {model.name: model.fit(out=out, waited_for=True, **how) for model in models}
        found = compare_fits(fits, evidence=_evidence(fits))
        console.table("Models", _short(found))
        predicted = _predicted(models, how, options, console) if options.held_out else None
        other = _other_way(models, how, options)
        sentences = headline(found, predicted, options.score, other)
        sections = [understood(models), *_sections(found, fits, options, console)]
        if predicted is not None:
            sections.insert(3, _held_out(predicted, options))
        code = compare_script(trials, options, list(fits), _evidence(fits))
        sections.append(methods_section(_methods(models, options), code, command, out))
        for sentence in sentences:
            console.show(sentence)
        sections.insert(0, section("What it says", *map(paragraph, sentences[1:])))
        finish(
            console,
            out,
            "Which learner explains people best?",
            sentences[0],
            sections,
            command,
            excluded=found.excluded,
        )


def _with_baseline(names: Sequence[str], options: TrialOptions, trials: Trials, console: Console) -> list[Candidate]:
    """The models of these learners, and the baseline, unless it alone cannot explain such responses."""
    try:
        return candidates([*names, BASELINE], options, trials, console)
    except ValueError as problem:
        models = candidates(names, options, trials, console)  # says what is wrong with them, if they are to blame
        console.say(f"there is no baseline that never learns: {str(problem).partition(';')[0]}")
        return models


def _check(names: Sequence[str], options: CompareOptions) -> None:
    if len(set(names)) < 2 or len(set(names)) < len(names):
        listed = " --learner ".join(names)
        raise ValueError(f"--learner {listed} names {len(set(names))} models; name two or more, each once")
    if options.score == "mse" and not options.held_out:
        raise ValueError("--score mse is about blocks that are left out; add --held-out")
    if options.folds is not None and not options.held_out:
        raise ValueError(f"--folds {options.folds} is about trials that are left out; add --held-out")


def _short(found: Selection) -> "DataFrame":
    """The columns of the comparison that fit on a page."""
    from pandas import DataFrame

    table = found.table
    columns = {
        "model": table.index,
        "parameters": table["parameters"],
        "BIC": table["bic"],
        "difference": [
            f"{apart:+.4g} ± {error:.2g}"
            for apart, error in zip(table["difference"], table["difference_se"], strict=True)
        ],
        "R2": table["r_squared"],
        "mse": table["mse"],
        "best": table["best"],
        "share": table["share"],
        "protected": table["protected"],
        "bound": table["at_bound"],
        "unfinished": table["unfinished"],
    }
    short = DataFrame(columns).reset_index(drop=True)
    return short.drop(columns="mse") if short["mse"].isna().all() else short


def _sections(found: Selection, fits: Mapping[str, Fit], options: CompareOptions, console: Console) -> list[str]:
    """Write what was found, and describe it."""
    out = options.out
    write_table(found.table.reset_index(names="model"), out / "comparison.csv")
    write_table(found.people, out / "participants.csv")
    for name, each in fits.items():
        write_table(each.table(), out / f"{file_name(name)}.csv")
    notes = [paragraph(BASE)] if BASELINE in fits else []
    each_model = [details(f"Parameters of {name}", *described(each, name)) for name, each in fits.items()]
    return [
        section("Models", paragraph(COLUMNS), *notes, shown(_short(found), "Models"), *left_out(found.excluded)),
        section("Figure", drawn(found.plot(), out / "comparison", "Models and people", CAPTION)),
        *behaviour_section(fits, out, one=False),
        section("Parameters", *each_model),
        _estimates(fits, console),
        section("Participants", details("A row for each participant and model", shown(found.people, "Participants"))),
    ]


def _evidence(fits: Mapping[str, Fit]) -> str:
    """What stands for the evidence: Laplace's approximation, if it is known for all participants and models."""
    known = all(bool((found.log_evidence == found.log_evidence).all()) for found in fits.values())  # NaN is not itself
    return "laplace" if known else "bic"


def _estimates(fits: Mapping[str, Fit], console: Console) -> str:
    """Say and describe what kind of estimates these are."""
    names: dict[str, list[str]] = {}
    for name, found in fits.items():
        for sentence in found.method:
            names.setdefault(sentence, []).append(name)
    sentences = [f"{', '.join(of)}: {sentence}" for sentence, of in names.items()]
    for sentence in sentences:
        console.say(sentence)
    evidence = LAPLACE if _evidence(fits) == "laplace" else BIC
    return section("Estimates", *map(paragraph, (*sentences, evidence)))


def _predicted(
    models: Sequence[Candidate], how: dict[str, Any], options: CompareOptions, console: Console
) -> "DataFrame":
    """How well each model predicts blocks, or stretches of trials, that are left out."""
    doing, folds = f"leaving out {_parts(options)},", options.folds
    found = {model.name: model.run(doing, held_out, folds=folds, **how) for model in models}
    table = (compare_mse if options.score == "mse" else compare_elpd)(found)
    console.table(f"{_parts(options)} left out".capitalize(), table.reset_index(names="model"))
    return table


def _held_out(predicted: "DataFrame", options: CompareOptions) -> str:
    table = predicted.reset_index(names="model")
    write_table(table, options.out / "held_out.csv")
    about = (SQUARED_ERROR if options.score == "mse" else HELD_OUT).replace("each block", f"each of {_parts(options)}")
    heading = f"{_parts(options)} left out".capitalize()
    return section(heading, paragraph(about), shown(table, heading))


def _parts(options: CompareOptions) -> str:
    """What is left out."""
    return "blocks" if options.folds is None else f"{options.folds} stretches of trials"


def _other_way(models: Sequence[Candidate], how: dict[str, Any], options: CompareOptions) -> Selection | None:
    """The comparison if the learner did not go on from responses, or if it did; None where that makes no difference."""
    if models[0].model.response.kind != "estimate":
        return None
    others = []
    for model in models:
        response: Any = model.model.response
        turned = replace(response, anchored=not response.anchored)
        others.append(replace(model, model=replace(model.model, response=turned)))
    try:
        fits = {model.name: model.fit(out=options.out, **{**how, "starts": _STARTS}) for model in others}
    except ValueError:  # a learner that cannot go on from responses
        return None
    return compare_fits(fits, evidence=_evidence(fits))


def _methods(models: Sequence[Candidate], options: CompareOptions) -> Methods:
    differing = list(dict.fromkeys(path.rpartition(".")[2] for model in models for path in model.model.differs))
    sentences = estimated(options.starts, options.map, (), differing)
    sentences.append(
        "Models were compared by BIC and by random-effects model selection with protected exceedance probabilities "
        "(Stephan et al. 2009; Rigoux et al. 2014)."
    )
    if options.held_out:
        what = "Each block" if options.folds is None else f"Each of {_parts(options)}"
        sentences.append(f"{what} was left out in turn and predicted from the parameters of a participant's others.")
    return methods(models, sentences, ["select"])
