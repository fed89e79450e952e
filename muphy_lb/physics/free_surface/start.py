"""The liquid at the start: which share of every voxel it fills, and with which pressure and velocity."""

from collections.abc import Iterator, Sequence

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.lattice import Lattice
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LIQUID, MASS
from muphy_lb.physics.free_surface.regions import BoxRegion, ImageRegion, Region

PARTS = 8
"""Parts along each edge into which a voxel that the surface cuts is divided to measure its filling; each is filled by
the distance of its centre from the surface, as if that were parallel to a face. To count whole parts would make level
surfaces wrong by up to a sixteenth of a voxel, and the curvature of a drop of 16 voxels by a quarter."""
NOTHING = 1e-9
"""Share of a voxel that is rounding."""
CUT = 1.0
"""Distance [voxels] from the surface beyond which it does not cut a voxel, whose corners are 0.87 from its centre."""
NEAR = CUT + 2.0
"""Distance [voxels] from the surface beyond which it does not cut a neighbour of a voxel."""


class InitialLiquid:
    """The liquid at the start.

    Args:
        regions: what is liquid.
        header: of the geometry.
        gas: what of it is gas, but for images.
    """

    def __init__(self, regions: Sequence[Region], header: GeometryHeader, gas: Region | None = None):
        self._regions, self._header, self._gas = regions, header, gas
        self._images = [region for region in regions if isinstance(region, ImageRegion)]
        self._is_thick = np.array(header.shape[::-1]) > 1

    def cells(self, domain: LocalDomain, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
        """(n,) cell and (n,) filling of every node of a rank.

        A full voxel beside an empty one is interface. So are voxels beside openings; those beside inlets are full.
        """
        n_nodes, ghosts = domain.n_nodes, domain.part.nodes.voxel[domain.ghost_layer.position]
        place = voxel_coordinates(np.concatenate([domain.voxel, ghosts]), self._header.shape)
        distance = self._distance(place)
        shares = self._fill(place, distance)
        fill = shares[:n_nodes]
        cell = np.where(fill >= 1.0, LIQUID, np.where(fill > 0.0, INTERFACE, GAS))
        near = np.flatnonzero(
            (cell == LIQUID) & ((distance[:n_nodes] > -NEAR) | self._is_beside_image(place[:n_nodes]))
        )
        for code in domain.neighbours_with_ghosts(lattice.c[1:], near):
            beside = np.where(code < domain.pitch, code, code - domain.pitch + n_nodes)
            cell[near[(code >= 0) & (shares[np.maximum(beside, 0)] == 0.0)]] = INTERFACE
        is_inlet = np.array([opening.kind == "inlet" for opening in self._header.openings], dtype=bool)
        links = domain.links
        fill[links.node[is_inlet[links.boundary]]] = 1.0
        cell[links.node[cell[links.node] == GAS]] = INTERFACE
        return cell.astype(np.uint8), fill

    def _is_beside_image(self, place: np.ndarray) -> np.ndarray:
        """(m,) whether voxels (m, 3) have neighbours across a periodic edge, where regions end without a surface."""
        size, is_periodic = np.array(self._header.shape[::-1]), np.asarray(self._header.periodic)
        return (((place == 0) | (place == size - 1)) & is_periodic).any(axis=1)

    def n_wet(self, domain: LocalDomain) -> list[int]:
        """For each region, how many nodes of a rank may have liquid of it in them."""
        return [int(inside.sum()) for _, _, inside in self._insides(domain)]

    def depth(self, domain: LocalDomain, up: np.ndarray) -> np.ndarray:
        """(n,) depth of every node of a rank below the top of the regions it lies in [voxels]; 0 outside."""
        found = np.zeros(domain.n_nodes)
        for region, place, inside in self._insides(domain):
            found = np.maximum(found, np.where(inside, region.depth(place, up), 0.0))
        return found

    def curvature(self, domain: LocalDomain) -> np.ndarray:
        """(n,) mean curvature of the surface of the region that a node lies in; 0 outside."""
        found = np.zeros(domain.n_nodes)
        for region, place, inside in self._insides(domain):
            found[inside] = region.curvature(place[inside], int(self._is_thick.sum()))
        return found

    def velocity(self, domain: LocalDomain) -> np.ndarray:
        """(3, n) velocity of every node of a rank, that of the last region that it lies in."""
        found = np.zeros((3, domain.n_nodes))
        for region, _, inside in self._insides(domain):
            found[:, inside] = region.velocity[:, None]
        return found

    def fall(self, up: np.ndarray) -> float:
        """Height from the lowest point of the box to the highest point of the liquid in it [voxels]."""
        last = np.array(self._header.shape[::-1]) - 0.5
        lowest, highest = BoxRegion(np.zeros(3), np.full(3, -0.5), last).span(up)
        top = max(region.span(up)[1] for region in self._regions)
        return min(max(top - lowest, 0.0), highest - lowest)

    def _insides(self, domain: LocalDomain) -> Iterator[tuple[Region, np.ndarray, np.ndarray]]:
        """Each region, the nodes (n, 3) of a rank, and which of them may have liquid of the region in them."""
        place = voxel_coordinates(domain.voxel, self._header.shape).astype(float)
        return ((region, place, region.holds(place)) for region in self._regions)

    def _distance(self, place: np.ndarray) -> np.ndarray:
        found = np.min([region.distance(place.astype(float)) for region in self._regions], axis=0)
        return found if self._gas is None else np.maximum(found, -self._gas.distance(place.astype(float)))

    def _fill(self, place: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """(m,) share of voxels (m, 3), at distances (m,), that is liquid."""
        fill = (distance < 0.0).astype(float)
        cut = np.flatnonzero(np.abs(distance) < CUT)
        steps = (np.arange(PARTS) + 0.5) / PARTS - 0.5
        parts = np.stack(np.meshgrid(*[steps if thick else [0.0] for thick in self._is_thick], indexing="ij"), axis=-1)
        parts = parts.reshape(-1, 3)
        for first in range(0, cut.size, 4096):
            some = cut[first : first + 4096]
            distance_of_parts = self._distance((place[some, None] + parts).reshape(-1, 3))
            fill[some] = np.clip(0.5 - PARTS * distance_of_parts, 0.0, 1.0).reshape(some.size, -1).mean(axis=1)
        for image in self._images:
            fill = np.maximum(fill, image.share(place))
        return np.where(fill < NOTHING, 0.0, np.where(fill > 1.0 - NOTHING, 1.0, fill))


def initial_fields(cell: np.ndarray, fill: np.ndarray, density: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of a free surface from cells, filling and density (n,)."""
    share = np.where(cell == INTERFACE, fill, 0.0)
    return {CELL: cell, MASS: share * density, FILL: share}
