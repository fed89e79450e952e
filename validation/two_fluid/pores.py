"""Two fluids that displace each other in pores, against exact and published numbers: the jump of a meniscus out of a
slit, regimes of displacement (Lenormand, Touboul, Zarcone,
J. Fluid Mech. 189, 165 (1988); Huang, Huang, Lu, Phys. Rev. E 90 (2014)), drops of a T-junction (Garstecki, Fuerstman,
Stone, Whitesides, Lab Chip 6, 437 (2006)), and bits that depend neither on restarts nor on axes nor on ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
from scipy.ndimage import label

from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import end_openings, flags_where, with_ends
from muphy_lb.geometry.voxels import Opening, Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.two_fluid.common import NU, phase_of, refuse_half

TENSION = 0.05  # so that capillary numbers are small and steps few
JUMP, QUICK_JUMP, JUMP_ANGLE, JUMP_TOLERANCE = (24, 48, 60, 4e-4), (12, 24, 40, 5e-4), 60.0, 0.05
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


def rock(pitch: int, n_across: int, n_along: int, radius: float, room: int, seed: int = 3) -> np.ndarray:
    """(ny, nx) pores between disks of several radii on a triangular lattice that is shaken, between two rooms."""
    fluid = np.ones((n_across * pitch, int(0.866 * pitch * (n_along - 1) + pitch) + 2 * room), dtype=bool)
    y, x = np.indices(fluid.shape)
    for x_0, y_0, own in disks_of_rock(pitch, n_across, n_along, radius, room, seed):
        fluid &= (x - x_0) ** 2 + (y - y_0) ** 2 > own**2
    fluid[[0, -1]] = False
    return fluid


def disks_of_rock(pitch: int, n_across: int, n_along: int, radius: float, room: int, seed: int = 3) -> np.ndarray:
    """(m, 3) places x, y and radii of the disks of :func:`rock`."""
    rng, columns, disks = np.random.default_rng(seed), 0.866 * pitch * np.arange(n_along), []
    for i, j in product(range(n_along), range(n_across + 1)):
        shaken = np.array([columns[i] + 0.5 * pitch + room, (j - 0.5 * (i % 2)) * pitch])
        shaken += rng.uniform(-0.12, 0.12, 2) * pitch
        disks.append((*shaken, radius * rng.uniform(0.8, 1.2)))
    return np.array(disks)


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
    yield absolute("continued with: largest difference of the phase", 0.0, float(np.nanmax(np.abs(phase - again))), 0.0)
    turned = _drained(settings, pores.transpose(2, 0, 1), n_steps, axis=2).transpose(1, 2, 0)
    worst = float(np.nanmax(np.abs(phase - turned)))
    yield absolute("axes permuted: largest difference of the phase", 0.0, worst, 1e-10)


def _drained(settings: Settings, pores: np.ndarray, n_steps: int, stop: int = 0, axis: int = 0) -> np.ndarray:
    """(nz, ny, nx) phase of a pack that a fluid has entered along an axis, NaN in the solid, on every rank; ``stop``: a
    step from whose record another flow continues, if not 0."""
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


CASES = (jump, regimes, junction, bits)
SHARED = ("two-fluid-bits",)
