"""Time-dependent flows: between plates, in a pipe, over a plate, from a pulsating inlet, before a Windkessel.

Source: Womersley, J. Physiol. 127, 553 (1955); Landau and Lifshitz, Fluid Mechanics, section 24. Both flows are
u = Re{ A / (i omega) [1 - shape] exp(i omega t) }, with shape = 1 at the wall.

They also hold the solver to the instants at which it takes a force (the end of a step) and the velocity of a wall or an
opening (half-way through it, when the populations meet it): half a step off costs more than twice the error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import jv

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2
from muphy_lb.boundaries.feedback import windkessel
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import DEFAULT, Settings, Skipped, absolute, case, relative
from muphy_lb.validation.flows import from_axis, lattice_simulation, order_of_convergence, start_along
from muphy_lb.validation.limits import NO_ORDERS, in_half, left_out_rules, order_at_least, refuse_half
from muphy_lb.validation.plot import Plot, Series, convergence


@dataclass(frozen=True)
class Womersley:
    """The common parts of both flows."""

    half_width: float  # half the gap between the plates, or the radius of the pipe
    viscosity: float  # kinematic
    acceleration: float  # amplitude A
    frequency: float  # omega, angular

    def __post_init__(self):
        """Positive sizes; omega = 0 is Poiseuille flow, which has its own formulas."""
        for name in ("half_width", "viscosity", "frequency"):
            value = getattr(self, name)
            if not value > 0.0:
                raise InputError(f"Womersley flow: {name} is {value!r}; allowed: above 0")

    @property
    def number(self) -> float:
        """Womersley number alpha = h sqrt(omega / nu)."""
        return self.half_width * float(np.sqrt(self.frequency / self.viscosity))

    def velocity(self, position, time: float) -> np.ndarray:
        """Velocity at the distances ``position`` from the middle."""
        inside = 1.0 - self._shape(np.asarray(position, dtype=np.float64) / self.half_width)
        return self._at(inside, time)

    def mean_velocity(self, time: float) -> float:
        """Mean velocity over the cross section."""
        return float(self._at(1.0 - self._mean_shape(), time))

    def _at(self, factor, time: float):
        rotation = np.exp(1j * self.frequency * time)
        return np.real(self.acceleration / (1j * self.frequency) * factor * rotation)

    def _shape(self, position):
        raise NotImplementedError

    def _mean_shape(self):
        raise NotImplementedError


@dataclass(frozen=True)
class PlaneWomersley(Womersley):
    """Between plates: shape = cosh(lambda y / h) / cosh(lambda), lambda = sqrt(i) alpha."""

    @property
    def _argument(self) -> complex:
        return self.number * np.exp(0.25j * np.pi)

    def _shape(self, position):
        p, q = self._argument * np.abs(position), self._argument
        return np.exp(p - q) * (1.0 + np.exp(-2.0 * p)) / (1.0 + np.exp(-2.0 * q))

    def _mean_shape(self):
        return np.tanh(self._argument) / self._argument


@dataclass(frozen=True)
class PipeWomersley(Womersley):
    """Pulsating flow in a round pipe: shape = J0(z r / R) / J0(z), z = i^(3/2) alpha."""

    @property
    def _argument(self) -> complex:
        return self.number * np.exp(0.75j * np.pi)

    def _shape(self, position):
        return jv(0, self._argument * position) / jv(0, self._argument)

    def stress_factor(self) -> complex:
        """Complex amplitude of the wall shear stress over that of a flow so slow that it is always steady, in which it
        balances the force: what accelerates the fluid is missing at the wall."""
        return complex(self._mean_shape())

    def _mean_shape(self):
        return 2.0 * jv(1, self._argument) / (self._argument * jv(0, self._argument))


LINEAR = {"equilibrium": "stokes"}
VELOCITY = 0.01  # amplitude scale, lattice units; the flows are linear
HEIGHTS, QUICK_HEIGHTS, PLATES_NUMBER, PLATES_VISCOSITY = (16, 32, 64), (16, 32), 8.0, 0.05
PLATES_ERROR = {16: 1.8e-2, 32: 4.5e-3, 64: 1.1e-3}
PLATES_TOLERANCE, LEAST_ORDER = 0.2, 1.9
PIPE_NUMBERS, PIPE_RADII, PIPE_VISCOSITY = (4.0, 10.0), (14.0, 28.0, 56.0), 0.05
# Of the largest velocity, at the finest; at alpha = 10 the wall's layer is an eighth of the radius.
PIPE_TOLERANCE, LEAST_PIPE_ORDER, PIPE_RULE = 0.01, 1.7, "central-linear"
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
        largest = float(np.abs(finest.computed - finest.exact).max())
        yield absolute(f"{what}{PIPE_RADII[-1]:g}: largest error / peak", 0.0, largest, PIPE_TOLERANCE)
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


class Oscillation(NamedTuple):
    """Velocities over the largest one at ``N_PHASES`` instants of a period, after the initial transient."""

    radius: np.ndarray  # (n,) distance of the nodes from the axis, over the pipe's radius
    exact: np.ndarray  # exact, computed: (N_PHASES, n)
    computed: np.ndarray

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


def _oscillating(flow: Womersley, geometry, axis, lattice, settings: Settings, delay: float = 0.0) -> Solver:
    acceleration = [flow.acceleration * component for component in axis]
    drive = {"acceleration_m_s2": acceleration, "waveform": _cosine(flow.frequency, delay)}
    return lattice_simulation(settings, geometry, flow.viscosity, lattice=LINEAR | lattice, flow=drive)


def _instants(simulation: Solver, axis: int, exact: Callable, period: float, kick: float = 0.0):
    """Yield (exact, computed) velocities at instants of one period, after some periods from the exact flow, to which a
    velocity is added."""
    start_along(simulation, axis, exact(0.0) + kick)
    simulation.step(round(PERIODS * period))
    first = simulation.step_number
    for k in range(1, N_PHASES + 1):
        simulation.step(first + round(k * period / N_PHASES) - simulation.step_number)
        yield exact(simulation.step_number), simulation.velocity_m_s()[:, axis]


def _l2_error(simulation: Solver, axis: int, exact: Callable, period: float, kick: float = 0.0) -> float:
    pairs = np.array(list(_instants(simulation, axis, exact, period, kick)))
    analytic, computed = pairs[:, 0], pairs[:, 1]
    return float(np.sqrt(((computed - analytic) ** 2).sum() / (analytic**2).sum()))


NUMBERS, QUICK_NUMBERS = (4.0, 8.0, 12.0), (4.0,)
RADIUS, QUICK_RADIUS, VISCOSITY, TUBE_VELOCITY = 14.0, 6.0, 0.005, 0.01
RULE, TUBE_PERIODS, TUBE_N_PHASES = "central-linear", 2, 24
#: Of the Windkessel: resistances over the impedance of a sound wave, time constant over the period.
FRONT, RESISTANCE, TAU = 0.1, 1.0, 0.3
TOLERANCE, PHASE, OUTLET_TOLERANCE, OUTLET_PHASE = 0.03, 2.0, 0.005, 0.5
NOT_HALF = "fp16: amplitudes of a pressure of some 1e-3 are rounded by more than what is allowed; not computed"


class Tube(NamedTuple):
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
        """The flow rate carried by the nodes over that through the openings: the share that crosses between a wall and
        the nodes beside it is not in their velocities."""
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
    refuse_half(settings, NOT_HALF)
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
    }
    simulation = _simulation(flow, network, settings)
    steps, values = [], []
    simulation.step(round(TUBE_PERIODS * period))
    first = simulation.step_number
    for k in range(1, TUBE_N_PHASES + 1):
        simulation.step(first + round(k * period / TUBE_N_PHASES) - simulation.step_number)
        steps.append(simulation.step_number)
        values.append(_measured(simulation))
    turns = np.exp(-1j * frequency * np.array(steps))
    amplitudes = 2.0 / TUBE_N_PHASES * (turns @ np.array(values))
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


def _simulation(flow: PipeWomersley, network: dict, settings: Settings) -> Solver:
    """At rest but for the velocity that belongs to the inflow."""
    radius, period = flow.half_width, 2.0 * np.pi / flow.frequency
    inlet = {"name": "inlet", "velocity_m_s": TUBE_VELOCITY, "profile": "womersley"}
    inlet |= {"waveform": {"period_s": period, "mean": 0.0, "cosine": [1.0]}}
    openings = [inlet, {"name": "outlet", "windkessel": network}]
    geometry = {"shape": "pipe", "options": {"length": round(2.0 * radius), "radius": radius, "ends": "open"}}
    lattice = {"name": "D3Q19", "walls": RULE, "equilibrium": "stokes"}
    simulation = lattice_simulation(settings, geometry, flow.viscosity, lattice=lattice, openings=openings)
    place, *_ = _sections(simulation)
    shape = (1.0 - flow._shape(np.minimum(place / radius, 1.0))) / (1.0 - flow._mean_shape())
    start_along(simulation, 2, TUBE_VELOCITY * shape.real)
    return simulation


def _sections(simulation: Solver) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """(n,) distance from the axis, mask of the middle section, and layers a quarter from either end."""
    coordinates = simulation.nodes.coordinates()
    middle = 0.5 * (np.array(simulation.nodes.shape[::-1]) - 1.0)
    x, y = (coordinates[:, :2] - middle[:2]).T
    first, last = coordinates[:, 2].min(), coordinates[:, 2].max()
    quarter = (last - first) // 4
    return np.hypot(x, y), coordinates[:, 2] == (first + last) // 2, (first + quarter, last - quarter)


def _measured(simulation: Solver) -> np.ndarray:
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
