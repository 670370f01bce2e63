"""Compare learners by how well they explain people's responses, and how well they predict those left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astonish.core.names import ResponseKind
from astonish.io.files import locked
from astonish.io.request import FILE
from astonish.models.registry import LEARNERS
from astonish.people.analysis.models import Candidate, candidates
from astonish.people.analysis.report import (
    Console,
    Methods,
    behaviour_section,
    compare_script,
    described,
    drawn,
    estimated,
    file_name,
    left_out,
    methods,
    shown,
    understood,
    write_report,
    write_table,
)
from astonish.people.analysis.requests import CompareRequest
from astonish.people.analysis.table import read_responses
from astonish.people.fit import Fit, Selection, compare_elpd, compare_fits, compare_mse, held_out
from astonish.people.tables import Trials
from astonish.report.style import details, paragraph, section

if TYPE_CHECKING:
    from pandas import DataFrame

BASELINE = "no-learning"
SURE = 0.95
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
    "Log loss: minus the log-probability of the responses in {part}, from parameters found without it, summed over "
    "participants; less is better. difference: log loss minus that of the first model, with its standard error over "
    "participants."
)
LAPLACE = "Shares rest on the log-evidence of each participant by Laplace's approximation, which needs priors."
BIC = "Shares rest on -BIC/2 for the log-evidence of each participant."
SQUARED_ERROR = (
    "mse: the mean squared error of predicting the responses in {part}, with parameters found without it; a mean "
    "over participants. Less is better. difference: mse minus that of the first model, with its standard error over "
    "participants. best, better: for how many participants the error is the least of all, and less than the first "
    "model's. Parameters are the most probable ones; they are those of the least squared error if noise is normal and "
    "of constant size, and no response is a lapse."
)
ANCHORED = (
    "A learner that is anchored goes on from each of the participant's responses, so that only the step to the next "
    "one is explained; one that is free-running goes its own way, so that whole courses of responses are."
)
BASE = f"{BASELINE} never learns: a learner that explains responses no better has explained nothing by learning."
_STARTS = 3  # of fits that only ask whether another winner is found


def run_compare(request: CompareRequest, console: Console) -> None:
    """Fit several learners to the same responses, and leave tables, figures and a report in a folder."""
    names = request.learner
    if len(set(names)) < 2 or len(set(names)) < len(names):
        listed = " --learner ".join(names)
        raise ValueError(f"--learner {listed} names {len(set(names))} models; name two or more, each once")
    if request.score == "mse" and not request.held_out:
        raise ValueError("--score mse is about blocks that are left out; add --held-out")
    if request.folds is not None and not request.held_out:
        raise ValueError(f"--folds {request.folds} is about trials that are left out; add --held-out")
    trials = read_responses(request)
    console.say(trials.preview())
    if request.score == "mse" and trials.response_kind == ResponseKind.CHOICE:
        raise ValueError("--score mse is for responses that are numbers, but these are choices; leave it out")
    add = request.baseline and BASELINE not in names and trials.kind in LEARNERS.find(BASELINE).takes
    models = (_with_baseline if add else candidates)(names, request, trials, console)
    priors = "usual" if request.weak_priors else None
    search: dict[str, Any] = {"starts": request.starts, "seed": request.seed, "priors": priors}
    with locked(request.out):
        request.write(request.out / FILE)
        fits = {model.name: model.fit(out=request.out, waited_for=True, **search) for model in models}
        selection = compare_fits(fits, evidence=_evidence(fits))
        console.table("Models", _short(selection))
        predicted = _predicted(models, search, request, console) if request.held_out else None
        other = _other_way(models, search, request)
        sentences = headline(selection, predicted, request.score, other)
        sections = [understood(models), *_sections(selection, fits, request, console)]
        if predicted is not None:
            sections.insert(3, _held_out(predicted, request))
        for sentence in sentences:
            console.show(sentence)
        write_report(
            console,
            request,
            "Which learner explains people best?",
            sentences[0],
            [section("What it says", *map(paragraph, sentences[1:])), *sections],
            _methods(models, request),
            compare_script(request, list(fits), _evidence(fits)),
            excluded=selection.excluded,
        )


def _with_baseline(names: Sequence[str], request: CompareRequest, trials: Trials, console: Console) -> list[Candidate]:
    """The models of these learners, and the baseline, unless it alone cannot explain such responses."""
    try:
        return candidates([*names, BASELINE], request, trials, console)
    except ValueError as problem:
        models = candidates(names, request, trials, console)  # says what is wrong with them, if they are to blame
        console.say(f"there is no baseline that never learns: {problem}")
        return models


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


def _sections(found: Selection, fits: Mapping[str, Fit], request: CompareRequest, console: Console) -> list[str]:
    """Write what was found, and describe it."""
    out = request.out
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
    models: Sequence[Candidate], search: dict[str, Any], request: CompareRequest, console: Console
) -> "DataFrame":
    """How well each model predicts blocks, or stretches of trials, that are left out."""
    doing, folds = f"leaving out {_parts(request)},", request.folds
    found = {model.name: model.run(doing, held_out, folds=folds, **search) for model in models}
    table = (compare_mse if request.score == "mse" else compare_elpd)(found)
    console.table(f"{_parts(request)} left out".capitalize(), table.reset_index(names="model"))
    return table


def _held_out(predicted: "DataFrame", request: CompareRequest) -> str:
    table = predicted.reset_index(names="model")
    write_table(table, request.out / "held_out.csv")
    part = "each block" if request.folds is None else f"each of {_parts(request)}"
    about = (SQUARED_ERROR if request.score == "mse" else HELD_OUT).format(part=part)
    heading = f"{_parts(request)} left out".capitalize()
    return section(heading, paragraph(about), shown(table, heading))


def _parts(request: CompareRequest) -> str:
    """What is left out."""
    return "blocks" if request.folds is None else f"{request.folds} stretches of trials"


def _other_way(models: Sequence[Candidate], search: dict[str, Any], request: CompareRequest) -> Selection | None:
    """The comparison if the learner did not go on from responses, or if it did; None where that makes no difference."""
    if models[0].model.response.kind != "estimate":
        return None
    others = []
    for model in models:
        response: Any = model.model.response
        turned = replace(response, anchored=not response.anchored)
        others.append(replace(model, model=replace(model.model, response=turned)))
    try:
        fits = {model.name: model.fit(out=request.out, **{**search, "starts": _STARTS}) for model in others}
    except ValueError:  # a learner that cannot go on from responses
        return None
    return compare_fits(fits, evidence=_evidence(fits))


def _methods(models: Sequence[Candidate], request: CompareRequest) -> Methods:
    differing = list(dict.fromkeys(path.rpartition(".")[2] for model in models for path in model.model.differs))
    sentences = estimated(request.starts, request.weak_priors, (), differing)
    sentences.append(
        "Models were compared by BIC and by random-effects model selection with protected exceedance probabilities "
        "(Stephan et al. 2009; Rigoux et al. 2014)."
    )
    if request.held_out:
        what = "Each block" if request.folds is None else f"Each of {_parts(request)}"
        sentences.append(f"{what} was left out in turn and predicted from the parameters of a participant's others.")
    return methods(models, sentences, ["select"])


def headline(found: Selection, predicted: "DataFrame | None", score: str, other: Selection | None) -> list[str]:
    """The first sentence is the message; others qualify it.

    predicted: how well models predict blocks left out. other: the same comparison, anchored instead of free-running, or
    the other way round.
    """
    table = found.table
    people = found.people["participant"].nunique()
    used, least = str(table["share"].idxmax()), str(table["bic"].idxmin())
    row = table.loc[used]
    sure = f"protected probability that no other is used by more people: {row['protected']:.2f}"
    if used == least:
        first = f"{used} has the least BIC over {people} participants, and most people use it ({sure})"
    else:
        few = f"for {row['best']:.0f} of {people} participants its BIC is the least"
        first = f"most people use {used} ({sure}; {few}), but {least} has the least BIC over all participants"
    sentences = [first]
    if row["protected"] < SURE:
        sentences.append(f"That is not sure: the probability of {used} is less than {SURE:g}.")
    if used != least:
        sentences.append(
            f"So a few participants are explained so much better by {least} that they outweigh the others."
        )
    if BASELINE in (used, least):
        sentences.append("No learner explains these responses better than a baseline that never learns.")
    return [*sentences, *_of_blocks(predicted, used, score), *_of_anchoring(other, used), *_of_searches(table)]


def _of_blocks(predicted: "DataFrame | None", used: str, score: str) -> list[str]:
    if predicted is None:
        return ["Blocks were not left out; with --held-out you see which model predicts what it was not fitted to."]
    column = "mse" if score == "mse" else "log_loss"
    best = str(predicted[column].idxmin())
    what = "squared error" if score == "mse" else "log loss"
    same = ", the same model" if best == used else f", not {used}"
    return [f"Of blocks that were left out, {best} has the least {what}{same}."]


def _of_anchoring(other: Selection | None, used: str) -> list[str]:
    if other is None:
        return []
    winner = str(other.table["share"].idxmax())
    if winner == used:
        return [f"{ANCHORED} Either way, most people use {used}."]
    return [f"{ANCHORED} It decides the winner here: the other way round, most people use {winner}."]


def _of_searches(table: Any) -> list[str]:
    """Models of which parameters are at a bound, or searches did not end."""
    found = []
    for name, row in table.iterrows():
        if row["unfinished"]:
            found.append(f"{name}: {_of_people(row['unfinished'])} the search did not end.")
        if row["at_bound"]:
            found.append(f"{name}: {_of_people(row['at_bound'])} a parameter is at its bound.")
    return found


def _of_people(count: float) -> str:
    return f"for {count:.0f} participant{'' if count == 1 else 's'}"
