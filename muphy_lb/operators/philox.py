"""Philox4x32-10: random words as a function of a counter and a key, nothing stored.

Each of ten rounds multiplies two words of the counter by constants and mixes the halves of the products with the
others; the key advances between rounds. The words depend on nothing but counter and key, so they are the same on
any rank, backend and order of nodes.
Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC11), section 3.3.
"""

from math import sqrt

import numpy as np

from muphy_lb.operators.unroll import unroll

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
WORD = 0xFFFFFFFF

#: Mean of 2^32 equally likely numbers, 1 apart, and the inverse of their standard deviation.
MIDDLE, SCALE = 2.0**31 - 0.5, sqrt(12.0) * 2.0**-32
LARGEST_NUMBER = sqrt(3.0)  # bound of a random number and of its negative


def philox(counter, key) -> np.ndarray:
    """Four uint32 words (4, ...) for every counter, four arrays of integers below 2^32; ``key`` are two integers."""
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    k = [int(word) & WORD for word in key]
    for _ in range(ROUNDS):
        first, second = (np.uint64(m) * word for m, word in zip(MULTIPLIERS, (c[0], c[2]), strict=True))
        high, low = (lambda product: product >> np.uint64(32)), (lambda product: product & np.uint64(WORD))
        c = [high(second) ^ c[1] ^ np.uint64(k[0]), low(second), high(first) ^ c[3] ^ np.uint64(k[1]), low(first)]
        k = [(word + step) & WORD for word, step in zip(k, WEYL, strict=True)]
    return np.stack(np.broadcast_arrays(*c)).astype(np.uint32)


def philox_node(jit):
    """The same for one counter: ``(c0, c1, c2, c3, k0, k1)`` -> four uint32, all arguments uint32."""
    m_0, m_1 = (np.uint64(m) for m in MULTIPLIERS)
    keys_0, keys_1 = (tuple(np.uint32((r * step) & WORD) for r in range(ROUNDS)) for step in WEYL)
    n_rounds, shift = ROUNDS, np.uint64(32)
    word, wide = np.uint32, np.uint64

    def random_words(c0, c1, c2, c3, k0, k1):
        for r in range(n_rounds):
            first = m_0 * wide(c0)
            second = m_1 * wide(c2)
            c0 = word(word(second >> shift) ^ c1 ^ word(wide(k0) + wide(keys_0[r])))
            c1 = word(second)
            c2 = word(word(first >> shift) ^ c3 ^ word(wide(k1) + wide(keys_1[r])))
            c3 = word(first)
        return c0, c1, c2, c3

    return jit(unroll(random_words))


def random_numbers(identity: np.ndarray, step: int, seed: int, stream: int, real=np.float64) -> np.ndarray:
    """(4, n) independent, uniformly distributed numbers of mean 0 and variance 1 for ids (n,) in a step, of the type
    ``real``; ``stream``, below 2^31, sets them apart from others with the same seed."""
    identity = np.asarray(identity, dtype=np.int64)
    counter = identity & WORD, identity >> 32, step & WORD, step >> 32
    words = philox(counter, (int(seed) & WORD, (int(seed) >> 32) ^ stream))
    return real(SCALE) * (words.astype(real) - real(MIDDLE))


def random_numbers_node(jit, stream: int, real=np.float64):
    """The same for one id: ``(identity, step, seed)``, all int64, -> four numbers."""
    words_at, word, low, high, own = philox_node(jit), np.uint32, np.int64(WORD), np.int64(32), np.int64(stream)
    scale, middle = real(SCALE), real(MIDDLE)

    def numbers(identity, step, seed):
        a, b, c, d = words_at(
            word(identity & low),
            word(identity >> high),
            word(step & low),
            word(step >> high),
            word(seed & low),
            word((seed >> high) ^ own),
        )
        a, b, c, d = real(a), real(b), real(c), real(d)
        return scale * (a - middle), scale * (b - middle), scale * (c - middle), scale * (d - middle)

    return jit(numbers)
