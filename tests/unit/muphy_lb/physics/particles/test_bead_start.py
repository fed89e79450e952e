"""Chains start in the fluid, with bonds of the length that was asked for, as walks and as folded lines."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.physics.particles.beads.start import (
    CLEARANCE,
    AccessibleVolume,
    ChainBuilder,
    angle_tables,
    bond_tables,
    chain_bonds,
    keep_clear,
)

BOND, APART = 0.7, 0.5


def nodes_of(shape_zyx, periodic=(False, False, False)) -> NodeList:
    """A room full of fluid."""
    return build_nodes(Voxels(np.full(shape_zyx, FLUID, FLAG_DTYPE), periodic=periodic))


def builder_in(shape_zyx, periodic=(False, False, False)) -> ChainBuilder:
    """A builder in a room full of fluid."""
    volume = AccessibleVolume(nodes_of(shape_zyx, periodic), 3)
    return ChainBuilder(volume, BOND, APART, np.random.default_rng(1))


def distances(places: np.ndarray) -> np.ndarray:
    """Of beads that are not neighbours."""
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return apart[np.triu_indices(len(places), 2)]


@pytest.mark.parametrize("kind", ["walk", "line"])
def test_chains_keep_to_the_fluid_and_have_exact_bonds(kind):
    builder, middle = builder_in((4, 5, 6)), np.array([3.0, 2.0, 2.0])
    places = builder.walk(lambda: middle, 30) if kind == "walk" else builder.line(lambda: middle, 30)
    assert np.allclose(np.linalg.norm(np.diff(places, axis=0), axis=1), BOND, rtol=1e-12, atol=0)
    assert (places >= -0.5 + CLEARANCE).all() and (places <= np.array([5.5, 4.5, 3.5]) - CLEARANCE).all()
    assert distances(places).min() > APART
    assert np.array_equal(places[0], middle)


def test_a_line_turns_back_at_a_wall():
    places = builder_in((4, 5, 6)).line(lambda: np.array([3.0, 2.0, 2.0]), 12)
    along, ahead = np.sign(np.diff(places[:, 0]).round(9)), int((5.5 - CLEARANCE - 3.0) / BOND)
    assert ahead > 1 and list(along[: ahead + 1]) == [1] * ahead + [0] and set(along) == {1, 0, -1}


def test_a_line_without_room_begins_elsewhere():
    corner, middle = np.array([5.0, 4.0, 3.0]), np.array([1.0, 2.0, 2.0])
    narrow = np.full((4, 5, 6), FLUID, FLAG_DTYPE)
    narrow[1:, :, 5], narrow[:, 1:, 5] = SOLID, SOLID
    volume = AccessibleVolume(build_nodes(Voxels(narrow)), 3)
    proposed = iter((np.array([5.0, 0.0, 0.0]), corner, middle))
    places = ChainBuilder(volume, BOND, APART, np.random.default_rng(1)).line(lambda: next(proposed), 12)
    assert np.array_equal(places[0], middle)


def test_single_beads_start_away_from_walls():
    nodes, random = nodes_of((4, 5, 6)), np.random.default_rng(1)
    voxel, offset = nodes.coordinates(), random.uniform(-0.5, 0.5, (nodes.n_nodes, 3))
    places = voxel + keep_clear(AccessibleVolume(nodes, 3), voxel, offset, random)
    assert (places >= -0.5 + CLEARANCE).all() and (places <= np.array([5.5, 4.5, 3.5]) - CLEARANCE).all()
    assert np.abs(places - voxel).max() <= 0.5 and np.ptp(places - voxel) > 0.8


def test_chains_pass_periodic_faces():
    places = builder_in((4, 5, 6), (True, True, True)).line(lambda: np.array([3.0, 2.0, 2.0]), 8)
    assert places[-1, 0] == pytest.approx(3.0 + 7 * BOND)


@pytest.mark.parametrize("kind", ["walk", "line"])
def test_chains_longer_than_a_periodic_box_keep_clear_of_their_images(kind):
    size = np.array([6, 5, 4])
    build = getattr(builder_in(tuple(size[::-1]), (True, True, True)), kind)
    places = build(lambda: np.array([3.0, 2.0, 2.0]), 40)
    apart = places[:, None] - places[None]
    apart = np.linalg.norm(apart - size * np.rint(apart / size), axis=-1)
    assert apart[np.triu_indices(40, 2)].min() > APART


def test_a_chain_without_room_is_refused():
    with pytest.raises(InputError, match="no room was found for a chain of 60 beads"):
        builder_in((1, 1, 6)).line(lambda: np.array([2.0, 0.0, 0.0]), 60)


def test_bonds_and_angles_of_chains_are_listed_by_bead():
    bonds, angles = chain_bonds(2, 3)
    assert bonds.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]] and angles.tolist() == [[0, 1, 2], [3, 4, 5]]
    start, partner = bond_tables(6, bonds)
    assert [sorted(partner[a:b]) for a, b in zip(start, start[1:], strict=False)] == [
        [1],
        [0, 2],
        [1],
        [4],
        [3, 5],
        [4],
    ]
    start, ids = angle_tables(6, angles)
    assert np.diff(start).tolist() == [1] * 6 and ids.reshape(-1, 3)[start[4]].tolist() == [3, 4, 5]
