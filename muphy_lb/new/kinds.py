"""The tables of a new case: one function per kind of flow; and the doubts about one that a user should hear of."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from muphy_lb.base.narrow import known
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import IMAGES, file_ending, load_voxels
from muphy_lb.geometry.openings.find import FoundOpening, openings_of_surface, openings_of_voxels
from muphy_lb.geometry.porous.preparation import porosity
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.surfaces.mend import close_roughly, mend
from muphy_lb.geometry.surfaces.surface import read_surface
from muphy_lb.geometry.surfaces.triangles import signed_volumes
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.new import sizing
from muphy_lb.new.circulation import PEAK_OF_A_BEAT, Flowing, beating
from muphy_lb.new.options import CaseOptions

VESSEL_RADIUS_M = 1.5e-3
CHANNEL_HEIGHT_M = 1e-3
CHANNEL_LENGTH = 6  # in heights
ROCK_EDGE_M = 6.4e-4
GRAIN_SHARE = 0.125  # radius of a sphere over the edge of the cube
ROCK_POROSITY = 0.4
FLUID_VALUE = 1  # of images of which nothing else is said

VESSEL_REYNOLDS, CHANNEL_REYNOLDS = 100.0, 20.0
PARABOLA_3D, PARABOLA_2D = 2.0, 1.5  # ratio of maximum to mean velocity of a parabolic profile
MIN_ACROSS = 8  # smallest reliable number of voxels across an opening

WALLS = "bouzidi"  # of vessels: in none worse than half-way walls (benchmarks/notes/walls.md, walls of vessels)
STEADY_TOLERANCE, ROCK_TOLERANCE = 1e-3, 1e-4
ROCK_STEPS, ROCK_INTERVAL = 20000, 200

DIAMETERS_M = (3e-6, 0.1)  # diameters of vessels: from less than a blood cell to the widest aneurysms
FASTEST_BLOOD_M_S = 5.0  # blood is hardly ever faster, even in a narrow valve

MOST_OF_A_ROCK = 0.5
"""Porosity above which grains are more likely to have been taken for pores. Topology is less conclusive: in rocks and
packs of spheres grains and pores are both connected, and few voxels of either are not."""

FACES_OF_A_ROCK = 4  # A vessel rarely leaves an image through more faces of its box than these


Draft = tuple[Mapping, tuple[str, ...]]
"""A new case: nested tables, as ``tomllib`` returns them, and lines of text for the user."""


class VesselGeometry(NamedTuple):
    """The geometry of a vessel: the section [geometry], its openings, and its size (``length_m``: longest edge of its
    box)."""

    geometry: Mapping
    openings: tuple[FoundOpening, ...]
    spacing_m: float
    length_m: float
    volume_m3: float


def vessel(requested: CaseOptions, folder: Path) -> Draft:
    """A flow from the largest opening to all others, through a vessel from a file or a built-in bifurcation. Raises
    GeometryError: the file cannot be read, or has no inlet or no outlet."""
    vessel_geometry = (
        _built_in_vessel if requested.file is None else _surface_vessel if requested.is_surface else _image_vessel
    )(requested, folder)
    inlets, outlets = _sorted(vessel_geometry.openings, requested)
    diameter_m = 2.0 * inlets[0].equivalent_radius_m
    narrowing = max(1.0, sum(f.area_m2 for f in inlets) / sum(f.area_m2 for f in outlets))
    viscosity, across = requested.substance.kinematic_viscosity_m2_s, diameter_m / vessel_geometry.spacing_m
    peak = PARABOLA_3D * narrowing * (1.0 if requested.circulation is None else PEAK_OF_A_BEAT)
    area_m2 = sum(found.area_m2 for found in inlets)
    velocity, why = _velocity(requested, diameter_m, across, peak, area_m2)
    reynolds = velocity * diameter_m / viscosity
    n_nodes = vessel_geometry.volume_m3 / vessel_geometry.spacing_m**3
    resolution = sizing.resolution(diameter_m, vessel_geometry.spacing_m, n_nodes, reynolds, peak)
    drive = sizing.drive(reynolds / across, across, vessel_geometry.length_m / vessel_geometry.spacing_m, narrowing)
    lengths_m = vessel_geometry.spacing_m, vessel_geometry.length_m
    flowing = _flowing(requested, (inlets, outlets), velocity, PARABOLA_3D * narrowing, lengths_m)
    drive = flowing.drive or drive
    sections = _common(requested, drive, resolution.model) | dict(flowing.sections)
    sections["lattice"] |= resolution.model
    if requested.file is None or requested.is_surface:  # an image does not know the place of its walls
        sections["lattice"]["walls"] = WALLS
    table = {
        "title": "Flow through a vessel" if requested.file else "Flow through a branching vessel",
        "geometry": vessel_geometry.geometry,
        "openings": [
            {key: _shortened(value) for key, value in found.table().items()}
            | dict(flowing.conditions[found.opening.name])
            for found in chain(inlets, outlets)
        ],
        **sections,
    }
    notes = [_note(found, vessel_geometry) for found in chain(inlets, outlets)]
    flow = f"velocity {velocity:.4g} m/s at the inlet, {why}; Reynolds number {reynolds:.4g} at the inlet"
    doubts = [f"warning: {text}" for text in vessel_doubts(requested, (*inlets, *outlets), velocity)]
    edge = f"voxel edge {vessel_geometry.spacing_m:.4g} m: {resolution}"
    why_collision = () if resolution.model else (str(drive),)
    return table, (*notes, flow, *flowing.notes, edge, *why_collision, *doubts)


def rock(requested: CaseOptions, folder: Path) -> Draft:
    """A creeping flow along x through an image of pores, or through a built-in pack of spheres. Raises GeometryError as
    the reader does, and for pores that do not percolate along x."""
    options: dict[str, Any]
    if requested.file is None:
        edge = requested.n_across if requested.spacing_m is None else max(8, round(ROCK_EDGE_M / requested.spacing_m))
        spacing_m = sizing.rounded(requested.spacing_m or ROCK_EDGE_M / edge, 6)
        options = {"size": edge, "radius": GRAIN_SHARE * edge, "porosity": ROCK_POROSITY, "seed": 1}
        geometry = {"shape": "random_spheres", "spacing_m": spacing_m, "options": options}
        voxels = build_shape("random_spheres", spacing_m=spacing_m, **options)
    else:
        # A mirrored image is periodic, and its mirror planes are planes of constant pressure: no reservoir is needed.
        options = {"mirror": "x", "drop_unconnected": "x", **_fluid_value(requested), **requested.reader}
        geometry = _file_section(requested, folder) | {"options": options}
        voxels = load_voxels(requested.file, **options, **_spacing(requested))
    creep = sizing.creep(voxels, requested.substance.kinematic_viscosity_m2_s, requested.substance.density_kg_m3)
    table = {
        "title": "Permeability of a rock" if requested.file else "Permeability of a pack of spheres",
        "geometry": geometry,
        "fluid": requested.substance._asdict(),
        "flow": {"acceleration_m_s2": [creep.acceleration_m_s2, 0.0, 0.0]},
        "lattice": {
            "name": "D3Q19",
            "collision": "trt",
            "relaxation_time": sizing.ROCK_RELAXATION_TIME,
            "reference_velocity_m_s": sizing.rounded(creep.velocity_m_s),
        },
        "run": {
            "steps": ROCK_STEPS,
            "steady_tolerance": ROCK_TOLERANCE,
            "steady_interval_steps": ROCK_INTERVAL,
            "steady_watch": ["permeability"],
        },
        "output": {"permeability": True},
    }
    expected = creep.permeability * voxels.spacing_m**2
    share = porosity(voxels)
    notes = [f"porosity {share:.4f}", f"permeability of about {expected:.2g} m2 expected (Kozeny and Carman)"]
    if _fluid_value(requested):
        notes.append(f"pores are the voxels of value {FLUID_VALUE}; of another: --option fluid_value=NUMBER")
    notes += [f"warning: {text}" for text in rock_doubts(share)]
    return table, tuple(notes)


def _fluid_value(requested: CaseOptions) -> dict[str, int]:
    """The value of the pores of an image, where no option says what they are."""
    is_said = {"fluid_value", "fluid_above", "fluid_below", "otsu"} & requested.reader.keys()
    is_image = requested.file is not None and file_ending(requested.file) in chain(*IMAGES.values())
    return {"fluid_value": FLUID_VALUE} if is_image and not is_said else {}


def channel(requested: CaseOptions, folder: Path) -> Draft:
    """A two-dimensional flow between two plates; no file is read, so ``folder`` is ignored."""
    viscosity = requested.substance.kinematic_viscosity_m2_s
    smallest_m = CHANNEL_HEIGHT_M * math.sqrt(CHANNEL_LENGTH / sizing.NODE_BUDGET)
    spacing_m = _spacing_across(requested, CHANNEL_HEIGHT_M, PARABOLA_2D, smallest_m)
    height = max(4, round(CHANNEL_HEIGHT_M / spacing_m))
    length, height_m = CHANNEL_LENGTH * height, height * spacing_m
    velocity = requested.velocity_m_s or sizing.velocity_for(CHANNEL_REYNOLDS, height_m, height, viscosity, PARABOLA_2D)
    reynolds = velocity * height_m / viscosity
    resolution = sizing.resolution(height_m, spacing_m, length * height, reynolds, PARABOLA_2D, dimensions=2)
    drive = sizing.drive(reynolds / height, height, length, 1.0)
    options = {"length": length, "height": height, "ends": "open"}
    inlet = {"name": "inlet", "velocity_m_s": velocity, "profile": "parabolic"}
    table = {
        "title": "Plane channel",
        "geometry": {"shape": "channel", "spacing_m": spacing_m, "options": options},
        "openings": [inlet, {"name": "outlet", "pressure_pa": 0.0}],
        **_common(requested, drive, resolution.model, "D2Q9"),
    }
    notes = f"height {height_m:.4g} m, Reynolds number {reynolds:.4g}", f"voxel edge {spacing_m:.4g} m: {resolution}"
    return table, (*notes, *(() if resolution.model else (str(drive),)))


DRAFTS: Mapping[str, Callable[[CaseOptions, Path], Draft]] = MappingProxyType(
    {"vessel": vessel, "rock": rock, "channel": channel}
)


def _built_in_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    options = {"parent_radius_m": VESSEL_RADIUS_M, "generations": 1}
    coarse = build_shape("branching_vessel", spacing_m=2.0 * VESSEL_RADIUS_M / MIN_ACROSS, **options)
    smallest_m = _smallest_m(coarse.n_fluid * coarse.spacing_m**3)
    spacing_m = _spacing_across(requested, 2.0 * VESSEL_RADIUS_M, PARABOLA_3D, smallest_m)
    voxels = build_shape("branching_vessel", spacing_m=spacing_m, **options)
    geometry = {"shape": "branching_vessel", "spacing_m": spacing_m, "options": options}
    return _vessel_of_voxels(geometry, voxels)


def _surface_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    surface = read_surface(requested.file, requested.unit)
    mended = close_roughly(surface) if requested.reader.get("vote") else mend(surface)
    found = openings_of_surface(mended)
    volume_m3 = abs(float(signed_volumes(mended.surface.points_m, mended.surface.triangles).sum()))
    inlets, outlets = _sorted(found, requested)
    narrowing = max(1.0, inlets[0].area_m2 / sum(item.area_m2 for item in outlets))
    peak, smallest_m = PARABOLA_3D * narrowing, _smallest_m(volume_m3)
    spacing_m = _spacing_across(requested, 2.0 * inlets[0].equivalent_radius_m, peak, smallest_m)
    geometry = _file_section(requested, folder) | {"unit": requested.unit, "spacing_m": spacing_m}
    length_m = float((surface.points.max(axis=0) - surface.points.min(axis=0)).max()) * surface.metres_per_unit
    return VesselGeometry(geometry, found, spacing_m, length_m, volume_m3)


def _image_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    voxels = load_voxels(requested.file, **requested.reader, **_spacing(requested))
    return _vessel_of_voxels(_file_section(requested, folder), voxels)


def _vessel_of_voxels(geometry: Mapping, voxels: Voxels) -> VesselGeometry:
    length_m, volume_m3 = max(voxels.shape) * voxels.spacing_m, voxels.n_fluid * voxels.spacing_m**3
    found = openings_of_voxels(voxels)
    return VesselGeometry(geometry, found, voxels.spacing_m, length_m, volume_m3)


def _sorted(found: tuple[FoundOpening, ...], requested: CaseOptions) -> tuple[list[FoundOpening], list[FoundOpening]]:
    """(inlets, the largest first; outlets); GeometryError unless there is at least one of each."""
    inlets = sorted((f for f in found if f.opening.kind == "inlet"), key=lambda f: -f.area_m2)
    outlets = [f for f in found if f.opening.kind != "inlet"]
    if not (inlets and outlets):
        raise GeometryError(
            f"{requested.file}: {len(inlets)} inlets and {len(outlets)} outlets found; a vessel needs at least"
            " one of each: inspect it with muphy-lb geometry FILE --find-openings, or name them in the case by hand"
        )
    return inlets, outlets


def _velocity(
    requested: CaseOptions, diameter_m: float, across: float, peak: float, area_m2: float
) -> tuple[float, str]:
    """(mean velocity at the inlet [m/s], where it comes from): the requested one, or that of the requested flow rate
    through an area; else one of a moderate Reynolds number, but of blood never above that of blood at rest in a vessel
    of this diameter."""
    substance, circulation = requested.substance, requested.circulation
    if circulation is not None and circulation.flow_rate_m3_s is not None:
        return circulation.flow_rate_m3_s / area_m2, f"that of {circulation.flow_rate_m3_s:.4g} m3/s"
    if requested.velocity_m_s is not None:
        return requested.velocity_m_s, "as asked"
    viscosity_m2_s = substance.kinematic_viscosity_m2_s
    moderate = sizing.velocity_for(VESSEL_REYNOLDS, diameter_m, across, viscosity_m2_s, peak)
    why = f"chosen for a Reynolds number of {moderate * diameter_m / viscosity_m2_s:.2g}; give yours with --velocity"
    if requested.fluid != "blood":
        return moderate, why
    natural = sizing.physiological_velocity(diameter_m, substance.density_kg_m3, viscosity_m2_s)
    if natural <= moderate:
        return natural, f"that of blood at rest in a vessel of {diameter_m:.2g} m"
    return moderate, f"{why}: blood at rest in a vessel of {diameter_m:.2g} m has about {natural:.2g} m/s"


def _smallest_m(volume_m3: float) -> float:
    """Voxel edge [m] at which a volume has as many nodes as are taken without being asked."""
    return (volume_m3 / sizing.NODE_BUDGET) ** (1.0 / 3.0)


def _spacing_across(requested: CaseOptions, diameter_m: float, peak: float, smallest_m: float) -> float:
    if requested.spacing_m is not None:
        return requested.spacing_m
    across = needed = requested.n_across
    if requested.across is None and requested.velocity_m_s is not None:
        reynolds = requested.velocity_m_s * diameter_m / requested.substance.kinematic_viscosity_m2_s
        needed = sizing.across_for(across, reynolds, peak)
    return sizing.edge_for(diameter_m, across, needed, smallest_m)


def _file_section(requested: CaseOptions, folder: Path) -> dict:
    section = {"file": Path(os.path.relpath(known(requested.file), folder)).as_posix(), **_spacing(requested)}
    return section | ({"options": dict(requested.reader)} if requested.reader else {})


def _spacing(requested: CaseOptions) -> dict:
    return {} if requested.spacing_m is None else {"spacing_m": requested.spacing_m}


def _flowing(requested: CaseOptions, ends: tuple, velocity_m_s: float, peak: float, lengths_m: tuple) -> Flowing:
    """Inlets of a mean velocity, outlets of pressure 0; or what a beating heart needs."""
    if requested.circulation is not None:
        return beating(requested.circulation, ends, velocity_m_s, peak, lengths_m, requested.substance)
    inlets, outlets = ends
    conditions: dict[str, dict] = {found.opening.name: {"pressure_pa": 0.0} for found in outlets}
    for found in inlets:
        conditions[found.opening.name] = {"velocity_m_s": velocity_m_s, "profile": "parabolic"}
    return Flowing(conditions)


def _shortened(value):
    """Numbers, also those of a list, with as many digits as a case needs; a text as it is."""
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    return value if isinstance(value, str) else sizing.rounded(value, 7) + 0.0  # no -0.0


def _note(found: FoundOpening, vessel_geometry: VesselGeometry) -> str:
    opening, across = found.opening, 2.0 * found.equivalent_radius_m / vessel_geometry.spacing_m
    few = f"; fewer than {MIN_ACROSS} voxels are not reliable" if across < MIN_ACROSS else ""
    return f"{opening.title}: {found.source}, {across:.1f} voxels across{few}"


def _common(requested: CaseOptions, drive: sizing.Drive, model: Mapping, lattice: str = "D3Q19") -> dict:
    return {
        "fluid": requested.substance._asdict(),
        "lattice": {"name": lattice, "collision": drive.collision, "lattice_velocity": drive.lattice_velocity, **model},
        "run": {
            "steps": drive.steps,
            "ramp_steps": 2 * drive.interval,
            "steady_tolerance": STEADY_TOLERANCE,
            "steady_interval_steps": drive.interval,
        },
    }


def vessel_doubts(requested: CaseOptions, openings: Sequence[FoundOpening], velocity_m_s: float) -> Iterator[str]:
    """Warnings about a vessel. ``openings``: the openings found, the inlet first; ``velocity_m_s``: mean velocity at
    the inlet [m/s]."""
    faces = {item.source for item in openings if item.source.startswith("face of the box")}
    if len(faces) > FACES_OF_A_ROCK:
        yield (
            f"the fluid of {requested.file} meets {len(faces)} faces of the box, as that of a rock does: the inlet (the"
            f" largest section) and the {len(openings) - 1} outlets are a guess; for a rock: muphy-lb new rock"
            f" {requested.file}; else check [[openings]] in the case, and leave out those that are walls"
        )
    if requested.fluid != "blood":
        return
    (narrowest_m, widest_m), diameter_m = DIAMETERS_M, 2.0 * openings[0].equivalent_radius_m
    if requested.file is not None and not narrowest_m <= diameter_m <= widest_m:
        key = f"--unit {requested.unit}" if requested.is_surface else "the voxel edge (--spacing, in metres)"
        yield (
            f"the inlet is {diameter_m:.3g} m across, and vessels are {narrowest_m:g} to {widest_m:g} m wide:"
            f" check {key}"
        )
    if velocity_m_s > FASTEST_BLOOD_M_S:
        yield (
            f"blood of {velocity_m_s:.4g} m/s is faster than in any vessel (up to {FASTEST_BLOOD_M_S:g} m/s): a number"
            f" is in m/s; if these are cm/s, give --velocity '{velocity_m_s:.4g} cm/s'"
        )


def rock_doubts(porosity: float) -> Iterator[str]:
    """Warnings about a rock of this porosity."""
    if porosity > MOST_OF_A_ROCK:
        yield (
            f"a porosity of {porosity:.2f} is more than that of rocks and packs of grains (up to {MOST_OF_A_ROCK};"
            " foams, fibres and pumice have more): if grains were taken for pores, give --option fluid_value=NUMBER, or"
            " --option invert=true"
        )
