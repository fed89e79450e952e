"""Wall shear stress at the nodes adjacent to walls, and indices of its course over a period.

Indices of a wall shear stress tau(t) that varies over a period; < > is the mean over the period.

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

tau = -(sigma n - (n . sigma n) n), the force of the fluid on the wall per area along it, with n out of the fluid. The
stress is known at nodes: the polynomial through those of up to seven nodes in a row along the way inwards, of fewer
where there are no more, carries it on to the wall, and it is averaged over the patch of the wall around each node. The
layer beside the wall of an oscillating flow, sqrt(2 nu / omega) = 2.2 voxels thick, so has the shear of its wall within
0.4 % and half a degree, through four nodes within 1.8 % and two degrees, and through two within 5 % and 7 degrees.
With interpolated walls the first nodes know the stress to second order; with half-way walls on staircases they do not,
and the mean over patches leaves a scatter of a tenth.

The stress is that of the populations that arrive in the step ahead: half a time step ahead of the velocity if
``output.wall_shear`` is set, since it is then their mean with those of the last step, else one time step. It is the
same for every streaming, on any ranks, and after a restart.

Indices of its course over a period: :mod:`muphy_lb.measure.shear.wall_shear`.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY, HALF_WAY_SHEAR
from muphy_lb.geometry.nodes import NodeList, chosen_nodes, voxel_coordinates
from muphy_lb.lattice import added
from muphy_lb.measure.flow_view import FlowView, filled_shares, on_root, whole_nodes
from muphy_lb.measure.period import PeriodWindow
from muphy_lb.measure.shear.stress import NodeStress, nodes_of_stress
from muphy_lb.measure.shear.wall_nodes import LAYERS, WallAreas, WallPatches, WallSurface, wall_patches


@dataclass(frozen=True)
class WallIndices:
    """Indices of m nodes, each (m,)."""

    tawss: np.ndarray  #: time-averaged wall shear stress [Pa]
    #: oscillatory shear index, 0 where the stress keeps its direction, 1/2 where it averages out; 0 where there is no
    #: stress
    osi: np.ndarray
    rrt: np.ndarray  #: relative residence time [1/Pa], infinite where the stress averages out
    ecap: np.ndarray  #: endothelial cell activation potential [1/Pa]; 0 where there is no stress
    #: transverse wall shear stress [Pa]; 0 where the stress averages out, so that it has no mean direction
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


PERCENTILES = (5, 50, 95, 99)


class WallShear:
    """Measures the wall shear stress of a flow; every call is collective.

    Args:
        patches: of the nodes to measure at, on rank 0; of all of those adjacent to walls if not given.
    """

    def __init__(self, view: FlowView, patches: WallPatches | None = None):
        self._view = view
        self._patches: WallPatches | None = None
        self._recorded = view.recorded_stress()
        self._wanted: np.ndarray | None = None
        if view.communicator.rank == 0:
            patches = patches or (self._recorded.patches if self._recorded else None)
            self._patches = patches = patches or wall_patches(whole_nodes(view), view.lattice)
            recorded = self._recorded
            is_same = recorded is not None and patches is recorded.patches
            self._wanted = recorded.voxel if recorded and is_same else nodes_of_stress(patches.surface)
        if self._recorded is None:
            self._probe, self._compute = view.node_probe(self._wanted), NodeStress(view.fluid, view.lattice)

    @cached_property
    def surface(self) -> WallSurface:
        """The nodes adjacent to walls, on rank 0."""
        patches = on_root(self._patches)
        return patches.surface.chosen(patches.centre)

    @cached_property
    def areas(self) -> WallAreas:
        """Areas and labels of the nodes of ``surface``, on rank 0."""
        patches = on_root(self._patches)
        return WallAreas(patches.areas.area[patches.centre], patches.areas.label[patches.centre])

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the nodes of all patches and the next ones inwards, (LAYERS, m): numbers in ``_wanted``, 0 where there is
        none, and where there is one."""
        surface, wanted = on_root(self._patches).surface, on_root(self._wanted)
        voxel = np.vstack((surface.voxel, surface.inwards.T))
        return np.where(voxel >= 0, np.searchsorted(wanted, voxel), 0), voxel >= 0

    @cached_property
    def _weights(self) -> np.ndarray:
        return to_the_wall(on_root(self._patches).surface, self._rows[1])

    def warnings(self) -> list[str]:
        """Doubts about the stress, on rank 0: half-way walls, nodes with no other one behind them."""
        found = [HALF_WAY_SHEAR] if self._view.case.lattice.walls == HALF_WAY else []
        n_alone, n_nodes = int((self.surface.inwards[:, 0] < 0).sum()), self.surface.voxel.size
        if n_alone:
            found.append(
                f"the wall shear stress at {n_alone:,} of {n_nodes:,} wall nodes is that of the node itself, not of the"
                " wall: no other one lies behind it; use a smaller voxel edge"
            )
        return found

    def traction_pa(self) -> np.ndarray | None:
        """(m, 3) wall shear stress (x, y, z) [Pa] of the nodes of ``surface``, on rank 0. Where voxels may be partly
        filled, only full ones know the stress: a node that is not full takes that of the second one along the normal,
        and 0 if that one is not full either."""
        view, stress, filled = self._view, self._stress(), filled_shares(self._view)
        if stress is None:
            return None
        patches, (rows, there) = on_root(self._patches), self._rows
        is_told: np.ndarray = np.ones(rows.shape[1])
        share: np.ndarray = np.ones(patches.centre.size)
        weights = self._weights
        if filled is not None:
            is_full = there & (filled[whole_nodes(view).numbers_of(on_root(self._wanted))] >= 1.0)[rows]
            weights = to_the_wall(patches.surface, is_full)
            is_told = np.asarray(weights.any(axis=0), dtype=np.float64)
            share = np.maximum(np.asarray(patches.shares @ is_told), np.finfo(float).tiny)
        at_wall = added(stress[:, row] * weight for row, weight in zip(rows, weights, strict=True))
        traction = tangential(at_wall, patches.surface.normal.T)
        mean = (patches.shares @ traction.T).T * (is_told[patches.centre] / share)
        normal = self.surface.normal.T
        along = mean - added(mean * normal) * normal
        return np.ascontiguousarray(view.units.force_to_si(along).T) / view.units.spacing_m**2

    def _stress(self) -> np.ndarray | None:
        """(6, m) viscous stress of the nodes that it is measured at, on rank 0."""
        return self._recorded.at(self._wanted) if self._recorded else self._probe.arriving(self._compute)

    def far_from_openings(self) -> np.ndarray:
        """(m,) mask on rank 0 of the nodes farther than a diameter from every opening, where the flow does not depend
        on the opening condition; all of them if there are none."""
        header, surface = self._view.header, self.surface
        position = voxel_coordinates(surface.voxel, header.shape)
        mask = np.ones(surface.voxel.size, dtype=bool)
        for opening, frame in zip(header.openings, self._view.frames, strict=True):
            centre = (np.array(opening.centre_m) - header.origin_m) / header.spacing_m
            mask &= np.linalg.norm(position - centre, axis=1) > 2.0 * sqrt(frame.area / pi)
        return mask if mask.any() else np.ones_like(mask)

    def wall_points_m(self) -> np.ndarray:
        """(m, 3) points of the wall beside the nodes of ``surface`` [m], on rank 0."""
        header, surface = self._view.header, self.surface
        place = voxel_coordinates(surface.voxel, header.shape) + surface.distance[:, None] * surface.normal
        return np.asarray(header.origin_m) + header.spacing_m * place

    def nodes(self) -> NodeList:
        """The nodes of ``surface`` as a geometry of their own, on rank 0, for files and pictures."""
        return chosen_nodes(whole_nodes(self._view), self.surface.voxel)


def to_the_wall(surface: WallSurface, is_known: np.ndarray) -> np.ndarray:
    """(LAYERS, m) weights that carry values at nodes in a row on to the wall, those of Lagrange's polynomial.

    Args:
        surface: the nodes beside the wall.
        is_known: (LAYERS, m) mask of the nodes with a value: those up to the first one without are used; the second
            one alone where the first has none; otherwise all weights are 0.
    """
    used = np.logical_and.accumulate(is_known, axis=0)
    place = surface.distance + np.arange(LAYERS)[:, None] * surface.depth
    weights = used.astype(np.float64)
    for j in range(LAYERS):
        for k in range(LAYERS):
            if k != j:
                weights[j] *= np.where(used[k], place[k] / (place[k] - place[j]), 1.0)
    weights[1, is_known[1] & ~is_known[0]] = 1.0
    return weights


def tangential(stress: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(3, m) force of the fluid on a wall per area, along the wall, of stresses (6, m) xx, yy, zz, xy, yz, zx and
    normals (3, m)."""
    xx, yy, zz, xy, yz, zx = stress
    x, y, z = normal
    pull = np.stack((xx * x + xy * y + zx * z, xy * x + yy * y + yz * z, zx * x + yz * y + zz * z))
    return added(pull * normal) * normal - pull


def statistics(values: np.ndarray) -> dict[str, float]:
    """Mean, largest value and percentiles of (m,) values, m > 0."""
    record = {"mean": float(values.mean(dtype=np.float64)), "max": float(values.max())}
    marks = np.percentile(values, PERCENTILES)
    return record | {f"p{number}": float(mark) for number, mark in zip(PERCENTILES, marks, strict=True)}
