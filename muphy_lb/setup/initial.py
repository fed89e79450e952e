"""The state that a flow starts from: its fields, and pressure and stress that belong to a velocity.

The pressure that belongs to a velocity field: that with which a flow that starts with it makes no sound.

Mei, Luo, Lallemand, d'Humieres, Comput. Fluids 35, 855 (2006), hold the velocity and let the density of the populations
advance until it rests; it then obeys the Poisson equation of the pressure on the lattice. Here this equation is solved
itself,

sum_q f_q(x - c_q) = sum_q f_q(x),   f_q = w_q [rho + 9/2 (c_q c_q - 1/3) : (u u - 2 nu S) + 3/2 c_q.F],

where walls return what leaves towards them: no momentum flux crosses them. Terms odd in the velocity are left out: the
differences of a field that is free of divergence have a divergence of second order, which would act as a source. The
method is conjugate gradients; its scalar products are sums of integers, so the pressure is the same on any ranks.
"""

from collections.abc import Mapping, Sequence
from math import ceil, log2, sqrt
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2, Units, viscosity
from muphy_lb.boundaries.wall_motion import HALF, WallMotion
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.domain.links import is_wall
from muphy_lb.engine.transfers import NeighbourValues
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, voxel_coordinates
from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import Equilibrium
from muphy_lb.operators.initial import AXES_OF_TENSOR, stress_populations, twice_beside_diagonal
from muphy_lb.setup.input_fields import ENDING, Wanted, fields_of, read_field

SECTION = "initial"
FLOW = ("velocity", "pressure")  # fields that a file of all fields must have
FASTEST_MACH = 0.3  # Mach number up to which a velocity may be given: beyond, the fluid is far from incompressible
LARGEST_DEVIATION = 0.3  # difference of the density from 1 up to which it may be given


def initial_values(case: Case, name: str, unit: str, header: GeometryHeader, domain: LocalDomain) -> np.ndarray | None:
    """(n, k) or (1, k) values [SI] of a field of the section [initial] at the local nodes; None if it gives none.

    Args:
        name: of the field, as in field files: its keys are ``NAME_UNIT`` and ``NAME_file``.
        unit: end of the name of the first key.

    Raises InputError: a file cannot be read, or does not fit.
    """
    section = case.initial
    if section is None:
        return None
    value, file = getattr(section, f"{name}_{unit}"), getattr(section, f"{name}_file")
    if value is not None:
        return np.reshape(np.asarray(value, dtype=np.float64), (1, -1))
    is_velocity, key = name == "velocity", f"{SECTION}.{name}_file"
    if file is None:
        file, key = _common_file(case, name), f"{SECTION}.file"
    if file is None:
        return None
    return read_field(case.folder / file, Wanted(key, name, 3 if is_velocity else 1, is_velocity), header, domain)


def _common_file(case: Case, name: str) -> str | None:
    """The file of all fields; without one, or where it lacks what only some flows have, None."""
    file = case.initial.file
    if file is None:
        return None
    if Path(file).suffix.lower() != ENDING:
        raise InputError(
            f"{SECTION}.file: {file} ends in {Path(file).suffix!r}; allowed: {ENDING!r}, of an earlier run"
        )
    return file if name in FLOW or name in fields_of(case.folder / file, f"{SECTION}.file") else None


def initial_flow(case: Case, header: GeometryHeader, domain: LocalDomain, units: Units):
    """Density (n,) or (1,), and velocity (3, n) or (3, 1), of the local nodes, lattice units. Raises InputError: as
    :func:`initial_values`; a velocity or density that is out of range."""
    density, velocity = given_flow(case, header, domain, units)
    return np.ones(1) if density is None else density, np.zeros((3, 1)) if velocity is None else velocity


def given_flow(case: Case, header: GeometryHeader, domain: LocalDomain, units: Units):
    """The same, each None if the case does not give it."""
    velocity = initial_values(case, "velocity", "m_s", header, domain)
    if velocity is not None:
        velocity = units.velocity_to_lattice(velocity.T)
        check_velocity(f"{SECTION}: the velocity", velocity, domain, units)
    density = _density(case, header, domain, units)
    if density is not None:
        check_density(f"{SECTION}: the pressure", density, domain, units)
    return density, velocity


def _density(case: Case, header: GeometryHeader, domain: LocalDomain, units: Units) -> np.ndarray | None:
    """(n,) or (1,) density, of whichever of pressure and density is given; None of none."""
    section = case.initial
    if section is None or section.consistent_pressure:
        return None
    if section.density_kg_m3 is not None or section.density_file is not None:
        density = initial_values(case, "density", "kg_m3", header, domain)
        return None if density is None else density[:, 0] / units.density_kg_m3
    pressure = initial_values(case, "pressure", "pa", header, domain)
    return None if pressure is None else units.pressure_to_density(pressure[:, 0], float(domain.lattice.cs2))


def check_velocity(what: str, velocity: np.ndarray, domain: LocalDomain, units: Units) -> None:
    """Raise InputError for velocities (3, n) [lattice units] that are not finite or too fast."""
    if not np.isfinite(velocity).all():
        raise InputError(f"{what} has values that are not finite; give numbers")
    speed = np.sqrt((velocity * velocity).sum(axis=0)).max(initial=0.0)
    mach = speed / np.sqrt(float(domain.lattice.cs2))
    if mach > FASTEST_MACH:
        raise InputError(
            f"{what} reaches {units.velocity_to_si(speed):.4g} m/s, which is Mach number {mach:.3g} with this time"
            f" step; allowed: up to {FASTEST_MACH:g}; take a shorter time step (a smaller lattice.lattice_velocity)"
        )


def check_density(what: str, density: np.ndarray, domain: LocalDomain, units: Units) -> None:
    """Raise InputError for densities (n,) [lattice units] that are not finite or too far from 1."""
    if not np.isfinite(density).all():
        raise InputError(f"{what} has values that are not finite; give numbers")
    worst = float(density[np.abs(density - 1.0).argmax()]) if density.size else 1.0
    if abs(worst - 1.0) > LARGEST_DEVIATION:
        pressure_pa = units.density_to_pressure(worst, float(domain.lattice.cs2))
        raise InputError(
            f"{what} reaches {pressure_pa:.4g} Pa, a density of {worst:.3g} in lattice units; allowed:"
            f" {1 - LARGEST_DEVIATION:g} to {1 + LARGEST_DEVIATION:g}; give it near flow.reference_pressure_pa, or"
            " take a shorter time step"
        )


TOLERANCE = 1e-8  # largest residual over that of the start
PRESSURE_ITERATIONS = 5000
BITS = 60


def refuse_openings(header: GeometryHeader) -> None:
    """Raise InputError for a pressure that would be computed where openings say what it is."""
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
    """The Poisson equation of the pressure on the nodes of a rank. ``neighbours``: values of nodes beside those of this
    rank."""

    def __init__(self, lattice: Lattice, neighbours: NeighbourValues, communicator, n_nodes: int):
        self._lattice, self._neighbours, self._communicator = lattice, neighbours, communicator
        self._upstream = neighbours.places(-lattice.c[1:], slice(None))
        self._n_nodes = n_nodes

    def density(self, momentum_flux: np.ndarray, force: np.ndarray) -> np.ndarray:
        """(n,) difference of the density from its mean; collective.

        Args:
            momentum_flux: (6, n) u u - 2 nu S: xx, yy, zz, xy + yx, yz + zy, zx + xz.
            force: (3, n) or (3, 1) body force per volume.

        Raises InputError: the iterations do not converge.
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
            image = direction - self._streamed(self._lattice.w[:, None] * direction)  # minus the Laplacian
            step = square / self._dot(direction, image)
            density, residual = density + step * direction, residual - step * image
            before, square = square, self._dot(residual, residual)
            direction = residual + (square / before) * direction
        raise InputError(
            f"initial.consistent_pressure: the pressure did not converge in {PRESSURE_ITERATIONS} iterations (residual"
            f" {sqrt(square / first):.1e} of the first); leave it out, or give initial.pressure_file"
        )

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


CHUNK_NODES = 1 << 17
NEAREST_WALL = 0.25
"""Least distance of a wall [voxels] in differences: at less, a velocity that is a little wrong would become a gradient
without bounds."""
STRESS_ITERATIONS, SAME = 60, 1e-12


class VelocityGradient:
    """Gradients at the nodes of a rank, of second order where a node has a neighbour or a wall on both sides along an
    axis, of first order beside openings.

    Args:
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
            cut = np.full(voxel.size, np.nan) if self._cuts is None else self._cuts.of(voxel, vector)
            distance[wall] = np.where(np.isnan(cut), HALF, np.maximum(cut, NEAREST_WALL))
            found[:, wall] = self._of_walls(code[wall], voxel, values[:, nodes][:, wall], vector)
        return found, distance

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


def stress_of(
    fluid: Fluid, inertia: np.ndarray | float, strain: np.ndarray, parameters: Mapping | None = None
) -> np.ndarray:
    """(6, n) Pi of :mod:`muphy_lb.operators.initial`: -2/3 tau r S, with off-diagonal numbers twice.

    Args:
        fluid: its closure says which tau belongs to a rate of strain.
        inertia: (n,) density, or 1 where the equilibrium is not compressible.
        strain: (6, n) rate of strain.
        parameters: of the model by name, for a closure that reads fields of the nodes.
    """
    return twice_beside_diagonal((-2.0 / 3.0) * inertia * _relaxation_time(fluid, strain, parameters) * strain)


def viscosity_of(fluid: Fluid, strain: np.ndarray, parameters: Mapping | None = None) -> np.ndarray:
    """(n,) kinematic viscosity at a rate of strain (6, n), lattice units; ``parameters`` as in :func:`stress_of`."""
    return viscosity(_relaxation_time(fluid, strain, parameters), CS2)


def _relaxation_time(fluid: Fluid, strain: np.ndarray, parameters: Mapping | None) -> np.ndarray:
    """(n,) relaxation time at a rate of strain (6, n): the root of tau = closure(|Pi| / rho = 2/3 tau |S|), by
    geometric means, which converge for fluids that thin and for those that thicken."""
    omega = fluid.rates[0]
    tau = np.full(strain.shape[1], 1.0 / omega)
    if fluid.closure.reads:
        return 1.0 / fluid.closure.reference(omega, None, np.arange(tau.size), parameters)
    if not fluid.closure.needs_stress:
        return tau
    xx, yy, zz, xy, yz, zx = strain
    rate = np.sqrt(xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx))
    for _ in range(STRESS_ITERATIONS):
        before = tau
        tau = np.sqrt(tau / fluid.closure.reference(omega, 2.0 / 3.0 * tau * rate, None, fluid.parameters))
        if np.all(np.abs(tau - before) <= SAME * tau):
            break
    return tau
