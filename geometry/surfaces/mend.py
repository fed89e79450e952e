"""Mend surfaces where that is safe: triangles that are no triangles, winding, small holes, vessels with open ends."""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.surfaces.ends import OPEN_END, measure_faces
from muphy_lb.geometry.surfaces.surface import Surface, diagnose
from muphy_lb.geometry.surfaces.surface_cuts import MIN_CELL, crossing_edges
from muphy_lb.geometry.surfaces.triangles import (
    Pairs,
    area_vectors,
    distinct_triangles,
    find_edges,
    find_pairs,
    number_parts,
    sides,
    trace_loops,
    turn_alike,
    volume_parts,
    without_area,
)

SMALL_HOLE = 0.02
"""Part of the area of a surface up to which a hole in it is closed."""

NO_VOLUME = 1e-6
"""A part whose volume is below this times its area to the power 3/2 encloses nothing."""

MAX_LOOPS = 1000
"""More holes than this are not a vessel's: vertices that should be one are two."""


@dataclass(frozen=True)
class Mended:
    """A closed surface, all of whose parts are wound outward.

    Attributes:
        surface: the surface.
        ends: of each end that was open, the numbers of the triangles that close it now.
        notes: what was done, and what is doubtful, in words.
    """

    surface: Surface
    ends: tuple[np.ndarray, ...]
    notes: tuple[str, ...]


def mend(surface: Surface) -> Mended:
    """Close and orient a surface, and say what was done.

    Superfluous triangles (copies, or without area) are dropped, the winding is made outward, holes of at most
    SMALL_HOLE of the area are closed, and so are the open ends of vessels, which are remembered.
    Triangles that pass through others are only told: the even-odd rule takes what they cover twice for outside.

    Raises GeometryError, with number and place, for edges of more than two triangles, a surface with one side only, a
    hole that is neither small nor the end of a vessel, and a part that encloses nothing.
    """
    surface, notes = _drop_superfluous(surface)
    if not len(surface.triangles):
        raise GeometryError("the surface is flat: its triangles have no area or lie on each other; it encloses nothing")
    edges = find_edges(surface.triangles)
    if np.any(edges.used > 2):
        raise GeometryError(f"the surface cannot be mended: {diagnose(surface).leaks()}; repair it (MeshLab, Blender)")
    wound = _wind_alike(surface, find_pairs(surface.triangles, edges))
    closed, number = _cap(wound)
    outward = _wind_outward(closed)
    n_turned = np.count_nonzero(np.any(outward.triangles[: len(surface.triangles)] != surface.triangles, axis=1))
    if n_turned:
        notes.append(f"{n_turned} of {len(surface.triangles)} triangles turned: all are wound outward now")
    ends, cap_notes = _judge_caps(outward, number)
    return Mended(outward, ends, (*notes, *cap_notes, *_crossings(outward)))


def _drop_superfluous(surface: Surface) -> tuple[Surface, list[str]]:
    """Without copies of triangles and triangles without area, as far as that opens no hole.

    Of what lies twice one stays where the surface needs it: where most of its edges have an odd number of other
    triangles. A triangle without area is needed in the same sense.
    """
    notes = [f"{surface.n_collapsed} triangles of equal vertices dropped"] if surface.n_collapsed else []
    triangles = surface.triangles
    first, copies = distinct_triangles(triangles)
    empty = without_area(surface.points, triangles)[first]
    doubtful = empty | (copies > 1)
    if not np.any(doubtful):
        return surface, notes
    edges = find_edges(triangles[first])
    others = edges.used[edges.of_side].reshape(3, -1) - 1
    needed = np.count_nonzero(others % 2, axis=0) >= 2
    keep = np.sort(first[~doubtful | needed])
    n_empty = np.count_nonzero(empty & ~needed)
    n_copies = len(triangles) - len(keep) - n_empty
    if n_copies:
        notes.append(f"{n_copies} copies of triangles dropped")
    if n_empty:
        notes.append(f"{n_empty} triangles without area dropped")
    if np.any(empty & needed):
        notes.append(f"{np.count_nonzero(empty & needed)} triangles without area kept: they hold the surface together")
    return replace(surface, triangles=triangles[keep]), notes


def _wind_alike(surface: Surface, pairs: Pairs) -> Surface:
    turned, failed = turn_alike(len(surface.triangles), pairs)
    if failed >= 0:
        raise GeometryError(
            "the surface has only one side, like a Moebius strip: its triangles cannot be wound alike at"
            f" {surface.place(surface.points[pairs.edge[failed]].mean(axis=0))}; repair it (MeshLab, Blender)"
        )
    return _turned(surface, turned)


def _wind_outward(surface: Surface) -> Surface:
    """Every part of a closed surface wound outward; GeometryError for parts that enclose nothing."""
    part = number_parts(len(surface.triangles), find_pairs(surface.triangles, find_edges(surface.triangles)).triangles)
    volume = np.bincount(part, volume_parts(surface.points, surface.triangles))
    area = np.bincount(part, np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1))
    hollow = np.flatnonzero(np.abs(volume) <= NO_VOLUME * area**1.5)
    if hollow.size:
        centre = surface.points[surface.triangles[part == hollow[0]]].mean(axis=(0, 1))
        raise GeometryError(
            f"{hollow.size} of {len(volume)} parts of the surface enclose nothing, the first at {surface.place(centre)}"
            ": sheets, or triangles that do not share their vertices; remove or weld them (MeshLab, Blender)"
        )
    return _turned(surface, volume[part] < 0.0)


def _cap(surface: Surface) -> tuple[Surface, np.ndarray]:
    """Every boundary loop closed by a fan, and the (n,) number of the cap that each triangle belongs to, or -1.

    A fan about the mean vertex covers a flat loop right by the even-odd rule, whatever the shape of the loop.
    """
    edges = find_edges(surface.triangles)
    rims = trace_loops(sides(surface.triangles)[edges.used[edges.of_side] == 1])
    if len(rims) > MAX_LOOPS:
        raise GeometryError(
            f"the surface has {len(rims)} holes, too many to mend: {diagnose(surface).leaks()}; weld vertices that"
            " should be one (MeshLab, Blender)"
        )
    points, triangles, numbers = [surface.points], [surface.triangles], [np.full(len(surface.triangles), -1)]
    for k, rim in enumerate(rims):
        hub = np.full(len(rim), len(surface.points) + k)
        points.append(surface.points[rim].mean(axis=0)[np.newaxis])
        triangles.append(np.stack([np.roll(rim, -1), rim, hub], axis=1))
        numbers.append(np.full(len(rim), k))
    closed = replace(surface, points=np.concatenate(points), triangles=np.concatenate(triangles))
    return closed, np.concatenate(numbers)


def _judge_caps(surface: Surface, number: np.ndarray) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """The caps that are ends of a vessel, and notes; GeometryError for one that is neither an end nor small."""
    n_caps = int(number.max(initial=-1)) + 1
    if not n_caps:
        return (), []
    faces = measure_faces(surface, number, n_caps)
    share = faces.area / np.linalg.norm(area_vectors(surface.points, surface.triangles[number < 0]), axis=1).sum()
    is_end = faces.are_ends(OPEN_END)
    bad = np.flatnonzero(~is_end & (share > SMALL_HOLE))
    if bad.size:
        uncapped = diagnose(replace(surface, triangles=surface.triangles[number < 0]))
        raise GeometryError(
            f"the surface is not closed: {uncapped.leaks()}; the hole at {surface.place(faces.centre[bad[0]])} is"
            f" neither the end of a vessel nor small ({share[bad[0]]:.1%} of the area, at most {SMALL_HOLE:.0%} is"
            " closed by itself); close it (MeshLab, Blender, vmtk)"
        )
    notes = []
    if np.any(~is_end):
        places = "; ".join(surface.place(c) for c in faces.centre[~is_end][:5])
        notes.append(f"{np.count_nonzero(~is_end)} small holes closed, at {places}")
    if np.any(is_end):
        places = "; ".join(surface.place(c) for c in faces.centre[is_end][:5])
        notes.append(f"{np.count_nonzero(is_end)} open ends closed with caps (to be openings), at {places}")
    return tuple(np.flatnonzero(number == k) for k in np.flatnonzero(is_end)), notes


def _crossings(surface: Surface) -> list[str]:
    """A note where edges pass through triangles, if they do."""
    edges = find_edges(surface.triangles).vertices
    ends = surface.points[edges]
    scale = MIN_CELL / max(float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean()), np.finfo(float).tiny)
    found = np.flatnonzero(crossing_edges(surface.points * scale, surface.triangles, edges))
    if not found.size:
        return []
    place = surface.place(ends[found[0]].mean(axis=0))
    return [f"doubtful: {found.size} edges pass through other triangles, the first at {place}; look at it there"]


def _turned(surface: Surface, which: np.ndarray) -> Surface:
    return replace(surface, triangles=np.where(which[:, np.newaxis], surface.triangles[:, ::-1], surface.triangles))
