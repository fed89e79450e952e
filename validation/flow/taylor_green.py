"""Decaying vortices in a periodic box: order of convergence, and the viscosity of every collision and velocity set."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from muphy_lb.operators import RELAXATIONS
from muphy_lb.validation.case import DEFAULT, Row, Settings, absolute, case
from muphy_lb.validation.fields import start_from_flow
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, start_from_velocity
from muphy_lb.validation.limits import NO_ORDERS, in_half, order_at_least
from muphy_lb.validation.plot import convergence
from muphy_lb.validation.references.taylor_green import TaylorGreen

VISCOSITY = 0.05
VELOCITY_TIMES_SIZE = 0.64  # diffusive scaling
SIZES, QUICK_SIZES = (16, 32, 64), (16, 32)
LEAST_ORDER = 1.9
VISCOSITY_ERROR_TIMES_SQUARE = 5e-5 * 64**2
OTHER_ERROR_TIMES_SQUARE = 0.06 * (2.0 * np.pi) ** 2  # error of other relaxations: 0.06 of the wave number squared
LEAST_LOSS = 10.0  # how much worse a start without viscous stress must be
SOLID_LATTICES = ("D3Q15", "D3Q19", "D3Q27")
COLLISIONS = ("trt", "mrt", "regularised", "recursive-regularised", "cumulant")
COMPARED_SIZE = 32
ROUND_OFF = {"fp64": 1e-9, "fp32": 1e-3, "fp16": 1e-3}  # in the viscosity


class Scheme(NamedTuple):
    """Names of velocity set and collision in a case file."""

    lattice: str = "D2Q9"
    collision: str = "bgk"


@case(
    "taylor-green",
    "Taylor, Green, Proc. R. Soc. A 158, 499 (1937): exact solution; the start: Krueger et al. (2017), section 5.5",
)
def taylor_green(settings: Settings) -> Iterator:
    """Order of convergence of decaying vortices, and the viscosity of every collision and velocity set."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    decays = [decay(size, Scheme(), settings) for size in sizes]
    errors = [found.velocity_error for found in decays]
    what = f"order of the velocity's L2 error, N = {', '.join(map(str, sizes))}"
    yield order_at_least(what, LEAST_ORDER, order_of_convergence(sizes, errors), 0.0, settings)
    yield _viscosity_row(Scheme(), sizes[-1], decays[-1], settings)
    careless = decay(COMPARED_SIZE, Scheme(), settings, with_stress=False).velocity_error
    loss = careless / errors[sizes.index(COMPARED_SIZE)]
    what = f"error without viscous stress at the start over that with it, N = {COMPARED_SIZE}"
    yield order_at_least(what, LEAST_LOSS, loss, 0.0, settings)
    # Other collisions on every set; a flow independent of z is the same on every set, up to other relaxation rates.
    size, solid = (QUICK_SIZES[0], ("D3Q19",)) if settings.quick else (COMPARED_SIZE, SOLID_LATTICES)
    plane = decay(size, Scheme(), settings).viscosity_error
    for lattice in solid:
        found = decay(size, Scheme(lattice), settings).viscosity_error
        what = f"relative error of viscosity, {lattice} bgk, N = {size}: as D2Q9"
        yield absolute(what, plane, found, ROUND_OFF[settings.precision])
    for pair in product(("D2Q9",) if settings.quick else ("D2Q9", *SOLID_LATTICES), COLLISIONS):
        if RELAXATIONS[pair[1]].is_for(pair[0], "compressible"):
            yield _viscosity_row(Scheme(*pair), size, decay(size, Scheme(*pair), settings), settings)
    yield convergence("Decaying vortices", "nodes a wave length", sizes, {"velocity": errors}, 2.0)
    yield from in_half(settings, NO_ORDERS)


class Decay(NamedTuple):
    """Differences of a computed decay from the exact one after one decay time."""

    velocity_error: float  # L2 norm of the difference over that of the exact velocity
    viscosity_error: float  # relative error of the viscosity determined from the decay of the exact mode


def decay(size: int, scheme: Scheme, settings: Settings = DEFAULT, with_stress: bool = True) -> Decay:
    """One decay time of vortices in a box of ``size`` x ``size`` x 1 nodes; ``with_stress``: with consistent initial
    stress."""
    flow = TaylorGreen((2.0 * np.pi / size,) * 2, VELOCITY_TIMES_SIZE / size, VISCOSITY)
    geometry = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
    lattice = {"name": scheme.lattice, "collision": scheme.collision}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, lattice=lattice)
    x, y, _ = simulation.nodes.coordinates().T
    if with_stress:
        strain = np.zeros((x.size, 3, 3))
        strain[:, 0, 0], strain[:, 1, 1], strain[:, 0, 1] = flow.strain_rate(x, y)
        strain[:, 1, 0] = strain[:, 0, 1]
        density = 1.0 + flow.pressure(x, y) / float(simulation.lattice.cs2)
        start_from_flow(simulation, density, _as_vectors(flow.velocity(x, y)), strain)
    else:
        start_from_velocity(simulation, _as_vectors(flow.velocity(x, y)))
    simulation.step(round(1.0 / flow.decay_rate))
    exact, found = flow.velocity(x, y, simulation.step_number), simulation.velocity_m_s()[:, :2].T
    amplitude = (found * exact).sum() / (exact * exact).sum()
    error = np.sqrt(((found - exact) ** 2).sum() / (exact**2).sum())
    return Decay(float(error), float(-np.log(amplitude) / (simulation.step_number * flow.decay_rate)))


def _as_vectors(velocity: np.ndarray) -> np.ndarray:
    return np.vstack((velocity, np.zeros(velocity.shape[1]))).T


def _viscosity_row(scheme: Scheme, size: int, found: Decay, settings: Settings) -> Row:
    allowed = VISCOSITY_ERROR_TIMES_SQUARE if scheme == Scheme() else OTHER_ERROR_TIMES_SQUARE
    what = f"relative error of viscosity, {scheme.lattice} {scheme.collision}, N = {size}"
    return absolute(what, 0.0, found.viscosity_error, allowed / size**2 + ROUND_OFF[settings.precision])
