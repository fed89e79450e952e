"""Compiles kernels of particles to PTX without a GPU, and prints the names of the stages that compile.

Run as ``python -m tests.parity.ptx_particles`` in a process of its own.
"""

import sys
from dataclasses import replace

import numpy as np
from numba import typeof, types

from muphy_lb.backends.cuda import particle_skeletons, stage_skeletons
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.lattice import D3Q19
from muphy_lb.physics.flow import plain_flow
from muphy_lb.physics.isothermal import Fluid
from muphy_lb.physics.model import ARRIVING, EACH, MIGRATE, PARTICLES, SHARE
from muphy_lb.physics.particles.beads.model import AT_REST
from muphy_lb.physics.particles.tracers.species import with_tracers
from muphy_lb.precision import FP32
from tests.laws.test_beads import CHAINS, SINGLE, BeadSetup
from tests.parity.ptx import CAPABILITY, pretend
from tests.support import Setup, build_engine, random_nodes


class TracerSetup(Setup):
    """A flow with tracers."""

    def model(self):
        """The flow, and tracers in it."""
        return with_tracers(plain_flow(self.lattice, Fluid(self.rates), self.streaming), "t", 20, 0.01, 1).model()


def main() -> int:
    """All stages of single beads, of chains, of beads in a fluid at rest, of tracers."""
    pretend(CAPABILITY)
    setups = [
        BeadSetup(D3Q19, beads=beads, precision=FP32) for beads in (SINGLE, CHAINS, replace(SINGLE, kernel="point"))
    ]
    setups += [BeadSetup(D3Q19, beads=replace(SINGLE, coupling=AT_REST), precision=FP32)]
    setups += [TracerSetup(D3Q19, precision=FP32)]
    nodes = random_nodes(D3Q19, openings=False, periodic=(True, True, True))
    for setup in setups:
        engine = build_engine(nodes, setup)
        for stage in engine.model.stages:
            if stage.kernel == SHARE:
                continue
            (operator,) = stage.operators
            values = engine.parameters.values(operator, stage.parameters, 0)
            kernel, ahead = kernel_of(stage.kernel, operator, engine)
            cuda.compile_ptx(kernel.py_func, types.void(*ahead, typeof(values)), cc=CAPABILITY)
            print(stage.name, operator.name, flush=True)
    for name, arguments in migration(build_engine(nodes, setups[0])).items():
        cuda.compile_ptx(getattr(particle_skeletons, name).py_func, types.void(*arguments), cc=CAPABILITY)
        print(name, flush=True)
    return 0


def kernel_of(name: str, operator, engine) -> tuple:
    """The kernel of a stage, and the types of its arguments ahead of the values."""
    particles, stages, how, number = particle_skeletons, stage_skeletons, (operator, D3Q19, FP32), types.int64
    words = typeof(np.zeros(1, np.uint32)), types.uint32, types.uint32, types.uint32
    if name == ARRIVING:
        pattern, real, flow = (
            engine.addresses.patterns[0],
            *map(typeof, (np.zeros(1, np.float32), np.zeros(6, np.float32))),
        )
        kernel = stages.arriving(operator, pattern.load, len(pattern.directions), *how[1:], np.uint32)
        return kernel, (real, words[0], words[0], *words, types.UniTuple(flow, 3))
    if name == EACH:
        return stages.each_of_block(*how), words
    if name == MIGRATE:
        (bound,) = engine.particles._sets.values()
        given = bound.arrays, bound._migration[0], engine.particles.lookup
        return particles.update_and_send(*how), (*map(typeof, given), number)
    if name == PARTICLES:
        return particles.particles(*how), (typeof(np.zeros(1, np.int64)),)
    return particles.over_range(*how), (number, number)


def migration(engine) -> dict[str, tuple]:
    """The kernels by which beads migrate, with the types of their arguments."""
    beads = engine.particles._sets["beads"]
    number, messages, particles = types.int64, beads._migration[0], typeof(beads.arrays)
    return {
        "clear_counts": (typeof(messages.outgoing), number, number),
        "match_holes": (typeof(beads.arrays.count), typeof(messages)),
        "fill_holes": (particles, typeof(messages), number),
        "close_holes": (typeof(beads.arrays.count), typeof(messages.n_moved)),
        "receive_particles": (particles, typeof(messages), number),
    }


if __name__ == "__main__":
    sys.exit(main())
