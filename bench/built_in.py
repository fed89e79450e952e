"""Built-in geometries for benchmarks, and a case for geometries without one."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2, viscosity
from muphy_lb.case.section import did_you_mean

RELAXATION_TIME, FORCE, INLET_VELOCITY, POROSITY = 0.8, 1e-7, 0.01, 0.38


class BuiltIn(NamedTuple):
    """A geometry that needs no file."""

    size: int  # the size with about ten million nodes
    meaning: str  # meaning of the size, as text
    shape: Callable[[int], tuple[str, dict]]  # ``shape(size)`` -> name of a shape and its options, in voxels
    outlets: int = 0  # number of openings other than the inlet; 0 for a periodic box driven by a body force


BUILT_IN: Mapping[str, BuiltIn] = {
    "box": BuiltIn(
        *(216, "edge of a periodic box of nothing but fluid"),
        lambda size: ("random_solid", {"shape_zyx": [size, size, size], "porosity": 1.0}),
    ),
    "spheres": BuiltIn(
        *(300, "edge of a periodic pack of overlapping spheres of a tenth of it as radius"),
        lambda size: ("sphere_pack", {"size": size, "radius": size / 10, "porosity": POROSITY}),
    ),
    "artery": BuiltIn(
        *(64, "voxels across the radius of the inlet of a vessel that splits twice"),
        lambda size: ("branching_vessel", {"parent_radius_m": float(size), "generations": 2, "asymmetry": 0.8}),
        outlets=4,
    ),
}


def built_in_table(name: str, size: int | None) -> dict:
    """The case of a built-in geometry as nested tables, all in lattice units. Raises InputError: unknown name."""
    if name not in BUILT_IN:
        remedy = f"{did_you_mean(name, [*BUILT_IN])}; a file ends with .toml or .h5"
        raise InputError(f"bench: --geometry is {name!r}: {remedy}")
    shape, options = BUILT_IN[name].shape(size or BUILT_IN[name].size)
    outlets = [(f"outlet_{k}", "outlet") for k in range(1, BUILT_IN[name].outlets + 1)]
    openings = [("inlet", "inlet"), *outlets] if outlets else []
    geometry = {"shape": shape, "spacing_m": 1.0, "options": options}
    return driven_table(name, geometry, openings, spacing_m=1.0)


def driven_table(title: str, geometry: dict, openings, spacing_m: float) -> dict:
    """A case with unit time step and density, and with small velocities and forces in lattice units."""
    inlet = {"velocity_m_s": INLET_VELOCITY * spacing_m, "profile": "parabolic"}
    conditions: dict[str, dict] = {"inlet": inlet, "outlet": {"pressure_pa": 0.0}}
    force = 0.0 if openings else FORCE * spacing_m
    return {
        "title": title,
        "geometry": geometry,
        "openings": [{"name": name, **conditions[kind]} for name, kind in openings],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(RELAXATION_TIME, CS2) * spacing_m**2},
        "flow": {"acceleration_m_s2": [force, 0.0, 0.0]},
        "lattice": {"name": "D3Q19", "time_step_s": 1.0},
        # No ramp: timings are to represent the rest of a run, in which no schedule is uploaded.
        "run": {"steps": 1, "ramp_steps": 0},
    }
