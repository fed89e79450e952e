"""Completion, by the place of the surface, of populations that arrive at wet cells from dry ones.

A cell that is less than half full has its centre beyond the surface, and cannot have the inertia of what is in it: with
the distance d of :mod:`muphy_lb.physics.free_surface.operators.exchange` below 0 its answer would have to precede what
it is asked. Its wet neighbours can: what a liquid cell, or an interface cell that is at least half full, gets from a
dry one is completed by the same equation, at d >= 0, if the cell behind it is liquid and the link rises. So inertia is
continuous where cells turn. The plane is that of the wet cell; d is by its own filling, or for a liquid one by that of
the dry cell across the link.

Since wet cells ignore what dry ones send, the density of these is no pressure of the liquid. If it entered the liquid
when they become wet, a surface that advances at 0.05 would pump sound of two voxels by a factor of 180 in 1,000 steps
(the same surface, receding, damps it). So a dry cell beside a wet one has, behind the collision (:func:`hold`), the
density at its centre of liquid below the surface, that of the gas and of surface tension less the weight in between, if
that is borne (by more than half: in part, almost empty cells of tilted pools would swing); it keeps its momentum.

Mass between interface cells has crossed before by what both have sent. The mass that a liquid cell gains by a completed
population, in the place of the one that a dry cell has sent, is owed: its dry neighbours pay it in proportion to the
weights of their links, whether they turn in this step (before they give what they hold) or not (when they take), so
that no mass is lost.
"""

import math
from functools import cache

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators import COMPRESSIBLE, Operator
from muphy_lb.operators.moments import AFTER_COLLISION, state_node
from muphy_lb.operators.operator import constants, joined, named, rest_populations
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.beside import around_node, first_of_node
from muphy_lb.physics.free_surface.capillarity import (
    NO_TENSION,
    distance_node,
    normal_node,
    plane_distance,
    surface_normal,
)
from muphy_lb.physics.free_surface.cells import (
    CELL,
    DRY,
    FILL,
    HELD,
    INCOMPLETE,
    INTERFACE,
    LIQUID,
    NOT_HELD,
    ONE_PRESSURE,
    SUPPORT,
    SUPPORTED,
    TENSION_AHEAD,
    density_node,
)
from muphy_lb.physics.free_surface.operators.exchange import GRAZING, HEAVIEST, OF_TENSION, link_node

REGISTERS = 168  # of a thread in single precision: three blocks of 128 in a multiprocessor; with tension it takes 202


@cache
def completion(force: Operator, capillarity: Operator, gas: Operator = ONE_PRESSURE) -> Operator:
    """Operator between streaming and collision over interface cells and shores, behind
    :func:`muphy_lb.physics.free_surface.operators.exchange.exchange`, of the same arguments."""
    has_tension = capillarity is not NO_TENSION
    own = (CELL, FILL, SUPPORT, HELD, *((TENSION_AHEAD,) if has_tension else ()))
    parameters = joined(named(*own), gas.parameters, force.parameters)

    def reference(arriving, leaving, neighbours, n, lattice, parameters):
        cell, fill, w = parameters[CELL], parameters[FILL], lattice.w
        kind, beside, shares = cell[n], cell[neighbours], fill[neighbours]
        is_liquid, dry = kind & LIQUID != 0, (beside & INTERFACE != 0) & (shares < DRY)
        held = parameters[HELD]
        is_incomplete = held[n] == INCOMPLETE
        has_dry = (is_liquid | is_incomplete) & dry.any(axis=0)
        held[n] = np.where(is_incomplete, NOT_HELD, held[n])
        cell[n] = np.where(is_liquid & ~has_dry, LIQUID, kind)
        f = leaving + rest_populations(lattice)
        pushed = np.broadcast_to(force.reference(n, parameters), (3, n.size))
        u = COMPRESSIBLE.velocity(combined(lattice.c.T, f) + AFTER_COLLISION * pushed, added(f))
        normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
        place, weight = plane_distance(np.where(is_liquid, 1.0, fill[n].astype(float)), normal), added(pushed * normal)
        tensions, heaviest = np.zeros(kind.shape), HEAVIEST * np.linalg.norm(pushed, axis=0)
        supports, gained, weights = parameters[SUPPORT].astype(float) / SUPPORTED, np.zeros(n.shape), np.zeros(n.shape)
        for q in range(1, lattice.q):
            k, back = q - 1, lattice.opposite[q]
            m, across = neighbours[k], lattice.c[q] @ normal
            chosen = has_dry & ~is_flat & dry[k] & (beside[back - 1] & LIQUID != 0) & (across > GRAZING)
            if has_tension:
                ahead = parameters[TENSION_AHEAD]
                tensions = np.where(is_liquid, ahead[m], 0.5 * (ahead[n] + ahead[m]))
            m = np.where(chosen, m, n)
            deviation = np.broadcast_to(gas.reference(m, parameters), n.shape) + tensions
            equilibrium = COMPRESSIBLE.populations(1.0 + deviation, u, lattice) - rest_populations(lattice)
            even = 0.5 * (equilibrium[q] + equilibrium[back]) / w[q]
            borne = np.where(is_liquid, supports[m], np.minimum(supports[n], supports[m]))
            slope = borne * (3.0 * weight + 9.0 * across * (lattice.c[q] @ pushed - weight * across))
            there = across + plane_distance(np.where(chosen, fill[m].astype(float), 0.5), normal)
            d = np.maximum(np.where(is_liquid, there, place), 0.0)
            middle, most = 0.5 * across, heaviest + OF_TENSION * np.abs(tensions)
            drop = even - slope * (middle + d) - 0.5 * (arriving[q] + leaving[back]) / w[q]
            drop = np.clip(drop * (middle - d) / np.where(chosen, middle + d, 1.0), -most, most)
            found = 2.0 * w[q] * (even + slope * (middle - d) + drop) - leaving[q]
            gained += np.where(chosen, found - arriving[back], 0.0)
            weights += np.where(dry[k], w[q], 0.0)
            arriving[back] = np.where(chosen, found, arriving[back])
        borne = -gained / np.where(weights > 0.0, weights, 1.0)
        fill[n] = np.where(is_liquid, borne, fill[n])

    def node(lattice, precision, jit, at):
        return _node(lattice, precision, jit, at, force.node(lattice, precision, jit, at), (has_tension, gas))

    name = f"completion-{force.name}-{capillarity.name}-{gas.name}"
    return Operator(name, reference, node, parameters, registers=REGISTERS, concerns=_concerns_node)


def _complete_node(lattice, precision, jit, at, force_at, pressures):
    """Node function ``((arriving, leaving), neighbours, n, parameters, is_liquid, beside)`` -> bits of the populations
    that it has changed, and what a liquid cell owes then. ``beside``: as :func:`_beside_node` finds it."""
    (has_tension, gas), fill, real = pressures, at[FILL], precision.real
    w, cx, cy, cz = constants(lattice, precision)
    back, n_neighbours = tuple(int(q) for q in lattice.opposite), lattice.q - 1
    bit = tuple(1 << q for q in range(lattice.q))
    zero, one, two, half = (real(x) for x in (0, 1, 2, 0.5))
    heaviest, of_speed = real(HEAVIEST), real(1.5)
    state_at = state_node(lattice, precision, jit, COMPRESSIBLE, AFTER_COLLISION)
    normal_of, link = normal_node(lattice, precision, jit, at), link_node(precision, jit)
    surfaces_at = _surfaces_node(lattice, precision, jit, at, has_tension, gas)
    chosen_of, distances_of = _chosen_node(lattice, precision, jit), _distances_node(lattice, precision, jit)

    def complete(populations, neighbours, n, parameters, is_liquid, beside):
        (arriving, leaving), (dry, liquid, shares) = populations, beside
        if dry == 0:
            return 0, zero
        nx, ny, nz = normal_of(neighbours, n, parameters)
        if nx * nx + ny * ny + nz * nz == zero:
            return 0, zero
        fx, fy, fz = force_at(n, parameters)
        chosen = chosen_of(dry, liquid, (nx, ny, nz))
        if chosen == 0:
            return 0, zero
        weight = fx * nx + fy * ny + fz * nz
        found = surfaces_at(is_liquid, n, neighbours, parameters, chosen)
        distances = distances_of(is_liquid, chosen, shares, parameters[fill][n], (nx, ny, nz))
        _, ux, uy, uz, _, _, _ = state_at(leaving, (fx, fy, fz))
        square, heavy = of_speed * (ux * ux + uy * uy + uz * uz), real(math.sqrt(fx * fx + fy * fy + fz * fz))
        changed, gained, weights = 0, zero, zero
        for k in range(n_neighbours):
            if dry >> k & 1:
                weights += w[k + 1]
            if chosen >> k & 1:
                across = cx[k + 1] * nx + cy[k + 1] * ny + cz[k + 1] * nz
                along = cx[k + 1] * ux + cy[k + 1] * uy + cz[k + 1] * uz
                force = cx[k + 1] * fx + cy[k + 1] * fy + cz[k + 1] * fz
                (deviation, bound, borne), distance = found[k], distances[k]
                even, slope = link(along, across, force, weight, (deviation, ux, uy, uz, square))
                if is_liquid:
                    distance = across + distance
                middle, slope, most, distance = (
                    half * across,
                    borne * slope,
                    heaviest * heavy + bound,
                    max(distance, zero),
                )
                drop = even - slope * (middle + distance) - half * (arriving[k + 1] + leaving[back[k + 1]]) / w[k + 1]
                drop = min(max(drop * (middle - distance) / (middle + distance), -most), most)
                completed = two * w[k + 1] * (even + slope * (middle - distance) + drop) - leaving[k + 1]
                gained += completed - arriving[back[k + 1]]
                arriving[back[k + 1]] = completed
                changed |= bit[back[k + 1]]
        return changed, -gained / weights

    return jit(unroll(complete))


def _node(lattice, precision, jit, at, force_at, pressures):
    """The node function; returns the bits of the populations that it has changed."""
    cell, fill, held = at[CELL], at[FILL], at[HELD]
    not_held, concerns = precision.real(NOT_HELD), _concerns_node(lattice, precision, jit, at)
    completed = _complete_node(lattice, precision, jit, at, force_at, pressures)
    beside_at = _beside_node(lattice, precision, jit, at)

    def update(arriving, leaving, neighbours, n, parameters):
        if not concerns(n, parameters):
            return 0
        is_liquid, beside = parameters[cell][n] & LIQUID != 0, beside_at(neighbours, parameters)
        changed, owed = completed((arriving, leaving), neighbours, n, parameters, is_liquid, beside)
        if not is_liquid:
            parameters[held][n] = not_held
            return changed
        parameters[fill][n] = owed
        if beside[0] == 0:
            parameters[cell][n] = LIQUID
        return changed

    return jit(update)


def _concerns_node(lattice, precision, jit, at):
    """Node function ``(n, parameters)``: whether a cell is a shore, or interface that is incomplete."""
    cell, held, incomplete = at[CELL], at[HELD], precision.real(INCOMPLETE)

    def concerns(n, parameters):
        return parameters[cell][n] & LIQUID != 0 or parameters[held][n] == incomplete

    return jit(concerns)


def _beside_node(lattice, precision, jit, at):
    """Node function ``(neighbours, parameters)`` -> bit k set where neighbour k is dry, and where it is liquid, and the
    fillings of all."""
    n_neighbours, dry_below, around = lattice.q - 1, precision.real(DRY), around_node(lattice, precision, jit, at)

    def beside(neighbours, parameters):
        dry, liquid = 0, 0
        kinds, shares = around(neighbours, parameters)
        for k in range(n_neighbours):
            if kinds[k] & INTERFACE and shares[k] < dry_below:
                dry |= 1 << k
            elif kinds[k] & LIQUID:
                liquid |= 1 << k
        return dry, liquid, shares

    return jit(unroll(beside))


def _chosen_node(lattice, precision, jit):
    """Node function ``(dry, liquid, normal)`` -> bit k set where what arrives from neighbour k is completed."""
    _, cx, cy, cz = constants(lattice, precision)
    behind, n_neighbours = tuple(int(q) - 1 for q in lattice.opposite), lattice.q - 1
    grazing = precision.real(GRAZING)

    def chosen_of(dry, liquid, normal):
        (nx, ny, nz), chosen = normal, 0
        for k in range(n_neighbours):
            across = cx[k + 1] * nx + cy[k + 1] * ny + cz[k + 1] * nz
            if dry >> k & 1 and liquid >> behind[k + 1] & 1 and across > grazing:
                chosen |= 1 << k
        return chosen

    return jit(unroll(chosen_of))


def _distances_node(lattice, precision, jit):
    """Node function ``(is_liquid, chosen, shares, own, normal)`` -> distances of the surface from the chosen neighbours
    of a liquid cell, or that from an interface cell. One copy of the code serves all: eighteen would not fit into the
    caches of a GPU."""
    n_neighbours, zero = lattice.q - 1, precision.real(0)
    distance_of, first_of = distance_node(precision, jit), first_of_node(lattice, precision, jit)

    def distances_of(is_liquid, chosen, shares, own, normal):
        nx, ny, nz = normal
        distances = [zero] * n_neighbours
        while chosen:
            first, share, _ = first_of(chosen, shares)
            if not is_liquid:
                first, share = chosen, own
            distance = distance_of(share, nx, ny, nz)
            for k in range(n_neighbours):
                if first >> k & 1:
                    distances[k] = distance
            chosen ^= first
        return distances

    return jit(unroll(distances_of))


def _surfaces_node(lattice, precision, jit, at, has_tension: bool, gas: Operator):
    """Node function ``(is_liquid, n, neighbours, parameters, chosen)`` -> density of the pressure at the surface, less
    1, between a wet cell and each chosen dry one, its bound by surface tension, and the share of support of the body
    force; of other neighbours something else. All is read before anything follows from it."""
    support, gas_at, real = at[SUPPORT], gas.node(lattice, precision, jit, at), precision.real
    zero, half, of_tension, share = real(0), real(0.5), real(OF_TENSION), real(1 / SUPPORTED)
    ahead = at[TENSION_AHEAD] if has_tension else 0

    def tension_of(is_liquid, n, m, parameters):
        if is_liquid:
            return parameters[ahead][m]
        return half * (parameters[ahead][n] + parameters[ahead][m])

    tension_of = jit(tension_of) if has_tension else jit(lambda is_liquid, n, m, parameters: zero)

    def surface(is_liquid, n, m, parameters):
        tension, borne = tension_of(is_liquid, n, m, parameters), int(parameters[support][m])
        if not is_liquid:
            borne = min(borne, int(parameters[support][n]))
        return gas_at(m, parameters) + tension, of_tension * abs(tension), real(borne) * share

    surface = jit(surface)
    n_neighbours, nothing = lattice.q - 1, (zero, zero, zero)

    def surfaces(is_liquid, n, neighbours, parameters, chosen):
        found = [nothing] * n_neighbours
        for k in range(n_neighbours):
            m = neighbours[k] if chosen >> k & 1 else n
            found[k] = surface(is_liquid, n, m, parameters)
        return found

    return jit(unroll(surfaces))


@cache
def hold(collide: Operator) -> Operator:
    """The collision, behind which dry cells have the density at which the stage of :func:`completion` holds them."""

    def reference(stored, n, lattice, parameters):
        found = collide.reference(stored, n, lattice, parameters)
        density = parameters[HELD][n]
        is_held = (parameters[CELL][n] & INTERFACE != 0) & (density != NOT_HELD)
        return found + lattice.w[:, None] * np.where(is_held, density - added(found), 0.0)

    def node(lattice, precision, jit, at):
        cell, held, n_populations, real = at[CELL], at[HELD], lattice.q, precision.real
        (w, _, _, _), one, not_held = constants(lattice, precision), real(1), real(NOT_HELD)
        onwards, density_of = collide.node(lattice, precision, jit, at), density_node(lattice, precision, jit)

        def add(f, change):
            for q in range(n_populations):
                f[q] += w[q] * change

        add = jit(unroll(add))

        def collide_and_hold(f, n, parameters):
            onwards(f, n, parameters)
            if parameters[cell][n] & INTERFACE and parameters[held][n] != not_held:
                add(f, parameters[held][n] - (density_of(f) - one))

        return jit(collide_and_hold)

    return Operator(f"{collide.name}-held", reference, node, joined(collide.parameters, named(CELL, HELD)))
