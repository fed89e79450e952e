"""Benchmark jobs: a case with its geometry, tiled on request."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.bench.built_in import driven_table
from muphy_lb.bench.tiling import tile_nodes
from muphy_lb.case.case import Case, case_from_dict, load_case
from muphy_lb.case.toml import override_value
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.store import read_geometry
from muphy_lb.setup.geometry import load_nodes


@dataclass(frozen=True)
class Job:
    """A case to be timed in all variants."""

    case: Case  # the case
    nodes: NodeList | None  # its geometry, on rank 0 only
    published: str | None = None  # value published in a paper, as text


def job_of_table(table: Mapping, overrides: Sequence[str], communicator, published=None, copies=(1, 1, 1)) -> Job:
    """The job of a case given as nested tables; collective. Raises InputError: the tables, changed by
    ``"section.key=value"`` each, are not a valid case."""
    return _job(_case(table, overrides), None, communicator, published, copies)


def job_of_file(path, overrides: Sequence[str], communicator, copies=(1, 1, 1)) -> Job:
    """The job of a case file (TOML), or of a prepared geometry (.h5) with a generated case; collective. Raises
    InputError: the file cannot be read or is not a valid case."""
    if Path(path).suffix == PREPARED:
        return _job_of_prepared(path, overrides, communicator, copies)
    case = communicator.broadcast(load_case(path, overrides) if communicator.rank == 0 else None)
    named = case if case.title else case.model_copy(update={"title": Path(path).stem})
    return _job(named, None, communicator, None, copies)


def _job_of_prepared(path, overrides, communicator, copies) -> Job:
    nodes = replace(read_geometry(path), cuts=None) if communicator.rank == 0 else None
    found = nodes and ([(opening.name, opening.kind) for opening in nodes.openings], nodes.spacing_m)
    table = driven_table(Path(path).stem, {"file": str(path)}, *communicator.broadcast(found))
    return _job(_case(table, overrides), nodes, communicator, None, copies)


def _case(table: Mapping, overrides: Sequence[str]) -> Case:
    table = deepcopy(dict(table))
    problems = [problem for override in overrides if (problem := override_value(table, override))]
    if problems:
        raise InputError("\n  ".join(["bench: --set cannot be applied:", *problems]))
    return case_from_dict(table)


def _job(case: Case, nodes: NodeList | None, communicator, published, copies) -> Job:
    if communicator.rank == 0:
        nodes = tile_nodes(load_nodes(case)[0] if nodes is None else nodes, copies)
    return Job(case, nodes, published)
