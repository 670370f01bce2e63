"""Which numbers does the `MersenneTwister` of Julia (1.0 to 1.10) draw, of a given seed?

The generator is dSFMT-19937 (Saito & Matsumoto 2009); normal numbers come from a ziggurat of 256 layers (Marsaglia &
Tsang 2000).
"""

import math
import struct
from functools import cache

BLOCKS, AHEAD = 191, 117
MASKS = 0x000FFAFFFFFFFB3F, 0x000FFDFFFC90FFFD
FIX = 0x90014964B32F4329, 0x3B8D12AC548A7C7A
PARITY = 0x3D84E1AC0DC82880, 0x0000000000000001
FRACTION, ONE = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000  # the bits of a number from 1 to 2
LONG, WORD = (1 << 64) - 1, (1 << 32) - 1
EDGE = 3.6541528853610088  # where the tail of the ziggurat begins


class Julia:
    """A generator; `rand` and `randn` are those of Julia.

    >>> Julia(1234).rand()
    0.5908446386657102
    """

    def __init__(self, seed: int) -> None:
        self._bits = _first_bits(seed)
        self._used = 2 * BLOCKS

    def rand(self) -> float:
        """A number from 0 to 1."""
        return float(struct.unpack("d", struct.pack("Q", self._next()))[0]) - 1.0

    def randn(self) -> float:
        """A number from the standard normal distribution."""
        inside, width, height = _ziggurat()
        while True:
            bits = self._next() & FRACTION
            size = bits >> 1
            layer = size & 0xFF
            x = (-size if bits & 1 else size) * width[layer]
            if size < inside[layer]:
                return x
            if layer == 0:
                return self._tail(bool(size >> 8 & 1))
            if (height[layer - 1] - height[layer]) * self.rand() + height[layer] < math.exp(-0.5 * x * x):
                return x

    def _tail(self, negative: bool) -> float:
        while True:
            x, y = -math.log(self.rand()) / EDGE, -math.log(self.rand())
            if y + y > x * x:
                return -EDGE - x if negative else EDGE + x

    def _next(self) -> int:
        if self._used == 2 * BLOCKS:
            self._renew()
        self._used += 1
        return self._bits[self._used - 1]

    def _renew(self) -> None:
        bits = self._bits
        low, high = bits[-2:]
        for i in range(BLOCKS):
            ahead = 2 * ((i + AHEAD) % BLOCKS)
            a, b = bits[2 * i], bits[2 * i + 1]
            low, high = (
                (a << 19 & LONG) ^ (high >> 32) ^ (high << 32 & LONG) ^ bits[ahead],
                (b << 19 & LONG) ^ (low >> 32) ^ (low << 32 & LONG) ^ bits[ahead + 1],
            )
            bits[2 * i] = (low >> 12) ^ (low & MASKS[0]) ^ a
            bits[2 * i + 1] = (high >> 12) ^ (high & MASKS[1]) ^ b
        bits[-2:] = low, high
        self._used = 0


def _first_bits(seed: int) -> list[int]:
    """The state from which a seed of one word starts."""
    size, lag = 4 * (BLOCKS + 1), 11
    middle = (size - lag) // 2
    words = [0x8B8B8B8B] * size

    def mix(i: int, more: int) -> None:
        j, k = (i + middle) % size, (i + middle + lag) % size
        mixed = words[i] ^ words[j] ^ words[i - 1]
        r = (mixed ^ mixed >> 27) * 1664525 & WORD
        words[j] = words[j] + r & WORD
        words[i] = r + more & WORD
        words[k] = words[k] + words[i] & WORD

    def mix_again(i: int) -> None:
        j, k = (i + middle) % size, (i + middle + lag) % size
        mixed = words[i] + words[j] + words[i - 1] & WORD
        r = (mixed ^ mixed >> 27) * 1566083941 & WORD
        words[j] ^= r
        words[i] = r - i & WORD
        words[k] ^= words[i]

    for i, more in enumerate([1, 1 + seed, *range(2, size)]):
        mix(i, more)
    for i in range(size):
        mix_again(i)
    return _certified([words[2 * i] | words[2 * i + 1] << 32 for i in range(size // 2)])


def _certified(bits: list[int]) -> list[int]:
    """Made into numbers from 1 to 2, all but the last two, of which one bit may have to change for the full period."""
    numbers, (a, b) = [word & FRACTION | ONE for word in bits[:-2]], bits[-2:]
    parity = (a ^ FIX[0]) & PARITY[0] ^ (b ^ FIX[1]) & PARITY[1]
    return [*numbers, a, b if parity.bit_count() % 2 else b ^ 1]


@cache
def _ziggurat() -> tuple[list[int], list[float], list[float]]:
    """Of each layer: which sizes are certainly inside, the width of a unit of size, and the height."""
    x, unit = EDGE, 2.0**51
    inside, width, height = [0] * 256, [0.0] * 256, [1.0] * 256
    width[255], height[255] = x / unit, math.exp(-0.5 * x * x)
    area = x * height[255] + math.sqrt(math.pi / 2) * math.erfc(x / math.sqrt(2))
    inside[0], width[0] = int(x * height[255] / area * unit), area / height[255] / unit
    for i in range(254, 0, -1):
        above = math.sqrt(-2 * math.log(area / x + height[i + 1]))
        inside[i + 1] = int(above / x * unit)
        width[i], height[i] = above / unit, math.exp(-0.5 * above * above)
        x = above
    return inside, width, height
