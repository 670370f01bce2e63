"""Can a model have given these responses at all?"""

import jax
import numpy as np

from astonish.core.domain import FloatArray
from astonish.core.kinds import MEASURED, OutcomeKind, ResponseKind
from astonish.core.precision import double
from astonish.learners.base import Learner
from astonish.models.registry import RESPONSES
from astonish.people.tables import Trials
from astonish.people.tables.cells import choice_beside_numbers
from astonish.responses.base import Response


def explicable_responses(learner: Learner, response: Response, trials: Trials) -> FloatArray:
    """The responses, unless this learner and this way to respond cannot have given them."""
    if trials.responses is None:
        raise ValueError("there are no responses to explain; name their column, as in Columns(..., response='b')")
    trials.check_angles(learner)
    with double():
        shape = jax.eval_shape(lambda: learner.estimate(learner.init())).shape
    if trials.response_kind not in response.takes:
        what = {"choice": "choices", "circular": "angles"}.get(str(trials.response_kind), "numbers")
        able = " or ".join(each.__name__ for each in RESPONSES.classes().values() if trials.response_kind in each.takes)
        raise ValueError(f"these responses are {what}, which {type(response).__name__} does not give; give {able}")
    if response.kind == "choice":
        _check_choice(learner, response, shape, trials, trials.responses)
    if response.kind == "estimate":
        _check_estimate(learner, shape, trials)
    if response.anchored:
        with double():
            learner.with_estimate(learner.init(), np.zeros(()))
    _check_numbers(learner, response, trials, trials.responses, str(trials.columns.response))
    return trials.responses


def explicable_second(learner: Learner, response: Response, trials: Trials) -> FloatArray:
    """The second responses, unless this learner and this way to respond cannot have given them."""
    if trials.second is None:
        raise ValueError("there is no second response; name its column, as in Columns(..., second_response='rt')")
    if response.kind != "readout":
        able = " or ".join(each.__name__ for each in RESPONSES.classes().values() if each.kind == "readout")
        raise ValueError(f"{type(response).__name__} is no model of a second response; give {able}")
    _check_numbers(learner, response, trials, trials.second, str(trials.columns.second_response))
    return trials.second


def _check_numbers(learner: Learner, response: Response, trials: Trials, responses: FloatArray, column: str) -> None:
    """Refuse numbers that cannot be such responses, and a learner that does not know what they follow from."""
    name = type(response).__name__
    response.check_responses(column, responses[np.isfinite(responses)])
    if response.only_after and trials.responds_before:
        raise ValueError(f"{name} follows the surprise at an outcome, so it comes after it; give responds_before=False")
    with double():
        state = jax.eval_shape(learner.init)
        known = {
            "variance": trials.kind == OutcomeKind.BINARY or None,
            "uncertainty": jax.eval_shape(learner.uncertainty, state),
            "volatility": jax.eval_shape(learner.step_variance, state),
        }
    for need in response.needs():
        if known[need] is None or trials.options is not None:
            who = "a learner of several options" if trials.options is not None else type(learner).__name__
            raise ValueError(f"{name} follows the {need} of what is predicted, which {who} does not know; give another")


def _check_choice(
    learner: Learner, response: Response, shape: tuple[int, ...], trials: Trials, responses: FloatArray
) -> None:
    """Refuse a learner that does not say how good, or how probable, each of the options is."""
    if trials.options is None and trials.kind in MEASURED:
        asked = trials.columns.outcome, trials.columns.response, trials.labels or ()
        raise ValueError(choice_beside_numbers(*asked))
    if trials.options is not None and shape != (len(trials.options),):
        learns = f"{type(learner).__name__} does not estimate each of {len(trials.options)} options"
        raise ValueError(f"{learns}; give PerOption({type(learner).__name__}(...), {len(trials.options)})")
    if response.of_probabilities and trials.kind in MEASURED:
        low, high = trials.outcome_range
        name = type(response).__name__
        raise ValueError(f"{name} reads probabilities, but rewards go from {low:g} to {high:g}; give Softmax")
    options, many = shape[0] if shape else 2, int(np.nanmax(responses)) + 1
    if many > options:
        raise ValueError(f"there are {many} choices, but {options} outcomes to choose from; name all that can occur")


def _check_estimate(learner: Learner, shape: tuple[int, ...], trials: Trials) -> None:
    """Refuse a learner whose estimate these responses cannot report."""
    name = type(learner).__name__
    if shape:
        raise ValueError(f"{name} estimates {shape[0]} numbers, but a response is one; give Readout")
    if learner.period is not None and trials.response_kind != ResponseKind.CIRCULAR:
        problem = f"{name} estimates an angle, but these responses were read as other numbers"
        raise ValueError(f"{problem}; give kind='circular' to read_trials, and CircularEstimate() for the responses")
    if trials.another_scale:
        raise ValueError(trials.another_scale)
