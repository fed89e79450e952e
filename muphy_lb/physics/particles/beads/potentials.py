"""Potentials of beads: radial forces divided by the distance, F(r) / r; positive ones push apart.

Every function takes the squared distance and two constants, numbers or arrays. Only arithmetic and square roots are
used, which round alike on every backend.
Weeks, Chandler, Andersen, J. Chem. Phys. 54, 5237 (1971); Kremer, Grest, J. Chem. Phys. 92, 5057 (1990).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

WCA_RANGE = 2.0 ** (1.0 / 6.0)
"""Distance, over sigma, at which the Lennard-Jones force changes sign."""


def lennard_jones(r2, epsilon, sigma):
    """24 epsilon [2 (sigma/r)^12 - (sigma/r)^6] / r^2."""
    ratio = sigma * sigma / r2
    s6 = ratio * ratio * ratio
    return 24.0 * epsilon * (2.0 * s6 * s6 - s6) / r2


def soft(r2, epsilon, sigma):
    """Of epsilon (1 - (r/sigma)^2)^2: finite, so beads may pass through each other."""
    return 4.0 * epsilon * (1.0 - r2 / (sigma * sigma)) / (sigma * sigma)


def harmonic(r2, stiffness, length):
    """Of stiffness/2 (r - length)^2."""
    return stiffness * (length / r2**0.5 - 1.0)


def fene(r2, stiffness, longest):
    """Of -stiffness longest^2 / 2 ln(1 - (r / longest)^2). Beyond the longest extension it would push: such a bond is
    broken, and the run is stopped."""
    return -stiffness / (1.0 - r2 / (longest * longest))


BONDS: Mapping[str, Callable] = MappingProxyType({"harmonic": harmonic, "fene": fene})
PAIRS: Mapping[str, Callable] = MappingProxyType({"wca": lennard_jones, "lennard-jones": lennard_jones, "soft": soft})
