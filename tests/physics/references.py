"""Published numbers and analytic solutions that only tests of the references need.

Sources as of the module of :mod:`muphy_lb.validation.flow` that each belongs to; ``SANGANI_ACRIVOS``:
table 1 of Sangani and Acrivos, Int. J. Multiphase Flow 8, 193 (1982), from a public transcription.
"""

from types import MappingProxyType

import numpy as np

from muphy_lb.validation.flow import schaefer_turek
from muphy_lb.validation.flow.rheology import Casson, PowerLaw
from muphy_lb.validation.flow.schaefer_turek import DIAMETER_M
from muphy_lb.validation.flow.spheres import BODY, SIMPLE

HASIMOTO = MappingProxyType({SIMPLE: 1.7601, BODY: 1.7918})  # A of 1 / K = 1 - A c^(1/3) + c - ...
SANGANI_ACRIVOS = MappingProxyType(
    {
        0.05: 15.56,
        0.10: 24.83,
        0.20: 51.53,
        0.30: 102.90,
        0.40: 217.89,
        0.50: 532.55,
        0.60: 1763.0,
        0.70: 13520.0,
        0.75: 126300.0,
    }
)  # solid fraction: F / (mu U)
FITTED_COEFFICIENTS = (-0.738168, 1.0, -0.88715, 2.0394, -2.435, 1.40, -0.82)
SERIES_COEFFICIENTS = (-0.738, 1.0, -0.887, 2.038, -2.421)  # Toelke, Comput. Visual. Sci. 13, 29 (2010), equation (16)
SERIES_LIMIT = 0.13  # solid fraction up to which the series is good to 0.05 %
FITTED_LIMIT = 0.3  # solid fraction up to which the fitted series of cylinders is good to 0.03 %


def power_law_channel_velocity(y, half_width: float, acceleration: float, law: PowerLaw) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from the middle, of a power law without limits.

    n / (n + 1) (g / K)^(1/n) [h^((n+1)/n) - y^((n+1)/n)].
    """
    power, rate = (law.n + 1.0) / law.n, (acceleration / law.consistency) ** (1.0 / law.n)
    return rate / power * (half_width**power - np.abs(np.asarray(y, dtype=np.float64)) ** power)


def casson_channel_velocity(y, half_width: float, acceleration: float, law: Casson) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from the middle, of a Casson fluid without largest viscosity.

    Where the stress is below the yield stress, the fluid moves as a plug.
    """
    plug = min(law.k0**2 / acceleration, half_width)
    y = np.maximum(np.abs(np.asarray(y, dtype=np.float64)), plug)
    newtonian = 0.5 * acceleration * (half_width**2 - y**2)
    mixed = 4.0 / 3.0 * law.k0 * np.sqrt(acceleration) * (half_width**1.5 - y**1.5)
    return (newtonian - mixed + law.k0**2 * (half_width - y)) / law.k1**2


def fitted_series(solid_fraction) -> np.ndarray:
    """k of Toelke's series for cylinders, its coefficients fitted to the collocation solution, up to 0.3."""
    return -0.5 * np.log(solid_fraction) + np.polynomial.polynomial.polyval(solid_fraction, FITTED_COEFFICIENTS)


def channel_mean_velocity(height: float, acceleration: float, viscosity: float) -> float:
    """Mean velocity between plates: g H^2 / (12 nu)."""
    return acceleration * height**2 / (12.0 * viscosity)


def reynolds(case: str) -> float:
    """Reynolds number U_mean D / nu of ``"2D-1"``, ``"2D-2"``, ``"2D-3"`` or ``"3D-1Z"``."""
    return schaefer_turek.MEAN_VELOCITY_M_S[case] * DIAMETER_M / schaefer_turek.VISCOSITY_M2_S


def toelke_series(solid_fraction) -> np.ndarray:
    """k as Toelke prints it: -ln(theta) / 2 - 0.738 + theta - ...; for solid fractions up to 0.13."""
    return -0.5 * np.log(solid_fraction) + np.polynomial.polynomial.polyval(solid_fraction, SERIES_COEFFICIENTS)
