"""CASE.h5: the group ``/geometry``, written by the preprocessing, checked and read by the solver.

Layout (version 2): attributes ``version``, ``shape`` (nz, ny, nx), ``spacing_m``, ``origin_m`` (x, y, z), ``periodic``
(x, y, z); datasets ``voxel``, ``group_start``, ``label_voxel``, ``label_number`` as in
:class:`muphy_lb.geometry.nodes.NodeList`; one group ``openings/K`` per opening and ``walls/K`` per labelled wall, with
the fields of its record as attributes; attributes ``reservoir_layers``, ``reservoir_axis``, ``reservoir_ends`` of an
image that was given layers of fluid at its ends; optionally a group ``cuts`` with the datasets and ``n_missed`` of
:class:`muphy_lb.geometry.link_cuts.Cuts`. Headers and datasets carry checksums. Other groups are not read. All arrays
are checked before any kernel uses them as indices.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.files.hdf5 import CHECKSUMMED, opened, write_array, write_attributes
from muphy_lb.base.files.hdf5_input import MAX_NAME, InputGroup, input_file, is_name, shown
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.link_cuts import N_DIRECTIONS, Cuts, Wall, link_keys
from muphy_lb.geometry.neighbours import SHORTEST
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER, MAX_OPENINGS, MAX_WALLS, RESERVOIR_ENDS, Opening, Reservoirs

STRETCH = 1 << 20  # values looked at together
NO_LINK = N_DIRECTIONS // 2  # code of the zero vector

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
    listed = [np.empty(0, np.int64)]
    for group in groups:
        listed += _ascending(nodes.voxel, group, n_voxels, refusal)
    near = np.sort(np.concatenate(listed))
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
        area = np.zeros(0) if cuts.area is None else cuts.area[stretch]
        wrong = area[~((area >= 0.0) & np.isfinite(area))]
        if wrong.size:
            raise refusal("cuts/area", f"holds {wrong[0]}; allowed are finite numbers from 0 on")
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


VERSION, OF_RESERVOIRS = 2, "reservoir_"
ARRAYS = {"voxel": "int64", "group_start": "int64", "label_voxel": "int64", "label_number": "uint8"}
CUT_ARRAYS = {"voxel": "int64", "direction": "uint8", "distance": "float64"}
MAX_SIDE = 2**24  # voxels along an axis that a box may have: more than any image, few enough for arrays over one axis
MAX_VOXELS = 2**58  # voxels that a box may have: the keys of its links are 64-bit integers
SPACINGS_M = (1e-15, 1e15)  # edge of a voxel, within which no area and no time step overflows


def write_geometry(path, nodes: NodeList) -> None:
    """Write a node list to a new CASE.h5: the whole file, or none.

    Raises:
        GeometryError: a name or a length is such that the file would be refused when it is read.
        OutputError: the file cannot be written.
    """
    for name in (*(opening.name for opening in nodes.openings), *(wall.name for wall in nodes.walls)):
        if not is_name(name):
            raise GeometryError(f"the name {shown(ascii(name))} is not of 1 to {MAX_NAME} printable letters")
    if not SPACINGS_M[0] <= nodes.spacing_m <= SPACINGS_M[1]:
        raise GeometryError(f"voxel spacing is {nodes.spacing_m} m; allowed are {SPACINGS_M[0]} to {SPACINGS_M[1]}")
    for name, point_m in (("origin", nodes.origin_m), *((f"centre of {o.name!r}", o.centre_m) for o in nodes.openings)):
        if not np.all(np.isfinite(point_m)):
            raise GeometryError(f"the {name} is {point_m} m; it must be finite")
    with atomic_write(path) as temporary, opened(temporary, "w", CHECKSUMMED) as file:
        _write_nodes(file.create_group("geometry"), nodes)


def read_geometry(path) -> NodeList:
    """Read the node list of a CASE.h5. Raises GeometryError: the file is missing, holds no geometry, has another
    version, or anything in it is not as :class:`muphy_lb.geometry.nodes.NodeList` has it."""
    with open_nodes(path) as nodes:
        return read_arrays(nodes)


def read_arrays(opened_nodes: NodeList) -> NodeList:
    """The node list of :func:`open_nodes` with all its arrays read into memory."""
    cuts = opened_nodes.cuts
    stored = [*CUT_ARRAYS, *(("area",) if cuts and cuts.area is not None else ())]
    cuts = cuts and replace(cuts, **{name: getattr(cuts, name)[...] for name in stored})
    return replace(opened_nodes, cuts=cuts, **{name: getattr(opened_nodes, name)[...] for name in ARRAYS})


@contextmanager
def open_nodes(path, is_checked: bool = False) -> Iterator[NodeList]:
    """The node list of a CASE.h5 opened for lazy reading: its arrays, except ``group_start``, stay in the file, and a
    slice is read on access.

    Structure, types, sizes and attributes are checked whenever a file is opened, which takes no longer for a large one.
    The values of the arrays are read and checked once, by whoever opens the file first: the only rank, or rank 0 before
    it sends the header to the others (:class:`muphy_lb.setup.distribute.DistributedGeometry`). The other ranks, and
    rank 0 later on, say that they are checked; each then reads its own part only. Checksums of HDF5 still protect what
    they read.

    Args:
        path: the file.
        is_checked: the values of the arrays have been checked.

    Raises GeometryError: as :func:`read_geometry`.
    """
    with input_file(path, GeometryError, f"muphy-lb geometry INPUT {Path(path).name}") as file:
        geometry = file.subgroup("geometry")
        nodes = _open(geometry)
        if not is_checked:
            check_arrays(nodes, geometry.refusal)
        yield nodes


def _write_nodes(group, nodes: NodeList) -> None:
    frame = {name: getattr(nodes, name) for name in ("shape", "spacing_m", "origin_m", "periodic")}
    added = nodes.reservoirs._asdict() if nodes.reservoirs else {}
    frame |= {f"{OF_RESERVOIRS}{name}": value for name, value in added.items()}
    write_attributes(group, {"version": VERSION} | frame)
    for name in ARRAYS:
        write_array(group, name, getattr(nodes, name))
    for folder, records in (("openings", nodes.openings), ("walls", nodes.walls)):
        for k, record in enumerate(records):
            write_attributes(group.create_group(f"{folder}/{k}"), vars(record))
    if nodes.cuts is not None:
        cuts = group.create_group("cuts")
        write_attributes(cuts, {"n_missed": nodes.cuts.n_missed})
        for name in CUT_ARRAYS:
            write_array(cuts, name, getattr(nodes.cuts, name))
        if nodes.cuts.area is not None:
            write_array(cuts, "area", nodes.cuts.area)


def _open(group: InputGroup) -> NodeList:
    """The node list of ``/geometry``, its large arrays not read."""
    group.check_version(VERSION)
    shape = group.integers("shape", (3,), 1, MAX_SIDE)
    if math.prod(shape) >= MAX_VOXELS:
        raise group.refusal("shape", f"is {shape}; a box of less than {MAX_VOXELS} voxels is allowed")
    arrays: dict[str, Any] = {name: group.array(name, dtype) for name, dtype in ARRAYS.items()}
    spacing_m = group.reals("spacing_m")
    if not SPACINGS_M[0] <= spacing_m <= SPACINGS_M[1]:
        raise group.refusal("spacing_m", f"is {spacing_m}; allowed are {SPACINGS_M[0]} to {SPACINGS_M[1]}")
    return NodeList(
        **arrays | {"group_start": arrays["group_start"][...]},
        shape=shape,
        spacing_m=spacing_m,
        origin_m=group.reals("origin_m", (3,)),
        periodic=group.flags("periodic", (3,)),
        openings=_unique(group, [_opening(record) for record in group.records("openings", MAX_OPENINGS)]),
        walls=_unique(group, [_wall(record) for record in group.records("walls", MAX_WALLS)]),
        cuts=_cuts(group.subgroup("cuts")) if "cuts" in group else None,
        reservoirs=_reservoirs(group, shape),
    )


def _unique(group: InputGroup, records: list) -> tuple:
    """The records, if no two of them have one name."""
    names = [record.name for record in records]
    for name in names:
        if names.count(name) > 1:
            raise group.refusal("", f"holds two records of the name {name!r}; names must be unique")
    return tuple(records)


def _opening(record: InputGroup) -> Opening:
    try:
        return Opening(
            name=record.text("name"),
            kind=record.text("kind"),
            centre_m=record.reals("centre_m", (3,)),
            normal=record.reals("normal", (3,)),
            radius_m=record.reals("radius_m", is_finite=False),
        )
    except GeometryError as error:
        raise error if str(record.path) in str(error) else record.refusal("", str(error)) from error


def _wall(record: InputGroup) -> Wall:
    is_solid = record.has_attribute("is_solid") and record.flags("is_solid")
    return Wall(record.text("name"), record.integers("n_voxels", (), 0, MAX_VOXELS), is_solid)


def _reservoirs(group: InputGroup, shape: tuple[int, int, int]) -> Reservoirs | None:
    if not group.has_attribute(f"{OF_RESERVOIRS}axis"):
        return None
    axis, ends = (group.text(f"{OF_RESERVOIRS}{name}") for name in ("axis", "ends"))
    for name, given, allowed in (("axis", axis, tuple(AXES)), ("ends", ends, RESERVOIR_ENDS)):
        if given not in allowed:
            raise group.refusal(f"{OF_RESERVOIRS}{name}", f"is {given!r}; allowed are {', '.join(allowed)}")
    found = Reservoirs(group.integers(f"{OF_RESERVOIRS}layers", (), 1, MAX_SIDE), axis, ends)
    if sum(found.both) >= shape[2 - AXES.index(axis)]:
        raise group.refusal(f"{OF_RESERVOIRS}layers", f"is {found.layers}, which leaves nothing of the box {shape}")
    return found


def _cuts(group: InputGroup) -> Cuts:
    stored = CUT_ARRAYS | ({"area": np.float64} if "area" in group else {})
    arrays: dict[str, Any] = {name: group.array(name, dtype) for name, dtype in stored.items()}
    n_links = arrays["voxel"].size
    for name, array in arrays.items():
        if array.size != n_links:
            raise group.refusal(name, f"has {array.size} values for {n_links} links")
    return Cuts(**arrays, n_missed=group.integers("n_missed", (), 0, n_links))
