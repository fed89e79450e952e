"""Arrays over the voxels of the box, from files that a case names."""

from pathlib import Path

import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.geometry.images.arrays import READ_ERRORS
from muphy_lb.geometry.limits import cut, regular_file

MAX_QUOTED = 200
"""Longest part of an error of NumPy that a message repeats [characters]."""


def read_box_array(key: str, path: Path, shape: tuple[int, ...], axes: str) -> np.ndarray:
    """A memory-mapped array of numbers from a ``.npy`` file.

    Args:
        key: of the case, for messages.
        path: the file.
        shape: that it must have.
        axes: what its axes are, for messages.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    try:
        found = np.load(regular_file(path), mmap_mode="r")
    except READ_ERRORS as error:
        text = cut(" ".join(str(error).split()), MAX_QUOTED)
        raise InputError(f"{key}: cannot read {path} ({text}); it must be a .npy array") from error
    if getattr(found, "shape", None) != shape or found.dtype.kind not in "biuf":
        what = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "several arrays"
        raise InputError(f"{key}: {path} holds {what}; it must hold numbers of shape {shape}: {axes}")
    return found
