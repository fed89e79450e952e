"""Openings found automatically, and ends of an input that the openings of a case leave closed.

Ends are the open ends and flat caps of a surface, and the sections where the fluid of an image meets a face of its
box. Each is represented by points on it. A point is open if an opening lies there, walled if there is fluid before it
and no opening, and does not count if there is neither: the rim of an end, or a piece that an opening further inside
has cut off.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.openings.carve import FACES, NEIGHBOURS, RIM, flags_at, fluid_neighbours
from muphy_lb.geometry.surfaces.mend import CLOSED_END, Faces, Mended, measure_faces
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.triangles import area_vectors, find_edges, find_pairs, label_components, unit_vectors
from muphy_lb.geometry.voxels import FIRST_OPENING, FIRST_WALL, FLUID, MAX_OPENINGS, End, Opening, Voxels, opening_flag

#: An edge is sharp if the cosine between the normals of its two triangles is below this.
SHARP = np.cos(np.deg2rad(30.0))
FLATNESS = 0.99  # smallest ratio of projected to true area of a flat region
MIN_AREA_SHARE = 1e-5  # flat regions below this fraction of the total area are ignored

#: A region is a sliver, not a cap, or the hole of a missing triangle, not an open end, if its equivalent radius is
#: below SLENDER times its outer radius and its area below SMALL times the largest one.
SLENDER, SMALL = 0.3, 0.05
#: If fluid touches a face of the box in more separate sections than this, the whole face is one opening.
MAX_SECTIONS = 8
#: A section at a face of the box is a spurious contact if its area grows by at least CONTACT_GROWTH over CONTACT_LAYERS
#: layers inwards and is less than CONTACT_SHARE of the largest section's area.
CONTACT_LAYERS, CONTACT_GROWTH, CONTACT_SHARE = 3, 2.0, 0.1
AREA_DIGITS = 4  # in sorting openings, areas that agree in this many significant digits count as equal

#: In sorting openings, coordinates in equivalent radii that agree in this many decimals count as equal.
POSITION_DIGITS = 3
#: How an opening was found; for a face of the box, the face is named instead.
END, CAP, GIVEN = "open end", "flat cap", "input"
COLUMNS = "{:<12} {:<7} {:>10} {:>10}  {:<40} {:<32} {}"

CONDITIONS = {
    "inlet": "velocity_m_s = 0.1    # mean velocity into the fluid [m/s]: set your value",
    "outlet": "pressure_pa = 0.0    # relative to the reference pressure",
}


@dataclass(frozen=True)
class FoundOpening:
    """A detected opening."""

    #: name, guessed kind (the largest is the inlet), centre, normal into the fluid; its radius is that of the circle
    #: about the centre that encloses the opening, or infinite for a whole face of the box
    opening: Opening
    area_m2: float  #: area [m2]
    source: str  #: text: how it was found
    face: str = ""  #: name that the input gives to it; empty if it has none

    @property
    def equivalent_radius_m(self) -> float:
        """Radius [m] of a circle of the same area."""
        return float(np.sqrt(self.area_m2 / np.pi))

    def table(self) -> dict[str, Any]:
        """The opening as a case has it, without a condition; one that the input defines by its name only."""
        opening = self.opening
        if self.source == GIVEN:
            return {"name": opening.name}
        place = {"kind": opening.kind, "centre_m": list(opening.centre_m), "normal": list(opening.normal)}
        radius = {"radius_m": opening.radius_m} if np.isfinite(opening.radius_m) else {}
        return {"name": opening.name, **place, **radius}


def openings_of_surface(mended: Mended) -> tuple[FoundOpening, ...]:
    """The openings of a closed surface: ends that were open, and flat caps across a vessel. Raises GeometryError for
    more openings than are supported."""
    return _sorted_and_named(item for item, _ in ends_of_surface(mended))


def ends_of_surface(mended: Mended) -> list[tuple[FoundOpening, np.ndarray]]:
    """Each end of a closed surface that was open, and each flat cap across a vessel, with the numbers of its triangles.
    A cap is a flat region bounded by edges of more than 30 degrees; the adjacent wall runs along its normal, and there
    is a free path along the normal of at least the cap's outer radius."""
    surface = mended.surface
    number = np.full(len(surface.triangles), -1)
    for k, end in enumerate(mended.ends):
        number[end] = k
    ends = measure_faces(surface, number, len(mended.ends))
    flat, n_flat = _flat_regions(surface, number >= 0)
    regions = measure_faces(surface, flat, n_flat)
    found = [(_opening_of_face(surface, ends, k, END), end) for k, end in enumerate(mended.ends)]
    caps = np.flatnonzero(regions.are_ends(CLOSED_END))
    for k in caps.tolist():
        cap = np.flatnonzero(flat == k)
        found.append((replace(_opening_of_face(surface, regions, k, CAP), face=_face_name(surface, cap)), cap))
    largest = max((item.area_m2 for item, _ in found), default=0.0)
    return [pair for pair in found if not _is_sliver(pair[0], largest)]


def openings_of_voxels(voxels: Voxels) -> tuple[FoundOpening, ...]:
    """The openings defined by the input; if there are none, the sections where fluid touches a face of the box.

    A section is a connected set (also through corners) of fluid voxels on a face; two sections are merged if the disc
    that would cut one touches the other. If there are more than MAX_SECTIONS, as in a rock, the whole face is one
    opening. Faces across periodic axes and across axes of one layer are skipped, as are :func:`spurious_contacts`.
    Openings of the input keep their names and kinds; their area is the sum of ``-c.n`` over links along the axes.
    Raises GeometryError for more openings than are supported.
    """
    if voxels.openings:
        areas = [_link_area(voxels, number) for number in range(len(voxels.openings))]
        return tuple(FoundOpening(o, area, GIVEN) for o, area in zip(voxels.openings, areas, strict=True))
    return _sorted_and_named(section.opening for section in _sections(voxels) if not section.is_spurious)


def spurious_contacts(voxels: Voxels) -> tuple[FoundOpening, ...]:
    """Small sections where fluid touches a face of the box tangentially, so that they widen quickly inwards. In a tight
    box every vessel touches most faces with its wall; where it is cut through, its section is the same further
    inwards."""
    return () if voxels.openings else tuple(each.opening for each in _sections(voxels) if each.is_spurious)


def openings_table(found: Sequence[FoundOpening]) -> str:
    """A text table of the openings; ``"no opening found"`` if there is none."""
    if not found:
        return "no opening found"
    head = COLUMNS.format("name", "kind", "area/m2", "radius/m", "centre/m", "normal inwards", "found as")
    return "\n".join([head, *map(_table_row, found)])


def openings_toml(found: Sequence[FoundOpening]) -> str:
    """The openings as ``[[openings]]`` tables of a case file; inlets get a velocity, outlets the pressure zero."""
    return "\n".join(map(_toml_table, found))


def _flat_regions(surface: Surface, excluded: np.ndarray) -> tuple[np.ndarray, int]:
    """((n,) number of the flat region of each triangle or -1, number of regions); ``excluded`` (n,) masks triangles."""
    vectors = area_vectors(surface.points, surface.triangles)
    normals, areas = unit_vectors(vectors), np.linalg.norm(vectors, axis=1)
    pairs = find_pairs(surface.triangles, find_edges(surface.triangles)).triangles
    smooth = np.einsum("ni,ni->n", normals[pairs[:, 0]], normals[pairs[:, 1]]) > SHARP
    region = label_components(len(areas), pairs[smooth & ~excluded[pairs].any(axis=1)])
    total = np.bincount(region, areas)
    projected = np.linalg.norm([np.bincount(region, vectors[:, i]) for i in range(3)], axis=0)
    allowed = np.bincount(region, excluded) == 0
    chosen = allowed & (projected >= FLATNESS * total) & (total > MIN_AREA_SHARE * total.sum())
    renumbered = np.where(chosen, np.cumsum(chosen) - 1, -1)
    return renumbered[region], int(np.count_nonzero(chosen))


def _face_name(surface: Surface, cap: np.ndarray) -> str:
    """Name of the model's face that is this cap and nothing else; empty if there is none."""
    if surface.faces is None or (face := surface.faces[cap[0]]) < 0:
        return ""
    alone = np.all(surface.faces[cap] == face) and np.count_nonzero(surface.faces == face) == len(cap)
    return f"face_{face}" if alone else ""


def _is_sliver(item: FoundOpening, largest: float) -> bool:
    slender = item.equivalent_radius_m < SLENDER * item.opening.radius_m
    return slender and item.area_m2 < SMALL * largest


def _opening_of_face(surface: Surface, faces: Faces, k: int, source: str) -> FoundOpening:
    metres = surface.metres_per_unit
    centre, normal = (tuple(v.tolist()) for v in (faces.centre[k] * metres, faces.normal[k]))
    return FoundOpening(
        Opening(source, "outlet", centre, normal, float(faces.radius[k] * metres)),
        float(faces.area[k] * metres**2),
        source,
    )


def sections_at_faces(voxels: Voxels) -> list[tuple[FoundOpening, tuple[np.ndarray, np.ndarray]]]:
    """The sections where fluid meets a face of the box, without :func:`spurious_contacts`: each as an opening, and
    ((n, 3) middles of its voxels' faces [m], (n,) area of each [m2])."""
    pairs = []
    for section in _sections(voxels):
        if not section.is_spurious:
            height = (-0.5, voxels.shape[2 - section.axis] - 0.5)[section.side]
            points = np.insert(section.pixels.astype(float), 2 - section.axis, height, axis=1)[:, ::-1]
            points = np.array(voxels.origin_m) + voxels.spacing_m * points
            pairs.append((section.opening, (points, np.full(len(points), voxels.spacing_m**2))))
    return pairs


@dataclass(frozen=True)
class _Section:
    """A section of the fluid at a face of the box: (n, 2) pixels, slow axis first, and how it widens inwards."""

    axis: int
    side: int
    pixels: np.ndarray
    growth: float
    opening: FoundOpening
    is_spurious: bool = False


def _sections(voxels: Voxels) -> list[_Section]:
    """The sections at all faces of the box that could be openings."""
    axes = [i for i in range(3) if not voxels.periodic[i] and voxels.shape[2 - i] > 1]
    sections = [section for i, side in product(axes, (0, 1)) for section in _on_face(voxels, i, side)]
    large = CONTACT_SHARE * max((section.opening.area_m2 for section in sections), default=0.0)
    return [replace(s, is_spurious=s.growth >= CONTACT_GROWTH and s.opening.area_m2 < large) for s in sections]


def _on_face(voxels: Voxels, axis: int, side: int) -> list[_Section]:
    """The sections on the lower (side 0) or upper face of the box across an axis."""
    layers = np.moveaxis(voxels.flags, 2 - axis, 0)[:: 1 - 2 * side][: CONTACT_LAYERS + 1] == FLUID
    pixels, component = _components(layers[0])
    if not len(pixels):
        return []
    if component.max() >= MAX_SECTIONS:
        middle = (np.array(layers[0].shape) - 1) / 2
        opening = _opening_on_face(voxels, (axis, side), middle, len(pixels), np.inf)
        return [_Section(axis, side, pixels, 1.0, opening)]
    sections = _merge_overlapping([pixels[component == k] for k in range(component.max() + 1)])
    radii = [_outer_radius(s) for s in sections]
    found = [
        _opening_on_face(voxels, (axis, side), s.mean(axis=0), len(s), r) for s, r in zip(sections, radii, strict=True)
    ]
    return [_Section(axis, side, s, _growth(layers, s), o) for s, o in zip(sections, found, strict=True)]


def _merge_overlapping(sections: list[np.ndarray]) -> list[np.ndarray]:
    """Sections of pixels (m, 2), merged until the disc that cuts one touches no other: openings must not overlap."""
    for k, j in permutations(range(len(sections)), 2):
        distance = np.linalg.norm(sections[j] - sections[k].mean(axis=0), axis=1).min()
        if distance <= _outer_radius(sections[k]) + RIM:
            others = [section for i, section in enumerate(sections) if i not in (j, k)]
            return _merge_overlapping([*others, np.concatenate([sections[k], sections[j]])])
    return sections


def _growth(layers: np.ndarray, pixels: np.ndarray) -> float:
    """Area of the continuation of a section (m, 2) of the first layer in the last layer, over the section's area."""
    below = pixels
    for layer in layers[1:]:
        number = np.full(layer.shape, -1)
        further, component = _components(layer)
        number[tuple(further.T)] = component
        below = further[np.isin(component, number[tuple(below.T)])]
    return len(below) / len(pixels)


def _components(fluid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((m, 2) indices of the true pixels of a mask, (m,) number of the component of each, connected also by
    corners)."""
    pixels = np.argwhere(fluid)
    return pixels, label_components(len(pixels), _adjacent_pairs(fluid)) if len(pixels) else np.zeros(0, np.int64)


def _outer_radius(pixels: np.ndarray) -> float:
    """Radius [voxels] of the circle about the mean of pixels (m, 2) that encloses their squares."""
    return float(np.linalg.norm(pixels - pixels.mean(axis=0), axis=1).max() + np.sqrt(0.5))


def _adjacent_pairs(fluid: np.ndarray) -> np.ndarray:
    """(m, 2) pairs of true pixels of a mask, numbered in row-major order, that share an edge or a corner."""
    number = np.full(np.array(fluid.shape) + 2, -1)
    number[1:-1, 1:-1][fluid] = np.arange(np.count_nonzero(fluid))
    own = number[1:-1, 1:-1][fluid]
    rows, columns = np.nonzero(fluid)
    found = [
        np.stack([own, number[rows + 1 + i, columns + 1 + j]], axis=1) for i, j in ((0, 1), (1, -1), (1, 0), (1, 1))
    ]
    pairs = np.concatenate(found)
    return pairs[pairs[:, 1] >= 0]


def _opening_on_face(voxels: Voxels, face: tuple[int, int], middle: np.ndarray, n: int, radius: float) -> FoundOpening:
    """The opening of n fluid voxels about ``middle`` (two indices, slow axis first) on a face of the box."""
    axis, side = face
    height = (-0.5, voxels.shape[2 - axis] - 0.5)[side]
    centre = np.insert(middle, 2 - axis, height)[::-1]
    normal = np.zeros(3)
    normal[axis] = (1.0, -1.0)[side]
    centre_m = np.array(voxels.origin_m) + voxels.spacing_m * centre
    name = f"{AXES[axis]}{'-+'[side]} face"
    opening = Opening(name, "outlet", tuple(centre_m.tolist()), triple(normal.tolist()), radius * voxels.spacing_m)
    return FoundOpening(
        opening, n * voxels.spacing_m**2, f"face of the box at {'low' if not side else 'high'} {AXES[axis]}"
    )


def _link_area(voxels: Voxels, number: int) -> float:
    """Area [m2] of a flagged opening: each link along an axis contributes its component along the normal."""
    zyx = np.argwhere(voxels.flags == opening_flag(number))
    is_face = np.abs(NEIGHBOURS).sum(axis=1) == 1
    links = np.count_nonzero(fluid_neighbours(voxels, zyx)[:, is_face], axis=0)
    return float(links @ (FACES @ np.array(voxels.openings[number].normal[::-1])) * voxels.spacing_m**2)


def _sorted_and_named(found: Iterable[FoundOpening]) -> tuple[FoundOpening, ...]:
    """The openings by decreasing area (equal areas by z, y, x) as inlet, outlet_1, outlet_2, ...; names of the
    input are kept."""

    def sort_key(item: FoundOpening) -> tuple:
        zyx = np.round(np.array(item.opening.centre_m[::-1]) / item.equivalent_radius_m, POSITION_DIGITS)
        return (-float(f"{item.area_m2:.{AREA_DIGITS}g}"), *zyx)

    ordered = sorted(found, key=sort_key)
    if len(ordered) > MAX_OPENINGS:
        raise GeometryError(f"{len(ordered)} openings found; at most {MAX_OPENINGS} are supported: give them yourself")
    return tuple(_named(item, k) for k, item in enumerate(ordered))


def _named(item: FoundOpening, number: int) -> FoundOpening:
    kind = "outlet" if number else "inlet"
    name = item.face or (f"outlet_{number}" if number else "inlet")
    return replace(item, opening=replace(item.opening, name=name, kind=kind))


def _table_row(item: FoundOpening) -> str:
    centre = ", ".join(_texts(item.opening.centre_m, 6, item.equivalent_radius_m))
    normal = ", ".join(_texts(item.opening.normal, 6))
    return COLUMNS.format(
        item.opening.name,
        item.opening.kind,
        f"{item.area_m2:.4g}",
        f"{item.equivalent_radius_m:.4g}",
        centre,
        normal,
        item.source,
    )


def _texts(vector: Sequence[float], digits: int, least: float = 0.0) -> list[str]:
    """The components as TOML floats, rounded to ``digits`` digits of the largest, so that rounding errors become 0; of
    ``least``, such as the radius of what lies there, where all are smaller."""
    largest = max(least, *map(abs, vector)) or 1.0
    decimals = digits - 1 - int(np.floor(np.log10(largest)))
    texts = [f"{round(c, decimals) + 0.0:.{digits}g}" for c in vector]
    return [text if set(text) & set(".e") else text + ".0" for text in texts]


def _toml_table(item: FoundOpening) -> str:
    """One ``[[openings]]`` table; an opening that the input defines is referred to by its name only."""
    opening = item.opening
    size = f"area {item.area_m2:.4g} m2, equivalent radius {item.equivalent_radius_m:.4g} m"
    lines = [f"[[openings]]    # {item.source}: {size}", f'name = "{opening.name}"']
    if item.source != GIVEN:
        lines += [
            f'kind = "{opening.kind}"',
            f"centre_m = [{', '.join(_texts(opening.centre_m, 9, item.equivalent_radius_m))}]",
            f"normal = [{', '.join(_texts(opening.normal, 9))}]    # into the fluid",
        ]
    if item.source != GIVEN and np.isfinite(opening.radius_m):
        lines.append(f"radius_m = {_texts([opening.radius_m], 9)[0]}    # encloses the opening")
    return "\n".join([*lines, CONDITIONS[opening.kind], ""])


MOST_POINTS = 100_000  # largest number of points on an end

#: Distances [voxels] from an end, inwards, at which fluid and openings are looked for.
INSIDE, AROUND = np.arange(0.5, 2.0, 0.5), np.arange(-1.0, 2.5, 0.5)
AT_BOX = "face of the box at "  # how the source of a section at a face of the box begins

#: Walled shares of an end up to the first are not reported, nor is a rim of at most the second [voxels].
NOTICED, RIM_WIDTH = 0.05, 0.25


@dataclass(frozen=True)
class EndState:
    """The effect of the openings of a case on an end."""

    end: End
    walled: float  #: share of its area, of that with fluid before it, that is a wall; 0 if there is no fluid at all
    names: tuple[str, ...]  #: the openings that lie on it
    is_closed: bool  #: whether more than its rim is a wall


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
    """Summary line: openings that lie on the ends, and number of ends without one."""
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
    """A text for every end of which a part is a wall: place, area, share and remedy. Whole faces of an image, as those
    of a rock, are usually meant to be closed, and so are flat faces where no end at all is open: they are left out."""
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
