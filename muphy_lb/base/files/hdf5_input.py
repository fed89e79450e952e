"""HDF5 files that are inputs: nothing that they say is believed before it is checked. Anything that HDF5 would follow
or inflate is refused: links out of a group, virtual datasets, values stored in other files, compression, and datasets
that declare more values than the file holds."""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.files import PREPARED

DAMAGE = (OSError, RuntimeError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError)
"""Errors of h5py for a file whose structure is damaged."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
FIRST_CHECKSUMMED = 2  # version of the first header (superblock) from which on headers of HDF5 carry checksums
MAX_NAME = 255  # letters of a name
SHOWN = 120  # letters of a value that a message shows


@dataclass(frozen=True)
class InputGroup:
    """A group of an HDF5 file that is an input."""

    group: h5py.Group  #: the group
    place: str  #: its name in the file, without the first slash
    path: Path  #: the file
    error: type[Exception]  #: the type of all refusals
    command: str  #: the command that makes such a file, the remedy of all refusals

    def refusal(self, name: str, problem: str) -> Exception:
        """The error that says what is wrong with a member or an attribute of the group."""
        return self.error(
            f"{self.path}: /{shown(self._place_of(name))} {problem}; prepare it again with {self.command}"
        )

    @contextmanager
    def checking(self, name: str = "") -> Iterator[None]:
        """Turn whatever h5py raises in the block, in which nothing but the file is looked at, into a refusal of what
        is named."""
        try:
            yield
        except DAMAGE as failure:
            if isinstance(failure, self.error):
                raise
            raise self.refusal(name, f"is damaged ({shown(failure)})") from failure

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        with self.checking(name):
            return self.group.get(name, getlink=True) is not None

    def has_attribute(self, name: str) -> bool:
        """Whether the group has an attribute of that name."""
        with self.checking(name):
            return name in self.group.attrs

    def names(self) -> list[str]:
        """Names of the members, all of them printable and of no unusual length."""
        with self.checking():
            names = list(self.group)
        for name in names:
            self._check_name("", name)
        return names

    def subgroup(self, name: str) -> "InputGroup":
        """A group in this one."""
        member = self._member(name, h5py.Group)
        return InputGroup(member, self._place_of(name), self.path, self.error, self.command)

    def records(self, name: str, most: int) -> list["InputGroup"]:
        """The groups ``name/0``, ``name/1``, ... in this one; none if there is no group ``name``."""
        if name not in self:
            return []
        folder = self.subgroup(name)
        n_records = len(folder.names())
        if n_records > most:
            raise self.refusal(name, f"holds {n_records} records; at most {most} are allowed")
        return [folder.subgroup(str(k)) for k in range(n_records)]

    def array(self, name: str, dtype) -> "InputArray":
        """A one-dimensional dataset of that type, whose values all lie in the file itself; they are not read."""
        with self.checking(name):
            dataset = self._member(name, h5py.Dataset)
            problem = elsewhere(dataset) or _foreign(dataset, np.dtype(dtype))
            problem = problem or oversized(dataset, os.path.getsize(self.path))
            if problem:
                raise self.refusal(name, problem)
        return InputArray(self, name, dataset)

    def check_version(self, version: int) -> None:
        """Refuse a group whose attribute ``version`` is another one."""
        found = int(self._attribute("version", "iu", "integer", ()))
        if found != version:
            raise self.refusal("version", f"is {found}, this program reads {version}")

    def integers(self, name: str, shape: tuple[int, ...], low: int, high: int):
        """An attribute of integers from ``low`` to ``high``: an int, or a tuple of them."""
        values = np.asarray(self._attribute(name, "iu", "integer", shape))
        if not (low <= int(values.min()) and int(values.max()) <= high):
            raise self.refusal(name, f"is {shown(values)}; allowed are {low} to {high}")
        return tuple(map(int, values)) if shape else int(values)

    def reals(self, name: str, shape: tuple[int, ...] = (), is_finite: bool = True):
        """An attribute of numbers, finite or at least not NaN: a float, or a tuple of them."""
        values = np.asarray(self._attribute(name, "iuf", "number", shape), dtype=np.float64)
        if not np.all(np.isfinite(values) if is_finite else ~np.isnan(values)):
            raise self.refusal(name, f"is {shown(values)}; allowed are {'finite ' if is_finite else ''}numbers")
        return tuple(map(float, values)) if shape else float(values)

    def flags(self, name: str, shape: tuple[int, ...] = ()):
        """An attribute of true and false: a bool, or a tuple of them."""
        values = self._attribute(name, "b", "boolean", shape)
        return tuple(map(bool, values)) if shape else bool(values)

    def text(self, name: str) -> str:
        """An attribute of text that is a name (:func:`is_name`)."""
        value = self._attribute(name, "SO", "text", ())
        with self.checking(name):
            return self._check_name(name, value.decode() if isinstance(value, bytes) else value)

    def _place_of(self, name: str) -> str:
        return "/".join(part for part in (self.place, name) if part)

    def _check_name(self, name: str, value) -> str:
        if not is_name(value):
            raise self.refusal(name, f"is {shown(ascii(value))}; allowed are 1 to {MAX_NAME} printable letters")
        return str(value)

    def _attribute(self, name: str, kinds: str, what: str, shape: tuple[int, ...]):
        """The value of an attribute, whose type and shape are looked at before it is read."""
        if not self.has_attribute(name):
            raise self.refusal(name, "is missing")
        with self.checking(name):
            attribute = self.group.attrs.get_id(name)
            if attribute.shape != shape or attribute.dtype.kind not in kinds:
                asked = f"{math.prod(shape)} {what} values" if shape else f"one {what} value"
                raise self.refusal(name, f"has type {attribute.dtype} and shape {attribute.shape}; it must be {asked}")
            return self.group.attrs[name]

    def _member(self, name: str, kind: type):
        with self.checking(name):
            link = self.group.get(name, getlink=True)
            if link is None:
                raise self.refusal(name, "is missing")
            if not isinstance(link, h5py.HardLink):
                raise self.refusal(name, "is a link to another place or file")
            member = self.group[name]
        if not isinstance(member, kind):
            raise self.refusal(name, f"is a {type(member).__name__.lower()}; it must be a {kind.__name__.lower()}")
        return member


class InputArray:
    """A one-dimensional dataset of an input, of which a slice is read on access; a damaged one is refused.

    Attributes:
        size: number of values.
        shape: ``(size,)``.
        dtype: type of the values.
    """

    def __init__(self, owner: InputGroup, name: str, dataset: h5py.Dataset):
        self.shape, self.size, self.dtype = dataset.shape, int(dataset.shape[0]), dataset.dtype
        self._owner, self._name, self._dataset = owner, name, dataset

    def __getitem__(self, part) -> np.ndarray:
        with self._owner.checking(self._name):
            return self._dataset[part]


@contextmanager
def input_file(path: str | os.PathLike, error: type[Exception], command: str) -> Iterator[InputGroup]:
    """The root group of an HDF5 file that is an input, open for reading.

    Args:
        error: the type of all refusals, called with a message.
        command: the command that makes such a file.

    Raises error: there is no such file, it is no HDF5 file, or its headers carry no checksums: a flipped bit in them
    could keep HDF5 busy for ever.
    """
    path = Path(path)
    if path.suffix.lower() != PREPARED and _superblock(path) is None:  # a remedy must not propose to overwrite it
        what = "is no prepared geometry" if path.exists() else "does not exist; a prepared geometry has another name"
        raise error(f"{path} {what}, which ends with {PREPARED}: make it with muphy-lb geometry INPUT CASE{PREPARED}")
    if not path.is_file():
        raise error(f"there is no file {path}; prepare it with {command}")
    if (superblock := _superblock(path)) is not None and superblock < FIRST_CHECKSUMMED:
        problem = "is of an HDF5 format without checksums, as earlier versions of this program wrote it"
        raise error(f"{path} {problem}; prepare it again with {command}")
    try:
        file = h5py.File(path, "r")
    except DAMAGE as failure:
        raise error(
            f"{path} is not a readable HDF5 file ({shown(failure)}); prepare it again with {command}"
        ) from failure
    with file:
        yield InputGroup(file, "", path, error, command)


def _superblock(path: Path) -> int | None:
    """Version of the first header of an HDF5 file; None if there is no such file, or none at its start."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(len(SIGNATURE) + 1)
    return head[-1] if len(head) > len(SIGNATURE) and head.startswith(SIGNATURE) else None


def is_name(value) -> bool:
    """Whether a value is a printable text of no unusual length."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def shown(value) -> str:
    """A value as printable text of limited length."""
    text = re.sub(r"\s+", " ", str(value))
    text = text.encode("ascii" if not text.isprintable() else "utf-8", "backslashreplace").decode()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def elsewhere(dataset: h5py.Dataset) -> str | None:
    """Says that the values of a dataset lie in another file; None if they do not."""
    return "has its values in another file" if dataset.is_virtual or dataset.external else None


def _foreign(dataset: h5py.Dataset, dtype: np.dtype) -> str | None:
    """The actual content of a dataset in place of values of ``dtype`` in a row; None if it is that."""
    if dataset.shape is None or dataset.ndim != 1 or dataset.dtype != dtype:
        return f"has type {dataset.dtype} and shape {dataset.shape}; it must be one row of {dtype}"
    creation = dataset.id.get_create_plist()
    filters = {creation.get_filter(k)[0] for k in range(creation.get_nfilters())}
    return "is compressed" if filters - {h5py.h5z.FILTER_FLETCHER32} else None


def oversized(dataset: h5py.Dataset, file_bytes: int) -> str | None:
    """The size that a dataset or one of its chunks declares beyond the stored bytes; None if there is none."""
    itemsize, stored = dataset.dtype.itemsize, min(dataset.id.get_storage_size(), file_bytes)
    declared = int(dataset.size) * itemsize
    if declared > stored:
        return f"declares {declared} bytes, of which the file holds {stored}"
    chunk_bytes = math.prod(dataset.chunks or ()) * itemsize
    return f"has chunks of {chunk_bytes} bytes in a file of {file_bytes}" if chunk_bytes > file_bytes else None
