"""Which beliefs can be shaped in the lab: families, what can be set of them, and how are they written down?"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from astonish.beliefs import Beta, Dirichlet, Exponential, Gaussian, Poisson
from astonish.domain import Domain
from astonish.expfam import Belief, Family
from astonish.explorer.controls import Answer, Slider, described

Values = dict[str, float]


class Shape(NamedTuple):
    """A kind of belief.

    sliders: of the belief. sample: of the observation. family: from the values of the sliders.
    written: the family as a line of Python, in which values may be named. needs: what that line imports.
    outcomes: what can be observed, by name; none for numbers. points: what the bars stand for; none for a density.
    """

    label: str
    sliders: Mapping[str, Slider]
    sample: Slider
    family: Callable[[Values], Family]
    written: str
    needs: str
    outcomes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()

    def belief(self, family: Family, at: Values) -> Belief:
        """The belief that the sliders say."""
        if not self.points:
            return family.prior(**_of_prior(at))
        if not isinstance(family, Dirichlet) and not any(at.values()):
            raise ValueError("the weights are all 0; give at least one above 0")
        return family.prior(np.array(list(at.values())))

    def prior_line(self, at: Values) -> str:
        """The belief, as a line of Python."""
        words = ", ".join(f"{word}={value!r}" for word, value in _of_prior(at).items())
        return f"belief = family.prior({list(at.values()) if self.points else words})"


def about(shape: Shape) -> Answer:
    """A shape, for the page."""
    return {
        "label": shape.label,
        "sliders": described(shape.sliders),
        "sample": shape.sample.described(),
        "outcomes": shape.outcomes,
        "points": shape.points,
    }


def _of_prior(at: Values) -> Values:
    return {word: value for word, value in at.items() if word != "noise"}


_FOUR = ("first", "second", "third", "fourth")
_RATES = {
    "rate": Slider("mean rate of the belief", Domain(0.05, 50), 3.0, 0.05),
    "time": Slider("worth an observation of this time", Domain(0.05, 100), 2.0, 0.05),
}
SHAPES = {
        "gaussian": Shape(
            "Gaussian: where is the mean of samples?",
            {
                "noise": Slider("noise of a sample", Domain(0.1, 10), 1.0, 0.1),
                "mean": Slider("mean of the belief", Domain(-20, 20), 0.0, 0.1),
                "std": Slider("standard deviation of the belief", Domain(0.05, 10), 1.0, 0.05),
            },
            Slider("observation", Domain(-40, 40), 2.0, 0.1),
            lambda at: Gaussian(at["noise"]),
            "Gaussian(noise={noise!r})",
            "Gaussian",
        ),
        "beta": Shape(
            "Beta: how likely is a 1?",
            {
                "ones": Slider("1 has been seen so often", Domain(0, 200), 8.0, 1.0),
                "zeros": Slider("0 has been seen so often", Domain(0, 200), 0.0, 1.0),
            },
            Slider("observation", Domain(0, 1, whole=True), 0, 1),
            lambda _: Beta(),
            "Beta()",
            "Beta",
            ("0", "1"),
        ),
        "poisson": Shape("Poisson: at what rate do things happen, judged by counts?", _RATES,
                         Slider("observation, a count", Domain(0, 200, whole=True), 9, 1),
                         lambda _: Poisson(), "Poisson()", "Poisson"),
        "exponential": Shape("Exponential: at what rate do things happen, judged by waits?", _RATES,
                             Slider("observation, a wait", Domain(0.01, 100), 2.0, 0.01),
                             lambda _: Exponential(), "Exponential()", "Exponential"),
        "dirichlet": Shape(
            "Dirichlet: which of four outcomes comes next?",
            {f"seen{k}": Slider(f"{name} has been seen so often", Domain(0, 200), seen, 1.0)
             for k, (name, seen) in enumerate(zip(_FOUR, (9.0, 3.0, 1.0, 0.0), strict=True), 1)},
            Slider("observation", Domain(0, 3, whole=True), 3, 1),
            lambda _: Dirichlet(4),
            "Dirichlet(4)",
            "Dirichlet",
            _FOUR,
            _FOUR,
        ),
    }  # fmt: skip
