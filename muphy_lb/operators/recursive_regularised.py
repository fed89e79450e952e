"""Recursive regularisation: populations rebuilt from density, velocity and stress, with all moments that a set has.

Regularisation in the frame of the fluid: of the central moments k about the velocity only the stress is retained, with
1 - omega (:func:`~muphy_lb.operators.central_moments.relaxed_normal_stress`: its normal part); those of higher order
become those of a Gaussian, k_aab = F_b / 6 (half of what the force F gives), k_aabb = (k_aa + k_bb) / 3 - rho / 9. Seen
at rest, that is a recursion: third moments of the non-equilibrium follow from its stress N,
m_aab = u_b N_aa + 2 u_a N_ab, and so do fourth ones. So nothing but the stress can oscillate where omega goes to 2.
Malaspinas, arXiv:1505.06900 (2015); Coreixas, Wissocq, Puigt, Boussuge, Sagaut, Phys. Rev. E 96, 033306 (2017); that
it is a collision of central moments: Coreixas, Chopard, Latt, Phys. Rev. E 100, 033305 (2019).
"""

from dataclasses import replace

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators.central_moments import (
    central_moments,
    exponents,
    populations,
    relaxed_normal_stress,
    relaxed_normal_stress_node,
)
from muphy_lb.operators.moments import stress_node
from muphy_lb.operators.operator import named
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.unroll import unroll

#: Axes of the coordinate planes, in the order of xy, yz, zx of :mod:`muphy_lb.operators.hermite`.
PLANES = ((0, 1), (1, 2), (2, 0))
#: Rate of k_abb + k_acc near walls. At tau = 0.502 in oblique pipes, 1.4 does not keep every flow finite, 1.8 to 1.98
#: do.
FLUX_RATE = 1.9
FOURTH = 1 / 6  # the share of N_aa + N_bb, beyond 1/3, in the fourth moments near walls


def _reference(f, f_eq, source, omega, parameters, lattice):
    rho, u, force = added(f), combined(lattice.c.T, f_eq) / added(f_eq), combined(lattice.c.T, source)
    before = central_moments(f, u, lattice)
    kept = {power: (1 - omega) * k for power, k in before.items() if max(power) == 1 and sum(power) == 2}
    axes = range(lattice.dimension)
    normal = np.array([before[_power(a, a)] - rho / 3 for a in axes])
    relaxed = relaxed_normal_stress(normal, u[: lattice.dimension], omega)
    kept |= {_power(a, a): relaxed[a] + rho / 3 for a in axes}
    for power in exponents(lattice):
        pair = [axis for axis in axes if power[axis]]
        if sum(power) == 3:
            kept[power] = force[power.index(1)] / 6
        elif sum(power) == 4:
            kept[power] = added(kept[_power(a, a)] for a in pair) / 3 - rho / 9
        elif sum(power) == 1:
            kept[power] = before[power] + force[pair[0]]
    return populations({(0, 0, 0): before[0, 0, 0], **kept}, u, lattice)


def _power(a: int, b: int) -> tuple[int, ...]:
    """Exponents of the product of two components."""
    return tuple((axis == a) + (axis == b) for axis in range(3))


def _node(lattice, precision, jit, equilibrium, at):
    planes = PLANES if lattice.dimension == 3 else PLANES[:1]
    first, second, corner = zip(*((a, b, _corners(lattice, a, b)) for a, b in planes), strict=True)
    ahead, behind = (tuple(_number(lattice, {a: sign}) for a in range(lattice.dimension)) for sign in (1, -1))
    stress_at, momentum = stress_node(lattice, precision, jit, equilibrium), equilibrium.moments(precision, jit).first
    normal_stress = relaxed_normal_stress_node(lattice, precision, jit)
    n_planes, n_axes, three, real = len(planes), lattice.dimension, 3, precision.real
    zero, one, half, quarter, two = (real(x) for x in (0, 1, 0.5, 0.25, 2))
    third, ninth = real(1 / 3), real(1 / 9)

    def relax(f, state, force, omega, parameters):
        deviation, rest = state[0], state[0]
        u = [zero] * three
        g = [zero] * three
        normal = [zero] * three
        m_aa = [zero] * three
        even = [zero] * three
        odd = [zero] * three
        u[0], u[1], u[2] = state[1], state[2], state[3]
        g[0], g[1], g[2] = momentum(state, force, one, half)
        xx, yy, zz, xy, yz, zx = stress_at(f, state, force)
        normal[0], normal[1], normal[2] = normal_stress((xx, yy, zz), (u[0], u[1], u[2]), omega)
        shear = [zero] * three
        shear[0], shear[1], shear[2] = (one - omega) * xy, (one - omega) * yz, (one - omega) * zx  # twice N_ab
        for a in range(n_axes):
            m_aa[a] = third * deviation + u[a] * (g[a] + half * force[a]) + normal[a]
            even[a], odd[a] = m_aa[a], g[a]
            rest -= m_aa[a]
        for p in range(n_planes):
            u_a, u_b, g_a, g_b = u[first[p]], u[second[p]], g[first[p]], g[second[p]]
            n_aa, n_bb, n_ab = normal[first[p]], normal[second[p]], shear[p]
            a_drive, b_drive = u_a * force[second[p]], u_b * force[first[p]]
            m_ab = u_a * g_b + half * (b_drive + n_ab)
            m_aab = third * g_b + u_a * (u_a * g_b + b_drive + n_ab) + u_b * n_aa
            m_abb = third * g_a + u_b * (u_b * g_a + a_drive + n_ab) + u_a * n_bb
            m_aabb = u_a * u_b * (u_a * g_b + half * a_drive + b_drive + two * n_ab)
            m_aabb += u_b * u_b * n_aa + u_a * u_a * n_bb - ninth * deviation
            m_aabb += third * (m_aa[first[p]] + m_aa[second[p]])
            f[corner[p][0]] = quarter * (m_aabb + m_ab + (m_aab + m_abb))
            f[corner[p][1]] = quarter * (m_aabb + m_ab - (m_aab + m_abb))
            f[corner[p][2]] = quarter * (m_aabb - m_ab - (m_aab - m_abb))
            f[corner[p][3]] = quarter * (m_aabb - m_ab + (m_aab - m_abb))
            even[first[p]] -= m_aabb
            even[second[p]] -= m_aabb
            odd[first[p]] -= m_abb
            odd[second[p]] -= m_aab
            rest += m_aabb
        for a in range(n_axes):
            f[ahead[a]] = half * (even[a] + odd[a])
            f[behind[a]] = half * (even[a] - odd[a])
        f[0] = rest

    return jit(unroll(relax))


def _near_walls(f, f_eq, source, omega, parameters, lattice):
    u, force = combined(lattice.c.T, f_eq) / added(f_eq), combined(lattice.c.T, source)
    before = central_moments(f, u, lattice)
    after = dict(central_moments(_reference(f, f_eq, source, omega, parameters, lattice), u, lattice))
    for a in range(3):
        fluxes = [tuple(1 if axis == a else 2 * (axis == b) for axis in range(3)) for b in range(3) if b != a]
        kept = (1 - FLUX_RATE) * (added(before[power] for power in fluxes) / 2 + force[a] / 6)
        after |= {power: after[power] + kept for power in fluxes}
    for a, b in PLANES:
        power = tuple(2 * (axis in (a, b)) for axis in range(3))
        normal = after[_power(a, a)] + after[_power(b, b)] - 2 / 3 * after[0, 0, 0]
        after[power] = after[power] + FOURTH * normal
    return populations(after, u, lattice)


def _near_walls_node(lattice, precision, jit, equilibrium, at):
    first, second, corner = zip(*((a, b, _corners(lattice, a, b)) for a, b in PLANES), strict=True)
    ahead, behind = (tuple(_number(lattice, {a: sign}) for a in range(3)) for sign in (1, -1))
    stress_at, momentum = stress_node(lattice, precision, jit, equilibrium), equilibrium.moments(precision, jit).first
    normal_stress, plain = (
        relaxed_normal_stress_node(lattice, precision, jit),
        _node(lattice, precision, jit, equilibrium, at),
    )
    three, real = 3, precision.real
    zero, one, half, quarter, two = (real(x) for x in (0, 1, 0.5, 0.25, 2))
    third, fourth, kept = real(1 / 3), real(FOURTH), real((1 - FLUX_RATE) / 2)

    def relax(f, state, force, omega, parameters):
        u = [zero] * three
        g = [zero] * three
        normal = [zero] * three
        flux = [zero] * three
        u[0], u[1], u[2] = state[1], state[2], state[3]
        g[0], g[1], g[2] = momentum(state, force, one, -half)
        xx, yy, zz, xy, yz, zx = stress_at(f, state, force)
        normal[0], normal[1], normal[2] = xx, yy, zz
        shear = [zero] * three
        shear[0], shear[1], shear[2] = xy, yz, zx  # twice N_ab
        for p in range(three):
            u_a, u_b, across = u[first[p]], u[second[p]], shear[p]
            pp, mm, pm, mp = f[corner[p][0]], f[corner[p][1]], f[corner[p][2]], f[corner[p][3]]
            even_drive = u_a * u_b
            k_abb = pp - mm + (pm - mp) - u_b * across - u_a * normal[second[p]] - (third + u_b * u_b) * g[first[p]]
            k_aab = pp - mm - (pm - mp) - u_a * across - u_b * normal[first[p]] - (third + u_a * u_a) * g[second[p]]
            flux[first[p]] += kept * (k_abb + even_drive * force[second[p]])
            flux[second[p]] += kept * (k_aab + even_drive * force[first[p]])
        plain(f, state, force, omega, parameters)
        normal[0], normal[1], normal[2] = normal_stress((xx, yy, zz), (u[0], u[1], u[2]), omega)
        for p in range(three):
            flux_a, flux_b = flux[first[p]], flux[second[p]]
            even = fourth * (normal[first[p]] + normal[second[p]]) + two * (
                u[first[p]] * flux_a + u[second[p]] * flux_b
            )
            f[corner[p][0]] += quarter * (even + (flux_b + flux_a))
            f[corner[p][1]] += quarter * (even - (flux_b + flux_a))
            f[corner[p][2]] += quarter * (even - (flux_b - flux_a))
            f[corner[p][3]] += quarter * (even + (flux_b - flux_a))
            f[ahead[first[p]]] -= half * (even + flux_a)
            f[behind[first[p]]] -= half * (even - flux_a)
            f[ahead[second[p]]] -= half * (even + flux_b)
            f[behind[second[p]]] -= half * (even - flux_b)
            f[0] += even

    return jit(unroll(relax))


def _number(lattice, components: dict[int, int]) -> int:
    """Number of the lattice vector with these components, and 0 along other axes."""
    return lattice.vectors.index(tuple(components.get(axis, 0) for axis in range(3)))


def _corners(lattice, a: int, b: int) -> tuple[int, ...]:
    """Numbers of the diagonals (+, +), (-, -), (+, -), (-, +) of the plane of two axes."""
    return tuple(_number(lattice, {a: i, b: j}) for i, j in ((1, 1), (-1, -1), (1, -1), (-1, 1)))


RECURSIVE_REGULARISED = Relaxation(
    "recursive-regularised",
    named(OMEGA),
    _reference,
    _node,
    lattices=("D2Q9", "D3Q19"),
    equilibria=("compressible",),
    is_linear=False,
)

RECURSIVE_REGULARISED_NEAR_WALLS = replace(
    RECURSIVE_REGULARISED,
    name="recursive-regularised-near-walls",
    reference=_near_walls,
    node=_near_walls_node,
    lattices=("D3Q19",),
)
