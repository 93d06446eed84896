"""Counter-based randomness: a draw depends on the seed, its purpose and a counter, never on earlier draws.

So a chunk of any size, computed at any time, gives the same numbers. Only integer arithmetic and single IEEE
operations are used: the numbers are the same on every machine.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]

# The constants of splitmix64 (Steele, Lea, Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

_FIELD = np.uint64(0xFFFF)
_FIELD_MEAN = 2 * 65535.0
_FIELD_DEVIATION = 65536.0 / 3.0**0.5


def make_key(seed: int, purpose: str) -> np.uint64:
    """A key for one purpose, unrelated to the keys of other purposes and seeds."""
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def draw(key: np.uint64, counter: Ints) -> Bits:
    """64 random bits for each counter."""
    bits = counter.astype(np.uint64)
    bits *= _STEP
    bits += key
    bits ^= bits >> np.uint64(30)
    bits *= _MIX_1
    bits ^= bits >> np.uint64(27)
    bits *= _MIX_2
    bits ^= bits >> np.uint64(31)
    return bits


def draw_unit(key: np.uint64, counter: Ints) -> Floats:
    """Uniform in [0, 1)."""
    return (draw(key, counter) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_below(key: np.uint64, counter: Ints, bound: int) -> Ints:
    """Uniform whole numbers in [0, bound)."""
    # The product may round up to the bound itself.
    return np.minimum((draw_unit(key, counter) * float(bound)).astype(np.int64), bound - 1)


def draw_bell(key: np.uint64, counter: Ints) -> Floats:
    """Mean 0, deviation 1, nearly normal: four uniforms added, since log and cos differ between machines."""
    bits = draw(key, counter)
    total = bits & _FIELD
    for shift in (16, 32, 48):
        total += (bits >> np.uint64(shift)) & _FIELD
    return (total.astype(np.float64) - _FIELD_MEAN) / _FIELD_DEVIATION


def shuffle(key: np.uint64, count: int) -> Ints:
    """0 … count−1 in random order."""
    return np.argsort(draw(key, np.arange(count, dtype=np.int64)), kind="stable").astype(np.int64)
