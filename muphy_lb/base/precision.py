"""Precisions: the storage format of the populations and the arithmetic of the computation.

Populations are stored as f_q - w_q rho_0, the deviation from rest, so that rounding errors are relative to the
deviation and not to the much larger w_q. They are scaled such that rho_0 has the value ``unit``. In half precision that
is 2^15: the smallest normal number, 6.1e-5, then represents a deviation of 1.9e-9 rho_0, and the largest, 65504,
2.0 rho_0. The arithmetic uses the same scaling, so no conversion factor is needed on load or store, and a power of two
does not affect rounding.

The idea of scaled 16-bit storage: Lehmann, Krause, Amati, Sega, Harting, Gekle, Phys. Rev. E 106, 015308 (2022).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True)
class Precision:
    """Number formats and scaling of the populations. "In stored units" denotes quantities proportional to mass,
    density, momentum or force that are multiplied by ``unit``; velocities and rates have no such factor."""

    name: str  #: name in case files
    storage: type  #: NumPy scalar type of a stored population
    real: type  #: NumPy scalar type of the arithmetic
    unit: float  #: reference density rho_0 in stored units; populations are stored as (f_q - w_q) * unit with rho_0 = 1


FP64 = Precision("fp64", np.float64, np.float64, 1.0)
FP32 = Precision("fp32", np.float32, np.float32, 1.0)
FP16 = Precision("fp16", np.float16, np.float32, 2.0**15)
PRECISIONS: Mapping[str, Precision] = MappingProxyType({precision.name: precision for precision in (FP64, FP32, FP16)})
