"""How particles come and go through openings: their states, where they enter, and when.

Every particle of a set exists from the start on, with an id of its own. It waits where it will enter until the step
behind ``born_step``, and stays where it has left; so ids are unique and no number depends on ranks.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.opening_geometry import opening_links
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.physics.particles.species import StratifiedSample

BORN, END, END_STEP = "born_step", "end", "end_step"
UNDER_WAY, STUCK, WAITING = 0, -1, -2  # values of the column ``end``; k + 1 of particles that have left by opening k
TOUCHING = 0.5 - 2.0**-30  # largest offset of what is at a face: a face itself belongs to the voxel beyond it


def are_under_way(i: np.ndarray, p) -> np.ndarray:
    """(n,) which particles ``i`` move in this step: those that have entered and not left, or enter now."""
    return (p[END][i] == UNDER_WAY) | ((p[END][i] == WAITING) & (p[BORN][i] < p["step"][0]))


@cache
def under_way_node(jit):
    """Node function of :func:`are_under_way`: ``(end, born, step)`` of a particle."""
    under_way, waiting = np.int32(UNDER_WAY), np.int32(WAITING)
    return jit(lambda end, born, step: end == under_way or (end == waiting and born < step))


PARTS = 8  # parts along each edge of a face of a voxel, in each of which particles start evenly


TRIALS = 200  # times that places without room are drawn again


def spread_over_opening(
    view: FlowView, name: str, count: int, random, have_room: Callable[..., np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and offsets of positions at the faces of an opening's voxels, as many in each as its profile lets enter;
    for an opening of given pressure, whose profile follows from the flow, evenly.

    Args:
        have_room: which voxels and offsets (n, 3) are far enough from walls; all without it.

    Raises InputError: nothing enters, or no place has room.
    """
    nodes, lattice = whole_nodes(view), view.lattice
    number = [opening.name for opening in nodes.openings].index(name)
    frame, condition = view.frames[number], view.conditions[number]
    links = opening_links(nodes, lattice)
    links = links.select((links.boundary == number) & (np.abs(lattice.c[links.q]).sum(axis=1) == 1))
    direction, voxel = lattice.c[links.q], voxel_coordinates(links.voxel, nodes.shape)
    inflow = -(direction @ frame.along) * condition.profile(frame, voxel + 0.5 * direction)
    inflow = np.maximum(inflow, 0.0)
    if not inflow.any():
        raise InputError(f"opening {name!r}: nothing enters there at which particles could start")
    is_thick = np.array(nodes.shape[::-1]) > 1
    part, weight = _parts_of_faces(voxel, direction, inflow, is_thick)
    sample = StratifiedSample(weight.reshape(-1))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        face, which = np.divmod(sample.draw(number, random), len(part))
        offset = part[which] + random.uniform(-0.5, 0.5, (number, 3)) / PARTS
        offset = np.where(is_thick, offset, 0.0)
        return voxel[face], np.where(direction[face] != 0, TOUCHING * direction[face], offset)

    place, offset = draw(count)
    if have_room is None:
        return place, offset
    for _ in range(TRIALS):
        without = np.flatnonzero(~have_room(place, offset))
        if not without.size:
            return place, offset
        place[without], offset[without] = draw(without.size)
    raise InputError(f"opening {name!r}: walls leave no room there at which particles could enter; take smaller voxels")


def _parts_of_faces(voxel, direction, inflow, is_thick) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (m, 3) of the middles of the parts of a voxel, and the inflow (n, m) through those of each face, between
    faces interpolated as tracers are carried (:mod:`muphy_lb.physics.particles.tracers.walk`)."""
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
