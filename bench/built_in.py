"""Built-in geometries for benchmarks, a case for geometries without one, and the cases of earlier papers."""

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


CAVITY_SIZE, ARRAY_MESH, ARRAY_CELLS, PAPER_RELAXATION_TIME = 2048, 3072, 18, 1.0
LID_VELOCITY = 0.05


def _plane_case(title: str, shape: str, options: dict, lattice: dict, walls=(), force: float = 0.0) -> dict:
    """A case in two dimensions as nested tables; ``force``: along x, lattice units."""
    return {
        "title": title,
        "geometry": {"shape": shape, "options": options, "spacing_m": 1.0},
        "walls": list(walls),
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(PAPER_RELAXATION_TIME, CS2)},
        "flow": {"acceleration_m_s2": [force, 0.0, 0.0]},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, **lattice},
        "run": {"steps": 1, "ramp_steps": 0},
    }


def _cavity(title: str, collision: str, equilibrium: str) -> dict:
    lid = {"name": "lid", "velocity_m_s": [LID_VELOCITY, 0.0, 0.0]}
    lattice = {"collision": collision, "equilibrium": equilibrium}
    return _plane_case(title, "cavity", {"size": CAVITY_SIZE, "dimension": 2}, lattice, (lid,))


_ARRAY, _MRTL = {"size": ARRAY_MESH, "cells": ARRAY_CELLS}, {"collision": "mrt", "equilibrium": "stokes"}
# Toelke, Comput. Visual. Sci. 13, 29 (2010, online 2008): driven cavity 2048^2 (Table 2) as the share of the GPU's
# memory bandwidth that he reached on an 8800 Ultra, and the flow through his 18 x 18 cylinders (Table 5) in MLUPS.
#: The cases of a paper, each with its figure.
PAPERS: Mapping[str, tuple[tuple[dict, str], ...]] = {
    "toelke": (
        (_cavity("LBGKL, cavity", "bgk", "stokes"), "59 % of the bandwidth"),
        (_cavity("LBGK, cavity", "bgk", "incompressible"), "51 % of the bandwidth"),
        (_cavity("MRT, cavity", "mrt", "incompressible"), "46 % of the bandwidth"),
        (_plane_case("MRTL, cylinders", "cylinder_array", _ARRAY, _MRTL, force=1e-7), "481 MLUPS"),
    )
}
