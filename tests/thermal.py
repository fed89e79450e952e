"""Builders for tests of fields and of thermal flow."""

from dataclasses import dataclass, field

import numpy as np

from muphy_lb.domain import FIXED, FLUX, LocalDomain, ScalarBoundary
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag
from muphy_lb.model.isothermal import Fluid
from muphy_lb.model.model import Model
from muphy_lb.operators import mrt_for
from muphy_lb.physics.thermal.model import DIFFERENCES, Heat, heated, temperature_fields
from tests.support import Ranks, Setup, build_engine, plain_flow, random_populations, start_at_rest

COLD, HOT = -0.5, 0.5
BETWEEN = ScalarBoundary(np.array([FIXED, FIXED, FLUX]), np.array([COLD, HOT, 0.0]), n_walls=2)
PRANDTL, CENTRE_SPEED = 0.71, 0.1


@dataclass(frozen=True)
class ThermalSetup(Setup):
    """A thermal flow; ``heat`` must be given."""

    heat: Heat = field(default=None)

    def model(self) -> Model:
        """Thermal flow."""
        fluid = Fluid(self.rates, self.relaxation, self.equilibrium, self.closure)
        return heated(plain_flow(self.lattice, fluid, self.streaming, self.force), self.heat).model()

    def heat_of(self, domain: LocalDomain) -> Heat:
        """What the temperature of a rank does."""
        return self.heat


def between_walls(shape_zyx, periodic=(False, False, False)) -> NodeList:
    """Nodes of a box between a cold wall at low x and a hot one at high x; the other sides are nameless."""
    nz, ny, nx = shape_zyx
    flags = np.full((nz, ny, nx + 2), FLUID, FLAG_DTYPE)
    flags[:, :, 0], flags[:, :, -1] = wall_flag(0), wall_flag(1)
    return build_nodes(Voxels(flags, periodic=periodic, walls=("cold", "hot")))


def cavity_setup(lattice, size: int, rayleigh: float, up=2, backend="cpu", method=DIFFERENCES, **more) -> ThermalSetup:
    """The differentially heated cavity of Obrecht et al. (2012): free-fall speed 0.1, their rates of MRT."""
    viscosity = CENTRE_SPEED * size * np.sqrt(PRANDTL / rayleigh)
    buoyancy = np.zeros(3)
    buoyancy[up] = CENTRE_SPEED**2 / ((HOT - COLD) * size)
    relaxation, rates = mrt_for(lattice)
    heat = Heat(viscosity / PRANDTL, tuple(buoyancy), BETWEEN, method)
    rates = (1.0 / (3.0 * viscosity + 0.5), *rates)
    return ThermalSetup(lattice, backend=backend, rates=rates, relaxation=relaxation, heat=heat, **more)


def cavity_engine(nodes: NodeList, setup: ThermalSetup) -> Engine:
    """A cavity at rest, at the mean temperature."""
    engine = build_engine(nodes, setup)
    heat(engine, setup, np.zeros(1))
    return start_at_rest(engine)


def heat(engine: Engine, setup: ThermalSetup, temperature: np.ndarray) -> None:
    """Put temperatures (n,) in run order, or (1,), into force."""
    own = setup.heat_of(engine.domain)
    for name, values in temperature_fields(own, setup.lattice, temperature).items():
        engine.fields.set(name, values)


def temperature(engine: Engine) -> np.ndarray:
    """(n,) temperatures in run order."""
    return engine.fields.get("temperature", engine.parity)


def temperature_of_ranks(ranks: Ranks) -> np.ndarray:
    """(n,) temperatures in node-list order."""
    parts = [(engine.domain.number, temperature(engine)) for engine in ranks.engines]
    result = np.empty(sum(number.size for number, _ in parts), parts[0][1].dtype)
    for number, values in parts:
        result[number] = values
    return result


def thermal_state(nodes, setup, owner, n_steps=20):
    """Populations and temperature in node-list order after a start from noise."""
    ranks = Ranks(nodes, setup, owner)
    start = 0.1 * np.random.default_rng(5).standard_normal(nodes.n_nodes)
    for engine in ranks.engines:
        heat(engine, setup, start[engine.domain.number])
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(n_steps)
    return ranks.populations(), temperature_of_ranks(ranks)
