"""The Turing Change Point Dataset's measures (van den Burg & Williams 2020): do found changes agree with annotators'?

A change is the index of the first sample after it. Sample 0 always counts as one in F1, so that nobody divides by zero.
"""

from collections.abc import Iterable, Mapping, Sequence

MARGIN = 5
Annotations = Mapping[str, Sequence[int]]


def matched(true: Iterable[int], found: Iterable[int], margin: int = MARGIN) -> int:
    """How many true changes have a found one within the margin, each of which serves for one only, the nearest first.

    >>> matched([10, 13], [12]), matched([10, 13], [12, 20]), matched([10, 30], [12, 26])
    (1, 1, 2)
    """
    left, count = set(found), 0
    for place in sorted(true):
        near = [(abs(place - each), each) for each in left if abs(place - each) <= margin]
        if near:
            left.remove(min(near)[1])
            count += 1
    return count


def f1(annotations: Annotations, found: Iterable[int], margin: int = MARGIN) -> float:
    """Precision over the changes that any annotator saw, recall as the mean over annotators; their harmonic mean.

    >>> f1({"a": [50], "b": [80]}, [52, 80])
    1.0
    """
    predicted = {0, *found}
    by_annotator = [{0, *places} for places in annotations.values()]
    precision = matched(set().union(*by_annotator), predicted, margin) / len(predicted)
    recalls = [matched(places, predicted, margin) / len(places) for places in by_annotator]
    recall = sum(recalls) / len(recalls)
    return 2 * precision * recall / (precision + recall)


def segments(places: Iterable[int], count: int) -> list[tuple[int, int]]:
    """From where to where (excluded) nothing changes, in a series of so many samples.

    >>> segments([3, 5], 8)
    [(0, 3), (3, 5), (5, 8)]
    """
    starts = sorted({0, *places})
    return list(zip(starts, [*starts[1:], count], strict=True))


def covering(annotations: Annotations, found: Iterable[int], count: int) -> float:
    """How well segments cover an annotator's: the best overlap of each, weighted by length; mean over annotators.

    >>> covering({"a": [4]}, [], 8)
    0.5
    """
    predicted = segments(found, count)
    each = []
    for places in annotations.values():
        own = segments(places, count)
        each.append(
            sum((end - start) * max(_overlap((start, end), other) for other in predicted) for start, end in own)
        )
    return sum(each) / len(each) / count


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Samples that are in both, by those that are in one of them."""
    both = max(min(one[1], other[1]) - max(one[0], other[0]), 0)
    return both / (one[1] - one[0] + other[1] - other[0] - both)
