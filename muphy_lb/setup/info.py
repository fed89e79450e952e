"""Description of a case or a prepared geometry without running it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.boundaries.opening_geometry import opening_areas_m2, opening_frames
from muphy_lb.case.boundaries import ANSWERING, OpeningSection
from muphy_lb.case.case import Case, load_case
from muphy_lb.domain import ROW, TILE
from muphy_lb.domain.streaming import streaming_named
from muphy_lb.errors import InputError
from muphy_lb.files import PREPARED
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.store import read_geometry
from muphy_lb.lattice import Lattice, lattice_named
from muphy_lb.partition.quality import quality
from muphy_lb.partition.store import list_partitions, read_graph, read_partition
from muphy_lb.physics.table import packages
from muphy_lb.precision import PRECISIONS
from muphy_lb.setup.closed_flow import refuse_unequal_flows
from muphy_lb.setup.duration import duration
from muphy_lb.setup.expected_pressures import describe_outlets
from muphy_lb.setup.geometry import load_nodes, opening_sections
from muphy_lb.setup.numerics import describe, resolve
from muphy_lb.setup.plausibility import plausibility
from muphy_lb.setup.pulsatile import describe_profiles
from muphy_lb.setup.resolution import resolution_warnings

# Of the run table per node and direction: 0.34 to 0.44 in vessels and sphere packs, more in pores a few voxels wide.
BYTES_PER_DIRECTION = 0.5


def describe_file(path, n_ranks: int = 1, overrides: Sequence[str] = ()) -> str:
    """Describe a case file (TOML) or a prepared geometry (.h5) as text.

    Args:
        path: the file.
        n_ranks: number of ranks among which the memory is distributed.
        overrides: changes of single keys of a case, ``"section.key=value"`` each.

    Raises:
        InputError: the file cannot be read, or the case cannot be run.
    """
    if Path(path).suffix.lower() == PREPARED:
        if overrides:
            raise InputError(f"info: --set {overrides[0]}: {path} is a prepared geometry and has no keys; leave it out")
        return "\n".join(_prepared_lines(path))
    return describe_case(load_case(path, overrides), n_ranks)


def describe_case(case: Case, n_ranks: int = 1) -> str:
    """Describe a case as text.

    Raises:
        InputError: the case cannot be run.
    """
    return "\n".join(_case_lines(case, n_ranks))


def bytes_per_node(case: Case, lattice: Lattice) -> float:
    """Estimated memory of one node [bytes]: two copies of its populations (one in place), its share of the address
    table, and the fields of other physics."""
    return _bytes(case, lattice, 1 if streaming_named(case.compute.streaming).in_place else 2)


def bytes_per_update(case: Case, lattice: Lattice) -> float:
    """Estimate of what a step moves for each node [bytes]: the populations that it reads and writes, and the rest of
    what there is."""
    return _bytes(case, lattice, 2)


def _bytes(case: Case, lattice: Lattice, copies: int) -> float:
    stored = np.dtype(PRECISIONS[case.compute.precision].storage).itemsize * ROW / TILE
    populations = lattice.q * copies * stored + (lattice.q - 1) * BYTES_PER_DIRECTION
    return populations + sum(physics.bytes_per_node(case, lattice) for physics in packages(case))


def _case_lines(case: Case, n_ranks: int) -> Iterator[str]:
    kinds = packages(case)  # what cannot be computed together is refused before a geometry is read
    nodes, cleaning = load_nodes(case)
    lattice = lattice_named(case.lattice.name)
    frames = opening_frames(nodes, lattice)
    areas_m2 = opening_areas_m2(nodes, frames)
    numerics = resolve(case, nodes.spacing_m, areas_m2, float(lattice.cs2))
    refuse_unequal_flows(case, nodes.header, areas_m2, numerics)
    if case.title:
        yield case.title
    yield from _size_lines(nodes)
    yield cleaning
    for opening, section in zip(nodes.openings, opening_sections(nodes, case), strict=True):
        area_m2 = areas_m2[opening.name]
        size = f"area {area_m2:.4g} m2 (equivalent radius {np.sqrt(area_m2 / np.pi):.4g} m)"
        yield f"{opening.title}: {size}, {_condition(section)}"
    for wall in nodes.walls:
        yield f"wall {wall.name}: {wall.n_voxels:,} solid voxels"
    yield describe(numerics, nodes.n_nodes, n_ranks, bytes_per_node(case, lattice))
    yield from describe_profiles(case, nodes, frames)
    yield from describe_outlets(case, nodes, frames, numerics)
    further = [physics(case, nodes.header, numerics.units) for physics in kinds]
    yield from filter(None, (physics.describe() for physics in further))
    yield from plausibility(case, nodes.header, frames, numerics)
    expected = [text for physics in further for text in physics.warnings()]
    coarse = resolution_warnings(nodes.openings, frames, nodes.spacing_m)
    yield from (f"warning: {text}" for text in (*coarse, *expected))
    yield duration(case, nodes.n_nodes, numerics.steps, n_ranks, bytes_per_update(case, lattice))


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
    yield f"nodes by group (0: touching no opening): {', '.join(map(str, np.diff(nodes.group_start)))}"
    for opening in nodes.openings:
        centre, normal = (" ".join(f"{c:.4g}" for c in vector) for vector in (opening.centre_m, opening.normal))
        extent = f"radius {opening.radius_m:.4g} m" if np.isfinite(opening.radius_m) else "the whole plane"
        yield f"{opening.title}: centre ({centre}) m, normal ({normal}), {extent}"
    yield from _partition_lines(path)


def _partition_lines(path) -> Iterator[str]:
    stored = list_partitions(path)
    if not stored:
        yield "partitionings: none"
        return
    graph = read_graph(path)
    for record in stored:
        measured = quality(graph, read_partition(path, record.name), record.n_parts)
        yield f"partitioning {record.name} by {record.method}: {measured}"


def _size_lines(nodes: NodeList) -> Iterator[str]:
    nz, ny, nx = nodes.shape
    periodic = "".join(axis for axis, wraps in zip("xyz", nodes.periodic, strict=True) if wraps)
    fill = nodes.n_nodes / (nx * ny * nz)
    yield f"box {nx} x {ny} x {nz} voxels of {nodes.spacing_m:.4g} m, periodic: {periodic or 'no axis'}"
    yield f"{nodes.n_nodes:,} fluid nodes, {100 * fill:.2f} % of the box"
