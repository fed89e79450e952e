"""Openings found by themselves: flat caps of a surface, its open ends, and faces of an image that the fluid touches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import FLUID, MAX_OPENINGS, opening_flag
from muphy_lb.geometry.openings.carve import FACES, NEIGHBOURS, RIM, fluid_neighbours
from muphy_lb.geometry.options import AXES
from muphy_lb.geometry.surfaces.ends import CLOSED_END, Faces, measure_faces
from muphy_lb.geometry.surfaces.mend import Mended
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.triangles import area_vectors, find_edges, find_pairs, number_parts, unit_vectors
from muphy_lb.geometry.voxels import Opening, Voxels

SHARP = np.cos(np.deg2rad(30.0))
"""Cosine between the normals of two triangles below which their edge is one of the surface."""

FLAT = 0.99
"""Least area seen along the normal of a flat part, as a part of its area."""

LEAST_SHARE = 1e-5
"""Flat parts below this part of the area of the surface are not looked at."""

SLENDER, SMALL = 0.3, 0.05
"""A flat part whose equivalent radius is less of its reach, and its area less of the largest one's, is a splinter."""

MANY = 8
"""If fluid touches a face of the box in more places than this, the whole face is one opening."""

BRUSH_LAYERS, BRUSH_GROWTH, BRUSH_SHARE = 3, 2.0, 0.1
"""A place on a face of the box whose section is at least so many times larger so many layers further in, and whose area
is less than this part of the largest one's, is where a wall brushes the face."""

AREA_DIGITS = 4
"""Areas that agree in this many digits are equal where openings are put in order."""

PLACE_DIGITS = 3
"""So are coordinates, in equivalent radii, that agree in this many decimals."""

END, CAP, GIVEN = "open end", "flat cap", "input"
"""How an opening was found; on a face of the box its place is told instead."""

COLUMNS = "{:<12} {:<7} {:>10} {:>10}  {:<40} {:<32} {}"

CONDITIONS = {
    "inlet": "velocity_m_s = 0.1    # mean velocity into the fluid [m/s]: put yours",
    "outlet": "pressure_pa = 0.0    # relative to the reference pressure",
}


@dataclass(frozen=True)
class FoundOpening:
    """An opening that was found.

    Attributes:
        opening: name, guessed kind (the largest is the inlet), centre, normal into the fluid; its radius is that of the
            circle about the centre that holds all of the opening, or infinite where it is a whole face of the box.
        area_m2: area [m2].
        source: how it was found, in words.
    """

    opening: Opening
    area_m2: float
    source: str

    @property
    def equivalent_radius_m(self) -> float:
        """Radius [m] of a circle of the same area."""
        return float(np.sqrt(self.area_m2 / np.pi))


def openings_of_surface(mended: Mended) -> tuple[FoundOpening, ...]:
    """The openings of a closed surface: ends that were open, and flat parts across a vessel.

    A flat part is bounded all round by edges of more than 30 degrees, the surface beside it runs along its normal, and
    the way along the normal is free for at least the part's own reach.
    Raises GeometryError for more openings than are supported.
    """
    surface = mended.surface
    number = np.full(len(surface.triangles), -1)
    for k, end in enumerate(mended.ends):
        number[end] = k
    ends = measure_faces(surface, number, len(mended.ends))
    flat, n_flat = _flat_parts(surface, number >= 0)
    parts = measure_faces(surface, flat, n_flat)
    found = [_of_face(surface, ends, k, END) for k in range(len(mended.ends))]
    found += [_of_face(surface, parts, k, CAP) for k in np.flatnonzero(parts.are_ends(CLOSED_END))]
    largest = max((item.area_m2 for item in found), default=0.0)
    return _in_order(item for item in found if not _is_splinter(item, largest))


def openings_of_voxels(voxels: Voxels) -> tuple[FoundOpening, ...]:
    """The openings that the input brings; if it brings none, the places where fluid touches a face of the box.

    Places on a face are those of fluid voxels that touch each other there, also by a corner; two are one where the disc
    that cuts one meets the other. Where there are more than MANY, as in a rock, the whole face is one. Faces across
    periodic axes, and axes of one layer, are left out, and so are :func:`brushes_of_voxels`.
    Openings of the input keep their names and kinds; their area is the sum of ``-c.n`` over links along the axes.
    Raises GeometryError for more openings than are supported.
    """
    if voxels.openings:
        areas = [_link_area(voxels, number) for number in range(len(voxels.openings))]
        return tuple(FoundOpening(o, area, GIVEN) for o, area in zip(voxels.openings, areas, strict=True))
    return _in_order(item for item, is_brush in _on_faces(voxels) if not is_brush)


def brushes_of_voxels(voxels: Voxels) -> tuple[FoundOpening, ...]:
    """Small places where fluid touches a face of the box, but is soon much wider: a wall that the box was fitted to.

    In a tight box every vessel touches most faces, and only where it is cut through does its section go on inwards.
    """
    return () if voxels.openings else tuple(item for item, is_brush in _on_faces(voxels) if is_brush)


def table_of(found: Sequence[FoundOpening]) -> str:
    """The openings as lines of text; ``"no opening found"`` if there is none."""
    if not found:
        return "no opening found"
    head = (
        f"{'name':<12} {'kind':<7} {'area/m2':>10} {'radius/m':>10}  {'centre/m':<36} {'normal inwards':<24} found as"
    )
    return "\n".join([head, *map(_table_row, found)])


def toml_of(found: Sequence[FoundOpening]) -> str:
    """The openings as tables ``[[openings]]`` of a case file; inlets get a velocity, outlets the pressure zero."""
    return "\n".join(map(_toml_table, found))


def _flat_parts(surface: Surface, taken: np.ndarray) -> tuple[np.ndarray, int]:
    """(n,) number of the flat part of each triangle, or -1, and how many there are."""
    vectors = area_vectors(surface.points, surface.triangles)
    normals, areas = unit_vectors(vectors), np.linalg.norm(vectors, axis=1)
    pairs = find_pairs(surface.triangles, find_edges(surface.triangles)).triangles
    smooth = np.einsum("ni,ni->n", normals[pairs[:, 0]], normals[pairs[:, 1]]) > SHARP
    part = number_parts(len(areas), pairs[smooth & ~taken[pairs].any(axis=1)])
    total = np.bincount(part, areas)
    seen = np.linalg.norm([np.bincount(part, vectors[:, i]) for i in range(3)], axis=0)
    free = np.bincount(part, taken) == 0
    chosen = free & (seen >= FLAT * total) & (total > LEAST_SHARE * total.sum())
    renumbered = np.where(chosen, np.cumsum(chosen) - 1, -1)
    return renumbered[part], int(np.count_nonzero(chosen))


def _is_splinter(item: FoundOpening, largest: float) -> bool:
    slender = item.equivalent_radius_m < SLENDER * item.opening.radius_m
    return item.source == CAP and slender and item.area_m2 < SMALL * largest


def _of_face(surface: Surface, faces: Faces, k: int, source: str) -> FoundOpening:
    metres = surface.metres_per_unit
    centre, normal = (tuple(v.tolist()) for v in (faces.centre[k] * metres, faces.normal[k]))
    return FoundOpening(
        Opening(source, "outlet", centre, normal, float(faces.reach[k] * metres)),
        float(faces.area[k] * metres**2),
        source,
    )


def _on_faces(voxels: Voxels) -> list[tuple[FoundOpening, bool]]:
    """What touches the faces of the box, and whether it but brushes them."""
    axes = [i for i in range(3) if not voxels.periodic[i] and voxels.shape[2 - i] > 1]
    places = [pair for i, side in product(axes, (0, 1)) for pair in _on_face(voxels, i, side)]
    large = BRUSH_SHARE * max((item.area_m2 for item, _ in places), default=0.0)
    return [(item, growth >= BRUSH_GROWTH and item.area_m2 < large) for item, growth in places]


def _on_face(voxels: Voxels, axis: int, side: int) -> list[tuple[FoundOpening, float]]:
    """The places on the lower (side 0) or upper face of the box across an axis, and the growth of each inwards."""
    layers = np.moveaxis(voxels.flags, 2 - axis, 0)[:: 1 - 2 * side][: BRUSH_LAYERS + 1] == FLUID
    places, part = _parts_of(layers[0])
    if not len(places):
        return []
    if part.max() >= MANY:
        whole = (np.array(layers[0].shape) - 1) / 2
        return [(_of_places(voxels, (axis, side), whole, len(places), np.inf), 1.0)]
    groups = _apart([places[part == k] for k in range(part.max() + 1)])
    return [(_of_places(voxels, (axis, side), g.mean(axis=0), len(g), _reach(g)), _growth(layers, g)) for g in groups]


def _apart(groups: list[np.ndarray]) -> list[np.ndarray]:
    """Groups of places (m, 2), joined until the disc that cuts one meets no other: openings must not overlap."""
    for k, j in permutations(range(len(groups)), 2):
        away = np.linalg.norm(groups[j] - groups[k].mean(axis=0), axis=1).min()
        if away <= _reach(groups[k]) + RIM:
            others = [group for i, group in enumerate(groups) if i not in (j, k)]
            return _apart([*others, np.concatenate([groups[k], groups[j]])])
    return groups


def _growth(layers: np.ndarray, places: np.ndarray) -> float:
    """Area in the last of some layers of fluid of what goes on from ``places`` (m, 2) in the first, over their area."""
    below = places
    for layer in layers[1:]:
        number = np.full(layer.shape, -1)
        further, part = _parts_of(layer)
        number[tuple(further.T)] = part
        below = further[np.isin(part, number[tuple(below.T)])]
    return len(below) / len(places)


def _parts_of(fluid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, 2) true places of a plane, and the number (m,) of the connected part of each, by edges and corners."""
    places = np.argwhere(fluid)
    return places, number_parts(len(places), _touching(fluid)) if len(places) else np.zeros(0, np.int64)


def _reach(places: np.ndarray) -> float:
    """Radius [voxels] about their mean that holds squares (m, 2)."""
    return float(np.linalg.norm(places - places.mean(axis=0), axis=1).max() + np.sqrt(0.5))


def _touching(fluid: np.ndarray) -> np.ndarray:
    """(m, 2) pairs of the true places of a plane, numbered in order, that share an edge or a corner."""
    number = np.full(np.array(fluid.shape) + 2, -1)
    number[1:-1, 1:-1][fluid] = np.arange(np.count_nonzero(fluid))
    own = number[1:-1, 1:-1][fluid]
    rows, columns = np.nonzero(fluid)
    pairs = [
        np.stack([own, number[rows + 1 + i, columns + 1 + j]], axis=1) for i, j in ((0, 1), (1, -1), (1, 0), (1, 1))
    ]
    pairs = np.concatenate(pairs)
    return pairs[pairs[:, 1] >= 0]


def _of_places(voxels: Voxels, face: tuple[int, int], middle: np.ndarray, n: int, reach: float) -> FoundOpening:
    """The opening of n fluid voxels about ``middle`` (two indices, slow axis first) on a face of the box."""
    axis, side = face
    height = (-0.5, voxels.shape[2 - axis] - 0.5)[side]
    centre = np.insert(middle, 2 - axis, height)[::-1]
    normal = np.zeros(3)
    normal[axis] = (1.0, -1.0)[side]
    centre_m = np.array(voxels.origin_m) + voxels.spacing_m * centre
    name = f"{AXES[axis]}{'-+'[side]} face"
    opening = Opening(name, "outlet", tuple(centre_m.tolist()), tuple(normal.tolist()), reach * voxels.spacing_m)
    return FoundOpening(
        opening, n * voxels.spacing_m**2, f"face of the box at {'low' if not side else 'high'} {AXES[axis]}"
    )


def _link_area(voxels: Voxels, number: int) -> float:
    """Area [m2] of an opening that is flagged: each link along an axis counts with its component along the normal."""
    zyx = np.argwhere(voxels.flags == opening_flag(number))
    is_face = np.abs(NEIGHBOURS).sum(axis=1) == 1
    links = np.count_nonzero(fluid_neighbours(voxels, zyx)[:, is_face], axis=0)
    return float(links @ (FACES @ np.array(voxels.openings[number].normal[::-1])) * voxels.spacing_m**2)


def _in_order(found: Iterable[FoundOpening]) -> tuple[FoundOpening, ...]:
    """Named opening_1, opening_2, ... by area, the largest first and inlet; equal ones by place: z, then y, then x."""

    def place(item: FoundOpening) -> tuple:
        zyx = np.round(np.array(item.opening.centre_m[::-1]) / item.equivalent_radius_m, PLACE_DIGITS)
        return (-float(f"{item.area_m2:.{AREA_DIGITS}g}"), *zyx)

    ordered = sorted(found, key=place)
    if len(ordered) > MAX_OPENINGS:
        raise GeometryError(f"{len(ordered)} openings found; at most {MAX_OPENINGS} are supported: give them yourself")
    return tuple(_named(item, k) for k, item in enumerate(ordered, start=1))


def _named(item: FoundOpening, number: int) -> FoundOpening:
    o = item.opening
    kind = "inlet" if number == 1 else "outlet"
    return FoundOpening(Opening(f"opening_{number}", kind, o.centre_m, o.normal, o.radius_m), item.area_m2, item.source)


def _table_row(item: FoundOpening) -> str:
    centre, normal = (", ".join(_texts(v, 6)) for v in (item.opening.centre_m, item.opening.normal))
    return COLUMNS.format(
        item.opening.name,
        item.opening.kind,
        f"{item.area_m2:.4g}",
        f"{item.equivalent_radius_m:.4g}",
        centre,
        normal,
        item.source,
    )


def _texts(vector: Sequence[float], digits: int) -> list[str]:
    """The components as TOML floats, to so many digits of the largest, so that rounding noise reads 0."""
    largest = max(abs(c) for c in vector) or 1.0
    places = digits - 1 - int(np.floor(np.log10(largest)))
    texts = [f"{round(c, places) + 0.0:.{digits}g}" for c in vector]
    return [text if set(text) & set(".e") else text + ".0" for text in texts]


def _toml_table(item: FoundOpening) -> str:
    """One table; an opening that the input brings keeps its place there."""
    opening = item.opening
    size = f"area {item.area_m2:.4g} m2, equivalent radius {item.equivalent_radius_m:.4g} m"
    lines = [f"[[openings]]    # {item.source}: {size}", f'name = "{opening.name}"']
    if item.source != GIVEN:
        lines += [
            f'kind = "{opening.kind}"',
            f"centre_m = [{', '.join(_texts(opening.centre_m, 9))}]",
            f"normal = [{', '.join(_texts(opening.normal, 9))}]    # into the fluid",
        ]
    if item.source != GIVEN and np.isfinite(opening.radius_m):
        lines.append(f"radius_m = {_texts([opening.radius_m], 9)[0]}    # holds all of the opening")
    return "\n".join([*lines, CONDITIONS[opening.kind], ""])
