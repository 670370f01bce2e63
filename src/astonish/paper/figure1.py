"""Figure 1, and sections 2.1 and 4.2 to 4.4: examples of surprise (voters, the listener of a joke, drivers)."""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.beliefs import Dirichlet, Grid, finite
from astonish.core.numbers import Domain
from astonish.core.programs import interpreted
from astonish.paper.figure import (
    Claim,
    Drawing,
    Figure,
    RunSettings,
    Simulation,
    Tables,
    letter_panels,
    listed,
    same,
    verdict,
    wide,
)
from astonish.report.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from astonish.theory import expfam, surprise
from astonish.theory.expfam import Belief, Family

RARE = 0.05  # epsilon: what a model leaves to everything but its favourite
COLLEAGUES = {"A": (0.75, 0.25, 0.0, 0.0), "B": (0.0, 0.25, 0.75, 0.0), "C": (0.25, 0.25, 0.25, 0.25)}
WORDS = {"goldfish": (0.19, 0.01), "guns": (0.01, 0.19), "Tuesday": (0.001, 0.001)}  # in talk of containers, vehicles
CARS = ("red", "green BMW")
MODELS = {  # and their undecided and used drivers
    "one model per kind": ("undecided", "used to red"),
    "a Dirichlet belief": ("counting, undecided", "counting, used to red"),
}
ROWS = {
    "cares only about a free slot": ("slot", "green BMW"),
    "one model per kind: undecided": ("undecided", "green BMW"),
    "used to the red car": ("used to red", "green BMW"),
    "... which is there": ("used to red", "red"),
    "Dirichlet: undecided": ("counting, undecided", "green BMW"),
    "used to the red car ": ("counting, used to red", "green BMW"),
    "... which is there ": ("counting, used to red", "red"),
}  # of panel C; a space more makes a second row of the same name
KINDS, MANY, MORNINGS = (10, 1000, 100_000), 1000, 5
CAPTION = (
    "Who is surprised? A: three colleagues' beliefs over four models of an election; model k gives candidate k the "
    f"probability {1 - RARE:g} and the others an equal share of the rest. Below: how likely each candidate is to each "
    "colleague, and the confidence-corrected surprise (nats) at two outcomes; candidate 2 is as likely to all three. "
    "B: a joke. The word goldfish, nineteen times as common in talk of containers as in talk of military vehicles, "
    "moves an even belief about the word tank (Bayes' rule); guns, as telling in the other direction, then contradicts "
    f"it. C: a green car in the slot next to yours, one of {MANY} kinds. To the driver who cares only about a free "
    "slot, all of his models (a quiet, a usual, a busy day) make every kind equally likely, and he finds the models "
    f"equally likely too. The next have one model per kind, which gives it the probability {1 - RARE:g}; one driver "
    f"is undecided among them, the other has seen the red car on {MORNINGS} mornings (Bayes' rule), and sees the green "
    "one or, as usual, the red one. The last do not think of one kind, but ask how common each is (a Dirichlet belief, "
    "flat before the first morning)."
)


@interpreted
def measures(family: Family, belief: Belief, x: Any) -> dict[str, Array]:
    """Measure what section 2.1 says about a sample and a belief, in nats; `scale`, of the likelihood, is ln||p_x||."""
    return {
        "surprise": surprise.confidence_corrected(family, belief, x),
        "raw": surprise.raw(family, belief, x),
        "shannon": surprise.shannon(family, belief, x),
        "bayesian": surprise.bayesian(family, belief, x),
        "commitment": surprise.commitment(family, belief),
        "scale": family.log_base(x) + family.log_partition(family.likelihood(x)),
    }


def measured(family: Family, belief: Belief, x: Any) -> dict[str, float]:
    """Compute the same, as a part of a row of a table."""
    return {name: float(value) for name, value in measures(family, belief, x).items()}


bayes = interpreted(expfam.bayes)
density = interpreted(Grid.density)


def voting() -> DataFrame:
    """Tell what each model of the election says of each candidate."""
    rows = [(k + 1, x + 1, 1 - RARE if k == x else RARE / 3) for k in range(4) for x in range(4)]
    return DataFrame(rows, columns=["model", "candidate", "probability"])


def elected(weights: Any, candidate: int) -> dict[str, float]:
    """Measure the victory of a candidate, counted from 1, for someone who weighs the models so."""
    models: Any = voting().probability.to_numpy().reshape(4, 4)
    family = finite(models)
    return measured(family, family.prior(weights), candidate - 1)


def listener() -> tuple[Grid, dict[str, Belief]]:
    """Make beliefs about what tank may mean, before and after one has heard of goldfish."""
    words = np.array(list(WORDS.values())).T
    models: Any = np.column_stack([words, 1 - words.sum(axis=1)])  # with all other words in the last column
    family = finite(models)
    before = family.prior()
    return family, {"before": before, "after": bayes(family, before, list(WORDS).index("goldfish"))}


class Told(NamedTuple):
    """A joke that begins with one word and ends with guns, as a listener hears it.

    believed: the weights of what tank may mean, before the first word, after it, and after guns (Bayes' rule).
    suggested: those that guns alone suggests. entropy: of the belief before and after the first word. first, guns: how
    surprising the two words are. alone: how surprising guns is without the first word. again: the first word, repeated.
    """

    believed: Any
    suggested: Any
    entropy: Any
    first: Any
    guns: Any
    alone: Any
    again: Any


def told(first: str) -> Told:
    """Tell the joke with this first word, one of `WORDS`."""
    return _told(listener()[0], list(WORDS).index(first))


@interpreted
def _told(family: Grid, first: Any) -> Told:
    guns, before = list(WORDS).index("guns"), family.prior()
    after = expfam.bayes(family, before, first)
    beliefs = before, after, expfam.bayes(family, after, guns)
    felt = partial(surprise.confidence_corrected, family)
    return Told(
        jnp.stack([belief.weights for belief in beliefs]),
        expfam.scaled_likelihood(family, guns).weights,
        jnp.stack([expfam.entropy(family, belief) for belief in beliefs[:2]]),
        felt(before, first),
        felt(after, guns),
        felt(before, guns),
        felt(after, first),
    )


def drivers(kinds: int) -> dict[str, tuple[Any, Belief]]:
    """Make a driver who has models of slots only, and two for each of `MODELS`: undecided, and used to the red car.

    There is one model per kind of car; those that favour neither of our two cars predict alike, and share a point.
    """
    other = RARE / (kinds - 1)
    models: Any = np.array([[1 - RARE, other], [other, 1 - RARE], [other, other]])
    equal: Any = np.full((3, len(CARS)), 1 / kinds)
    shares: Any = np.array([1.0, 1.0, kinds - 2.0])
    alike: Any = np.ones(3)
    seen = Domain(0, len(CARS) - 1, whole=True)
    slots = Grid(equal, _log_probability, alike, seen)
    made: dict[str, tuple[Any, Belief]] = {"slot": (slots, slots.prior())}
    families: Any = Grid(models, _log_probability, shares, seen), Dirichlet(kinds)
    for family, (undecided, used) in zip(families, MODELS.values(), strict=True):
        belief = family.prior()
        made[undecided] = family, belief
        for _ in range(MORNINGS):
            belief = bayes(family, belief, CARS.index("red"))
        made[used] = family, belief
    return made


def _log_probability(x: Any, models: Array) -> Array:
    return jnp.log(models[:, x])


def _election(_: RunSettings) -> Tables:
    """How likely and surprising each candidate is to each colleague; `weight` is that of the candidate's model."""
    rows = [
        {"colleague": name, "candidate": k, "weight": weight} | elected(weights, k)
        for name, weights in COLLEAGUES.items()
        for k, weight in enumerate(weights, 1)
    ]
    return {"models": voting(), "election": DataFrame(rows)}


def _joke(_: RunSettings) -> Tables:
    """meanings: the weights of what tank may mean. joke: how surprising each word is."""
    family, beliefs = listener()
    suggested = beliefs | {"guns": expfam.scaled_likelihood(family, list(WORDS).index("guns"))}
    meanings = [(name, *np.asarray(density(family, belief))) for name, belief in suggested.items()]
    joke = [
        {"belief": name, "word": word, **measured(family, belief, k)}
        for name, belief in beliefs.items()
        for k, word in enumerate(WORDS)
    ]
    return {"meanings": DataFrame(meanings, columns=["belief", "container", "vehicle"]), "joke": DataFrame(joke)}


def _parking(_: RunSettings) -> DataFrame:
    return DataFrame(
        {"kinds": kinds, "driver": driver, "car": car, **measured(family, belief, k)}
        for kinds in KINDS
        for driver, (family, belief) in drivers(kinds).items()
        for k, car in enumerate(CARS)
    )


def claims(tables: Tables) -> list[Claim]:
    """Judge what section 2.1 says about its examples."""
    election, joke = tables["election"], tables["joke"]
    words = joke[joke.belief == "before"].set_index("word")
    rare, telling = words.loc["Tuesday"], words.loc["guns"]
    ordered = [  # whether surprise never falls as Shannon surprise rises
        bool((np.diff(table.sort_values("shannon").surprise) > -1e-9).all())
        for table in (*(of_one for _, of_one in election.groupby("colleague")), words)
    ]
    return [
        *_election_claims(election, tables["models"].probability),
        _joke_claim(joke),
        *_parking_claims(tables["parking"]),
        Claim(
            "surprise.less-likely",
            "section 2.1 (1) and section 4.3",
            "To one and the same belief, less likely data are more surprising.",
            "without exception",
            "true of all candidates and colleagues; not of words: to an even belief about tank, a rare word that fits "
            f"both meanings has Shannon {rare.shannon:.2f} and S_cc {abs(rare.surprise):.2f} nats, guns "
            f"{telling.shannon:.2f} and {telling.surprise:.2f}",
            verdict([all(ordered[:-1]), ordered[-1]]),
            "Shannon surprise is only one of the terms of S_cc, and another, the scale of the likelihood, takes back "
            "what is common to all models; the parking lot of Fig. 1C needs just that.",
        ),
    ]


def _election_claims(election: DataFrame, probabilities: Any) -> list[Claim]:
    likely = np.exp(-election[election.candidate == 2].shannon)
    sure = election.groupby("colleague").commitment.first()
    surprise = wide(election, "colleague", "candidate", "surprise")
    (a1, a2), (b1, b2), c2 = surprise.loc["A", [1, 2]], surprise.loc["B", [1, 2]], surprise.loc["C", 2]
    log_odds = np.log(probabilities.max() / probabilities.min())
    favourite, outsider, entropies = 0.75 * log_odds, 0.5 * log_odds, 0.75 * np.log(3)
    return [
        Claim(
            "election.likelihood",
            "Fig. 1A, table",
            "Candidate 2 is equally likely to A, B and C.",
            "0.25 for all three",
            listed(likely, ".4f"),
            verdict([same(likely, 0.25)]),
            "Exact for every epsilon: a quarter of the weight gives it 1 - epsilon, and three quarters epsilon / 3.",
        ),
        Claim(
            "election.commitment",
            "section 2.1",
            "A and B are equally committed to their beliefs, C is less so.",
            "equal entropy of A and B, lower commitment of C",
            f"minus the entropy: A {sure.A:.4f}, B {sure.B:.4f}, C {sure.C:.4f} nats",
            verdict([same(sure.A, sure.B), sure.C < sure.A]),
            "B's weights are A's in another order, and no belief has a larger entropy than an even one.",
        ),
        Claim(
            "election.favourite",
            "section 2.1 (a), eq. 16",
            "Candidate 1 surprises B more than A, who is as committed but thinks this outcome likelier.",
            f"by 0.75 ln((1 - epsilon) / (epsilon / 3)) = {favourite:.4f}",
            f"B {b1:.4f}, A {a1:.4f}: {b1 - a1:.4f} nats more",
            verdict([b1 > a1, same(b1 - a1, favourite)]),
            "Their entropies cancel, so only what their models say of the candidate is left.",
        ),
        Claim(
            "election.outsider",
            "section 2.1 (b), eq. 17",
            "Candidate 2 surprises A more than candidate 1.",
            f"by 0.5 ln((1 - epsilon) / (epsilon / 3)) = {outsider:.4f}",
            f"candidate 2 {a2:.4f}, candidate 1 {a1:.4f}: {a2 - a1:.4f} nats more",
            verdict([a2 > a1, same(a2 - a1, outsider)]),
            "The belief is the same one, and the model of candidate 2 has a third of the weight.",
        ),
        Claim(
            "election.confidence",
            "section 2.1 (c), eq. 19, and Fig. 1A",
            "Candidate 2 surprises A and B more than C, though it is equally likely to all.",
            f"A above C by 0.75 ln 3 = {entropies:.4f}",
            f"A {a2:.4f}, B {b2:.4f}, C {c2:.4f}: A {a2 - c2:.4f} nats above C",
            verdict([a2 > c2, b2 > c2, same(a2 - c2, entropies)]),
            "The mean log-likelihoods agree, so the surprises differ by the entropies alone.",
        ),
    ]


def _joke_claim(joke: DataFrame) -> Claim:
    surprise = wide(joke, "belief", "word", "surprise")
    before, after, fitting = surprise.guns.before, surprise.guns.after, surprise.goldfish.after
    entropy = -joke.groupby("belief").commitment.first()
    return Claim(
        "joke.committed",
        "Fig. 1B",
        "The second phrase of the joke surprises a listener whom the first has committed, and only such a listener.",
        "surprise only where a committed belief is disturbed",
        f"after the first phrase {after:.3f} nats (entropy of the belief {entropy.after:.3f}), without it "
        f"{before:.3f} (entropy {entropy.before:.3f}); a word that fits what is believed: {abs(fitting):.3f}",
        verdict([after > before and entropy.after < entropy.before, before <= fitting + 1e-9]),
        "Commitment multiplies the surprise; but a telling phrase is some way from an even belief too, so that an "
        "uncommitted listener is surprised as well, if less.",
    )


def _parking_claims(parking: DataFrame) -> list[Claim]:
    """Not surprised, here, is who is no more surprised than a driver with the same models who sees what he expects."""
    surprise, rare = (wide(parking[parking.kinds == MANY], "driver", "car", name) for name in ("surprise", "shannon"))
    red, unlikely, green = surprise.red, rare["green BMW"], surprise["green BMW"]
    by_kinds, shannon = (  # at the green car
        wide(parking[parking.car == "green BMW"], "kinds", "driver", name) for name in ("surprise", "shannon")
    )
    committed = (
        f"{models}: S_cc {green[used]:.2f} nats at the green car and {red[used]:.2f} at the red one, against "
        f"{green[undecided]:.2f} for the undecided driver (Shannon {unlikely[used]:.2f} and {unlikely[undecided]:.2f})"
        for models, (undecided, used) in MODELS.items()
    )
    uncommitted = (
        f"{models}: S_cc {listed(by_kinds[undecided], '.2f')} (Shannon {listed(shannon[undecided], '.1f')}), and the "
        f"red car, to the driver who expects it: {red[used]:.2f}"
        for models, (undecided, used) in MODELS.items()
    )
    finer = (f"{models}: {listed(by_kinds[used], '.2f')}" for models, (_, used) in MODELS.items())
    return [
        Claim(
            "parking.slot",
            "Fig. 1C",
            "The car next to a free slot is very unlikely, and no surprise to a driver who only cares about the slot.",
            "unlikely, but not very surprising",
            f"with {MANY} kinds of cars, Shannon {unlikely.slot:.2f} nats, S_cc {abs(green.slot):.2f}",
            verdict([unlikely.slot > rare.red["used to red"] and green.slot <= red["used to red"]]),
            "All of his models make the car equally likely: it speaks for none of them, so his even belief fits it.",
        ),
        Claim(
            "parking.committed",
            "section 2.1, third example",
            "The green car surprises the driver who sees the little red one there every morning; what makes the "
            "difference is commitment.",
            "surprised, where the uncommitted driver is not",
            "; ".join(committed),
            verdict(green[used] > max(green[undecided], red[used]) for undecided, used in MODELS.values()),
            "The two drivers have the same models, and only the beliefs over them differ; the green car must surprise "
            "the committed one more than the red one would, and more than it surprises the undecided one.",
        ),
        Claim(
            "parking.uncommitted",
            "section 2.1, third example",
            "Without commitment even a very unlikely car is not surprising.",
            "not surprised",
            f"undecided driver, {listed(KINDS, 'd')} kinds of cars, in nats; {'; '.join(uncommitted)}",
            verdict(green[undecided] <= red[used] for undecided, used in MODELS.values()),
            "However rare the car, S_cc of either undecided driver stays bounded while Shannon surprise grows without "
            f"end: below ln(1 / epsilon) = {np.log(1 / RARE):.2f} with one model per kind, where what the car "
            "suggests, one model among many, is far from an even belief, and below 0.58 (Euler's constant) with a flat "
            "Dirichlet. But the red car, too, surprises the driver whose Dirichlet belief has become firmer than one "
            "car would make it, and the more so the more mornings there were.",
        ),
        Claim(
            "parking.details",
            "section 2.1, third example",
            "How surprised the driver is who expects the red car does not depend on the details of the green one.",
            "quite independent of the details",
            f"S_cc, in nats, if cars are of {listed(KINDS, 'd')} kinds; {'; '.join(finer)}",
            verdict(abs(by_kinds[used][KINDS[-1]] / by_kinds[used][MANY] - 1) < 0.1 for _, used in MODELS.values()),
            f"The more details, the more kinds: from {MANY} to {KINDS[-1]} kinds S_cc may change by a tenth (our "
            "criterion). With one model per kind each kind's share of what the red car's model leaves gets smaller, "
            "whereas a Dirichlet belief tells apart only cars that were seen and cars that were not.",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """Draw the election above, the joke in the middle, the parking lot below."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.2, 8.6), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=(3.5, 2, 3))
    _draw_election(parts[0], tables["models"], tables["election"])
    _draw_joke(parts[1].subplots(1, 4, width_ratios=(1, 1, 1, 1.9)), tables["meanings"], tables["joke"])
    axis, parking = parts[2].subplots(), tables["parking"]
    some = parking[parking.kinds == MANY].set_index(["driver", "car"])
    places = np.arange(len(ROWS))
    looks = {"shannon": (-0.19, "0.65", "Shannon surprise"), "surprise": (0.19, BLUE, "$S_{cc}$")}
    for measure, (shift, colour, label) in looks.items():
        lengths = np.abs([some[measure][row] for row in ROWS.values()])  # a zero may have come out as minus 1e-17
        bars = axis.barh(places + shift, lengths, 0.38, color=colour, label=label)
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
    axis.set_yticks(places, list(ROWS))
    axis.set(xlabel="surprise at the car (nats)", xlim=(0, 1.15 * some.shannon.max()))
    axis.invert_yaxis()
    letter_panels([axis], "C", x=-0.32)
    axis.legend(loc="lower right")
    return figure


def _draw_election(part: Any, models: DataFrame, election: DataFrame) -> None:
    from matplotlib.colors import to_rgba

    grid = part.add_gridspec(2, 4, width_ratios=(1, 1, 1, 1.25), height_ratios=(1.5, 1))
    *beliefs, likelihood = [part.add_subplot(grid[0, k]) for k in range(4)]
    for axis, (name, rows), colour in zip(beliefs, election.groupby("colleague"), (BLUE, ORANGE, GREEN), strict=True):
        axis.bar(rows.candidate, rows.weight, color=colour)
        axis.set(title=rf"belief $\pi^{name}$", xlabel=r"model $\theta_k$", xticks=rows.candidate, ylim=(0, 1))
        axis.tick_params(labelleft=axis is beliefs[0])
    beliefs[0].set_ylabel("weight")
    letter_panels(beliefs, "A", x=-0.42)
    probabilities = wide(models, "model", "candidate", "probability")
    likelihood.imshow(probabilities, cmap="Greys", vmin=0, vmax=2.5)
    for (row, column), probability in np.ndenumerate(probabilities):
        likelihood.text(column, row, f"{probability:.2g}", ha="center", va="center", fontsize=7)
    likelihood.set_xticks(range(4), probabilities.columns)
    likelihood.set_yticks(range(4), probabilities.index)
    likelihood.set(title=r"likelihood $p(X|\theta_k)$", xlabel="candidate $X$", ylabel=r"model $\theta_k$")

    # The table below
    axis = part.add_subplot(grid[1, :])
    likely = np.exp(-wide(election, "colleague", "candidate", "shannon"))
    surprise = wide(election, "colleague", "candidate", "surprise")[[1, 2]]
    cells = [[f"{p:.3f}" for p in likely.loc[n]] + [f"{s:.2f}" for s in surprise.loc[n]] for n in likely.index]
    titles = [*(f"$p(X={k})$" for k in likely.columns), "$S_{cc}(X=1)$", "$S_{cc}(X=2)$"]
    names = [f" {name} " for name in likely.index]
    table = axis.table(cells, rowLabels=names, colLabels=titles, cellLoc="center", bbox=(0.02, 0, 0.98, 1))
    table.auto_set_font_size(False)
    for (_, column), cell in table.get_celld().items():
        cell.set(edgecolor="0.7", linewidth=0.6)
        if column in (1, 5):
            cell.set_facecolor(to_rgba(VERMILLION, 0.25))
    axis.axis("off")


def _draw_joke(axes: Any, meanings: DataFrame, joke: DataFrame) -> None:
    titles = (r"belief $\pi_0$", r"$\pi_1$: 'goldfish'", r"$\hat{p}_X$: 'guns'")
    for axis, title, (_, row), colour in zip(axes, titles, meanings.iterrows(), ("0.6", BLUE, PURPLE), strict=False):
        axis.bar(["con-\ntainer", "vehicle"], row[["container", "vehicle"]].astype(float), color=colour, width=0.6)
        axis.set(title=title, ylim=(0, 1))
        axis.tick_params(labelleft=axis is axes[0])
    axes[0].set_ylabel("weight")
    letter_panels(axes, "B", x=-0.42)
    surprise = wide(joke, "belief", "word", "surprise")
    names = [r"'goldfish' to $\pi_0$", r"'guns' to $\pi_0$", r"'guns' to $\pi_1$"]
    lengths = [surprise.goldfish.before, surprise.guns.before, surprise.guns.after]
    bars = axes[3].barh(names, lengths, color=["0.6", "0.6", BLUE], height=0.6)
    axes[3].bar_label(bars, fmt="%.2f", padding=2)
    axes[3].set(xlabel="surprise $S_{cc}$ (nats)", xlim=(0, 1.25 * max(lengths)))
    axes[3].invert_yaxis()


SIMULATIONS: dict[str, Simulation] = {"election": _election, "joke": _joke, "parking": _parking}
FIGURE_1 = Figure("1", "Examples of surprise", CAPTION, SIMULATIONS, draw, claims)
