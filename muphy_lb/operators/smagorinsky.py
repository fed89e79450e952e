"""Smagorinsky's eddy viscosity nu_t = C^2 |S| (filter width 1), |S| = sqrt(2 S:S), from the stress of the node itself.

|S| = 3 sqrt(2) Q / (2 tau_e) with Q = |Pi| / rho and tau_e = 3 (nu + nu_t) + 1/2, a quadratic equation for tau_e:
tau_e = [tau + sqrt(tau^2 + 18 sqrt(2) C^2 Q)] / 2, tau = 1 / omega.
Smagorinsky, Mon. Weather Rev. 91, 99 (1963); Hou, Sterling, Chen, Doolen, Fields Inst. Commun. 6, 151 (1996).
"""

from math import sqrt

import numpy as np

from muphy_lb.operators.closures import Closure
from muphy_lb.operators.operator import named

FACTOR = 18 * 2**0.5
CONSTANT = "smagorinsky_constant"


def _reference(omega, stress, parameters):
    tau = 1 / omega
    return 2 / (tau + np.sqrt(tau**2 + FACTOR * parameters[CONSTANT] ** 2 * stress))


def _node(precision, jit, at):
    real = precision.real
    one, two, factor = real(1), real(2), real(FACTOR)
    c = at[CONSTANT]

    def rate(omega, stress, parameters):
        tau = one / omega
        return two / (tau + sqrt(tau * tau + factor * parameters[c] * parameters[c] * stress))

    return jit(rate)


SMAGORINSKY = Closure("smagorinsky", _reference, _node, named(CONSTANT))
