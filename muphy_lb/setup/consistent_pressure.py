"""The pressure that belongs to a velocity field: that with which a flow that starts with it makes no sound.

Mei, Luo, Lallemand, d'Humieres, Comput. Fluids 35, 855 (2006), hold the velocity and let the density of the populations
advance until it rests; it then obeys the Poisson equation of the pressure on the lattice. Here this equation is solved
itself,

sum_q f_q(x - c_q) = sum_q f_q(x),   f_q = w_q [rho + 9/2 (c_q c_q - 1/3) : (u u - 2 nu S) + 3/2 c_q.F],

where walls return what leaves towards them: no momentum flux crosses them. What is odd in the velocity is left out: the
differences of a field that is free of divergence have a divergence of second order, which would act as a source. The
method is conjugate gradients; its scalar products are sums of integers, so the pressure is the same on any ranks.
"""

from math import ceil, log2, sqrt

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.engine.neighbour_values import NeighbourValues
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.operators import Equilibrium
from muphy_lb.operators.initial import AXES_OF_TENSOR, stress_populations, twice_beside_diagonal

TOLERANCE = 1e-8
"""Largest residual over that of the start."""
PRESSURE_ITERATIONS = 5000
BITS = 60


def refuse_openings(header: GeometryHeader) -> None:
    """Refuse a pressure that would be computed where openings say what it is.

    Raises:
        InputError: the geometry has openings.
    """
    if header.openings:
        raise InputError(
            "initial.consistent_pressure: the geometry has openings, whose conditions say what the pressure is there;"
            " give initial.pressure_file, or the fields of a run (initial.file)"
        )


def momentum_flux(equilibrium: Equilibrium, velocity: np.ndarray, strain: np.ndarray, viscosity) -> np.ndarray:
    """(6, n) u u - 2 nu S of (3, n) velocities and (6, n) rates of strain: xx, yy, zz, xy + yx, yz + zy, zx + xz;
    without u u for an equilibrium that has no terms of second order."""
    viscous = -2.0 * viscosity * strain
    products = np.stack([velocity[a] * velocity[b] for a, b in AXES_OF_TENSOR])
    return twice_beside_diagonal(viscous if equilibrium.is_linear else products + viscous)


class PressureEquation:
    """The Poisson equation of the pressure on the nodes of a rank.

    Args:
        lattice: velocity set.
        neighbours: values of nodes beside those of this rank.
        communicator: the ranks.
        n_nodes: number of nodes of all ranks.
    """

    def __init__(self, lattice: Lattice, neighbours: NeighbourValues, communicator, n_nodes: int):
        self._lattice, self._neighbours, self._communicator = lattice, neighbours, communicator
        self._upstream = neighbours.places(-lattice.c[1:], slice(None))
        self._n_nodes = n_nodes

    def density(self, momentum_flux: np.ndarray, force: np.ndarray) -> np.ndarray:
        """(n,) difference of the density from its mean; collective.

        Args:
            momentum_flux: (6, n) u u - 2 nu S: xx, yy, zz, xy + yx, yz + zy, zx + xz.
            force: (3, n) or (3, 1) body force per volume.

        Raises:
            InputError: the iterations do not converge.
        """
        drive = 1.5 * self._lattice.w[:, None] * combined(self._lattice.c, force)
        given = stress_populations(self._lattice, momentum_flux) + drive
        source = self._streamed(given) - added(given)
        source = source - self.mean(source)
        density, residual = np.zeros_like(source), source
        direction, square = residual, self._dot(residual, residual)
        first = square
        for _ in range(PRESSURE_ITERATIONS):
            if square <= TOLERANCE**2 * first:
                return density - self.mean(density)
            image = self._minus_laplacian(direction)
            step = square / self._dot(direction, image)
            density, residual = density + step * direction, residual - step * image
            before, square = square, self._dot(residual, residual)
            direction = residual + (square / before) * direction
        raise InputError(
            f"initial.consistent_pressure: the pressure did not converge in {PRESSURE_ITERATIONS} iterations (residual"
            f" {sqrt(square / first):.1e} of the first); leave it out, or give initial.pressure_file"
        )

    def _minus_laplacian(self, density: np.ndarray) -> np.ndarray:
        return density - self._streamed(self._lattice.w[:, None] * density)

    def _streamed(self, populations: np.ndarray) -> np.ndarray:
        """(n,) sum of the populations (Q, n) that arrive at each node; walls return them."""
        beside, opposite = self._neighbours.with_ghosts(populations), self._lattice.opposite
        arriving = [populations[0]]
        for q, place in enumerate(self._upstream, 1):
            arriving.append(np.where(place >= 0, beside[q, np.maximum(place, 0)], populations[opposite[q]]))
        return added(arriving)

    def mean(self, values: np.ndarray) -> float:
        """The mean over all nodes of (n,) values, the same on any ranks; collective."""
        return self._sum(values) / self._n_nodes

    def _dot(self, a: np.ndarray, b: np.ndarray) -> float:
        return self._sum(a * b)

    def _sum(self, values: np.ndarray) -> float:
        """The sum over all nodes, rounded at each node to a share of the largest value: the same on any ranks."""
        largest = self._communicator.maximum(float(np.abs(values).max(initial=0.0)))
        if largest == 0.0:
            return 0.0
        scale = 2.0 ** (BITS - ceil(log2(self._n_nodes + 1)) - ceil(log2(largest)))
        return self._communicator.total(int(np.rint(values * scale).astype(np.int64).sum())) / scale
