"""What must hold of the arrays of a node list that was read from a file, before any kernel uses them as indices."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from muphy_lb.geometry.cuts import SHORTEST
from muphy_lb.geometry.flags import FIRST_WALL_NUMBER
from muphy_lb.geometry.link_cuts import N_DIRECTIONS, Cuts, link_keys
from muphy_lb.geometry.nodes import NodeList

STRETCH = 1 << 20
"""Values looked at together."""

NO_LINK = N_DIRECTIONS // 2
"""Code of the zero vector."""

Refusal = Callable[..., Exception]


def check_arrays(nodes: NodeList, refusal: Refusal) -> None:
    """Check the values of all arrays of a node list.

    Whether the nodes of a group are those beside its opening, and whether a labelled voxel lies beside a node, is not
    checked: it takes a neighbour search, and no index goes astray for it.

    Args:
        nodes: the node list; its arrays may be HDF5 datasets, of which one stretch after the other is read. In memory
            are a stretch and the nodes beside openings.
        refusal: ``refusal(name, problem)`` makes the error that is raised for the first array that is wrong.
    """
    n_voxels = math.prod(nodes.shape)
    _check_groups(nodes, partial(refusal, "group_start"))
    _check_voxels(nodes, n_voxels, partial(refusal, "voxel"))
    for _ in _ascending(nodes.label_voxel, slice(0, nodes.label_voxel.size), n_voxels, partial(refusal, "label_voxel")):
        pass
    _check_labels(nodes, partial(refusal, "label_number"))
    if nodes.cuts is not None:
        _check_cuts(nodes.cuts, n_voxels, refusal)


def _check_groups(nodes: NodeList, refusal: Refusal) -> None:
    """One group without opening and one for each opening, which share out all nodes."""
    start, n_nodes, n_groups = nodes.group_start, nodes.n_nodes, 1 + len(nodes.openings)
    if n_nodes == 0:
        raise refusal("leads to no node; a geometry has at least one")
    if start.size != n_groups + 1:
        raise refusal(f"has {start.size} values; {n_groups - 1} openings make it {n_groups + 1}")
    if start[0] != 0 or start[-1] != n_nodes or np.any(start[1:] < start[:-1]):
        raise refusal(f"is {start.tolist()}; it must climb from 0 to {n_nodes}, the number of nodes")


def _check_voxels(nodes: NodeList, n_voxels: int, refusal: Refusal) -> None:
    """Voxel ids lie in the box and ascend in each group, and none is in two groups."""
    bulk, *groups = (slice(*ends) for ends in pairwise(nodes.group_start.tolist()))
    near = [np.empty(0, np.int64)]
    for group in groups:
        near += _ascending(nodes.voxel, group, n_voxels, refusal)
    near = np.sort(np.concatenate(near))
    _check_none(near[1:][near[1:] == near[:-1]], refusal)
    for voxel in _ascending(nodes.voxel, bulk, n_voxels, refusal):
        among = near[slice(*np.searchsorted(near, (voxel[0], voxel[-1] + 1)))]
        _check_none(among[voxel[np.searchsorted(voxel, among)] == among], refusal)


def _check_none(twice: np.ndarray, refusal: Refusal) -> None:
    if twice.size:
        raise refusal(f"holds the id {twice[0]} twice; every node needs a voxel of its own")


def _check_labels(nodes: NodeList, refusal: Refusal) -> None:
    """A label for each labelled voxel, of an opening or a wall that there is."""
    n_openings, n_walls = len(nodes.openings), len(nodes.walls)
    if nodes.label_number.size != nodes.label_voxel.size:
        raise refusal(f"has {nodes.label_number.size} values for {nodes.label_voxel.size} labelled voxels")
    known = np.zeros(256, dtype=bool)
    known[:n_openings] = True
    known[FIRST_WALL_NUMBER : FIRST_WALL_NUMBER + n_walls] = True
    for stretch in _stretches(slice(0, nodes.label_number.size)):
        number = nodes.label_number[stretch]
        unknown = number[~known[number]]
        if unknown.size:
            raise refusal(
                f"holds {unknown[0]}; there are {n_openings} openings, numbered from 0,"
                f" and {n_walls} walls, numbered from {FIRST_WALL_NUMBER}"
            )


def _check_cuts(cuts: Cuts, n_voxels: int, refusal: Refusal) -> None:
    """Links start in the box, ascend by voxel and direction, and are cut between their ends."""
    before = -1
    for stretch in _stretches(slice(0, cuts.n_links)):
        voxel, direction, distance = (array[stretch] for array in (cuts.voxel, cuts.direction, cuts.distance))
        _check_range(voxel, n_voxels, partial(refusal, "cuts/voxel"))
        _check_range(direction, N_DIRECTIONS, partial(refusal, "cuts/direction"))
        if np.any(direction == NO_LINK):
            raise refusal("cuts/direction", f"holds {NO_LINK}, which leads to no neighbour")
        wrong = distance[~((distance >= SHORTEST) & (distance <= 1.0))]
        if wrong.size:
            raise refusal("cuts/distance", f"holds {wrong[0]}; allowed are {SHORTEST} to 1")
        keys = link_keys(voxel, direction)
        if keys[0] <= before or np.any(keys[1:] <= keys[:-1]):
            raise refusal("cuts/voxel", "is not in the order of voxels and directions, or holds a link twice")
        before = keys[-1]


def _ascending(ids, part: slice, n_voxels: int, refusal: Refusal) -> Iterator[np.ndarray]:
    """The stretches of a part of an array of ids, each of them checked: in the box, and strictly ascending."""
    before = -1
    for stretch in _stretches(part):
        values = ids[stretch]
        _check_range(values, n_voxels, refusal)
        if values[0] <= before or np.any(values[1:] <= values[:-1]):
            raise refusal(f"does not ascend from its value {stretch.start} to {stretch.stop - 1}")
        before = values[-1]
        yield values


def _check_range(values: np.ndarray, end: int, refusal: Refusal) -> None:
    lowest, highest = values.min(), values.max()
    if lowest < 0 or highest >= end:
        raise refusal(f"holds {lowest if lowest < 0 else highest}; allowed are 0 to {end - 1}")


def _stretches(part: slice) -> Iterator[slice]:
    return (slice(first, min(first + STRETCH, part.stop)) for first in range(part.start, part.stop, STRETCH))
