#!/usr/bin/env python3
"""Checksums of what the solver computes, so that a change of the code can be shown to change no bit.

    scripts/fingerprints --tree OLD --json old.json
    scripts/fingerprints --tree NEW --json new.json
    scripts/fingerprints compare old.json new.json

A *combination* is a small case of some thousand nodes and fifty steps; together they cover what the case file can
choose. It is run by the command line alone (``PYTHON -m muphy_lb run``, ``resume``), in the folder of the tree, so that
the same script serves trees whose modules have other names. Its fingerprint are SHA-256 digests of

- ``populations``: every dataset of the newest checkpoint, with step, initial mass and the digest of its geometry;
- ``record``: what the newest checkpoint remembers of the approach to the steady state;
- ``fields``: every array of the field files (density, velocity, pressure, temperature, wall shear stress);
- ``series``: the text of all time series;
- ``summary``: openings, walls, heat and permeability as the summary has them.

Combinations of one *group* must agree among themselves: numbers of ranks, partitions, orders of nodes, numbers of
threads, and restarts of the same case, on every backend. Their summaries may differ. Digests of two machines, compilers
or backends differ: record both trees on the same machine. Nothing is written into the tree.
"""

import argparse
import fnmatch
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from math import cos, pi, sin
from pathlib import Path

import h5py
import numpy as np

STEPS, HALF = 50, 25  # a restart after an odd number of steps, where streaming in place stands half-way
PARTS = ("populations", "fields", "record", "series", "summary")
GROUP_PARTS = ("populations", "fields", "record", "series")
KEPT_ATTRIBUTES = ("step", "initial_mass", "voxel_digest")
KEPT_SUMMARY = ("steps", "n_fluid", "max_velocity_m_s", "mean_velocity_m_s", "openings", "flow_split")
KEPT_SUMMARY += ("pressure_drops_pa", "walls", "wall_shear", "heat", "permeability")
BACKENDS = ("cpu", "cuda", "numpy")
HALF_PRECISION = ("cuda", "numpy")
TIME_LIMIT_S = 400
EXIT_CODES = (0, 6)  # of sound and of doubtful runs, which those that end unsteady after some steps are
STREAMINGS = ("pull", "push", "aa")

# --- cases -----------------------------------------------------------------------------------------------------------

# With these, a voxel a time step is 0.1 m/s, and the relaxation time is 0.8.
SPACING_M, TIME_STEP_S = 1e-3, 1e-2
FAR = 1.0
BASE = {
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-5},
    "lattice": {"time_step_s": TIME_STEP_S},
    "compute": {"precision": "fp64"},
    "run": {
        "steps": STEPS,
        "ramp_steps": 0,
        "steady_tolerance": 1e-12,
        "steady_interval_steps": HALF,
        "steady_watch": ["mean_speed"],
    },
    "output": {
        "fields_every_steps": HALF,
        "series_every_steps": 5,
        "checkpoint_every_steps": HALF,
        "picture": False,
        "report": False,
    },
}
WAVEFORM = {"period_s": 0.3, "mean": 1.0, "cosine": [-0.3, 0.1], "sine": [0.5]}
THROUGH = [{"name": "inlet", "velocity_m_s": 2e-3, "profile": "parabolic"}, {"name": "outlet", "pressure_pa": 0.0}]
OUTLET = THROUGH[1]


def shape(name: str, **options) -> dict:
    """A geometry by the name of its shape."""
    return {"shape": name, "spacing_m": SPACING_M, "options": options}


def merged(table: dict, changes: dict) -> dict:
    """A table with keys changed; nested tables are merged, and ``None`` removes a key."""
    result = dict(table)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return {key: value for key, value in result.items() if value is not None}


def case(base: dict, **changes) -> dict:
    """A case from another with keys of sections changed; a geometry is replaced as a whole."""
    kept = {key: value for key, value in base.items() if key != "geometry" or "geometry" not in changes}
    return merged(kept, changes)


def low_box(name: str, y_m: float, **more) -> dict:
    """A labelled wall of all solid voxels below a height."""
    return {"name": name, "box_m": [[-FAR, -FAR, -FAR], [FAR, y_m, FAR]], **more}


def high_box(name: str, y_m: float, **more) -> dict:
    """A labelled wall of all solid voxels above a height."""
    return {"name": name, "box_m": [[-FAR, y_m, -FAR], [FAR, FAR, FAR]], **more}


REFERENCE = {"reference_velocity_m_s": 2e-3, "reference_area_m2": 1e-5}
FLAT = {"name": "D2Q9"}
CIRCLE = case(
    BASE,
    geometry=shape("circle", size=52),
    openings=THROUGH,
    walls=[{"name": "disc", **REFERENCE}],
    flow={"acceleration_m_s2": [0.0, 2e-4, 0.0]},
    lattice=FLAT,
)
PIPE = case(
    BASE,
    geometry=shape("pipe", length=26, radius=6.6, axis="x", ends="open"),
    openings=THROUGH,
    walls=[low_box("below", 0.004, **REFERENCE)],
    flow={"acceleration_m_s2": [0.0, 2e-4, 1e-4]},
)
CHANNEL = case(
    BASE, geometry=shape("channel", length=24, height=12, width=10), flow={"acceleration_m_s2": [1e-3, 0.0, 5e-4]}
)
FLAT_CHANNEL = case(
    BASE, geometry=shape("channel", length=64, height=32), flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]}, lattice=FLAT
)
DUCT = case(BASE, geometry=shape("square_duct", length=24, side=11, ends="open"), openings=THROUGH)
PACK = case(
    BASE,
    geometry=shape("sphere_pack", size=22, radius=4.0, porosity=0.5, seed=3),
    flow={"acceleration_m_s2": [1e-3, 5e-4, 0.0]},
)
SPHERES = case(
    BASE,
    geometry=shape("sphere_array", size=16, lattice="body", solid_fraction=0.3),
    walls=[{"name": "spheres", **REFERENCE}],
    flow={"acceleration_m_s2": [1e-3, 0.0, 5e-4]},
)
LID = case(
    BASE,
    geometry=shape("cavity", size=16, dimension=3),
    walls=[
        {"name": "lid", "velocity_m_s": [5e-3, 0.0, 2e-3], "waveform": WAVEFORM, **REFERENCE},
        low_box("floor", 0.0),
    ],
)
ANNULUS = case(
    BASE,
    geometry=shape("annulus", inner=9.6, outer=28.2),
    walls=[{"name": "inner", "rotation_rad_s": [0.0, 0.0, 0.5]}, {"name": "outer"}],
    lattice=FLAT,
)
VESSEL = case(
    BASE,
    geometry={"shape": "branching_vessel", "spacing_m": 7e-4, "options": {"generations": 1, "parent_radius_m": 4e-3}},
    openings=[
        {"name": "inlet", "flow_rate_m3_s": 5e-8, "profile": "parabolic", "waveform": WAVEFORM},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.01},
    ],
    fluid={"kinematic_viscosity_m2_s": 5e-6},
    run={"ramp_steps": 30, "steady_watch": ["mean_speed", "flow_rates"]},
)
IMAGE = case(
    BASE,
    geometry={
        "file": "image.npy",
        "spacing_m": SPACING_M,
        "options": {
            "fluid_value": 0,
            "opening_values": {"inlet:left": 4, "outlet:right": 5},
            "wall_values": {"chip": 2, "plate": 3},
        },
    },
    openings=[{"name": "left", "velocity_m_s": 2e-3}, {"name": "right", "pressure_pa": 0.0}],
    walls=[{"name": "chip", **REFERENCE}, {"name": "plate"}],
)
SURFACE = case(
    BASE,
    geometry={"file": "tube.stl", "unit": "mm", "spacing_m": SPACING_M},
    openings=[
        {
            "name": "inlet",
            "kind": "inlet",
            "centre_m": [0.006, 0.0, 0.0],
            "normal": [1.0, 0.0, 0.0],
            "radius_m": 0.008,
            "velocity_m_s": 2e-3,
            "profile": "parabolic",
        },
        {
            "name": "outlet",
            "kind": "outlet",
            "centre_m": [0.032, 0.0, 0.0],
            "normal": [-1.0, 0.1, 0.0],
            "radius_m": 0.009,
            "pressure_pa": 0.0,
        },
    ],
)
TAGGED = case(
    BASE,
    geometry={"file": "tagged.txt"},
    openings=[{"name": "left", "velocity_m_s": 2e-3}, {"name": "outlet", "pressure_pa": 0.0}],
    walls=[{"name": "lid", "velocity_m_s": [2e-3, 0.0, 0.0]}],
)

# Heat: the relaxation time is 0.55, which finite differences need.
COLD, HOT = {"name": "cold", "temperature_k": 293.0}, {"name": "hot", "temperature_k": 303.0}
HEAT = {"reference_k": 297.0, "prandtl": 0.71, "expansion_1_k": 3.4e-3, "gravity_m_s2": [0.0, -9.81e-2, 0.0]}
WARM_BASE = case(BASE, fluid={"kinematic_viscosity_m2_s": 1.6e-6}, thermal=HEAT)
WARM_BASE["run"] = merged(WARM_BASE["run"], {"steady_watch": ["mean_speed", "heat"]})
ROOM = case(
    WARM_BASE,
    geometry=shape("heated_cavity", size=14, width=16),
    walls=[COLD, HOT],
    thermal={"expansion_1_k": None, "rayleigh": 5e3, "length_m": 14e-3},
)
FLAT_ROOM = case(ROOM, geometry=shape("heated_cavity", size=46, width=50, dimension=2), lattice=FLAT)
WARM_PIPE = case(
    WARM_BASE,
    geometry=PIPE["geometry"],
    openings=[THROUGH[0] | {"temperature_k": 301.0}, OUTLET],
    walls=[low_box("below", 0.004, temperature_k=293.0), high_box("above", 0.01, temperature_gradient_k_m=300.0)],
)
WARM_CIRCLE = case(
    WARM_BASE,
    geometry=CIRCLE["geometry"],
    openings=[THROUGH[0] | {"temperature_k": 293.0}, OUTLET],
    walls=[{"name": "disc", "conductivity_ratio": 20.0}, low_box("floor", 0.0, temperature_k=303.0)],
    lattice=FLAT,
    thermal={"method": "double-distribution"},
)
WARM_IMAGE = case(
    WARM_BASE,
    geometry=IMAGE["geometry"],
    openings=[IMAGE["openings"][0] | {"temperature_k": 293.0}, IMAGE["openings"][1]],
    walls=[{"name": "chip", "conductivity_ratio": 8.0}, {"name": "plate", "temperature_k": 303.0}],
    thermal={"method": "double-distribution"},
)
CONDUCTING = [
    {"name": "cold", "temperature_k": 293.0, "conductivity_ratio": 3.0, "thickness_m": 2.5e-3},
    {"name": "hot", "temperature_k": 303.0, "conductivity_ratio": 0.7, "thickness_m": 2e-3},
]
DOUBLE = {"method": "double-distribution"}
COUPLED = {"energy_coupling": 1.0}
TILES = {"order": "tiles"}
RATES = {"collision": "mrt", "magic": 0.25, "rates": {"bulk": 1.3, "energy_square": "viscosity"}}
STENOSIS = shape("stenosis", length=36, radius=6.2, extent=20.0)
MIDDLE = 0.007
PROBES = [
    {"name": "point", "point_m": [0.0102, MIDDLE, MIDDLE]},
    {"name": "line", "line_m": [[0.0102, 0.0005, MIDDLE], [0.0102, 0.0133, MIDDLE]], "n_points": 7},
    {"name": "plane", "plane_m": [0.0102, MIDDLE, MIDDLE], "normal": [1.0, 0.2, 0.0], "radius_m": 0.005},
]

LAWS = {
    "constant": {},
    "power_law": {
        "power_law": {
            "consistency_pa_sn": 1e-2,
            "index": 0.7,
            "min_viscosity_m2_s": 2e-6,
            "max_viscosity_m2_s": 5e-5,
        }
    },
    "carreau_yasuda": {
        "carreau_yasuda": {
            "zero_viscosity_m2_s": 5e-5,
            "infinite_viscosity_m2_s": 4e-6,
            "relaxation_time_s": 2.0,
            "transition": 0.64,
            "index": 0.3,
        }
    },
    "casson": {"casson": {"yield_stress_pa": 1e-3, "infinite_viscosity_m2_s": 4e-6, "max_viscosity_m2_s": 5e-5}},
    "smagorinsky": {},
}

# Every pair of choices stands in one of these lines.
PAIRWISE = """
D2Q9 bgk incompressible carreau_yasuda pull fp64 curve
D2Q9 mrt incompressible power_law aa fp64 tiles
D2Q9 mrt stokes carreau_yasuda push fp64 tiles
D2Q9 mrt stokes casson aa fp32 curve
D2Q9 regularised compressible smagorinsky pull fp64 curve
D2Q9 trt incompressible constant push fp32 lexicographic
D3Q15 bgk stokes power_law push fp32 curve
D3Q15 mrt incompressible smagorinsky aa fp32 lexicographic
D3Q15 regularised compressible carreau_yasuda push fp32 curve
D3Q15 regularised stokes constant aa fp64 curve
D3Q15 trt incompressible casson pull fp64 tiles
D3Q19 bgk compressible smagorinsky aa fp64 tiles
D3Q19 bgk incompressible constant pull fp64 lexicographic
D3Q19 mrt stokes carreau_yasuda pull fp32 curve
D3Q19 regularised incompressible casson push fp64 lexicographic
D3Q19 trt compressible power_law pull fp64 lexicographic
D3Q27 bgk compressible casson push fp32 curve
D3Q27 mrt compressible constant pull fp64 tiles
D3Q27 regularised incompressible power_law pull fp32 tiles
D3Q27 trt stokes carreau_yasuda aa fp64 lexicographic
D3Q27 trt stokes smagorinsky push fp64 curve
"""


@dataclass(frozen=True)
class Combination:
    """One case and how it is run.

    Attributes:
        name: a topic, a slash, and what is special.
        case: tables of the case file.
        ranks: number of ranks; of a run that is stopped half-way and resumed, those before and after.
        group: name that combinations share whose results must agree; empty: none.
        threads: threads of a rank.
        backends: those that can run it.
    """

    name: str
    case: dict
    ranks: tuple[int, ...] = (1,)
    group: str = ""
    threads: int = 1
    backends: tuple[str, ...] = BACKENDS


def combinations() -> list[Combination]:
    """All of them; every name once."""
    makers = (bulk, drives, openings, walls, heat, measures, half_precision, same_results)
    found = [combination for make in makers for combination in make()]
    names = [combination.name for combination in found]
    if len(set(names)) < len(names):
        raise ValueError(f"combinations of the same name: {sorted({n for n in names if names.count(n) > 1})}")
    return found


def bulk():
    """Velocity sets, collisions, equilibria, viscosity laws, streaming, precisions, orders of nodes."""
    for line in PAIRWISE.split("\n"):
        if not line:
            continue
        lattice, collision, equilibrium, law, streaming, precision, order = line.split()
        smagorinsky = {"smagorinsky": 0.14} if law == "smagorinsky" else {}
        yield Combination(
            "bulk/" + "-".join(line.split()),
            case(
                CIRCLE if lattice == "D2Q9" else PIPE,
                lattice={"name": lattice, "collision": collision, "equilibrium": equilibrium, **smagorinsky},
                compute={"streaming": streaming, "precision": precision, "order": order},
                fluid=LAWS[law],
            ),
        )


def at(base: dict, streaming: str, precision: str, **changes) -> dict:
    """A case with another streaming pattern and precision."""
    return case(case(base, **changes), compute={"streaming": streaming, "precision": precision})


def drives():
    """What drives a flow besides openings and walls."""
    flow = {"waveform": WAVEFORM}
    yield Combination("drive/waveform-pull", at(FLAT_CHANNEL, "pull", "fp64", flow=flow))
    yield Combination("drive/waveform-push", at(CHANNEL, "push", "fp32", flow=flow))
    yield Combination("drive/waveform-rates-aa", at(FLAT_CHANNEL, "aa", "fp32", flow=flow, lattice=RATES))
    for streaming, precision in zip(STREAMINGS, ("fp32", "fp64", "fp64"), strict=True):
        field = {"acceleration_file": "field.npy"}
        yield Combination(f"drive/field-{streaming}", at(CHANNEL, streaming, precision, flow=field))
    drop = {"acceleration_m_s2": None, "pressure_drop_pa": [0.02, 0.0, 0.0]}
    creeping = {"collision": "trt", "equilibrium": "stokes"}
    yield Combination(
        "drive/pressure-drop-permeability",
        at(PACK, "aa", "fp64", flow=drop, lattice=creeping, output={"permeability": True}),
    )


def openings():
    """Conditions of openings, their course in time, and where they come from."""
    ramp = {"ramp_steps": 30, "steady_watch": ["mean_speed", "flow_rates"]}
    plug = [{"name": "inlet", "velocity_m_s": 2e-3, "profile": "plug"}, OUTLET]
    mass = [{"name": "inlet", "mass_flow_kg_s": 2e-4, "waveform": {"file": "waveform.csv"}}, OUTLET]
    rectangular = [{"name": "inlet", "velocity_m_s": 2e-3, "profile": "rectangular"}, OUTLET]
    profile = {"profile": "measured", "profile_file": "profile.csv"}
    measured = [{"name": "inlet", "flow_rate_m3_s": 2e-7, "waveform": WAVEFORM, **profile}, OUTLET]
    pressures = [{"name": "inlet", "pressure_pa": 0.2, "waveform": WAVEFORM}, OUTLET]
    suction = [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "velocity_m_s": -2e-3}]
    rates = merged(RATES, {"rates": {"fourth": 1.1, "third": "magic"}})
    shear = {"wall_shear": True}
    for name, table in {
        "plug-ramp-probes-push": at(DUCT, "push", "fp32", openings=plug, run=ramp, probes=PROBES),
        "mass-flow-table-aa": at(DUCT, "aa", "fp64", openings=mass),
        "rectangular-pull": at(DUCT, "pull", "fp64", openings=rectangular, run=ramp),
        "measured-rates-pull": at(PIPE, "pull", "fp32", openings=measured, lattice=rates),
        "pressures-shear-aa": at(PIPE, "aa", "fp32", openings=pressures, run=ramp, output=shear),
        "suction-push": at(PIPE, "push", "fp64", openings=suction, geometry=STENOSIS, walls=None),
        "image-pull": at(IMAGE, "pull", "fp32"),
        "tagged-push": at(TAGGED, "push", "fp64"),
    }.items():
        yield Combination(f"openings/{name}", table)


def walls():
    """Walls that move, turn, slip or lie at their true distance; more of them stand among those that must agree."""
    yield Combination("walls/lid-pull", at(LID, "pull", "fp32", lattice={"collision": "trt"}))
    yield Combination("walls/lid-push", at(LID, "push", "fp64", lattice={"name": "D3Q27", "collision": "trt"}))
    yield Combination("walls/turning-pull", at(ANNULUS, "pull", "fp64"))
    yield Combination("walls/turning-aa", at(ANNULUS, "aa", "fp64"))
    slip = [low_box("below", 0.0, slip=True), high_box("above", 0.0125)]
    yield Combination("walls/slip-pull", at(CHANNEL, "pull", "fp32", walls=slip))
    yield Combination("walls/slip-push", at(CHANNEL, "push", "fp32", walls=slip))
    smooth = [{"name": "spheres", "slip": True}]
    yield Combination("walls/slip-staircase-pull", at(SPHERES, "pull", "fp64", walls=smooth, lattice={"name": "D3Q27"}))
    cylinder = case(
        CIRCLE,
        geometry={"shape": "obstacle_channel", "spacing_m": 0.1 / 6},
        walls=[{"name": "cylinder", **REFERENCE}],
        flow=None,
        fluid={"kinematic_viscosity_m2_s": 1e-3},
        lattice={"time_step_s": None, "lattice_velocity": 0.04},
    )
    bouzidi, linear = {"walls": "bouzidi"}, {"walls": "central-linear"}
    tilted = shape("tilted_pipe", radius=5.2, direction=[2, 1, 0])
    regular = {"name": "D3Q27", "collision": "regularised"}
    creeping = {"name": "D3Q15", "collision": "trt", "equilibrium": "stokes"}
    for name, table in {
        "bouzidi-cylinder": at(cylinder, "pull", "fp64", lattice=bouzidi | {"collision": "trt"}),
        "bouzidi-stenosis": at(PIPE, "pull", "fp32", geometry=STENOSIS, walls=None, lattice=bouzidi | regular),
        "bouzidi-turning": at(ANNULUS, "pull", "fp64", lattice=bouzidi),
        "linear-tilted": at(CHANNEL, "pull", "fp64", geometry=tilted, lattice=linear | {"collision": "mrt"}),
        "linear-spheres": at(SPHERES, "pull", "fp32", lattice=linear | creeping),
        "linear-lid": at(LID, "pull", "fp32", lattice=linear | {"collision": "mrt"}),
    }.items():
        yield Combination(f"walls/{name}", table)


def heat():
    """Temperature: both methods, all borders, solids; more of it stands among those that must agree."""
    regular = {"collision": "regularised"}
    for streaming, base, precision in zip(STREAMINGS, (ROOM, ROOM, FLAT_ROOM), ("fp32", "fp64", "fp64"), strict=True):
        table = at(base, streaming, precision, thermal=DOUBLE, walls=CONDUCTING)
        yield Combination(f"heat/double-conducting-{streaming}", table)
    turbulent = {"collision": "mrt", "smagorinsky": 0.12}
    for name, table in {
        "energy-pull": at(FLAT_ROOM, "pull", "fp64", thermal=COUPLED),
        "energy-double-push": at(ROOM, "push", "fp32", thermal=COUPLED | DOUBLE, lattice=regular),
        "energy-aa": at(ROOM, "aa", "fp32", thermal=COUPLED),
        "differences-openings-push": at(WARM_PIPE, "push", "fp64"),
        "differences-conducting-aa": at(FLAT_ROOM, "aa", "fp32", walls=CONDUCTING),
        "double-openings-pull": at(WARM_PIPE, "pull", "fp64", thermal=DOUBLE),
        "solids-pull": at(WARM_CIRCLE, "pull", "fp64"),
        "solids-push": at(WARM_IMAGE, "push", "fp64", lattice={"collision": "trt"}),
        "D3Q15-double-aa": at(ROOM, "aa", "fp32", thermal=DOUBLE, lattice={"name": "D3Q15"}),
        "D3Q27-double-pull": at(ROOM, "pull", "fp32", thermal=DOUBLE, lattice={"name": "D3Q27"}),
        "carreau-tiles-pull": at(
            WARM_PIPE, "pull", "fp64", fluid=LAWS["carreau_yasuda"], lattice={"collision": "trt"}, compute=TILES
        ),
        "smagorinsky-curve-double-aa": at(
            WARM_PIPE, "aa", "fp64", thermal=DOUBLE, lattice=turbulent, compute={"order": "curve"}
        ),
        "bouzidi-force-pull": at(
            WARM_PIPE, "pull", "fp64", lattice={"walls": "bouzidi"}, flow={"acceleration_m_s2": [1e-3, 0.0, 1e-4]}
        ),
    }.items():
        yield Combination(f"heat/{name}", table)


def measures():
    """Probes, wall shear stress, a region of the fields, all that can be watched."""
    watch = {"steady_watch": ["mean_speed", "flow_rates", "forces", "permeability"]}
    pulsing = [THROUGH[0] | {"waveform": WAVEFORM}, OUTLET]
    region = {"region_m": [[0.004, 0.0, 0.0], [0.02, 0.01, 0.01]]}
    yield Combination("measures/probes-region-pull", at(PIPE, "pull", "fp32", probes=PROBES, run=watch, output=region))
    yield Combination("measures/probes-heat-aa", at(WARM_PIPE, "aa", "fp32", probes=PROBES))
    wall, shear = {"walls": "bouzidi", "collision": "trt"}, {"wall_shear": True}
    yield Combination("measures/shear-pulsing", at(PIPE, "pull", "fp64", output=shear, openings=pulsing, lattice=wall))


def half_precision():
    """Populations stored in half precision."""
    flows = {
        "vessel-pull": at(VESSEL, "pull", "fp16"),
        "vessel-aa": at(VESSEL, "aa", "fp16"),
        "vessel-push": at(VESSEL, "push", "fp16"),
        "lid-aa": at(LID, "aa", "fp16", lattice={"collision": "mrt"}),
        "bouzidi": at(PIPE, "pull", "fp16", lattice={"collision": "trt", "walls": "bouzidi"}),
        "heat-differences": at(ROOM, "pull", "fp16"),
        "heat-double-aa": at(WARM_IMAGE, "aa", "fp16"),
        "flat-push": at(CIRCLE, "push", "fp16", lattice={"collision": "regularised"}),
    }
    for name, table in flows.items():
        yield Combination(f"half/{name}", table, backends=HALF_PRECISION)


def same_results():
    """Groups: one case on other ranks, partitions, orders and threads, and interrupted."""
    metis, tiles, curve, slices = ({"partition": name} for name in ("metis", "tiles", "curve", "X"))
    bouzidi = {"walls": "bouzidi", "collision": "trt"}
    slipping = [LID["walls"][0], low_box("floor", 0.0, slip=True)]
    large = shape("channel", length=36, height=18, width=16)
    coarse = {"fluid": {"kinematic_viscosity_m2_s": 1e-7}, "lattice": {"smagorinsky": 0.16}}
    groups = {
        "vessel-pull": (
            at(VESSEL, "pull", "fp32"),
            ("2-metis", (2,), metis),
            ("4-auto", (4,), {}),
            ("curve-order", (1,), {"order": "curve"}),
            ("restart-1-on-2", (1, 2), tiles),
        ),
        "vessel-aa": (
            at(VESSEL, "aa", "fp64"),
            ("3-X-speeds", (3,), slices | {"rank_speeds": [1.0, 0.6, 0.8]}),
            ("tiles-order", (1,), TILES),
            ("restart-2-on-1", (2, 1), metis),
        ),
        "vessel-push": (at(VESSEL, "push", "fp32"), ("restart-1-on-2", (1, 2), tiles)),
        "zones-pull": (
            at(VESSEL, "pull", "fp64", **coarse),
            ("3-X", (3,), slices),
            ("restart-1-on-2", (1, 2), metis),
        ),
        "zones-aa": (at(VESSEL, "aa", "fp32", **coarse), ("2-metis", (2,), metis | TILES)),
        "walls-aa": (at(LID, "aa", "fp32", walls=slipping), ("restart-1-on-2", (1, 2), slices)),
        "walls-push": (at(ANNULUS, "push", "fp64"), ("2-auto", (2,), {})),
        "surface-bouzidi": (at(SURFACE, "pull", "fp64", lattice=bouzidi), ("2-metis", (2,), metis)),
        "heat-differences-pull": (
            at(WARM_PIPE, "pull", "fp32"),
            ("3-curve", (3,), curve),
            ("restart-1-on-2", (1, 2), {}),
        ),
        "heat-differences-aa": (at(ROOM, "aa", "fp64"), ("restart-1-on-2", (1, 2), metis)),
        "heat-solids-aa": (at(WARM_IMAGE, "aa", "fp64"), ("2-curve", (2,), curve)),
        "heat-double-push": (at(WARM_PIPE, "push", "fp64", thermal=DOUBLE), ("restart-2-on-1", (2, 1), metis)),
        "heat-double-aa": (at(WARM_PIPE, "aa", "fp64", thermal=DOUBLE), ("restart-1-on-2", (1, 2), {})),
        "threads": (at(CHANNEL, "pull", "fp32", geometry=large),),
    }
    for group, (table, *variants) in groups.items():
        for label, ranks, compute in (("1", (1,), {}), *variants):
            yield Combination(f"same-{group}/{label}", case(table, compute=compute), ranks, group=f"same-{group}")
    yield Combination("same-threads/2", groups["threads"][0], group="same-threads", threads=2)


# --- files that cases read -------------------------------------------------------------------------------------------


def write_files(folder: Path, table: dict, backend: str, transport: str) -> Path:
    """Write a case and all files that some case reads; returns the path of the case."""
    table = case(table, compute={"backend": backend, "transport": transport})
    path = folder / "case.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in table.items()))
    random = np.random.default_rng(7)
    np.save(folder / "field.npy", 1e-3 * (random.random((10, 14, 24, 3)) - 0.4))
    np.save(folder / "image.npy", image())
    (folder / "profile.csv").write_text("distance,velocity\n0,1.5\n2e-3,1.4\n4e-3,1.1\n6e-3,0.4\n8e-3,0\n")
    (folder / "waveform.csv").write_text("time,factor\n0,1\n0.05,1.4\n0.1,1.1\n0.15,0.5\n0.2,0.7\n0.25,0.9\n0.3,1\n")
    (folder / "tube.stl").write_text(tube_stl(6.3, 38.0))
    (folder / "tagged.txt").write_text(tagged_duct())
    return path


def toml(value) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def image() -> np.ndarray:
    """A duct along x (0) in solid (1), with a block on its floor (2), a heated ceiling (3) and open ends (4, 5)."""
    voxels = np.ones((14, 14, 34), dtype=np.uint8)
    voxels[1:-1, 1:-1, :] = 0
    voxels[4:9, 1:5, 10:16] = 2
    voxels[:, -1, 6:26] = 3
    voxels[1:-1, 1:-1, 0], voxels[1:-1, 1:-1, -1] = 4, 5
    return voxels


def tube_stl(radius: float, length: float, n_sides: int = 18) -> str:
    """A closed tube along x as text of STL."""
    rim = [(radius * cos(2.0 * pi * k / n_sides), radius * sin(2.0 * pi * k / n_sides)) for k in range(n_sides)]
    triangles = []
    for k, near in enumerate(rim):
        far = rim[(k + 1) % n_sides]
        low, next_low, high, next_high = (0.0, *near), (0.0, *far), (length, *near), (length, *far)
        triangles += [(low, next_low, high), (next_low, next_high, high)]
        triangles += [((0.0, 0.0, 0.0), next_low, low), ((length, 0.0, 0.0), high, next_high)]
    lines = ["solid tube"]
    for corners in triangles:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in corners)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid tube", ""])


def tagged_duct(n_x: int = 22, n: int = 12) -> str:
    """A duct along x as tagged nodes, its ceiling a labelled wall."""
    lines = [f"{n_x} {n} {n} solid", f"spacing_m {SPACING_M}"]
    for x in range(n_x):
        tag = "inlet:left" if x == 0 else "outlet" if x == n_x - 1 else "fluid"
        lines += [f"{x} {y} {z} {tag}" for y in range(1, n - 1) for z in range(1, n - 1)]
        lines += [f"{x} {n - 1} {z} wall:lid" for z in range(1, n - 1) if tag == "fluid"]
    return "\n".join([*lines, ""])


# --- running ---------------------------------------------------------------------------------------------------------


class Failure(Exception):
    """A combination that did not run, or left nothing to take a fingerprint of."""


class Solver:
    """Calls the solver of one tree.

    Args:
        tree: folder that holds the package.
        python: interpreter; several ranks are started by the mpirun beside it, else on PATH.
        backend: of all cases.
        transport: of halos.
        cache: folder of what Python and Numba keep.
    """

    def __init__(self, tree: Path, python: str, backend: str, transport: str, cache: Path):
        self._tree, self._python, self._mpirun = tree, python, launcher_beside(python)
        self._backend, self._transport, self._cache = backend, transport, cache
        self._options: list[str] | None = None
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._has_stopped = False

    def check(self) -> None:
        """Make sure that it is this tree's package that runs."""
        code = "import muphy_lb; print(muphy_lb.__file__)"
        found = self._call([self._python, "-c", code], 1).strip().split("\n")[-1]
        if self._tree not in Path(found).resolve().parents:
            raise SystemExit(f"fingerprints: {self._python} takes muphy_lb from {found}, not from {self._tree}")

    def stop(self) -> None:
        """End all runs, and start no other."""
        with self._lock:
            self._has_stopped = True
            for number in self._running:
                os.killpg(number, signal.SIGKILL)

    def run(self, combination: Combination, folder: Path) -> Path:
        """Run a combination in a folder; returns the folder of its results."""
        path, out = write_files(folder, combination.case, self._backend, self._transport), folder / "out"
        starts = len(combination.ranks) > 1
        first = ["run", str(path), "-o", str(out), *(["--set", f"run.steps={HALF}"] if starts else [])]
        self._solve(first, combination.ranks[0], combination.threads)
        for ranks in combination.ranks[1:]:
            self._solve(["resume", str(out), "--set", f"run.steps={STEPS}"], ranks, combination.threads)
        return out

    def _solve(self, arguments: list[str], ranks: int, threads: int) -> None:
        launcher = [self._mpirun, *self._launcher_options(), "-n", str(ranks)] if ranks > 1 else []
        self._call([*launcher, self._python, "-m", "muphy_lb", *arguments], threads)

    def _launcher_options(self) -> list[str]:
        """What Open MPI wants to be told: root, more ranks than cores, and that other runs share the cores."""
        with self._lock:
            if self._options is None:
                text = subprocess.run([self._mpirun, "--version"], capture_output=True, text=True, check=False).stdout
                is_open = "open mpi" in text.lower() or "open-mpi" in text.lower() or "openmpi" in text.lower()
                wanted = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
                self._options = wanted if is_open else []
            return self._options

    def _environment(self, threads: int) -> dict[str, str]:
        """Nothing is written into the tree, and every thread count is fixed."""
        paths = [str(self._tree), *filter(None, [os.environ.get("PYTHONPATH")])]
        given = {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONPYCACHEPREFIX": str(self._cache / "python"),
            "NUMBA_CACHE_DIR": str(self._cache / "numba"),
            "MUPHY_CACHE": str(self._cache / "muphy"),
            "NUMBA_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        if self._options:
            given |= {"MPI4PY_MPIABI": os.environ.get("MPI4PY_MPIABI", "openmpi")}
        return os.environ | given

    def _call(self, command: list[str], threads: int) -> str:
        """Run a command in the tree; what it says, or Failure with its last lines."""
        with self._lock:
            if self._has_stopped:
                raise Failure("stopped")
            process = subprocess.Popen(
                command,
                cwd=self._tree,
                env=self._environment(threads),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running.add(process.pid)
        try:
            said, _ = process.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure(f"took longer than {TIME_LIMIT_S} s") from error
        finally:
            with self._lock:
                self._running.discard(process.pid)
        if process.returncode not in EXIT_CODES:
            last = " | ".join(line.strip() for line in said.strip().split("\n")[-6:])
            raise Failure(f"exit code {process.returncode}: {last}")
        return said


# --- digests ---------------------------------------------------------------------------------------------------------


def fingerprint(out: Path) -> dict[str, str]:
    """The digests of a folder of results."""
    digests = {
        **digests_of_checkpoint(out / "checkpoints"),
        "fields": digest_of_fields(out),
        "series": digest_of_series(out),
        "summary": digest_of_summary(out / "summary.json"),
    }
    return {part: digests[part] for part in PARTS}


def digests_of_checkpoint(folder: Path) -> dict[str, str]:
    """Of all datasets of the newest checkpoint and the attributes that are part of the state, and of the record of the
    approach to the steady state."""
    found = sorted(folder.glob("*.h5"))
    if not found:
        raise Failure(f"no checkpoint in {folder}")
    digest = hashlib.sha256()
    with h5py.File(found[-1], "r") as file:
        if int(file.attrs["step"]) != STEPS:
            raise Failure(f"{found[-1].name} is not of step {STEPS}")
        for name in KEPT_ATTRIBUTES:
            digest.update(f"{name}={file.attrs.get(name)!s};".encode())
        # what observers remember is in what they write
        sets = {name: values for name, values in datasets(file).items() if not name.startswith("observers/")}
        # newer releases add what some fields were a step before, with which restarts are exact
        names = file.attrs["fields"].split(", ")
        sets["fields"] = sets["fields"][[not name.endswith("_before") for name in names[: len(sets["fields"])]]]
        check_alive("populations", sets["populations"])
        for name, values in sets.items():
            add_array(digest, name, values)
        record = hashlib.sha256(str(file.attrs.get("watch")).encode())
    return {"populations": digest.hexdigest(), "record": record.hexdigest()}


def digest_of_fields(out: Path) -> str:
    """Of the data of cells and points of every field file."""
    digest, seen = hashlib.sha256(), set()
    for path in sorted(out.glob("*.vtkhdf")):
        with h5py.File(path, "r") as file:
            for name, values in datasets(file).items():
                if {"CellData", "PointData"} & set(name.split("/")):
                    add_array(digest, f"{path.name}/{name}", values)
                    seen.add(name.split("/")[-1])
                    if name.endswith("/velocity"):
                        check_alive(name, values)
    if not seen >= {"density", "velocity", "pressure"}:
        raise Failure(f"the field files hold only {', '.join(sorted(seen)) or 'nothing'}")
    return digest.hexdigest()


def digest_of_series(out: Path) -> str:
    """Of the text of every series."""
    digest, paths = hashlib.sha256(), sorted(out.glob("*.csv"))
    if not paths:
        raise Failure(f"no series in {out}")
    for path in paths:
        text = path.read_text()
        if len(text.splitlines()) < 2:
            raise Failure(f"{path.name} is empty")
        digest.update(f"{path.name}\n{text}".encode())
    return digest.hexdigest()


def digest_of_summary(path: Path) -> str:
    """Of what the summary says of the flow."""
    record = json.loads(path.read_text())
    kept = {key: record[key] for key in KEPT_SUMMARY if key in record}
    if "n_fluid" not in kept:
        raise Failure("the summary does not tell the number of nodes")
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def datasets(file: h5py.File) -> dict[str, np.ndarray]:
    """All datasets of numbers, in order of their names."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "iufb":
            found[name] = item[()]

    file.visititems(visit)
    return dict(sorted(found.items()))


def add_array(digest, name: str, values: np.ndarray) -> None:
    """Take in name, type, shape and bytes of an array."""
    digest.update(f"{name} {values.dtype.str} {values.shape};".encode())
    digest.update(np.ascontiguousarray(values).tobytes())


def check_alive(name: str, values: np.ndarray) -> None:
    """Refuse arrays that are empty, not finite, or the same everywhere."""
    if not values.size or not np.isfinite(values).all() or values.min() == values.max():
        raise Failure(f"{name} is empty, not finite or constant")


# --- recording -------------------------------------------------------------------------------------------------------


def disagreements(found: dict[str, dict]) -> dict[str, list[str]]:
    """Of each group of combinations, what is not as in its first member."""
    groups: dict[str, list[str]] = {}
    for name, result in found.items():
        if result.get("group") and "error" not in result:
            groups.setdefault(result["group"], []).append(name)
    wrong = {}
    for group, (first, *others) in groups.items():
        pairs = ((name, [part for part in GROUP_PARTS if found[name][part] != found[first][part]]) for name in others)
        wrong[group] = [f"{name} against {first}: {', '.join(parts)}" for name, parts in pairs if parts]
    return wrong


def record(options) -> int:
    """Record the fingerprints of a tree."""
    if options.tree is None:
        raise SystemExit("fingerprints: give --tree FOLDER, or: fingerprints compare A.json B.json")
    chosen = chosen_combinations(options.only, options.backend)
    with tempfile.TemporaryDirectory(prefix="fingerprints_") as scratch:
        cache = Path(options.cache).resolve() if options.cache else Path(scratch) / "cache"
        solver = Solver(Path(options.tree).resolve(), options.python, options.backend, options.transport, cache)
        solver.check()
        found, write, started = dict[str, dict](), partial(write_record, options, about(options)), time.perf_counter()
        for jobs, some in in_turn(chosen, options.jobs):
            for combination, result in results_of(some, jobs, solver, Path(scratch)):
                found[combination.name] = ({"group": combination.group} if combination.group else {}) | result
                write(found)
                say(combination.name, result)
    return conclude(found, time.perf_counter() - started)


def write_record(options, about: dict, found: dict[str, dict]) -> None:
    """Write all that has been found so far, if a file was asked for."""
    if options.json:
        groups = {name: not wrong for name, wrong in disagreements(found).items()}
        table = {**about, "groups_agree": groups, "combinations": dict(sorted(found.items()))}
        temporary = Path(f"{options.json}.tmp")
        temporary.write_text(json.dumps(table, indent=1) + "\n")
        temporary.replace(options.json)


def in_turn(chosen: list[Combination], jobs: int):
    """Numbers of combinations at a time, and the combinations: those of several ranks first, fewer at a time."""
    several = [combination for combination in chosen if max(combination.ranks) > 1]
    return ((max(1, jobs // 2), several), (jobs, [combination for combination in chosen if combination not in several]))


def results_of(some: list[Combination], jobs: int, solver: Solver, work: Path):
    """Run some combinations, several at a time; each with its result, as they end."""
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(record_one, one, solver, work): one for one in some}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:  # no run outlives this program
            solver.stop()
            pool.shutdown(cancel_futures=True)
            raise


def record_one(combination: Combination, solver: Solver, work: Path) -> dict:
    """Digests of one combination and the seconds it took, or why there are none."""
    folder = work / combination.name.replace("/", "_")
    folder.mkdir(parents=True)
    started = time.perf_counter()
    try:
        out = solver.run(combination, folder)
        result = fingerprint(out) | {"n_fluid": json.loads((out / "summary.json").read_text())["n_fluid"]}
    except (Failure, OSError, KeyError, ValueError) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    shutil.rmtree(folder, ignore_errors=True)
    return result | {"seconds": round(time.perf_counter() - started, 1)}


def say(name: str, result: dict) -> None:
    """One line on a combination."""
    text = f"FAILED: {result['error']}" if "error" in result else f"{result['n_fluid']:6d} nodes"
    print(f"{name:<62}{result['seconds']:6.1f} s  {text}", flush=True)


def conclude(found: dict[str, dict], seconds: float) -> int:
    """Say how it went; exit code 1 if something failed or a group disagrees."""
    wrong = disagreements(found)
    for group, lines in wrong.items():
        for line in lines:
            print(f"group {group} disagrees: {line}")
    n_failed = sum("error" in result for result in found.values())
    n_wrong = sum(map(bool, wrong.values()))
    print(f"{len(found)} combinations, {n_failed} failed; {len(wrong)} groups, {n_wrong} disagree; {seconds:.0f} s")
    return 1 if n_failed or n_wrong else 0


def about(options) -> dict:
    """Where digests were recorded; those of other places differ."""
    code = "import numba, numpy; print(numba.__version__, numpy.__version__)"
    said = subprocess.run([options.python, "-c", code], capture_output=True, text=True, check=False).stdout.split()
    return {"backend": options.backend, "machine": processor(), "numba": said[:1], "numpy": said[1:], "steps": STEPS}


def processor() -> str:
    """Name of the processor; Numba compiles for it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{platform.machine()} {names[0] if names else platform.processor()}"


def launcher_beside(python: str) -> str:
    """The mpirun beside an interpreter, else that on PATH."""
    found = Path(shutil.which(python) or python).parent / "mpirun"
    return str(found) if found.exists() else shutil.which("mpirun") or "mpirun"


def chosen_combinations(pattern: str | None, backend: str) -> list[Combination]:
    """Those that a backend can run and whose name has the pattern."""
    able = [combination for combination in combinations() if backend in combination.backends]
    chosen = [combination for combination in able if fits(combination.name, pattern)]
    if not chosen:
        raise SystemExit(f"fingerprints: no combination fits {pattern!r}; --list names them")
    return chosen


def fits(name: str, pattern: str | None) -> bool:
    """Whether a name has one of the comma-separated patterns, in which * stands for anything."""
    return pattern is None or any(fnmatch.fnmatch(name, f"*{part.strip()}*") for part in pattern.split(","))


# --- comparing -------------------------------------------------------------------------------------------------------


def compare(options) -> int:
    """Compare two records; exit code 1 if anything differs, failed, is missing, or a group disagrees."""
    tables = [json.loads(Path(path).read_text()) for path in (options.first, options.second)]
    for key in ("backend", "machine", "numba", "numpy", "steps"):
        if tables[0].get(key) != tables[1].get(key):
            print(f"note: recorded with different {key}: {tables[0].get(key)} and {tables[1].get(key)}")
    first, second = (
        {name: result for name, result in table["combinations"].items() if fits(name, options.only)} for table in tables
    )
    verdicts = {name: verdict(first.get(name), second.get(name)) for name in sorted(first.keys() | second.keys())}
    for name, (word, text) in verdicts.items():
        if word != "equal" or not options.brief:
            print(f"{name:<62}{word:<10}{text}".rstrip())
    counts = {word: sum(word == found for found, _ in verdicts.values()) for word in ("equal", "different", "missing")}
    n_wrong, words = 0, []
    for path, results in ((options.first, first), (options.second, second)):
        wrong = disagreements(results)
        for group, lines in wrong.items():
            for line in lines:
                print(f"{path}: group {group} disagrees: {line}")
        disagreeing = sum(map(bool, wrong.values()))
        n_wrong += disagreeing
        words.append(f"{len(wrong) - disagreeing} of {len(wrong)}")
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    print(f"{said}; groups that agree among themselves: {words[0]} and {words[1]}")
    return 1 if counts["different"] or counts["missing"] or not counts["equal"] or n_wrong else 0


def verdict(first: dict | None, second: dict | None) -> tuple[str, str]:
    """How two results of a combination compare, in a word and some detail."""
    if first is None or second is None:
        return "missing", f"in the {'first' if first is None else 'second'} file"
    for which, result in (("first", first), ("second", second)):
        if "error" in result:
            return "different", f"failed in the {which} file: {result['error'][:120]}"
    parts = [part for part in PARTS if first.get(part) != second.get(part)]
    return ("different", ", ".join(parts)) if parts else ("equal", "")


# --- command line ----------------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="fingerprints", description=__doc__, formatter_class=formatter)
    top.set_defaults(command=record)
    top.add_argument("--tree", metavar="FOLDER", help="folder that holds the package muphy_lb to run")
    top.add_argument("--backend", choices=BACKENDS, default="cpu", help="default: %(default)s")
    top.add_argument("--json", metavar="FILE", help="where to keep the record; written after every combination")
    top.add_argument("--jobs", type=int, default=2, metavar="N", help="combinations at a time (default: %(default)s)")
    top.add_argument("--only", metavar="PATTERN", help="part of the names to run; several with commas, * for anything")
    top.add_argument("--list", action="store_true", help="name the combinations and do nothing else")
    top.add_argument("--python", default=sys.executable, help="interpreter of the solver (default: this one)")
    top.add_argument("--transport", default="host", help="compute.transport of several ranks (default: %(default)s)")
    top.add_argument("--cache", metavar="FOLDER", help="keep compiled code there (default: a temporary folder)")
    commands = top.add_subparsers(metavar="compare")
    sub = commands.add_parser("compare", help="compare two records", description=compare.__doc__)
    sub.set_defaults(command=compare)
    sub.add_argument("first", metavar="A.json")
    sub.add_argument("second", metavar="B.json")
    sub.add_argument("--only", metavar="PATTERN", help="part of the names to compare")
    sub.add_argument("--brief", action="store_true", help="leave out what is equal")
    return top


def main() -> int:
    """Run the command line; returns the exit code."""
    options = parser().parse_args()
    if getattr(options, "list", False) and options.command is record:
        for combination in combinations():
            group = f"  (group {combination.group})" if combination.group else ""
            print(f"{combination.name}{group}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return options.command(options)


if __name__ == "__main__":
    sys.exit(main())
