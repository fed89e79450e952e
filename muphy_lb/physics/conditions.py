"""What happens at each opening: kind, value and profile, in lattice units."""

from dataclasses import dataclass

import numpy as np

from geometry.neighbours import neighbour_table
from geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.domain import LinkRecords
from muphy_lb.domain.links import record_links
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice
from muphy_lb.operators import PRESSURE, VELOCITY, link_momentum

PROFILES = ("plug", "parabolic")


@dataclass(frozen=True)
class Condition:
    """The condition of one opening in lattice units.

    Attributes:
        kind: ``VELOCITY`` or ``PRESSURE``.
        value: mean normal velocity into the fluid, or rho_out - 1.
        profile: ``"plug"`` or ``"parabolic"`` (velocity only).
    """

    kind: int
    value: float
    profile: str = "plug"


@dataclass(frozen=True)
class OpeningFrame:
    """Lattice measures of one opening: area, centroid of its link midpoints (x, y, z), inward normal, equivalent
    radius; ``profile_scale`` makes a parabolic profile carry the flow of a plug."""

    area: float
    centroid: np.ndarray
    normal: np.ndarray
    radius: float
    profile_scale: float


def opening_links(nodes: NodeList, lattice: Lattice) -> LinkRecords:
    """All opening links of a geometry, in rank-independent order; ``node`` is the node-list number."""
    touching = np.arange(nodes.group_start[1], nodes.n_nodes)
    table = neighbour_table(nodes, lattice.c, touching)
    links = record_links(table, nodes.voxel[touching])
    return LinkRecords(touching[links.node], links.q, links.opening, links.voxel)


def opening_frames(nodes: NodeList, lattice: Lattice) -> tuple[OpeningFrame, ...]:
    """Measure every opening from its links.

    Raises:
        InputError: no lattice link crosses an opening.
    """
    links = opening_links(nodes, lattice)
    midpoint = _midpoints(nodes, lattice, links)
    return tuple(
        _frame(nodes, lattice, links, midpoint, number, np.flatnonzero(links.opening == number))
        for number in range(len(nodes.openings))
    )


def link_weights(nodes: NodeList, lattice: Lattice, links: LinkRecords, frames, conditions) -> np.ndarray:
    """(L,) mass that enters through each link per unit of its opening's value, profile included."""
    if links.n_links == 0:
        return np.zeros(0)
    normal = np.stack([frame.normal for frame in frames])[links.opening]
    momentum = link_momentum(lattice, links.q, normal)
    midpoint = _midpoints(nodes, lattice, links)
    for number, (frame, condition) in enumerate(zip(frames, conditions, strict=True)):
        if condition.profile == "parabolic":
            mine = links.opening == number
            momentum[mine] *= frame.profile_scale * _paraboloid(frame, midpoint[mine])
    return momentum


def _midpoints(nodes, lattice, links):
    return voxel_coordinates(links.voxel, nodes.shape) + 0.5 * lattice.c[links.q]


def _frame(nodes, lattice, links, midpoint, number, mine) -> OpeningFrame:
    opening = nodes.openings[number]
    normal = np.asarray(opening.normal)
    momentum = link_momentum(lattice, links.q[mine], np.broadcast_to(normal, (mine.size, 3)))
    area = float(momentum.sum())
    if not area > 0.0:
        raise InputError(
            f"no {lattice.name} link of the fluid crosses opening {opening.name!r} (centre {opening.centre_m} m);"
            " move its plane into the fluid or check its normal"
        )
    centroid = (momentum[:, None] * midpoint[mine]).sum(axis=0) / area
    radius = _equivalent_radius(area, lattice.dimension)
    plain = OpeningFrame(area, centroid, normal, radius, 1.0)
    carried = float((momentum * _paraboloid(plain, midpoint[mine])).sum())
    return OpeningFrame(area, centroid, normal, radius, area / carried)


def _equivalent_radius(area: float, dimension: int) -> float:
    """Radius of the disc of this area; half the width in two dimensions."""
    return float(np.sqrt(area / np.pi)) if dimension == 3 else area / 2


def _paraboloid(frame: OpeningFrame, midpoint: np.ndarray) -> np.ndarray:
    """2 (1 - r^2/R^2) at link midpoints, not below zero."""
    offset = midpoint - frame.centroid
    offset -= np.outer(offset @ frame.normal, frame.normal)
    return np.maximum(0.0, 2.0 * (1.0 - (offset**2).sum(axis=1) / frame.radius**2))


__all__ = [
    "PRESSURE",
    "PROFILES",
    "VELOCITY",
    "Condition",
    "OpeningFrame",
    "link_weights",
    "opening_frames",
    "opening_links",
]
