"""The ends of an input, where fluid could enter or leave, and which of them the openings of a case leave closed.

Ends are the open ends and flat caps of a surface, and the sections where the fluid of an image meets a face of its
box. Each is represented by points on it. A point is open if an opening lies there, walled if there is fluid before it
and no opening, and does not count if there is neither: the rim of an end, or a piece that an opening further inside
has cut off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.openings.carve import flags_at
from muphy_lb.geometry.openings.find import CAP, END, FoundOpening, ends_of_surface, sections_at_faces
from muphy_lb.geometry.surfaces.mend import Mended
from muphy_lb.geometry.voxels import FIRST_OPENING, FIRST_WALL, FLUID, End, Voxels

MOST_POINTS = 100_000
"""Largest number of points on an end."""

INSIDE, AROUND = np.arange(0.5, 2.0, 0.5), np.arange(-1.0, 2.5, 0.5)
"""Distances [voxels] from an end, inwards, at which fluid and openings are looked for."""

AT_BOX = "face of the box at "
"""How the source of a section at a face of the box begins."""

NOTICED, RIM_WIDTH = 0.05, 0.25
"""Walled shares of an end up to the first are not reported, nor is a rim of at most the second [voxels]."""


@dataclass(frozen=True)
class EndState:
    """What the openings of a case do to an end.

    Attributes:
        end: the end.
        walled: share of its area, of that with fluid before it, that is a wall; 0 if there is no fluid at all.
        names: the openings that lie on it.
        is_closed: whether more than its rim is a wall.
    """

    end: End
    walled: float
    names: tuple[str, ...]
    is_closed: bool


def with_surface_ends(voxels: Voxels, mended: Mended) -> Voxels:
    """The voxels of a surface, with its ends."""
    surface = mended.surface
    corners = surface.points_m[surface.triangles]
    ends = [_end(item, _points_on(corners[k], voxels.spacing_m)) for item, k in ends_of_surface(mended)]
    return replace(voxels, ends=tuple(ends))


def with_image_ends(voxels: Voxels) -> Voxels:
    """The voxels of an image, with the sections of its fluid at faces of the box; those of other inputs unchanged."""
    if voxels.ends or voxels.openings:
        return voxels
    return replace(voxels, ends=tuple(_end(item, points) for item, points in sections_at_faces(voxels)))


def end_states(voxels: Voxels, nodes: NodeList) -> tuple[EndState, ...]:
    """The state of every end of an input.

    Args:
        voxels: the input, carved by the openings of the case.
        nodes: the nodes that cleaning has kept of it.
    """
    return tuple(_state(end, voxels, nodes) for end in voxels.ends)


def describe_ends(states: Sequence[EndState]) -> str:
    """One line on all ends: which openings lie on them, and how many have none."""
    names = sorted({name for state in states for name in state.names})
    closed = [state.end for state in states if state.walled > 0.0 and not state.names]
    faces = sorted({end.source.removeprefix(AT_BOX) for end in closed if end.source.startswith(AT_BOX)})
    n_cut = len(states) - len(closed) - sum(bool(state.names) for state in states)
    parts = [f"opened by {', '.join(names)}"] if names else []
    parts += [f"walls at the faces of the box at {', '.join(faces)}"] if faces else []
    n_other = sum(not end.source.startswith(AT_BOX) for end in closed)
    parts += [f"{n_other} without an opening"] if n_other else []
    parts += [f"{n_cut} behind an opening or without fluid"] if n_cut else []
    return f"{len(states)} end{'s'[: len(states) != 1]} of the input: {'; '.join(parts)}"


def end_warnings(states: Sequence[EndState]) -> Iterator[str]:
    """A text for every end of which a part is a wall: place, area, share and remedy.

    Whole faces of an image, as those of a rock, are usually meant to be closed, and so are flat faces where no end at
    all is open: they are left out.
    """
    some_open = any(state.names for state in states)
    for state in states:
        end, share = state.end, state.walled
        if not state.is_closed or np.isinf(end.outer_radius_m) or not (some_open or end.source == END):
            continue
        place = (
            f"the {end.source} at ({_numbers(end.centre_m)}) m, of {end.area_m2:.4g} m2 (radius {end.radius_m:.4g} m)"
        )
        if state.names:
            yield (
                f"{place}, is covered only in part by {' and '.join(state.names)}: {share:.0%} of it is a wall;"
                f" enlarge radius_m to {end.outer_radius_m:.4g}, with its centre as centre_m, to open all of it"
            )
        else:
            yield (
                f"{place}, has no opening: it is a wall now; if fluid shall pass there, add [[openings]] with"
                f" centre_m = [{_numbers(end.centre_m)}], normal = [{_numbers(end.normal)}],"
                f" radius_m = {end.outer_radius_m:.4g}"
            )


def _numbers(vector) -> str:
    return ", ".join(f"{round(c, 12) + 0.0:.5g}" for c in vector)


def _end(item: FoundOpening, points: tuple[np.ndarray, np.ndarray]) -> End:
    opening = item.opening
    source = "flat end" if item.source == CAP else item.source
    return End(source, opening.centre_m, opening.normal, item.area_m2, opening.radius_m, *points)


def _points_on(corners_m: np.ndarray, spacing_m: float) -> tuple[np.ndarray, np.ndarray]:
    """((n, 3) points spread over triangles (m, 3, 3), about a voxel apart, (n,) area that each stands for)."""
    longest = np.linalg.norm(corners_m - np.roll(corners_m, 1, axis=1), axis=2).max()
    most = int(np.sqrt(2.0 * MOST_POINTS / len(corners_m)))
    n = int(np.clip(np.ceil(longest / spacing_m), 1, max(most, 1)))
    u, v = np.divmod(np.arange(n * n), n)
    u, v = u[u + v < n], v[u + v < n]
    weights = np.stack([u, v, n - 1 - u - v], axis=1) / n + 1.0 / (3 * n)
    areas = 0.5 * np.linalg.norm(np.cross(*np.moveaxis(corners_m[:, 1:] - corners_m[:, :1], 1, 0)), axis=1)
    return np.einsum("pk,mki->mpi", weights, corners_m).reshape(-1, 3), np.repeat(areas / len(u), len(u))


def _state(end: End, voxels: Voxels, nodes: NodeList) -> EndState:
    start = (end.points_m - voxels.origin_m) / voxels.spacing_m
    inward = np.array(end.normal)
    filled = np.zeros(len(start), dtype=bool)
    for distance in INSIDE:
        filled |= _are_nodes(voxels, nodes, np.rint(start + distance * inward).astype(np.int64))
    flag = np.zeros(len(start), dtype=np.int64)
    for distance in AROUND:
        found = flags_at(voxels, np.rint(start + distance * inward).astype(np.int64)[:, ::-1])
        flag = np.where((found >= FIRST_OPENING) & (found < FIRST_WALL), found, flag)
    walled = float(end.areas_m2[filled & (flag == 0)].sum())
    total = walled + float(end.areas_m2[flag > 0].sum())
    names = [voxels.openings[number - FIRST_OPENING].name for number in np.unique(flag[flag > 0])]
    share = walled / total if total else 0.0
    noticed = max(NOTICED, 2.0 * RIM_WIDTH * voxels.spacing_m / end.radius_m)
    return EndState(end, share, tuple(names), share > noticed)


def _are_nodes(voxels: Voxels, nodes: NodeList, xyz: np.ndarray) -> np.ndarray:
    """(n,) bool: whether there is a fluid node at each voxel (x, y, z)."""
    fluid = flags_at(voxels, xyz[:, ::-1]) == FLUID
    size = np.array(voxels.shape[::-1])
    x, y, z = np.moveaxis(xyz % size, -1, 0)
    voxel = ((z * size[1] + y) * size[0] + x)[fluid]
    kept = np.zeros(len(voxel), dtype=bool)
    for first, last in zip(nodes.group_start[:-1], nodes.group_start[1:], strict=True):
        group = nodes.voxel[first:last]
        place = np.minimum(np.searchsorted(group, voxel), max(len(group) - 1, 0))
        kept |= group[place] == voxel if len(group) else False
    fluid[fluid] = kept
    return fluid
