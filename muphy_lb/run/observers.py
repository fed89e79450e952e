"""The observers of a run, and its summary."""

import platform
import resource
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from math import sqrt
from pathlib import Path

from muphy_lb.base.registry import offered
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.measure.flow_series import OpeningSeries, WallSeries
from muphy_lb.measure.flow_view import FlowView, OpeningState, PreparedView, on_root
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period import PeriodFlowRates
from muphy_lb.measure.permeability_observer import PermeabilityObserver
from muphy_lb.measure.pictures import FlowPicture, SliceFrames
from muphy_lb.measure.probes import ProbeSeries, SegmentSeries
from muphy_lb.measure.shear.observer import WallShearObserver
from muphy_lb.output.drawing import FRAMES_FOLDER
from muphy_lb.output.report_html import REPORT_FILE
from muphy_lb.output.series import flow_split, pressure_drops_pa, write_summary
from muphy_lb.parallel import agreed
from muphy_lb.run.criteria import Periodicity, SteadyState
from muphy_lb.run.folder import CASE_FILE, SUMMARY_FILE
from muphy_lb.run.frozen import FrozenFlow


def summarise(view: FlowView, folder: Path, speed: dict, outcome: dict) -> dict | None:
    """Write ``summary.json`` and return its record on rank 0; collective. ``speed``: what the run took, by name;
    ``outcome``: how it ended, and the records of observers, by name."""
    walls = view.wall_forces() if view.header.walls else None
    openings, health = view.openings(), view.health()
    peak_memory_mib = view.communicator.gather(process_peak_mib())
    hosts = view.communicator.gather(platform.node())
    if view.communicator.rank:
        return None
    compute, numerics = view.case.compute, view.numerics
    records = {name: asdict(replace(each, feedback=dict(each.feedback))) for name, each in on_root(openings).items()}
    for of_opening in records.values():
        if not of_opening["feedback"]:
            del of_opening["feedback"]
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
        "openings": records,
        "flow_split": flow_split(records),
        "pressure_drops_pa": pressure_drops_pa(records),
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


def process_peak_mib() -> float:
    """Most memory that this process has held so far [MiB], libraries and compiler included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class PhysicsObservers(Observer):
    """The row of the observers that the physics of the case bring along."""

    files = offered("FILES")

    @classmethod
    def check(cls, view) -> None:
        """Let each physics refuse what it cannot measure."""
        for physics in view.physics:
            physics.check(view)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """The observers of each physics, in its order."""
        return [observer for physics in view.physics for observer in physics.observers(view, folder, resume_step)]


# In the order in which they act, and of the closing text and the report.
OBSERVERS: tuple[type[Observer], ...] = (
    OpeningSeries,
    PeriodFlowRates,
    WallShearObserver,
    PhysicsObservers,
    WallSeries,
    ProbeSeries,
    SegmentSeries,
    SteadyState,
    FrozenFlow,
    Periodicity,
    PermeabilityObserver,
    FieldSnapshots,
    SliceFrames,
    FlowPicture,
)


def check_observers(view: PreparedView) -> None:
    """Refuse what cannot be measured. Raises InputError: the case asks for it."""
    for kind in OBSERVERS:
        agreed(view.communicator, lambda kind=kind: kind.check(view))


def remove_files(folder: Path) -> None:
    """Remove what observers of an earlier run have written to a folder."""
    for kind in OBSERVERS:
        for pattern in kind.files:
            for path in folder.glob(pattern):
                path.unlink()


def written_files(folder: Path) -> list[str]:
    """Names of the files in a folder that a run writes, sorted, of frames their pattern; what else a user keeps there
    is not among them."""
    patterns = (CASE_FILE, SUMMARY_FILE, REPORT_FILE, *(pattern for kind in OBSERVERS for pattern in kind.files))
    there = {pattern: [path for path in Path(folder).glob(pattern) if path.is_file()] for pattern in patterns}
    alone = {path.name for pattern, paths in there.items() for path in paths if FRAMES_FOLDER not in pattern}
    return sorted(alone | {pattern for pattern, paths in there.items() if paths and pattern.endswith("_*.png")})


def create_observers(view: FlowView, folder: Path, resume_step: int | None) -> list[Observer]:
    """The observers of a run, in order; collective. Raises InputError: what the case asks for is not there to be
    measured; OutputError: a file cannot be written."""
    created = (
        agreed(view.communicator, lambda kind=kind: kind.create(view, folder, resume_step)) for kind in OBSERVERS
    )
    return [observer for observers in created for observer in observers]
