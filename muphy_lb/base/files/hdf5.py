"""HDF5 files to write: a disk that refuses is one plain error, and what is written can carry checksums."""

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import h5py
import numpy as np

from muphy_lb.base.files.atomic import no_link

CHECKSUMMED = ("v110", "v110")
"""Formats of HDF5 whose headers and indices carry checksums, so that a flipped bit is found before it is believed."""

CHUNK_VALUES = 1 << 17  # values of an array under one checksum: about the megabyte that HDF5 keeps of a dataset

RAW_MODES = {"w": "w+b", "r+": "r+b"}


@contextmanager
def opened(path: str | os.PathLike, mode: str = "r+", libver=None, **options) -> Iterator[h5py.File]:
    """Open an HDF5 file to write it; a failure to write becomes one OSError, raised when the block ends.

    HDF5 itself never learns of the failure (:class:`_RecordingFile`): it would fail once more, with a traceback, for
    every object that is closed, and might crash when the process ends. The file is then not whole.

    Args:
        mode: ``"w"``: a new file; ``"r+"``: an existing one.
        libver: formats of HDF5. By default those that stay readable after a crash, which no others do.
    """
    with _RecordingFile(path, RAW_MODES[mode], opener=no_link) as raw:
        try:
            with h5py.File(raw, mode, libver=libver, **options) as file:
                yield file
        except (OSError, RuntimeError) as error:
            raise raw.failure or OSError(_reason(error)) from error
        if raw.failure:
            raise raw.failure


class _RecordingFile(io.FileIO):
    """A file whose first failure to write is kept in ``failure``; what is written after it goes nowhere."""

    failure: OSError | None = None

    def write(self, data) -> int:
        """Write all of ``data``, however many calls of the system that takes."""
        left = memoryview(data)
        try:
            while left and self.failure is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.failure = error
        return len(data)

    def readinto(self, buffer) -> int:
        """Read as much as there is, however many calls of the system that takes."""
        left = memoryview(buffer)
        while left and (n_read := super().readinto(left)):
            left = left[n_read:]
        return len(buffer) - len(left)

    def truncate(self, size=None) -> int:
        try:
            return super().truncate(size) if self.failure is None else size
        except OSError as error:
            self.failure = error
            return size


def write_array(group: h5py.Group, name: str, values: np.ndarray) -> None:
    """Write an array as a dataset with a checksum for each chunk."""
    chunks = (min(len(values), CHUNK_VALUES), *values.shape[1:])
    checksums = {"chunks": chunks, "fletcher32": True} if values.size else {}
    group.create_dataset(name, data=values, **checksums)


def write_attributes(group: h5py.Group, values: Mapping[str, object]) -> None:
    """Write attributes; texts have a fixed length, so that they lie in the header with its checksum."""
    for name, value in values.items():
        if isinstance(value, str):
            encoded = value.encode()
            value = np.array(encoded, h5py.string_dtype("utf-8", max(len(encoded), 1)))
        group.attrs[name] = value


def _reason(error: Exception) -> str:
    """The system's message, if HDF5 quotes it; else all that HDF5 said."""
    system = re.search("error message = '([^']*)'", str(error))
    return system[1] if system else str(error)
