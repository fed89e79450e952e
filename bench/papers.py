"""Benchmarks of earlier papers, repeated and compared with their figures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from muphy_lb.base.units import CS2, viscosity

CAVITY_SIZE = 2048
ARRAY_MESH, ARRAY_CELLS = 3072, 18
RELAXATION_TIME = 1.0
LID_VELOCITY = 0.05


@dataclass(frozen=True)
class PaperRow:
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
        yield _table(row), row.published


def _table(row: PaperRow) -> dict:
    return {
        "title": row.name,
        "geometry": {**row.geometry, "options": dict(row.geometry["options"]), "spacing_m": 1.0},
        "walls": [dict(wall) for wall in row.walls],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(RELAXATION_TIME, CS2)},
        "flow": {"acceleration_m_s2": [row.force, 0.0, 0.0]},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, **row.lattice},
        "run": {"steps": 1, "ramp_steps": 0},
    }
