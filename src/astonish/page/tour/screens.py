"""The screens of the tour: 1 to 4, the examples of Figures 1 and 2, in which one belief meets one observation.

Screens 5 to 8 are the simulations of Figures 3, 5, 7 and 8, in which worlds change.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import jax
import numpy as np

from astonish.beliefs import Gaussian
from astonish.core.numbers import Domain, FloatArray, double
from astonish.page.controls import GAMMAS, READINESS, Json, Slider, Values, one_of, updated
from astonish.page.tour.screen import SCREENS, Options, Screen, Shown, Words, mark, panel, with_band
from astonish.paper import figure3, figure8, maze_learners as agents
from astonish.paper.figure import RunSettings, interval, same, verdict
from astonish.paper.figure1 import COLLEAGUES, density, elected, measured, told
from astonish.paper.figure2 import FAR, folded_pair, log_evidence, normal_pair
from astonish.paper.figure5 import around_switches
from astonish.paper.maze_learners import ACCURATE, FROZEN, summary
from astonish.theory.expfam import Belief, Family
from astonish.worlds.gaussian_jumps import Episode
from astonish.worlds.maze import A, B, maze

# ---- 1, Fig. 1B: why is a joke surprising?

FIRST_LINES = {
    "goldfish": "“There are two goldfish in a tank.",
    "Tuesday": "“On Tuesday there are two friends in a tank.",
}
OTHER_LINES = ["One turns to the other and says:", "You man the guns, I'll drive.”"]


@Screen(
    "joke",
    "A joke needs an opinion to contradict",
    idea=(
        "“Tank” can mean a container or a military vehicle. The first line of the joke makes one meaning more "
        "probable; the last line contradicts it. Surprise is large where a firm belief is contradicted."
    ),
    claims=("joke.committed",),
    hint="Tell it without the goldfish: the first line then says nothing about the tank.",
    breaking={"first": "Tuesday", "line": 3},
    steps="line",
    columns=2,
    sliders={"line": Slider("lines told", Domain(0, 3, whole=True), 0)},
    choices={
        "first": Options("the first line speaks of", {"goldfish": "goldfish", "Tuesday": "a Tuesday"}, "goldfish")
    },
)
def _joke(at: Values, chosen: Words) -> Shown:
    line, first, joke = int(at["line"]), chosen["first"], told(chosen["first"])
    now = joke.believed[(0, 1, 1, 2)[line]].tolist()
    surprises = [float(value) for value in (joke.first, joke.guns, joke.alone)]
    (_, guns, alone), most = surprises, 1.1 * max(surprises)
    believed = f"“container” has probability {now[0]:.2f}, “vehicle” {now[1]:.2f}"
    sentence, held = f"Nobody has said anything yet: {believed}.", ""
    if line > 0:
        sentence = f"The first line speaks of {first}. To the listener {believed}, by Bayes' rule."
    if line == 3:
        committed = joke.guns > joke.alone + 1e-9 and joke.entropy[1] < joke.entropy[0]
        held = verdict([committed, joke.alone <= joke.again + 1e-9])
        effect = "the first line committed the listener to nothing, so that it makes no difference."
        if guns > alone + 1e-9:
            effect = f"commitment makes it {guns / alone:.1f} times as surprising."
        surprise = f"“guns” surprises the listener by {guns:.2f} nats, and without the first line by {alone:.2f}"
        sentence = f"{surprise}: {effect} Now {believed}."
    meanings = ["container", "vehicle"]
    beliefs = [mark("bars", "belief", 0, x=meanings, y=now)]
    if line == 3:
        beliefs.append(mark("bars", "what “guns” alone suggests", 1, x=meanings, y=joke.suggested.tolist()))
    words = [f"“{first}”", "“guns”, after it", "“guns” alone"]  # what was said; the last without the first line
    heard = [surprises[0] if line >= 1 else 0.0, *(surprises[1:] if line == 3 else [0.0, 0.0])]
    script = f"""
        from astonish.paper.figure1 import told
        from astonish.core.numbers import double

        with double():
            joke = told({first!r})
        for name, belief in zip(["before", "after the first line", "at the end"], joke.believed):
            print(f"{{name}}: container {{belief[0]:.4g}}, vehicle {{belief[1]:.4g}}")
        print(f"surprise of guns: {{joke.guns:.4g}} nats, without the first line {{joke.alone:.4g}}")
        """
    panels = [
        panel("probability", beliefs, "what “tank” means", range=[0, 1]),
        panel("surprise (nats)", [mark("bars", "surprise", 2, x=words, y=heard)], "word", range=[0, most]),
    ]
    return Shown(sentence, held, panels, script, [FIRST_LINES[first], *OTHER_LINES][:line])


# ---- 2, Fig. 1A: is an outcome that is equally probable to all equally surprising to all?

WINNER, QUARTER = 2, 0.25  # of the election, and the winner's weight to everyone


@Screen(
    "voters",
    "Equally probable, not equally surprising",
    idea=(
        "Three colleagues expect different results of an election. Candidate 2 wins, who was equally probable to all "
        "three. A and B had a firm favourite, C had none: C is less surprised, because C was committed to less."
    ),
    claims=("election.confidence",),
    hint="Let C have a favourite as well: candidate 4.",
    breaking={"confidence": 0.75},
    columns=4,
    sliders={"confidence": Slider("weight that C gives to candidate 4", Domain(QUARTER, 1 - QUARTER), QUARTER)},
)
def _voters(at: Values, _: Words) -> Shown:
    rest = (1 - QUARTER - at["confidence"]) / 2
    weights: dict[str, Any] = {**COLLEAGUES, "C": (rest, QUARTER, rest, at["confidence"])}
    measures = {name: elected(belief, WINNER) for name, belief in weights.items()}
    likely = [np.exp(-values["shannon"]) for values in measures.values()]
    a, b, c = (values["surprise"] for values in measures.values())
    effect = "C is now as committed as A and B, and as surprised. The difference was commitment alone."
    if a > c + 1e-9:
        effect = f"C, who is less committed, by {a - c:.2f} nats less."
    sentence = (
        f"Candidate 2 had probability {likely[-1]:.2f} to all three, and surprises A by {a:.2f}, B by {b:.2f} "
        f"and C by {c:.2f} nats: {effect}"
    )
    panels = []
    for look, (name, belief) in enumerate(weights.items()):
        bars = mark("bars", f"belief of {name}", look, x=["1", "2", "3", "4"], y=[float(weight) for weight in belief])
        panels.append(panel(f"{name}: weight", [bars], "candidate", range=[0, 1]))
    bars = mark("bars", "surprise at candidate 2", 3, x=["A", "B", "C"], y=[a, b, c])
    panels.append(panel("surprise (nats)", [bars], "colleague", zero=True))
    script = f"""
        from astonish.paper.figure1 import COLLEAGUES, elected
        from astonish.core.numbers import double

        with double():
            for name, weights in {{**COLLEAGUES, "C": {tuple(map(float, weights["C"]))}}}.items():
                values = elected(weights, {WINNER})
                print(f"{{name}}: surprise {{values['surprise']:.4g}}, Shannon {{values['shannon']:.4g}} nats")
        """
    return Shown(sentence, verdict([same(likely, likely[0]) and min(a, b) > c + 1e-9]), panels, script)


# ---- 3, Fig. 2A: two people predict the same; is the more committed one more surprised?

PAIRS = {
    "sign": "one knows the sign, the other does not (Fig. 2A)",
    "alike": "both know the sign: equal commitment",
    "normal": "two normal models with equal predictions",
}
SAMPLES, THETAS = np.linspace(-1, 5.5, 131), np.linspace(-3, 3, 241)  # where predictions and normal beliefs are drawn


@Screen(
    "commitment",
    "The same prediction, another surprise",
    idea=(
        "Commitment is minus the entropy of a belief: it is high if few possibilities have all the weight. Two people "
        "can predict the same and differ in it: both know how large theta is, but only one of them knows its sign."
    ),
    claims=("commitment.predictions",),
    hint=(
        "Take two normal models instead: they predict the same too, but a sample far away surprises the open one more."
    ),
    breaking={"pair": "normal", "x": 3.2},
    columns=3,
    sliders={"x": Slider("the sample that both see", Domain(0, 5), 3.2)},
    choices={"pair": Options("two people", PAIRS, "sign")},
)
def _commitment(at: Values, chosen: Words) -> Shown:
    pair, x = chosen["pair"], at["x"]
    people: Mapping[str, tuple[Family, Belief]] = normal_pair()
    thetas: Any = THETAS
    function, setup = "normal_pair", "people = normal_pair()"
    if pair != "normal":
        folded, both = folded_pair()
        second, thetas, function = "committed" if pair == "alike" else "open", folded.points, "folded_pair"
        people = {"committed": (folded, both["committed"]), "open": (folded, both[second])}
        setup = f"""family, beliefs = folded_pair()
            people = {{"committed": (family, beliefs["committed"]), "open": (family, beliefs[{second!r}])}}"""
    measures = {name: measured(*person, x) for name, person in people.items()}
    committed, other = measures.values()
    surer, more = (committed[name] - other[name] for name in ("commitment", "surprise"))
    effect = f"{surer:.2f} nats more commitment, and yet {-more:.2f} nats less surprise. The claim does not hold."
    if abs(surer) < 1e-9:
        effect = "equal commitment, equal surprise."
    elif more > 0:
        effect = f"{surer:.2f} nats more commitment, {more:.2f} nats more surprise."
    sentence = (
        f"The sample {x:g} has Shannon surprise {committed['shannon']:.2f} nats to both. Confidence-corrected, it "
        f"surprises the committed person by {committed['surprise']:.2f} and the open one by "
        f"{other['surprise']:.2f} nats: {effect}"
    )
    predictions, beliefs, bars = [], [], []
    for look, (name, (family, belief)) in enumerate(people.items()):
        predicted = np.exp(np.asarray(log_evidence(family, belief, SAMPLES)))
        height: Any = family.density(belief, THETAS) if pair == "normal" else density(folded, belief)
        predictions.append(mark("line", name, look, width=(4, 2)[look], x=SAMPLES, y=predicted))
        beliefs.append(mark("line", name, look, x=np.asarray(thetas), y=np.asarray(height), width=2.5))
        heights = [measures[name]["shannon"], measures[name]["surprise"]]
        bars.append(mark("bars", name, look, x=["Shannon", "confidence corrected"], y=heights))
    predictions.append(mark("rules", "the sample", x=[x], dash="dot", width=2))
    panels = [
        panel("predicted density", predictions, "sample", zero=True),
        panel("believed density", beliefs, "theta", zero=True),
        panel("surprise (nats)", bars, "measure", zero=True),
    ]
    script = f"""
        from astonish.paper.figure1 import measured
        from astonish.paper.figure2 import {function}
        from astonish.core.numbers import double

        with double():
            {setup}
            for name, (family, belief) in people.items():
                values = measured(family, belief, {x!r})
                print(f"{{name}}: surprise {{values['surprise']:.4g}}, commitment {{values['commitment']:.4g}} nats")
        """
    return Shown(sentence, verdict([committed["surprise"] > other["surprise"] + 1e-9]), panels, script)


# ---- 4, Fig. 2B: how far may a surprise move a belief?


@Screen(
    "bound",
    "Surprise decides how far a belief may move",
    idea=(
        "A step of size gamma moves the belief towards what the sample alone says. The change is bounded: the larger "
        "the surprise, and the larger m, the readiness to change one's mind, the larger the bound and the step."
    ),
    claims=("step.parabola", "bound.gamma"),
    hint=(
        "Make the belief narrower than the noise: the curve is no parabola any more. Or set m to 0: nothing is learned."
    ),
    breaking={"width": 0.4},
    sliders={"m": READINESS, "width": Slider("width of the belief, in units of the noise", Domain(0.1, 4), 1.0)},
)
def _bound(at: Values, _: Words) -> Shown:
    family, m, width = Gaussian(), at["m"], at["width"]
    update = updated(family, family.prior(std=width), FAR, m)
    again, gamma, bound = update["again"], float(update["gamma"]), float(update["bound"])
    parabola = again[0] * (1 - GAMMAS) ** 2
    off = float(np.abs(again - parabola).max() / again[0])
    left = float(np.interp(gamma, GAMMAS, again))
    shape = "a parabola" if off < 1e-9 else f"no parabola: it is off by up to {off:.0%} of its start"
    sentence = (
        f"A surprise of {update['surprise']:.2f} nats allows a change of {bound:.2f} of at most "
        f"{update['bound_max']:.2f} nats, which gives gamma = {gamma:.2f}; seen again, the sample would surprise by "
        f"{left:.2f} nats. The curve is {shape}."
    )
    surprises = [
        mark("line", "the parabola of the same start", 6, x=GAMMAS, y=parabola, dash="dash", width=2),
        mark("line", "surprise at the same sample, after the step", 0, x=GAMMAS, y=again, width=3),
        mark("dots", "the step that is made", 1, x=np.array([gamma]), y=np.array([left]), size=9),
    ]
    changes = [
        mark("line", "change of the belief", 2, x=GAMMAS, y=update["spent"], width=3),
        mark("line", "bound B", 1, x=np.array([0.0, 1.0]), y=np.array([bound, bound]), width=2, dash="dot"),
        mark("dots", "", 1, x=np.array([gamma]), y=np.array([bound]), size=9),
    ]
    panels = [
        panel("surprise left (nats)", surprises, zero=True),
        panel("change (nats)", changes, "gamma: size of the step", zero=True),
    ]
    script = f"""
        from astonish import Gaussian, rule
        from astonish.core.numbers import double

        with double():
            family = Gaussian()
            update = rule.smile(family, family.prior(std={width!r}), x={FAR!r}, m={m!r})
            print(f"surprise {{update.surprise:.4g}}, bound {{update.bound:.4g}} of {{update.bound_max:.4g}} nats")
            print(f"gamma {{update.gamma:.4g}}")
        """
    return Shown(sentence, verdict([same(off, 0)]), panels, script)


# ---- 5, Fig. 3: does SMiLe follow a mean that jumps better than any fixed learning rate does?

DRAWN = 120  # steps of the one episode that is drawn


def _better(difference: Any, better: str, worse: str, neither: str) -> str:
    """Choose what to say of an interval that is above 0, below it, or about it."""
    return better if difference.low > 0 else worse if difference.high < 0 else neither


@lru_cache(maxsize=8)
def scores(hazard: float) -> tuple[Episode, FloatArray, dict[str, FloatArray], dict[str, FloatArray]]:
    """Make 50 episodes, SMiLe's estimates in the first, and errors in each: of fixed rates (rows), and of SMiLe."""
    task = figure3.episodes(RunSettings(), hazard)
    estimate = figure3.follow(figure3.smile(), task).estimate
    fixed = jax.device_get(figure3.scores_of_fixed(figure3.RATES, task))
    return task, estimate[0], fixed, figure3.scores_of(estimate, task)


@Screen(
    "jumps",
    "Better than every fixed learning rate?",
    idea=(
        "Samples scatter around a mean that jumps. A fixed learning rate is too slow after a jump, or too restless "
        "between jumps. SMiLe learns fast when it is surprised, and does not know how often the mean jumps."
    ),
    claims=("jumps.best-rate",),
    hint="Let the mean jump rarely (hazard 0.01), and measure the absolute error: the best fixed rate then wins.",
    breaking={"hazard": 0.01, "error": "absolute"},
    columns=2,
    sliders={"hazard": Slider("hazard: probability of a jump before each sample", Domain(0.002, 0.5), 0.066, log=True)},
    choices={
        "error": Options("error", {"squared": "mean squared error", "absolute": "mean absolute error"}, "squared")
    },
)
def _jumps(at: Values, chosen: Words) -> Shown:
    hazard, error, rates = at["hazard"], chosen["error"], figure3.RATES
    task, estimate, errors_of_fixed, errors_of_smile = scores(hazard)
    fixed, ours = errors_of_fixed[error], interval(errors_of_smile[error])
    best = int(fixed.mean(axis=1).argmin())
    saved = interval(fixed[best] - errors_of_smile[error])
    bands = [interval(errors) for errors in fixed[1:]]  # at a rate of 0 nothing is learned
    winner = _better(saved, "SMiLe is better", "the best fixed rate is better", "there is no telling which is better")
    sentence = (
        f"At a hazard of {hazard:g}, over 50 random seeds, SMiLe's mean {error} error is {ours} (95 % interval). The "
        f"error of the best fixed rate, {rates[best]:.2f}, minus that of SMiLe is {saved}: {winner}."
    )
    x = np.arange(1.0, DRAWN + 1)
    episode = [
        mark("dots", "samples", x=x, y=task.samples[0, :DRAWN], size=3, colour="quiet", opacity=0.7),
        mark("step", "true mean", x=x, y=task.truth[0, :DRAWN], colour="text", width=1.5),
        mark("line", "SMiLe", 0, x=x, y=estimate[:DRAWN], width=2.5),
    ]
    errors = [*with_band("fixed rate", 1, rates[1:], bands), *with_band("SMiLe", 0, rates[[1, -1]], [ours, ours])]
    most = 1.15 * max(bands[-1].high, ours.high)
    panels = [
        panel("value", episode, "sample, first of 50 episodes"),
        panel(f"mean {error} error", errors, "fixed learning rate", 1, range=[0, most]),
    ]
    script = f"""
        from astonish.paper.figure import RunSettings, interval
        from astonish.paper.figure3 import RATES, episodes, follow, scores_of, scores_of_fixed, smile
        from astonish.core.numbers import double

        with double():
            task = episodes(RunSettings(), {hazard!r})  # 50 of 1000 samples
            ours = scores_of(follow(smile(), task).estimate, task)[{error!r}]
            fixed = scores_of_fixed(RATES, task)[{error!r}]  # a row for each rate
            best = fixed.mean(axis=1).argmin()
            print(f"SMiLe: mean {error} error {{interval(ours)}}")
            print(f"best fixed rate {{RATES[best]:g}}, its error minus that of SMiLe {{interval(fixed[best] - ours)}}")
        """
    return Shown(sentence, verdict([saved.low > 0]), panels, script)


# ---- 6, Fig. 5: what happens in the learner when the rooms of a maze are rearranged?

WALKS, STEPS = 10, 6000  # of every screen about the maze, so that they share what is compiled
MAZE_SCRIPT = f"""from astonish.worlds.maze import A, B, maze, walk

        walks = walk(maze(A, B), {STEPS}, [[1, k] for k in range({WALKS})])
        where = MazeWalks(walks, np.stack([maze(A, B).transitions] * {WALKS}))"""


@cache
def walks() -> agents.MazeWalks:
    """Walk through the paper's maze."""
    return agents.walks_in(maze(A, B), STEPS, [[1, k] for k in range(WALKS)])


@lru_cache(maxsize=8)
def _around(m: float) -> Any:
    """Compute the signals of SMiLe around the switches of each walk."""
    where = walks()
    control = agents.current(where.walk.environment, agents.errors(agents.naive(), where))
    return around_switches(where.walk, agents.signals_of(agents.smile(m), where), control)


@Screen(
    "switch",
    "When the world changes, surprise rises",
    idea=(
        "An agent walks through sixteen rooms and learns which room follows which. Now and then the rooms are "
        "rearranged. Nobody tells the agent: it is surprised, gives new steps more weight, and learns the rooms again."
    ),
    claims=("switch.error", "switch.surprise"),
    hint="Make the agent reluctant to change its mind (m = 0.001): it is surprised, and hardly learns.",
    breaking={"m": 0.001},
    sliders={"m": READINESS},
)
def _switch(at: Values, _: Words) -> Shown:
    table = _around(at["m"])

    def window(signal: str, first: int, last: int) -> Any:
        """Average a signal over some steps from a switch on, in each walk."""
        return table[table.offset.between(first, last - 1)].groupby("episode")[signal].mean().to_numpy()

    rise = interval(window("surprise", 0, 20) - window("surprise", -50, 0))
    first, later = window("error", 0, 10), window("error", 60, 70)
    left = interval(later / first)
    change = f"rises by {rise} nats" if rise.low > 1e-9 else "does not rise"
    sentence = (
        f"In {WALKS} walks of {STEPS} steps, surprise {change} in the first 20 steps after a switch. The error falls "
        f"from {interval(first).mean:.3g} at the switch to {interval(later).mean:.3g} after 60 to 70 steps: "
        f"{left.mean:.0%} of it is left{'' if left.high < 0.5 else ', so that it has not fallen by half'}."
    )
    by_offset, switch, lines = table.groupby("offset"), mark("rules", "switch", x=[0]), {}
    for signal in ("surprise", "error"):
        bands = {offset: interval(values) for offset, values in by_offset[signal]}
        lines[signal] = [*with_band("SMiLe", 0, list(bands), list(bands.values())), switch]
    naive = by_offset["naive"].mean()
    x, y = naive.index.to_numpy(float), naive.to_numpy(float)
    lines["error"].insert(2, mark("line", "naive Bayes", 6, x=x, y=y, dash="dash", width=2))
    panels = [
        panel("surprise (nats)", lines["surprise"], zero=False),
        panel("error", lines["error"], "steps since the switch", zero=True),
    ]
    script = f"""
        import numpy as np
        from astonish.paper.maze_learners import MazeWalks, current, errors, naive, signals_of, smile
        from astonish.paper.figure5 import around_switches
        {MAZE_SCRIPT}
        control = current(walks.environment, errors(naive(), where))
        table = around_switches(walks, signals_of(smile({at["m"]!r}), where), control)
        means = table.groupby("offset")[["surprise", "error", "naive"]].mean()
        print(means.loc[[-1, 0, 10, 65, 149]])
        """
    return Shown(sentence, verdict([left.high < 0.5]), panels, script)


# ---- 7, Fig. 7: is a learner that knows how the world is built better than one that is only surprised?

BIN = 200  # steps over which the curves are averaged


@lru_cache(maxsize=8)
def errors_of_smile(m: float) -> FloatArray:
    """Follow the walks by SMiLe: its errors in each environment, step by step."""
    return agents.errors(agents.smile(m), walks())


@lru_cache(maxsize=8)
def errors_of_online_em(frozen: int) -> FloatArray:
    """Follow the walks by online EM, which only collects statistics in the first steps."""
    return np.asarray(agents.errors_of_em_on_device(walks(), 1, agents.OURS._replace(frozen=frozen)))


@Screen(
    "online-em",
    "Against a learner that knows more",
    idea=(
        "Online EM knows that there are two arrangements of the rooms, and learns both. SMiLe knows nothing of the "
        "kind. It learns faster at first; online EM is more accurate in the end. In the paper, online EM waits for "
        "2000 steps before it starts to learn."
    ),
    claims=("em.early", "speed.ten-times"),
    hint="Let online EM learn from the first step on: most of its delay was the wait.",
    breaking={"frozen": 0},
    sliders={
        "frozen": Slider("steps in which online EM only collects statistics", Domain(0, 4000, whole=True), 2000),
        "m": READINESS,
    },
)
def _online_em(at: Values, _: Words) -> Shown:
    m, frozen = at["m"], int(at["frozen"])
    learners = {"SMiLe": errors_of_smile(m), "online EM": errors_of_online_em(frozen)}
    marks, early, reached = [], [], []
    for look, (name, errors) in enumerate(learners.items()):
        now, first = agents.current(walks().walk.environment, errors), summary(walks(), errors).first_in_a
        early.append(now[:, :FROZEN].mean(1))
        middle = float(first.fillna(np.inf).median())
        after = f" (median: step {middle:.0f})" if np.isfinite(middle) else ""
        reached.append(f"{name} in {first.notna().sum()} of {WALKS} walks{after}")
        binned = now.reshape(WALKS, -1, BIN).mean(2)
        marks += with_band(name, look, np.arange(BIN / 2, STEPS, BIN), [interval(values) for values in binned.T])
    slower = interval(early[1] - early[0])
    faster = _better(slower, "SMiLe learns faster", "online EM learns faster", "neither is faster")
    sentence = (
        f"In the first {FROZEN} of {STEPS} steps, in {WALKS} walks, the error of online EM minus SMiLe's is {slower}: "
        f"{faster}. An error in A below {ACCURATE:g} is reached by {'; '.join(reached)}."
    )
    x, level = np.array([0.0, STEPS]), np.full(2, ACCURATE)
    marks.append(mark("line", f"{ACCURATE:g}", x=x, y=level, colour="quiet", dash="dot", width=1.5))
    picture = panel("error in the current arrangement", marks, "step", STEPS, zero=True)
    script = f"""
        import numpy as np
        from astonish.paper.maze_learners import OURS, MazeWalks, current, errors, errors_of_em_on_device, smile
        from astonish.paper.figure import interval
        {MAZE_SCRIPT}
        ours = current(walks.environment, errors(smile({m!r}), where))
        of_em = errors_of_em_on_device(where, 1, OURS._replace(frozen={frozen}))
        em = current(walks.environment, np.asarray(of_em))
        print(f"first 2000 steps: online EM minus SMiLe {{interval((em - ours)[:, :2000].mean(1))}}")
        print(f"last 2000 steps: online EM minus SMiLe {{interval((em - ours)[:, -2000:].mean(1))}}")
        """
    return Shown(sentence, verdict([slower.low > 0, frozen >= FROZEN]), [picture], script)


# ---- 8, Fig. 8: where is SMiLe better than naive Bayes after a switch, and where is it not?

TAU = 100  # the average stay in A
SHARES = ("0.05", "0.25", "0.45", "0.65", "0.85", "0.95")  # some of those of the figure


@cache
def errors_after_switches() -> dict[str, Any]:
    """Compute the error of each learner, for each share of time (rows) and walk; NaN if a walk has no such switch."""
    cells = [[[TAU, float(psi), walk] for walk in range(WALKS)] for psi in SHARES]
    errors = [figure8.simulate([{"seed": 1, "steps": STEPS, "cells": some}])[0]["error"] for some in cells]
    return {name: np.stack([error[k] for error in errors]) for k, name in enumerate(figure8.LEARNERS)}


@Screen(
    "visits",
    "Where not to adapt is better",
    idea=(
        "64 steps after a switch to arrangement A: how well is A known? Naive Bayes learns the average of both "
        "arrangements, so it knows A well only if the agent is there most of the time. SMiLe learns A again each time."
    ),
    claims=("visits.mixture", "visits.naive"),
    hint="Let the agent spend nearly all of its time in A: the average of both arrangements is then close to A.",
    breaking={"psi": "0.95"},
    choices={"psi": Options("share of time spent in A (psi)", {share: share for share in SHARES}, "0.05")},
)
def _visits(_: Values, chosen: Words) -> Shown:
    errors, psi, shares = errors_after_switches(), float(chosen["psi"]), [float(share) for share in SHARES]
    at_psi = {name: values[SHARES.index(chosen["psi"])] for name, values in errors.items()}
    gap = interval(at_psi["naive Bayes"] - at_psi["SMiLe"])
    means = ", ".join(f"{name} {float(np.nanmean(values)):.2g}" for name, values in at_psi.items())
    winner = _better(gap, "SMiLe is better", "naive Bayes is better", "there is no telling which is better")
    sentence = (
        f"If the agent spends {psi:.0%} of its time in A, the mean errors in {WALKS} walks of {STEPS} steps are "
        f"{means}. The error of naive Bayes minus that of SMiLe is {gap}: {winner}."
    )
    marks = []
    for look, (name, values) in enumerate(errors.items()):
        marks += with_band(name, look, shares, [interval(row) for row in values])
    marks.append(mark("rules", "chosen share", x=[psi], dash="dot", width=2))
    label = f"error {figure8.LATER} steps after a switch to A"
    picture = panel(label, marks, "share of time spent in A", 1, zero=True)
    script = f"""
        from astonish.paper.figure import interval
        from astonish.paper.figure8 import LEARNERS, simulate

        for psi in {shares}:
            cells = [[{TAU}, psi, walk] for walk in range({WALKS})]
            errors = simulate([{{"seed": 1, "steps": {STEPS}, "cells": cells}}])[0]["error"]
            for name, walks in zip(LEARNERS, errors):
                print(f"psi = {{psi:g}}, {{name}}: error {{interval(walks)}}")
        """
    return Shown(sentence, verdict([gap.low > 0]), [picture], script)


class TourTab:
    """The screens, one of which is answered at a time."""

    def controls(self) -> Json:
        return {"screens": [each.described() for each in SCREENS.values()]}

    def answer(self, request: Any) -> Json:
        """Show one screen; the first if none is named."""
        name, asked = next(iter(SCREENS)), request
        if isinstance(request, dict):
            name = request.get("screen", name)
            asked = {key: value for key, value in request.items() if key != "screen"}
        with double():
            return SCREENS[one_of("screen", name, SCREENS)].answer(asked)
