"""A rehearsal: as soon as a first start knows the box of its geometry, the step of the case is bound on a single node,
so that helpers compile its kernels while the nodes are read, numbered and shared."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from muphy_lb.backends import make_backend
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import packages
from muphy_lb.case.case import Case
from muphy_lb.domain.lone import lone_domain
from muphy_lb.engine.autotune import bind_all
from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.lattice.layout import TILE
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.run.preparation import Preparation
from muphy_lb.setup.collision import build_fluid
from muphy_lb.setup.force import build_force
from muphy_lb.setup.numerics import resolve

LOG = logging.getLogger(__name__)


def rehearse(case: Case, header: GeometryHeader, backend: str, local_rank: int) -> None:
    """Ask the helpers for the kernels of a step of a case. Kernels that follow from the nodes are left for later, and
    so are all of a case that cannot be computed, which the run will report. ``header``: of the geometry, with about as
    many nodes as the rank will have; ``local_rank``: whose device to use."""
    problem = None
    try:
        with _said_once():
            _bind(_Rehearsal(case, header), backend, local_rank)
    except Exception as error:  # the run continues without
        problem = repr(error)
    gc.collect()  # engine and launches hold each other
    if problem:
        LOG.debug("the rehearsal ended early: %s", problem)


@contextmanager
def _said_once() -> Iterator[None]:
    """Context without records of what the run will say; what is said only once, of kernels that are kept, stays."""
    package, of_kernels = logging.getLogger("muphy_lb"), logging.getLogger("muphy_lb.base.kept")
    before = package.level, of_kernels.level
    of_kernels.setLevel(of_kernels.getEffectiveLevel())
    package.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        package.setLevel(before[0])
        of_kernels.setLevel(before[1])


class _Rehearsal(Preparation):
    """The case on a single node."""

    def __init__(self, case: Case, header: GeometryHeader):
        self.case, self.communicator = case, SerialCommunicator()
        self.geometry: Any = SimpleNamespace(header=header)
        self.lattice = lattice_named(case.lattice.name)
        self.frames, self.conditions = (), ()
        self.numerics = resolve(case, header.spacing_m, cs2=float(self.lattice.cs2))
        self.physics = tuple(kind(case, header, self.units) for kind in packages(case))
        self.domain = lone_domain(header, self.lattice)
        force, force_operator, _ = build_force(case, header, self.domain, self.units)
        regime = self.numerics.relaxation_time, self.numerics.cell_reynolds
        self.fluid = build_fluid(case, self.lattice, self.units, *regime)
        self.model = self._model(force, force_operator)


def _bind(rehearsal: _Rehearsal, backend: str, local_rank: int) -> None:
    """Bind the step, in all ways that will be timed, and launch nothing of it."""
    lattice, precision = rehearsal.lattice, PRECISIONS[rehearsal.case.compute.precision]
    on_device = make_backend(backend, lattice, precision, local_rank)
    n_nodes = rehearsal.geometry.header.n_nodes
    on_device.enlarged = -(-n_nodes // TILE)  # the node fills the first tile
    connector = HaloConnector(rehearsal.communicator, rehearsal.case.compute.transport)
    at_links = LinkConditions.of_none()
    engine = Engine(on_device, connector, rehearsal.domain, rehearsal.model, at_links, 1.0)
    engine.bind()
    bind_all(engine, n_nodes)
