"""Fluxes of a carried scalar through walls: what its populations bring through the links into each.

It is what the nodes gain, advection in the gap between the nodes and the wall included, to the last digit; a slope of
the scalar at a wall would miss that.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from muphy_lb.domain import ScalarBoundary
from muphy_lb.domain.fitted_values import Met, met
from muphy_lb.domain.scalar_streaming import return_rules
from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.wall_areas import areas_of_links
from muphy_lb.lattice import Lattice
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.operators.saturation import reference


class Walled(Protocol):
    """A scalar as its walls see it; :class:`muphy_lb.physics.scalar.CarriedScalar` describes the attributes."""

    @property
    def rows(self) -> list[str]:
        """Fields of its populations."""

    @property
    def carrier_rows(self) -> list[str]:
        """Fields of the populations of its carrier, none without one."""

    @property
    def carrier_boundary(self) -> ScalarBoundary:
        """The carrier's conditions at walls."""

    @property
    def lattice(self) -> Lattice:
        """Velocity set of its populations."""

    @property
    def boundary(self) -> ScalarBoundary:
        """Its conditions at walls and openings."""

    @property
    def diffusivity(self) -> float:
        """Diffusivity [lattice units]."""


class WallFluxes:
    """The links into some labelled walls; made on rank 0.

    Attributes:
        node, vector: (S,) numbers of the nodes from which the links start, (S, 3) their vectors into the wall.
        area: (S,) true area of each [voxel faces].
        areas: area [voxel faces] of each of these walls that has a link along an axis, by name.
    """

    def __init__(self, nodes: NodeList, scalar: Walled, names: Sequence[str]):
        search, vectors = NeighbourSearch(nodes), -scalar.lattice.c[1:]
        codes = search.table_through_solids(vectors)
        links = met(codes, nodes.voxel, vectors, scalar.boundary, nodes.cuts)
        numbers = {wall.name: number for number, wall in enumerate(nodes.walls) if wall.name in names}
        links = Met(*(column[np.isin(links.number, list(numbers.values()))] for column in links))
        self.node, self.vector, self._away = links.column, vectors[links.k], links.k + 1
        self._towards = scalar.lattice.opposite[self._away]
        self._behind = codes[self._towards - 1, self.node]
        area = areas_of_links(nodes, search, self.node, self.vector)
        self._rules = return_rules(
            scalar.lattice.w[1],
            scalar.boundary,
            scalar.diffusivity,
            links,
            self._behind >= 0,
            area,
            scalar.carrier_boundary if scalar.carrier_rows else None,
        )
        self._rules.own[0] -= np.where(self._rules.saturates, 0.0, 1.0)  # of what has left, that much comes back
        self._of_wall = {name: np.flatnonzero(links.number == number) for name, number in numbers.items()}
        self._of_wall = {name: chosen for name, chosen in self._of_wall.items() if chosen.size}
        self.area = area
        self.areas = {name: float(area[chosen].sum()) for name, chosen in self._of_wall.items()}

    def of_wall(self, name: str) -> np.ndarray:
        """Numbers of the links into a wall."""
        return self._of_wall.get(name, np.empty(0, dtype=np.int64))

    def start(self) -> np.ndarray:
        """(S,) fluxes into the fluid through each link of populations that are 0."""
        return self._rules.constant.copy()

    def add(self, entering: np.ndarray, q: int, row: np.ndarray, of_carrier: bool = False) -> None:
        """Add the fluxes of the populations (n,) of the scalar, or of its carrier, that have left all nodes along
        direction q."""
        sent, away = np.flatnonzero(self._towards == q), np.flatnonzero(self._away == q)
        weight, row = self._rules.carrier if of_carrier else self._rules.own, row.astype(np.float64)
        entering[sent] += weight[0, sent] * row[self.node[sent]]
        entering[sent] += weight[1, sent] * row[np.maximum(self._behind[sent], 0)]
        entering[away] += weight[2, away] * row[self.node[away]]

    def completed(self, entering: np.ndarray) -> np.ndarray:
        """(S,) fluxes into the fluid through each link, once all populations have been added."""
        taken = reference(entering, *self._rules.saturation)
        return np.where(self._rules.saturates, -taken, entering)

    def per_area(self, entering: np.ndarray, n_nodes: int) -> np.ndarray:
        """(n,) fluxes into the fluid over the area of these walls that belongs to a node, 0 at nodes away from them."""
        flux, area = (np.bincount(self.node, row, n_nodes) for row in (entering, self.area))
        return np.divide(flux, area, out=np.zeros(n_nodes), where=area > 0.0)

    def totals(self, entering: np.ndarray) -> dict[str, float]:
        """Sum over the links of each wall."""
        return {name: float(entering[chosen].sum()) for name, chosen in self._of_wall.items()}


def through_links(view: FlowView, scalar: Walled, fluxes: WallFluxes | None) -> np.ndarray | None:
    """(S,) amounts of a scalar that enter through each link in a step of the flow ahead, lattice units, on rank 0,
    where ``fluxes`` are; collective."""
    found = None if fluxes is None else fluxes.start()
    for of_carrier, names in enumerate((scalar.rows, scalar.carrier_rows)):
        for q, name in enumerate(names):
            row = view.model_field(name)
            if fluxes is not None and found is not None and row is not None:
                fluxes.add(found, q, row, bool(of_carrier))
    return None if fluxes is None or found is None else fluxes.completed(found) / view.stride


def entering(view: FlowView, scalar: Walled, fluxes: WallFluxes | None) -> dict[str, float] | None:
    """Sums of a scalar that enter through each wall in a step of the flow ahead, lattice units, on rank 0, where
    ``fluxes`` are; collective."""
    found = through_links(view, scalar, fluxes)
    return None if fluxes is None or found is None else fluxes.totals(found)
