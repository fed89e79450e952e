"""Particles on the CUDA backend, for Numba's simulator: run as ``python -m tests.parity.particle_cases FILE``."""

import sys
from dataclasses import replace

import numpy as np

from muphy_lb.backends.cuda import kernels, particle_skeletons, stage_skeletons
from muphy_lb.lattice import D3Q19
from muphy_lb.model.isothermal import Fluid
from muphy_lb.physics.particles.tracers.species import with_tracers
from tests.laws.test_beads import OPEN, SINGLE, BeadSetup, start_on
from tests.support import Ranks, Setup, plain_flow, random_nodes, random_owner, random_populations

N_STEPS, BLOCK = 3, 32
BEADS = replace(SINGLE, count=12)


class TracerSetup(Setup):
    """A flow with tracers that walk at random."""

    def model(self):
        """The flow, and tracers in it."""
        return with_tracers(plain_flow(self.lattice, Fluid(self.rates), self.streaming), "beads", 12, 0.02, 1).model()


CASES = {
    "linear": (BeadSetup(D3Q19, beads=BEADS), 1),
    "point": (BeadSetup(D3Q19, beads=replace(BEADS, kernel="point")), 1),
    "two ranks": (BeadSetup(D3Q19, beads=BEADS), 2),
    "tracers": (TracerSetup(D3Q19), 1),
}


def state(label: str, backend: str) -> np.ndarray:
    """Populations and all columns of the particles, by id, behind the steps."""
    setup, n_ranks = CASES[label]
    nodes = random_nodes(D3Q19, **OPEN)
    ranks = Ranks(nodes, replace(setup, backend=backend), random_owner(nodes, n_ranks))
    for engine in ranks.engines:
        engine.particles.set("beads", start_on(nodes, BEADS, D3Q19))
    ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
    ranks.step(N_STEPS - 1)
    for engine in ranks.engines:
        engine.particles.sort()
    ranks.step(1)
    found = [engine.particles.get("beads") for engine in ranks.engines]
    columns = [np.concatenate([each[name] for each in found]) for name in found[0]]
    order = np.argsort(columns[0])
    return np.concatenate([ranks.populations().reshape(-1), *(column[order] for column in columns)])


if __name__ == "__main__":
    from tests.simulator import take_turns

    take_turns()
    # threads that do nothing cost the simulator as much as others, and there are to be several blocks
    stage_skeletons.CHOOSING_BLOCK = kernels.PARTICLE_BLOCK = particle_skeletons.DRAG_BLOCK = BLOCK
    kernels.DRAG_THREADS = 2 * BLOCK  # so that a block has several groups of beads
    np.savez(sys.argv[1], **{label: state(label, "cuda") for label in CASES})
