"""Flow of fluids whose viscosity depends on the shear rate, between plates, driven by a body force."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, absolute, case
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, settle, start_along
from muphy_lb.validation.limits import order_at_least
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.references import rheology as reference

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
    """One fluid in a channel."""

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
    makers = {f"power law, n = {n:g}": partial(power_law_fluid, index=n) for n in POWER_LAW_INDICES}
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
    law = reference.PowerLaw(consistency, index, SMALLEST_VISCOSITY, LARGEST_VISCOSITY)
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
    law = reference.Casson(np.sqrt(yield_stress), np.sqrt(0.5 * VISCOSITY), LARGEST_VISCOSITY)
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
    exact = reference.channel_velocity(y - 0.5 * height, 0.5 * height, force, fluid.law)
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


def _blood(at_infinity: float, height: int) -> reference.CarreauYasuda:
    time = BLOOD_TIME_TIMES_RATE / _rate(height)
    return reference.CarreauYasuda(BLOOD_PLATEAUS * at_infinity, at_infinity, time, BLOOD_TRANSITION, BLOOD_INDEX)
