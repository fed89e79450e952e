"""One flow through a rock: a run in a folder of its own until its permeability settles, handed on to a finer grid."""

import json
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from math import ceil, inf, pi
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.apps.rock.command import SHORT
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import output_errors, refuse_linked_folder, write_text
from muphy_lb.base.registry import packages
from muphy_lb.base.units import CS2
from muphy_lb.case.case import Case, changed_contents
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import Permeability, driving_acceleration, mean_pore_size
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.operators import TRT
from muphy_lb.output.series import read_series
from muphy_lb.parallel import NodeGather, from_root
from muphy_lb.run.criteria import STEADY, SteadyState
from muphy_lb.run.folder import CASE_FILE, CHECKPOINTS, PATTERN, SUMMARY_FILE
from muphy_lb.run.loop import COMPLETED, Clock, Run
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals


class Relay:
    """Holds the pressure and the velocity of one flow for the next.

    A voxel of the finer grid takes the mean of the coarser ones in it, by volume, those of walls counting as at rest:
    the flow through every section stays what it was, so that pressure has little to even out.
    """

    def __init__(self) -> None:
        self._shape: tuple[int, int, int] = (0, 0, 0)
        self._voxel = np.empty(0, dtype=np.int64)
        self._fields: list[np.ndarray] = []

    def start(self, simulation: Solver) -> None:
        """Start a simulation from the flow at hand, if there is one; collective."""
        communicator = simulation.communicator
        if not communicator.broadcast(bool(self._fields)):
            return
        rows: list = [None] * 4
        if communicator.rank == 0:
            shape, voxel = simulation.header.shape, np.asarray(whole_nodes(simulation).voxel)
            rows = [self._remapped(field, shape)[voxel] for field in self._fields]
        gather = NodeGather(communicator, simulation.domain.number, simulation.header.n_nodes)
        pressure, *velocity = (gather.scatter(row) for row in rows)
        units, cs2 = simulation.units, float(simulation.lattice.cs2)
        simulation.engine.start_from(
            np.asarray(units.pressure_to_density(pressure, cs2)), units.velocity_to_lattice(np.stack(velocity))
        )
        simulation.upload_schedule()
        simulation.state.initial_mass = communicator.total(simulation.engine.totals().mass)

    def take(self, simulation: Solver) -> None:
        """Hold the flow of a simulation; collective."""
        pressure, velocity = simulation.pressure_pa(), simulation.velocity_m_s()
        if pressure is None or velocity is None:
            return
        self._shape, self._voxel = simulation.header.shape, np.asarray(whole_nodes(simulation).voxel)
        self._fields = [pressure, *velocity.T]

    def _remapped(self, field: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """A field on all voxels of the same box in another number of them, flat."""
        box = np.zeros(self._shape, dtype=field.dtype)
        box.reshape(-1)[self._voxel] = field
        for axis, n_fine in enumerate(shape):
            low, high, share = _overlaps(box.shape[axis], n_fine)
            share = share.reshape([-1 if other == axis else 1 for other in range(3)]).astype(field.dtype)
            box = share * box.take(low, axis) + (1 - share) * box.take(high, axis)
        return box.reshape(-1)


def _overlaps(n_coarse: int, n_fine: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of ``n_fine`` voxels along an edge the first and the last of ``n_coarse`` that it overlaps, and the
    share of the first. Finer voxels overlap two at most."""
    begin = np.arange(n_fine) * n_coarse  # in units of 1 / n_fine of a coarse voxel
    low, high = begin // n_fine, np.minimum((begin + n_coarse - 1) // n_fine, n_coarse - 1)
    share = np.minimum((low + 1) * n_fine - begin, n_coarse) / n_coarse
    return low, np.where(share < 1.0, high, low), share


CONTENTS_FILE = "contents.json"
TOLERANCE = 5e-4
LOOKS_PER_TIME = 10
SLOWEST = 4.0
"""Slowest time of a rock over the estimates of :func:`slowest_steps`: its wide pores are twice as wide as the mean one,
and k over porosity is a third of that of the estimate. With it the tolerance is the error of k, or more, in Ketton and
packs of spheres."""
BARE = {
    "permeability": True,
    "fields": (),
    "fields_every_steps": 0,
    "region_m": None,
    "picture": False,
    "picture_format": "png",
    "vtk": False,
    "report": False,
    "wall_shear": False,
}
"""Output of a flow: its permeability; fields and pictures are those of ``muphy-lb run``."""
FREE = ("title", "run", "output", "compute")
"""Sections that may differ between a flow and the case that continues with it."""
TIME_STEP = ("relaxation_time", "lattice_velocity", "time_step_s")
"""Keys of [lattice] that may too where k does not depend on them: the case continues with the flow's own."""
WALLS = ("half-way", "central-linear")  # which two relaxation times place alike for any viscosity
COARSE = "fp16"  # precision in which the change of a short step may be lost in rounding


@dataclass(frozen=True)
class Flow:
    """A settled flow through a rock."""

    permeability: Permeability  #: results
    ended: str  #: why it ended
    settled: bool  #: whether k settled
    steps: int  #: after how many steps
    limit_m2: float  #: the limit of k along the force [m2] that the last three looks point to
    unsettled_m2: float  #: what k may still change by, by the last looks [m2]
    n_nodes: int  #: nodes of the flow
    time_step_s: float  #: its time step [s]

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped before its end, and can continue."""
        return self.ended not in (STEADY, COMPLETED)

    def record(self) -> dict:
        """All numbers, for files."""
        own = {"ended": self.ended, "settled": self.settled, "steps": self.steps, "time_step_s": self.time_step_s}
        own |= {"permeability_limit_m2": self.limit_m2, "permeability_unsettled_m2": self.unsettled_m2}
        return own | self.permeability.record()


@dataclass(frozen=True)
class Desk:
    """Common settings of the flows of one command."""

    say: Callable[[str], None]  #: called with text on every rank, on rank 0 for people
    signals: StopSignals | None  #: stop signals of the surrounding context; None: they keep their usual effect
    clock: Clock  #: wall time since the command started
    time_step: str = SHORT  #: "short" or that of the "case" (:mod:`muphy_lb.apps.rock.time_step`)


def settled_flow(
    case: Case, communicator, nodes=None, folder=None, desk: Desk | None = None, relay: Relay | None = None
) -> Flow | None:
    """The flow of a case once k has settled or the flow was stopped, on rank 0; collective.

    Args:
        nodes: the geometry, on rank 0, if it is already there.
        folder: output folder; what it holds of the same flow is continued. Without one, nothing is kept.
        desk: what it shares with other flows; without one it is silent.
        relay: the flow starts from what it holds, if it starts at all, and is then held by it.

    Raises InputError: no flow of which this can be computed; the folder holds checkpoints of another case;
    DivergedError: the flow became unstable; OutputError: a file cannot be written.
    """
    temporary = tempfile.TemporaryDirectory() if folder is None and communicator.rank == 0 else nullcontext("")
    with temporary as made:
        folder = Path(made if folder is None else folder)
        desk = desk or Desk(lambda text: None, None, Clock())
        case = _watching(case)
        is_root = communicator.rank == 0
        earlier, resume = communicator.broadcast(_earlier(folder, case) if is_root else None)
        if earlier:
            desk.say(f"{folder} holds this flow, which has ended: it is not run again")
            return _flow(earlier, folder) if is_root else None
        if resume:
            case = communicator.broadcast(_in_time_of(folder, case) if is_root else None)
        simulation = Solver(case, communicator, nodes)
        from_root(communicator, partial(keep_contents, folder, case))
        driving_acceleration(case, simulation.header)
        simulation.case = _looking(simulation)
        desk.say(simulation.describe())
        if relay and not resume:
            relay.start(simulation)
        reason, summary = Run(simulation, folder, resume, Clock(desk.clock.started)).execute(desk.signals)
        if relay:
            relay.take(simulation)
        summary = summary or read_table(folder / SUMMARY_FILE, json.loads) | {"ended": reason}  # none: no step was left
        return _flow(summary, folder) if is_root else None


def slowest_steps(width: float, viscosity: float, wave: float) -> tuple[float, float]:
    """Steps in which a flow comes to speed in a pore, and in which pressure evens out along a rock
    (:mod:`muphy_lb.apps.rock.time_step`).

    Args:
        width: of the pores [voxels].
        viscosity: in lattice units.
        wave: length of the longest wave of pressure [voxels].
    """
    return width**2 / (23.0 * viscosity), 64.0 * viscosity * wave**2 / (4.0 * pi**2 * CS2 * width**2)


def longest_wave(header: GeometryHeader) -> int:
    """Length [voxels] of the longest wave of pressure in the box, of which half fits between closed sides."""
    sizes = zip(header.shape[::-1], header.periodic, strict=True)
    return max(n if is_periodic else 2 * n for n, is_periodic in sizes)


def is_free_of_time_step(case: Case) -> bool:
    """Whether k is certain not to depend on the time step."""
    places_walls_alike = case.lattice.collision == TRT.name and case.lattice.walls in WALLS
    return places_walls_alike and case.compute.precision != COARSE and not packages(case)


def is_done(folder: Path, case: Case) -> bool:
    """Whether a folder holds the flow of a case, and it has ended; on rank 0. Raises InputError: the folder holds
    checkpoints of another flow."""
    return _earlier(folder, _watching(case))[0] is not None


def is_under_way(folder: Path, case: Case) -> bool:
    """Whether a folder holds the flow of a case, or checkpoints of it; on rank 0. Raises InputError: as
    :func:`is_done`."""
    return any(_earlier(folder, _watching(case)))


def forget_flow(folder: Path) -> None:
    """Remove what a folder holds of an earlier flow; on rank 0."""
    refuse_linked_folder(folder / CHECKPOINTS)
    for path in (*(folder / CHECKPOINTS).glob(PATTERN), folder / SUMMARY_FILE, folder / CONTENTS_FILE):
        path.unlink(missing_ok=True)


def _earlier(folder: Path, case: Case) -> tuple[dict | None, bool]:
    """The earlier results of this flow in a folder: its summary if that is complete, and whether to continue from a
    checkpoint."""
    has_checkpoint = any((folder / CHECKPOINTS).glob(PATTERN))
    old = read_table(folder / CASE_FILE, tomllib.loads)
    free = TIME_STEP if is_free_of_time_step(case) else ()
    then, now = _identity(old, free), _identity(tomllib.loads(case.to_toml(folder)), free)
    changed = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)] + other_contents(folder, case)
    if has_checkpoint and changed:
        raise InputError(
            f"permeability: {folder} holds checkpoints of another flow, whose case differs in {', '.join(changed)};"
            " give --overwrite to start again, or another output folder with -o"
        )
    if changed:
        return None, False
    summary, tolerance = read_table(folder / SUMMARY_FILE, json.loads), old["run"].get("steady_tolerance", inf)
    is_as_strict = "permeability" in summary and tolerance <= case.run.steady_tolerance
    has_all_steps = summary.get("steps", 0) >= (case.run.steps or inf) and summary.get("ended") == COMPLETED
    is_ended = is_as_strict and (summary["converged"] or has_all_steps)
    return (summary if is_ended else None), has_checkpoint


def _identity(table: Mapping, free: tuple[str, ...]) -> dict:
    """The entries of a raw case that identify its flow, by name; keys of [lattice] that are free do not."""
    compute = table.get("compute", {})
    own = {f"compute.{key}": compute.get(key) for key in ("precision", "streaming")}
    lattice = {key: value for key, value in table.get("lattice", {}).items() if key not in free}
    return own | {key: value for key, value in table.items() if key not in FREE} | {"lattice": lattice}


def _in_time_of(folder: Path, case: Case) -> Case:
    """The case with the time step of the flow that a folder holds."""
    lattice = read_table(folder / CASE_FILE, tomllib.loads)["lattice"]
    update = {key: lattice.get(key) for key in TIME_STEP}
    return case.model_copy(update={"lattice": case.lattice.model_copy(update=update)})


def keep_contents(folder: Path, case: Case) -> None:
    """Keep the digests of the files that a flow follows from in its folder; on rank 0. Raises OutputError."""
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONTENTS_FILE, json.dumps(case.contents(), indent=1) + "\n")


def other_contents(folder: Path, case: Case) -> list[str]:
    """In words, the files of a case that hold something else than when the flow in a folder began; on rank 0."""
    return changed_contents(read_table(folder / CONTENTS_FILE, json.loads), case.contents())


def read_table(path: Path, parse: Callable[[str], dict]) -> dict:
    """The tables of a file; none without one that can be read."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _watching(case: Case) -> Case:
    """The case with a criterion on k, and no output but that."""
    tolerance = case.run.steady_tolerance or TOLERANCE
    run = case.run.model_copy(update={"steady_watch": ("permeability",), "steady_tolerance": tolerance})
    return case.model_copy(update={"run": run, "output": case.output.model_copy(update=BARE)})


def _looking(simulation: Solver) -> Case:
    """The case with the time between two looks, which follows from the size of the pores; collective."""
    case, time_step_s = simulation.case, simulation.units.time_step_s
    time_s = case.run.steady_time_s
    if time_s is None:
        numerics, wave = simulation.numerics, longest_wave(simulation.header)
        slowest = slowest_steps(mean_pore_size(simulation), numerics.viscosity_lattice, wave)
        time_s = min(SLOWEST * max(slowest), numerics.steps) * time_step_s
    interval = max(case.run.steady_interval_steps, ceil(time_s / time_step_s / LOOKS_PER_TIME))
    looks = {"steady_interval_steps": interval, "steady_time_s": max(time_s, interval * time_step_s)}
    return case.model_copy(update={"run": case.run.model_copy(update=looks)})


def _flow(summary: Mapping, folder: Path) -> Flow:
    record = summary["permeability"]
    known: dict[str, Any] = {field.name: record[field.name] for field in fields(Permeability)}
    known |= {name: inf for name, value in known.items() if value is None and name != "throats"}
    found = Permeability(**known)
    path, looks = folder / SteadyState.file, np.empty((0, 3))
    if path.exists():
        series = read_series(path)
        looks = np.stack([series[f"permeability.{axis}"] for axis in "xyz"], axis=-1)  # mean velocities [m/s]
    limit_m2, unsettled_m2 = _limit_m2(found, looks), _unsettled_m2(found, looks)
    is_settled = bool(summary["converged"]) and limit_m2 >= 0.0  # below it is rounding, however steady
    ended = summary["ended"], is_settled, summary["steps"]
    return Flow(found, *ended, limit_m2, unsettled_m2, summary["n_fluid"], summary["time_step_s"])


def _spaced(looks: np.ndarray) -> np.ndarray:
    """The last three of all looks that lie half the characteristic time apart, or as far as there are; all of less than
    three. Sound hides what looks closer to each other would show of the slowest mode."""
    apart = min(LOOKS_PER_TIME // 2, (len(looks) - 1) // 2)
    return looks[-1 - 2 * apart :: apart] if apart else looks


def _limit_m2(found: Permeability, looks: np.ndarray) -> float:
    """Aitken's limit of k along the force from the last three looks; k itself where they do not converge."""
    if len(looks) < 3:
        return found.permeability_m2
    first, second, third = _spaced(looks) @ np.array(found.acceleration_m_s2)
    step, before = third - second, second - first
    if third <= 0.0 or not 0.0 <= step * before < before**2:
        return found.permeability_m2
    return float(found.permeability_m2 * (third + step**2 / (before - step)) / third)


def _unsettled_m2(found: Permeability, looks: np.ndarray) -> float:
    """The remaining change of k, if changes continue shrinking as the last two did; infinite before that is known."""
    along = _spaced(looks) @ np.array(found.acceleration_m_s2)
    if len(along) < 3 or along[-1] <= 0.0:
        return inf
    before, change = np.diff(along)
    return found.permeability_m2 * rest_of_change(before, change) / float(along[-1])
