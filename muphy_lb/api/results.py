"""Results: what can be asked of a user's simulation; nothing here changes the flow."""

from collections.abc import Callable
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.api import answers
from muphy_lb.api.fields import chosen_fields, dataset, known_fields, node_values
from muphy_lb.api.records import Force, Health, Opening, Permeability, Records, WallShear
from muphy_lb.api.running import SettlingWatch
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import on_box
from muphy_lb.geometry.source import Geometry
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.wall_shear import WallShear as ShearMeasure
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.run.criteria import monitored
from muphy_lb.run.solver import Solver

if TYPE_CHECKING:
    import pyvista
    import xarray

    from muphy_lb.api.plots import Plots


class Results:
    """The part of a simulation that answers; see :class:`muphy_lb.api.simulation.Simulation`."""

    _core: Solver | None
    settling: SettlingWatch
    _geometry: Geometry | None

    @property
    def core(self) -> Solver:
        """The solver's own simulation, with its lattice units, ranks and devices; what is not documented may change.

        Raises:
            InputError: the simulation is closed.
        """
        if self._core is None:
            raise InputError("this simulation is closed, and its memory given back; make another one")
        return self._core

    def _from_root(self, work: Callable):
        """What rank 0 makes of the values of a call, on every rank, so that all of them do the same."""
        return from_root(self.core.communicator, work)

    def _on_root(self, work: Callable):
        """What rank 0 alone makes of what it has; None elsewhere."""
        return agreed_on_root(self.core.communicator, work)

    def __repr__(self):
        return "Simulation(closed)" if self._core is None else answers.described(self._core)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def case(self) -> Case:
        """The checked case, which does not change; see :meth:`change`."""
        return self.core.case

    @property
    def is_root(self) -> bool:
        """Whether this is rank 0, which has the arrays."""
        return self.core.communicator.rank == 0

    @property
    def step_number(self) -> int:
        """Steps since the start."""
        return self.core.step_number

    @property
    def time_s(self) -> float:
        """Physical time since the start [s]."""
        return self.core.time_s

    @property
    def units(self):
        """SI sizes of the lattice units: ``time_step_s``, ``spacing_m`` and others."""
        return self.core.units

    @property
    def nodes(self):
        """The node list on rank 0 (``n_nodes``, ``positions_m()``, ``voxel``), its header elsewhere."""
        return self.core.nodes

    @property
    def n_nodes(self) -> int:
        """Number of fluid nodes."""
        return self.core.header.n_nodes

    def describe(self) -> str:
        """What will be computed, for people."""
        return self.core.describe()

    def velocity_m_s(self) -> np.ndarray | None:
        """(n, 3) velocity (x, y, z) [m/s] of the nodes, on rank 0."""
        return self.core.velocity_m_s()

    def pressure_pa(self) -> np.ndarray | None:
        """(n,) pressure [Pa] of the nodes, relative to the reference pressure, on rank 0."""
        return self.core.pressure_pa()

    def array(self, name: str) -> np.ndarray | None:
        """(nz, ny, nx) or, of a vector, (nz, ny, nx, 3) values [SI] of a field on the box, nan in solids, on rank 0.

        Raises:
            InputError: there is no such field.
        """
        (name,) = self._from_root(lambda: chosen_fields(self.core, (name,)))
        values = node_values(self.core, name)
        return None if values is None else on_box(whole_nodes(self.core), values)

    def fields(self, *names: str) -> "xarray.Dataset | None":
        """Fields on the box as an xarray Dataset, nan in solids, on rank 0. Only what is named is gathered, now.

        Args:
            names: of fields (velocity, speed, pressure, density, those of a physics); without any, those of the case.

        Raises:
            InputError: there is no such field; xarray is not installed.
        """
        core, found = self.core, self._node_fields(names)
        said = {"title": core.case.title, "time_s": core.time_s, "step": core.step_number, "case": core.case.to_toml()}
        return self._on_root(lambda: dataset(whole_nodes(core), found, known_fields(core), said))

    def to_pyvista(self, *names: str) -> "pyvista.UnstructuredGrid | None":
        """The fluid voxels with fields as cell data, on rank 0; ``cell_centers()`` of it are the nodes as points.

        Args:
            names: as of :meth:`fields`.

        Raises:
            InputError: there is no such field; PyVista is not installed.
        """
        from muphy_lb.api.vtk_data import voxel_grid

        found = self._node_fields(names)
        return self._on_root(lambda: voxel_grid(whole_nodes(self.core), found))

    def wall_to_pyvista(self) -> "pyvista.PolyData | None":
        """The walls with their shear stress [Pa] as point data, on rank 0: triangles where the geometry is a surface,
        else points.

        Raises:
            InputError: PyVista is not installed.
        """
        from muphy_lb.api.vtk_data import wall_data

        shear = self.wall_shear()

        def made():
            return wall_data(shear, answers.surface_of(self.core, self._geometry), self.units.spacing_m)

        return self._on_root(made)

    @property
    def plot(self) -> "Plots":
        """Matplotlib figures: ``sim.plot()`` and ``sim.plot.slice("pressure", axis="x")``."""
        from muphy_lb.api.plots import Plots

        return Plots(self)

    @property
    def openings(self) -> Records[Opening]:
        """The flow at every opening by name: flow rate, area, pressure; collective."""
        return answers.openings(self.core)

    @property
    def forces(self) -> Records[Force]:
        """Force of the fluid on every labelled wall by name, averaged over two steps; collective."""
        return answers.forces(self.core)

    @property
    def health(self) -> Health:
        """Largest and mean speed, Mach number, change of the mass; collective.

        Raises:
            DivergedError: the flow is unstable.
        """
        return answers.health(self.core)

    def watched(self) -> dict[str, dict[str, float]]:
        """What ``run.steady_watch`` of the case names, by group and name, as ``steady.csv`` has it; collective."""
        return self.core.communicator.broadcast(monitored(self.core))

    def permeability(self) -> Permeability:
        """Permeability along the body force, of the flow as it is; its ``warnings`` say by how much it may still
        change, or that nobody has looked. Collective.

        Raises:
            InputError: something else than a uniform body force drives the flow.
        """
        return answers.permeability(self.core, self.settling.settling)

    def wall_shear(self) -> WallShear:
        """Wall shear stress of the flow as it is; collective."""
        return answers.wall_shear(self.core, self._shear)

    @property
    def geometry(self) -> Geometry | None:
        """The geometry that was handed over beside the case, if one was."""
        return self._geometry

    @cached_property
    def _shear(self) -> ShearMeasure:
        return ShearMeasure(self.core)

    def _node_fields(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """(n, ...) values of fields by name, on rank 0; none elsewhere."""
        chosen = self._from_root(lambda: chosen_fields(self.core, names))
        found = {name: node_values(self.core, name) for name in chosen}
        return {name: values for name, values in found.items() if values is not None}
