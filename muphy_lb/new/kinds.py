"""The tables of a new case: one function per kind of flow."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.openings.find import FoundOpening, openings_of_surface, openings_of_voxels
from muphy_lb.geometry.porous.preparation import porosity
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import read_surface
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.new import sizing
from muphy_lb.new.prompt import CaseOptions

VESSEL_RADIUS_M = 1.5e-3
CHANNEL_HEIGHT_M = 1e-3
CHANNEL_LENGTH = 6  # in heights
ROCK_EDGE_M = 6.4e-4
GRAIN_SHARE = 0.125  # radius of a sphere over the edge of the cube
ROCK_POROSITY = 0.4

VESSEL_REYNOLDS, CHANNEL_REYNOLDS = 100.0, 20.0
PARABOLA_3D, PARABOLA_2D = 2.0, 1.5
"""Ratio of maximum to mean velocity of a parabolic profile."""

MIN_ACROSS = 8
"""Smallest reliable number of voxels across an opening."""

STEADY_TOLERANCE, ROCK_TOLERANCE = 1e-3, 1e-4
ROCK_STEPS, ROCK_INTERVAL = 20000, 200


@dataclass(frozen=True)
class Draft:
    """A new case.

    Attributes:
        table: nested tables, as ``tomllib`` returns them.
        notes: lines of text for the user.
    """

    table: Mapping
    notes: tuple[str, ...]


@dataclass(frozen=True)
class VesselGeometry:
    """The geometry of a vessel: the section [geometry], its openings and its size.

    Attributes:
        geometry: the table of the section.
        openings: the openings found.
        placed: whether the case must define the openings, because the geometry does not.
        spacing_m: voxel edge [m].
        length_m: longest edge of its box [m].
    """

    geometry: Mapping
    openings: tuple[FoundOpening, ...]
    placed: bool
    spacing_m: float
    length_m: float


def vessel(requested: CaseOptions, folder: Path) -> Draft:
    """A flow from the largest opening to all others, through a vessel from a file or a built-in bifurcation.

    Raises:
        GeometryError: the file cannot be read, or has no inlet or no outlet.
    """
    vessel_geometry = (
        _built_in_vessel if requested.file is None else _surface_vessel if requested.is_surface else _image_vessel
    )(requested, folder)
    inlets, outlets = _sorted(vessel_geometry.openings, requested)
    diameter_m = 2.0 * inlets[0].equivalent_radius_m
    narrowing = max(1.0, sum(f.area_m2 for f in inlets) / sum(f.area_m2 for f in outlets))
    viscosity, across = requested.substance.kinematic_viscosity_m2_s, diameter_m / vessel_geometry.spacing_m
    velocity = requested.velocity_m_s or sizing.velocity_for(
        VESSEL_REYNOLDS, diameter_m, across, viscosity, PARABOLA_3D * narrowing
    )
    reynolds = velocity * diameter_m / viscosity
    drive = sizing.drive(reynolds / across, across, vessel_geometry.length_m / vessel_geometry.spacing_m, narrowing)
    table = {
        "title": "Flow through a vessel" if requested.file else "Flow through a branching vessel",
        "geometry": vessel_geometry.geometry,
        "openings": [_opening(found, vessel_geometry.placed, velocity) for found in chain(inlets, outlets)],
        **_common(requested, drive),
    }
    notes = [_note(found, vessel_geometry) for found in chain(inlets, outlets)]
    return Draft(table, (*notes, f"Reynolds number {reynolds:.4g} at the inlet"))


def rock(requested: CaseOptions, folder: Path) -> Draft:
    """A creeping flow along x through an image of pores, or through a built-in pack of spheres.

    Raises GeometryError as the reader does, and for pores that do not percolate along x.
    """
    if requested.file is None:
        edge = requested.n_across if requested.spacing_m is None else max(8, round(ROCK_EDGE_M / requested.spacing_m))
        spacing_m = sizing.rounded(requested.spacing_m or ROCK_EDGE_M / edge, 6)
        options = {"size": edge, "radius": GRAIN_SHARE * edge, "porosity": ROCK_POROSITY, "seed": 1}
        geometry = {"shape": "random_spheres", "spacing_m": spacing_m, "options": options}
        voxels = build_shape("random_spheres", spacing_m=spacing_m, **options)
    else:
        # A mirrored image is periodic, and its mirror planes are planes of constant pressure: no reservoir is needed.
        options = {"mirror": "x", "drop_unconnected": "x", **requested.reader}
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
    notes = f"porosity {porosity(voxels):.4f}", f"permeability of about {expected:.2g} m2 expected (Kozeny and Carman)"
    return Draft(table, notes)


def channel(requested: CaseOptions, folder: Path) -> Draft:
    """A two-dimensional flow between two plates; no file is read, so ``folder`` is ignored."""
    viscosity = requested.substance.kinematic_viscosity_m2_s
    spacing_m = _spacing_across(requested, CHANNEL_HEIGHT_M, PARABOLA_2D)
    height = max(4, round(CHANNEL_HEIGHT_M / spacing_m))
    length, height_m = CHANNEL_LENGTH * height, height * spacing_m
    velocity = requested.velocity_m_s or sizing.velocity_for(CHANNEL_REYNOLDS, height_m, height, viscosity, PARABOLA_2D)
    reynolds = velocity * height_m / viscosity
    options = {"length": length, "height": height, "ends": "open"}
    inlet = {"name": "inlet", "velocity_m_s": velocity, "profile": "parabolic"}
    table = {
        "title": "Plane channel",
        "geometry": {"shape": "channel", "spacing_m": spacing_m, "options": options},
        "openings": [inlet, {"name": "outlet", "pressure_pa": 0.0}],
        **_common(requested, sizing.drive(reynolds / height, height, length, 1.0), "D2Q9"),
    }
    return Draft(table, (f"height {height_m:.4g} m, Reynolds number {reynolds:.4g}",))


DRAFTS: Mapping[str, Callable[[CaseOptions, Path], Draft]] = MappingProxyType(
    {"vessel": vessel, "rock": rock, "channel": channel}
)


def _built_in_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    options = {"parent_radius_m": VESSEL_RADIUS_M, "generations": 1}
    spacing_m = _spacing_across(requested, 2.0 * VESSEL_RADIUS_M, PARABOLA_3D)
    voxels = build_shape("branching_vessel", spacing_m=spacing_m, **options)
    geometry = {"shape": "branching_vessel", "spacing_m": spacing_m, "options": options}
    return _vessel_of_voxels(geometry, voxels)


def _surface_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    surface = read_surface(requested.file, requested.unit)
    found = openings_of_surface(mend(surface))
    inlets, outlets = _sorted(found, requested)
    narrowing = max(1.0, inlets[0].area_m2 / sum(item.area_m2 for item in outlets))
    spacing_m = _spacing_across(requested, 2.0 * inlets[0].equivalent_radius_m, PARABOLA_3D * narrowing)
    geometry = _file_section(requested, folder) | {"unit": requested.unit, "spacing_m": spacing_m}
    length_m = float((surface.points.max(axis=0) - surface.points.min(axis=0)).max()) * surface.metres_per_unit
    return VesselGeometry(geometry, found, True, spacing_m, length_m)


def _image_vessel(requested: CaseOptions, folder: Path) -> VesselGeometry:
    voxels = load_voxels(requested.file, **requested.reader, **_spacing(requested))
    return _vessel_of_voxels(_file_section(requested, folder), voxels)


def _vessel_of_voxels(geometry: Mapping, voxels: Voxels) -> VesselGeometry:
    length_m = max(voxels.shape) * voxels.spacing_m
    return VesselGeometry(geometry, openings_of_voxels(voxels), not voxels.openings, voxels.spacing_m, length_m)


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


def _spacing_across(requested: CaseOptions, diameter_m: float, peak: float) -> float:
    """The requested voxel edge, or one that resolves the flow."""
    if requested.spacing_m is not None:
        return requested.spacing_m
    across = requested.n_across
    if requested.across is None and requested.velocity_m_s is not None:
        reynolds = requested.velocity_m_s * diameter_m / requested.substance.kinematic_viscosity_m2_s
        across = sizing.across_for(across, reynolds, peak)
    return sizing.rounded(diameter_m / across, 4)


def _file_section(requested: CaseOptions, folder: Path) -> dict:
    """The section [geometry] of a file, its path relative to the folder of the case."""
    section = {"file": Path(os.path.relpath(requested.file, folder)).as_posix(), **_spacing(requested)}
    return section | ({"options": dict(requested.reader)} if requested.reader else {})


def _spacing(requested: CaseOptions) -> dict:
    return {} if requested.spacing_m is None else {"spacing_m": requested.spacing_m}


def _opening(found: FoundOpening, placed: bool, velocity_m_s: float) -> dict:
    """One entry of [[openings]]; with position and normal if the case must define them."""
    opening = found.opening
    entry = {"name": opening.name}
    if placed:
        entry |= {"kind": opening.kind, "centre_m": [sizing.rounded(c, 7) for c in opening.centre_m]}
        entry["normal"] = [sizing.rounded(c, 7) for c in opening.normal]
        entry |= {"radius_m": sizing.rounded(opening.radius_m, 7)} if math.isfinite(opening.radius_m) else {}
    if opening.kind == "inlet":
        return entry | {"velocity_m_s": velocity_m_s, "profile": "parabolic"}
    return entry | {"pressure_pa": 0.0}


def _note(found: FoundOpening, vessel_geometry: VesselGeometry) -> str:
    opening, across = found.opening, 2.0 * found.equivalent_radius_m / vessel_geometry.spacing_m
    few = f"; fewer than {MIN_ACROSS} voxels are not reliable" if across < MIN_ACROSS else ""
    return f"{opening.title}: {found.source}, {across:.1f} voxels across{few}"


def _common(requested: CaseOptions, drive: sizing.Drive, lattice: str = "D3Q19") -> dict:
    """The sections common to vessels and channels."""
    return {
        "fluid": requested.substance._asdict(),
        "lattice": {"name": lattice, "collision": "trt", "lattice_velocity": drive.lattice_velocity},
        "run": {
            "steps": drive.steps,
            "ramp_steps": 2 * drive.interval,
            "steady_tolerance": STEADY_TOLERANCE,
            "steady_interval_steps": drive.interval,
        },
    }
