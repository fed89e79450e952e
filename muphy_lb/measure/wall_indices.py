"""Indices of a wall shear stress tau(t) that varies over a period; < > is the mean over the period.

    TAWSS     time-averaged wall shear stress  <|tau|>
    OSI       oscillatory shear index  (1 - |<tau>| / <|tau|>) / 2
    RRT       relative residence time  1 / ((1 - 2 OSI) TAWSS) = 1 / |<tau>|
    ECAP      endothelial cell activation potential  OSI / TAWSS
    transWSS  transverse wall shear stress  <|tau . (n x m)|>,  m = <tau> / |<tau>|, n the normal of the wall

OSI: He, Ku, J. Biomech. Eng. 118, 74 (1996). RRT: Himburg et al., Ann. Biomed. Eng. 32, 383 (2004). ECAP: Di Achille
et al., Proc. R. Soc. A 470, 20140163 (2014). transWSS: Peiffer, Sherwin, Weinberg, Cardiovasc. Res. 99, 242 (2013).

The transverse stress needs the direction of the mean, which is known at the end of a period only. No sum over the
period that is taken without it would do: <|tau . b|> depends on every single stress and on every direction b. So the
stresses of a period are kept, as two components along the wall in single precision, and all indices are exact.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.measure.period_window import PeriodWindow


@dataclass(frozen=True)
class WallIndices:
    """Indices of m nodes, each (m,).

    Attributes:
        tawss: time-averaged wall shear stress [Pa].
        osi: oscillatory shear index, 0 where the stress keeps its direction, 1/2 where it averages out; 0 where there
            is no stress.
        rrt: relative residence time [1/Pa], infinite where the stress averages out.
        ecap: endothelial cell activation potential [1/Pa]; 0 where there is no stress.
        transwss: transverse wall shear stress [Pa]; 0 where the stress averages out, so that it has no mean direction.
    """

    tawss: np.ndarray
    osi: np.ndarray
    rrt: np.ndarray
    ecap: np.ndarray
    transwss: np.ndarray


def tangents(normal: np.ndarray) -> np.ndarray:
    """(2, m, 3) unit vectors along walls with (m, 3) unit normals, which form a right-handed system with them."""
    least = np.abs(normal).argmin(axis=1)
    first = np.cross(normal, np.eye(3)[least])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(normal, first)))


def along_wall(traction: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """(2, m) float32 components of (m, 3) stresses along :func:`tangents`."""
    return np.einsum("kmi,mi->km", directions, traction).astype(np.float32)


def wall_indices(window: PeriodWindow) -> WallIndices:
    """Indices of the samples (2, m) of a period, of which there is at least one."""
    n_nodes = next(window.samples()).shape[1]
    mean, magnitude, transverse = np.zeros((2, n_nodes)), np.zeros(n_nodes), np.zeros(n_nodes)
    for weight, stress in zip(window.weights(), window.samples(), strict=True):
        mean += weight * stress.astype(np.float64)
        magnitude += weight * np.hypot(*stress.astype(np.float64))
    of_mean = np.hypot(*mean)
    along = np.divide(mean, of_mean, out=np.zeros_like(mean), where=of_mean > 0.0)
    for weight, stress in zip(window.weights(), window.samples(), strict=True):
        transverse += weight * np.abs(stress[1] * along[0] - stress[0] * along[1])
    ratio = np.divide(of_mean, magnitude, out=np.ones(n_nodes), where=magnitude > 0.0)
    osi = np.clip(0.5 * (1.0 - ratio), 0.0, 0.5)
    rrt = np.divide(1.0, of_mean, out=np.full(n_nodes, np.inf), where=of_mean > 0.0)
    ecap = np.divide(osi, magnitude, out=np.zeros(n_nodes), where=magnitude > 0.0)
    return WallIndices(magnitude, osi, rrt, ecap, transverse)
