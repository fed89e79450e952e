"""A free surface on the CUDA backend, in the simulator: run as ``python -m tests.parity.surface_cases FILE LABELS``."""

import sys
from dataclasses import replace
from functools import cache

import numpy as np

from muphy_lb.backends import make_backend
from muphy_lb.backends.arrays import Chosen, Collected, NodeRange
from muphy_lb.base.precision import FP64
from muphy_lb.engine import fields
from muphy_lb.lattice import D3Q19
from muphy_lb.lattice.layout import WARP, whole
from muphy_lb.measure.node_sums import NodeSums
from muphy_lb.model.model import COLLECT
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.task import ON_EDGE
from muphy_lb.physics.free_surface.bubbles import GasLaw
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, PARABOLOID, TENSION
from muphy_lb.physics.free_surface.cells import CELL, MASS
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.operators.extent import extent_in
from muphy_lb.physics.free_surface.start import BoxRegion, sphere_region
from tests.free_surface import SurfaceSetup, Tank, tank

LISTED, MASK = NodeRange(2 * WARP, 5000), 2
"""A range of nodes of which a stage lists some."""
SHAPE = (4, 6, 8)
N_STEPS = 5
CASES = {
    "pull": {"streaming": "pull"},
    "aa": {"streaming": "aa"},
    "no room": {"streaming": "pull"},
    "two ranks": {"streaming": "pull"},
    "bubbles": {"streaming": "aa", "law": GasLaw(absolute=0.3, deviation=0.0, gamma=1.4, largest=0.3)},
    "contact angle": {
        "streaming": "pull",
        "capillarity": CONTACT_ANGLE,
        "of_capillarity": {TENSION: 0.02, COS_ANGLE: 0.5},
    },
    "tension": {"streaming": "pull", "capillarity": PARABOLOID, "of_capillarity": {TENSION: 0.02}},
}


def splash(label: str, backend: str) -> Tank:
    """A column and a fast drop in a tank; the list of cells has room for all of them, or for hardly any."""
    fields.NODES_PER_ENTRY = 1000 if label == "no room" else 1
    nodes = tank(SHAPE, 0.05)
    nz, ny, nx = SHAPE
    column = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([0.3 * nx, 0.7 * ny, nz]))
    drop = sphere_region(np.array([-0.15, -0.25, 0.0]), np.array([0.7 * nx, 0.6 * ny, (nz - 1) / 2]), 1.7)
    setup = SurfaceSetup(D3Q19, rates=(1.8,), force=(1e-4, -3e-4, 5e-5), backend=backend, **CASES[label])
    halves = nodes.coordinates()[:, 0] * 2 // nx  # each with an edge and an interior, which have lists of their own
    return Tank(nodes, setup, [column, drop], halves if label == "two ranks" else None)


@cache
def advanced(label: str, backend: str) -> Tank:
    """The splash after the steps; bubbles are looked for in the fourth of them."""
    flow = splash(label, backend)
    flow.start_actions()
    flow.advance(N_STEPS)
    return flow


def state(label: str, backend: str) -> np.ndarray:
    """(Q + 2, n) populations, cells and masses after the steps."""
    flow = advanced(label, backend)
    cell = flow.field(CELL)
    return np.vstack([np.where(cell == 0, 0.0, flow.ranks.populations()), cell, flow.field(MASS)])


def extent(backend: str) -> np.ndarray:
    """Sums and largest numbers of the measure of the liquid, after some steps."""
    flow = advanced("aa", backend)
    (engine,) = flow.ranks.engines
    return np.concatenate(NodeSums(lambda: engine, SerialCommunicator(), extent_in(SHAPE), flow.nodes.n_nodes).read())


def kinds() -> np.ndarray:
    """Values of some bytes of a field, of which a few are not 0, more than a block of threads looks at."""
    rng = np.random.default_rng(5)
    found = np.zeros(LISTED.last + 7, np.uint8)
    at = rng.choice(found.size, 60, replace=False)
    found[at] = rng.integers(1, 8, at.size)
    return found


def listed() -> dict[str, np.ndarray]:
    """The nodes of a range and the warps that the device lists, for the second time, and what it has counted with."""
    backend = make_backend("cuda", D3Q19, FP64)
    field = backend.zeros(whole(LISTED.last + 7, WARP), np.uint8)
    backend.update(backend.view(field, 0, LISTED.last + 7), kinds())
    count, counters = backend.zeros(2, np.int32), backend.zeros(3, np.int32)
    nodes, warps = backend.zeros(100, np.uint32), backend.zeros(LISTED.last // WARP, np.uint32)
    chosen = replace(LISTED, where=Chosen(field, MASK))
    collect = backend.bind(COLLECT, chosen, Collected(count, nodes, warps), counters)
    collect()
    collect()
    n_nodes, n_warps = backend.to_host(count)
    found = {"nodes": np.sort(backend.to_host(nodes)[:n_nodes]), "warps": np.sort(backend.to_host(warps)[:n_warps])}
    return found | {"counters": backend.to_host(counters)}


def known() -> list[bool]:
    """Whether the collisions of edge and interior, behind some steps, find lists of the warps with fluid."""
    flow = splash("two ranks", "cuda")
    flow.start_actions()
    flow.advance(2)
    found = []
    for engine in flow.ranks.engines:
        n_edge, n_nodes = engine.domain.n_edge, engine.domain.n_nodes
        for nodes in (NodeRange(0, n_edge, ON_EDGE), NodeRange(n_edge, n_nodes)):
            among = engine.fields.collected.of_collision(CELL, nodes, engine.parity)
            found.append(bool(engine.backend.to_host(among.count)[1] <= among.warps.size))
    return found


if __name__ == "__main__":
    from tests.simulator import take_turns

    take_turns()
    np.savez(
        sys.argv[1],
        **{label: state(label, "cuda") for label in sys.argv[2].split(",")},
        **listed(),
        known=known(),
        extent=extent("cuda"),
    )
