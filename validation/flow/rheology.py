"""Viscosities that depend on the shear rate: generalised Newtonian fluids, and Smagorinsky's eddy viscosity.

The stress over density is g y between plates (g r / 2 in a pipe); the shear rate follows from
nu(rate) rate = stress, the velocity from its integral. Source: Bird, Armstrong, Hassager, Dynamics of Polymeric
Liquids 1 (1987), chapter 4.

Two schemes carry uniform shear as it is: the linear equilibrium exactly, and one relaxation time near 1/2. Elsewhere a
third-order moment relaxes with tau- and adds normal stresses of the relative size tau- |S| to the shear stress that the
closure reads: with Lambda = 3/16 at nu = 0.005 the viscosity comes out 0.8 % high at C = 0.4.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, settle, start_along
from muphy_lb.validation.limits import order_at_least, refuse_half
from muphy_lb.validation.plot import Plot, Series

N_PANELS = 200  # of the integral from the wall to the middle
N_GAUSS = 8
N_BISECTIONS = 120  # enough to halve any bracket down to the last bit

Viscosity = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class CarreauYasuda:
    """Kinematic viscosity nu_inf + (nu_0 - nu_inf) [1 + (lambda rate)^a]^((n - 1) / a) of a shear rate."""

    at_rest: float  # at_rest, at_infinity: nu_0 and nu_inf
    at_infinity: float
    time: float  # lambda
    a: float  # a, n: the exponents
    n: float

    def __call__(self, rate):
        bracket = 1.0 + (self.time * np.asarray(rate)) ** self.a
        return self.at_infinity + (self.at_rest - self.at_infinity) * bracket ** ((self.n - 1.0) / self.a)


@dataclass(frozen=True)
class Casson:
    """Kinematic viscosity (k0 + k1 sqrt(rate))^2 / rate of a shear rate, no more than ``largest``.

    The yield stress over density is k0^2, the viscosity at high rates k1^2.
    """

    k0: float
    k1: float
    largest: float = np.inf

    def __call__(self, rate):
        rate = np.asarray(rate, dtype=np.float64)
        moving = np.maximum(rate, np.finfo(np.float64).tiny)
        return np.minimum((self.k0 + self.k1 * np.sqrt(moving)) ** 2 / moving, self.largest)


@dataclass(frozen=True)
class PowerLaw:
    """Kinematic viscosity K rate^(n - 1) of a shear rate, kept within [smallest, largest]."""

    consistency: float
    n: float
    smallest: float = 0.0
    largest: float = np.inf

    def __call__(self, rate):
        moving = np.maximum(np.asarray(rate, dtype=np.float64), np.finfo(np.float64).tiny)
        return np.clip(self.consistency * moving ** (self.n - 1.0), self.smallest, self.largest)


def channel_velocity(y, half_width: float, acceleration: float, viscosity: Viscosity) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from the middle, of any fluid whose stress grows with the rate.
    ``y``: distances from the middle, up to ``half_width``; ``half_width``: half the gap; ``acceleration``: body force
    per mass, above 0; ``viscosity``: kinematic viscosity as a function of an array of shear rates."""
    y = np.abs(np.asarray(y, dtype=np.float64))
    edges = np.union1d(y, np.linspace(0.0, half_width, N_PANELS + 1))
    points, weights = _quadrature(edges)
    steps = np.sum(weights * shear_rate(acceleration * points, viscosity), axis=1)
    velocity = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return velocity[np.searchsorted(edges, y)]


def shear_rate(stress, viscosity: Viscosity) -> np.ndarray:
    """Shear rates at which viscosity times rate is the stress (over density, not negative), by bisection."""
    stress = np.asarray(stress, dtype=np.float64)
    low, high = np.zeros_like(stress), np.ones_like(stress)
    while np.any(short := viscosity(high) * high < stress):
        high[short] *= 2.0
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        below = viscosity(middle) * middle < stress
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def _quadrature(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points and weights, (panels, points) each, of the panels between neighbouring edges."""
    points, weights = np.polynomial.legendre.leggauss(N_GAUSS)
    half = 0.5 * np.diff(edges)[:, None]
    return edges[:-1, None] + half * (points + 1.0), half * weights


HEIGHTS, QUICK_HEIGHTS = (16, 32, 64), (16,)
VELOCITY = 0.05  # scale of the velocity, lattice units, at all resolutions
VISCOSITY = 0.1  # where the rate of shear is 2 VELOCITY / H
LARGEST_VISCOSITY, SMALLEST_VISCOSITY = 20.0 * VISCOSITY, 0.05 * VISCOSITY
POWER_LAW_INDICES = (0.5, 0.75, 1.5)
TOLERANCE = 0.01  # L2 error over the largest velocity
LEAST_ORDER = 1.8
STEADY, MOST_TIMES = {"fp64": 1e-7, "fp32": 1e-5, "fp16": 1e-4}, 100
BLOOD_PLATEAUS, BLOOD_TRANSITION, BLOOD_INDEX = 0.16 / 3.5e-3, 0.64, 0.2128
BLOOD_TIME_TIMES_RATE = 8.2 * 2.0
CASSON_YIELD = 0.2  # yield stress over the scale of the stress, VISCOSITY times the rate of shear


@dataclass(frozen=True)
class RheologyCase:
    """A fluid in a channel."""

    name: str  # for people
    # kinematic viscosity of a rate of shear, cut off where the solver cuts it off
    law: Callable[[np.ndarray], np.ndarray]
    table: dict  # the keys of ``[fluid]``, lattice units


@case(
    "rheology",
    "Bird, Armstrong, Hassager, Dynamics of Polymeric Liquids (1987), chapter 4; laws cut off at the same viscosities,"
    " integrated by quadrature; blood: the Carreau-Yasuda fit of HemeLB",
)
def rheology(settings: Settings) -> Iterator:
    """Velocity profiles of power-law, Carreau-Yasuda and Casson fluids between plates."""
    heights, series = QUICK_HEIGHTS if settings.quick else HEIGHTS, []
    makers: dict[str, Callable[[int], RheologyCase]] = {
        f"power law, n = {n:g}": partial(power_law_fluid, index=n) for n in POWER_LAW_INDICES
    }
    makers |= {"Carreau-Yasuda blood": carreau_yasuda_fluid, "Casson": casson_fluid}
    for name, maker in makers.items():
        errors = []
        for height in heights:
            y, exact, computed = channel(maker(height), height, settings)
            errors.append(l2_error(exact, computed))
        yield absolute(f"{name}, H = {heights[-1]}: L2 error / largest velocity", 0.0, errors[-1], TOLERANCE)
        if len(heights) > 1:
            what = f"{name}, order, H = {', '.join(map(str, heights))}"
            yield order_at_least(what, LEAST_ORDER, order_of_convergence(heights, errors), 0.0, settings)
        series.append(Series(f"{name}: reference", y / height, exact / exact.max()))
        series.append(Series(name, y / height, computed / exact.max(), "points"))
    yield Plot("Generalised Newtonian fluids between plates", "y / H", "velocity / largest", tuple(series))


def power_law_fluid(height: int, index: float) -> RheologyCase:
    """A power-law fluid of viscosity ``VISCOSITY`` at the scale of the shear rate in a channel of this height."""
    consistency = VISCOSITY * _rate(height) ** (1.0 - index)
    law = PowerLaw(consistency, index, SMALLEST_VISCOSITY, LARGEST_VISCOSITY)
    keys = {"consistency_pa_sn": consistency, "index": index}
    bounds = {"min_viscosity_m2_s": SMALLEST_VISCOSITY, "max_viscosity_m2_s": LARGEST_VISCOSITY}
    return RheologyCase("power law", law, {"power_law": keys | bounds})


def carreau_yasuda_fluid(height: int) -> RheologyCase:
    """A Carreau-Yasuda fluid with the parameters of blood."""
    law = _blood(1.0, height)
    law = _blood(VISCOSITY / float(law(_rate(height))), height)
    keys = {
        "zero_viscosity_m2_s": law.at_rest,
        "infinite_viscosity_m2_s": law.at_infinity,
        "relaxation_time_s": law.time,
        "transition": law.a,
        "index": law.n,
    }
    return RheologyCase("Carreau-Yasuda", law, {"carreau_yasuda": keys})


def casson_fluid(height: int) -> RheologyCase:
    """A Casson fluid whose plug fills part of the channel."""
    yield_stress = CASSON_YIELD * VISCOSITY * _rate(height)
    law = Casson(np.sqrt(yield_stress), np.sqrt(0.5 * VISCOSITY), LARGEST_VISCOSITY)
    keys = {"yield_stress_pa": yield_stress, "infinite_viscosity_m2_s": 0.5 * VISCOSITY}
    return RheologyCase("Casson", law, {"casson": keys | {"max_viscosity_m2_s": LARGEST_VISCOSITY}})


def channel(
    fluid: RheologyCase, height: int, settings: Settings = DEFAULT
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(distance from the lower wall, exact velocity, computed steady velocity) of every node across a channel."""
    force = 2.0 * VISCOSITY * _rate(height) / height
    geometry = {"shape": "channel", "options": {"length": 1, "height": height}}
    drive = {"acceleration_m_s2": [force, 0.0, 0.0]}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, fluid=fluid.table, flow=drive)
    y = simulation.nodes.coordinates()[:, 1] - 0.5
    exact = channel_velocity(y - 0.5 * height, 0.5 * height, force, fluid.law)
    start_along(simulation, 0, exact)
    interval = round(height**2 / VISCOSITY)
    tolerance, most = STEADY[settings.precision], MOST_TIMES * interval
    return y, exact, settle(simulation, lambda: simulation.velocity_m_s()[:, 0], interval, tolerance, most)


def l2_error(exact: np.ndarray, computed: np.ndarray) -> float:
    """Root of the mean square of the difference, over the largest velocity."""
    return float(np.sqrt(np.mean((computed - exact) ** 2)) / exact.max())


def _rate(height: int) -> float:
    """Scale of the shear rate in a channel of this height."""
    return 2.0 * VELOCITY / height


def _blood(at_infinity: float, height: int) -> CarreauYasuda:
    time = BLOOD_TIME_TIMES_RATE / _rate(height)
    return CarreauYasuda(BLOOD_PLATEAUS * at_infinity, at_infinity, time, BLOOD_TRANSITION, BLOOD_INDEX)


HEIGHT, LENGTH, LES_VELOCITY, LES_VISCOSITY = 16, 2, 0.1, 0.005
CONSTANTS, QUICK_CONSTANTS = (0.1, 0.17, 0.4), (0.17, 0.4)
SCHEMES = {"BGK": {"collision": "bgk"}, "TRT, Stokes equilibrium": {"collision": "trt", "equilibrium": "stokes"}}
NOT_HALF = (
    "half precision has too few bits: the stress is a difference of the populations that meet the plate, and no more"
    " than two units in their last place"
)
LES_TOLERANCE = {"fp64": 1e-6, "fp32": 1e-3}
LES_STEADY = {"fp64": 1e-10, "fp32": 1e-5}


@case(
    "smagorinsky",
    "Smagorinsky, Mon. Weather Rev. 91, 99 (1963): nu + C^2 |S|; in uniform shear |S| is the velocity over the gap",
)
def smagorinsky(settings: Settings) -> Iterator:
    """Viscosity from the force on a sliding plate, and the profile of uniform shear."""
    refuse_half(settings, NOT_HALF)
    tolerance = LES_TOLERANCE[settings.precision]
    for (name, scheme), constant in product(SCHEMES.items(), QUICK_CONSTANTS if settings.quick else CONSTANTS):
        expected = LES_VISCOSITY + constant**2 * LES_VELOCITY / HEIGHT
        found, deviation = sheared(constant, scheme, settings)
        what = f"{name}, C = {constant:g}: "
        yield relative(f"{what}viscosity from the force on the plate", expected, found, tolerance)
        yield absolute(f"{what}deviation from uniform shear", 0.0, deviation, tolerance)


def sheared(constant: float, scheme: Mapping, settings: Settings = DEFAULT) -> tuple[float, float]:
    """(viscosity determined from the force on the moving plate, largest deviation from uniform shear over the
    velocity). ``constant``: Smagorinsky's; ``scheme``: keys of ``[lattice]``."""
    geometry = {"shape": "channel", "options": {"length": LENGTH, "height": HEIGHT}}
    box = [[0.0, HEIGHT + 1.0, 0.0], [LENGTH - 1.0, HEIGHT + 1.0, 0.0]]
    walls = [{"name": "plate", "box_m": box, "velocity_m_s": [LES_VELOCITY, 0.0, 0.0]}]
    lattice = {**scheme, "smagorinsky": constant}
    simulation = lattice_simulation(settings, geometry, LES_VISCOSITY, lattice=lattice, walls=walls)
    velocity = LES_VELOCITY * (simulation.nodes.coordinates()[:, 1] - 0.5) / HEIGHT
    start_along(simulation, 0, velocity)

    def measure():
        force_n = simulation.wall_forces()["plate"].force_n[0]  # before the field, which overwrites the last step
        return np.append(simulation.velocity_m_s()[:, 0], force_n)

    interval = round(0.25 * HEIGHT**2 / LES_VISCOSITY)
    *computed, force = settle(simulation, measure, interval, LES_STEADY[settings.precision], 100 * interval)
    stress, shear_rate = -force / LENGTH, LES_VELOCITY / HEIGHT
    return float(stress / shear_rate), float(np.abs(computed - velocity).max() / LES_VELOCITY)
