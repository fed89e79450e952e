"""Exchange across the links of an interface cell: mass, and the populations that gas does not send.

Koerner, Thies, Hofmann, Thuerey, Ruede, J. Stat. Phys. 121, 179 (2005); Schreiber, Neumann, Zimmer, Bungartz, Procedia
Comput. Sci. 4, 984 (2011). With f~ the populations that a cell stored in the step before, the mass changes by

    dm = sum_i A_i [f~_ibar(x + c_i) - f~_i(x)]

with A = 1 beside liquid, the wet share of the face beside interface (:mod:`.wet_shares`), and 0 beside gas and walls;
the neighbour computes the same with the other sign. A population from gas has the density rho_A of its pressure and the
velocity of the cell itself:

    f_ibar(x, t + 1) = f^eq_ibar(rho_A, u) + f^eq_i(rho_A, u) - f~_i(x).

That sets pressure and stress half a link beyond the cell, wherever the surface is. Under a body force, and with surface
tension, they hold where the surface cuts the link, after Bogner, Ammer, Ruede, J. Comput. Phys. 297, 1 (2015): with E
the even part of the populations, which is that of f~_i(x - c_i) and f~_ibar(x) half a link before the cell, E_S that
at the surface, from the equation above, d and n its distance and normal, and g_i the change of E along n that bears the
body force (3 F.n of the pressure and 9 (c_i.n) (c_i.F_t) of the shear stress, times the weight),

    E(x + c_i / 2) = E_S + (c_i.n / 2 - d) s g_i + k [E_S - (c_i.n / 2 + d) s g_i - E(x - c_i / 2)],
    k = (c_i.n / 2 - d) / (c_i.n / 2 + d).

Level films and pools are exact with s = 1, liquid in free fall with s = 0, for any k. With d < 0 k would exceed 1, and
the spectral radius of a step, too; with d kept above 0 in k it is 1 for all fillings, wave numbers and relaxation times
from 0.502 to 2 with trt, from 0.505 with bgk, where below waves of four voxels grow up to the bound: the interface cell
then has the inertia of half a voxel. The bracket is bounded by the weight of half a voxel of liquid and half of the
pressure of surface tension, so that splashes stay stable. Whether the body force is borne, s, is measured by the share
of g_i that E(x - c_i / 2) shows, above or below a half, and counted over ``SUPPORTED`` steps, since sound disturbs it.

With surface tension more of the difference of its pressures, t of both cells, crosses a link between them, at least a
half in a layer, and all of it where a surface is oblique, with the fills a and b of both:

    dm += sum_i w_i max(min(1/2 + |a - b|, 1) - A_i, 0) [t(x + c_i) - t(x)].

That levels waves of a few voxels, which grow by the delay of that pressure: where A is small nothing else does, layers
filled by less than 0.15 would grow, and drops at rest would ring. It leaves planes as they are, and takes a share of a
wave in a step that falls with its length to the fourth power. With a contact angle A is the share of the face that is
wet if the surface is a plane along or across it: with a the fuller and b the emptier one of both fills,
b / (b + 1 - a). A flat surface then leaves a cell only when that is full.

A cell without gas beside it that is not full holds a pocket of gas, which has the pressure of all gas: where that of
the liquid is higher, the density of the cell is lowered, so that its neighbours send more than they get until it is
full.

Fluid that crosses an opening is liquid by the cell's own filling. A cell beside an opening stays interface; gas stops
it where others would become gas, so that it does not fall for ever.

Only what comes from gas, and the population at rest, may be changed: all others are read by the neighbour that sent
them as well.
"""

import math
from collections.abc import Callable
from functools import cache
from math import inf
from typing import NamedTuple

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators import COMPRESSIBLE, Operator
from muphy_lb.operators.moments import AFTER_COLLISION, state_node
from muphy_lb.operators.operator import constants, joined, named, rest_populations
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.beside import around_node
from muphy_lb.physics.free_surface.capillarity import (
    COS_ANGLE,
    NO_TENSION,
    SHARPEST,
    TENSION,
    distance_node,
    normal_beside_walls,
    normal_beside_walls_node,
    normal_node,
    plane_distance,
    surface_normal,
)
from muphy_lb.physics.free_surface.cells import (
    CELL,
    DRY,
    FILL,
    FLUID,
    HELD,
    INCOMPLETE,
    INTERFACE,
    LAST_TENSION,
    LIQUID,
    MASS,
    NOT_HELD,
    ONE_PRESSURE,
    OPENING,
    SHORE_NEXT,
    SUPPORT,
    SUPPORTED,
    TENSION_AHEAD,
    TURNING,
    WALL,
)
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.operators import column, outcome
from muphy_lb.physics.free_surface.operators.tension import RAISED
from muphy_lb.physics.free_surface.operators.wet_shares import EVEN, EVEN_OF_TENSION, STEEP, Shares

HYSTERESIS = 1e-2  # How far a cell must be overfilled, or overdrawn, to turn (Schreiber et al. 2011).
HYSTERESIS_OF_TENSION = 1e-3
"""The same with surface tension: with more, an advancing surface seems more curved than a receding one."""
NEAREST = 0.1
"""Distance of the surface from the centre of its cell that is taken for smaller ones, and for surfaces on the other
side: at 0 an extrapolation would turn a disturbance into its opposite without damping, and short waves grow where
collisions hardly damp them (with bgk at a relaxation time of 0.505 from 0.08 down). It adds as much to the inertia of
the cell, so that waves swing slower."""
NEAREST_OF_TENSION = 0.08  # the same with surface tension
LEAST_OF_TENSION = 0.5  # share of the difference of its pressures that crosses a link in a level layer at least
ALMOST_FULL = 0.9
"""Filling from which on an interface cell counts as liquid for those beside it, with a contact angle: whenever the last
full cell at the wall turned from liquid to interface and back, the next one would else lose what it had got, and the
line where surface and wall meet would never get beyond a full cell."""


class Scheme(NamedTuple):
    """The parts of the exchange that differ with and without surface tension."""

    shares: Shares  #: of the faces between two interface cells
    nearest: float  #: least distance of the surface from the centre of its cell
    hysteresis: float  #: how far a cell must be overfilled, or overdrawn, to turn
    almost_full: float  #: filling above which an interface cell counts as liquid for those beside it


def scheme_of(capillarity: Operator) -> Scheme:
    """The scheme that goes with an operator of surface tension."""
    if capillarity is NO_TENSION:
        return Scheme(EVEN, NEAREST, HYSTERESIS, inf)
    of_tension = NEAREST_OF_TENSION, HYSTERESIS_OF_TENSION
    if capillarity is CONTACT_ANGLE:
        return Scheme(STEEP, *of_tension, ALMOST_FULL)
    return Scheme(EVEN_OF_TENSION, *of_tension, inf)


REGISTERS = 168  # of a thread in single precision: three blocks of 128 in a multiprocessor; the compiler takes 202
GRAZING = 0.1  # component of a link along the normal from which on what arrives along it is extrapolated
THINNEST = 0.1
"""Smallest depth below the surface for which the stress that would bear the body force is expected. Where a surface is
oblique, places half a link before an almost empty cell may lie above it, and tell nothing."""
HEAVIEST = 1.5  # largest change of the density by what does not bear the body force, over that force
OF_TENSION = 0.5  # the same over the pressure of surface tension


@cache
def exchange(force: Operator, capillarity: Operator, gas: Operator = ONE_PRESSURE) -> Operator:
    """Operator between streaming and collision over interface cells: changes the mass, decides whether the cell turns,
    and completes what arrives.

    Args:
        force: body force of the flow.
        capillarity: the operator of surface tension, whose pressure is known
            (:mod:`muphy_lb.physics.free_surface.operators.tension`).
        gas: ``(n, parameters)`` -> density, minus 1, of the pressure of the gas.
    """
    scheme = scheme_of(capillarity)
    tensions = () if capillarity is NO_TENSION else (LAST_TENSION, TENSION_AHEAD)
    angle = (COS_ANGLE, TENSION) if capillarity is CONTACT_ANGLE else ()
    own = named(CELL, MASS, FILL, SUPPORT, HELD, *tensions, *angle)
    parameters = joined(own, gas.parameters, force.parameters)

    def reference(arriving, leaving, neighbours, n, lattice, parameters):
        cell, fill = parameters[CELL], parameters[FILL]
        f = leaving + rest_populations(lattice)
        momentum = combined(lattice.c.T, f) + AFTER_COLLISION * force.reference(n, parameters)
        u = COMPRESSIBLE.velocity(momentum, added(f))
        of_gas = gas.reference(n, parameters)
        tension = _tension(capillarity, added(leaving) - of_gas, n, parameters)
        deviation = of_gas + tension
        rho, is_fast = np.broadcast_to(1.0 + deviation, n.shape), added(u * u) > outcome.MOST_SPEED**2
        equilibrium = COMPRESSIBLE.populations(rho, u, lattice) - rest_populations(lattice)
        mass, beside, through = parameters[MASS][n], cell[neighbours], np.zeros(n.shape)
        is_alone = _is_alone(beside, fill[neighbours], scheme.almost_full)
        if capillarity is CONTACT_ANGLE:
            columns = [column.crossed(k, neighbours, n, lattice, parameters) for k in range(lattice.q - 1)]
            is_alone &= ~np.any(
                [has & (wet > 0.0) & (fill[neighbours[k]] > fill[n]) for k, (has, wet, _) in enumerate(columns)], axis=0
            )
        stops = (beside == OPENING).any(axis=0) & is_alone & is_fast
        pushed = np.broadcast_to(force.reference(n, parameters), u.shape), tension, scheme.nearest
        even = _even((arriving, leaving, equilibrium), neighbours, n, lattice, parameters, pushed)
        shares = scheme.shares.reference(fill[n], beside, fill[neighbours], lattice)
        for q in range(1, lattice.q):
            back, kind, between = lattice.opposite[q], beside[q - 1], shares[q - 1]
            gained = arriving[back] - leaving[q]
            if capillarity is CONTACT_ANGLE:
                is_crossed, wet, given = columns[q - 1]
                between, mass = np.where(is_crossed, wet, between), mass + np.where(is_crossed, given, 0.0)
            elif tensions:
                mass = mass + lattice.w[q] * _levelled(between, kind, n, neighbours[q - 1], parameters)
            mass = mass + np.where(kind & LIQUID, 1.0, np.where(kind & INTERFACE, between, 0.0)) * gained
            through = through + np.where(kind == OPENING, gained, 0.0)
            missing = 2.0 * lattice.w[q] * even[q] - leaving[q]
            missing = np.where(stops, lattice.w[q] * (rho - 1.0), missing)
            arriving[back] = np.where(kind & (FLUID | WALL), arriving[back], missing)
        mass = mass + fill[n] * through
        density = 1.0 + added(arriving)
        is_pocket = ~outcome.touches_gas(beside) & (mass < density)
        arriving[0] -= np.where(is_pocket, outcome.RELAXED * np.maximum(density - rho, 0.0), 0.0)
        parameters[MASS][n] = mass
        decided = outcome.decided(mass, 1.0 + added(arriving), beside, (is_alone, is_fast), scheme.hysteresis)
        if capillarity is CONTACT_ANGLE:
            decided = outcome.loosened(decided, beside, neighbours, n, lattice, parameters)
        at_surface = deviation, pushed[0]
        parameters[HELD][n] = _held(beside, fill[neighbours], neighbours, n, lattice, parameters, at_surface)
        cell[neighbours[(fill[n] < DRY) & (beside == LIQUID)]] = SHORE_NEXT
        cell[n] = decided
        if tensions:
            parameters[LAST_TENSION][n[decided & TURNING != 0]] = 0.0

    def node(lattice, precision, jit, at):
        return _node(lattice, precision, jit, at, force.node(lattice, precision, jit, at), (capillarity, gas))

    name = f"exchange-{force.name}-{capillarity.name}-{gas.name}"
    return Operator(name, reference, node, parameters, registers=REGISTERS)


def _tension(capillarity: Operator, own, n, parameters):
    """(m,) densities that surface tension adds; where the neighbours leave a range, ``own``, of the liquid beyond the
    density of the gas, within it."""
    if capillarity is NO_TENSION:
        return np.zeros(n.shape)
    ahead, last = parameters[TENSION_AHEAD][n], parameters[LAST_TENSION][n]
    if capillarity is not CONTACT_ANGLE:
        return ahead
    is_range = last > 2.0 * SHARPEST * parameters[TENSION]
    most = last - RAISED * parameters[TENSION]
    ahead = np.where(is_range, np.minimum(np.maximum(own, ahead), most), ahead)
    parameters[TENSION_AHEAD][n], parameters[LAST_TENSION][n] = ahead, np.where(is_range, 0.0, last)
    return ahead


def _levelled(share, kind, n, beside, parameters):
    """(m,) what the pressure of surface tension gives cells n from those ``beside`` them of a ``kind``, if these are
    interface, beyond their wet ``share``, over the weight of the link."""
    fill, ahead = parameters[FILL], parameters[TENSION_AHEAD]
    least = np.minimum(LEAST_OF_TENSION + np.abs(fill[n] - fill[beside]), 1.0)
    return np.where(kind & INTERFACE, np.maximum(least - share, 0.0) * (ahead[beside] - ahead[n]), 0.0)


def _even(populations, neighbours, n, lattice, parameters, pushed):
    """(Q, m) even part of the populations half a link beyond cells, over the weight; counts their support.
    ``pushed``: (3, m) body force, (m,) density that surface tension adds, and the least distance of the surface."""
    (arriving, leaving, equilibrium), (force, tension, nearest) = populations, pushed
    most = HEAVIEST * np.linalg.norm(force, axis=0) + OF_TENSION * np.abs(tension)
    normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
    normal = normal_beside_walls(normal, neighbours, n, lattice, parameters)
    place = np.where(is_flat, 0.0, plane_distance(parameters[FILL][n].astype(float), normal))
    normal = np.where(is_flat, 0.0, normal)
    weight, across, w = added(force * normal), combined(lattice.c, normal), lattice.w[:, None]
    slope = 3.0 * weight + 9.0 * across * (combined(lattice.c, force) - weight * across)
    at_surface = 0.5 * (equilibrium + equilibrium[lattice.opposite]) / w
    before = (arriving + leaving[lattice.opposite]) * (0.5 / w)
    is_wet = parameters[CELL][neighbours[lattice.opposite[1:] - 1]] & FLUID != 0
    counts = np.concatenate((np.zeros((1, n.size), bool), is_wet & (across[1:] > GRAZING)))
    lever = 0.5 * across + place
    expected = slope * np.where(lever > 0.0, np.maximum(lever, THINNEST), 0.0)
    borne, whole = (np.where(counts, w * expected * drop, 0.0).sum(axis=0) for drop in (at_surface - before, expected))
    step = np.where(2.0 * borne > whole, 1, -1) * (whole > 0.0)
    support = np.clip(parameters[SUPPORT][n].astype(int) + step, 0, SUPPORTED)
    parameters[SUPPORT][n] = support
    slope, near = support / SUPPORTED * slope, np.maximum(place, nearest)
    drop = np.where(counts, at_surface - slope * (0.5 * across + place) - before, 0.0)
    ratio = (0.5 * across - near) / np.where(counts, 0.5 * across + near, 1.0)
    return at_surface + slope * (0.5 * across - place) + np.clip(ratio * drop, -most, most)


def _held(beside, shares, neighbours, n, lattice, parameters, pressure):
    """(m,) density less 1 at which dry cells beside wet ones are held behind the collision; ``INCOMPLETE`` for wet ones
    beside dry ones. ``pressure``: that at the surface, as a density less 1, and the body force (3, m)."""
    fill, (deviation, force) = parameters[FILL][n].astype(float), pressure
    dry = (beside & INTERFACE != 0) & (shares < DRY)
    normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
    lift = 3.0 * added(force * normal) * plane_distance(fill, normal)
    is_borne = 2 * parameters[SUPPORT][n].astype(int) > SUPPORTED
    is_held = ((beside & FLUID != 0) & ~dry).any(axis=0) & ~is_flat
    of_dry = np.where(is_held, deviation - np.where(is_borne, lift, 0.0), NOT_HELD)
    return np.where(fill < DRY, of_dry, np.where(dry.any(axis=0), INCOMPLETE, NOT_HELD))


def _is_alone(beside, fill, almost_full):
    """(m,) whether no neighbour (Q - 1, m) is liquid, or interface and almost full."""
    is_full = (beside & INTERFACE != 0) & (fill > almost_full)
    return ~(is_full | (beside & LIQUID != 0)).any(axis=0)


def _node(lattice, precision, jit, at, force_at: Callable, pressures: tuple[Operator, Operator]):
    """The node function; returns the bits of the populations that it has changed."""
    how, scheme = (lattice, precision, jit), scheme_of(pressures[0])
    (capillarity, gas), cell, mass, of_speed = pressures, at[CELL], at[MASS], precision.real(1.5)
    state_at, outcome_of = (
        state_node(*how, COMPRESSIBLE, AFTER_COLLISION),
        outcome.outcome_node(*how, scheme.hysteresis),
    )
    gas_at, n_neighbours = gas.node(*how, at), lattice.q - 1
    tension_at, forget = _tension_nodes(capillarity, precision, jit, at)
    mass_of, loosened = _mass_node(*how, at, scheme), outcome.loosened_node(*how, at, capillarity)
    complete, plane_of = _complete_node(*how, at, scheme.nearest), _plane_node(*how, at)
    hold = _hold_node(*how, at)

    def cross(arriving, leaving, neighbours, n, parameters):
        held, counts, (gas, fluid, shores, walls), near = mass_of(arriving, leaving, neighbours, n, parameters)
        force = force_at(n, parameters)
        own, ux, uy, uz, _, _, _ = state_at(leaving, force)
        of_gas, square = gas_at(n, parameters), of_speed * (ux * ux + uy * uy + uz * uz)
        tension = tension_at(own - of_gas, n, parameters)
        deviation = of_gas + tension
        state, pushed = (deviation, ux, uy, uz, square), (*force, tension)
        surface, is_flat, lift = plane_of(neighbours, walls, n, parameters, pushed)
        changed = complete((arriving, leaving), (gas, fluid), n, parameters, state, (force, surface))
        hold(n, parameters, near, (of_gas, lift, tension), is_flat)
        kind, changed = outcome_of(arriving, changed, held, (gas, *counts), deviation, square)
        kind = loosened(kind, neighbours, n, parameters)
        parameters[mass][n], parameters[cell][n] = held, kind
        for k in range(n_neighbours):
            if shores >> k & 1:
                parameters[cell][neighbours[k]] = SHORE_NEXT
        forget(kind, n, parameters)
        return changed

    return jit(cross)


def _tension_nodes(capillarity: Operator, precision, jit, at):
    """Node functions of :func:`_tension`, and ``(kind, n, parameters)`` that forgets it where a cell turns."""
    zero = precision.real(0)
    if capillarity is NO_TENSION:
        return jit(lambda own, n, parameters: zero), jit(lambda kind, n, parameters: None)
    last, ahead = at[LAST_TENSION], at[TENSION_AHEAD]

    def forget(kind, n, parameters):
        if kind & TURNING:
            parameters[last][n] = zero

    if capillarity is not CONTACT_ANGLE:
        return jit(lambda own, n, parameters: parameters[ahead][n]), jit(forget)
    tension, told, raised = at[TENSION], precision.real(2 * SHARPEST), precision.real(RAISED)

    def within(own, n, parameters):
        found, most = parameters[ahead][n], parameters[last][n]
        if most > told * parameters[tension]:
            found = min(max(own, found), most - raised * parameters[tension])
            parameters[ahead][n], parameters[last][n] = found, zero
        return found

    return jit(within), jit(forget)


def _hold_node(lattice, precision, jit, at):
    """Node function ``(n, parameters, (dry, wet), (gas, lift, tension), is_flat)`` that keeps at which density a dry
    cell is held, or that a wet one is incomplete. ``dry, wet``: whether such cells are beside it; ``lift``: distance of
    the surface times the body force along its normal."""
    fill, support, density, real = at[FILL], at[SUPPORT], at[HELD], precision.real
    zero, three, dry_below, not_held, incomplete = (real(x) for x in (0, 3, DRY, NOT_HELD, INCOMPLETE))

    def hold(n, parameters, beside, pressures, is_flat):
        (dry, wet), (gas, lift, tension), kept = beside, pressures, not_held
        if parameters[fill][n] >= dry_below:
            kept = incomplete if dry else not_held
        elif wet and not is_flat:
            kept = gas - (three * lift if 2 * parameters[support][n] > SUPPORTED else zero) + tension
        parameters[density][n] = kept

    return jit(hold)


def _mass_node(lattice, precision, jit, at, scheme: Scheme):
    """Node function ``(arriving, leaving, neighbours, n, parameters)`` -> the mass with what has crossed the links; how
    many neighbours are liquid or almost full, and openings; bits of those that are gas, are fluid, become shores, and a
    number that is not 0 beside walls; and whether there are dry ones, and wet ones."""
    mass, fill, real = at[MASS], at[FILL], precision.real
    back, n_neighbours, w = tuple(int(q) for q in lattice.opposite), lattice.q - 1, constants(lattice, precision)[0]
    zero, dry_below, around = real(0), real(DRY), around_node(lattice, precision, jit, at)
    shares_of, share_of = scheme.shares.node(lattice, precision, jit)
    face_of = _face_node(lattice, precision, jit, at, scheme, share_of)

    def mass_of(arriving, leaving, neighbours, n, parameters):
        own, held = parameters[fill][n], parameters[mass][n]
        n_liquid, n_open, through, gas, fluid, shores, walls, dry, wet = 0, 0, zero, 0, 0, 0, 0, False, False
        kinds, others = around(neighbours, parameters)
        shares = shares_of(own, kinds, others)
        for k in range(n_neighbours):
            kind = kinds[k]
            gained = arriving[back[k + 1]] - leaving[k + 1]
            walls |= kind & WALL
            if kind & FLUID:
                fluid |= 1 << k
            if kind & LIQUID:
                n_liquid, wet = n_liquid + 1, True
                held += gained
                if kind == LIQUID and own < dry_below:
                    shores |= 1 << k
            elif kind & INTERFACE:
                share, given, is_borne = face_of(k, w[k + 1], (own, others[k], shares[k]), neighbours, n, parameters)
                held += share * gained + given
                n_liquid += is_borne
                if others[k] < dry_below:
                    dry = True
                else:
                    wet = True
            elif kind == OPENING:
                n_open += 1
                through += gained
            elif not kind & WALL:
                gas |= 1 << k
        return held + own * through, (n_liquid, n_open), (gas, fluid, shores, walls), (dry, wet)

    return jit(unroll(mass_of))


def _face_node(lattice, precision, jit, at, scheme: Scheme, share_of: Callable):
    """Node function ``(k, weight, fills, neighbours, n, parameters)`` of both fillings, and what the shares of all
    links hold for this one -> wet share of the face to the interface cell ``k``, by ``share_of``, mass that it gives
    beside what arrives, and 1 if it bears the cell as liquid does. ``weight``: of the link."""
    zero, one, half, almost_full = (precision.real(x) for x in (0, 1, LEAST_OF_TENSION, scheme.almost_full))
    if TENSION_AHEAD not in at:
        return jit(lambda k, weight, fills, neighbours, n, parameters: (share_of(fills[0], fills[2]), zero, 0))
    if scheme.almost_full == inf:
        ahead = at[TENSION_AHEAD]

        def tense(k, weight, fills, neighbours, n, parameters):
            share, least = share_of(fills[0], fills[2]), min(half + abs(fills[0] - fills[1]), one)
            pressure = parameters[ahead][neighbours[k]] - parameters[ahead][n]
            return share, weight * max(least - share, zero) * pressure, 0

        return jit(tense)
    crossed = column.crossed_node(lattice, precision, jit, at)

    def face(k, weight, fills, neighbours, n, parameters):
        (own, other, shown), is_full = fills, fills[1] > almost_full
        wet, given = crossed(k, own, other, neighbours, parameters)
        if wet >= zero:
            return wet, given, 1 if is_full or (wet > zero and own < other) else 0
        return share_of(own, shown), zero, 1 if is_full else 0

    return jit(face)


def _pairs(lattice, precision):
    """Of each pair of opposite links: their populations, and weight and components of the first."""
    firsts = [q for q in range(1, lattice.q) if q < lattice.opposite[q]]
    of_link = (tuple(values[q] for q in firsts) for values in constants(lattice, precision))
    return tuple(firsts), tuple(int(lattice.opposite[q]) for q in firsts), *of_link


def _complete_node(lattice, precision, jit, at, nearest: float):
    """Node function ``((arriving, leaving), (gas, fluid), n, parameters, (deviation, ux, uy, uz, square), pushed)``
    that completes what comes from gas; returns its bits. ``gas, fluid``: bits of neighbours; ``pushed``: body force,
    and the surface as of :func:`_plane_node`. Of two opposite links one alone leads out of the liquid."""
    real = precision.real
    ahead, back, w, cx, cy, cz = _pairs(lattice, precision)
    n_pairs, over_w = len(ahead), tuple(real(0.5 / lattice.w[q]) for q in ahead)
    zero, half, two, least, grazing = (real(x) for x in (0, 0.5, 2, nearest, GRAZING))
    link, rest_of = link_node(precision, jit), _rest_node(lattice, precision, jit, at)

    def complete(populations, beside, n, parameters, state, pushed):
        (arriving, leaving), (gas, fluid), (_, ux, uy, uz, _) = populations, beside, state
        (fx, fy, fz), (most, place, nx, ny, nz) = pushed
        weight, near = fx * nx + fy * ny + fz * nz, max(place, least)
        rest, changed = zero, 0
        if most > zero:
            rest = rest_of(populations, fluid, n, parameters, state, (fx, fy, fz, place, nx, ny, nz))
        for k in range(n_pairs):
            first, second = gas >> ahead[k] - 1 & 1, gas >> back[k] - 1 & 1
            if first | second:
                along = cx[k] * ux + cy[k] * uy + cz[k] * uz
                across = cx[k] * nx + cy[k] * ny + cz[k] * nz
                force = cx[k] * fx + cy[k] * fy + cz[k] * fz
                even, slope = link(along, across, force, weight, state)
                is_first = across > zero
                middle, slope, drop = half * across, rest * slope, zero
                out, behind = (first, back[k] - 1) if is_first else (second, ahead[k] - 1)
                if most > zero and abs(across) > grazing and out and fluid >> behind & 1:
                    far = abs(middle)
                    before = (
                        arriving[ahead[k]] + leaving[back[k]] if is_first else arriving[back[k]] + leaving[ahead[k]]
                    )
                    drop = even - slope * (far + place) - over_w[k] * before
                    drop = min(max(drop * (far - near) / (far + near), -most), most)
                if first:
                    beyond = even + slope * (middle - place) + (drop if is_first else zero)
                    arriving[back[k]] = two * w[k] * beyond - leaving[ahead[k]]
                    changed |= 1 << back[k]
                if second:
                    beyond = even - slope * (middle + place) + (zero if is_first else drop)
                    arriving[ahead[k]] = two * w[k] * beyond - leaving[back[k]]
                    changed |= 1 << ahead[k]
        return changed

    return jit(unroll(complete))


def link_node(precision, jit):
    """Node function ``(along, across, force, weight, state)`` -> even part at the surface, over the weight of the link,
    and its change along the normal that bears the body force. ``along, across, force``: of velocity, normal and body
    force along the link; ``weight``: body force along the normal."""
    one, three, nine, of_square = (precision.real(x) for x in (1, 3, 9, 4.5))

    def link(along, across, force, weight, state):
        deviation, _, _, _, square = state
        even = deviation + (one + deviation) * (of_square * along * along - square)
        return even, three * weight + nine * across * (force - weight * across)

    return jit(link)


def _plane_node(lattice, precision, jit, at):
    """Node function ``(neighbours, walls, n, parameters, pushed)`` -> largest change of the density by what does not
    bear the body force, distance of the surface from the centre of the cell, and its normal, 0 if they are not asked
    for; whether the surface has no normal; and the distance times the body force along the normal that knows no
    walls. ``walls``: not 0 beside them."""
    fill, real = at[FILL], precision.real
    zero, heaviest, of_tension = real(0), real(HEAVIEST), real(OF_TENSION)
    normal_of, distance_of = normal_node(lattice, precision, jit, at), distance_node(precision, jit)
    beside_walls = normal_beside_walls_node(lattice, precision, jit, at)

    def plane(neighbours, walls, n, parameters, pushed):
        fx, fy, fz, tension = pushed
        most = heaviest * real(math.sqrt(fx * fx + fy * fy + fz * fz)) + of_tension * abs(tension)
        nx, ny, nz = normal_of(neighbours, n, parameters)
        if nx * nx + ny * ny + nz * nz == zero:
            return (most, zero, zero, zero, zero), True, zero
        place = distance_of(parameters[fill][n], nx, ny, nz)
        lift = (fx * nx + fy * ny + fz * nz) * place
        if most <= zero:
            return (most, zero, zero, zero, zero), False, lift
        if walls:
            nx, ny, nz, place = beside_walls(neighbours, n, parameters, (nx, ny, nz), place)
        return (most, place, nx, ny, nz), False, lift

    return jit(plane)


def _rest_node(lattice, precision, jit, at):
    """Node function ``((arriving, leaving), fluid, n, parameters, state, (fx, fy, fz, place, nx, ny, nz))`` that counts
    the support of a cell; returns it as a share. ``fluid``: bits of neighbours."""
    support, real = at[SUPPORT], precision.real
    ahead, back, w, cx, cy, cz = _pairs(lattice, precision)
    n_pairs = len(ahead)
    zero, half, two, thinnest, grazing = (real(x) for x in (0, 0.5, 2, THINNEST, GRAZING))
    share, link = real(1 / SUPPORTED), link_node(precision, jit)

    def rest_of(populations, fluid, n, parameters, state, surface):
        (arriving, leaving), (_, ux, uy, uz, _), (fx, fy, fz, place, nx, ny, nz) = populations, state, surface
        weight, borne, whole = fx * nx + fy * ny + fz * nz, zero, zero
        for k in range(n_pairs):
            across = cx[k] * nx + cy[k] * ny + cz[k] * nz
            is_first = across > zero
            behind, lever = back[k] - 1 if is_first else ahead[k] - 1, half * abs(across) + place
            if abs(across) > grazing and lever > zero and fluid >> behind & 1:
                along = cx[k] * ux + cy[k] * uy + cz[k] * uz
                force = cx[k] * fx + cy[k] * fy + cz[k] * fz
                even, slope = link(along, across, force, weight, state)
                expected = slope * max(lever, thinnest)
                before = arriving[ahead[k]] + leaving[back[k]] if is_first else arriving[back[k]] + leaving[ahead[k]]
                borne += expected * (w[k] * even - half * before)
                whole += w[k] * expected * expected
        counted = int(parameters[support][n])
        if whole > zero:
            counted = min(counted + 1, SUPPORTED) if two * borne > whole else max(counted - 1, 0)
            parameters[support][n] = counted
        return real(counted) * share

    return jit(unroll(rest_of))
