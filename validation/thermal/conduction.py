"""Heat conduction and the onset of convection: conduction, decay of a mode, Rayleigh-Benard instability."""

from collections.abc import Iterator
from math import cos, inf, log, pi
from typing import Any

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.thermal.model import DIFFERENCES, METHODS, POPULATION_METHOD
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_heat
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import DEFAULT, Row, Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import refuse_half
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.thermal.heated_cavity import PRANDTL

DIFFUSIVITY = 0.05
VISCOSITY = PRANDTL * DIFFUSIVITY
CRITICAL, WAVE_NUMBER = 1707.76, 3.117
CONDUCTION = {"fp64": 1e-10, "fp32": 1e-4}
CONSERVED = {"fp64": 1e-15, "fp32": 1e-6}
DECAY_TOLERANCE, ONSET_TOLERANCE, WAVE_LENGTHS, QUICK_WAVE_LENGTHS = 0.005, 0.01, (32, 64), (32,)
HEIGHT, QUICK_HEIGHT = 48, 16
RAYLEIGH_FACTORS = (0.96, 1.04)  # of the critical Rayleigh number
SETTLING, OBSERVED = 0.3, 0.3  # durations in height^2 / diffusivity
AMPLITUDE = 1e-4  # of the initial mode, over the temperature difference
DRIFT_STEPS = 2000


@case(
    "heat",
    "conduction and the decay of a mode: exact; onset of convection between rigid walls: Ra_c = 1707.76 at the wave"
    " number 3.117 (Chandrasekhar, Hydrodynamic and Hydromagnetic Stability (1961), sect. 15)",
)
def heat(settings: Settings) -> Iterator:
    """Temperature between walls: conduction, decay, energy balance, and the onset of convection."""
    refuse_half(settings, "fp16 cannot resolve flows as weak as at the onset of convection")
    for method in METHODS:
        yield _conduction(method, settings)
        for length in QUICK_WAVE_LENGTHS if settings.quick else WAVE_LENGTHS:
            yield _decay(length, method, settings)
        yield _energy(method, settings)
    height = QUICK_HEIGHT if settings.quick else HEIGHT
    numbers = [CRITICAL * share for share in RAYLEIGH_FACTORS]
    rates = [growth(number, height, settings) for number in numbers]
    (a, b), (low, high) = numbers, rates
    found = a - low * (b - a) / (high - low)
    yield relative(f"onset of convection, {height} nodes high: Ra_c", CRITICAL, found, ONSET_TOLERANCE)
    line = (Series("growth", numbers, rates), Series("onset", (CRITICAL,), (0.0,), "points"))
    yield Plot("Rayleigh-Benard convection", "Rayleigh number", "growth rate [diffusivity / height^2]", line)


def fluid_at_rest(geometry, settings: Settings, expansion: float = 0.0, walls=(), method: str = DIFFERENCES) -> Solver:
    """A two-dimensional fluid at rest with gravity along +y and thermal expansion ``expansion``, in lattice units."""
    thermal = {
        "reference_k": 0.0,
        "diffusivity_m2_s": DIFFUSIVITY,
        "gravity_m_s2": [0.0, 1.0, 0.0],
        "expansion_1_k": expansion,
        "method": method,
    }
    shape = {"shape": "heated_cavity", "options": {"dimension": 2, **geometry}}
    tables: dict[str, Any] = {"thermal": thermal, "lattice": {"collision": "mrt"}, "walls": list(walls)}
    return lattice_simulation(settings, shape, VISCOSITY, **tables)


def wall_temperatures(low: float, high: float) -> list[dict]:
    """The ``[[walls]]`` tables of a cavity with walls at two temperatures."""
    return [{"name": "cold", "temperature_k": low}, {"name": "hot", "temperature_k": high}]


def _conduction(method: str, settings: Settings) -> Row:
    size = 8
    simulation = fluid_at_rest(
        {"size": size, "sides": "periodic"}, settings, walls=wall_temperatures(-0.5, 0.5), method=method
    )
    simulation.step(round(8 * size**2 / DIFFUSIVITY))
    gradient = wall_heat(simulation).gradients_k_m(on_root(temperature_k(simulation)))["cold"]
    return absolute(f"{method}: conduction: Nu - 1", 0.0, gradient * size - 1.0, CONDUCTION[settings.precision])


def _decay(length: int, method: str, settings: Settings) -> Row:
    """The diffusivity determined from the decay of a cosine along a periodic axis between adiabatic walls."""
    simulation = fluid_at_rest({"size": 4, "width": length, "axis": "y", "sides": "periodic"}, settings, method=method)
    wave = np.cos(2.0 * pi * whole_nodes(simulation).coordinates()[:, 0] / length)
    set_temperature_k(simulation, wave)
    steps = round(length**2 / (4.0 * pi**2 * DIFFUSIVITY))
    simulation.step(steps)
    left = float((on_root(temperature_k(simulation)) * wave).sum() / (wave * wave).sum())
    found = -log(left) * length**2 / (4.0 * pi**2 * steps)
    what = f"{method}: diffusivity from the decay of a mode of {length} nodes"
    return relative(what, DIFFUSIVITY, found, DECAY_TOLERANCE)


def growth(rayleigh: float, height: int, settings: Settings = DEFAULT) -> float:
    """Growth rate [diffusivity / height^2] of the most unstable mode, from a small initial amplitude."""
    width = round(height * 2.0 * pi / WAVE_NUMBER)
    expansion = rayleigh * VISCOSITY * DIFFUSIVITY / height**3
    geometry = {"size": height, "width": width, "axis": "y", "sides": "periodic"}
    simulation = fluid_at_rest(geometry, settings, expansion, walls=wall_temperatures(-0.5, 0.5))
    x, y, _ = whole_nodes(simulation).coordinates().T
    y_relative = (y - 0.5) / height
    set_temperature_k(simulation, y_relative - 0.5 + AMPLITUDE * np.cos(2.0 * pi * x / width) * np.sin(pi * y_relative))
    # Start in hydrostatic balance: acoustic waves of an unbalanced start would not have decayed.
    density = 1.0 + 1.5 * expansion * height * y_relative * (1.0 - y_relative)
    simulation.engine.start_from(density[simulation.domain.number], np.zeros((3, density.size)))
    time = height**2 / DIFFUSIVITY
    strength = []
    for share in (SETTLING, OBSERVED):
        simulation.step(round(share * time))
        upwards = on_root(simulation.velocity_m_s())[:, 1]
        of_mode = np.bincount(y.astype(np.int64), upwards * np.cos(2.0 * pi * x / width))
        strength.append(float(np.linalg.norm(of_mode)))
    return log(strength[1] / strength[0]) / OBSERVED


def _energy(method: str, settings: Settings) -> Row:
    """Drift of the mean temperature in a closed adiabatic box with a buoyant flow: finite differences are not
    conservative."""
    size, allowed = 32, CONSERVED[settings.precision] if method == POPULATION_METHOD else inf
    simulation = fluid_at_rest({"size": size}, settings, expansion=1e-4 / size, method=method)
    x, y, _ = whole_nodes(simulation).coordinates().T
    start = np.array([0.5 * cos(pi * a / size) * cos(pi * b / (2 * size)) for a, b in zip(x, y, strict=True)])
    set_temperature_k(simulation, start - start.mean())
    simulation.step(DRIFT_STEPS)
    drift = float(on_root(temperature_k(simulation)).mean(dtype=np.float64))
    what = f"{method}: drift of the mean of a closed box in {DRIFT_STEPS} steps, over the range"
    return absolute(what, 0.0, drift, allowed)
