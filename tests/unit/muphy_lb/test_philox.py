"""Random words are the published ones; random numbers have variance one, and every bit of their key counts."""

import numpy as np
import pytest

from muphy_lb.operators.philox import LARGEST_NUMBER, philox, philox_node, random_numbers, random_numbers_node

# Random123, kat_vectors, philox 4x32 with 10 rounds: counter, key, words.
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
GIVEN = {"identity": np.arange(2000), "step": 3, "seed": 5, "stream": 7}


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_random_words_are_the_published_ones(counter, key, words):
    assert tuple(int(word) for word in philox(counter, key)) == words
    node = philox_node(lambda function: function)
    assert tuple(int(word) for word in node(*map(np.uint32, (*counter, *key)))) == words


def test_random_numbers_are_independent_with_variance_one():
    n = 20_000
    numbers = random_numbers(np.arange(n) + (1 << 33), step=3 + (1 << 32), seed=(1 << 40) + 7, stream=11)
    assert np.abs(numbers.mean(axis=1)).max() < 4.5 / np.sqrt(n)
    assert np.abs(numbers @ numbers.T / n - np.eye(4)).max() < 4.5 / np.sqrt(n)
    assert 0.999 * LARGEST_NUMBER < np.abs(numbers).max() <= LARGEST_NUMBER


@pytest.mark.parametrize(
    "other",
    [{"step": 4}, {"step": 3 + (1 << 32)}, {"seed": 6}, {"seed": 5 + (1 << 32)}, {"stream": 8}]
    + [{"identity": GIVEN["identity"] + (1 << 32)}],
    ids=["step", "high bits of the step", "seed", "high bits of the seed", "stream", "high bits of the id"],
)
def test_every_bit_of_id_step_seed_and_stream_counts(other):
    first, second = random_numbers(**GIVEN), random_numbers(**(GIVEN | other))
    assert abs((first * second).mean()) < 4.5 / np.sqrt(first.size)


@pytest.mark.parametrize("seed", [5, (1 << 62) + 5])
def test_the_node_function_gives_the_same_numbers(seed):
    identity, step = np.arange(7) + (3 << 32), np.int64(2 + (1 << 40))
    node = random_numbers_node(lambda function: function, 11)
    found = [node(each, step, np.int64(seed)) for each in identity]
    assert np.array_equal(np.transpose(found), random_numbers(identity, step, seed, 11))
