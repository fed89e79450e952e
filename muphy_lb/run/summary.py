"""What ``summary.json`` holds of a run."""

import platform
import resource
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from math import sqrt
from pathlib import Path

from muphy_lb.measure.flow_view import FlowView, on_root
from muphy_lb.measure.records import OpeningState
from muphy_lb.output.series import flow_split, pressure_drops_pa, write_summary

SUMMARY_FILE = "summary.json"


def summarise(view: FlowView, folder: Path, speed: dict, outcome: dict) -> dict | None:
    """Write ``summary.json`` and return its record on rank 0; collective.

    Args:
        view: the flow.
        folder: output folder.
        speed: what the run took, by name.
        outcome: how it ended, and the records of observers, by name.
    """
    walls = view.wall_forces() if view.header.walls else None
    openings, health = view.openings(), view.health()
    peak_memory_mib = view.communicator.gather(process_peak_mib())
    hosts = view.communicator.gather(platform.node())
    if view.communicator.rank:
        return None
    compute, numerics = view.case.compute, view.numerics
    record = {
        "title": view.case.title,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "hosts": sorted(set(hosts)),
        "ranks": view.communicator.size,
        "backend": view.backend_name,
        "device": view.device,
        "precision": compute.precision,
        "streaming": compute.streaming,
        "lattice": view.lattice.name,
        "collision": view.collision_name,
        "walls_rule": view.case.lattice.walls,
        "n_fluid": view.header.n_nodes,
        "spacing_m": view.header.spacing_m,
        "time_step_s": view.units.time_step_s,
        "relaxation_time": numerics.relaxation_time,
        "steps": view.step_number,
        "time_s": view.time_s,
        **speed,
        "peak_memory_mib": peak_memory_mib,
        "mass_relative_drift": health.mass_drift,
        "max_velocity_m_s": view.units.velocity_to_si(health.max_speed),
        "mean_velocity_m_s": view.units.velocity_to_si(health.mean_speed),
        "mach": health.max_speed / sqrt(float(view.lattice.cs2)),
        **_of_scale(view, on_root(openings)),
        **outcome,
        "case_toml": view.case.to_toml(folder),
        **_of_openings({name: _opening_record(state) for name, state in on_root(openings).items()}),
        "walls": {name: asdict(force) for name, force in (walls or {}).items()},
    }
    write_summary(folder / SUMMARY_FILE, record)
    return record


def _of_scale(view: FlowView, openings: Mapping[str, OpeningState]) -> dict:
    """The largest Reynolds number of an opening, by its mean velocity and diameter, and the voxels across the smallest;
    None without openings."""
    across = [2.0 * frame.radius for frame in view.frames]
    speeds_m_s = [abs(state.flow_rate_m3_s) / state.area_m2 for state in openings.values()]
    scale = view.header.spacing_m / view.case.fluid.viscosity_m2_s
    numbers = [speed_m_s * width * scale for speed_m_s, width in zip(speeds_m_s, across, strict=True)]
    return {"reynolds": max(numbers, default=None), "voxels_across": min(across, default=None)}


def _opening_record(state: OpeningState) -> dict:
    record = asdict(replace(state, feedback=dict(state.feedback)))
    if not record["feedback"]:
        del record["feedback"]
    return record


def _of_openings(states: dict) -> dict:
    return {"openings": states, "flow_split": flow_split(states), "pressure_drops_pa": pressure_drops_pa(states)}


def process_peak_mib() -> float:
    """Most memory that this process has held so far [MiB], libraries and compiler included."""
    per_unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * per_unit / 2**20
