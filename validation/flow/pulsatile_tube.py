"""Womersley flow through a tube: profile at the inlet, a Windkessel behind the outlet, the walls where they are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.units import CS2
from muphy_lb.boundaries.lumped import windkessel
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import DEFAULT, Settings, Skipped, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation, start_along
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.references.womersley import PipeWomersley

NUMBERS, QUICK_NUMBERS = (4.0, 8.0, 12.0), (4.0,)
RADIUS, QUICK_RADIUS = 14.0, 6.0
VISCOSITY, VELOCITY = 0.005, 0.01
RULE = "central-linear"
PERIODS, N_PHASES = 2, 24
FRONT, RESISTANCE, TAU = 0.1, 1.0, 0.3
"""Of the Windkessel: resistances over the impedance of a sound wave, time constant over the period."""
TOLERANCE, PHASE = 0.03, 2.0
OUTLET_TOLERANCE, OUTLET_PHASE = 0.01, 1.0
NOT_HALF = "fp16: amplitudes of a pressure of some 1e-3 are rounded by more than what is allowed; not computed"


@dataclass(frozen=True)
class Tube:
    """Complex amplitudes of a period of the oscillating flow, lattice units."""

    flow: PipeWomersley  # what PipeWomersley gives for a unit of acceleration
    radius: np.ndarray  # (n,) distance of the nodes of the middle section from the axis
    velocity: np.ndarray  # (n,) their velocity along the tube
    rate: complex  # flow rate through the openings, the mean of both
    gradient: complex  # fall of the pressure per voxel
    outlet: tuple[complex, complex]  # what leaves through the outlet, and the pressure there
    impedance: complex  # of the Windkessel at the frequency

    @property
    def exact_velocity(self) -> np.ndarray:
        """(n,) velocity of the exact shape that carries as much through the nodes as that found."""
        inside = 1.0 - self.flow._shape(self.radius / self.flow.half_width)
        return self.velocity.sum() * inside / inside.sum()

    @property
    def exact_gradient(self) -> complex:
        """Fall of the pressure per voxel that belongs to this velocity, with density 1."""
        inside = 1.0 - self.flow._shape(self.radius / self.flow.half_width)
        return 1j * self.flow.frequency * self.velocity.sum() / inside.sum()

    @property
    def carried(self) -> float:
        """What the nodes carry over the flow rate through the openings: what crosses between a wall and the nodes
        beside it is not in their velocities."""
        return float(np.abs(self.velocity.sum() / self.rate))

    def velocity_error(self) -> float:
        """L2 error of the velocity, relative."""
        exact = self.exact_velocity
        return float(np.sqrt((np.abs(self.velocity - exact) ** 2).sum() / (np.abs(exact) ** 2).sum()))


@case(
    "pulsatile-tube",
    "Womersley, J. Physiol. 127, 553 (1955); Westerhof, Lankhaar, Westerhof, Med. Biol. Eng. Comput. 47, 131 (2009)",
)
def pulsatile_tube(settings: Settings) -> Iterator:
    """Velocity, pressure gradient and outlet of oscillating flow through a tube with a Windkessel behind it."""
    if settings.precision == HALF:
        raise Skipped(NOT_HALF)
    if not settings.interpolates:
        raise Skipped(f"{RULE} walls need streaming pull")
    numbers, radius = (QUICK_NUMBERS, QUICK_RADIUS) if settings.quick else (NUMBERS, RADIUS)
    for number in numbers:
        tube = oscillating_tube(number, radius, settings)
        flow, pressure = tube.outlet
        gradient, outlet = tube.gradient / tube.exact_gradient, pressure / flow / tube.impedance
        what = f"alpha = {number:g}"
        yield relative(f"{what}: flow through the nodes over that of the openings", 1.0, tube.carried, TOLERANCE)
        yield absolute(f"{what}: velocity in the middle, relative L2 error", 0.0, tube.velocity_error(), TOLERANCE)
        yield relative(f"{what}: pressure gradient over the exact one", 1.0, abs(gradient), TOLERANCE)
        yield absolute(f"{what}: its phase [degrees]", 0.0, float(np.angle(gradient, deg=True)), PHASE)
        yield relative(f"{what}: impedance of the outlet over the exact one", 1.0, abs(outlet), OUTLET_TOLERANCE)
        yield absolute(f"{what}: its phase [degrees]", 0.0, float(np.angle(outlet, deg=True)), OUTLET_PHASE)
        yield _plot(number, tube)


def oscillating_tube(number: float, radius: float, settings: Settings = DEFAULT) -> Tube:
    """The flow at a Womersley number through a tube of a radius [voxels]."""
    frequency = number**2 * VISCOSITY / radius**2
    flow, period = PipeWomersley(radius, VISCOSITY, 1.0, frequency), 2.0 * np.pi / frequency
    waves = np.sqrt(CS2) / (np.pi * radius**2)
    network = {
        "characteristic_resistance_pa_s_m3": FRONT * waves,
        "resistance_pa_s_m3": RESISTANCE * waves,
        "compliance_m3_pa": TAU * period / (RESISTANCE * waves),
        "every_steps": 1,
    }
    simulation = _simulation(flow, network, settings)
    steps, values = [], []
    simulation.step(round(PERIODS * period))
    first = simulation.step_number
    for k in range(1, N_PHASES + 1):
        simulation.step(first + round(k * period / N_PHASES) - simulation.step_number)
        steps.append(simulation.step_number)
        values.append(_measured(simulation))
    turns = np.exp(-1j * frequency * np.array(steps))
    amplitudes = 2.0 / N_PHASES * (turns @ np.array(values))
    inflow, outflow, pressure, before, behind, *velocity = amplitudes
    place, along, (low, high) = _sections(simulation)
    return Tube(
        flow,
        place[along],
        np.array(velocity),
        complex(0.5 * (inflow + outflow)),
        complex((before - behind) / (high - low)),
        (complex(outflow), complex(pressure)),
        windkessel(RESISTANCE * waves, network["compliance_m3_pa"], FRONT * waves).at(frequency),
    )


def _simulation(flow: PipeWomersley, network: dict, settings: Settings) -> Simulation:
    """At rest but for the velocity that belongs to the inflow."""
    radius, period = flow.half_width, 2.0 * np.pi / flow.frequency
    inlet = {"name": "inlet", "velocity_m_s": VELOCITY, "profile": "womersley"}
    inlet |= {"waveform": {"period_s": period, "mean": 0.0, "cosine": [1.0]}}
    openings = [inlet, {"name": "outlet", "windkessel": network}]
    geometry = {"shape": "pipe", "options": {"length": round(2.0 * radius), "radius": radius, "ends": "open"}}
    lattice = {"name": "D3Q19", "walls": RULE, "equilibrium": "stokes"}
    simulation = lattice_simulation(settings, geometry, flow.viscosity, lattice=lattice, openings=openings)
    place, *_ = _sections(simulation)
    shape = (1.0 - flow._shape(np.minimum(place / radius, 1.0))) / (1.0 - flow._mean_shape())
    start_along(simulation, 2, VELOCITY * shape.real)
    return simulation


def _sections(simulation: Simulation) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """(n,) distance from the axis, mask of the middle section, and layers a quarter from either end."""
    coordinates = simulation.nodes.coordinates()
    middle = 0.5 * (np.array(simulation.nodes.shape[::-1]) - 1.0)
    x, y = (coordinates[:, :2] - middle[:2]).T
    first, last = coordinates[:, 2].min(), coordinates[:, 2].max()
    quarter = (last - first) // 4
    return np.hypot(x, y), coordinates[:, 2] == (first + last) // 2, (first + quarter, last - quarter)


def _measured(simulation: Simulation) -> np.ndarray:
    """Flow in and out, pressure of the Windkessel, mean pressures of two layers, velocities of the middle one."""
    _, along, layers = _sections(simulation)
    openings, pressure = simulation.openings(), simulation.pressure_pa()
    layer = simulation.nodes.coordinates()[:, 2]
    found = [openings["inlet"].flow_rate_m3_s, openings["outlet"].flow_rate_m3_s]
    found += [openings["outlet"].feedback["outlet_pressure_pa"], *(pressure[layer == z].mean() for z in layers)]
    return np.concatenate((found, simulation.velocity_m_s()[along, 2]))


def _plot(number: float, tube: Tube) -> Plot:
    order, curves = np.argsort(tube.radius), []
    radius, peak = tube.radius[order] / tube.flow.half_width, np.abs(tube.exact_velocity).max()
    for turn in (0.0, 0.25):
        phase = np.exp(2j * np.pi * turn)
        exact, found = ((phase * values)[order].real / peak for values in (tube.exact_velocity, tube.velocity))
        curves.append(Series(f"exact, {turn:g} of a period", radius, exact))
        curves.append(Series(f"computed, {turn:g} of a period", radius, found, "points"))
    return Plot(f"Tube before a Windkessel, alpha = {number:g}", "r / R", "velocity / peak", tuple(curves))
