"""Fields of the flow at particles, and the particles that pictures draw."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.measure.flow_view import DrawnParticles, FlowView, whole_nodes
from muphy_lb.measure.probes import corner_weights
from muphy_lb.model.model import POSITION

if TYPE_CHECKING:
    from muphy_lb.output.pictures.particles import Points

MOST_POINTS = 8000


class AtPoints:
    """Values at points, interpolated between the eight nodes around each; the weight of solid ones goes to the others.
    ``nodes``: the geometry; ``points_m``: (k, 3) points [m]."""

    def __init__(self, nodes: NodeList, points_m: np.ndarray):
        voxel, weight = corner_weights(nodes, points_m)
        order = np.argsort(nodes.voxel)
        place = np.searchsorted(nodes.voxel, voxel, sorter=order)
        self._node = order[np.minimum(place, order.size - 1)]
        with np.errstate(invalid="ignore"):
            self._weight = weight / weight.sum(axis=1, keepdims=True)

    def values(self, of_nodes: np.ndarray) -> np.ndarray:
        """(k, ...) values of those (n, ...) of the nodes; nan where no node is near."""
        return np.einsum("kc,kc...->k...", self._weight, of_nodes[self._node])


def fields_at(view: FlowView, names: Sequence[str], points_m: np.ndarray | None) -> dict[str, np.ndarray] | None:
    """(k, ...) SI values of output fields at (k, 3) points [m], which rank 0 gives, by name on rank 0; collective."""
    found = {name: view.field(name) for name in names}
    if points_m is None:
        return None
    at = AtPoints(whole_nodes(view), points_m) if names else None
    return {name: at.values(values) for name, values in found.items() if at is not None and values is not None}


def positions_m(header: GeometryHeader, columns) -> np.ndarray:
    """(n, 3) positions [m] of particles with these columns."""
    voxel, offset = (np.stack([columns[name] for name in names], axis=1) for names in POSITION)
    return np.asarray(header.origin_m) + header.spacing_m * (voxel + offset)


def particles_drawn(view: FlowView) -> "Points | None":
    """The particles that pictures draw, on rank 0; None elsewhere, and where there are none. Collective. Of more than
    8000 of a set without bonds those whose id is a multiple of some number. They are coloured by the first field that a
    set names."""
    sets = [each for physics in view.physics for each in physics.drawn_particles.items()]
    if not sets:
        return None
    fields = list(dict.fromkeys(drawn.field for _, drawn in sets if drawn.field))[:1]
    particles = view.particles()
    chosen = None if particles is None else [_chosen(view.header, particles[name], drawn) for name, drawn in sets]
    places = None if chosen is None else np.concatenate([place for place, _ in chosen])
    found = fields_at(view, fields, places)
    if found is None or chosen is None or places is None or not len(places):
        return None
    from muphy_lb.output.pictures.particles import Points
    from muphy_lb.output.pictures.vessel import as_scalar

    first = np.cumsum([0, *(len(place) for place, _ in chosen)])
    bonds = np.concatenate([start + each for start, (_, each) in zip(first[:-1], chosen, strict=True)])
    if not fields:
        return Points(places, bonds, np.full(len(places), np.nan))
    name, values = as_scalar(fields[0], found[fields[0]])
    top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return Points(places, bonds, np.abs(values), name.replace("_", " "), known_fields(view)[fields[0]], top)


def _chosen(header: GeometryHeader, columns, drawn: DrawnParticles) -> tuple[np.ndarray, np.ndarray]:
    """(m, 3) places [m] of the particles of a set that are drawn, and (k, 2) rows of these that bonds join; bonds
    through a periodic face are left out."""
    identity, place = columns["id"], positions_m(header, columns)
    is_drawn = np.ones(identity.size, dtype=bool)
    if drawn.are_drawn is not None:
        is_drawn = drawn.are_drawn(*(columns[name] for name in drawn.columns))
    if drawn.bonds is None or not len(drawn.bonds):
        is_drawn &= identity % max(1, -(-np.count_nonzero(is_drawn) // MOST_POINTS)) == 0
        return place[is_drawn], np.empty((0, 2), dtype=np.int64)
    row = np.cumsum(is_drawn) - 1
    bonds = np.searchsorted(identity, drawn.bonds)
    size_m = np.where(header.periodic, header.spacing_m * np.array(header.shape[::-1], float), np.inf)
    is_near = (np.abs(place[bonds[:, 0]] - place[bonds[:, 1]]) < size_m / 2).all(axis=1)
    return place[is_drawn], row[bonds[is_near & is_drawn[bonds].all(axis=1)]]
