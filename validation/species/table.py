"""Species against exact numbers: rate laws, a plug-flow reactor with dispersion, uptake at walls, Taylor dispersion,
residence times."""

from collections.abc import Iterator
from math import exp, inf, sqrt
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import eig

from muphy_lb.domain import PULL
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.species.package import set_species
from muphy_lb.physics.species.residence import ALL, Entry, distributions
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, start_along, until_steady

NU, SPEED = 0.1, 0.02
STEPS = 800
FIRST, SECOND, BACK = 0.005, 0.01, 0.0025  # rate constants a step
STIRRED, DECAYED = {"fp64": 1e-6}, {"fp64": 1e-5}
ROUGH = 1e-3  # in single precision, whose populations lose digits to the value that does not change
REACTOR_LENGTH, REACTOR_TOLERANCE = 60, 0.002
DAMKOEHLER, HEIGHTS, QUICK_HEIGHTS, UPTAKE_TOLERANCE = (0.3, 3.0), (10, 20), (10,), 0.01
PECLET = 8.0  # mean speed times height over diffusivity, of the channel that takes up
MODES = 60  # Chebyshev points of the eigenvalue problem
DISPERSION_TOLERANCE = 0.01
PLATES, PLATES_PECLET, PLATES_TIME = 12.0, 20.0, 0.5  # height [voxels], and time in which a slab forgets its start
VESSEL_RADII, QUICK_RADII, RESIDENCE_TOLERANCE = (5.3, 8.3), (5.3,), 0.005
VESSEL_NU, VESSEL_SPEED, VESSEL_EVERY = 0.01, 0.03, 40
VESSEL_TIMES = (2.0, 6.0)  # viscous time of the parent over which the flow begins, and times V / Q until all has left
SETTLED = 1e-7  # largest change of steady values in 100 steps, relative


def _cos_points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev points on [-1, 1] and the matrix of differentiation on them."""
    x = np.cos(np.pi * np.arange(count + 1) / count)
    c = np.ones(count + 1)
    c[[0, -1]] = 2.0
    c *= (-1.0) ** np.arange(count + 1)
    distance = x[:, None] - x + np.eye(count + 1)
    matrix = np.outer(c, 1.0 / c) / distance
    return x, matrix - np.diag(matrix.sum(axis=1))


def decay_length(peclet: float, damkoehler: float) -> float:
    """Slowest decay m of c = Y(y) exp(-m x) in Poiseuille's flow between plates at y = 0 and 1 with the mean speed Pe,
    diffusivity 1 and dc/dn = -Da c at both: Y'' + m^2 Y + m u Y = 0, lengths in heights, by collocation."""
    x, d = _cos_points(MODES)
    d = 2.0 * d
    y = 0.5 * (x + 1.0)
    one, zero = np.eye(y.size), np.zeros((y.size, y.size))
    second, speed = d @ d, np.diag(6.0 * peclet * y * (1.0 - y))
    second[0], second[-1] = d[0] + damkoehler * one[0], -d[-1] + damkoehler * one[-1]
    speed[[0, -1]] = 0.0
    mass = one.copy()
    mass[[0, -1]] = 0.0
    left, right = np.block([[zero, one], [second, speed]]), np.block([[one, zero], [zero, -mass]])
    values = eig(left, right, right=False)
    real = values[np.isfinite(values) & (np.abs(values.imag) < 1e-8 * np.abs(values)) & (values.real > 1e-9)].real
    return float(real.min())


@case("species-rates", "rate laws in stirred fluid beside the integration of SciPy; decay exp(-k t)")
def rates(settings: Settings) -> Iterator:
    """Three species that react in a periodic channel, and one that decays."""
    species = [
        {"name": "a", "diffusivity_m2_s": 0.05, "initial": 1.0, "rate": "-k * a + back * b * c"},
        {"name": "b", "diffusivity_m2_s": 0.05, "rate": "k * a - back * b * c - second * b**2"},
        {"name": "c", "schmidt": 1.0, "rate": "second * b**2"},
    ]
    for each in species:
        each["rates"] = {"k": FIRST, "second": SECOND, "back": BACK}
    box = {"shape": "channel", "options": {"length": 8, "height": 8, "width": 1}}
    force = {"acceleration_m_s2": [1e-4, 0.0, 0.0]}
    simulation = lattice_simulation(settings, box, NU, flow=force, species=species)
    simulation.step(STEPS)

    def change(_, y):
        forward = FIRST * y[0] - BACK * y[1] * y[2]
        return [-forward, forward - SECOND * y[1] ** 2, SECOND * y[1] ** 2]

    exact = solve_ivp(change, (0.0, STEPS), [1.0, 0.0, 0.0], rtol=1e-11, atol=1e-14).y[:, -1]
    for name, expected in zip("abc", exact, strict=True):
        found = _mean(simulation, name)
        allowed = STIRRED.get(settings.precision, ROUGH)
        yield relative(f"{name} after {STEPS} steps of A -> B <-, 2 B -> C, over the start", expected, found, allowed)
    alone = [{"name": "a", "diffusivity_m2_s": 0.05, "initial": 1.0, "decay_per_s": FIRST}]
    simulation = lattice_simulation(settings, box, NU, flow=force, species=alone)
    simulation.step(STEPS)
    allowed = DECAYED.get(settings.precision, ROUGH)
    yield relative(f"decay over {STEPS} steps, exp(-k t)", exp(-FIRST * STEPS), _mean(simulation, "a"), allowed)


@case("species-reactor", "reactor with dispersion and decay between a held value and an outlet: closed form")
def reactor(settings: Settings) -> Iterator:
    """D c'' = u c' + k c, c = 1 at the inlet, no gradient at the outlet (Danckwerts 1953, his outlet)."""
    length, diffusivity, decay = REACTOR_LENGTH, 0.1, 2e-4
    walls = [
        {"name": name, "box_m": [[-9.0, low, -9.0], [length + 9.0, high, 9.0]], "slip": True}
        for name, low, high in (("low", -9.0, 0.0), ("high", 4.0, 13.0))
    ]
    simulation = lattice_simulation(
        settings,
        {"shape": "channel", "options": {"length": length, "height": 4, "width": 1, "ends": "open"}},
        NU,
        openings=[
            {"name": "inlet", "velocity_m_s": SPEED, "species": {"a": 1.0}},
            {"name": "outlet", "pressure_pa": 0.0},
        ],
        walls=walls,
        species=[{"name": "a", "diffusivity_m2_s": diffusivity, "decay_per_s": decay}],
    )
    values = until_steady(simulation, lambda: on_root(simulation.field("a")), SETTLED)
    root = sqrt(SPEED**2 + 4.0 * decay * diffusivity)
    up, down = (SPEED + root) / (2.0 * diffusivity), (SPEED - root) / (2.0 * diffusivity)
    share = -down / up * exp((down - up) * length)
    x = whole_nodes(simulation).coordinates()[:, 0].astype(float)
    x += 0.5 - x.min()
    exact = (np.exp(down * x) + share * np.exp(up * x)) / (1.0 + share)
    error = float(np.abs(values / exact - 1.0).max())
    yield relative("value over the closed form, worst node", 1.0, 1.0 + error, REACTOR_TOLERANCE)
    yield relative("value at the last node", float(exact[x.argmax()]), float(values[x.argmax()]), REACTOR_TOLERANCE)


@case(
    "species-uptake", "decay along a channel whose walls take up k c: eigenvalues of Graetz's problem with a reaction"
)
def uptake(settings: Settings) -> Iterator:
    """Decay length of the developed profile between plates."""
    heights = QUICK_HEIGHTS if settings.quick else HEIGHTS
    for number in DAMKOEHLER:
        expected, errors = decay_length(PECLET, number), []
        for height in heights:
            found = _absorbing_channel(height, number, settings)
            where = f"Da = {number:g}, {height} voxels"
            yield relative(f"decay over a height, {where}", expected, found, UPTAKE_TOLERANCE)
            errors.append(abs(found / expected - 1.0))
        if len(heights) > 1:
            yield relative(f"order, Da = {number:g}", 2.0, order_of_convergence(heights, errors), inf)


def _absorbing_channel(height: int, damkoehler: float, settings: Settings) -> float:
    """Decay over a height between 2 and 3 heights from the inlet."""
    diffusivity, length = SPEED * height / PECLET, 5 * height
    walls = [
        {
            "name": name,
            "box_m": [[-9.0, low, -9.0], [length + 9.0, high, 9.0]],
            "species_uptake_m_s": {"a": damkoehler * diffusivity / height},
        }
        for name, low, high in (("low", -9.0, 0.0), ("high", height, height + 9.0))
    ]
    simulation = lattice_simulation(
        settings,
        {"shape": "channel", "options": {"length": length, "height": height, "width": 1, "ends": "open"}},
        NU,
        openings=[
            {"name": "inlet", "velocity_m_s": SPEED, "profile": "parabolic", "species": {"a": 1.0}},
            {"name": "outlet", "pressure_pa": 0.0},
        ],
        lattice={"equilibrium": "stokes"},
        walls=walls,
        species=[{"name": "a", "diffusivity_m2_s": diffusivity}],
    )
    values = until_steady(simulation, lambda: on_root(simulation.field("a")), SETTLED)
    x = whole_nodes(simulation).coordinates()[:, 0]
    x = x - x.min()
    mean = np.array([values[x == k].mean() for k in range(length)])
    return float(np.log(mean[2 * height] / mean[3 * height]))


@case(
    "species-dispersion",
    "Taylor, Proc. R. Soc. A 219, 186 (1953), Aris, ibid. 235, 67 (1956): D (1 + Pe^2 / 210) between plates, Pe of"
    " their distance; pipes and other diffusivities: case dispersion",
)
def dispersion(settings: Settings) -> Iterator:
    """Growth of the variance of a slab in Poiseuille's flow between plates."""
    diffusivity = SPEED * PLATES / PLATES_PECLET
    steps = round(PLATES_TIME * PLATES**2 / diffusivity)
    length, start = int(5.0 * SPEED * steps + 14.0 * PLATES), 5.0 * PLATES
    force = 12.0 * NU * SPEED / PLATES**2
    simulation = lattice_simulation(
        settings,
        {"shape": "channel", "options": {"length": length, "height": int(PLATES), "width": 1}},
        NU,
        lattice={"equilibrium": "stokes"},
        flow={"acceleration_m_s2": [force, 0.0, 0.0]},
        species=[{"name": "a", "diffusivity_m2_s": diffusivity}],
    )
    nodes = whole_nodes(simulation)
    along, y = nodes.coordinates()[:, :2].T.astype(float)
    y += 0.5 - y.min()
    start_along(simulation, 0, 0.5 * force / NU * y * (PLATES - y))
    set_species(simulation, "a", np.exp(-((along - start) ** 2) / (2.0 * PLATES**2)))
    found = []
    for _ in range(2):
        simulation.step(steps)
        values = on_root(simulation.field("a")).astype(np.float64)
        centre = float(np.average(along, weights=values))
        found.append((centre, float(np.average((along - centre) ** 2, weights=values))))
    (first, narrow), (last, wide) = found
    yield relative("plates: mean speed of the slab", SPEED, (last - first) / steps, DISPERSION_TOLERANCE)
    expected, spread = 1.0 + PLATES_PECLET**2 / 210.0, (wide - narrow) / (2.0 * steps * diffusivity)
    yield relative(f"plates: dispersion over D, Pe = {PLATES_PECLET:g}", expected, spread, DISPERSION_TOLERANCE)


@case(
    "species-residence",
    "Danckwerts, Chem. Eng. Sci. 2, 1 (1953): the mean residence time in any closed vessel is volume over flow rate",
)
def residence_times(settings: Settings) -> Iterator:
    """A step of dye in an artery with a bifurcation, oblique to the lattice, with two outlets at one pressure."""
    for radius in QUICK_RADII if settings.quick else VESSEL_RADII:
        begin = VESSEL_TIMES[0] * radius**2 / VESSEL_NU
        openings = [
            {"name": "inlet", "velocity_m_s": VESSEL_SPEED, "profile": "parabolic", "species_inflow": {"dye": 1.0}},
            *({"name": f"outlet_{k}", "pressure_pa": 0.0} for k in (1, 2)),
        ]
        frozen = {"frozen_after_s": begin} if settings.streaming == PULL.name else {}
        simulation = lattice_simulation(
            settings,
            {"shape": "branching_vessel", "options": {"parent_radius_m": radius, "generations": 1}},
            VESSEL_NU,
            lattice={"name": "D3Q19"},
            openings=openings,
            species=[{"name": "dye", "diffusivity_m2_s": 0.02, "bolus": {"start_s": begin}}],
            run=frozen,
        )
        physics: Any = simulation.physics[0]
        (told,) = physics.told(simulation)
        simulation.step(int(begin))
        expected = simulation.header.n_nodes / on_root(simulation.openings())["inlet"].flow_rate_m3_s
        rows = []
        for _ in range(int(VESSEL_TIMES[1] * expected) // VESSEL_EVERY):
            rows.append([simulation.time_s, *on_root(told.numbers_si())])
            simulation.step(VESSEL_EVERY)
        table = dict(zip(["time_s", *told.columns], np.array(rows).T, strict=True))
        columns = told.columns_of_outlets
        mean = {outlet: table[column] for outlet, (column, _) in columns.items()}
        leaving = {outlet: -table[column] for outlet, (_, column) in columns.items()}
        found = distributions(table["time_s"], mean, leaving, Entry(1.0, begin, inf))
        where = f"radius {radius:g}"
        yield relative(f"share that has left, {where}", 1.0, found[ALL].share_left, RESIDENCE_TOLERANCE)
        yield relative(f"mean residence time [steps], {where}", expected, found[ALL].mean_s, RESIDENCE_TOLERANCE)


def _mean(simulation: Solver, name: str) -> float:
    return float(on_root(simulation.field(name)).mean(dtype=np.float64))


CASES = (rates, reactor, uptake, dispersion, residence_times)
