"""Descriptions of a simulation, a case and a prepared geometry for people."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.base.registry import packages
from muphy_lb.boundaries.opening_geometry import PRESSURE, opening_areas_m2
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.boundaries import ANSWERING, OpeningSection
from muphy_lb.case.case import Case, load_case
from muphy_lb.case.toml import toml_lines
from muphy_lb.engine.engine import Engine
from muphy_lb.engine.step import StepOrder
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.geometry.store import read_geometry
from muphy_lb.measure.permeability import other_forces
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.observers import process_peak_mib
from muphy_lb.run.options import add_set
from muphy_lb.run.preparation import Preparation, prove
from muphy_lb.setup.advice.costs import bytes_per_node, bytes_per_update, duration
from muphy_lb.setup.advice.expected_pressures import describe_outlets
from muphy_lb.setup.advice.plausibility import (
    accuracy_of_stairs,
    force_warnings,
    is_pushed,
    plausibility,
    resolution_warnings,
    slowness_warnings,
    tilt_warnings,
)
from muphy_lb.setup.boundaries import describe_profiles
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.numerics import describe


def described(prepared: Preparation, engine: Engine) -> str:
    """Title, geometry, backend, method, and the numbers of a run; collective."""
    case, backend, communicator = prepared.case, engine.backend, prepared.communicator
    bytes_per_node = communicator.maximum(backend.allocated_bytes / prepared.domain.n_nodes)
    table = describe(prepared.numerics, prepared.header.n_nodes, communicator.size, bytes_per_node)
    how = f"{backend.name} on {backend.device}, {case.compute.precision}, {case.compute.streaming}"
    method = [f"{prepared.lattice.name}, {engine.model.collision.name}", f"walls: {_walls(prepared)}"]
    method += [text for physics in prepared.physics if (text := physics.describe())]
    head = [case.title, prepared.geometry.report, f"backend: {how}", f"method: {'; '.join(method)}"]
    given = case.initial.model_dump(exclude_none=True) if case.initial is not None else {}
    head += [f"start: {', '.join(toml_lines(given))}"] if given else []
    crowded = more_ranks_than_cores(communicator, backend.name)
    return "\n".join((*head, table, *_advice(prepared), *crowded)).lstrip()


def _advice(prepared: Preparation) -> Iterator[str]:
    """Doubts about numbers of a case, the accuracy of its walls, and warnings of coarse openings and of its physics."""
    header, frames = prepared.header, prepared.frames
    yield from plausibility(prepared.case, header, frames, prepared.numerics)
    if prepared.case.lattice.walls == HALF_WAY:
        yield from accuracy_of_stairs(header.openings, frames)
    coarse = resolution_warnings(header.openings, frames, header.spacing_m)
    across = (
        *force_warnings(prepared.case, header, prepared.conditions, frames),
        *tilt_warnings(header, prepared.conditions, frames),
        *slowness_warnings(prepared.case, header, prepared.conditions, prepared.numerics),
    )
    expected = [text for physics in prepared.physics for text in physics.warnings()]
    doubts = (*_at_rest(prepared), *_cut_short(prepared), *coarse, *across, *expected)
    yield from (f"warning: {text}" for text in doubts)


def _at_rest(prepared: Preparation) -> Iterator[str]:
    """A doubt about a flow that nothing moves, and whose physics says nothing of a fluid at rest."""
    case, conditions = prepared.case, prepared.conditions
    imposed = any(each.feedback or each.kind != PRESSURE and each.value for each in conditions) or other_forces(case)
    if imposed or case.initial or case.waveforms or is_pushed(case, prepared.header, conditions):
        return
    if all(kind.needs_flow for kind in packages(case)):
        yield (
            "nothing drives the flow, so that the fluid stays at rest; it is driven by openings with velocity_m_s,"
            " flow_rate_m3_s or pressures that differ, by flow.acceleration_m_s2 or flow.pressure_drop_pa, by walls"
            " with velocity_m_s or rotation_rad_s, or begins with an initial velocity"
        )


def _cut_short(prepared: Preparation) -> Iterator[str]:
    """A doubt about a run that ends before openings and walls impose in full what is given."""
    steps, risen = prepared.numerics.steps, prepared.rises_until
    if steps < risen:
        yield (
            f"what openings and walls impose rises over run.ramp_steps = {risen}, and the run ends at step {steps},"
            f" before it is there: give more steps, or run.ramp_steps = {steps // 10}"
        )


def more_ranks_than_cores(communicator, backend: str) -> list[str]:
    """A warning where this machine has fewer cores than ranks that compute on them."""
    n_cores, n_ranks = len(os.sched_getaffinity(0)), len(communicator.machine_ranks) if communicator.size > 1 else 1
    if backend == "cuda" or n_ranks <= n_cores:
        return []
    return [
        f"warning: {n_ranks} ranks share {n_cores} cores of this machine and wait for each other; start at most"
        f" {n_cores} ranks here"
    ]


def _walls(prepared: Preparation) -> str:
    """The rule of the walls and what it cannot do here; collective."""
    rule, total = prepared.case.lattice.walls, prepared.communicator.total
    text: list[str] = [rule]
    if rule != HALF_WAY:
        text.append(f"{total(prepared.n_fallback_links):,} links beside two walls fell back to half-way")
    if rule != HALF_WAY and not any(condition.kind == PRESSURE for condition in prepared.conditions):
        text.append("without a pressure opening the mean density drifts slowly")
    if any(motion.slips for motion in prepared.motions):
        slips = np.array([motion.slips for motion in prepared.motions])
        n_links = total(int(slips[prepared.domain.in_table.boundary].sum()))
        n_mirrored = total(prepared.domain.n_specular)
        text.append(f"slip: {n_mirrored:,} of {n_links:,} links are mirrored, straight ones reflect anyway")
    return "; ".join(text)


STEP_HEAD = ("pass", "over", "task", "kernel", "exchanged ahead of it")
NOT_LOOKED_AT = "the case can be set up; not checked: the output folder, the device and its memory, and the flow itself"


def add_options(parser) -> None:
    """Give an argument parser the options of ``info``."""
    parser.add_argument("file", metavar="CASE.toml|CASE.h5")
    parser.add_argument("--step", action="store_true", help="print the order of the tasks of a step instead")
    add_set(parser)


def info(options, say, communicator) -> int:
    """The command ``muphy-lb info``; collective. Returns the exit code 0. ``communicator``: the ranks that the run
    would have. Raises InputError: the file cannot be read, or the case cannot be run."""
    if Path(options.file).suffix.lower() == PREPARED:
        if communicator.rank == 0:
            if options.step:
                raise InputError(f"info: --step: {options.file} is a prepared geometry and has no steps; give a case")
            say(describe_prepared(options.file, options.set))
        return 0
    case = load_case(options.file, options.set) if communicator.rank == 0 else None
    describe_it = describe_step if options.step else describe_case
    say(describe_it(communicator.broadcast(case), communicator))
    return 0


def describe_prepared(path, overrides: Sequence[str] = ()) -> str:
    """Describe a prepared geometry (.h5) as text. Raises InputError: the file cannot be read, or keys of a case are to
    be changed."""
    if overrides:
        raise InputError(f"info: --set {overrides[0]}: {path} is a prepared geometry and has no keys; leave it out")
    return "\n".join(_prepared_lines(path))


def describe_case(case: Case, communicator=None) -> str:
    """Describe a case as text, on rank 0; empty elsewhere. All is done that a run does before it allocates populations
    and compiles kernels; collective.

    Args:
        communicator: the ranks that the run would have; None: one.

    Raises MuphyError: the case cannot be run; the message is that of the run.
    """
    prepared = prove(case, communicator or SerialCommunicator())
    return "\n".join(_case_lines(prepared)) if prepared.communicator.rank == 0 else ""


def describe_step(case: Case, communicator=None) -> str:
    """The order of the tasks of a step as a table, on rank 0; empty elsewhere. Collective.

    The order is that of the backends ``numpy`` and ``cpu``; on GPUs tasks of one pass overlap.

    Args:
        communicator: the ranks that the run would have; None: one.

    Raises MuphyError: the case cannot be run; the message is that of the run.
    """
    prepared = prove(case, communicator or SerialCommunicator())
    has_walls = prepared.communicator.total(prepared.domain.linkwise.n_links) > 0
    rows = StepOrder(prepared.model).rows(bool(prepared.header.openings), has_walls)
    cells = [STEP_HEAD, *((str(row.number), row.over, row.name, row.kernel, ", ".join(row.crossing)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines) if prepared.communicator.rank == 0 else ""


def _case_lines(prepared: Preparation) -> Iterator[str]:
    case, header, numerics, frames = prepared.case, prepared.header, prepared.numerics, prepared.frames
    n_ranks, sections = prepared.communicator.size, opening_sections(header, case)
    areas_m2 = opening_areas_m2(header, frames)
    if case.title:
        yield case.title
    yield from _size_lines(header)
    yield prepared.geometry.report
    for opening, section in zip(header.openings, sections, strict=True):
        area_m2 = areas_m2[opening.name]
        radius_m = np.sqrt(area_m2 / np.pi)
        size = f"area {area_m2:.4g} m2 (equivalent radius {radius_m:.4g} m)"
        yield f"{opening.title}: {size}, {_condition(section)}"
    for wall in header.walls:
        yield f"wall {wall.name}: {wall.n_voxels:,} solid voxels"
    yield describe(numerics, header.n_nodes, n_ranks, bytes_per_node(case, prepared.lattice))
    peak = f"{process_peak_mib():,.0f} MiB of the host at most, Python included, measured on rank 0"
    yield f"{'memory of set-up':<20}{peak}"
    yield from describe_profiles(case, header, frames)
    yield from describe_outlets(case, header, frames, numerics)
    yield from filter(None, (physics.describe() for physics in prepared.physics))
    yield from _advice(prepared)
    yield duration(case, header.n_nodes, numerics.steps, n_ranks, bytes_per_update(case, prepared.lattice))
    yield NOT_LOOKED_AT


def _condition(section: OpeningSection) -> str:
    answering = [key for key in ANSWERING if getattr(section, key) is not None]
    if answering:
        return f"answers its flow ({answering[0]})"
    if section.pressure_pa is not None:
        return f"pressure {section.pressure_pa:g} Pa{', non-reflecting' if section.non_reflecting else ''}"
    if section.velocity_m_s is not None:
        return f"mean velocity {section.velocity_m_s:g} m/s, {section.profile}"
    if section.mass_flow_kg_s is not None:
        return f"mass flow rate {section.mass_flow_kg_s:g} kg/s, {section.profile}"
    return f"flow rate {section.flow_rate_m3_s:g} m3/s, {section.profile}"


def _prepared_lines(path) -> Iterator[str]:
    nodes = read_geometry(path)
    yield from _size_lines(nodes)
    if nodes.reservoirs:
        low, high = nodes.reservoirs.both
        yield f"layers of reservoir along {nodes.reservoirs.axis}: {low} at its low end, {high} at the other"
    yield f"nodes by group (0: touching no opening): {', '.join(map(str, np.diff(nodes.group_start)))}"
    for opening in nodes.openings:
        centre, normal = (" ".join(f"{c:.4g}" for c in vector) for vector in (opening.centre_m, opening.normal))
        extent = f"radius {opening.radius_m:.4g} m" if np.isfinite(opening.radius_m) else "the whole plane"
        yield f"{opening.title}: centre ({centre}) m, normal ({normal}), {extent}"
    yield from _partition_lines(path)


def _partition_lines(path) -> Iterator[str]:
    from muphy_lb.partition.costs import NODE_COSTS
    from muphy_lb.partition.halo import Exchange
    from muphy_lb.partition.quality import quality
    from muphy_lb.partition.store import list_partitions, read_partition, read_weighted_graph

    stored = list_partitions(path)
    if not stored:
        yield "partitionings: none"
        return
    graph = read_weighted_graph(path, NODE_COSTS["cuda"], Exchange())
    for record in stored:
        measured = quality(graph, read_partition(path, record.name), record.n_parts)
        yield f"partitioning {record.name} by {record.method}: {measured}"


def _size_lines(nodes: NodeList | GeometryHeader) -> Iterator[str]:
    nz, ny, nx = nodes.shape
    periodic = "".join(axis for axis, wraps in zip("xyz", nodes.periodic, strict=True) if wraps)
    fill = nodes.n_nodes / (nx * ny * nz)
    yield f"box {nx} x {ny} x {nz} voxels of {nodes.spacing_m:.4g} m, periodic: {periodic or 'no axis'}"
    yield f"{nodes.n_nodes:,} fluid nodes, {100 * fill:.2f} % of the box"
