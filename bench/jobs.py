"""Benchmark jobs: a case with its geometry, tiled on request. Tiling: periodic repetition of a geometry without
openings along the axes, to fill a GPU with a small geometry."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import prange

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.base.kept.functions import njit
from muphy_lb.bench.built_in import driven_table
from muphy_lb.case.case import Case, case_from_dict, load_case
from muphy_lb.case.toml import override_value
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.store import read_geometry
from muphy_lb.setup.geometry import load_nodes


@dataclass(frozen=True)
class Job:
    """A case to be timed in all variants."""

    case: Case  # the case
    nodes: NodeList | Any  # its geometry, on rank 0 only


def job_of_table(table: Mapping, overrides: Sequence[str], communicator, copies=(1, 1, 1)) -> Job:
    """The job of a case given as nested tables; collective. Raises InputError: the tables, changed by
    ``"section.key=value"`` each, are not a valid case."""
    return _job(_case(table, overrides), None, communicator, copies)


def job_of_file(path, overrides: Sequence[str], communicator, copies=(1, 1, 1)) -> Job:
    """The job of a case file (TOML), or of a prepared geometry (.h5) with a generated case; collective. Raises
    InputError: the file cannot be read or is not a valid case."""
    if Path(path).suffix == PREPARED:
        nodes = replace(read_geometry(path), cuts=None) if communicator.rank == 0 else None
        found = nodes and ([(opening.name, opening.kind) for opening in nodes.openings], nodes.spacing_m)
        table = driven_table(Path(path).stem, {"file": str(path)}, *communicator.broadcast(found))
        return _job(_case(table, overrides), nodes, communicator, copies)
    case = communicator.broadcast(load_case(path, overrides) if communicator.rank == 0 else None)
    named = case if case.title else case.model_copy(update={"title": Path(path).stem})
    return _job(named, None, communicator, copies)


def _case(table: Mapping, overrides: Sequence[str]) -> Case:
    changed = deepcopy(dict(table))
    problems = [problem for override in overrides if (problem := override_value(changed, override))]
    if problems:
        raise InputError("\n  ".join(["bench: --set cannot be applied:", *problems]))
    return case_from_dict(changed)


def _job(case: Case, nodes: NodeList | None, communicator, copies) -> Job:
    if communicator.rank == 0:
        nodes = tile_nodes(load_nodes(case)[0] if nodes is None else nodes, copies)
    return Job(case, nodes)


def tile_nodes(nodes: NodeList, copies: tuple[int, int, int]) -> NodeList:
    """The node list of ``np.tile`` of the image: as many copies of the box side by side along x, y, z.

    Voxel ids are computed, no image is made: 8 bytes a node. Axes are periodic as they were; along an axis that is not,
    the copies lie face to face. ``nodes``: the geometry; ``copies``: along x, y, z. Raises InputError: the geometry has
    openings, labelled walls or cut links, or a number of copies is not above zero.
    """
    if copies == (1, 1, 1):
        return nodes
    if min(copies) < 1:
        raise InputError(f"tile is {copies}; give the number of copies along x, y, z, each above zero")
    names = [*(opening.name for opening in nodes.openings), *(wall.name for wall in nodes.walls)]
    if names:
        raise InputError(
            f"the geometry has openings or labelled walls ({', '.join(names)}), and only one without can be tiled;"
            " leave --tile out, or take another geometry"
        )
    if nodes.cuts is not None:
        raise InputError(
            "the links of the geometry are cut at its true walls, which cannot be tiled; set lattice.walls = 'half-way'"
        )
    nz, ny, nx = nodes.shape
    shape = (nz * copies[2], ny * copies[1], nx * copies[0])
    row_start = np.searchsorted(nodes.voxel, nx * np.arange(nz * ny + 1))
    voxel = np.empty(nodes.voxel.size * int(np.prod(copies)), dtype=np.int64)
    _fill(voxel, nodes.voxel, row_start, nodes.shape, copies[::-1])
    return replace(nodes, voxel=voxel, group_start=np.array([0, voxel.size]), shape=shape)


@njit(parallel=True, cache=True)
def _fill(tiled, voxel, row_start, shape, copies):
    """Write the ascending ids, plane by plane of the tiled box; ``shape`` and ``copies`` run over z, y, x."""
    nz, ny, nx = shape
    across = copies[1] * copies[2]
    for plane in prange(copies[0] * nz):
        z = plane % nz
        n = (plane // nz * voxel.size + row_start[z * ny]) * across
        for line in range(copies[1] * ny):
            row = z * ny + line % ny
            first = (plane * copies[1] * ny + line) * copies[2] * nx
            n = _repeat_row(tiled, n, voxel[row_start[row] : row_start[row + 1]], first - row * nx, nx, copies[2])


@njit(cache=True)
def _repeat_row(tiled, n, own, shift, nx, n_copies):
    """Write the ids of one row and of its copies along x from position n on; returns the next position."""
    for copy in range(n_copies):
        for k in range(own.size):
            tiled[n + k] = own[k] + shift + copy * nx
        n += own.size
    return n
