"""Two fluids that displace each other in pores, against exact and published numbers: the jump of a meniscus out of a
slit, drainage by steps of pressure against morphological opening, regimes of displacement (Lenormand, Touboul, Zarcone,
J. Fluid Mech. 189, 165 (1988); Huang, Huang, Lu, Phys. Rev. E 90 (2014)), drops of a T-junction (Garstecki, Fuerstman,
Stone, Whitesides, Lab Chip 6, 437 (2006)), and bits that depend neither on restarts nor on axes nor on ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import pairwise, product

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import end_openings, flags_where, with_ends
from muphy_lb.geometry.voxels import Opening, Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.changes import changed
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.two_fluid.common import NU, phase_of, refuse_half

TENSION = 0.05  # so that capillary numbers are small and steps few
JUMP, QUICK_JUMP, JUMP_ANGLE, JUMP_TOLERANCE = (24, 48, 60, 4e-4), (12, 24, 40, 5e-4), 60.0, 0.05
DRAINING_ANGLE, DRAINED_TOLERANCE, SAME = 30.0, 0.05, 1e-3
BETWEEN = 24  # radii from the first to the last one, at which fluid may lose its way
RADII = (0.24, 0.16, 0.14, 0.12, 0.10, 0.08)  # of disks that enter, over the distance of those of the rock
#: Distance of the disks, most steps at a pressure, radii. Quick: a pressure at which rooms are entered, and no throat.
LOOK_AFTER = 2e-3  # share of the pores that is invaded until fluid that has lost its way is looked for
#: The same of rooms in space; radii at which opening at once and in order are alike.
ROOMS_ANGLE = 10.0  # a meniscus at the end of a throat holds 2 sigma / r, whatever the angle
ROOMS: tuple[tuple[int, int, tuple[float, ...]], ...] = ((24, 80_000, (0.38, 0.32, 0.26, 0.2, 0.15)),)
BEFORE_ROOMS = 8
ROCKS: tuple[tuple[int, int, tuple[float, ...]], ...] = (40, 60_000, RADII), (64, 100_000, RADII)
QUICK_ROCKS: tuple[tuple[int, int, tuple[float, ...]], ...] = ((16, 16_000, RADII[:1]),)
#: Name, viscosity of the fluid that enters over that of the other, capillary number of what enters, tension.
REGIMES = ("stable", 10.0, 0.03, 0.01), ("capillary fingers", 1.0, 1e-3, 0.1), ("viscous fingers", 0.02, 6e-4, 0.018)
#: Width and depth, ratios of the flows. Quick: a plane, in which threads do not break.
JUNCTION, QUICK_JUNCTION = (16, 16, (0.25, 0.5, 1.0, 1.5)), (10, 1, (0.5,))
JUNCTION_SPEED, JUNCTION_SLOPE = 2.5e-3, 0.15


def displacing(settings: Settings, nodes: NodeList, ends, two_fluid: Mapping, nu=NU, **tables) -> Solver:
    """Two fluids among nodes with openings."""
    own = {"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": NU, **two_fluid}
    make = partial(Solver, nodes=nodes)
    return lattice_simulation(settings, {"shape": "channel"}, nu, make=make, two_fluid=own, openings=ends, **tables)


def between_ends(fluid: np.ndarray) -> NodeList:
    """Nodes of an image (nz, ny, nx) with an inlet and an outlet at the ends of x."""
    return build_nodes(with_ends(Voxels(flags_where(fluid)), "x", "open"))


def places(flow: Solver) -> np.ndarray:
    """(n, 3) voxels (x, y, z) of the nodes in the image, which has further layers for its openings in the flow."""
    nodes = whole_nodes(flow)
    return nodes.coordinates() + np.rint(nodes.origin_m).astype(int)


def up_to(x: float) -> dict:
    """The second fluid at the start, from the inlet to a place."""
    return {"second": [{"box_m": [[-9.0, -9.0, -9.0], [x, 9999.0, 9999.0]]}]}


@case("two-fluid-jump", "exact: 2 sigma cos(theta) (1 / H_1 - 1 / H_2) less when a meniscus jumps into a wider slit")
def jump(settings: Settings) -> Iterator:
    """The pressure at the inlet before and behind a step into a wider slit, at a constant flow rate.

    The fluid that enters does not wet; at equal viscosities the pressure of the flow itself stays.
    """
    refuse_half(settings)
    narrow, wide, length, speed = QUICK_JUMP if settings.quick else JUMP
    fluid = np.zeros((1, wide + 2, 2 * length), dtype=bool)
    fluid[:, 1:-1, length:] = True
    fluid[:, 1 + (wide - narrow) // 2 : 1 + (wide + narrow) // 2, :length] = True
    ends = [{"name": "inlet", "velocity_m_s": speed, "second_fluid": 1.0}, {"name": "outlet", "pressure_pa": 0.0}]
    start = {"contact_angle_deg": JUMP_ANGLE} | up_to(0.4 * length)
    flow = displacing(settings, between_ends(fluid), ends, start)
    filled: list[float] = []
    pressure: list[float] = []
    while not filled or filled[-1] < length * (narrow + 0.75 * wide):
        flow.step(int(length / speed) // 20)
        filled.append(float((0.5 - 0.5 * phase_of(flow)).sum()))
        pressure.append(on_root(flow.openings())["inlet"].mean_pressure_pa)
    places, trace = np.array(filled), np.array(pressure)
    before = trace[(places > 0.55 * length * narrow) & (places < 0.8 * length * narrow)].mean()
    behind = trace[places > length * (narrow + 0.5 * wide)].mean()
    exact = 2.0 * TENSION * np.cos(np.deg2rad(JUMP_ANGLE)) * (1.0 / narrow - 1.0 / wide)
    yield relative(f"H = {narrow}, {wide}: fall of the pressure", exact, before - behind, JUMP_TOLERANCE)


@case("two-fluid-drainage", "morphological opening (Hilpert, Miller, Adv. Water Resour. 24, 243 (2001)), in order")
def drainage(settings: Settings) -> Iterator:
    """The drained share of pores at rising pressures, beside that which disks or spheres reach from the inlet.

    Their radius is sigma cos(theta) / p in a plane and 2 sigma cos(theta) / p in space (:func:`invaded`).
    """
    refuse_half(settings)
    for pitch, most, radii in QUICK_ROCKS if settings.quick else ROCKS:
        fluid = rock(pitch, 4, 5, 0.32 * pitch, pitch // 2)[None]
        yield from _drainage(settings, f"disks {pitch} apart", fluid, (pitch, pitch // 2), radii, most)
    for pitch, most, radii in () if settings.quick else ROOMS:
        fluid = rooms(pitch, 2, 4, BEFORE_ROOMS)
        yield from _drainage(settings, f"rooms {pitch} apart", fluid, (pitch, BEFORE_ROOMS), radii, most)


def _drainage(settings: Settings, name: str, fluid: np.ndarray, sizes, radii: tuple[float, ...], most: int) -> Iterator:
    """Rows of a rock (nz, ny, nx) between rooms. ``sizes``: pitch, and length of these rooms; ``radii``: over it."""
    pitch, room = sizes
    ends = [{"name": "inlet", "pressure_pa": 0.0, "second_fluid": 1.0}]
    ends += [{"name": "outlet", "pressure_pa": 0.0, "blocks_second": True}]
    degrees, curvatures, lattice = (DRAINING_ANGLE, 1, "D2Q9") if fluid.shape[0] == 1 else (ROOMS_ANGLE, 2, "D3Q19")
    start = {"contact_angle_deg": degrees} | up_to(room - 3.0)
    flow = displacing(settings, between_ends(fluid), ends, start, lattice={"name": lattice})
    x = places(flow)[:, 0]
    inside = (x >= room) & (x < fluid.shape[2] - room)
    path = _between(np.array(radii) * pitch)
    shares = invaded(fluid, path, slice(room, -room)), invaded(fluid, path, slice(room, -room), at_once=True)
    for radius, share, at_once in zip(path, *shares, strict=True):
        pressure = curvatures * TENSION * np.cos(np.deg2rad(degrees)) / radius
        flow = changed(flow, {"openings.inlet.pressure_pa": float(pressure)})
        found = _rested(flow, inside, most)
        if np.isclose(radius, np.array(radii) * pitch).any():
            text = f"{name}, radius {radius:.3g}: drained (all at once {at_once:.2f})"
            yield absolute(text, share, found, DRAINED_TOLERANCE)


def _between(radii: np.ndarray) -> np.ndarray:
    """(m,) radii that fall, and ``BETWEEN`` others from the first to the last one."""
    between = np.geomspace(radii.max(), radii.min(), BETWEEN) if len(radii) > 1 else radii[:0]
    return np.unique(np.concatenate([radii, between[1:-1]]))[::-1]


def _rested(flow: Solver, inside: np.ndarray, most: int) -> float:
    """Saturation of the second fluid at some nodes once it stays, or after so many steps."""
    before, now = -1.0, 0.0
    for _ in range(20):
        flow.step(most // 20)
        before, now = now, float((0.5 - 0.5 * phase_of(flow))[inside].mean())
        if abs(now - before) < SAME / 10:
            break
    return now


def rock(pitch: int, n_across: int, n_along: int, radius: float, room: int) -> np.ndarray:
    """(ny, nx) pores between disks of several radii on a triangular lattice that is shaken, between two rooms."""
    rng, columns = np.random.default_rng(3), 0.866 * pitch * np.arange(n_along)
    fluid = np.ones((n_across * pitch, int(columns[-1] + pitch) + 2 * room), dtype=bool)
    y, x = np.indices(fluid.shape)
    for i, j in product(range(n_along), range(n_across + 1)):
        shaken = np.array([columns[i] + 0.5 * pitch + room, (j - 0.5 * (i % 2)) * pitch])
        shaken += rng.uniform(-0.12, 0.12, 2) * pitch
        fluid &= (x - shaken[0]) ** 2 + (y - shaken[1]) ** 2 > (radius * rng.uniform(0.8, 1.2)) ** 2
    fluid[[0, -1]] = False
    return fluid


def rooms(pitch: int, n_across: int, n_along: int, before: int) -> np.ndarray:
    """(nz, ny, nx) round rooms on a cubic lattice, joined by round throats, which become narrower along x by a fifth
    and more, so that no pressure takes two layers at once."""
    rng = np.random.default_rng(3)
    fluid = np.zeros((n_across * pitch, n_across * pitch, n_along * pitch + 2 * before), dtype=bool)
    fluid[..., :before] = fluid[..., -before:] = True
    places_of = np.ogrid[tuple(slice(0, n) for n in fluid.shape)]
    for cell in product(range(n_across), range(n_across), range(n_along)):
        centre = (np.array(cell) + 0.5) * pitch + np.array([0, 0, before])  # on a node, as are centres of spheres
        away = [(place - x) for place, x in zip(places_of, centre, strict=True)]
        fluid |= sum(x**2 for x in away) < (0.42 * pitch) ** 2
        for axis in range(3):
            radius = pitch * (0.35 - 0.06 * cell[2]) * rng.uniform(0.97, 1.03)
            beside = sum(x**2 for other, x in enumerate(away) if other != axis) < radius**2
            begins = cell[axis] > 0 or axis == 2
            ends = pitch if axis == 2 and cell[2] == n_along - 1 else 0
            fluid |= beside & (away[axis] >= (-pitch if begins else 0)) & (away[axis] <= ends)
    return fluid


def invaded(fluid: np.ndarray, radii: np.ndarray, inside: slice, at_once: bool = False) -> np.ndarray:
    """Share of the pores (nz, ny, nx) that disks or spheres of falling radii reach from the inlet, the widest places
    first, but where the other fluid has lost its way to the outlet before; uses nothing of the package. ``at_once``:
    all places that a radius reaches are taken before what has lost its way is looked for, as an opening takes them."""
    around = [(int(size > 1),) * 2 for size in fluid.shape[:2]] + [(0, 0)]  # walls beside the box
    own = tuple(slice(before, before + size) for (before, _), size in zip(around, fluid.shape, strict=True))
    depth = distance_transform_edt(np.pad(fluid, around))[own] - 0.5
    reached, drained, trapped = (np.zeros_like(fluid) for _ in range(3))
    seen, shares, every = np.zeros_like(fluid), [], fluid.size + 1 if at_once else int(LOOK_AFTER * fluid.sum())
    seen[:, :, 0] = fluid[:, :, 0]
    front = [(-depth[z, y, 0], z, y, 0) for z, y in np.argwhere(seen[:, :, 0])]
    heapify(front)

    def take(radius: float, wide: np.ndarray) -> None:
        """Fluid without a way out is trapped, if part of it is wide."""
        drained[fluid & (distance_transform_edt(~reached) <= radius + 0.5) & ~trapped] = True
        left, _ = label(fluid & ~drained)
        lost = np.setdiff1d(left[wide], left[..., -1])
        trapped[np.isin(left, lost[lost > 0])] = True

    for radius in radii:
        n_new = 0
        while front and -front[0][0] >= radius:
            place = heappop(front)[1:]
            if trapped[place]:
                continue
            reached[place], n_new = True, n_new + 1
            for near in _unseen(place, fluid, seen):
                heappush(front, (-depth[near], *near))
            if n_new % every == every - 1:
                take(radius, depth >= radius)
        take(radius, fluid)
        shares.append(drained[..., inside].sum() / fluid[..., inside].sum())
    return np.array(shares)


def _unseen(place: tuple[int, ...], fluid: np.ndarray, seen: np.ndarray) -> list[tuple[int, ...]]:
    """Places of pores around one that had not been seen; they have now."""
    around = tuple(slice(max(x - 1, 0), x + 2) for x in place)
    found = np.argwhere(fluid[around] & ~seen[around]) + [each.start for each in around]
    seen[around] |= fluid[around]
    return [tuple(each) for each in found.tolist()]


@case("two-fluid-regimes", "Lenormand et al., J. Fluid Mech. 189, 165 (1988): a front, capillary and viscous fingers")
def regimes(settings: Settings) -> Iterator:
    """Saturations at breakthrough fall from a stable front to capillary and to viscous fingers."""
    refuse_half(settings)
    (pitch, across, along), room = (8, 5, 5) if settings.quick else (12, 6, 8), 6
    found: dict[str, float] = {}
    fluid = rock(pitch, across, along, 0.3 * pitch, room)
    nodes = between_ends(fluid[None])
    for name, ratio, number, tension in REGIMES:
        enters = NU if ratio >= 1.0 else 3.0 * NU * ratio
        speed = number * tension / enters
        ends = [{"name": "inlet", "velocity_m_s": speed, "second_fluid": 1.0}, {"name": "outlet", "pressure_pa": 0.0}]
        own = {"contact_angle_deg": 45.0, "interfacial_tension_n_m": tension, "kinematic_viscosity_m2_s": enters}
        flow = displacing(settings, nodes, ends, own | up_to(room - 2.0), enters / ratio)
        found[name] = _at_breakthrough(flow, fluid, room, speed)
    for above, below in pairwise(found):
        name = f"{above} ({found[above]:.2f}) above {below} ({found[below]:.2f})"
        yield absolute(name, 1.0, float(found[above] > found[below]), 0.0)


def _at_breakthrough(flow: Solver, fluid: np.ndarray, room: int, speed: float) -> float:
    """Saturation of the second fluid between the rooms when some of it reaches the last one."""
    x = places(flow)[:, 0]
    inside, last = (x >= room) & (x < fluid.shape[1] - room), x == fluid.shape[1] - room
    window = max(1, int(fluid.sum() / fluid.shape[0] / speed / 60))
    for _ in range(100):
        flow.step(window)
        phase = phase_of(flow)
        if (phase[last] < 0.0).any():
            break
    return float((0.5 - 0.5 * phase)[inside].mean())


@case("two-fluid-junction", "Garstecki et al., Lab Chip 6, 437 (2006): T-junction, L / w = 1 + Q_d / Q_c")
def junction(settings: Settings) -> Iterator:
    """Lengths of drops at a T-junction of square channels over its width, their slope over the ratio of the flows."""
    refuse_half(settings)
    width, depth, ratios = QUICK_JUNCTION if settings.quick else JUNCTION
    lengths = []
    for ratio in ratios:
        lengths.append(_drop_length(settings, width, depth, ratio) / width)
        yield relative(f"Q_d / Q_c = {ratio:g}: length over width", 1.0 + ratio, lengths[-1], np.inf)
    if len(ratios) > 1:
        slope = np.polyfit(ratios, lengths, 1)[0]
        yield relative("slope", 1.0, slope, JUNCTION_SLOPE)


def _drop_length(settings: Settings, width: int, depth: int, ratio: float) -> float:
    """Length [voxels] of the first whole drop half a width behind the junction."""
    side, before, behind = 2 * width, 2 * width, 10 * width
    plane = np.zeros((width + side + 1, before + width + behind), dtype=bool)
    plane[1 : 1 + width] = True
    plane[1 + width :, before : before + width] = True
    fluid = np.pad(np.repeat(plane[None], depth, axis=0), [(int(depth > 1),) * 2, (0, 0), (0, 0)])
    voxels, middle = Voxels(flags_where(fluid)), 0.5 * (fluid.shape[0] - 1)
    ends = end_openings(voxels, 0, np.array([0.0, 0.5 + 0.5 * width, middle]))
    side_end = (before + 0.5 * width - 0.5, fluid.shape[1] - 0.5, middle)
    reach = 0.5 * np.hypot(width, depth) + 1.0
    ends = [Opening(each.name, each.kind, each.centre_m, each.normal, reach) for each in ends]
    ends.append(Opening("side", "inlet", side_end, (0.0, -1.0, 0.0), reach))
    values = [
        {"name": "inlet", "velocity_m_s": JUNCTION_SPEED},
        {"name": "outlet", "pressure_pa": 0.0},
        {"name": "side", "velocity_m_s": ratio * JUNCTION_SPEED, "second_fluid": 1.0},
    ]
    second = {"second": [{"box_m": [[-9.0, 1.5 * width, -9.0], [9999.0, 9999.0, 9999.0]]}], "contact_angle_deg": 20.0}
    lattice = {"name": "D3Q19" if depth > 1 else "D2Q9"}
    flow = displacing(settings, build_nodes(carve(voxels, ends)), values, second, lattice=lattice)
    place = places(flow)
    for _ in range(120):
        flow.step(int(width / JUNCTION_SPEED / 8))
        box = np.zeros(fluid.shape)
        box[tuple(place.T[::-1])] = 0.5 - 0.5 * phase_of(flow)
        part, n_parts = label(box > 0.5)
        free = [k for k in range(1, n_parts + 1) if np.nonzero(part == k)[2].min() > before + 1.5 * width]
        if free:
            x = np.nonzero(part == free[0])[2]
            line = box[fluid.shape[0] // 2, 1 + width // 2, x.min() - 3 : x.max() + 4]
            return float(line.sum())
    return np.nan


@case("two-fluid-bits", "exact: no bit of a drainage depends on restarts and ranks, and 1e-10 on the order of the axes")
def bits(settings: Settings) -> Iterator:
    """Phases in a pack on several ranks, behind a restart and with permuted axes differ by rounding at most.

    Ranks and restarts change no bit; the order of the axes changes roundings.
    """
    refuse_half(settings)
    size, n_steps = (12, 60) if settings.quick else (32, 1000)
    rng, zyx = np.random.default_rng(5), np.indices((size,) * 3).reshape(3, -1).T
    pores = np.ones((size,) * 3, dtype=bool)
    for ball in rng.uniform(0, size, (12, 3)):
        pores &= (np.linalg.norm(zyx - ball, axis=1) > 0.27 * size).reshape(pores.shape)
    pores[:, :, [0, 1, -2, -1]] = True
    phase = _drained(settings, pores, n_steps)
    if settings.communicator.size > 1:
        alone = _drained(replace(settings, communicator=SerialCommunicator()), pores, n_steps)
        name = f"{settings.communicator.size} ranks and one: largest difference of the phase"
        yield absolute(name, 0.0, float(np.nanmax(np.abs(phase - alone))), 0.0)
    again = _drained(settings, pores, n_steps, n_steps // 2)
    yield absolute("gone on with: largest difference of the phase", 0.0, float(np.nanmax(np.abs(phase - again))), 0.0)
    turned = _drained(settings, pores.transpose(2, 0, 1), n_steps, axis=2).transpose(1, 2, 0)
    worst = float(np.nanmax(np.abs(phase - turned)))
    yield absolute("axes permuted: largest difference of the phase", 0.0, worst, 1e-10)


def _drained(settings: Settings, pores: np.ndarray, n_steps: int, stop: int = 0, axis: int = 0) -> np.ndarray:
    """(nz, ny, nx) phase of a pack that a fluid has entered along an axis, NaN in the solid, on every rank; ``stop``: a
    step from whose record another flow goes on, if not 0."""
    box_m = np.array([[-9.0] * 3, [9999.0] * 3])
    box_m[1, axis] = 3.0
    ends = [{"name": "inlet", "pressure_pa": 0.04, "second_fluid": 1.0}]
    ends += [{"name": "outlet", "pressure_pa": 0.0, "blocks_second": True}]
    start = {"contact_angle_deg": 45.0, "second": [{"box_m": box_m.tolist()}]}
    nodes = build_nodes(with_ends(Voxels(flags_where(pores)), "xyz"[axis], "open"))
    flow = displacing(settings, nodes, ends, start, lattice={"name": "D3Q19"})
    flow.step(stop)
    if stop:
        flow, record = displacing(settings, nodes, ends, start, lattice={"name": "D3Q19"}), flow.state.record()
        flow.state.go_on_from(record)
    flow.step(n_steps - stop)
    box, phase = np.full(pores.shape, np.nan), flow.field("phase")
    if settings.communicator.rank == 0:
        box[tuple(places(flow).T[::-1])] = on_root(phase)
    return settings.communicator.broadcast(box)


CASES = (jump, drainage, regimes, junction, bits)
SHARED = ("two-fluid-bits",)
