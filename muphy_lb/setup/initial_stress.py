"""The viscous stress that belongs to a velocity field, from differences over the neighbours of a node."""

from collections.abc import Sequence

import numpy as np

from muphy_lb.base.units import CS2, viscosity
from muphy_lb.boundaries.wall_motion import HALF, WallMotion
from muphy_lb.domain import LocalDomain
from muphy_lb.domain.links import is_wall
from muphy_lb.engine.neighbour_values import NeighbourValues
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators.initial import AXES_OF_TENSOR, twice_beside_diagonal

CHUNK_NODES = 1 << 17
NEAREST_WALL = 0.25
"""Least distance of a wall [voxels] in differences: at less, a velocity that is a little wrong would become a gradient
without bounds."""
STRESS_ITERATIONS, SAME = 60, 1e-12


class VelocityGradient:
    """Gradients at the nodes of a rank, of second order where a node has a neighbour or a wall on both sides along an
    axis, of first order beside openings.

    Args:
        domain: the nodes.
        neighbours: the values beside them.
        nodes: the rank's part of the node list, with the distances to walls if they are known.
        motions: what each labelled wall does.
        is_half_way: whether walls lie half-way whatever the distances say.
    """

    def __init__(self, domain: LocalDomain, neighbours: NeighbourValues, nodes: NodeList, motions, is_half_way: bool):
        self._domain, self._neighbours = domain, neighbours
        self._cuts = None if is_half_way else nodes.cuts
        self._shape = nodes.shape
        self._motions: Sequence[WallMotion] = motions

    def of(self, velocity: np.ndarray) -> np.ndarray:
        """(6, n) rate of strain xx, yy, zz, xy, yz, zx of (3, n) velocities; collective."""
        values, n = self._neighbours.with_ghosts(velocity), self._domain.n_nodes
        strain = np.empty((len(AXES_OF_TENSOR), n))
        for first in range(0, n, CHUNK_NODES):
            chunk = slice(first, min(first + CHUNK_NODES, n))
            slopes = [self._slope(values, axis, chunk) for axis in range(3)]
            for k, (a, b) in enumerate(AXES_OF_TENSOR):
                strain[k, chunk] = 0.5 * (slopes[a][b] + slopes[b][a])
        return strain

    def _slope(self, values: np.ndarray, axis: int, nodes: slice) -> np.ndarray:
        """(3, m) derivative of the velocity along an axis."""
        here = values[:, nodes]
        if axis >= self._domain.lattice.dimension:
            return np.zeros_like(here)
        (ahead, h_ahead), (behind, h_behind) = (self._side(values, axis, sign, nodes) for sign in (1, -1))
        up, down = (ahead - here) / h_ahead, (here - behind) / h_behind
        with np.errstate(invalid="ignore"):  # distances that are not known are infinite
            both = (h_behind * up + h_ahead * down) / (h_ahead + h_behind)
        knows_ahead, knows_behind = np.isfinite(h_ahead), np.isfinite(h_behind)
        one = np.where(knows_ahead, up, np.where(knows_behind, down, 0.0))
        return np.where(knows_ahead & knows_behind, both, one)

    def _side(self, values: np.ndarray, axis: int, sign: int, nodes: slice) -> tuple[np.ndarray, np.ndarray]:
        """(3, m) velocity beside each node along an axis, and its (m,) distance; infinite where it is not known."""
        vector = sign * np.eye(3, dtype=np.int64)[axis]
        code = self._neighbours.places(vector[None], nodes)[0]
        wall = is_wall(code)
        found = np.where(code >= 0, values[:, np.maximum(code, 0)], 0.0)
        distance = np.where(code >= 0, 1.0, np.inf)
        if wall.any():
            voxel = self._domain.voxel[nodes][wall]
            distance[wall] = self._distance(voxel, vector)
            found[:, wall] = self._of_walls(code[wall], voxel, values[:, nodes][:, wall], vector)
        return found, distance

    def _distance(self, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(w,) distance of walls from nodes."""
        if self._cuts is None:
            return np.full(voxel.size, HALF)
        found = self._cuts.of(voxel, vector)
        return np.maximum(np.where(np.isnan(found), HALF, found), NEAREST_WALL)

    def _of_walls(self, code: np.ndarray, voxel: np.ndarray, here: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(3, w) velocity of walls; of those that slip, the fluid's along them."""
        found = np.zeros_like(here)
        place = voxel_coordinates(voxel, self._shape) + HALF * vector
        number = np.where(code == WALL_LINK, -1, FIRST_WALL_LINK - code)
        for k, motion in enumerate(self._motions):
            mine = number == k
            if motion.slips:
                found[:, mine] = here[:, mine] * (vector == 0)[:, None]
            elif motion.moves:
                found[:, mine] = motion.at(place[mine]).T
        return found


def stress_of(fluid: Fluid, inertia: np.ndarray | float, strain: np.ndarray) -> np.ndarray:
    """(6, n) Pi of :mod:`muphy_lb.operators.initial`: -2/3 tau r S, with off-diagonal numbers twice.

    Args:
        fluid: its closure says which tau belongs to a rate of strain.
        inertia: (n,) density, or 1 where the equilibrium is not compressible.
        strain: (6, n) rate of strain.
    """
    return twice_beside_diagonal((-2.0 / 3.0) * inertia * _relaxation_time(fluid, strain) * strain)


def viscosity_of(fluid: Fluid, strain: np.ndarray) -> np.ndarray:
    """(n,) kinematic viscosity at a rate of strain (6, n), lattice units."""
    return viscosity(_relaxation_time(fluid, strain), CS2)


def _relaxation_time(fluid: Fluid, strain: np.ndarray) -> np.ndarray:
    """(n,) relaxation time at a rate of strain (6, n): the root of tau = closure(|Pi| / rho = 2/3 tau |S|), by
    geometric means, which converge for fluids that thin and for those that thicken."""
    omega = fluid.rates[0]
    tau = np.full(strain.shape[1], 1.0 / omega)
    if not fluid.closure.needs_stress:
        return tau
    xx, yy, zz, xy, yz, zx = strain
    rate = np.sqrt(xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx))
    for _ in range(STRESS_ITERATIONS):
        before = tau
        tau = np.sqrt(tau / fluid.closure.reference(omega, 2.0 / 3.0 * tau * rate, fluid.parameters))
        if np.all(np.abs(tau - before) <= SAME * tau):
            break
    return tau
