"""Screens 1 to 4 of the tour: the examples of Figures 1 and 2, in which one belief meets one observation."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from astonish.beliefs import Gaussian
from astonish.core.domain import Domain, FloatArray, declared
from astonish.core.interpreter import interpreted
from astonish.learners import Smile
from astonish.page.controls import Slider, Values, slider_for
from astonish.page.tour.screen import Options, Screen, Shown, Words, mark, panel
from astonish.paper.figure import same, verdict
from astonish.paper.figure1 import COLLEAGUES, density, elected, measured, told
from astonish.paper.figure2 import FAR, folded_pair, log_evidence, normal_pair, surprise_again
from astonish.theory import rule
from astonish.theory.expfam import Belief, Family

GAMMAS: FloatArray = np.linspace(0.0, 1.0, 101)
WINNER, QUARTER = 2, 0.25  # of the election, and the winner's weight to everyone
SAMPLES, THETAS = np.linspace(-1, 5.5, 131), np.linspace(-3, 3, 241)  # where predictions and normal beliefs are drawn


# ---- 1, Fig. 1B: why is a joke surprising?

FIRST_LINES = {
    "goldfish": "“There are two goldfish in a tank.",
    "Tuesday": "“On Tuesday there are two friends in a tank.",
}
OTHER_LINES = ["One turns to the other and says:", "You man the guns, I'll drive.”"]


def _joke(at: Values, chosen: Words) -> Shown:
    line, first, joke = int(at["line"]), chosen["first"], told(chosen["first"])
    now = joke.believed[(0, 1, 1, 2)[line]].tolist()
    surprises = [float(value) for value in (joke.first, joke.guns, joke.alone)]
    _, guns, alone = surprises
    believed = f"“container” has probability {now[0]:.2f}, “vehicle” {now[1]:.2f}"
    found, held = f"Nobody has said anything yet: {believed}.", ""
    if line > 0:
        found = f"The first line speaks of {first}. To the listener {believed}, by Bayes' rule."
    if line == 3:
        committed = joke.guns > joke.alone + 1e-9 and joke.entropy[1] < joke.entropy[0]
        held = verdict([committed, joke.alone <= joke.again + 1e-9])
        found = f"“guns” surprises the listener by {guns:.2f} nats, and without the first line by {alone:.2f}: "
        if guns > alone + 1e-9:
            found += f"commitment makes it {guns / alone:.1f} times as surprising. Now {believed}."
        else:
            found += "the first line committed the listener to nothing, so that it makes no difference. "
            found += f"Now {believed}."
    meanings = ["container", "vehicle"]
    beliefs = [mark("bars", "belief", 0, x=meanings, y=now)]
    if line == 3:
        beliefs.append(mark("bars", "what “guns” alone suggests", 1, x=meanings, y=joke.suggested.tolist()))
    words = [f"“{first}”", "“guns”, after it", "“guns” alone"]  # what was said; the last without the first line
    heard = [surprises[0] if line >= 1 else 0.0, *(surprises[1:] if line == 3 else [0.0, 0.0])]
    bars, most = [mark("bars", "surprise", 2, x=words, y=heard)], 1.1 * max(surprises)
    script = f"""
        from astonish.paper.figure1 import told
        from astonish.core.precision import double

        with double():
            joke = told({first!r})
        for name, belief in zip(["before", "after the first line", "at the end"], joke.believed):
            print(f"{{name}}: container {{belief[0]:.4g}}, vehicle {{belief[1]:.4g}}")
        print(f"surprise of guns: {{joke.guns:.4g}} nats, without the first line {{joke.alone:.4g}}")
        """
    panels = [
        panel("probability", beliefs, "what “tank” means", range=[0, 1]),
        panel("surprise (nats)", bars, "word", range=[0, most]),
    ]
    return Shown(found, held, panels, script, [FIRST_LINES[first], *OTHER_LINES][:line])


JOKE = Screen(
    name="joke",
    title="A joke needs an opinion to contradict",
    idea=(
        "“Tank” can mean a container or a military vehicle. The first line of the joke makes one meaning more "
        "probable; the last line contradicts it. Surprise is large where a firm belief is contradicted."
    ),
    claims=("joke.committed",),
    show=_joke,
    hint="Tell it without the goldfish: the first line then says nothing about the tank.",
    breaking={"first": "Tuesday", "line": 3},
    steps="line",
    columns=2,
    sliders={"line": Slider("lines told", Domain(0, 3, whole=True), 0)},
    choices={
        "first": Options("the first line speaks of", {"goldfish": "goldfish", "Tuesday": "a Tuesday"}, "goldfish")
    },
)


# ---- 2, Fig. 1A: is an outcome that is equally probable to all equally surprising to all?


def _voters(at: Values, _: Words) -> Shown:
    rest = (1 - QUARTER - at["confidence"]) / 2
    weights: dict[str, Any] = {**COLLEAGUES, "C": (rest, QUARTER, rest, at["confidence"])}
    measures = {name: elected(belief, WINNER) for name, belief in weights.items()}
    likely = [np.exp(-values["shannon"]) for values in measures.values()]
    a, b, c = (values["surprise"] for values in measures.values())
    found = f"Candidate 2 had probability {likely[-1]:.2f} to all three, and surprises A by {a:.2f}, B by {b:.2f} "
    found += f"and C by {c:.2f} nats: "
    if a > c + 1e-9:
        found += f"C, who is less committed, by {a - c:.2f} nats less."
    else:
        found += "C is now as committed as A and B, and as surprised. The difference was commitment alone."
    panels = []
    for look, (name, belief) in enumerate(weights.items()):
        bars = mark("bars", f"belief of {name}", look, x=["1", "2", "3", "4"], y=[float(weight) for weight in belief])
        panels.append(panel(f"{name}: weight", [bars], "candidate", range=[0, 1]))
    bars = mark("bars", "surprise at candidate 2", 3, x=["A", "B", "C"], y=[a, b, c])
    panels.append(panel("surprise (nats)", [bars], "colleague", zero=True))
    script = f"""
        from astonish.paper.figure1 import COLLEAGUES, elected
        from astonish.core.precision import double

        with double():
            for name, weights in {{**COLLEAGUES, "C": {tuple(map(float, weights["C"]))}}}.items():
                found = elected(weights, {WINNER})
                print(f"{{name}}: surprise {{found['surprise']:.4g}}, Shannon {{found['shannon']:.4g}} nats")
        """
    return Shown(found, verdict([same(likely, likely[0]) and min(a, b) > c + 1e-9]), panels, script)


VOTERS = Screen(
    name="voters",
    title="Equally probable, not equally surprising",
    idea=(
        "Three colleagues expect different results of an election. Candidate 2 wins, who was equally probable to all "
        "three. A and B had a firm favourite, C had none: C is less surprised, because C was committed to less."
    ),
    claims=("election.confidence",),
    show=_voters,
    hint="Let C have a favourite as well: candidate 4.",
    breaking={"confidence": 0.75},
    columns=4,
    sliders={"confidence": Slider("weight that C gives to candidate 4", Domain(QUARTER, 1 - QUARTER), QUARTER)},
)


# ---- 3, Fig. 2A: two people predict the same; is the more committed one more surprised?


class Person(NamedTuple):
    """Someone who believes something; density: of the belief at these thetas."""

    family: Family
    belief: Belief
    thetas: Any
    density: Any


def _people(pair: str) -> dict[str, Person]:
    """Make two people with equal predictions."""
    if pair == "normal":
        normal = normal_pair().items()
        return {name: Person(f, belief, THETAS, np.asarray(f.density(belief, THETAS))) for name, (f, belief) in normal}
    family, beliefs = folded_pair()
    if pair == "alike":
        beliefs["open"] = beliefs["committed"]
    thetas = np.asarray(family.points)
    return {name: Person(family, b, thetas, np.asarray(density(family, b))) for name, b in beliefs.items()}


def _commitment(at: Values, chosen: Words) -> Shown:
    pair, x = chosen["pair"], at["x"]
    people = _people(pair)
    measures = {name: measured(person.family, person.belief, x) for name, person in people.items()}
    committed, other = measures.values()
    surer, more = (committed[name] - other[name] for name in ("commitment", "surprise"))
    found = (
        f"The sample {x:g} has Shannon surprise {committed['shannon']:.2f} nats to both. Confidence-corrected, it "
        f"surprises the committed person by {committed['surprise']:.2f} and the open one by "
        f"{other['surprise']:.2f} nats: "
    )
    if abs(surer) < 1e-9:
        found += "equal commitment, equal surprise."
    elif more > 0:
        found += f"{surer:.2f} nats more commitment, {more:.2f} nats more surprise."
    else:
        found += f"{surer:.2f} nats more commitment, and yet {-more:.2f} nats less surprise. The claim does not hold."
    predictions, beliefs, bars = [], [], []
    for look, (name, person) in enumerate(people.items()):
        predicted = np.exp(np.asarray(log_evidence(person.family, person.belief, SAMPLES)))
        predictions.append(mark("line", name, look, width=(4, 2)[look], x=SAMPLES, y=predicted))
        beliefs.append(mark("line", name, look, x=np.asarray(person.thetas), y=person.density, width=2.5))
        heights = [measures[name]["shannon"], measures[name]["surprise"]]
        bars.append(mark("bars", name, look, x=["Shannon", "confidence corrected"], y=heights))
    predictions.append(mark("rules", "the sample", x=[x], dash="dot", width=2))
    panels = [
        panel("predicted density", predictions, "sample", zero=True),
        panel("believed density", beliefs, "theta", zero=True),
        panel("surprise (nats)", bars, "measure", zero=True),
    ]
    second = "committed" if pair == "alike" else "open"
    lines = ["people = normal_pair()"] if pair == "normal" else [
        "family, beliefs = folded_pair()",
        f'people = {{"committed": (family, beliefs["committed"]), "open": (family, beliefs[{second!r}])}}',
    ]  # fmt: skip
    indented = "\n            ".join(lines)
    script = f"""
        from astonish.paper.figure1 import measured
        from astonish.paper.figure2 import {"normal_pair" if pair == "normal" else "folded_pair"}
        from astonish.core.precision import double

        with double():
            {indented}
            for name, (family, belief) in people.items():
                found = measured(family, belief, {x!r})
                print(f"{{name}}: surprise {{found['surprise']:.4g}}, commitment {{found['commitment']:.4g}} nats")
        """
    return Shown(found, verdict([committed["surprise"] > other["surprise"] + 1e-9]), panels, script)


PAIRS = {
    "sign": "one knows the sign, the other does not (Fig. 2A)",
    "alike": "both know the sign: equal commitment",
    "normal": "two normal models with equal predictions",
}
COMMITMENT = Screen(
    name="commitment",
    title="The same prediction, another surprise",
    idea=(
        "Commitment is minus the entropy of a belief: it is high if few possibilities have all the weight. Two people "
        "can predict the same and differ in it: both know how large theta is, but only one of them knows its sign."
    ),
    claims=("commitment.predictions",),
    show=_commitment,
    hint=(
        "Take two normal models instead: they predict the same too, but a sample far away surprises the open one more."
    ),
    breaking={"pair": "normal", "x": 3.2},
    columns=3,
    sliders={"x": Slider("the sample that both see", Domain(0, 5), 3.2)},
    choices={"pair": Options("two people", PAIRS, "sign")},
)


# ---- 4, Fig. 2B: how far may a surprise move a belief?


@interpreted
def _update(family: Gaussian, belief: Belief, x: Any, m: Any) -> tuple[rule.Update, Array]:
    spent = jax.vmap(lambda gamma: rule.bound_from_gamma(family, belief, x, gamma))(GAMMAS)
    return rule.smile(family, belief, x, m), spent


def _bound(at: Values, _: Words) -> Shown:
    family, m, width = Gaussian(), at["m"], at["width"]
    belief = family.prior(std=width)
    update, spent = _update(family, belief, FAR, m)
    again = np.asarray(surprise_again(family, belief, FAR, GAMMAS))
    parabola = again[0] * (1 - GAMMAS) ** 2
    off = float(np.abs(again - parabola).max() / again[0])
    gamma, bound = float(update.gamma), float(update.bound)
    left = float(np.interp(gamma, GAMMAS, again))
    found = (
        f"A surprise of {update.surprise:.2f} nats allows a change of {bound:.2f} of at most {update.bound_max:.2f} "
        f"nats, which gives gamma = {gamma:.2f}; seen again, the sample would surprise by {left:.2f} nats. "
    )
    shape = "a parabola" if off < 1e-9 else f"no parabola: it is off by up to {off:.0%} of its start"
    found += f"The curve is {shape}."
    surprises = [
        mark("line", "the parabola of the same start", 6, x=GAMMAS, y=parabola, dash="dash", width=2),
        mark("line", "surprise at the same sample, after the step", 0, x=GAMMAS, y=again, width=3),
        mark("dots", "the step that is made", 1, x=np.array([gamma]), y=np.array([left]), size=9),
    ]
    changes = [
        mark("line", "change of the belief", 2, x=GAMMAS, y=spent, width=3),
        mark("line", "bound B", 1, x=np.array([0.0, 1.0]), y=np.array([bound, bound]), width=2, dash="dot"),
        mark("dots", "", 1, x=np.array([gamma]), y=np.array([bound]), size=9),
    ]
    panels = [
        panel("surprise left (nats)", surprises, zero=True),
        panel("change (nats)", changes, "gamma: size of the step", zero=True),
    ]
    script = f"""
        from astonish import Gaussian, rule
        from astonish.core.precision import double

        with double():
            family = Gaussian()
            update = rule.smile(family, family.prior(std={width!r}), x={FAR!r}, m={m!r})
            print(f"surprise {{update.surprise:.4g}}, bound {{update.bound:.4g}} of {{update.bound_max:.4g}} nats")
            print(f"gamma {{update.gamma:.4g}}")
        """
    return Shown(found, verdict([same(off, 0)]), panels, script)


BOUND = Screen(
    name="bound",
    title="Surprise decides how far a belief may move",
    idea=(
        "A step of size gamma moves the belief towards what the sample alone says. The change is bounded: the larger "
        "the surprise, and the larger m, the readiness to change one's mind, the larger the bound and the step."
    ),
    claims=("step.parabola", "bound.gamma"),
    show=_bound,
    hint=(
        "Make the belief narrower than the noise: the curve is no parabola any more. Or set m to 0: nothing is learned."
    ),
    breaking={"width": 0.4},
    sliders={
        "m": slider_for("m", declared(Smile)["m"]),
        "width": Slider("width of the belief, in units of the noise", Domain(0.1, 4), 1.0),
    },
)
