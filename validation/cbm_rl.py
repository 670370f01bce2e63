"""`python -m validation.cbm_rl`: choices between two options whose likelihood, and parameters, others have published.

The data come with the cbm toolbox of Piray, Dezfouli, Heskes, Frank & Daw (2019): 40 simulated people chose one of two
options 100 times, and each choice paid 1 or -1. docs/cbm_rl.md tells the whole story.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame, read_csv

from astonish import Delta, NoLearning, PerOption, TwoRate
from astonish.cli.app import guarded
from astonish.core.numbers import FloatArray
from astonish.people.fit import Fit, Model, Softmax, compare_fits, fit, recover_parameters
from astonish.people.fit.estimate import prepare
from astonish.people.fit.likelihood import Losses
from astonish.people.fit.space import Priors
from astonish.people.recovery import Recovery
from astonish.people.tables import Columns, Trials, read_trials

CHOICES, PUBLISHED = "choices.csv.gz", "published_rl.csv"
NEEDED = (
    f"cbm_rl needs a folder with {CHOICES} (columns subject, choice and reward, a row for each trial) and {PUBLISHED} "
    "(subject, rate, beta and log_likelihood), given with --data; from the examples of the cbm toolbox, "
    "https://github.com/payampiray/cbm (GPL-3 licence)"
)
SOFTMAX = Softmax(beta=2.0)
ONE_RATE = Model(PerOption(Delta(0.3, start=0.0), 2), SOFTMAX)
FREE = ("learning_rate", "beta")
MODELS: Mapping[str, tuple[Model, tuple[str, ...]]] = {
    "one rate": (ONE_RATE, FREE),
    "two rates": (
        Model(PerOption(TwoRate(0.3, 0.3, start=0.0), 2), SOFTMAX),
        ("learning_rate_positive", "learning_rate_negative", "beta"),
    ),
    "no learning": (Model(PerOption(NoLearning(0.0), 2), SOFTMAX), ("perseveration",)),
}
METHODS: Mapping[str, Priors] = {"likelihood": None, "posterior": "usual"}
PEOPLE, STARTS = 200, 10  # simulated people, five with the parameters of each; searches for each person
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def read(folder: Path) -> tuple[Trials, DataFrame]:
    """The choices, and a row for each person of what was published, in the same order."""
    try:
        trials = read_trials(folder / CHOICES, Columns("reward", subject="subject", choice="choice"))
        published = read_csv(folder / PUBLISHED, dtype={"subject": str}).set_index("subject")
        return trials, published.loc[list(trials.subjects), ["rate", "beta", "log_likelihood"]]
    except (OSError, ValueError, KeyError) as problem:
        raise ValueError(f"{folder} could not be read ({problem}). {NEEDED}") from None


def log_likelihood(trials: Trials, published: DataFrame) -> FloatArray:
    """That of each person's choices at the published parameters."""
    space, data, priors, *_ = prepare(ONE_RATE, trials, FREE, None)
    values = space.unconstrained(published[["rate", "beta"]].to_numpy())
    return np.asarray(-Losses(ONE_RATE, data, space, True, priors)(values, np.arange(len(values)))[0])


def recover(trials: Trials, published: DataFrame, priors: Priors) -> Recovery:
    """Simulated people with the published parameters, each in the trials of whom they belong to."""
    truth = published[["rate", "beta"]].set_axis(list(FREE), axis=1)
    return recover_parameters(ONE_RATE, trials, FREE, participants=PEOPLE, truth=truth, priors=priors, seed=1)


def likelihood_lines(trials: Trials, published: DataFrame, found: Fit) -> list[str]:
    """Log-likelihoods at the published parameters and at ours."""
    lines = [f"{'log-likelihood of choices':29}{'sum':>11}   minus what was published, person by person"]
    rows = {"at the published parameters": log_likelihood(trials, published), "at ours": found.log_likelihood}
    for name, values in rows.items():
        apart = np.round(values - published["log_likelihood"].to_numpy(), 4) + 0.0  # of which -0 is 0
        lines.append(f"  {name:27}{values.sum():11.4f}   {apart.min():.4f} to {apart.max():.4f}")
    return lines


def comparison_lines(fits: Mapping[str, Fit]) -> list[str]:
    """How well each model explains the choices."""
    lines = [f"{'model':29}{'sum':>11}{'BIC':>8}{'difference':>18}{'best for':>10}{'most people':>13}"]
    table = compare_fits(fits).table
    for name, row in table.iterrows():
        apart = f"{row.difference:+.2f} ± {row.difference_se:.2f}" if row.difference else "0"
        values = f"{fits[str(name)].log_likelihood.sum():11.2f}{row.bic:8.1f}{apart:>18}"
        lines.append(f"  {name:27}{values}{row.best:10.0f}{row.protected:13.2f}")
    return lines


def recovery_lines(trials: Trials, published: DataFrame) -> list[str]:
    """How well parameters of simulated people are found again, by likelihood, and with weak priors."""
    lines = [f"{'recovery, greatest':29}{'correlation':>11}{'bias':>8}{'rmse':>8}{'coverage':>10}{'at bound':>10}"]
    for method, priors in METHODS.items():
        for name, row in recover(trials, published, priors).summary().iterrows():
            values = f"{row.correlation:11.2f}{row.bias:+8.2f}{row.rmse:8.2f}{row.coverage:10.2f}{row.at_bound:10.0f}"
            lines.append(f"  {f'{method}: {name}':27}{values}")
    return lines


@app.command()
def main(
    data: Annotated[Path | None, typer.Option(help="Folder with choices and parameters.", show_default=False)] = None,
) -> None:
    """Compare likelihoods of choices with what was published, compare models, and recover parameters."""
    with guarded(None, "tables need"):
        if data is None:
            raise ValueError(NEEDED)
        trials, published = read(data)
        fits = {name: fit(model, trials, free, starts=STARTS) for name, (model, free) in MODELS.items()}
        lines = likelihood_lines(trials, published, fits["one rate"]) + comparison_lines(fits)
        print("\n".join([*lines, *recovery_lines(trials, published)]))


if __name__ == "__main__":
    app()
