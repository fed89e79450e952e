"""Reader of surfaces in Wavefront ``.obj`` files: points (``v``) and polygons (``f``); all else is passed over.

Source: the object files (.obj) appendix of the Advanced Visualizer manual.
"""

import re
from array import array

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import read_bytes
from muphy_lb.geometry.limits import ask_for, shown
from muphy_lb.geometry.surfaces.stored import StoredSurface, fans

BYTES_OF_TEXT = 12
"""Memory that the lines and numbers of a file take for each of its bytes, at most."""

CONTINUED = re.compile(rb"\\[ \t]*(\r\n|\n|\r)")


def read_obj(path) -> StoredSurface:
    """The triangles of a ``.obj`` file.

    Corners are numbers of points from 1 on, or from the last point backwards (-1); what stands behind a slash belongs
    to texture and shading. A line that ends in a backslash goes on in the next one.

    Raises GeometryError for a missing file, and a point or a polygon that is none.
    """
    content = read_bytes(path)
    ask_for(BYTES_OF_TEXT * len(content), f"the text of {path}")
    points, corners, ends = array("d"), array("q"), array("q")
    for number, line in enumerate(CONTINUED.sub(b" ", content).splitlines(), 1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                points.extend(_point(words))
            else:
                corners.extend(_corner(word, len(points) // 3) for word in words[1:])
                ends.append(len(corners))
        except (ValueError, OverflowError) as error:
            text = shown(line.strip().decode("utf-8", "replace"))
            raise GeometryError(f"cannot read {path}: line {number} is {text}; {_meaning(words[0])}") from error
    triangles = fans(np.array(corners, np.int64), np.array(ends, np.int64))
    return StoredSurface(np.array(points, np.float64).reshape(-1, 3), triangles)


def _point(words: list[bytes]) -> list[float]:
    """The coordinates of a point; weights and colours behind them are left out. ValueError if there are not three."""
    x, y, z = (float(word) for word in words[1:4])
    return [x, y, z]


def _corner(word: bytes, n_points: int) -> int:
    """The number from 0 on of a corner; negative for one before the first point. ValueError for zero and no number."""
    number = int(word.partition(b"/")[0])
    if number == 0:
        raise ValueError
    return number - 1 if number > 0 else n_points + number


def _meaning(key: bytes) -> str:
    if key == b"v":
        return "a point must be three numbers, v x y z"
    return "the corners of a polygon must be numbers of points, counted from 1, as in f 1 2 3"
