"""Openings that answer their flow.

Conditions with feedback: openings whose value depends on the flow through them.

Every ``every`` steps, ahead of a step, the mass that flows out through the opening and the density deviation of its
plane are summed exactly (in fixed point, so that no number of ranks changes a bit), a formula advances the
condition's own state by that many steps, and its result is the opening's value until the next time. State and value are
in double precision on the device, inside recorded launches, and belong to checkpoints.

The bed behind an outlet as a network of resistances and compliances, in SI units: Windkessel, coronary bed.

Westerhof, Lankhaar, Westerhof, Med. Biol. Eng. Comput. 47, 131 (2009); the coronary bed: Kim, Vignon-Clementel, Coogan,
Figueroa, Jansen, Taylor, Ann. Biomed. Eng. 38, 3195 (2010).
"""

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.base.units import Units
from muphy_lb.operators.lumped import COSINE, SINE, network
from muphy_lb.operators.operator import Operator

EVERY = (1, 2, 4, 8, 16)
"""Allowed numbers of steps between two updates: divisors of the number of steps of one recorded launch."""


SLOWEST_SOUND = 3.0  # angular frequency, times radius^2 / viscosity, below which friction leaves nothing of a wave
BAND, POINTS = 1e3, 100  # fastest over slowest wave that is fitted, and their number
MODES, STEADY = (2.0, 0.1), 12.0  # time constants of the fit over the period of its slowest wave, over 2 pi


@dataclass(frozen=True)
class Feedback:
    """The feedback law of an opening.

    Attributes:
        operator: the formula. Its specification ``reference(outflow, deviation, state, parameters)`` returns the
            opening's new value (lattice units: mean inward velocity, or rho_out - 1) and its new state, a tuple. Its
            node function ``advance(outflow, deviation, state, parameters)`` returns the value and overwrites ``state``,
            an array. ``outflow`` is the mass that leaves per step, ``deviation`` the mean of rho - 1 over the plane.
        parameters: value of each parameter of the operator, by name, lattice units.
        initial: state of a fluid at rest.
        names: of the components of the state, with their units, for tables: ``("pressure_pa",)``; those without a name
            are not reported.
        units: SI value of each component's lattice unit; 1 if not given.
        beside: by number of an opening, what share of its outflow is added to the opening's own: ``{2: -0.5}`` takes
            off half of what leaves through opening 2.
        value: value of the opening at the start.
        flow: number of the component of the state that holds the outflow of the last step [m3/s]; it is reported then.
        every: steps between two updates, one of ``EVERY``.

    Raises ValueError: ``every`` is not one of these, or names or units and state differ in length.
    """

    operator: Operator
    parameters: Mapping[str, float] = field(default_factory=dict)
    initial: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    value: float = 0.0
    flow: int | None = None
    every: int = 1
    units: tuple[float, ...] = ()
    beside: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.every not in EVERY:
            raise ValueError(f"feedback every {self.every} steps; allowed: {', '.join(map(str, EVERY))}")
        if len(self.names) != len(self.initial):
            raise ValueError(f"{len(self.names)} names for a state of {len(self.initial)} numbers; give one for each")
        if self.units and len(self.units) != len(self.initial):
            raise ValueError(f"{len(self.units)} units for a state of {len(self.initial)} numbers; give one for each")

    def in_si(self, state) -> dict[str, float]:
        """A state in lattice units as numbers in SI units, by name."""
        units = self.units or (1.0,) * len(self.names)
        return {name: unit * x for name, unit, x in zip(self.names, units, state, strict=True) if name}

    @property
    def told(self) -> tuple[str, ...]:
        """The names of what :meth:`in_si` holds."""
        return tuple(name for name in self.names if name)

    def weights(self, own: int, n_openings: int) -> list[float]:
        """Weight of the outflow of each opening in what the formula is given as outflow of opening ``own``."""
        return [float(number == own) + self.beside.get(number, 0.0) for number in range(n_openings)]


@dataclass(frozen=True)
class Impedance:
    """Z(s) = R + sum_i 1 / (C_i (s + 1 / tau_i))."""

    resistance: float = 0.0  #: R [Pa s/m3]
    modes: tuple[tuple[float, float], ...] = ()  #: (C_i [m3/Pa], tau_i [s]) each; tau_i may be infinite

    def at(self, frequency_rad_s: float) -> complex:
        """Impedance Z(i omega) [Pa s/m3]."""
        s = 1j * frequency_rad_s
        return self.resistance + sum(1.0 / (compliance * (s + 1.0 / tau_s)) for compliance, tau_s in self.modes)

    @property
    def steady(self) -> float:
        """Z(0), the resistance to a steady flow [Pa s/m3]."""
        return self.resistance + sum(tau_s / compliance for compliance, tau_s in self.modes)


@dataclass(frozen=True)
class ImposedPressure:
    """The pressure behind an outlet without flow, mean + sum_k cosine[k] cos((k + 1) w t) + sine[k] sin((k + 1) w t)
    [Pa]."""

    mean_pa: float = 0.0
    period_s: float = math.inf
    cosine_pa: tuple[float, ...] = ()
    sine_pa: tuple[float, ...] = ()

    @property
    def at_start_pa(self) -> float:
        """Pressure at t = 0 [Pa]."""
        return self.mean_pa + sum(self.cosine_pa)

    def at(self, time_s: np.ndarray) -> np.ndarray:
        """Pressure (n,) [Pa] at times (n,) [s]."""
        angles = 2.0 * math.pi / self.period_s * np.outer(np.arange(1, len(self.cosine_pa) + 1), time_s)
        return self.mean_pa + np.array(self.cosine_pa) @ np.cos(angles) + np.array(self.sine_pa) @ np.sin(angles)


def windkessel(resistance: float, compliance: float | None = None, characteristic: float = 0.0) -> Impedance:
    """A resistance [Pa s/m3]; with a compliance [m3/Pa] beside it; behind a characteristic resistance."""
    if compliance is None:
        return Impedance(characteristic + resistance)
    return Impedance(characteristic, ((compliance, resistance * compliance),))


@dataclass(frozen=True)
class CoronaryBed:
    """Arterial resistance - arterial compliance - microcirculatory resistance - intramyocardial compliance, whose other
    side is the pressure of the heart muscle - venous resistance. [Pa s/m3] and [m3/Pa]."""

    arterial_resistance: float
    arterial_compliance: float
    microcirculatory_resistance: float
    myocardial_compliance: float
    venous_resistance: float

    def impedance(self) -> Impedance:
        """With the venous pressure and that of the muscle held: the modes are those of the two compliances."""
        share, rate = self._modes()
        return Impedance(
            self.arterial_resistance,
            tuple((self.arterial_compliance / part, 1.0 / slow) for part, slow in zip(share, rate, strict=True)),
        )

    def transfer(self, frequency_rad_s: float) -> complex:
        """Pressure behind the arterial resistance, without flow, over that of the muscle at a frequency."""
        s, leak = 1j * frequency_rad_s, 1.0 / self.microcirculatory_resistance
        charge = s * self.myocardial_compliance
        series = 1.0 / (1.0 / leak + 1.0 / (s * self.arterial_compliance))
        inner = charge / (charge + 1.0 / self.venous_resistance + series)
        return inner * leak / (leak + s * self.arterial_compliance)

    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Share of the arterial compliance in each mode, and its rate [1/s]."""
        conductance, venous = 1.0 / self.microcirculatory_resistance, 1.0 / self.venous_resistance
        root = np.sqrt([self.arterial_compliance, self.myocardial_compliance])
        matrix = np.array([[conductance, -conductance], [-conductance, conductance + venous]]) / np.outer(root, root)
        rate, vectors = np.linalg.eigh(matrix)
        return vectors[0] ** 2, rate

    def behind(self, venous_pa: float, muscle: ImposedPressure) -> ImposedPressure:
        """The pressure behind the bed without flow, of the veins and of the muscle; a constant one of the muscle gives
        nothing."""
        waves = []
        for k, (cosine, sine) in enumerate(zip(muscle.cosine_pa, muscle.sine_pa, strict=True)):
            # a cos + b sin is the real part of (a - i b) exp(i w t)
            waves.append(self.transfer(2.0 * math.pi * (k + 1) / muscle.period_s) * complex(cosine, -sine))
        return ImposedPressure(
            venous_pa, muscle.period_s, tuple(wave.real for wave in waves), tuple(-wave.imag for wave in waves)
        )


@dataclass(frozen=True)
class LumpedOutlet:
    """An outlet with a network behind it."""

    impedance: Impedance  #: of the network
    imposed: ImposedPressure  #: pressure without flow
    start_pa: float  #: pressure at the start [Pa]
    every: int  #: steps between two updates
    beside: Mapping[int, float] = field(default_factory=dict)  #: as of :class:`~muphy_lb.boundaries.feedback.Feedback`
    tells_modes: bool = True  #: whether the pressures of its compliances are reported
    carries_waves: bool = False  #: whether it lets out waves that the stream carries along

    def feedback(self, area_m2: float, units: Units, cs2: float, conductance: float | None = None) -> Feedback:
        """The condition with feedback of an opening of an area [m2].

        Args:
            conductance: mass that enters in a step per unit of density at the plane, sum 2 w_q, where the flow that is
                measured is that of the step ahead. Pressure and flow then obey the network in every step, if it is
                updated every step and knows no other opening.
        """
        modes, imposed = self.impedance.modes, self.imposed
        is_exact = conductance is not None and self.every == 1 and not self.beside
        per_pascal = 1.0 / units.pascals_per_density(cs2)
        bend = 0.5 * (self.every - 1) / self.every
        stretch_s = self.every * units.time_step_s
        turn = cmath.exp(2j * math.pi * stretch_s / imposed.period_s)
        start = cmath.exp(-1j * math.pi * stretch_s / imposed.period_s)  # the middle of a stretch stands for all of it
        values = {
            COSINE: turn.real,
            SINE: turn.imag,
            "mean": imposed.mean_pa,
            "resistance": self.impedance.resistance,
            "admittance": 1.0 / wave_impedance(area_m2, units, cs2),
            "inertia": 0.5 * units.density_kg_m3 / area_m2**2 if self.carries_waves else 0.0,
            "bend": bend,
            "kept": bend,
            "end": 1.0,
            "flow_unit": units.flow_rate_to_si(1.0),
            "density_per_pa": per_pascal,
            "reference": units.reference_pressure_pa,
        }
        if is_exact:
            values |= {"admittance": known(conductance) * values["flow_unit"] * per_pascal, "kept": 1.0, "end": 0.5}
        kept = [math.exp(-stretch_s / tau_s) for _, tau_s in modes]
        for k, (decay, gain) in enumerate(zip(kept, self.gains(stretch_s), strict=True)):
            values |= {f"decay_{k}": decay, f"gain_{k}": gain}
        for k, (cosine, sine) in enumerate(zip(imposed.cosine_pa, imposed.sine_pa, strict=True)):
            values |= {f"cosine_{k}": cosine, f"sine_{k}": sine}
        return Feedback(
            operator=network(len(modes), len(imposed.cosine_pa)),
            parameters=values,
            # the first update advances them over the stretch before the start
            initial=(self.start_pa, 0.0, *np.array(self.stored_pa()) / kept, start.real, start.imag),
            names=("outlet_pressure_pa", "", *self._names_of_modes(), "", ""),
            value=(self.start_pa - units.reference_pressure_pa) * per_pascal,
            flow=1 if is_exact else None,
            every=self.every,
            beside=self.beside,
        )

    def _names_of_modes(self) -> list[str]:
        return [f"stored_pressure_{k}_pa" if self.tells_modes else "" for k, _ in enumerate(self.impedance.modes, 1)]

    def late_s(self, waves: float, time_step_s: float) -> float:
        """Time by which the pressure is late at the end of a stretch [s], at an opening of a wave impedance [Pa s/m3]:
        1.5 (1 + S / Z_w) stretches (measured, S / Z_w = 0.7, 7); updated every step it is in time."""
        if self.every == 1:
            return 0.0
        stretch_s = self.every * time_step_s
        at_once = self.impedance.resistance + sum(self.gains(stretch_s))
        return 1.5 * (1.0 + at_once / waves) * stretch_s

    def gains(self, stretch_s: float) -> list[float]:
        """Rise of each mode by a flow of 1 m3/s over a stretch of time [Pa]: tau (1 - exp(-T / tau)) / C, which is T /
        C where nothing leaks."""
        return [
            (stretch_s if math.isinf(tau_s) else -tau_s * math.expm1(-stretch_s / tau_s)) / compliance
            for compliance, tau_s in self.impedance.modes
        ]

    def stored_pa(self) -> list[float]:
        """Pressures of the compliances at the start, in the proportion of a steady flow."""
        modes, excess = self.impedance.modes, self.start_pa - self.imposed.at_start_pa
        weights = [1.0 if math.isinf(tau_s) else tau_s / compliance for compliance, tau_s in modes]
        return [excess * weight / sum(weights) if excess else 0.0 for weight in weights]


def tube_impedance(waves: float, radius_m: float, viscosity_m2_s: float, slowest_s: float, steps_s: float) -> Impedance:
    """The impedance of sound in a tube with walls, where their friction holds part of the fluid back.

    Z(s) = waves / sqrt(F), F = 1 - 2 I_1(x) / (x I_0(x)), x = radius sqrt(s / viscosity) (Womersley, J. Physiol. 127,
    553 (1955)), which is approximated for waves faster than ``slowest_s`` by a resistance and two modes; a third one,
    slower and negative, takes off what they resist to a steady flow.

    Args:
        waves: rho c_s / area [Pa s/m3], that of a fluid without viscosity.
        radius_m: twice the area over the length of the wall around it [m].
        viscosity_m2_s: kinematic viscosity [m2/s].
        slowest_s: time of sound through the box [s].
        steps_s: shortest time constant that is allowed [s].
    """
    from scipy.optimize import nnls  # a third of a second that other runs need not wait
    from scipy.special import ive

    friction_s = radius_m**2 / viscosity_m2_s
    slowest_s = min(slowest_s, friction_s / SLOWEST_SOUND)
    s = 1j * np.geomspace(1.0, BAND, POINTS) / slowest_s
    x = np.sqrt(s * friction_s)
    extra = 1.0 / np.sqrt(1.0 - 2.0 * ive(1, x) / (x * ive(0, x))) - 1.0
    taus_s, steady_s = np.maximum(np.array(MODES) * slowest_s, steps_s), max(STEADY * slowest_s, 2.0 * steps_s)
    terms = 1.0 / (1.0 + np.outer(s, taus_s)) - 1.0 / (1.0 + s * steady_s)[:, None]
    weight = 1.0 / np.abs(extra + 2.0)  # reflection is half the error over Z
    rows = [weight[:, None] * terms, weight * extra]
    matrix, wanted = (np.concatenate([row.real, row.imag]) for row in rows)
    resistances = waves * nnls(matrix, wanted)[0]
    modes = [(tau_s / each, tau_s) for tau_s, each in zip(taus_s.tolist(), resistances.tolist(), strict=True) if each]
    total = float(resistances.sum())
    return Impedance(waves, (*modes, (-steady_s / total, steady_s)) if total else ())


def wave_impedance(area_m2: float, units: Units, cs2: float) -> float:
    """rho c_s / area [Pa s/m3]: pressure over flow rate of a sound wave that leaves through an opening."""
    return units.density_kg_m3 * math.sqrt(cs2) * units.speed_m_s / area_m2
