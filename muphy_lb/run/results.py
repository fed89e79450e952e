"""Results: the answers of a user's simulation; nothing here changes the flow."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from html import escape
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import on_box
from muphy_lb.geometry.source import Geometry
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import measured_permeability
from muphy_lb.measure.permeability_observer import Settling
from muphy_lb.measure.shear.wall_nodes import STRESS, part_record
from muphy_lb.measure.shear.wall_shear import WallShear as ShearMeasure
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.run.criteria import monitored
from muphy_lb.run.exports import chosen_fields, dataset, node_values, voxel_grid, wall_data
from muphy_lb.run.frozen import FrozenFlow
from muphy_lb.run.records import Force, Health, Opening, Permeability, Records, Row, WallShear
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import input_surface

if TYPE_CHECKING:
    import pyvista
    import xarray

    from muphy_lb.run.plots import Plots

NOTHING_COUNTED = {"mean": 0.0, "p50": 0.0, "p95": 0.0, "max": 0.0}


class Results:
    """The answers of a flow in SI units: numbers and records on all ranks, arrays on rank 0.

    Args:
        core: the solver's own simulation.
        geometry: the geometry that was handed over beside the case, if one was.

    Attributes:
        settling, frozen: whether a permeability of the flow has settled, and whether the flow had when it was frozen;
            followed between runs as well.
    """

    def __init__(self, core: Solver, geometry: Geometry | None = None):
        self._core: Solver | None = core
        self._geometry = geometry
        self.settling, self.frozen = Settling(core), FrozenFlow(core)

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
        """The result of rank 0 for the values of a call, on every rank, so that all of them do the same."""
        return from_root(self.core.communicator, work)

    def _on_root(self, work: Callable):
        """The result of work on rank 0 alone; None elsewhere."""
        return agreed_on_root(self.core.communicator, work)

    def __repr__(self):
        if self._core is None:
            return "Simulation(closed)"
        core, header = self._core, self._core.header
        title = f"{core.case.title!r}, " if core.case.title else ""
        on_ranks = f" on {core.communicator.size} ranks" if core.communicator.size > 1 else ""
        return (
            f"Simulation({title}{header.n_nodes:,} nodes of {header.spacing_m:g} m, step {core.step_number:,},"
            f" t = {core.time_s:.5g} s, {core.lattice.name}, {core.backend_name}{on_ranks})"
        )

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

    @property
    def geometry(self) -> Geometry | None:
        """The geometry that was handed over beside the case, if one was."""
        return self._geometry

    def describe(self) -> str:
        """A description of the flow and its computation, for people."""
        return self.core.describe()

    def velocity_m_s(self) -> np.ndarray | Any:
        """(n, 3) velocity (x, y, z) [m/s] of the nodes, on rank 0."""
        return self.core.velocity_m_s()

    def pressure_pa(self) -> np.ndarray | Any:
        """(n,) pressure [Pa] of the nodes, with the reference pressure, on rank 0."""
        return self.core.pressure_pa()

    def array(self, name: str) -> np.ndarray | Any:
        """(nz, ny, nx) values [SI] of a field on the box, nan in solids, on rank 0; of a vector (nz, ny, nx, 3), of a
        tensor (nz, ny, nx, 6): xx, yy, zz, xy, yz, zx.

        Raises:
            InputError: there is no such field.
        """
        (name,) = self._from_root(lambda: chosen_fields(self.core, (name,)))
        values = node_values(self.core, name)
        return None if values is None else on_box(whole_nodes(self.core), values)

    def fields(self, *names: str) -> "xarray.Dataset | None":
        """Fields on the box as an xarray Dataset, nan in solids, on rank 0. Only what is named is gathered, now.

        Args:
            names: of fields (velocity, speed, pressure, density, stress, strain_rate, shear_stress, shear_rate, those
                of a physics); without any, those of the case.

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
        found = self._node_fields(names)
        return self._on_root(lambda: voxel_grid(whole_nodes(self.core), found))

    def wall_to_pyvista(self) -> "pyvista.PolyData | None":
        """The walls with their shear stress [Pa] as point data, on rank 0: triangles where the geometry is a surface,
        else points.

        Raises:
            InputError: PyVista is not installed.
        """
        shear = self.wall_shear()
        return self._on_root(lambda: wall_data(shear, self._surface(), self.units.spacing_m))

    @property
    def plot(self) -> "Plots":
        """Matplotlib figures: ``sim.plot()`` and ``sim.plot.slice("pressure", axis="x")``."""
        from muphy_lb.run.plots import Plots

        return Plots(lambda: self.core)

    @property
    def openings(self) -> Records[Opening]:
        """The flow at every opening by name: flow rate, area, pressure; collective."""
        return self._records(Opening, self.core.openings())

    @property
    def forces(self) -> Records[Force]:
        """Force of the fluid on every labelled wall by name, averaged over two steps; collective."""
        return self._records(Force, self.core.wall_forces() if self.core.header.walls else None)

    @property
    def health(self) -> Health:
        """Largest and mean speed, Mach number, change of the mass; collective.

        Raises:
            DivergedError: the flow is unstable.
        """
        core = self.core
        found, units = core.health(), core.units
        return Health(
            step_number=core.step_number,
            time_s=core.time_s,
            max_velocity_m_s=float(units.velocity_to_si(found.max_speed)),
            mean_velocity_m_s=float(units.velocity_to_si(found.mean_speed)),
            mach=float(found.max_speed / sqrt(float(core.lattice.cs2))),
            mass_change=float(found.mass_drift),
        )

    def watched(self) -> dict[str, dict[str, float]]:
        """The quantities that ``run.steady_watch`` of the case names, by group and name, as ``steady.csv`` has them;
        collective."""
        return self.core.communicator.broadcast(monitored(self.core))

    def permeability(self) -> Permeability:
        """Permeability along the body force, of the flow as it is; its ``warnings`` say by how much it may still
        change, or that this is unknown. Collective.

        Raises:
            InputError: something else than a uniform body force drives the flow.
        """
        found = measured_permeability(self.core)
        if found is not None:
            found = replace(found, warnings=(*found.warnings, *self.settling.warnings()))
        return self.core.communicator.broadcast(Permeability(**vars(found)) if found else None)

    def wall_shear(self) -> WallShear:
        """Wall shear stress of the flow as it is; the statistics on all ranks, the arrays on rank 0; collective."""
        measure, traction = self._shear, self._shear.traction_pa()
        numbers = None if traction is None else self._shear_statistics(traction)
        numbers = self.core.communicator.broadcast(numbers)
        if traction is None:
            return WallShear(**numbers)
        return WallShear(
            **numbers,
            points_m=measure.wall_points_m(),
            normals=measure.surface.normal,
            traction_pa=traction,
            counted=measure.far_from_openings(),
        )

    def _shear_statistics(self, traction: np.ndarray) -> dict:
        core, measure = self.core, self._shear
        counted, thresholds = measure.far_from_openings(), core.case.output.wall_thresholds
        area_m2 = measure.areas.area * core.header.spacing_m**2
        found = part_record({STRESS: np.linalg.norm(traction, axis=1)}, area_m2, counted, thresholds)
        of_wall = found.get(STRESS.name, NOTHING_COUNTED)
        return {
            "n_nodes": len(traction),
            "n_counted": int(counted.sum()),
            "mean_pa": of_wall["mean"],
            "median_pa": of_wall["p50"],
            "p95_pa": of_wall["p95"],
            "max_pa": of_wall["max"],
            "warnings": tuple(measure.warnings()),
        }

    @cached_property
    def _shear(self) -> ShearMeasure:
        return ShearMeasure(self.core)

    def _surface(self) -> Surface | None:
        """The surface that the geometry is made of, on rank 0; None for an image or a shape."""
        given = self._geometry
        return input_surface(self.case, None if given is None else given.content)

    def _records(self, kind: type[Row], found: Mapping[str, object] | None) -> Records[Row]:
        """Records by name, on all ranks, of those that rank 0 has."""
        own = {name: kind(**vars(each)) for name, each in (found or {}).items()}
        return Records(self.core.communicator.broadcast(own))

    def _node_fields(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """(n, ...) values of fields by name, on rank 0; none elsewhere."""
        chosen = self._from_root(lambda: chosen_fields(self.core, names))
        found = {name: node_values(self.core, name) for name in chosen}
        return {name: values for name, values in found.items() if values is not None}
