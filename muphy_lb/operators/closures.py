"""Closures: laws for the relaxation rate omega, and so for the viscosity, at a node.

The constant closure is a Newtonian fluid. The others depend on the stress at the node: Q = |Pi| / rho with
Pi_ab = sum_q c_a c_b (f_q - f_q^eq + S_q / 2) of populations before collision (S the source of the force, whose second
moment is u_a F_b + F_a u_b, or zero where terms of second order are dropped), from which the rate of strain is
S_ab = -(3 omega / 2) Pi_ab / rho (Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1).

Smagorinsky: nu_t = C^2 |S| (filter width 1), |S| = sqrt(2 S:S) = 3 sqrt(2) Q / (2 tau_e) with
tau_e = 3 (nu + nu_t) + 1/2, a quadratic equation: tau_e = [tau + sqrt(tau^2 + 18 sqrt(2) C^2 Q)] / 2, tau = 1 / omega.
Smagorinsky, Mon. Weather Rev. 91, 99 (1963); Hou, Sterling, Chen, Doolen, Fields Inst. Commun. 6, 151 (1996).

Generalised Newtonian fluids, g the shear rate sqrt(2 S:S) per time step:

power law       nu = k g^(n-1)
Carreau-Yasuda  nu = nu_inf + (nu_0 - nu_inf) [1 + (lambda g)^a]^((n-1)/a)
Casson          nu = (k_0 + k_1 sqrt(g))^2 / g

All are KINEMATIC viscosities in lattice units; every law is cut off at a smallest and a largest viscosity. With
g = 3 Q / (sqrt(2) tau), tau is the root of tau = 3 nu(g(tau)) + 1/2: one root, as long as nu g grows with g. No value
of the last step is used. Bird, Armstrong, Hassager, Dynamics of Polymeric Liquids (1987); Casson, in Rheology of
Disperse Systems (1959); in lattice Boltzmann: Boyd, Buick, Green, J. Phys. A 39, 14241 (2006).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from muphy_lb.operators.moments import stress_node
from muphy_lb.operators.operator import Parameter, named


@dataclass(frozen=True)
class Closure:
    """A law for omega."""

    name: str  #: in case files
    #: ``reference(omega, stress, n, parameters)`` -> omega per node n; ``omega`` the Newtonian rate, ``stress`` the
    #: (n,) values |Pi| / rho; parameters are read by name
    reference: Callable
    #: factory ``node(precision, jit, at)`` of ``rate(omega, stress, n, parameters)``; ``at`` as in
    #: :class:`~muphy_lb.operators.operator.Operator`
    node: Callable
    parameters: tuple[Parameter, ...] = ()  #: what it reads; none of these is in stored units
    needs_stress: bool = True  #: whether it depends on the stress
    reads: tuple[str, ...] = ()  #: names of the parameters that are fields of the node, which only the model knows
    #: ``of_planes(omega, parameters)`` -> rate of the viscosity by which planes of openings reflect: where a thinner
    #: fluid may pass, one below 1 drives it on (:mod:`muphy_lb.operators.openings`)
    of_planes: Callable = lambda omega, parameters: omega

    @property
    def is_constant(self) -> bool:
        """Whether the rate is the same at all nodes."""
        return not (self.needs_stress or self.reads)


CONSTANT = Closure("constant", lambda omega, stress, n, parameters: omega, lambda *choices: None, needs_stress=False)


def stress_invariant(lattice, precision, jit, equilibrium):
    """Node function ``(f, state, force)`` -> |Pi| / rho, a pure number, of arguments in stored units."""
    stress = stress_node(lattice, precision, jit, equilibrium)
    inverse_inertia, half = equilibrium.moments(precision, jit).inverse_inertia, precision.real(0.5)

    def invariant(f, state, force):
        xx, yy, zz, xy, yz, zx = stress(f, state, force)
        square = xx * xx + yy * yy + zz * zz + half * (xy * xy + yz * yz + zx * zx)
        return sqrt(square) * inverse_inertia(state[0])

    return jit(invariant)


FACTOR = 18 * 2**0.5
SMAGORINSKY_CONSTANT = "smagorinsky_constant"


def _smagorinsky_reference(omega, stress, n, parameters):
    tau = 1 / omega
    return 2 / (tau + np.sqrt(tau**2 + FACTOR * parameters[SMAGORINSKY_CONSTANT] ** 2 * stress))


def _smagorinsky_node(precision, jit, at):
    real = precision.real
    one, two, factor = real(1), real(2), real(FACTOR)
    c = at[SMAGORINSKY_CONSTANT]

    def rate(omega, stress, n, parameters):
        tau = one / omega
        return two / (tau + sqrt(tau * tau + factor * parameters[c] * parameters[c] * stress))

    return jit(rate)


SMAGORINSKY = Closure("smagorinsky", _smagorinsky_reference, _smagorinsky_node, named(SMAGORINSKY_CONSTANT))


RATE_FACTOR = 3 / 2**0.5
# Collisions closer to tau = 1/2 are unstable.
SMALLEST_TAU = 0.505
# Below every shear rate that single precision can distinguish from zero, and far above its smallest number.
SMALLEST_RATE = 1e-30
# Newton steps after which the error of tau is that of rounding, for indices up to 1.7 at all rates (measured).
ITERATIONS = {np.float64: 6, np.float32: 5}
POWER_LAW_SHAPE = ("consistency", "index")
CARREAU_YASUDA_SHAPE = ("nu_0", "nu_inf", "time", "a", "index")
CASSON_SHAPE = ("k_0", "k_1")


def power_law(shear_rate, consistency, index):
    """Kinematic viscosity (n,) of a power-law fluid at (n,) shear rates above 0."""
    return consistency * shear_rate ** (index - 1)


def carreau_yasuda(shear_rate, nu_0, nu_inf, time, a, index):
    """Kinematic viscosity (n,) of a Carreau-Yasuda fluid at (n,) shear rates."""
    return nu_inf + (nu_0 - nu_inf) * (1 + (time * shear_rate) ** a) ** ((index - 1) / a)


def casson(shear_rate, k_0, k_1):
    """Kinematic viscosity (n,) of a Casson fluid at (n,) shear rates above 0; k_0^2 is its yield stress over rho."""
    return (k_0 + k_1 * shear_rate**0.5) ** 2 / shear_rate


def relaxation_time(nu):
    """tau [time steps] of a viscosity in lattice units: nu / cs2 + 1/2, with 3 nu for the division by cs2 = 1/3."""
    return 3 * nu + 0.5


def _relaxation_time_node(precision, jit):
    three, half = precision.real(3), precision.real(0.5)

    def tau_of(nu):
        return three * nu + half

    return jit(tau_of)


def tau_bounds(nu_min: float, nu_max: float) -> tuple[float, float]:
    """Smallest and largest tau that a law with these cut-offs can give."""
    return max(SMALLEST_TAU, relaxation_time(nu_min)), max(SMALLEST_TAU, relaxation_time(nu_max))


def _reference(law, names):
    """Specification of a law: the root tau by bisection, which is slow but always converges."""

    def reference(omega, stress, n, parameters):
        shape = [parameters[name] for name in names]
        bounds = tau_bounds(parameters["nu_min"], parameters["nu_max"])
        low, high = (np.full_like(stress, bound) for bound in bounds)
        for _ in range(60):
            tau = (low + high) / 2
            shear_rate = np.maximum(RATE_FACTOR * stress, SMALLEST_RATE) / tau
            is_below = tau < relaxation_time(law(shear_rate, *shape))
            low, high = np.where(is_below, tau, low), np.where(is_below, high, tau)
        return 2 / (low + high)

    return reference


def _tau_bounds_node(precision, jit, at):
    tau_of = _relaxation_time_node(precision, jit)
    smallest, lowest, highest = precision.real(SMALLEST_TAU), at["nu_min"], at["nu_max"]

    def bounds(parameters):
        return max(smallest, tau_of(parameters[lowest])), max(smallest, tau_of(parameters[highest]))

    return jit(bounds)


def _newton(viscosity):
    """Factory of the node function of a law.

    ``viscosity(precision, jit, at)`` makes ``(ln g, parameters) -> (nu, d nu / d ln g)``. Newton's method for
    ln tau, restricted to the bounds of tau: in logarithms the slope of the equation lies between the index n and 1
    in any units, and the root of a law with cut-offs is the root of the full law, cut off, because nu g grows with g.
    """

    def node(precision, jit, at):
        law, bounds = viscosity(precision, jit, at), _tau_bounds_node(precision, jit, at)
        tau_of = _relaxation_time_node(precision, jit)
        real = precision.real
        one, three, half = real(1), real(3), real(0.5)
        factor, smallest, iterations = real(RATE_FACTOR), real(SMALLEST_RATE), ITERATIONS[real]

        def rate(omega, stress, n, parameters):
            tau_min, tau_max = bounds(parameters)
            low, high = log(tau_min), log(tau_max)
            log_stress = log(max(factor * stress, smallest))
            log_tau = half * (low + high)
            for _ in range(iterations):
                nu, slope = law(log_stress - log_tau, parameters)
                tau = tau_of(nu)
                log_tau -= (log_tau - log(tau)) / (one + three * slope / tau)
                log_tau = min(max(log_tau, low), high)
            return exp(-log_tau)

        return jit(rate)

    return node


def _power_law(precision, jit, at):
    one = precision.real(1)
    consistency, index = (at[name] for name in POWER_LAW_SHAPE)

    def viscosity(log_rate, parameters):
        nu = parameters[consistency] * exp((parameters[index] - one) * log_rate)
        return nu, (parameters[index] - one) * nu

    return jit(viscosity)


def _carreau_yasuda(precision, jit, at):
    one = precision.real(1)
    i_nu_0, i_nu_inf, i_time, i_a, i_index = (at[name] for name in CARREAU_YASUDA_SHAPE)

    def viscosity(log_rate, parameters):
        exponent = parameters[i_index] - one
        thinning = exp(parameters[i_a] * (log_rate + log(parameters[i_time])))
        falling = parameters[i_nu_0] - parameters[i_nu_inf]
        falling *= exp(exponent / parameters[i_a] * log(one + thinning))
        return parameters[i_nu_inf] + falling, falling * exponent * thinning / (one + thinning)

    return jit(viscosity)


def _casson(precision, jit, at):
    """With r = sqrt(g) the equation is quadratic: (3 k_1^2 + 1/2) r^2 + 6 k_0 k_1 r = (3 / sqrt(2)) Q - 3 k_0^2."""
    bounds, real = _tau_bounds_node(precision, jit, at), precision.real
    i_k_0, i_k_1 = (at[name] for name in CASSON_SHAPE)
    zero, one, three, half = real(0), real(1), real(3), real(0.5)
    factor, smallest = real(RATE_FACTOR), real(SMALLEST_RATE**0.5)

    def rate(omega, stress, n, parameters):
        k_0, k_1 = parameters[i_k_0], parameters[i_k_1]
        tau_min, tau_max = bounds(parameters)
        above_yield = max(factor * stress - three * k_0 * k_0, zero)
        mixed, quadratic = three * k_0 * k_1, three * k_1 * k_1 + half
        root = above_yield / max(mixed + sqrt(mixed * mixed + quadratic * above_yield), smallest)
        root_of_nu = k_0 / max(root, smallest) + k_1
        # 3 nu + 1/2 with nu = root^2; the order of the products differs from relaxation_time
        tau = three * root_of_nu * root_of_nu + half
        return one / min(max(tau, tau_min), tau_max)

    return jit(rate)


def _closure(name: str, law, shape: tuple[str, ...], node) -> Closure:
    """A law with parameters of its own (``shape``) and its cut-offs."""
    return Closure(name, _reference(law, shape), node, named(*shape, "nu_min", "nu_max"))


POWER_LAW = _closure("power_law", power_law, POWER_LAW_SHAPE, _newton(_power_law))
CARREAU_YASUDA = _closure("carreau_yasuda", carreau_yasuda, CARREAU_YASUDA_SHAPE, _newton(_carreau_yasuda))
CASSON = _closure("casson", casson, CASSON_SHAPE, _casson)
