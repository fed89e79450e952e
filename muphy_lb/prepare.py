"""From a case to what the ranks share: the node list and the owner of every node."""

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from geometry.clean import clean
from geometry.load import SHAPE_PREFIX, load_voxels
from geometry.nodes import NodeList, build_nodes
from geometry.openings import carve
from geometry.store import read_geometry
from geometry.voxels import Opening, Voxels
from muphy_lb.case import Case, OpeningSection
from muphy_lb.errors import InputError
from partition.graph import graph_from_voxels
from partition.partition import partition

PREPARED = ".h5"


def load_nodes(case: Case) -> tuple[NodeList, str]:
    """The geometry of a case as a node list, and one line on what cleaning kept.

    Raises:
        GeometryError: the geometry cannot be read, cut or cleaned.
        InputError: openings of the case and of the geometry do not match.
    """
    source = case.geometry.file
    if source is not None and Path(source).suffix == PREPARED:
        nodes, report = read_geometry(case.folder / source), f"read {source}"
        _refuse_positions(case)
    else:
        voxels = _cut(_load(case), case)
        keep = case.geometry.keep or ("openings" if voxels.openings else "all")
        nodes, cleaned = clean(build_nodes(voxels), keep)
        report = str(cleaned)
    _match_openings(nodes, case)
    return nodes, report


def share_nodes(nodes: NodeList, case: Case, n_ranks: int) -> np.ndarray:
    """(n,) int32 owner of every node, by the partition method of the case.

    Raises:
        PartitionError: more ranks than nodes.
    """
    if n_ranks == 1:
        return np.zeros(nodes.n_nodes, dtype=np.int32)
    graph = graph_from_voxels(nodes.voxel, nodes.shape, nodes.periodic)
    return partition(graph, n_ranks, case.compute.partition)


def condition_of(nodes: NodeList, case: Case) -> tuple[OpeningSection, ...]:
    """The case's section of each opening, in the geometry's order."""
    sections = {section.name: section for section in case.openings}
    return tuple(sections[opening.name] for opening in nodes.openings)


def _load(case: Case) -> Voxels:
    geometry = case.geometry
    options = dict(geometry.options)
    options |= {key: value for key in ("unit", "spacing_m") if (value := getattr(geometry, key)) is not None}
    source = f"{SHAPE_PREFIX}{geometry.shape}" if geometry.shape else case.folder / geometry.file
    voxels = load_voxels(source, **options)
    if geometry.periodic:
        voxels = replace(voxels, periodic=tuple(axis in geometry.periodic for axis in "xyz"))
    return voxels


def _cut(voxels: Voxels, case: Case) -> Voxels:
    cuts = [_opening(section) for section in case.openings if section.centre_m is not None]
    return carve(voxels, cuts) if cuts else voxels


def _opening(section: OpeningSection) -> Opening:
    radius = float("inf") if section.radius_m is None else section.radius_m
    return Opening(section.name, section.kind, section.centre_m, section.normal, radius)


def _refuse_positions(case: Case) -> None:
    placed = [section.name for section in case.openings if section.centre_m is not None]
    if placed:
        raise InputError(
            f"openings {', '.join(placed)} give positions, but {case.geometry.file} is prepared and has its openings;"
            " leave centre_m, normal and radius_m out, or cut when preparing: python -m geometry ... --openings"
        )


def _match_openings(nodes: NodeList, case: Case) -> None:
    there = [opening.name for opening in nodes.openings]
    asked = [section.name for section in case.openings]
    for name in asked:
        if name not in there:
            near = get_close_matches(name, there, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(there) or 'none'}"
            raise InputError(f"openings.{name}: the geometry has no opening of that name; {hint} or give its position")
    missing = [name for name in there if name not in asked]
    if missing:
        raise InputError(
            f"the geometry has openings without a condition: {', '.join(missing)};"
            " add an [[openings]] entry with name and velocity_m_s, flow_rate_m3_s or pressure_pa for each"
        )
