"""What a simulation answers: records that are the same on all ranks."""

from dataclasses import replace
from math import sqrt

import numpy as np

from muphy_lb.api.records import Force, Health, Opening, Outcome, Permeability, Records, WallShear
from muphy_lb.api.running import STOPPED, Criterion, Repetition
from muphy_lb.boundaries.wall_motion import HALF_WAY, HALF_WAY_SHEAR
from muphy_lb.geometry.source import Geometry
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.measure.permeability import measured_permeability
from muphy_lb.measure.settling import Settling
from muphy_lb.measure.wall_shear import WallShear as ShearMeasure
from muphy_lb.measure.wall_statistics import STRESS, part_record
from muphy_lb.run.loop import ENDS, Clock
from muphy_lb.run.solver import Solver
from muphy_lb.run.verdict import judge
from muphy_lb.setup.geometry import input_surface

NOTHING_COUNTED = {"mean": 0.0, "p50": 0.0, "p95": 0.0, "max": 0.0}
GO_ON = "run_until_steady() again"
GO_ON_UNWATCHED = "run_until_steady()"
GO_ON_PERIODIC = "run(time_s=...), by two beats or more"


def openings(core: Solver) -> Records[Opening]:
    """The flow at every opening; collective."""
    found = core.openings() or {}
    return Records(core.communicator.broadcast({name: Opening(**vars(state)) for name, state in found.items()}))


def forces(core: Solver) -> Records[Force]:
    """Force on every labelled wall; collective."""
    found = (core.wall_forces() or {}) if core.header.walls else {}
    return Records(core.communicator.broadcast({name: Force(**vars(force)) for name, force in found.items()}))


def health(core: Solver) -> Health:
    """The flow as a whole; collective."""
    found, units = core.health(), core.units
    return Health(
        step_number=core.step_number,
        time_s=core.time_s,
        max_velocity_m_s=float(units.velocity_to_si(found.max_speed)),
        mean_velocity_m_s=float(units.velocity_to_si(found.mean_speed)),
        mach=float(found.max_speed / sqrt(float(core.lattice.cs2))),
        mass_change=float(found.mass_drift),
    )


def permeability(core: Solver, settling: Settling) -> Permeability:
    """Permeability of the present flow; collective."""
    found = measured_permeability(core)
    if found is not None:
        found = replace(found, warnings=(*found.warnings, *settling.warnings(core)))
    return core.communicator.broadcast(Permeability(**vars(found)) if found else None)


def wall_shear(core: Solver, measure: ShearMeasure) -> WallShear:
    """Wall shear stress of the present flow; the statistics on all ranks, the arrays on rank 0; collective."""
    traction = measure.traction_pa()
    numbers = core.communicator.broadcast(None if traction is None else _statistics(core, measure, traction))
    if traction is None:
        return WallShear(**numbers)
    return WallShear(
        **numbers,
        points_m=measure.wall_points_m(),
        normals=measure.surface.normal,
        traction_pa=traction,
        counted=measure.far_from_openings(),
    )


def _statistics(core: Solver, measure: ShearMeasure, traction: np.ndarray) -> dict:
    counted, thresholds = measure.far_from_openings(), core.case.output.wall_thresholds
    area_m2 = measure.areas.area * core.header.spacing_m**2
    found = part_record({STRESS: np.linalg.norm(traction, axis=1)}, area_m2, counted, thresholds)
    of_wall = found.get(STRESS.name, NOTHING_COUNTED)
    return {
        "n_nodes": len(traction),
        "n_counted": int(counted.sum()),
        "mean_pa": of_wall["mean"],
        "median_pa": of_wall["p50"],
        "p95_pa": of_wall["p95"],
        "max_pa": of_wall["max"],
        "warnings": (HALF_WAY_SHEAR,) if core.case.lattice.walls == HALF_WAY else (),
    }


def outcome(core: Solver, ended: str, clock: Clock, watch: Criterion | None) -> Outcome:
    """What a run came to; collective."""
    go_on = GO_ON_PERIODIC if isinstance(watch, Repetition) else GO_ON if watch else GO_ON_UNWATCHED
    stopped_by = "" if ended in (*ENDS, STOPPED) else ended
    verdict = judge(core, () if watch is None else (watch,), go_on, stopped_by)
    is_steady = None if watch is None else bool(core.communicator.broadcast(watch.is_satisfied))
    return Outcome(
        ended=ended,
        is_steady=is_steady,
        step_number=core.step_number,
        time_s=core.time_s,
        wall_time_s=clock.wall_time_s,
        mflups=clock.mflups(core.header.n_nodes),
        verdict=verdict.word,
        statements=tuple(verdict.record()["statements"]),
        objections=verdict.objections,
        not_judged=verdict.not_judged,
    )


def surface_of(core: Solver, geometry: Geometry | None) -> Surface | None:
    """The surface that the geometry is made of, on rank 0; None for an image or a shape."""
    return input_surface(core.case) if geometry is None or geometry.content is None else geometry.surface


def described(core: Solver) -> str:
    """A simulation in one line."""
    title = f"{core.case.title!r}, " if core.case.title else ""
    on_ranks = f" on {core.communicator.size} ranks" if core.communicator.size > 1 else ""
    return (
        f"Simulation({title}{core.header.n_nodes:,} nodes of {core.header.spacing_m:g} m, step {core.step_number:,},"
        f" t = {core.time_s:.5g} s, {core.lattice.name}, {core.backend_name}{on_ranks})"
    )
