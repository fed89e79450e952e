"""Conversion between SI and lattice units.

In lattice units the voxel edge, the time step and the reference density are 1. ``cs2`` is the squared speed of
sound of the lattice; the formulas take it as an argument. ``CS2`` is the value where no lattice has been chosen yet.

Source: Krueger et al., The Lattice Boltzmann Method (2017), chapter 4 (viscosity) and chapter 7 (units).
"""

from dataclasses import dataclass
from math import ceil, isfinite

CS2 = 1.0 / 3.0  # squared speed of sound of every lattice of the flow


def relaxation_time(viscosity: float, cs2: float) -> float:
    """Relaxation time tau [time steps] of a kinematic viscosity in lattice units: nu / cs2 + 1/2."""
    return viscosity / cs2 + 0.5


def viscosity(relaxation_time, cs2: float):
    """Kinematic viscosity in lattice units of a relaxation time [time steps], a number or an array: cs2 (tau - 1/2)."""
    return cs2 * (relaxation_time - 0.5)


BOLTZMANN_J_K = 1.380649e-23  # Boltzmann's constant [J/K], exact in the SI of 2019


def time_in_words(seconds: float) -> str:
    """A time that something takes, such as ``"2 h 30 min"``, rounded up to whole seconds."""
    minutes, seconds = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days:,} {'day' if days == 1 else 'days'} {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@dataclass(frozen=True)
class Units:
    """The SI values of the three lattice units, and of the pressure at rest. Conversions accept numbers or arrays.
    Raises ValueError: one of the units is not positive and finite."""

    spacing_m: float  #: voxel edge [m]
    time_step_s: float  #: time step [s]
    density_kg_m3: float  #: density of the fluid at lattice density 1 [kg/m3]
    reference_pressure_pa: float = 0.0  #: pressure at lattice density 1 [Pa]

    def __post_init__(self):
        for name in ("spacing_m", "time_step_s", "density_kg_m3"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0.0):
                raise ValueError(f"{name} is {value}; it must be positive and finite")

    @property
    def speed_m_s(self) -> float:
        """One lattice unit of velocity [m/s]: one voxel per time step."""
        return self.spacing_m / self.time_step_s

    @property
    def mass_kg(self) -> float:
        """One lattice unit of mass [kg]: that of the fluid in a voxel."""
        return self.density_kg_m3 * self.spacing_m**3

    @property
    def energy_j(self) -> float:
        """One lattice unit of energy [J]."""
        return self.mass_kg * self.speed_m_s**2

    @property
    def force_n(self) -> float:
        """One lattice unit of force [N]."""
        return self.energy_j / self.spacing_m

    def power_density_to_si(self, power):
        """Power per volume [W/m3] from one in lattice units."""
        return power * (self.density_kg_m3 * self.speed_m_s**2 / self.time_step_s)

    def velocity_to_lattice(self, velocity_m_s):
        """Velocity in lattice units from a velocity [m/s]."""
        return velocity_m_s / self.speed_m_s

    def velocity_to_si(self, velocity):
        """Velocity [m/s] from a velocity in lattice units."""
        return velocity * self.speed_m_s

    def acceleration_to_lattice(self, acceleration_m_s2):
        """Body force per mass in lattice units from one in [m/s2]."""
        return acceleration_m_s2 * (self.time_step_s / self.speed_m_s)

    def acceleration_to_si(self, acceleration):
        """Body force per mass [m/s2] from one in lattice units."""
        return acceleration * (self.speed_m_s / self.time_step_s)

    def viscosity_to_lattice(self, viscosity_m2_s):
        """Kinematic viscosity in lattice units from one in [m2/s]."""
        return viscosity_m2_s / (self.spacing_m * self.speed_m_s)

    def flow_rate_to_lattice(self, flow_rate_m3_s):
        """Volume flow rate in lattice units from one in [m3/s]."""
        return flow_rate_m3_s / (self.spacing_m**2 * self.speed_m_s)

    def flow_rate_to_si(self, flow_rate):
        """Volume flow rate [m3/s] from one in lattice units."""
        return flow_rate * (self.spacing_m**2 * self.speed_m_s)

    def force_to_si(self, force):
        """Force [N] from a force in lattice units."""
        return force * (self.density_kg_m3 * self.spacing_m**2 * self.speed_m_s**2)

    def torque_to_si(self, torque):
        """Torque [N m] from a torque in lattice units."""
        return self.force_to_si(torque) * self.spacing_m

    def time_to_steps(self, time_s: float) -> int:
        """Number of time steps nearest to a time [s]."""
        return round(time_s / self.time_step_s)

    def steps_to_time(self, steps):
        """Physical time [s] of a number of steps."""
        return steps * self.time_step_s

    def pascals_per_density(self, cs2: float) -> float:
        """Pressure [Pa] of a unit of lattice density, rho (dx/dt)^2 cs2."""
        return self.density_kg_m3 * self.speed_m_s**2 * cs2

    def pressure_to_density(self, pressure_pa, cs2: float):
        """Lattice density of a pressure [Pa]; the reference pressure has lattice density 1."""
        return 1.0 + (pressure_pa - self.reference_pressure_pa) / self.pascals_per_density(cs2)

    def density_to_pressure(self, density, cs2: float):
        """Pressure [Pa] of a lattice density."""
        return self.reference_pressure_pa + self.pascals_per_density(cs2) * (density - 1.0)
