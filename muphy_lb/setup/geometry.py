"""From a case to the node list."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.base.narrow import known, triple
from muphy_lb.base.phases import NUMBERING, READING, phase
from muphy_lb.base.registry import fluid_labels, moving_solid, offered, shape_named, solid_walls
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.axes import PERIODIC
from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.errors import MissingOptionError
from muphy_lb.geometry.labels import add_regions, add_solids, label_box
from muphy_lb.geometry.load import SHAPE_PREFIX, closed_surface, load_content, load_with_notes
from muphy_lb.geometry.moving_solid import MovingSolid
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, build_nodes, header_ahead
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.openings.find import describe_ends, end_states, end_warnings, with_image_ends
from muphy_lb.geometry.options import nearest_name, split_options
from muphy_lb.geometry.porous.preparation import divide_closed_layers
from muphy_lb.geometry.repeats import without_effect
from muphy_lb.geometry.rotation import Rotation
from muphy_lb.geometry.slabs import padded
from muphy_lb.geometry.store import open_nodes, read_arrays
from muphy_lb.geometry.surfaces.surface import FORMATS as SURFACE_FORMATS
from muphy_lb.geometry.surfaces.surface import Surface, read_surface
from muphy_lb.geometry.voxels import FLUID, SOLID, Opening, Reservoirs, Voxels
from muphy_lb.lattice import lattice_named

LOG = logging.getLogger(__name__)
TURNED = ("centre_m", "normal")  # keys of an opening that a rotation turns
PLACED = ("_m", "_m_s", "_m_s2", "_n", "_rad_s", "_drop_pa", ".normal", ".axis")  # ends of keys of vectors and places
LENGTHS = ("unit", "spacing_m")  # options of readers that are keys of the section itself


def load_nodes(
    case: Case, content: np.ndarray | Surface | None = None, seen: Callable[[GeometryHeader], None] | None = None
) -> tuple[NodeList, str]:
    """The geometry of a case as a node list, and one line on its cleaning. ``content``: what the file of the case
    holds, if that is in memory (:class:`muphy_lb.geometry.source.Geometry`); ``seen``: gets the header ahead of the
    numbering of the nodes, which are not counted then. Raises GeometryError: the geometry cannot be read, cut or
    cleaned; InputError: openings of the case and of the geometry do not match."""
    if is_prepared(case):
        with _reading(case), open_case_nodes(case) as nodes:
            return read_arrays(nodes), f"read {case.geometry.file}"
    voxels = case_voxels(case, content)
    if moving_solid(case) is not None:
        solid = solid_of(case, voxels)
        voxels = solid.filled(solid.start)
    if seen:
        seen(header_ahead(voxels, tuple(fluid_labels(case))))
    return numbered(voxels, case, content)


def _reading(case: Case):
    return phase(f"reading the geometry: {case.geometry.file or case.geometry.shape}", READING)


def solid_of(case: Case, voxels: Voxels | None = None) -> MovingSolid:
    """The solid of a case that loses or gains volume, in its geometry, or in its voxels if these are there. Raises
    InputError, GeometryError: there is none."""
    moved = moving_solid(case)
    if moved is None:
        raise InputError("the case has no solid that loses or gains volume; give one ([dissolution])")
    if is_prepared(case):
        _refuse_preparation(case)
    return MovingSolid.of(case_voxels(case) if voxels is None else voxels, moved.place)


def case_voxels(case: Case, content: np.ndarray | Surface | None = None) -> Voxels:
    """The voxels of a case, with its openings and labelled walls, without a solid that moves; ``content`` and errors:
    as of :func:`load_nodes`."""
    with _reading(case):
        voxels = _load(case, content, _with_labels(case, fluid_labels(case)))
        for section in case.walls:
            if section.box_m is not None:
                voxels = label_box(voxels, section.name, *section.box_m)
        voxels = voxels if case.geometry.shape else with_image_ends(voxels)
        rotation = rotation_of(case)
        cuts = [rotation.opening(_opening(section)) for section in case.openings if section.centre_m is not None]
        return carve(voxels, cuts) if cuts else voxels


def numbered(voxels: Voxels, case: Case, content: np.ndarray | Surface | None = None) -> tuple[NodeList, str]:
    """The node list of the voxels of a case, and one line on its cleaning; as :func:`load_nodes`."""
    labels = fluid_labels(case)
    keep = case.geometry.keep or ("openings" if voxels.openings else "all")
    with phase("numbering the fluid nodes", NUMBERING):
        nodes, cleaned = clean(build_nodes(voxels), keep)
    report = str(cleaned)
    if cleaned.alone:
        LOG.warning(
            "warning: from opening %s nothing leads through faces of voxels to another opening: no flow passes it, or"
            " one through edges, whose width is that of no pore; look for a gap, or a pore of less than a voxel",
            ", ".join(cleaned.alone),
        )
    states = end_states(voxels, nodes)
    if states:
        LOG.info("geometry: %s", describe_ends(states))
    for text in end_warnings(states):
        LOG.warning("warning: %s", text)
    if case.lattice.walls != HALF_WAY and voxels.wall_shape is not None:
        with phase("cutting the links at the wall"):
            nodes = cut_links(nodes, voxels.wall_shape, lattice_named(case.lattice.name).c[1:])
        of_links = known(nodes.cuts)
        report += f"; {of_links.n_links:,} links cut, {of_links.n_missed:,} without a hit (taken half-way)"
    if labels:
        nodes = add_regions(
            nodes, {name: _region(case, content, value, voxels.shape) for name, value in labels.items()}
        )
    solids = solid_walls(case)
    if solids:
        n_fluid, nodes = nodes.n_nodes, add_solids(nodes, voxels, solids)
        report += f"; {nodes.n_nodes - n_fluid:,} nodes of solids that conduct: {', '.join(solids)}"
    _match_openings(nodes, case)
    return nodes, report


@contextmanager
def open_case_nodes(case: Case, is_checked: bool = False) -> Iterator[NodeList]:
    """The node list of a case on a prepared geometry, its arrays still datasets of the open file. ``is_checked``: the
    values of the arrays have been checked (:func:`muphy_lb.geometry.store.open_nodes`). Raises GeometryError: the
    geometry cannot be read; InputError: the case does not fit it."""
    _refuse_preparation(case)
    with open_nodes(case.folder / case.geometry.file, is_checked) as nodes:
        _match_openings(nodes, case)
        _match_solids(nodes, case)
        yield replace(nodes, cuts=None) if case.lattice.walls == HALF_WAY else nodes


def is_prepared(case: Case) -> bool:
    """Whether the geometry is a prepared one (CASE.h5)."""
    return case.geometry.file is not None and Path(case.geometry.file).suffix == PREPARED


def reservoirs_of(case: Case) -> Reservoirs | None:
    """The layers of fluid that the image of a case gets or its prepared geometry has. Raises GeometryError, InputError:
    as of :func:`open_case_nodes`."""
    if is_prepared(case):
        with open_case_nodes(case, is_checked=True) as nodes:
            return nodes.reservoirs
    options = case.geometry.options
    layers, axis, ends = (options.get(f"reservoir_{name}") for name in Reservoirs._fields)
    return Reservoirs(layers, axis or "x", ends or "open") if layers else None


def is_surface(case: Case) -> bool:
    """Whether the geometry is a file of a surface."""
    return case.geometry.file is not None and Path(case.geometry.file).suffix.lower() in SURFACE_FORMATS


def input_surface(case: Case, content: np.ndarray | Surface | None = None) -> Surface | None:
    """The mended surface of a case, triangles oriented outwards, moved as its options say; None if its geometry is
    something else. ``content``: as of :func:`load_nodes`. Raises GeometryError: the file cannot be read."""
    geometry = case.geometry
    if content is None and is_surface(case):
        content = read_surface(case.folder / geometry.file, geometry.unit or geometry.options.get("unit"))
    return closed_surface(content, geometry.options).surface if isinstance(content, Surface) else None


def rotation_of(case: Case) -> Rotation:
    """The rotation of the geometry of a case, with the openings that the case cuts into it. Raises GeometryError: it is
    none; InputError: the case has other vectors or places, which lie along the axes of the grid."""
    rotation = split_options(Rotation, case.geometry.options)[0]
    if not rotation:
        return rotation
    table = case.model_dump(exclude_none=True, exclude={"geometry"})
    opened = [{key: value for key, value in each.items() if key not in TURNED} for each in table.pop("openings", ())]
    found = [*_places({**table, "openings": opened}, "")]
    if found:
        raise InputError(
            f"geometry.options: a rotation turns the geometry and its openings, and {found[0]} is a vector or place"
            " in the frame of the grid; leave one of them out"
        )
    return rotation


def _places(value, name: str) -> Iterator[str]:
    """Dotted names of all vectors and places of tables that are not zero."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _places(entry, f"{name}.{key}" if name else key)
    elif isinstance(value, list | tuple) and name.endswith(PLACED):
        if np.asarray(value, dtype=object).size % 3 == 0 and np.any(np.asarray(value) != 0.0):
            yield name
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _places(entry, f"{name}.{number}")


def opening_sections(nodes: NodeList | GeometryHeader, case: Case) -> tuple[OpeningSection, ...]:
    """The case's section for each opening, in the geometry's order."""
    sections = {section.name: section for section in case.openings}
    return tuple(sections[opening.name] for opening in nodes.openings)


def remedy_for_name(name: str, there: list[str], place: str) -> str:
    """The remedy for a name that the geometry does not have: the nearest existing one, else all of them, or the
    ``place`` of a new one."""
    if near := nearest_name(name, there):
        return f"{near} If not, give {place}"
    return f"it has {', '.join(there)}: take one of these, or give {place}" if there else f"it has none: give {place}"


def _with_labels(case: Case, labels: Mapping[str, int]) -> dict:
    """The options of the geometry, with further values of the image that are fluid. Raises InputError: its fluid is
    not given by values."""
    options = dict(case.geometry.options)
    if not labels:
        return options
    others = [name for name in ("fluid_above", "fluid_below", "otsu") if options.get(name) is not None]
    if case.geometry.shape or others:
        what = f"geometry.options.{others[0]}" if others else f"geometry.shape = {case.geometry.shape!r}"
        raise InputError(
            f"{next(iter(labels))!r} is a label of the image, and the case has {what}; name an image of labels in"
            " geometry.file, with geometry.options.fluid_value, or give the region otherwise"
        )
    fluid = np.atleast_1d(options.get("fluid_value", 1)).tolist()
    return options | {"fluid_value": sorted({*fluid, *labels.values()})}


NOT_OF_REGIONS = ("opening_values", "wall_values", "invert", "drop_unconnected", "reservoir_layers")
"""Options of an image that do not change which of its voxels have a value, but for layers that are added."""


def _region(case: Case, content, value: int, shape: tuple[int, int, int]) -> np.ndarray:
    """Ascending ids of the voxels of a value in the image of a case, prepared as that is, in a box of ``shape``."""
    options = {key: given for key, given in case.geometry.options.items() if key not in NOT_OF_REGIONS}
    flags = _load(case, content, options | {"fluid_value": value}, is_told=False).flags
    added = (np.array(shape) - flags.shape) // 2
    return np.flatnonzero(padded(flags, [(n, n) for n in added.tolist()], SOLID) == FLUID)


def _load(case: Case, content: np.ndarray | Surface | None, options: dict, is_told: bool = True) -> Voxels:
    geometry = case.geometry
    options |= {key: value for key in LENGTHS if (value := getattr(geometry, key)) is not None}
    options |= {PERIODIC: geometry.periodic} if geometry.periodic else {}
    source = case.folder / geometry.file if geometry.shape is None else f"{SHAPE_PREFIX}{shape_named(geometry.shape)}"
    try:
        voxels, notes = load_with_notes(source, **options) if content is None else load_content(content, **options)
    except MissingOptionError as error:
        keys = [f"geometry.{'' if key in LENGTHS else 'options.'}{key}" for key in error.names]
        verb = "is" if len(keys) == 1 else "are"
        raise InputError(f"{', '.join(keys)} {verb} missing: {error.spelled(_as_key)}") from error
    for note in notes if is_told else ():
        LOG.info("geometry: %s", note)
    for text in without_effect(voxels) if PERIODIC in options and is_told else ():
        LOG.warning("warning: %s", text)
    parts = options.get("divide", 1)
    if parts > 1 and lattice_named(case.lattice.name).dimension == 3:
        voxels = divide_closed_layers(voxels, parts)
    return voxels


def _as_key(name: str, value: object) -> str:
    return f"{name} = {json.dumps(value)} in [geometry{'' if name in LENGTHS else '.options'}]"


def _opening(section: OpeningSection) -> Opening:
    radius = float("inf") if section.radius_m is None else section.radius_m
    centre_m, normal = triple(known(section.centre_m)), triple(known(section.normal))
    return Opening(section.name, known(section.kind), centre_m, normal, radius)


def _refuse_preparation(case: Case) -> None:
    """Refuse keys that would cut, clean or scale a prepared geometry, which is final: they would have no effect."""
    placed = [f"openings.{section.name}.centre_m" for section in case.openings if section.centre_m is not None]
    placed += [f"walls.{section.name}.box_m" for section in case.walls if section.box_m is not None]
    ignored = [
        f"geometry.{key}" for key in ("unit", "spacing_m", "keep", "periodic", "options") if getattr(case.geometry, key)
    ]
    labels = fluid_labels(case)
    if moving_solid(case) is not None:
        raise InputError(
            f"{case.geometry.file} is prepared, without the voxels in which a solid could dissolve or grow: name the"
            " image or the shape itself in [geometry]"
        )
    if labels:
        raise InputError(
            f"{next(iter(labels))!r} is a label of the image, and {case.geometry.file} is prepared, without labels:"
            " name the image itself in geometry.file, or give the region otherwise"
        )
    if placed or ignored:
        raise InputError(
            f"{', '.join(placed + ignored)}: {case.geometry.file} is prepared, which includes these choices; leave them"
            " out here and give them when preparing: muphy-lb geometry INPUT CASE.h5 ..."
        )


def _match_openings(nodes: NodeList, case: Case) -> None:
    there = [opening.name for opening in nodes.openings]
    asked = [section.name for section in case.openings]
    for name in asked:
        if name not in there:
            remedy = remedy_for_name(name, there, "its position (kind, centre_m, normal)")
            raise InputError(f"openings.{name}: the geometry has no opening of this name; {remedy}")
    kinds = {opening.name: opening.kind for opening in nodes.openings}
    for section in case.openings:
        if section.kind not in (None, kinds[section.name]):
            raise InputError(
                f"openings.{section.name}.kind is {section.kind!r}, but the geometry has an {kinds[section.name]} of"
                " this name; leave kind out, or take another name"
            )
    missing = [name for name in there if name not in asked]
    if missing:
        raise InputError(
            f"the geometry has openings without a condition: {', '.join(missing)};"
            " add an [[openings]] entry with name and velocity_m_s, flow_rate_m3_s or pressure_pa for each"
        )


def _match_solids(nodes: NodeList, case: Case) -> None:
    """Check that the solids with nodes in a prepared geometry are those that the case needs."""
    file, asked = case.geometry.file, solid_walls(case)
    there = [wall.name for wall in nodes.walls if wall.is_solid]
    for name, key in asked.items():
        if name not in there:
            raise InputError(
                f"{key}: {file} is prepared without nodes in this wall;"
                f" make it with muphy-lb geometry INPUT {file} --solid {name} ..., or name the image itself"
            )
    for name in there:
        if name not in asked:
            keys = [f"give {keys.format(name=name)}" for keys in offered("SOLID_KEYS")]
            raise InputError(
                f"{file} is prepared with nodes in the wall {name!r}, for a scalar that diffuses there;"
                f" {', or '.join([*keys, f'make the file without --solid {name}'])}"
            )
