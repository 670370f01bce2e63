"""Which parameters might participants have, for us to see whether they are found?"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from pandas import DataFrame

from astonish.domain import Domain, Numbers
from astonish.fit.likelihood import Model
from astonish.fit.result import Fit
from astonish.fit.space import Space, full_name
from astonish.precision import double

LEARNER, RESPONSE = 0.7, 0.3  # standard deviations on the scale of the search


def true_values(
    model: Model,
    space: Space,
    participants: int,
    truth: Any,
    spread: Mapping[str, float] | None,
    rng: np.random.Generator,
) -> Numbers:
    """The values of the free parameters, a row for each participant; `recover_parameters` says where from."""
    if truth is None:
        return _around(model, space, participants, spread or {}, rng)
    if spread:
        raise ValueError("spread says how a truth is drawn, but truth was given; give one of them")
    if isinstance(truth, Fit):
        return _as_found(truth, space, participants, rng)
    return _as_told(model, space, participants, truth)


def _around(
    model: Model, space: Space, participants: int, spread: Mapping[str, float], rng: np.random.Generator
) -> Numbers:
    """Normal on the scale of the search, about the model's own values."""
    Domain(1, whole=True).check("participants", participants)
    middle = space.start(model)
    stuck = np.flatnonzero(space.at_bound(middle))
    if len(stuck):
        name = space.names[stuck[0]]
        raise ValueError(f"{name} of the model is at its bound, so none can be drawn about it; give truth, or another")
    said = {full_name(model, name): Domain(0.0).check(f"spread of {name}", std) for name, std in spread.items()}
    unknown = [name for name in said if name not in space.names]
    if unknown:
        raise ValueError(f"spread names {unknown[0]}, which is not free; give some of {', '.join(space.names)}")
    stds = [said.get(name, LEARNER if name.startswith("learner.") else RESPONSE) for name in space.names]
    places = middle + np.array(stds, np.float64) * rng.standard_normal((participants, len(space)))
    with double():
        return np.asarray(space.values(jnp.asarray(places)))


def _as_found(found: Fit, space: Space, participants: int, rng: np.random.Generator) -> Numbers:
    """Of participants drawn at random from those about whose fit there is nothing to note."""
    well = np.flatnonzero([not note for note in found.notes])
    if not len(well):
        raise ValueError("no participant of this fit was fitted without a note; give other values for truth")
    missing = [name for name in space.names if name not in found.space.names]
    if missing:
        raise ValueError(f"{missing[0]} was not found by the fit given as truth; it knows {', '.join(found.names)}")
    columns = [found.space.names.index(name) for name in space.names]
    return found.values[rng.choice(well, participants)][:, columns]


def _as_told(model: Model, space: Space, participants: int, truth: Any) -> Numbers:
    """As the columns of a table say, by name; or as an array has them, in the order of the free parameters."""
    if isinstance(truth, Mapping | DataFrame):
        columns = {full_name(model, str(name)): np.asarray(truth[name]) for name in truth}
        missing = [name for name in space.names if name not in columns]
        if missing:
            raise ValueError(f"truth does not say {missing[0]}; give a column for it, or do not have it free")
        truth = np.stack([columns[name] for name in space.names], axis=-1)
    told = [d.check(name, np.asarray(truth)[..., k]) for k, (name, d) in enumerate(_named(space, np.shape(truth)))]
    values = np.stack(told, axis=-1)
    return values[np.arange(participants) % len(values)]


def _named(space: Space, shape: tuple[int, ...]) -> Any:
    if len(shape) != 2 or shape[1] != len(space) or not shape[0]:
        wanted = f"a row for each participant, with {', '.join(space.names)}"
        raise ValueError(f"truth has shape {shape}; give {wanted}")
    return zip(space.names, space.domains, strict=True)
