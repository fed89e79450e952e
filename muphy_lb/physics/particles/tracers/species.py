"""Tracers as a species of particles, and where they start at an opening."""

from math import sqrt

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.lattice.layout import RECORD
from muphy_lb.measure.flow_view import DrawnParticles
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    AT_NEIGHBOURS,
    LOOKUP,
    MIGRATE,
    POSITION,
    STEP,
    Field,
    FieldValue,
    ParticleSet,
    Stage,
    Value,
)
from muphy_lb.operators import STORE_VECTOR, VELOCITY_VECTOR
from muphy_lb.operators.philox import LARGEST_NUMBER
from muphy_lb.physics.particles.openings import BORN, END, STUCK, UNDER_WAY, WAITING, spread_over_opening
from muphy_lb.physics.particles.species import FluidPlaces, Species, places_in_fluid
from muphy_lb.physics.particles.tracers.observers import TracerSeries, TracerSnapshots
from muphy_lb.physics.particles.tracers.section import TracersSection
from muphy_lb.physics.particles.tracers.walk import COLUMNS, INTEGERS, ORIGIN, REALS, VALUES, walk

COST = 2.5  # of a step, in steps of a node: measured on a core, D3Q19, fp32
#: Distance, over that of a random step (sqrt(2 D)), by which walls that stick seem further away than they are, since
#: tracers meet them at the ends of steps: sqrt(3) times 0.29795 for uniform jumps (Comtet, Majumdar, J. Stat. Mech.
#: (2005) P06013, from memory; measured between plates).
OVERSHOOT = 0.516
MOST_OVERSHOOT = 0.1  # voxels, from which it is told
FEWEST_LEAVING, SHARE_LEAVING = 1024, 8
#: A node, by dimension: blocks of 10^3 entries, which have nodes in one layer of 8^2, or in half of 8^3 voxels.
BYTES_OF_LOOKUP = {2: 63.0, 3: 16.0}


class Tracers(Species[TracersSection]):
    """Tracers of one table of the case file.

    Attributes:
        count: their number.
        diffusivity: in lattice units.
    """

    kind = "tracers"

    def __init__(self, section, case, header, units):
        super().__init__(section, case, header, units)
        names = [opening.name for opening in header.openings]
        if section.opening is not None and section.opening not in names:
            raise InputError(
                f"particles.{self.name}.opening is {section.opening!r}; allowed: {', '.join(names) or 'no opening'}"
            )
        self._table = self.listed(velocities=False)
        self.count = section.count if self._table is None else self._table.n_particles
        self.diffusivity = units.viscosity_to_lattice(section.diffusivity_m2_s)
        self._check_longest_step()

    def _check_longest_step(self) -> None:
        """Refuse steps longer than a voxel, in which a tracer could pass through a wall."""
        speed = self.case.run.max_mach / sqrt(3.0)
        largest = (1.0 - speed) ** 2 / (2.0 * LARGEST_NUMBER**2)
        if self.diffusivity > largest:
            time_step_s = 0.999 * self.units.time_step_s * largest / self.diffusivity  # three digits are shown
            longest = LARGEST_NUMBER * sqrt(2.0 * self.diffusivity)
            raise InputError(
                f"particles.{self.name}.diffusivity_m2_s is {self.section.diffusivity_m2_s:g}: tracers then walk up to"
                f" {longest:.3g} voxels at random in a time step, and with a flow of up"
                f" to {speed:.3g} (run.max_mach) more than one; take a time step of at most {time_step_s:.3g} s"
                " (lattice.time_step_s), or larger voxels"
            )

    @classmethod
    def bytes_per_node(cls, section, case, lattice) -> float:
        """Memory of the stored velocity, and of what is at each voxel."""
        real = PRECISIONS[case.compute.precision].real
        return RECORD * np.dtype(real).itemsize + BYTES_OF_LOOKUP[lattice.dimension]

    def extend(self, flow):
        """The flow, with tracers behind its collision."""
        number = len(flow.particles)
        seed = np.int64(self.section.seed ^ number << 32)
        return with_tracers(flow, self.name, self.count, self.diffusivity, seed, self.section.walls == "stick")

    def start(self, view) -> dict[str, np.ndarray]:
        """Initial positions and start times."""
        section, count = self.section, self.count
        random = np.random.default_rng(section.seed)
        identity = np.arange(count)
        if self._table is not None:
            identity = self._table.id
            voxel, offset = places_in_fluid(view.nodes, self._table.position_m, self._table.location)
        elif section.opening is not None:
            voxel, offset = spread_over_opening(view, section.opening, count, random)
        else:
            voxel, offset = FluidPlaces(view.nodes, section.box_m, section.name).draw(count, random)
        born = np.full(count, self.units.time_to_steps(section.start_s))
        if section.rate_per_s is not None:
            born += np.floor(np.arange(count) / (section.rate_per_s * self.units.time_step_s)).astype(np.int64)
        columns = {"id": identity, BORN: born, END: np.full(count, WAITING)}
        columns |= dict(zip(ORIGIN, (voxel + offset).T, strict=True))
        for names, values in zip(POSITION, (voxel, offset), strict=True):
            columns |= dict(zip(names, values.T, strict=True))
        return columns

    def warnings(self) -> tuple[str, ...]:
        """The box of their file, and that none of them starts before the run ends."""
        told = tuple(self.box_warnings(self._table))
        lag, most_s = OVERSHOOT * sqrt(2.0 * self.diffusivity), self.units.time_step_s
        if self.section.walls == "stick" and lag > MOST_OVERSHOOT:
            told += (
                f"tracers {self.name} meet walls at the ends of steps, which delays those that stick as if every wall"
                f" lay {lag:.2g} voxels further away; a time step of {most_s * (MOST_OVERSHOOT / lag) ** 2:.2g} s makes"
                f" that {MOST_OVERSHOOT:g}",
            )
        run, start_s = self.case.run, self.section.start_s
        end_s = run.time_s or (run.steps or 0) * self.units.time_step_s
        if start_s < end_s:
            return told
        return (*told, f"start_s is {start_s:g}, and the run ends at {end_s:.4g} s: none of these tracers starts")

    def observers(self, view, folder, resume_step):
        """Their time series, and their positions if wanted."""
        series = (TracerSeries(view, folder, resume_step, self.section),)
        if not self.section.snapshots_every_steps:
            return series
        return (*series, TracerSnapshots(view, folder, resume_step, self.section))

    @property
    def drawn(self) -> DrawnParticles:
        """The tracers that have started and not left."""
        are_there = lambda end: (end == UNDER_WAY) | (end == STUCK)  # noqa: E731
        return super().drawn._replace(columns=(END,), are_drawn=are_there)

    def describe(self) -> str:
        """Their number, and how they move."""
        text = f"{self.count:,} tracers {self.name}"
        if self.diffusivity:
            text += f", diffusivity {self.diffusivity:.4g} in lattice units"
        return text + (", which stick to walls" if self.section.walls == "stick" else "")


def _are_active(end: np.ndarray, born: np.ndarray) -> np.ndarray:
    """(n,) which tracers are under way, or start at once."""
    return (end == UNDER_WAY) | ((end == WAITING) & (born <= 0))


def with_tracers(flow: Flow, name: str, count: int, diffusivity: float, seed: int, sticks: bool = False) -> Flow:
    """The flow with tracers behind its collision. ``diffusivity``: in lattice units; ``seed``: chooses their random
    walk."""
    columns = {each: FieldValue(f"{name}.{each}") for each in COLUMNS}
    velocity = {VELOCITY_VECTOR: FieldValue(VELOCITY_VECTOR)}
    given: dict[str, Value] = {
        "lookup": LOOKUP,
        "step": STEP,
        "seed": np.int64(seed),
        "amplitude": sqrt(2.0 * diffusivity),
    }
    reads = (VELOCITY_VECTOR + AT_NEIGHBOURS,)
    operator = walk(sticks, flow.lattice.dimension)
    walking = Stage(f"walk {name}", (operator,), given | columns | velocity, reads, over=name, kernel=MIGRATE)
    leaving = max(FEWEST_LEAVING, count // SHARE_LEAVING)
    return (
        flow.observed_by(STORE_VECTOR, velocity)
        .with_fields(Field(VELOCITY_VECTOR, is_vector=True, corners=True))
        .with_stages(after=(walking,))
        .with_particles(
            ParticleSet(name, count, INTEGERS, REALS, VALUES, leaving, cost=COST, active=((END, BORN), _are_active))
        )
    )
