"""Small ``.vtp`` files, written by hand from the description of the format."""

import base64
import struct
import zlib

import numpy as np

TYPES = {"float32": "Float32", "float64": "Float64", "int32": "Int32", "int64": "Int64"}
STORAGES = ("ascii", "binary", "zlib", "appended", "appended base64", "appended zlib", "appended base64 zlib")
BLOCK = 64


def stored(values, storage):
    """The bytes of an array in one of STORAGES, without the text forms' line ends; blocks of 64 bytes if compressed."""
    if storage == "ascii":
        return " ".join(map(str, values.ravel().tolist())).encode()
    data = values.tobytes()
    parts = [struct.pack("<I", len(data)) + data]
    if "zlib" in storage:
        blocks = [zlib.compress(data[k : k + BLOCK]) for k in range(0, len(data), BLOCK)]
        head = struct.pack(f"<{3 + len(blocks)}I", len(blocks), BLOCK, len(data) % BLOCK, *map(len, blocks))
        parts = [head, b"".join(blocks)]
    is_text = not storage.startswith("appended") or "base64" in storage
    return b"".join(base64.b64encode(part) if is_text else part for part in parts)


class _Writer:
    """Puts arrays inline or behind the XML."""

    def __init__(self, storage):
        self.storage, self.appended = storage, b""

    def array(self, name, values, components=1):
        """A ``DataArray`` element."""
        data, form = stored(values, self.storage), self.storage.split()[0].replace("zlib", "binary")
        head = f'<DataArray type="{TYPES[values.dtype.name]}" Name="{name}" NumberOfComponents="{components}"'
        if form == "appended":
            offset, self.appended = len(self.appended), self.appended + data
            return f'{head} format="appended" offset="{offset}"/>'.encode()
        return f'{head} format="{form}">'.encode() + data + b"</DataArray>"

    def cells(self, group, cells):
        """A group of cells, each a sequence of vertex numbers."""
        corners = np.array([n for cell in cells for n in cell], dtype=np.int64)
        ends = np.cumsum([len(cell) for cell in cells], dtype=np.int64)
        inner = self.array("connectivity", corners) + self.array("offsets", ends) if len(cells) else b""
        return f"<{group}>".encode() + inner + f"</{group}>".encode()


def write_vtp(path, points, polygons, strips=(), storage="ascii", n_pieces=1, cell_data=()):
    """A file of (m, 3) points and of polygons and strips of any number of vertices; pieces repeat all of them.

    ``cell_data``: (name, (n,) values of polygons, then strips) pairs.
    """
    writer, content = _Writer(storage), b""
    for k in range(n_pieces):
        head = f'<Piece NumberOfPoints="{len(points)}" NumberOfPolys="{len(polygons)}" NumberOfStrips="{len(strips)}">'
        place = b"<Points>" + writer.array("Points", np.asarray(points, np.float32) + 10 * k, 3) + b"</Points>"
        cells = writer.cells("Strips", strips) + writer.cells("Polys", polygons)
        data = b"".join(writer.array(name, np.asarray(values)) for name, values in cell_data)
        content += head.encode() + place + cells + b"<CellData>" + data + b"</CellData></Piece>"
    compressor = 'compressor="vtkZLibDataCompressor"' if "zlib" in storage else ""
    head = f'<VTKFile type="PolyData" version="0.1" byte_order="LittleEndian" header_type="UInt32" {compressor}>'
    content = head.encode() + b"<PolyData>" + content + b"</PolyData>"
    if writer.appended:
        encoding = "base64" if "base64" in storage else "raw"
        content += f'<AppendedData encoding="{encoding}">_'.encode() + writer.appended + b"</AppendedData>"
    path.write_bytes(content + b"</VTKFile>\n")
    return path
