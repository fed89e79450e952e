"""Records of beads: temperature, displacement and size of chains over time, and their positions for ParaView."""

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.at_particles import positions_m
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.series_mean import mean_and_error
from muphy_lb.model.model import POSITION
from muphy_lb.output.report_html import ReportPart
from muphy_lb.output.series import read_series
from muphy_lb.physics.particles.base_section import PlaneSection
from muphy_lb.physics.particles.beads.checks import BeadChecks
from muphy_lb.physics.particles.beads.model import Beads
from muphy_lb.physics.particles.beads.motion import FORCE, TRAVELLED, VELOCITY
from muphy_lb.physics.particles.beads.section import BeadsSection
from muphy_lb.physics.particles.beads.start import Topology, unfolded
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.measures import (
    PlaneCounts,
    end_to_end_vector,
    mean_square_displacement,
    radius_of_gyration,
    temperature,
    told,
)
from muphy_lb.physics.particles.openings import BORN, END, UNDER_WAY, WAITING
from muphy_lb.physics.particles.snapshots import ParticleSnapshots

FEWEST_ROWS = 8  # rows from which a mean and its error follow


NARROW = 0.5  # fluid in the narrowest layer, over that of the widest, up to which it is a pore
PORE = "pore"


def pore_of(nodes: NodeList) -> PlaneSection | None:
    """The plane across the narrowest layer of a geometry, whose normal is an axis; None where no layer is much narrower
    than others on both sides, or several apart are the narrowest, as of two pores in series."""
    found: list[tuple[float, int, float]] = []
    for axis, column in enumerate(nodes.coordinates().T):
        counts = np.bincount(column - column.min())
        narrowest = np.flatnonzero(counts == counts.min())
        before, behind = counts[: narrowest[0]], counts[narrowest[-1] + 1 :]
        is_one = np.ptp(narrowest) == narrowest.size - 1
        if is_one and before.size and behind.size and counts.min() <= NARROW * min(before.max(), behind.max()):
            middle = float(column.min()) + 0.5 * float(narrowest[0] + narrowest[-1])
            found.append((counts.min() / counts.max(), axis, middle))
    if not found:
        return None
    _, axis, middle = min(found)
    point_m = np.array(nodes.origin_m) + nodes.spacing_m * nodes.coordinates().mean(axis=0)
    point_m[axis] = nodes.origin_m[axis] + nodes.spacing_m * middle
    return PlaneSection(name=PORE, point_m=triple(point_m.tolist()), normal=triple(np.eye(3)[axis].tolist()))


class ObservedBeads(Protocol):
    """The beads of one table of [[particles]] as their observers see them."""

    name: str
    section: BeadsSection
    topology: Topology
    beads: Beads
    checks: BeadChecks
    mass_kg: float | np.ndarray

    @property
    def passes(self) -> bool:
        """Whether openings let them through."""


def mean_velocity(columns: Mapping[str, np.ndarray], mass: float | np.ndarray) -> np.ndarray:
    """(3,) mean over beads of the velocity with which the last step has moved them to their places, lattice units. The
    velocities of a state hold the whole kick of a step by forces on beads, and none of the friction that balances it:
    friction acts at the start of the next step."""
    velocity = np.array([columns[name].mean() for name in VELOCITY])
    if np.ndim(mass):
        return velocity - 0.5 * np.array([(columns[name] / mass).mean() for name in FORCE])
    return velocity - 0.5 * np.array([columns[name].mean() for name in FORCE]) / mass


class BeadSeries(SeriesObserver):
    """Appends mean temperature, mean square displacement, mean velocity, how many have crossed planes and, of chains,
    mean square radius of gyration and end-to-end distance to ``particles_NAME.csv``."""

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, species: ObservedBeads):
        section = species.section
        self._openings = [opening.name for opening in view.header.openings] if species.passes else []
        pore = pore_of(whole_nodes(view)) if view.communicator.rank == 0 and not section.planes else None
        if pore := view.communicator.broadcast(pore):
            section = section.model_copy(update={"planes": (pore,)})
        self._species, self._has_pore = species, pore is not None
        self._planes = PlaneCounts(section, view.header, view.lattice.dimension)
        self.file = f"particles_{species.name}.csv"
        self.name = f"particles_{species.name}"
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        own = ["temperature_k", "mean_square_displacement_m2", "mean_velocity_m_s", *self._planes.columns()]
        if self._species.passes:
            own += ["waiting", "under_way", *(f"{name}_left" for name in self._openings)]
        return own + (["square_radius_of_gyration_m2", "square_end_to_end_m2"] if self._species.topology.chains else [])

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective. Raises DivergedError: a bead has no finite position or
        velocity, or a bond has broken."""
        particles, view = self._view.particles(), self._view
        if particles is None:
            return None
        columns, units = particles[self._species.name], view.units
        self._species.checks.under_way(columns)
        mass_kg, counts, crossed = self._species.mass_kg, list[float](), self._crossed(columns)
        if self._species.passes:
            end = columns[END]
            counts = [int((end == state).sum()) for state in (WAITING, UNDER_WAY, *range(1, 1 + len(self._openings)))]
            mass_kg = np.broadcast_to(mass_kg, end.size)[end == UNDER_WAY]
            columns = {name: values[end == UNDER_WAY] for name, values in columns.items()}
            if not columns["id"].size:
                return [nan, nan, nan, *crossed, *counts]
        velocity, travelled = (np.stack([columns[name] for name in names], axis=1) for names in (VELOCITY, TRAVELLED))
        velocity_m_s, travelled_m = units.velocity_to_si(velocity), units.spacing_m * travelled
        numbers = [
            temperature(velocity_m_s, mass_kg, view.lattice.dimension),
            float(mean_square_displacement(travelled_m, np.zeros(3))),
            float(np.linalg.norm(units.velocity_to_si(mean_velocity(columns, mass_kg / units.mass_kg)))),
            *crossed,
            *counts,
        ]
        if not self._species.topology.chains:
            return numbers
        chains = [unfolded(columns, ids, view.header) * units.spacing_m for ids in self._species.topology.chains]
        square_radius = np.concatenate([radius_of_gyration(each) ** 2 for each in chains])
        square_ends = np.concatenate([(end_to_end_vector(each) ** 2).sum(axis=1) for each in chains])
        return [*numbers, float(square_radius.mean()), float(square_ends.mean())]

    def _crossed(self, columns: Mapping[str, np.ndarray]) -> list[int]:
        """Number of beads, including those that have left, that have crossed each plane."""
        travelled_m = self._view.units.spacing_m * np.stack([columns[name] for name in TRAVELLED], axis=1)
        return self._planes.numbers(positions_m(self._view.header, columns), travelled_m)

    def finish(self) -> dict | None:
        """The last row as the record for the summary, when the beads went through a pore, and the mean temperature of
        the second half of the rows with its standard error, if there are enough of them."""
        numbers = self.numbers()
        if numbers is None:
            return None
        record: dict[str, float | None] = dict(zip(self.columns(), numbers, strict=True))
        if self._has_pore:
            record |= self._translocation()
        measured = read_series(self._folder / self.file)["temperature_k"]
        measured = measured[measured.size // 2 :]
        measured = measured[np.isfinite(measured)]
        if measured.size < FEWEST_ROWS:
            return record
        mean, error = mean_and_error(measured)
        return record | {"mean_temperature_k": float(mean), "mean_temperature_error_k": float(error)}

    def _translocation(self) -> dict[str, float | None]:
        """When the first bead has crossed the pore, and how long it took until all had [s], to the interval of the
        rows; None for what has not happened."""
        series = read_series(self._folder / self.file)
        through = np.abs(series[f"{PORE}_crossed"])
        first, last = (np.flatnonzero(through >= n) for n in (1, self._species.topology.n_beads))
        began_s = float(series["time_s"][first[0]]) if first.size else None
        took_s = float(series["time_s"][last[0]] - series["time_s"][first[0]]) if last.size else None
        return {"translocation_begins_s": began_s, "translocation_time_s": took_s}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        text = f"beads {self._species.name}: temperature {record['temperature_k']:.4g} K"
        if "mean_temperature_k" in record:
            mean, error = record["mean_temperature_k"], record["mean_temperature_error_k"]
            text += f" (in the second half of the run {mean:.4g} +- {error:.2g} K)"
        text += f", mean square displacement {record['mean_square_displacement_m2']:.4g} m2"
        names = self._planes.columns()
        text += told([record[name] for name in names], names)
        text += "".join(f", {record[f'{name}_left']:,} left through {name}" for name in self._openings)
        took_s = record.get("translocation_time_s")
        return [text + (f", all within {took_s:.4g} s" if took_s is not None else "")]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=((f"temperature of the beads {self._species.name}", record["temperature_k"], "K"),))


class BeadSnapshots(ParticleSnapshots):
    """Writes all beads, with ids and kinds of their file, and their bonds."""

    velocity = VELOCITY
    units = MappingProxyType({BORN: "time steps", END: ""})

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, species: ObservedBeads):
        topology, self._passes = species.topology, species.passes
        super().__init__(view, folder, resume_step, species.section, topology.kinds)
        self._ids, self._bonds, self._kind = topology.ids, topology.bonds, topology.kind_of_bead

    def are_in_flow(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n,) whether each bead has entered and not left."""
        return columns[END] == UNDER_WAY if self._passes else super().are_in_flow(columns)

    def snapshot(self, columns: Mapping[str, np.ndarray]) -> Snapshot:
        """With when they entered, and whether and where they have left; with bonds, but those through a periodic face:
        a line across the whole box would be drawn for them."""
        header = self._view.header
        place = np.stack([columns[v] + columns[o] for v, o in zip(*POSITION, strict=True)], axis=1)
        size = np.where(header.periodic, np.array(header.shape[::-1], float), np.inf)
        start, end = place[self._bonds.T]
        bonds = self._bonds[(np.abs(start - end) < size / 2).all(axis=1)]
        scalars = {name: columns[name] for name in (END, BORN)} if self._passes else {}
        found = replace(super().snapshot(columns), bonds=bonds, kind=self._kind, scalars=scalars)
        return found if self._ids is None else replace(found, id=self._ids, bonds=self._ids[bonds])
