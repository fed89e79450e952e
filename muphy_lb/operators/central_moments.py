"""Central moments: k_abc = sum_q (c_qx - u_x)^a (c_qy - u_y)^b (c_qz - u_z)^c f_q, those about the velocity.

As many monomials are independent as there are populations: exponents up to 2 each, those with x, y and z together only
on D3Q27. Geier, Greiner, Korvink, Phys. Rev. E 73, 066705 (2006).

The node functions transform D3Q27 along one axis after the other, three numbers at a time, and hold moments less those
of the fluid at rest: nearly equal numbers are nowhere subtracted from each other, which makes single precision good
enough. Geier, Schoenherr, Pasquali, Krafczyk, Comput. Math. Appl. 70, 507 (2015), App. J.
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from math import comb, prod

import numpy as np

from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.operators.unroll import unroll

#: Rate of the trace of the stress: a bulk viscosity that does not vanish with the viscosity, which damps sound.
BULK_RATE = 1.0
#: Exponents (a, b, c) in the order in which node functions hold moments.
POSITIONS = tuple((a, b, c) for a, b, c in product(range(3), repeat=3))
#: Of a fluid at rest, along one axis: the moments of order 0, 1, 2, and the populations of -1, 0, 1.
_AT_REST, _WEIGHTS = (1.0, 0.0, 1 / 3), (1 / 6, 2 / 3, 1 / 6)
Moments = Mapping[tuple[int, int, int], np.ndarray]


def ordered_exponents(lattice: Lattice) -> tuple[tuple[int, int, int], ...]:
    """Exponents (a, b, c) in the order in which node functions hold the moments of D2Q9 or D3Q27."""
    return tuple(position for position in POSITIONS if lattice.dimension == 3 or position[2] == 0)


@cache
def exponents(lattice: Lattice) -> tuple[tuple[int, int, int], ...]:
    """The Q exponents (a, b, c) of independent monomials, by rising degree."""
    in_plane = lattice.dimension == 2
    powers = [power for power in POSITIONS if not (in_plane and power[2])]
    return tuple(sorted((power for power in powers if lattice.q == 27 or 0 in power), key=sum))


def central_moments(f: np.ndarray, u: np.ndarray, lattice: Lattice) -> Moments:
    """(n,) central moments of (Q, n) populations about (3, n) velocities."""
    raw = combined(_monomials(lattice), f)
    return _shifted(dict(zip(exponents(lattice), raw, strict=True)), -u)


def populations(central: Moments, u: np.ndarray, lattice: Lattice) -> np.ndarray:
    """(Q, n) populations with these central moments about (3, n) velocities."""
    raw = _shifted(central, u)
    return combined(_inverse(lattice), np.array([raw[power] for power in exponents(lattice)]))


def relaxed_normal_stress(stress: np.ndarray, u: np.ndarray, omega) -> np.ndarray:
    """(D, n) non-equilibrium normal stress after collision, from that before it, along the D axes.

    Its deviator relaxes with omega and its mean with BULK_RATE. As c^3 = c, there is no moment of third order along an
    axis of its own, so that the viscosity would depend on the velocity; the gradients known from the stress,
    rho d_a u_a = -3/2 (rates times stress), correct that: Geier et al. (2015), App. H.

    Args:
        stress: (D, n) k_aa - rho / 3.
        u: (D, n).
        omega: a number or (n,).
    """
    mean = added(stress) / len(stress)
    gradient = -1.5 * (omega * (stress - mean) + BULK_RATE * mean)
    error = 3 * u**2 * gradient
    mean_error = added(error) / len(stress)
    relaxed = (1 - omega) * (stress - mean) + (1 - BULK_RATE) * mean
    return relaxed - (1 - omega / 2) * (error - mean_error) - (1 - BULK_RATE / 2) * mean_error


def relaxed_normal_stress_node(lattice: Lattice, precision, jit):
    """:func:`relaxed_normal_stress` as a node function ``(stress, u, omega)`` of three numbers each, with BULK_RATE 1;
    what it returns along an axis that the lattice has not is 0."""
    real, axes, three = precision.real, lattice.dimension, 3
    share, zero, one, half = real(1 / axes), real(0), real(1), real(0.5)
    minus_three_halves, triple = real(-1.5), real(3)

    def relaxed(stress, u, omega):
        mean, mean_error = zero, zero
        error = [zero] * three
        after = [zero] * three
        for a in range(axes):
            mean += stress[a]
        mean *= share
        for a in range(axes):
            error[a] = triple * u[a] * u[a] * (minus_three_halves * (omega * (stress[a] - mean) + mean))
            mean_error += error[a]
        mean_error *= share
        for a in range(axes):
            after[a] = (one - omega) * (stress[a] - mean) - (one - half * omega) * (error[a] - mean_error)
            after[a] -= half * mean_error
        return after

    return jit(unroll(relaxed))


def to_central_node(lattice: Lattice, precision, jit):
    """Node function ``(f, u)`` -> the central moments of D2Q9 or D3Q27 less those at rest, in the order of
    :func:`ordered_exponents`."""
    low, middle, top, along, rest, slot = _lines(lattice, precision)
    count, zero = lattice.q, precision.real(0)
    n_lines = len(low)

    def to_central(f, u):
        k = [zero] * count
        for i in range(count):
            k[i] = f[slot[i]]
        for t in range(n_lines):
            total, difference = k[top[t]] + k[low[t]], k[top[t]] - k[low[t]]
            k[low[t]] = k[middle[t]] + total
            k[middle[t]] = difference - u[along[t]] * (k[low[t]] + rest[t])
            k[top[t]] = total - u[along[t]] * (difference + k[middle[t]])
        return k

    return jit(unroll(to_central))


def from_central_node(lattice: Lattice, precision, jit):
    """Node function ``(f, moments, u)``, the inverse of :func:`to_central_node`: stores populations in ``f``."""
    *lines, slot = _lines(lattice, precision)
    low, middle, top, along, rest = (values[::-1] for values in lines)
    count, zero, half = lattice.q, precision.real(0), precision.real(0.5)
    n_lines = len(low)

    def from_central(f, moments, u):
        k = [zero] * count
        for i in range(count):
            k[i] = moments[i]
        for t in range(n_lines):
            first = k[middle[t]] + u[along[t]] * (k[low[t]] + rest[t])
            second = k[top[t]] + u[along[t]] * (k[middle[t]] + first)
            k[middle[t]] = k[low[t]] - second
            k[low[t]], k[top[t]] = half * (second - first), half * (second + first)
        for i in range(count):
            f[slot[i]] = k[i]

    return jit(unroll(from_central))


def _lines(lattice: Lattice, precision) -> tuple[tuple, ...]:
    """Of 27 transforms of three numbers, along z, then y, then x: the places of the three, the component of the
    velocity, and the sum of the three at rest; last, the number of the population at each place at the start. The place
    of population (-1, 0, 1)[a, b, c] becomes that of the moment of order [a, b, c]."""
    lines, places = [], ordered_exponents(lattice)
    for axis in reversed(range(lattice.dimension)):
        step = 3 ** (lattice.dimension - 1 - axis)
        for place, position in enumerate(places):
            if position[axis] == 0:
                others = (x for x in range(lattice.dimension) if x != axis)
                rest = prod((_WEIGHTS if x < axis else _AT_REST)[position[x]] for x in others)
                lines.append((place, place + step, place + 2 * step, axis, precision.real(rest * precision.unit)))
    slot = (_vector_at(lattice, position) for position in places)
    return *zip(*lines, strict=True), tuple(slot)


def _vector_at(lattice: Lattice, position) -> int:
    """Number of the lattice vector whose component is -1, 0 or 1 where the position is 0, 1 or 2."""
    components = (x - 1 if axis < lattice.dimension else 0 for axis, x in enumerate(position))
    return lattice.vectors.index(tuple(components))


@cache
def _monomials(lattice: Lattice) -> np.ndarray:
    """(Q, Q) monomials c^(a, b, c) by exponents and populations."""
    return np.array([np.prod(lattice.c ** np.array(power), axis=1) for power in exponents(lattice)], float)


@cache
def _inverse(lattice: Lattice) -> np.ndarray:
    return np.round(8 * np.linalg.inv(_monomials(lattice))) / 8


def _shifted(moments: Moments, u: np.ndarray) -> Moments:
    """Moments of velocities that are ``u`` larger."""
    for axis in range(3):
        moments = {power: _shifted_along(axis, power, moments, u[axis]) for power in moments}
    return moments


def _shifted_along(axis: int, power: tuple, moments: Moments, u: np.ndarray) -> np.ndarray:
    top = power[axis]
    lower = [(*power[:axis], i, *power[axis + 1 :]) for i in range(top + 1)]
    return added(comb(top, i) * u ** (top - i) * moments[lower[i]] for i in range(top + 1))
