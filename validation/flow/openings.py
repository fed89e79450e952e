"""Pipes between two pressures: straight ones, and some at an angle to the lattice, cut by planes across them; ducts
whose section is an ellipse or an equilateral triangle of triangles, turned.

The gradient in the middle is the difference of the pressures over the distance of the planes, whatever happens at the
openings, and so is the flow rate that of Hagen and Poiseuille. Behind an inlet with a parabolic profile the flow is
developed at once, and the pressure reported at its plane is that of the gradient.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from muphy_lb.base.units import viscosity
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.implicit import ImplicitWall, RoundWall
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import flags_where, voxel_centres
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.voxels import Opening, Voxels
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.flow_view import on_root
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import DEFAULT, Settings, absolute, case, relative
from muphy_lb.validation.flows import (
    creeping,
    flow_through_openings,
    order_of_convergence,
    pipe_flow_rate,
    pipe_velocity,
    settled,
)
from muphy_lb.validation.limits import NO_ORDERS, in_half, order_at_least

LATTICE, RELAXATION_TIME, DROP = "D3Q19", 0.8, 1e-5
STRAIGHT_ALONG = (1.0, 0.0, 0.0)
DIRECTIONS: Mapping[str, tuple[float, float, float]] = {
    "along x": STRAIGHT_ALONG,
    "at 20 degrees": (1.0, float(np.tan(np.radians(20.0))), 0.0),
    "at 45 degrees": (1.0, 1.0, 0.0),
}
SIZES = ((6.3, 61.0), (12.3, 41.0))  # odd, so that planes along x lie midway between voxels
RULE = "central-linear"
# The flow rate along x at R = 6.3 is 1.4 % off, as much as walls alone err in a periodic pipe.
GRADIENT = 0.002
FLOW = {6.3: 0.015, 12.3: 0.005}
FIRST, TOLD = {6.3: 0.02, 12.3: 0.01}, 0.006
WIDTHS, DUCT_LENGTH, DUCT_FLOW = (24.0, 40.0), 31.0, 0.005
TURN, OFF_CENTRE, ASPECT, ROOM = 0.3, (0.37, -0.21), 0.625, 3
MIDDLE, BESIDE = 1.0 / 6.0, 1.0  # share of the length around the middle; voxels beside an opening
SETTLED = 1e-6


@dataclass(frozen=True)
class Between:
    """Steady flow between two pressures."""

    #: gradient, flow: over those of Hagen and Poiseuille
    gradient: float
    flow: float
    first: float  #: largest difference of the velocity beside the openings from the profile, over its maximum
    told: float  #: pressure told at the inlet less that at the outlet, over DROP


@case("openings", "Hagen-Poiseuille between two pressures: dp / L everywhere, Q = pi R^4 dp / (8 rho nu L)")
def openings(settings: Settings) -> Iterator:
    """Gradient, flow rate and first layer of pipes at three angles."""
    sizes, errors = SIZES[:1] if settings.quick else SIZES, {}
    for name, direction in DIRECTIONS.items():
        found = [between(direction, radius, length, settings) for radius, length in sizes]
        for (radius, _), flow in zip(sizes, found, strict=True):
            yield relative(f"{name}, R = {radius}: gradient / (dp / L)", 1.0, flow.gradient, GRADIENT)
            yield relative(f"{name}, R = {radius}: flow rate / exact", 1.0, flow.flow, FLOW[radius])
            if direction == STRAIGHT_ALONG:
                yield absolute(f"{name}, R = {radius}: first layer", 0.0, flow.first, FIRST[radius])
            yield relative(f"{name}, R = {radius}: pressures told / given", 1.0, flow.told, 1e-8)
        errors[name] = [abs(flow.flow - 1.0) for flow in found]
    if len(sizes) > 1:
        order = order_of_convergence([radius for radius, _ in sizes], errors["along x"])
        yield order_at_least("along x: order of the flow rate", 2.0, order, 0.3, settings)
    for name, width in product(DUCTS, WIDTHS[:0] if settings.quick else WIDTHS):
        gradient, flow_rate = duct(name, width, settings)
        yield relative(f"{name}, {width:g} voxels wide: gradient / (dp / L)", 1.0, gradient, GRADIENT)
        yield relative(f"{name}, {width:g} voxels wide: flow rate / exact", 1.0, flow_rate, DUCT_FLOW)
    for radius, length in sizes:
        flow = between(STRAIGHT_ALONG, radius, length, settings, is_given=True)
        yield absolute(f"behind an inlet, R = {radius}: first layer", 0.0, flow.first, FIRST[radius])
        yield relative(f"behind an inlet, R = {radius}: pressure told", flow.gradient, flow.told, TOLD)
    yield from in_half(settings, NO_ORDERS)


def between(direction, radius: float, length: float, settings: Settings = DEFAULT, is_given: bool = False) -> Between:
    """The flow of a pipe of a length along a direction between two pressures, or that flow given at its inlet."""
    normal = np.array(direction) / np.linalg.norm(direction)
    nodes, middle = pipe_nodes(normal, radius, length)
    nu = viscosity(RELAXATION_TIME, 1.0 / 3.0)
    given = {"flow_rate_m3_s": float(pipe_flow_rate(radius, DROP / length, nu)), "profile": "parabolic"}
    simulation = _simulation(nodes, settings, given if is_given else {"pressure_pa": 0.5 * DROP})
    settled(simulation, lambda: simulation.velocity_m_s() @ normal, radius, SETTLED)
    flow = float(np.abs(flow_through_openings(simulation)[0]))
    place = nodes.coordinates(np.arange(nodes.n_nodes)) - middle
    along = place @ normal
    r = np.sqrt(np.maximum((place**2).sum(axis=1) - along**2, 0.0))
    gradient = middle_gradient(simulation, along, length)
    velocity, force = simulation.velocity_m_s() @ normal, DROP / length
    exact = pipe_velocity(r, radius, force, nu)
    beside = np.abs(along) > 0.5 * length - BESIDE
    first = np.abs(velocity - exact)[beside].max() / pipe_velocity(0.0, radius, force, nu)
    told = [opening.mean_pressure_pa for opening in on_root(simulation.openings()).values()]
    rate = flow / pipe_flow_rate(radius, force, nu)
    return Between(gradient / force, rate, float(first), (told[0] - told[1]) / DROP)


def middle_gradient(simulation: Solver, along: np.ndarray, length: float) -> float:
    """Fall of the pressure per voxel around the middle; ``along``: (n,) distances of the nodes from it."""
    inside = np.abs(along) < MIDDLE * length
    pressure = (simulation.density() - 1.0) / 3.0
    return -float(np.polyfit(along[inside], pressure[inside], 1)[0])


def duct(name: str, width: float, settings: Settings = DEFAULT) -> tuple[float, float]:
    """Gradient over dp / L, and flow rate over the exact one, of a duct along z of a section of a width [voxels]."""
    n_layers, size = round(DUCT_LENGTH) + 2 * ROOM, int(1.25 * width) + 2 * ROOM
    centre = 0.5 * size + np.array(OFF_CENTRE)
    wall, inside, conductance = DUCTS[name](width, centre)
    fluid = inside(voxel_centres((1, size, size))[:, :2]).reshape(1, size, size)
    voxels = Voxels(flags_where(np.repeat(fluid, n_layers, axis=0)), wall_shape=wall)
    ends = [
        Opening(which, which, (*centre.tolist(), middle), (0.0, 0.0, sign), float(size))
        for which, middle, sign in (("inlet", ROOM - 0.5, 1.0), ("outlet", ROOM - 0.5 + DUCT_LENGTH, -1.0))
    ]
    nodes, _ = clean(build_nodes(carve(voxels, ends)), "openings")
    nodes = cut_links(nodes, wall, lattice_named(LATTICE).c[1:])
    simulation = _simulation(nodes, settings, {"pressure_pa": 0.5 * DROP})
    settled(simulation, lambda: simulation.velocity_m_s()[:, 2], 0.5 * width, SETTLED)
    along = nodes.coordinates(np.arange(nodes.n_nodes))[:, 2] - (ROOM - 0.5 + 0.5 * DUCT_LENGTH)
    force, flow = DROP / DUCT_LENGTH, float(np.abs(flow_through_openings(simulation)[0]))
    exact = conductance * force / viscosity(RELAXATION_TIME, 1.0 / 3.0)
    return middle_gradient(simulation, along, DUCT_LENGTH) / force, flow / exact


def _ellipse(width: float, centre: np.ndarray):
    half = np.array([0.5, 0.5 * ASPECT]) * width
    axes = np.array([[np.cos(TURN), np.sin(TURN)], [-np.sin(TURN), np.cos(TURN)]])

    def level(points):
        return 1.0 - (((points[:, :2] - centre) @ axes.T / half) ** 2).sum(axis=1)

    return ImplicitWall(level), lambda points: level(points) > 0.0, np.pi * half.prod() ** 3 / (4.0 * half @ half)


def _triangle(width: float, centre: np.ndarray):
    angle = TURN + 2.0 * np.pi / 3.0 * np.arange(4)
    corner = centre + width / np.sqrt(3.0) * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    edge = np.diff(corner, axis=0)
    low, high = (np.column_stack((corner, np.full(4, z))) for z in (-width, DUCT_LENGTH + 2 * ROOM + width))
    faces = [[(low[i], low[i + 1], high[i + 1]), (low[i], high[i + 1], high[i])] for i in range(3)]

    def inside(points):
        arm = points[:, None] - corner[:3]
        return (edge[:, 0] * arm[..., 1] - edge[:, 1] * arm[..., 0] > 0.0).all(axis=1)

    wall = SurfaceWall(np.array(faces).reshape(-1, 3, 3), (0.0, 0.0, 0.0), 1.0)
    return wall, inside, np.sqrt(3.0) * width**4 / 320.0


#: Wall, which points lie inside, and flow rate times viscosity over gradient (White, Viscous Fluid Flow (2006), 3-3.3).
DUCTS = {"ellipse": _ellipse, "equilateral triangle": _triangle}


def pipe_nodes(normal: np.ndarray, radius: float, length: float) -> tuple[NodeList, np.ndarray]:
    """Nodes of a pipe between two planes across it, and its middle [voxels]."""
    half = np.ceil(0.5 * length * np.abs(normal) + radius * np.sqrt(1.0 - normal**2) + 3.0)
    shape = tuple(int(n) for n in 2 * half[::-1] + 1)
    wall = RoundWall(half, radius, tuple(normal.tolist()))
    zyx = np.indices(shape).reshape(3, -1)
    flags = flags_where(wall.gaps(zyx[::-1].T.astype(float)).reshape(shape) < 0.0)
    voxels = Voxels(flags, origin_m=tuple((-half).tolist()), wall_shape=wall)
    ends = [
        Opening(
            name, name, tuple((-0.5 * sign * length * normal).tolist()), tuple((sign * normal).tolist()), radius + 2
        )
        for name, sign in (("inlet", 1), ("outlet", -1))
    ]
    nodes, _ = clean(build_nodes(carve(voxels, ends)), "openings")
    return cut_links(nodes, wall, lattice_named(LATTICE).c[1:]), half


def _simulation(nodes: NodeList, settings: Settings, inlet: Mapping) -> Solver:
    table = {
        "geometry": {"shape": "pipe", "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(RELAXATION_TIME, 1.0 / 3.0)},
        "lattice": {"name": LATTICE, "time_step_s": 1.0, **creeping(RULE)["lattice"]},
        "openings": [{"name": "inlet", **inlet}, {"name": "outlet", "pressure_pa": -0.5 * DROP}],
        "compute": settings.compute_table(),
        "run": {"steps": 1, "ramp_steps": 0},
    }
    return Solver(case_from_dict(table), settings.communicator, nodes)
