"""Ends of vessels, measured on closed surfaces, and safe repairs: degenerate triangles, orientation, holes, open
ends."""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.surfaces.surface import MAX_POSITIONS, Surface, diagnose
from muphy_lb.geometry.surfaces.surface_cuts import MIN_CELL, SurfaceWall, crossed_parts
from muphy_lb.geometry.surfaces.triangles import (
    area_vectors,
    distinct_triangles,
    find_edges,
    find_pairs,
    is_degenerate,
    label_components,
    orient_consistently,
    sides,
    signed_volumes,
    trace_loops,
    unit_vectors,
)


@dataclass(frozen=True)
class EndRule:
    """Criteria for a region to be the end of a vessel."""

    #: largest mean cosine, around the rim, between the normals of the end and of the adjacent wall (0: the wall is
    #: perpendicular to the end; 1: it continues in the plane of the end)
    slope: float
    depth: float  #: smallest free path along the normal, in outer radii of the end
    roughness: float  #: largest distance of its vertices from its plane, in outer radii


#: Criteria for the cap of an open loop: lenient, as an open loop is likely to be an end.
OPEN_END = EndRule(0.5, 0.5, 0.3)
#: Criteria for a flat region of a closed surface: strict, as it may just be a flat wall.
CLOSED_END = EndRule(0.3, 1.0, 0.05)


@dataclass(frozen=True)
class Faces:
    """Measures of regions of a closed surface, candidates for ends of a vessel; lengths in units of the file."""

    centre: np.ndarray  #: (k, 3) centroid
    normal: np.ndarray  #: (k, 3) unit vectors into the vessel
    area: np.ndarray  #: (k,) area projected along the normal
    radius: np.ndarray  #: (k,) outer radius: largest distance of a vertex from the centre
    slope: np.ndarray  #: (k,) mean cosine between the normals of region and surroundings around the rim
    depth: np.ndarray  #: (k,) free path along the normal
    roughness: np.ndarray  #: (k,) largest distance of a vertex from the plane

    def are_ends(self, rule: EndRule) -> np.ndarray:
        """(k,) bool: whether each region meets the criteria."""
        along = (np.abs(self.slope) <= rule.slope) & (self.depth >= rule.depth * self.radius)
        return along & (self.roughness <= rule.roughness * self.radius)


def measure_faces(surface: Surface, number: np.ndarray, n_faces: int) -> Faces:
    """Measure regions of a closed, outward-oriented surface; ``number`` (n,): region of each triangle, or -1."""
    triangles, points = surface.triangles, surface.points
    vectors = area_vectors(points, triangles)
    outward = unit_vectors(_sums(number, vectors, n_faces))
    chosen = number >= 0
    projected = np.einsum("ni,ni->n", vectors[chosen], outward[number[chosen]])
    area = _sums(number[chosen], projected, n_faces)
    middles = projected[:, np.newaxis] * points[triangles[chosen]].mean(axis=1)
    centre = _sums(number[chosen], middles, n_faces) / np.where(area > 0, area, 1.0)[:, np.newaxis]
    away = points[triangles[chosen]] - centre[number[chosen], np.newaxis]
    radius, roughness = np.zeros(n_faces), np.zeros(n_faces)
    np.maximum.at(radius, number[chosen], np.linalg.norm(away, axis=2).max(axis=1))
    above = np.abs(np.einsum("nji,ni->nj", away, outward[number[chosen]])).max(axis=1)
    np.maximum.at(roughness, number[chosen], above)
    slope = _rim_slopes(surface, number, outward)
    return Faces(centre, -outward, area, radius, slope, _depths(surface, centre, -outward, radius), roughness)


def _rim_slopes(surface: Surface, number: np.ndarray, outward: np.ndarray) -> np.ndarray:
    """(k,) mean cosine, weighted by edge length, between the normal of each region and those of adjacent triangles."""
    pairs = find_pairs(surface.triangles, find_edges(surface.triangles))
    normals = unit_vectors(area_vectors(surface.points, surface.triangles))
    length = np.linalg.norm(np.diff(surface.points[pairs.edge], axis=1)[:, 0], axis=1)
    total, weight = np.zeros(len(outward)), np.zeros(len(outward))
    for own, other in ((0, 1), (1, 0)):
        mine, theirs = number[pairs.triangles[:, own]], pairs.triangles[:, other]
        rim = (mine >= 0) & (mine != number[theirs]) & np.any(normals[theirs], axis=1)
        cosine = np.einsum("ni,ni->n", outward[mine[rim]], normals[theirs[rim]])
        total += np.bincount(mine[rim], length[rim] * cosine, len(outward))
        weight += np.bincount(mine[rim], length[rim], len(outward))
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), 1.0)


def _depths(surface: Surface, centre: np.ndarray, inward: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """(k,) distance from each centre along the normal to the next triangle."""
    if not len(centre):
        return np.zeros(0)
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    wall = SurfaceWall(surface.points[surface.triangles], tuple(low), size / 256)
    start = centre + 1e-3 * radius[:, np.newaxis] * inward
    start, ray = (start - low) / wall.spacing_m, inward * size / wall.spacing_m
    found = [wall.distances(start[k : k + 1], ray[k])[0] for k in range(len(centre))]
    return np.nan_to_num(found) * size


def _sums(number: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """(n, ...) sums of ``values`` (m, ...) by number 0 ... n - 1; entries with a negative number are skipped."""
    total = np.zeros((n, *values.shape[1:]))
    np.add.at(total, number[number >= 0], values[number >= 0])
    return total


SMALL_HOLE = 0.02  # largest hole that is closed, as a fraction of the area of the surface

#: Largest hole with a nearly flat rim, such as an orifice of the heart, that is closed and may be an opening: share.
FLAT_HOLE = 0.1
#: Largest open component that is taken for a scrap of a broken mesh, as a fraction of the area of the surface.
SCRAP = 1e-3
NO_VOLUME = 1e-6  # A component encloses no volume if its volume is below this times its area to the power 3/2
MAX_LOOPS = 1000  # largest number of holes; more indicate that vertices which should coincide do not


@dataclass(frozen=True)
class Mended:
    """A closed surface, all of whose components are oriented outward."""

    surface: Surface
    ends: tuple[np.ndarray, ...]  #: for each end that was open, the numbers of the triangles that close it
    notes: tuple[str, ...]  #: text: repairs made, and doubtful features


def mend(surface: Surface) -> Mended:
    """Close and orient a surface, with notes on what was done.

    Superfluous triangles (duplicate or degenerate) are dropped, triangles are oriented outward, holes of at most
    SMALL_HOLE of the area are closed, and so are the open ends of vessels, which are recorded. As a last resort the
    triangles at edges of more than two are cut out, if they are few, and loose scraps; the holes are closed likewise.
    Parts that pass through each other, or through themselves, are marked: they are united. All others follow the
    even-odd rule, by which a part within another is a cavity of it. A hole of at most FLAT_HOLE of the area that is not
    like the end of a vessel is closed as one, with a doubt, if its rim is nearly flat.

    Raises GeometryError, with number and position, for too many edges of more than two triangles, a non-orientable
    surface, a hole that is neither small nor the end of a vessel, and a component that encloses no volume.
    """
    surface, notes = _drop_superfluous(replace(surface, united=None))
    if not len(surface.triangles):
        raise GeometryError("the surface is flat: its triangles have no area or lie on each other; it encloses nothing")
    surface, cut_notes = _cut_out(surface)
    notes += cut_notes
    pairs = find_pairs(surface.triangles, find_edges(surface.triangles))
    flips, failed = orient_consistently(len(surface.triangles), pairs)
    if failed >= 0:
        raise GeometryError(
            "the surface has only one side, like a Moebius strip: its triangles cannot be oriented consistently at"
            f" {surface.position_text(surface.points[pairs.edge[failed]].mean(axis=0))}; repair it (MeshLab, Blender)"
        )
    oriented = _with_reversed(surface, flips)
    closed, number = _cap(oriented)
    outward = _orient_outward(closed)
    n_reversed = np.count_nonzero(np.any(outward.triangles[: len(surface.triangles)] != surface.triangles, axis=1))
    if n_reversed:
        notes.append(f"{n_reversed} of {len(surface.triangles)} triangles reversed: all are oriented outward now")
    ends, cap_notes = _judge_caps(outward, number)
    united, crossing_notes = _united(outward)
    return Mended(united, ends, (*notes, *cap_notes, *crossing_notes))


def close_roughly(surface: Surface) -> Mended:
    """Close what can be closed of a surface that :func:`mend` refuses, for voxels by votes along the axes: superfluous
    triangles are dropped and all holes closed by fans, whatever their size; other defects stay."""
    surface, notes = _drop_superfluous(surface)
    closed, number = _cap(surface)
    if signed_volumes(closed.points, closed.triangles).sum() < 0.0:
        closed = replace(closed, triangles=closed.triangles[:, ::-1])
    n_caps = int(number.max(initial=-1)) + 1
    is_end = measure_faces(closed, number, n_caps).are_ends(OPEN_END) if n_caps else np.empty(0, dtype=bool)
    if n_caps:
        notes.append(f"{n_caps} holes closed, of which {np.count_nonzero(is_end)} may be the end of a vessel")
    if note := _crossings(closed)[-1]:
        notes.append(f"{note}: by votes, what is enclosed twice there is outside; inspect it there")
    return Mended(closed, tuple(np.flatnonzero(number == k) for k in np.flatnonzero(is_end)), tuple(notes))


def _drop_superfluous(surface: Surface) -> tuple[Surface, list[str]]:
    """Drop duplicate and degenerate triangles as far as that opens no hole. A copy or a degenerate
    triangle is kept where the surface needs it: where at least two of its edges have an odd number of other
    triangles."""
    notes = list(surface.notes)
    notes += [f"{surface.n_collapsed} triangles of equal vertices dropped"] if surface.n_collapsed else []
    triangles = surface.triangles
    first, copies = distinct_triangles(triangles)
    empty = is_degenerate(surface.points, triangles)[first]
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
        notes.append(
            f"{np.count_nonzero(empty & needed)} triangles without area kept: the surface needs them to be closed"
        )
    faces = None if surface.faces is None else surface.faces[keep]
    return replace(surface, triangles=triangles[keep], faces=faces), notes


def _cut_out(surface: Surface) -> tuple[Surface, list[str]]:
    """Cut out the triangles at edges of more than two triangles, flaps (with a free edge) first, and loose scraps;
    GeometryError where they are more than SMALL_HOLE of the area."""
    keep = np.ones(len(surface.triangles), dtype=bool)
    while np.any(chosen := _at_crowded_edges(surface.triangles[keep])):
        keep[np.flatnonzero(keep)[chosen]] = False
    area = np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1)
    share = float(area[~keep].sum() / area.sum())
    if share > SMALL_HOLE:
        raise GeometryError(
            f"the surface cannot be mended: {diagnose(surface).leaks()}; the triangles there are {share:.1%} of its"
            f" area, and at most {SMALL_HOLE:.0%} are cut out: repair it (MeshLab, Blender), or take the option"
            " vote = true (voxels by majority along the three axes)"
        )
    notes = []
    if not np.all(keep):
        where = surface.position_text(surface.points[surface.triangles[~keep][0]].mean(axis=0))
        notes.append(
            f"doubtful: {np.count_nonzero(~keep)} triangles at edges of more than two triangles cut out, {share:.2%} of"
            f" the area, the first at {where}; the holes are closed by flat caps: look at the surface there"
        )
    scraps = _scraps(surface.points, surface.triangles[keep], area[keep])
    if np.any(scraps):
        keep[np.flatnonzero(keep)[scraps]] = False
        notes.append(f"{np.count_nonzero(scraps)} triangles of loose scraps dropped")
    if np.all(keep):
        return surface, []
    used, triangles = np.unique(surface.triangles[keep], return_inverse=True)
    faces = None if surface.faces is None else surface.faces[keep]
    return replace(surface, points=surface.points[used], triangles=triangles.reshape(-1, 3), faces=faces), notes


def _at_crowded_edges(triangles: np.ndarray) -> np.ndarray:
    """(n,) bool: the triangles at edges of more than two; if some of them also have a free edge, only these."""
    edges = find_edges(triangles)
    used = edges.used[edges.of_side].reshape(3, -1)
    crowded = np.any(used > 2, axis=0)
    flaps = crowded & np.any(used == 1, axis=0)
    return flaps if np.any(flaps) else crowded


def _scraps(points: np.ndarray, triangles: np.ndarray, area: np.ndarray) -> np.ndarray:
    """(n,) bool: the triangles of small open components: of at most SCRAP of the area, or of SMALL_HOLE if flat; none
    if they are more than SMALL_HOLE together, as where no triangles share their vertices."""
    edges = find_edges(triangles)
    component = label_components(len(triangles), find_pairs(triangles, edges).triangles)
    count = np.bincount(component)
    is_open = np.bincount(component, np.any(edges.used[edges.of_side].reshape(3, -1) == 1, axis=0)) > 0
    total = np.bincount(component, area)
    middle = np.stack([np.bincount(component, x) for x in points[triangles].mean(axis=1).T], axis=1) / count[:, None]
    height = np.einsum("ni,ni->n", points[triangles[:, 0]] - middle[component], area_vectors(points, triangles))
    is_flat = np.bincount(component, np.abs(height)) <= NO_VOLUME * total**1.5
    is_scrap = is_open & (total <= np.where(is_flat, SMALL_HOLE, SCRAP) * total.sum())
    return (is_scrap & (total[is_scrap].sum() <= SMALL_HOLE * total.sum()))[component]


def _orient_outward(surface: Surface) -> Surface:
    """Orient every component of a closed surface outward; GeometryError for components without volume."""
    component = label_components(
        len(surface.triangles), find_pairs(surface.triangles, find_edges(surface.triangles)).triangles
    )
    volume = np.bincount(component, signed_volumes(surface.points, surface.triangles))
    area = np.bincount(component, np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1))
    hollow = np.flatnonzero(np.abs(volume) <= NO_VOLUME * area**1.5)
    if hollow.size:
        centre = surface.points[surface.triangles[component == hollow[0]]].mean(axis=(0, 1))
        raise GeometryError(
            f"{hollow.size} of {len(volume)} parts of the surface enclose nothing, the first at"
            f" {surface.position_text(centre)}: sheets, or triangles that do not share their vertices;"
            " remove or weld them (MeshLab, Blender)"
        )
    return _with_reversed(surface, volume[component] < 0.0)


def _cap(surface: Surface) -> tuple[Surface, np.ndarray]:
    """(the surface with every boundary loop closed by a fan of triangles, (n,) cap of each triangle or -1). By the
    even-odd rule a fan about the mean vertex closes a flat loop of any shape correctly."""
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
    number = np.concatenate(numbers)
    n_caps = np.count_nonzero(number >= 0)
    faces = None if surface.faces is None else np.append(surface.faces, np.full(n_caps, -1))
    closed = replace(surface, points=np.concatenate(points), triangles=np.concatenate(triangles), faces=faces)
    return closed, number


def _judge_caps(surface: Surface, number: np.ndarray) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """(the caps that are ends of a vessel or may be openings, notes); GeometryError for a hole that is neither,
    nor small."""
    n_caps = int(number.max(initial=-1)) + 1
    if not n_caps:
        return (), []
    faces = measure_faces(surface, number, n_caps)
    share = faces.area / np.linalg.norm(area_vectors(surface.points, surface.triangles[number < 0]), axis=1).sum()
    is_end = faces.are_ends(OPEN_END)
    is_flat = faces.roughness <= OPEN_END.roughness * faces.radius
    is_odd = ~is_end & (share > SMALL_HOLE)
    bad = np.flatnonzero(is_odd & ~(is_flat & (share <= FLAT_HOLE)))
    if bad.size:
        uncapped = diagnose(replace(surface, triangles=surface.triangles[number < 0]))
        raise GeometryError(
            f"the surface is not closed: {uncapped.leaks()}; the hole at"
            f" {surface.position_text(faces.centre[bad[0]])} is neither the end of a vessel nor small"
            f" ({share[bad[0]]:.1%} of the area; at most {SMALL_HOLE:.0%} is closed automatically, or {FLAT_HOLE:.0%}"
            " if its rim is flat); close it (MeshLab, Blender, vmtk), with a flat cap where fluid shall pass, and give"
            " an opening there (centre_m, normal, radius_m)"
        )
    notes = []
    kinds = ((~is_end & ~is_odd, "small hole{} closed"), (is_end, "open end{} closed with caps"))
    for chosen, what in kinds:
        if n_chosen := int(np.count_nonzero(chosen)):
            text = what.format("s"[: n_chosen != 1])
            notes.append(f"{n_chosen} {text}, at {_places(surface, faces.centre[chosen])}")
    if n_odd := int(np.count_nonzero(is_odd)):
        notes.append(
            f"doubtful: {n_odd} large hole{'s'[: n_odd != 1]}, up to {share[is_odd].max():.1%} of the area, closed with"
            f" flat caps, at {_places(surface, faces.centre[is_odd])}; not like the end of a vessel, but found as"
            " openings: leave out those where a wall should be"
        )
    return tuple(np.flatnonzero(number == k) for k in np.flatnonzero(is_end | is_odd)), notes


def _places(surface: Surface, points: np.ndarray) -> str:
    """Points (k, 3) as text in units of the file, the first few of them."""
    shown = "; ".join(f"({', '.join(f'{round(c, 12) + 0.0:.6g}' for c in point)})" for point in points[:MAX_POSITIONS])
    more = f" and {len(points) - MAX_POSITIONS} more" * (len(points) > MAX_POSITIONS)
    return f"{shown}{more}{', in units of the file' * (surface.metres_per_unit != 1.0)}"


def _united(surface: Surface) -> tuple[Surface, list[str]]:
    """(the surface with its parts that pass through each other, or through themselves, numbered as
    :attr:`Surface.united`, a note if there are any)."""
    part, crossing, crossed, note = _crossings(surface)
    if not note:
        return surface, []
    n_parts = int(part.max()) + 1
    group = label_components(n_parts, np.stack([np.repeat(crossing, 2), crossed.reshape(-1)], axis=1))
    is_crossed = np.zeros(n_parts, dtype=bool)
    is_crossed[crossing] = is_crossed[crossed.reshape(-1)] = True
    note += (
        ": what is enclosed twice there is inside, parts that overlap are one; inspect it there, and where a wall"
        " should be, part them (MeshLab, Blender)"
    )
    return replace(surface, united=np.where(is_crossed, group, -1)[part]), [note]


def _crossings(surface: Surface) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """((n,) part of each triangle; of the k edges that pass through triangles: (k,) their part, (k, 2) lowest and
    highest part of these triangles; the beginning of a note on them, empty if there are none)."""
    edges = find_edges(surface.triangles)
    part = label_components(len(surface.triangles), find_pairs(surface.triangles, edges).triangles)
    ends = surface.points[edges.vertices]
    scale = MIN_CELL / max(float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean()), np.finfo(float).tiny)
    crossed = crossed_parts(surface.points * scale, surface.triangles, edges.vertices, part)
    found = np.flatnonzero(crossed[:, 1] >= 0)
    of_edge = np.zeros(len(ends), dtype=np.int64)
    of_edge[edges.of_side] = np.tile(part, 3)
    if not found.size:
        return part, found, crossed[found], ""
    position = surface.position_text(ends[found[0]].mean(axis=0))
    note = f"doubtful: {found.size} edges pass through other triangles, the first at {position}"
    return part, of_edge[found], crossed[found], note


def _with_reversed(surface: Surface, which: np.ndarray) -> Surface:
    return replace(surface, triangles=np.where(which[:, np.newaxis], surface.triangles[:, ::-1], surface.triangles))
