"""Tracers as a species of particles."""

import numpy as np

from muphy_lb.physics.model import MIGRATE, POSITION, ParticleSet, Stage
from muphy_lb.physics.particles.species import Species


class Tracers(Species):
    """Tracers of one table of the case file."""

    kind = "tracers"

    def extend(self, flow):
        """The flow, with tracers behind its collision."""
        particles = ParticleSet(self.name, capacity=self.section.count)
        return flow.with_particles(particles).with_stages(after=(Stage("migrate", MIGRATE, over=self.name),))

    def initial(self, view):
        """Evenly spread over the fluid."""
        nodes = view.nodes
        found = None
        if view.communicator.rank == 0:
            random = np.random.default_rng(self.section.seed)
            count = self.section.count
            place = nodes.coordinates()[random.integers(nodes.n_nodes, size=count)]
            found = {"id": np.arange(count)} | dict(zip(POSITION[0], place.T, strict=True))
            found |= dict(zip(POSITION[1], random.uniform(-0.5, 0.5, (3, count)), strict=True))
        return view.communicator.broadcast(found)

    def describe(self) -> str:
        """Their number."""
        return f"{self.section.count:,} tracers {self.name}"
