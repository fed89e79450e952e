"""Amounts of two fluids, which are advected with the flow and separated at their interface.

A node holds N_a of the first fluid and N_b of the second one. The amount that leaves it along an axis is,
for the first,

    A_q = w [N_a (1 + c.u / cs2) + P_q],   P_q = [sinh(beta s) + c.(v + v') / (2 cs2)] sqrt(M M'),

M = N_a N_b / (N_a + N_b),   s = c.(n + n') / (1 + n.n'),

and for the second the same with N_b and -P_q; primes are at the other end of the link. They are populations of D3Q7
(D2Q5) with a relaxation time of 1, which need not be stored, and a recolouring like that of Latva-Kokko, Rothman,
Phys. Rev. E 71, 056702 (2005), with what is pressed apart by links: nothing crosses any link of an interface
tanh(beta d), at any angle and place, plane or round, since s is by how much d rises along the link. n is the unit
normal of the interface, towards the first fluid; 1 - n.n' is half of (c.n' - c.n)^2 / (1 - (c.n)^2), to second order
in the curvature; sinh is taken to first order in it, and for its series in c.(n + n') up to the fourth power. In an
interface the first fluid is by v = l (1 - n n).(n.grad) u faster than the second one, with l such that the flow of
either is that beside a sharp interface; else a film would move with a core that is thinner. No link into a wall is
crossed. Amounts are whole numbers of ``UNITS`` of a full node and every A_q is rounded to one, by the node that sends
it and by the one that it reaches alike: the amount of each fluid stays the same for ever, on any ranks.
phi = (N_a - N_b) / (N_a + N_b) is exactly 1 or -1 in a pure fluid.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from muphy_lb.lattice import Lattice, scalar_lattice
from muphy_lb.operators import MOMENTUM_FIELDS, Operator
from muphy_lb.operators.operator import named
from muphy_lb.physics.two_fluid.operators import (
    DRIFT,
    ENTERING,
    FIRST,
    INTERFACE,
    MIXING,
    NEW_FIRST,
    NEW_MIXING,
    NEW_SECOND,
    NORMAL,
    PHASE,
    SECOND,
    WIDER_PHASE,
    axis_links,
    known_node,
    normal_or_0,
)
from muphy_lb.physics.two_fluid.profile import SHARPNESS, root_node, wider

UNITS: Mapping[type, float] = {np.float32: 2.0**26, np.float64: 2.0**50}
"""Of which a full node has so many; an amount is an integer of as many bits as the real numbers have."""
INTEGERS: Mapping[type, Any] = {np.float32: np.int32, np.float64: np.int64}
WALL, OPENING, LEAST_AMOUNT = -(2**30), -(2**30) - 1, -(2**29)
"""Amounts beyond walls and openings, and what no amount is below."""
LEAST_MIXING = 1e-3
"""Share of sqrt(M M') in a full node below which what the fluids drift apart counts for nothing."""
PLATE = 2.0
"""Share of the first fluid in what enters through a porous plate, by which it is known: the first one alone passes, for
both, and where there is some of the second one nothing does."""
ALMOST_FIRST = 0.9
"""Phase of a node below which a porous plate is closed to it."""


GATHERED = 4
"""Numbers that a node gathers beyond each link."""


def _sent(own, along_u, pressed, lattice: Lattice) -> np.ndarray:
    """(n,) whole units of a fluid that nodes send along a direction, including the recoloured amount."""
    return np.floor(float(lattice.w[1]) * (own * (1.0 + along_u / float(lattice.cs2)) + pressed) + 0.5)


def _press_terms() -> tuple[float, ...]:
    """Terms of sinh(beta s) over S = c.(n + n'): b0 + b1 S^2 + b2 S^4 + D^2 (c0 + c1 S^2 + c2 S^4), D = c.(n' - n)."""
    b = 0.5 * SHARPNESS
    of_turn = 0.25 * b, 0.25 * b * (0.25 + b**2 / 2.0), 0.25 * b * (1.0 / 16.0 + b**2 / 8.0 + b**4 / 24.0)
    return b, b**3 / 6.0, b**5 / 120.0, *of_turn


def mixing(first, second) -> np.ndarray:
    """(n,) square root of N_a N_b / (N_a + N_b), from the amounts as real numbers."""
    is_mixed = (first > 0.0) & (second > 0.0)
    return np.sqrt(np.where(is_mixed, first * second / np.where(is_mixed, first + second, 1.0), 0.0))


def _advance(neighbours, n, lattice, parameters):
    own_lattice, real = scalar_lattice(lattice.dimension), parameters[PHASE].dtype.type
    amounts = parameters[FIRST], parameters[SECOND]
    momentum, drift = ([parameters[name] for name in names] for names in (MOMENTUM_FIELDS, DRIFT))
    normal = [normal_or_0(parameters[name]) for name in NORMAL]
    share, is_plate = np.minimum(parameters[ENTERING][n], 1.0), parameters[ENTERING][n] == PLATE
    passes = np.where(_kept_back(n, parameters), 0.0, 1.0)
    enters, here = (share, 1.0 - share), [values[n].astype(real) for values in amounts]
    leaving = np.where(is_plate, here[0] + here[1], here[0]), np.where(is_plate, 0.0, here[1])
    changes = np.zeros((2, n.size), np.int64)
    for k, axis, sign in axis_links(lattice):
        near, leaves = neighbours[k], sign * momentum[axis][n]
        beyond, there = amounts[0][near], [values[near].astype(real) for values in amounts]
        both, turned = normal[axis][n] + normal[axis][near], normal[axis][near] - normal[axis][n]
        drifts = 0.5 / float(own_lattice.cs2) * (drift[axis][n] + drift[axis][near])
        mixed = parameters[MIXING][n] * parameters[MIXING][near]
        drifts = np.where(mixed > LEAST_MIXING * UNITS[real], drifts, 0.0)
        square, (b0, b1, b2, c0, c1, c2) = both * both, _press_terms()
        apart = b0 + square * (b1 + square * b2) + turned * turned * (c0 + square * (c1 + square * c2))
        pressed = sign * (both * apart + drifts) * mixed
        for colour, towards in enumerate((1.0, -1.0)):
            parts = [
                _sent(own[colour], way * momentum[axis][at], way * sign * towards * pressed, own_lattice)
                for own, at, way in ((here, n, sign), (there, near, -sign))
            ]
            carried = np.where(leaves > 0.0, leaving[colour], UNITS[real] * enters[colour]) * leaves * passes
            opened = np.where(beyond == OPENING, np.floor(carried + 0.5), 0.0)
            changes[colour] -= np.where(beyond > LEAST_AMOUNT, parts[0] - parts[1], opened).astype(np.int64)
    for name, values, change in zip((NEW_FIRST, NEW_SECOND), amounts, changes, strict=True):
        parameters[name][n] = values[n] + change
    a, b = (parameters[name][n].astype(real) for name in (NEW_FIRST, NEW_SECOND))
    parameters[NEW_MIXING][n] = mixing(a, b)
    parameters[PHASE][n] = (a - b) / np.maximum(a + b, 1.0)
    parameters[WIDER_PHASE][n] = wider(parameters[PHASE][n].astype(float))


def _advance_node(lattice, precision, jit, at):
    """Node function of the advance. All values are read before any depends on another, so that a thread waits for
    memory once; recolouring follows, near interfaces only."""
    real, one = precision.real, precision.real(1)
    first, second, mixing = (at[name] for name in (FIRST, SECOND, MIXING))
    new_first, new_second, new_mixing = (at[name] for name in (NEW_FIRST, NEW_SECOND, NEW_MIXING))
    phase, wider_phase, entering = at[PHASE], at[WIDER_PHASE], at[ENTERING]
    flow_x, flow_y, flow_z = (at[name] for name in MOMENTUM_FIELDS)
    interface, links, root = at[INTERFACE], axis_links(lattice), root_node(precision, jit)
    mixing_of, is_kept_back = _mixing_node(precision, jit), _kept_back_node(lattice, precision, jit, at)
    join, added_up = jit(lambda a, b: a + b), jit(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    gathered = _folded(join, [_gathered_node(link, jit, at) for link in links], jit)
    lost = _folded(added_up, [_lost_node(link, k, lattice, precision, jit) for k, link in enumerate(links)], jit)
    opened = [_opened_node(link, k, precision, jit) for k, link in enumerate(links)]
    through_openings = _folded(added_up, opened, jit)
    pressed = _folded(join, [_pressed_node(link, lattice, precision, jit, at) for link in links], jit)
    lowest = _folded(jit(lambda a, b: min(a, b)), [_part_node(GATHERED * k, jit) for k in range(len(links))], jit)
    bits_of = _folded(jit(lambda a, b: a | b), [_part_node(GATHERED * k + 3, jit) for k in range(len(links))], jit)
    nothing = (precision.real(0),) * len(links)

    def advance(neighbours, n, parameters):
        a, b = parameters[first][n], parameters[second][n]
        flow = parameters[flow_x][n], parameters[flow_y][n], parameters[flow_z][n]
        bits, beside = parameters[interface][n], gathered(neighbours, parameters)
        own, both = (real(a), real(b)), nothing
        if bits | bits_of(beside):
            both = pressed(neighbours, n, parameters)
        lost_a, lost_b = lost(own, flow, both, beside)
        a -= lost_a
        b -= lost_b
        if lowest(beside) == OPENING and not is_kept_back(n, parameters):
            lost_a, lost_b = through_openings(own, flow, parameters[entering][n], beside)
            a -= lost_a
            b -= lost_b
        parameters[new_first][n] = a
        parameters[new_second][n] = b
        parameters[new_mixing][n] = mixing_of(real(a), real(b))
        of_node = (real(a) - real(b)) / max(real(a) + real(b), one)
        parameters[phase][n] = of_node
        parameters[wider_phase][n] = of_node / (one + root(of_node))

    return jit(advance)


def _mixing_node(precision, jit):
    """Node function ``(a, b)`` of :func:`mixing`."""
    real, zero = precision.real, precision.real(0)
    return jit(lambda a, b: real(math.sqrt(a * b / (a + b))) if a > zero and b > zero else zero)


def _gathered_node(link: tuple[int, int, float], jit, at):
    """Node function ``(neighbours, parameters)``: amounts of both fluids beyond a link, and the flow along it and the
    bits of ``INTERFACE`` there."""
    k, axis, _ = link
    first, second, flow, interface = at[FIRST], at[SECOND], at[MOMENTUM_FIELDS[axis]], at[INTERFACE]

    def gathered(neighbours, parameters):
        near = neighbours[k]
        amounts = parameters[first][near], parameters[second][near]
        return *amounts, parameters[flow][near], parameters[interface][near]

    return jit(gathered)


def _pressed_node(link: tuple[int, int, float], lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters)``: P_q of a link along its axis, as a tuple of one. All is read ahead
    of the condition."""
    k, axis, _ = link
    real, mixing, normal, drift = precision.real, at[MIXING], at[NORMAL[axis]], at[DRIFT[axis]]
    b0, b1, b2, c0, c1, c2 = (real(term) for term in _press_terms())
    per_drift = real(0.5 / float(scalar_lattice(lattice.dimension).cs2))
    least, known = real(LEAST_MIXING * UNITS[precision.real]), known_node(precision, jit)

    def pressed(neighbours, n, parameters):
        near = neighbours[k]
        mixed, beyond = parameters[mixing][n], parameters[mixing][near]
        own_normal, other = parameters[normal][n], parameters[normal][near]
        drifts = parameters[drift][n] + parameters[drift][near]
        own_normal, other = known(own_normal), known(other)
        both, turned = own_normal + other, other - own_normal
        square = both * both
        both *= b0 + square * (b1 + square * b2) + turned * turned * (c0 + square * (c1 + square * c2))
        mixed *= beyond
        if mixed > least:
            both += per_drift * drifts
        return (both * mixed,)

    return jit(pressed)


def _folded(join, functions, jit):
    """Node function that combines the results of others for the same arguments, two at a time."""
    head, *others = functions
    if not others:
        return head
    rest = _folded(join, others, jit)
    return jit(lambda *given: join(head(*given), rest(*given)))


def _part_node(k: int, jit):
    """Node function ``(beside)``: one of its numbers."""
    return jit(lambda beside: beside[k])


def _lost_node(link: tuple[int, int, float], number: int, lattice, precision, jit):
    """Node function ``(own, flow, pressed, beside)``: units of both fluids that a node loses through one of its links
    along axes, from its amounts, its flow, the recolouring along the links, and the values gathered beyond all
    links."""
    _, axis, along_axis = link
    real, integer, sign = precision.real, INTEGERS[precision.real], precision.real(along_axis)
    of_first, of_second, of_flow, _ = (GATHERED * number + part for part in range(GATHERED))
    sent = _sent_node(lattice, precision, jit)

    def lost(own, flow, pressed, beside):
        a, b, both = real(beside[of_first]), real(beside[of_second]), pressed[number]
        sent_a, sent_b = sent(own[0], own[1], sign * flow[axis], sign * both)
        got_a, got_b = sent(a, b, -sign * beside[of_flow], -sign * both)
        is_there = integer(beside[of_first] > LEAST_AMOUNT)  # a product, since a branch here keeps links apart
        return is_there * integer(sent_a - got_a), is_there * integer(sent_b - got_b)

    return jit(lost)


def _opened_node(link: tuple[int, int, float], number: int, precision, jit):
    """Node function ``(own, flow, share, beside)``: units of both fluids that a node loses through one of its links
    along axes to an opening that lets them pass; ``share``: of the first one in the inflow."""
    _, axis, along_axis = link
    real, integer, of_first = precision.real, INTEGERS[precision.real], GATHERED * number
    sign, zero, half, one, nothing = real(along_axis), real(0), real(0.5), real(1), integer(0)
    full, plate = real(UNITS[precision.real]), real(PLATE)
    whole = jit(lambda amount: integer(math.floor(amount + half)))

    def opened(own, flow, share, beside):
        if beside[of_first] != OPENING:
            return nothing, nothing
        along, (a, b) = sign * flow[axis], own
        if along > zero:
            if share == plate:
                return whole((a + b) * along), nothing
            return whole(a * along), whole(b * along)
        share = min(share, one) * full
        return whole(share * along), whole((full - share) * along)

    return jit(opened)


def _sent_node(lattice, precision, jit):
    """Node function ``(a, b, along_u, both)`` of :func:`_sent` for both fluids of a node, with the recoloured amount
    along the link."""
    own_lattice, real, integer = scalar_lattice(lattice.dimension), precision.real, INTEGERS[precision.real]
    one, half = real(1), real(0.5)
    weight, per_speed = real(own_lattice.w[1]), real(1.0 / float(own_lattice.cs2))

    def sent(a, b, along_u, both):
        carried = one + per_speed * along_u
        return (
            integer(math.floor(weight * (a * carried + both) + half)),
            integer(math.floor(weight * (b * carried - both) + half)),
        )

    return jit(sent)


ADVANCE = Operator(
    "two-fluid-amounts",
    _advance,
    _advance_node,
    named(
        *(FIRST, SECOND, MIXING, NEW_FIRST, NEW_SECOND, NEW_MIXING),
        *(PHASE, WIDER_PHASE, ENTERING, INTERFACE, *MOMENTUM_FIELDS, *NORMAL, *DRIFT),
    ),
    registers=56,  # the compiler takes 48, and lets fewer loads wait at a time
)


def _kept_back(n, parameters):
    return (parameters[ENTERING][n] == PLATE) & (parameters[PHASE][n] < ALMOST_FIRST)


def _kept_back_node(lattice, precision, jit, at):
    entering, phase, real = at[ENTERING], at[PHASE], precision.real
    plate, almost = real(PLATE), real(ALMOST_FIRST)
    return jit(lambda n, parameters: parameters[entering][n] == plate and parameters[phase][n] < almost)


KEPT_BACK = Operator("two-fluid-plate", _kept_back, _kept_back_node, named(ENTERING, PHASE))
"""Whether a porous plate is closed to a node: where there is some of the second fluid."""
