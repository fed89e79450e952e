"""Drainage of pores by steps of pressure, against morphological opening (Hilpert, Miller, Adv. Water Resour. 24, 243
(2001)) and the exact quasi-static menisci between disks (as in Cieplak, Robbins, Phys. Rev. B 41, 11508 (1990)), and
single throats.

A step enters all throats that it opens at once, at speeds that viscosities set, and what loses its way within a jump
depends on which pore is filled first. So what is drained is judged twice: beside references that know nothing of the
flow, of which an opening traps what a whole step cuts off and menisci in order what the widest place first does
(Wilkinson, Willemsen, J. Phys. A 16, 3365 (1983)); and, to tell statics from order, beside what both reach in the pores
that the flow itself has not cut off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import product, repeat
from typing import NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.shape_parts import flags_where, with_ends
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.measure.flow_view import on_root
from muphy_lb.run.changes import changed
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.two_fluid.common import phase_of, refuse_half
from muphy_lb.validation.two_fluid.pores import between_ends, disks_of_rock, displacing, places, rock, up_to

ANGLE, TOLERANCE = 30.0, 0.05
NU, TENSION = 1.0 / 30.0, 0.1  # so that what drains just above the pressure of a throat takes fewer steps
#: Steps over the distance of the disks until one looks again, what a saturation at rest changes by then, most looks.
LOOK_STEPS, SAME, LOOKS = 75, 2e-5, 80
#: A meniscus at the end of a throat in a room holds 2 sigma / r, whatever the angle.
ROOMS_ANGLE = 10.0
BETWEEN = 24  # radii from the first to the last one, at which fluid may lose its way
LOOK_AFTER = 2e-3  # share of the pores that is invaded until fluid that has lost its way is looked for
#: Cells a voxel for exact menisci; what two walls hold differs by fewer cells where half-way between them is in a cell.
FINE, BETWEEN_WALLS = 2, 1.2
#: Distance of the disks, radii of disks that enter, over it, and number of rocks. Quick: a pressure at which rooms are
#: entered, and no throat.
RADII = (0.24, 0.17, 0.16, 0.14, 0.13, 0.12, 0.10, 0.08)
ROCKS: tuple[tuple[int, tuple[float, ...], int], ...] = (40, RADII, 1), (64, RADII, 1), (32, RADII, 12)
QUICK_ROCKS: tuple[tuple[int, tuple[float, ...], int], ...] = ((16, RADII[:1], 2),)
#: The same of rooms in space, and of layers of disks whose throats become narrower, so that no pressure opens two.
ROOMS: tuple[tuple[int, tuple[float, ...]], ...] = ((24, (0.38, 0.32, 0.26, 0.2, 0.15)),)
BEFORE_ROOMS = 8
LAYERS = ((40, (0.215, 0.172, 0.141, 0.115)),)
HALF_GAPS = (0.2, 0.164, 0.134, 0.11)  # of the throats in these layers, over the distance of the disks
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
    """A flow that drains: its name, contact angle, pores (nz, ny, nx), length of the rooms at both ends, distance of
    the disks, and how wide it is for menisci."""

    name: str
    degrees: float
    fluid: np.ndarray
    room: int
    pitch: int
    exact: tuple[Reference, ...]  # of each of the rocks beside each other, along y

    def each(self, of_all: np.ndarray) -> list[np.ndarray]:
        """The part of every rock."""
        return np.split(of_all, len(self.exact), axis=1)

    def mean(self, of_each: list) -> np.ndarray:
        """Share of all pores, from the shares of the pores of every rock."""
        volumes = [each[..., self.room : -self.room].sum() for each in self.each(self.fluid)]
        return np.average(of_each, axis=0, weights=volumes)

    @property
    def curvatures(self) -> int:
        """1 in a plane, 2 in space."""
        return 1 if self.fluid.shape[0] == 1 else 2


@case("two-fluid-drainage", "morphological opening (Hilpert, Miller 2001); exact menisci between disks, in order")
def drainage(settings: Settings) -> Iterator:
    """The drained share of pores at rising pressures, beside those of morphological opening and of exact menisci.

    The radius of an opening is sigma cos(theta) / p in a plane and 2 sigma cos(theta) / p in space (:func:`invaded`).
    """
    refuse_half(settings)
    for pitch, radii, n_rocks in QUICK_ROCKS if settings.quick else ROCKS:
        yield from _drainage(settings, rocks(pitch, n_rocks), radii)
    if settings.quick:
        return
    for pitch, radii in LAYERS:
        yield from _drainage(settings, layers(pitch), radii)
    for pitch, radii in ROOMS:
        fluid, widest = rooms(pitch, 2, 4, BEFORE_ROOMS)
        own = Drained(f"rooms {pitch}", ROOMS_ANGLE, fluid, BEFORE_ROOMS, pitch, (Reference(fluid, widest),))
        yield from _drainage(settings, own, radii)


def rocks(pitch: int, n_rocks: int) -> Drained:
    """Rocks of disks beside each other, with walls between: what a jump cuts off depends on its order and is a tenth of
    a rock and more, which their mean is not."""
    exact = []
    for seed in range(3, 3 + n_rocks):
        sizes = pitch, 4, 5, 0.32 * pitch, pitch // 2, seed
        fluid = rock(*sizes)[None]
        exact.append((fluid, between_disks(disks_of_rock(*sizes), fluid.shape, ANGLE)))
    name = f"disks {pitch}" if n_rocks == 1 else f"{n_rocks} rocks of disks {pitch}"
    fluids, references = zip(*exact, strict=True)
    return Drained(name, ANGLE, np.concatenate(fluids, axis=1), pitch // 2, pitch, references)


def _drainage(settings: Settings, own: Drained, radii: tuple[float, ...]) -> Iterator:
    """Rows of a flow at radii of openings over the distance of the disks."""
    path, cosine, room = _between(np.array(radii) * own.pitch), np.cos(np.deg2rad(own.degrees)), own.room
    asked = np.isclose(path[:, None], np.array(radii) * own.pitch).any(axis=1)
    openings = tuple(_opening(each) for each in own.each(own.fluid))
    alone = (
        own.mean([invaded(each, path, room, at_once=True) for each in openings]),
        own.mean([invaded(each, path / cosine, room) for each in own.exact]),
    )
    is_cut_off = np.zeros_like(own.fluid)
    for k, (radius, second, share, is_at_rest) in enumerate(drained(settings, own, path)):
        if not asked[k]:
            continue
        is_cut_off = cut_off(own.fluid, second)
        name = f"{own.name} apart, radius {radius:.3g}{'' if is_at_rest else ' (not at rest)'}: drained"
        names = "opening", "exact menisci in order"
        sizes = radius, radius / cosine
        for what, of_all, size, pores in zip(names, alone, sizes, (openings, own.exact), strict=True):
            in_rest = own.mean([reached(*each, room) for each in zip(pores, own.each(is_cut_off), repeat(size))]).item()
            yield absolute(f"{name}, {what}", of_all[k], share, TOLERANCE)
            yield absolute(f"{name}, {what.split(' in')[0]} in what is not cut off", in_rest, share, TOLERANCE)
    if not settings.quick:
        left = _share_between(is_cut_off, own.fluid, room)
        yield absolute(f"{own.name} apart: cut off, exact menisci in order", 1.0 - alone[1][-1], left, TOLERANCE)


def drained(settings: Settings, own: Drained, path: np.ndarray) -> Iterator[tuple[float, np.ndarray, float, bool]]:
    """At pressures that rise, given by radii [voxels] of disks or spheres: the radius, where the second fluid is, its
    share between the rooms, and whether it rests."""
    ends = [{"name": "inlet", "pressure_pa": 0.0, "second_fluid": 1.0}]
    ends += [{"name": "outlet", "pressure_pa": 0.0, "blocks_second": True}]
    lattice = {"name": ("D2Q9", "D3Q19")[own.curvatures - 1]}
    flow = displacing(
        settings, between_ends(own.fluid), ends, _fluids(own.degrees) | up_to(own.room - 3.0), NU, lattice=lattice
    )
    place, second = places(flow), np.zeros_like(own.fluid)
    inside = (place[:, 0] >= own.room) & (place[:, 0] < own.fluid.shape[2] - own.room)
    for radius in path:
        pressure = own.curvatures * TENSION * np.cos(np.deg2rad(own.degrees)) / radius
        flow = changed(flow, {"openings.inlet.pressure_pa": float(pressure)})
        share, is_at_rest = _rested(flow, inside, LOOK_STEPS * own.pitch)
        second[tuple(place.T[::-1])] = phase_of(flow) < 0.0
        yield float(radius), second, share, is_at_rest


def _fluids(degrees: float) -> dict:
    """Two fluids of equal viscosity."""
    return {"contact_angle_deg": degrees, "kinematic_viscosity_m2_s": NU, "interfacial_tension_n_m": TENSION}


def _between(radii: np.ndarray) -> np.ndarray:
    """(m,) radii that fall, and ``BETWEEN`` others from the first to the last one."""
    between = np.geomspace(radii.max(), radii.min(), BETWEEN) if len(radii) > 1 else radii[:0]
    return np.unique(np.concatenate([radii, between[1:-1]]))[::-1]


def _rested(flow: Solver, inside: np.ndarray, n_steps: int) -> tuple[float, bool]:
    """Saturation of the second fluid at some nodes once it stays for so many steps, and whether it does."""
    before, now = -1.0, 0.0
    for _ in range(LOOKS):
        flow.step(n_steps)
        before, now = now, float((0.5 - 0.5 * phase_of(flow))[inside].mean())
        if abs(now - before) < SAME:
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


def cut_off(fluid: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Nodes of the first fluid that are not connected with the last layer along x."""
    parts, _ = label(fluid & ~second)
    ways = np.unique(parts[..., -1])
    return fluid & ~second & ~np.isin(parts, ways[ways > 0])


def reached(pores: Reference, is_cut_off: np.ndarray, radius: float, room: int) -> float:
    """Share of pores between two rooms within menisci of a radius [voxels] that come from the inlet, through places
    that are not cut off; uses nothing of the flow but these."""
    fine = pores.fine
    is_free = pores.fluid & ~np.kron(is_cut_off, np.ones((1, fine, fine), dtype=bool))
    parts, _ = label(is_free & (pores.widest >= radius), np.ones((3, 3, 3)))
    entered = np.unique(parts[..., 0])
    beyond = distance_transform_edt(~np.isin(parts, entered[entered > 0]))
    return _share_between(is_free & (beyond <= radius * fine + 0.5), pores.fluid, room * fine)


def _share_between(taken: np.ndarray, fluid: np.ndarray, room: int) -> float:
    """Share of the pores between two rooms."""
    return float(taken[..., room:-room].sum() / fluid[..., room:-room].sum())


def invaded(pores: Reference, radii: np.ndarray, room: int, at_once: bool = False) -> np.ndarray:
    """Share of pores between two rooms that menisci of falling radii reach from the inlet, the widest places first, but
    where the other fluid has lost its way to the outlet before; uses nothing of the package. ``at_once``: all places
    that a radius reaches are taken before what has lost its way is looked for, as an opening takes them.

    Else each place that is taken fills all within the largest meniscus around it: films would be left along walls,
    through which nothing were trapped.
    """
    fluid, widest, fine = pores
    centres, taken, trapped, seen = (np.zeros_like(fluid) for _ in range(4))
    shares, every = [], fluid.size + 1 if at_once else 1 + int(LOOK_AFTER * fluid.sum())
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
            if not at_once:
                _fill(taken, place, widest[place] * fine, fluid, trapped)
            if n_new % every == every - 1:
                trap(widest >= radius)
        taken[fluid & (distance_transform_edt(~centres) <= radius * fine + 0.5) & ~trapped] = True
        trap(fluid)
        shares.append(_share_between(taken, fluid, room * fine))
    return np.array(shares)


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


def layers(pitch: int, n_across: int = 2) -> Drained:
    """Staggered columns of equal disks, whose throats become narrower from column to column, so that what a pressure
    reaches does not depend on the order, and nothing is trapped but between disks."""
    room, disks = pitch // 2, []
    for i, half in enumerate(HALF_GAPS):
        places_y = np.arange(n_across + 1) - 0.5 * (i % 2)
        disks += [
            (room + (i + 0.5) * pitch, each * pitch + 0.5 * (pitch - 1), (0.5 - half) * pitch) for each in places_y
        ]
    shape = 1, n_across * pitch, len(HALF_GAPS) * pitch + 2 * room
    y, x = np.indices(shape[1:])
    fluid = np.ones(shape[1:], dtype=bool)
    for x_0, y_0, own in disks:
        fluid &= (x - x_0) ** 2 + (y - y_0) ** 2 > own**2
    fluid[[0, -1]] = False
    exact = (between_disks(np.array(disks), shape, ANGLE),)
    return Drained(f"layers of disks {pitch}", ANGLE, fluid[None], room, pitch, exact)


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
