"""Domains of every kind at random: what laws of address tables range over."""

import numpy as np

from muphy_lb.domain import IN_TABLE, LINKWISE, ORDERS, SPECULAR, LocalDomain, WallTreatment, build_local_domain
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag
from muphy_lb.lattice import D3Q15, Lattice
from muphy_lb.lattice.layout import TILE
from tests.support import IN, OUT, random_owner

KINDS = np.array([SOLID, wall_flag(0), wall_flag(1), FIRST_OPENING, FIRST_OPENING + 1], FLAG_DTYPE)
LARGEST_EDGE, LONGEST_ROW = 6, 70


def checkerboard(shape):
    """Flags of alternating fluid and solid."""
    return (np.indices(shape).sum(axis=0) % 2).astype(FLAG_DTYPE)


def row(n, axis=2):
    """Flags of ``n`` fluid voxels in a row."""
    return np.full(np.where(np.arange(3) == axis, n, 1), FLUID, FLAG_DTYPE)


SPECIAL = {
    "one node": row(1),
    "row along x": row(9),
    "row along y": row(9, axis=1),
    **{f"{n} nodes": row(n) for n in (31, 32, 33, 63, 64, 65, TILE, TILE + 1)},
    "32 nodes in rows of 8": np.ones((1, 4, 8), FLAG_DTYPE),
    "33 nodes in rows of 11": np.ones((1, 3, 11), FLAG_DTYPE),
    "checkerboard": checkerboard((1, 7, 9)),
}
SPECIAL_IN_SPACE = SPECIAL | {"row along z": row(9, axis=0), "3D checkerboard": checkerboard((4, 5, 6))}


def random_domain(lattice: Lattice, seed: int) -> LocalDomain:
    """One of one to four ranks in a random order of a random box with walls of every treatment, openings and periodic
    axes; now and then of any one of these there is none."""
    rng = np.random.default_rng(seed)
    nodes = build_nodes(_random_voxels(lattice, rng))
    n_ranks = min(int(rng.integers(1, 5)), nodes.n_nodes)
    owner = (
        random_owner(nodes, n_ranks, seed)
        if rng.random() < 0.5
        else np.arange(nodes.n_nodes) * n_ranks // nodes.n_nodes
    )
    labelled = (IN_TABLE, LINKWISE) if lattice is D3Q15 else (IN_TABLE, LINKWISE, SPECULAR)
    kinds = tuple(int(kind) for kind in rng.choice(labelled, 2))
    treatment = WallTreatment(kinds, int(rng.choice([IN_TABLE, LINKWISE])))
    return build_local_domain(nodes, owner, int(rng.integers(n_ranks)), lattice, treatment, str(rng.choice(ORDERS)))


def _random_voxels(lattice, rng) -> Voxels:
    shape = rng.integers(1, LARGEST_EDGE + 1, 3)
    shape[2] = rng.integers(1, LONGEST_ROW + 1)
    shape[0] = shape[0] if lattice.dimension == 3 else 1
    others = rng.choice(KINDS[: rng.integers(1, KINDS.size + 1)], shape)
    flags = np.where(rng.random(shape) < rng.choice([0.3, 0.8, 0.97]), FLUID, others).astype(FLAG_DTYPE)
    flags[tuple(extent // 2 for extent in shape)] = FLUID
    periodic = tuple(bool(axis) for axis in rng.integers(2, size=3))
    return Voxels(flags, periodic=periodic, openings=(IN, OUT), walls=("one", "other"))
