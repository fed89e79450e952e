"""A picture of the liquid: its body, shaded and coloured by the speed, between the outlines of the walls; in two
dimensions where it is."""

import os
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, TriMesh
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.tri import Triangulation

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, suitable_unit
from muphy_lb.output.pictures.cut import Sight
from muphy_lb.output.pictures.panels import (
    add_panels,
    draw_directions,
    draw_heading,
    draw_length_bar,
    draw_scale_in_unit,
    figure_at,
    style_axes,
)
from muphy_lb.output.pictures.theme import DARK, Theme
from muphy_lb.physics.free_surface.isosurface import LEVEL, liquid_body, wall_body

COLOURS = LinearSegmentedColormap.from_list("liquid", ["#15457f", "#1d7cc4", "#4cc0ea", "#b5eef6", "#ffffff"])
WALL_COLOUR, FACE_COLOUR, EDGE_COLOUR, LINE_COLOUR = "#5b6679", "#151e30", "#8b98b3", "#e8f6ff"
AZIMUTH_DEG, ELEVATION_DEG = 28.0, 22.0
LIGHT = (-0.35, 0.75, -0.6)  # direction of the light (right, up, forward): from the upper left, in front
AMBIENT, DIFFUSE, SPECULAR, SHININESS = 0.5, 0.62, 0.3, 30.0
SMOOTHINGS = 2  # how often the normals of vertices are averaged over the triangles around them: filling is not smooth
MOST_OPAQUE = 0.3  # part of the box up to which solid voxels are drawn opaque; a rock is drawn transparent
HAZE, GHOST = 0.1, 0.25
MARGIN, ROOM_FOR_DIRECTIONS = 0.03, 0.1  # of the longer side


@dataclass(frozen=True, eq=False)
class Scene:
    """The liquid and the box that a picture shows."""

    nodes: NodeList  #: the geometry
    fill: np.ndarray  #: (n,) filling of every node
    velocity_m_s: np.ndarray  #: (n, 3) velocity of every node [m/s]
    up: np.ndarray  #: (3,) unit vector upwards
    top_m_s: float  #: speed of the last colour [m/s]
    time_s: float  #: physical time [s]
    title: str = ""  #: heading
    theme: Theme = DARK  #: its formats; the colours are made for a dark ground

    @property
    def box_m(self) -> np.ndarray:
        """(2, 3) lowest and highest corner of the fluid, at the walls [m]."""
        place = self.nodes.coordinates()
        ends = np.stack((place.min(axis=0) - 0.5, place.max(axis=0) + 0.5))
        return np.asarray(self.nodes.origin_m) + self.nodes.spacing_m * ends


def draw_liquid(path: str | os.PathLike, scene: Scene) -> None:
    """Write a PNG of the liquid. Raises OutputError: the file cannot be written."""
    colours = ScalarMappable(Normalize(0.0, scene.top_m_s, clip=True), COLOURS)
    unit, unit_m = suitable_unit(LENGTH_UNITS, np.ptp(scene.box_m, axis=0).max(), SMALLEST_LENGTH)
    with figure_at(path, scene.theme) as figure:
        if scene.nodes.shape[0] == 1:
            _draw_plane(figure, scene, colours, (unit, unit_m))
        else:
            _draw_body(figure, scene, colours, (unit, unit_m))
        draw_scale_in_unit(figure, colours, "speed", "m/s", "max")
        is_full = scene.fill >= 1.0
        fastest = float(np.linalg.norm(scene.velocity_m_s[is_full], axis=1).max(initial=0.0))
        facts = (f"t = {scene.time_s:.4g} s", f"largest speed in full voxels {fastest:.3g} m/s")
        draw_heading(figure, scene.title, facts)


def camera_of(up: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(3, 3) right, up, forward of a viewer who stands before the longer side of a box and looks down on it."""
    vertical = int(np.abs(up).argmax())
    level = [axis for axis in range(3) if axis != vertical]
    first = np.eye(3)[max(level, key=lambda axis: size[axis])]
    along = first - up * (first @ up)
    along /= np.linalg.norm(along)
    away = np.cross(up, along)
    a, e = np.deg2rad(AZIMUTH_DEG), np.deg2rad(ELEVATION_DEG)
    forward = np.cos(e) * (np.sin(a) * along + np.cos(a) * away) - np.sin(e) * up
    right = np.cos(a) * along - np.sin(a) * away
    return np.stack((right, np.cross(right, forward), forward))


def _draw_body(figure: Figure, scene: Scene, colours: ScalarMappable, unit: tuple[str, float]) -> None:
    """The liquid and what is solid in its box, in perspective from infinity."""
    name, unit_m = unit
    box = scene.box_m / unit_m
    camera = camera_of(scene.up, np.ptp(box, axis=0))
    corners = np.array(list(product(*box.T)))
    low, high = (corners @ camera[:2].T).min(axis=0), (corners @ camera[:2].T).max(axis=0)
    margin = MARGIN * (high - low).max()
    (axes,) = add_panels(figure, [(low[0], high[0], low[1], high[1])])
    left = low[0] - ROOM_FOR_DIRECTIONS * (high - low).max()
    axes.set(xlim=(left, high[0] + margin), ylim=(low[1] - margin, high[1] + margin), aspect="equal")
    axes.set_axis_off()
    _draw_room(axes, corners, camera)
    liquid, walls = liquid_body(scene.nodes, scene.fill, scene.velocity_m_s), wall_body(scene.nodes)
    of_liquid = colours.to_rgba(np.linalg.norm(liquid.velocity_m_s, axis=1))
    share = 1.0 - scene.nodes.n_nodes / np.prod(np.round(np.ptp(scene.box_m, axis=0) / scene.nodes.spacing_m))
    of_walls = np.tile([*to_rgb(WALL_COLOUR), 1.0 if share <= MOST_OPAQUE else HAZE], (len(walls.points_m), 1))
    points = np.concatenate((liquid.points_m, walls.points_m)) / unit_m
    facets = np.concatenate((liquid.facets, walls.facets + len(liquid.points_m)))
    _draw_triangles(axes, points, facets, np.concatenate((of_liquid, of_walls)), camera)
    if share <= MOST_OPAQUE:  # an obstacle under the liquid shows through
        of_walls[:, 3] = GHOST
        _draw_triangles(axes, walls.points_m / unit_m, walls.facets, of_walls, camera)
    draw_length_bar(axes, name)
    draw_directions(axes, camera, at_top=False)


def _draw_room(axes: Axes, corners: np.ndarray, camera: np.ndarray) -> None:
    """The edges of the box and its faces at the back; corners (8, 3) in the order of three binary digits."""
    flat, depth = corners @ camera[:2].T, corners @ camera[2]
    back, front = depth.argmax(), depth.argmin()
    edges = [(i, j) for i, j in combinations(range(8), 2) if (i ^ j) in (1, 2, 4)]
    for i, j in combinations((1, 2, 4), 2):
        axes.fill(*flat[[back, back ^ i, back ^ i ^ j, back ^ j]].T, color=FACE_COLOUR, zorder=0.5)
    for edge in edges:
        is_front = front in edge
        look = {"linewidth": 0.9, "alpha": 0.6 if is_front else 0.9, "zorder": 4 if is_front else 1}
        axes.add_collection(LineCollection([flat[list(edge)]], colors=EDGE_COLOUR, **look))


def _draw_triangles(
    axes: Axes, points: np.ndarray, facets: np.ndarray, colours: np.ndarray, camera: np.ndarray
) -> None:
    """Triangles that face the viewer, the farthest first, lit; colours (m, 4) of the vertices (m, 3)."""
    normal = _normals(points, facets)
    a, b, c = (points[facets[:, i]] for i in range(3))
    facets = facets[np.cross(b - a, c - a) @ camera[2] < 0.0]
    if not len(facets):
        return
    facets = facets[np.argsort(-(points[facets] @ camera[2]).mean(axis=1))]
    light = np.array(LIGHT) / np.linalg.norm(LIGHT) @ camera
    half = light - camera[2]
    half /= np.linalg.norm(half)
    bright = AMBIENT + DIFFUSE * np.maximum(normal @ light, 0.0)
    lit = colours.copy()
    shine = SPECULAR * np.maximum(normal @ half, 0.0) ** SHININESS
    lit[:, :3] = np.clip(colours[:, :3] * bright[:, None] + shine[:, None], 0.0, 1.0)
    flat = Triangulation(points @ camera[0], points @ camera[1], facets)
    axes.add_collection(TriMesh(flat, facecolors=lit, zorder=2))


def _normals(points: np.ndarray, facets: np.ndarray) -> np.ndarray:
    """(m, 3) unit normals of vertices, averaged over the triangles around them."""
    a, b, c = (points[facets[:, i]] for i in range(3))
    of_facet = np.cross(b - a, c - a)
    for _ in range(1 + SMOOTHINGS):
        normal = np.zeros((len(points), 3))
        for i, axis in product(range(3), range(3)):
            normal[:, axis] += np.bincount(facets[:, i], of_facet[:, axis], len(points))
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        of_facet = normal[facets].sum(axis=1)
    return normal


def _draw_plane(figure: Figure, scene: Scene, colours: ScalarMappable, unit: tuple[str, float]) -> None:
    """Speed where the filling is above 1/2, and the walls."""
    name, unit_m = unit
    sight = Sight(scene.up)
    in_plane = [1, 0] if sight.vertical == 0 else [0, 1]
    box = scene.box_m[:, in_plane] / unit_m
    (axes,) = add_panels(figure, [(*box[:, 0], *box[:, 1])])
    margin = MARGIN * np.ptp(box, axis=0).max()
    axes.set(xlim=box[:, 0] + [-margin, margin], ylim=box[:, 1] + [-margin, margin], aspect="equal")
    style_axes(axes, [f"{'xy'[axis]} [{name}]" for axis in in_plane])
    axes.add_patch(Rectangle(tuple(box[0]), *np.ptp(box, axis=0), facecolor=FACE_COLOUR, edgecolor=EDGE_COLOUR))
    place = scene.nodes.coordinates()[:, in_plane]
    place -= place.min(axis=0)
    _draw_liquid(axes, scene, (place[:, 1], place[:, 0]), box, colours)
    walls = np.ones(place.max(axis=0)[::-1] + 1)
    walls[place[:, 1], place[:, 0]] = np.nan
    axes.imshow(walls, origin="lower", extent=(*box[:, 0], *box[:, 1]), cmap=ListedColormap([WALL_COLOUR]), zorder=3)
    if sight.vertical < 2 and sight.is_downwards:
        axes.invert_yaxis()


def _draw_liquid(axes: Axes, scene: Scene, pixel: tuple, box: np.ndarray, colours: ScalarMappable) -> None:
    """The speed within the contour of the filling, which reaches the walls; ``pixel`` has row and column of nodes."""
    shape = tuple(index.max() + 1 for index in pixel)
    filling, speed, is_fluid, is_wet = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool)
    filling[pixel], speed[pixel] = scene.fill, np.linalg.norm(scene.velocity_m_s, axis=1)
    is_fluid[pixel], is_wet[pixel] = True, scene.fill > 0.0
    if not filling.max() > LEVEL:
        return
    image = axes.imshow(_spread(speed, is_wet), origin="lower", extent=(*box[:, 0], *box[:, 1]), zorder=2)
    image.set(norm=colours.norm, cmap=colours.cmap, interpolation="bilinear")
    x, y = (
        np.concatenate(([low], np.linspace(low, high, 2 * n + 1)[1::2], [high]))
        for low, high, n in zip(*box[:, :2], shape[::-1], strict=True)
    )
    reached = np.pad(_spread(filling, is_fluid), 1, mode="edge")
    area = axes.contourf(x, y, reached, levels=[LEVEL, 2.0], alpha=0.0)
    image.set_clip_path(area.get_paths()[0], axes.transData)
    axes.contour(x, y, reached, levels=[LEVEL], colors=LINE_COLOUR, linewidths=1.2, zorder=2.5)


def _spread(values: np.ndarray, is_known: np.ndarray) -> np.ndarray:
    """The values, those that are not known replaced by the nearest that are."""
    from scipy.ndimage import distance_transform_edt

    return values[tuple(distance_transform_edt(~is_known, return_distances=False, return_indices=True))]
