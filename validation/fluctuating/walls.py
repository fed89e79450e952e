"""A fluctuating fluid beside walls and openings.

Half-way bounce-back permutes populations, as streaming between nodes does; openings of given velocity do so up to a
constant, and openings of given pressure, which bounce back with the opposite sign, up to a constant and a sign. None
of them changes the variance of independent populations. So the thermal equilibrium of a box is that of any pore space
at rest: nodes beside staircase walls, in the narrowest throats and beside openings have the temperature of the bulk.

In a flow that holds but for corrections of the order of its velocity. The noise is that of density 1, whatever the
local density: the momentum of a node has its variance everywhere, its velocity less where pressure raises the density.
Across a throat of one voxel the collision cannot change the momentum, which changes its sign in every step: it keeps
the variance that it started with, which is none in a run from rest.

The states that are sampled grow out of states of thermal equilibrium, so that none depends on another.
"""

from collections.abc import Iterator

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Row, Settings, case, relative, shown
from muphy_lb.validation.flows import share_of_sigma
from muphy_lb.validation.fluctuating import boxes
from muphy_lb.validation.plot import Plot, Series

TOLERANCE = 0.03
PACK, QUICK_PACK = ({"size": edge, "radius": radius, "porosity": 0.4} for edge, radius in ((48, 6.0), (15, 4.0)))
PIPE, QUICK_PIPE = {"radius": 8.6}, {"radius": 3.4}
N_DRAWS, QUICK_N_DRAWS = 64, 20
AGE, QUICK_AGE = 256, 64  # steps from an equilibrium to the sample
OPEN, QUICK_OPEN = {"length": 25, "side": 11}, {"length": 9, "side": 5}
N_OPEN_DRAWS, QUICK_N_OPEN_DRAWS = 600, 100
RESTING, FLOWING = 0.0, 0.03  # velocities of the inlet
DISTANCES = (0, 1, 2)
MOST_LINKS = 9  # a node with fewer fluid neighbours is in a throat


@case(
    "fluctuating-walls",
    "equilibrium beside half-way walls: exact, as bounce-back is a permutation of populations (Ladd, Verberg,"
    " J. Stat. Phys. 104, 1191 (2001)); beside openings: the same to first order in the velocity",
)
def fluctuating_walls(settings: Settings) -> Iterator:
    """Temperature of the first layer at staircase walls, of narrow throats, and beside openings."""
    boxes.refuse_half(settings)
    pack, pipe = (QUICK_PACK, QUICK_PIPE) if settings.quick else (PACK, PIPE)
    draws, age = (QUICK_N_DRAWS, QUICK_AGE) if settings.quick else (N_DRAWS, AGE)
    for name, shape, options in (("sphere pack", "sphere_pack", pack), ("tilted pipe", "tilted_pipe", pipe)):
        simulation = boxes.fluctuating_flow({"shape": shape, "options": options}, settings)
        found = variances(simulation, draws, age)
        for place, nodes in places(simulation).items():
            yield from _rows(f"{name}, {place}", found[:, nodes], draws, settings)
    curves: list[Series] = []
    for inflow in (RESTING, FLOWING):
        yield from _beside_openings(inflow, curves, settings)
    yield Plot("Beside openings", "nodes from the opening", "variance of the momentum over kT", tuple(curves))


def _rows(where: str, of_nodes: np.ndarray, draws: int, settings: Settings) -> Iterator[Row]:
    """Rows for the variances (4, n) of the density and the momentum of nodes."""
    for quantity, found in (("momentum", of_nodes[1:]), ("density", of_nodes[:1])):
        error = share_of_sigma((draws - 1) * found.size)
        tolerance = boxes.N_SIGMA * error if settings.quick else TOLERANCE
        yield relative(f"{where}: variance of the {quantity}", 1.0, float(found.mean()), tolerance)


def variances(simulation: Simulation, n_draws: int, age: int) -> np.ndarray:
    """(4, n) variances of density deviation and momentum over their equilibrium values, in the order of the run,
    ``age`` steps after each of some independent states of thermal equilibrium.

    Populations in equilibrium are independent numbers, before collisions as after them; if noise and dissipation were
    out of balance anywhere, they would not stay so. What all states have in common, a mean flow, does not count.
    """
    rng, engine = np.random.default_rng(1), simulation.engine
    total, square = np.zeros((2, 4, simulation.header.n_nodes))
    for _ in range(n_draws):
        engine.set_populations(boxes.equilibrium_populations(simulation.lattice, total.shape[1], boxes.KT, rng))
        simulation.step(age)
        moments = simulation.engine.moments().astype(np.float64)
        moments[1:] *= 1.0 + moments[0]
        total, square = total + moments, square + moments**2
    values = boxes.KT * np.array([1.0 / float(simulation.lattice.cs2), 1.0, 1.0, 1.0])
    return (square - total**2 / n_draws) / (n_draws - 1) / values[:, None]


def places(simulation: Simulation) -> dict[str, np.ndarray]:
    """Masks of nodes, in the order of the run: those beside walls, and those in throats, if there are any."""
    neighbours = simulation.domain.search.table(simulation.lattice.c[1:], slice(None))
    n_fluid = (neighbours >= 0).sum(axis=0)[simulation.domain.number]
    found = {"first layer": n_fluid < simulation.lattice.q - 1, "narrow throats": n_fluid < MOST_LINKS}
    return {name: mask for name, mask in found.items() if mask.any()}


def _beside_openings(inflow: float, curves: list[Series], settings: Settings) -> Iterator[Row]:
    """Variances in layers at distances from an inlet of given velocity and an outlet of given pressure; those of a
    flowing fluid are shown, not judged. Their curves join ``curves``."""
    draws, options = (QUICK_N_OPEN_DRAWS, QUICK_OPEN) if settings.quick else (N_OPEN_DRAWS, OPEN)
    openings = [{"name": "inlet", "velocity_m_s": inflow}, {"name": "outlet", "pressure_pa": 0.0}]
    geometry = {"shape": "square_duct", "options": {**options, "ends": "open"}}
    simulation = boxes.fluctuating_flow(geometry, settings, openings=openings)
    found = variances(simulation, draws, QUICK_AGE if settings.quick else AGE)
    along = voxel_coordinates(simulation.domain.voxel, simulation.header.shape)[:, 0]
    layers = {"velocity": along - along.min(), "pressure": along.max() - along}
    for kind, layer in layers.items():
        for distance in DISTANCES:
            where = f"inflow {inflow:g}, {distance} nodes from given {kind}"
            for row in _rows(where, found[:, layer == distance], draws, settings):
                yield row if inflow == RESTING else shown(row.quantity, 1.0, row.computed)
        distances = np.arange(layer.max() // 2)
        means = [found[1:, layer == distance].mean() for distance in distances]
        curves.append(Series(f"given {kind}, inflow {inflow:g}", distances.tolist(), means, "points"))
