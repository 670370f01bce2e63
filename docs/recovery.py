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
from astonish.core.names import ResponseKind
from astonish.people.fit import Estimate, Model, UnitSquare, recover_models, recover_parameters
from astonish.people.recovery import Recovery
from astonish.people.tables import Columns, Trials, read_trials
from astonish.report.style import save_figure
from astonish.responses import Response

PAGE = Path(__file__).with_suffix(".md")
PICTURES = PAGE.parent / "_static" / "recovery"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TRIALS, PEOPLE, HAZARD, NOISE = 300, 100, 1 / 30, 0.05
SLIDER, CHOICE = Estimate(noise=NOISE, anchored=False), UnitSquare()
LEARNERS: dict[str, tuple[Any, list[str]]] = {
    "smile": (Smile(Beta(), m=0.1), ["m"]),
    "hgf": (HGF(), ["omega2"]),
    "vkf-binary": (BinaryVolatileKalman(), ["volatility_rate"]),
}


def models(response: Response) -> dict[str, tuple[Model, list[str]]]:
    """The learners with this way to respond, and what is free."""
    own = [f"response.{name}" for name in response.free]
    return {name: (Model(learner, response), [*free, *own]) for name, (learner, free) in LEARNERS.items()}


def design(response: Response) -> Trials:
    """Outcomes 0 and 1 whose probability jumps now and then; responses, to be simulated, after or before them."""
    rng = np.random.default_rng(7)
    changes = rng.random((PEOPLE, TRIALS)) < HAZARD
    last = np.maximum.accumulate(np.where(changes, np.arange(TRIALS), 0), axis=1)
    probability = np.take_along_axis(rng.uniform(0.1, 0.9, (PEOPLE, TRIALS)), last, axis=1)
    choices = ResponseKind.CHOICE in response.takes
    table = DataFrame({
        "participant": np.repeat(np.arange(PEOPLE), TRIALS),
        "outcome": (rng.random((PEOPLE, TRIALS)) < probability).astype(int).ravel(),
        "answer": rng.integers(2, size=PEOPLE * TRIALS) if choices else rng.random(PEOPLE * TRIALS),
    })  # fmt: skip
    columns = Columns("outcome", subject="participant", response="answer")
    return read_trials(table, columns, kind="binary", response_kind=response.takes[0], responds_before=choices)


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
            "at a bound or undetermined": f"{row['at_bound'] + row['not_told']:.0f} of {PEOPLE}",
        }
        for parameter, row in found.summary().iterrows()
    ]


def markdown(table: DataFrame) -> str:
    """A table, as Markdown writes it."""
    head = [list(table.columns), ["---"] * len(table.columns)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (*head, *table.to_numpy().tolist()))


def main() -> None:
    """Recover, and fill the page."""
    tables, pictures = {}, {}
    for name, response in (("slider", SLIDER), ("choice", CHOICE)):
        trials, rivals = design(response), models(response)
        found = {each: recover_parameters(model, trials, free, participants=PEOPLE)
                 for each, (model, free) in rivals.items()}  # fmt: skip
        tables[f"parameters_{name}"] = DataFrame([row for each, one in found.items() for row in rows(each, one)])
        pictures[f"models_{name}"] = confusion = recover_models(rivals, trials, participants=PEOPLE)
        tables[f"models_{name}"] = confusion.matrix().round(2).reset_index(names="true").rename_axis(columns=None)
        model, free = rivals["hgf"]
        pictures[f"omega3_{name}"] = both = recover_parameters(model, trials, [*free, "omega3"], participants=PEOPLE)
        tables[f"omega3_{name}"] = DataFrame(rows("hgf, omega3 free", both))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in ("omega3_slider", "models_choice"):
        save_figure(pictures[name].plot(), PICTURES / name)
        (PICTURES / f"{name}.pdf").unlink()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda at: f"{at[1]}\n{markdown(tables[at[2]])}\n\n{at[3]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
