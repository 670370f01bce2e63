"""Options, choices with consequences, conditions, groups and second responses, from the command to the report."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish import Delta, PerOption
from astonish.people.analysis.commands import headline
from astonish.people.analysis.report import estimated
from astonish.people.analysis.requests import FitRequest
from astonish.people.fit import Estimate, Model, Selection, Softmax, plan_trials, select, simulate_responses
from astonish.worlds import bandit
from shell import done, refused


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve people who choose between two options that now and then change places."""
    model = Model(PerOption(Delta(0.4, start=0.5), 2), Softmax(6.0))
    plan = plan_trials(bandit.many(bandit.reversal, 80, range(12)))
    made = simulate_responses(model, plan, {"learning_rate": np.linspace(0.2, 0.8, 12)}).frame
    made["other"] = np.where(made.choice == 1, made.payoff_2, made.payoff_1)
    path = tmp_path_factory.mktemp("data") / "choices.csv"
    made.rename(columns={"participant": "id"}).to_csv(path, index=False)
    return path


BANDIT = "--choice choice --reward reward --subject id"


def test_a_fit_of_choices_that_are_paid(choices: Path, tmp_path: Path) -> None:
    words = f"--learner rw:alpha --fit-response-parameter perseveration --starts 2 --weak-priors --out {tmp_path}"
    result = done("fit", choices, BANDIT, words, "--out", tmp_path)
    people = pd.read_csv(tmp_path / "participants.csv")
    assert np.corrcoef(people.learning_rate, np.linspace(0.2, 0.8, 12))[0, 1] > 0.5
    assert {"beta", "perseveration"} <= set(people)
    assert "choice choice: one of 1, 2; none missing" in result.stderr
    assert "start = 0.5, the middle of the range of outcomes" in result.stderr
    assert "parameter  n" in result.stdout  # not a row for each participant
    assert len(result.stdout.splitlines()) < 16
    report = (tmp_path / "report.html").read_text()
    assert "the learner rw (Rescorla &amp; Wagner 1972), response model Softmax" in report
    assert "maximum a posteriori (with weak normal priors" in report
    assert f"astonish fit {choices} {BANDIT}" in report.replace("&#x27;", "'")


def test_learners_of_options_are_compared_with_one_that_never_learns(choices: Path, tmp_path: Path) -> None:
    words = f"--learner rw --learner two-rate --starts 2 --out {tmp_path}"
    result = done("compare", choices, BANDIT, "--counterfactual other", words)
    table = pd.read_csv(tmp_path / "comparison.csv", index_col="model")
    assert table.index.tolist() == ["rw", "two-rate", "no-learning"]
    assert table.parameters.to_dict() == {"rw": 2, "two-rate": 3, "no-learning": 1}
    assert table.bic["no-learning"] > table.bic["rw"] + 50
    assert "rw has the least BIC over 12 participants" in result.stdout
    assert "outcomes of options not chosen are shown (other)" in result.stderr
    done("compare", choices, BANDIT, words, "--no-baseline")
    assert pd.read_csv(tmp_path / "comparison.csv").model.tolist() == ["rw", "two-rate"]


def test_what_simulations_assume_about_payoffs_is_said(choices: Path, tmp_path: Path) -> None:
    words = f"--learner rw --participants 12 --out {tmp_path}"
    result = done("recover", choices, BANDIT, words)
    assert "assumed: what an option would have paid when it was not chosen is not in the table" in result.stderr
    assert "Assumed: what an option would have paid" in (tmp_path / "report.html").read_text()
    result = done("recover", choices, BANDIT, words, "--payoff payoff_1 --payoff payoff_2")
    assert "assumed" not in result.stderr


def test_surprise_of_rewards(choices: Path, tmp_path: Path) -> None:
    out = tmp_path / "regressors.csv"
    done("surprise", choices, BANDIT, "--learner hgf --options 1,2,3 --measure epsilon2 --out", out)
    table = pd.read_csv(out)
    assert {"value_1", "value_2", "value_3", "epsilon2", "prediction_error"} <= set(table)
    assert table.prediction_error.to_numpy() == pytest.approx(table.reward - table.prediction)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--choice choice", "--choice goes with --reward, the column of what it paid"),
        ("--reward reward", "--reward goes with --choice, the column of what was chosen"),
        (f"{BANDIT} --outcome other", "--reward reward is the outcome of a choice; leave out --outcome other"),
        (f"{BANDIT} --response other", "--choice choice is the response; leave out --response other"),
        (f"{BANDIT} --options 1,2,2", "options = 1, 2, 2 names one twice"),
        ("--outcome reward", "which column is to be explained? Give --response COLUMN"),
        ("--response choice", "which column is the outcome? Give --outcome COLUMN, or --choice COLUMN --reward"),
        (f"{BANDIT} --by-condition alpha", "--by-condition alpha needs the column of conditions; give --condition"),
        (f"{BANDIT} --second-response other", "--second-response and --second-response-model go together"),
        (f"{BANDIT} --condition id --by-condition start --learner rw", "--by-condition start is not free; free are"),
    ],
)
def test_what_does_not_go_together_is_refused(words: str, sentence: str, choices: Path) -> None:
    assert sentence in refused("fit", choices, words, "--out", choices.parent / "never")
    assert not (choices.parent / "never" / "report.html").exists()


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Delta rules with a higher rate in one condition, and in one group; with confidence and reaction times."""
    rng, rows = np.random.default_rng(1), []
    for who in range(10):
        belief = 0.0
        for t in range(60):
            wild = t // 10 % 2
            rate = 1 / (1 + np.exp(0.5 - 1.5 * wild - 1.0 * (who % 2)))
            x = rng.normal(0, 5)
            belief += rate * (x - belief) + 0.3 * rng.standard_normal()
            known = f"p{who}", "ab"[who % 2], 20 + who
            rows.append((*known, ["calm", "wild"][wild], t % 20 == 5, x, belief, rng.lognormal()))
    path = tmp_path_factory.mktemp("data") / "numbers.csv"
    names = ["id", "group", "age", "world", "jump", "x", "b", "rt"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return path


FOLLOWED = "--outcome x --response b --responded after --subject id"


def test_conditions_groups_and_covariates(numbers: Path, tmp_path: Path) -> None:
    who = "--condition world --group group --covariate age --change jump"
    result = done("fit", numbers, FOLLOWED, who, "--set start=0 --learner delta --starts 1 --out", tmp_path)
    assert "conditions by world: calm (300 trials), wild (300 trials)" in result.stderr
    for line in (r"learning_rate\[calm\] +1 +", r"By group\n", r"learning_rate +calm - wild +10 +0 +-\d"):
        assert re.search(line, result.stdout), line
    table = pd.read_csv(tmp_path / "differences.csv").set_index(["parameter", "comparison"])
    row = table.loc[("learning_rate", "calm - wild")]
    assert row.low < -1.5 < row.high
    assert table.loc[("learning_rate[calm]", "a - b"), "p"] < 0.01
    assert ("noise", "with age") in table.index
    report = (tmp_path / "report.html").read_text()
    assert "learning_rate differed between conditions." in report
    assert "Parameters by group, condition and covariate" in report
    assert (tmp_path / "differences.pdf").is_file()
    by_condition = "--set start=0 --by-condition response.noise --learner delta --starts 1"
    done("fit", numbers, FOLLOWED, who, by_condition, "--out", tmp_path)
    assert {"noise[calm]", "noise[wild]", "learning_rate"} <= set(pd.read_csv(tmp_path / "participants.csv"))


def test_a_posterior_with_contrasts_and_what_it_says(numbers: Path, tmp_path: Path) -> None:
    who = "--condition world --group group --posterior 100 --starts 1"
    result = done("fit", numbers, FOLLOWED, who, "--set start=0 --learner delta --out", tmp_path)
    table = pd.read_csv(tmp_path / "contrasts.csv").set_index(["parameter", "contrast"])
    assert table.loc[("learning_rate", "calm - wild"), "probability_of_direction"] > 0.99
    assert table.loc[("learning_rate (mean of conditions)", "a - b"), "mean"] == pytest.approx(-1, abs=0.4)
    posterior = pd.read_csv(tmp_path / "posterior.csv")
    own = posterior[(posterior.kind == "participant") & (posterior.parameter == "learning_rate[wild]")]
    assert np.corrcoef(own["mean"], np.arange(10) % 2)[0, 1] > 0.9
    assert set(pd.read_csv(tmp_path / "predictive.csv").columns) >= {"observed", "predicted", "p"}
    assert (tmp_path / "posterior.nc").stat().st_size > 1000
    assert "Would such people behave so?" in (tmp_path / "report.html").read_text()
    assert "the model does as people do (observed" in result.stdout
    assert (tmp_path / "predictive.png").is_file()
    assert "A hierarchical model" in (tmp_path / "report.html").read_text()


def test_a_second_response(numbers: Path, tmp_path: Path) -> None:
    words = "--second-response rt --second-response-model log-rt --fit-response-parameter second.by_uncertainty"
    done("fit", numbers, FOLLOWED, words, "--learner kalman --starts 1 --out", tmp_path)
    people = pd.read_csv(tmp_path / "participants.csv")
    assert {"offset", "by_surprise", "by_uncertainty", "second.noise", "response.noise"} <= set(people)
    assert people["second.noise"].median() == pytest.approx(1.0, abs=0.2)
    assert (people.responses == 120).all()
    sentence = refused("fit", numbers, FOLLOWED, words, "--learner delta --out", tmp_path)
    assert "LogReactionTime follows the uncertainty of what is predicted, which Delta does not know" in sentence


def test_a_baseline_that_cannot_explain_responses_is_left_out(choices: Path, tmp_path: Path) -> None:
    table = pd.read_csv(choices).assign(sure=np.linspace(0.2, 0.9, 960))
    table[table.id < 3].to_csv(tmp_path / "sure.csv", index=False)
    words = "--outcome reward --response sure --responded after --response-model confidence"
    both = "--learner hgf2 --learner leaky --starts 1"
    result = done("compare", tmp_path / "sure.csv", "--subject id", words, both, "--out", tmp_path / "out")
    assert "there is no baseline that never learns: Confidence follows the uncertainty" in result.stderr
    assert pd.read_csv(tmp_path / "out" / "comparison.csv").model.tolist() == ["hgf2", "leaky"]
    sentence = refused("compare", tmp_path / "sure.csv", words, "--learner delta --learner hgf2")
    assert "which Delta does not know" in sentence


def test_what_choices_do_not_tell_is_said(choices: Path, tmp_path: Path) -> None:
    """Nothing decays if what every option paid is shown."""
    shown = "--counterfactual other --learner rw:alpha,decay --starts 1"
    result = done("fit", choices, BANDIT, shown, "--out", tmp_path)
    assert "12 of 12 participants come with a note" in result.stderr
    assert "the responses do not tell all parameters" in result.stderr


def _selection(evidence: Any, names: tuple[str, ...] = ("one", "two")) -> Selection:
    shares = select(evidence)
    bic = -2 * np.asarray(evidence)
    table = pd.DataFrame({
        "bic": bic.sum(0), "best": np.bincount(bic.argmin(1), minlength=len(names)), "share": shares.mean,
        "protected": shares.protected, "at_bound": 0, "unfinished": [0, 2],
    }, index=list(names))  # fmt: skip
    people = pd.DataFrame({"participant": np.repeat(np.arange(len(bic)), len(names))})
    return Selection(table, people, names[0], shares, {})


def test_the_headline_names_what_most_people_use_and_what_fits_best() -> None:
    few = np.array([[0.0, -3.0]] * 9 + [[-500.0, 0.0]])  # one participant outweighs nine
    sentences = headline(_selection(few), None, "log-probability", None)
    assert sentences[0].startswith("most people use one (protected probability that no other is used by more people: ")
    assert "but two has the least BIC over all participants" in sentences[0]
    assert "So a few participants are explained so much better by two that they outweigh the others." in sentences
    assert "two: for 2 participants the search did not end." in sentences
    predicted = pd.DataFrame({"log_loss": [5.0, 3.0]}, index=["one", "two"])
    clear = headline(_selection(np.array([[0.0, -9.0]] * 10)), predicted, "log-probability", _selection(few[:, ::-1]))
    assert clear[0].startswith("one has the least BIC over 10 participants, and most people use it")
    assert "Of blocks that were left out, two has the least log loss, not one." in clear
    assert clear[2].endswith("It decides the winner here: the other way round, most people use two.")
    unsure = headline(_selection(np.array([[0.0, -0.1]] * 3)), None, "mse", None)
    assert re.match(r"Inconclusive: the protected probability of one, 0\.\d\d, is below 0\.95\.", unsure[1])
    base = headline(_selection(few, ("no-learning", "two")), None, "mse", None)
    assert "No learner explains these responses better than a baseline that never learns." in base


def test_how_parameters_were_found_in_words() -> None:
    request = FitRequest(file="t.csv", starts=5, shared=["noise"])
    models: Any = [SimpleNamespace(model=Model(Delta(), Estimate(), differs=["learning_rate"]))]
    method, *others = estimated(request, models)
    assert "by maximum likelihood, with exact gradients and 5 searches" in method
    assert others == ["noise had one value for all participants.", "learning_rate differed between conditions."]


def test_what_is_set_is_not_fitted_unless_it_is_listed(choices: Path, tmp_path: Path) -> None:
    def names(words: str) -> list[str]:
        done("fit", choices, BANDIT, words, "--starts 1 --out", tmp_path)
        table = pd.read_csv(tmp_path / "participants.csv")
        return list(table.columns[1 : list(table.columns).index("responses")])

    assert names("--learner rw:alpha,beta") == ["learning_rate", "beta"]
    assert names("--learner rw --set alpha=0.3") == ["beta"]
    assert names("--learner rw --set beta=2") == ["learning_rate"]
    assert "beta=2.0" in (tmp_path / "report.html").read_text()
    assert names("--learner rw:alpha --set alpha=0.3") == ["learning_rate", "beta"]


def test_stretches_of_trials_are_left_out(choices: Path, tmp_path: Path) -> None:
    words = f"--learner rw --learner two-rate --starts 1 --weak-priors --out {tmp_path}"
    result = done("compare", choices, BANDIT, words, "--held-out --folds 3")
    assert "log_loss" in result.stdout
    report = (tmp_path / "report.html").read_text()
    assert "3 stretches of trials left out" in report
    assert "Each of 3 stretches of trials was left out in turn" in report
    assert "--folds 3 is about trials that are left out" in refused("compare", choices, BANDIT, words, "--folds 3")


def test_the_methods_count_the_responses_that_are_explained(numbers: Path, tmp_path: Path) -> None:
    words = "--outcome x --response b --responded before --subject id --group group"
    done("fit", numbers, words, "--learner delta --covariate age --starts 1 --out", tmp_path)
    people = pd.read_csv(tmp_path / "participants.csv")
    assert people["responses"].sum() == 590  # without the first one of each
    assert "10 participants (590 responses)" in (tmp_path / "report.html").read_text()
    assert people["group"].tolist() == list("ab" * 5)
    assert people["age"].tolist() == list(range(20, 30))
