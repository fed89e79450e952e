"""Slabs: out-of-core processing of arrays that may be larger than memory, a few layers at a time.

Anything with ``shape``, ``dtype`` and slices along the first axis serves as an array here. Arrays above
``IN_MEMORY_BYTES`` are stored in an unnamed temporary file (in ``TMPDIR``) that is mapped into memory; its pages are
released after each slab, so that the resident memory stays that of one slab.
"""

import math
import mmap
import shutil
import tempfile
from collections.abc import Iterator

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for

SLAB_VOXELS = 2**23  # voxels per slab: temporaries of 8 bytes per voxel take 64 MiB each
IN_MEMORY_BYTES = 2**31  # arrays larger than this are kept in a mapped file


def slabs(values) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (range of layers, these layers), slab by slab; mapped pages are released after each."""
    n_layers = values.shape[0]
    step = max(1, SLAB_VOXELS // max(1, int(np.prod(values.shape[1:], dtype=object))))
    for first in range(0, n_layers, step):
        layers = slice(first, min(first + step, n_layers))
        yield layers, np.asarray(values[layers])
        release(values)


def empty_array(shape: tuple[int, ...], dtype) -> np.ndarray:
    """A C-ordered, uninitialised array (zero if large): in memory, or in a mapped temporary file if it is large. Raises
    GeometryError if neither memory nor disk can hold it."""
    kind, shape = np.dtype(dtype), tuple(int(n) for n in shape)
    n_bytes = kind.itemsize * math.prod(shape)
    what = f"an array of {' x '.join(f'{n:.12g}' for n in shape[::-1])} voxels of {kind.name}"
    try:
        if n_bytes <= IN_MEMORY_BYTES:
            ask_for(n_bytes, what)
            return np.empty(shape, kind)
        with tempfile.TemporaryFile() as file:
            n_free = shutil.disk_usage(file.fileno()).free
            if n_bytes > n_free:
                raise OSError(f"{n_free} bytes are free in {tempfile.gettempdir()}")
            return np.memmap(file, kind, "w+", shape=shape)
    except GeometryError:
        raise
    except (OSError, MemoryError, ValueError, OverflowError) as error:
        raise GeometryError(
            f"no room for {what} ({n_bytes:.12g} bytes): {error};"
            " set TMPDIR to a folder of a disk with that much space, or use a smaller image"
        ) from error


def full_array(shape: tuple[int, ...], fill, dtype) -> np.ndarray:
    """Array as of :func:`empty_array`, with ``fill`` in every element."""
    result = empty_array(shape, dtype)
    for _, slab in slabs(result):
        slab[...] = fill
    return result


def copied(values: np.ndarray) -> np.ndarray:
    """A writable C-ordered copy, made slab by slab where the array is large."""
    result = empty_array(values.shape, values.dtype)
    for layers, slab in slabs(values):
        result[layers] = slab
        release(result)
    return result


def padded(values: np.ndarray, widths, fill) -> np.ndarray:
    """The array padded with ``fill`` by ``widths[axis] = (before, after)`` elements on each side."""
    shape = tuple(n + int(before) + int(after) for n, (before, after) in zip(values.shape, widths, strict=True))
    result = empty_array(shape, values.dtype)
    for layers, slab in slabs(result):
        slab[...] = fill
        first = int(widths[0][0])
        low, high = max(layers.start - first, 0), min(layers.stop - first, values.shape[0])
        if low < high:
            inside = tuple(slice(int(b), int(b) + n) for n, (b, _) in zip(values.shape[1:], widths[1:], strict=True))
            slab[(slice(low + first - layers.start, high + first - layers.start), *inside)] = values[low:high]
            release(values)
    return result


def indices_of(values: np.ndarray, wanted) -> np.ndarray:
    """(m, n_axes) indices of the elements equal to ``wanted``, in row-major order."""
    found = []
    for layers, slab in slabs(values):
        indices = np.argwhere(slab == wanted)
        indices[:, 0] += layers.start
        found.append(indices)
    return np.concatenate(found)


def release(values) -> None:
    """Release the resident pages of a memory-mapped array; its values are preserved. Other arrays are unaffected."""
    mapping = getattr(values, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED") and getattr(values, "mode", "c") != "c":
        mapping.madvise(mmap.MADV_DONTNEED)
