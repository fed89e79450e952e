"""Small image files, written by hand from the descriptions of their formats."""

import base64
import gzip
import struct
import zlib

import numpy as np

NIFTI_CODES = {"uint8": 2, "int16": 4, "float32": 16}
VTK_NAMES = {"uint8": "UInt8", "int16": "Int16", "float32": "Float32"}


def write_nifti(path, values, rows=None, *, order="<", slope=(0.0, 0.0), dim=None, units=2, q_form=None):
    """A NIfTI-1 file of (nz, ny, nx) values, or a pair of files for ``.hdr``.

    ``rows`` is the (3, 4) s-form, ``q_form`` the numbers b, c, d of its quaternion and x, y, z of its origin.
    """
    header = bytearray(352)
    struct.pack_into(order + "i", header, 0, 348)
    struct.pack_into(order + "8h", header, 40, *(dim or (3, *values.shape[::-1], 1, 1, 1, 1)))
    struct.pack_into(order + "2h", header, 70, NIFTI_CODES[values.dtype.name], 8 * values.dtype.itemsize)
    struct.pack_into(order + "8f", header, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into(order + "3f", header, 108, 352, *slope)
    struct.pack_into(order + "B", header, 123, units)
    if rows is not None:
        struct.pack_into(order + "2h", header, 252, 0, 1)
        struct.pack_into(order + "12f", header, 280, *np.ravel(rows))
    if q_form is not None:
        struct.pack_into(order + "2h", header, 252, 1, 0)
        struct.pack_into(order + "6f", header, 256, *q_form)
    header[344:348] = b"n+1\0"
    if path.suffix == ".hdr":
        header[344:348] = b"ni1\0"
        struct.pack_into(order + "f", header, 108, 0)
        path.write_bytes(header)
        values.astype(values.dtype.newbyteorder(order)).tofile(path.with_suffix(".img"))
        return path
    content = bytes(header) + values.astype(values.dtype.newbyteorder(order)).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_nrrd(path, values, extra="", encoding="raw", data_file=None):
    """An NRRD file of (nz, ny, nx) values."""
    data = {
        "raw": values.tobytes(),
        "gzip": gzip.compress(values.tobytes()),
        "text": " ".join(map(str, values.ravel())).encode(),
    }[encoding]
    header = (
        f"NRRD0004\n# a comment\ntype: {values.dtype.name}\ndimension: {values.ndim}\nencoding: {encoding}\n"
        f"sizes: {' '.join(map(str, values.shape[::-1]))}\nendian: little\n{extra}"
    )
    header += f"data file: {data_file}\n" if data_file else "\n"
    path.write_bytes(header.encode() + (b"" if data_file else data))
    if data_file:
        (path.parent / data_file).write_bytes(data)
    return path


def _vtk_data(values, compressed, as_text):
    """Bytes of an array as VTK stores them; base64 encodes the head of compressed data by itself."""
    data = values.tobytes()
    parts = [struct.pack("<I", len(data)) + data]
    if compressed:
        blocks = [zlib.compress(data[k : k + 16]) for k in range(0, len(data), 16)]
        parts = [
            struct.pack(f"<{3 + len(blocks)}I", len(blocks), 16, len(data) % 16, *map(len, blocks)),
            b"".join(blocks),
        ]
    return b"".join(base64.b64encode(part) if as_text else part for part in parts)


def write_vti(path, values, form="ascii", compressed=False, place="PointData", encoding="raw"):
    """A ``.vti`` file of (nz, ny, nx) values at points or in cells, spacing 0.5, origin (1, 2, 3)."""
    n = np.array(values.shape[::-1]) - (place == "PointData")
    extent = f"0 {n[0]} 0 {n[1]} 0 {n[2]}"
    body, appended, offset = b"", b"", ""
    if form == "ascii":
        body = " ".join(map(str, values.ravel())).encode()
    elif form == "binary":
        body = _vtk_data(values, compressed, True)
    else:
        offset = 'offset="0"'
        data = _vtk_data(values, compressed, encoding == "base64")
        appended = f'<AppendedData encoding="{encoding}">\n_'.encode() + data + b"\n</AppendedData>"
    compressor = 'compressor="vtkZLibDataCompressor"' if compressed else ""
    head = (
        f'<?xml version="1.0"?>\n<VTKFile type="ImageData" version="0.1" byte_order="LittleEndian" {compressor}>\n'
        f'<ImageData WholeExtent="{extent}" Origin="1 2 3" Spacing="0.5 0.5 0.5"><Piece Extent="{extent}"><{place}>'
        f'<DataArray type="{VTK_NAMES[values.dtype.name]}" Name="label" format="{form}" {offset}>'
    )
    tail = f"</DataArray></{place}></Piece></ImageData>\n"
    path.write_bytes(head.encode() + body + tail.encode() + appended + b"\n</VTKFile>\n")
    return path
