"""Flows with a free surface, for tests of the solver's inside."""

from dataclasses import dataclass, field

import numpy as np

from muphy_lb.domain.wall_shapes import wall_shapes
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, SOLID, Voxels
from muphy_lb.geometry.voxels import FLUID as FLUID_VOXEL
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import Operator
from muphy_lb.physics.free_surface.bubbles import Bubbles, GasLaw, OpenGas
from muphy_lb.physics.free_surface.capillarity import NO_TENSION
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LIQUID, MASS, is_liquid
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.model import free_surface
from muphy_lb.physics.free_surface.section import BubblesSection
from muphy_lb.physics.free_surface.start import InitialLiquid, Region, initial_fields
from tests.support import Ranks, Setup, plain_flow


@dataclass(frozen=True)
class SurfaceSetup(Setup):
    """A flow with a free surface."""

    gas_deviation: float = 0.0
    capillarity: Operator = NO_TENSION
    of_capillarity: dict = field(default_factory=dict)
    law: GasLaw | None = None
    search_every: int = 4

    def model_of(self, domain, nodes):
        """Isothermal flow with gas above it, which is compressed if it has a law."""
        flow, bubbles = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force), None
        if self.law is not None:
            section = BubblesSection(pressure_pa=1.0, regions_every_steps=self.search_every, outlets_are_open=False)
            open_gas = OpenGas(section, domain.part.nodes)
            bubbles = Bubbles(self.law, section, open_gas, self.precision.real, 1000, is_hydrostatic=False)
        walls = wall_shapes(nodes, self.lattice)[0] if self.capillarity is CONTACT_ANGLE else None
        return free_surface(flow, self.gas_deviation, self.capillarity, self.of_capillarity, bubbles, walls).model()


def tank(shape, solid=0.0, periodic=(False, False, False)) -> NodeList:
    """Nodes of a closed box (nz, ny, nx), a random part of whose voxels is solid."""
    is_solid = np.random.default_rng(2).random(shape) < solid
    flags = np.where(is_solid, SOLID, FLUID_VOXEL).astype(FLAG_DTYPE)
    return build_nodes(Voxels(flags, periodic=periodic))


class Tank:
    """Ranks of one process with a free surface.

    Args:
        nodes: the geometry.
        setup: what they compute.
        regions: what is liquid at the start.
        owner: (n,) rank of every node; one rank without it.
    """

    def __init__(self, nodes: NodeList, setup: SurfaceSetup, regions: list[Region], owner=None):
        owner = np.zeros(nodes.n_nodes, dtype=int) if owner is None else owner
        self.nodes, self.setup, self.ranks = nodes, setup, Ranks(nodes, setup, owner)
        liquid = InitialLiquid(regions, nodes)
        for engine in self.ranks.engines:
            cell, fill = liquid.cells(engine.domain, setup.lattice)
            for name, values in initial_fields(cell, fill, np.ones(fill.size)).items():
                engine.fields.set(name, values)
        self.ranks.set_populations(np.zeros((setup.lattice.q, nodes.n_nodes)))

    def start_actions(self) -> None:
        """Find the bubbles."""
        self.ranks.each(lambda engine: engine.actions.start())

    def advance(self, n_steps: int, first: int = 0) -> None:
        """Steps with actions between them, from step ``first`` on."""

        def work(engine):
            for step in range(first + 1, first + n_steps + 1):
                engine.step()
                engine.actions.act(step)

        self.ranks.each(work)

    def bubbles(self) -> Bubbles:
        """Those that the first rank follows."""
        return self.ranks.engines[0].model.actions[0]

    def gas(self) -> float:
        """Volume of all gas, in voxels."""
        cell = self.field(CELL)
        return float(np.where(cell == GAS, 1.0, np.where(cell == INTERFACE, 1.0 - self.field(FILL), 0.0)).sum())

    def field(self, name: str) -> np.ndarray:
        """(n,) values in node-list order; of cells without the mark of shores."""
        found = self.stored(name)
        return np.where(is_liquid(found), LIQUID, found) if name == CELL else found

    def stored(self, name: str) -> np.ndarray:
        """(n,) values of the ranks."""
        found = np.empty(self.nodes.n_nodes)
        for engine in self.ranks.engines:
            found[engine.domain.number] = engine.fields.get(name, engine.parity)
        return found

    def moments(self) -> np.ndarray:
        """(4, n) density deviation and velocity in node-list order."""
        found = np.empty((4, self.nodes.n_nodes))
        for engine in self.ranks.engines:
            found[:, engine.domain.number] = engine.moments()
        return found

    def mass(self) -> float:
        """Mass of all liquid."""
        is_liquid = self.field(CELL) == LIQUID
        return float(np.where(is_liquid, 1.0 + self.moments()[0], 0.0).sum() + self.field(MASS).sum())

    def counted(self) -> float:
        """The same by the sums of the ranks."""
        return sum(engine.totals().mass for engine in self.ranks.engines) + self.nodes.n_nodes

    def bad(self) -> int:
        """Number of pairs of a liquid and a gas cell that are neighbours."""
        shape, cell = self.nodes.shape, np.full(int(np.prod(self.nodes.shape)), -1)
        cell[self.nodes.voxel] = self.field(CELL).astype(int)
        place, found = self.nodes.coordinates(), 0
        size = np.array(shape[::-1])
        for vector in self.setup.lattice.c[1:]:
            there = place + vector
            there = np.where(self.nodes.periodic, there % size, there)
            inside = ((there >= 0) & (there < size)).all(axis=1)
            x, y, z = np.where(inside[:, None], there, 0).T
            beside = np.where(inside, cell[(z * size[1] + y) * size[0] + x], -1)
            found += int(((cell[self.nodes.voxel] == LIQUID) & (beside == GAS)).sum())
        return found

    def state(self) -> bytes:
        """Cells, masses and populations of cells with liquid, bit for bit."""
        cell = self.stored(CELL)
        populations = np.where(cell == GAS, 0.0, self.ranks.populations())
        return b"".join(array.tobytes() for array in (cell, self.field(MASS), populations))

    def is_between_steps(self) -> bool:
        """Whether every cell is one of the three kinds."""
        return bool(np.isin(self.field(CELL), (GAS, INTERFACE, LIQUID)).all())
