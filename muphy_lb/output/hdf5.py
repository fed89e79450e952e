"""HDF5 files whose refusals to write are plain errors."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import h5py


@contextmanager
def opened(path: str | os.PathLike, mode: str = "r+", **options) -> Iterator[h5py.File]:
    """Open an HDF5 file, with options of h5py; HDF5's failures to write, of either type, become a short OSError."""
    try:
        # default libver: the only one whose files stay readable after a crash
        with h5py.File(path, mode, **options) as file:
            yield file
    except (OSError, RuntimeError) as error:
        system = re.search("error message = '([^']*)'", str(error))
        raise OSError(system[1] if system else str(error)) from error
