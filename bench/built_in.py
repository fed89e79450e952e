"""Built-in geometries for benchmarks, and a case for geometries without one.

Benchmarks of earlier papers, repeated and compared with their figures.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2, viscosity
from muphy_lb.case.section import did_you_mean

RELAXATION_TIME, FORCE, INLET_VELOCITY, POROSITY = 0.8, 1e-7, 0.01, 0.38
GENERATIONS, ASYMMETRY = 2, 0.8


class BuiltIn(NamedTuple):
    """A geometry that needs no file."""

    size: int  # the size with about ten million nodes
    meaning: str  # meaning of the size, as text
    shape: Callable[[int], tuple[str, dict]]  # ``shape(size)`` -> name of a shape and its options, in voxels
    outlets: int = 0  # number of openings other than the inlet; 0 for a periodic box driven by a body force


def _box(size: int) -> tuple[str, dict]:
    return "random_solid", {"shape_zyx": [size, size, size], "porosity": 1.0}


def _spheres(size: int) -> tuple[str, dict]:
    return "sphere_pack", {"size": size, "radius": size / 10, "porosity": POROSITY}


def _artery(size: int) -> tuple[str, dict]:
    options = {"parent_radius_m": float(size), "generations": GENERATIONS, "asymmetry": ASYMMETRY}
    return "branching_vessel", options


BUILT_IN: Mapping[str, BuiltIn] = {
    "box": BuiltIn(216, "edge of a periodic box of nothing but fluid", _box),
    "spheres": BuiltIn(300, "edge of a periodic pack of overlapping spheres of a tenth of it as radius", _spheres),
    "artery": BuiltIn(64, "voxels across the radius of the inlet of a vessel that splits twice", _artery, 4),
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
    conditions = {"inlet": inlet, "outlet": {"pressure_pa": 0.0}}
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


class PaperRow(NamedTuple):
    """One row of a table in a paper, and the case that reproduces it."""

    name: str  # name in the paper
    published: str  # published value, as text
    lattice: Mapping  # table ``[lattice]`` of the case, without the relaxation time
    geometry: Mapping  # table ``[geometry]``, without spacing
    walls: tuple = ()  # tables ``[[walls]]``
    force: float = 0.0  # body force along x, lattice units


def _cavity(name: str, published: str, **lattice) -> PaperRow:
    options = {"size": CAVITY_SIZE, "dimension": 2}
    lid = {"name": "lid", "velocity_m_s": [LID_VELOCITY, 0.0, 0.0]}
    return PaperRow(name, published, lattice, {"shape": "cavity", "options": options}, (lid,))


# Toelke, Comput. Visual. Sci. 13, 29 (2010, online 2008): driven cavity 2048^2 (Table 2) as the share of the GPU's
# memory bandwidth that he reached on an 8800 Ultra, and the flow through his 18 x 18 cylinders (Table 5) in MLUPS.
TOELKE = (
    _cavity("LBGKL, cavity", "59 % of the bandwidth", collision="bgk", equilibrium="stokes"),
    _cavity("LBGK, cavity", "51 % of the bandwidth", collision="bgk", equilibrium="incompressible"),
    _cavity("MRT, cavity", "46 % of the bandwidth", collision="mrt", equilibrium="incompressible"),
    PaperRow(
        "MRTL, cylinders",
        "481 MLUPS",
        {"collision": "mrt", "equilibrium": "stokes"},
        {"shape": "cylinder_array", "options": {"size": ARRAY_MESH, "cells": ARRAY_CELLS}},
        force=1e-7,
    ),
)
PAPERS: Mapping[str, tuple[PaperRow, ...]] = MappingProxyType({"toelke": TOELKE})


def paper_tables(name: str) -> Iterator[tuple[dict, str]]:
    """Every row of a paper as the nested tables of a case, and its figure; ``name``: key of ``PAPERS``."""
    for row in PAPERS[name]:
        yield _row_table(row), row.published


def _row_table(row: PaperRow) -> dict:
    return {
        "title": row.name,
        "geometry": {**row.geometry, "options": dict(row.geometry["options"]), "spacing_m": 1.0},
        "walls": [dict(wall) for wall in row.walls],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(PAPER_RELAXATION_TIME, CS2)},
        "flow": {"acceleration_m_s2": [row.force, 0.0, 0.0]},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, **row.lattice},
        "run": {"steps": 1, "ramp_steps": 0},
    }
