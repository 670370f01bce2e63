"""What has been drawn from a posterior, and how far is it to be trusted?"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.domain import Numbers
from astonish.files import whole
from astonish.fit.likelihood import Model, Task, explain
from astonish.fit.posteriors.chains import Drawn
from astonish.fit.posteriors.checks import MIDDLE, checked
from astonish.fit.posteriors.group import Data, Roles, unfolded
from astonish.fit.result import short_names
from astonish.fit.space import Space
from astonish.precision import as_double, double
from astonish.run import OPTIONS
from astonish.table import Trials

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataTree

LARGE = 100_000_000  # numbers of a log-likelihood that are held at once
_ALIKE, _ENOUGH = 1.01, 400  # of R-hat at most, and of effective draws at least (Vehtari et al. 2021)


@dataclass(frozen=True)
class Posterior:
    """Draws of the parameters of each participant, and of what participants have in common.

    All arrays begin with chains and draws. mean, std: the group's, on the scale of the search, a column for each
    parameter in `roles.grouped`. places: a row for each participant, a column for each free parameter (of shared
    ones, the same in all rows), on that scale.
    """

    model: Model
    trials: Trials
    space: Space
    task: Task
    roles: Roles
    mean: Numbers
    std: Numbers
    places: Numbers
    drawn: Drawn
    excluded: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return short_names(self.space.names)

    @cached_property
    def values(self) -> Numbers:
        """The parameters of participants as people know them."""
        return _values(self.space, self.places)

    @property
    def divergences(self) -> int:
        """How many draws came from a path that could not be followed."""
        return int(self.drawn.diverging.sum())

    @cached_property
    def draws(self) -> dict[tuple[str, str, str], Numbers]:
        """Everything that was drawn, by what it is, whose, and of which parameter; all as people know it.

        The mean of a group is the value at the mean of its places. Its standard deviation is that of places, on the
        scale of the search: there is no other.
        """
        found: dict[tuple[str, str, str], Numbers] = {}
        grouped = np.array(self.roles.grouped, int)
        around = np.zeros((*self.mean.shape[:2], len(self.space)))
        around[..., grouped] = self.mean
        typical = _values(self.space, around)
        for at, k in enumerate(grouped):
            found["group mean", "", self.names[k]] = typical[..., k]
            found["group sd", "", self.names[k]] = self.std[..., at]
        for k in self.roles.shared:
            found["shared", "", self.names[k]] = self.values[..., 0, k]
        for k in self.roles.own:
            for row, who in enumerate(self.trials.subjects):
                found["participant", who, self.names[k]] = self.values[..., row, k]
        return found

    @cached_property
    def trust(self) -> dict[str, Numbers]:
        """How well each of these is known (Vehtari et al. 2021), in the same order.

        r_hat: how far chains disagree; 1 if not at all. ess_bulk, ess_tail: how many independent draws those made are
        worth, for the mean and for the ends of the interval.
        """
        return _trust(np.stack(list(self.draws.values())))

    def table(self) -> "DataFrame":
        """A row for everything that was drawn: mean, standard deviation, 95 % interval, and `trust`."""
        from pandas import DataFrame

        kinds, people, names = zip(*self.draws, strict=True)
        flat = np.stack(list(self.draws.values())).reshape(len(kinds), -1)
        low, high = np.quantile(flat, MIDDLE, axis=1)
        return DataFrame({
            "kind": kinds,
            "participant": people,
            "parameter": names,
            "mean": flat.mean(1),
            "sd": flat.std(1, ddof=1),
            "low": low,
            "high": high,
            **self.trust,
        })  # fmt: skip

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting these draws, in words; empty if nothing does."""
        names = [f"the {kind} of {name}" if not who else f"{name} of {who}" for kind, who, name in self.draws]
        apart = np.nan_to_num(self.trust["r_hat"], nan=np.inf)
        worth = np.nan_to_num(np.minimum(self.trust["ess_bulk"], self.trust["ess_tail"]))
        far, few, lost = int((apart > _ALIKE).sum()), int((worth < _ENOUGH).sum()), self.divergences
        found = []
        if lost:
            missing = "parts of the posterior may be missing; give a larger accept, such as 0.95"
            found.append(f"{lost} of {self.drawn.diverging.size} draws diverged: {missing}")
        if far:
            worst = f"R-hat of {names[int(np.argmax(apart))]} is {apart.max():.3f}, more than {_ALIKE}"
            found.append(f"chains disagree on {far} of {len(names)} numbers ({worst}); give more draws")
        if few:
            worst = f"{names[int(np.argmin(worth))]} on {worth.min():.0f}, less than {_ENOUGH}"
            found.append(f"{few} of {len(names)} numbers rest on few independent draws ({worst}); give more draws")
        return found

    def predictive(self, seed: int = 0, draws: int = 200) -> "DataFrame":
        """Would participants like these have behaved as they did? See `checks.checked`."""
        chosen = np.random.default_rng(seed).choice(self.places[..., 0, 0].size, draws)
        places = self.places.reshape(-1, *self.places.shape[2:])[chosen]
        return checked(self.model, self.trials, self.space, self.task, places, seed)

    def log_likelihood(self, every: int = 1) -> Numbers:
        """Of each response that was explained, participants one after the other, at every so-manieth draw."""
        with double():
            model, task, places = jax.tree.map(jnp.asarray, as_double((self.model, self.task, self.places[:, ::every])))
            scored = np.flatnonzero(self.task.scored)
            rows = [_explained(model, task, row, scored, self.space, self.trials.before) for row in places]
            return np.stack(jax.device_get(rows))

    def to_arviz(self, every: int | None = None) -> "DataTree":
        """Posterior, sample statistics, observed data and the log-likelihood of each response, as ArviZ has them.

        every: only every so-manieth draw; if left out, all, or as many as keep the log-likelihood below a gigabyte.
        """
        from arviz_base import from_dict

        scored = self.task.scored
        if every is None:
            every = -(-self.places.shape[0] * self.places.shape[1] * int(scored.sum()) // LARGE)
        who, trial = np.nonzero(scored)
        dims = {name: ["participant"] for name in np.array(self.names)[list(self.roles.own)]}
        return from_dict(
            {
                "posterior": {name: part[:, ::every] for name, part in self._variables().items()},
                "sample_stats": {name: part[:, ::every] for name, part in self._statistics().items()},
                "log_likelihood": {"response": self.log_likelihood(every)},
                "observed_data": {
                    "response": self.task.responses[scored],
                    "participant_of": np.array(self.trials.subjects)[who],
                    "trial_of": trial,
                },
            },
            coords={"participant": list(self.trials.subjects), "trial": np.arange(len(who))},
            dims=dims | {name: ["trial"] for name in ("response", "participant_of", "trial_of")},
            attrs={"/": {"created_by": "astonish", "model": repr(self.model), "every": every}},
        )

    def _variables(self) -> dict[str, Numbers]:
        found: dict[str, Numbers] = {}
        for at, k in enumerate(self.roles.grouped):
            found |= {f"{self.names[k]}_mean": self.mean[..., at], f"{self.names[k]}_sd": self.std[..., at]}
        found |= {self.names[k]: self.values[..., k] for k in self.roles.own}
        return found | {self.names[k]: self.values[..., 0, k] for k in self.roles.shared}

    def _statistics(self) -> dict[str, Any]:
        drawn = self.drawn
        return {
            "diverging": drawn.diverging,
            "n_steps": drawn.steps,
            "acceptance_rate": drawn.accepted,
            "energy": drawn.energy,
            "step_size": drawn.step_size,
        }

    def save(self, path: str | os.PathLike[str], every: int | None = None) -> None:
        """Write `to_arviz` into a netCDF file, which `xarray.open_datatree` reads; complete, or not at all."""
        tree = self.to_arviz(every)
        with whole(path) as file:
            tree.to_netcdf(file.name, engine="h5netcdf")  # by name: HDF5 also reads what it writes

    def __repr__(self) -> str:
        table = self.table()
        common = table[table["kind"] != "participant"]
        shown = (table if common.empty else common).to_string(index=False, float_format="{:.4g}".format)
        return "\n".join([shown, *self.warnings])


def gathered(
    model: Model,
    trials: Trials,
    space: Space,
    task: Task,
    roles: Roles,
    data: Data,
    drawn: Drawn,
    excluded: Mapping[str, str],
) -> Posterior:
    """The posterior whose draws are these."""
    with double():
        common, places = jax.device_get(_unfolded(roles, jax.tree.map(jnp.asarray, data), drawn.z))
    among = roles.among
    mean, std = common.mean[..., among], common.std[..., among]
    return Posterior(model, trials, space, task, roles, mean, std, places, drawn, excluded)


@partial(jax.jit, static_argnums=0)
def _unfolded(roles: Roles, data: Data, z: Any) -> Any:
    def each(z: Any) -> Any:
        return unfolded(roles, data.prior, data.likeness, z)[:2]

    return jax.vmap(jax.vmap(each))(z)


@partial(jax.jit, static_argnums=(4, 5), compiler_options=OPTIONS)
def _explained(model: Model, task: Task, draws: Array, scored: Array, space: Space, before: bool) -> Array:
    def each(places: Array) -> Array:
        accounts = jax.vmap(lambda place, own: explain(space.put(model, place), own, before))(places, task)
        return accounts.log_likelihood.ravel()[scored]

    return jax.lax.map(each, draws)


def _values(space: Space, places: Numbers) -> Numbers:
    with double():
        return np.asarray(space.values(jnp.asarray(np.clip(places, -500.0, 500.0))))


def _trust(drawn: Numbers) -> dict[str, Numbers]:
    """R-hat and effective draws, by ArviZ; NaN where there are too few draws to tell."""
    from arviz_stats.base.array import array_stats

    if drawn.shape[2] < 4:
        return dict.fromkeys(("r_hat", "ess_bulk", "ess_tail"), np.full(len(drawn), np.nan))
    return {
        "r_hat": np.asarray(array_stats.rhat(drawn)),
        "ess_bulk": np.asarray(array_stats.ess(drawn, method="bulk")),
        "ess_tail": np.asarray(array_stats.ess(drawn, method="tail", prob=MIDDLE)),
    }
