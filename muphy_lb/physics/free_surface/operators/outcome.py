"""Decision of an interface cell in a step: it turns if it is overfilled or overdrawn, a pocket of gas in it yields, and
a stray one beside an opening stops. An overdrawn one beside an opening is drained: it stays interface."""

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import constants
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.cells import (
    CELL,
    DRAINED,
    EMPTIED,
    FILL,
    FILLED,
    FLUID,
    INTERFACE,
    LIQUID,
    NEEDED,
    OPENING,
    WALL,
    density_node,
)
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.operators import column

ALONE = 0.1  # filling below which a cell without liquid beside it becomes gas
MOST_SPEED = 0.2
"""Speed above which a cell without liquid beside it gives up what it holds: spray of less than a voxel cannot move to
gas cells, and would fall faster and faster in its place."""
RELAXED = 0.1
"""Share of the difference of densities, of the liquid in a pocket less that of the gas, that is taken in a step."""


def touches_gas(beside):
    """(m,) whether cells have gas or openings beside them."""
    return ((beside & (FLUID | WALL) == 0) | (beside == OPENING)).any(axis=0)


def decided(mass, density, beside, is_alone_and_fast, hysteresis):
    """(m,) cells, with what becomes of them, from their mass, density, neighbours (Q - 1, m), and whether none of these
    is liquid and they are fast."""
    is_alone, is_fast = is_alone_and_fast
    has_gas, is_open = (beside & (FLUID | WALL) == 0).any(axis=0), (beside == OPENING).any(axis=0)
    filled = (mass > (1.0 + hysteresis) * density) | (~has_gas & (mass > (1.0 - hysteresis) * density))
    overdrawn, is_lost = mass < -hysteresis * density, (mass < ALONE * density) | is_fast
    emptied = np.where(overdrawn | (is_alone & is_lost & ~is_open), np.where(is_open, DRAINED, EMPTIED), 0)
    return INTERFACE | np.where(filled, FILLED, emptied)


def loosened(decided, beside, neighbours, n, lattice, parameters):
    """(m,) cells that do not turn but whose plane enters gas, or leaves liquid, along a wall, are marked."""
    share, found = parameters[FILL][n].astype(float), decided
    for k in reversed(range(lattice.q - 1)):
        is_gas, is_liquid = beside[k] & (FLUID | WALL) == 0, beside[k] & LIQUID != 0
        enters = is_gas & column.is_entered(k, share, neighbours, lattice, parameters)
        leaves = is_liquid & column.is_left(k, share, neighbours, lattice, parameters)
        found = np.where(enters, INTERFACE | FILLED | NEEDED, np.where(leaves, INTERFACE | EMPTIED | NEEDED, found))
    return np.where(decided == INTERFACE, found, decided)


def loosened_node(lattice, precision, jit, at, capillarity: Operator):
    """Node function ``(kind, neighbours, n, parameters)`` of :func:`loosened`."""
    if capillarity is not CONTACT_ANGLE:
        return jit(lambda kind, neighbours, n, parameters: kind)
    cell, fill, n_neighbours = at[CELL], at[FILL], lattice.q - 1
    is_entered, is_left = column.entered_and_left_nodes(lattice, precision, jit, at)

    def loosened(kind, neighbours, n, parameters):
        if kind != INTERFACE:
            return kind
        share = parameters[fill][n]
        for k in range(n_neighbours):
            beside = parameters[cell][neighbours[k]]
            if beside & (FLUID | WALL) == 0 and is_entered(k, share, neighbours, parameters):
                return INTERFACE | FILLED | NEEDED
            if beside & LIQUID and is_left(k, share, neighbours, parameters):
                return INTERFACE | EMPTIED | NEEDED
        return kind

    return jit(unroll(loosened))


def outcome_node(lattice, precision, jit, hysteresis):
    """Node function ``(f, changed, held, counts, deviation, square)`` -> what becomes of an interface cell of mass
    ``held``, and the bits of its changed populations, to which the one at rest may be added.

    ``changed``: bits of those that come from gas; ``counts``: bits of gas, numbers of liquid neighbours, of openings;
    ``deviation``: of the gas; ``square``: 3/2 of the square of its speed.
    """
    real = precision.real
    over, drained, almost, hardly = (real(x) for x in (1 + hysteresis, -hysteresis, 1 - hysteresis, ALONE))
    zero, one, fastest, relaxed = real(0), real(1), real(1.5 * MOST_SPEED**2), real(RELAXED)
    stop, density_of = _stop_node(lattice, precision, jit), density_node(lattice, precision, jit)

    def outcome(f, changed, held, counts, deviation, square):
        gas, n_liquid, n_open = counts
        is_stray = n_liquid == 0 and square > fastest
        if n_open > 0 and is_stray:
            stop(f, changed, deviation)
        density = density_of(f)
        if gas == 0 and n_open == 0 and held < density:
            f[0] -= relaxed * max(density - (one + deviation), zero)
            density = density_of(f)
            changed |= 1
        if held > over * density or (gas == 0 and held > almost * density):
            return INTERFACE | FILLED, changed
        if held < drained * density:
            return INTERFACE | (DRAINED if n_open > 0 else EMPTIED), changed
        if n_open == 0 and (is_stray or (n_liquid == 0 and held < hardly * density)):
            return INTERFACE | EMPTIED, changed
        return INTERFACE, changed

    return jit(outcome)


def _stop_node(lattice, precision, jit):
    """Node function that replaces populations whose bit is set by those at rest, with a deviation of the density."""
    n_populations, bit = lattice.q, tuple(1 << q for q in range(lattice.q))
    w, _, _, _ = constants(lattice, precision)

    def stop(f, changed, deviation):
        for q in range(n_populations):
            if changed & bit[q]:
                f[q] = w[q] * deviation

    return jit(unroll(stop))
