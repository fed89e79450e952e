"""Tiles: every population has an address of its own inside the buffer, and warps stay together."""

import numpy as np
import pytest

from muphy_lb.domain import ROW, TILE, WARP, all_addresses
from muphy_lb.lattice import LATTICES
from muphy_lb.lattice.layout import GROUP, buffer_size, whole

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)


@EVERY_LATTICE
def test_every_population_has_an_address_of_its_own_inside_the_buffer(lattice):
    addresses = all_addresses(range(lattice.q), lattice.q, 3 * TILE)
    assert np.unique(addresses).size == addresses.size
    assert addresses.min() == 0 and addresses.max() < buffer_size(3 * TILE, lattice.q)


@EVERY_LATTICE
def test_a_warp_lies_together_and_the_populations_of_a_node_a_row_apart(lattice):
    addresses = all_addresses(range(lattice.q), lattice.q, 2 * TILE)
    assert (np.diff(addresses.reshape(lattice.q, -1, WARP), axis=2) == 1).all()
    assert (np.diff(addresses, axis=0) == ROW).all()


def test_tiles_are_whole_groups_and_rows_start_at_whole_words_of_sixteen_bytes_in_half_precision():
    assert TILE % GROUP == 0 and ROW % 8 == 0 and ROW >= TILE


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 64), (63, 64), (64, 64), (65, 128)])
def test_whole_units_hold_the_number(n, expected):
    assert whole(n, 64) == expected
