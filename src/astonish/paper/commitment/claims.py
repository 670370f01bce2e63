"""Is commitment what makes the difference, and is the way to the sample all downhill?"""

import numpy as np
from pandas import DataFrame

from astonish.paper.claims import Claim, listed, same, verdict
from astonish.paper.commitment.numbers import SHOWN, WIDTHS
from astonish.paper.examples.numbers import wide
from astonish.paper.study import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """What sections 2.1 and 2.2 say about commitment, and about the way to the sample."""
    pair = numbers["figure2_pair"]
    return [
        _same_predictions(pair, numbers["figure2_predictions"]),
        _more_committed(pair, numbers["figure2_normal"]),
        _four_terms(pair),
        *_downhill(numbers["figure2_landscape"]),
        _bound_to_gamma(numbers["figure2_bounds"]),
    ]


def _same_predictions(pair: DataFrame, predictions: DataFrame) -> Claim:
    raw, felt, sure = (wide(pair, "sample", "model", value) for value in ("raw", "surprise", "commitment"))
    gap, surer = felt.committed - felt.open, sure.committed - sure.open
    return Claim(
        "Fig. 2A",
        "A sample can have the same raw surprise under two models with the same predictive density, and yet a larger "
        "S_cc under the one that is more committed.",
        "equal raw surprise, larger S_cc for the narrower belief",
        f"X = {SHOWN}: raw {raw.committed[SHOWN]:.4f} (committed) and {raw.open[SHOWN]:.4f} nats (open), S_cc "
        f"{felt.committed[SHOWN]:.4f} and {felt.open[SHOWN]:.4f}; more commitment by {surer[SHOWN]:.4f}",
        verdict([same(predictions.committed, predictions.open), same(raw.committed, raw.open),
                 (gap > 0).all() and same(gap, surer)]),
        "Both predict the same, whether or not they know the sign of theta, so this holds at every X; knowing it is "
        "worth ln 2 of commitment. No two normal models would do: see the next claim.",
    )  # fmt: skip


def _more_committed(pair: DataFrame, normal: DataFrame) -> Claim:
    fold = wide(pair, "sample", "model", "surprise")
    raw, felt, likely = (
        normal[f"{kind}_committed"] - normal[f"{kind}_open"] for kind in ("raw", "surprise", "shannon")
    )
    equal_at = np.interp(0, -felt, normal["sample"])  # felt falls
    return Claim(
        "section 4.4 and Fig. 2A",
        "Of two people to whom a sample is equally likely, the more committed one is more surprised.",
        "generally",
        f"the pair of Fig. 2A: S_cc larger by {(fold.committed - fold.open).min():.3f} nats; two normal models with "
        f"equal predictions (to {np.abs(likely).max():.0e}): larger by {felt.iloc[0]:.2f} in the middle, equal at "
        f"{equal_at:.2f} standard deviations, smaller by {-felt.iloc[-1]:.2f} at {normal['sample'].iloc[-1]:g}; raw "
        f"surprise smaller by {-raw.max():.2f} or more at every X",
        verdict([(fold.committed > fold.open).all(), (felt > 0).all()]),
        "The argument takes raw surprise to be equal. Normal models with equal predictions are never equal in it: more "
        "commitment leaves a larger noise variance v, and raw surprise, (ln v + (1 + X^2) / v) / 2 and a constant if "
        "predictions have variance 1, falls as v grows to 1.",
    )


def _four_terms(pair: DataFrame) -> Claim:
    total, row = pair.shannon + pair.bayesian + pair.scale + pair.commitment, pair.iloc[-1]
    return Claim(
        "section 2.1 (1), eq. 12 and 15",
        "S_cc is the sum of Shannon surprise, Bayesian surprise and two further terms: the log of the likelihood's "
        "integral over theta, and commitment.",
        "equal",
        f"{row.shannon:.4f} + {row.bayesian:.4f} + {row.scale:.4f} + ({row.commitment:.4f}) = {total.iloc[-1]:.4f}, "
        f"S_cc {row.surprise:.4f}; largest difference in {len(pair)} cases {np.abs(total - pair.surprise).max():.0e}",
        verdict([same(total, pair.surprise), same(pair.shannon + pair.bayesian, pair.raw)]),
        "An identity; every term was computed by itself.",
    )


def _downhill(landscape: DataFrame) -> list[Claim]:
    curves = {WIDTHS[name]: landscape[name].to_numpy() for name in WIDTHS}
    off = {w: np.abs(curve / curve[0] - (1 - landscape.gamma) ** 2).max() for w, curve in curves.items()}
    return [
        Claim(
            "Fig. 2B",
            "Surprise at the same sample falls all the way from gamma = 0 to gamma = 1, where it is smallest.",
            "global minimum at gamma = 1",
            "; ".join(f"belief {w:g} times as wide as the noise: {c[0]:.3f} to {abs(c[-1]):.3f} nats" for w, c in
                      curves.items()),
            verdict([(np.diff(c) < 0).all() and same(c[-1], 0) for c in curves.values()]),
            "At gamma = 1 the belief is the scaled likelihood itself, and nothing diverges from itself.",
        ),
        Claim(
            "Fig. 2B",
            "Surprise over gamma is a parabola.",
            "parabolic",
            "largest distance from the parabola with the same start and minimum, in units of the start: "
            + "; ".join(f"{d:.2f} for a belief {w:g} times as wide as the noise" for w, d in off.items()),
            verdict([same(distance, 0) for distance in off.values()]),
            "Exact for normal beliefs as wide as the noise, as in the paper's first task; otherwise the width of the "
            "belief changes on the way as well.",
        ),
    ]  # fmt: skip


def _bound_to_gamma(bounds: DataFrame) -> Claim:
    least, most = bounds[bounds.share == 0], bounds[bounds.share >= 1]
    inside = bounds[bounds.share.between(0, 1, inclusive="neither")]
    shown = bounds[bounds.belief == "equal"]
    return Claim(
        "section 2.2 and Fig. 2B",
        "A bound of zero leaves the belief as it is; from B_max on nothing of it is left; in between the change just "
        "meets the bound.",
        "gamma = 0; gamma = 1; 0 < gamma < 1",
        f"B / B_max = {listed(shown.share)}: gamma = {listed(shown.gamma, '.3f')}",
        verdict([same(least.gamma, 0), same(most.gamma, 1),
                 inside.gamma.between(0, 1, inclusive="neither").all() and same(inside.change, inside.bound)]),
        "B_max is the distance of the scaled likelihood from the belief, so a larger bound allows nothing that is less "
        "surprising.",
    )  # fmt: skip
