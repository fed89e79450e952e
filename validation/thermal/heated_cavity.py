"""The heated cavity: square and cube, beside published figures, Pr = 0.71.

Square: de Vahl Davis, Int. J. Numer. Meth. Fluids 3, 249 (1983): largest velocities [diffusivity over length] on the
centre lines, and mean Nusselt number of the hot wall. Cube: Tric, Labrosse, Betrouni, Int. J. Heat Mass Transfer 43,
4043 (2000), and Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012), Table 5, on 256^3 nodes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.thermal.mid_plane import middle_heat
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_heat
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import DEFAULT, Row, Settings, absolute, at_least, at_most, case, relative, shown
from muphy_lb.validation.flows import extremum, lattice_simulation, middle, on_box, settle
from muphy_lb.validation.limits import refuse_half
from muphy_lb.validation.plot import Plot, Series, contours


class Square(NamedTuple):
    """Largest horizontal velocity on the vertical centre line, largest vertical one on the horizontal, Nusselt
    number."""

    u_max: float
    v_max: float
    nusselt: float


PRANDTL = 0.71
SQUARE = {
    1e3: Square(3.649, 3.696, 1.117),
    1e4: Square(16.178, 19.617, 2.238),
    1e5: Square(34.73, 68.59, 4.509),
    1e6: Square(64.53, 219.36, 8.817),
}
TRIC = {1e4: 2.054, 1e5: 4.337, 1e6: 8.640, 1e7: 16.342}
THELMA = {1e4: 2.0560, 1e5: 4.3382, 1e6: 8.6457, 1e7: 16.4202, 1e8: 30.2027}
WAKASHIMA = {1e4: 2.0624, 1e5: 4.3665, 1e6: 8.6973}
# Rayleigh numbers between which the flow of the cube is unsteady, +- 0.0005e7 (Obrecht et al., Section 5.4).
BIFURCATION, RETURN = 3.2245e7, 6.4015e7
# Of an independent program with the same method and grid, by Rayleigh number and nodes along an edge.
SAME_METHOD = {(1e4, 16): 1.9747, (1e4, 24): 2.0248, (1e4, 32): 2.0403, (1e5, 32): 4.2309}


FREE_FALL_VELOCITY, LARGEST_DIFFUSIVITY = 0.1, 0.075
SQUARE_SIZES = {1e3: 64, 1e4: 96, 1e5: 160, 1e6: 320}
QUICK_SQUARE_SIZES = {1e4: 24}
CUBE_SIZES = {1e4: 128, 1e5: 128, 1e6: 128}
SAME_SIZES, QUICK_SAME_SIZES = ((1e4, 24), (1e4, 32), (1e5, 32)), ((1e4, 16),)
SQUARE_TOLERANCE, QUICK_TOLERANCE, SAME_TOLERANCE, CUBE_TOLERANCE = 0.005, 0.015, 2e-3, 0.006
OWN_ERROR = {1e6: 0.01}  # error stated by de Vahl Davis for his velocities at the highest Rayleigh number
SYMMETRIC = {"fp64": 1e-9, "fp32": 1e-4}
INTERVAL, MOST_STEPS = 500, 3_000_000
STEADY = {"fp64": 1e-6, "fp32": 5e-6, "fp16": 1e-3}


@dataclass(frozen=True)
class Cavity:
    """The flow in a cavity of edge 1 between walls of temperature -0.5 and 0.5."""

    nusselt: tuple[float, float]  # Nusselt number of the cold and of the hot wall
    temperature: np.ndarray  # (nz, ny, nx) temperature of the fluid nodes
    velocity: np.ndarray  # (nz, ny, nx, 3) velocity in diffusivity / edge
    pressure: np.ndarray  # (nz, ny, nx) pressure in density * (diffusivity / edge)^2

    @property
    def asymmetry(self) -> float:
        """Largest |a(x) + a(-x)| over the largest |a|, for temperature and velocity."""
        return self._largest(lambda a: a + a[::-1, ::-1, ::-1])

    @property
    def mirror_asymmetry(self) -> float:
        """Largest |a(x, y, z) - a(x, -y, z)| over the largest |a|, for temperature and velocity, whose y turns."""
        return self._largest(lambda a: a - a[:, ::-1] * (np.array([1.0, -1.0, 1.0]) if a.shape[-1] == 3 else 1.0))

    def _largest(self, difference) -> float:
        fields = (self.temperature[..., None], self.velocity)
        return max(float(np.abs(difference(a)).max() / np.abs(a).max()) for a in fields)


@case(
    "heated-cavity",
    "square: de Vahl Davis, Int. J. Numer. Meth. Fluids 3, 249 (1983); cube: Tric, Labrosse, Betrouni, Int. J. Heat"
    " Mass Transfer 43, 4043 (2000); Obrecht et al., Comput. Fluids 54, 118 (2012); Wakashima, Saitoh (2004)",
)
def heated_cavity(settings: Settings) -> Iterator:
    """Nusselt numbers of square and cube."""
    refuse_half(settings, "fp16 does not settle to the tolerances of this case")
    for rayleigh, size in (QUICK_SQUARE_SIZES if settings.quick else SQUARE_SIZES).items():
        cavity = heated(rayleigh, size, settings, dimension=2)
        yield from _square(rayleigh, size, cavity, QUICK_TOLERANCE if settings.quick else SQUARE_TOLERANCE)
        yield contours(f"Square, Ra = {rayleigh:.0e}: isotherms", cavity.temperature[0])
    for rayleigh, size in QUICK_SAME_SIZES if settings.quick else SAME_SIZES:
        cavity, known = heated(rayleigh, size, settings), SAME_METHOD[rayleigh, size]
        what = f"Ra {rayleigh:.0e}, {size}^3: Nu, another program with this method"
        yield relative(what, known, cavity.nusselt[1], SAME_TOLERANCE)
    for rayleigh, size in () if settings.quick else CUBE_SIZES.items():
        cavity, what = heated(rayleigh, size, settings), f"Ra {rayleigh:.0e}, {size}^3"
        yield relative(f"{what}: Nu, Tric et al.", TRIC[rayleigh], cavity.nusselt[1], CUBE_TOLERANCE)
        yield shown(f"{what}: Nu, TheLMA on 256^3", THELMA[rayleigh], cavity.nusselt[1])
        if rayleigh in WAKASHIMA:
            yield shown(f"{what}: Nu, Wakashima and Saitoh", WAKASHIMA[rayleigh], cavity.nusselt[1])
        yield absolute(f"{what}: asymmetry about the centre", 0.0, cavity.asymmetry, SYMMETRIC[settings.precision])
        yield contours(f"Cube, Ra = {rayleigh:.0e}: isotherms of the middle plane", cavity.temperature[:, size // 2])


def heated(rayleigh: float, size: int, settings: Settings = DEFAULT, dimension: int = 3) -> Cavity:
    """The steady cavity with ``size`` nodes per edge. Raises MuphyError: it does not become steady."""
    simulation, diffusivity = heated_simulation(rayleigh, size, settings, dimension)

    def temperature():
        return temperature_k(simulation)

    settle(simulation, temperature, INTERVAL, STEADY[settings.precision] / 2, MOST_STEPS)
    return cavity_of(simulation, diffusivity)


def cavity_of(simulation: Solver, diffusivity: float) -> Cavity:
    """The current state of a simulation of :func:`heated_simulation`, on every rank; collective."""
    fields = temperature_k(simulation), simulation.velocity_m_s(), simulation.density()
    communicator = simulation.communicator
    return communicator.broadcast(_cavity(simulation, diffusivity, *fields) if communicator.rank == 0 else None)


def _cavity(simulation: Solver, diffusivity: float, temperature, velocity, density) -> Cavity:
    gradients = wall_heat(simulation).gradients_k_m(temperature)
    size = simulation.header.shape[1]
    unit = diffusivity / size

    def inside(values):
        return on_box(simulation, values)[:, :, 1:-1]

    return Cavity(
        (gradients["cold"] * size, -gradients["hot"] * size),
        inside(temperature),
        inside(velocity) / unit,
        inside(density - 1.0) / 3.0 / unit**2,
    )


def start_from_cavity(simulation: Solver, diffusivity: float, cavity: Cavity) -> None:
    """Initialise a cube with the state of one of the same Rayleigh number on another grid."""
    number, size = simulation.domain.number, simulation.header.shape[1]
    unit = diffusivity / size

    def on_nodes(values):
        return values.reshape(size**3, -1)[number].T

    temperature = resample(cavity.temperature, size, ((None, None), (None, None), (-0.5, 0.5)))
    velocity = resample(cavity.velocity, size, ((0.0, 0.0),) * 3)
    density = 1.0 + 3.0 * unit**2 * resample(cavity.pressure, size, ((None, None),) * 3)
    set_temperature_k(simulation, temperature.reshape(-1))
    simulation.engine.start_from(on_nodes(density)[0], on_nodes(velocity) * unit)


def resample(values: np.ndarray, size: int, at_walls) -> np.ndarray:
    """Linear interpolation of voxel-centred values (nz, ny, nx, ...) of a cube to ``size`` voxels per edge. ``values``:
    values on any grid; ``size``: voxels per edge of the new grid; ``at_walls``: for z, y, x the values at the two walls
    normal to it; None: that of the adjacent voxel."""
    for axis, ends in enumerate(at_walls):
        n = values.shape[axis]
        position = np.concatenate(([0.0], (np.arange(n) + 0.5) / n, [1.0]))
        weights = np.stack([np.interp((np.arange(size) + 0.5) / size, position, row) for row in np.eye(n + 2)], axis=1)
        inner = weights[:, 1:-1].copy()
        constant = np.zeros(size)
        for row, column, end in ((weights[:, 0], 0, ends[0]), (weights[:, -1], -1, ends[1])):
            if end is None:
                inner[:, column] += row
            else:
                constant += row * end
        values = np.moveaxis(np.tensordot(inner, values, (1, axis)), 0, axis)
        values = values + constant.reshape((1,) * axis + (size,) + (1,) * (values.ndim - axis - 1))
    return values


def heated_simulation(
    rayleigh: float,
    size: int,
    settings: Settings = DEFAULT,
    dimension: int = 3,
    method: str = DIFFERENCES,
    start: Cavity | None = None,
) -> tuple[Solver, float]:
    """(simulation of a cavity, its diffusivity) in lattice units, at rest or started from a state on another grid;
    gravity points along the negative last axis."""
    speed = min(FREE_FALL_VELOCITY, LARGEST_DIFFUSIVITY * sqrt(rayleigh * PRANDTL) / size)
    diffusivity = speed * size / sqrt(rayleigh * PRANDTL)
    gravity = [0.0, 0.0, 0.0]
    gravity[dimension - 1] = -1.0
    thermal = {
        "reference_k": 0.0,
        "diffusivity_m2_s": diffusivity,
        "gravity_m_s2": gravity,
        "expansion_1_k": speed**2 / size,
        "method": method,
    }
    simulation = lattice_simulation(
        settings,
        {"shape": "heated_cavity", "options": {"size": size, "dimension": dimension}},
        PRANDTL * diffusivity,
        thermal=thermal,
        compute={"partition": "Z"},  # slabs are a good partitioning of a cube
        lattice={"name": "D2Q9" if dimension == 2 else "D3Q19", "collision": "mrt"},
        walls=[{"name": "cold", "temperature_k": -0.5}, {"name": "hot", "temperature_k": 0.5}],
    )
    if start is not None:
        start_from_cavity(simulation, diffusivity, start)
    return simulation, diffusivity


def free_fall(rayleigh: float, size: int, diffusivity: float) -> float:
    """Free-fall time along the edge of a cavity of :func:`heated_simulation` [time steps]."""
    return size**2 / (diffusivity * sqrt(rayleigh * PRANDTL))


def _square(rayleigh: float, size: int, cavity: Cavity, tolerance: float) -> Iterator[Row | Plot]:
    known, plane, place = SQUARE[rayleigh], cavity.velocity[0], (np.arange(size) + 0.5) / size
    u, v = middle(plane[..., 0], 1), middle(plane[..., 1], 0)  # u over y at x = 1/2, v over x at y = 1/2
    of_velocities = max(tolerance, OWN_ERROR.get(rayleigh, 0.0))
    what, difference = f"Ra {rayleigh:.0e}, {size}^2", cavity.nusselt[0] - cavity.nusselt[1]
    yield relative(f"{what}: Nu of the hot wall", known.nusselt, cavity.nusselt[1], tolerance)
    yield relative(f"{what}: u_max on x = 1/2", known.u_max, extremum(place, u, 1)[1], of_velocities)
    yield relative(f"{what}: v_max on y = 1/2", known.v_max, extremum(place, v, 1)[1], of_velocities)
    yield absolute(f"{what}: Nu of the cold wall less that of the hot", 0.0, difference, inf)
    lines = (Series("u over y at x = 1/2", place, u), Series("v over x at y = 1/2", place, v))
    labels = "place over the edge", "velocity [diffusivity / edge]"
    yield Plot(f"Square cavity, Ra = {rayleigh:.0e}", *labels, lines)


AMPLITUDE, N_WAVES = 1e-3, (10, 6, 9)  # over the temperature difference of the walls; number of waves along x, y, z


def disturbance(size: int) -> np.ndarray:
    """(size, size, size) temperature perturbation of at most ``AMPLITUDE``: waves of every symmetry that vanish at the
    hot and the cold wall."""
    x = np.pi * (np.arange(size) + 0.5) / size
    n_x, n_y, n_z = N_WAVES
    waves = [np.array([np.sin(k * x) / np.sqrt(k) for k in range(1, n_x + 1)])]
    waves += [np.array([np.cos(k * x) for k in range(n)]) for n in (n_y, n_z)]
    amplitudes = np.random.default_rng(7).standard_normal(N_WAVES)
    values = np.einsum("kmn,kx,my,nz->zyx", amplitudes, *waves, optimize=True)
    return AMPLITUDE * values / np.abs(values).max()


def disturbed_rest(size: int) -> Cavity:
    """A fluid at rest whose temperature is that of a disturbance."""
    shape = (size,) * 3
    return Cavity((0.0, 0.0), disturbance(size), np.zeros((*shape, 3)), np.zeros(shape))


GRIDS = {1e4: (64, 128, 256), 1e5: (64, 128, 256), 1e6: (64, 128, 256), 1e7: (64, 128, 256), 1e8: (128, 256)}
QUICK_GRIDS = {1e4: (8, 16)}
# Name, Nusselt numbers, and relative tolerances.
PUBLISHED: tuple[tuple[str, Mapping[float, float], Mapping[float, float]], ...] = (
    ("Tric et al.", TRIC, {1e4: 0.006, 1e5: 0.006, 1e6: 0.006, 1e7: 0.007}),
    ("TheLMA on 256^3", THELMA, {1e8: 0.015}),
    ("Wakashima and Saitoh", WAKASHIMA, {}),
)
CUBE_QUICK_TOLERANCE = 2e-3
METHODS_GRID, QUICK_METHODS_GRID, METHODS_TOLERANCE = (1e5, 64), (1e4, 12), (0.005, 0.02)
CHANGE_STEPS = 500  # steps over which changes are evaluated, as in TheLMA
# Change of the temperature over CHANGE_STEPS steps, over the difference of the walls, at which a grid has converged.
SETTLED = {"fp64": 1e-8, "fp32": 1e-6}
STEADY_AT_MOST = 1e-5  # the same in TheLMA, and at 1e8, which does not converge within MAX_FREE_FALLS
MAX_FREE_FALLS = 400  # longest run on a grid, in free-fall times along the edge
# Above this Rayleigh number the start is disturbed. Here the flow has lost the symmetry about the centre and kept that
# of the mirror (Obrecht et al., Figs 10 and 11): the asymmetry is above ten times the disturbance, or below.
LAST_SYMMETRIC, TELLING_ASYMMETRY = 1e7, 10 * AMPLITUDE


class ConvergenceHistory(NamedTuple):
    """The convergence history of a cube."""

    steps: np.ndarray  # steps, wall, middle: (k,) time steps, and Nusselt numbers of the hot wall and of the mid-plane
    wall: np.ndarray
    middle: np.ndarray
    change: float  # change of the temperature over the last ``CHANGE_STEPS`` steps


@case(
    "heated-cube",
    "Tric, Labrosse, Betrouni, Int. J. Heat Mass Transfer 43, 4043 (2000); Obrecht, Kuznik, Tourancheau, Roux, Comput."
    " Fluids 54, 118 (2012), Table 5, on 256^3 nodes; Wakashima, Saitoh (2004)",
)
def heated_cube(settings: Settings) -> Iterator:
    """Nusselt numbers up to Ra = 1e8; hours on one GPU at the highest, less on several."""
    refuse_half(settings, "fp16 does not settle to the tolerances of this case")
    (rayleigh, size), allowed = METHODS_GRID, METHODS_TOLERANCE[0]
    if settings.quick:
        (rayleigh, size), allowed = QUICK_METHODS_GRID, METHODS_TOLERANCE[1]
    found = [grid_sequence(rayleigh, (size,), settings, method)[0] for method in (DIFFERENCES, POPULATION_METHOD)]
    what = f"Ra {rayleigh:.0e}, {size}^3: Nu, double distribution against finite differences"
    yield relative(what, found[0].nusselt[1], found[1].nusselt[1], allowed)
    for rayleigh, sizes in (QUICK_GRIDS if settings.quick else GRIDS).items():
        cavity, history = grid_sequence(rayleigh, sizes, settings, is_disturbed=rayleigh > LAST_SYMMETRIC)
        yield from _rows(rayleigh, sizes[-1], cavity, history, settings)
        lines = Series("hot wall", history.steps, history.wall), Series("midway", history.steps, history.middle)
        title = f"Cube, Ra = {rayleigh:.0e}, {sizes[-1]}^3"
        yield Plot(f"{title}: convergence", "steps", "Nusselt number", lines)
        yield contours(f"{title}: isotherms of the middle plane", cavity.temperature[:, sizes[-1] // 2])


def grid_sequence(
    rayleigh: float, sizes, settings: Settings = DEFAULT, method: str = DIFFERENCES, is_disturbed: bool = False
) -> tuple[Cavity, ConvergenceHistory]:
    """(the cube on the finest of a sequence of grids, its convergence history there); the flow on the first starts at
    rest, ``is_disturbed``: with a disturbance of every symmetry."""
    cavity: Cavity | None = disturbed_rest(sizes[0]) if is_disturbed and sizes else None
    history: ConvergenceHistory | None = None
    for size in sizes:
        simulation, diffusivity = heated_simulation(rayleigh, size, settings, method=method, start=cavity)
        most_steps = round(MAX_FREE_FALLS * free_fall(rayleigh, size, diffusivity))
        history = _settle(simulation, size, most_steps, settings)
        cavity = cavity_of(simulation, diffusivity)
        del simulation  # before the next is made
    if cavity is None or history is None:
        raise ValueError("grid_sequence has no sizes; give it at least one")
    return cavity, history


def _settle(simulation, size: int, most_steps: int, settings: Settings) -> ConvergenceHistory:
    """Step until the temperature is steady or ``most_steps`` are done (as for Ra = 1e8); collective."""
    plane = middle_heat(simulation)
    if plane is None:
        raise ValueError("the simulation has no plane between two walls of fixed temperature; give it a heated cube")
    communicator = simulation.communicator
    samples = []
    done = 0
    change = inf
    interval = CHANGE_STEPS * max(1, most_steps // (100 * CHANGE_STEPS))
    while done < most_steps and change > SETTLED[settings.precision]:
        simulation.step(interval - CHANGE_STEPS)
        before = temperature_k(simulation)
        simulation.step(CHANGE_STEPS)
        done, now, midway = done + interval, temperature_k(simulation), plane.gradient_k_m()
        if communicator.rank == 0:
            change = float(np.abs(on_root(now) - on_root(before)).max())
            gradient = wall_heat(simulation).gradients_k_m(on_root(now))["hot"]
            samples.append((done, -gradient * size, on_root(midway) * size))
        change = communicator.broadcast(change)
    steps, wall, middle = np.array(communicator.broadcast(samples)).T
    return ConvergenceHistory(steps, wall, middle, change)


def _rows(rayleigh, size, cavity: Cavity, history: ConvergenceHistory, settings: Settings) -> Iterator[Row]:
    what, found = f"Ra {rayleigh:.0e}, {size}^3", cavity.nusselt[1]
    if settings.quick:
        known = [("another program with this method", SAME_METHOD[rayleigh, size], CUBE_QUICK_TOLERANCE)]
    else:
        known = [(name, by[rayleigh], within.get(rayleigh, inf)) for name, by, within in PUBLISHED if rayleigh in by]
    known.append(("of the plane midway", float(history.middle[-1]), inf))
    for name, value, allowed in known:
        yield relative(f"{what}: Nu, {name}", value, found, allowed)
    is_symmetric = rayleigh <= LAST_SYMMETRIC
    steady = SETTLED[settings.precision] if is_symmetric else STEADY_AT_MOST
    yield absolute(f"{what}: change of temperature in {CHANGE_STEPS} steps", 0.0, history.change, steady)
    if is_symmetric:
        yield absolute(f"{what}: asymmetry about the centre", 0.0, cavity.asymmetry, SYMMETRIC[settings.precision])
    else:
        yield at_least(f"{what}: asymmetry about the centre, broken", TELLING_ASYMMETRY, cavity.asymmetry, 0.0)
        yield at_most(f"{what}: asymmetry about the mirror, kept", TELLING_ASYMMETRY, cavity.mirror_asymmetry)
