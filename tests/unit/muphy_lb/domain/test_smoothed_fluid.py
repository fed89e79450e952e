"""Walls of a box that is divided into blocks have the bits of the whole, and solid costs no memory."""

import tracemalloc

import numpy as np
import pytest

from muphy_lb.domain import smoothed_fluid, wall_shapes
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.shape_parts import with_ends
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels
from muphy_lb.lattice import lattice_named

OPEN = ((False, True, False), "open")


@pytest.mark.parametrize("edge", [7, 16])
@pytest.mark.parametrize(("shape", "lattice"), [((12, 15, 40), "D3Q19"), ((1, 30, 40), "D2Q9")])
@pytest.mark.parametrize(("periodic", "ends"), [((True, True, True), None), ((False, False, False), None), OPEN])
def test_walls_by_blocks_have_the_bits_of_the_whole(monkeypatch, shape, lattice, periodic, ends, edge):
    flags = np.where(np.random.default_rng(1).random(shape) < 0.7, FLUID, SOLID).astype(np.uint8)
    voxels = Voxels(flags, periodic=periodic)
    nodes = build_nodes(with_ends(voxels, "x", ends) if ends else voxels)
    whole, _ = wall_shapes.wall_shapes(nodes, lattice_named(lattice))
    monkeypatch.setattr(wall_shapes, "edges", lambda shape, _: np.minimum(shape, edge))
    divided, _ = wall_shapes.wall_shapes(nodes, lattice_named(lattice))
    assert np.array_equal(whole.number, divided.number) and np.array_equal(whole.rows, divided.rows)


def test_solid_costs_no_memory():
    """A pipe of 80 nodes in cross-section through a box 30 times as wide: values of the box took 8 bytes a voxel."""
    z, y = np.mgrid[:150, :150]
    pipe = (z - 75) ** 2 + (y - 75) ** 2 < 26
    flags = np.repeat(np.where(pipe, FLUID, SOLID).astype(np.uint8)[..., None], 300, axis=2)
    nodes = build_nodes(Voxels(flags))
    tracemalloc.start()
    wall_shapes.wall_shapes(nodes, lattice_named("D3Q19"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.prod(nodes.shape) > smoothed_fluid.SPARSE * nodes.n_nodes and peak < 4 * flags.size


@pytest.mark.parametrize("edge", [7, 16])
def test_a_box_without_walls_has_none(monkeypatch, edge):
    monkeypatch.setattr(wall_shapes, "edges", lambda shape, _: np.minimum(shape, edge))
    nodes = build_nodes(Voxels(np.full((1, 9, 12), FLUID, dtype=np.uint8), periodic=(True, True, True)))
    shapes, codes = wall_shapes.wall_shapes(nodes, lattice_named("D2Q9"))
    assert shapes.number.size == 0 and codes.shape == (8, 0)
