"""Reader of NIfTI-1 and NIfTI-2 files (``.nii``, ``.nii.gz``, ``.hdr`` with ``.img``).

Voxels are stored i fastest. The affine map (the s-form, else the q-form, else the voxel lengths alone) gives the step
along each axis and the centre of the first voxel, x to the right, y to the front, z to the head. Source: the header
files nifti1.h and nifti2.h of nifti.nimh.nih.gov.
"""

import gzip
import struct
import zlib
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, Scaled, along_axes
from muphy_lb.geometry.images.stored import Layout, inflated, mapped, read_start
from muphy_lb.geometry.quantities import metres_per_unit

TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
UNITS = {0: "mm", 1: "m", 2: "mm", 3: "um"}
GZIP_MAGIC = b"\x1f\x8b"


HEADER_BYTES = (348, 540)  # of NIfTI-1 and of NIfTI-2; the first number of a header is its own length

#: (form, byte) of the entries used, in either version.
FIELDS = {
    "magic": (("4s", 344), ("4s", 4)),
    "datatype": (("h", 70), ("h", 12)),
    "dim": (("8h", 40), ("8q", 16)),
    "pixdim": (("8f", 76), ("8d", 104)),
    "vox_offset": (("f", 108), ("q", 168)),
    "scale": (("2f", 112), ("2d", 176)),
    "codes": (("2h", 252), ("2i", 344)),
    "quaternion": (("6f", 256), ("6d", 352)),
    "rows": (("12f", 280), ("12d", 400)),
    "units": (("B", 123), ("i", 500)),
}


def read_nifti(path, unit: str | None = None, frame: str = "world") -> Image:
    """Image of a NIfTI file, memory-mapped unless compressed.

    Args:
        unit: length unit of the header; ``None``: the one stated there, else mm.
        frame: as in :func:`muphy_lb.geometry.images.image.along_axes`.

    Raises GeometryError for a missing or truncated file, an unsupported type, and more than one volume.
    """
    header = _header(path)
    if not header.magic.startswith((b"n+", b"ni")):
        raise GeometryError(f"{path}: its magic is {header.magic!r}; allowed: n+1, ni1, n+2, ni2 (NIfTI, not Analyze)")
    n_axes, *counts = header.dim
    if not 1 <= n_axes <= 7 or min(counts[:n_axes]) < 1 or header.offset < 0:
        raise GeometryError(f"{path}: dim is {header.dim}, vox_offset {header.offset}; allowed: counts above zero")
    counts = [*counts[:n_axes], 1, 1]
    if n_axes > 3 and max(counts[3:n_axes]) > 1:
        raise GeometryError(f"{path} holds several volumes (dim is {header.dim}); store one volume of three axes")
    shape = tuple(reversed(counts[:3]))
    if header.datatype not in TYPES:
        raise GeometryError(f"{path}: datatype is {header.datatype}; allowed: {', '.join(map(str, TYPES))}")
    kind = np.dtype(header.order + TYPES[header.datatype])
    data_path = path if header.magic.startswith(b"n+") else _image_file(path)
    said = f"dim {header.dim[: header.dim[0] + 1]} with datatype {header.datatype} from byte {header.offset}"
    layout = Layout(kind, shape, said, lambda held: "correct dim, datatype or vox_offset of its header")
    offset = header.offset if data_path is path or header.offset > 0 else 0
    if read_start(data_path, 2) == GZIP_MAGIC:
        values = inflated(data_path, layout, 0, offset)
    else:
        values = mapped(data_path, layout, offset)
    metres = metres_per_unit(unit or UNITS.get(header.units & 7, "mm"))
    steps, origin = _affine(header)
    image = along_axes(values, steps * metres, origin * metres, frame)
    slope, shift = header.scale
    is_plain = slope == 0.0 or (slope, shift) == (1.0, 0.0)
    if is_plain or not np.isfinite([slope, shift]).all():
        return image
    return Image(Scaled(image.values, slope, shift), image.spacing_m, image.origin_m, image.notes)


def _header(path) -> SimpleNamespace:
    """The entries ``FIELDS`` of a header, with the ``order`` of its bytes and the ``offset`` of voxels."""
    opened = gzip.open if read_start(path, 2) == GZIP_MAGIC else open
    try:
        with opened(path, "rb") as file:
            content = file.read(max(HEADER_BYTES))
    except (OSError, EOFError, zlib.error) as error:
        raise GeometryError(f"cannot read {path}: its compressed data are broken or truncated ({error})") from error
    for order, (version, size) in product("<>", enumerate(HEADER_BYTES)):
        if len(content) >= size and struct.unpack_from(order + "i", content)[0] == size:
            entries: dict[str, Any] = {}
            for name, places in FIELDS.items():
                values = struct.unpack_from(order + places[version][0], content, places[version][1])
                entries[name] = values if len(values) > 1 else values[0]
            offset = entries["vox_offset"]
            return SimpleNamespace(order=order, offset=int(offset) if np.isfinite(offset) else -1, **entries)
    raise GeometryError(f"cannot read {path}: it has no NIfTI header (of 348 or 540 bytes); is it a NIfTI file?")


def _image_file(path) -> Path:
    """The ``.img`` or ``.img.gz`` file that belongs to a ``.hdr`` file."""
    text = str(path).removesuffix(".gz").removesuffix(".hdr")
    found = [Path(text + ending) for ending in (".img", ".img.gz") if Path(text + ending).exists()]
    if not found:
        raise GeometryError(f"cannot read {path}: its voxel file {text}.img is missing")
    return found[0]


def _affine(header: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    """((3, 3) steps along the file axes as columns, (3,) origin), in the unit of the header."""
    lengths = np.array([abs(length) for length in header.pixdim[1:4]])
    lengths[header.dim[0] :] = lengths[: header.dim[0]].min()
    q_code, s_code = header.codes
    if s_code > 0:
        rows = np.reshape(header.rows, (3, 4))
        return rows[:, :3], rows[:, 3]
    if q_code > 0:
        *quaternion, x, y, z = header.quaternion
        signs = np.array([1.0, 1.0, -1.0 if header.pixdim[0] < 0 else 1.0])
        return _rotation(quaternion) * lengths * signs, np.array([x, y, z])
    return np.diag(lengths), np.zeros(3)


def _rotation(quaternion) -> np.ndarray:
    """(3, 3) rotation of the unit quaternion (a, b, c, d) of which b, c, d are given and a is not negative."""
    b, c, d = quaternion
    a = np.sqrt(max(0.0, 1.0 - b * b - c * c - d * d))
    return np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
