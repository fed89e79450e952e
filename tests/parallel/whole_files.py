"""Whether files are whole, each as its format tells, and whether they hold the same."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tests.parallel.disturbed import all_valid, arrays

TEMPORARY = ".*.tmp"


def torn_files(folder: Path) -> str:
    """Names of files in a folder and below that are not whole, and of temporary ones that were left."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    torn = [path.name for path in files if path.match(TEMPORARY) or not _is_whole(path)]
    checkpoints = [path for path in folder.rglob("checkpoints") if not all_valid(path)]
    return ", ".join([*torn, *map(str, checkpoints)])


def unlike(folder: Path, reference: Path) -> str:
    """Names of files of a folder that differ from those of a reference: numbers of HDF5 files, bytes of cases; others
    hold times, and must be there and whole."""
    found = []
    for path in sorted(path for path in reference.rglob("*") if path.is_file()):
        other = folder / path.relative_to(reference)
        if not other.exists() or not _is_whole(other):
            found.append(path.name)
        elif path.suffix == ".h5" and arrays(other) != arrays(path):
            found.append(path.name)
        elif path.suffix == ".toml" and other.read_bytes() != path.read_bytes():
            found.append(path.name)
    return ", ".join(found)


def _is_whole(path: Path) -> bool:
    """Whether a file of a known kind can be read to its end."""
    try:
        READERS.get(path.suffix, Path.read_bytes)(path)
    except (OSError, ValueError, RuntimeError, KeyError):
        return False
    return True


def _read_rows(path: Path) -> None:
    """A table: every line ends, every row has a number for each column."""
    if not path.read_text().endswith("\n"):
        raise ValueError("the last row is cut off")
    np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


def _read_to(end: bytes) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        if not path.read_bytes().rstrip().endswith(end):
            raise ValueError(f"{path} does not end as its format has it")

    return read


READERS: Mapping[str, Callable] = MappingProxyType(
    {
        ".h5": arrays,
        ".vtkhdf": arrays,
        ".csv": _read_rows,
        ".json": lambda path: json.loads(path.read_text()),
        ".toml": lambda path: tomllib.loads(path.read_text()),
        ".html": _read_to(b"</html>"),
        ".png": _read_to(b"IEND\xaeB`\x82"),
    }
)
