"""Single relaxation time: f~_q = f_q - omega (f_q - f_q^eq) + (1 - omega/2) S_q.

Bhatnagar, Gross, Krook (1954); Qian, d'Humieres, Lallemand (1992); force: Guo, Zheng, Shi, Phys. Rev. E 65, 046308
(2002). Rates: ``(omega,)``.
"""

from muphy_lb.operators.relaxation import Relaxation
from muphy_lb.operators.trt import two_rates_node


def _reference(f, f_eq, source, omega, rates, lattice):
    return f - omega * (f - f_eq) + (1 - omega / 2) * source


def _node(lattice, precision, jit, equilibrium):
    two_rates = two_rates_node(lattice, precision, jit, equilibrium)
    return jit(lambda f, state, force, omega, rates: two_rates(f, state, force, omega, omega))


BGK = Relaxation("bgk", 1, _reference, _node)
