"""What is found at a voxel is what the geometry has there, by the specification and by the node function."""

from itertools import product

import numpy as np
import pytest

from muphy_lb.domain import build_local_domain, build_lookup
from muphy_lb.domain.lookup import LAYER, OPENING, WALL, look_up, look_up_node
from muphy_lb.geometry.nodes import build_nodes, voxel_coordinates
from muphy_lb.geometry.voxels import FIRST_OPENING, FIRST_WALL, FLUID, Voxels, wall_flag
from muphy_lb.lattice import D3Q19
from tests.support import IN, OUT, random_owner, random_voxels, with_openings

SHAPE = (3, 9, 17)  # two blocks of 8^3 along y, three along x
N_RANKS, RANK = 3, 1


def geometry(periodic) -> Voxels:
    """A random box with two openings and a labelled wall."""
    flags = with_openings(random_voxels(SHAPE, fluid=0.5)).flags.copy()
    flags[1, 2:4, 3:6] = wall_flag(0)
    return Voxels(flags, periodic=periodic, openings=(IN, OUT), walls=("label",))


def flags_at(voxels: Voxels, places: np.ndarray) -> np.ndarray:
    """(n,) flags at places (3, n), of a solid outside the box."""
    padded = np.pad(voxels.flags, 2)
    for axis, wraps in enumerate(voxels.periodic):
        if wraps:
            n = voxels.flags.shape[2 - axis]
            padded = np.take(padded, (np.arange(n + 4) - 2) % n + 2, axis=2 - axis)
    x, y, z = places + 2
    return padded[z, y, x]


@pytest.mark.parametrize("periodic", [(False, True, False), (True, True, True)], ids=["along y", "everywhere"])
def test_what_is_looked_up_is_what_the_geometry_has(periodic):
    voxels = geometry(periodic)
    nodes = build_nodes(voxels)
    domain = build_local_domain(nodes, random_owner(nodes, N_RANKS), RANK, D3Q19)
    lookup = build_lookup(domain)
    own = voxel_coordinates(domain.voxel, nodes.shape).T
    layer = voxel_coordinates(domain.part.nodes.voxel[lookup.layer.position], nodes.shape).T
    assert np.array_equal(look_up(lookup, *own), np.arange(domain.n_nodes))
    assert np.array_equal(look_up(lookup, *layer), lookup.size[LAYER] + np.arange(layer.shape[1]))
    for way in product((-1, 0, 1), repeat=3):
        places = own + np.array(way)[:, None]
        flags, found = flags_at(voxels, places), look_up(lookup, *places)
        is_opening = (flags >= FIRST_OPENING) & (flags < FIRST_WALL)
        instead = np.where(is_opening, OPENING + FIRST_OPENING - flags.astype(int), WALL)
        assert np.array_equal(found >= 0, flags == FLUID)
        assert np.array_equal(found[flags != FLUID], instead[flags != FLUID])


@pytest.mark.parametrize("periodic", [(False, True, False), (True, True, True)], ids=["along y", "everywhere"])
def test_the_node_function_finds_what_is_specified(periodic):
    nodes = build_nodes(geometry(periodic))
    lookup = build_lookup(build_local_domain(nodes, random_owner(nodes, N_RANKS), RANK, D3Q19))
    places = np.array(list(product(*(range(-2, n + 2) for n in nodes.shape[::-1]))))
    found, find = look_up(lookup, *places.T), look_up_node(lambda function: function)
    assert {WALL, OPENING, OPENING - 1} < set(found.tolist()) and found.max() >= lookup.size[LAYER]
    assert [find(lookup, *place) for place in places] == found.tolist()
