"""Permeability of a square array of cylinders, in Stokes flow across them.

theta = pi r^2 / a^2 is the solid fraction of a cell of edge a; k = 4 pi mu U / F with the force F per length of a
cylinder and the mean velocity U over the whole cell. The permeability in units of area is k a^2 / (4 pi).

Sources: ``COLLOCATION`` is another program's collocation solution for the stream function, residual below 1e-5; series:
equation (16) of Toelke, Comput. Visual. Sci. 13, 29 (2010); lattice solutions: his table 4.
"""

from types import MappingProxyType

import numpy as np

COLLOCATION = MappingProxyType(
    {
        0.05: 15.557822,
        0.10: 24.831675,
        0.04 * np.pi: 30.350636,
        0.20: 51.526949,
        0.30: 102.8813,
        0.40: 217.894,
        0.50: 532.55,
    }
)  # solid fraction: F / (mu U)
TOELKE_FRACTION = 0.04 * np.pi  # r / a = 2 / 10
TOELKE_LATTICE = MappingProxyType(
    {
        128: (1.88e-1, 2.06e-1),
        256: (9.05e-4, 1.73e-2),
        512: (1.81e-2, 1.87e-2),
        1024: (5.99e-4, 5.61e-3),
        2048: (8.70e-4, 4.78e-3),
        3072: (2.36e-4, 2.37e-3),
    }  # his voxelisation is not described
)  # mesh of the 18 x 18 array: relative errors of the solid fraction and of k, with bounce-back
SERIES_COEFFICIENTS = (-0.738, 1.0, -0.887, 2.038, -2.421)
SERIES_LIMIT = 0.13  # solid fraction up to which the series is good to 0.05 %


def permeability_number(solid_fraction: float) -> float:
    """k of the collocation solution. Raises KeyError: not one of its solid fractions."""
    return 4.0 * np.pi / COLLOCATION[solid_fraction]


def series(solid_fraction) -> np.ndarray:
    """k as Toelke prints it: -ln(theta) / 2 - 0.738 + theta - ...; for solid fractions up to 0.13."""
    return -0.5 * np.log(solid_fraction) + np.polynomial.polynomial.polyval(solid_fraction, SERIES_COEFFICIENTS)
