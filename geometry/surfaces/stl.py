"""Reader of surfaces in ``.stl`` files, as text in any case and with any line ends, or binary.

Text begins with ``solid``, and so do some binary files: a file is binary if its size is that of the number of triangles
that its header states, or if there are zero bytes in its beginning.
Source: the chapter on the StL format of M. Burns, Automated Fabrication (1993).
"""

import re

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import read_bytes
from muphy_lb.geometry.limits import ask_for, shown
from muphy_lb.geometry.surfaces.stored import StoredSurface

HEADER, COUNT, FACET = 80, 4, 50
"""Bytes of the header, of the number of triangles behind it, and of each triangle."""

FACET_TYPE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
MARK = b"\xef\xbb\xbf"
"""Bytes before a text in UTF-8 that some programs write."""

BEGINNING = 1024
"""Bytes in which text has no zero."""

BYTES_OF_TEXT = 8
"""Memory that the words of a file take for each of its bytes, at most."""

NAMES = re.compile(rb"^[ \t]*(end[ \t]*)?solid\b.*$|^[ \t]*endsolid.*$", re.MULTILINE)
ENDS = re.compile(rb"\bend\s+(loop|facet)\b")
KEYWORDS = re.compile(rb"\b(?:facet|vertex|endfacet)\b")
VERTICES = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")
FACET_WORDS = [b"facet", b"vertex", b"vertex", b"vertex", b"endfacet"]


def read_stl(path) -> StoredSurface:
    """The triangles of a ``.stl`` file; each has three points of its own.

    Raises GeometryError for a missing or truncated file, a number of triangles that the file does not have, a facet
    that is no triangle, and a coordinate that is no number.
    """
    content = read_bytes(path)
    n_stated = int.from_bytes(content[HEADER : HEADER + COUNT], "little")
    is_text = content.removeprefix(MARK).lstrip()[:5].lower() == b"solid" and b"\0" not in content[:BEGINNING]
    if is_text and len(content) != HEADER + COUNT + FACET * n_stated:
        return _of_corners(_text_corners(path, content))
    return _binary(path, content, n_stated)


def _of_corners(corners: np.ndarray, notes: tuple[str, ...] = ()) -> StoredSurface:
    """The surface of triangles (n, 3, 3)."""
    points = corners.reshape(-1, 3).astype(np.float64)
    return StoredSurface(points, np.arange(len(points)).reshape(-1, 3), None, notes)


def _binary(path, content: bytes, n_stated: int) -> StoredSurface:
    """The triangles of a binary file; bytes behind them, such as colours of some programs, are passed over."""
    n_bytes = len(content) - HEADER - COUNT
    if n_bytes < 0:
        raise GeometryError(f"cannot read {path}: {len(content)} bytes are no .stl file, or it is truncated")
    n_held, n_more = n_bytes // FACET, n_bytes - FACET * n_stated
    if n_more < 0 or (n_more > 0 and n_more % FACET == 0):
        raise GeometryError(
            f"cannot read {path}: its header says {n_stated} triangles, the file has {n_held}: it is truncated, its"
            " header is wrong, or it is no .stl file; write it anew (MeshLab, Blender)"
        )
    facets = np.frombuffer(content, FACET_TYPE, n_stated, HEADER + COUNT)
    notes = (f"{n_more} bytes behind the {n_stated} triangles of the file passed over",) if n_more else ()
    return _of_corners(facets["corners"], notes)


def _text_corners(path, content: bytes) -> np.ndarray:
    """(n, 3, 3) corners of the facets of a text."""
    ask_for(BYTES_OF_TEXT * len(content), f"the text of {path}")
    text = ENDS.sub(rb"end\1", NAMES.sub(b"", content.removeprefix(MARK).lower().replace(b"\r", b"\n")))
    words = KEYWORDS.findall(text)
    n_facets = words.count(b"facet")
    if words != FACET_WORDS * n_facets:
        raise GeometryError(
            f"cannot read {path}: a facet has not three vertices between facet and endfacet: the file is truncated or"
            " broken, or its facets are no triangles"
        )
    try:
        corners = np.array(VERTICES.findall(text), dtype="S").astype(np.float64).reshape(-1, 3, 3)
    except ValueError as error:
        raise GeometryError(
            f"cannot read {path}: a coordinate of a vertex is no number ({shown(str(error))})"
        ) from error
    if len(corners) != n_facets:
        raise GeometryError(f"cannot read {path}: a vertex has not three coordinates")
    return corners
