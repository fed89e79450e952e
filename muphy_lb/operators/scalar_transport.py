"""Advection and diffusion of a scalar T by populations of its own, with two relaxation times:

    g^eq = w T (1 + c.u / cs2),  kappa = cs2 (tau_odd - 1/2),  (tau_even - 1/2) (tau_odd - 1/2) = 1/4

Ginzburg, Adv. Water Resour. 28, 1171 (2005). With the product 1/4 the steady solution does not depend on tau. On the
lattices of :func:`muphy_lb.lattice.scalar_lattice`. Along a flow the diffusivity is lower by the relative amount 4 u^2.

The node function gives the rest population what the others lose: these differences are exact, so a node keeps its
scalar but for the rounding of this one number.

**The carrier.** The velocity of the nodes is not free of divergence on these lattices beside stairs of voxels, so a
uniform scalar would not stay uniform there. Scalars are therefore carried by a density h of populations of its own,
with the momentum u of the flow (rho_0 = 1) and relaxation times of 1,

    h_q leaving = w (1 + c.u / cs2) h,   h = sum_q h_q

which nothing but openings adds to. Beside stairs of voxels the flow leaves a node along diagonals, which this lattice
lacks: where one of the two links along an axis leads into a wall, the other carries that component of u twice, so that
as much h passes every plane of voxels as fluid does. The node behind a cut link also carries what flows through the gap
between voxel and wall. Its diffusivity cs2 / 2 is large, so h stays near 1, and in a steady flow its flux is free of
divergence to the last digit. The populations of a scalar sum up to its amount, T h, and
relax towards shares of the carrier's,

    g_q leaving = T h_q leaving + (1 - rate) d_q,   d_q = g_q - T h_q arriving

by the even and the odd rate: a uniform T has g = T h and keeps it, whatever the flow; amounts are kept exactly.

Half of a source S is added to the amount G = T h before the collision and half behind it, with the shape of the
carrier, so that

    G = sum_q g_q + S/2 = (sum_q g_q + production/2) / (1 + decay/2),   sum_q g~_q = sum_q g_q + S

(Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), for a source instead of a force), S = production - decay G: the
populations of a node gain exactly S in a step.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.operators.observers import CARRYING_FIELDS, N_AXES
from muphy_lb.operators.operator import Operator, constants, named
from muphy_lb.operators.unroll import unroll

Rate = float | np.ndarray

PRODUCT = 0.25
RATES = ("rate_even", "rate_odd")
CARRIER = "carrier_of_node"  # name of the parameter that is the field of h - 1
STRIDE = "steps_at_once"  # that of the factor of the momentum: how many steps of the flow one of the scalars takes
#: that of the field with a bit for each link along an axis that leads into a wall: x, y, z ahead, then behind; with
#: ``POPULATED`` where the populations that arrive are needed one by one, and ``NEAR`` where a neighbour may be one
LINKS = "links_of_node"
POPULATED, NEAR = 1 << 2 * N_AXES, 1 << 2 * N_AXES + 1


class Carried(NamedTuple):
    """A scalar of :func:`carried_collision`."""

    name: str
    varies: bool = False  #: whether what it gains is a field of h's amount of it, instead of a number
    #: axis along which it has a slope of 1 beside its value, which is the periodic rest: what arrives from a node
    #: behind brings 1 less, from ahead 1 more; -1 without one
    slope_along: int = -1
    has_source: bool = False  #: whether it gains or loses anything

    def parameter(self, what: str) -> str:
        """Name of one of its parameters: those of ``RATES``, ``GAIN``, ``LOSS``, ``SHARE`` or ``VALUE``."""
        return f"{what}_of_{self.name}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all that its collision reads and writes."""
        return tuple(map(self.parameter, (*PARAMETERS, GAINED)[: len(PARAMETERS) + self.has_source]))


#: production/2, decay/2, 1 / (1 + decay/2), the field of T, and, with a source, that of S / 2h
GAIN, LOSS, SHARE, VALUE, GAINED = "half_production", "half_decay", "share_kept", "value", "gained"
PARAMETERS = (*RATES, GAIN, LOSS, SHARE, VALUE)


def scalar_rates(lattice: Lattice, diffusivity: Rate) -> tuple[Rate, Rate]:
    """Relaxation rates (even, odd) of a diffusivity in lattice units, one or (n,)."""
    odd = diffusivity / float(lattice.cs2)
    return 1.0 / (0.5 + PRODUCT / odd), 1.0 / (0.5 + odd)


def scalar_at_rest(lattice: Lattice, scalar: np.ndarray) -> np.ndarray:
    """(Q, n) populations of a scalar (n,) where nothing moves and nothing is conducted."""
    return lattice.w[:, None] * scalar


def relaxed_scalar(values: np.ndarray, scalar, velocity, rates: tuple[Rate, Rate], lattice: Lattice) -> np.ndarray:
    """(Q, n) collided populations of (Q, n) ``values`` with the scalar (n,) and three components of the velocity (n,);
    the specification of :func:`relax_scalar_node`."""
    even_rate, odd_rate = rates
    w, opposed = lattice.w[:, None], values[lattice.opposite]
    along = combined(lattice.c, velocity)
    even = 0.5 * (values + opposed) - w * scalar
    odd = 0.5 * (values - opposed) - w * scalar * along / float(lattice.cs2)
    return values - even_rate * even - odd_rate * odd


def relax_scalar_node(lattice: Lattice, precision, jit):
    """Node function ``(values, scalar, velocity, even_rate, odd_rate)``: the collision, in place."""
    real, pair_count = precision.real, lattice.q // 2
    w, cx, cy, cz = constants(lattice, precision)
    zero, half, per_speed = real(0), real(0.5), real(1.0 / float(lattice.cs2))

    def relax(values, scalar, velocity, even_rate, odd_rate):
        ux, uy, uz = velocity
        given = zero
        for p in range(pair_count):
            part = w[2 * p + 1] * scalar
            along = per_speed * part * (cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz)
            even = even_rate * (half * (values[2 * p + 1] + values[2 * p + 2]) - part)
            odd = odd_rate * (half * (values[2 * p + 1] - values[2 * p + 2]) - along)
            first, second = values[2 * p + 1] - (even + odd), values[2 * p + 2] - (even - odd)
            given += (values[2 * p + 1] - first) + (values[2 * p + 2] - second)
            values[2 * p + 1] = first
            values[2 * p + 2] = second
        values[0] += given

    return jit(unroll(relax))


@cache
def carried_collision(lattice: Lattice, scalars: tuple[Carried, ...]) -> Operator:
    """The collision of the populations of a carrier on the scalars' ``lattice``, then of those of some scalars; it
    stores h and every T."""
    q_count = lattice.q

    def reference(values, n, _, parameters):
        walled = parameters[LINKS][n]
        velocity = [parameters[name][n] * parameters[STRIDE] for name in CARRYING_FIELDS]
        shares = lattice.w[:, None] * (1.0 + combined(lattice.c, velocity) / float(lattice.cs2))
        arriving, is_own = values[:q_count], walled & POPULATED != 0
        density = np.where(is_own, added(arriving), 1.0 + parameters[CARRIER][n])
        parameters[CARRIER][n] = np.where(is_own, density - 1.0, parameters[CARRIER][n])
        leaving = shares * density
        found = [leaving]
        for number, scalar in enumerate(scalars, start=1):
            own, given = values[number * q_count : (number + 1) * q_count], scalar.parameter
            if scalar.slope_along >= 0:
                own = own - _slope_carried(arriving, walled, scalar.slope_along)
            gain = density * parameters[given(GAIN)][n] if scalar.varies else parameters[given(GAIN)]
            amount = (added(own) + gain) * parameters[given(SHARE)]
            amount = np.where(is_own, amount, parameters[given(VALUE)][n] * density)
            half = gain - parameters[given(LOSS)] * amount
            arrived = np.where(is_own, added(own), amount - half)
            parameters[given(VALUE)][n] = np.where(is_own, amount / density, parameters[given(VALUE)][n])
            if scalar.has_source:
                parameters[given(GAINED)][n] = np.where(is_own, half / density, parameters[given(GAINED)][n])
            left = own - arrived / density * arriving
            opposed = left[lattice.opposite]
            even, odd = 0.5 * (left + opposed), 0.5 * (left - opposed)
            relaxed = left - parameters[given(RATES[0])] * even - parameters[given(RATES[1])] * odd
            found.append((amount + half) / density * leaving + relaxed)
            found[-1][0] = np.where(is_own, found[-1][0], amount + half - found[-1][1:].sum(axis=0))
        return np.concatenate(found)

    def node(_, precision, jit, at):
        each = [_share_node(lattice, number, scalar, precision, jit, at) for number, scalar in enumerate(scalars, 1)]
        return _carrier_node(lattice, precision, jit, at, each_in_turn(each, jit))

    of_scalars = (name for scalar in scalars for name in scalar.parameters)
    name = "-".join(f"{scalar.name}{'-varying' * scalar.varies}{_slope(scalar)}" for scalar in scalars)
    parameters = named(CARRIER, LINKS, STRIDE, *CARRYING_FIELDS, *of_scalars)
    return Operator(f"carried-{lattice.name}-{name}", reference, node, parameters)


def _slope_carried(arriving: np.ndarray, walled: np.ndarray, axis: int) -> np.ndarray:
    """(Q, n) what the slope brings less with the populations of the carrier, but for those that walls return."""
    found, ahead, behind = np.zeros_like(arriving), 2 * axis + 1, 2 * axis + 2
    found[ahead] = np.where(walled >> N_AXES + axis & 1, 0.0, arriving[ahead])
    found[behind] = np.where(walled >> axis & 1, 0.0, -arriving[behind])
    return found


def _slope(scalar: Carried) -> str:
    return f"-along-{'xyz'[scalar.slope_along]}" if scalar.slope_along >= 0 else ""


def _carrier_node(lattice: Lattice, precision, jit, at, of_scalars):
    """Node function ``(values, n, parameters)``: the collision of the carrier, around that of its scalars, which is
    ``of_scalars(values, leaving, h, n, parameters)`` with the carrier's populations that arrive and leave."""
    real, q_count, pair_count = precision.real, lattice.q, lattice.q // 2
    w, cx, cy, cz = constants(lattice, precision)
    zero, one, per_speed = real(0), real(1), real(1.0 / float(lattice.cs2))
    carrier_at, walled_at, stride_at = at[CARRIER], at[LINKS], at[STRIDE]
    x, y, z = (at[name] for name in CARRYING_FIELDS)

    def collide(values, n, parameters):
        stride, walled = parameters[stride_at], parameters[walled_at][n]
        ux, uy, uz = stride * parameters[x][n], stride * parameters[y][n], stride * parameters[z][n]
        leaving = [zero] * q_count
        h = zero
        for q in range(q_count):
            h += values[q]
        h = h if walled & POPULATED else one + parameters[carrier_at][n]
        given = zero
        for p in range(pair_count):
            along = per_speed * (cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz)
            leaving[2 * p + 1] = h * w[2 * p + 1] * (one + along)
            leaving[2 * p + 2] = h * w[2 * p + 2] * (one - along)
            given += (values[2 * p + 1] - leaving[2 * p + 1]) + (values[2 * p + 2] - leaving[2 * p + 2])
        of_scalars(values, leaving, h, n, parameters)
        rest = h
        for p in range(pair_count):
            values[2 * p + 1] = leaving[2 * p + 1]
            values[2 * p + 2] = leaving[2 * p + 2]
            rest -= leaving[2 * p + 1] + leaving[2 * p + 2]
        values[0] = values[0] + given if walled & POPULATED else rest
        if walled & POPULATED:
            parameters[carrier_at][n] = h - one

    return jit(unroll(collide))


def _share_node(lattice: Lattice, number: int, scalar: Carried, precision, jit, at):
    """Node function ``(values, leaving, h, n, parameters)``: the collision of a scalar, the carrier being number 0."""
    real, q_count, pair_count, first = precision.real, lattice.q, lattice.q // 2, number * lattice.q
    zero, one, half_of = real(0), real(1), real(0.5)
    even_at, odd_at, gain_at, loss_at, share_at, value_at = (at[scalar.parameter(what)] for what in PARAMETERS)
    walled_at, store = at[LINKS], _storing_gained(scalar, jit, at)
    gain_of = jit((lambda h, given, n: h * given[n]) if scalar.varies else (lambda h, given, n: given))
    meet = _slope_node(scalar.slope_along, first, precision, jit, at)

    def collide(values, leaving, h, n, parameters):
        meet(values, n, parameters)
        gain, per_h = gain_of(h, parameters[gain_at], n), one / h
        arrived = zero
        for q in range(q_count):
            arrived += values[first + q]
        is_own = parameters[walled_at][n] & POPULATED
        amount = (arrived + gain) * parameters[share_at] if is_own else parameters[value_at][n] * h
        half = gain - parameters[loss_at] * amount
        arrived = arrived if is_own else amount - half
        before, behind = arrived * per_h, (amount + half) * per_h
        even_rate, odd_rate = half_of * parameters[even_at], half_of * parameters[odd_at]
        given, rest = half + half, amount + half
        for p in range(pair_count):
            up, down = values[first + 2 * p + 1], values[first + 2 * p + 2]
            one_way = up - before * values[2 * p + 1]
            other_way = down - before * values[2 * p + 2]
            even, odd = even_rate * (one_way + other_way), odd_rate * (one_way - other_way)
            values[first + 2 * p + 1] = behind * leaving[2 * p + 1] + (one_way - (even + odd))
            values[first + 2 * p + 2] = behind * leaving[2 * p + 2] + (other_way - (even - odd))
            given += (up - values[first + 2 * p + 1]) + (down - values[first + 2 * p + 2])
            rest -= values[first + 2 * p + 1] + values[first + 2 * p + 2]
        values[first] = values[first] + given if is_own else rest
        if is_own:
            parameters[value_at][n] = amount * per_h
            store(parameters, n, half * per_h)

    return jit(unroll(collide))


def _storing_gained(scalar: Carried, jit, at):
    """Node function ``(parameters, n, gained)`` that stores what a scalar with a source gains in half a step."""
    if not scalar.has_source:
        return jit(lambda parameters, n, gained: None)
    gained_at = at[scalar.parameter(GAINED)]

    def store(parameters, n, gained):
        parameters[gained_at][n] = gained

    return jit(store)


def _slope_node(axis: int, first: int, precision, jit, at):
    """Node function ``(values, n, parameters)``: takes from the populations of a scalar, of which the first is number
    ``first``, what its slope along an axis brings less with the carrier; nothing for -1."""
    if axis < 0:
        return jit(lambda values, n, parameters: None)
    ahead, behind, walled_at, zero = 2 * axis + 1, 2 * axis + 2, at[LINKS], precision.real(0)
    into_ahead, into_behind = 1 << axis, 1 << N_AXES + axis

    def meet(values, n, parameters):
        walled = parameters[walled_at][n]
        values[first + ahead] -= zero if walled & into_behind else values[ahead]
        values[first + behind] += zero if walled & into_ahead else values[behind]

    return jit(meet)


def each_in_turn(functions, jit):
    """Node function that calls others with the same arguments, one after the other."""
    first, *others = functions
    if not others:
        return first
    rest = each_in_turn(others, jit)

    def both(*given):
        first(*given)
        rest(*given)

    return jit(both)
