"""What does a comparison of models say, in sentences?"""

from typing import TYPE_CHECKING, Any

from astonish.people.fit import Selection

if TYPE_CHECKING:
    from pandas import DataFrame

BASELINE = "no-learning"
SURE = 0.95
ANCHORED = (
    "A learner that is anchored goes on from each of the participant's responses, so that only the step to the next "
    "one is explained; one that is free-running goes its own way, so that whole courses of responses are."
)


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
