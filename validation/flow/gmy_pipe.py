"""A straight pipe from a HemeLB geometry file with the wall distances stored in the file; needs ``$MUPHY_DATA``.

A body force drives the flow along the axis; both openings are at pressure 0. Flow rate and residual pressure gradient
are evaluated over the middle half, to exclude the effects of the openings.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from muphy_lb.base.units import relaxation_time
from muphy_lb.geometry.gmy import FILE_DIRECTIONS, WALL_LINK_TYPE, read_sites
from muphy_lb.lattice import lattice_named
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.flow.permeability import DATA_VARIABLE
from muphy_lb.validation.flows import creeping, forced_flow, settled, start_from_velocity
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Validation, relative, shown
from muphy_lb.validation.references.poiseuille import pipe_flow_rate, pipe_velocity
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "Hagen-Poiseuille, Q = pi R^4 g / (8 nu); the pipe of the file has flat facets inside the circle of 5 um (15.0015"
    " voxels), and R is the mean distance of its walls from the axis; file: github.com/hemelb-codes/hemelb"
)
FILE = "pipe_hemelb/cyl_l100_r5.gmy"
CENTRE = 15.5  # of the axis, in sites along x and y, as 5.16615 um / 0.3333 um
NOMINAL_RADIUS = 5.0 / 0.3333
NU = 1.0 / 6.0
CENTRE_VELOCITY = 0.02
OPENINGS = ({"name": "inlet_0", "pressure_pa": 0.0}, {"name": "outlet_0", "pressure_pa": 0.0})
RULES = ("half-way", "bouzidi", "central-linear")
TOLERANCE = 0.005
SETTLED = 1e-6


@dataclass(frozen=True)
class PipeFlow:
    """Steady flow of the pipe."""

    radius: float  # mean distance of the walls from the axis [voxels]
    # flow rate over that of Hagen and Poiseuille for this radius, the driving force less the pressure gradient
    ratio: float
    r: np.ndarray  # r, velocity: distance from the axis [voxels] and velocity along it of the nodes of the middle layer
    velocity: np.ndarray
    force: float  # the driving force


def gmy_pipe(settings: Settings = DEFAULT) -> Validation:
    """Flow rate of a pipe with the wall distances of a HemeLB file, for every wall rule; full size only."""
    path = Path(os.environ.get(DATA_VARIABLE) or "", FILE)
    if not os.environ.get(DATA_VARIABLE) or not path.is_file():
        return Validation("gmy-pipe", CITATION, skipped=f"no {FILE} in ${DATA_VARIABLE}")
    if settings.quick:
        return Validation("gmy-pipe", CITATION, skipped="212,400 nodes are too many for --quick")
    flows = {rule: pipe_flow(path, rule, settings) for rule in possible_rules(RULES, settings)}
    half_way, *interpolated = flows.items()
    rows = [
        relative(f"flow rate / Hagen-Poiseuille, {rule}", 1.0, flow.ratio, TOLERANCE) for rule, flow in interpolated
    ]
    rows.append(shown(f"flow rate / Hagen-Poiseuille, {half_way[0]}", 1.0, half_way[1].ratio))
    for rule, flow in flows.items():
        nominal = flow.ratio * (flow.radius / NOMINAL_RADIUS) ** 4
        rows.append(shown(f"the same for R = 5 um, {rule}", 1.0, nominal))
    left_out = left_out_rules(RULES, settings)
    return Validation("gmy-pipe", CITATION, tuple(rows), plots=(_plot(flows),), left_out=left_out)


def pipe_flow(path: Path, rule: str, settings: Settings = DEFAULT) -> PipeFlow:
    """The steady flow with a wall rule, started from the analytical solution."""
    force = 4.0 * NU * CENTRE_VELOCITY / NOMINAL_RADIUS**2
    tau = relaxation_time(NU, float(lattice_named("D3Q19").cs2))
    geometry = {"file": str(path.resolve())}
    tables = {**creeping(rule), "openings": OPENINGS}
    simulation = forced_flow(geometry, tau, (0.0, 0.0, -force), settings=settings, tables=tables)
    r = np.hypot(*(simulation.nodes.positions_m()[:, :2] - CENTRE).T)
    radius = wall_radius(path)
    along = -pipe_velocity(np.minimum(r, radius), radius, force, NU)
    start_from_velocity(simulation, np.outer(along, (0.0, 0.0, 1.0)))
    velocity = -settled(simulation, lambda: simulation.velocity_m_s()[:, 2], radius, SETTLED)
    return _middle_section(simulation, velocity, r, radius, force)


def wall_radius(path: Path) -> float:
    """Mean distance [voxels] from the axis of the points where the links of the file intersect the wall."""
    _, links = read_sites(path)
    walls = links.where(links.kind == WALL_LINK_TYPE)
    points = walls.site + walls.distance[:, np.newaxis] * FILE_DIRECTIONS[walls.direction]
    return float(np.hypot(*(points[:, :2] - CENTRE).T).mean())


def _middle_section(simulation: Simulation, velocity, r, radius: float, force: float) -> PipeFlow:
    layer = simulation.nodes.coordinates()[:, 2].astype(np.int64)
    low, high = np.quantile(layer, (0.25, 0.75)).astype(np.int64)
    kept = (layer >= low) & (layer < high)
    layers, index = np.unique(layer[kept], return_inverse=True)
    pressure = np.bincount(index, simulation.pressure_pa()[kept]) / np.bincount(index)
    gradient = np.polyfit(layers, pressure, 1)[0]
    flow_rate = velocity[kept].sum() / layers.size
    middle = layer == layers[layers.size // 2]
    ratio = flow_rate / pipe_flow_rate(radius, force + gradient, NU)
    return PipeFlow(radius, float(ratio), r[middle], velocity[middle], force)


def _plot(flows: dict[str, PipeFlow]) -> Plot:
    first = next(iter(flows.values()))
    r = np.linspace(0.0, first.radius, 60)
    line = Series("Hagen-Poiseuille", r, pipe_velocity(r, first.radius, first.force, NU))
    points = [Series(rule, flow.r, flow.velocity, "points") for rule, flow in flows.items()]
    return Plot("HemeLB pipe, middle section", "distance from the axis [voxels]", "velocity", (line, *points))
