"""What a run leaves behind: fields, series, picture and summary, written from a simulation's answers.

Writers are called on every rank, because the simulation's fields are collective; rank 0 writes.
"""

import resource
import sys
from dataclasses import asdict
from math import nan
from pathlib import Path

from muphy_lb.output.region import chosen_nodes, nodes_in_box
from muphy_lb.output.series import CsvSeries
from muphy_lb.output.summary import flow_split, pressure_drops_pa, write_summary
from muphy_lb.output.vtkhdf import VtkHdfSeries

FIELDS_FILE = "fields.vtkhdf"
SERIES_FILE = "openings.csv"
WALLS_FILE = "walls.csv"
STEADY_FILE = "steady.csv"
PICTURE_FILE = "picture.png"
TEMPERATURE_FILE = "temperature.png"
SUMMARY_FILE = "summary.json"
RESULT_FILES = (FIELDS_FILE, SERIES_FILE, WALLS_FILE, STEADY_FILE, PICTURE_FILE, TEMPERATURE_FILE, SUMMARY_FILE)
WALL_COLUMNS = (
    *(f"force_{axis}_n" for axis in "xyz"),
    *(f"torque_{axis}_n_m" for axis in "xyz"),
    "drag_coefficient",
    "lift_coefficient",
)
FIELD_UNITS = {"density": "kg/m3", "velocity": "m/s", "pressure": "Pa", "temperature": "K"}


class FieldWriter:
    """Appends snapshots to ``fields.vtkhdf``."""

    def __init__(self, simulation, folder: Path, resume_step: int | None):
        self.every = simulation.case.output.fields_every_steps
        self._simulation = simulation
        self._names = simulation.case.output.fields + (("temperature",) if simulation.heating else ())
        self._written_step = resume_step
        self._series = None
        if simulation.communicator.rank == 0:
            text, nodes = simulation.case.to_toml(folder), self._nodes()
            self._series = VtkHdfSeries(folder / FIELDS_FILE, nodes, text, FIELD_UNITS, resume_step=resume_step)

    def _nodes(self):
        """The nodes to write; ``_kept`` says where they are in the node list."""
        nodes, region_m = self._simulation.nodes, self._simulation.case.output.region_m
        if region_m is None:
            self._kept = slice(None)
            return nodes
        self._kept = nodes_in_box(nodes, region_m)
        return chosen_nodes(nodes, nodes.voxel[self._kept])

    def act(self) -> None:
        """Write one snapshot, unless this step has one."""
        simulation = self._simulation
        if simulation.step_number == self._written_step:
            return
        self._written_step = simulation.step_number
        if simulation.outline.walls:
            simulation.wall_forces()  # while the step before is still there; the answer is kept
        density_si = simulation.units.density_kg_m3
        makers = {
            "density": lambda: _scaled(simulation.density(), density_si),
            "velocity": simulation.velocity_m_s,
            "pressure": simulation.pressure_pa,
            "temperature": simulation.temperature_k,
        }
        fields = {name: makers[name]() for name in self._names}
        if self._series:
            kept = {name: values[self._kept] for name, values in fields.items()}
            self._series.append(simulation.time_s, simulation.step_number, kept)


class SeriesWriter:
    """Appends rows of named numbers to a CSV file; subclasses say which."""

    file: str

    def __init__(self, simulation, folder: Path, resume_step: int | None):
        self.every = simulation.case.output.series_every_steps
        self._simulation = simulation
        self._written_step = resume_step
        self._series = None
        if simulation.communicator.rank == 0:
            self._series = CsvSeries(folder / self.file, ("step", "time_s", *self.columns()), resume_step)

    def columns(self) -> list[str]:
        """Names behind step and time."""
        raise NotImplementedError

    def numbers(self) -> list[float] | None:
        """One number a column, on rank 0; collective."""
        raise NotImplementedError

    def act(self) -> None:
        """Write one row, unless this step has one."""
        if self._simulation.step_number == self._written_step:
            return
        self._written_step = self._simulation.step_number
        numbers = self.numbers()
        if self._series:
            row = {"step": self._simulation.step_number, "time_s": self._simulation.time_s}
            self._series.append(row | dict(zip(self.columns(), numbers, strict=True)))


class OpeningWriter(SeriesWriter):
    """Appends flow rate and pressure of every opening to ``openings.csv``."""

    file = SERIES_FILE

    def columns(self) -> list[str]:
        """Flow rate and pressure of each opening."""
        openings = self._simulation.outline.openings
        return [f"{opening.name}_{quantity}" for opening in openings for quantity in ("flow_rate_m3_s", "pressure_pa")]

    def numbers(self) -> list[float] | None:
        """Their values."""
        states = self._simulation.openings()
        return states and [x for state in states.values() for x in (state.flow_rate_m3_s, state.mean_pressure_pa)]


class WallWriter(SeriesWriter):
    """Appends force and torque on every labelled wall to ``walls.csv``, each the mean of two consecutive steps."""

    file = WALLS_FILE

    def columns(self) -> list[str]:
        """Force, torque and coefficients of each wall."""
        return [f"{wall.name}_{quantity}" for wall in self._simulation.outline.walls for quantity in WALL_COLUMNS]

    def numbers(self) -> list[float] | None:
        """Their values; not a number for a coefficient without reference values."""
        walls = self._simulation.wall_forces()
        return walls and [x for wall in walls.values() for x in self._of(wall)]

    @staticmethod
    def _of(wall) -> tuple[float, ...]:
        coefficients = (nan if c is None else c for c in (wall.drag_coefficient, wall.lift_coefficient))
        return (*wall.force_n, *wall.torque_n_m, *coefficients)


class SteadyWriter:
    """Appends what the steady-state criterion looks at, and how much it changed, to ``steady.csv``; on rank 0."""

    def __init__(self, simulation, folder: Path, resume_step: int | None):
        self._simulation, self._path, self._resume_step = simulation, folder / STEADY_FILE, resume_step
        self._series = None

    def write(self, groups: dict[str, dict[str, float]], change: float) -> None:
        """One row: the quantities by group and name, and their largest relative change."""
        values = {f"{group}.{name}": value for group, row in groups.items() for name, value in row.items()}
        if self._series is None:
            self._series = CsvSeries(self._path, ("step", "time_s", *values, "change"), self._resume_step)
        place = {"step": self._simulation.step_number, "time_s": self._simulation.time_s}
        self._series.append(place | values | {"change": change})


def draw_picture(simulation, folder: Path) -> None:
    """Draw the speed on the vessel and on a cut, and of a thermal flow the temperature on the same cut."""
    from muphy_lb.output.pictures.vessel import draw_vessel
    from muphy_lb.physics.thermal.picture import draw_temperature

    velocity = simulation.velocity_m_s()
    temperature_k = simulation.temperature_k() if simulation.heating else None
    if velocity is None:
        return
    nodes, title = simulation.nodes, simulation.case.title
    speed = (velocity**2).sum(axis=1) ** 0.5
    draw_vessel(folder / PICTURE_FILE, nodes, speed, title, telling=temperature_k)
    if temperature_k is not None:
        draw_temperature(folder / TEMPERATURE_FILE, nodes, temperature_k, title)


def summarise(simulation, folder: Path, speed: dict, outcome: dict) -> dict | None:
    """Write ``summary.json`` and return its record on rank 0."""
    walls = simulation.wall_forces() if simulation.outline.walls else {}
    openings, health = simulation.openings(), simulation.health()
    peak_memory_mib = simulation.communicator.gather(process_peak_mib())
    if simulation.communicator.rank:
        return None
    compute, numerics = simulation.case.compute, simulation.numerics
    record = {
        "title": simulation.case.title,
        "ranks": simulation.communicator.size,
        "backend": simulation.engine.backend.name,
        "device": simulation.engine.backend.device,
        "precision": compute.precision,
        "streaming": compute.streaming,
        "lattice": simulation.lattice.name,
        "collision": simulation.engine.model.collision.name,
        "walls_rule": simulation.case.lattice.walls,
        "n_fluid": simulation.outline.n_nodes,
        "spacing_m": simulation.outline.spacing_m,
        "time_step_s": simulation.units.time_step_s,
        "relaxation_time": numerics.relaxation_time,
        "steps": simulation.step_number,
        "time_s": simulation.time_s,
        **speed,
        "peak_memory_mib": peak_memory_mib,
        "mass_relative_drift": health.mass_drift,
        "max_velocity_m_s": simulation.units.velocity_to_si(health.max_speed),
        "mean_velocity_m_s": simulation.units.velocity_to_si(health.mean_speed),
        **outcome,
        "case_toml": simulation.case.to_toml(folder),
        **_of_openings({name: asdict(state) for name, state in openings.items()}),
        "walls": {name: asdict(force) for name, force in walls.items()},
    }
    write_summary(folder / SUMMARY_FILE, record)
    return record


def _of_openings(states: dict) -> dict:
    return {"openings": states, "flow_split": flow_split(states), "pressure_drops_pa": pressure_drops_pa(states)}


def process_peak_mib() -> float:
    """Most memory that this process has held so far [MiB], libraries and compiler included."""
    per_unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * per_unit / 2**20


def _scaled(values, scale):
    return None if values is None else values * scale
