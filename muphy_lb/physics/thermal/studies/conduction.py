"""Heat alone and at the edge of convection: conduction, decay of a mode, onset of Rayleigh-Benard convection."""

from math import cos, inf, log, pi

import numpy as np

from muphy_lb.physics.thermal.model import DIFFERENCES, METHODS, POPULATION_METHOD
from muphy_lb.physics.thermal.studies.reference_values import PRANDTL
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_heat
from muphy_lb.run.simulation import Simulation
from muphy_lb.studies.validation.flows import lattice_simulation
from muphy_lb.studies.validation.limits import HALF
from muphy_lb.studies.validation.plot import Plot, Series
from muphy_lb.studies.validation.record import Row, Validation, absolute, relative
from muphy_lb.studies.validation.settings import DEFAULT, Settings

CITATION = (
    "conduction and the decay of a mode: exact; onset of convection between rigid walls: Ra_c = 1707.76 at the wave"
    " number 3.117 (Chandrasekhar, Hydrodynamic and Hydromagnetic Stability (1961), sect. 15)"
)
DIFFUSIVITY = 0.05
VISCOSITY = PRANDTL * DIFFUSIVITY
CRITICAL, WAVE_NUMBER = 1707.76, 3.117
CONDUCTION = {"fp64": 1e-10, "fp32": 1e-4}
CONSERVED = {"fp64": 1e-15, "fp32": 1e-6}
DECAY_TOLERANCE, ONSET_TOLERANCE = 0.005, 0.01
WAVE_LENGTHS, QUICK_WAVE_LENGTHS = (32, 64), (32,)
HEIGHT, QUICK_HEIGHT = 48, 16
AROUND = (0.96, 1.04)  # of the critical Rayleigh number
SETTLING, WATCHED = 0.3, 0.3  # in height^2 / diffusivity
SEED = 1e-4
STIRRED_STEPS = 2000


def heat(settings: Settings = DEFAULT) -> Validation:
    """What a temperature does between walls, without a flow and with the first one."""
    if settings.precision == HALF:
        return Validation(
            "heat", CITATION, skipped="fp16 has no digits for flows as weak as at the onset of convection"
        )
    rows = []
    for method in METHODS:
        lengths = QUICK_WAVE_LENGTHS if settings.quick else WAVE_LENGTHS
        rows += [_conduction(method, settings), *(_decay(length, method, settings) for length in lengths)]
        rows.append(_energy(method, settings))
    onset, plot = _onset(QUICK_HEIGHT if settings.quick else HEIGHT, settings)
    return Validation("heat", CITATION, (*rows, onset), plots=(plot,))


def still(geometry, settings: Settings, lift: float = 0.0, walls=(), method: str = DIFFERENCES) -> Simulation:
    """A fluid at rest in two dimensions, lifted along -y, in lattice units."""
    thermal = {
        "reference_k": 0.0,
        "diffusivity_m2_s": DIFFUSIVITY,
        "gravity_m_s2": [0.0, 1.0, 0.0],
        "expansion_1_k": lift,
        "method": method,
    }
    shape = {"shape": "heated_cavity", "options": {"dimension": 2, **geometry}}
    lattice = {"collision": "mrt"}
    return lattice_simulation(settings, shape, VISCOSITY, thermal=thermal, lattice=lattice, walls=list(walls))


def between(low: float, high: float) -> list[dict]:
    """The walls of a cavity at two temperatures."""
    return [{"name": "cold", "temperature_k": low}, {"name": "hot", "temperature_k": high}]


def set_temperature(simulation: Simulation, values: np.ndarray) -> None:
    """Overwrite the temperature by (n,) values in node-list order."""
    set_temperature_k(simulation, values[simulation.domain.number])


def _conduction(method: str, settings: Settings) -> Row:
    size = 8
    simulation = still({"size": size, "sides": "periodic"}, settings, walls=between(-0.5, 0.5), method=method)
    simulation.step(round(8 * size**2 / DIFFUSIVITY))
    gradient = wall_heat(simulation).gradients_k_m(temperature_k(simulation))["cold"]
    return absolute(f"{method}: conduction: Nu - 1", 0.0, gradient * size - 1.0, CONDUCTION[settings.precision])


def _decay(length: int, method: str, settings: Settings) -> Row:
    """The diffusivity that the decay of a cosine shows; its walls, far apart in its direction, are adiabatic."""
    simulation = still({"size": 4, "width": length, "axis": "y", "sides": "periodic"}, settings, method=method)
    wave = np.cos(2.0 * pi * simulation.nodes.coordinates()[:, 0] / length)
    set_temperature(simulation, wave)
    steps = round(length**2 / (4.0 * pi**2 * DIFFUSIVITY))
    simulation.step(steps)
    left = float((temperature_k(simulation) * wave).sum() / (wave * wave).sum())
    found = -log(left) * length**2 / (4.0 * pi**2 * steps)
    what = f"{method}: diffusivity from the decay of a mode of {length} nodes"
    return relative(what, DIFFUSIVITY, found, DECAY_TOLERANCE)


def _onset(height: int, settings: Settings) -> tuple[Row, Plot]:
    numbers = [CRITICAL * share for share in AROUND]
    rates = [growth(number, height, settings) for number in numbers]
    (a, b), (low, high) = numbers, rates
    found = a - low * (b - a) / (high - low)
    row = relative(f"onset of convection, {height} nodes high: Ra_c", CRITICAL, found, ONSET_TOLERANCE)
    line = (Series("growth", numbers, rates), Series("onset", (CRITICAL,), (0.0,), "points"))
    return row, Plot("Rayleigh-Benard convection", "Rayleigh number", "growth rate [diffusivity / height^2]", line)


def growth(rayleigh: float, height: int, settings: Settings = DEFAULT) -> float:
    """Growth rate [diffusivity / height^2] of the most unstable mode, from its weak beginning."""
    width = round(height * 2.0 * pi / WAVE_NUMBER)
    lift = rayleigh * VISCOSITY * DIFFUSIVITY / height**3
    geometry = {"size": height, "width": width, "axis": "y", "sides": "periodic"}
    simulation = still(geometry, settings, lift, walls=between(-0.5, 0.5))
    x, y, _ = simulation.nodes.coordinates().T
    place = (y - 0.5) / height
    set_temperature(simulation, place - 0.5 + SEED * np.cos(2.0 * pi * x / width) * np.sin(pi * place))
    # In the balance of pressure and lift: sound that an unbalanced start makes would still be heard.
    density = 1.0 + 1.5 * lift * height * place * (1.0 - place)
    simulation.engine.start_from(density[simulation.domain.number], np.zeros((3, density.size)))
    time = height**2 / DIFFUSIVITY
    strength = []
    for share in (SETTLING, WATCHED):
        simulation.step(round(share * time))
        of_mode = np.bincount(y.astype(np.int64), simulation.velocity_m_s()[:, 1] * np.cos(2.0 * pi * x / width))
        strength.append(float(np.linalg.norm(of_mode)))
    return log(strength[1] / strength[0]) / WATCHED


def _energy(method: str, settings: Settings) -> Row:
    """How the mean temperature drifts in a closed box that loses no heat while it stirs itself: the differences are not
    conservative."""
    size, allowed = 32, CONSERVED[settings.precision] if method == POPULATION_METHOD else inf
    simulation = still({"size": size}, settings, lift=1e-4 / size, method=method)
    x, y, _ = simulation.nodes.coordinates().T
    start = np.array([0.5 * cos(pi * a / size) * cos(pi * b / (2 * size)) for a, b in zip(x, y, strict=True)])
    set_temperature(simulation, start - start.mean())
    simulation.step(STIRRED_STEPS)
    drift = float(temperature_k(simulation).mean(dtype=np.float64))
    what = f"{method}: drift of the mean of a closed box in {STIRRED_STEPS} steps, over the range"
    return absolute(what, 0.0, drift, allowed)
