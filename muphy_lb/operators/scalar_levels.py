"""Carried scalars without their populations, from the values of two steps.

With the product 1/4 (:mod:`muphy_lb.operators.scalar_transport`) both relaxation rates add up to 2, so what leaves a
node depends on what has arrived the other way alone. With r = 1 - odd rate, q' opposite to q, A and B = T -+ S / 2h the
values with which a scalar arrives and leaves, and h_q the populations that the carrier has sent,

    g_q leaving = B h_q - r (g_q' arriving - A h_q' arriving)

Populations that arrived the other way had left, a step before, the node at which g_q will arrive. So, summed over q,

    (A h)(x, t + 1) = sum_q B(x - c_q, t) h_q(x - c_q, t) + r sum_q A(x - c_q, t) h_q'(x, t - 1) - r (B h)(x, t - 1)

a scheme of three levels: a node needs a value of each of its neighbours and one of its own from a step before, in the
place of all populations; to rounding it has the same values. Links into walls that let nothing through return what the
node sends. For diffusion alone it is the scheme of Du Fort and Frankel; Ginzburg, Commun. Comput. Phys. 11, 1439 (2012)
(from memory). With differences from the node's own T it reads

    h (T(t + 1) - T(t)) = sum_q (B - T)(x - c_q) h_q + r sum_q (A - T)(x - c_q) h_q'(t - 1) + m + gains
    m(t + 1) = r h(t) (T(t + 1) - B(t)) + (1 - r) h(t + 1) e

so that a uniform T stays as it is. m is the memory of a step; e is what rounding has left out of T(t + 1), which the
sum of (1 - r) h T + m so keeps. Of h the field holds h - 1, which has more digits.

At nodes whose links lead into openings, or walls that let something through, populations are needed one by one
(``POPULATED``); these and their neighbours keep them, and are marked for the stage that collides them.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import Lattice, combined
from muphy_lb.operators.observers import CARRYING_FIELDS, N_AXES
from muphy_lb.operators.operator import Operator, named
from muphy_lb.operators.scalar_transport import (
    CARRIER,
    GAIN,
    GAINED,
    LINKS,
    LOSS,
    NEAR,
    POPULATED,
    SHARE,
    STRIDE,
    VALUE,
    Carried,
    each_in_turn,
)
from muphy_lb.operators.unroll import unroll

KEPT, MEMORY = "share_reflected", "memory"  # r of a scalar, and the field of what it keeps of a step
MARKED = "keeps_populations"  # name of the field of 1 at nodes that keep populations
OLD = "_of_step_before"  # behind the name of a parameter, which holds what was two steps before until it is overwritten


@cache
def carried_by_levels(lattice: Lattice, scalars: tuple[Carried, ...]) -> Operator:
    """The step of a carrier on the scalars' ``lattice`` and of some scalars that it carries: stores h and every T."""

    def reference(neighbours, n, flow, parameters):
        is_populated = parameters[LINKS][n] & POPULATED != 0
        source = neighbours[_places(lattice, flow)]
        near = (parameters[LINKS][source] & POPULATED != 0) & (_into_walls(lattice, parameters[LINKS][n]) == 0)
        parameters[MARKED][n[is_populated | near.any(axis=0)]] = 1
        _advance(lattice, scalars, source[:, ~is_populated], n[~is_populated], parameters)

    def node(flow, precision, jit, at):
        places, how = _places(lattice, flow), (precision, jit, at)
        each = [_scalar_node(lattice, places, scalar, *how) for scalar in scalars]
        return _carrier_node(lattice, places, *how, each_in_turn(each, jit))

    momenta = [name for each in CARRYING_FIELDS for name in (each + OLD, each)]
    of_scalars = (name for scalar in scalars for name in _parameters(scalar))
    name = "-".join(f"{each.name}{'-varying' * each.varies}{'-source' * each.has_source}" for each in scalars)
    parameters = named(MARKED, LINKS, STRIDE, CARRIER + OLD, CARRIER, *momenta, *of_scalars)
    return Operator(f"levels-{lattice.name}-{name}", reference, node, parameters, near=lattice.q - 1)


def _parameters(scalar: Carried) -> tuple[str, ...]:
    own = (GAINED + OLD, GAINED, GAIN, LOSS, SHARE) if scalar.has_source else ()
    return tuple(map(scalar.parameter, (VALUE + OLD, VALUE, MEMORY, KEPT, *own)))


def _places(lattice: Lattice, flow: Lattice) -> list[int]:
    """The number, among the neighbours of the flow's lattice, of that from which each moving population arrives; those
    along the axes are the first."""
    return [int(np.flatnonzero((flow.c[1:] == -c).all(axis=1))[0]) for c in lattice.c[1:]]


def _into_walls(lattice: Lattice, walled: np.ndarray) -> np.ndarray:
    """(Q - 1, n) whether each moving population would arrive through a wall."""
    bits = [p + N_AXES * (1 - k) for p in range(lattice.q // 2) for k in range(2)]
    return np.array([walled >> bit & 1 for bit in bits])


def sent(lattice: Lattice, h, momentum, stride) -> np.ndarray:
    """(Q, ...) populations of the carrier that leave nodes with these h (...) and momenta along x, y, z, in steps of
    the scalar as long as ``stride`` of the flow."""
    weights = lattice.w.reshape(-1, *(1 for _ in np.shape(h)))
    velocity = stride * np.array(momentum)
    return weights * (1.0 + combined(lattice.c, velocity) / float(lattice.cs2)) * h


def _advance(lattice: Lattice, scalars, source, n, parameters) -> None:
    opposite, moving, stride = lattice.opposite, np.arange(1, lattice.q), parameters[STRIDE]
    walled, excess, excess_before = (parameters[name] for name in (LINKS, CARRIER + OLD, CARRIER))
    momentum, momentum_before = ([parameters[name + of] for name in CARRYING_FIELDS] for of in (OLD, ""))
    arriving = sent(lattice, 1.0 + excess[source], [each[source] for each in momentum], stride)
    arriving = arriving[moving, moving - 1]
    left = sent(lattice, 1.0 + excess[n], [each[n] for each in momentum], stride)
    left_before = sent(lattice, 1.0 + excess_before[n], [each[n] for each in momentum_before], stride)
    is_wall, returned = _into_walls(lattice, walled[n]) != 0, left[opposite[1:]]
    arriving, was = np.where(is_wall, returned, arriving), left_before[opposite[1:]]
    excess_before[n] = excess[n] + (arriving - returned).sum(axis=0)
    h, new = 1.0 + excess[n], 1.0 + excess_before[n]
    for scalar in scalars:
        given = scalar.parameter
        own, kept = parameters[given(VALUE + OLD)][n], parameters[given(KEPT)]
        memory = parameters[given(MEMORY)]
        change = np.where(is_wall, 0.0, parameters[given(VALUE + OLD)][source] - own)
        rise, gained = (change * (arriving + kept * was)).sum(axis=0) + memory[n], 0.0
        if scalar.has_source:
            gained, near = parameters[given(GAINED + OLD)][n], parameters[given(GAINED + OLD)][source]
            rise += (np.where(is_wall, gained, near) * (arriving - kept * was)).sum(axis=0)
            gain = parameters[given(GAIN)][n] if scalar.varies else parameters[given(GAIN)] / new
            loss = parameters[given(LOSS)]
            change = rise / new + gained * (left[0] - kept * left_before[0]) / new + gain - loss * own
            change *= parameters[given(SHARE)]
            parameters[given(GAINED)][n] = gain - loss * (own + change)
        else:
            change = rise / new
        now = (own + change).astype(own.dtype)
        memory[n] = kept * h * (change - gained) + (1.0 - kept) * new * (change - (now - own))
        parameters[given(VALUE)][n] = now


def _carrier_node(lattice: Lattice, places, precision, jit, at, of_scalars):
    """Node function ``(neighbours, n, parameters)``: the step of the carrier, then that of its scalars, which is
    ``of_scalars(neighbours, links, own, n, parameters)``. ``links``: what the carrier brings through links, and what it
    brought the other way a step before, both 0 at walls. ``own``: the rest of its populations, the same a step before,
    and h ahead of the step and behind it."""
    real, pair_count, count = precision.real, lattice.q // 2, lattice.q - 1
    zero, one, per_speed, w = real(0), real(1), real(1.0 / float(lattice.cs2)), real(lattice.w[1])
    marked_at, walled_at, stride_at = at[MARKED], at[LINKS], at[STRIDE]
    h_at, h_new_at = at[CARRIER + OLD], at[CARRIER]
    momentum = tuple(at[name + OLD] for name in CARRYING_FIELDS)
    momentum_before = tuple(at[name] for name in CARRYING_FIELDS)
    place, bit = tuple(places), tuple(1 << axis for axis in range(N_AXES))
    wall_ahead, wall_behind = bit, tuple(1 << N_AXES + axis for axis in range(N_AXES))

    def mark(neighbours, n, parameters):
        near = parameters[walled_at][n]
        for k in range(count):
            near |= parameters[walled_at][neighbours[place[k]]]
        if near & POPULATED:
            parameters[marked_at][n] = 1

    mark = jit(unroll(mark))

    def step(neighbours, n, parameters):
        walled, stride = parameters[walled_at][n], parameters[stride_at]
        if walled & NEAR:
            mark(neighbours, n, parameters)
        if walled & POPULATED:
            return
        excess = parameters[h_at][n]
        h, h_before = one + excess, one + parameters[h_new_at][n]
        per_momentum = per_speed * stride
        arriving = [zero] * count
        was = [zero] * count
        rest, rest_before = h, h_before
        for p in range(pair_count):
            along = per_momentum * parameters[momentum[p]][n]
            along_before = per_momentum * parameters[momentum_before[p]][n]
            behind, ahead = neighbours[place[2 * p]], neighbours[place[2 * p + 1]]
            from_behind = (one + parameters[h_at][behind]) * w * (one + per_momentum * parameters[momentum[p]][behind])
            from_ahead = (one + parameters[h_at][ahead]) * w * (one - per_momentum * parameters[momentum[p]][ahead])
            has_behind, has_ahead = walled & wall_behind[p] == 0, walled & wall_ahead[p] == 0
            arriving[2 * p] = from_behind if has_behind else zero
            arriving[2 * p + 1] = from_ahead if has_ahead else zero
            was[2 * p] = h_before * w * (one - along_before) if has_behind else zero
            was[2 * p + 1] = h_before * w * (one + along_before) if has_ahead else zero
            to_behind = h * w * (one - along) if has_behind else zero
            to_ahead = h * w * (one + along) if has_ahead else zero
            excess += (arriving[2 * p] - to_behind) + (arriving[2 * p + 1] - to_ahead)
            rest -= to_behind + to_ahead
            rest_before -= was[2 * p] + was[2 * p + 1]
        new = one + excess
        of_scalars(neighbours, (arriving, was), (rest, rest_before, h, new), n, parameters)
        parameters[h_new_at][n] = excess

    return jit(unroll(step))


def _scalar_node(lattice: Lattice, places, scalar: Carried, precision, jit, at):
    """Node function ``(neighbours, links, own, n, parameters)``: the step of a scalar."""
    count, place, one = lattice.q - 1, tuple(places), precision.real(1)
    value_at, new_at, memory_at, kept_at, *others = (at[name] for name in _parameters(scalar))

    def keep(parameters, n, own, change, gained):
        _, _, before, h = own
        value, kept = parameters[value_at][n], parameters[kept_at]
        now = value + change
        parameters[new_at][n] = now
        rounded = change - (now - value)
        parameters[memory_at][n] = kept * before * (change - gained) + (one - kept) * h * rounded

    keep = jit(keep)

    def plain(neighbours, links, own, n, parameters):
        arriving, was = links
        value, kept, rise = parameters[value_at][n], parameters[kept_at], parameters[memory_at][n]
        for k in range(count):
            rise += (parameters[value_at][neighbours[place[k]]] - value) * (arriving[k] + kept * was[k])
        keep(parameters, n, own, rise * (one / own[3]), zero)

    zero = precision.real(0)
    if not scalar.has_source:
        return jit(unroll(plain))
    gained_at, gained_new_at, gain_at, loss_at, share_at = others
    gain_of = jit((lambda given, per_h, n: given[n]) if scalar.varies else (lambda given, per_h, n: given * per_h))

    def with_source(neighbours, links, own, n, parameters):
        arriving, was = links
        rest, rest_before, _, new = own
        value, kept, gained = parameters[value_at][n], parameters[kept_at], parameters[gained_at][n]
        rise = parameters[memory_at][n] + gained * (rest - kept * rest_before)
        for k in range(count):
            difference = parameters[value_at][neighbours[place[k]]] - value
            near = parameters[gained_at][neighbours[place[k]]]
            rise += (difference + near) * arriving[k] + kept * (difference - near) * was[k]
        per_h = one / new
        gain, loss = gain_of(parameters[gain_at], per_h, n), parameters[loss_at]
        change = (rise * per_h + gain - loss * value) * parameters[share_at]
        keep(parameters, n, own, change, gained)
        parameters[gained_new_at][n] = gain - loss * (value + change)

    return jit(unroll(with_source))
