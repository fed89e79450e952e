"""Carving of openings: vessels are cut by planes and the voxels just outside the flow are flagged.

Lengths inside this file are in voxels. ``s`` is the signed distance of a voxel centre from the plane of an
opening, positive on the side of the fluid. The longest lattice link, along a space diagonal, is sqrt(3)
voxels: a layer of that thickness behind the plane intercepts every link that crosses it.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import read_bytes
from muphy_lb.geometry.implicit import MovedWall
from muphy_lb.geometry.limits import ask_for_voxels, check_name, cut, shown
from muphy_lb.geometry.options import check_names
from muphy_lb.geometry.slabs import copied, indices_of, padded
from muphy_lb.geometry.voxels import (
    FIRST_OPENING,
    FIRST_WALL,
    FLUID,
    MAX_OPENINGS,
    SOLID,
    Opening,
    Voxels,
    opening_flag,
)

UNITS = {"mm": 1e-3, "um": 1e-6, "cm": 1e-2}


def unit_hint(
    point_m: Sequence[float], origin_m: Sequence[float], shape: tuple[int, int, int], spacing_m: float
) -> str:
    """A hint on a point far outside the box of voxels: the unit that it seems to be given in; else nothing.

    Args:
        point_m: (x, y, z), meant in metres.
        origin_m: lowest corner (x, y, z) of the box [m].
        shape: (nz, ny, nx) of the box.
    """
    low, size = np.array(origin_m), spacing_m * np.array(shape[::-1])
    point, reach = np.array(point_m), float(np.linalg.norm(size))
    if np.linalg.norm(point - (low + 0.5 * size)) < 2.0 * reach:
        return ""
    for unit, metres in UNITS.items():
        if np.all((point * metres > low - 0.1 * reach) & (point * metres < low + size + 0.1 * reach)):
            there = ", ".join(f"{x:.6g}" for x in point * metres)
            return f"; it looks like {unit}: in metres it is [{there}]"
    return ""


LAYER = np.sqrt(3.0)  # thickness of the layer of opening voxels, and of the solid layer behind it
RIM = 1.5  # the cut extends beyond the radius by this, so that a disc as wide as the lumen cuts all of it
SIDE = 2.0  # depth on either side of the plane within which fluid determines the direction of the normal
PAD = 4  # layers of solid added where the opening voxels would leave the box: two LAYERs, rounded up

#: ``s`` is rounded to this many digits, so that the voxel centres on a plane all lie on the same side of it.
PLANE_DIGITS = 6
NEARLY_ZERO = 10.0**-PLANE_DIGITS  # components of a normal below this are rounding errors
BYTES_NEAR = 32  # bytes of each voxel near an opening while its distance from the plane is found

#: Keys of an opening in a case file that define its boundary condition, not its geometry.
CONDITION_KEYS = (
    "velocity_m_s",
    "flow_rate_m3_s",
    "mass_flow_kg_s",
    "pressure_pa",
    "profile",
    "profile_file",
    "waveform",
    "windkessel",
    "coronary",
    "flow_split",
    "non_reflecting",
)
#: (26, 3) offsets (z, y, x) of the neighbours of a voxel.
NEIGHBOURS = np.array([c for c in product((-1, 0, 1), repeat=3) if any(c)])
#: (6, 3) offsets of the neighbours that share a face with a voxel.
FACES = NEIGHBOURS[np.abs(NEIGHBOURS).sum(axis=1) == 1]


@dataclass(frozen=True)
class _Slab:
    """The voxels near the disc of one opening: ``zyx`` (m, 3) indices and ``s`` (m,) signed distances."""

    opening: Opening
    zyx: np.ndarray
    s: np.ndarray

    def where(self, low: float, high: float) -> np.ndarray:
        """(k, 3) indices of the voxels with low < s <= high."""
        return self.zyx[(self.s > low) & (self.s <= high)]


def carve(voxels: Voxels, openings: Sequence[Opening]) -> Voxels:
    """The voxels with the opening voxels of each plane disc flagged and the layer behind them made solid.

    For each opening: a normal that points away from the fluid is reversed. In the layer ``-sqrt(3) < s <= 0``
    within the radius (+1.5 voxels), those voxels become opening voxels that were fluid, that lie in the extrusion of
    the fluid cross-section in front of the plane along the normal, or that share a face with that fluid; the adjacent
    wall remains wall. The next layer becomes solid, so that the fluid behind is cut off and removed by cleaning.
    Where the layers would leave the box, the box is padded by 4 layers of solid. New openings are flagged from
    ``FIRST_OPENING`` on, after existing ones; the result's ``openings`` hold the records with their final normals.

    Raises GeometryError: too many openings, equal names, a disc that touches no fluid or does not span the lumen, two
    discs that overlap, an opening at a face across a periodic axis.
    """
    _check_records(voxels, openings)
    oriented = [_orient(voxels, opening) for opening in openings]
    voxels = _pad(voxels, oriented)
    flags = copied(voxels.flags)
    slabs = [_slab(voxels, opening) for opening in oriented]
    records = (*voxels.openings, *oriented)
    for number, slab in enumerate(slabs, start=len(voxels.openings)):
        layer = _layer(voxels, slab)
        taken = flags[tuple(layer.T)]
        taken = taken[(taken >= FIRST_OPENING) & (taken < FIRST_WALL)]
        if taken.size:
            other = records[int(taken[0]) - FIRST_OPENING]
            raise GeometryError(
                f"openings {other.name!r} and {slab.opening.name!r} overlap in {taken.size} voxels; move them apart or"
                " reduce radius_m"
            )
        flags[tuple(layer.T)] = opening_flag(number)
        zyx = slab.where(-2 * LAYER, -LAYER)
        index = tuple(zyx[flags[tuple(zyx.T)] == FLUID].T)
        flags[index] = SOLID
    carved = replace(voxels, flags=flags, openings=records)
    for number, slab in enumerate(slabs, start=len(voxels.openings)):
        _check_contact(carved, slab, opening_flag(number))
    return carved


def flags_at(voxels: Voxels, zyx: np.ndarray) -> np.ndarray:
    """Flags at integer indices (..., 3) in (z, y, x) order: periodic axes wrap, outside the box is SOLID."""
    shape = np.array(voxels.shape)
    zyx = np.where(voxels.periodic[::-1], zyx % shape, zyx)
    inside = np.all((zyx >= 0) & (zyx < shape), axis=-1)
    found = voxels.flags[tuple(np.moveaxis(np.clip(zyx, 0, shape - 1), -1, 0))]
    return np.where(inside, found, SOLID)


def fluid_neighbours(voxels: Voxels, zyx: np.ndarray) -> np.ndarray:
    """(m, 26) bool: whether neighbour ``NEIGHBOURS[j]`` of voxel ``zyx[i]`` (m, 3) is fluid."""
    return flags_at(voxels, zyx[:, np.newaxis] + NEIGHBOURS) == FLUID


def with_tagged_openings(voxels: Voxels, tags: Mapping[str, int], source) -> Voxels:
    """Add the records of openings that are already flagged, each estimated from its voxels.

    Args:
        voxels: an image whose flags include opening voxels.
        tags: flag of each opening by its tag, ``"inlet"``, ``"outlet"``, ``"inlet:NAME"`` or ``"outlet:NAME"``; flags
            ascend from ``FIRST_OPENING``.
        source: name of the input, for messages.

    Raises GeometryError for an opening that has no voxel, or without fluid on one of its sides.
    """
    return replace(voxels, openings=tuple(_estimate(source, voxels, tag, flag) for tag, flag in tags.items()))


def _estimate(source, voxels: Voxels, tag: str, flag: int) -> Opening:
    kind, _, name = tag.partition(":")
    zyx = indices_of(voxels.flags, flag)
    if not len(zyx):
        raise GeometryError(f"{source}: no voxel has the tag {tag!r}; leave it out or check its value")
    lengths = np.linalg.norm(NEIGHBOURS, axis=1, keepdims=True)
    direction = fluid_neighbours(voxels, zyx).sum(axis=0) @ (NEIGHBOURS / lengths)
    if not np.linalg.norm(direction) > 1e-9 * len(zyx):
        raise GeometryError(
            f"{source}: the {len(zyx)} voxels tagged {tag!r} have no fluid on one side of them; an opening must lie"
            " just outside the flow"
        )
    centre = np.array(voxels.origin_m) + voxels.spacing_m * zyx.mean(axis=0)[::-1]
    return Opening(name or kind, kind, tuple(centre.tolist()), tuple(direction[::-1].tolist()))


def opening_from_mapping(values: Mapping[str, Any], where: str) -> Opening:
    """An Opening from a mapping with the names of its attributes; ``where`` names the source in error messages."""
    allowed = [f.name for f in fields(Opening)]
    check_names(values, allowed, where)
    missing = [name for name in allowed[:4] if name not in values]
    if missing:
        raise GeometryError(f"{where}: {', '.join(missing)} missing; an opening has {', '.join(allowed)}")
    try:
        values = dict(values)
        for name in ("centre_m", "normal"):
            values[name] = tuple(float(c) for c in values[name])
            if len(values[name]) != 3:
                raise ValueError(f"{name} has {len(values[name])} numbers; it needs x, y, z")
        values["radius_m"] = float(values.get("radius_m", "inf"))
    except (TypeError, ValueError, OverflowError) as error:
        raise GeometryError(f"{where}: {cut(str(error))}") from error
    check_name(values["name"], f"{where}: the name")
    return Opening(**values)


def read_openings(path) -> list[Opening]:
    """The openings of a TOML or JSON file: a list ``openings`` of tables with the names of an Opening's attributes.
    Boundary conditions in the tables (CONDITION_KEYS), as in case files, are ignored. Raises GeometryError for a file
    that cannot be read and for invalid tables."""
    parse = {".toml": tomllib.loads, ".json": json.loads}.get(Path(path).suffix.lower())
    if parse is None:
        raise GeometryError(f"openings file {path}: ending {shown(Path(path).suffix)}; allowed: .toml, .json")
    try:
        records = parse(read_bytes(path).decode())["openings"]
        geometric = [{key: r[key] for key in r if key not in CONDITION_KEYS} for r in records]
        return [opening_from_mapping(r, f"{path}, opening number {k}") for k, r in enumerate(geometric, start=1)]
    except (KeyError, TypeError, IndexError) as error:
        raise GeometryError(f"{path}: it must hold a list of tables named 'openings'") from error
    except GeometryError:
        raise
    except (ValueError, RecursionError) as error:
        raise GeometryError(f"cannot read {path}: {cut(str(error))}") from error


def _check_records(voxels: Voxels, openings: Sequence[Opening]) -> None:
    names = [opening.name for opening in (*voxels.openings, *openings)]
    if len(names) > MAX_OPENINGS:
        raise GeometryError(f"{len(names)} openings; at most {MAX_OPENINGS} are supported")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GeometryError(f"opening name {twice[0]!r} is used {names.count(twice[0])} times; names must be unique")


def _slab(voxels: Voxels, opening: Opening) -> _Slab:
    """The voxels within the radius of an opening (and RIM) and 2 LAYER of its plane."""
    centre = (np.array(opening.centre_m) - voxels.origin_m) / voxels.spacing_m
    low, high = _bounds(voxels, opening, centre)
    ask_for_voxels((high - low)[::-1], BYTES_NEAR, f"the neighbourhood of opening {opening.name!r}")
    z, y, x = np.ix_(*(np.arange(low[i], high[i]) - centre[i] for i in (2, 1, 0)))
    normal = opening.normal
    s = np.round(normal[0] * x + normal[1] * y + normal[2] * z, PLANE_DIGITS)
    near = np.abs(s) <= 2 * LAYER
    if np.isfinite(opening.radius_m):
        radius = opening.radius_m / voxels.spacing_m + RIM
        near &= x * x + y * y + z * z - s * s <= radius * radius
    return _Slab(opening, np.argwhere(near) + low[::-1], s[near])


def _bounds(voxels: Voxels, opening: Opening, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index range (x, y, z) low, high of the bounding box of a disc of thickness 4 LAYER, clipped to the image."""
    along = np.abs(opening.normal)
    across = np.sqrt(np.clip(1.0 - along * along, 0.0, None))
    radius = opening.radius_m / voxels.spacing_m + RIM
    # An infinite radius must not be multiplied by zero.
    half_width = np.where(across > 0.0, radius * np.where(across > 0.0, across, 1.0), 0.0) + 2 * LAYER * along
    size = np.array(voxels.shape[::-1])
    low = np.clip(np.floor(centre - half_width), 0, size).astype(np.int64)
    high = np.clip(np.ceil(centre + half_width) + 1, low, size).astype(np.int64)
    return low, high


def _orient(voxels: Voxels, opening: Opening) -> Opening:
    """The opening, its normal reversed if there is fluid close behind its plane and none in front."""
    slab = _slab(voxels, opening)
    fluid = slab.s[voxels.flags[tuple(slab.zyx.T)] == FLUID]
    behind = np.any((fluid < 0) & (fluid > -SIDE))
    in_front = np.any((fluid > 0) & (fluid < SIDE))
    return opening.flipped() if behind and not in_front else opening


def _pad(voxels: Voxels, openings: Sequence[Opening]) -> Voxels:
    """Pad the box by PAD layers of solid on every side where the layers of an opening would leave it."""
    widths = np.zeros((3, 2), dtype=np.int64)
    for opening in openings:
        for i, side in _sides_left(voxels, opening):
            if voxels.periodic[i]:
                raise GeometryError(
                    f"opening {opening.name!r} lies on a face of the box across {'xyz'[i]}, which is periodic;"
                    " make that axis not periodic or move the opening inside"
                )
            widths[i, side] = PAD
    if not widths.any():
        return voxels
    origin = np.array(voxels.origin_m) - widths[:, 0] * voxels.spacing_m
    flags = padded(voxels.flags, widths[::-1], SOLID)
    shape = None if voxels.wall_shape is None else MovedWall(voxels.wall_shape, tuple(widths[:, 0].tolist()))
    return replace(voxels, flags=flags, origin_m=tuple(origin.tolist()), wall_shape=shape)


def _sides_left(voxels: Voxels, opening: Opening) -> list[tuple[int, int]]:
    """(axis, side) of the faces of the box beyond which links from the fluid would cross the plane of the opening."""
    slab = _slab(voxels, opening)
    front = slab.where(0.0, LAYER)
    front = front[voxels.flags[tuple(front.T)] == FLUID][:, ::-1]
    faces = (np.zeros(3, dtype=np.int64), np.array(voxels.shape[::-1]) - 1)
    return [
        (i, side)
        for i, side in product(range(3), (0, 1))
        if np.any(front[:, i] == faces[side][i]) and opening.normal[i] * (-1, 1)[side] < -NEARLY_ZERO
    ]


def _layer(voxels: Voxels, slab: _Slab) -> np.ndarray:
    """(k, 3) indices of the voxels that become opening voxels. These are the fluid voxels of the layer, the extruded
    cross-section, and the voxels that share a face with fluid in front of the plane. With the latter an opening of area
    A is crossed by A |n_i| links along axis i, also where an oblique rim forms a staircase."""
    in_layer = (slab.s > -LAYER) & (slab.s <= 0.0)
    zyx, s = slab.zyx[in_layer], slab.s[in_layer]
    step = (LAYER / 2 - s)[:, np.newaxis] * slab.opening.normal[::-1]
    in_front = np.rint(np.round(zyx + step, PLANE_DIGITS)).astype(np.int64)
    faces = zyx[:, np.newaxis] + FACES
    facing = (flags_at(voxels, faces) == FLUID) & (_signed_distance(voxels, slab.opening, faces) > 0.0)
    taken = (flags_at(voxels, in_front) == FLUID) | (voxels.flags[tuple(zyx.T)] == FLUID) | facing.any(axis=1)
    return zyx[taken]


def _check_contact(voxels: Voxels, slab: _Slab, flag: int) -> None:
    """Raise GeometryError unless the opening voxels touch fluid in front of the plane, and only there."""
    zyx = slab.zyx[voxels.flags[tuple(slab.zyx.T)] == flag]
    touching = fluid_neighbours(voxels, zyx)
    ahead = _signed_distance(voxels, slab.opening, zyx[:, np.newaxis] + NEIGHBOURS) > 0.0
    opening = slab.opening
    if not np.any(touching & ahead):
        if not np.any(voxels.flags == FLUID):
            box = " x ".join(map(str, voxels.shape[::-1]))
            raise GeometryError(
                f"opening {opening.name!r} touches no fluid: the box of {box} voxels holds none, with a voxel edge of"
                f" {voxels.spacing_m:.6g} m; give a finer one, or check its unit"
            )
        positions = np.asarray(voxels.origin_m) + voxels.spacing_m * indices_of(voxels.flags, FLUID)[:, ::-1]
        distances = np.linalg.norm(positions - opening.centre_m, axis=1)
        raise GeometryError(
            f"opening {opening.name!r} touches no fluid: centre {opening.centre_m} m, radius {opening.radius_m:.6g} m;"
            f" the nearest fluid voxel is {float(distances.min(initial=np.inf)):.6g} m from its centre"
            f"{unit_hint(opening.centre_m, voxels.origin_m, voxels.shape, voxels.spacing_m)};"
            " move the centre into the lumen, enlarge radius_m or refine the spacing"
        )
    beside = np.count_nonzero(touching & ~ahead)
    if beside:
        raise GeometryError(
            f"opening {opening.name!r} does not close the vessel: fluid passes beside its disc of radius"
            f" {opening.radius_m:.6g} m (centre {opening.centre_m} m) over {beside} links; {_closing(voxels, opening)}"
        )


def _closing(voxels: Voxels, opening: Opening) -> str:
    """The remedy that closes a vessel beside an opening."""
    across = [axis for axis, wraps, n in zip("xyz", voxels.periodic, opening.normal, strict=True) if wraps and n]
    if not across or np.isfinite(opening.radius_m):
        return "enlarge radius_m"
    return f"it comes in from the other side, as the box is periodic along {across[0]}: make that axis not periodic"


def _signed_distance(voxels: Voxels, opening: Opening, zyx: np.ndarray) -> np.ndarray:
    """Signed distance ``s`` [voxels] of voxel indices (..., 3) from the plane of an opening."""
    centre = (np.array(opening.centre_m) - voxels.origin_m) / voxels.spacing_m
    return np.round((zyx[..., ::-1] - centre) @ np.array(opening.normal), PLANE_DIGITS)
