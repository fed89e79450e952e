"""Beads as a species of particles: from a table of the case file to lattice units, and where they start."""

from collections.abc import Callable, Mapping
from math import sqrt
from zlib import crc32

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.domain import streaming_named
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.flow_view import DrawnParticles
from muphy_lb.model.model import POSITION, Value
from muphy_lb.operators import VELOCITY as VELOCITY_GIVEN
from muphy_lb.physics.particles.beads.checks import (
    LEAST_DRAG,
    LONE_MOBILITY,
    STOKES,
    BeadChecks,
    check_reach,
    drifting_friction,
    excess_temperature,
)
from muphy_lb.physics.particles.beads.forces import WCA_RANGE, Interactions
from muphy_lb.physics.particles.beads.model import AT_REST, BOTH, ONE_WAY, Beads, table, with_beads
from muphy_lb.physics.particles.beads.motion import VELOCITY
from muphy_lb.physics.particles.beads.observers import BeadSeries, BeadSnapshots
from muphy_lb.physics.particles.beads.section import (
    MOST_SUBSTEPS,
    BeadsSection,
    BondsSection,
    InflowSection,
    KindSection,
    PullSection,
    RepulsionSection,
)
from muphy_lb.physics.particles.beads.start import (
    AccessibleVolume,
    ChainBuilder,
    angle_tables,
    bond_tables,
    keep_clear,
    topology_of,
    without_effect,
)
from muphy_lb.physics.particles.files.read import read_bonds
from muphy_lb.physics.particles.files.table import ParticleTable
from muphy_lb.physics.particles.openings import BORN, END, UNDER_WAY, WAITING, spread_over_opening
from muphy_lb.physics.particles.species import FluidPlaces, Species, places_in_fluid

#: Distance (voxels) and least energy (lattice units) of the repulsion of walls unless given.
WALL_SIGMA, WALL_ENERGY = 0.5, 1e-5
LARGEST_WALL_SIGMA = 1.0 / WCA_RANGE
LARGEST_CUTOFF = 2.5
STIFFEST = 0.5  # largest angular frequency of a bond times the substep: velocity Verlet is unstable from 2 on
FASTEST = 0.2  # largest thermal speed along an axis, voxels a time step: five times as much would pass a voxel

FEWEST_LEAVING, SHARE_LEAVING = 1024, 16
HALF_A_VOXEL = 0.5
NODES_PER_BEAD = 12  # if a bead has fewer, to take the velocity of all nodes costs less (measured on one H200)


def _rounded(value: float | np.ndarray, real) -> float | np.ndarray:
    """The value in the precision of the flow, in which numbers of a model are."""
    return value.astype(real).astype(np.float64) if isinstance(value, np.ndarray) else float(real(value))


def _range(value: float | np.ndarray) -> str:
    low, high = float(np.min(value)), float(np.max(value))
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def _reach_over_sigma(given: RepulsionSection) -> float:
    """Distance from which on beads do not repel each other, over sigma."""
    if given.potential == "lennard-jones":
        return given.cutoff_m / given.diameter_m if given.cutoff_m else LARGEST_CUTOFF
    return WCA_RANGE if given.potential == "wca" else 1.0


class BeadSpecies(Species[BeadsSection]):
    """Beads of one table of the case file.

    Attributes:
        beads: they, in lattice units.
        topology: their ids, and what is bonded to what.
        mass_kg: their mass [kg], or (n,) that of each by own id.
        checks: of their state.
    """

    kind = "beads"
    moves_fluid = True

    def __init__(self, section, case, header, units):
        super().__init__(section, case, header, units)
        if case.compute.precision == FP16.name:
            raise InputError(
                "compute.precision is 'fp16' with beads, whose forces are lost in it; use 'fp32' or 'fp64'"
            )
        streaming = streaming_named(case.compute.streaming)
        if section.coupling != AT_REST and (streaming.in_place or not streaming.fills_slots):
            raise InputError(
                f"compute.streaming is {case.compute.streaming!r} with the beads {section.name!r}, which need the"
                " velocity of populations before they collide; set compute.streaming = 'pull'"
            )
        self._table = self._read()
        self.topology = topology_of(section, self._table)
        self._check_pull()
        self.mass_kg, self._friction_kg_s = self._of_kinds()
        self.beads = self._in_lattice_units()
        self._check_stiffness()
        self._check_thermal_speed()
        check_reach(self.beads, header)
        self._check_openings()
        self.checks = BeadChecks(self.beads, self.topology.bonds, self.topology.ids, header)

    @property
    def passes(self) -> bool:
        """Whether openings let beads through."""
        return self.section.openings == "open"

    @property
    def _own_number(self) -> int:
        """Sets these beads apart from others with the same seed; below 2^31."""
        return crc32(self.name.encode()) >> 1

    def _read(self) -> ParticleTable | None:
        section, found = self.section, self.listed(velocities=True, time_unit_s=self.section.time_unit_s)
        if found is None or section.bonds_file is None:
            return found
        try:
            return found.with_bonds(read_bonds(self.case.folder / section.bonds_file))
        except InputError as error:
            raise InputError(f"particles.{self.name}.bonds_file: {error}") from error

    def _check_pull(self) -> None:
        """Refuse a pull on beads that are not there, or where there is nothing."""
        pull = self.section.pull
        if pull is None:
            return
        missing = [i for i in pull.ids if not self._is_id(i)]
        if missing:
            raise InputError(f"particles.{self.name}.pull.ids has {missing[0]}, and there is no bead of that id")
        if pull.box_m is None:
            return
        low, high = self._pull_box(pull).reshape(2, 3)
        if (high < -HALF_A_VOXEL).any() or (low > np.array(self.header.shape[::-1]) - HALF_A_VOXEL).any():
            raise InputError(
                f"particles.{self.name}.pull.box_m is {[list(corner) for corner in pull.box_m]}, which is outside the"
                " geometry; move it, or remove it to pull everywhere"
            )

    def _is_id(self, number: int) -> bool:
        ids = self.topology.ids
        return number < self.topology.n_beads if ids is None else number in ids

    def _check_openings(self) -> None:
        """Refuse openings that are not there."""
        section, names = self.section, [opening.name for opening in self.header.openings]
        if section.openings == "open" and not names:
            raise InputError(f"particles.{self.name}.openings is 'open', and there is no opening; remove the key")
        for inflow in section.inflow:
            if inflow.opening not in names:
                raise InputError(
                    f"particles.{self.name}.inflow.opening is {inflow.opening!r}; allowed: {', '.join(names)}"
                )
            if inflow.kind and inflow.kind not in [kind.name for kind in section.kinds]:
                known = ", ".join(kind.name for kind in section.kinds) or "none, as there is no [[particles.kinds]]"
                raise InputError(f"particles.{self.name}.inflow.kind is {inflow.kind!r}; allowed: {known}")

    def _of_kinds(self) -> tuple[float | np.ndarray, float | np.ndarray]:
        """Mass [kg] and friction [kg/s] of all beads, or (n,) of each where there are kinds. Raises InputError: a kind
        has no beads, or a bead two kinds."""
        section, n_beads = self.section, self.topology.n_beads
        mass_kg, friction_kg_s = section.mass_kg, self._friction(section)
        if not section.kinds:
            return mass_kg, friction_kg_s
        masses, frictions = np.full(n_beads, mass_kg), np.full(n_beads, friction_kg_s)
        is_taken = np.zeros(n_beads, dtype=bool)
        for kind in section.kinds:
            chosen = self._beads_of(kind)
            if (is_taken & chosen).any():
                raise InputError(
                    f"particles.{self.name}.kinds.{kind.name} has the bead {self._number(is_taken & chosen)}, which"
                    " another kind has, too; give each bead one kind"
                )
            is_taken |= chosen
            masses[chosen] = kind.mass_kg or mass_kg
            if kind.friction_kg_s or kind.radius_m:
                frictions[chosen] = self._friction(kind)
        return masses, frictions

    def _friction(self, given: BeadsSection | KindSection) -> float:
        """Friction coefficient [kg/s] that a table gives, or that of its radius."""
        if given.friction_kg_s is not None:
            return given.friction_kg_s
        viscosity_pa_s = self.case.fluid.density_kg_m3 * self.case.fluid.viscosity_m2_s
        return STOKES * viscosity_pa_s * (given.radius_m or 0.0)

    def _beads_of(self, kind: KindSection) -> np.ndarray:
        """(n,) mask of the beads of a kind by own id."""
        topology, where = self.topology, f"particles.{self.name}.kinds.{kind.name}"
        if kind.ids:
            if missing := [i for i in kind.ids if not self._is_id(i)]:
                raise InputError(f"{where}.ids has {missing[0]}, and there is no bead of that id")
            own = np.arange(topology.n_beads) if topology.ids is None else topology.ids
            return np.isin(own, kind.ids) | self._enter_as(kind.name)
        if topology.kind_of_bead is None or kind.name not in topology.kinds:
            known = ", ".join(topology.kinds) or "none, as it names no kinds"
            raise InputError(f"{where} has no beads: allowed are the kinds of the file ({known}), or ids of beads")
        return topology.kind_of_bead == topology.kinds.index(kind.name)

    def _enter_as(self, kind: str) -> np.ndarray:
        """(n,) mask of the beads by own id that enter as those of a kind."""
        found, first = np.zeros(self.topology.n_beads, dtype=bool), self._n_at_start
        for inflow in self.section.inflow:
            found[first : first + inflow.count] = inflow.kind == kind
            first += inflow.count
        return found

    @property
    def _n_at_start(self) -> int:
        return self.topology.n_beads - sum(each.count for each in self.section.inflow)

    def _number(self, chosen: np.ndarray) -> int:
        """The id of the first of some beads, for messages."""
        first = int(np.flatnonzero(chosen)[0])
        return first if self.topology.ids is None else int(self.topology.ids[first])

    def _in_lattice_units(self) -> Beads:
        section, units, count = self.section, self.units, self.topology.n_beads
        real = PRECISIONS[self.case.compute.precision].real
        temperature = self.case.fluid.temperature_k or 0.0
        kt = BOLTZMANN_J_K * temperature / units.energy_j
        kinds, constants, reach = self._interactions(kt)
        return Beads(
            self.name,
            count,
            mass=_rounded(self.mass_kg / units.mass_kg, real),
            friction=_rounded(self._friction_kg_s * units.time_step_s / units.mass_kg, real),
            kt=kt,
            seed=section.seed ^ self._own_number << 32,
            kernel=section.kernel,
            coupling=section.coupling,
            substeps=section.substeps,
            interactions=kinds,
            constants=constants,
            range=reach,
            capacity=min(section.capacity or count, count),
            leaving=max(FEWEST_LEAVING, count // SHARE_LEAVING),
            many=count * NODES_PER_BEAD > self.header.n_nodes,
        )

    def _interactions(self, kt: float) -> tuple[Interactions, Mapping[str, Value], float]:
        """Kinds, constants and range of the conservative forces."""
        section, units, topology = self.section, self.units, self.topology
        stiffness = units.force_n / units.spacing_m
        constants, reach = self._wall_constants(kt), 1.0
        if section.bonds is not None:
            start, partner = bond_tables(topology.n_beads, topology.bonds)
            constants |= {"bond_start": table(start, np.int64), "bond_partner": table(partner, np.int64)}
            constants |= {"bond_a": section.bonds.stiffness_n_m / stiffness}
            constants |= {"bond_b": section.bonds.length_m / units.spacing_m}
        has_bends = len(topology.angles) > 0 and section.bending_j is not None
        if has_bends:
            start, ids = angle_tables(topology.n_beads, topology.angles)
            constants |= {"bend_start": table(start, np.int64), "bend_ids": table(ids, np.int64)}
            constants |= {"bend_a": (section.bending_j or 0.0) / units.energy_j}
        if section.repulsion is not None:
            sigma = section.repulsion.diameter_m / units.spacing_m
            constants |= {"pair_a": section.repulsion.energy_j / units.energy_j, "pair_b": sigma}
            reach = sigma * _reach_over_sigma(section.repulsion)
        if section.pull is not None:
            own = np.arange(topology.n_beads) if topology.ids is None else topology.ids
            pulled = np.isin(own, section.pull.ids) if section.pull.ids else np.ones(topology.n_beads, bool)
            constants |= {"pulled": table(pulled, np.uint8)}
            constants |= {"pull": table(np.array(section.pull.force_n) / units.force_n)}
            constants |= {"pull_box": table(self._pull_box(section.pull))}
        kinds = Interactions(
            bonds=section.bonds.potential if section.bonds else "",
            pairs=section.repulsion.potential if section.repulsion else "",
            bends=has_bends,
            walls=True,
            pulls=section.pull is not None,
            passes=self.passes,
        )
        return kinds, constants, reach

    def _pull_box(self, pull: PullSection) -> np.ndarray:
        """(6,) lowest and highest corner of the box in which the pull acts, voxels."""
        if pull.box_m is None:
            return np.repeat([-np.inf, np.inf], 3)
        return ((np.array(pull.box_m) - self.header.origin_m) / self.header.spacing_m).reshape(-1)

    def _wall_constants(self, kt: float) -> dict[str, Value]:
        given, units = self.section.wall_force, self.units
        energy, sigma = max(kt, WALL_ENERGY), WALL_SIGMA
        if given is not None:
            energy, sigma = given.energy_j / units.energy_j, given.distance_m / units.spacing_m
        if sigma > LARGEST_WALL_SIGMA:
            raise InputError(
                f"particles.{self.name}.wall_force.distance_m is {sigma * units.spacing_m:g}, {sigma:.3g} voxels;"
                f" allowed: at most {LARGEST_WALL_SIGMA * units.spacing_m:.4g} m, since walls are felt from the next"
                " voxel on"
            )
        return {"wall_a": energy, "wall_b": sigma, "wall_range2": (WCA_RANGE * sigma) ** 2}

    def _check_stiffness(self) -> None:
        """Refuse bonds that swing too fast for the substep."""
        if not self.beads.interactions.bonds:
            return
        # Two beads at the ends of a spring swing with sqrt(2 k / m); in a chain up to twice that of one bead.
        lightest = float(np.min(self.beads.mass))
        frequency = 2.0 * sqrt(float(self.beads.constants["bond_a"]) / lightest)  # type: ignore[arg-type]
        substeps = int(np.ceil(frequency / STIFFEST))
        if substeps > self.beads.substeps:
            more = f"set substeps = {substeps}, or take" if substeps <= MOST_SUBSTEPS else "take"
            raise InputError(
                f"particles.{self.name}.bonds: they swing with {frequency:.3g} radians a time step; allowed: {STIFFEST}"
                f" a substep: {more} softer bonds, heavier beads or a smaller time step"
            )

    def _check_thermal_speed(self) -> None:
        """Refuse beads that their temperature alone moves a voxel a time step."""
        beads, units = self.beads, self.units
        speed = sqrt(beads.kt / float(np.min(beads.mass)))
        if speed > FASTEST:
            raise InputError(
                f"particles.{self.name}: at fluid.temperature_k = {self.case.fluid.temperature_k:g} beads of"
                f" {float(np.min(self.mass_kg)):g} kg move with {units.velocity_to_si(speed):.3g} m/s along each axis"
                f" on average, {speed:.3g} voxels a time step; allowed: at most {FASTEST}: take heavier beads, or a"
                f" time step of at most {units.time_step_s * FASTEST / speed:.3g} s (lattice.time_step_s)"
            )

    def extend(self, flow):
        """The flow with these beads."""
        return with_beads(flow, self.beads)

    def start(self, view) -> dict[str, np.ndarray]:
        """Initial positions, with velocities of the beads' temperature."""
        random, beads = np.random.default_rng([self.section.seed, self._own_number]), self.beads
        dimension = lattice_named(self.case.lattice.name).dimension
        voxel, offset = self._places(view, random, dimension)
        self.checks.at_start(voxel, offset)
        entering = [self._entering(view, each, random, dimension) for each in self.section.inflow]
        born = np.concatenate([np.full(len(voxel), -1), *(each[0] for each in entering)])
        voxel, offset = (np.concatenate([own, *(each[k] for each in entering)]) for k, own in ((1, voxel), (2, offset)))
        thermal = np.sqrt(beads.kt / np.broadcast_to(self.mass_kg / self.units.mass_kg, beads.count))[:, None]
        speed = thermal * random.standard_normal((beads.count, 3))
        if self._table is not None and self._table.velocity_m_s is not None:
            given = self.units.velocity_to_lattice(self._table.velocity_m_s[np.argsort(self._table.id)])
            self.checks.speed_at_start(given, self.units)
            speed[: len(given)] = given
        speed = speed * (np.arange(3) < dimension)
        columns = {"id": np.arange(beads.count)}
        for names, values in zip((*POSITION, VELOCITY), (voxel, offset, speed), strict=True):
            columns |= dict(zip(names, values.T, strict=True))
        if self.passes:
            columns |= {BORN: born, END: np.where(born < 0, UNDER_WAY, WAITING)}
        return columns

    def _entering(self, view, inflow: InflowSection, random, dimension: int) -> tuple[np.ndarray, ...]:
        """The steps at which beads of an inflow enter, their voxels and offsets."""
        volume = AccessibleVolume(view.nodes, dimension, openings=True)
        places = spread_over_opening(view, inflow.opening, inflow.count, random, volume.contains)
        per_step = self._rate_per_s(view, inflow) * self.units.time_step_s
        return self.units.time_to_steps(inflow.start_s) + np.floor(np.arange(inflow.count) / per_step), *places

    def _rate_per_s(self, view, inflow: InflowSection) -> float:
        """How many beads enter in a second. Raises InputError: no fluid enters through the opening, or its flow rate is
        not known beforehand."""
        number = [opening.name for opening in self.header.openings].index(inflow.opening)
        condition, frame = view.conditions[number], view.frames[number]
        changes = any(each.name == inflow.opening and each.waveform for each in self.case.openings)
        is_known = condition.kind == VELOCITY_GIVEN and condition.feedback is None and not changes
        if is_known and condition.value <= 0.0:
            raise InputError(
                f"particles.{self.name}.inflow.opening is {inflow.opening!r}, and its velocity of"
                f" {self.units.velocity_to_si(condition.value):g} m/s lets no fluid enter; take an opening with a"
                " positive velocity"
            )
        if inflow.rate_per_s is not None:
            return inflow.rate_per_s
        if not is_known:
            raise InputError(
                f"particles.{self.name}.inflow.concentration_per_m3 is given at the opening {inflow.opening!r}, whose"
                " velocity is not constant, or not given; give rate_per_s, or a velocity_m_s without a waveform"
            )
        flow_m3_s = self.units.velocity_to_si(condition.value) * frame.area * self.units.spacing_m**2
        return (inflow.concentration_per_m3 or 0.0) * flow_m3_s

    def _places(self, view, random, dimension: int) -> tuple[np.ndarray, np.ndarray]:
        section, nodes = self.section, view.nodes
        if self._n_at_start == 0:
            return np.empty((0, 3), np.int64), np.empty((0, 3))
        if self._table is not None:
            order = np.argsort(self._table.id)
            located = lambda row: self._table.location(order[row])  # noqa: E731
            return places_in_fluid(nodes, self._table.position_m[order], located)
        volume = AccessibleVolume(nodes, dimension)
        if section.count is not None:
            voxel, offset = FluidPlaces(nodes, section.box_m, section.name).draw(section.count, random)
            return voxel, keep_clear(volume, voxel, offset, random)
        first = self._first_of_chain(nodes, random)
        place = np.concatenate([self._chain(first, volume, random) for _ in range(section.chains or 0)])
        position_m = np.asarray(nodes.origin_m) + nodes.spacing_m * place
        return places_in_fluid(nodes, position_m, lambda row: f"particles.{self.name}, bead {row}")

    def _first_of_chain(self, nodes, random) -> Callable[[], np.ndarray]:
        """A function that proposes where a chain begins, voxels."""
        section = self.section
        if section.start_m is not None:
            places_in_fluid(nodes, np.array([section.start_m]), lambda row: f"particles.{self.name}.start_m")
            given = (np.array(section.start_m) - nodes.origin_m) / self.units.spacing_m
            return lambda: given
        places = FluidPlaces(nodes, section.box_m, section.name)
        return lambda: np.add(*places.draw(1, random))[0]

    def _chain(self, first: Callable[[], np.ndarray], volume: AccessibleVolume, random) -> np.ndarray:
        """(length, 3) positions of one chain, voxels."""
        section, spacing_m = self.section, self.units.spacing_m
        bond = self._starting_bond(section.bonds) if section.bonds else 0.0
        apart = 0.9 * section.repulsion.diameter_m / spacing_m if section.repulsion else 0.0
        builder = ChainBuilder(volume, bond, min(apart, 0.95 * bond), random)
        length = section.beads_per_chain or 0
        return builder.line(first, length) if section.start == "line" else builder.walk(first, length)

    def _starting_bond(self, bonds: BondsSection) -> float:
        """Length of bonds at the start, voxels: near the minimum of their energy."""
        repulsion, spacing_m = self.section.repulsion, self.units.spacing_m
        if bonds.potential == "fene":
            near = repulsion.diameter_m if repulsion else 0.5 * bonds.length_m
            return min(near, 0.8 * bonds.length_m) / spacing_m
        thermal = sqrt(3.0 * self.beads.kt / float(self.beads.constants["bond_a"]))  # type: ignore[arg-type]
        return bonds.length_m / spacing_m or min(thermal, 1.0) or 0.5

    @property
    def drawn(self) -> DrawnParticles:
        """Beads to draw: all in the flow, with their bonds."""
        drawn = super().drawn._replace(bonds=self.topology.bonds)
        return drawn._replace(columns=(END,), are_drawn=lambda end: end == UNDER_WAY) if self.passes else drawn

    def describe(self) -> str:
        """Their number, friction and forces."""
        beads, kinds = self.beads, self.beads.interactions
        text = (
            f"{beads.count:,} beads {self.name}: in lattice units friction {_range(beads.friction)}, mass"
            f" {_range(beads.mass)}"
        )
        text += f", kT {beads.kt:.4g}"
        forces = [
            name for name in (kinds.bonds and f"{kinds.bonds} bonds", kinds.pairs, kinds.bends and "bending") if name
        ]
        text += f", {', '.join(forces)}" if forces else ""
        text += ", in a fluid taken to rest" if beads.coupling == AT_REST else ""
        if self.passes:
            entering = sum(each.count for each in self.section.inflow)
            return f"{text}; {entering:,} of them enter through openings"
        return text + ("; openings are walls to them" if self.header.openings else "")

    def warnings(self) -> tuple[str, ...]:
        """Warnings of their file, of beads without a temperature, and of the temperature that the fluid gives them."""
        told = list(self.box_warnings(self._table))
        told += [] if self._table is None else list(without_effect(self.section, self._table))
        if self.beads.kt == 0.0:
            told.append("without fluid.temperature_k beads do not diffuse; give it, unless they shall only drift")
        told += self._heated_by_fluid() + self._smaller_than_asked()
        if len(self.topology.bonds) and not self.topology.chains:
            told.append("some bonds make rings or branches, so the sizes of chains are not reported")
        return tuple(told)

    def _heated_by_fluid(self) -> list[str]:
        """A warning if a fluctuating fluid, which does not notice, makes the beads too hot."""
        beads, case, kelvin = self.beads, self.case, self.case.fluid.temperature_k
        if beads.coupling != ONE_WAY or not kelvin or getattr(case, "fluctuating", None) is None:
            return []
        viscosity = float(self.units.viscosity_to_lattice(case.fluid.viscosity_m2_s))
        dimension = lattice_named(case.lattice.name).dimension
        both = np.stack(np.broadcast_arrays(np.atleast_1d(beads.friction), beads.mass), axis=1)
        excess = max(
            excess_temperature(friction, mass, viscosity, beads.kernel, dimension)
            for friction, mass in np.unique(both, axis=0).tolist()
        )
        return [
            f"they become about {100.0 * excess:.2g} % hotter than the fluid, {kelvin * (1.0 + excess):.4g} K instead"
            f" of {kelvin:.4g} K: with coupling = {ONE_WAY!r} the fluctuations of the fluid drive them beside their own"
            f" noise; set coupling = {BOTH!r}, or remove [fluctuating]"
        ]

    def _smaller_than_asked(self) -> list[str]:
        """A warning if beads with a radius, which drag the fluid along, drift through it as much smaller spheres."""
        beads, section, case = self.beads, self.section, self.case
        radius_m = max(section.radius_m or 0.0, *(kind.radius_m or 0.0 for kind in section.kinds), 0.0)
        if beads.coupling != BOTH or radius_m == 0.0 or lattice_named(case.lattice.name).dimension == 2:
            return []
        friction = STOKES * radius_m / self.header.spacing_m
        drag = drifting_friction(friction, beads.kernel)
        if drag > LEAST_DRAG * friction:
            return []
        pascal_m_s = case.fluid.density_kg_m3 * case.fluid.viscosity_m2_s * self.header.spacing_m
        needed = 1.0 / friction - LONE_MOBILITY[beads.kernel]
        remedy = "set coupling = 'one-way', if they need not act on the fluid, or take larger voxels"
        if needed > 0.0:
            remedy = f"set friction_kg_s = {pascal_m_s / needed:.4g} in place of radius_m"
        return [
            f"far from walls they drift as spheres of {radius_m * drag / friction:.3g} m, not of radius_m ="
            f" {radius_m:.3g} m: the fluid that a bead drags along moves with it; {remedy}"
        ]

    def observers(self, view, folder, resume_step):
        """Their time series, and their positions if wanted."""
        series = (BeadSeries(view, folder, resume_step, self),)
        if not self.section.snapshots_every_steps:
            return series
        return (*series, BeadSnapshots(view, folder, resume_step, self))
