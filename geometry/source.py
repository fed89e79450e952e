"""Geometries of users: a file, a shape, an array or a surface in memory.

    geometry.read("aorta.stl", unit="mm").find_openings()
    geometry.voxelise(mesh, spacing_m=1e-4).preview()

An array of integers is read as images of rocks are: **zero is fluid, all else is solid**. Of an array of truth values
``fluid_value=True`` or ``fluid_value=False`` says which are fluid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.images.rule import Noted
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.load import FOLDER, IMAGES, LOADERS, SHAPE_PREFIX, file_ending, load_content, load_with_notes
from muphy_lb.geometry.openings.find import FoundOpening, openings_of_surface, openings_of_voxels, openings_table
from muphy_lb.geometry.openings.preview import openings_figure, views_of_surface, views_of_voxels
from muphy_lb.geometry.quantities import metres_per_unit
from muphy_lb.geometry.shapes.catalogue import SHAPES
from muphy_lb.geometry.surfaces.mend import Mended, mend
from muphy_lb.geometry.surfaces.readers import StoredSurface
from muphy_lb.geometry.surfaces.surface import FORMATS, Surface, merged_surface, read_surface
from muphy_lb.geometry.voxels import FLUID, Voxels

#: Names of the files that an array and a surface in memory are written to.
ARRAY_FILE, SURFACE_FILE = "geometry.npy", "geometry.ply"
FLUID_VALUE = 0  # value of the fluid voxels of an array of integers
THRESHOLDS = ("fluid_below", "fluid_above", "otsu")  # options by which grey values say what is fluid

#: Condition of an opening of each kind for which none is given.
USUAL: Mapping[str, Mapping[str, float]] = MappingProxyType({"inlet": {}, "outlet": {"pressure_pa": 0.0}})
#: Options that are keys of a case's table of the geometry; the others are its ``options``.
GEOMETRY_KEYS = ("unit", "spacing_m", "periodic")


class Openings(tuple[FoundOpening, ...]):
    """Openings that were found, shown as a table."""

    def tables(self, **conditions: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The openings as ``openings`` of a case, as in ``tables(inlet={"velocity_m_s": 0.1})``. ``conditions``: keys
        of the case by the name of an opening; without any, an outlet has the pressure zero. Raises GeometryError for a
        name that no opening has."""
        names = [item.opening.name for item in self]
        for name in conditions:
            if name not in names:
                raise GeometryError(f"no opening is named {shown(name)}; found: {', '.join(names) or 'none'}")
        return [item.table() | dict(conditions.get(item.opening.name, USUAL[item.opening.kind])) for item in self]

    def __repr__(self):
        return openings_table(self)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where fluid is; read when something of it is first asked for."""

    #: what the table ``geometry`` of a case says of it: ``file`` or ``shape``, ``spacing_m``, ``options``, ..
    table: Mapping[str, Any]
    #: image (nz, ny, nx) or (ny, nx), or surface, in memory: what the file would hold. None where there is a file or a
    #: shape.
    content: np.ndarray | Surface | None = field(default=None, repr=False)

    @cached_property
    def _loaded(self) -> Noted:
        return self._load(self._options)

    def _load(self, options: Mapping[str, Any]) -> Noted:
        if self.content is not None:
            return load_content(self.content, **options)
        shape = self.table.get("shape")
        return load_with_notes(f"{SHAPE_PREFIX}{shape}" if shape else self.table["file"], **options)

    @property
    def _options(self) -> dict[str, Any]:
        given = {key: self.table[key] for key in GEOMETRY_KEYS if key in self.table}
        return {**self.table.get("options", {}), **given}

    @property
    def voxels(self) -> Voxels:
        """The segmented image. Raises GeometryError as the readers do."""
        return self._loaded.voxels

    @property
    def fluid(self) -> np.ndarray:
        """(nz, ny, nx) truth values: where fluid is. Of an image it needs no voxel edge. Raises GeometryError as the
        readers do."""
        try:
            voxels = self.voxels
        except MissingOptionError:
            if not self._is_image or "resample_m" in self._options:
                raise
            voxels = self._load({**self._options, "spacing_m": 1.0}).voxels  # of any length: it is not handed on
        return voxels.flags == FLUID

    @property
    def _is_image(self) -> bool:
        file = self.table.get("file")
        return isinstance(self.content, np.ndarray) or (
            file is not None and file_ending(file) in chain(*IMAGES.values())
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the reader, one sentence each."""
        return self._loaded.notes

    @cached_property
    def _mended(self) -> Mended | None:
        """The closed surface; None for an image or a shape."""
        if isinstance(self.content, Surface):
            return mend(self.content)
        file = self.table.get("file")
        if file is None or Path(file).suffix.lower() not in FORMATS:
            return None
        if "unit" not in self.table:
            raise GeometryError(f"unit is missing: {file} does not say in which unit its coordinates are; give it")
        return mend(read_surface(file, self.table["unit"]))

    @property
    def surface(self) -> Surface | None:
        """The closed surface, triangles oriented outwards; None for an image or a shape."""
        return None if self._mended is None else self._mended.surface

    def find_openings(self) -> Openings:
        """The flat caps and open ends of a surface, which needs no voxel edge; where fluid touches the box of an image.
        Raises GeometryError for a surface that cannot be mended."""
        if self._mended is not None:
            return Openings(openings_of_surface(self._mended))
        return Openings(openings_of_voxels(self.voxels))

    def preview(self):
        """A matplotlib figure of three views with the openings; raises GeometryError as :meth:`find_openings`."""
        mended = self._mended
        views = views_of_voxels(self.voxels) if mended is None else views_of_surface(mended.surface)
        return openings_figure(views, self.find_openings())

    def write(self, folder) -> None:
        """Write what is in memory to the file that ``table`` names, in a folder; nothing where there is a file or a
        shape already."""
        if self.content is None:
            return
        with atomic_write(Path(folder) / self.table["file"]) as temporary, open(temporary, "wb") as file:
            if isinstance(self.content, Surface):
                import meshio

                mesh = meshio.Mesh(self.content.points_m, [("triangle", self.content.triangles.astype(np.int32))])
                meshio.ply.write(file, mesh, binary=True)
            else:
                np.save(file, self.content)

    def __repr__(self):
        said = ", ".join(f"{key} = {value!r}" for key, value in self.table.items())
        if "_loaded" not in self.__dict__:
            return f"Geometry({said})"
        nz, ny, nx = self.voxels.shape
        size = f"{nx} x {ny} x {nz} voxels of {self.voxels.spacing_m:g} m, {self.voxels.n_fluid} fluid"
        return f"Geometry({said}; {size})"


def read(source, **options) -> Geometry:
    """A geometry from the path of an image or a surface, the name of a shape, an array or a surface.

    Args:
        source: path; name of a shape; an array (nz, ny, nx) or (ny, nx) of integers, **0 where there is fluid**, or of
            truth values, with ``fluid_value=True`` or ``False``; a surface of PyVista (``PolyData``) or meshio
            (``Mesh``), or a pair (points, triangles), in metres unless ``unit`` says otherwise; a :class:`Geometry`.
        options: ``unit``, ``spacing_m``, ``periodic`` (axes), and those of :func:`muphy_lb.geometry.load.load_voxels`.

    Raises GeometryError for something else, and for truth values of which nothing says which are fluid; a file is read
    only when something of it is asked for.
    """
    keys = {key: options.pop(key) for key in GEOMETRY_KEYS if key in options}
    table = {**keys, **({"options": options} if options else {})}
    if isinstance(source, Geometry):
        earlier = source.table.get("options", {})
        if _has_threshold(options):
            earlier = {name: value for name, value in earlier.items() if name not in ("fluid_value", *THRESHOLDS)}
        both = {**earlier, **options}
        return Geometry({**source.table, **table, **({"options": both} if both else {})}, source.content)
    if isinstance(source, np.ndarray):
        array = _checked(source, options)
        return Geometry({"file": ARRAY_FILE, **keys, "options": _with_fluid_value(array, options)}, array)
    if isinstance(source, str | Path):
        return Geometry({**_named(source), **table})
    content = _surface(source, keys.pop("unit", "m"))
    return Geometry({"file": SURFACE_FILE, "unit": "m", **keys, "options": options}, content)


def voxelise(surface, spacing_m: float, unit: str | None = None, **options) -> Geometry:
    """The voxels inside a surface: a file, or a surface as of :func:`read`.

    Args:
        spacing_m: edge of a voxel [m].
        unit: unit of its coordinates; needed for files, metres for what is in memory.
        options: ``margin``, ``vote``, and steps of a preparation.

    Raises GeometryError for a surface that cannot be repaired, and for a voxel edge at which no voxel is inside.
    """
    given = {} if unit is None else {"unit": unit}
    geometry = read(surface, spacing_m=spacing_m, **given, **options)
    if isinstance(geometry.content, np.ndarray) or "shape" in geometry.table:
        raise GeometryError(f"voxelise: {_what(surface)} is not a surface; give it to read()")
    _ = geometry.voxels
    return geometry


def _what(source) -> str:
    return f"an array of shape {source.shape}" if isinstance(source, np.ndarray) else shown(source)


def _named(source) -> dict[str, str]:
    text = str(source)
    if text in SHAPES:
        return {"shape": text}
    if file_ending(source) not in LOADERS or (file_ending(source) != FOLDER and not Path(source).suffix):
        raise GeometryError(
            f"{shown(text)} is neither a shape ({', '.join(SHAPES)}) nor a file of a known ending"
            f" ({', '.join(LOADERS)})"
        )
    return {"file": text}


def _has_threshold(options: Mapping) -> bool:
    return any(options.get(name) is not None for name in THRESHOLDS)


def _with_fluid_value(array: np.ndarray, options: Mapping) -> dict[str, Any]:
    """The options of an array, which say what is fluid."""
    value = options.get("fluid_value")
    if _has_threshold(options):
        return dict(options)
    if array.dtype.kind != "b":
        return {"fluid_value": FLUID_VALUE, **options}
    if value is None:
        share = np.count_nonzero(array) / array.size
        raise GeometryError(
            f"the array is Boolean, and nothing defines which are fluid; give fluid_value=True (porosity"
            f" {share:.4g}) or fluid_value=False (porosity {1.0 - share:.4g})"
        )
    return {**options, "fluid_value": int(value) if isinstance(value, bool | np.bool_) else value}


def _checked(array: np.ndarray, options: Mapping) -> np.ndarray:
    """An array that can say where fluid is."""
    if array.ndim not in (2, 3) or array.size == 0:
        raise GeometryError(
            f"the array has shape {array.shape}; allowed: (nz, ny, nx) or (ny, nx), with one voxel or more"
        )
    if array.dtype.kind not in "iub" and not (_has_threshold(options) and array.dtype.kind == "f"):
        raise GeometryError(
            f"the array holds values of type {array.dtype}; allowed: integers, 0 where there is fluid, or Booleans:"
            " give fluid_below, fluid_above or otsu for grey values, or compare them with a threshold first, as in"
            " image > 0.5 with fluid_value=True"
        )
    return array


def _surface(source, unit: str) -> Surface:
    """A surface from what meshio, PyVista or a user holds."""
    points, corners = _points_and_triangles(source)
    problem = f"the surface ({type(source).__name__})"
    if corners.ndim != 2 or corners.shape[1:] != (3,) or not len(corners):
        raise GeometryError(f"{problem} has triangles of shape {corners.shape}; allowed: (n, 3), n above zero")
    return merged_surface(StoredSurface(points, corners), metres_per_unit(unit), problem)


def _points_and_triangles(source) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(source, "regular_faces") and hasattr(source, "triangulate"):  # pyvista.PolyData
        triangles = source.triangulate()
        return np.array(triangles.points, dtype=np.float64), np.array(triangles.regular_faces, dtype=np.int64)
    if hasattr(source, "cells_dict") and hasattr(source, "points"):  # meshio.Mesh
        found = source.cells_dict
        quads = np.asarray(found.get("quad", np.empty((0, 4))), dtype=np.int64)
        parts = [np.asarray(found.get("triangle", np.empty((0, 3)))), quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
        return np.array(source.points, dtype=np.float64), np.concatenate(parts).astype(np.int64)
    if isinstance(source, tuple) and len(source) == 2:
        return np.array(source[0], dtype=np.float64), np.array(source[1], dtype=np.int64)
    raise GeometryError(
        f"a geometry is of type {type(source).__name__}; allowed: a path, the name of a shape, a NumPy array, a PyVista"
        " PolyData, a meshio Mesh, or a pair (points, triangles)"
    )
