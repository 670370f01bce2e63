"""The commands about people's data: `surprise`, `fit`, `compare` and `recover`, which leave tables and a report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from astonish.core.names import ResponseKind
from astonish.io.files import locked
from astonish.io.request import FILE
from astonish.models.parameters import arguments
from astonish.models.registry import LEARNERS
from astonish.people.analysis.models import Candidate, candidates, read_outcomes, read_responses, say_assembly
from astonish.people.analysis.report import (
    Console,
    behaviour_section,
    described,
    drawn,
    estimated,
    file_name,
    left_out,
    parameter_tables,
    script,
    shown,
    understood,
    write_report,
    write_table,
)
from astonish.people.analysis.requests import CompareRequest, FitRequest, RecoverRequest, SurpriseRequest
from astonish.people.comparison import Selection, compare_elpd, compare_fits, compare_mse, held_out
from astonish.people.fit import Fit
from astonish.people.fit.result import TRIAL_COLUMNS
from astonish.people.recovery import recover_models, recover_parameters, trials_needed
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import describe as describe_regressor, regressors, write_bids
from astonish.people.tables.trials import ASSUMED
from astonish.report.style import details, paragraph, section

if TYPE_CHECKING:
    from pandas import DataFrame

# Surprise


def run_surprise(request: SurpriseRequest, console: Console) -> None:
    """Write the table with columns of surprise, learning rate, estimates and more; or a BIDS folder."""
    target, kinds = request.target, (".csv", ".tsv", ".parquet")
    if not request.bids and target.suffix.lower() not in kinds:
        raise ValueError(
            f"--out {target} is of an unknown kind; give a file that ends in {', '.join(kinds)}, or --bids"
        )
    if target.exists() and request.file.exists() and target.samefile(request.file):
        raise ValueError(f"--out {target} is the table itself; give another file")
    trials = read_outcomes(request)
    console.say(trials.preview())
    chosen = choose(request.learner, trials, request.settings, request.family, request.contexts)
    say_assembly(console, "learner", chosen.learner, chosen.assumed)
    with console.progress("running the learner over every trial", counted=False):
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            table = regressors(chosen.learner, trials, request.measure or None, request.hazard, request.prefix)
        for warning in caught:
            console.say(str(warning.message))
        if request.bids:
            new = [str(name) for name in table if name not in trials.frame]
            meanings = {name: describe_regressor(name.removeprefix(request.prefix), chosen.learner) for name in new}
            columns = request.task, request.onset, request.duration, request.bids_datatype
            write_bids(target, table, trials, meanings, *columns)
        else:
            write_table(table, target)
    added = len(table.columns) - len(trials.frame.columns)
    people = f"{len(trials)} participant{'s' * (len(trials) != 1)}"
    console.show(f"{added} columns for {len(table)} trials of {people}: {target}")


def _search(request: FitRequest | CompareRequest | RecoverRequest, **options: Any) -> dict[str, Any]:
    """List what functions are called with to search as asked; options that are empty go without saying."""
    options |= {"seed": request.seed, "priors": "usual" if request.weak_priors else None}
    return {name: value for name, value in options.items() if value not in (None, ())}


# Fits

FITTED = (
    "Above: the parameters of all participants, in the order of their values, with 95 % intervals. Below, for numbers: "
    "how far responses move for errors of each size (means in bins with equally many trials, and the middle half), "
    "by people and by the fitted model, and responses against those expected. For choices: how probable the model "
    "takes those that were made."
)
PARTICIPANTS = (
    "A row for each participant: the best parameters, how many of the searches for them agreed, and what to know about "
    "them. Nothing better was seen along any parameter, from bound to bound, unless a note says that the search did "
    "not end."
)
GROUP = (
    "Means of groups, standard deviations within groups on the unconstrained scale (logarithms of what has one bound, "
    "log-odds of what has two), and what is shared; with 95 % intervals. Participants' own are in posterior.csv, all "
    "draws with the log-likelihood of each response in posterior.nc, for ArviZ."
)
CONTRASTS = (
    "Differences between groups and conditions, and what a unit of a covariate adds, on the unconstrained scale; "
    "probability of direction: that the difference has the sign of its median."
)
CHECKS = (
    "What was observed, and what participants with drawn parameters would do instead (mean and 95 % interval). "
    "Simulated over observed; a dot for each participant, and a diamond for the mean of all."
)
TESTED = (
    "On the unconstrained scale (logarithms of what has one bound, log-odds of what has two), the first minus the "
    "second, with 95 % intervals (low, high). Groups: Welch's t-test, and Hedges' g as effect size; covariates: "
    "Pearson's correlation, as difference and effect size; conditions: the t-test of differences within people, and "
    "Cohen's d. people: in the test; left out: since a value is at a bound. p ranks: of the tests of Mann and Whitney, "
    "Kruskal and Wallis, Spearman, or Wilcoxon, which leave nobody out; p holm: adjusted for all tests of this table."
)
DIFFERENT = (
    "Dots are participants, diamonds means with 95 % intervals on the unconstrained scale; axes show values. Values at"
    " a bound are not shown."
)
_IN_TERMINAL = ["parameter", "comparison", "people", "left_out", "difference", "low", "high", "p", "p_holm"]
_TESTS = 40  # so many, the most significant, are in the terminal


def run_fit(request: FitRequest, console: Console) -> None:
    """Fit one learner, and leave tables, figures and a report in a folder."""
    from astonish.people.fit.plot import plot_fit

    trials, out = read_responses(request), request.out
    console.say(trials.preview())
    (model,) = candidates([request.learner], request, trials, console)
    console.say(f"can such a design tell {', '.join(model.free)} at all? astonish recover, with the same options, says")
    with locked(out):
        request.write(out / FILE)
        search = _search(request, shared=request.shared, starts=request.starts)
        fit = model.fit(out, waited_for=True, **search)
        for sentence in fit.method:
            console.say(sentence)
        figure = drawn(plot_fit(fit), out / "fit", "Parameters and behaviour", FITTED)
        sections = [understood([model])]
        sections.append(section("Parameters", *described(fit), *map(paragraph, fit.method), figure))
        tables = [(name, table) for name, _, table in parameter_tables(fit)]
        sections += _differences(fit, out, tables) + behaviour_section({model.name: fit}, out)
        if request.posterior:
            sections += _posterior(model, request, console)
        write_table(fit.table(), out / "parameters.csv")
        write_table(fit.people(), out / "participants.csv")
        write_table(fit.trial_table(), out / "trials.csv")
        taken = [name for name in TRIAL_COLUMNS if name in fit.trials.frame]
        if taken:
            names = f"the table has {', '.join(taken)} already"
            console.say(f"{names}: in trials.csv, what the fit adds has a number behind that name")
        for name, table in tables:
            console.table(name, table)
        notes = Counter(filter(None, fit.notes))
        noted = f"{notes.total()} of {len(fit.notes)}"
        about = PARTICIPANTS
        if notes:
            often = notes.most_common(1)[0][0]
            console.say(f"{noted} participants come with a note in participants.csv, such as: {often}")
            about = f"{noted} come with a note. {about}"
        rows = details("A row for each participant", shown(fit.people(), "Participants"))
        sections.append(section("Participants", paragraph(about), *left_out(fit.excluded), rows))
        medians = ", ".join(f"median {row.parameter} {row.median:.3g}" for row in tables[0][1].itertuples())
        lead = f"{model.name} fitted to {len(fit.values)} participants; {medians}"
        console.show(lead)
        methods = estimated(request, [model])
        if request.posterior:
            methods.append(
                "A hierarchical model, in which participants' parameters are normally distributed on the unconstrained "
                f"scale, was drawn from with the No-U-Turn sampler ({request.posterior} draws of each of 4 chains)."
            )
        python = script(
            request, [request.learner], "fit",
            "(model,) = models",
            f"found = fit(model.model, trials, model.free, {arguments(search)})",
            "print(found.table().to_string())",
        )  # fmt: skip
        write_report(
            console, request, [model], "A fit to people's responses", lead, sections, methods=methods, script=python,
            cite=["hierarchical"] if request.posterior else [], packages=["numpyro"] if request.posterior else [],
            about=str(fit.model), excluded=fit.excluded,
        )  # fmt: skip


def _differences(fit: Fit, out: Path, tables: "list[tuple[str, DataFrame]]") -> list[str]:
    """Test and draw parameters by group, condition and covariate; add the tests to the tables of the terminal."""
    from astonish.people.fit.description import differences
    from astonish.people.fit.plot import plot_differences

    tests = differences(fit)
    if tests.empty:
        return []
    write_table(tests, out / "differences.csv")
    most = tests.sort_values("p_holm", kind="stable").head(_TESTS).sort_index()
    more = f"; {len(tests) - _TESTS} more in differences.csv" if len(tests) > _TESTS else ""
    tables.append((f"Differences and correlations, on the unconstrained scale{more}", most[_IN_TERMINAL]))
    name = "Parameters by group, condition and covariate"
    figure = drawn(plot_differences(fit), out / "differences", name, DIFFERENT)
    return [section("Groups, conditions and covariates", paragraph(TESTED), shown(tests, "Differences"), figure)]


def _posterior(model: Candidate, request: FitRequest, console: Console) -> list[str]:
    """Draw from the posterior, write the draws, and describe them."""
    from astonish.people.posterior import hierarchical
    from astonish.people.posterior.checks import interpretation, plot_predictive
    from astonish.people.posterior.sampling import LEAST

    options: dict[str, Any] = {"shared": request.shared, "draws": request.posterior, "seed": request.seed}
    try:
        posterior = model.run("drawing from the posterior of", hierarchical, **options)
    except KeyboardInterrupt:
        console.say(
            f"stopped: there are no {LEAST} draws of two chains yet, so none are kept, and the report has no posterior"
        )
        return []
    table, checks, contrasts = posterior.table(), posterior.predictive(request.seed), posterior.contrasts()
    write_table(table, request.out / "posterior.csv")
    write_table(checks, request.out / "predictive.csv")
    posterior.save(request.out / "posterior.nc")
    console.show(f"{posterior}\n")
    group = [paragraph(GROUP), *(paragraph(f"Beware: {warning}.") for warning in posterior.warnings)]
    group.append(shown(table[table["kind"] != "participant"], "Group"))
    if not contrasts.empty:
        write_table(contrasts, request.out / "contrasts.csv")
        group += [paragraph(CONTRASTS), shown(contrasts, "Contrasts")]
    sentences = [interpretation(row) for _, row in checks[checks["participant"] == ""].iterrows()]
    for sentence in sentences:
        console.show(sentence)
    if model.trials.options and model.trials.payoffs is None:
        sentences.append(f"Assumed: {ASSUMED}.")
    figure = drawn(plot_predictive(checks), request.out / "predictive", "Simulated and observed", CHECKS)
    return [section("The group", *group), section("Would such people behave so?", *map(paragraph, sentences), figure)]


# Comparisons

BASELINE = "no-learning"
SURE = 0.95
COMPARED = (
    "A: what each participant's BIC under a model is, less that under the first; diamonds are means with 95 % "
    "confidence intervals. B: the share of people who use each model, with its standard deviation, and the protected "
    "probability that no other is used by more of them (Stephan et al. 2009; Rigoux et al. 2014)."
)
COLUMNS = (
    "Lower BIC and mse are better; a negative difference means better than the first model. BIC is summed over "
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
_FEW_STARTS = 3  # of fits that only ask whether another winner is found, or about which values people may have


def run_compare(request: CompareRequest, console: Console) -> None:
    """Fit several learners to the same responses, and leave tables, figures and a report in a folder."""
    names, out = request.learner, request.out
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
    try:
        models = candidates([*names, BASELINE] if add else names, request, trials, console)
    except ValueError as problem:
        models = candidates(names, request, trials, console)  # says what is wrong with them, if they are to blame
        console.say(f"there is no baseline that never learns: {problem}")
    search = _search(request, starts=request.starts)
    with locked(out):
        request.write(out / FILE)
        fits = {model.name: model.fit(out, waited_for=True, **search) for model in models}
        evidence = _evidence(fits)
        selection = compare_fits(fits, evidence=evidence)
        console.table("Models", _short(selection))
        predicted, of_predictions = _predictions(models, search, request, console) if request.held_out else (None, [])
        sentences = headline(selection, predicted, request.score, _other_way(models, search, out))
        sections = [
            section("What it says", *map(paragraph, sentences[1:])),
            understood(models),
            *_described(selection, fits, out, of_predictions, console),
        ]
        for sentence in sentences:
            console.show(sentence)
        methods = estimated(request, models)
        methods.append(
            "Models were compared by BIC and by random-effects model selection with protected exceedance probabilities "
            "(Stephan et al. 2009; Rigoux et al. 2014)."
        )
        if request.held_out:
            part = "Each block" if request.folds is None else f"Each of {request.folds} stretches of trials"
            methods.append(f"{part} was left out in turn and predicted from the parameters of a participant's others.")
        python = script(
            request, list(fits), "compare_fits, fit",
            f"fits = {{each.name: fit(each.model, trials, each.free, {arguments(search)}) for each in models}}",
            f"print(compare_fits(fits, evidence={evidence!r}).table.to_string())",
        )  # fmt: skip
        write_report(
            console, request, models, "Which learner explains people best?", sentences[0], sections, methods=methods,
            script=python, cite=["select"], excluded=selection.excluded,
        )  # fmt: skip


def _evidence(fits: Mapping[str, Fit]) -> str:
    """Return what stands for the evidence: Laplace's approximation, if it is known for all participants and models."""
    known = all(bool((fit.log_evidence == fit.log_evidence).all()) for fit in fits.values())  # NaN is not itself
    return "laplace" if known else "bic"


def _short(selection: Selection) -> "DataFrame":
    """Return the columns of the comparison that fit on a page."""
    table = selection.table.reset_index(names="model")
    apart = zip(table["difference"], table["difference_se"], strict=True)
    table["difference"] = [f"{difference:+.4g} ± {error:.2g}" for difference, error in apart]
    columns = ["model", "parameters", "bic", "difference", "r_squared", "mse", "best", "share", "protected"]
    names = {"bic": "BIC", "r_squared": "R2", "at_bound": "bound"}
    short = table[[*columns, "at_bound", "unfinished"]].rename(columns=names)
    return short.drop(columns="mse") if short["mse"].isna().all() else short


def _predictions(
    models: Sequence[Candidate], search: dict[str, Any], request: CompareRequest, console: Console
) -> "tuple[DataFrame, list[str]]":
    """Predict blocks, or stretches of trials, that are left out: a table by model, and a section of the report."""
    left = "blocks" if request.folds is None else f"{request.folds} stretches of trials"
    mse = request.score == "mse"
    predictions = {
        model.name: model.run(f"leaving out {left},", held_out, folds=request.folds, **search) for model in models
    }
    predicted = (compare_mse if mse else compare_elpd)(predictions)
    table, heading = predicted.reset_index(names="model"), f"{left} left out".capitalize()
    console.table(heading, table)
    write_table(table, request.out / "held_out.csv")
    part = "each block" if request.folds is None else f"each of {left}"
    about = (SQUARED_ERROR if mse else HELD_OUT).format(part=part)
    return predicted, [section(heading, paragraph(about), shown(table, heading))]


def _other_way(models: Sequence[Candidate], search: dict[str, Any], out: Path) -> Selection | None:
    """Compare models if the learner did not go on from responses, or if it did; None where that makes no difference."""
    if models[0].model.response.kind != "estimate":
        return None
    fits = {}
    try:
        for model in models:
            response: Any = model.model.response
            turned = replace(model.model, response=replace(response, anchored=not response.anchored))
            fits[model.name] = replace(model, model=turned).fit(out, **{**search, "starts": _FEW_STARTS})
    except ValueError:  # a learner that cannot go on from responses
        return None
    return compare_fits(fits, evidence=_evidence(fits))


def _described(
    selection: Selection, fits: Mapping[str, Fit], out: Path, of_predictions: Sequence[str], console: Console
) -> list[str]:
    """Write what was found, and describe it, with what models predict between the figures and the parameters."""
    write_table(selection.table.reset_index(names="model"), out / "comparison.csv")
    write_table(selection.people, out / "participants.csv")
    methods: dict[str, list[str]] = {}
    for name, fit in fits.items():
        write_table(fit.table(), out / f"{file_name(name)}.csv")
        for sentence in fit.method:
            methods.setdefault(sentence, []).append(name)
    estimates = [f"{', '.join(names)}: {sentence}" for sentence, names in methods.items()]
    for sentence in estimates:
        console.say(sentence)
    estimates.append(LAPLACE if _evidence(fits) == "laplace" else BIC)
    notes = [paragraph(COLUMNS), *([paragraph(BASE)] if BASELINE in fits else [])]
    by_model = [details(f"Parameters of {name}", *described(fit)) for name, fit in fits.items()]
    rows = details("A row for each participant and model", shown(selection.people, "Participants"))
    return [
        section("Models", *notes, shown(_short(selection), "Models"), *left_out(selection.excluded)),
        section("Figure", drawn(selection.plot(), out / "comparison", "Models and people", COMPARED)),
        *of_predictions,
        *behaviour_section(fits, out, one=False),
        section("Parameters", *by_model),
        section("Estimates", *map(paragraph, estimates)),
        section("Participants", rows),
    ]


def headline(selection: Selection, predicted: "DataFrame | None", score: str, other: Selection | None) -> list[str]:
    """Say who wins: the first sentence is the message; others qualify it.

    predicted: how well models predict blocks left out. other: the same comparison, anchored instead of free-running, or
    the other way round.
    """
    table, people = selection.table, selection.people["participant"].nunique()
    used, least = str(table["share"].idxmax()), str(table["bic"].idxmin())
    row = table.loc[used]
    sure = f"protected probability that no other is used by more people: {row['protected']:.2f}"
    if used == least:
        sentences = [f"{used} has the least BIC over {people} participants, and most people use it ({sure})"]
    else:
        few = f"for {row['best']:.0f} of {people} participants its BIC is the least"
        sentences = [f"most people use {used} ({sure}; {few}), but {least} has the least BIC over all participants"]
    if row["protected"] < SURE:
        sentences.append(
            f"Inconclusive: the protected probability of {used}, {row['protected']:.2f}, is below {SURE:g}."
        )
    if used != least:
        sentences.append(
            f"So a few participants are explained so much better by {least} that they outweigh the others."
        )
    if BASELINE in (used, least):
        sentences.append("No learner explains these responses better than a baseline that never learns.")
    if predicted is None:
        sentences.append(
            "Blocks were not left out; with --held-out you see which model predicts what it was not fitted to."
        )
    else:
        best = str(predicted["mse" if score == "mse" else "log_loss"].idxmin())
        loss = "squared error" if score == "mse" else "log loss"
        same = ", the same model" if best == used else f", not {used}"
        sentences.append(f"Of blocks that were left out, {best} has the least {loss}{same}.")
    if other is not None:
        winner = str(other.table["share"].idxmax())
        decides = f"It decides the winner here: the other way round, most people use {winner}."
        sentences.append(f"{ANCHORED} {f'Either way, most people use {used}.' if winner == used else decides}")
    for name, model in table.iterrows():
        problems = {"the search did not end": model["unfinished"], "a parameter is at its bound": model["at_bound"]}
        for problem, count in problems.items():
            if count:
                sentences.append(f"{name}: for {count:.0f} participant{'' if count == 1 else 's'} {problem}.")
    return sentences


# Recovery

RECOVERED = (
    "Participants with parameters like those of the real ones were simulated in their trials, and fitted as if nothing "
    "were known. All numbers are on the unconstrained scale: logarithms, or log-odds. coverage: how often the 95 % "
    "interval holds the true value; coverage se: by how much it may be off by chance."
)
MODELS = (
    "Participants were simulated with each model, and all models were fitted to all of them. Rows: the model that was "
    "true. Columns: the share of participants for whom each would be chosen by BIC."
)
NEEDED = "The same with the first trials of each participant only: how many are needed?"
FOUND = "Values found over true ones, with 95 % intervals; on the dashed line they are the same."
BY_NUMBER = "Left: how well values found agree with true ones. Right: how wide their intervals are."
CHOSEN = "Left: which model is chosen, given the true one. Right: which is true, given the one chosen."


def run_recover(request: RecoverRequest, console: Console) -> None:
    """Ask whether a design can tell parameters and learners, and leave tables, figures and a report in a folder."""
    if request.participants < 3:
        raise ValueError(f"--participants {request.participants} is too few to tell anything; give at least 3")
    trials, out = read_responses(request), request.out
    console.say(trials.preview())
    models = candidates(request.learner, request, trials, console)
    with locked(out):
        request.write(out / FILE)
        starts = _search(request, starts=_FEW_STARTS)
        truth: dict[str, Fit | None] = {}  # of a model, a fit to the real participants, if somebody's are known well
        for model in models:
            fit = model.fit(out, **starts)
            truth[model.name] = None if all(fit.notes) else fit
            if all(fit.notes):
                problem = "nobody's parameters are known well, so they are drawn about those that the model has"
                console.say(f"{model.name}: {problem}")
        sections = [understood(models)]
        if trials.options is not None and trials.payoffs is None:
            console.say(f"assumed: {ASSUMED}")
            sections.append(paragraph(f"Assumed: {ASSUMED}."))

        def recovered(heading: str, about: str, result: Any, table: "DataFrame", stem: Path, caption: str) -> None:
            """Show what was found, save its figure, and describe it. table: what the report shows."""
            console.table(heading, table)
            figure = drawn(result.plot(), stem, heading, caption)
            sections.append(section(heading, paragraph(about), shown(table, heading), figure))

        search = _search(request, participants=request.participants)
        for model in models:
            recovery = model.run("recovering", recover_parameters, truth=truth[model.name], **search)
            stem = out / f"recovery-{file_name(model.name)}"
            write_table(recovery.table(), stem.with_suffix(".csv"))
            summary = recovery.summary().reset_index(names="parameter")
            recovered(f"Parameters of {model.name}", RECOVERED, recovery, summary, stem, FOUND)
        for model in models if request.trials else ():
            needed = model.run("trials needed,", trials_needed, request.trials, truth=truth[model.name], **search)
            stem, table = out / f"trials-{file_name(model.name)}", needed.table()
            write_table(table, stem.with_suffix(".csv"))
            recovered(f"Trials needed for {model.name}", NEEDED, needed, table, stem, BY_NUMBER)
        if len(models) > 1:
            known = {name: fit for name, fit in truth.items() if fit is not None}
            rivals = {model.name: (model.model, model.free) for model in models}
            with console.progress("recovering models") as report:
                confusion = recover_models(rivals, trials, truth=known, progress=report, **search)
            matrix = confusion.matrix().reset_index(names="true")
            write_table(matrix, out / "models.csv")
            recovered("Models", MODELS, confusion, matrix, out / "models", CHOSEN)

        lead = f"{request.participants} simulated participants with each of {', '.join(truth)}"
        if request.weak_priors:
            lead += "; all estimates are maximum a posteriori, with weak priors where values usually lie"
        python = script(
            request, list(truth), "fit, recover_parameters",
            "for each in models:",
            f"    people = fit(each.model, trials, each.free, {arguments(starts)})",
            "    truth = None if all(people.notes) else people  # of those about whom there is nothing to note",
            f"    found = recover_parameters(each.model, trials, each.free, truth=truth, {arguments(search)})",
            '    print(each.name, found.summary().to_string(), sep="\\n")',
        )  # fmt: skip
        methods = ["Parameters were recovered from simulated participants, as advised by Wilson & Collins (2019)."]
        write_report(
            console, request, models, "Would we find what is there?", lead, sections, methods=methods, script=python,
            cite=["recover_parameters"],
        )  # fmt: skip
