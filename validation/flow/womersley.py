"""Time-dependent flows: oscillating flow between plates and in a pipe, an oscillating plate, a pulsating inlet.

They also hold the solver to the instants at which it takes a force (the end of a step) and the velocity of a wall or an
opening (half-way through it, when the populations meet it): half a step off costs more than twice the error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import DEFAULT, Settings, absolute, case, relative
from muphy_lb.validation.fields import from_axis
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, start_along
from muphy_lb.validation.limits import NO_ORDERS, in_half, left_out_rules, order_at_least
from muphy_lb.validation.plot import Plot, Series, convergence
from muphy_lb.validation.references.womersley import PipeWomersley, PlaneWomersley, Womersley

LINEAR = {"equilibrium": "stokes"}
VELOCITY = 0.01  # amplitude scale, lattice units; the flows are linear
HEIGHTS, QUICK_HEIGHTS = (16, 32, 64), (16, 32)
PLATES_NUMBER, PLATES_VISCOSITY = 8.0, 0.05
PLATES_ERROR = {16: 1.8e-2, 32: 4.5e-3, 64: 1.1e-3}
PLATES_TOLERANCE = 0.2
LEAST_ORDER = 1.9
PIPE_NUMBERS, PIPE_RADII, PIPE_VISCOSITY = (4.0, 10.0), (14.0, 28.0, 56.0), 0.05
# Of the largest velocity, at the finest; at alpha = 10 the wall's layer is an eighth of the radius.
PIPE_TOLERANCE = 0.01
LEAST_PIPE_ORDER = 1.7
PIPE_RULE = "central-linear"
PLATE_NUMBER, PLATE_VISCOSITY = 8.0, 0.05  # oscillating plate: H sqrt(omega / nu)
PERIODS = 2  # before measuring
N_PHASES = 24  # instants of a period that are compared
PULSE_PERIOD, PULSE_HEIGHT, PULSE_LENGTH = 800, 16, 24
PULSE_MEAN, PULSE_COSINE, PULSE_SINE = 1.0, (0.3, -0.1), (0.4,)
PULSE_TOLERANCE = {"fp64": 1e-10, "fp32": 1e-4, "fp16": 5e-4}  # fp16: 2^-11


@case(
    "womersley",
    "Womersley, J. Physiol. 127, 553 (1955); Landau, Lifshitz, Fluid Mechanics, section 24; errors between plates:"
    " those of another lattice Boltzmann program",
)
def womersley(settings: Settings) -> Iterator:
    """Oscillating flows between plates, in a pipe and over a plate; the inflow of a pulsating inlet."""
    heights = QUICK_HEIGHTS if settings.quick else HEIGHTS
    errors = {
        "driven by a force": [plates_error(height, settings) for height in heights],
        "driven by a plate": [plate_error(height, settings) for height in heights],
    }
    for height, error in zip(heights, errors["driven by a force"], strict=True):
        published, ahead = PLATES_ERROR[height], plates_error(height, settings, ahead=0.5)
        what = f"L2 error between plates, alpha = 8, H = {height}"
        yield relative(f"{what}, started half a step of the force ahead", published, ahead, PLATES_TOLERANCE)
        what += ": published over that of the exact start"
        yield order_at_least(what, 2.0, published / error, 0.0, settings)
    for name, values in errors.items():
        what = f"order, {name}, H = {', '.join(map(str, heights))}"
        yield order_at_least(what, LEAST_ORDER, order_of_convergence(heights, values), 0.0, settings)
    yield convergence("Oscillating flow between plates", "nodes across", heights, errors, 2.0)
    prescribed, measured = pulsating_inflow(settings)
    difference = np.abs(measured - prescribed).max() / prescribed.max()
    what = "pulsating inlet: |inflow - waveform|, largest of a period, over the peak"
    yield absolute(what, 0.0, difference, PULSE_TOLERANCE[settings.precision])
    yield from in_half(settings, NO_ORDERS)
    if not settings.quick:
        yield from left_out_rules((PIPE_RULE,), settings)
    for number in () if settings.quick or not settings.interpolates else PIPE_NUMBERS:
        flows = [pipe_flow(number, radius, settings) for radius in PIPE_RADII]
        order = order_of_convergence(PIPE_RADII, [flow.mean_error() for flow in flows])
        finest, what = flows[-1], f"pipe, alpha = {number:g}, R = "
        yield absolute(f"{what}{PIPE_RADII[-1]:g}: largest error / peak", 0.0, finest.largest_error(), PIPE_TOLERANCE)
        what += f"{', '.join(f'{r:g}' for r in PIPE_RADII)}: order"
        yield order_at_least(what, LEAST_PIPE_ORDER, order, 0.0, settings)
        by_radius, curves = np.argsort(finest.radius), []
        for k in range(0, N_PHASES, N_PHASES // 4):
            phase, radius = f"{(k + 1) / N_PHASES:.2f} of a period", finest.radius[by_radius]
            curves.append(Series(f"exact, {phase}", radius, finest.exact[k, by_radius]))
            curves.append(Series(f"computed, {phase}", radius, finest.computed[k, by_radius], "points"))
        title = f"Oscillating flow in a pipe, alpha = {number:g}"
        yield Plot(title, "r / R", "velocity / peak", tuple(curves))


def plates_error(height: int, settings: Settings = DEFAULT, delay: float = 0.0, ahead: float = 0.0) -> float:
    """L2 error over a period, over the velocity's L2 norm, of the flow that an oscillating force drives between plates.
    ``height``: nodes across; ``delay``: time by which the force is late, to see that it shows; ``ahead``: steps by
    which the force has acted already at the start, which a start from the equilibrium makes half."""
    half = 0.5 * height
    frequency = PLATES_NUMBER**2 * PLATES_VISCOSITY / half**2
    flow = PlaneWomersley(half, PLATES_VISCOSITY, VELOCITY * frequency, frequency)
    geometry = {"shape": "channel", "options": {"length": 1, "height": height}}
    simulation = _oscillating(flow, geometry, (1.0, 0.0, 0.0), {}, settings, delay)
    y = simulation.nodes.coordinates()[:, 1] - 0.5 - half
    kick = ahead * flow.acceleration
    return _l2_error(simulation, 0, lambda time: flow.velocity(y, time), 2.0 * np.pi / frequency, kick)


def plate_error(height: int, settings: Settings = DEFAULT, delay: float = 0.0) -> float:
    """The same for the flow between a plate that oscillates in its plane and one at rest."""
    frequency = PLATE_NUMBER**2 * PLATE_VISCOSITY / height**2
    wall = {"name": "plate", "box_m": [[0.0] * 3] * 2, "velocity_m_s": [VELOCITY, 0.0, 0.0]}
    walls = [wall | {"waveform": _cosine(frequency, delay)}]
    geometry = {"shape": "channel", "options": {"length": 1, "height": height}}
    simulation = lattice_simulation(settings, geometry, PLATE_VISCOSITY, lattice=LINEAR, walls=walls)
    depth, wave = height - (simulation.nodes.coordinates()[:, 1] - 0.5), np.sqrt(1j * frequency / PLATE_VISCOSITY)

    def exact(time):
        return VELOCITY * np.real(np.exp(1j * frequency * time) * np.sinh(wave * depth) / np.sinh(wave * height))

    return _l2_error(simulation, 0, exact, 2.0 * np.pi / frequency)


@dataclass(frozen=True)
class Oscillation:
    """Velocities over the largest one at ``N_PHASES`` instants of a period, after the initial transient."""

    radius: np.ndarray  # (n,) distance of the nodes from the axis, over the pipe's radius
    exact: np.ndarray  # exact, computed: (N_PHASES, n)
    computed: np.ndarray

    def largest_error(self) -> float:
        """Largest difference over all positions and instants."""
        return float(np.abs(self.computed - self.exact).max())

    def mean_error(self) -> float:
        """Root mean square of the differences."""
        return float(np.sqrt(((self.computed - self.exact) ** 2).mean()))


def pipe_flow(number: float, pipe_radius: float, settings: Settings = DEFAULT) -> Oscillation:
    """Oscillating flow in a pipe of ``pipe_radius`` voxels at a Womersley number."""
    frequency = number**2 * PIPE_VISCOSITY / pipe_radius**2
    flow = PipeWomersley(pipe_radius, PIPE_VISCOSITY, VELOCITY * frequency, frequency)
    geometry = {"shape": "pipe", "options": {"length": 1, "radius": pipe_radius}}
    lattice = {"name": "D3Q19", "walls": PIPE_RULE}
    simulation = _oscillating(flow, geometry, (0.0, 0.0, 1.0), lattice, settings)
    radius, period = from_axis(simulation.nodes), 2.0 * np.pi / frequency
    pairs = np.array(list(_instants(simulation, 2, lambda time: flow.velocity(radius, time), period)))
    exact, computed = pairs.swapaxes(0, 1)
    peak = np.abs(exact).max()
    return Oscillation(radius / pipe_radius, exact / peak, computed / peak)


def pulsating_inflow(settings: Settings = DEFAULT) -> tuple[np.ndarray, np.ndarray]:
    """(prescribed, measured) volume flow of a pulsating inlet of a channel, at instants spread over a period."""
    shape = {"length": PULSE_LENGTH, "height": PULSE_HEIGHT, "ends": "open"}
    waveform = {"period_s": PULSE_PERIOD, "mean": PULSE_MEAN, "cosine": PULSE_COSINE, "sine": PULSE_SINE}
    inlet = {"name": "inlet", "flow_rate_m3_s": VELOCITY * PULSE_HEIGHT, "profile": "parabolic", "waveform": waveform}
    openings = [inlet, {"name": "outlet", "pressure_pa": 0.0}]
    geometry = {"shape": "channel", "options": shape}
    simulation = lattice_simulation(settings, geometry, PLATE_VISCOSITY, lattice=LINEAR, openings=openings)
    prescribed, measured = [], []
    for _ in range(N_PHASES):
        simulation.step(PULSE_PERIOD // N_PHASES)
        measured.append(simulation.openings()["inlet"].flow_rate_m3_s)
        phase = 2.0 * np.pi * (simulation.step_number - 0.5) / PULSE_PERIOD
        pulse = PULSE_MEAN + sum(a * np.cos((k + 1) * phase) for k, a in enumerate(PULSE_COSINE))
        pulse += sum(a * np.sin((k + 1) * phase) for k, a in enumerate(PULSE_SINE))
        prescribed.append(VELOCITY * PULSE_HEIGHT * pulse)
    return np.array(prescribed), np.array(measured)


def _cosine(frequency: float, delay: float = 0.0) -> dict:
    """The table of a waveform cos(frequency (t - delay))."""
    phase = frequency * delay
    period = 2.0 * np.pi / frequency
    return {"period_s": period, "mean": 0.0, "cosine": [float(np.cos(phase))], "sine": [float(np.sin(phase))]}


def _oscillating(flow: Womersley, geometry, axis, lattice, settings: Settings, delay: float = 0.0) -> Simulation:
    acceleration = [flow.acceleration * component for component in axis]
    drive = {"acceleration_m_s2": acceleration, "waveform": _cosine(flow.frequency, delay)}
    return lattice_simulation(settings, geometry, flow.viscosity, lattice=LINEAR | lattice, flow=drive)


def _instants(simulation: Simulation, axis: int, exact: Callable, period: float, kick: float = 0.0):
    """Yield (exact, computed) velocities at instants of one period, after some periods from the exact flow, to which a
    velocity is added."""
    start_along(simulation, axis, exact(0.0) + kick)
    simulation.step(round(PERIODS * period))
    first = simulation.step_number
    for k in range(1, N_PHASES + 1):
        simulation.step(first + round(k * period / N_PHASES) - simulation.step_number)
        yield exact(simulation.step_number), simulation.velocity_m_s()[:, axis]


def _l2_error(simulation: Simulation, axis: int, exact: Callable, period: float, kick: float = 0.0) -> float:
    pairs = np.array(list(_instants(simulation, axis, exact, period, kick)))
    analytic, computed = pairs[:, 0], pairs[:, 1]
    return float(np.sqrt(((computed - analytic) ** 2).sum() / (analytic**2).sum()))
