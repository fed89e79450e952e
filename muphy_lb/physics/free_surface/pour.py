"""Drops and blocks that are added to a liquid while it flows, between two steps."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from numbers import Real

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain import LocalDomain
from muphy_lb.engine.transfers import NeighbourValues
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import ViewerAction
from muphy_lb.operators.initial import initial_populations
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LIQUID, MASS, SUPPORT, SUPPORTED, is_liquid
from muphy_lb.physics.free_surface.start import BoxRegion, InitialLiquid, Region, SpheresRegion, sphere_region
from muphy_lb.setup.initial import FASTEST_MACH

NO_VELOCITY = (0.0, 0.0, 0.0)


def add_drop(simulation, centre_m: Sequence[float], radius_m: float, velocity_m_s: Sequence[float] = NO_VELOCITY):
    """Add a drop of liquid, as far as it lies in gas; liquid that is there stays as it is. Collective.

    Args:
        centre_m: (x, y, z) [m]; of a flow in a plane the middle of a circle.
        radius_m: its radius [m].
        velocity_m_s: (x, y, z) velocity [m/s] of the liquid that is added.

    Returns:
        The volume that was added [m3], on every rank.

    Raises:
        InputError: numbers that are none, a radius below a voxel or a velocity that is too fast, no gas at that place,
            or gas that is compressed, whose bubbles a new drop would divide.
    """
    region = _region(simulation, centre_m, radius_m, velocity_m_s)
    return _added(simulation, region, f"add_drop: no gas is at {shown(list(centre_m))} m within {radius_m:g} m")


def add_block(simulation, low_m: Sequence[float], high_m: Sequence[float]):
    """Add a block of liquid at rest, as far as it lies in gas; liquid that is there stays as it is. Collective.

    Args:
        low_m, high_m: its lowest and highest corner (x, y, z) [m].

    Returns:
        The volume that was added [m3], on every rank.

    Raises:
        InputError: corners that are none, or out of order, no gas between them, or gas that is compressed.
    """
    given = [list(each) if np.iterable(each) else [each] for each in (low_m, high_m)]
    numbers = [number for each in given for number in each]
    are_corners = list(map(len, given)) == [3, 3] and all(isinstance(x, Real) and isfinite(x) for x in numbers)
    if not are_corners or any(a >= b for a, b in zip(*given, strict=True)):
        raise InputError(f"add_block: {shown(given)} are not a lowest and a highest corner (x, y, z)")
    header = simulation.header
    low, high = ((np.array(each, dtype=float) - header.origin_m) / header.spacing_m for each in given)
    region = BoxRegion(np.zeros(3), low, high)
    return _added(simulation, region, f"add_block: no gas is between {shown(given[0])} and {shown(given[1])} m")


def _added(simulation, region: Region, nothing: str) -> float:
    """The volume [m3] that a region of liquid adds. Raises InputError: gas that is compressed, or none, in the words of
    ``nothing``."""
    (physics,) = (each for each in simulation.physics if each.name == "free_surface")
    if physics.bubbles is not None:
        what = nothing.partition(":")[0]
        raise InputError(f"{what}: the gas is compressed (free_surface.bubbles), and new liquid may divide a bubble")
    record, before = simulation.state.record(), simulation.communicator.total(simulation.engine.totals().mass)
    fields, populations = dict(record.fields), np.array(record.populations)
    cell = np.where(is_liquid(fields[CELL]), LIQUID, fields[CELL])  # a step marks again those beside dry cells
    filled = np.where(cell == LIQUID, 1.0, fields[FILL])
    share = InitialLiquid([region], simulation.header).share(simulation.domain)
    total = np.where(cell == LIQUID, 1.0, np.maximum(np.where(cell == INTERFACE, filled, 0.0), share))
    gains = (cell != LIQUID) & (total > np.where(cell == INTERFACE, filled, 0.0))
    if not simulation.communicator.total(int(gains.sum())):
        raise InputError(f"{nothing}; add it elsewhere")
    kind = np.where((cell == INTERFACE) | (total > 0.0), INTERFACE, GAS)
    kind[(cell == LIQUID) | (share >= 1.0)] = LIQUID
    kind[(kind == LIQUID) & _is_beside_gas(simulation, kind)] = INTERFACE
    is_new = gains & (cell == GAS)
    n_axes = int((np.array(simulation.header.shape) > 1).sum())
    curvature = region.curvature(np.zeros((1, 3)), n_axes)
    density = 1.0 + physics.gas_deviation + 6.0 * physics.tension * curvature
    at_rest = initial_populations(
        simulation.model.equilibrium, simulation.lattice, (density, region.velocity[:, None]), np.zeros((3, 1))
    )
    populations[:, is_new] = at_rest
    weight = total * (1.0 + populations.sum(axis=0))
    changed = gains | (kind != cell)
    fields[CELL] = kind.astype(cell.dtype)
    fields[FILL] = np.where(changed, np.where(kind == INTERFACE, total, 0.0), fields[FILL])
    fields[MASS] = np.where(changed, np.where(kind == INTERFACE, weight, 0.0), fields[MASS])
    fields[SUPPORT] = np.where(is_new, SUPPORTED, fields[SUPPORT]).astype(fields[SUPPORT].dtype)
    simulation.state.go_on_from(replace(record, populations=populations, fields=fields))
    added = simulation.communicator.total(simulation.engine.totals().mass) - before
    simulation.state.initial_mass += added
    return added * simulation.header.spacing_m**3


def offered(header: GeometryHeader) -> dict[str, ViewerAction]:
    """Liquid that a page offers to add in the middle of the geometry: a drop, five voxels in radius, a block of ten."""
    middle_m = np.asarray(header.origin_m) + 0.5 * header.spacing_m * (np.array(header.shape[::-1]) - 1.0)
    half_m = 5.0 * header.spacing_m
    block_m = (*(middle_m - half_m).tolist(), *(middle_m + half_m).tolist())
    return {
        "add_drop": ViewerAction(lambda flow, given: add_drop(flow, given[:3], given[3]), (*middle_m.tolist(), half_m)),
        "add_block": ViewerAction(lambda flow, given: add_block(flow, given[:3], given[3:]), block_m),
    }


def _region(simulation, centre_m, radius_m: float, velocity_m_s) -> SpheresRegion:
    """The drop, in voxels."""
    given = [list(each) if np.iterable(each) else [each] for each in (centre_m, (radius_m,), velocity_m_s)]
    numbers = [number for each in given for number in each]
    if [len(each) for each in given] != [3, 1, 3] or not all(isinstance(x, Real) and isfinite(x) for x in numbers):
        raise InputError(f"add_drop: {shown(given)} are not a position (x, y, z), radius and velocity (x, y, z)")
    header, (place_m, _, speed_m_s) = simulation.header, given
    if radius_m < header.spacing_m:
        raise InputError(f"add_drop: the radius is {radius_m:g} m; allowed: from a voxel, {header.spacing_m:g} m, on")
    velocity = simulation.units.velocity_to_lattice(np.array(speed_m_s, dtype=float))
    if np.linalg.norm(velocity) > FASTEST_MACH * float(simulation.lattice.cs2) ** 0.5:
        raise InputError(f"add_drop: {shown(speed_m_s)} m/s is too fast; allowed: Mach {FASTEST_MACH:g}")
    centre = (np.array(place_m, dtype=float) - header.origin_m) / header.spacing_m
    return sphere_region(velocity, centre, radius_m / header.spacing_m)


def _is_beside_gas(simulation, kind: np.ndarray) -> np.ndarray:
    """(n,) whether a neighbour of each local node is gas."""
    domain: LocalDomain = simulation.domain
    near = NeighbourValues(domain, simulation.communicator)
    everywhere = near.with_ghosts(kind[None].astype(float))[0]
    found = np.zeros(domain.n_nodes, dtype=bool)
    for place in near.places(simulation.lattice.c[1:], slice(0, domain.n_nodes)):
        found |= (place >= 0) & (everywhere[np.maximum(place, 0)] == GAS)
    return found
