"""CASE.h5: the group ``/geometry``, written by the preprocessing and read by the solver.

Layout (version 2): attributes ``version``, ``shape`` (nz, ny, nx), ``spacing_m``, ``origin_m`` (x, y, z), ``periodic``
(x, y, z); datasets ``voxel``, ``group_start``, ``label_voxel``, ``label_number`` as in
:class:`muphy_lb.geometry.nodes.NodeList`; one group ``openings/K`` per opening and ``walls/K`` per labelled wall, with
the fields of its record as attributes; optionally a group ``cuts`` with the datasets and ``n_missed`` of
:class:`muphy_lb.geometry.link_cuts.Cuts`. Other groups are not read, such as the ``neighbours`` that versions up to 0.5
wrote.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import h5py

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.link_cuts import Cuts, Wall
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import Opening

VERSION = 2
ARRAYS = ("voxel", "group_start", "label_voxel", "label_number")
CUT_ARRAYS = ("voxel", "direction", "distance")


def write_geometry(path, nodes: NodeList) -> None:
    """Write a node list to a new CASE.h5.

    The file is written under a temporary name and renamed when complete.

    Raises:
        GeometryError: the file cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with h5py.File(temporary, "w") as file:
            group = file.create_group("geometry")
            _write_nodes(group, nodes)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise GeometryError(f"cannot write {path}: {error}; check the folder, its rights and the free space") from error


def read_geometry(path) -> NodeList:
    """Read the node list of a CASE.h5.

    Raises:
        GeometryError: the file is missing, truncated, holds no geometry, or has another version.
    """
    with open_nodes(path) as nodes:
        return read_arrays(nodes)


def read_arrays(opened: NodeList) -> NodeList:
    """The node list of :func:`open_nodes` with all its arrays read into memory."""
    cuts = opened.cuts and replace(opened.cuts, **{name: getattr(opened.cuts, name)[...] for name in CUT_ARRAYS})
    return replace(opened, cuts=cuts, **{name: getattr(opened, name)[...] for name in ARRAYS})


@contextmanager
def open_nodes(path) -> Iterator[NodeList]:
    """The node list of a CASE.h5 opened for lazy reading: its arrays, except ``group_start``, are HDF5 datasets, of
    which a slice is read on access.

    Raises:
        GeometryError: as :func:`read_geometry`.
    """
    with _open_geometry(path) as group:
        arrays = {name: group[name] for name in ARRAYS}
        yield NodeList(
            **arrays | {"group_start": group["group_start"][...]},
            shape=tuple(int(size) for size in group.attrs["shape"]),
            spacing_m=float(group.attrs["spacing_m"]),
            origin_m=tuple(float(x) for x in group.attrs["origin_m"]),
            periodic=tuple(bool(p) for p in group.attrs["periodic"]),
            openings=tuple(_read_opening(group[f"openings/{k}"]) for k in range(len(group.get("openings", ())))),
            walls=tuple(_read_wall(group[f"walls/{k}"]) for k in range(len(group.get("walls", ())))),
            cuts=_open_cuts(group["cuts"]) if "cuts" in group else None,
        )


class _open_geometry:
    """Context manager of the versioned ``/geometry`` group; GeometryError for a missing, corrupt or foreign file."""

    def __init__(self, path):
        self.path = Path(path)

    def __enter__(self):
        if not self.path.is_file():
            raise GeometryError(f"there is no file {self.path}; make it with muphy-lb geometry INPUT {self.path.name}")
        try:
            self.file = h5py.File(self.path, "r")
        except OSError as error:
            raise GeometryError(
                f"{self.path} is not a readable HDF5 file (truncated?): {error}; make it anew"
            ) from error
        if "geometry" not in self.file:
            self.file.close()
            raise GeometryError(f"{self.path} has no group /geometry; make it with muphy-lb geometry INPUT OUT.h5")
        group = self.file["geometry"]
        if group.attrs.get("version") != VERSION:
            found = group.attrs.get("version")
            self.file.close()
            raise GeometryError(
                f"{self.path}: /geometry has version {found}, this program reads {VERSION}; make it anew"
            )
        return group

    def __exit__(self, *_):
        self.file.close()


def _write_nodes(group, nodes: NodeList) -> None:
    group.attrs["version"] = VERSION
    for name in ("shape", "spacing_m", "origin_m", "periodic"):
        group.attrs[name] = getattr(nodes, name)
    for name in ARRAYS:
        group.create_dataset(name, data=getattr(nodes, name))
    for folder, records in (("openings", nodes.openings), ("walls", nodes.walls)):
        for k, record in enumerate(records):
            group.create_group(f"{folder}/{k}").attrs.update(vars(record))
    if nodes.cuts is not None:
        cuts = group.create_group("cuts")
        cuts.attrs["n_missed"] = nodes.cuts.n_missed
        for name in CUT_ARRAYS:
            cuts.create_dataset(name, data=getattr(nodes.cuts, name))


def _read_opening(record) -> Opening:
    return Opening(
        name=str(record.attrs["name"]),
        kind=str(record.attrs["kind"]),
        centre_m=tuple(float(x) for x in record.attrs["centre_m"]),
        normal=tuple(float(x) for x in record.attrs["normal"]),
        radius_m=float(record.attrs["radius_m"]),
    )


def _read_wall(record) -> Wall:
    return Wall(str(record.attrs["name"]), int(record.attrs["n_voxels"]), bool(record.attrs.get("is_solid", False)))


def _open_cuts(group) -> Cuts:
    return Cuts(*(group[name] for name in CUT_ARRAYS), n_missed=int(group.attrs["n_missed"]))
