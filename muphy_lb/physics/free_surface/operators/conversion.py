"""Cells that turn into others: who with whom, and what becomes of the mass that they have too much or too little of.

Schreiber et al. (2011), after Thuerey; here without a race, in stages between which marks cross between ranks: what a
stage writes at neighbours is the same whoever writes it, and what it reads there is nothing that it writes. A cell that
turns marks neighbours of its own rank itself; those of other ranks find by themselves that they have such a neighbour,
which only cells at the edge of a rank can have.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import added
from muphy_lb.operators import COMPRESSIBLE, Operator, hermite
from muphy_lb.operators.operator import constants, named, rest_populations
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.beside import around_node
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE
from muphy_lb.physics.free_surface.cells import (
    BARED,
    BUBBLE,
    CELL,
    DRY,
    EMPTIED,
    FILL,
    FILLED,
    GAS,
    INTERFACE,
    LIQUID,
    MASS,
    NEEDED,
    SHORE,
    SHORE_NEXT,
    SUPPORT,
    SUPPORTED,
    WETTED,
    density_node,
)
from muphy_lb.physics.free_surface.operators.column import entered_and_left_nodes, is_entered, is_left

_ENTERS, _LEAVES = INTERFACE | FILLED | NEEDED, INTERFACE | EMPTIED | NEEDED


def _vanishes(cell):
    """Whether a cell has no liquid left, of integers or arrays of them: it becomes gas, unless it is ``DRAINED``."""
    return (cell & (EMPTIED | NEEDED)) == EMPTIED


def _loses(cell):
    """The same: stays interface, whose plane may leave liquid beside it."""
    return (cell & _LEAVES) == _LEAVES


def _fills(cell):
    """The same: becomes liquid."""
    return (cell & (FILLED | NEEDED)) == FILLED


def _is_full(cell):
    """The same: is liquid, and does not become interface."""
    return (cell & (LIQUID | BARED)) == LIQUID


def _is_bared(cell):
    """The same: is liquid that becomes interface."""
    return (cell & (LIQUID | BARED)) == LIQUID | BARED


def _is_gas(cell):
    """The same: is gas, and stays so."""
    return cell == GAS


def _is_giving(cell):
    """Whether a cell hands on its excess."""
    return _fills(cell) | _vanishes(cell)


def _is_taking(cell):
    """Whether a cell is interface after the step."""
    return (cell & (INTERFACE | WETTED | BARED) != 0) & ~_is_giving(cell)


def _mark(neighbours, n, lattice, parameters):
    """Filled cells wet the gas beside them; emptied ones are needed beside filled ones, and else bare the liquid."""
    cell = parameters[CELL]
    own, has_filled = cell[n], _fills(cell[neighbours]).any(axis=0)
    own = np.where(_vanishes(own) & has_filled, INTERFACE | EMPTIED | NEEDED, own)
    cell[n] = own
    _wet(cell, neighbours[:, _fills(own)])
    _bare(cell, neighbours[:, _vanishes(own)])


def _mark_columns(neighbours, n, lattice, parameters):
    """The same; and needed ones turn the gas that the plane of a column at a wall enters, and the liquid it leaves."""
    _mark(neighbours, n, lattice, parameters)
    cell, share = parameters[CELL], parameters[FILL][n].astype(float)
    own, entered, left = cell[n], [], []
    for k in range(lattice.q - 1):
        entered.append((own & _ENTERS == _ENTERS) & is_entered(k, share, neighbours, lattice, parameters))
        left.append((own & _LEAVES == _LEAVES) & is_left(k, share, neighbours, lattice, parameters))
    for k, (enters, leaves) in enumerate(zip(entered, left, strict=True)):
        _wet(cell, neighbours[k, enters])
        _bare(cell, neighbours[k, leaves])


def _wet(cell, nodes) -> None:
    """Gas among nodes becomes interface."""
    nodes = nodes.ravel()
    cell[nodes[cell[nodes] == GAS]] = WETTED


def _bare(cell, nodes) -> None:
    """Liquid among nodes becomes interface."""
    nodes = np.unique(nodes)
    cell[nodes[_is_full(cell[nodes])]] |= BARED


def _beside_node(jit, count: int, is_meant):
    """Node function ``(cell, neighbours)`` -> bit k set where the cell of neighbour k is meant. All of them are read
    before anything follows from one, so that a GPU waits for memory once."""
    is_meant = jit(is_meant)

    def beside(cell, neighbours):
        found = 0
        for k in range(count):
            if is_meant(cell[neighbours[k]]):
                found |= 1 << k
        return found

    return jit(beside)


def _mark_node(lattice, precision, jit, at):
    cell, count = at[CELL], lattice.q - 1
    gas = _beside_node(jit, count, lambda kind: kind == GAS)
    liquid = _beside_node(jit, count, _is_full)
    filled, fills = _beside_node(jit, count, _fills), jit(_fills)

    def mark(neighbours, n, parameters):
        if fills(parameters[cell][n]):
            wetted = gas(parameters[cell], neighbours)
            for k in range(count):
                if wetted >> k & 1:
                    parameters[cell][neighbours[k]] = WETTED
            return
        if parameters[cell][n] & NEEDED:
            return
        if filled(parameters[cell], neighbours):
            parameters[cell][n] = INTERFACE | EMPTIED | NEEDED
            return
        bared = liquid(parameters[cell], neighbours)
        for k in range(count):
            if bared >> k & 1:
                parameters[cell][neighbours[k]] |= BARED

    return jit(mark)


def _mark_columns_node(lattice, precision, jit, at):
    cell, fill, count, mark = at[CELL], at[FILL], lattice.q - 1, _mark_node(lattice, precision, jit, at)
    is_full = jit(_is_full)
    is_entered, is_left = entered_and_left_nodes(lattice, precision, jit, at)

    def mark_columns(neighbours, n, parameters):
        mark(neighbours, n, parameters)
        own, share = parameters[cell][n], parameters[fill][n]
        if own & _ENTERS != _ENTERS and own & _LEAVES != _LEAVES:
            return
        for k in range(count):
            beside = parameters[cell][neighbours[k]]
            if own & FILLED:
                if beside == GAS and is_entered(k, share, neighbours, parameters):
                    parameters[cell][neighbours[k]] = WETTED
            elif is_full(beside) and is_left(k, share, neighbours, parameters):
                parameters[cell][neighbours[k]] = beside | BARED

    return jit(mark_columns)


def _get_wet(neighbours, n, lattice, parameters):
    """Gas cells beside filled ones become interface; liquid cells beside dry ones become shores."""
    cell, fill = parameters[CELL], parameters[FILL]
    chosen = (cell[n] == GAS) & _fills(cell[neighbours]).any(axis=0)
    cell[n[chosen]] = WETTED
    near = (cell[n] == LIQUID) & _is_dry(cell[neighbours], fill[neighbours]).any(axis=0)
    cell[n[near]] = SHORE_NEXT


def _get_wet_node(lattice, precision, jit, at):
    cell, fill, count, fills, is_dry = at[CELL], at[FILL], lattice.q - 1, jit(_fills), jit(_is_dry)

    def get_wet(neighbours, n, parameters):
        own = parameters[cell][n]
        if own != GAS and own != LIQUID:
            return
        for k in range(count):
            beside = parameters[cell][neighbours[k]]
            if own == GAS and fills(beside):
                parameters[cell][n] = WETTED
            elif own == LIQUID and is_dry(beside, parameters[fill][neighbours[k]]):
                parameters[cell][n] = SHORE_NEXT

    return jit(get_wet)


def _get_bare(neighbours, n, lattice, parameters):
    """Liquid cells beside those that become gas become interface."""
    cell = parameters[CELL]
    chosen = _is_full(cell[n]) & _vanishes(cell[neighbours]).any(axis=0)
    cell[n[chosen]] |= BARED


def _get_bare_node(lattice, precision, jit, at):
    cell, count, vanishes, is_full = at[CELL], lattice.q - 1, jit(_vanishes), jit(_is_full)

    def get_bare(neighbours, n, parameters):
        if is_full(parameters[cell][n]):
            for k in range(count):
                if vanishes(parameters[cell][neighbours[k]]):
                    parameters[cell][n] |= BARED

    return jit(get_bare)


def _beside_columns(get, is_old, new: int, mark: int, of_column):
    """Reference of the same with columns at walls: cells that are ``is_old`` get the bit ``new`` beside a cell of a
    ``mark`` whose plane enters or leaves them, by ``of_column``."""

    def reference(neighbours, n, lattice, parameters):
        get(neighbours, n, lattice, parameters)
        cell, fill = parameters[CELL], parameters[FILL]
        chosen = np.zeros(n.shape, bool)
        for k in range(lattice.q - 1):
            beside = neighbours[k]
            is_meant = of_column(k, fill[beside].astype(float), neighbours, lattice, parameters)
            chosen |= is_old(cell[n]) & (cell[beside] & mark == mark) & is_meant
        cell[n[chosen]] |= new

    return reference


def _beside_columns_node(get_node, is_old, new: int, mark: int, which: int):
    """Node function of :func:`_beside_columns`; ``which``: of the two nodes of columns."""

    def node(lattice, precision, jit, at):
        cell, fill, count, get = at[CELL], at[FILL], lattice.q - 1, get_node(lattice, precision, jit, at)
        is_meant, chosen = entered_and_left_nodes(lattice, precision, jit, at)[which], jit(is_old)

        def get_columns(neighbours, n, parameters):
            get(neighbours, n, parameters)
            if not chosen(parameters[cell][n]):
                return
            for k in range(count):
                beside = neighbours[k]
                if parameters[cell][beside] & mark == mark and is_meant(
                    k, parameters[fill][beside], neighbours, parameters
                ):
                    parameters[cell][n] |= new

        return jit(get_columns)

    return node


MARK = Operator("mark", _mark, _mark_node, named(CELL))
GET_WET = Operator("get-wet", _get_wet, _get_wet_node, named(CELL, FILL))
GET_BARE = Operator("get-bare", _get_bare, _get_bare_node, named(CELL))
_OF_COLUMNS = named(CELL, FILL, COS_ANGLE)
MARK_COLUMNS = Operator("mark-columns", _mark_columns, _mark_columns_node, _OF_COLUMNS)
GET_WET_COLUMNS = Operator(
    "get-wet-columns",
    _beside_columns(_get_wet, _is_gas, WETTED, _ENTERS, is_entered),
    _beside_columns_node(_get_wet_node, _is_gas, WETTED, _ENTERS, 0),
    _OF_COLUMNS,
)
GET_BARE_COLUMNS = Operator(
    "get-bare-columns",
    _beside_columns(_get_bare, _is_full, BARED, _LEAVES, is_left),
    _beside_columns_node(_get_bare_node, _is_full, BARED, _LEAVES, 1),
    _OF_COLUMNS,
)


def _is_dry(cell, share):
    """Whether a cell is interface and less than half full."""
    return (cell & INTERFACE != 0) & (share < DRY)


def _borne(neighbours, n, lattice, parameters):
    """(m,) mass that dry cells bear for the shores beside them."""
    found = np.zeros(n.shape)
    for k, beside in enumerate(neighbours):
        is_owing = parameters[CELL][beside] & SHORE == SHORE
        found = found + np.where(is_owing, lattice.w[k + 1] * parameters[FILL][beside], 0.0)
    return np.where(_is_dry(parameters[CELL][n], parameters[FILL][n]), found, 0.0)


def _borne_node(lattice, precision, jit, at):
    """Node function ``(kinds, shares, n, parameters)`` of :func:`_borne`."""
    cell, fill, n_neighbours = at[CELL], at[FILL], lattice.q - 1
    (w, _, _, _), zero, is_dry = constants(lattice, precision), precision.real(0), jit(_is_dry)

    def borne(kinds, shares, n, parameters):
        found = zero
        if is_dry(parameters[cell][n], parameters[fill][n]):
            for k in range(n_neighbours):
                if kinds[k] & SHORE == SHORE:
                    found += w[k + 1] * shares[k]
        return found

    return jit(unroll(borne))


def _give(f, neighbours, n, lattice, parameters):
    """Cells that turn leave an equal part of what they have too much of to each neighbour that will be interface, in
    ``fill``; without such a neighbour they keep it, in ``mass``."""
    cell, mass = parameters[CELL], parameters[MASS]
    held = mass[n] + _borne(neighbours, n, lattice, parameters)
    excess = np.where(_fills(cell[n]), held - (1.0 + added(f)), held)
    count = _is_taking(cell[neighbours]).sum(axis=0)
    giving = _is_giving(cell[n])
    chosen = n[giving]
    parameters[FILL][chosen] = np.where(count > 0, excess / np.maximum(count, 1), 0.0)[giving]
    mass[chosen] = np.where(count > 0, 0.0, excess)[giving]


def _give_node(lattice, precision, jit, at):
    cell, mass, fill = at[CELL], at[MASS], at[FILL]
    n_neighbours, real, zero = lattice.q - 1, precision.real, precision.real(0)
    takes, density_of = jit(_takes_node(jit)), density_node(lattice, precision, jit)
    around, borne = (each(lattice, precision, jit, at) for each in (around_node, _borne_node))

    def give(f, neighbours, n, parameters):
        own = parameters[cell][n]
        if own & NEEDED:
            return
        kinds, shares = around(neighbours, parameters)
        excess = parameters[mass][n] + borne(kinds, shares, n, parameters)
        if own & FILLED:
            excess -= density_of(f)
        count = 0
        for k in range(n_neighbours):
            if takes(kinds[k]):
                count += 1
        parameters[fill][n] = excess / real(count) if count > 0 else zero
        parameters[mass][n] = zero if count > 0 else excess

    return jit(unroll(give))


def _gives_node(jit):
    """The same as ``_is_giving``, of one cell."""
    vanishes, fills = jit(_vanishes), jit(_fills)
    return lambda cell: fills(cell) or vanishes(cell)


def _takes_node(jit):
    """The same as ``_is_taking``, of one cell."""
    gives = jit(_gives_node(jit))
    return lambda cell: cell & (INTERFACE | WETTED | BARED) != 0 and not gives(cell)


def _take(f, neighbours, n, lattice, parameters):
    """Cells that are interface after the step take what their neighbours leave them, one neighbour after the other;
    bared ones own what was in them."""
    cell, mass, fill = parameters[CELL], parameters[MASS], parameters[FILL]
    taking = _is_taking(cell[n])
    n, neighbours, density = n[taking], neighbours[:, taking], 1.0 + added(f)[taking]
    held = mass[n] + _borne(neighbours, n, lattice, parameters) + np.where(cell[n] & BARED, density, 0.0)
    for beside in neighbours:
        held = held + np.where(_is_giving(cell[beside]), fill[beside], 0.0)
    mass[n] = held
    fill[n] = np.clip(held / density, 0.0, 1.0)


def _take_node(lattice, precision, jit, at):
    cell, mass, fill = at[CELL], at[MASS], at[FILL]
    n_neighbours, zero, one = lattice.q - 1, precision.real(0), precision.real(1)
    takes, gives, density_of = jit(_takes_node(jit)), jit(_gives_node(jit)), density_node(lattice, precision, jit)
    around, borne = (each(lattice, precision, jit, at) for each in (around_node, _borne_node))

    def take(f, neighbours, n, parameters):
        own = parameters[cell][n]
        if not takes(own):
            return
        kinds, shares = around(neighbours, parameters)
        density = density_of(f)
        held = parameters[mass][n] + borne(kinds, shares, n, parameters)
        if own & BARED:
            held += density
        for k in range(n_neighbours):
            if gives(kinds[k]):
                held += shares[k]
        parameters[mass][n] = held
        parameters[fill][n] = min(max(held / density, zero), one)

    return jit(unroll(take))


GIVE = Operator("give", _give, _give_node, named(CELL, MASS, FILL))
TAKE = Operator("take", _take, _take_node, named(CELL, MASS, FILL))


def _turn(n, lattice, parameters):
    """Cells become what they turn into, liquid ones shores, which have wetted cells beside them; new interface is
    supported, drained one empty."""
    cell, support, fill = parameters[CELL], parameters[SUPPORT], parameters[FILL]
    own = cell[n]
    vanishes, is_bared = _vanishes(own), own & BARED != 0
    support[n] = np.where(own & (WETTED | BARED), SUPPORTED, support[n])
    fill[n] = np.where(vanishes & is_bared, 0.0, fill[n])
    cell[n] = np.where(_fills(own) | _is_full(own), SHORE, np.where(vanishes & ~is_bared, GAS, INTERFACE))


def _turn_node(lattice, precision, jit, at):
    cell, support, vanishes, fills, is_full = at[CELL], at[SUPPORT], jit(_vanishes), jit(_fills), jit(_is_full)
    fill, zero = at[FILL], precision.real(0)

    def turn(n, parameters):
        own = parameters[cell][n]
        if fills(own) or is_full(own):
            parameters[cell][n] = SHORE
        elif not vanishes(own):
            parameters[cell][n] = INTERFACE
        elif own & BARED:
            parameters[cell][n], parameters[fill][n] = INTERFACE, zero
        else:
            parameters[cell][n] = GAS
        if own & (WETTED | BARED):
            parameters[support][n] = SUPPORTED

    return jit(turn)


TURN = Operator("turn", _turn, _turn_node, named(CELL, SUPPORT, FILL))


def _inherit(neighbours, n, lattice, parameters):
    """Bared cells belong to the gas of the first neighbour that becomes gas, or whose plane leaves them."""
    cell, bubble = parameters[CELL], parameters[BUBBLE]
    bared = _is_bared(cell[n])
    n, neighbours = n[bared], neighbours[:, bared]
    found = bubble[n]
    for is_meant in (_loses, _vanishes):
        for beside in neighbours[::-1]:
            found = np.where(is_meant(cell[beside]), bubble[beside], found)
    bubble[n] = found


def _inherit_node(lattice, precision, jit, at):
    cell, bubble, count = at[CELL], at[BUBBLE], lattice.q - 1
    vanishing, losing = _beside_node(jit, count, _vanishes), _beside_node(jit, count, _loses)
    is_bared = jit(_is_bared)

    def inherit(neighbours, n, parameters):
        if not is_bared(parameters[cell][n]):
            return
        chosen = vanishing(parameters[cell], neighbours)
        if chosen == 0:
            chosen = losing(parameters[cell], neighbours)
        for k in range(count):
            if chosen >> k & 1:
                parameters[bubble][n] = parameters[bubble][neighbours[k]]
                return

    return jit(inherit)


INHERIT = Operator("inherit", _inherit, _inherit_node, named(CELL, BUBBLE))


@cache
def start_with_stress(force: Operator) -> Operator:
    """Operator of a ``REFILL`` stage: populations behind the collision of mean density, velocity and stress, with the
    half of the body force that they have behind it. In equilibrium a cell would for a step have the viscosity 1/6."""

    def reference(f, moments, n, lattice, parameters):
        rho, u, pushed = 1.0 + moments[0], moments[1:4], force.reference(n, parameters)
        f_eq = COMPRESSIBLE.populations(rho, u, lattice) - rest_populations(lattice)
        xx, yy, zz, xy, yz, zx = moments[4:]
        x, y, z = (lattice.c[:, k, None] for k in range(3))
        along = x * x * xx + y * y * yy + z * z * zz + x * y * xy + y * z * yz + z * x * zx
        stress = 4.5 * lattice.w[:, None] * (along - (xx + yy + zz) / 3.0)
        f[...] = f_eq + stress + 0.5 * COMPRESSIBLE.source(u, np.broadcast_to(pushed, u.shape), lattice)

    def node(lattice, precision, jit, at):
        real, pair_count = precision.real, lattice.q // 2
        even_part, odd_part = hermite.even_part(lattice, precision, jit), hermite.odd_part(lattice, precision, jit)
        first, second, _, _ = COMPRESSIBLE.moments(precision, jit)
        one, half, zero, six = real(1), real(0.5), real(0), 6
        force_at = force.node(lattice, precision, jit, at)

        def start(f, moments, n, parameters):
            body_force, rho = force_at(n, parameters), one + moments[0]
            ux, uy, uz = moments[1], moments[2], moments[3]
            state = moments[0], ux, uy, uz, rho * ux, rho * uy, rho * uz
            second_moment = second(state, body_force, one, half)
            whole = [zero] * six
            for k in range(six):
                whole[k] = second_moment[k] + moments[k + 4]
            even, odd = even_part(moments[0], whole), odd_part(first(state, body_force, one, half))
            f[0] = even[0]
            for p in range(pair_count):
                f[2 * p + 1] = even[p + 1] + odd[p + 1]
                f[2 * p + 2] = even[p + 1] - odd[p + 1]

        return jit(unroll(start))

    return Operator(f"start-{force.name}", reference, node, force.parameters)
