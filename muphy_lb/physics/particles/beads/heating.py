"""What a fluctuating fluid that does not notice its beads does to their temperature.

A bead that follows v' = v - a (v - u), a = (Gamma / m) / (1 + Gamma / 2m), has the temperature T from its own noise
already. The fluctuations of u come on top, since nothing is given back. With shear waves of wave vector k, whose
velocities have the variance kT (d - 1) / d per node and decay by z = exp(-nu k^2) a step,

    T_bead / T - 1 = Gamma / 2 (d - 1) / d < |w(k)|^2 [1 + (1 - a) z] / [1 - (1 - a) z] >,

the mean over all k of the lattice; |w(k)|^2 is the square of the Fourier transform of the kernel's weights, averaged
over places of the bead. For small Gamma it is Gamma times the mobility that the fluid alone gives a bead; sound adds
little.
"""

from functools import reduce

import numpy as np

N_WAVES = 24
"""Waves along each axis; twice as many change the result by a few thousandths of itself."""


def excess_temperature(friction: float, mass: float, viscosity: float, kernel: str, dimension: int) -> float:
    """How much hotter beads become than a fluctuating fluid that does not notice them, T_bead / T - 1.

    It holds to about a tenth of itself for viscosities from 0.1 on, and is too large below.

    Args:
        friction, mass: of a bead, lattice units.
        viscosity: kinematic, lattice units.
        kernel: ``"linear"`` or ``"point"``.
        dimension: of the lattice.
    """
    wave = 2.0 * np.pi * (np.arange(N_WAVES) + 0.5) / N_WAVES - np.pi
    along = 2.0 / 3.0 + np.cos(wave) / 3.0 if kernel == "linear" else np.ones(N_WAVES)
    square, weight = (
        reduce(outer, [values] * dimension) for outer, values in ((np.add.outer, wave**2), (np.multiply.outer, along))
    )
    kept = (1.0 - friction / mass / (1.0 + 0.5 * friction / mass)) * np.exp(-viscosity * square)
    return 0.5 * friction * (1.0 - 1.0 / dimension) * float(np.mean(weight * (1.0 + kept) / (1.0 - kept)))
