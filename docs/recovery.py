"""Fill docs/recovery.md: are the parameters of three learners found again, and are the learners told apart?

    python docs/recovery.py

It takes some minutes. What stands between a comment that names a table and the comment "end" is replaced.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from astonish import HGF, Beta, BinaryVolatileKalman, Smile
from astonish.fit import Estimate, Model, recover_models, recover_parameters
from astonish.fit.recovery import Recovery
from astonish.report.style import save_figure
from astonish.trials import Columns, Trials, read_trials

PAGE = Path(__file__).with_suffix(".md")
PICTURES = PAGE.parent / "_static" / "recovery"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TRIALS, PEOPLE, HAZARD, NOISE = 300, 100, 1 / 30, 0.05
RESPONSE = Estimate(noise=NOISE, anchored=False)
MODELS: dict[str, tuple[Model, list[str]]] = {
    "smile": (Model(Smile(Beta(), m=0.1), RESPONSE), ["m", "response.noise"]),
    "hgf": (Model(HGF(), RESPONSE), ["omega2", "response.noise"]),
    "vkf-binary": (Model(BinaryVolatileKalman(), RESPONSE), ["volatility_rate", "response.noise"]),
}


def design() -> Trials:
    """Outcomes 0 and 1 whose chance jumps now and then; an answer, to be simulated, follows each."""
    rng = np.random.default_rng(7)
    changes = rng.random((PEOPLE, TRIALS)) < HAZARD
    last = np.maximum.accumulate(np.where(changes, np.arange(TRIALS), 0), axis=1)
    chance = np.take_along_axis(rng.uniform(0.1, 0.9, (PEOPLE, TRIALS)), last, axis=1)
    table = DataFrame({
        "participant": np.repeat(np.arange(PEOPLE), TRIALS),
        "outcome": (rng.random((PEOPLE, TRIALS)) < chance).astype(int).ravel(),
        "answer": rng.random(PEOPLE * TRIALS),
    })  # fmt: skip
    columns = Columns("outcome", subject="participant", response="answer")
    return read_trials(table, columns, kind="binary", response_kind="continuous", responds_before=False)


def rows(name: str, found: Recovery) -> list[dict[str, Any]]:
    """The lines of the table that are about one learner."""
    return [
        {
            "learner": name,
            "parameter": parameter,
            "correlation, 95 % interval": "{correlation:.2f} ({correlation_low:.2f} to {correlation_high:.2f})".format(
                **row
            ),
            "bias": f"{row['bias']:.2f}",
            "rmse": f"{row['rmse']:.2f}",
            "coverage": f"{row['coverage']:.2f}",
            "at a bound or not told": f"{row['at_bound'] + row['not_told']:.0f} of {PEOPLE}",
        }
        for parameter, row in found.summary().iterrows()
    ]


def markdown(table: DataFrame) -> str:
    """A table, as Markdown writes it."""
    head = [list(table.columns), ["---"] * len(table.columns)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (*head, *table.to_numpy().tolist()))


def main() -> None:
    """Recover, and fill the page."""
    trials = design()
    found = {name: recover_parameters(*model(name, trials), participants=PEOPLE) for name in MODELS}
    hgf, _ = MODELS["hgf"]
    both = recover_parameters(hgf, trials, ["omega2", "omega3", "response.noise"], participants=PEOPLE)
    confusion = recover_models(MODELS, trials, participants=PEOPLE)
    matrix = confusion.matrix().round(2).reset_index(names="true").rename_axis(columns=None)
    tables = {
        "parameters": DataFrame([row for name, one in found.items() for row in rows(name, one)]),
        "omega3": DataFrame(rows("hgf, with omega3", both)),
        "models": matrix,
    }
    PICTURES.mkdir(parents=True, exist_ok=True)
    save_figure(both.plot(), PICTURES / "omega3")
    save_figure(confusion.plot(), PICTURES / "models")
    for path in PICTURES.glob("*.pdf"):
        path.unlink()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda at: f"{at[1]}\n{markdown(tables[at[2]])}\n\n{at[3]}", page), encoding="utf-8")


def model(name: str, trials: Trials) -> tuple[Model, Trials, list[str]]:
    """What is recovered."""
    one, free = MODELS[name]
    return one, trials, free


if __name__ == "__main__":
    main()
