"""Two fluids in throats and dead ends, against exact numbers: snap-off in a square throat (Roof, Soc. Pet. Eng. J. 10,
85 (1970); corners: Lenormand, Zarcone, Dullien, J. Fluid Mech. 135, 337 (1983)), water in a dead end, and the film of a
train of bubbles in a round tube (Bretherton, J. Fluid Mech. 10, 166 (1961))."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.shapes.shape_parts import flags_where
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.two_fluid.common import NU, phase_of, refuse_half

TENSION, TOLERANCE, SECOND_PURE = 0.05, 0.05, 5e-4
#: Half the side of a square throat, contact angle, sides of the squares of the first fluid in its corners at the start.
THROATS = ((12, 20.0, (5, 6, 7)), (12, 10.0, (5, 6)), (24, 20.0, (11, 12, 13)), (24, 10.0, (11, 12)))
HELD = (24, 20.0, 10)
THREAD = 12, 17  # half side of a throat, and side by which the second fluid is a thread
DEAD_END_STEPS, QUICK_DEAD_END_STEPS, DEAD_END, ROOM, CHANNEL = 200_000, 10_000, (8, 18), 30, 10
STAYS = 1e-9
#: Radius of a tube, force, steps, bubbles.
TRAINS = ((24, 8e-5, 12000, 3), (24, 4e-5, 16000, 3), (24, 2e-5, 24000, 3))
QUICK_TRAINS = ((6, 6e-4, 500, 1),)  # a film thinner than the interface: told, not judged
TRAIN_NU, TRAIN_TOLERANCE = 0.3, 0.10


def _among(settings: Settings, nodes: NodeList, two_fluid: Mapping, **tables) -> Solver:
    """Two fluids of equal viscosity among nodes without openings."""
    own = {"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": NU, **two_fluid}
    make = partial(Solver, nodes=nodes)
    return lattice_simulation(settings, {"shape": "channel"}, NU, make=make, two_fluid=own, **tables)


@case(
    "two-fluid-snap-off", "exact: sigma (cos theta - sin theta) / r, at which water of four corners meets in a throat"
)
def snap_off(settings: Settings) -> Iterator:
    """The least capillary pressure of the second fluid in a square throat of half side r, over its volumes.

    While it touches the walls, corners that lose water raise the capillary pressure, and the thread is stable; where
    the menisci of the corners meet it loses the walls, the pressure is that of a cylinder and rises as it becomes
    thinner: it snaps off. Beside it: the pressure of a thread that is free, sigma over its radius.
    """
    refuse_half(settings)
    for half, degrees, sides in () if settings.quick else THROATS:
        angle = np.deg2rad(degrees)
        found = min(_in_throat(settings, half, degrees, in_corners(half, side))[0] for side in sides)
        exact = np.cos(angle) - np.sin(angle)
        yield relative(f"{degrees:g} degrees, r = {half}: pressure times r over tension", exact, found, TOLERANCE)
    if not settings.quick:
        half, degrees, side = HELD
        pressure, share = _in_throat(settings, half, degrees, in_corners(half, side))
        angle = np.deg2rad(degrees)
        rest = np.cos(angle) * (np.cos(angle) - np.sin(angle)) - 0.25 * np.pi + angle  # of a corner, over its radius^2
        name = f"{degrees:g} degrees, r = {half}, corners that hold: pressure times r over tension"
        yield relative(name, float(np.sqrt(rest / share)), pressure, TOLERANCE)
    half, side = THREAD
    low, high = half - 0.5 * side - 0.5, half + 0.5 * side - 0.5
    pressure, share = _in_throat(settings, half, 20.0, [[[low, low, -9.0], [high, high, 9.0]]])
    exact = np.sqrt(0.25 * np.pi / (1.0 - share))
    yield relative("free thread: pressure times r over tension", exact, pressure, TOLERANCE)


def in_corners(half: int, side: int) -> list:
    """Boxes of the second fluid, which leave squares of the first one in the corners of a throat."""
    low, high = side - 0.5, 2.0 * half - side - 0.5
    return [[[low, -9.0, -9.0], [high, 999.0, 9.0]], [[-9.0, low, -9.0], [999.0, high, 9.0]]]


def _in_throat(settings: Settings, half: int, degrees: float, boxes: list) -> tuple[float, float]:
    """Capillary pressure times the half side of a throat over the tension, and the saturation of the first fluid.

    The pressure falls across an interface by the share of the first fluid, which is nowhere pure in thin corners.
    """
    nodes = build_nodes(Voxels(flags_where(np.ones((1, 2 * half, 2 * half), dtype=bool))))
    flow = _among(settings, nodes, {"contact_angle_deg": degrees, "second": [{"box_m": box} for box in boxes]})
    flow.step(int(6000 * (half / 12) ** 2))
    share, density = 0.5 + 0.5 * phase_of(flow), on_root(flow.density())
    wet = share > 0.9 * share.max()
    pressure = float(np.median((np.median(density[share < SECOND_PURE]) - density[wet]) / share[wet])) / 3.0
    return pressure * half / TENSION, float(share.mean())


@case("two-fluid-dead-end", "exact: water in a dead end beside a flow of oil stays where it is")
def dead_end(settings: Settings) -> Iterator:
    """Change of the saturation of a dead end, and of its bottom, in the last tenth of the steps of a flow of oil."""
    refuse_half(settings)
    width, depth = DEAD_END
    fluid = np.zeros((1, depth + CHANNEL, ROOM), dtype=bool)
    fluid[:, depth:], fluid[:, :depth, (ROOM - width) // 2 : (ROOM + width) // 2] = True, True
    nodes = build_nodes(Voxels(flags_where(fluid), periodic=(True, False, False)))
    oil = [{"box_m": [[-9.0, depth - 6.5, -9.0], [999.0, 999.0, 9.0]]}]
    own = {"contact_angle_deg": 30.0, "second": oil, "interfacial_tension_n_m": 0.2 * TENSION}
    flow = _among(settings, nodes, own, flow={"acceleration_m_s2": [1e-5, 0.0, 0.0]})
    y, n_steps = whole_nodes(flow).coordinates()[:, 1], QUICK_DEAD_END_STEPS if settings.quick else DEAD_END_STEPS
    flow.step(n_steps - n_steps // 10)
    before = phase_of(flow)
    flow.step(n_steps // 10)
    change = 0.5 * (phase_of(flow) - before) / (n_steps // 10)
    yield absolute("bottom: change of the saturation a step", 0.0, abs(change[y < depth - 12].mean()), STAYS)
    if not settings.quick:  # the meniscus takes its shape
        yield absolute("dead end: change of the saturation a step", 0.0, abs(change[y < depth].mean()), STAYS)


@case("two-fluid-train", "Bretherton, J. Fluid Mech. 10, 166 (1961): film beside a train of three bubbles in a tube")
def train(settings: Settings) -> Iterator:
    """The films beside the middles of the bubbles of a train in a round tube, over its radius.

    1.34 Ca^(2/3) / (1 + 3.35 Ca^(2/3)), Aussillous, Quere, Phys. Fluids 12, 2367 (2000).
    """
    refuse_half(settings)
    within = np.inf if settings.quick else TRAIN_TOLERANCE
    for radius, drive, n_steps, n_bubbles in QUICK_TRAINS if settings.quick else TRAINS:
        number, films = _train(settings, radius, drive, n_steps, n_bubbles)
        expected = 1.34 * number ** (2.0 / 3.0) / (1.0 + 3.35 * number ** (2.0 / 3.0))
        yield absolute(f"bubbles at Ca = {number:.3f}", n_bubbles, len(films), 0.0)
        name = f"film at Ca = {number:.3f} ({expected * radius:.1f} voxels)"
        yield relative(name, expected, float(np.mean(films)), within)


def _train(settings: Settings, radius: int, drive: float, n_steps: int, n_bubbles: int) -> tuple[float, list[float]]:
    """Capillary number of the bubbles, and the film beside each over the radius of the tube."""
    pitch, begins = int(3.75 * radius), 0.85 * radius
    pipe = {
        "shape": "pipe",
        "options": {"length": n_bubbles * pitch, "radius": radius, "axis": "z", "ends": "periodic"},
    }
    half = 0.33 * pitch - begins
    along = [(k + 0.5) * pitch + z for k in range(n_bubbles) for z in np.arange(-half, half + 1.0, 3.0)]
    second = [{"centre_m": [float(radius), float(radius), float(z)], "radius_m": begins} for z in along]
    own = {"kinematic_viscosity_m2_s": 0.1 * TRAIN_NU, "contact_angle_deg": 10.0, "second": second}
    tables: dict = {"flow": {"acceleration_m_s2": [0.0, 0.0, drive]}, "lattice": {"name": "D3Q19"}}
    flow = lattice_simulation(settings, pipe, TRAIN_NU, two_fluid=own | {"interfacial_tension_n_m": TENSION}, **tables)
    flow.step(n_steps)
    share, u, z = 0.5 - 0.5 * phase_of(flow), on_root(flow.velocity_m_s())[:, 2], whole_nodes(flow).coordinates()[:, 2]
    number = float((share * u).sum() / share.sum() * TRAIN_NU / TENSION)
    filled = np.bincount(z, share) / np.bincount(z)
    filled = np.roll(filled, -int(filled.argmin()))  # begins between two bubbles
    inside = np.concatenate([[False], filled > 0.5 * filled.max(), [False]])
    ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)
    return number, [float(1.0 - np.sqrt(filled[a + (b - a) // 3 : b - (b - a) // 3].mean())) for a, b in ends]


CASES = (snap_off, dead_end, train)
