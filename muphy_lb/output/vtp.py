"""Triangles with values at their corners for ParaView, PyVista and vmtk (``.vtp``), also with those of wall nodes.
Format: VTK file formats documentation, "PolyData", numbers as raw appended data. Units are stored where VTK looks for
them, under the key UNITS_LABEL of each array."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import numpy as np

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.triangles import area_vectors, unit_vectors

TYPES = {np.dtype(np.float32): "Float32", np.dtype(np.float64): "Float64", np.dtype(np.int64): "Int64"}


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles with values at their corners."""

    points_m: np.ndarray  #: (p, 3) positions [m]
    triangles: np.ndarray  #: (t, 3) numbers of their points
    fields: Mapping[str, np.ndarray]  #: (p,) or (p, 3) values at the points by name
    units: Mapping[str, str] = field(default_factory=dict)  #: unit of each field by name
    shown: str = ""  #: name of the field that a viewer colours at first


def write_vtp(path: str | os.PathLike, surface: Triangles) -> None:
    """Write a ``.vtp`` file. Raises OutputError: the file cannot be written."""
    n_points, n_triangles, blocks = len(surface.points_m), len(surface.triangles), _Blocks()
    values = "".join(
        blocks.add(name, np.asarray(each, dtype=np.float32), surface.units.get(name, ""))
        for name, each in surface.fields.items()
    )
    points = blocks.add("Points", np.asarray(surface.points_m, dtype=np.float64), "m")
    corners = blocks.add("connectivity", surface.triangles.astype(np.int64).ravel())
    ends = blocks.add("offsets", 3 * np.arange(1, n_triangles + 1, dtype=np.int64))
    text = (
        f'<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" byte_order="{sys.byteorder.title()}Endian"'
        f' header_type="UInt64">\n<PolyData>\n<Piece NumberOfPoints="{n_points}" NumberOfPolys="{n_triangles}">\n'
        f'<PointData Scalars="{escape(surface.shown)}">\n{values}</PointData>\n<Points>\n{points}</Points>\n'
        f'<Polys>\n{corners}{ends}</Polys>\n</Piece>\n</PolyData>\n<AppendedData encoding="raw">\n_'
    )
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        file.write(text.encode())
        for block in blocks.contents:
            file.write(np.uint64(block.nbytes).tobytes() + block.tobytes())
        file.write(b"\n</AppendedData>\n</VTKFile>\n")


class _Blocks:
    """Arrays that are appended to a file, each behind its number of bytes."""

    def __init__(self) -> None:
        self.contents: list[np.ndarray] = []
        self._offset = 0

    def add(self, name: str, values: np.ndarray, unit: str = "") -> str:
        """The element of an array, which is appended."""
        self.contents.append(np.ascontiguousarray(values))
        offset, self._offset = self._offset, self._offset + 8 + values.nbytes
        n_components = values.shape[1] if values.ndim == 2 else 1
        key = f'<InformationKey name="UNITS_LABEL" location="vtkDataArray">{escape(unit)}</InformationKey>'
        return (
            f'<DataArray type="{TYPES[values.dtype]}" Name="{escape(name)}" NumberOfComponents="{n_components}"'
            f' format="appended" offset="{offset}">{key if unit else ""}</DataArray>\n'
        )


NEAREST, REACH = 12, 2.0
"""A point takes values of at most so many wall nodes, whose walls are at most so far away [voxels]."""

SAME_SIDE = 0.3  # smallest cosine between the normals of a point and of a node that lies on the same side of a wall


def on_surface(surface: Surface, wall_m: np.ndarray, normal: np.ndarray, spacing_m: float) -> "SurfaceWeights":
    """How values at points of the wall are carried over to the vertices of a surface.

    Args:
        surface: triangles, oriented outwards.
        wall_m: (m, 3) points of the wall [m].
        normal: (m, 3) unit vectors out of the fluid there.
    """
    from scipy.spatial import cKDTree

    of_points = np.zeros_like(surface.points)
    for corner in range(3):
        np.add.at(of_points, surface.triangles[:, corner], area_vectors(surface.points, surface.triangles))
    distance, index = cKDTree(wall_m).query(surface.points_m, min(NEAREST, len(wall_m)), workers=1)
    distance, index = (np.reshape(found, (len(surface.points), -1)) for found in (distance, index))
    facing = np.einsum("pi,pki->pk", unit_vectors(of_points), normal[index])
    weight = np.where((distance <= REACH * spacing_m) & (facing > SAME_SIDE), 1.0, 0.0)
    weight /= (distance / spacing_m) ** 2 + 0.25
    return SurfaceWeights(surface, index, weight)


class SurfaceWeights:
    """Weights (p, k) of wall nodes ``index`` (p, k) at the p vertices of a surface."""

    def __init__(self, surface: Surface, index: np.ndarray, weight: np.ndarray):
        self._surface, self._index = surface, index
        total = weight.sum(axis=1, keepdims=True)
        self._there = total[:, 0] > 0.0
        self._weight = weight / np.where(total > 0.0, total, 1.0)

    def values(self, of_nodes: np.ndarray) -> np.ndarray:
        """(p, ...) values at the vertices of values (m, ...) of wall nodes; nan where no wall node is near."""
        found = np.einsum("pk,pk...->p...", self._weight, of_nodes[self._index])
        found[~self._there] = np.nan
        return found

    def triangles(self, fields: Mapping[str, np.ndarray], units: Mapping[str, str], shown: str) -> Triangles:
        """The triangles whose three corners have a value, with those of (m, ...) ``fields`` of nodes.

        Args:
            fields: values by name.
            units: unit of each field by name.
            shown: name of the field that a viewer colours at first.
        """
        triangles = self._surface.triangles
        used, corners = np.unique(triangles[self._there[triangles].all(axis=1)], return_inverse=True)
        data = {name: self.values(values)[used] for name, values in fields.items()}
        return Triangles(self._surface.points_m[used], corners.reshape(-1, 3), data, units, shown)
