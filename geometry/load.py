"""Loading of every kind of input: a file of any supported format, or an analytic shape, to Voxels."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import PERIODIC
from muphy_lb.geometry.displaced_wall import (
    DISPLACEMENT_NAMES,
    WallDisplacement,
    displaced_surface,
    displaced_voxels,
)
from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.gmy import read_gmy
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.rule import ImageRule, Noted
from muphy_lb.geometry.limits import regular_file, shown
from muphy_lb.geometry.openings.find import with_surface_ends
from muphy_lb.geometry.options import check_flag, check_names, check_text, split_options
from muphy_lb.geometry.porous.preparation import PREPARATION_NAMES, Preparation
from muphy_lb.geometry.repeats import Axes, prepared, split_periodic
from muphy_lb.geometry.rotation import ROTATION_NAMES, Rotation, rotated_surface, rotated_voxels
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.shapes.packings import SphereList, sphere_list
from muphy_lb.geometry.surfaces import surface
from muphy_lb.geometry.surfaces.mend import Mended, close_roughly, mend
from muphy_lb.geometry.surfaces.surface import Surface, voxelise_by_votes
from muphy_lb.geometry.tagged import read_tagged
from muphy_lb.geometry.voxels import Voxels

SHAPE_PREFIX = "shape:"
TEXTS = ("array", "frame", "dtype")  # options that are texts
BARE_FORMATS = (".npy", ".npz", ".raw")  # images that never state their voxel edge

FOLDER = "folder"
IMAGES_FOLDER = "muphy_lb.geometry.images"


class Moves(NamedTuple):
    """The moves of an input: of its wall, and then of all of it."""

    displacement: WallDisplacement = WallDisplacement()
    rotation: Rotation = Rotation()

    def surface(self, mended: Mended) -> Mended:
        """A closed surface that is moved, with a note on each move."""
        if self.displacement:
            mended = displaced_surface(mended, self.displacement)
            mended = replace(mended, notes=(*mended.notes, str(self.displacement)))
        return rotated_surface(mended, self.rotation)


MOVE_NAMES = (*DISPLACEMENT_NAMES, *ROTATION_NAMES)
UNMOVED = Moves()


def _split_moves(options: Mapping[str, Any]) -> tuple[Moves, dict[str, Any]]:
    displacement, options = split_options(WallDisplacement, options)
    rotation, options = split_options(Rotation, options)
    return Moves(displacement, rotation), options


def load_voxels(path, **options) -> Voxels:
    """Voxels of an input file (by its extension), of a folder of TIFF or DICOM files, or of ``"shape:NAME"``.

    Options by extension; images accept these and the attributes of :class:`muphy_lb.geometry.images.rule.ImageRule`
    (fluid_value, fluid_below, otsu, spacing_m, ...):

    - ``.npy``: none further;
    - ``.tif``, ``.tiff``: channel, time (of several, counted from 0);
    - ``.dcm``, ``.ima`` (the series in the folder of that file), a folder: frame;
    - ``.npz``: array;
    - ``.raw``: shape_zyx, dtype, header_bytes;
    - ``.mha``, ``.mhd``, ``.nrrd``, ``.nhdr``, ``.nii``, ``.nii.gz``, ``.hdr``: unit, frame;
    - ``.vti``: unit, array, frame;
    - ``.vtu``, ``.pvtu``: unit, array.

    Options of other inputs:

    - ``.tags``: none (tagged nodes);
    - ``.xyz``: spacing_m, unit, radius, low, high, numbered (spheres, see
      :class:`muphy_lb.geometry.shapes.packings.SphereList`);
    - ``.txt``: tagged nodes, or, with radius, the options of spheres;
    - ``.stl``, ``.obj``, ``.ply``, ``.vtp``: unit, spacing_m, margin, vote;
    - ``.gmy``: spacing_m, origin_m;
    - ``shape:NAME``: the arguments of that function of :mod:`muphy_lb.geometry.shapes.catalogue`.

    All inputs: periodic, the axes along which the box repeats, such as ``"xy"``; the attributes of
    :class:`muphy_lb.geometry.porous.preparation.Preparation` (crop, invert, ...) and, ahead of these,
    :class:`muphy_lb.geometry.displaced_wall.WallDisplacement` (wall_moved_m, ...), and behind them
    :class:`muphy_lb.geometry.rotation.Rotation` (rotation_deg, ...).

    Raises GeometryError for an unknown extension, shape or option, for a missing option and as the readers do.
    """
    return load_with_notes(path, **options).voxels


def load_with_notes(path, **options) -> Noted:
    """Voxels as of :func:`load_voxels`, with notes on resampling, thresholds and preparation."""
    moves, options = _split_moves(options)
    preparation, options = split_options(Preparation, options)
    periodic, options = split_periodic(options)
    loaded = prepared(_load(path, options, periodic, moves, preparation), preparation, periodic)
    return loaded if LOADERS.get(file_ending(path)) is _load_surface else rotated_voxels(loaded, moves.rotation)


def load_content(content: np.ndarray | Surface, **options) -> Noted:
    """As :func:`load_with_notes`, of an image (nz, ny, nx) or (ny, nx) or a surface in memory, which has its ``unit``.
    Raises GeometryError as that does."""
    moves, options = _split_moves(options)
    preparation, options = split_options(Preparation, options)
    periodic, options = split_periodic(options)
    is_surface = isinstance(content, Surface)
    if is_surface:
        options.pop("unit", None)
    allowed = option_names(_voxels_of_surface) if is_surface else [f.name for f in fields(ImageRule)]
    check_names(
        options,
        dict.fromkeys((*allowed, PERIODIC, *PREPARATION_NAMES, *MOVE_NAMES)),
        f"option of {'a surface' if is_surface else 'an array'}",
    )
    if is_surface and options.get("spacing_m") is None:
        raise MissingOptionError("the surface needs the voxel edge [m]", ["spacing_m"])
    if isinstance(content, Surface):
        return prepared(_voxels_of_surface(content, **options, moves=moves), preparation, periodic)
    loaded = _displaced(_segmented(content, options), moves.displacement, preparation, periodic)
    return rotated_voxels(prepared(loaded, preparation, periodic), moves.rotation)


def _displaced(loaded: Noted, displacement: WallDisplacement, preparation: Preparation, periodic: Axes | None) -> Noted:
    """Voxels whose wall is moved as one that repeats where it was drawn so, and where the ends of the box are asked to
    meet."""
    if not displacement:
        return loaded
    drawn, kept = loaded.voxels.periodic, preparation.keeps_ends(loaded.voxels.shape[::-1])
    meets = zip(drawn, kept, periodic or drawn, strict=True)
    return displaced_voxels(loaded, displacement, triple(was or (stays and asked) for was, stays, asked in meets))


def _segmented(content: np.ndarray, options: Mapping) -> Noted:
    try:
        return ImageRule(**options).segment(Image(content))
    except MissingOptionError as error:
        raise MissingOptionError(error.problem.replace("it ", "an array ", 1), error.names) from error


def _load(
    path,
    options: Mapping[str, Any],
    periodic: Axes | None,
    moves: Moves,
    preparation: Preparation,
) -> Noted:
    """The voxels of an input before any preparation, and not yet rotated but for those of a surface; spheres of a list
    come in again where the box is periodic."""
    text = str(path)
    if text.startswith(SHAPE_PREFIX):
        if options.get("spacing_m") is None:
            raise MissingOptionError(f"{text}: the voxels of a shape have any edge [m]", ["spacing_m"])
        shape = Noted(build_shape(text.removeprefix(SHAPE_PREFIX), **options), ())
        return _displaced(shape, moves.displacement, preparation, periodic)
    ending = file_ending(path)
    if ending not in LOADERS:
        raise GeometryError(
            f"input {text!r}: ending {shown(ending)} is not supported; allowed: {', '.join(LOADERS)}, or"
            f" {SHAPE_PREFIX}NAME"
        )
    if ending != FOLDER:
        regular_file(path)
    loader = LOADERS[ending]
    allowed = option_names(loader)
    if periodic is not None and loader in DRAWN_PERIODIC:
        options = {**options, PERIODIC: periodic}
    check_names(
        options,
        dict.fromkeys((*allowed, PERIODIC, *PREPARATION_NAMES, *MOVE_NAMES)),
        f"option of a {ending} input",
    )
    needed = [name for name, is_needed in allowed.items() if is_needed and name not in options]
    if needed:
        raise MissingOptionError(
            f"input {text!r}: a {ending} file needs the option{'s'[: len(needed) > 1]} {', '.join(needed)}", needed
        )
    check_text(**{name: options.get(name) for name in TEXTS})
    try:
        if loader is _load_surface:
            return _load_surface(path, **options, moves=moves)
        loaded = loader(path, **options)
    except MissingOptionError as error:
        problem = error.problem if text in error.problem else f"{text}: {error.problem}"
        raise MissingOptionError(problem, error.names) from error
    except GeometryError as error:
        raise GeometryError(str(error) if text in str(error) else f"{text}: {error}") from error
    noted = loaded if isinstance(loaded, Noted) else Noted(loaded, ())
    return _displaced(noted, moves.displacement, preparation, periodic)


def file_ending(path) -> str:
    """The key of the loader: the file extension in lower case (both of ``.nii.gz``), or ``"folder"``."""
    path = Path(path)
    name = path.name.lower()
    double = next((ending for ending in LOADERS if ending.count(".") > 1 and name.endswith(ending)), None)
    return double or (FOLDER if os.path.isdir(path) else path.suffix.lower())


def option_names(loader: Callable) -> dict[str, bool]:
    """Name of each option of a loader, and whether it is required; ``**rule`` stands for those of ImageRule. Names that
    stand behind a star are no options of its own."""
    names: dict[str, bool] = {}
    for name, parameter in list(inspect.signature(loader).parameters.items())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            names |= {f.name: False for f in fields(ImageRule)}
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names[name] = parameter.default is parameter.empty
    return names


class ImageLoader:
    """A loader that reads and segments an image; it takes the options of its reader, which is imported on first use,
    and those of ImageRule.

    Args:
        reader: module in ``geometry/images`` and function of it, as in ``"nrrd.read_nrrd"``.
    """

    def __init__(self, reader: str):
        self._module, self._name = reader.split(".")

    @cached_property
    def _read(self) -> Callable[..., Image]:
        return getattr(import_module(f"{IMAGES_FOLDER}.{self._module}"), self._name)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self._read)
        rule = inspect.Parameter("rule", inspect.Parameter.VAR_KEYWORD)
        return signature.replace(parameters=[*signature.parameters.values(), rule], return_annotation=Noted)

    def __call__(self, path, **options) -> Noted:
        reading = {name: options.pop(name) for name in inspect.signature(self._read).parameters if name in options}
        return ImageRule(**options).segment(self._read(path, **reading))


def closed_surface(content: Surface, options: Mapping[str, Any]) -> Mended:
    """A surface, repaired and moved according to the options of its reader."""
    mended = close_roughly(content) if options.get("vote") else mend(content)
    return _split_moves(options)[0].surface(mended)


def _load_surface(path, unit, spacing_m, margin=surface.MIN_MARGIN, vote=False, *, moves=UNMOVED) -> Noted:
    check_flag(vote=vote)
    return _voxels_of_surface(surface.read_surface(path, unit), spacing_m, margin, vote, moves=moves)


def _voxels_of_surface(
    content: Surface, spacing_m, margin=surface.MIN_MARGIN, vote=False, *, moves: Moves = UNMOVED
) -> Noted:
    check_flag(vote=vote)
    mended = moves.surface(close_roughly(content) if vote else mend(content))
    if vote:
        voxels, note = voxelise_by_votes(mended.surface, spacing_m, margin)
        return Noted(with_surface_ends(voxels, mended), (*mended.notes, note))
    return Noted(with_surface_ends(surface.voxelise(mended.surface, spacing_m, margin), mended), mended.notes)


def _load_text(path, **options) -> Voxels:
    """A file of tagged nodes or, if a radius is given, of sphere centres."""
    if options.get("radius") is None and options.keys() - {PERIODIC}:
        raise GeometryError(f"{path}: tagged nodes take no options; a list of spheres needs radius")
    if options.get("radius") is None:
        return read_tagged(path)
    if options.get("spacing_m") is None:
        raise MissingOptionError(f"{path}: a list of spheres needs the voxel edge [m]", ["spacing_m"])
    return sphere_list(path, **options)


_parameters = inspect.signature(SphereList).parameters.values()
_load_text.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [each.replace(default=None) if each.name == "spacing_m" else each for each in _parameters]
)


DRAWN_PERIODIC = (sphere_list, _load_text)  # loaders that draw bodies, each of them again where the box repeats

IMAGES: Mapping[str, tuple[str, ...]] = {
    "arrays.read_npy": (".npy",),
    "arrays.read_npz": (".npz",),
    "arrays.read_raw": (".raw",),
    "metaimage.read_metaimage": (".mha", ".mhd"),
    "nrrd.read_nrrd": (".nrrd", ".nhdr"),
    "nifti.read_nifti": (".nii", ".nii.gz", ".hdr"),
    "tiff.read_tiff": (".tif", ".tiff"),
    "dicom.read_dicom": (".dcm", ".ima"),
    "dicom.read_folder": (FOLDER,),
    "vtk.read_vti": (".vti",),
    "vtk.read_vtu": (".vtu", ".pvtu"),
}
"""Endings of files by the reader of :class:`ImageLoader`."""

LOADERS: Mapping[str, Callable[..., Voxels | Noted]] = MappingProxyType(
    {ending: ImageLoader(reader) for reader, endings in IMAGES.items() for ending in endings}
    | {
        ".tags": read_tagged,
        ".txt": _load_text,
        ".xyz": sphere_list,
        ".stl": _load_surface,
        ".obj": _load_surface,
        ".ply": _load_surface,
        ".vtp": _load_surface,
        ".gmy": read_gmy,
    }
)
