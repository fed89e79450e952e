"""Damages of a prepared geometry (.h5): flipped bits, and whatever else a file can say in place of what it should."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

NAME = "case.h5"
OTHER = "other.h5"
HUGE = 2**40
INTEGERS = (-1, 0, 1, 2, 13, 27, 112, 255, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
REALS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-320, 1.0000001, 1e308)
TEXTS = ("", "a\nb", "\x1b[31m", "x" * 5000, "inlet", "../..", "é" * 40, "\u202e")
TYPES = ("int8", "uint8", "int32", "uint64", "float32", "float64", ">i8", "S3", "bool", "complex64")


class Damage(NamedTuple):
    """A damage: ``apply(path)`` does it to a file and says in words what it did; a file of which ``may_be_read`` is not
    true must be refused."""

    apply: Callable[[Path], str]
    may_be_read: bool


def damage_of(seed: int, number: int) -> Damage:
    """The damage of that number; the same for the same seed."""
    draw = random.Random(f"{seed} {number}")
    kind = draw.choices((_flip, _bytes, _structure), (50, 10, 40))[0]
    if kind is _structure:
        action, may_be_read = draw.choice(ACTIONS)
        return Damage(partial(_structure, action=action, draw=draw), may_be_read)
    return Damage(partial(kind, draw=draw), True)


def _flip(path: Path, draw: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place, bit = draw.randrange(len(content)), draw.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {place} flipped"


def _bytes(path: Path, draw: random.Random) -> str:
    """A stretch of bytes is lost, noise, zeros, or moved."""
    content = bytearray(path.read_bytes())
    start, length = draw.randrange(len(content)), draw.choice((1, 4, 16, 512, 4096))
    how = draw.choice(("noise", "zeros", "lost", "cut off", "doubled"))
    part = content[start : start + length]
    new = {"noise": draw.randbytes(len(part)), "zeros": bytes(len(part)), "lost": b"", "doubled": part + part}
    content[start : start + length] = new.get(how, part)
    path.write_bytes(content[:start] if how == "cut off" else content)
    return f"{length} bytes from {start} on: {how}"


def _structure(path: Path, action: Callable, draw: random.Random) -> str:
    with h5py.File(path, "r+") as file:
        return f"{action.__name__.strip('_')}: {action(file, draw)}"


def _datasets(file: h5py.File) -> list[str]:
    found = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    return found


def _owners_of_attributes(file: h5py.File) -> list[tuple[str, str]]:
    found = []
    file.visititems(lambda name, item: found.extend((name, key) for key in item.attrs))
    return found


# Datasets.


def _replaced(file: h5py.File, draw: random.Random, make: Callable) -> str:
    """A dataset gives way to what ``make(group, name, values)`` puts in its place."""
    place = draw.choice(_datasets(file))
    values = file[place][...]
    group, name = file[place].parent, place.rsplit("/", 1)[1]
    del group[name]
    return f"{place} {make(group, name, values) or ''}"


def _missing(file, draw):
    return _replaced(file, draw, lambda group, name, values: None)


def _retyped(file, draw):
    def make(group, name, values):
        dtype = draw.choice([one for one in TYPES if np.dtype(one) != values.dtype])
        group[name] = np.zeros(values.shape, dtype) if dtype == "S3" else values.astype(dtype)
        return dtype

    return _replaced(file, draw, make)


def _exotic(file, draw):
    def make(group, name, values):
        dtype = draw.choice(
            (h5py.string_dtype(), h5py.ref_dtype, h5py.vlen_dtype(np.int32), [("a", "i8"), ("b", "S2")])
        )
        group.create_dataset(name, values.shape, dtype)
        return dtype

    return _replaced(file, draw, make)


def _reshaped(file, draw):
    def make(group, name, values):
        shapes = (values[None], values[:, None], values[:0, None], np.array(values[0]), h5py.Empty(values.dtype))
        group[name] = draw.choice(shapes)
        return group[name].shape

    return _replaced(file, draw, make)


def _resized(file, draw):
    def make(group, name, values):
        group[name] = draw.choice((values[:-1], values[1:], np.append(values, values[-1:]), values[:0], values[:1]))
        return group[name].shape

    return _replaced(file, draw, make)


def _declared(file, draw):
    """Values that no space was ever given to: HDF5 reads them as zeros."""

    def make(group, name, values):
        size, chunks = draw.choice((values.size, 2**33, HUGE)), draw.choice((None, 2**16, 2**28))
        chunks = chunks and (min(size, chunks),)
        group.create_dataset(name, (size,), values.dtype, chunks=chunks)
        return f"{size} values in chunks of {chunks}"

    return _replaced(file, draw, make)


def _partly_declared(file, draw):
    def make(group, name, values):
        dataset = group.create_dataset(name, (HUGE,), values.dtype, chunks=(2**10,))
        dataset[: values.size] = values

    return _replaced(file, draw, make)


def _outside(file, draw):
    def make(group, name, values):
        target = draw.choice(("/etc/passwd", "/dev/zero", "/dev/urandom", NAME, "nowhere"))
        group.create_dataset(name, values.shape, values.dtype, external=[(target, 0, values.nbytes)])
        return target

    return _replaced(file, draw, make)


def _virtual(file, draw):
    def make(group, name, values):
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[:] = h5py.VirtualSource(draw.choice((".", OTHER)), "a", values.shape)
        group.create_virtual_dataset(name, layout)

    return _replaced(file, draw, make)


def _linked(file, draw):
    def make(group, name, values):
        link = draw.choice((h5py.SoftLink("/nowhere"), h5py.SoftLink(group.name), h5py.ExternalLink(OTHER, "/a")))
        group[name] = link
        return type(link).__name__

    return _replaced(file, draw, make)


def _compressed(file, draw):
    def make(group, name, values):
        group.create_dataset(name, data=np.resize(values, 10**6), compression="gzip")

    return _replaced(file, draw, make)


def _group_for_dataset(file, draw):
    return _replaced(file, draw, lambda group, name, values: group.create_group(name).name)


def _value(file, draw):
    """One value is another."""
    place = draw.choice(_datasets(file))
    values, k = file[place], draw.randrange(file[place].size)
    pool = REALS if values.dtype.kind == "f" else INTEGERS
    info = None if values.dtype.kind == "f" else np.iinfo(values.dtype)
    new = draw.choice([one for one in pool if info is None or info.min <= one <= info.max])
    values[k] = new
    return f"{place}[{k}] = {new}"


def _order(file, draw):
    """All values, in another order or all the same."""
    place = draw.choice(_datasets(file))
    values = file[place][...]
    how = draw.choice(("reversed", "shuffled", "equal", "doubled", "shifted"))
    shuffled = np.random.default_rng(draw.randrange(2**32)).permutation(values)
    new = {"reversed": values[::-1], "shuffled": shuffled, "equal": np.full_like(values, values[0])}
    file[place][...] = new.get(how, values * 2 if how == "doubled" else values + 1)
    return f"{place} {how}"


def _swapped(file, draw):
    """Two neighbouring values change places."""
    place = draw.choice(_datasets(file))
    values, k = file[place][...], draw.randrange(file[place].size - 1)
    values[[k, k + 1]] = values[[k + 1, k]]
    file[place][...] = values
    return f"{place}[{k}]"


def _another_dataset(file, draw):
    """A dataset is another name of another one."""
    one, other = draw.sample(_datasets(file), 2)
    del file[one]
    file[one] = file[other]
    return f"{one} is {other}"


# Attributes.


def _attribute(file: h5py.File, draw: random.Random, make: Callable) -> str:
    """An attribute becomes what ``make(value)`` returns; nothing, if that is None."""
    place, name = draw.choice(_owners_of_attributes(file))
    new = make(file[place].attrs[name])
    del file[place].attrs[name]
    if new is not None:
        file[place].attrs[name] = new
    return f"{place}.{name} = {str(new)[:40]!a}"


def _attribute_missing(file, draw):
    return _attribute(file, draw, lambda value: None)


def _attribute_retyped(file, draw):
    words = ("text", b"bytes", h5py.Empty("f8"), 1.5, True, np.zeros(0), np.zeros((2, 2)), np.array([b"a"]), 3 + 4j)
    return _attribute(file, draw, lambda value: draw.choice(words))


def _attribute_reshaped(file, draw):
    return _attribute(
        file, draw, lambda value: draw.choice(([value], [value, value], np.zeros((3, 3)), np.zeros(3000)))
    )


def _attribute_value(file, draw):
    def make(value):
        values = np.atleast_1d(value).copy()
        if values.dtype.kind in "SOU":
            return draw.choice(TEXTS)
        pool = {"f": REALS, "b": (True, False)}.get(values.dtype.kind, INTEGERS)
        values[draw.randrange(values.size)] = draw.choice(pool)
        return values.reshape(np.shape(value))

    return _attribute(file, draw, make)


def _attribute_not_utf8(file, draw):
    return _attribute(file, draw, lambda value: np.array(b"\xff\xfe\xc0", h5py.string_dtype("utf-8", 3)))


# Groups.


def _groups(file: h5py.File) -> list[str]:
    found = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Group) else None)
    return found


def _group_missing(file, draw):
    place = draw.choice(_groups(file))
    del file[place]
    return place


def _group_renamed(file, draw):
    place, name = draw.choice(_groups(file)), draw.choice(("0", "7", "x", "a\nb", "\x1b[1m", "q" * 300))
    new = f"{file[place].parent.name}/{name}"
    if new not in file:
        file.move(place, new)
    return f"{place} to {name[:9]!r}"


def _group_copied(file, draw):
    place = draw.choice([one for one in _groups(file) if "/" in one])
    parent = file[place].parent
    for _ in range(draw.choice((1, 200))):
        file.copy(place, parent, str(len(parent)))
    return place


def _dataset_for_group(file, draw):
    place = draw.choice(_groups(file))
    del file[place]
    file[place] = np.arange(5)
    return place


def _loop(file, draw):
    place = draw.choice(_groups(file))
    parent = file[place].parent
    del file[place]
    parent[place.rsplit("/", 1)[-1]] = parent
    return place


ACTIONS = (
    (_missing, False),
    (_retyped, False),
    (_exotic, False),
    (_reshaped, False),
    (_resized, False),
    (_declared, False),
    (_partly_declared, False),
    (_outside, False),
    (_virtual, False),
    (_linked, False),
    (_compressed, False),
    (_group_for_dataset, False),
    (_another_dataset, False),
    (_value, True),
    (_value, True),
    (_order, True),
    (_swapped, True),
    (_attribute_missing, True),
    (_attribute_retyped, True),
    (_attribute_reshaped, False),
    (_attribute_value, True),
    (_attribute_value, True),
    (_attribute_not_utf8, True),
    (_group_missing, True),
    (_group_renamed, True),
    (_group_copied, True),
    (_dataset_for_group, False),
    (_loop, True),
)
"""Structural damages, and whether the file may still be whole in the eyes of who reads it."""
