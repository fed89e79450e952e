"""Where tracers start: spread over the fluid, in a box, over an opening, or where a file says.

Places are chosen systematically: of n tracers in order of places, one falls into each n-th part of the whole, so that
their numbers anywhere differ from what is asked for by less than one, and only the place within a part is random.
"""

import numpy as np

from muphy_lb.boundaries.opening_geometry import opening_links
from muphy_lb.errors import InputError
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.physics.particles.tracers.walk import TOUCHING

PARTS = 8
"""Parts along each edge of a face of a voxel, in each of which tracers start evenly."""


def spread_over_fluid(nodes: NodeList, count: int, random, box_m=None) -> tuple[np.ndarray, np.ndarray]:
    """Voxels (count, 3) and offsets (count, 3) of places evenly spread over the fluid, or over that in a box.

    Raises:
        InputError: there is no fluid in the box.
    """
    is_thick = np.array(nodes.shape[::-1]) > 1
    centre = nodes.coordinates()
    low, high = np.full((2, nodes.n_nodes, 3), np.array([[[-0.5]], [[0.5]]]))
    if box_m is not None:
        corners = (np.asarray(box_m) - nodes.origin_m) / nodes.spacing_m
        low, high = np.maximum(low, corners[0] - centre), np.minimum(high, corners[1] - centre)
    size = np.where(is_thick, np.maximum(high - low, 0.0), 1.0)
    volume = size.prod(axis=1)
    if not volume.any():
        raise InputError(f"box_m is {[list(corner) for corner in box_m]}: there is no fluid in it")
    chosen = _chosen(volume, count, random)
    offset = low[chosen] + size[chosen] * random.random((count, 3))
    return centre[chosen], np.where(is_thick, offset, 0.0)


def spread_over_opening(view: FlowView, name: str, count: int, random) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and offsets of places at the faces of an opening's voxels, as many in each part as its profile lets enter;
    for an opening of given pressure, whose profile follows from the flow, evenly.

    Raises:
        InputError: nothing enters.
    """
    nodes, lattice = whole_nodes(view), view.lattice
    number = [opening.name for opening in nodes.openings].index(name)
    frame, condition = view.frames[number], view.conditions[number]
    links = opening_links(nodes, lattice)
    links = links.select((links.boundary == number) & (np.abs(lattice.c[links.q]).sum(axis=1) == 1))
    direction, voxel = lattice.c[links.q], voxel_coordinates(links.voxel, nodes.shape)
    inflow = -(direction @ frame.normal) * condition.profile(frame, voxel + 0.5 * direction)
    inflow = np.maximum(inflow, 0.0)
    if not inflow.any():
        raise InputError(f"opening {name!r}: nothing enters there at which tracers could start")
    is_thick = np.array(nodes.shape[::-1]) > 1
    part, weight = _parts_of_faces(voxel, direction, inflow, is_thick)
    chosen = _chosen(weight.reshape(-1), count, random)
    face, which = np.divmod(chosen, len(part))
    offset = part[which] + random.uniform(-0.5, 0.5, (count, 3)) / PARTS
    offset = np.where(is_thick, offset, 0.0)
    return voxel[face], np.where(direction[face] != 0, TOUCHING * direction[face], offset)


def _parts_of_faces(voxel, direction, inflow, is_thick) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (m, 3) of the middles of the parts of a voxel, and the inflow (n, m) through those of each face, between
    faces interpolated as tracers will be carried (:mod:`muphy_lb.physics.particles.tracers.interpolation`)."""
    steps = (np.arange(PARTS) + 0.5) / PARTS - 0.5
    sizes = [steps if thick else np.zeros(1) for thick in is_thick]
    part = np.stack(np.meshgrid(*sizes, indexing="ij"), axis=-1).reshape(-1, 3)
    known = {(*place, *way): value for place, way, value in zip(*map(_rows, (voxel, direction)), inflow, strict=True)}
    weight = np.repeat(inflow[:, None], len(part), axis=1)
    for axis, unit in enumerate(np.eye(3, dtype=np.int64)):
        plus, minus = (
            np.array(
                [known.get((*place, *way), np.nan) for place, way in zip(_rows(beside), _rows(direction), strict=True)]
            )
            for beside in (voxel + unit, voxel - unit)
        )
        above, below = (np.where(np.isnan(values), inflow, values) for values in (plus, minus))
        is_inner = ~np.isnan(plus + minus)
        slope = np.where(is_inner, 0.5 * (above - below), np.clip(above - below, -2.0 * inflow, 2.0 * inflow))
        weight += np.where(direction[:, axis] != 0, 0.0, slope)[:, None] * part[:, axis]
    return part, np.maximum(weight, 0.0)


def _rows(values: np.ndarray) -> list[tuple]:
    return [tuple(row) for row in values.tolist()]


def places_in_fluid(nodes: NodeList, position_m: np.ndarray, location) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and offsets of given places (n, 3) [m]; ``location(row)`` says where they are listed, for messages.

    Raises:
        InputError: one is not in the fluid.
    """
    at = (position_m - nodes.origin_m) / nodes.spacing_m
    size = np.array(nodes.shape[::-1])
    voxel = np.floor(at + 0.5).astype(np.int64)
    offset = np.where(size > 1, at - voxel, 0.0)
    voxel = np.where(nodes.periodic, voxel % size, voxel)
    x, y, z = voxel.T
    inside = ((voxel >= 0) & (voxel < size)).all(axis=1)
    solid = np.flatnonzero(~inside | ~np.isin((z * size[1] + y) * size[0] + x, nodes.voxel))
    if solid.size:
        row = solid[0]
        raise InputError(
            f"{location(row)}: there is no fluid at {position_m[row].tolist()} m, where a particle is to start"
            f" ({solid.size} of {len(at)} lie like that); move it, or leave it out"
        )
    return voxel, offset


def _chosen(weight: np.ndarray, count: int, random) -> np.ndarray:
    """Positions (count,) in random order; each appears in proportion to its weight."""
    share = np.cumsum(weight) / weight.sum()
    chosen = np.searchsorted(share, (np.arange(count) + random.random(count)) / count, side="right")
    return random.permutation(np.minimum(chosen, np.flatnonzero(weight)[-1]))
