"""What was drawn from a posterior, and how far it is to be trusted."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray
from pandas import DataFrame

from astonish.core.numbers import FloatArray, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import check_installed, naming_extra
from astonish.io.files import atomic_write
from astonish.models.parameters import short_names
from astonish.online.series import OPTIONS
from astonish.people.fit.likelihood import Model, ParticipantData, evaluate
from astonish.people.fit.space import Space
from astonish.people.posterior.checks import MIDDLE, checked
from astonish.people.posterior.density import Design, ParameterBlocks
from astonish.people.tables import Trials

if TYPE_CHECKING:
    from xarray import DataTree

LARGE = 100_000_000  # numbers of a log-likelihood that are held at once
_R_HAT, _EFFECTIVE = 1.01, 400  # at most, and effective draws at least (Vehtari et al. 2021)


class Drawn(NamedTuple):
    """What the chains drew, a row for each, and statistics of the sampler.

    z: what the sampler moves. n_steps: evaluations of the gradient, and warmup_steps those before the first draw.
    acceptance_rate: the mean probability to accept a point of the path. energy: of position and momentum.
    """

    z: dict[str, Any]
    diverging: NDArray[np.bool_]
    n_steps: NDArray[np.intp]
    acceptance_rate: FloatArray
    energy: FloatArray
    step_size: FloatArray
    warmup_steps: NDArray[np.intp]


@dataclass(frozen=True)
class Posterior:
    """Draws of the parameters of each participant, and of what participants have in common.

    All arrays begin with chains and draws. coefficients: of the group's mean, on the unconstrained scale, a row for
    each parameter in `roles.grouped` and a column for each of `design`, the first of which is the mean itself. std: the
    group's standard deviations. unconstrained: the parameters on that scale, a row for each participant, a column for
    each free parameter (of shared ones, the same in all rows). asked: how many chains and draws were asked for, which
    are more than there are if the sampler was stopped.
    """

    model: Model
    trials: Trials
    space: Space
    data: ParticipantData
    roles: ParameterBlocks
    coefficients: FloatArray
    std: FloatArray
    unconstrained: FloatArray
    drawn: Drawn
    excluded: Mapping[str, str]
    design: Design
    asked: tuple[int, int] = (0, 0)

    @property
    def mean(self) -> FloatArray:
        """The group's mean (over groups, and at the mean of covariates), a column for each parameter of a group."""
        return self.coefficients[..., 0]

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return short_names(self.space.names)

    @cached_property
    def values(self) -> FloatArray:
        """The values of the parameters of participants."""
        return self.space.constrained(self.unconstrained)

    @property
    def divergences(self) -> int:
        """How many draws came from a path that could not be followed."""
        return int(self.drawn.diverging.sum())

    @cached_property
    def draws(self) -> dict[tuple[str, str, str], FloatArray]:
        """Everything that was drawn, by what it is, whose, and of which parameter.

        The mean of a group is the value at its mean on the unconstrained scale, covariates being at theirs. The
        standard deviation within groups is on that scale: there is no other.
        """
        draws: dict[tuple[str, str, str], FloatArray] = {}
        grouped = self.roles.columns[1]
        for label, weights in self.design.means.items() if len(grouped) else ():
            typical = self.space.constrained(self._at(self.coefficients @ weights))
            draws |= {("group mean", label, self.names[k]): typical[..., k] for k in grouped}
        for at, k in enumerate(grouped):
            draws["group sd", "", self.space.searched[k]] = self.std[..., at]
        for k in self.roles.shared:
            draws["shared", "", self.names[k]] = self.values[..., 0, k]
        for k in self.roles.own:
            for row, who in enumerate(self.trials.subjects):
                draws["participant", who, self.names[k]] = self.values[..., row, k]
        return draws

    def _at(self, means: FloatArray) -> FloatArray:
        """Put means of those parameters that have a group among all parameters; 0 for others."""
        every = np.zeros((*means.shape[:2], len(self.space)))
        every[..., self.roles.columns[1]] = means
        return every

    def contrasts(self) -> DataFrame:
        """Compare groups and conditions, and say what a unit of each covariate adds, of all that has a group.

        On the unconstrained scale: mean, standard deviation, 95 % interval, and the probability of direction, that the
        difference has the sign of its median (Makowski, Ben-Shachar, Chen & Luedecke 2019).
        """
        drawn: list[tuple[str, str, FloatArray]] = []
        for path, places in self.space.by_condition.items():  # at the mean of the group
            if set(places) <= set(self.roles.grouped):
                means = (self._at(self.mean) @ np.array(self.space.basis).T)[..., places]
                for (one, a), (other, b) in combinations(enumerate(self.trials.conditions), 2):
                    drawn.append((path.rpartition(".")[2], f"{a} - {b}", means[..., one] - means[..., other]))
        for name, weights in self.design.contrasts.items():
            for at, k in enumerate(self.roles.grouped):
                drawn.append((self.space.searched[k], name, self.coefficients[..., at, :] @ weights))
        rows = []
        for parameter, contrast, values in drawn:
            low, high = np.quantile(values, MIDDLE)
            direction = max((values > 0).mean(), (values < 0).mean())
            rows.append((parameter, contrast, values.mean(), values.std(ddof=1), low, high, direction))
        columns = ["parameter", "contrast", "mean", "sd", "low", "high", "probability_of_direction"]
        return DataFrame(rows, columns=columns)

    @cached_property
    @naming_extra("posteriors need")
    def trust(self) -> dict[str, FloatArray]:
        """How well each of these is known (Vehtari et al. 2021), in the same order; NaN if there are too few draws.

        r_hat: how far chains disagree; 1 if not at all. ess_bulk, ess_tail: how many independent draws those made are
        worth, for the mean and for the ends of the interval.
        """
        from arviz_stats.base.array import array_stats

        drawn = np.stack(list(self.draws.values()))
        if drawn.shape[2] < 4:
            return dict.fromkeys(("r_hat", "ess_bulk", "ess_tail"), np.full(len(drawn), np.nan))
        return {
            "r_hat": np.asarray(array_stats.rhat(drawn)),
            "ess_bulk": np.asarray(array_stats.ess(drawn, method="bulk")),
            "ess_tail": np.asarray(array_stats.ess(drawn, method="tail", prob=MIDDLE)),
        }

    def table(self) -> DataFrame:
        """A row for everything that was drawn: mean, standard deviation, 95 % interval, and `trust`."""
        kinds, people, names = zip(*self.draws, strict=True)
        flat = np.stack(list(self.draws.values())).reshape(len(kinds), -1)
        low, high = np.quantile(flat, MIDDLE, axis=1)
        labels = {"kind": kinds, "participant": people, "parameter": names}
        summary = {"mean": flat.mean(1), "sd": flat.std(1, ddof=1), "low": low, "high": high}
        return DataFrame(labels | summary | self.trust)

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting these draws, in words; empty if nothing does."""
        names = [
            f"{name} of {who}" if kind == "participant" else f"the {kind} of {name}" for kind, who, name in self.draws
        ]
        r_hat = np.nan_to_num(self.trust["r_hat"], nan=np.inf)
        effective = np.nan_to_num(np.minimum(self.trust["ess_bulk"], self.trust["ess_tail"]))
        chains, draws = self.drawn.diverging.shape
        warnings = []
        if chains * draws < self.asked[0] * self.asked[1]:
            kept = f"{draws} draws of {chains} chains are kept"
            wanted = f"{self.asked[1]} draws of {self.asked[0]} chains were wanted"
            warnings.append(f"the sampler was stopped: {kept}, where {wanted}")
        if self.divergences:
            missing = "parts of the posterior may be missing; give a larger accept, such as 0.95"
            warnings.append(f"{self.divergences} of {self.drawn.diverging.size} draws diverged: {missing}")
        if (r_hat > _R_HAT).any():
            worst = f"R-hat of {names[int(np.argmax(r_hat))]} is {r_hat.max():.3f}, more than {_R_HAT}"
            many = f"{(r_hat > _R_HAT).sum()} of {len(names)}"
            warnings.append(f"chains disagree on {many} numbers ({worst}); give more draws")
        if (effective < _EFFECTIVE).any():
            worst = f"{names[int(np.argmin(effective))]} on {effective.min():.0f}, less than {_EFFECTIVE}"
            many = f"{(effective < _EFFECTIVE).sum()} of {len(names)}"
            warnings.append(f"{many} numbers rest on few independent draws ({worst}); give more draws")
        return warnings

    def predictive(self, seed: int = 0, draws: int = 200) -> DataFrame:
        """Would participants like these have behaved as they did? See `checks.checked`."""
        flat = self.unconstrained.reshape(-1, *self.unconstrained.shape[2:])
        chosen = flat[np.random.default_rng(seed).choice(len(flat), draws)]
        return checked(self.model, self.trials, self.space, self.data, chosen, seed)

    def log_likelihood(self, every: int = 1) -> FloatArray:
        """Of each response that was explained, participants one after the other, at every `every`-th draw."""
        with double():
            model, data, xs = as_double((self.model, self.data, self.unconstrained[:, ::every]))
            scored = np.flatnonzero(self.data.scored)
            rows = [_log_likelihood(model, data, row, scored, self.space, self.trials.responds_before) for row in xs]
            return np.stack(jax.device_get(rows))

    @naming_extra("posteriors need")
    def to_arviz(self, every: int | None = None) -> "DataTree":
        """Posterior, sample statistics, observed data and the log-likelihood of each response, as ArviZ has them.

        every: keep every `every`-th draw; if left out, all, or as many as keep the log-likelihood below a gigabyte.
        """
        from arviz_base import from_dict

        scored, drawn = self.data.scored, self.drawn
        if every is None:
            every = -(-drawn.diverging.size * int(scored.sum()) // LARGE)
        variables: dict[str, FloatArray] = {}
        for at, k in enumerate(self.roles.grouped):
            variables |= {f"{self.names[k]}_mean": self.mean[..., at], f"{self.names[k]}_sd": self.std[..., at]}
            if self.roles.coefficients > 1:
                variables[f"{self.names[k]}_effects"] = self.coefficients[..., at, 1:]
        variables |= {self.names[k]: self.values[..., k] for k in self.roles.own}
        variables |= {self.names[k]: self.values[..., 0, k] for k in self.roles.shared}
        called = ("diverging", "n_steps", "acceptance_rate", "energy", "step_size")
        statistics = {name: getattr(drawn, name) for name in called}
        who, trial = np.nonzero(scored)
        of = np.array(self.trials.subjects)[who]
        observed = {"response": self.data.responses[scored], "participant_of": of, "trial_of": trial}
        dims = {self.names[k]: ["participant"] for k in self.roles.own}
        return from_dict(
            {
                "posterior": {name: part[:, ::every] for name, part in variables.items()},
                "sample_stats": {name: part[:, ::every] for name, part in statistics.items()},
                "log_likelihood": {"response": self.log_likelihood(every)},
                "observed_data": observed,
            },
            coords={"participant": list(self.trials.subjects), "trial": np.arange(len(who))},
            dims=dims | {name: ["trial"] for name in observed},
            attrs={"/": {"created_by": "astonish", "model": repr(self.model), "every": every}},
        )

    def save(self, path: str | os.PathLike[str], every: int | None = None) -> None:
        """Write `to_arviz` into a netCDF file, which `xarray.open_datatree` reads; complete, or not at all."""
        check_installed("netCDF files need", "h5netcdf", "h5py")
        tree = self.to_arviz(every)
        with atomic_write(path) as file:
            tree.to_netcdf(file.name, engine="h5netcdf")  # by name: HDF5 also reads what it writes

    def __repr__(self) -> str:
        table = self.table()
        common, contrasts = table[table["kind"] != "participant"], self.contrasts()
        short: Any = {"index": False, "float_format": "{:.4g}".format}
        more = [] if contrasts.empty else ["", contrasts.to_string(**short)]
        return "\n".join([(table if common.empty else common).to_string(**short), *more, *self.warnings])


@partial(compiled, static_argnums=(4, 5), compiler_options=OPTIONS)
def _log_likelihood(
    model: Model, data: ParticipantData, draws: Array, scored: Array, space: Space, responds_before: bool
) -> Array:
    def of_draw(xs: Array) -> Array:
        outputs = jax.vmap(lambda x, own: evaluate(space.bind(model, x), own, responds_before))(xs, data)
        return outputs.log_likelihood.ravel()[scored]

    return jax.lax.map(of_draw, draws)
