"""Two fluids as a physics package (:mod:`muphy_lb.physics.package`)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.base.units import Units, relaxation_time
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.case import Case
from muphy_lb.case.output import GRADIENT, STRESS_NAMES
from muphy_lb.domain import LocalDomain, check_dimension
from muphy_lb.domain.streaming import streaming_named
from muphy_lb.domain.wall_shapes import BEND, WALL_NORMAL, BesideWalls
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, within
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.displacement import Displacement
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField, ProbedScalar, on_root, whole_nodes
from muphy_lb.measure.permeability import nodes_in_rock
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import AT_NEIGHBOURS, Field, FieldValue, Stage, Value, Where
from muphy_lb.operators import MOMENTUM_FIELDS
from muphy_lb.parallel import NodeGather, agreed_on_root
from muphy_lb.physics.package import Physics
from muphy_lb.physics.two_fluid.amounts import ADVANCE, INTEGERS, KEPT_BACK, OPENING, PLATE, UNITS, WALL, mixing
from muphy_lb.physics.two_fluid.momentum import MIXTURE, SECOND_ACCELERATION, SURFACE_FORCE, WEIGHT
from muphy_lb.physics.two_fluid.narrow import EARLIER, NARROW, STORE_CARRYING, narrow_nodes
from muphy_lb.physics.two_fluid.observers import FLOWS, TwoFluidSeries, second_saturation
from muphy_lb.physics.two_fluid.operators import (
    COSINE,
    DRAW,
    DRIFT,
    ENTERING,
    FIRST,
    INTERFACE,
    MIXING,
    NEW_FIRST,
    NEW_MIXING,
    NEW_SECOND,
    NO_NODE,
    NO_NORMAL,
    NORMAL,
    NOWHERE,
    ORIENT,
    PHASE,
    SECOND,
    STEEP,
    STEEPNESS,
    STRENGTH,
    TENSION,
    WIDER_PHASE,
)
from muphy_lb.physics.two_fluid.section import PHASE_FIELD, SHARE_FIELD
from muphy_lb.physics.two_fluid.start import exchanged, widest_pores
from muphy_lb.physics.two_fluid.structure import COLUMNS as SHAPE
from muphy_lb.physics.two_fluid.structure import parts_of, structure
from muphy_lb.physics.two_fluid.walls import NO_ROOM, narrow_share, wall_normals
from muphy_lb.setup.force import uniform_acceleration_m_s2
from muphy_lb.setup.input_fields import Wanted, read_field
from muphy_lb.setup.numerics import MAX_RELAXATION_TIME

COLLISIONS = ("trt", "mrt", "bgk")
LARGEST_TENSION = 0.1
"""In lattice units, above which the method is not reliable."""
FASTEST, ADVISED = 3.0, 0.5
"""Tension over the lower viscosity, the speed of an interface without other resistance [voxels a step]: of that which
is not warned of, and of that advised."""
RELAXATION_TIMES = 0.502, 10.0
"""Between which both fluids must have theirs."""
NARROW_SHARE = 0.1
"""Share of the nodes in pores without room for an interface, above which a warning is given; packs of spheres of a
radius of 8 voxels have 0.04."""
LEAST_RADIUS = 6.0
"""Radius of drops [voxels] below which they are nowhere pure."""
RATIOS = 1.0 / 340.0, 340.0
"""Between which the viscosity of the second fluid over that of the first one must be: as in tests of sliding layers."""
ROUNDING = 1e-6
"""By which the phase of a file may lie beyond that of pure fluids."""
ALTERNATING = {FIRST: NEW_FIRST, SECOND: NEW_SECOND, MIXING: NEW_MIXING}
METHOD = "start by invasion, sharp interface (1.3 voxels of shear), both fluids in the rock without reservoirs"


def _viscosities_m2_s(case: Case) -> tuple[float, float]:
    """Kinematic viscosities of both fluids, which have the density of the first one."""
    section, fluid = case.two_fluid, case.fluid
    of_second = section.kinematic_viscosity_m2_s
    if of_second is None:
        of_second = section.dynamic_viscosity_pa_s / fluid.density_kg_m3
    return fluid.viscosity_m2_s, of_second


DISPLACEMENT = Displacement(
    section="two_fluid",
    starts=("second_saturation", "initial_file", "second"),
    known_within="known_within",
    entering="second_fluid",
    viscosities_m2_s=_viscosities_m2_s,
    tension_n_m=lambda case: case.two_fluid.interfacial_tension_n_m,
    flows=(FLOWS[:3], FLOWS[3:]),
    saturation=second_saturation,
    structure=structure,
    structure_columns=SHAPE,
    method=METHOD,
    drive="second_acceleration_m_s2",
    is_second=lambda view: view.local_field(PHASE) < 0.0,
)


class TwoFluid(Physics):
    """Two fluids with an interface between them, lattice units."""

    name = "two_fluid"
    displacement = DISPLACEMENT
    excludes = frozenset({"thermal", "fluctuating", "particles", "free_surface", "age", "species", "dissipation"})
    cut_field = volume_fraction = SHARE_FIELD
    is_full = True
    becomes_steady = follows_darcy = False
    lacks_at_walls = "the pull of the interface along the lines where it meets them"
    imposes = frozenset({"second_fluid"})
    cpu_ns = 220.0  # one core of an EPYC, single precision; 190 in double

    def __init__(self, case, header: GeometryHeader, units: Units):
        self._section, self._lattice = case.two_fluid, lattice_named(case.lattice.name)
        self._real = PRECISIONS[case.compute.precision].real
        _refuse(case)
        scale_n_m = case.fluid.density_kg_m3 * units.spacing_m**3 / units.time_step_s**2
        self.tension = self._section.interfacial_tension_n_m / scale_n_m
        self.viscosities_m2_s = _viscosities_m2_s(case)
        self.viscosities = [float(units.viscosity_to_lattice(each)) for each in self.viscosities_m2_s]
        self._density_kg_m3, self._time_step_s = case.fluid.density_kg_m3, units.time_step_s
        balls = [each.radius_m / units.spacing_m for each in self._section.second if each.radius_m is not None]
        self._smallest = min(balls, default=math.inf)
        check_dimension(header, self._lattice, self._section.second_acceleration_m_s2)
        self._weight = units.acceleration_to_lattice(np.array(self._section.second_acceleration_m_s2)).tolist()
        self._refuse_numerics(units)
        self._angles_deg = np.full(len(header.walls) + 1, self._section.contact_angle_deg)
        given = {wall.name: wall.wetting_angle_deg for wall in case.walls}
        for number, wall in enumerate(header.walls):
            if given.get(wall.name) is not None:
                self._angles_deg[number] = given[wall.name]
        self._fastest_m_s = max((abs(each.velocity_m_s or 0.0) for each in case.openings), default=0.0)
        self._names = [opening.name for opening in header.openings]
        self._entering = self._shares(case)
        self._walls = BesideWalls()  # until :meth:`check` has found them
        self._narrow = 0.0
        _refuse_start_without_wetting(case, self._angles_deg, [wall.name for wall in header.walls])
        self.output_fields = {
            PHASE_FIELD: _of_phase(lambda phase: phase.astype(np.float64)),
            SHARE_FIELD: _of_phase(lambda phase: 0.5 - 0.5 * phase.astype(np.float64)),
        }
        self.probed = (ProbedScalar(PHASE, PHASE_FIELD, lambda phase: phase),)
        first, second = (each * case.fluid.density_kg_m3 for each in self.viscosities_m2_s)
        self.viscosities_pa_s = first, second

    def _shares(self, case: Case) -> np.ndarray:
        """(openings,) shares of the first fluid in the inflow."""
        _refuse_flux_against_plates(case.openings)
        of_case = {opening.name: opening for opening in case.openings}
        return np.array([_entering(of_case.get(name)) for name in self._names])

    def impose(self, case: Case, domain: LocalDomain) -> dict[str, np.ndarray]:
        """Set the shares of both fluids in the inflow."""
        self._entering = self._shares(case)
        return {ENTERING: self._first_entering(domain)}

    def _refuse_numerics(self, units: Units) -> None:
        """Raise InputError for a tension or viscosities that are too large or small for the time step."""
        longest_s = 0.99 * units.time_step_s * (LARGEST_TENSION / self.tension) ** 0.5
        if self.tension > LARGEST_TENSION:
            raise InputError(
                f"two_fluid.interfacial_tension_n_m is {self.tension:.3g} in lattice units; at most {LARGEST_TENSION:g}"
                f" is computed: set lattice.time_step_s = {longest_s:.3g} or less, or check the unit:"
                " oil and water have 0.03 N/m"
            )
        (low, high), ratio = RATIOS, self.viscosities[1] / self.viscosities[0]
        if not low * (1.0 - ROUNDING) <= ratio <= high * (1.0 + ROUNDING):
            raise InputError(
                f"two_fluid.kinematic_viscosity_m2_s is {ratio:.4g} times that of [fluid]; allowed: {low:g} to {high:g}"
                " times, the validated range: choose viscosities closer to each other"
            )
        low, high = RELAXATION_TIMES
        taus = [relaxation_time(viscosity, float(self._lattice.cs2)) for viscosity in self.viscosities]
        thin, thick = min(taus) - 0.5, max(taus) - 0.5
        factor = min(0.1 / thin, 0.9 * (MAX_RELAXATION_TIME - 0.5) / thick, longest_s / units.time_step_s)
        remedy = f"set lattice.time_step_s = {factor * units.time_step_s:.3g}, or take viscosities closer to each other"
        if (share := factor * thin / (low - 0.5)) < 1.0:
            finer_m = 0.9 * units.spacing_m * share**2
            remedy = f"no time step suits both it and the tension: set geometry.spacing_m = {finer_m:.2g} or less"
        for key, tau in zip(("fluid", "two_fluid"), taus, strict=True):
            if not low <= tau <= high:
                raise InputError(
                    f"{key}.kinematic_viscosity_m2_s gives a relaxation time of {tau:.4g}; allowed: {low:g} to"
                    f" {high:g}: {remedy}"
                )

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of two copies of both amounts and of how they mix, and of 24 numbers and two flags of a node."""
        return 30.0 * np.dtype(PRECISIONS[case.compute.precision].real).itemsize + 2.0

    def check(self, view) -> None:
        """Refuse outputs that assume a single viscosity; find the walls."""
        output = view.case.output
        of_stress = [f"{name!r} in output.fields" for name in output.fields if name in (*STRESS_NAMES, GRADIENT)]
        for asked in (*of_stress, *["output.wall_shear"] * output.wall_shear):
            raise InputError(f"{asked} uses the viscosity of one fluid only; leave it out with [two_fluid]")
        communicator, share = view.communicator, self._section.second_saturation
        is_filled = share is not None and self._section.initial_file is None
        if share is not None:
            agreed_on_root(communicator, lambda: _refuse_share(whole_nodes(view), share))
        force = uniform_acceleration_m_s2(view.case, view.header)
        if self._section.known_within is not None:
            agreed_on_root(communicator, lambda: _refuse_blocked(whole_nodes(view), force))
        walls, narrow = None, 0.0
        if communicator.rank == 0:
            nodes = whole_nodes(view)
            walls = wall_normals(nodes, self._lattice, self._angles_deg)
            narrow = narrow_share(nodes, nodes_in_rock(view))
        self._walls, self._narrow = communicator.broadcast((walls, narrow))
        filled = self._filled(whole_nodes(view), share, force) if communicator.rank == 0 and is_filled else None
        self._start = communicator.broadcast(filled)

    def _filled(self, nodes: NodeList, share: float, force: np.ndarray) -> np.ndarray:
        """(n,) whether the second fluid fills a node at the start."""
        entry, n_second = _entry(nodes, force), round(share * nodes.n_nodes)
        if self._section.contact_angle_deg <= 90.0:
            return widest_pores(nodes, n_second, entry)
        return ~widest_pores(nodes, nodes.n_nodes - n_second, entry)

    def extend(self, flow: Flow) -> Flow:
        """The flow with both fluids."""
        if not flow.fluid.closure.is_constant:
            raise InputError("[two_fluid] has viscosities of its own; leave viscosity laws and smagorinsky out")
        fluidity = [1.0 / (2.0 * viscosity / float(flow.lattice.cs2)) for viscosity in self.viscosities]
        fluid = replace(flow.fluid, rates=(*flow.fluid.rates, *fluidity), closure=MIXTURE)
        momentum: dict[str, Value] = {name: FieldValue(name) for name in MOMENTUM_FIELDS}
        names = *ALTERNATING, PHASE, WIDER_PHASE, STEEPNESS, STRENGTH, INTERFACE, *NORMAL, *DRIFT, ENTERING, COSINE
        own: dict[str, Value] = {name: FieldValue(name) for name in (*names, *WALL_NORMAL, *BEND)} | momentum
        own |= {new: FieldValue(name, is_new=True) for name, new in ALTERNATING.items()} | {TENSION: self.tension}
        around = [f"{name}{AT_NEIGHBOURS}" for name in (*NORMAL, *MOMENTUM_FIELDS)]
        near = [f"{name}{AT_NEIGHBOURS}" for name in (*ALTERNATING, *MOMENTUM_FIELDS, *NORMAL, *DRIFT, INTERFACE)]

        def stage(name: str, operator, reads, writes, where: Where | None = None) -> Stage:
            given = {parameter.name: own[parameter.name] for parameter in operator.parameters}
            return Stage(name, (operator,), given, tuple(reads), tuple(writes), where)

        stages = (
            stage("amounts", ADVANCE, (*near, ENTERING), (*ALTERNATING, PHASE, WIDER_PHASE)),
            stage(
                "normal",
                ORIENT,
                (WIDER_PHASE + AT_NEIGHBOURS, COSINE, *WALL_NORMAL),
                (*NORMAL, *DRIFT, STEEPNESS, STRENGTH, INTERFACE),
            ),
            stage(
                "tension",
                DRAW,
                (*around, WIDER_PHASE + AT_NEIGHBOURS, PHASE, STEEPNESS, *BEND),
                (STRENGTH, *DRIFT),
                Where(INTERFACE, STEEP),
            ),
        )
        read = {name: own[name] for name in (PHASE, STRENGTH, *NORMAL)}
        flow = replace(flow, fluid=fluid, name="two fluids").pushed_by(SURFACE_FORCE, read)
        if np.any(self._weight):
            read = {PHASE: own[PHASE]} | dict(zip(SECOND_ACCELERATION, self._weight, strict=True))
            flow = flow.pushed_by(WEIGHT, read)
        if PLATE in self._entering:
            flow = replace(flow, closed=KEPT_BACK).given({ENTERING: own[ENTERING]})
        momentum |= {name: FieldValue(name) for name in (*EARLIER, NARROW)}
        return flow.observed_by(STORE_CARRYING, momentum).with_stages(before=stages).with_fields(*self._fields())

    def _fields(self) -> tuple[Field, ...]:
        amount = Field(
            FIRST,
            dtype=INTEGERS[self._real],
            outside=WALL,
            at_openings=OPENING,
            is_state=True,
            alternates=True,
            guarded=True,
        )
        vectors = [
            (name, outside, axis < self._lattice.dimension)
            for names, outside in ((NORMAL, NO_NODE), (MOMENTUM_FIELDS, NOWHERE), (EARLIER, None), (DRIFT, 0.0))
            for axis, name in enumerate(names)
        ]
        rows = zip((*WALL_NORMAL, COSINE, *BEND), range(7), strict=True)
        return (
            *(replace(amount, name=name) for name in (FIRST, SECOND)),
            Field(MIXING, outside=0.0, is_state=True, alternates=True, guarded=True),
            Field(PHASE, is_state=True),
            Field(WIDER_PHASE, outside=NOWHERE),
            *(Field(name, outside=outside, is_state=is_state) for name, outside, is_state in vectors),
            *(Field(name, is_state=True) for name in (STEEPNESS, STRENGTH)),
            Field(ENTERING, fixed=self._first_entering),
            Field(INTERFACE, dtype=np.uint8, outside=0, is_state=True),
            Field(NARROW, dtype=np.uint8, fixed=partial(narrow_nodes, self._lattice)),
            *(Field(name, fixed=partial(self._walls.at, row)) for name, row in rows),
        )

    def _first_entering(self, domain: LocalDomain) -> np.ndarray:
        """(n,) share of the first fluid in the inflow at the nodes of a rank, or ``PLATE``."""
        share = np.ones(domain.n_nodes)
        share[domain.links.node] = self._entering[domain.links.boundary]
        return share

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """Amounts of the regions of the case."""
        full, phase = UNITS[self._real], self._initial_phase(view)
        first = np.rint(0.5 * (1.0 + phase) * full)
        at_rest = dict.fromkeys((*DRIFT, *MOMENTUM_FIELDS, *EARLIER, STEEPNESS, STRENGTH, INTERFACE), np.zeros(1))
        at_rest |= dict.fromkeys(NORMAL, np.full(1, NO_NORMAL))
        second = full - first
        return at_rest | {FIRST: first, SECOND: second, MIXING: mixing(first, second), PHASE: phase}

    def _initial_phase(self, view) -> np.ndarray:
        """(n,) phase of the local nodes at the start."""
        section = self._section
        if section.initial_file is not None:
            wanted = Wanted("two_fluid.initial_file", PHASE_FIELD, 1, False)
            read = read_field(view.case.folder / section.initial_file, wanted, view.header, view.domain)[:, 0]
            beyond = view.communicator.maximum(float(np.abs(read).max(initial=0.0)))
            if beyond > 1.0 + ROUNDING:
                raise InputError(
                    f"two_fluid.initial_file: {section.initial_file} has a phase of size {beyond:.6g}; allowed: -1, the"
                    " second fluid, to 1, the first one"
                )
            return self._at_saturation(view, np.clip(read, -1.0, 1.0))
        domain, header = view.domain, view.header
        if self._start is not None:
            return np.where(self._start[domain.number], -1.0, 1.0)
        inside = np.zeros(domain.n_nodes, dtype=bool)
        for number, region in enumerate(section.second, start=1):
            found = within(domain.voxel, header, region.box_m, region.centre_m, region.radius_m)
            if not view.communicator.total(int(found.sum())):
                low, high = (", ".join(f"{x:.4g}" for x in corner) for corner in _reach_m(header))
                raise InputError(
                    f"[[two_fluid.second]]: no fluid node lies in the region of table number {number}; the centres of"
                    f" the voxels reach from ({low}) to ({high}) m, and some of them may be solid; move or enlarge the"
                    " region"
                )
            inside |= found
        return np.where(inside, -1.0, 1.0)

    def _at_saturation(self, view, phase: np.ndarray) -> np.ndarray:
        """(n,) phase of the local nodes at the saturation of the case, if that gives one, starting from a given
        phase."""
        share, first_wets = self._section.second_saturation, self._section.contact_angle_deg <= 90.0
        if share is None:
            return phase
        gather = NodeGather(view.communicator, view.domain.number, view.header.n_nodes)
        whole = gather.collect(phase)
        made = agreed_on_root(
            view.communicator, lambda: exchanged(whole_nodes(view), on_root(whole), share, first_wets)
        )
        return gather.scatter(made)

    def describe(self) -> str:
        """Tension and viscosities in lattice units, as text."""
        first, second = (relaxation_time(each, float(self._lattice.cs2)) for each in self.viscosities)
        told = (
            f"two fluids: interfacial tension {self.tension:.4g} in lattice units, relaxation times {first:.4g} and"
            f" {second:.4g}"
        )
        if not self._fastest_m_s:
            return told
        number = self._fastest_m_s * max(self.viscosities_pa_s) / self._section.interfacial_tension_n_m
        return f"{told}; capillary number of what enters {number:.3g}: a tenth of it takes ten times the steps"

    def warnings(self) -> tuple[str, ...]:
        """Pores and drops that are too small for interfaces, and interfaces that are too fast for narrow pores."""
        return (*self._small_drops(), *self._warnings(FASTEST))

    def causes(self) -> tuple[str, ...]:
        """Likely causes of a divergence: interfaces that are too fast, also below the limit of the warning, and narrow
        pores."""
        return tuple(self._warnings(ADVISED))

    def _small_drops(self) -> Iterator[str]:
        if self._smallest < LEAST_RADIUS:
            yield (
                f"a sphere of two_fluid.second has a radius of {self._smallest:.3g} voxels: below {LEAST_RADIUS:g} a"
                " drop is nowhere pure, and currents of up to 6e-4 times the tension over the viscosity remain around"
                " it at rest; smaller voxels resolve more"
            )

    def _warnings(self, fastest: float) -> Iterator[str]:
        if self._narrow > NARROW_SHARE:
            yield (
                f"{self._narrow:.0%} of the pores are at most {NO_ROOM} voxels wide, as is an interface of two fluids,"
                " which enters them at a wrong pressure or not at all; smaller voxels resolve more (of an image:"
                " geometry.options.divide = 2)"
            )
        speed = self.tension / min(self.viscosities)
        if speed <= fastest * (1.0 + ROUNDING):
            return
        lighter = (ADVISED / speed) ** 2
        density, time_step_s = self._density_kg_m3 * lighter, self._time_step_s * lighter**0.5
        yield (
            f"the interfacial tension over the viscosity is {speed:.2g} voxels a time step: above {fastest:g}"
            " interfaces in pores of a few voxels may be too fast to be computed; the density does not matter to a flow"
            f" that creeps: give fluid.density_kg_m3 = {density:.3g}, both kinematic viscosities and"
            f" flow.acceleration_m_s2 times {1.0 / lighter:.3g} (so that dynamic viscosities, forces, pressures stay),"
            f" and lattice.time_step_s = {time_step_s:.2g}"
        )

    def observers(self, view: FlowView, folder, resume_step):
        """The time series."""
        tension, known_within = self._section.interfacial_tension_n_m, self._section.known_within
        full, viscosities = UNITS[self._real], self.viscosities_pa_s
        with_structure = self._section.structure
        return (TwoFluidSeries(view, folder, resume_step, full, viscosities, tension, known_within, with_structure),)


def _of_phase(shown: Callable[[np.ndarray], np.ndarray]) -> OutputField:
    """An output field that follows from the phase."""

    def field(view: FlowView) -> np.ndarray | None:
        phase = view.model_field(PHASE)
        return None if phase is None else shown(phase)

    return OutputField("1", field, FromStored((PHASE,), shown))


def _reach_m(header: GeometryHeader) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the lowest and of the highest voxel [m]."""
    low = np.asarray(header.origin_m)
    return low, low + (np.array(header.shape[::-1]) - 1) * header.spacing_m


def _entering(opening) -> float:
    """Share of the first fluid in the inflow through an opening of the case, or ``PLATE``. Raises InputError: the
    second fluid enters through a plate that it cannot pass, or a fluid that the plate may block has a given
    velocity."""
    if opening is None:
        return 1.0
    if not opening.blocks_second:
        return 1.0 - (opening.second_fluid or 0.0)
    if opening.second_fluid:
        raise InputError(
            f"openings.{opening.name} has blocks_second and second_fluid = {opening.second_fluid:g}; a porous plate"
            " lets the first fluid alone pass: leave one of them out"
        )
    if opening.pressure_pa is None:
        raise InputError(
            f"openings.{opening.name} has blocks_second, but no pressure_pa; a porous plate has no given flow rate:"
            " give pressure_pa"
        )
    return PLATE


def _refuse_flux_against_plates(openings) -> None:
    """Raise InputError: the second fluid enters at a given rate and cannot leave."""
    pressed = [each.name for each in openings if each.second_fluid and not each.has_pressure]
    plates = [each.name for each in openings if each.blocks_second]
    if pressed and plates and len(pressed) + len(plates) == len(openings):
        raise InputError(
            f"openings.{pressed[0]} injects the second fluid at a given flow rate, and openings.{plates[0]} has a"
            " porous plate, which that cannot pass: the pressure would rise without end; give pressure_pa at"
            f" {pressed[0]}, or an outlet without blocks_second"
        )


def _refuse_start_without_wetting(case, angles_deg: np.ndarray, names: list[str]) -> None:
    """Raise InputError: an initial saturation is given, and each fluid wets some of the walls."""
    if case.two_fluid.second_saturation is None or not (angles_deg < 90.0).any() or not (angles_deg > 90.0).any():
        return
    named = [
        *(f"{name} {angle:g}" for name, angle in zip(names, angles_deg, strict=False)),
        f"others {angles_deg[-1]:g}",
    ]
    raise InputError(
        "two_fluid.second_saturation fills the widest pores with the fluid that does not wet, and here either fluid"
        f" wets some walls (angles in degrees: {', '.join(named)}); give two_fluid.second or two_fluid.initial_file, or"
        " angles on one side of 90"
    )


def _entry(nodes: NodeList, force: np.ndarray) -> np.ndarray | None:
    """(n,) the first layer of nodes along a force (3,), None without one."""
    axis = int(np.abs(force).argmax())
    place = np.sign(force[axis]) * nodes.coordinates()[:, axis]
    return place == place.min() if force.any() else None


def _refuse_share(nodes: NodeList, share: float) -> None:
    """Raise InputError: a saturation of less than a voxel, or disconnected pores, whose saturation would not change."""
    if 0.0 < share < 1.0 and round(share * nodes.n_nodes) in (0, nodes.n_nodes):
        raise InputError(
            f"two_fluid.second_saturation is {share:.10g}, by which one of the fluids has less than a voxel of"
            f" {nodes.n_nodes:,}; give a saturation at which both are present, or 0 or 1"
        )
    n_parts, connected = parts_of(nodes, np.ones(nodes.n_nodes, dtype=bool), connected_by="edges")
    if n_parts > 1 and connected < 1.0:
        raise InputError(
            f"two_fluid.second_saturation is that of all pores, and {1.0 - connected:.2%} of their nodes are in pores"
            " that no flow reaches, whose saturation never changes; give geometry.keep = 'largest', or 'openings'"
        )


def _refuse_blocked(nodes: NodeList, force: np.ndarray) -> None:
    """Raise InputError: no pore leads round the box along a force (3,), so that the mean flow vanishes."""
    if force.any() and not parts_of(nodes, np.ones(nodes.n_nodes, dtype=bool), force != 0.0)[1]:
        axes = ", ".join(axis for axis, g in zip("xyz", force, strict=True) if g)
        raise InputError(
            f"no pore leads round the box along {axes}, where the force acts: no mean flow remains, so that neither"
            " relative permeabilities nor two_fluid.known_within mean anything; take another part of the image, or"
            " another force"
        )


def _refuse(case) -> None:
    """Raise InputError for settings that cannot be combined with two fluids."""
    if streaming_named(case.compute.streaming).stores_before_collision:
        raise InputError(
            f"compute.streaming is {case.compute.streaming!r} with [two_fluid], by which the flow would be a step"
            " behind both fluids; allowed: 'pull', 'aa'"
        )
    if case.compute.precision == FP16.name:
        raise InputError(
            "compute.precision is 'fp16' with [two_fluid], which needs more precision; allowed: 'fp32', 'fp64'"
        )
    if case.lattice.collision not in COLLISIONS:
        raise InputError(
            f"lattice.collision is {case.lattice.collision!r} with [two_fluid]; allowed: {', '.join(COLLISIONS)}"
        )
    if case.lattice.walls != HALF_WAY:
        raise InputError(f"lattice.walls is {case.lattice.walls!r} with [two_fluid]; allowed: {HALF_WAY!r}")
    if case.lattice.name not in ("D2Q9", "D3Q19"):
        raise InputError(f"lattice.name is {case.lattice.name!r} with [two_fluid]; allowed: 'D2Q9', 'D3Q19'")
    if case.two_fluid.known_within is not None:
        if not case.output.series_every_steps:
            raise InputError(
                "two_fluid.known_within looks at the flows every output.series_every_steps steps, which is 0; give 1 or"
                " more, or leave known_within out"
            )
        changing = [key for key in case.flow.not_uniform if not key.endswith("file")]
        changing += [f"openings.{each.name}.waveform" for each in case.openings if each.waveform]
        if changing:
            raise InputError(
                f"two_fluid.known_within needs flows with a mean that stays, and {changing[0]} changes them; leave one"
                " of them out"
            )


PHYSICS = TwoFluid
