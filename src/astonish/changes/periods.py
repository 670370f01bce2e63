"""After how many samples does a series repeat itself? By its autocorrelation, and a periodogram close to the peak."""

from typing import Any

import numpy as np

from astonish.core.numbers import FloatArray, as_numbers

_SHORTEST, _CYCLES = 4, 3  # samples of a period, and how often it must be seen
_LEAST = 0.2  # autocorrelation at a period, and by how much it exceeds that between
_ALMOST = 0.9  # of the highest peak: a shorter period is preferred to its multiples
_WAVES = 3  # sine waves by which a period is refined
_UNSURE = 0.1  # of a cycle over the whole series: if a whole number of samples is that close, it is the period


def find_period(xs: Any) -> float | None:
    """The period of a series, in samples, which need not be whole; None if it does not repeat.

    It must be at least 4 samples, and seen three times. Missing values (NaN) are interpolated, and extreme ones cut.

    >>> import numpy as np
    >>> noise = np.random.default_rng(1).normal(size=500)
    >>> round(find_period(3 * np.sin(2 * np.pi * np.arange(500) / 24) + noise), 1)
    24.0
    >>> find_period(noise) is None
    True
    """
    values = as_numbers("xs", xs)
    if values.ndim != 1:
        raise ValueError(f"xs has {values.ndim} dimensions; give one series")
    seen = np.isfinite(values)
    if len(values) < _CYCLES * _SHORTEST or seen.sum() < _CYCLES * _SHORTEST:
        return None
    values = np.interp(np.arange(len(values)), np.flatnonzero(seen), values[seen])
    values = _detrended(_cut(_detrended(_cut(values))))  # twice, since extreme values are so far from the trend
    if not values.any():
        return None
    lag = _first_peak(_autocorrelation(values))
    if lag is None:
        return None
    found = _refined(values, lag)
    whole = float(round(found))
    return whole if abs(found - whole) < _UNSURE * found * found / len(values) else found


def _cut(values: FloatArray) -> FloatArray:
    low, middle, high = np.percentile(values, [25, 50, 75])
    reach = 3 * (high - low)
    return np.clip(values, middle - reach, middle + reach) if reach > 0 else values


def _detrended(values: FloatArray) -> FloatArray:
    time = np.linspace(-1.0, 1.0, len(values))
    values = values - values.mean()
    left: FloatArray = values - time * (time @ values) / (time @ time)
    return left if left.std() > 1e-9 * np.abs(values).max() else np.zeros_like(left)


def _autocorrelation(values: FloatArray) -> FloatArray:
    """At lags from 0 to a third of the series, each from as many products as there are."""
    count = len(values)
    power = np.abs(np.fft.rfft(values, 2 * count)) ** 2
    sums = np.fft.irfft(power)[: count // _CYCLES + 1]
    found: FloatArray = sums / (count - np.arange(len(sums)))
    return found / found[0]


def _first_peak(correlation: FloatArray) -> int | None:
    """The shortest lag with a peak that is almost as high as the highest, and stands out from what is before it."""
    least = np.minimum.accumulate(correlation)
    inner = correlation[1:-1]
    peak = (inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > _LEAST) & (inner > least[1:-1] + _LEAST)
    lags = np.flatnonzero(peak) + 1
    lags = lags[lags >= _SHORTEST]
    if not lags.size:
        return None
    first = lags[correlation[lags] >= _ALMOST * correlation[lags].max()][0]
    around = lags[np.abs(lags - first) <= first // 4]
    return int(around[np.argmax(correlation[around])])


def _refined(values: FloatArray, lag: int) -> float:
    """The period near a lag of whole samples whose sine waves explain the series best."""
    time = np.arange(len(values))
    reach = max(0.75, 0.03 * lag)
    candidates = np.linspace(lag - reach, lag + reach, 121)

    def explained(period: float) -> float:
        angles = 2j * np.pi / period * time
        return float(sum(abs(np.exp(k * angles) @ values) ** 2 for k in range(1, _WAVES + 1)))

    return float(candidates[np.argmax([explained(period) for period in candidates])])
