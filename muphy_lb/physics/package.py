"""The contract of a physics package: what it tells the rest of the program, at set-up, while it runs, and afterwards.

A package is a folder below ``muphy_lb/physics/`` with a row in :mod:`muphy_lb.physics.table`, which also tells of its
light part for the case file. Its ``package.py`` names a class derived from :class:`Physics` as ``PHYSICS``. An object
of that class is the physics of one simulation. Everything but the model has a default, for a physics that has none.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import Lattice
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.physics.isothermal import Fluid
from muphy_lb.physics.model import Model
from muphy_lb.units import Units


class OutputField(NamedTuple):
    """A field of the field files: its unit, and its (n, ...) values in node-list order on rank 0 (None elsewhere),
    collective."""

    unit: str
    values: Callable[[FlowView], np.ndarray | None]


class ProbedScalar(NamedTuple):
    """A field that probes record: its name in the model, the name of its column, and its SI value from the stored
    one."""

    field: str
    column: str
    in_si: Callable[[np.ndarray], np.ndarray]


class Physics:
    """A physics beside the flow, set up for one case.

    Args:
        case: with the section of this physics.
        header: the geometry, all but its nodes.
        units: SI sizes of the lattice units.

    Raises:
        InputError: the case asks for something that this physics cannot be combined with, or that is not there.

    Attributes:
        name: of its folder and its section of the case file.
        output_fields: fields that every field file holds, by name.
        probed: scalars that probes record beside velocity and pressure.
        cut_field: the output field that chooses which cut through the geometry is drawn; None for the speed.
    """

    name: ClassVar[str]
    output_fields: Mapping[str, OutputField] = MappingProxyType({})
    probed: Sequence[ProbedScalar] = ()
    cut_field: ClassVar[str | None] = None

    def __init__(self, case: Case, header: GeometryHeader, units: Units):
        raise NotImplementedError

    @classmethod
    def bytes_per_node(cls, case: Case, lattice: Lattice) -> float:
        """Memory that it takes beside the flow."""
        return 0.0

    @classmethod
    def monitored_in(cls, case: Case) -> tuple[str, ...]:
        """Which of its ``MONITORED`` quantities there will be something to see of."""
        return ()

    def model(self, lattice: Lattice, fluid: Fluid, streaming: str, force: tuple, solid: np.ndarray | None) -> Model:
        """The model of a rank.

        Args:
            lattice, fluid, streaming, force: as of :func:`muphy_lb.physics.isothermal.isothermal`.
            solid: (n,) number of the wall in which a local node lies, -1 in the fluid; None if all are fluid.
        """
        raise NotImplementedError

    def initial_fields(self, model: Model) -> dict[str, np.ndarray]:
        """Values (n,) or (1,) of fields of the model with which a flow at rest starts, by name."""
        return {}

    def describe(self) -> str:
        """What a line on the method says of it."""
        return ""

    def monitored(self, view: FlowView) -> dict[str, Callable[[], dict[str, float]]]:
        """How to measure each of its ``MONITORED`` quantities, as numbers by name; the calls are collective, and their
        answers count on rank 0."""
        return {}

    def observers(self, view: FlowView, folder: Path, resume_step: int | None) -> tuple[Observer, ...]:
        """What it writes beside fields and probes; see :meth:`muphy_lb.measure.observer.Observer.create`."""
        return ()
