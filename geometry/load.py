"""One door for every input: a file of any known format, or the name of a shape, to Voxels."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType

from geometry import readers, surface
from geometry.errors import GeometryError
from geometry.gmy import read_gmy
from geometry.options import check_names
from geometry.readers import ImageRule
from geometry.shapes import build_shape
from geometry.tagged import read_tagged
from geometry.voxels import Voxels

SHAPE_PREFIX = "shape:"


def load_voxels(path, **options) -> Voxels:
    """Voxels of an input file, by its ending, or of ``"shape:NAME"``.

    Options by ending:
        ``.npy``: the attributes of :class:`geometry.readers.ImageRule` (fluid_value, fluid_below, spacing_m, ...);
        ``.raw``: those and shape_zyx, dtype, header_bytes;
        ``.mha``, ``.mhd``: those and unit;
        ``.tags``, ``.txt``: none (tagged nodes);
        ``.stl``, ``.obj``, ``.ply``: unit, spacing_m, margin;
        ``.gmy``: spacing_m, origin_m;
        ``shape:NAME``: the arguments of that function of :mod:`geometry.shapes`.

    Raises GeometryError for an unknown ending, shape or option, for a missing option and where the reader does.
    """
    text = str(path)
    if text.startswith(SHAPE_PREFIX):
        return build_shape(text.removeprefix(SHAPE_PREFIX), **options)
    ending = Path(path).suffix.lower()
    if ending not in LOADERS:
        raise GeometryError(
            f"input {text!r}: ending {ending!r} is not supported; allowed: {', '.join(LOADERS)}, or {SHAPE_PREFIX}NAME"
        )
    loader = LOADERS[ending]
    allowed = option_names(loader)
    check_names(options, allowed, f"option of a {ending} input")
    needed = [name for name, is_needed in allowed.items() if is_needed and name not in options]
    if needed:
        raise GeometryError(
            f"input {text!r}: a {ending} file needs the option{'s'[: len(needed) > 1]} {', '.join(needed)}"
        )
    try:
        return loader(path, **options)
    except GeometryError as error:
        raise GeometryError(str(error) if text in str(error) else f"{text}: {error}") from error


def option_names(loader: Callable) -> dict[str, bool]:
    """Name of each option of a loader, and whether it must be given; ``**rule`` stands for those of ImageRule."""
    names = {}
    for name, parameter in list(inspect.signature(loader).parameters.items())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            names |= {f.name: False for f in fields(ImageRule)}
        else:
            names[name] = parameter.default is parameter.empty
    return names


def _load_npy(path, **rule) -> Voxels:
    return readers.read_npy(path, ImageRule(**rule))


def _load_raw(path, shape_zyx, dtype, header_bytes, **rule) -> Voxels:
    return readers.read_raw(path, shape_zyx, dtype, header_bytes, ImageRule(**rule))


def _load_metaimage(path, unit="mm", **rule) -> Voxels:
    return readers.read_metaimage(path, ImageRule(**rule), unit)


def _load_tagged(path) -> Voxels:
    return read_tagged(path)


def _load_surface(path, unit, spacing_m, margin=surface.MIN_MARGIN) -> Voxels:
    return surface.voxelise(surface.read_surface(path, unit), spacing_m, margin)


def _load_gmy(path, spacing_m, origin_m=(0.0, 0.0, 0.0)) -> Voxels:
    return read_gmy(path, spacing_m, origin_m)


LOADERS: Mapping[str, Callable[..., Voxels]] = MappingProxyType(
    {
        ".npy": _load_npy,
        ".raw": _load_raw,
        ".mha": _load_metaimage,
        ".mhd": _load_metaimage,
        ".tags": _load_tagged,
        ".txt": _load_tagged,
        ".stl": _load_surface,
        ".obj": _load_surface,
        ".ply": _load_surface,
        ".gmy": _load_gmy,
    }
)
