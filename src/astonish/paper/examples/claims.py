"""Do the examples of section 2.1 come out as the paper says?"""

from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.paper.claims import Claim, listed, same, verdict
from astonish.paper.examples.numbers import DRIVERS, MANY, RARE, wide
from astonish.paper.study import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """What section 2.1 says about its examples."""
    election, joke = numbers["figure1_election"], numbers["figure1_joke"]
    chances = numbers["figure1_models"].probability
    return [
        *_likelihood_and_commitment(election),
        *_election_claims(wide(election, "colleague", "candidate", "surprise"), np.log(chances.max() / chances.min())),
        _joke_claim(joke),
        *_parking_claims(numbers["figure1_parking"]),
        _less_likely(election, joke),
    ]


def _likelihood_and_commitment(election: DataFrame) -> list[Claim]:
    likely = np.exp(-election[election.candidate == 2].shannon)
    a, b, c = election.groupby("colleague").commitment.first()
    return [
        Claim(
            "Fig. 1A, table",
            "Candidate 2 is equally likely to A, B and C.",
            "0.25 for all three",
            listed(likely, ".4f"),
            verdict([same(likely, 0.25)]),
            "Exact for every epsilon: a quarter of the weight gives it 1 - epsilon, and three quarters epsilon / 3.",
        ),
        Claim(
            "section 2.1",
            "A and B are equally committed to their beliefs, C is less so.",
            "equal entropy of A and B, lower commitment of C",
            f"minus the entropy: A {a:.4f}, B {b:.4f}, C {c:.4f} nats",
            verdict([same(a, b), c < a]),
            "B's weights are A's in another order, and no belief has a larger entropy than an even one.",
        ),
    ]


def _election_claims(felt: Any, log_odds: float) -> list[Claim]:
    a1, a2, b1, b2, c2 = (felt.loc[name, k] for name, k in (("A", 1), ("A", 2), ("B", 1), ("B", 2), ("C", 2)))
    favourite, outsider, entropies = 0.75 * log_odds, 0.5 * log_odds, 0.75 * np.log(3)
    return [
        Claim(
            "section 2.1 (a), eq. 16",
            "Candidate 1 surprises B more than A, who is as committed but thinks this outcome likelier.",
            f"by 0.75 ln((1 - epsilon) / (epsilon / 3)) = {favourite:.4f}",
            f"B {b1:.4f}, A {a1:.4f}: {b1 - a1:.4f} nats more",
            verdict([b1 > a1, same(b1 - a1, favourite)]),
            "Their entropies cancel, so only what their models say of the candidate is left.",
        ),
        Claim(
            "section 2.1 (b), eq. 17",
            "Candidate 2 surprises A more than candidate 1.",
            f"by 0.5 ln((1 - epsilon) / (epsilon / 3)) = {outsider:.4f}",
            f"candidate 2 {a2:.4f}, candidate 1 {a1:.4f}: {a2 - a1:.4f} nats more",
            verdict([a2 > a1, same(a2 - a1, outsider)]),
            "The belief is the same one, and the model of candidate 2 has a third of the weight.",
        ),
        Claim(
            "section 2.1 (c), eq. 19, and Fig. 1A",
            "Candidate 2 surprises A and B more than C, though it is equally likely to all.",
            f"A above C by 0.75 ln 3 = {entropies:.4f}",
            f"A {a2:.4f}, B {b2:.4f}, C {c2:.4f}: A {a2 - c2:.4f} nats above C",
            verdict([a2 > c2, b2 > c2, same(a2 - c2, entropies)]),
            "The mean log-likelihoods agree, so the surprises differ by the entropies alone.",
        ),
    ]


def _joke_claim(joke: DataFrame) -> Claim:
    felt = wide(joke, "belief", "word", "surprise")
    before, after, fitting = felt.loc["before", "guns"], felt.loc["after", "guns"], felt.loc["after", "goldfish"]
    entropy = -joke.groupby("belief").commitment.first()
    return Claim(
        "Fig. 1B",
        "The second phrase of the joke surprises a listener whom the first has committed, and only such a listener.",
        "surprise only where a committed belief is disturbed",
        f"after the first phrase {after:.3f} nats (entropy of the belief {entropy['after']:.3f}), without it "
        f"{before:.3f} (entropy {entropy['before']:.3f}); a word that fits what is believed: {abs(fitting):.3f}",
        verdict([after > before and entropy["after"] < entropy["before"], before <= fitting + 1e-9]),
        "Commitment multiplies the surprise; but a telling phrase is some way from an even belief too, so that an "
        "uncommitted listener is surprised as well, if less.",
    )


def _parking_claims(parking: DataFrame) -> list[Claim]:
    """Not surprised, here, is who is no more surprised than a driver who sees the car he expects."""
    some = parking[parking.kinds == MANY]
    felt, rare = (wide(some, "driver", "car", value) for value in ("surprise", "shannon"))
    expected = felt.loc["used to red", "red"]
    (slot, open_, used), unlikely = felt.loc[list(DRIVERS), "green BMW"], rare["green BMW"]
    seen = parking[(parking.driver == "undecided") & (parking.car == "green BMW")]
    return [
        Claim(
            "Fig. 1C",
            "The car next to a free slot is very unlikely, and no surprise to a driver who only cares about the slot.",
            "unlikely, but not very surprising",
            f"with {MANY} kinds of cars, Shannon {unlikely['slot']:.2f} nats, S_cc {abs(slot):.2f}",
            verdict([unlikely["slot"] > rare.loc["used to red", "red"] and slot <= expected]),
            "All of his models make the car equally likely: it speaks for none of them, so his even belief fits it.",
        ),
        Claim(
            "section 2.1, third example",
            "The green car surprises the driver who sees the little red one there every morning; what makes the "
            "difference is commitment.",
            "surprised, where the uncommitted driver is not",
            f"S_cc {used:.2f} nats, against {open_:.2f} for the undecided driver with the same models "
            f"(Shannon {unlikely['used to red']:.2f} and {unlikely['undecided']:.2f})",
            verdict([used > open_ and used > expected]),
            "The models are the same, and only the belief over them differs.",
        ),
        Claim(
            "section 2.1, third example",
            "Without commitment even a very unlikely car is not surprising.",
            "not surprised",
            f"undecided driver, {listed(seen.kinds, 'd')} kinds of cars: S_cc {listed(seen.surprise, '.2f')} nats, "
            f"Shannon {listed(seen.shannon, '.1f')}; the red car, to the driver who expects it: {expected:.2f}",
            verdict([(seen.surprise < np.log(1 / RARE)).all(), open_ <= expected]),
            f"However rare the car, his S_cc stays below ln(1 / epsilon) = {np.log(1 / RARE):.2f}, while Shannon "
            "surprise grows without end; but it is far from none, because what the car suggests, one model among many, "
            "is far from an even belief.",
        ),
    ]


def _less_likely(election: DataFrame, joke: DataFrame) -> Claim:
    words = joke[joke.belief == "before"]
    rare, telling = (words[words.word == word].iloc[0] for word in ("Tuesday", "guns"))
    return Claim(
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
