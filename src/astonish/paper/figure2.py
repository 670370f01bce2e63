"""Figure 2, and sections 2.1, 2.2, 4.4 and 4.5: how far may a surprise move a belief?"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame, concat

from astonish.beliefs import Gaussian, Grid
from astonish.core.programs import interpreted
from astonish.paper import rule_properties
from astonish.paper.claims import Claim, listed, same, verdict
from astonish.paper.examples import density, measured, measures
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated, wide
from astonish.report.style import BLUE, GREEN, PURPLE, VERMILLION
from astonish.theory import expfam, rule, surprise
from astonish.theory.expfam import Belief, Family

COLOURS = {"committed": BLUE, "open": VERMILLION}
NOISE, MEAN, STD, SHOWN = 0.7, 2.0, 0.5, 3.2  # of the pair of models with equal predictions, and the sample shown
NORMALS = {"committed": 0.05, "open": 0.5}  # variance of the belief; with that of the noise it makes 1
WIDTHS, FAR = {"equal": 1.0, "narrow": 0.4}, 2.0  # Fig. 2B: belief and sample, in units of the noise
SHARES = np.array([0.0, 0.5, 1.0, 1.5, 10.0])  # bounds in units of the largest that matters
CAPTION = (
    "Commitment, and the way to the sample. A: two internal models that predict the same. A sample x is the size of "
    "theta plus normal noise; one person knows the sign of theta (committed, blue), the other does not (open, red). "
    "Contours: joint density of x and theta. Top: the two predictive densities, which coincide. Right: the beliefs, "
    "and the scaled likelihood of the sample X (purple), the same for both. B: surprise at a sample two noise widths "
    "away, if it came again after a step of size gamma, for a normal belief as wide as the noise (black, a parabola) "
    f"and for one of {WIDTHS['narrow']:g} times its width (grey, rescaled to the same start). Lines: the gamma that "
    "three bounds on the change lead to. C (not in the paper): two normal models with equal predictions of variance 1, "
    f"beliefs of variance {NORMALS['committed']:g} and {NORMALS['open']:g}: by how much the more committed one is more "
    "surprised."
)


def _folded(x: Any, theta: Array) -> Array:
    """Log-likelihood of a sample that is the size of theta, and normal noise."""
    return -0.5 * jnp.square((x - jnp.abs(theta)) / NOISE) - np.log(NOISE * np.sqrt(2 * np.pi))


def folded_pair() -> tuple[Grid, dict[str, Belief]]:
    """Two beliefs that predict the same: one knows the sign of theta, the other does not."""
    theta: Any = np.linspace(-6, 6, 601)
    family = Grid(theta, _folded)
    right, left = (np.exp(-0.5 * ((theta - mean) / STD) ** 2) for mean in (MEAN, -MEAN))
    return family, {"committed": family.prior(right), "open": family.prior(right + left)}


def normal_pair() -> dict[str, tuple[Gaussian, Belief]]:
    """Two normal models whose predictions have the variance 1, one of which is more committed."""
    families = {name: Gaussian(np.sqrt(1 - variance)) for name, variance in NORMALS.items()}
    return {name: (family, family.prior(std=np.sqrt(NORMALS[name]))) for name, family in families.items()}


def _fold(run: RunSettings) -> Tables:
    """Panel A: two beliefs that predict the same, of which one knows the sign of theta, and the other does not.

    beliefs, joint, predictions: the densities of theta, of x and theta together, and of x. pair: how surprising some
    samples are to either.
    """
    family, beliefs = folded_pair()
    theta = np.asarray(family.points)
    shown = beliefs | {"scaled": expfam.scaled_likelihood(family, SHOWN)}
    densities = {name: np.asarray(density(family, belief)) for name, belief in shown.items()}
    fine = 31 if run.quick else 61
    x, at, many = np.linspace(-1, 5.5, fine), slice(0, None, 300 // (fine - 1)), np.linspace(-1, 5.5, 131)
    plane = {"x": np.repeat(x, len(theta[at])), "theta": np.tile(theta[at], len(x))}
    likely = np.asarray(jnp.exp(_folded(x[:, None], jnp.asarray(theta[at]))))
    joint = {name: np.ravel(likely * densities[name][at]) for name in beliefs}
    return {
        "beliefs": DataFrame({"theta": theta} | densities),
        "joint": DataFrame(plane | joint),
        "predictions": DataFrame({"x": many} | {n: np.exp(log_evidence(family, b, many)) for n, b in beliefs.items()}),
        "pair": DataFrame(
            {"model": name, "sample": sample, **measured(family, belief, sample)}
            for name, belief in beliefs.items()
            for sample in (0.5, MEAN, SHOWN)
        ),
    }


def _normal(_: RunSettings) -> DataFrame:
    """Surprise of two normal models with equal predictions, at samples in units of their standard deviation."""
    x = np.linspace(0, 3, 61)
    found: dict[str, Any] = {"sample": x}
    for name, (family, belief) in normal_pair().items():
        values = jax.vmap(measures, (None, None, 0))(family, belief, x)
        found |= {f"{kind}_{name}": np.asarray(values[kind]) for kind in ("raw", "surprise", "shannon")}
    return DataFrame(found)


def _steps(_: RunSettings) -> Tables:
    """Panel B.

    landscape: surprise at the same sample after a step of every size. bounds: the step that each bound leads to, what
    it changes, and what surprise is left; `share` is in units of B_max.
    """
    gamma = np.linspace(0, 1, 101)
    landscape, bounds = {"gamma": gamma}, []
    for name, width in WIDTHS.items():
        family, belief = Gaussian(), Gaussian().prior(std=width)
        landscape[name] = np.asarray(surprise_again(family, belief, FAR, gamma))
        found = jax.device_get(_bounded(family, belief, FAR, SHARES))
        bounds.append(DataFrame(found).assign(belief=name, share=SHARES))
    return {"landscape": DataFrame(landscape), "bounds": concat(bounds)}


def _surprise_after(family: Family, belief: Belief, x: Any, gamma: Any) -> Array:
    return surprise.confidence_corrected(family, rule.step(family, belief, x, gamma), x)


@interpreted
@partial(jax.vmap, in_axes=(None, None, None, 0))
def _bounded(family: Family, belief: Belief, x: Any, share: Any) -> dict[str, Array]:
    bound = share * rule.bound_max(family, belief, x)
    gamma = rule.gamma_from_bound(family, belief, x, bound)
    change = expfam.divergence(family, rule.step(family, belief, x, gamma), belief)
    return {"bound": bound, "gamma": gamma, "change": change, "surprise": _surprise_after(family, belief, x, gamma)}


surprise_again = interpreted(jax.vmap(_surprise_after, (None, None, None, 0)))
log_evidence = interpreted(jax.vmap(expfam.log_evidence, (None, None, 0)))


def claims(tables: Tables) -> list[Claim]:
    """What sections 2.1 and 2.2 say about commitment, and about the way to the sample."""
    pair = _commitment(tables["pair"], tables["predictions"], tables["normal"])
    rules = rule_properties.claims(tables["rule"], tables["order"])
    return [*pair, *_downhill(tables["landscape"]), _bound_to_gamma(tables["bounds"]), *rules]


def _commitment(pair: DataFrame, predictions: DataFrame, normal: DataFrame) -> list[Claim]:
    raw, surprise, sure = (wide(pair, "sample", "model", value) for value in ("raw", "surprise", "commitment"))
    gap, surer = surprise.committed - surprise.open, sure.committed - sure.open
    equal = [same(predictions.committed, predictions.open), same(raw.committed, raw.open)]
    normal_raw, normal_gap, likely = (
        normal[f"{measure}_committed"] - normal[f"{measure}_open"] for measure in ("raw", "surprise", "shannon")
    )
    equal_at = np.interp(0, -normal_gap, normal["sample"])  # it falls
    total, row = pair.shannon + pair.bayesian + pair.scale + pair.commitment, pair.iloc[-1]
    return [
        Claim(
            "commitment.raw",
            "Fig. 2A",
            "A sample can have the same raw surprise under two models with the same predictive density, and yet a "
            "larger S_cc under the one that is more committed.",
            "equal raw surprise, larger S_cc for the narrower belief",
            f"X = {SHOWN}: raw {raw.committed[SHOWN]:.4f} (committed) and {raw.open[SHOWN]:.4f} nats (open), S_cc "
            f"{surprise.committed[SHOWN]:.4f} and {surprise.open[SHOWN]:.4f}; more commitment by {surer[SHOWN]:.4f}",
            verdict([*equal, (gap > 0).all() and same(gap, surer)]),
            "Both predict the same, whether or not they know the sign of theta, so this holds at every X; knowing it "
            "is worth ln 2 of commitment. No two normal models would do: see the next claim.",
        ),
        Claim(
            "commitment.predictions",
            "section 4.4 and Fig. 2A",
            "Of two people to whom a sample is equally likely, the more committed one is more surprised.",
            "generally",
            f"the pair of Fig. 2A: S_cc larger by {gap.min():.3f} nats; two normal models with equal predictions (to "
            f"{np.abs(likely).max():.0e}): larger by {normal_gap.iloc[0]:.2f} in the middle, equal at {equal_at:.2f} "
            f"standard deviations, smaller by {-normal_gap.iloc[-1]:.2f} at {normal['sample'].iloc[-1]:g}; raw "
            f"surprise smaller by {-normal_raw.max():.2f} or more at every X",
            verdict([(gap > 0).all(), (normal_gap > 0).all()]),
            "The argument takes raw surprise to be equal. Normal models with equal predictions are never equal in it: "
            "more commitment leaves a larger noise variance v, and raw surprise, (ln v + (1 + X^2) / v) / 2 and a "
            "constant if predictions have variance 1, falls as v grows to 1.",
        ),
        Claim(
            "surprise.terms",
            "section 2.1 (1), eq. 12 and 15",
            "S_cc is the sum of Shannon surprise, Bayesian surprise and two further terms: the log of the likelihood's "
            "integral over theta, and commitment.",
            "equal",
            f"{row.shannon:.4f} + {row.bayesian:.4f} + {row.scale:.4f} + ({row.commitment:.4f}) = "
            f"{total.iloc[-1]:.4f}, S_cc {row.surprise:.4f}; largest difference in {len(pair)} cases "
            f"{np.abs(total - pair.surprise).max():.0e}",
            verdict([same(total, pair.surprise), same(pair.shannon + pair.bayesian, pair.raw)]),
            "An identity; every term was computed by itself.",
        ),
    ]


def _downhill(landscape: DataFrame) -> list[Claim]:
    curves = {f"belief {width:g} times as wide as the noise": landscape[name] for name, width in WIDTHS.items()}
    off = {name: np.abs(curve / curve[0] - (1 - landscape.gamma) ** 2).max() for name, curve in curves.items()}
    return [
        Claim(
            "step.minimum",
            "Fig. 2B",
            "Surprise at the same sample falls all the way from gamma = 0 to gamma = 1, where it is smallest.",
            "global minimum at gamma = 1",
            "; ".join(f"{name}: {c.iloc[0]:.3f} to {abs(c.iloc[-1]):.3f} nats" for name, c in curves.items()),
            verdict([(np.diff(c) < 0).all() and same(c.iloc[-1], 0) for c in curves.values()]),
            "At gamma = 1 the belief is the scaled likelihood itself, and nothing diverges from itself.",
        ),
        Claim(
            "step.parabola",
            "Fig. 2B",
            "Surprise over gamma is a parabola.",
            "parabolic",
            "largest distance from the parabola with the same start and minimum, in units of the start: "
            + "; ".join(f"{distance:.2f} for a {name}" for name, distance in off.items()),
            verdict([same(distance, 0) for distance in off.values()]),
            "Exact for normal beliefs as wide as the noise, as in the paper's first task; otherwise the width of the "
            "belief changes on the way as well.",
        ),
    ]


def _bound_to_gamma(bounds: DataFrame) -> Claim:
    least, most = bounds[bounds.share == 0], bounds[bounds.share >= 1]
    inside = bounds[bounds.share.between(0, 1, inclusive="neither")]
    meets = inside.gamma.between(0, 1, inclusive="neither").all() and same(inside.change, inside.bound)
    shown = bounds[bounds.belief == "equal"]
    return Claim(
        "bound.gamma",
        "section 2.2 and Fig. 2B",
        "A bound of zero leaves the belief as it is; from B_max on nothing of it is left; in between the change just "
        "meets the bound.",
        "gamma = 0; gamma = 1; 0 < gamma < 1",
        f"B / B_max = {listed(shown.share)}: gamma = {listed(shown.gamma, '.3f')}",
        verdict([same(least.gamma, 0), same(most.gamma, 1), meets]),
        "B_max is the distance of the scaled likelihood from the belief, so a larger bound allows nothing that is less "
        "surprising.",
    )


def draw(tables: Tables) -> Drawing:
    """The pair of models on the left; the way to the sample, and a pair of normal models, on the right."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.2, 4.8), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    _draw_pair(parts[0], tables)
    upper, lower = parts[1].subplots(2, 1)
    _draw_landscape(upper, tables["landscape"], tables["bounds"])
    _draw_normal(lower, tables["normal"])
    return figure


def _draw_pair(part: Any, tables: Tables) -> None:
    beliefs, predictions = tables["beliefs"], tables["predictions"]
    grid = part.add_gridspec(2, 2, width_ratios=(2.2, 1), height_ratios=(1, 2.6))
    main = part.add_subplot(grid[1, 0])
    top, side = part.add_subplot(grid[0, 0], sharex=main), part.add_subplot(grid[1, 1], sharey=main)
    for name, line in (("open", "-"), ("committed", "--")):
        plane = wide(tables["joint"], "theta", "x", name)
        levels = plane.to_numpy().max() * np.array([0.1, 0.3, 0.6, 0.9])
        main.contour(plane.columns, plane.index, plane, levels, colors=COLOURS[name], linewidths=1, linestyles=line)
        top.plot(predictions.x, predictions[name], line, color=COLOURS[name])
        side.plot(beliefs[name], beliefs.theta, line, color=COLOURS[name])
    side.plot(beliefs.scaled, beliefs.theta, color=PURPLE)
    side.text(0.95, 0.97, r"$\hat{p}_X(\theta)$", color=PURPLE, transform=side.transAxes, ha="right", va="top")
    for axis in (main, top):
        axis.axvline(SHOWN, color=GREEN, ls=":")
    main.annotate("X", (SHOWN, -4.3), (4, 0), textcoords="offset points", color=GREEN, fontweight="bold")
    main.set(xlabel="data $x$", ylabel=r"parameter $\theta$", ylim=(-4.5, 4.5))
    top.set(ylabel="$Z(x)$", ylim=(0, None))
    side.set(xlabel=r"belief $\pi_n(\theta)$", xlim=(0, None))
    top.tick_params(labelbottom=False)
    side.tick_params(labelleft=False)
    top.set_title("A", loc="left", fontweight="bold", x=-0.25)
    corner = part.add_subplot(grid[0, 1])
    corner.text(0, 1, "at X, in nats:", va="top")
    rows: Any = tables["pair"].set_index(["sample", "model"]).loc[SHOWN]
    for height, (name, colour) in zip((0.76, 0.34), COLOURS.items(), strict=True):
        text = f"{name}\n$S_{{raw}}$ {rows.raw[name]:.2f}, $S_{{cc}}$ {rows.surprise[name]:.2f}"
        corner.text(0, height, text, color=colour, va="top")
    corner.axis("off")


def _draw_landscape(axis: Any, landscape: DataFrame, bounds: DataFrame) -> None:
    curve, rescaled = landscape["equal"], landscape["narrow"] / landscape["narrow"][0]
    axis.plot(landscape.gamma, rescaled * curve[0], color="0.65")
    axis.plot(landscape.gamma, curve, color="black")
    axis.text(0.27, 0.92 * curve[0], "narrower belief", color="0.45")
    axis.text(0.03, 0.06 * curve[0], "belief as wide\nas the noise")
    shown: Any = bounds[bounds.belief == "equal"].set_index("share")
    labels = {0.0: "$B = 0$", 0.5: "$B = B_{max}/2$", 1.0: r"$B \geq B_{max}$"}
    for (share, label), colour in zip(labels.items(), (GREEN, BLUE, VERMILLION), strict=True):
        row = shown.loc[share]
        axis.axvline(row.gamma, color=colour, ls="--", lw=1)
        axis.plot([row.gamma], [row.surprise], "o", color=colour, label=label, clip_on=False, zorder=3)
    axis.set(xlabel=r"step $\gamma$", ylabel=r"$S_{cc}(X; q_\gamma)$ (nats)", xlim=(0, 1), ylim=(0, None))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize=8, handletextpad=0, columnspacing=0.8)
    axis.set_title("B", loc="left", fontweight="bold", x=-0.2)


def _draw_normal(axis: Any, normal: DataFrame) -> None:
    for kind, colour, label in (("raw", "0.5", "$S_{raw}$"), ("surprise", BLUE, "$S_{cc}$")):
        axis.plot(normal["sample"], normal[f"{kind}_committed"] - normal[f"{kind}_open"], color=colour, label=label)
    axis.axhline(0, color="black", lw=0.8)
    axis.set(xlabel="sample $X$ (standard deviations of $Z$)", ylabel="committed minus open\n(nats)", xlim=(0, 3))
    axis.legend(loc="lower left")
    axis.set_title("C", loc="left", fontweight="bold", x=-0.2)


STUDY = simulated({"fold": _fold, "normal": _normal, "steps": _steps, "rule": rule_properties.simulate})
FIGURE_2 = Figure("2", "Commitment, and surprise minimisation within a bound", CAPTION, STUDY, draw, claims)
