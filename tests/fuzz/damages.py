"""Damages: what is done to a whole input, and what may come of it."""

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pydicom

from tests.fuzz.samples import BY_NAME, EDGE, SAMPLES, SOLVER, Sample, write_mesh
from tests.fuzz.tables import ANY, HUGE, NUMBERS, TEXT
from tests.unit.geometry.surfaces import FACES, Surface, box, sphere
from tests.unit.geometry.test_gmy import duct
from tests.unit.geometry.vtp import write_vtp

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1234567\n"
PAGE = "<!DOCTYPE html>\n<html><title>Sign in</title></html>\n"
HEAD = 400
"""Bytes at the start of a file in which headers are flipped."""


@dataclass(frozen=True)
class Damage:
    """One damaged input.

    Attributes:
        sample: the whole input.
        name: what is wrong, as text.
        apply: called with the damaged file's path after the sample was written.
        harmless: ``None``: it must be refused. Else it may be read, if the output then matches this pattern.
        options: of the command line, in place of the sample's.
    """

    sample: Sample
    name: str
    apply: Callable[[Path], object]
    harmless: str | None = None
    options: tuple[str, ...] | None = None


def damages(seed: int) -> list[Damage]:
    """All damages; those that are random are the same for the same seed."""
    found = []
    for sample in SAMPLES:
        found += _of_bytes(sample, random.Random(f"{seed} {sample.name}"))
    return [*found, *_of_text(), *_of_numbers(), *_of_options(), *_of_surfaces(), *_of_others()]


def quick(seed: int) -> list[Damage]:
    """A few damages of different kinds on different formats, for a test of seconds."""
    names = (
        "truncated to 60 %",
        "longer than its header",
        "noise",
        "huge size",
        "edges of three triangles",
        "text in place of a number",
    )
    chosen = [damage for damage in damages(seed) if damage.name in names]
    is_solver = [damage.sample.program == SOLVER for damage in chosen]
    return [damage for k, damage in enumerate(chosen) if is_solver[k] or k % 4 == 0]


# Any file: its bytes.


def _of_bytes(sample: Sample, draw: random.Random) -> Iterator[Damage]:
    cut = None if sample.is_counted else ANY
    free = ANY if sample.is_bare else None
    other = next(one for one in SAMPLES if one.name != sample.name and one.name.split(".")[-1] not in sample.name)
    yield Damage(sample, "missing", Path.unlink, "are pages missing" if "/" in sample.name else None)
    yield Damage(sample, "empty", lambda path: path.write_bytes(b""))
    for share in (5, 30, 60, 95):
        yield Damage(sample, f"truncated to {share} %", partial(_cut, share=share), cut)
    if sample.ends_with:
        yield Damage(sample, "longer than its header", lambda path: _append(path.parent / sample.ends_with))
        yield Damage(sample, "twice as long", lambda path: _append(path.parent / sample.ends_with, is_twice=True))
    yield Damage(sample, "text in place of it", lambda path: path.write_text("the dog ate my image\n" * 30))
    yield Damage(sample, "a pointer of Git LFS in place of it", lambda path: path.write_text(POINTER))
    yield Damage(sample, "a page of the web in place of it", lambda path: path.write_text(PAGE))
    yield Damage(sample, "zeros in place of it", lambda path: path.write_bytes(bytes(path.stat().st_size)))
    yield Damage(sample, "noise", partial(_noise, seed=draw.random()), free)
    yield Damage(sample, f"wrong magic: content of {other.name}", partial(_swap_content, other=other))
    for n, place in ((1, HEAD), (4, HEAD), (16, HEAD), (1, None), (30, None)):
        where = " of the head" if place else ""
        yield Damage(sample, f"{n} bytes{where} changed", partial(_flip, n=n, most=place, seed=draw.random()), ANY)
    yield Damage(sample, "3 bits flipped", partial(_flip, n=3, most=None, seed=draw.random(), is_bit=True), ANY)


def _cut(path: Path, share: int) -> None:
    path.write_bytes(path.read_bytes()[: share * path.stat().st_size // 100])


def _append(path: Path, is_twice: bool = False) -> None:
    content = path.read_bytes()
    path.write_bytes(content + (content if is_twice else b"and more"))


def _noise(path: Path, seed: float) -> None:
    path.write_bytes(random.Random(seed).randbytes(path.stat().st_size))


def _swap_content(path: Path, other: Sample) -> None:
    folder = path.parent / "other"
    folder.mkdir()
    other.write(folder)
    path.write_bytes((folder / other.name).read_bytes())


def _flip(path: Path, n: int, most: int | None, seed: float, is_bit: bool = False) -> None:
    draw, content = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(n):
        place = draw.randrange(min(len(content), most or len(content)))
        content[place] = content[place] ^ (1 << draw.randrange(8)) if is_bit else draw.randrange(256)
    path.write_bytes(content)


# Files with text: words replaced.


def _of_text() -> Iterator[Damage]:
    for name, swaps in TEXT.items():
        for words, old, new, *harmless in swaps:
            yield Damage(BY_NAME[name], words, partial(_swap, old=old, new=new), *harmless)


def _swap(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    if old not in content:
        raise ValueError(f"{path.name} does not hold {old!r}; there is nothing to damage")
    path.write_bytes(content.replace(old, new, 1))


# Files with numbers at known places.


def _of_numbers() -> Iterator[Damage]:
    for name, patches in NUMBERS.items():
        for words, place, new, *harmless in patches:
            yield Damage(BY_NAME[name], words, partial(_patch, place=place, new=new), *harmless)


def _patch(path: Path, place: int, new: bytes) -> None:
    content = bytearray(path.read_bytes())
    place %= len(content)
    content[place : place + len(new)] = new
    path.write_bytes(content)


# Options that do not fit the file.


def _raw(*shape, dtype="int16", header="0") -> tuple[str, ...]:
    return ("--shape-zyx", *map(str, shape), "--dtype", dtype, "--header-bytes", header, *EDGE)


OPTIONS = {
    "image.raw": (
        ("wrong dims", _raw(6, 8, 11)),
        ("huge size", _raw(HUGE, HUGE, HUGE)),
        ("negative size", _raw(6, 8, -10)),
        ("size zero", _raw(0, 8, 10)),
        ("four axes", _raw(6, 8, 5, 2)),
        ("wrong type", _raw(6, 8, 10, dtype="float64")),
        ("unknown type", _raw(6, 8, 10, dtype="int17")),
        ("type of objects", _raw(6, 8, 10, dtype="O")),
        ("header longer than the file", _raw(6, 8, 10, header="100000")),
        ("negative header", _raw(6, 8, 10, header="-7")),
    ),
    "box.stl": (
        ("unknown unit", ("--unit", "inch", "--spacing-m", "0.25")),
        ("spacing negative", ("--unit", "m", "--spacing-m", "-1")),
        ("spacing NaN", ("--unit", "m", "--spacing-m", "nan")),
        ("voxels of a picometre", ("--unit", "m", "--spacing-m", "1e-12")),
        ("voxels larger than the surface", ("--unit", "mm", "--spacing-m", "1")),
    ),
    "image.mha": (
        ("resampled to voxels of a picometre", ("--resample-m", "1e-12")),
        ("resampled to NaN", ("--resample-m", "nan")),
        ("value that no voxel has", ("--fluid-value", "77")),
        ("opening that no voxel has", ("--opening-value", "inlet=77")),
    ),
    "pack.xyz": (
        ("voxels of a picometre", ("--spacing-m", "1e-12")),
        ("spacing zero", ("--spacing-m", "0")),
    ),
    "duct.gmy": (("spacing NaN", ("--spacing-m", "nan")),),
}


def _of_options() -> Iterator[Damage]:
    for name, choices in OPTIONS.items():
        for words, options in choices:
            yield Damage(BY_NAME[name], f"options: {words}", lambda path: None, None, options)


# Surfaces whose triangles are wrong.


def _with_triangles(*more) -> Surface:
    return Surface(box().points, np.concatenate([FACES, np.array(more).reshape(-1, 3)]), 1.0)


def _two_spheres(distance: float) -> Surface:
    one = sphere(1.0, 2)
    points = np.concatenate([one.points, one.points + (distance, 0.0, 0.0)])
    return Surface(points, np.concatenate([one.triangles, one.triangles + len(one.points)]), 1.0)


def _moebius(n: int = 12) -> Surface:
    angle = 2.0 * np.pi * np.arange(n) / n
    across = np.stack([np.cos(angle / 2) * np.cos(angle), np.cos(angle / 2) * np.sin(angle), np.sin(angle / 2)], axis=1)
    middle = np.stack([3 * np.cos(angle), 3 * np.sin(angle), 0 * angle], axis=1)
    k = np.arange(n)
    low, high = np.append(k, n), np.append(n + k, 0)
    halves = [(low[k], high[k], high[k + 1]), (low[k], high[k + 1], low[k + 1])]
    triangles = np.concatenate([np.stack(half, axis=1) for half in halves])
    return Surface(np.concatenate([middle - across, middle + across]), triangles, 1.0)


SURFACES = {
    "edges of three triangles": (lambda: _with_triangles([0, 1, 7]), None),
    "a fin on an edge and a copy": (lambda: _with_triangles([0, 1, 7], [0, 1, 7]), ANY),
    "triangle twice": (lambda: _with_triangles(FACES[0]), "copies of triangles dropped"),
    "all triangles three times": (lambda: _with_triangles(*FACES, *FACES), "copies of triangles dropped"),
    "triangle without area": (lambda: _with_triangles([0, 1, 1]), "triangles of equal vertices dropped"),
    "only triangles without area": (lambda: Surface(np.zeros((3, 3)), np.array([[0, 1, 2]]), 1.0), None),
    "a needle: three corners on a line": (
        lambda: Surface(np.eye(3)[[0, 0, 0]] * [[0], [1], [2]], FACES[:1], 1.0),
        None,
    ),
    "self-crossing spheres": (lambda: _two_spheres(1.0), "edges pass through other triangles"),
    "one sphere inside out": (
        lambda: Surface(sphere(1.0, 2).points, sphere(1.0, 2).triangles[:, ::-1], 1.0),
        "reversed",
    ),
    "half of the triangles turned": (
        lambda: Surface(box().points, np.where(np.arange(12)[:, None] % 2, FACES, FACES[:, ::-1]), 1.0),
        "reversed",
    ),
    "a side missing": (lambda: Surface(box().points, FACES[2:], 1.0), "closed"),
    "one triangle": (lambda: Surface(box().points, FACES[:1], 1.0), None),
    "a flat sheet": (lambda: Surface(box().points, FACES[:2], 1.0), None),
    "a Moebius strip": (_moebius, None),
    "squashed flat": (lambda: Surface(box().points * (1, 1, 0), FACES, 1.0), None),
    "squashed nearly flat": (lambda: Surface(box().points * (1, 1, 1e-12), FACES, 1.0), None),
    "thinner than a voxel": (lambda: Surface(box().points * (1, 1, 0.01), FACES, 1.0), None),
    "two boxes that share an edge": (
        lambda: Surface(
            np.concatenate([box().points, box().points + (1.0, 2.0, 0.0)]), np.concatenate([FACES, FACES + 8]), 1.0
        ),
        None,
    ),
    "random triangles": (
        lambda: Surface(np.random.default_rng(1).random((300, 3)), np.arange(300).reshape(100, 3), 1.0),
        None,
    ),
    "a random tangle": (
        lambda: Surface(
            np.random.default_rng(1).random((30, 3)), np.random.default_rng(2).integers(0, 30, (400, 3)), 1.0
        ),
        None,
    ),
}


def _of_surfaces() -> Iterator[Damage]:
    for name, (make, harmless) in SURFACES.items():
        yield Damage(BY_NAME["box.stl"], name, partial(_write_surface, make=make), harmless)
    write = partial(write_vtp, points=box().points, polygons=[[0, 1, 9]])
    yield Damage(BY_NAME["box.vtp"], "corners that are not there", write)
    write = partial(write_vtp, points=box().points, polygons=[[0, 1], [2]])
    yield Damage(BY_NAME["box.vtp"], "polygons of one and two corners", write)


def _write_surface(path: Path, make: Callable[[], Surface]) -> None:
    write_mesh(path, make(), binary=True)


# Damages that need the format's own library.


def _of_others() -> Iterator[Damage]:
    slice_, archive, block = BY_NAME["ct/slice3.dcm"], BY_NAME["image.npz"], BY_NAME["duct.gmy"]
    changes = {
        "spacing NaN": {"PixelSpacing": [0.5, "nan"]},
        "spacing zero": {"PixelSpacing": [0, 0]},
        "huge size": {"Rows": 65535, "Columns": 65535},
        "wrong dims": {"Rows": 9},
        "size zero": {"Rows": 0},
        "colours": {"PhotometricInterpretation": "RGB", "SamplesPerPixel": 3},
        "another series": {"SeriesInstanceUID": "9.9"},
        "slice out of place": {"ImagePositionPatient": [10, 20, 31.7]},
        "slice where another is": {"ImagePositionPatient": [10, 20, 30]},
        "slope infinite": {"RescaleSlope": "1e400"},
    }
    for name, elements in changes.items():
        yield Damage(slice_, name, partial(_change_dicom, elements=elements))
    yield Damage(archive, "objects", lambda path: np.savez(path, np.array([{"a": 1}])))
    yield Damage(archive, "two arrays", lambda path: np.savez(path, a=np.ones(3), b=np.ones(3)))
    yield Damage(archive, "five axes", lambda path: np.savez(path, np.ones((1, 2, 2, 2, 2), np.uint8)))
    yield Damage(archive, "no values", lambda path: np.savez(path, np.ones((0, 2, 2), np.uint8)))
    yield Damage(archive, "text values", lambda path: np.savez(path, np.array([["a", "b"]])))
    yield Damage(block, "a block that inflates to 3 GiB", _bomb)


def _change_dicom(path: Path, elements: dict) -> None:
    data = pydicom.dcmread(path)
    for name, value in elements.items():
        setattr(data, name, value)
    data.save_as(path)


def _bomb(path: Path) -> None:
    squeeze, zeros = zlib.compressobj(1), bytes(2**20)
    packed = b"".join(squeeze.compress(zeros) for _ in range(3 * 2**10)) + squeeze.flush()
    head = struct.pack(">8I", *struct.unpack(">2I", duct()[:8]), 4, 1, 1, 1, 4, 0)
    path.write_bytes(head + struct.pack(">3I", 64, len(packed), 2**32 - 1) + packed)
