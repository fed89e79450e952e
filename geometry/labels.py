"""Labelled solid voxels: a wall inside a box, and walls that conduct, whose voxels become nodes for scalars. The flow
does not enter them: between fluid and a solid node, and between nodes of different solids, there is a wall for the flow
(:class:`muphy_lb.geometry.neighbours.NeighbourSearch`). Labelled regions of the fluid, which is open there."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import NodeList, labelled_near, regroup
from muphy_lb.geometry.slabs import copied, slabs
from muphy_lb.geometry.voxels import FIRST_REGION_NUMBER, FIRST_WALL_NUMBER, MAX_REGIONS, SOLID, WALL, Voxels, wall_flag


def label_box(voxels: Voxels, name: str, low_m, high_m) -> Voxels:
    """Label the solid voxels whose centres lie in a box as a wall; voxels that already have a label keep it.

    Args:
        name: name of a new or an existing wall.
        low_m, high_m: corners (x, y, z) of the box [m], both included.

    Raises GeometryError: the box holds no solid voxel without a label.
    """
    low, high = ((np.asarray(corner) - voxels.origin_m) / voxels.spacing_m for corner in (low_m, high_m))
    size = np.array(voxels.shape[::-1])
    first = np.clip(np.ceil(low - 1e-9), 0, size).astype(int)
    last = np.clip(np.floor(high + 1e-9) + 1, 0, size).astype(int)
    inside = tuple(slice(a, b) for a, b in zip(first[::-1], last[::-1], strict=True))
    flags = copied(voxels.flags)
    chosen = (flags[inside] == SOLID) | (flags[inside] == WALL)
    if not chosen.any():
        end_m = tuple((voxels.origin_m + voxels.spacing_m * (size - 1.0)).tolist())
        others = f"; solid voxels of the walls {', '.join(voxels.walls)} stay theirs" if voxels.walls else ""
        raise GeometryError(
            f"walls.{name}: its box from {tuple(low_m)} to {tuple(high_m)} m holds no solid voxel; the image extends"
            f" from {voxels.origin_m} to {end_m} m (voxel centres){others}"
        )
    walls = voxels.walls if name in voxels.walls else (*voxels.walls, name)
    flags[inside][chosen] = wall_flag(walls.index(name))
    return replace(voxels, flags=flags, walls=walls)


def add_solids(nodes: NodeList, voxels: Voxels, names) -> NodeList:
    """The node list extended by the voxels of labelled walls, with the labels of walls that touch these alone.

    Args:
        nodes: the fluid nodes.
        voxels: the image that they were built from.
        names: names of the walls that become nodes.

    Raises GeometryError: the image has no such wall, or the wall has no voxel.
    """
    behind = _walls_behind(voxels, names)
    voxel = [nodes.label_voxel, behind]
    number = [nodes.label_number, voxels.flags.flat[behind] - wall_flag(0) + np.uint8(FIRST_WALL_NUMBER)]
    solids = []
    for name in names:
        if name not in voxels.walls:
            raise GeometryError(f"no wall is named {name!r}; the walls are {', '.join(voxels.walls) or 'none'}")
        k = voxels.walls.index(name)
        own = np.concatenate(
            [layers.start * slab[0].size + np.flatnonzero(slab == wall_flag(k)) for layers, slab in slabs(voxels.flags)]
        )
        if own.size == 0:
            raise GeometryError(f"wall {name!r} has no voxel that could conduct")
        solids.append(own)
        voxel.append(own)
        number.append(np.full(own.size, FIRST_WALL_NUMBER + k, dtype=nodes.label_number.dtype))
    label_voxel, first = np.unique(np.concatenate(voxel), return_index=True)
    walls = tuple(replace(wall, is_solid=wall.is_solid or wall.name in names) for wall in nodes.walls)
    frame = replace(nodes, label_voxel=label_voxel, label_number=np.concatenate(number)[first], walls=walls)
    return regroup(frame, np.sort(np.concatenate((nodes.voxel, *solids))))


def add_regions(nodes: NodeList, regions: Mapping[str, np.ndarray]) -> NodeList:
    """The node list with labels of regions of its fluid, ascending voxel ids by name; voxels without a node are left
    out. Raises GeometryError: too many regions, or one without a node."""
    if len(regions) > MAX_REGIONS:
        raise GeometryError(f"{len(regions)} labelled regions of the fluid; at most {MAX_REGIONS} are supported")
    voxel, number, fluid = [nodes.label_voxel], [nodes.label_number], np.sort(nodes.voxel)
    for k, (name, ids) in enumerate(regions.items()):
        own = np.intersect1d(ids, fluid, assume_unique=True)
        if not own.size:
            raise GeometryError(f"no fluid node belongs to {name!r}: its voxels are cut off from the flow")
        voxel.append(own)
        number.append(np.full(own.size, FIRST_REGION_NUMBER + k, dtype=nodes.label_number.dtype))
    ids, numbers = np.concatenate(voxel), np.concatenate(number)
    order = np.argsort(ids, kind="stable")
    return replace(nodes, label_voxel=ids[order], label_number=numbers[order], regions=tuple(regions))


def in_region(nodes: NodeList, name: str, voxel: np.ndarray) -> np.ndarray:
    """(n,) whether voxel ids (n,) belong to a labelled region of the fluid; of the nodes of a rank, given its part."""
    number = FIRST_REGION_NUMBER + nodes.regions.index(name)
    return np.isin(voxel, nodes.label_voxel[nodes.label_number == number])


def _walls_behind(voxels: Voxels, names) -> np.ndarray:
    """Ascending ids of the voxels of labelled walls next to those of the walls of some names."""
    flags, solids = voxels.flags, [wall_flag(k) for k, name in enumerate(voxels.walls) if name in names]
    found = labelled_near(flags, voxels.periodic, solids)
    return found[flags.flat[found] >= wall_flag(0)]
