"""Node lists: what becomes a node, in which order, and in which group."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import LABELS_PER_CHUNK, build_nodes, regroup, voxel_coordinates
from muphy_lb.geometry.voxels import (
    FIRST_OPENING,
    FIRST_WALL,
    FLAG_DTYPE,
    FLUID,
    SOLID,
    WALL,
    Opening,
    Voxels,
    wall_flag,
)
from tests.shifted import shifted_voxels

QUICK = settings(max_examples=60, deadline=None)
OPENINGS = tuple(Opening(name, "inlet", (0, 0, 0), (1, 0, 0)) for name in ("first", "second"))
WALLS = ("lid", "body")
FLAGS = st.sampled_from(
    [SOLID, FLUID, FLUID, FLUID, WALL, FIRST_OPENING, FIRST_OPENING + 1, FIRST_WALL, FIRST_WALL + 1]
)
PERIODIC = st.tuples(st.booleans(), st.booleans(), st.booleans())


@st.composite
def images(draw):
    """Voxels with every kind of flag, two openings, two walls, at least one fluid voxel."""
    shape = draw(st.tuples(*[st.integers(1, 5)] * 3))
    flags = draw(arrays(FLAG_DTYPE, shape, elements=FLAGS))
    flags[tuple(draw(st.integers(0, n - 1)) for n in shape)] = FLUID
    return Voxels(flags, periodic=draw(PERIODIC), openings=OPENINGS, walls=WALLS)


def flag_at(voxels, x, y, z):
    """Flag at integer coordinates: periodic axes wrap, SOLID outside."""
    place = [x, y, z]
    for i, size in enumerate(voxels.shape[::-1]):
        if voxels.periodic[i]:
            place[i] %= size
        elif not 0 <= place[i] < size:
            return SOLID
    return int(voxels.flags[place[2], place[1], place[0]])


def group_by_definition(voxels, x, y, z):
    """1 + the lowest opening among the 26 neighbours of a voxel; 0 if there is none."""
    around = (np.array(offset) - 1 for offset in np.ndindex(3, 3, 3))
    flags = [flag_at(voxels, x + i, y + j, z + k) for i, j, k in around]
    return min((1 + flag - FIRST_OPENING for flag in flags if FIRST_OPENING <= flag < FIRST_WALL), default=0)


@QUICK
@given(images())
def test_nodes_are_the_fluid_voxels_by_the_lowest_opening_they_touch_and_by_their_ids(voxels):
    nodes, fluid = build_nodes(voxels), np.flatnonzero(voxels.flags == FLUID)
    group = [group_by_definition(voxels, *place) for place in voxel_coordinates(fluid, voxels.shape)]
    assert nodes.voxel.tolist() == fluid[np.argsort(group, kind="stable")].tolist()
    assert nodes.group.tolist() == sorted(group) and nodes.n_nodes == voxels.n_fluid
    assert nodes.group_start.tolist() == [sum(g < k for g in group) for k in range(2 + len(voxels.openings))]


@QUICK
@given(images())
def test_only_labelled_voxels_that_touch_fluid_are_kept(voxels):
    nodes = build_nodes(voxels)
    kept = []
    for voxel in np.flatnonzero(voxels.flags >= FIRST_OPENING):
        x, y, z = voxel_coordinates(voxel, voxels.shape)
        around = (np.array(offset) - 1 for offset in np.ndindex(3, 3, 3))
        if any(flag_at(voxels, x + i, y + j, z + k) == FLUID for i, j, k in around):
            kept.append(voxel)
    assert nodes.label_voxel.tolist() == kept
    assert nodes.label_number.tolist() == [int(flag) - FIRST_OPENING for flag in voxels.flags.ravel()[kept]]


def test_the_groups_and_labels_of_a_large_image_are_those_of_its_voxels():
    """More labelled voxels than are looked at together, and all three axes periodic."""
    kinds = np.array([SOLID, FLUID, FIRST_OPENING, FIRST_OPENING + 1, FIRST_WALL], dtype=FLAG_DTYPE)
    flags = np.random.default_rng(0).choice(kinds, (70, 72, 74), p=(0.001, 0.079, 0.02, 0.04, 0.86))
    nodes = build_nodes(Voxels(flags, periodic=(True,) * 3, openings=OPENINGS, walls=("body",)))
    steps = [np.array(step) - 1 for step in np.ndindex(3, 3, 3)]
    around = [np.roll(flags, step, axis=(0, 1, 2)) for step in steps]
    opening = np.min([np.where((f >= FIRST_OPENING) & (f < FIRST_WALL), f, FIRST_WALL) for f in around], axis=0)
    group = np.where(opening < FIRST_WALL, opening.astype(np.int64) - FIRST_OPENING + 1, 0)
    fluid = np.flatnonzero(flags == FLUID)
    labelled = (flags >= FIRST_OPENING) & np.any([f == FLUID for f in around], axis=0)
    assert np.count_nonzero(labelled) > LABELS_PER_CHUNK
    assert np.array_equal(nodes.voxel, fluid[np.argsort(group.ravel()[fluid], kind="stable")])
    assert np.array_equal(np.diff(nodes.group_start), np.bincount(group.ravel()[fluid], minlength=3))
    assert np.array_equal(nodes.label_voxel, np.flatnonzero(labelled))
    assert np.array_equal(nodes.label_number, flags[labelled] - FIRST_OPENING)


def test_nodes_without_labels_are_one_group_in_the_order_of_their_voxels():
    flags = np.random.default_rng(0).choice(np.array([SOLID, FLUID], dtype=FLAG_DTYPE), (5, 6, 7))
    nodes = build_nodes(Voxels(flags))
    assert np.array_equal(nodes.voxel, np.flatnonzero(flags == FLUID))
    assert nodes.group_start.tolist() == [0, nodes.n_nodes]


@QUICK
@given(images())
def test_the_layout_of_the_image_in_memory_does_not_matter(voxels):
    turned = np.asfortranarray(voxels.flags)
    found, expected = build_nodes(replace(voxels, flags=turned)), build_nodes(voxels)
    for name in ("voxel", "group_start", "label_voxel", "label_number", "walls"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@QUICK
@given(images())
def test_every_voxel_counts_once_under_its_flag(voxels):
    assert np.array_equal(voxels.count_flags(), np.bincount(voxels.flags.ravel(), minlength=256))


@QUICK
@given(images(), st.randoms(use_true_random=False))
def test_regrouping_a_part_is_building_the_image_of_that_part(voxels, random):
    nodes = build_nodes(voxels)
    part = np.sort(random.sample(nodes.voxel.tolist(), random.randint(1, nodes.n_nodes)))
    flags = voxels.flags.copy()
    flags[flags == FLUID] = SOLID
    flags.ravel()[part] = FLUID
    expected = build_nodes(Voxels(flags, periodic=voxels.periodic, openings=OPENINGS, walls=WALLS))
    found = regroup(nodes, part)
    for name in ("voxel", "group_start", "label_voxel", "label_number"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@QUICK
@given(st.tuples(*[st.integers(1, 6)] * 3))
def test_coordinates_name_the_voxel(shape):
    ids = np.arange(np.prod(shape))
    x, y, z = voxel_coordinates(ids, shape).T
    assert np.array_equal(ids.reshape(shape)[z, y, x], ids)


@pytest.mark.parametrize(("periodic", "expected"), [(False, -1), (True, 2)])
def test_a_step_over_the_border_wraps_or_leaves(periodic, expected):
    assert shifted_voxels(np.array([0]), np.array([-1, 0, 0]), (1, 1, 3), (periodic, False, False)) == expected


def test_positions_are_origin_plus_spacing_times_coordinates():
    nodes = build_nodes(Voxels(np.full((2, 3, 4), FLUID, FLAG_DTYPE), 0.5, (10.0, 20.0, 30.0)))
    assert nodes.positions_m([23]).tolist() == [[10 + 1.5, 20 + 1.0, 30 + 0.5]]


def test_an_image_without_fluid_is_refused():
    with pytest.raises(
        GeometryError, match=re.escape("shape (1, 2, 3) (nz, ny, nx) holds no fluid voxel; check which")
    ):
        build_nodes(Voxels(np.zeros((1, 2, 3), FLAG_DTYPE)))


@pytest.mark.parametrize("flag", [WALL + 1, FIRST_OPENING, FIRST_WALL, 255])
def test_an_unknown_flag_is_refused(flag):
    with pytest.raises(GeometryError, match=re.escape(f"unknown values [{flag}]")):
        build_nodes(Voxels(np.array([[[FLUID, flag]]], FLAG_DTYPE)))


@QUICK
@given(images())
def test_a_wall_counts_all_its_voxels(voxels):
    counts = [int(np.count_nonzero(voxels.flags == wall_flag(k))) for k in range(len(WALLS))]
    assert [(wall.name, wall.n_voxels) for wall in build_nodes(voxels).walls] == list(zip(WALLS, counts, strict=True))


def test_two_walls_of_one_name_are_refused():
    with pytest.raises(GeometryError, match="wall name 'lid' is used 2 times"):
        Voxels(np.array([[[FLUID]]], FLAG_DTYPE), walls=("lid", "lid"))


def test_more_walls_than_flags_are_refused():
    with pytest.raises(GeometryError, match="129 labelled walls; at most 128"):
        Voxels(np.array([[[FLUID]]], FLAG_DTYPE), walls=tuple(str(k) for k in range(129)))
