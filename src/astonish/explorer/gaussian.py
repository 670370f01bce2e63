"""Gaussian world: what do all learners make of samples about a mean that jumps?"""

from typing import Any

import numpy as np

from astonish.beliefs import Gaussian
from astonish.catalogue import BELIEVERS, FOLLOWERS, TRACKERS, defaults, settable
from astonish.domain import Domain
from astonish.explorer.controls import Answer, Slider, described, in_words, known, numbers, packed, some_of
from astonish.learner import Learner
from astonish.learners import Smile
from astonish.run import History, run
from astonish.tasks.gaussian_jumps import Episode, gaussian_jumps, truths

LOW, HIGH = -20.0, 20.0
LENGTH = 1024  # all series are padded to this, so that nothing is compiled anew; more than the most samples
SLIDERS = {
    "m": Slider("m, readiness to change one's mind (SMiLe, VarSMiLe)", Domain(0.001, 100), 0.1, 0.01, log=True),
    "hazard": Slider("hazard, the chance of a jump before each sample", Domain(0.001, 0.5), 0.066, 0.001),
    "noise": Slider("noise, the standard deviation of samples", Domain(0.1, 20), 4.0, 0.1),
    "seed": Slider("seed of all chance", Domain(0, 9999, whole=True), 1, 1),
    "samples": Slider("number of samples", Domain(20, 1000, whole=True), 200, 10),
}
MORE = {  # of single learners
    "rate": Slider("learning rate of delta", Domain(0, 1), 0.1, 0.01),
    "keep": Slider("how much of its belief leaky keeps", Domain(0, 1), 0.9, 0.01),
    "salience": Slider("salience (Pearce-Hall)", Domain(0, 1), 0.5, 0.01),
    "renewal": Slider("renewal of associability (Pearce-Hall)", Domain(0, 1), 0.3, 0.01),
    "drift": Slider("drift of the mean, as a part of the noise (Kalman)", Domain(0, 5), 0.1, 0.01),
}
LEARNERS: dict[str, Any] = {  # a learner that goes by two names is shown once
    name: kind for name, kind in {**BELIEVERS, **FOLLOWERS, **TRACKERS}.items() if name != "reduced-bayes"
}
SHOWN = ("smile", "varsmile", "message-passing", "delta")


def controls() -> Answer:
    """What can be set, for the page."""
    return {"sliders": described(SLIDERS), "more": described(MORE), "learners": list(LEARNERS), "shown": list(SHOWN)}


def gaussian(said: Any) -> Answer:
    """Samples, truth and what the chosen learners made of them."""
    asked = known(said, (*SLIDERS, *MORE, "learners"))
    at = numbers(asked, SLIDERS | MORE)
    chosen = some_of("learners", asked.get("learners", list(SHOWN)), LEARNERS)
    task = gaussian_jumps(int(at["samples"]), int(at["seed"]), at["hazard"], at["noise"], LOW, HIGH)
    padded = np.append(task.samples, np.full(LENGTH - len(task.samples), np.nan))
    settings = {name: parameters(name, at) for name in chosen}
    return {
        "samples": packed(task.samples),
        "truth": packed(task.truth),
        "changes": (np.flatnonzero(task.changed) + 1).tolist(),
        "learners": {
            name: _made(run(built(name, own), padded), task) | {"told": in_words(defaults(name, "continuous") | own)}
            for name, own in settings.items()
        },
        "python": _python(at, settings),
    }


def parameters(name: str, at: dict[str, float]) -> dict[str, float]:
    """What a learner is told: the truth about noise, hazard and range, and what is set for it alone."""
    told = {**at, **truths(at["hazard"], at["noise"], LOW, HIGH), "drift": at["drift"] * at["noise"]}
    del told["seed"]  # that of the samples: a learner has its own
    kind = LEARNERS[name]
    words = settable(kind, Gaussian if name in BELIEVERS else None)
    as_one_sample = kind is Smile  # as in the paper
    return {word: told[word] for word in words if word in told and not (as_one_sample and word == "std")}


def built(name: str, settings: dict[str, float]) -> Learner:
    """The learner of this name."""
    own, first = _parts(settings)
    if name not in BELIEVERS:
        return LEARNERS[name](**settings)
    family = Gaussian(settings["noise"])
    return LEARNERS[name](family, prior=family.prior(**first), **own)


def _parts(settings: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """A believer's own parameters, and those of its prior."""
    first = {word: value for word, value in settings.items() if word in ("mean", "std")}
    return {word: value for word, value in settings.items() if word not in (*first, "noise")}, first


def _made(history: History, task: Episode) -> Answer:
    steps = len(task.samples)
    off = history.estimate[:steps] - task.truth
    return {
        "estimate": packed(history.estimate[:steps]),
        "surprise": packed(history.surprise[:steps]),
        "rate": packed(history.rate[:steps]),
        "squared_error": float(np.mean(off**2)),
        "absolute_error": float(np.mean(np.abs(off))),
    }


def _python(at: dict[str, float], settings: dict[str, dict[str, float]]) -> str:
    names = sorted({LEARNERS[name].__name__ for name in settings})
    head = [
        f"from astonish import {', '.join(['Gaussian', *names, 'run'])}",
        "from astonish.tasks.gaussian_jumps import gaussian_jumps",
        "",
        f"task = gaussian_jumps({at['samples']}, {at['seed']}, hazard={at['hazard']!r}, noise={at['noise']!r}, "
        f"low={LOW!r}, high={HIGH!r})",
        f"family = Gaussian(noise={at['noise']!r})",
        "learners = {",
    ]
    tail = [
        "}",
        "for name, learner in learners.items():",
        "    history = run(learner, task.samples)  # .estimate, .surprise, .rate",
        "    off = history.estimate - task.truth",
        '    print(f"{name}: squared error {(off**2).mean():.4g}, absolute error {abs(off).mean():.4g}")',
    ]
    return "\n".join([*head, *(f"    {name!r}: {_written(name, settings[name])}," for name in settings), *tail, ""])


def _written(name: str, settings: dict[str, float]) -> str:
    own, first = _parts(settings)
    if name not in BELIEVERS:
        return f"{LEARNERS[name].__name__}({_words(settings)})"
    return f"{LEARNERS[name].__name__}(family, {_words(own)}{', ' * bool(own)}prior=family.prior({_words(first)}))"


def _words(values: dict[str, float]) -> str:
    return ", ".join(f"{word}={value!r}" for word, value in values.items())
