"""Where tracers start at an opening."""

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.opening_geometry import opening_links
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.physics.particles.seeding import StratifiedSample
from muphy_lb.physics.particles.tracers.walk import TOUCHING

PARTS = 8
"""Parts along each edge of a face of a voxel, in each of which tracers start evenly."""


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
    chosen = StratifiedSample(weight.reshape(-1)).draw(count, random)
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
