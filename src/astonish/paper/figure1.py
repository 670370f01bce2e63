"""Figure 1, and sections 2.1 and 4.2 to 4.4: who is surprised by what?"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.beliefs import Dirichlet, Grid
from astonish.core.numbers import Domain
from astonish.paper.claims import Claim, listed, same, verdict
from astonish.paper.examples import COLLEAGUES, RARE, WORDS, bayes, density, elected, listener, measured, voting
from astonish.paper.figure import Drawing, Figure, RunSettings, Simulation, Tables, simulated, wide
from astonish.report.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from astonish.theory import expfam
from astonish.theory.expfam import Belief

CARS = ("red", "green BMW")
DRIVERS = ("slot", "undecided", "used to red")
COUNTING = ("counting, undecided", "counting, used to red")  # drivers who believe about how common each kind is
MODELS = {"one model per kind": DRIVERS[1:], "a Dirichlet belief": COUNTING}  # and their undecided and used drivers
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
    shown = beliefs | {"guns": expfam.scaled_likelihood(family, list(WORDS).index("guns"))}
    meanings = [(name, *np.asarray(density(family, belief))) for name, belief in shown.items()]
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
        for driver, (family, belief) in zip(DRIVERS + COUNTING, drivers(kinds) + counting(kinds), strict=True)
        for k, car in enumerate(CARS)
    )


def drivers(kinds: int) -> list[tuple[Any, Belief]]:
    """One who has models of slots only, one who has models of cars, and one who has seen the red car every morning.

    There is one model per kind of car; those that favour neither of our two cars predict alike, and share a point.
    """
    other = RARE / (kinds - 1)
    models: Any = np.array([[1 - RARE, other], [other, 1 - RARE], [other, other]])
    equal: Any = np.full((3, len(CARS)), 1 / kinds)
    alike: Any = np.ones(3)
    shares: Any = np.array([1.0, 1.0, kinds - 2.0])
    seen = Domain(0, len(CARS) - 1, whole=True)
    cars = Grid(models, _log_probability, shares, seen)
    slots = Grid(equal, _log_probability, alike, seen)
    used = cars.prior()
    for _ in range(MORNINGS):
        used = bayes(cars, used, CARS.index("red"))
    return [(slots, slots.prior()), (cars, cars.prior()), (cars, used)]


def counting(kinds: int) -> list[tuple[Any, Belief]]:
    """One who finds every way in which kinds may be common equally likely, and one who has seen the red car since."""
    family = Dirichlet(kinds)
    used = family.prior()
    for _ in range(MORNINGS):
        used = bayes(family, used, CARS.index("red"))
    return [(family, family.prior()), (family, used)]


def _log_probability(x: Any, models: Array) -> Array:
    return jnp.log(models[:, x])


def claims(tables: Tables) -> list[Claim]:
    """What section 2.1 says about its examples."""
    election, joke = tables["election"], tables["joke"]
    first = [*_election_claims(election, tables["models"].probability), _joke_claim(joke)]
    return [*first, *_parking_claims(tables["parking"]), _less_likely(election, joke)]


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
    expected, unlikely, green = surprise.red["used to red"], rare["green BMW"], surprise["green BMW"]
    return [
        Claim(
            "parking.slot",
            "Fig. 1C",
            "The car next to a free slot is very unlikely, and no surprise to a driver who only cares about the slot.",
            "unlikely, but not very surprising",
            f"with {MANY} kinds of cars, Shannon {unlikely.slot:.2f} nats, S_cc {abs(green.slot):.2f}",
            verdict([unlikely.slot > rare.red["used to red"] and green.slot <= expected]),
            "All of his models make the car equally likely: it speaks for none of them, so his even belief fits it.",
        ),
        _committed_driver(surprise, unlikely),
        _uncommitted_driver(parking, surprise.red),
        _details(parking),
    ]


def _committed_driver(surprise: Any, unlikely: Any) -> Claim:
    green, red = surprise["green BMW"], surprise.red
    found = (
        f"{models}: S_cc {green[used]:.2f} nats at the green car and {red[used]:.2f} at the red one, against "
        f"{green[open_]:.2f} for the undecided driver (Shannon {unlikely[used]:.2f} and {unlikely[open_]:.2f})"
        for models, (open_, used) in MODELS.items()
    )
    return Claim(
        "parking.committed",
        "section 2.1, third example",
        "The green car surprises the driver who sees the little red one there every morning; what makes the "
        "difference is commitment.",
        "surprised, where the uncommitted driver is not",
        "; ".join(found),
        verdict(green[used] > green[open_] and green[used] > red[used] for open_, used in MODELS.values()),
        "The two drivers have the same models, and only the beliefs over them differ; the green car must surprise the "
        "committed one more than the red one would, and more than it surprises the undecided one.",
    )


def _uncommitted_driver(parking: DataFrame, red: Any) -> Claim:
    green = wide(parking[parking.car == "green BMW"], "kinds", "driver", "surprise")
    shannon = wide(parking[parking.car == "green BMW"], "kinds", "driver", "shannon")
    found = (
        f"{models}: S_cc {listed(green[open_], '.2f')} (Shannon {listed(shannon[open_], '.1f')}), and the red car, to "
        f"the driver who expects it: {red[used]:.2f}"
        for models, (open_, used) in MODELS.items()
    )
    return Claim(
        "parking.uncommitted",
        "section 2.1, third example",
        "Without commitment even a very unlikely car is not surprising.",
        "not surprised",
        f"undecided driver, {listed(KINDS, 'd')} kinds of cars, in nats; {'; '.join(found)}",
        verdict(green[open_][MANY] <= red[used] for open_, used in MODELS.values()),
        "However rare the car, S_cc of either undecided driver stays bounded while Shannon surprise grows without "
        f"end: below ln(1 / epsilon) = {np.log(1 / RARE):.2f} with one model per kind, where what the car suggests, "
        "one model among many, is far from an even belief, and below 0.58 (Euler's constant) with a flat Dirichlet. "
        "But the red car, too, surprises the driver whose Dirichlet belief has become firmer than one car would make "
        "it, and the more so the more mornings there were.",
    )


def _details(parking: DataFrame) -> Claim:
    green = wide(parking[parking.car == "green BMW"], "kinds", "driver", "surprise")
    growth = {models: green[used][KINDS[-1]] / green[used][MANY] - 1 for models, (_, used) in MODELS.items()}
    found = (f"{models}: {listed(green[used], '.2f')}" for models, (_, used) in MODELS.items())
    return Claim(
        "parking.details",
        "section 2.1, third example",
        "How surprised the driver is who expects the red car does not depend on the details of the green one.",
        "quite independent of the details",
        f"S_cc, in nats, if cars are of {listed(KINDS, 'd')} kinds; {'; '.join(found)}",
        verdict(abs(share) < 0.1 for share in growth.values()),
        f"The more details, the more kinds: from {MANY} to {KINDS[-1]} kinds S_cc may change by a tenth (our "
        "criterion). With one model per kind each kind's share of what the red car's model leaves gets smaller, "
        "whereas a Dirichlet belief tells apart only cars that were seen and cars that were not.",
    )


def _less_likely(election: DataFrame, joke: DataFrame) -> Claim:
    words = joke[joke.belief == "before"].set_index("word")
    rare, telling = words.loc["Tuesday"], words.loc["guns"]
    return Claim(
        "surprise.less-likely",
        "section 2.1 (1) and section 4.3",
        "To one and the same belief, less likely data are more surprising.",
        "without exception",
        "true of all candidates and colleagues; not of words: to an even belief about tank, a rare word that fits both "
        f"meanings has Shannon {rare.shannon:.2f} and S_cc {abs(rare.surprise):.2f} nats, guns {telling.shannon:.2f} "
        f"and {telling.surprise:.2f}",
        verdict([all(_ordered(table) for _, table in election.groupby("colleague")), _ordered(words)]),
        "Shannon surprise is only one of the terms of S_cc, and another, the scale of the likelihood, takes back what "
        "is common to all models; the parking lot of Fig. 1C needs just that.",
    )


def _ordered(table: DataFrame) -> bool:
    """Whether surprise never falls as Shannon surprise rises."""
    return bool((np.diff(table.sort_values("shannon").surprise) > -1e-9).all())


def draw(tables: Tables) -> Drawing:
    """Election above, joke in the middle, parking lot below."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.2, 8.6), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=(3.5, 2, 3))
    _draw_election(parts[0], tables["models"], tables["election"])
    _draw_joke(parts[1].subplots(1, 4, width_ratios=(1, 1, 1, 1.9)), tables["meanings"], tables["joke"])
    _draw_parking(parts[2].subplots(), tables["parking"])
    return figure


def _draw_election(part: Any, models: DataFrame, election: DataFrame) -> None:
    grid = part.add_gridspec(2, 4, width_ratios=(1, 1, 1, 1.25), height_ratios=(1.5, 1))
    axes = [part.add_subplot(grid[0, k]) for k in range(4)]
    for axis, (name, rows), colour in zip(axes, election.groupby("colleague"), (BLUE, ORANGE, GREEN), strict=False):
        axis.bar(rows.candidate, rows.weight, color=colour)
        axis.set(title=rf"belief $\pi^{name}$", xlabel=r"model $\theta_k$", xticks=rows.candidate, ylim=(0, 1))
        axis.tick_params(labelleft=axis is axes[0])
    axes[0].set_ylabel("weight")
    axes[0].set_title("A", loc="left", fontweight="bold", x=-0.42)
    probabilities = wide(models, "model", "candidate", "probability")
    axes[3].imshow(probabilities, cmap="Greys", vmin=0, vmax=2.5)
    for (row, column), probability in np.ndenumerate(probabilities):
        axes[3].text(column, row, f"{probability:.2g}", ha="center", va="center", fontsize=7)
    axes[3].set_xticks(range(4), probabilities.columns)
    axes[3].set_yticks(range(4), probabilities.index)
    axes[3].set(title=r"likelihood $p(X|\theta_k)$", xlabel="candidate $X$", ylabel=r"model $\theta_k$")
    _draw_table(part.add_subplot(grid[1, :]), election)


def _draw_table(axis: Any, election: DataFrame) -> None:
    from matplotlib.colors import to_rgba

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
    axes[0].set_title("B", loc="left", fontweight="bold", x=-0.42)
    surprise = wide(joke, "belief", "word", "surprise")
    names = [r"'goldfish' to $\pi_0$", r"'guns' to $\pi_0$", r"'guns' to $\pi_1$"]
    lengths = [surprise.goldfish.before, surprise.guns.before, surprise.guns.after]
    bars = axes[3].barh(names, lengths, color=["0.6", "0.6", BLUE], height=0.6)
    axes[3].bar_label(bars, fmt="%.2f", padding=2)
    axes[3].set(xlabel="surprise $S_{cc}$ (nats)", xlim=(0, 1.25 * max(lengths)))
    axes[3].invert_yaxis()


def _draw_parking(axis: Any, parking: DataFrame) -> None:
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
    axis.set_title("C", loc="left", fontweight="bold", x=-0.32)
    axis.legend(loc="lower right")


SIMULATIONS: dict[str, Simulation] = {"election": _election, "joke": _joke, "parking": _parking}
FIGURE_1 = Figure("1", "Examples of surprise", CAPTION, simulated(SIMULATIONS), draw, claims)
