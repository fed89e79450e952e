"""The tables of a new case, one function for each kind of flow."""

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
from muphy_lb.new.wishes import Wishes

VESSEL_RADIUS_M = 1.5e-3
CHANNEL_HEIGHT_M = 1e-3
CHANNEL_LENGTH = 6
ROCK_EDGE_M = 6.4e-4
GRAIN_SHARE = 0.125
ROCK_POROSITY = 0.4

VESSEL_REYNOLDS, CHANNEL_REYNOLDS = 100.0, 20.0
PARABOLA_3D, PARABOLA_2D = 2.0, 1.5
"""Largest over mean velocity of a parabolic profile."""

FEW_ACROSS = 8
STEADY_TOLERANCE, ROCK_TOLERANCE = 1e-3, 1e-4
ROCK_STEPS, ROCK_INTERVAL = 20000, 200


@dataclass(frozen=True)
class Draft:
    """A new case.

    Attributes:
        table: nested tables, as ``tomllib`` returns them.
        notes: what the user should know, one line each.
    """

    table: Mapping
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """Where the flow of a vessel is: the section [geometry], its openings and its size.

    Attributes:
        geometry: the section's table.
        openings: what was found.
        placed: whether the case must place the openings, because the geometry brings none.
        spacing_m: voxel edge [m].
        length_m: of the longest edge of its box [m].
    """

    geometry: Mapping
    openings: tuple[FoundOpening, ...]
    placed: bool
    spacing_m: float
    length_m: float


def vessel(wishes: Wishes, folder: Path) -> Draft:
    """A flow from the largest opening to all others, through a vessel from a file or a built-in branching one.

    Raises:
        GeometryError: the file cannot be read, or has no inlet or no outlet.
    """
    site = (_tree_site if wishes.file is None else _surface_site if wishes.is_surface else _image_site)(wishes, folder)
    inlets, outlets = _sorted(site.openings, wishes)
    diameter_m = 2.0 * inlets[0].equivalent_radius_m
    narrowing = max(1.0, sum(f.area_m2 for f in inlets) / sum(f.area_m2 for f in outlets))
    viscosity, across = wishes.substance.kinematic_viscosity_m2_s, diameter_m / site.spacing_m
    velocity = wishes.velocity_m_s or sizing.velocity_for(
        VESSEL_REYNOLDS, diameter_m, across, viscosity, PARABOLA_3D * narrowing
    )
    reynolds = velocity * diameter_m / viscosity
    way = sizing.drive(reynolds / across, across, site.length_m / site.spacing_m, narrowing)
    table = {
        "title": "Flow through a vessel" if wishes.file else "Flow through a branching vessel",
        "geometry": site.geometry,
        "openings": [_opening(found, site.placed, velocity) for found in chain(inlets, outlets)],
        **_common(wishes, way),
    }
    notes = [_note(found, site) for found in chain(inlets, outlets)]
    return Draft(table, (*notes, f"Reynolds number {reynolds:.4g} at the inlet"))


def rock(wishes: Wishes, folder: Path) -> Draft:
    """A creeping flow along x through an image of pores, or through a built-in pack of spheres.

    Raises GeometryError where the reader does, and for pores that do not lead through along x.
    """
    if wishes.file is None:
        edge = wishes.n_across if wishes.spacing_m is None else max(8, round(ROCK_EDGE_M / wishes.spacing_m))
        spacing_m = sizing.rounded(wishes.spacing_m or ROCK_EDGE_M / edge, 6)
        options = {"size": edge, "radius": GRAIN_SHARE * edge, "porosity": ROCK_POROSITY, "seed": 1}
        geometry = {"shape": "random_spheres", "spacing_m": spacing_m, "options": options}
        voxels = build_shape("random_spheres", spacing_m=spacing_m, **options)
    else:
        # A mirrored image is periodic, and its mirror planes are planes of equal pressure: no reservoir is needed.
        options = {"mirror": "x", "drop_unconnected": "x", **wishes.reader}
        geometry = _file_section(wishes, folder) | {"options": options}
        voxels = load_voxels(wishes.file, **options, **_spacing(wishes))
    creep = sizing.creep(voxels, wishes.substance.kinematic_viscosity_m2_s, wishes.substance.density_kg_m3)
    table = {
        "title": "Permeability of a rock" if wishes.file else "Permeability of a pack of spheres",
        "geometry": geometry,
        "fluid": wishes.substance._asdict(),
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


def channel(wishes: Wishes, folder: Path) -> Draft:
    """A flow between two plates in two dimensions; nothing is read, so ``folder`` does not count."""
    viscosity = wishes.substance.kinematic_viscosity_m2_s
    spacing_m = _spacing_across(wishes, CHANNEL_HEIGHT_M, PARABOLA_2D)
    height = max(4, round(CHANNEL_HEIGHT_M / spacing_m))
    length, height_m = CHANNEL_LENGTH * height, height * spacing_m
    velocity = wishes.velocity_m_s or sizing.velocity_for(CHANNEL_REYNOLDS, height_m, height, viscosity, PARABOLA_2D)
    reynolds = velocity * height_m / viscosity
    options = {"length": length, "height": height, "ends": "open"}
    inlet = {"name": "inlet", "velocity_m_s": velocity, "profile": "parabolic"}
    table = {
        "title": "Plane channel",
        "geometry": {"shape": "channel", "spacing_m": spacing_m, "options": options},
        "openings": [inlet, {"name": "outlet", "pressure_pa": 0.0}],
        **_common(wishes, sizing.drive(reynolds / height, height, length, 1.0), "D2Q9"),
    }
    return Draft(table, (f"height {height_m:.4g} m, Reynolds number {reynolds:.4g}",))


DRAFTS: Mapping[str, Callable[[Wishes, Path], Draft]] = MappingProxyType(
    {"vessel": vessel, "rock": rock, "channel": channel}
)


def _tree_site(wishes: Wishes, folder: Path) -> Site:
    options = {"parent_radius_m": VESSEL_RADIUS_M, "generations": 1}
    spacing_m = _spacing_across(wishes, 2.0 * VESSEL_RADIUS_M, PARABOLA_3D)
    voxels = build_shape("branching_vessel", spacing_m=spacing_m, **options)
    geometry = {"shape": "branching_vessel", "spacing_m": spacing_m, "options": options}
    return _site_of_voxels(geometry, voxels)


def _surface_site(wishes: Wishes, folder: Path) -> Site:
    surface = read_surface(wishes.file, wishes.unit)
    found = openings_of_surface(mend(surface))
    inlets, outlets = _sorted(found, wishes)
    narrowing = max(1.0, inlets[0].area_m2 / sum(item.area_m2 for item in outlets))
    spacing_m = _spacing_across(wishes, 2.0 * inlets[0].equivalent_radius_m, PARABOLA_3D * narrowing)
    geometry = _file_section(wishes, folder) | {"unit": wishes.unit, "spacing_m": spacing_m}
    length_m = float((surface.points.max(axis=0) - surface.points.min(axis=0)).max()) * surface.metres_per_unit
    return Site(geometry, found, True, spacing_m, length_m)


def _image_site(wishes: Wishes, folder: Path) -> Site:
    voxels = load_voxels(wishes.file, **wishes.reader, **_spacing(wishes))
    return _site_of_voxels(_file_section(wishes, folder), voxels)


def _site_of_voxels(geometry: Mapping, voxels: Voxels) -> Site:
    length_m = max(voxels.shape) * voxels.spacing_m
    return Site(geometry, openings_of_voxels(voxels), not voxels.openings, voxels.spacing_m, length_m)


def _sorted(found: tuple[FoundOpening, ...], wishes: Wishes) -> tuple[list[FoundOpening], list[FoundOpening]]:
    """Inlets, the largest first, and outlets; GeometryError if one of both is missing."""
    inlets = sorted((f for f in found if f.opening.kind == "inlet"), key=lambda f: -f.area_m2)
    outlets = [f for f in found if f.opening.kind != "inlet"]
    if not (inlets and outlets):
        raise GeometryError(
            f"{wishes.file}: {len(inlets)} inlets and {len(outlets)} outlets found; a vessel needs one of both at"
            " least: look with python -m geometry FILE --find-openings, or name them in the case by hand"
        )
    return inlets, outlets


def _spacing_across(wishes: Wishes, diameter_m: float, peak: float) -> float:
    """The voxel edge that is asked for, or one that suits the flow."""
    if wishes.spacing_m is not None:
        return wishes.spacing_m
    across = wishes.n_across
    if wishes.across is None and wishes.velocity_m_s is not None:
        reynolds = wishes.velocity_m_s * diameter_m / wishes.substance.kinematic_viscosity_m2_s
        across = sizing.across_for(across, reynolds, peak)
    return sizing.rounded(diameter_m / across, 4)


def _file_section(wishes: Wishes, folder: Path) -> dict:
    """The section [geometry] of a file, named as seen from the folder of the case."""
    section = {"file": Path(os.path.relpath(wishes.file, folder)).as_posix(), **_spacing(wishes)}
    return section | ({"options": dict(wishes.reader)} if wishes.reader else {})


def _spacing(wishes: Wishes) -> dict:
    return {} if wishes.spacing_m is None else {"spacing_m": wishes.spacing_m}


def _opening(found: FoundOpening, placed: bool, velocity_m_s: float) -> dict:
    """One entry of [[openings]]."""
    opening = found.opening
    entry = {"name": opening.name}
    if placed:
        entry |= {"kind": opening.kind, "centre_m": [sizing.rounded(c, 7) for c in opening.centre_m]}
        entry["normal"] = [sizing.rounded(c, 7) for c in opening.normal]
        entry |= {"radius_m": sizing.rounded(opening.radius_m, 7)} if math.isfinite(opening.radius_m) else {}
    if opening.kind == "inlet":
        return entry | {"velocity_m_s": velocity_m_s, "profile": "parabolic"}
    return entry | {"pressure_pa": 0.0}


def _note(found: FoundOpening, site: Site) -> str:
    opening, across = found.opening, 2.0 * found.equivalent_radius_m / site.spacing_m
    few = f"; fewer than {FEW_ACROSS} voxels are too few to rely on" if across < FEW_ACROSS else ""
    return f"{opening.kind} {opening.name}: {found.source}, {across:.1f} voxels across{few}"


def _common(wishes: Wishes, way: sizing.Drive, lattice: str = "D3Q19") -> dict:
    """The sections that vessels and channels share."""
    return {
        "fluid": wishes.substance._asdict(),
        "lattice": {"name": lattice, "collision": "trt", "lattice_velocity": way.lattice_velocity},
        "run": {
            "steps": way.steps,
            "ramp_steps": 2 * way.interval,
            "steady_tolerance": STEADY_TOLERANCE,
            "steady_interval_steps": way.interval,
        },
    }
