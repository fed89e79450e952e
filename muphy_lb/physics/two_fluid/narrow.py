"""The momentum that advects both fluids in pores of one voxel.

Between walls on both sides momentum oscillates: half-way walls reverse it in every step, and a collision conserves it.
This oscillation of period two is not damped, least in dead ends of one or two voxels. If the amounts of both fluids
follow it, so does the force of the tension, which amplifies it until the run diverges. At nodes of which more links end
than at a plane wall, 7 of 18 or 4 of 8, they are advected by the mean of the momentum of this step and of the one
before, which does not contain the oscillation.
"""

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.domain.local import CHUNK_NODES
from muphy_lb.lattice import Lattice
from muphy_lb.operators import MOMENTUM_FIELDS
from muphy_lb.operators.observers import MOMENTUM, Observer
from muphy_lb.operators.operator import named

EARLIER = ("earlier_momentum_x", "earlier_momentum_y", "earlier_momentum_z")
"""Momentum of the step before, at narrow nodes."""
NARROW = "narrow"
"""Field that is 1 at nodes of which 7 of 18 links (4 of 8 in a plane) or more end in walls and openings, else 0."""


def narrow_nodes(lattice: Lattice, domain: LocalDomain) -> np.ndarray:
    """(n,) ``NARROW`` at the nodes of a rank."""
    n_ending = np.zeros(domain.n_nodes, dtype=np.uint8)
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        chunk = slice(first, min(first + CHUNK_NODES, domain.n_nodes))
        for codes in domain.neighbours_with_ghosts(lattice.c[1:], chunk):
            n_ending[chunk] += codes < 0
    return (3 * n_ending > lattice.q).astype(np.uint8)


def _store(n, u, j, parameters):
    is_narrow = parameters[NARROW][n] != 0
    for name, earlier, component in zip(MOMENTUM_FIELDS, EARLIER, j, strict=True):
        before = parameters[earlier][n]
        parameters[name][n] = np.where(is_narrow, 0.5 * (before + component), component)
        parameters[earlier][n] = np.where(is_narrow, component, before)


def _store_node(jit, at):
    x, y, z = (at[name] for name in MOMENTUM_FIELDS)
    earlier_x, earlier_y, earlier_z = (at[name] for name in EARLIER)

    def store(n, seen, state, parameters):
        is_narrow, before_x, before_y, before_z = seen
        jx, jy, jz = state[MOMENTUM], state[MOMENTUM + 1], state[MOMENTUM + 2]
        parameters[x][n] = (before_x + jx) / 2 if is_narrow else jx
        parameters[y][n] = (before_y + jy) / 2 if is_narrow else jy
        parameters[z][n] = (before_z + jz) / 2 if is_narrow else jz
        if is_narrow:  # last: a store to what has not arrived yet stops a multiprocessor of a GPU
            parameters[earlier_x][n] = jx
            parameters[earlier_y][n] = jy
            parameters[earlier_z][n] = jz

    return jit(store)


def _narrow_node(jit, at):
    narrow, (x, y, z) = at[NARROW], (at[name] for name in EARLIER)
    return jit(lambda n, parameters: (parameters[narrow][n], parameters[x][n], parameters[y][n], parameters[z][n]))


STORE_CARRYING = Observer(
    "momentum of both", _store, _store_node, named(NARROW, *MOMENTUM_FIELDS, *EARLIER), _narrow_node
)
