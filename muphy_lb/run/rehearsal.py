"""A rehearsal: as soon as a first start knows the box of its geometry, the step of the case is bound on a single node,
so that helpers compile its kernels while the nodes are read, numbered and shared."""

import gc
import logging
from types import SimpleNamespace
from typing import Any

from muphy_lb.backends import make_backend
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import packages
from muphy_lb.case.case import Case
from muphy_lb.domain.lone import lone_domain
from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.run.preparation import Preparation
from muphy_lb.setup.collision import build_fluid
from muphy_lb.setup.force import build_force
from muphy_lb.setup.numerics import resolve

LOG = logging.getLogger(__name__)


def rehearse(case: Case, header: GeometryHeader, backend: str, local_rank: int) -> None:
    """Ask the helpers for the kernels of a step of a case. Kernels that follow from the nodes are left for later, and
    so are all of a case that cannot be computed, of which the run will tell.

    Args:
        header: of the geometry, whose nodes need not be counted.
        backend: name of a backend.
        local_rank: whose device to use.
    """
    said, problem = logging.root.manager.disable, None
    logging.disable(logging.CRITICAL)  # the run says it
    try:
        _bind(_Rehearsal(case, header), backend, local_rank)
    except Exception as error:  # the run goes on without
        problem = repr(error)
    finally:
        logging.disable(said)
    gc.collect()  # engine and launches hold each other
    if problem:
        LOG.debug("the rehearsal ended early: %s", problem)


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
    """Bind the step, and launch nothing of it."""
    lattice, precision = rehearsal.lattice, PRECISIONS[rehearsal.case.compute.precision]
    on_device = make_backend(backend, lattice, precision, local_rank)
    connector = HaloConnector(rehearsal.communicator, rehearsal.case.compute.transport)
    at_links = LinkConditions.of_none()
    Engine(on_device, connector, rehearsal.domain, rehearsal.model, at_links, 1.0).bind()
