"""Measure of the liquid: its mass and where it lies, its energy, its largest speed, and the ends of its voxels."""

import math

import numpy as np

from muphy_lb.measure.node_sums import Measure
from muphy_lb.model.model import VOXEL, FieldValue, Value
from muphy_lb.operators import Operator
from muphy_lb.operators.operator import named
from muphy_lb.physics.free_surface.cells import CELL, FLUID, MASS, is_liquid

N_SUMS, N_PEAKS = 5, 7
"""Mass, kinetic energy, mass times (x, y, z) / ``EDGE``; largest speed in full voxels, and x, -x, y, -y, z, -z of those
with liquid; lattice units."""

AT, EDGE, WIDTH, HEIGHT = "voxel", "edge", "width", "height"
"""Parameters: voxel ids, a power of two that no coordinate reaches, and the voxels of the box along x and y."""


def _extent(n, moments, lattice, parameters):
    deviation, *u = np.asarray(moments, dtype=np.float64)
    kind, voxel = parameters[CELL][n], parameters[AT][n].astype(np.int64)
    mass = np.where(is_liquid(kind), 1.0 + deviation, 0.0) + parameters[MASS][n]
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    row, x = np.divmod(voxel, parameters[WIDTH])
    z, y = np.divmod(row, parameters[HEIGHT])
    share = mass / parameters[EDGE]
    sums = np.where(mass != 0.0, [mass, 0.5 * mass * square, share * x, share * y, share * z], 0.0)
    has_liquid = (kind & FLUID) != 0
    ends = [np.where(has_liquid, sign * along, -np.inf) for along in (x, y, z) for sign in (1.0, -1.0)]
    return sums, np.array([np.where(is_liquid(kind), np.sqrt(square), -np.inf), *ends])


def _extent_node(lattice, precision, jit, at):
    cell, mass_of, voxel, edge, width, height = (at[name] for name in (CELL, MASS, AT, EDGE, WIDTH, HEIGHT))
    nowhere, double, liquid = -math.inf, np.float64, jit(is_liquid)

    def extent(n, deviation, ux, uy, uz, parameters, found):
        kind, mass = parameters[cell][n], double(parameters[mass_of][n])
        if liquid(kind):
            mass += 1.0 + double(deviation)
        for k in range(N_SUMS):
            found[k] = 0.0
        for k in range(N_SUMS, N_SUMS + N_PEAKS):
            found[k] = nowhere
        if mass != 0.0 or kind & FLUID:
            row, x = parameters[voxel][n] // parameters[width], double(parameters[voxel][n] % parameters[width])
            z, y = double(row // parameters[height]), double(row % parameters[height])
            square = double(ux) * double(ux) + double(uy) * double(uy) + double(uz) * double(uz)
            share = mass / double(parameters[edge])
            if mass != 0.0:
                found[0], found[1] = mass, 0.5 * mass * square
                found[2], found[3], found[4] = share * x, share * y, share * z
            if kind & FLUID:
                found[6], found[7], found[8], found[9], found[10], found[11] = x, -x, y, -y, z, -z
            if liquid(kind):
                found[5] = math.sqrt(square)

    return jit(extent)


EXTENT = Operator("extent", _extent, _extent_node, named(CELL, MASS, AT, EDGE, WIDTH, HEIGHT))


def edge_of(shape: tuple[int, int, int]) -> float:
    """A power of two that no coordinate in a box (nz, ny, nx) reaches."""
    return 2.0 ** math.ceil(math.log2(max(shape)))


def extent_in(shape: tuple[int, int, int]) -> Measure:
    """The measure of the liquid in a box of voxels (nz, ny, nx)."""
    values: dict[str, Value] = {CELL: FieldValue(CELL), MASS: FieldValue(MASS), AT: VOXEL}
    values |= {EDGE: edge_of(shape), WIDTH: np.int64(shape[2]), HEIGHT: np.int64(shape[1])}
    return Measure(EXTENT, values, N_SUMS, N_PEAKS)
