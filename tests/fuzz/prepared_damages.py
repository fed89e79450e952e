"""Damages of a prepared geometry (.h5): flipped bits, and whatever else a file can say in place of what it should."""

import random
from collections.abc import Callable
from functools import partial, wraps
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


def _in_place_of_a_dataset(make: Callable) -> Callable:
    """A dataset gives way to what ``make(group, name, values, draw)`` puts in its place, and tells in words."""

    @wraps(make)
    def action(file: h5py.File, draw: random.Random) -> str:
        place = draw.choice(_datasets(file))
        values = file[place][...]
        group, name = file[place].parent, place.rsplit("/", 1)[1]
        del group[name]
        return f"{place} {make(group, name, values, draw) or ''}"

    return action


@_in_place_of_a_dataset
def _missing(group, name, values, draw):
    return None


@_in_place_of_a_dataset
def _retyped(group, name, values, draw):
    dtype = draw.choice([one for one in TYPES if np.dtype(one) != values.dtype])
    group[name] = np.zeros(values.shape, dtype) if dtype == "S3" else values.astype(dtype)
    return dtype


@_in_place_of_a_dataset
def _exotic(group, name, values, draw):
    dtype = draw.choice((h5py.string_dtype(), h5py.ref_dtype, h5py.vlen_dtype(np.int32), [("a", "i8"), ("b", "S2")]))
    group.create_dataset(name, values.shape, dtype)
    return dtype


@_in_place_of_a_dataset
def _reshaped(group, name, values, draw):
    group[name] = draw.choice(
        (values[None], values[:, None], values[:0, None], np.array(values[0]), h5py.Empty(values.dtype))
    )
    return group[name].shape


@_in_place_of_a_dataset
def _resized(group, name, values, draw):
    group[name] = draw.choice((values[:-1], values[1:], np.append(values, values[-1:]), values[:0], values[:1]))
    return group[name].shape


@_in_place_of_a_dataset
def _declared(group, name, values, draw):
    """Values that no space was ever given to: HDF5 reads them as zeros."""
    size, chunks = draw.choice((values.size, 2**33, HUGE)), draw.choice((None, 2**16, 2**28))
    chunks = chunks and (min(size, chunks),)
    group.create_dataset(name, (size,), values.dtype, chunks=chunks)
    return f"{size} values in chunks of {chunks}"


@_in_place_of_a_dataset
def _partly_declared(group, name, values, draw):
    group.create_dataset(name, (HUGE,), values.dtype, chunks=(2**10,))[: values.size] = values


@_in_place_of_a_dataset
def _outside(group, name, values, draw):
    target = draw.choice(("/etc/passwd", "/dev/zero", "/dev/urandom", NAME, "nowhere"))
    group.create_dataset(name, values.shape, values.dtype, external=[(target, 0, values.nbytes)])
    return target


@_in_place_of_a_dataset
def _virtual(group, name, values, draw):
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[:] = h5py.VirtualSource(draw.choice((".", OTHER)), "a", values.shape)
    group.create_virtual_dataset(name, layout)


@_in_place_of_a_dataset
def _linked(group, name, values, draw):
    group[name] = link = draw.choice(
        (h5py.SoftLink("/nowhere"), h5py.SoftLink(group.name), h5py.ExternalLink(OTHER, "/a"))
    )
    return type(link).__name__


@_in_place_of_a_dataset
def _compressed(group, name, values, draw):
    group.create_dataset(name, data=np.resize(values, 10**6), compression="gzip")


@_in_place_of_a_dataset
def _group_for_dataset(group, name, values, draw):
    return group.create_group(name).name


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


def _in_place_of_an_attribute(make: Callable) -> Callable:
    """An attribute becomes what ``make(value, draw)`` returns; nothing, if that is None."""

    @wraps(make)
    def action(file: h5py.File, draw: random.Random) -> str:
        place, name = draw.choice(_owners_of_attributes(file))
        new = make(file[place].attrs[name], draw)
        del file[place].attrs[name]
        if new is not None:
            file[place].attrs[name] = new
        return f"{place}.{name} = {str(new)[:40]!a}"

    return action


@_in_place_of_an_attribute
def _attribute_missing(value, draw):
    return None


@_in_place_of_an_attribute
def _attribute_retyped(value, draw):
    words = ("text", b"bytes", h5py.Empty("f8"), 1.5, True, np.zeros(0), np.zeros((2, 2)), np.array([b"a"]), 3 + 4j)
    return draw.choice(words)


@_in_place_of_an_attribute
def _attribute_reshaped(value, draw):
    return draw.choice(([value], [value, value], np.zeros((3, 3)), np.zeros(3000)))


@_in_place_of_an_attribute
def _attribute_value(value, draw):
    values = np.atleast_1d(value).copy()
    if values.dtype.kind in "SOU":
        return draw.choice(TEXTS)
    pool = {"f": REALS, "b": (True, False)}.get(values.dtype.kind, INTEGERS)
    values[draw.randrange(values.size)] = draw.choice(pool)
    return values.reshape(np.shape(value))


@_in_place_of_an_attribute
def _attribute_not_utf8(value, draw):
    return np.array(b"\xff\xfe\xc0", h5py.string_dtype("utf-8", 3))


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


REFUSED = (_missing, _retyped, _exotic, _reshaped, _resized, _declared, _partly_declared, _outside, _virtual, _linked)
REFUSED += (_compressed, _group_for_dataset, _another_dataset)
CHANGED = (_value, _value, _order, _swapped, _attribute_missing, _attribute_retyped)
MORE = (_attribute_value, _attribute_value, _attribute_not_utf8, _group_missing, _group_renamed, _group_copied)
ACTIONS = (
    *((action, False) for action in REFUSED),
    *((action, True) for action in CHANGED),
    (_attribute_reshaped, False),
    *((action, True) for action in MORE),
    (_dataset_for_group, False),
    (_loop, True),
)
"""Structural damages, and whether the file may still be whole in the eyes of who reads it."""
