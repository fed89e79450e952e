"""Streaming patterns: every population is loaded once and stored once; in place opposite ones are exchanged."""

import numpy as np
import pytest

from muphy_lb.domain import AA, STREAMINGS, entry, is_entry, streaming_named
from muphy_lb.lattice import LATTICES

pytestmark = pytest.mark.pairs

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)


@EVERY_LATTICE
@EVERY_STREAMING
def test_no_two_populations_share_a_location(lattice, streaming):
    for pattern in streaming_named(streaming).patterns(lattice):
        for locations in (pattern.load, pattern.store):
            assert len(set(locations)) == lattice.q


@EVERY_LATTICE
@EVERY_STREAMING
def test_a_step_uses_each_entry_of_its_table_once_on_the_way_in_or_out(lattice, streaming):
    """In place an entry is used on both ways, by opposite populations."""
    for pattern in streaming_named(streaming).patterns(lattice):
        used = sorted(entry(location) for location in (*pattern.load, *pattern.store) if is_entry(location))
        assert used == sorted(list(range(len(pattern.directions))) * (2 if pattern.in_place else 1))


@EVERY_LATTICE
@EVERY_STREAMING
def test_the_rest_population_stays(lattice, streaming):
    for pattern in streaming_named(streaming).patterns(lattice):
        assert pattern.load[0] == pattern.store[0] == 0 and 0 not in pattern.directions


@EVERY_LATTICE
@EVERY_STREAMING
def test_the_steps_of_a_pattern_exchange_every_moving_population_once(lattice, streaming):
    directions = [q for pattern in streaming_named(streaming).patterns(lattice) for q in pattern.directions]
    assert sorted(directions) == list(range(1, lattice.q))


@EVERY_LATTICE
def test_in_place_opposite_populations_are_exchanged_together_and_each_phase_takes_half_of_the_pairs(lattice):
    phases = AA.patterns(lattice)
    for pattern in phases:
        assert set(pattern.directions) == {int(lattice.opposite[q]) for q in pattern.directions}
    assert abs(len(phases[0].directions) - len(phases[1].directions)) <= 2


@EVERY_LATTICE
def test_in_place_opposite_populations_are_left_where_the_other_was_found(lattice):
    for pattern in AA.patterns(lattice):
        assert pattern.store == tuple(pattern.load[q] for q in lattice.opposite)


@EVERY_LATTICE
@EVERY_STREAMING
def test_the_mask_of_a_turn_is_that_of_its_directions(lattice, streaming):
    for pattern in streaming_named(streaming).patterns(lattice):
        assert np.array_equal(np.flatnonzero(pattern.exchanges(np.arange(lattice.q))), pattern.directions)


@EVERY_LATTICE
def test_in_place_a_direction_and_its_mirror_images_are_exchanged_in_the_same_phase(lattice):
    """What a slip wall reflects changes its direction, and must be expected in the phase in which it was sent."""
    for pattern in AA.patterns(lattice):
        kinds = {tuple(abs(c) for c in lattice.vectors[q]) for q in pattern.directions}
        others = set(range(1, lattice.q)) - set(pattern.directions)
        assert not any(tuple(abs(c) for c in lattice.vectors[q]) in kinds for q in others)
