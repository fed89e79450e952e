"""Drainage of pores, against morphological opening (Hilpert, Miller, Adv. Water Resour. 24, 243 (2001)) and the exact
quasi-static menisci between disks (as in Cieplak, Robbins, Phys. Rev. B 41, 11508 (1990)): by steps of pressure where
nothing is trapped, and slowly where what has lost its way is (Wilkinson, Willemsen, J. Phys. A 16, 3365 (1983)); and
single throats.

What a step of pressure opens is entered at once, not widest throat first, so that statics do not tell what a jump
traps; at a low flow rate the pressure falls behind every jump, and one place is taken after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import end_openings, flags_where, with_ends
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.measure.flow_view import on_root
from muphy_lb.run.changes import changed
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.two_fluid.common import phase_of, refuse_half
from muphy_lb.validation.two_fluid.pores import between_ends, disks_of_rock, displacing, places, rock, up_to

ANGLE, TOLERANCE = 30.0, 0.05
NU, TENSION = 1.0 / 30.0, 0.1  # so that what drains just above the pressure of a throat takes fewer steps
#: Steps over the distance of the disks until one looks again, what a saturation at rest changes by then, most looks:
#: of the rock on plates, through which water leaves everywhere, and of rooms.
LOOKS, LOOKS_IN_ROOMS, QUICK_LOOKS = (10, 2e-5, 100), (75, 4e-5, 80), (5, 1e-3, 20)
#: A meniscus at the end of a throat in a room holds 2 sigma / r, whatever the angle.
ROOMS_ANGLE = 10.0
LOOK_AFTER = 2e-3  # share of the pores that is invaded until fluid that has lost its way is looked for
#: Cells a voxel for exact menisci; what two walls hold differs by fewer cells where half-way between them is in a cell.
FINE, BETWEEN_WALLS = 2, 1.2
#: Distance of the disks, radii of disks that enter, over it: between those at which throats open. Quick: a pressure at
#: which rooms are entered, and no throat.
RADII, DEPTH = (0.24, 0.17, 0.13, 0.10, 0.08), 3
ROCKS: tuple[tuple[int, tuple[float, ...]], ...] = ((40, RADII),)
QUICK_ROCKS: tuple[tuple[int, tuple[float, ...]], ...] = ((16, RADII[:1]),)
#: Capillary number of slow drainage, steps until one looks at its rate, radius at the start over the distance of the
#: disks, what the pressure follows the rate by, most and least of it; share that is left with a way to the outlet.
SLOW, SLOW_LOOK, SLOW_START, GAIN, SLOW_BOUNDS, LEFT = 1e-3, 100, 0.26, 4e-3, (0.97, 1.002), 4e-3
#: The same of rooms in space, whose throats become narrower, so that no pressure opens two layers.
ROOMS: tuple[tuple[int, tuple[float, ...]], ...] = ((36, (0.38, 0.32, 0.26, 0.2, 0.15)),)
#: Radius of the disks and half the gap between them, contact angle; places of a disk among voxels, speed in the gap.
THROATS = (*product(((12, 6), (12, 3)), (10.0, 30.0, 60.0)), ((24, 6), 30.0))
QUICK_THROATS = (((6, 3), 30.0),)
DISK_PLACES, QUICK_DISK_PLACES, THROAT_SPEED, THROAT_TOLERANCE = (0.0, 0.3, 0.5), (0.3,), 1e-3, 0.03


class Reference(NamedTuple):
    """Pores on a grid with so many cells a voxel, and how wide they are: the radius [voxels] of the largest meniscus
    whose centre may be in a cell, (nz, ny, nx)."""

    fluid: np.ndarray
    widest: np.ndarray
    fine: int = 1


@dataclass(frozen=True)
class Drained:
    """What drains: its name, contact angle, pores (nz, ny, nx), length of the rooms at both ends, distance of the
    disks or rooms, how wide it is for menisci, and 1 in a plane, 2 in space, where menisci have two curvatures."""

    name: str
    degrees: float
    fluid: np.ndarray
    room: int
    pitch: int
    exact: Reference
    curvatures: int = 1

    def start(self, settings: Settings, nodes: NodeList) -> Solver:
        """The flow with the second fluid in the room at the inlet; all other openings are porous plates."""
        plates = [each.name for each in nodes.openings if each.name != "inlet"]
        ends = [{"name": "inlet", "pressure_pa": 0.0, "second_fluid": 1.0}]
        ends += [{"name": each, "pressure_pa": 0.0, "blocks_second": True} for each in plates]
        lattice = {"name": "D3Q19" if nodes.shape[0] > 1 else "D2Q9"}
        return displacing(settings, nodes, ends, _fluids(self.degrees) | up_to(self.room - 3.0), NU, lattice=lattice)

    def pressure(self, radius: float) -> float:
        """At which disks or spheres of a radius [voxels] enter."""
        return float(self.curvatures * TENSION * np.cos(np.deg2rad(self.degrees)) / radius)


@case("two-fluid-drainage", "morphological opening (Hilpert, Miller 2001); exact menisci between disks")
def drainage(settings: Settings) -> Iterator:
    """The drained share of pores at rising pressures, beside those of morphological opening and of exact menisci, and
    what is drained slowly when all that is left is trapped.

    The radius of an opening is sigma cos(theta) / p in a plane and 2 sigma cos(theta) / p in space (:func:`reached`).
    """
    refuse_half(settings)
    for pitch, radii in QUICK_ROCKS if settings.quick else ROCKS:
        sizes = pitch, 4, 5, 0.32 * pitch, pitch // 2
        fluid = rock(*sizes)[None]
        exact = between_disks(disks_of_rock(*sizes), fluid.shape, ANGLE)
        own = Drained(f"disks {pitch} apart", ANGLE, fluid, pitch // 2, pitch, exact)
        yield from _by_pressures(settings, own, on_plates(fluid), radii, QUICK_LOOKS if settings.quick else LOOKS)
        if not settings.quick:
            yield _slowly(settings, own)
    for pitch, radii in () if settings.quick else ROOMS:
        room = pitch // 3
        fluid, widest = rooms(pitch, 2, 4, room)
        own = Drained(f"rooms {pitch} apart", ROOMS_ANGLE, fluid, room, pitch, Reference(fluid, widest), curvatures=2)
        yield from _by_pressures(settings, own, between_ends(fluid), radii, LOOKS_IN_ROOMS)


def on_plates(fluid: np.ndarray) -> NodeList:
    """Nodes of a plane image (1, ny, nx), ``DEPTH`` voxels deep between two porous plates, with an inlet at x = 0:
    the first fluid leaves everywhere, so that nothing is trapped."""
    voxels = Voxels(flags_where(np.repeat(fluid, DEPTH, axis=0)))
    middle = 0.5 * (np.array(voxels.shape[::-1]) - 1)
    plates = [replace(each, name=f"plate_{each.name}") for each in end_openings(voxels, 2, middle)]
    return build_nodes(carve(voxels, [end_openings(voxels, 0, middle)[0], *plates]))


def _by_pressures(settings: Settings, own: Drained, nodes: NodeList, radii: tuple[float, ...], looks) -> Iterator:
    """Rows of a flow at pressures that rise, given by radii of openings over the distance of the disks."""
    path = own.pitch * np.array(radii)
    opening = reached(_opening(own.fluid), path, own.room)
    exact = reached(own.exact, path / np.cos(np.deg2rad(own.degrees)), own.room)
    flow = own.start(settings, nodes)
    x = places(flow)[:, 0]
    inside = (x >= own.room) & (x < own.fluid.shape[2] - own.room)
    for k, radius in enumerate(path):
        flow = changed(flow, {"openings.inlet.pressure_pa": own.pressure(radius)})
        share, is_at_rest = _rested(flow, inside, looks[0] * own.pitch, *looks[1:])
        name = f"{own.name}, radius {radius:.3g}{'' if is_at_rest else ' (not at rest)'}: drained"
        yield absolute(f"{name}, opening", opening[k], share, TOLERANCE)
        yield absolute(f"{name}, exact menisci", exact[k], share, TOLERANCE)


def _slowly(settings: Settings, own: Drained):
    """Row of a flow in a plane whose rate is held by its pressure until what is left has lost its way."""
    flow = own.start(settings, between_ends(own.fluid))
    place, room = places(flow), slice(own.room, -own.room)
    rate, pressure = SLOW * TENSION / NU * (own.fluid.shape[1] - 2), own.pressure(SLOW_START * own.pitch)
    limit, before, second = own.pressure(RADII[-1] * own.pitch), np.inf, np.zeros(own.fluid.shape[1:], dtype=bool)
    while pressure < limit:
        flow = changed(flow, {"openings.inlet.pressure_pa": pressure})
        flow.step(SLOW_LOOK)
        phase = phase_of(flow)
        now = float((0.5 - 0.5 * phase).sum())
        followed = 1.0 + GAIN * (1.0 - (now - before) / SLOW_LOOK / rate) if before < np.inf else 1.0
        before, pressure = now, pressure * float(np.clip(followed, *SLOW_BOUNDS))
        second[place[:, 1], place[:, 0]] = phase < 0.0
        parts, _ = label(own.fluid[0] & ~second)
        ways = np.unique(parts[:, -1])
        if np.isin(parts[:, room], ways[ways > 0]).sum() < LEFT * own.fluid[0][:, room].sum():
            break
    share = second[:, room].sum() / own.fluid[0][:, room].sum()
    exact = invaded(own.exact, np.array([RADII[-1] * own.pitch]), own.room)[-1]
    return absolute(f"{own.name}, slowly: drained, exact menisci in order", exact, share, TOLERANCE)


def _fluids(degrees: float) -> dict:
    """Two fluids of equal viscosity."""
    return {"contact_angle_deg": degrees, "kinematic_viscosity_m2_s": NU, "interfacial_tension_n_m": TENSION}


def _rested(flow: Solver, inside: np.ndarray, n_steps: int, same: float, n_looks: int) -> tuple[float, bool]:
    """Saturation of the second fluid at some nodes once it stays for so many steps, and whether it does."""
    before, now = -1.0, 0.0
    for _ in range(n_looks):
        flow.step(n_steps)
        before, now = now, float((0.5 - 0.5 * phase_of(flow))[inside].mean())
        if abs(now - before) < same:
            return now, True
    return now, False


def between_disks(disks: np.ndarray, shape: tuple[int, ...], degrees: float, fine: int = FINE) -> Reference:
    """Exact menisci between disks, (m, 3) places x, y and radii R, and walls beside the first and the last row (ny).

    A meniscus of radius r meets a disk with the contact angle theta if its centre is at sqrt(r^2 + R^2 + 2 r R
    cos(theta)) from that of the disk, and a plane at r cos(theta). A throat holds it while two such lines cross; its
    pressure has its maximum, sigma / r, where they touch, behind the narrowest place.
    """
    _, ny, nx = shape
    y, x = (np.indices((ny * fine, nx * fine)) + 0.5) / fine - 0.5
    cosine = np.cos(np.deg2rad(degrees))
    fluid = (y > 0.5) & (y < ny - 1.5)
    held_by = [(y - 0.5) / cosine, (ny - 1.5 - y) / cosine]
    for x_0, y_0, own in disks:
        power = (x - x_0) ** 2 + (y - y_0) ** 2 - own**2
        fluid &= power > 0.0
        held_by.append(np.sqrt(np.maximum(power + (own * cosine) ** 2, 0.0)) - own * cosine)
    nearest, second = np.partition(held_by, 1, axis=0)[:2]
    is_between = second - nearest < BETWEEN_WALLS / fine
    return Reference(fluid[None], np.where(is_between, 0.5 * (nearest + second), nearest)[None], fine)


def _opening(fluid: np.ndarray) -> Reference:
    """Distances from walls, also from those beside the box."""
    around = [(int(size > 1),) * 2 for size in fluid.shape[:2]] + [(0, 0)]
    own = tuple(slice(before, before + size) for (before, _), size in zip(around, fluid.shape, strict=True))
    return Reference(fluid, distance_transform_edt(np.pad(fluid, around))[own] - 0.5)


def reached(pores: Reference, radii: np.ndarray, room: int) -> np.ndarray:
    """Share of pores between two rooms within menisci of falling radii that come from the inlet, where nothing is
    trapped; uses nothing of the package."""
    fluid, widest, fine = pores
    shares = []
    for radius in radii:
        parts, _ = label(fluid & (widest >= radius), np.ones((3,) * fluid.ndim))
        entered = np.unique(parts[..., 0])
        beyond = distance_transform_edt(~np.isin(parts, entered[entered > 0]))
        shares.append(_share_between(fluid & (beyond <= radius * fine + 0.5), fluid, room * fine))
    return np.array(shares)


def invaded(pores: Reference, radii: np.ndarray, room: int) -> np.ndarray:
    """The same, the widest places first, but where the other fluid has lost its way to the outlet before.

    Each place that is taken fills all within the largest meniscus around it: else films would be left along walls,
    through which nothing were trapped.
    """
    fluid, widest, fine = pores
    centres, taken, trapped, seen = (np.zeros_like(fluid) for _ in range(4))
    shares, every = [], 1 + int(LOOK_AFTER * fluid.sum())
    seen[:, :, 0] = fluid[:, :, 0]
    front = [(-widest[z, y, 0], z, y, 0) for z, y in np.argwhere(seen[:, :, 0])]
    heapify(front)

    def trap(lost_if: np.ndarray) -> None:
        left, _ = label(fluid & ~taken)
        lost = np.setdiff1d(left[lost_if], left[..., -1])
        trapped[np.isin(left, lost[lost > 0])] = True

    for radius in radii:
        n_new = 0
        while front and -front[0][0] >= radius:
            place = heappop(front)[1:]
            if trapped[place]:
                continue
            centres[place], n_new = True, n_new + 1
            for near in _unseen(place, fluid, seen):
                heappush(front, (-widest[near], *near))
            _fill(taken, place, widest[place] * fine, fluid, trapped)
            if n_new % every == every - 1:
                trap(widest >= radius)
        taken[fluid & (distance_transform_edt(~centres) <= radius * fine + 0.5) & ~trapped] = True
        trap(fluid)
        shares.append(_share_between(taken, fluid, room * fine))
    return np.array(shares)


def _share_between(taken: np.ndarray, fluid: np.ndarray, room: int) -> float:
    """Share of the pores between two rooms."""
    return float(taken[..., room:-room].sum() / fluid[..., room:-room].sum())


def _fill(taken: np.ndarray, place: tuple[int, ...], radius: float, fluid, trapped) -> None:
    """Take what is free within a radius [cells] of a place."""
    around = tuple(slice(max(int(x - radius), 0), int(x + radius) + 1) for x in place)
    begins = zip(around, place, taken.shape, strict=True)
    steps = np.ogrid[tuple(slice(each.start - x, min(each.stop, n) - x) for each, x, n in begins)]
    taken[around] |= fluid[around] & ~trapped[around] & (sum(step**2 for step in steps) <= radius**2)


def _unseen(place: tuple[int, ...], fluid: np.ndarray, seen: np.ndarray) -> list[tuple[int, ...]]:
    """Places of pores around one that had not been seen; they have now."""
    around = tuple(slice(max(x - 1, 0), x + 2) for x in place)
    found = np.argwhere(fluid[around] & ~seen[around]) + [each.start for each in around]
    seen[around] |= fluid[around]
    return [tuple(each) for each in found.tolist()]


def rooms(pitch: int, n_across: int, n_along: int, before: int) -> tuple[np.ndarray, np.ndarray]:
    """(nz, ny, nx) round rooms on a cubic lattice, joined by round throats, which become narrower along x by a fifth
    and more, so that no pressure takes two layers at once; and the radius that passes, exact on the axes of throats.

    At the sharp edge where a throat of radius r ends in a room a meniscus holds 2 sigma / r.
    """
    rng = np.random.default_rng(3)
    fluid = np.zeros((n_across * pitch, n_across * pitch, n_along * pitch + 2 * before), dtype=bool)
    fluid[..., :before] = fluid[..., -before:] = True
    widest = np.zeros(fluid.shape)
    places_of = np.ogrid[tuple(slice(0, n) for n in fluid.shape)]
    for cell in product(range(n_across), range(n_across), range(n_along)):
        centre = (np.array(cell) + 0.5) * pitch + np.array([0, 0, before])  # on a node, as are centres of spheres
        away = [(place - x) for place, x in zip(places_of, centre, strict=True)]
        squared = sum(x**2 for x in away)
        fluid |= squared < (0.42 * pitch) ** 2
        widest = np.maximum(widest, 0.42 * pitch - np.sqrt(squared))
        for axis in range(3):
            radius = pitch * (0.35 - 0.06 * cell[2]) * rng.uniform(0.97, 1.03)
            squared = sum(x**2 for other, x in enumerate(away) if other != axis)
            begins = cell[axis] > 0 or axis == 2
            ends = pitch if axis == 2 and cell[2] == n_along - 1 else 0
            along = (away[axis] >= (-pitch if begins else 0)) & (away[axis] <= ends)
            fluid |= (squared < radius**2) & along
            widest = np.maximum(widest, np.where(along, radius - np.sqrt(squared), 0.0))
    return fluid, np.maximum(widest, _opening(fluid).widest)


@case("two-fluid-throats", "exact: two disks hold a meniscus up to sigma cos(b) / (h + R (1 - cos(theta - b)))")
def throats(settings: Settings) -> Iterator:
    """The largest pressure of a meniscus that is driven slowly between two disks, over the exact one.

    Of disks of radius R with a gap of 2 h: sin(b) = R sin(theta) / (R + h); the mean over their places among voxels.
    """
    refuse_half(settings)
    for (radius, half), degrees in QUICK_THROATS if settings.quick else THROATS:
        at = QUICK_DISK_PLACES if settings.quick else DISK_PLACES
        found = [_holds(settings, radius, half, degrees, each) for each in at]
        name = f"R = {radius}, gap {2 * half}, {degrees:g} degrees ({min(found):.3f} to {max(found):.3f})"
        yield relative(f"{name}: pressure over the exact one", 1.0, float(np.mean(found)), THROAT_TOLERANCE)


def held(radius: float, half: float, degrees: float) -> float:
    """The pressure that two disks hold."""
    angle = np.deg2rad(degrees)
    behind = np.arcsin(radius * np.sin(angle) / (radius + half))
    return TENSION * np.cos(behind) / (half + radius * (1.0 - np.cos(angle - behind)))


def _holds(settings: Settings, radius: int, half: int, degrees: float, at: float) -> float:
    """Largest pressure between the images of a disk whose centre lies at so much of a voxel, over the exact one."""
    width, before = 2 * (radius + half), radius + 6
    y, x = np.indices((width, before + radius + half + 12))
    centre = before + at - 0.5, radius + half + 0.7 * at - 0.5
    fluid = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 > (radius + 1e-6) ** 2
    voxels = Voxels(flags_where(fluid[None]), periodic=(False, True, False))
    speed = THROAT_SPEED * 2 * half / width
    ends = [{"name": "inlet", "velocity_m_s": speed, "second_fluid": 1.0}, {"name": "outlet", "pressure_pa": 0.0}]
    start = _fluids(degrees) | up_to(centre[0] - 0.35 * radius)
    flow, trace = displacing(settings, build_nodes(with_ends(voxels, "x", "open")), ends, start, NU), [0.0]
    volume = 0.4  # that enters until one looks again
    to_the_gap = int(0.7 * radius * half / volume)
    while len(trace) < to_the_gap or trace[-1] > 0.95 * max(trace[to_the_gap // 2 :]):
        flow.step(int(volume / (speed * width)))
        trace.append(on_root(flow.openings())["inlet"].mean_pressure_pa)
    return max(trace[to_the_gap // 2 :]) / held(radius, half, degrees)


CASES = (drainage, throats)
