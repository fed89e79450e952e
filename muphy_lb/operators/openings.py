"""Link-wise openings of any orientation, at the midpoint of every link that leaves the fluid.

With c_q pointing out of the fluid and f~_q the population that leaves:
velocity (Ladd, J. Fluid Mech. 271, 285 (1994)):  f_q' = f~_q - 2 w_q rho_0 (c_q.u)/cs2,  q' = opposite(q), rho_0 = 1;
pressure (anti-bounce-back, Ginzburg, Verhaeghe, d'Humieres, Commun. Comput. Phys. 3, 427 (2008)):
f_q' = -f~_q + 2 f_q^eq+(rho_out, u),  f^eq+ = part of the equilibrium even in c_q, u = velocity of the node.

Anti-bounce-back sets the whole non-equilibrium part that is even in c_q to zero, so that the plane of the opening
transmits no shear stress, and a tube between two pressures seems shorter than it is. A plane normal to an axis n can do
better: link m that crosses it at the same point, c_m = 2 (c_q.n) n - c_q, is the image of q in the plane, and starts
from another node y. With d = tau - 1/2, and for d > 1/2 with b = 1 / (2 d) instead of 1 and d = 1/2,

    f_q' = -(b - d) f~_q(x) + d f~_m(x) - d f~_q(y) - (1 - b + d) f~_m(y) + 2 f_q^eq+(rho_out, u)

leaves a developed flow unchanged and takes from it the momentum of -f~_q(x) - f~_m(y) in each pair of links; tau is
that of the fluid without eddies or viscosity law. With b = 0 the flow beyond the plane would be the mirror image of
that before it, without velocity along the plane; with b = 1 the latter has no gradient there, and vortices leave as
they do by anti-bounce-back. (Own derivation; exact to rounding in tests/laws/test_pressure_planes.py; linearised
steps of open channels have no growing mode for tau from 0.502 to 4.) Of two fluids with a thinner second one tau is at
most 1, or that of the second: with b below 1 the second one's flow grows (benchmarks/notes/two_fluid.md).

Of second order in u a developed flow needs e(y), the part of f^eq+ of its velocity along n, in f_q', and finds
e(y) + K [e(x) - e(y)], K = 2 - b + 2 d: a stress along the plane. Where fluid enters nothing carries it away, and it
slows the whole flow. So f_q' gains there

    K [g(y) - g(x)],    g = 3 w_q rho_out v^2,    f~_q + f~_m = 2 w_q (rho_out + rho_out (3 v + 3 v^2)),    v < 0,

and the fluid beyond the plane has no velocity along it: u in the bracket has half of that of the node. A pair of
links gains nothing in all, so that the mass through the plane is that of the bracket. The error left is of second order
in the voxel. (Own derivation; benchmarks/notes/openings.md.)

An oblique plane of normal n (into the fluid) has no such pairs. Beyond it the velocity is taken to be that of the node
times psi(x + c_q) / psi(x), with the developed flow psi through an ellipse, whose Laplacian is -1; and the middle of
the link, by s inside the plane, has the pressure of the plane plus s times the gradient of that flow:

    f_q' gains gamma c_q.u(x),    gamma = -2 w_q d [3 (psi(x + c_q) - psi(x)) + s / (c_q.n)] / psi(x),

bounded (MOST_CHANGE), since more of it diverges. Where fluid enters, the bracket's u is that of planes normal to an
axis, and its part of second order, which a developed flow has half at x and half at x + c_q, gains the factor

    (1 + r^2) / 2,    r = 1 - gamma / (6 w_q d),

r the velocity beyond the plane over the node's; without it the plane leaves a stress along itself there, too. The
ellipse has the axes of the opening and lies through the walls beside it. (Own derivation; benchmarks/notes/openings.md:
a developed flow in a pipe keeps its gradient within 0.5 % from a radius of 6 voxels on, within 2 % in narrower ones.)

A vessel may leave any plane at an angle, along a unit vector a into the fluid, and its developed flow has not one
pressure there. Its opening is an oblique plane of normal a, psi that of a section across the vessel, whose links lie
further inside the section through the point where the axis crosses the plane: by s, the distance of their middles along
a. As s is not small, what it changes follows the velocity along the vessel:

    f_q' gains gamma c_q.u + eta a.u,    gamma = -6 w_q d (psi(x + c_q) / psi(x) - 1),    eta = -2 w_q d s / psi(x),

each bounded as above, and in eta psi at least ``RIM`` of that at the axis. The pressure given is that of the axis. (Own
derivation; exact to 1 % in creeping flow up to 60 degrees; beyond 40 flow with inertia leaves the developed one.)

The pressure of the plane is the one given; or what the links exchange with it, (f~_q + f_q') / 2 = w_q (rho - 1) + the
rest of f^eq+, without the viscous stress, whose mean over a plane across a tube without slip at its wall is zero.
"""

from functools import cache
from math import sqrt

import numpy as np

from muphy_lb.lattice import added
from muphy_lb.operators.equilibrium import Equilibrium
from muphy_lb.operators.operator import Operator, constants

VELOCITY = 0
PRESSURE = 1
# Of oblique planes: bounds of |gamma| / 2 w_q d, of the d up to which that is allowed, and of psi at a node [voxels^2].
MOST_CHANGE, MOST_VISCOSITY, LEAST_PSI = 4.0, 0.3, 0.05
# psi over that of the axis below which a node gives no gradient: near walls that the ellipse misses it diverges.
RIM = 0.25
AXIS_TOLERANCE = 1e-9  # of components of a normal along an axis


def reflected_shares(omega: float) -> np.ndarray:
    """(5,) shares of f~_q(x), f~_m(x), f~_q(y), f~_m(y), and K in the population that a plane with a
    pressure reflects."""
    half_viscosity = _relative_viscosity(omega)
    along = 0.5 / max(half_viscosity, 0.5)
    shear = min(half_viscosity, 0.5)
    return np.array([along - shear, -shear, shear, 1.0 - along + shear, 2.0 - along + 2.0 * shear])


NOT_REFLECTED = (1.0, 0.0, 0.0, 0.0, 0.0)  # shares where a condition reads the outgoing population alone


def _relative_viscosity(omega: float) -> float:
    """d = tau - 1/2, the viscosity over c_s^2; infinite for a rate of relaxation of 0."""
    return 1.0 / omega - 0.5 if omega > 0.0 else np.inf


def oblique_shares(lattice, q: np.ndarray, omega: float, psi: tuple, place: np.ndarray) -> np.ndarray:
    """(L,) gamma of links q into an oblique plane with a pressure; ``psi``: at their nodes and at x + c_q [voxels^2];
    ``place``: s / (c_q.n), which lies within half of 1 where the plane separates x from x + c_q."""
    return _bounded(lattice, q, omega, 3.0 * (psi[1] - psi[0]) + np.clip(place, -0.5, 0.5), psi[0])


def slanted_shares(lattice, q: np.ndarray, omega: float, psi: tuple, middle: float, inside: np.ndarray) -> np.ndarray:
    """(2, L) gamma and eta of links q into a plane with a pressure that is not across its vessel; ``psi`` as of
    :func:`oblique_shares`; ``middle``: that of the axis; ``inside``: s of the links' middles [voxels]."""
    shear = _bounded(lattice, q, omega, 3.0 * (psi[1] - psi[0]), psi[0])
    return np.array([shear, _bounded(lattice, q, omega, inside, np.maximum(psi[0], RIM * middle))])


def _bounded(lattice, q: np.ndarray, omega: float, change: np.ndarray, psi: np.ndarray) -> np.ndarray:
    nu = _relative_viscosity(omega)
    most = MOST_CHANGE * min(1.0, MOST_VISCOSITY / nu)
    return -2.0 * lattice.w[q] * nu * np.clip(change / np.maximum(psi, LEAST_PSI), -most, most)


def plane_of(normal: np.ndarray, along: np.ndarray, omega: float) -> np.ndarray:
    """(4,) unit vector into the fluid along a vessel, exact along an axis if that is normal to its plane, and
    (r - 1) w_q / gamma where there is a gamma, else 0."""
    along_axis = np.rint(normal)
    if np.array_equal(normal, along) and np.abs(normal - along_axis).max() < AXIS_TOLERANCE:
        return np.append(along_axis, 0.0)
    return np.append(along, -1.0 / (6.0 * _relative_viscosity(omega)))


def link_momentum(lattice, q: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(L,) mass that enters through links q per unit velocity along ``direction`` ((L, 3)): -2 w_q c_q.d / cs2. Summed
    over the links of an opening with its inward normal it is the area of the opening in lattice units, since sum over
    outgoing q of 2 w_q (c_q.n)^2 / cs2 = 1 and |c_q.n| links of direction q cross a unit area."""
    return -2.0 * lattice.w[q] * np.einsum("li,li->l", lattice.c[q], direction) / float(lattice.cs2)


@cache
def openings(equilibrium: Equilibrium) -> Operator:
    """The opening conditions; the pressure's bracket has the terms of second order that the equilibrium has.

    Reference: ``reference(outgoing, q, condition, momenta, plane, velocity, lattice)``, vectorised over links;
    ``condition`` is (kind, value), the value a velocity scale or rho_out - 1; ``outgoing`` is f~_q, or what
    :func:`reflection` makes of it; ``momenta``, (2, L): what comes from :func:`link_momentum`, or gamma of a link
    into a plane with a pressure, else 0, and its eta, else 0; ``plane``: (4, L) of :func:`plane_of` where there is a
    pressure, else 0.

    The node function ``incoming(outgoing, q, kind, value, momenta, plane, ux, uy, uz)`` takes and returns populations
    in stored units, and ``value`` times their unit; ``momenta`` are pure numbers, ``plane`` a tuple of four.
    """

    def reference(outgoing, q, condition, momenta, plane, velocity, lattice):
        (kind, value), (momentum, inside), inward = condition, momenta, plane[:3]
        weight = lattice.w[q]
        entering = added(inward * velocity)
        velocity = np.where(entering > 0.0, 0.5 * (velocity + inward * entering), velocity)
        both_ways = [equilibrium.populations(1 + value, sign * velocity, lattice) for sign in (1, -1)]
        even = 0.5 * (both_ways[0] + both_ways[1])[q, np.arange(q.size)]
        beyond = np.where(entering > 0.0, 1.0 + momentum * plane[3] / weight, 1.0)
        at_rest = weight * (1 + value)
        even = at_rest + 0.5 * (1.0 + beyond * beyond) * (even - at_rest)
        towards = added(lattice.c[q, axis] * velocity[axis] for axis in range(3))
        by_pressure = -(outgoing - momentum * towards - inside * entering + weight) + 2 * even
        by_velocity = outgoing + weight + momentum * value
        return np.where(kind == PRESSURE, by_pressure, by_velocity) - weight

    def node(lattice, precision, jit, at):
        w, cx, cy, cz = constants(lattice, precision)
        _, second, inertia, _ = equilibrium.moments(precision, jit)
        real, unit = precision.real, precision.real(precision.unit)
        zero, half, one, two, third, nine_halves = (real(x) for x in (0, 0.5, 1, 2, 1 / 3, 4.5))
        no_force = (zero, zero, zero)

        @jit
        def incoming(outgoing, q, kind, value, momenta, plane, ux, uy, uz):
            momentum, inside = momenta
            if kind == VELOCITY:
                return outgoing + momentum * value
            nx, ny, nz, per_gamma = plane
            middle = one
            entering = nx * ux + ny * uy + nz * uz
            if entering > zero:
                beyond = one + per_gamma * momentum / w[q]
                middle = half * (one + beyond * beyond)
                ux, uy, uz = half * (ux + nx * entering), half * (uy + ny * entering), half * (uz + nz * entering)
            r = inertia(value)
            xx, yy, zz, xy, yz, zx = second((value, ux, uy, uz, r * ux, r * uy, r * uz), no_force, one, zero)
            x, y, z = cx[q], cy[q], cz[q]
            along = x * (x * xx + y * xy) + y * (y * yy + z * yz) + z * (z * zz + x * zx)
            reflected = outgoing - momentum * (unit * (x * ux + y * uy + z * uz))
            reflected -= inside * (unit * entering)
            return two * w[q] * (value + middle * nine_halves * (along - third * (xx + yy + zz))) - reflected

        return incoming

    return Operator(f"openings-{equilibrium.name}", reference, node)


@cache
def reflection(equilibrium: Equilibrium) -> Operator:
    """The population that a plane with a pressure reflects through link q: the weighted sum less K [g(y) - g(x)].

    Reference: ``reference(leaving, shares, q, value, lattice)`` with (4, L) f~_q(x), f~_m(x), f~_q(y), f~_m(y), and
    (5, L) shares of :func:`reflected_shares`. The node function ``reflected(leaving, shares, q, value)`` takes tuples
    of four and of five, and stored units.
    """

    def inflow(both, inertia):
        normal = np.minimum(both / inertia, 0.0)
        velocity = 2 / 3 * normal / (1 + np.sqrt(np.maximum(1 + 4 / 3 * normal, 0.0)))
        return 3 * inertia * velocity**2

    def reference(leaving, shares, q, value, lattice):
        own, image, beside, beside_image = leaving
        terms = shares[:4] * leaving
        total = ((terms[0] + terms[1]) + terms[2]) + terms[3]
        if equilibrium.is_linear:
            return total
        weight, inertia = lattice.w[q], 1 + value if equilibrium.is_compressible else np.ones(q.size)
        here, there = (inflow(0.5 * both / weight - value, inertia) for both in (own + image, beside + beside_image))
        return total - shares[4] * weight * (there - here)

    def node(lattice, precision, jit, at):
        w = constants(lattice, precision)[0]
        inertia = equilibrium.moments(precision, jit).inertia
        zero, one, half, two_thirds, four_thirds, three = (precision.real(x) for x in (0, 1, 0.5, 2 / 3, 4 / 3, 3))

        @jit
        def inflow(excess, r):
            normal = min(excess / r, zero)
            velocity = two_thirds * normal / (one + sqrt(max(one + four_thirds * normal, zero)))
            return three * r * velocity * velocity

        def weighted(leaving, shares, q, value):
            total = shares[0] * leaving[0]
            total += shares[1] * leaving[1]
            total += shares[2] * leaving[2]
            return total + shares[3] * leaving[3]

        of_populations = jit(weighted)
        if equilibrium.is_linear:
            return of_populations

        @jit
        def reflected(leaving, shares, q, value):
            r, per_weight = inertia(value), half / w[q]
            here = inflow((leaving[0] + leaving[1]) * per_weight - value, r)
            there = inflow((leaving[2] + leaving[3]) * per_weight - value, r)
            return of_populations(leaving, shares, q, value) - shares[4] * w[q] * (there - here)

        return reflected

    return Operator(f"reflection-{equilibrium.name}", reference, node)


@cache
def plane_density(equilibrium: Equilibrium) -> Operator:
    """The density of the plane of an opening, minus 1, at each of its links; the mean over the links is that of the
    plane.

    Reference: ``reference(crossing, q, condition, velocity, lattice)`` with ``crossing`` = f~_q + f_q', the rest as of
    :func:`openings`; node function ``deviation(crossing, q, kind, value, ux, uy, uz)`` in stored units.
    """
    condition = openings(equilibrium)

    def reference(crossing, q, condition_of_link, velocity, lattice):
        kind, value = condition_of_link
        nothing = np.zeros(q.size)
        at_density_1 = np.full(q.size, PRESSURE), nothing
        nowhere = np.zeros((4, q.size))
        excess = -condition.reference(crossing, q, at_density_1, (nothing, nothing), nowhere, velocity, lattice)
        return np.where(kind == PRESSURE, value, excess / (2 * lattice.w[q]))

    def node(lattice, precision, jit, at):
        incoming = condition.node(lattice, precision, jit, at)
        zero, per_weight = precision.real(0), tuple(precision.real(0.5 / weight) for weight in lattice.w)

        @jit
        def deviation(crossing, q, kind, value, ux, uy, uz):
            if kind == PRESSURE:
                return value
            nowhere = zero, zero, zero, zero
            return -incoming(crossing, q, PRESSURE, zero, (zero, zero), nowhere, ux, uy, uz) * per_weight[q]

        return deviation

    return Operator(f"plane-density-{equilibrium.name}", reference, node)
